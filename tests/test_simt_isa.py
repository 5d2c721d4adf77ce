"""Every row of the opcode tables, as cases: PTX, lanes in, lanes out.

Expected lanes are computed with Python's integers and fractions, never with NumPy. A case's source
values are the edges of its types, all against all for two sources and a sample for three.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from exact import BF16, F16, F32, F64, add, divide, fma, multiply, saturate, square_root
from ptx_lanes import entry, lanes

from helpers import simt
from helpers.simt import isa

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
INTS = ("u16", "s16", "u32", "s32", "u64", "s64")


# ---------------------------------------------------------------------------- values
def bits_of(kind: str) -> int:
    return 1 if kind == "pred" else 32 if kind.endswith("x2") else int(kind.lstrip("bfsu"))


def edges(kind: str) -> list[int]:
    """Bit patterns at which implementations go wrong."""
    if kind == "pred":
        return [0, 1]
    if kind.endswith("x2"):
        each = edges(kind[:-2])
        return [low | high << 16 for low, high in zip(each, each[3:] + each[:3], strict=True)]
    if kind in FORMATS:
        f = FORMATS[kind]
        unit = 1 << f.fraction
        one = f.bias << f.fraction
        small = [0, 1, unit - 1, unit, unit + 1]
        large = [one - unit, one, one + 1, one + unit // 2, one + unit, one + 2 * unit + unit // 4]
        huge = [f.infinity - unit, f.infinity - 1, f.infinity]
        numbers = small + large + huge
        return [f.nan, *numbers, *(f.sign | n for n in numbers)]
    n = bits_of(kind)
    top = 1 << (n - 1)
    most = (1 << n) - 1
    values = {0, 1, 2, 3, 7, n - 1, n, n + 1, 255, top - 1, top, top + 1, most - 1, most}
    return sorted(v & most for v in values | {0x5A5A5A5A5A5A5A5A & most, 1 << n // 2})


def signed(value: int, n: int) -> int:
    return (value & ((1 << n) - 1)) - ((value & (1 << (n - 1))) << 1)


def number(value: int, kind: str) -> int:
    """A bit pattern as the integer that its type makes of it."""
    return signed(value, bits_of(kind)) if kind[0] == "s" else value


@dataclass(frozen=True)
class Near:
    """A result that may be off: by so much absolutely, or relative to its size."""

    value: float
    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True)
class Case:
    """`body` computes %d (and %q) from %a, %b, %c, %e; `expect` does the same with bit patterns.

    An integer may come out of `expect` unwrapped; a Near allows a tolerance; two results come as a
    tuple. `values` replaces the edges of the types.
    """

    body: str
    sources: tuple
    results: tuple
    expect: Callable
    values: tuple | None = None

    @property
    def opcodes(self) -> set[str]:
        return {line.split()[0].split(".")[0] for line in self.body.split(";") if line.strip()}

    def __str__(self):
        return self.body.split(" %")[0]

    def lanes(self) -> list[list[int]]:
        if self.values is not None:
            return [list(v) for v in self.values]
        domains = [edges(t) for t in self.sources]
        if len(domains) == 3 and domains[2] != [0, 1]:
            draw = random.Random(self.body)
            rows = [[draw.choice(d) for d in domains] for _ in range(600)]
        else:
            rows = itertools.product(*domains)
        return [list(column) for column in zip(*rows, strict=True)]


def op(mnemonic: str, sources, result, expect, values=None) -> Case:
    """The case of one instruction with plain operands."""
    names = ("%a", "%b", "%c", "%e")[: len(sources)]
    body = f"{mnemonic} {', '.join(('%d', *names))};"
    return Case(body, tuple(sources), (result,), expect, values)


# ---------------------------------------------------------------------------- integer cases
def integer_cases():
    for t in INTS:
        n = bits_of(t)

        def on_numbers(f, t=t):
            return lambda *v: f(*(number(x, t) for x in v))

        wide = f"{t[0]}{2 * n}"
        yield op(f"add.{t}", (t, t), t, lambda a, b: a + b)
        yield op(f"sub.{t}", (t, t), t, lambda a, b: a - b)
        yield op(f"mul.lo.{t}", (t, t), t, lambda a, b: a * b)
        yield op(f"mul.hi.{t}", (t, t), t, on_numbers(lambda a, b, n=n: a * b >> n))
        yield op(f"mad.lo.{t}", (t,) * 3, t, lambda a, b, c: a * b + c)
        yield op(f"mad.hi.{t}", (t,) * 3, t, on_numbers(lambda a, b, c, n=n: (a * b >> n) + c))
        if n < 64:
            yield op(f"mul.wide.{t}", (t, t), wide, on_numbers(lambda a, b: a * b))
            yield op(
                f"mad.wide.{t}", (t, t, wide), wide,
                lambda a, b, c, t=t: number(a, t) * number(b, t) + c,
            )
        nonzero = [e for e in edges(t) if e]
        pairs = tuple(zip(*itertools.product(edges(t), nonzero), strict=True))
        yield op(f"div.{t}", (t, t), t, on_numbers(quotient), pairs)
        yield op(
            f"rem.{t}", (t, t), t, on_numbers(lambda a, b: a - b * quotient(a, b)), pairs
        )
        yield op(f"min.{t}", (t, t), t, on_numbers(min))
        yield op(f"max.{t}", (t, t), t, on_numbers(max))
        yield op(f"sad.{t}", (t,) * 3, t, on_numbers(lambda a, b, c: c + abs(a - b)))
        yield op(
            f"shr.{t}", (t, "u32"), t, lambda a, b, t=t: number(a, t) >> min(b, 64)
        )
        if t[0] == "s":
            yield op(f"abs.{t}", (t,), t, on_numbers(abs))
            yield op(f"neg.{t}", (t,), t, lambda a: -a)
    yield op("add.sat.s32", ("s32",) * 2, "s32", clamped(lambda a, b: a + b))
    yield op("sub.sat.s32", ("s32",) * 2, "s32", clamped(lambda a, b: a - b))
    small = [0, 1, 0xFFFFFF, 0x7FFFFF, 0x123456]
    pairs = tuple(zip(*itertools.product(small, small), strict=True))
    yield op("mul24.lo.u32", ("u32",) * 2, "u32", lambda a, b: a * b, pairs)
    small = [0, 1, -1 % 2**32, 0x7FFFFF, -0x800000 % 2**32]
    pairs = tuple(zip(*itertools.product(small, small), strict=True))
    yield op("mul24.lo.s32", ("s32",) * 2, "s32", lambda a, b: a * b, pairs)
    for left, right in itertools.product("us", repeat=2):
        result = "u32" if left == right == "u" else "s32"
        yield op(f"dp4a.{left}32.{right}32", ("b32", "b32", "b32"), result, dot(left, right))


def quotient(a: int, b: int) -> int:
    """C's division, towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def clamped(f):
    return lambda a, b: max(-(2**31), min(2**31 - 1, f(signed(a, 32), signed(b, 32))))


