"""Bytes and halves packed in a 32-bit register: permuted, multiplied, put together."""

import numpy as np

from .table import Alu, Form, Row, refuse
from .types import TYPES

__all__ = ["ROWS", "pack_integers"]

U32 = TYPES["u32"]
# Which bytes of b:a the modes of prmt take, by the low two bits of the selector.
MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def permute(f: Form) -> Alu:
    mode = f.one_of(*MODES)
    table = np.array(MODES.get(mode, ()), np.uint32)

    def run(a, b, selector):
        if mode is not None:
            selector = table[selector & np.uint32(3)]
        both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        y = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint32)
        for i in range(4):
            pick = selector >> np.uint32(4 * i)
            byte = (both >> ((pick & 7).astype(np.uint64) * np.uint64(8))).astype(np.uint32) & 255
            spread = np.where(byte & 128, np.uint32(255), np.uint32(0))
            y |= np.where(pick & 8, spread, byte) << np.uint32(8 * i)
        return y

    return Alu(run, (U32,) * 3, U32)


def dot_product(f: Form) -> Alu:
    """dp4a: four bytes by four bytes; dp2a: two halves by the low or high two bytes."""
    left, right = f.types[0], f.types[-1]
    result = TYPES["u32" if left.kind == right.kind == "u" else "s32"]
    pairs = f.opcode == "dp2a"
    half = slice(2, 4) if f.has("hi") else slice(0, 2)
    if pairs and not (f.has("hi") or f.has("lo")):
        raise refuse(f.mnemonic, "it needs .lo or .hi")

    def pieces(v, t, size):
        kind = f"{'u' if t.kind == 'u' else 'i'}{size}"
        return v.view(kind).reshape(*v.shape, -1).astype(np.int64)

    def run(a, b, c):
        a, b = (np.ascontiguousarray(v) for v in np.broadcast_arrays(a, b))
        a, b = pieces(a, left, 2 if pairs else 1), pieces(b, right, 1)
        b = b[..., half] if pairs else b
        return ((a * b).sum(-1) + c).astype(result.dtype)

    return Alu(run, (U32, U32, result), result)


def pack_integers(f: Form) -> Alu:
    """cvt.pack.sat: a and b clamped to 16 bits, a above; or to 8 bits, with c above them."""
    to, source = f.types[0], f.types[1]
    if not f.has("sat") or to.size > 2 or to.floating or source.name != "s32":
        raise refuse(f.mnemonic, ".pack packs two .s32 into .u8, .s8, .u16 or .s16, with .sat")
    info, shift = np.iinfo(to.dtype), np.uint32(to.bits)

    def clamped(v):
        return np.clip(v, info.min, info.max).astype(np.uint32) & np.uint32((1 << to.bits) - 1)

    def run(a, b, c=None):
        both = clamped(a) << shift | clamped(b)
        return both if c is None else c << (shift + shift) | both

    return Alu(run, (source, source, U32)[: 3 if to.size == 1 else 2], U32)


# fmt: off
ROWS = [
    Row("dp4a", "d a b c", "u32 s32", "", dot_product, "arithmetic",
        "d = c + the dot product of four bytes"),
    Row("dp2a", "d a b c", "u32 s32", "lo hi", dot_product, "arithmetic",
        "d = c + the dot product of two halves of a and two bytes of b"),
    Row("prmt", "d a b c", "b32", " ".join(MODES), permute, "logic",
        "four bytes picked from a and b"),
]
# fmt: on
