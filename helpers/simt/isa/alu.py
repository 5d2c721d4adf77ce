"""Arithmetic, comparison and conversion: opcodes that see registers and nothing else.

A row's `make` turns the suffixes into an Alu: the NumPy function, the types its sources are read
as, and the type of its result. Every function takes and returns whole arrays of lanes.
"""

from collections.abc import Callable

import numpy as np

from . import rounding
from .lanes import blend
from .packed import pack_integers
from .table import Alu, Form, Row, refuse
from .types import TYPES, Type, unsigned

__all__ = ["ROWS", "Alu"]


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
        raise refuse(f.mnemonic, f".sat of {t.name}")
    return Alu(function, (t,) * arity, t)


# ---------------------------------------------------------------------------- arithmetic
def add(f: Form) -> Alu:
    if carries(f):
        return with_carry(f, plus_carry)
    if not f.type.floating:
        return alu(saturated(np.add, f), f, 2)
    mode = f.one_of("rz", "rm", "rp")
    return alu((lambda a, b: rounding.plus(a, b, mode)) if mode else np.add, f, 2)


def sub(f: Form) -> Alu:
    if carries(f):
        return with_carry(f, minus_borrow)
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
    if f.has("sat") and f.opcode == "mul":
        raise refuse(f.mnemonic, "products of integers do not saturate")
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
    if carries(f):
        if f.has("wide"):
            raise refuse(f.mnemonic, ".wide has no carry")
        return with_carry(f, plus_carry, product.function)
    if f.has("sat"):
        if t.name != "s32" or not f.has("hi"):
            raise refuse(f.mnemonic, ".sat is for .hi.s32")
        total = saturated(np.add, f)
        return Alu(lambda a, b, c: total(product.function(a, b), c), (t, t, result), result)
    return Alu(lambda a, b, c: product.function(a, b) + c, (t, t, result), result)


def carries(f: Form) -> bool:
    return f.has("cc") or f.opcode in ("addc", "subc", "madc")


def with_carry(f: Form, function: Callable, product: Callable | None = None) -> Alu:
    """Integers in several words: `.cc` keeps the carry (of sub, the borrow), addc, subc and madc
    take it up. The decoder gives it as a last source, and a second result."""
    t = f.type
    if t.floating or t.size < 4:
        raise refuse(f.mnemonic, f".{t.name} has no carry")
    raw = TYPES[f"u{t.bits}"]

    def run(*sources):
        carry = sources[-1] if f.opcode[-1] == "c" else np.zeros((1, 1), bool)
        a, b = sources[:2]
        if product is not None:
            a, b = product(a, b), sources[2]
        y, carry = function(a.view(raw.dtype), b.view(raw.dtype), carry.astype(raw.dtype))
        return (y.view(t.dtype), carry) if f.has("cc") else y.view(t.dtype)

    sources = (t,) * (3 if product else 2) + (PRED,) * (f.opcode[-1] == "c")
    return Alu(run, sources, t, PRED if f.has("cc") else None)


def plus_carry(a, b, carry):
    part = a + b
    y = part + carry
    return y, (part < a) | (y < part)


def minus_borrow(a, b, borrow):
    part = a - b
    return part - borrow, (a < b) | (part < borrow)


def narrow_product(high: bool) -> Callable:
    """mul24, mad24: the product of the low 24 bits, its low 32 bits or, high, its bits 16 to 47."""

    def product(t: Type) -> Callable:
        def run(a, b):
            a, b = (v.astype(np.int64) << 40 for v in (a, b))
            a, b = (
                v >> 40 if t.kind == "s" else v.view(np.uint64) >> np.uint64(40) for v in (a, b)
            )
            whole = a.view(np.int64) * b.view(np.int64)
            return (whole >> 16 if high else whole).astype(np.uint32).view(t.dtype)

        return run

    return product


def mul24(f: Form) -> Alu:
    return alu(narrow_product(f.has("hi"))(f.type), f, 2)