def dot(left, right):
    def run(a, b, c):
        pairs = [(number(a >> s & 255, f"{left}8"), number(b >> s & 255, f"{right}8"))
                 for s in (0, 8, 16, 24)]
        return c + sum(x * y for x, y in pairs)

    return run


# ---------------------------------------------------------------------------- bit cases
def bit_cases():
    for t in ("b16", "b32", "b64", "pred"):
        yield op(f"and.{t}", (t, t), t, lambda a, b: a & b)
        yield op(f"or.{t}", (t, t), t, lambda a, b: a | b)
        yield op(f"xor.{t}", (t, t), t, lambda a, b: a ^ b)
        yield op(f"not.{t}", (t,), t, lambda a, t=t: ~a & ((1 << bits_of(t)) - 1))
        if t == "pred":
            continue
        yield op(f"cnot.{t}", (t,), t, lambda a: int(a == 0))
        amounts = ("u32",)
        yield op(f"shl.{t}", (t, *amounts), t, lambda a, b: a << min(b, 64))
        yield op(f"shr.{t}", (t, *amounts), t, lambda a, b: a >> min(b, 64))
    for table in (0x00, 0xFF, 0xE8, 0x96, 0x1B, 0xC0):
        yield Case(
            f"lop3.b32 %d, %a, %b, %c, 0x{table:x};", ("b32",) * 3, ("b32",), truth(table)
        )
    for way, mode in itertools.product("lr", ("wrap", "clamp")):
        yield op(f"shf.{way}.{mode}.b32", ("b32", "b32", "u32"), "b32", funnel(way, mode))
    for t in ("b32", "b64"):
        n = bits_of(t)
        yield op(f"brev.{t}", (t,), t, lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2))
        yield op(f"clz.{t}", (t,), "u32", lambda a, n=n: n - a.bit_length())
        yield op(f"popc.{t}", (t,), "u32", int.bit_count)
        yield op(f"bfi.{t}", (t, t, "u32", "u32"), t, insert(n), field_values(t, 2))
    for t in ("u32", "s32", "u64", "s64"):
        yield op(f"bfe.{t}", (t, "u32", "u32"), t, extract(t), field_values(t, 1))
        yield op(f"bfind.{t}", (t,), "u32", leading(t, False))
        yield op(f"bfind.shiftamt.{t}", (t,), "u32", leading(t, True))
    selectors = (0x3210, 0x7654, 0x0123, 0x89AB, 0xCDEF, 0x5410, 0xFEDC, 0x12348)
    triples = tuple(zip(*itertools.product((0x80FF7F01, 0), (0x11F28384,), selectors), strict=True))
    yield op("prmt.b32", ("b32",) * 3, "b32", permuted, triples)


def truth(table):
    def run(a, b, c):
        return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i
                   for i in range(32))

    return run


def funnel(way, mode):
    def run(low, high, n):
        n = n % 32 if mode == "wrap" else min(n, 32)
        both = high << 32 | low
        return both << n >> 32 if way == "l" else both >> n

    return run


def field_values(kind, count):
    """Values with start and length of a bit field, beyond the width and beyond 255 too."""
    places = (0, 1, 5, 16, 31, 32, 33, 63, 64, 65, 255, 256, 260)
    numbers = (0, 0x5A5A5A5A5A5A5A5A, 0x80000000_80000000, 2**64 - 1)
    mask = (1 << bits_of(kind)) - 1
    rows = itertools.product(*[[v & mask for v in numbers]] * count, places, places)
    return tuple(zip(*rows, strict=True))


def extract(kind):
    n = bits_of(kind)

    def run(a, start, length):
        start, length = start & 255, length & 255
        top = a >> min(start + length - 1, n - 1) & 1 if length and kind[0] == "s" else 0
        return sum((a >> start + i & 1 if i < length and start + i < n else top) << i
                   for i in range(n))

    return run


def insert(n):
    def run(a, b, start, length):
        start, length = start & 255, length & 255
        for i in range(length):
            if start + i < n:
                b = b & ~(1 << start + i) | (a >> i & 1) << start + i
        return b

    return run


def leading(kind, amount):
    def run(a):
        v = number(a, kind)
        length = (~v if v < 0 else v).bit_length()
        if length == 0:
            return 0xFFFFFFFF
        return bits_of(kind) - length if amount else length - 1

    return run


def permuted(a, b, selector):
    both, y = b << 32 | a, 0
    for i in range(4):
        pick = selector >> 4 * i & 15
        byte = both >> 8 * (pick & 7) & 255
        y |= ((255 if byte & 128 else 0) if pick & 8 else byte) << 8 * i
    return y


