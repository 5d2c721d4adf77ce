"""printf of device code: which values a format takes from memory, and the text they make.

The compiler puts the values one behind another, each at a multiple of its size, with small integers
as 4 bytes and every float as 8. The forms are those that the CUDA C++ Programming Guide lists; what
else begins with a % is printed as it stands. Python's own `%` writes each value.
"""

import math
import re

import numpy as np

__all__ = ["Format"]

CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\d*))?"
    r"(?P<length>hh|h|ll|l)?(?P<letter>[diuoxXcspfFeEgGaA%])"
)
SIGNED, UNSIGNED, FLOATING = "di", "uoxX", "fFeEgGaA"


class Format:
    """A format string; `layout` has (offset, NumPy type) of every value it takes."""

    def __init__(self, text: str):
        self.layout, end = [], 0
        self.pieces = []  # a text, or a conversion
        for found in CONVERSION.finditer(text):
            self.pieces.append(text[end : found.start()])
            self.pieces.append(found)
            end = found.end()
            if found["width"] == "*":
                self.take(np.dtype(np.int32))
            if found["letter"] != "%":
                self.take(type_of(found))
        self.pieces.append(text[end:])

    def take(self, dtype: np.dtype) -> None:
        after = self.layout[-1][0] + self.layout[-1][1].itemsize if self.layout else 0
        self.layout.append((-(-after // dtype.itemsize) * dtype.itemsize, dtype))

    def fill(self, values: list, string_at) -> str:
        """The text for these values; `string_at(address)` reads the text of a `%s`."""
        left = iter(values)
        return "".join(
            piece if isinstance(piece, str) else written(piece, left, string_at)
            for piece in self.pieces
        )


def type_of(found) -> np.dtype:
    letter, long = found["letter"], found["length"] in ("l", "ll")
    if letter in FLOATING:
        return np.dtype(np.float64)
    if letter in "sp":
        return np.dtype(np.uint64)
    signed = "u" if letter in UNSIGNED else "i"
    return np.dtype(f"{signed}{8 if long else 4}")


def written(found, left, string_at) -> str:
    """One conversion with its value, the next of `left`."""
    letter, flags = found["letter"], found["flags"]
    if letter == "%":
        return "%"
    width = str(next(left)) if found["width"] == "*" else found["width"] or ""
    precision = "" if found["precision"] is None else f".{found['precision'] or 0}"
    value = next(left).item()
    if found["length"] in ("h", "hh"):
        value = narrowed(value, 8 if found["length"] == "hh" else 16, letter in SIGNED)
    if (text := as_text(letter, flags, value, string_at)) is not None:
        return f"%{flags}{width}{precision if letter == 's' else ''}s" % text
    return f"%{flags}{width}{precision}{'d' if letter in 'diu' else letter}" % value


def as_text(letter: str, flags: str, value, string_at) -> str | None:
    """A value that is written as a text: None where Python's % knows the letter as C does."""
    if letter == "s":
        return string_at(value)
    if letter == "c":
        return chr(value & 255)
    if letter == "p":
        return f"{value:#x}" if value else "(nil)"
    if letter == "o" and "#" in flags:
        return f"0{value:o}"
    if letter in FLOATING and math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    if letter in "aA":
        text = re.sub(r"\.?0*p", "p", value.hex())
        return text.upper() if letter == "A" else text
    return None


def narrowed(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
