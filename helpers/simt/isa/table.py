"""What a row of the opcode tables is, and how an instruction's suffixes are read against it."""

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import UnsupportedInstruction
from .types import TYPES, Type

__all__ = ["Alu", "Form", "Row", "form", "refuse"]


@dataclass(frozen=True)
class Form:
    """An instruction's suffixes, sorted: the types, in order, and everything else."""

    opcode: str
    types: tuple[Type, ...]
    modifiers: tuple[str, ...]
    mnemonic: str = ""

    @property
    def type(self) -> Type:
        """The last type: the operands' (`cvt` and `set` put the result's before it)."""
        return self.types[-1]

    def one_of(self, *choices: str) -> str | None:
        """The modifier among `choices` that the instruction has, None if it has none."""
        return next((m for m in self.modifiers if m in choices), None)

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers


@dataclass(frozen=True)
class Row:
    """One opcode: everything the parser, the machine, the documentation and the tests know of it.

    operands   names in order: d destination, p predicate, a b c sources
    types      the type names it takes, as one string ("" when it has none)
    modifiers  every other suffix it may carry; any other suffix is refused
    make       Form → how it executes (what it returns depends on the table: see alu, control …)
    counts     its class in the instruction mix
    meaning    one line for people
    """

    opcode: str
    operands: str
    types: str
    modifiers: str
    make: Callable
    counts: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Alu:
    """`function(*sources) -> result`; a second result (`d|p`) comes as a tuple of two."""

    function: Callable
    sources: tuple[Type, ...]
    result: Type
    second: Type | None = None


def refuse(mnemonic: str, why: str) -> UnsupportedInstruction:
    return UnsupportedInstruction(f"{mnemonic} is not simulated: {why}", mnemonic=mnemonic)


def form(row: Row, suffixes: tuple[str, ...]) -> Form:
    """Sort suffixes into types and modifiers; UnsupportedInstruction for one the row lacks."""
    mnemonic = ".".join((row.opcode, *suffixes))
    allowed, takes = row.modifiers.split(), row.types.split()
    types, modifiers = [], []
    for suffix in suffixes:
        if suffix in allowed:
            modifiers.append(suffix)
        elif suffix in takes:
            types.append(TYPES[suffix])
        else:
            raise refuse(mnemonic, f"the simulator's {row.opcode} knows no .{suffix}")
    if takes and not types:
        raise refuse(mnemonic, f"{row.opcode} needs a type, one of {row.types}")
    return Form(row.opcode, tuple(types), tuple(modifiers), mnemonic)