# ---------------------------------------------------------------------------- float cases
def float_cases():
    for t, f in FORMATS.items():
        for suffix, each in ((t, lambda g: g), (f"{t}x2", halves)):
            if suffix in ("f32x2", "f64x2"):
                continue
            rn = "rn." if t in ("f32", "f64") else ""
            yield op(f"add.{rn}{suffix}", (suffix,) * 2, suffix, each(partial(add, f)))
            yield op(f"sub.{rn}{suffix}", (suffix,) * 2, suffix, each(difference(f)))
            yield op(f"mul.{rn}{suffix}", (suffix,) * 2, suffix, each(partial(multiply, f)))
            yield op(f"fma.rn.{suffix}", (suffix,) * 3, suffix, each(partial(fma, f)))
            yield op(f"min.{suffix}", (suffix,) * 2, suffix, each(extremum(f, False)))
            yield op(f"max.{suffix}", (suffix,) * 2, suffix, each(extremum(f, True)))
            yield op(f"abs.{suffix}", (suffix,), suffix, each(lambda a, f=f: a & ~f.sign))
            yield op(f"neg.{suffix}", (suffix,), suffix, each(lambda a, f=f: a ^ f.sign))
            if t != "f64":
                yield op(f"min.NaN.{suffix}", (suffix,) * 2, suffix, each(strict(f, False)))
                yield op(f"max.NaN.{suffix}", (suffix,) * 2, suffix, each(strict(f, True)))
            if t in ("f16", "bf16"):
                yield op(f"fma.rn.relu.{suffix}", (suffix,) * 3, suffix, each(relu(f, partial(fma, f))))
    for t, f in (("f32", F32), ("f64", F64)):
        yield op(f"mad.rn.{t}", (t,) * 3, t, partial(fma, f))
        yield op(f"div.rn.{t}", (t, t), t, partial(divide, f))
        yield op(f"rcp.rn.{t}", (t,), t, lambda a, f=f: divide(f, f.bias << f.fraction, a))
        yield op(f"sqrt.rn.{t}", (t,), t, partial(square_root, f))
        yield op(f"copysign.{t}", (t, t), t, lambda a, b, f=f: a & f.sign | b & ~f.sign)
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield op(f"testp.{kind}.{t}", (t,), "pred", kind_of(f, kind))
    f = F32
    yield op("add.ftz.f32", ("f32",) * 2, "f32", flushing(partial(add, f)))
    yield op("mul.ftz.f32", ("f32",) * 2, "f32", flushing(partial(multiply, f)))
    yield op("fma.rn.ftz.f32", ("f32",) * 3, "f32", flushing(partial(fma, f)))
    yield op("max.ftz.f32", ("f32",) * 2, "f32", flushing(extremum(f, True)))
    yield op("add.sat.f32", ("f32",) * 2, "f32", lambda a, b: saturate(F32, add(F32, a, b)))
    yield op(
        "fma.rn.sat.f32", ("f32",) * 3, "f32", lambda a, b, c: saturate(F32, fma(F32, a, b, c))
    )
    yield op(
        "fma.rn.ftz.sat.f32", ("f32",) * 3, "f32",
        flushing(lambda a, b, c: saturate(F32, fma(F32, a, b, c))),
    )
    yield op("mul.sat.f16", ("f16",) * 2, "f16", lambda a, b: saturate(F16, multiply(F16, a, b)))


def partial(function, f):
    return lambda *v: function(f, *v)


def difference(f):
    return lambda a, b: add(f, a, b ^ f.sign)


def halves(function):
    """A function of 16-bit patterns on both halves of 32-bit ones: (lower, upper)."""
    return lambda *v: (function(*(x & 0xFFFF for x in v)), function(*(x >> 16 for x in v)))


def extremum(f, largest):
    """min or max: NaN loses to a number, and -0 is less than +0."""

    def run(a, b):
        if f.is_nan(a) or f.is_nan(b):
            return b if f.is_nan(a) else a
        key = (f.value(a), not a & f.sign), (f.value(b), not b & f.sign)
        return a if (key[0] >= key[1]) == largest else b

    return run


def strict(f, largest):
    """min.NaN and max.NaN: NaN wins."""
    pick = extremum(f, largest)
    return lambda a, b: f.nan if f.is_nan(a) or f.is_nan(b) else pick(a, b)


ZERO = Near(0.0)  # of either sign


def relu(f, function):
    """Negative results become 0; NaN stays."""

    def run(*v):
        y = function(*v)
        return ZERO if y & f.sign and not f.is_nan(y) else y

    return run


def flushing(function):
    return lambda *v: F32.flush(function(*map(F32.flush, v)))


def kind_of(f, kind):
    def run(a):
        size = a & ~f.sign
        return {
            "finite": size < f.infinity,
            "infinite": size == f.infinity,
            "number": size <= f.infinity,
            "notanumber": size > f.infinity,
            "normal": 1 << f.fraction <= size < f.infinity,
            "subnormal": 0 < size < 1 << f.fraction,
        }[kind]

    return run


