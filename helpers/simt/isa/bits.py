"""Logic, shifts, bit fields and counts: opcodes that see a register as a row of bits."""

from collections.abc import Callable

import numpy as np

from .table import Alu, Form, Row
from .types import TYPES, unsigned

__all__ = ["ROWS"]

INTS = "u16 s16 u32 s32 u64 s64"
BITS = "b16 b32 b64"
U32 = TYPES["u32"]


def logic(on_bits: Callable) -> Callable:
    def make(f: Form) -> Alu:
        return Alu(on_bits, (f.type,) * (1 if on_bits is np.invert else 2), f.type)

    return make


def cnot(f: Form) -> Alu:
    return Alu(lambda a: (a == 0).astype(a.dtype), (f.type,), f.type)


def lop3(f: Form) -> Alu:
    def run(a, b, c, table):
        table = int(table.flat[0])
        y = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
        for i in range(8):
            if table >> i & 1:
                y |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        return y

    return Alu(run, (f.type, f.type, f.type, U32), f.type)


def shift(function: Callable) -> Callable:
    """Amounts beyond the width give 0, or the sign, as NumPy's shifts do."""

    def make(f: Form) -> Alu:
        t = f.type
        if t.size == 2:  # an amount of 65536 must not become 0
            return Alu(lambda a, n: function(a, np.minimum(n, 16).astype(t.dtype)), (t, U32), t)
        return Alu(lambda a, n: function(a, n.astype(t.dtype)), (t, U32), t)

    return make


def funnel(left: bool) -> Callable:
    def make(f: Form) -> Alu:
        wrap = f.has("wrap")

        def run(low, high, n):
            both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
            n = (n & 31 if wrap else np.minimum(n, 32)).astype(np.uint64)
            y = (both << n) >> np.uint64(32) if left else both >> n
            return y.astype(np.uint32)

        return Alu(run, (U32,) * 3, U32)

    return make


def amounts(t, *counts):
    """Start and length of a bit field: with 32 bits, the low bytes of the registers; with 64, all
    of them, as an H200 was measured to do (it has no such instruction, and shifts instead)."""
    return ((v & 255 if t.size == 4 else v).astype(np.int64) for v in counts)


def bit_field_extract(f: Form) -> Alu:
    t = f.type

    def run(a, start, length):
        start, length = amounts(t, start, length)
        bits = a.view(unsigned(t.size)).astype(np.uint64)
        field = shifted_right(bits, start) & mask_of(length)
        if t.kind == "s":
            top = np.clip(np.minimum(start + length - 1, t.bits - 1), 0, 63)
            sign = (shifted_right(bits, top) & np.uint64(1)).astype(bool) & (length > 0)
            field = np.where(sign, field | ~mask_of(np.minimum(length, t.bits - start)), field)
        return field.astype(unsigned(t.size)).view(t.dtype)

    return Alu(run, (t, U32, U32), t)


def mask_of(length):
    """`length` ones, for lengths from 0 to beyond 64."""
    length = np.clip(length, 0, 64)
    one = np.uint64(1)
    low = (one << np.minimum(length, 63).astype(np.uint64)) - one
    return np.where(length >= 64, ~np.uint64(0), low)


def shifted_right(bits, n):
    return np.where(n > 63, np.uint64(0), bits >> np.minimum(n, 63).astype(np.uint64))


def bit_field_insert(f: Form) -> Alu:
    t = f.type

    def run(a, b, start, length):
        start, length = amounts(t, start, length)
        mask = np.where(
            start > 63, np.uint64(0), mask_of(length) << np.minimum(start, 63).astype(np.uint64)
        )
        moved = a.astype(np.uint64) << np.minimum(start, 63).astype(np.uint64)
        return ((moved & mask) | (b.astype(np.uint64) & ~mask)).astype(t.dtype)

    return Alu(run, (t, t, U32, U32), t)


def bit_mask(f: Form) -> Alu:
    """bmsk: amounts beyond 32 clamp, or wrap round."""

    def run(start, length):
        if f.has("wrap"):
            start, length = start & np.uint32(31), length & np.uint32(31)
        start, length = (np.minimum(v, np.uint32(32)).astype(np.int64) for v in (start, length))
        return (mask_of(length) << start.astype(np.uint64)).astype(np.uint32)

    return Alu(run, (U32, U32), U32)


