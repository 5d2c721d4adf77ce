"""Kernel arguments and launch sizes written as text, as on a command line.

float32[4096]   float32[64,64]:normal   int32[64]:-1   int:4096   float:0.5
"""

import math
import re

import ml_dtypes
import numpy as np

from .errors import LaunchError

__all__ = ["argument", "size"]

ARRAY = re.compile(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\](?::(\S+))?")
SCALAR = re.compile(r"(int|float|bool):(\S+)")
TYPES = {"bool", "float16", "float32", "float64"}
TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FILLS = "zeros, ones, arange, normal, or a number"
LARGEST = 1 << 34  # bytes of one array: what a typing mistake asks for, not a test


def argument(text: str, seed: int = 0):
    """One argument: a NumPy array, or a Python number. LaunchError when it cannot be read."""
    if found := ARRAY.fullmatch(text.strip()):
        shape = tuple(int(part) for part in found[2].split(","))
        return array(text, dtype_of(text, found[1]), shape, found[3] or "zeros", seed)
    if found := SCALAR.fullmatch(text.strip()):
        return scalar(text, *found.groups())
    raise LaunchError(
        f"cannot read the argument {text!r}: expected an array such as float32[4096]:normal, or a "
        "number such as int:4096"
    )


def dtype_of(text: str, name: str) -> np.dtype:
    if name == "bfloat16":
        return np.dtype(ml_dtypes.bfloat16)
    if name not in TYPES:
        raise LaunchError(
            f"argument {text!r}: no type {name!r}; choose from bfloat16, {', '.join(sorted(TYPES))}"
        )
    return np.dtype(name)


def array(text: str, dtype, shape, fill: str, seed: int) -> np.ndarray:
    count = math.prod(shape)
    if not 0 < count * dtype.itemsize <= LARGEST:
        raise LaunchError(
            f"argument {text!r} has {count} elements of {dtype}: expected at least one, and at "
            f"most {LARGEST >> 30} GiB"
        )
    if fill == "normal":
        numbers = np.random.default_rng(seed).standard_normal(count, dtype=np.float32)
    elif fill == "arange":
        numbers = np.arange(count)
    else:
        try:
            number = {"zeros": 0.0, "ones": 1.0}.get(fill)
            numbers = np.full(count, float(fill) if number is None else number)
        except ValueError:
            raise LaunchError(f"argument {text!r}: cannot fill with {fill!r}; {FILLS}") from None
    with np.errstate(all="ignore"):
        return numbers.astype(dtype).reshape(shape)


def scalar(text: str, kind: str, value: str):
    try:
        if kind == "bool":
            return {"true": True, "false": False, "1": True, "0": False}[value.lower()]
        return int(value, 0) if kind == "int" else float(value)
    except (ValueError, KeyError):
        raise LaunchError(f"argument {text!r}: {value!r} is no {kind}") from None


def size(text: str, what: str) -> tuple[int, ...]:
    """A grid or block: "256", "16,16" or "16x16". LaunchError when it is no such thing."""
    parts = re.split(r"[,x×]", text.strip())
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise LaunchError(
            f"cannot read --{what} {text!r}: expected one to three whole numbers, such as 4096 or "
            "16,16"
        )
    return tuple(int(part) for part in parts)