# ---------------------------------------------------------------------------- approximations
def approximate_cases():
    """Bounds from the PTX manual; the points it names (zeros, infinities) are exact."""
    ulp = 2.0**-23
    yield op("ex2.approx.f32", ("f32",), "f32", power(relative=2 * ulp), (exponents(),))
    yield op("ex2.approx.ftz.f32", ("f32",), "f32", power(ftz=True, relative=2 * ulp), (exponents(),))
    for t, bound in (("f16", 2**-9.9), ("bf16", 2.0**-7)):
        f = FORMATS[t]
        values = (narrow_exponents(f),)
        ftz = ".ftz" if t == "bf16" else ""
        one = power(f, ftz=t == "bf16", relative=bound, absolute=2.0**-24 if t == "f16" else 0)
        yield op(f"ex2.approx{ftz}.{t}", (t,), t, one, values)
        yield op(f"ex2.approx{ftz}.{t}x2", (f"{t}x2",), f"{t}x2", halves(one),
                 ([v | w << 16 for v, w in zip(values[0], values[0][::-1], strict=True)],))
    yield op("lg2.approx.f32", ("f32",), "f32", real(logarithm, absolute=2.0**-22, relative=ulp))
    yield op("rcp.approx.ftz.f32", ("f32",), "f32", real(inverse, True, relative=ulp))
    yield op("rcp.approx.f32", ("f32",), "f32", real(inverse, relative=ulp))
    yield op("sqrt.approx.f32", ("f32",), "f32", real(root, relative=2.0**-22))
    yield op("rsqrt.approx.f32", ("f32",), "f32", real(inverse_root, relative=2**-22.9))
    yield op("rsqrt.approx.f64", ("f64",), "f64", real(inverse_root, f=F64, relative=2**-22.9))
    yield op("rsqrt.approx.ftz.f32", ("f32",), "f32", real(inverse_root, True, relative=2**-22.9))
    angles = [pattern(F32, x) for x in (0.0, -0.0, 0.5, -1.0, 3.0, -3.14159, 1e-8, math.inf, math.nan)]
    yield op("sin.approx.f32", ("f32",), "f32", real(math.sin, absolute=2**-20.5), (angles,))
    yield op("cos.approx.f32", ("f32",), "f32", real(math.cos, absolute=2**-20.5), (angles,))
    for t, bound in (("f32", 2.0**-11), ("f16", 2**-10.9), ("bf16", 2.0**-8)):
        f = FORMATS[t]
        one = real(math.tanh, f=f, relative=bound, absolute=2.0**-24 if t == "f16" else 0)
        yield op(f"tanh.approx.{t}", (t,), t, one)
        if t != "f32":
            yield op(f"tanh.approx.{t}x2", (f"{t}x2",), f"{t}x2", halves(one))
    yield op("div.approx.f32", ("f32",) * 2, "f32", quick_quotient(2 * ulp))
    ordinary = [e for e in edges("f32") if not 2**126 <= abs(F32.value(e)) < math.inf]
    pairs = tuple(zip(*itertools.product(ordinary, ordinary), strict=True))
    yield op("div.full.f32", ("f32",) * 2, "f32", quick_quotient(2 * ulp), pairs)


def pattern(f, x: float) -> int:
    """The nearest pattern of a Python float."""
    return f.round(x_exact(x)) if x and math.isfinite(x) else f.special(x)


def x_exact(x):
    from fractions import Fraction

    return Fraction(x)


def exponents():
    inside = (0.0, -0.0, 1.0, -1.0, 0.5, -0.3, 10.25, -126.0, -126.5, -149.0, 127.99, 1e-30)
    return [pattern(F32, x) for x in (*inside, 128.0, -200.0, math.inf, -math.inf, math.nan)]


def narrow_exponents(f):
    inside = (0.0, -0.0, 1.0, -1.0, 0.5, -0.3, 10.25, -13.5, -20.0)
    return [pattern(f, x) for x in (*inside, 20000.0, -20000.0, math.inf, -math.inf, math.nan)]


def power(f=F32, ftz=False, **bounds):
    def run(a):
        a = f.flush(a) if ftz else a
        x = f.value(a)
        if not math.isfinite(x) or x == 0:
            return f.special(x) if not x <= 0 else pattern(f, 0.0 if x else 1.0)
        if x >= f.bias + 1:
            return f.infinity
        y = 2.0**x
        if y < 2.0 ** (1 - f.bias) and (ftz or y <= 2.0 ** (-f.bias - f.fraction)):
            return 0
        return Near(y, max(bounds.get("absolute", 0), 2.0 ** (1 - f.bias - f.fraction)
                           if y < 2.0 ** (1 - f.bias) else 0), bounds["relative"])

    return run


def real(function, ftz=False, f=F32, **bounds):
    """Exact where the function gives a zero, an infinity or NaN; near elsewhere."""

    def run(a):
        a = f.flush(a) if ftz else a
        x = f.value(a)
        try:
            y = function(x)
        except ValueError:
            y = math.nan
        if y == 0 or not math.isfinite(y):
            return f.special(y)
        exact = f.round(x_exact(y))
        if ftz and f.flush(exact) != exact:
            return f.flush(exact)
        if exact & ~f.sign == f.infinity:
            return exact
        if exact & ~f.sign < 1 << f.fraction:  # subnormal results: within one step
            return Near(y, absolute=2.0 ** (1 - f.bias - f.fraction))
        return Near(y, **bounds)

    return run


def logarithm(x):
    return -math.inf if x == 0 else math.log2(x)


def inverse(x):
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def root(x):
    return x if x == 0 else math.sqrt(x)


def inverse_root(x):
    return inverse(x) if x == 0 else 1 / math.sqrt(x)


def quick_quotient(bound):
    """div.approx: by more than 2^126 the manual promises 0, or NaN of an infinite dividend."""

    def run(a, b):
        y = divide(F32, a, b)
        size = abs(F32.value(b))
        if 2.0**126 < size < math.inf:
            return F32.nan if not math.isfinite(F32.value(a)) else ZERO
        if y & ~F32.sign >= F32.infinity or y & ~F32.sign < 1 << 23:
            return y
        return Near(F32.value(y), relative=bound)

    return run