def extend(f: Form) -> Alu:
    """szext: the sign is bit b - 1 of a."""

    def run(a, width):
        width = (width & 31 if f.has("wrap") else np.minimum(width, 32)).astype(np.int64)
        field = a.view(np.uint32).astype(np.int64) & mask_of(width).view(np.int64)
        if f.type.kind == "s":
            field -= ((field >> np.maximum(width - 1, 0)) & 1) << width
        return field.astype(np.uint32).view(f.type.dtype)

    return Alu(run, (f.type, U32), f.type)


def per_bit(function: Callable) -> Callable:
    """popc, clz and brev work on the bits, one column of booleans a bit, highest first."""

    def make(f: Form) -> Alu:
        t = f.type

        def run(a):
            shifts = np.arange(t.bits - 1, -1, -1).astype(t.dtype)
            return function((a[..., None] >> shifts & t.dtype.type(1)).astype(bool), t)

        result = t if function is reversed_bits else U32
        return Alu(run, (t,), result)

    return make


def count_ones(bits, t):
    return bits.sum(-1).astype(np.uint32)


def leading_zeros(bits, t):
    return np.where(bits.any(-1), bits.argmax(-1), t.bits).astype(np.uint32)


def reversed_bits(bits, t):
    weights = t.dtype.type(1) << np.arange(t.bits).astype(t.dtype)
    return (bits * weights).sum(-1, dtype=t.dtype)


def find_leading(f: Form) -> Alu:
    t = f.type
    raw = unsigned(t.size)

    def run(a):
        bits = np.where(a < 0, ~a, a).view(raw) if t.kind == "s" else a
        shifts = np.arange(t.bits - 1, -1, -1).astype(raw)
        ones = (bits[..., None] >> shifts & raw.type(1)).astype(bool)
        first = ones.argmax(-1)
        place = first if f.has("shiftamt") else t.bits - 1 - first
        return np.where(ones.any(-1), place, 0xFFFFFFFF).astype(np.uint32)

    return Alu(run, (t,), U32)


# fmt: off
ROWS = [
    Row("and", "d a b", f"pred {BITS}", "", logic(np.bitwise_and), "logic", "d = a & b"),
    Row("or", "d a b", f"pred {BITS}", "", logic(np.bitwise_or), "logic", "d = a | b"),
    Row("xor", "d a b", f"pred {BITS}", "", logic(np.bitwise_xor), "logic", "d = a ^ b"),
    Row("not", "d a", f"pred {BITS}", "", logic(np.invert), "logic", "d = ~a"),
    Row("cnot", "d a", BITS, "", cnot, "logic", "d = (a == 0)"),
    Row("lop3", "d a b c i", "b32", "", lop3, "logic", "any function of three bits, by table i"),
    Row("shl", "d a b", BITS, "", shift(np.left_shift), "logic", "d = a << b"),
    Row("shr", "d a b", f"{BITS} {INTS}", "", shift(np.right_shift), "logic", "d = a >> b"),
    Row("shf", "d a b c", "b32", "l r wrap clamp", lambda f: funnel(f.has("l"))(f), "logic",
        "shift the 64 bits b:a by c"),
    Row("bfe", "d a b c", "u32 s32 u64 s64", "", bit_field_extract, "logic",
        "c bits of a from bit b"),
    Row("bfi", "d a b c e", "b32 b64", "", bit_field_insert, "logic",
        "b with e bits of a put in at bit c"),
    Row("bfind", "d a", "u32 s32 u64 s64", "shiftamt", find_leading, "logic",
        "the place of the leading bit"),
    Row("bmsk", "d a b", "b32", "clamp wrap", bit_mask, "logic", "b ones from bit a"),
    Row("szext", "d a b", "u32 s32", "clamp wrap", extend, "logic",
        "the low b bits of a, extended with zeros or the sign"),
    Row("brev", "d a", "b32 b64", "", per_bit(reversed_bits), "logic", "the bits backwards"),
    Row("clz", "d a", "b32 b64", "", per_bit(leading_zeros), "logic", "leading zeros"),
    Row("popc", "d a", "b32 b64", "", per_bit(count_ones), "logic", "how many ones"),
]
# fmt: on
