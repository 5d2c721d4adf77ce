"""Arithmetic, logic, comparison and conversion: opcodes that see registers and nothing else.

A row's `make` turns the suffixes into an Alu: the NumPy function, the types its sources are read
as, and the type of its result. Every function takes and returns whole arrays of lanes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import rounding
from .lanes import blend
from .table import Form, Row, refuse
from .types import TYPES, Type, unsigned

__all__ = ["ROWS", "Alu"]


@dataclass(frozen=True, slots=True)
class Alu:
    """`function(*sources) -> result`; a second result (`d|p`) comes as a tuple of two."""

    function: Callable
    sources: tuple[Type, ...]
    result: Type
    second: Type | None = None


INTS = "u16 s16 u32 s32 u64 s64"
BITS = "b16 b32 b64"
FLOATS = "f32 f64 f16 f16x2 bf16 bf16x2"
ROUNDING = "rn rz rm rp"
PRED, U32 = TYPES["pred"], TYPES["u32"]


def packed(function: Callable, t: Type) -> Callable:
    """Run a function of 16-bit values on registers that hold two of them."""
    if t.packed == 1:
        return function

    def run(*sources):
        sources = np.broadcast_arrays(*sources)
        pairs = [np.ascontiguousarray(s).view(t.dtype) for s in sources]
        return np.ascontiguousarray(function(*pairs)).view(np.uint32)

    return run


def finished(function: Callable, f: Form) -> Callable:
    """Add what the suffixes ask of a float's sources and result: .ftz, .sat, .relu."""
    ftz, sat, relu = f.has("ftz") and f.type.dtype != np.float64, f.has("sat"), f.has("relu")
    if not (ftz or sat or relu):
        return function

    def run(*sources):
        if ftz:
            sources = [rounding.flush(s) if s.dtype.kind != "b" else s for s in sources]
        y = function(*sources)
        if ftz:
            y = rounding.flush(y)
        if sat:
            y = rounding.saturate(y)
        return np.maximum(y, y.dtype.type(0)) if relu else y

    return run


def alu(function: Callable, f: Form, arity: int) -> Alu:
    """The common case: all sources and the result have the instruction's type."""
    t = f.type
    if t.floating:
        function = packed(finished(function, f), t)
        if t.packed > 1:
            t = U32
    elif f.has("sat") and t.kind != "s":
        raise refuse(f.opcode, f".sat of {t.name}")
    return Alu(function, (t,) * arity, t)


# ---------------------------------------------------------------------------- arithmetic
def add(f: Form) -> Alu:
    if not f.type.floating:
        return alu(saturated(np.add, f), f, 2)
    mode = f.one_of("rz", "rm", "rp")
    return alu((lambda a, b: rounding.plus(a, b, mode)) if mode else np.add, f, 2)


def sub(f: Form) -> Alu:
    if not f.type.floating:
        return alu(saturated(np.subtract, f), f, 2)
    mode = f.one_of("rz", "rm", "rp")
    return alu((lambda a, b: rounding.plus(a, -b, mode)) if mode else np.subtract, f, 2)


def saturated(function: Callable, f: Form) -> Callable:
    """`.sat` on s32: clamp instead of wrapping round."""
    if not f.has("sat"):
        return function
    info = np.iinfo(f.type.dtype)
    return lambda a, b: np.clip(
        function(a.astype(np.int64), b.astype(np.int64)), info.min, info.max
    ).astype(f.type.dtype)


def mul(f: Form) -> Alu:
    if f.type.floating:
        mode = f.one_of("rz", "rm", "rp")
        return alu((lambda a, b: rounding.times(a, b, mode)) if mode else np.multiply, f, 2)
    part = f.one_of("lo", "hi", "wide")
    if part == "wide":
        wide = widened(f.type)
        return Alu(lambda a, b: np.multiply(a, b, dtype=wide.dtype), (f.type,) * 2, wide)
    return alu(np.multiply if part == "lo" else high_product(f.type), f, 2)