# ---------------------------------------------------------------------------- comparison cases
ORDER = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}
UNSIGNED_ORDER = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparison_cases():
    for t in (*INTS, "b16", "b32", "b64"):
        names = ("eq", "ne") if t[0] == "b" else tuple(ORDER)
        for name in names:
            test = integer_test(name, t)
            yield Case(f"setp.{name}.{t} %d|%q, %a, %b;", (t, t), ("pred", "pred"),
                       lambda a, b, test=test: (test(a, b), not test(a, b)))
        test = integer_test("eq", t)
        yield op(f"set.eq.u32.{t}", (t, t), "u32", lambda a, b, f=test: -int(f(a, b)))
        yield op(f"selp.{t}", (t, t, "pred"), t, lambda a, b, c: a if c else b)
        yield op(f"slct.{t}.s32", (t, t, "s32"), t, lambda a, b, c: b if c >> 31 else a)
    for name, same in UNSIGNED_ORDER.items():
        yield op(f"setp.{name}.u32", ("u32",) * 2, "pred", integer_test(same, "u32"))
    for t, f in FORMATS.items():
        for name, unordered in itertools.product(ORDER, ("", "u")):
            test = float_test(f, name, bool(unordered))
            yield op(f"setp.{name}{unordered}.{t}", (t, t), "pred", test)
        yield op(f"setp.num.{t}", (t, t), "pred", lambda a, b, f=f: not (f.is_nan(a) or f.is_nan(b)))
        yield op(f"setp.nan.{t}", (t, t), "pred", lambda a, b, f=f: f.is_nan(a) or f.is_nan(b))
        yield op(f"set.lt.u32.{t}", (t, t), "u32",
                 lambda a, b, f=float_test(f, "lt", False): -int(f(a, b)))
    for t in ("f16", "bf16"):
        test = float_test(FORMATS[t], "lt", False)
        yield Case(f"setp.lt.{t}x2 %d|%q, %a, %b;", (f"{t}x2",) * 2, ("pred", "pred"),
                   lambda a, b, f=test: (f(a & 0xFFFF, b & 0xFFFF), f(a >> 16, b >> 16)))
        one = FORMATS[t].bias << FORMATS[t].fraction
        yield op(f"set.lt.{t}x2.{t}x2", (f"{t}x2",) * 2, f"{t}x2",
                 halves(lambda a, b, f=test, one=one: one if f(a, b) else 0))
        yield op(f"set.lt.{t}.{t}", (t, t), t, lambda a, b, f=test, one=one: one if f(a, b) else 0)
    less = float_test(F32, "lt", False)
    yield op("setp.lt.ftz.f32", ("f32",) * 2, "pred",
             lambda a, b: less(F32.flush(a), F32.flush(b)))
    yield op("set.lt.f32.f32", ("f32",) * 2, "f32", lambda a, b: 0x3F800000 if less(a, b) else 0)
    for name, join in (("and", "__and__"), ("or", "__or__"), ("xor", "__xor__")):
        test = integer_test("lt", "s32")
        yield Case(f"setp.lt.{name}.s32 %d|%q, %a, %b, %c;", ("s32", "s32", "pred"), ("pred", "pred"),
                   lambda a, b, c, f=test, j=join: (getattr(f(a, b), j)(bool(c)),
                                                    getattr(not f(a, b), j)(bool(c))))
        yield Case(f"setp.lt.{name}.s32 %d, %a, %b, !%c;", ("s32", "s32", "pred"), ("pred",),
                   lambda a, b, c, f=test, j=join: getattr(f(a, b), j)(not c))
        yield op(f"set.lt.{name}.u32.s32", ("s32", "s32", "pred"), "u32",
                 lambda a, b, c, f=test, j=join: -int(getattr(f(a, b), j)(bool(c))))
    for t in ("f32", "f64"):
        yield op(f"selp.{t}", (t, t, "pred"), t, lambda a, b, c: a if c else b)
        yield op(f"slct.{t}.s32", (t, t, "s32"), t, lambda a, b, c: b if c >> 31 else a)
    yield op("slct.u32.f32", ("u32", "u32", "f32"), "u32",
             lambda a, b, c: a if F32.value(c) >= 0 else b)


def integer_test(name, kind):
    return lambda a, b: ORDER[name](number(a, kind), number(b, kind))


def float_test(f, name, unordered):
    def run(a, b):
        if f.is_nan(a) or f.is_nan(b):
            return unordered
        return ORDER[name](f.value(a), f.value(b))

    return run