def mad24(f: Form) -> Alu:
    product, total = narrow_product(f.has("hi"))(f.type), np.add
    if f.has("sat"):
        if f.type.kind != "s" or not f.has("hi"):
            raise refuse(f.mnemonic, ".sat is for .hi.s32")
        total = saturated(np.add, f)
    return alu(lambda a, b, c: total(product(a, b), c), f, 3)


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
    """min and max: the number wins over NaN (unless .NaN), and −0 < +0; with .xorsign.abs, of the
    magnitudes, with the signs multiplied."""

    def make(f: Form) -> Alu:
        pick = nan_wins if f.has("NaN") else number_wins
        if not f.type.floating:
            return alu(pick, f, 2)
        if f.has("xorsign"):
            return alu(with_signs(pick), f, 2)
        bits = unsigned(f.type.dtype.itemsize)

        def run(a, b):
            y = pick(a, b)
            zeros = y == 0
            if np.count_nonzero(zeros):  # both zeros compare equal: let the sign bits decide
                both = zeros & (a == b)
                y = np.where(both, combine(a.view(bits), b.view(bits)).view(y.dtype), y)
            return y

        return alu(run, f, 2)

    return make


def with_signs(pick: Callable) -> Callable:
    def run(a, b):
        size = np.abs(pick(np.abs(a), np.abs(b)))
        return np.where(np.signbit(a) != np.signbit(b), -size, size)

    return run


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
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= tiny) | (a == 0)),  # zeros count as it
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    return Alu(tests[kind], (f.type,), PRED)


def sad(f: Form) -> Alu:
    return alu(lambda a, b, c: c + np.where(a < b, b - a, a - b), f, 3)


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
        raise refuse(f.mnemonic, "it needs a comparison")
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
    if t.packed > 1 and combine is not None:
        return Alu(
            lambda a, b, c: tuple(combine(y, c) for y in pair_test(test, a, b, t)),
            (U32, U32, PRED),
            PRED,
            PRED,
        )
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

    def value(y):
        y = y.astype(result.dtype)
        return y if result.floating else -y  # all ones

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
        raise refuse(f.mnemonic, "it needs two types, to and from")
    if f.has("pack"):
        return pack_integers(f)
    if any(t.kind == "b" for t in f.types):
        raise refuse(f.mnemonic, "bits have no value to convert")
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

    if to.size > source.size and not f.modifiers:
        return lambda a: a.astype(to.dtype)  # every value has its equal there

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
    on_nan = 0 if nan_is_zero else 1 << ((to.bits if to.bits > 8 else 32) - 1)
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


# Where the hardware is known to come out one unit lower than the correctly rounded 2^a (it may be
# off by two): `hexp` of cuda_fp16.h raises its result at the inputs -2.6152 and -2.9668 to make up
# for it, which would spoil a result that was right.
LOW_EX2 = np.array([-3.7729857, -4.2801833], np.float32)


def exponential(a):
    """2^a."""
    y = np.exp2(a)
    if a.dtype == np.float32:
        low = a == LOW_EX2[0]
        low |= a == LOW_EX2[1]
        if np.count_nonzero(low):
            y = np.where(low, np.nextafter(y, np.float32(0)), y)
    return y


def reciprocal_root(a):
    return (1.0 / np.sqrt(a.astype(np.float64))).astype(a.dtype)


def sine(a):
    return np.sin(a.astype(np.float64)).astype(a.dtype)


def cosine(a):
    return np.cos(a.astype(np.float64)).astype(a.dtype)