def widened(t: Type) -> Type:
    return TYPES[f"{t.kind}{2 * t.bits}"]


def high_product(t: Type) -> Callable:
    """The upper half of a product."""
    if t.size < 8:
        wide = widened(t).dtype
        return lambda a, b: (np.multiply(a, b, dtype=wide) >> t.bits).astype(t.dtype)

    def run(a, b):
        low, ua, ub = np.uint64(0xFFFFFFFF), a.view(np.uint64), b.view(np.uint64)
        half = np.uint64(32)
        a0, a1, b0, b1 = ua & low, ua >> half, ub & low, ub >> half
        middle = a1 * b0 + ((a0 * b0) >> half)
        other = a0 * b1 + (middle & low)
        high = a1 * b1 + (middle >> half) + (other >> half)
        if t.kind == "s":
            zero = np.uint64(0)
            high = high - np.where(a < 0, ub, zero) - np.where(b < 0, ua, zero)
        return high.view(t.dtype)

    return run


def mad(f: Form) -> Alu:
    if f.type.floating:
        return fma(f)
    product, t = mul(f), f.type
    result = product.result
    return Alu(lambda a, b, c: product.function(a, b) + c, (t, t, result), result)


def fma(f: Form) -> Alu:
    mode = f.one_of("rz", "rm", "rp") or "rn"
    return alu(lambda a, b, c: rounding.fma(a, b, c, mode), f, 3)


def div(f: Form) -> Alu:
    if not f.type.floating:
        return alu(lambda a, b: integer_quotient(a, b), f, 2)
    if f.has("approx"):
        return alu(quick_divide, f, 2)
    mode = f.one_of("rz", "rm", "rp") or "rn"
    return alu(lambda a, b: rounding.divide(a, b, mode), f, 2)


def quick_divide(a, b):
    """div.approx: a divisor beyond 2^126 gives 0, the manual says, where a true quotient may
    be a number; an infinite dividend gives NaN there."""
    y = a / b
    beyond = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
    return np.where(beyond, a * np.float32(0), y) if beyond.any() else y


def integer_quotient(a, b):
    """C's division: towards zero; by zero the hardware gives all ones."""
    zero = b == 0
    b = np.where(zero, b.dtype.type(1), b)
    q = a // b
    if a.dtype.kind == "i":
        q = q + ((q < 0) & (q * b != a)).astype(a.dtype)
    return np.where(zero, ~a.dtype.type(0), q)


def rem(f: Form) -> Alu:
    def run(a, b):
        return np.where(b == 0, a, a - integer_quotient(a, b) * b)

    return alu(run, f, 2)


def extremum(number_wins: Callable, nan_wins: Callable, combine: Callable) -> Callable:
    """min and max: the number wins over NaN (unless .NaN), and −0 < +0."""

    def make(f: Form) -> Alu:
        pick = nan_wins if f.has("NaN") else number_wins
        if not f.type.floating:
            return alu(pick, f, 2)
        bits = unsigned(f.type.dtype.itemsize)

        def run(a, b):
            y = pick(a, b)
            zeros = y == 0
            if zeros.any():  # both zeros compare equal: let the sign bits decide
                both = zeros & (a == b)
                y = np.where(both, combine(a.view(bits), b.view(bits)).view(y.dtype), y)
            return y

        return alu(run, f, 2)

    return make


def absolute(f: Form) -> Alu:
    return alu(np.abs, f, 1)


def negate(f: Form) -> Alu:
    return alu(np.negative, f, 1)


def elementary(function: Callable) -> Callable:
    """ex2, lg2, sin, cos, tanh, rcp, sqrt, rsqrt: computed at least as exactly as the manual asks
    of the hardware's approximation (a correctly rounded value lies inside every bound)."""

    def make(f: Form) -> Alu:
        if f.type.dtype in (np.float32, np.float64):
            return alu(function, f, 1)
        return alu(lambda a: function(a.astype(np.float32)).astype(a.dtype), f, 1)

    return make