# ---------------------------------------------------------------------------- conversion cases
CEILING = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def conversion_cases():
    integers = ("u8", "s8", *INTS)
    for source, to in itertools.product(integers, integers):
        if source != to:
            yield op(f"cvt.{to}.{source}", (source,), to, lambda a, s=source: number(a, s))
    for source, to in (("s32", "u8"), ("s32", "s16"), ("u32", "s32"), ("s64", "u32"), ("u64", "s64")):
        yield op(f"cvt.sat.{to}.{source}", (source,), to,
                 lambda a, s=source, to=to: into_range(number(a, s), to))
    for source, to in itertools.product(FORMATS, ("s16", "u16", "s32", "u32", "s64", "u64")):
        if source != "bf16":
            for mode in CEILING:
                yield op(f"cvt.{mode}.{to}.{source}", (source,), to, to_integer(source, to, mode))
    yield op("cvt.rzi.ftz.s32.f32", ("f32",), "s32",
             lambda a: to_integer("f32", "s32", "rzi")(F32.flush(a)))
    for source, to in itertools.product(("u8", *INTS), ("f16", "f32", "f64")):
        yield op(f"cvt.rn.{to}.{source}", (source,), to, from_integer(source, to))
    for source, to in (("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("f32", "f64")):
        yield op(f"cvt.{to}.{source}", (source,), to, between(source, to))
    for source, to in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16")):
        yield op(f"cvt.rn.{to}.{source}", (source,), to, between(source, to))
    yield op("cvt.rn.ftz.f32.f64", ("f64",), "f32", lambda a: F32.flush(between("f64", "f32")(a)))
    yield op("cvt.ftz.f32.f16", ("f16",), "f32", between("f16", "f32"))
    yield op("cvt.sat.f32.f32", ("f32",), "f32", lambda a: saturate(F32, a))
    for to in ("f16", "bf16"):
        f, one = FORMATS[to], between("f32", to)
        yield op(f"cvt.rn.relu.{to}.f32", ("f32",), to, relu(f, one))
        yield op(f"cvt.rn.{to}x2.f32", ("f32",) * 2, f"{to}x2",
                 lambda a, b, one=one: (one(b), one(a)))
    for mode in CEILING:
        for t in ("f16", "f32", "f64"):
            yield op(f"cvt.{mode}.{t}.{t}", (t,), t, integral(FORMATS[t], mode))


def into_range(v, kind):
    n = bits_of(kind)
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if kind[0] == "s" else (0, (1 << n) - 1)
    return max(low, min(high, v))


def to_integer(source, to, mode):
    """Saturates. NaN: 0 from f32 and f16 to at most 32 bits, else the top bit of the result, or
    of 32 bits when it is narrower (seen on an H200 for 32- and 64-bit results)."""

    def run(a):
        x = FORMATS[source].value(a)
        if math.isnan(x):
            if source != "f64" and bits_of(to) <= 32:
                return 0
            return 1 << max(bits_of(to), 32) - 1
        if math.isinf(x):
            return into_range(2**80 if x > 0 else -(2**80), to)
        return into_range(CEILING[mode](x), to)

    return run


def from_integer(source, to):
    f = FORMATS[to]
    return lambda a: f.round(x_exact(number(a, source))) if a else 0


def between(source, to):
    f, g = FORMATS[source], FORMATS[to]

    def run(a):
        x = f.value(a)
        return g.round(x_exact(x)) if x and math.isfinite(x) else g.special(x)

    return run


def integral(f, mode):
    """An integer in the float's own format, with the sign of its source."""

    def run(a):
        x = f.value(a)
        if not math.isfinite(x) or x == 0:
            return f.special(x)
        y = CEILING[mode](x)
        return f.round(x_exact(y)) if y else a & f.sign

    return run


def move_cases():
    for t in ("b16", "b32", "b64", *INTS, "f32", "f64", "pred"):
        yield op(f"mov.{t}", (t,), t, lambda a: a)
    yield Case(
        "{ .reg .b16 l, h; mov.b32 {l, h}, %a; mov.b32 %d, {h, l}; }", ("b32",), ("b32",),
        lambda a: a >> 16 | (a & 0xFFFF) << 16,
    )
    yield Case(
        "{ .reg .b32 l, h; mov.b64 {l, h}, %a; mov.b64 %d, {h, l}; }", ("b64",), ("b64",),
        lambda a: a >> 32 | (a & 0xFFFFFFFF) << 32,
    )
    yield Case("mov.f32 %d, 0fC0490FDB;", ("b32",), ("f32",), lambda a: 0xC0490FDB)
    yield Case("mov.f64 %d, 0d400921FB54442D18;", ("b64",), ("f64",), lambda a: 0x400921FB54442D18)
    yield Case("mov.b32 %d, 0f7FC12345;", ("b32",), ("b32",), lambda a: 0x7FC12345)
    yield Case("mov.u32 %d, -1;", ("b32",), ("u32",), lambda a: 0xFFFFFFFF)


ALU_CASES = [
    *integer_cases(), *bit_cases(), *float_cases(), *approximate_cases(), *comparison_cases(),
    *conversion_cases(), *move_cases(),
]


@pytest.mark.parametrize("case", ALU_CASES, ids=str)
def test_arithmetic(case):
    """An instruction on registers gives the lanes that exact arithmetic gives."""
    values = case.lanes()
    got = lanes(case.body, case.sources, values, case.results)
    for inputs, *outputs in zip(zip(*values, strict=True), *got, strict=True):
        wanted = case.expect(*inputs)
        wanted = wanted if len(case.results) == 2 else (wanted,)
        for kind, output, want in zip(case.results, outputs, wanted, strict=True):
            assert agrees(kind, output, want), (
                f"{case}({', '.join(map(hex, inputs))}) = {output:#x}, expected {show(want)}"
            )


def show(want):
    return hex(want) if isinstance(want, int) else want


def agrees(kind: str, got: int, want) -> bool:
    """Equal bits; any NaN is as good as another; a Near has its tolerance."""
    if kind.endswith("x2"):
        each = kind[:-2]
        return agrees(each, got & 0xFFFF, want[0]) and agrees(each, got >> 16, want[1])
    if isinstance(want, Near):
        y = FORMATS[kind].value(got)
        return abs(y - want.value) <= max(want.absolute, want.relative * abs(want.value))
    if kind in FORMATS and FORMATS[kind].is_nan(want):
        return FORMATS[kind].is_nan(got)
    return got == want & ((1 << bits_of(kind)) - 1)


# ---------------------------------------------------------------------------- other rows
def whole(body: str, expected, threads: int = 32, words: int = 1):
    """A kernel of one block that gets an array %out of words, all zero, and what it leaves."""
    registers = (
        ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<19>;\n.reg .b64 %d<9>;\n"
        ".reg .b64 %out, %mine;\n.shared .align 16 .b8 s[1024];\n"
        "ld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %mine, %r0, 4, %out;\n"
    )
    return pytest.param(
        entry(registers + body, ".param .u64 out"), threads, words, expected, id=body.split()[0]
    )


T = range(32)
LOW, HIGH = 0x0000FFFF, 0xFFFF0000
PROGRAMS = [
    # memory
    whole("st.global.u32 [%mine], %r0; ld.global.u32 %r1, [%out+8]; st.global.u32 [%mine], %r1;",
          [2] * 32),
    whole("st.u32 [%mine], 7; ldu.global.u32 %r1, [%out]; add.u32 %r1, %r1, %r0;"
          "st.global.u32 [%mine], %r1;", [7 + t for t in T]),
    whole("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out]; st.volatile.global.u32 [%mine], 5;"
          "ld.relaxed.gpu.global.L1::no_allocate.u32 %r1, [%mine]; st.global.wt.u32 [%mine], %r1;",
          [5] * 32),
    whole("mad.wide.u32 %mine, %r0, 16, %out; mov.u32 %r1, 9;"
          "st.global.v4.b32 [%mine], {%r0, %r1, 3, %r0};",
          [v for t in T for v in (t, 9, 3, t)], words=4),
    whole("st.global.u32 [%mine], 0xF1F2F3F4; ld.global.s8 %r1, [%mine+1]; ld.global.u8 %r2, [%mine+1];"
          "ld.global.s16 %r3, [%mine]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;"
          "st.global.u32 [%mine], %r1;", [-13 + 0xF3 + signed(0xF3F4, 16)] * 32),
    whole("mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1; xor.b32 %r3, %r2, 4;"
          "st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r4, [%r3];"
          "st.global.u32 [%mine], %r4;", [t ^ 1 for t in T]),
    whole("mov.u32 %r1, s; cvt.u64.u32 %d1, %r1; cvta.shared.u64 %d2, %d1;"
          "mad.wide.u32 %d2, %r0, 4, %d2; st.u32 [%d2], %r0; cvta.to.shared.u64 %d3, %d2;"
          "cvt.u32.u64 %r2, %d3; ld.shared.u32 %r3, [%r2]; st.global.u32 [%mine], %r3;", list(T)),
    whole("cvta.to.global.u64 %d1, %mine; cvta.global.u64 %d2, %d1; st.u32 [%d2], 4;", [4] * 32),
    whole("prefetch.global.L2 [%mine]; membar.gl; fence.acq_rel.gpu; st.global.u32 [%mine], 1;",
          [1] * 32),
    whole("membar.cta; st.global.u32 [%mine], 1;", [1] * 32),
    whole("fence.sc.sys; st.global.u32 [%mine], 1;", [1] * 32),
    # lanes of a warp
    whole("shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, -1; selp.u32 %r2, 100, 0, %p1;"
          "add.u32 %r1, %r1, %r2; st.global.u32 [%mine], %r1;", [(t ^ 1) + 100 for t in T]),
    whole("setp.gt.u32 %p1, %r0, 20; vote.sync.ballot.b32 %r1, %p1, -1;"
          "st.global.u32 [%mine], %r1;", [sum(1 << i for i in range(21, 32))] * 32),
    whole("setp.gt.u32 %p1, %r0, 20; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1;"
          "vote.sync.uni.pred %p4, %p1, -1; selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3;"
          "selp.u32 %r3, 4, 0, %p4; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;"
          "st.global.u32 [%mine], %r1;", [1] * 32),
    whole("setp.lt.u32 %p1, %r0, 5; @%p1 bra L; ret; L: activemask.b32 %r1;"
          "st.global.u32 [%mine], %r1;", [31 if t < 5 else 0 for t in T]),
    whole("bar.warp.sync -1; barrier.sync.aligned 0; barrier.sync 1; bar.cta.sync 0;"
          "st.global.u32 [%mine], 1;", [1] * 64, threads=64),
    whole("barrier.sync 0; st.global.u32 [%mine], 1;", [1] * 64, threads=64),
    # control
    whole("setp.eq.u32 %p1, %r0, 3; @!%p1 bra.uni L; st.global.u32 [%mine], 8; L: ret;",
          [8 * (t == 3) for t in T]),
    whole("bra.uni L; st.global.u32 [%mine], 8; L: ret;", [0] * 32),
    whole("setp.eq.u32 %p1, %r0, 3; @%p1 ret; st.global.u32 [%mine], 8;",
          [8 * (t != 3) for t in T]),
    whole("setp.lt.u32 %p1, %r0, 3; @%p1 exit; st.global.u32 [%mine], 8; exit;",
          [8 * (t >= 3) for t in T]),
    whole("exit; st.global.u32 [%mine], 8;", [0] * 32),
    whole("setp.eq.u32 %p1, %r0, 99; @%p1 trap; st.global.u32 [%mine], 8;", [8] * 32),
]


@pytest.mark.parametrize(("text", "threads", "words", "expected"), PROGRAMS)
def test_memory_warp_and_control(text, threads, words, expected):
    """An instruction that touches memory or other lanes leaves the right words in memory."""
    out = np.zeros(threads * words, np.uint32)
    simt.from_ptx(text)((1,), (threads,), (out,))
    assert out.tolist() == [v & 0xFFFFFFFF for v in expected]


def test_ld_param_reads_each_type():
    """Parameters of every width come from their own, aligned, place."""
    kinds = ("u8", "s16", "u32", "f32", "u64", "f64")
    loads = "".join(f"ld.param.{k} %{'r' if k in ('u8', 's16', 'u32', 'f32') else 'd'}{n}, [p{n}];"
                    for n, k in enumerate(kinds))
    body = (
        ".reg .b32 %r<9>; .reg .b64 %d<9>;\n" + loads + "ld.param.u64 %d0, [out];"
        + "".join(f"st.global.b32 [%d0+{4 * n}], %r{n};" for n in range(4))
        + "".join(f"st.global.b64 [%d0+{8 * n - 16}], %d{n};" for n in (4, 5))
    )
    parameters = ", ".join(f".param .{k} p{n}" for n, k in enumerate(kinds)) + ", .param .u64 out"
    out = np.zeros(8, np.uint32)
    arguments = (200, -3, 7, np.float32(1.5), 2**40, 2.5)
    simt.from_ptx(entry(body, parameters))((1,), (1,), (*arguments, out))
    assert out[:4].tolist() == [200, 2**32 - 3, 7, 0x3FC00000]
    assert out[4:].view(np.uint64)[:1].tolist() == [2**40]
    assert out[6:].view(np.float64).tolist() == [2.5]


def test_const_and_local_memory():
    """A local array is one a lane: each reads back what it wrote, at an index of its own."""
    body = (
        ".local .align 8 .b8 depot[32]; .reg .b64 %sp, %g, %d1, %out; .reg .b32 %r<9>;\n"
        "mov.u64 %sp, depot; cvta.local.u64 %g, %sp; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 7;"
        "mad.wide.u32 %d1, %r1, 4, %g; st.u32 [%d1], %r0; mad.wide.u32 %d1, %r1, 4, %sp;"
        "ld.local.u32 %r2, [%d1]; ld.param.u64 %out, [out]; mad.wide.u32 %out, %r0, 4, %out;"
        "st.global.u32 [%out], %r2;"
    )
    out = np.zeros(64, np.uint32)
    simt.from_ptx(entry(body, ".param .u64 out"))((1,), (64,), (out,))
    assert out.tolist() == list(range(64))


REFUSED = {"call": "call.uni g;", "trap": "trap;"}


def test_call_is_refused_by_name():
    """A call of a function that was not inlined is an error that names it."""
    with pytest.raises(simt.UnsupportedInstruction, match=r"call\.uni"):
        run_line(REFUSED["call"])


def test_trap_is_a_defect():
    """trap ends the kernel with an error, for the lanes that reach it."""
    with pytest.raises(simt.Defect) as caught:
        run_line(".reg .pred %p; .reg .b32 %t; mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 7; @%p trap;")
    assert (caught.value.kind, caught.value.thread) == ("trap", 7)


def run_line(line: str, threads: int = 32) -> None:
    simt.from_ptx(entry(f".loc 1 12 3\n{line}\nret;", before='.file 1 "k.cu"'))((1,), (threads,), ())


def test_every_row_has_a_case():
    """Adding a row to the opcode tables means adding a case here."""
    tried = set().union(*(case.opcodes for case in ALU_CASES), REFUSED)
    for program in PROGRAMS:
        tried |= {line.split()[-1].split(".")[0] if line.startswith("@") else line.split(".")[0]
                  for line in program.values[0].replace("\n", ";").split(";")}
        tried |= {word.split(".")[0] for word in program.values[0].replace(";", " ").split()}
    assert set(isa.TABLE) - tried == set()


def test_every_type_of_an_arithmetic_row_has_a_case():
    """A row's types are all tried: a type that nobody tried is a type that does not work."""
    tried = {}
    for case in ALU_CASES:
        for word in case.body.replace(";", " ").split():
            opcode, *suffixes = word.split(".")
            tried.setdefault(opcode, set()).update(suffixes)
    missing = {
        opcode: gap for opcode in isa.ALU
        if (gap := set(isa.TABLE[opcode].types.split()) - tried.get(opcode, set()))
    }
    assert missing == {}


@pytest.mark.parametrize(
    ("line", "mnemonic"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 x;", "mma.sync"),
        ("frobnicate.b32 %r1, %r2;", "frobnicate.b32"),
        ("add.rx.f32 %r1, %r2, %r3;", "add.rx.f32"),
        ("add.cc.u32 %r1, %r2, %r3;", "add.cc.u32"),
        ("add %r1, %r2, %r3;", "add"),
        ("ld.global.b128 %r1, [%d1];", "ld.global.b128"),
        ("prmt.b32.f4e %r1, %r2, %r3, %r4;", "prmt"),
        ("setp.s32 %p1, %r1, %r2;", "setp"),
        ("add.sat.u32 %r1, %r2, %r3;", "add"),
        ("bar.red.popc.u32 %r1, 0, %p1;", "bar.red"),
        ("bar.sync 0, 64;", "bar.sync"),
        ("red.global.add.u32 [%d1], %r1;", "red.global.add.u32"),
        ("cp.async.ca.shared.global [%r1], [%d1], 16;", "cp.async"),
    ],
)
def test_unsupported_names_mnemonic_and_line(line, mnemonic):
    """An opcode or a suffix outside the tables is refused, never ignored."""
    registers = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    with pytest.raises(simt.UnsupportedInstruction) as caught:
        run_line(registers + line)
    error = caught.value
    assert error.mnemonic.startswith(mnemonic)
    assert error.mnemonic in str(error)
    assert (error.kernel, error.file, error.line) == ("f", "k.cu", 12)


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %r1, %r2;",
        "add.u32 %r1, %r2, %r3, %r4;",
        "add.u64 %r1, %d2, %d3;",
        "add.f32 %r1, %p1, %r2;",
        "mov.u32 %r1, [%d1];",
        "ld.global.u32 %r1, %d1;",
        "ld.global.u32 %r1, [%p1];",
        "st.global.u32 [%r1], %h1;",
        "setp.eq.u32 %r1, %r2, %r3;",
        "bar.sync;",
        "bra %r1;",
        "shfl.sync.down.b32 %r1, %r2;",
        "@%r1 add.u32 %r1, %r2, %r3;",
    ],
)
def test_wrong_operands_are_a_ptx_error(line):
    """Operands of the wrong number, kind or size: the simulator's own error, with the line."""
    registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    with pytest.raises(simt.PtxError) as caught:
        run_line(registers + line)
    assert caught.value.line is not None
