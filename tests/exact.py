"""Floating point in exact fractions: the tests' own arithmetic, which shares nothing with NumPy's.

A number is its bit pattern, a Python int; a Format turns it into a value and rounds exact values
back, in the modes rn (to nearest even), rz (towards zero), rm (down) and rp (up).
"""

import math
import struct
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["BF16", "F16", "F32", "F64", "MODES", "Format", "add", "divide", "fma", "multiply"]
__all__ += ["saturate", "square_root"]

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Format:
    """A binary format of `bits` bits with `fraction` stored fraction bits."""

    bits: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << (self.bits - 1 - self.fraction)) - 1) << self.fraction

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def nan(self) -> int:
        return self.infinity | 1 << (self.fraction - 1)

    def value(self, pattern: int) -> float:
        """The value as a Python float, which holds every format exactly."""
        if self.fraction == 7:
            return struct.unpack("<f", struct.pack("<I", pattern << 16))[0]
        codes = {16: "<He", 32: "<If", 64: "<Qd"}[self.bits]
        return struct.unpack("<" + codes[2], struct.pack(codes[:2], pattern))[0]

    def is_nan(self, pattern: int) -> bool:
        return pattern & ~self.sign > self.infinity

    def special(self, x: float) -> int:
        """The pattern of a zero, an infinity or NaN."""
        if math.isnan(x):
            return self.nan
        body = 0 if x == 0 else self.infinity
        return body | (self.sign if math.copysign(1, x) < 0 else 0)

    def round(self, x: Fraction, mode: str = "rn") -> int:
        """The pattern of an exact value other than zero."""
        size, negative = abs(x), x < 0
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= Fraction(2) ** exponent > size
        exponent = max(exponent, 1 - self.bias)
        scaled = size / Fraction(2) ** (exponent - self.fraction)
        whole, rest = divmod(scaled, 1)
        away = {
            "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
            "rz": False,
            "rm": negative and rest > 0,
            "rp": not negative and rest > 0,
        }[mode]
        # The fields lie so that a carry out of the fraction goes up into the exponent.
        pattern = int(whole) + away + ((exponent + self.bias - 1) << self.fraction)
        if pattern >= self.infinity:
            to_infinity = mode == "rn" or mode == ("rm" if negative else "rp")
            pattern = self.infinity if to_infinity else self.infinity - 1
        return pattern | (self.sign if negative else 0)

    def flush(self, pattern: int) -> int:
        """A subnormal becomes a zero of its sign."""
        small = pattern & ~self.sign < 1 << self.fraction
        return pattern & self.sign if small else pattern


F16, BF16, F32, F64 = Format(16, 10), Format(16, 7), Format(32, 23), Format(64, 52)


def total(f: Format, parts: list[float], mode: str) -> int:
    """The rounded sum of finite floats or fractions; `parts` hold the signs of zeros."""
    exact = sum(map(Fraction, parts))
    if exact:
        return f.round(exact, mode)
    signs = {math.copysign(1, p) if isinstance(p, float) else (1 if p > 0 else -1) for p in parts}
    negative = signs == {-1.0} or (len(signs) == 2 and mode == "rm")
    return f.sign if negative else 0


def add(f: Format, a: int, b: int, mode: str = "rn") -> int:
    x, y = f.value(a), f.value(b)
    if not (math.isfinite(x) and math.isfinite(y)):
        return f.special(x + y)
    return total(f, [x, y], mode)


def multiply(f: Format, a: int, b: int, mode: str = "rn") -> int:
    x, y = f.value(a), f.value(b)
    if not (x and y and math.isfinite(x) and math.isfinite(y)):
        return f.special(x * y)
    return f.round(Fraction(x) * Fraction(y), mode)


def fma(f: Format, a: int, b: int, c: int, mode: str = "rn") -> int:
    x, y, z = f.value(a), f.value(b), f.value(c)
    if not (math.isfinite(x) and math.isfinite(y)):
        return f.special(x * y + z)
    if not math.isfinite(z):
        return f.special(z)
    return total(f, [Fraction(x) * Fraction(y) if x and y else x * y, z], mode)


def divide(f: Format, a: int, b: int, mode: str = "rn") -> int:
    x, y = f.value(a), f.value(b)
    if math.isnan(x) or math.isnan(y) or (x == y == 0) or (math.isinf(x) and math.isinf(y)):
        return f.nan
    sign = (a ^ b) & f.sign
    if math.isinf(x) or y == 0:
        return f.infinity | sign
    if x == 0 or math.isinf(y):
        return sign
    return f.round(Fraction(x) / Fraction(y), mode)


def square_root(f: Format, a: int, mode: str = "rn") -> int:
    x = f.value(a)
    if x == 0 or math.isnan(x) or math.isinf(x):
        return f.special(x) if x >= 0 else f.nan
    if x < 0:
        return f.nan
    exact = Fraction(x)
    scale = 2 * (60 + exact.denominator.bit_length())  # bits after the point; even
    whole = math.isqrt((exact.numerator << scale) // exact.denominator)
    inexact = Fraction(whole, 1 << scale // 2) ** 2 != exact
    return f.round(Fraction(2 * whole + inexact, 2 << scale // 2), mode)


def saturate(f: Format, a: int) -> int:
    """Clamp to [0, 1]; NaN becomes 0."""
    x = f.value(a)
    return f.round(Fraction(min(x, 1.0))) if x > 0 else 0