def root(f: Form) -> Alu:
    mode = f.one_of("rz", "rm", "rp") or "rn"
    return alu(lambda a: rounding.square_root(a, mode), f, 1)


def reciprocal(f: Form) -> Alu:
    mode = f.one_of("rz", "rm", "rp") or "rn"
    return alu(lambda a: rounding.divide(np.ones_like(a), a, mode), f, 1)


def copysign(f: Form) -> Alu:
    return alu(lambda a, b: np.copysign(b, a), f, 2)  # PTX: the sign of a, the size of b


def testp(f: Form) -> Alu:
    kind = f.one_of("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    tiny = rounding.TINY[f.type.dtype]
    tests = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    return Alu(tests[kind], (f.type,), PRED)


# ---------------------------------------------------------------------------- bits
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


def bit_field_extract(f: Form) -> Alu:
    t = f.type

    def run(a, start, length):
        start, length = (start & 255).astype(np.int64), (length & 255).astype(np.int64)
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
        start, length = (start & 255).astype(np.int64), (length & 255).astype(np.int64)
        mask = np.where(
            start > 63, np.uint64(0), mask_of(length) << np.minimum(start, 63).astype(np.uint64)
        )
        moved = a.astype(np.uint64) << np.minimum(start, 63).astype(np.uint64)
        return ((moved & mask) | (b.astype(np.uint64) & ~mask)).astype(t.dtype)

    return Alu(run, (t, t, U32, U32), t)


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


def permute(f: Form) -> Alu:
    if f.modifiers:
        raise refuse("prmt." + f.modifiers[0], "only the plain byte permutation is in the table")

    def run(a, b, selector):
        both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        y = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint32)
        for i in range(4):
            pick = selector >> np.uint32(4 * i)
            byte = (both >> ((pick & 7).astype(np.uint64) * np.uint64(8))).astype(np.uint32) & 255
            spread = np.where(byte & 128, np.uint32(255), np.uint32(0))
            y |= np.where(pick & 8, spread, byte) << np.uint32(8 * i)
        return y

    return Alu(run, (U32,) * 3, U32)


def sad(f: Form) -> Alu:
    return alu(lambda a, b, c: c + np.where(a < b, b - a, a - b), f, 3)


def dot_product(f: Form) -> Alu:
    left, right = f.types[0], f.types[-1]
    result = TYPES["u32" if left.kind == right.kind == "u" else "s32"]

    def run(a, b, c):
        a, b = (np.ascontiguousarray(v) for v in np.broadcast_arrays(a, b))
        parts = [
            v.view(f"{'u' if t.kind == 'u' else 'i'}1").reshape(*v.shape, 4).astype(np.int64)
            for v, t in ((a, left), (b, right))
        ]
        return ((parts[0] * parts[1]).sum(-1) + c).astype(result.dtype)

    return Alu(run, (U32, U32, result), result)


