"""The variables of a module, __device__ and __constant__: where they lie, and what is in them."""

from dataclasses import dataclass

import numpy as np

from .errors import UnsupportedInstruction
from .inline import plain
from .isa.types import TYPES
from .memory import ADDRESSES, ALIGN, GUARD, VARIABLE_BASE
from .ptx import Module

__all__ = ["Global", "addresses", "used_globals"]


@dataclass(frozen=True)
class Global:
    """A variable of the module: its address, its bytes at the start, whether it is constant."""

    name: str
    address: int
    initial: bytes
    dtype: np.dtype | None
    constant: bool


def addresses(module: Module) -> dict[str, int]:
    """Where the module's global and const variables lie, far from each other."""
    at = {"global": VARIABLE_BASE, "const": ADDRESSES["const"][0]}
    places = {}
    for v in module.variables:
        if v.space in at:
            places[v.name] = at[v.space]
            at[v.space] += -(-(v.size + GUARD) // ALIGN) * ALIGN
    return places


def used_globals(module: Module, places: dict, names) -> tuple[Global, ...]:
    """Those variables that are named, or that such a one points to."""
    variables = {v.name: v for v in module.variables if v.name in places}
    pending, found = [n for n in sorted(names) if n in variables], {}
    while pending:
        v = variables[pending.pop()]
        if v.name in found:
            continue
        data = bytearray(v.initial or bytes(v.size))
        for offset, name, add in v.pointers:
            if name not in variables:
                raise UnsupportedInstruction(
                    f"{v.name} holds the address of {plain(name)}, a function: calls through "
                    "pointers are not simulated"
                )
            data[offset : offset + 8] = (places[name] + add).to_bytes(8, "little")
            pending.append(name)
        dtype = TYPES[v.type].dtype if v.type in TYPES and v.type != "b8" else None
        found[v.name] = Global(v.name, places[v.name], bytes(data), dtype, v.space == "const")
    return tuple(found.values())