FTZ = f"{ROUNDING} ftz sat"
# fmt: off
ROWS = [
    Row("add", "d a b", f"{INTS} {FLOATS}", f"{FTZ} cc", add, "arithmetic", "d = a + b"),
    Row("sub", "d a b", f"{INTS} {FLOATS}", f"{FTZ} cc", sub, "arithmetic", "d = a - b"),
    Row("mul", "d a b", f"{INTS} {FLOATS}", f"{FTZ} lo hi wide", mul, "arithmetic", "d = a * b"),
    Row("mul24", "d a b", "u32 s32", "lo hi", mul24, "arithmetic", "d = a * b of 24-bit values"),
    Row("mad24", "d a b c", "u32 s32", "lo hi sat", mad24, "arithmetic",
        "d = a * b + c, the product of 24-bit values"),
    Row("mad", "d a b c", f"{INTS} f32 f64", f"{FTZ} lo hi wide cc", mad, "arithmetic",
        "d = a * b + c"),
    Row("addc", "d a b", "u32 s32 u64 s64", "cc", add, "arithmetic", "d = a + b + the carry"),
    Row("subc", "d a b", "u32 s32 u64 s64", "cc", sub, "arithmetic", "d = a - b - the borrow"),
    Row("madc", "d a b c", "u32 s32 u64 s64", "lo hi cc", mad, "arithmetic",
        "d = a * b + c + the carry"),
    Row("fma", "d a b c", FLOATS, f"{FTZ} relu", fma, "arithmetic", "d = a * b + c, rounded once"),
    Row("div", "d a b", f"{INTS} f32 f64", f"{FTZ} approx full", div, "special", "d = a / b"),
    Row("rem", "d a b", INTS, "", rem, "arithmetic", "d = a % b, the sign of a"),
    Row("min", "d a b", f"{INTS} {FLOATS}", "ftz NaN xorsign abs",
        extremum(np.fmin, np.minimum, np.bitwise_or), "arithmetic", "the smaller"),
    Row("max", "d a b", f"{INTS} {FLOATS}", "ftz NaN xorsign abs",
        extremum(np.fmax, np.maximum, np.bitwise_and), "arithmetic", "the larger"),
    Row("abs", "d a", f"s16 s32 s64 {FLOATS}", "ftz", absolute, "arithmetic", "d = |a|"),
    Row("neg", "d a", f"s16 s32 s64 {FLOATS}", "ftz", negate, "arithmetic", "d = -a"),
    Row("sad", "d a b c", INTS, "", sad, "arithmetic", "d = c + |a - b|"),
    Row("copysign", "d a b", "f32 f64", "", copysign, "arithmetic", "the sign of a on b"),
    Row("testp", "p a", "f32 f64", "finite infinite number notanumber normal subnormal", testp,
        "compare", "what kind of number a is"),
    Row("rcp", "d a", "f32 f64", f"{FTZ} approx", reciprocal, "special", "d = 1 / a"),
    Row("sqrt", "d a", "f32 f64", f"{FTZ} approx", root, "special", "d = √a"),
    Row("rsqrt", "d a", "f32 f64", "ftz approx", elementary(reciprocal_root), "special",
        "d = 1 / √a"),
    Row("ex2", "d a", "f32 f16 f16x2 bf16 bf16x2", "ftz approx", elementary(exponential), "special",
        "d = 2^a"),
    Row("lg2", "d a", "f32", "ftz approx", elementary(np.log2), "special", "d = log2 a"),
    Row("sin", "d a", "f32", "ftz approx", elementary(sine), "special", "d = sin a"),
    Row("cos", "d a", "f32", "ftz approx", elementary(cosine), "special", "d = cos a"),
    Row("tanh", "d a", "f32 f16 f16x2 bf16 bf16x2", "approx", elementary(np.tanh), "special",
        "d = tanh a"),
    Row("setp", "p a b c", f"{BITS} {INTS} {FLOATS}", f"{COMPARE} and or xor ftz", setp,
        "compare", "p = a ? b"),
    Row("set", "d a b c", f"{BITS} {INTS} {FLOATS}", f"{COMPARE} and or xor ftz", set_,
        "compare", "d = a ? b, as 1.0 or all ones"),
    Row("selp", "d a b p", f"{BITS} {INTS} f32 f64", "", selp, "compare", "d = p ? a : b"),
    Row("slct", "d a b c", f"{BITS} {INTS} f32 f64", "ftz", slct, "compare",
        "d = c >= 0 ? a : b"),
    Row("cvt", "d a b", f"u8 s8 b32 {INTS} {FLOATS}", f"{FTZ} relu pack {' '.join(INTEGRAL)}", cvt,
        "convert", "a in another type; x2: a above b"),
    Row("mov", "d a", f"pred {BITS} {INTS} f32 f64", "", mov, "move", "d = a"),
]
# fmt: on