# ---------------------------------------------------------------------------- comparison
ORDERED = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
COMPARE = " ".join([*ORDERED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"])
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(f: Form) -> Callable:
    """The comparison a suffix names. For floats `lt` is false and `ltu` true with a NaN; NumPy's
    != is true with a NaN, PTX's `ne` is not."""
    name = f.one_of(*COMPARE.split())
    if name is None:
        raise refuse(f.opcode, "it needs a comparison")
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if f.type.floating and name == "ne":
        return lambda a, b: (a < b) | (a > b)
    if name in ORDERED:
        return ORDERED[name]
    test = ORDERED[name[:-1]]
    return lambda a, b: test(a, b) | np.isnan(a) | np.isnan(b)


def setp(f: Form) -> Alu:
    test, t = finished_inputs(comparison(f), f), f.type
    combine = COMBINE.get(f.one_of(*COMBINE))
    if t.packed > 1:
        return Alu(lambda a, b: pair_test(test, a, b, t), (U32, U32), PRED, PRED)
    if combine is None:
        return Alu(lambda a, b: both_ways(test(a, b)), (t, t), PRED, PRED)

    def run(a, b, c):
        y = test(a, b)
        return combine(y, c), combine(~y, c)

    return Alu(run, (t, t, PRED), PRED, PRED)


def both_ways(y):
    return y, ~y


def pair_test(test, a, b, t):
    a, b = (np.ascontiguousarray(v).view(t.dtype) for v in np.broadcast_arrays(a, b))
    y = test(a, b)
    return y[..., 0::2], y[..., 1::2]


def finished_inputs(test: Callable, f: Form) -> Callable:
    if not f.has("ftz"):
        return test
    return lambda a, b: test(rounding.flush(a), rounding.flush(b))


def set_(f: Form) -> Alu:
    result, t = f.types[0], f.type
    test, combine = finished_inputs(comparison(f), f), COMBINE.get(f.one_of(*COMBINE))
    if result.packed > 1 or t.packed > 1:
        ones = np.asarray(1, result.dtype) if result.floating else None

        def pairs(a, b):
            y = test(a, b)
            return y.astype(result.dtype) * ones if result.floating else -y.astype(np.int16)

        return Alu(packed(pairs, t), (U32, U32), U32)
    true = result.dtype.type(1) if result.floating else ~np.zeros((), result.dtype)

    def value(y):
        return np.where(y, true, result.dtype.type(0)).astype(result.dtype)

    if combine is None:
        return Alu(lambda a, b: value(test(a, b)), (t, t), result)
    return Alu(lambda a, b, c: value(combine(test(a, b), c)), (t, t, PRED), result)


def selp(f: Form) -> Alu:
    return Alu(lambda a, b, p: blend(p, a, b), (f.type, f.type, PRED), f.type)


def slct(f: Form) -> Alu:
    value, key = f.types[0], f.types[-1]
    return Alu(lambda a, b, c: np.where(c >= 0, a, b), (value, value, key), value)


# ---------------------------------------------------------------------------- conversion
INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def cvt(f: Form) -> Alu:
    if len(f.types) < 2:
        raise refuse(f.opcode, "it needs two types, to and from")
    to, source = f.types[0], f.types[1]
    if to.packed > 1:
        return pack_pair(f, to)
    if source.floating and to.floating:
        return Alu(float_to_float(f, to, source), (source,), to)
    if source.floating:
        return Alu(float_to_integer(f, to, source), (source,), to)
    if to.floating:
        mode = f.one_of("rz", "rm", "rp") or "rn"
        return Alu(lambda a: integer_to_float(a, to.dtype, mode), (source,), to)
    if f.has("sat"):
        info = np.iinfo(to.dtype)
        return Alu(lambda a: clamp(a, info).astype(to.dtype), (source,), to)
    return Alu(lambda a: a.astype(to.dtype), (source,), to)


def clamp(a, info):
    """Clamp integers to another type's range without overflowing their own."""
    own = np.iinfo(a.dtype)
    return np.clip(a, max(own.min, info.min), min(own.max, info.max))


def pack_pair(f: Form, to: Type) -> Alu:
    """cvt.rn.f16x2.f32 d, a, b: a in the upper half, b in the lower."""
    mode = f.one_of("rz", "rm", "rp") or "rn"

    def run(a, b):
        high, low = (
            finish_conversion(rounding.narrow(v.astype(np.float64), to.dtype, mode), f)
            .view(np.uint16)
            .astype(np.uint32)
            for v in (a, b)
        )
        return high << np.uint32(16) | low

    return Alu(run, (f.types[1],) * 2, U32)


def float_to_float(f: Form, to: Type, source: Type) -> Callable:
    integral = INTEGRAL.get(f.one_of(*INTEGRAL))
    mode = f.one_of("rz", "rm", "rp") or "rn"
    if integral is None and mode != "rn" and to.size >= source.size and to.dtype == source.dtype:
        integral = INTEGRAL[mode + "i"]

    def run(a):
        if f.has("ftz") and a.dtype == np.float32:
            a = rounding.flush(a)
        if integral is not None:
            a = integral(a)
        if to.dtype != a.dtype:
            a = rounding.narrow(a.astype(np.float64), to.dtype, mode)
        return finish_conversion(a, f)

    return run


def finish_conversion(y, f: Form):
    if f.has("ftz") and y.dtype == np.float32:
        y = rounding.flush(y)
    if f.has("sat"):
        y = rounding.saturate(y)
    return np.maximum(y, y.dtype.type(0)) if f.has("relu") else y


def float_to_integer(f: Form, to: Type, source: Type) -> Callable:
    """Rounds, then saturates. NaN becomes 0 only from f32 or f16 to at most 32 bits; else the
    lowest signed, or the highest bit of an unsigned, integer, as the hardware was seen to do."""
    integral = INTEGRAL.get(f.one_of(*INTEGRAL), np.trunc)
    info = np.iinfo(to.dtype)
    nan_is_zero = source.dtype != np.float64 and to.size < 8
    on_nan = 0 if nan_is_zero else 1 << (max(to.bits, 32) - 1)
    nan = (
        to.dtype.type(0)
        if nan_is_zero
        else np.asarray(on_nan & ((1 << to.bits) - 1), unsigned(to.size)).view(to.dtype)
    )

    def run(a):
        if f.has("ftz") and a.dtype == np.float32:
            a = rounding.flush(a)
        r = integral(a.astype(np.float64))
        inside = (r > info.min) & (r < info.max)
        y = np.where(inside, r, 0).astype(to.dtype)
        y = np.where(r >= info.max, to.dtype.type(info.max), y)
        y = np.where(r <= info.min, to.dtype.type(info.min), y)
        return np.where(np.isnan(r), nan, y)

    return run


def integer_to_float(a, dtype, mode: str):
    if a.dtype.itemsize < 8 or dtype == np.float64 and mode == "rn":
        return rounding.narrow(a.astype(np.float64), dtype, mode)
    # 64-bit integers do not fit a float64: split, both halves do, and their sum's error is known
    high = (a >> 32).astype(np.float64) * 2.0**32
    low = (a & 0xFFFFFFFF).astype(np.float64)
    s = high + low
    return rounding.narrow(s, dtype, mode, lambda: rounding.two_sum(high, low, s))


def mov(f: Form) -> Alu:
    return Alu(lambda a: a, (f.type,), f.type)


def reciprocal_root(a):
    return (1.0 / np.sqrt(a.astype(np.float64))).astype(a.dtype)


def sine(a):
    return np.sin(a.astype(np.float64)).astype(a.dtype)


def cosine(a):
    return np.cos(a.astype(np.float64)).astype(a.dtype)


FTZ = f"{ROUNDING} ftz sat"
# fmt: off
ROWS = [
    Row("add", "d a b", f"{INTS} {FLOATS}", FTZ, add, "arithmetic", "d = a + b"),
    Row("sub", "d a b", f"{INTS} {FLOATS}", FTZ, sub, "arithmetic", "d = a - b"),
    Row("mul", "d a b", f"{INTS} {FLOATS}", f"{FTZ} lo hi wide", mul, "arithmetic", "d = a * b"),
    Row("mul24", "d a b", "u32 s32", "lo", lambda f: alu(np.multiply, f, 2), "arithmetic",
        "d = a * b of 24-bit values"),
    Row("mad", "d a b c", f"{INTS} f32 f64", f"{FTZ} lo hi wide", mad, "arithmetic",
        "d = a * b + c"),
    Row("fma", "d a b c", FLOATS, f"{FTZ} relu", fma, "arithmetic", "d = a * b + c, rounded once"),
    Row("div", "d a b", f"{INTS} f32 f64", f"{FTZ} approx full", div, "special", "d = a / b"),
    Row("rem", "d a b", INTS, "", rem, "arithmetic", "d = a % b, the sign of a"),
    Row("min", "d a b", f"{INTS} {FLOATS}", "ftz NaN",
        extremum(np.fmin, np.minimum, np.bitwise_or), "arithmetic", "the smaller"),
    Row("max", "d a b", f"{INTS} {FLOATS}", "ftz NaN",
        extremum(np.fmax, np.maximum, np.bitwise_and), "arithmetic", "the larger"),
    Row("abs", "d a", f"s16 s32 s64 {FLOATS}", "ftz", absolute, "arithmetic", "d = |a|"),
    Row("neg", "d a", f"s16 s32 s64 {FLOATS}", "ftz", negate, "arithmetic", "d = -a"),
    Row("sad", "d a b c", INTS, "", sad, "arithmetic", "d = c + |a - b|"),
    Row("dp4a", "d a b c", "u32 s32", "", dot_product, "arithmetic",
        "d = c + the dot product of four bytes"),
    Row("copysign", "d a b", "f32 f64", "", copysign, "arithmetic", "the sign of a on b"),
    Row("testp", "p a", "f32 f64", "finite infinite number notanumber normal subnormal", testp,
        "compare", "what kind of number a is"),
    Row("rcp", "d a", "f32 f64", f"{FTZ} approx", reciprocal, "special", "d = 1 / a"),
    Row("sqrt", "d a", "f32 f64", f"{FTZ} approx", root, "special", "d = √a"),
    Row("rsqrt", "d a", "f32 f64", "ftz approx", elementary(reciprocal_root), "special",
        "d = 1 / √a"),
    Row("ex2", "d a", "f32 f16 f16x2 bf16 bf16x2", "ftz approx", elementary(np.exp2), "special",
        "d = 2^a"),
    Row("lg2", "d a", "f32", "ftz approx", elementary(np.log2), "special", "d = log2 a"),
    Row("sin", "d a", "f32", "ftz approx", elementary(sine), "special", "d = sin a"),
    Row("cos", "d a", "f32", "ftz approx", elementary(cosine), "special", "d = cos a"),
    Row("tanh", "d a", "f32 f16 f16x2 bf16 bf16x2", "approx", elementary(np.tanh), "special",
        "d = tanh a"),
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
    Row("brev", "d a", "b32 b64", "", per_bit(reversed_bits), "logic", "the bits backwards"),
    Row("clz", "d a", "b32 b64", "", per_bit(leading_zeros), "logic", "leading zeros"),
    Row("popc", "d a", "b32 b64", "", per_bit(count_ones), "logic", "how many ones"),
    Row("prmt", "d a b c", "b32", "f4e b4e rc8 ecl ecr rc16", permute, "logic",
        "four bytes picked from a and b"),
    Row("setp", "p a b c", f"{BITS} {INTS} {FLOATS}", f"{COMPARE} and or xor ftz", setp,
        "compare", "p = a ? b"),
    Row("set", "d a b c", f"{BITS} {INTS} {FLOATS}", f"{COMPARE} and or xor ftz", set_,
        "compare", "d = a ? b, as 1.0 or all ones"),
    Row("selp", "d a b p", f"{BITS} {INTS} f32 f64", "", selp, "compare", "d = p ? a : b"),
    Row("slct", "d a b c", f"{BITS} {INTS} f32 f64", "ftz", slct, "compare",
        "d = c >= 0 ? a : b"),
    Row("cvt", "d a b", f"u8 s8 {INTS} {FLOATS}", f"{FTZ} relu {' '.join(INTEGRAL)}", cvt,
        "convert", "a in another type"),
    Row("mov", "d a", f"pred {BITS} {INTS} f32 f64", "", mov, "move", "d = a"),
]
# fmt: on
