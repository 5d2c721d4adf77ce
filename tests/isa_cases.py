"""Cases of the arithmetic opcodes: PTX, the types of lanes in and out, and what should come out.

Expected lanes are computed with Python's integers and fractions, never with NumPy. A case's source
values are the edges of its types, all against all for two sources and a sample for three.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from exact import BF16, F16, F32, F64, add, divide, fma, multiply, saturate, square_root

__all__ = ["ALU_CASES", "FORMATS", "Case", "agrees", "between", "edges", "from_integer", "signed"]

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
                f"mad.wide.{t}",
                (t, t, wide),
                wide,
                lambda a, b, c, t=t: number(a, t) * number(b, t) + c,
            )
        nonzero = [e for e in edges(t) if e]
        pairs = tuple(zip(*itertools.product(edges(t), nonzero), strict=True))
        yield op(f"div.{t}", (t, t), t, on_numbers(quotient), pairs)
        yield op(f"rem.{t}", (t, t), t, on_numbers(lambda a, b: a - b * quotient(a, b)), pairs)
        yield op(f"min.{t}", (t, t), t, on_numbers(min))
        yield op(f"max.{t}", (t, t), t, on_numbers(max))
        yield op(f"sad.{t}", (t,) * 3, t, on_numbers(lambda a, b, c: c + abs(a - b)))
        yield op(f"shr.{t}", (t, "u32"), t, lambda a, b, t=t: number(a, t) >> min(b, 64))
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
        pairs = [
            (number(a >> s & 255, f"{left}8"), number(b >> s & 255, f"{right}8"))
            for s in (0, 8, 16, 24)
        ]
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
        yield Case(f"lop3.b32 %d, %a, %b, %c, 0x{table:x};", ("b32",) * 3, ("b32",), truth(table))
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
        return sum(
            (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i
            for i in range(32)
        )

    return run


def funnel(way, mode):
    def run(low, high, n):
        n = n % 32 if mode == "wrap" else min(n, 32)
        both = high << 32 | low
        return both << n >> 32 if way == "l" else both >> n

    return run


def field_values(kind, count):
    """Values with start and length of a bit field, beyond the width and beyond 255 too."""
    places = (0, 1, 5, 16, 31, 32, 33, 63, 64, 65, 255, 256, 260, 1 << 31, (1 << 32) - 1)
    numbers = (0, 0x5A5A5A5A5A5A5A5A, 0x80000000_80000000, 2**64 - 1)
    mask = (1 << bits_of(kind)) - 1
    rows = itertools.product(*[[v & mask for v in numbers]] * count, places, places)
    return tuple(zip(*rows, strict=True))


def amounts(n, *counts):
    """Start and length as an H200 takes them: the low byte for a 32-bit field, all for 64 bits."""
    return (v & 255 if n == 32 else v for v in counts)


def extract(kind):
    n = bits_of(kind)

    def run(a, start, length):
        start, length = amounts(n, start, length)
        top = a >> min(start + length - 1, n - 1) & 1 if length and kind[0] == "s" else 0
        return sum(
            (a >> start + i & 1 if i < length and start + i < n else top) << i for i in range(n)
        )

    return run


def insert(n):
    def run(a, b, start, length):
        start, length = amounts(n, start, length)
        for i in range(min(length, n)):
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
                yield op(
                    f"fma.rn.relu.{suffix}", (suffix,) * 3, suffix, each(relu(f, partial(fma, f)))
                )
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
        "fma.rn.ftz.sat.f32",
        ("f32",) * 3,
        "f32",
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
            "normal": size == 0 or 1 << f.fraction <= size < f.infinity,
            "subnormal": 0 < size < 1 << f.fraction,
        }[kind]

    return run


# ---------------------------------------------------------------------------- approximations
def approximate_cases():
    """Bounds from the PTX manual; the points it names (zeros, infinities) are exact."""
    ulp = 2.0**-23
    yield op("ex2.approx.f32", ("f32",), "f32", power(relative=2 * ulp), (exponents(),))
    yield op(
        "ex2.approx.ftz.f32", ("f32",), "f32", power(ftz=True, relative=2 * ulp), (exponents(),)
    )
    for t, bound in (("f16", 2**-9.9), ("bf16", 2.0**-7)):
        f = FORMATS[t]
        values = (narrow_exponents(f),)
        ftz = ".ftz" if t == "bf16" else ""
        one = power(f, ftz=t == "bf16", relative=bound, absolute=2.0**-24 if t == "f16" else 0)
        yield op(f"ex2.approx{ftz}.{t}", (t,), t, one, values)
        yield op(
            f"ex2.approx{ftz}.{t}x2",
            (f"{t}x2",),
            f"{t}x2",
            halves(one),
            ([v | w << 16 for v, w in zip(values[0], values[0][::-1], strict=True)],),
        )
    yield op("lg2.approx.f32", ("f32",), "f32", real(logarithm, absolute=2.0**-22, relative=ulp))
    yield op("rcp.approx.ftz.f32", ("f32",), "f32", real(inverse, True, relative=ulp))
    yield op("rcp.approx.f32", ("f32",), "f32", real(inverse, relative=ulp))
    yield op("sqrt.approx.f32", ("f32",), "f32", real(root, relative=2.0**-22))
    yield op("rsqrt.approx.f32", ("f32",), "f32", real(inverse_root, relative=2**-22.9))
    yield op("rsqrt.approx.f64", ("f64",), "f64", real(inverse_root, f=F64, relative=2**-22.9))
    yield op("rsqrt.approx.ftz.f32", ("f32",), "f32", real(inverse_root, True, relative=2**-22.9))
    angles = [
        pattern(F32, x) for x in (0.0, -0.0, 0.5, -1.0, 3.0, -3.14159, 1e-8, math.inf, math.nan)
    ]
    yield op("sin.approx.f32", ("f32",), "f32", real(math.sin, absolute=2**-20.5), (angles,))
    yield op("cos.approx.f32", ("f32",), "f32", real(math.cos, absolute=2**-20.5), (angles,))
    for t, bound in (("f32", 2.0**-11), ("f16", 2**-10.9), ("bf16", 2.0**-8)):
        f = FORMATS[t]
        least = {"f32": 0, "f16": 2.0**-24, "bf16": 2.0**-8}[t]
        one = real(math.tanh, f=f, relative=bound, absolute=least)
        yield op(f"tanh.approx.{t}", (t,), t, one)
        if t != "f32":
            yield op(f"tanh.approx.{t}x2", (f"{t}x2",), f"{t}x2", halves(one))
    yield op("div.approx.f32", ("f32",) * 2, "f32", quick_quotient(2 * ulp))
    ordinary = [e for e in edges("f32") if not 2**126 <= abs(F32.value(e)) < math.inf]
    pairs = tuple(zip(*itertools.product(ordinary, ordinary), strict=True))
    yield op("div.full.f32", ("f32",) * 2, "f32", quick_quotient(2 * ulp), pairs)


def pattern(f, x: float) -> int:
    """The nearest pattern of a Python float."""
    return f.round(Fraction(x)) if x and math.isfinite(x) else f.special(x)


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
        return Near(
            y,
            max(
                bounds.get("absolute", 0),
                2.0 ** (1 - f.bias - f.fraction) if y < 2.0 ** (1 - f.bias) else 0,
            ),
            bounds["relative"],
        )

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
        exact = f.round(Fraction(y))
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
        if y & ~F32.sign >= F32.infinity or y & ~F32.sign == 0:
            return y
        if y & ~F32.sign < 1 << 23:  # subnormal: an H200 is one unit off at 2^-126 / 1.5
            return Near(F32.value(y), absolute=2.0**-148)
        return Near(F32.value(y), relative=bound)

    return run


# ---------------------------------------------------------------------------- comparison cases
ORDER = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED_ORDER = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparison_cases():
    for t in (*INTS, "b16", "b32", "b64"):
        names = ("eq", "ne") if t[0] == "b" else tuple(ORDER)
        for name in names:
            test = integer_test(name, t)
            yield Case(
                f"setp.{name}.{t} %d|%q, %a, %b;",
                (t, t),
                ("pred", "pred"),
                lambda a, b, test=test: (test(a, b), not test(a, b)),
            )
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
        yield op(
            f"setp.num.{t}", (t, t), "pred", lambda a, b, f=f: not (f.is_nan(a) or f.is_nan(b))
        )
        yield op(f"setp.nan.{t}", (t, t), "pred", lambda a, b, f=f: f.is_nan(a) or f.is_nan(b))
        less = float_test(f, "lt", False)
        yield op(f"set.lt.u32.{t}", (t, t), "u32", lambda a, b, less=less: -int(less(a, b)))
    for t in ("f16", "bf16"):
        test = float_test(FORMATS[t], "lt", False)
        yield Case(
            f"setp.lt.{t}x2 %d|%q, %a, %b;",
            (f"{t}x2",) * 2,
            ("pred", "pred"),
            lambda a, b, f=test: (f(a & 0xFFFF, b & 0xFFFF), f(a >> 16, b >> 16)),
        )
        one = FORMATS[t].bias << FORMATS[t].fraction
        yield op(
            f"set.lt.{t}x2.{t}x2",
            (f"{t}x2",) * 2,
            f"{t}x2",
            halves(lambda a, b, f=test, one=one: one if f(a, b) else 0),
        )
        yield op(f"set.lt.{t}.{t}", (t, t), t, lambda a, b, f=test, one=one: one if f(a, b) else 0)
    less = float_test(F32, "lt", False)
    yield op("setp.lt.ftz.f32", ("f32",) * 2, "pred", lambda a, b: less(F32.flush(a), F32.flush(b)))
    yield op("set.lt.f32.f32", ("f32",) * 2, "f32", lambda a, b: 0x3F800000 if less(a, b) else 0)
    for name, join in (("and", "__and__"), ("or", "__or__"), ("xor", "__xor__")):
        test = integer_test("lt", "s32")
        yield Case(
            f"setp.lt.{name}.s32 %d|%q, %a, %b, %c;",
            ("s32", "s32", "pred"),
            ("pred", "pred"),
            lambda a, b, c, f=test, j=join: (
                getattr(f(a, b), j)(bool(c)),
                getattr(not f(a, b), j)(bool(c)),
            ),
        )
        yield Case(
            f"setp.lt.{name}.s32 %d, %a, %b, !%c;",
            ("s32", "s32", "pred"),
            ("pred",),
            lambda a, b, c, f=test, j=join: getattr(f(a, b), j)(not c),
        )
        yield op(
            f"set.lt.{name}.u32.s32",
            ("s32", "s32", "pred"),
            "u32",
            lambda a, b, c, f=test, j=join: -int(getattr(f(a, b), j)(bool(c))),
        )
    for t in ("f32", "f64"):
        yield op(f"selp.{t}", (t, t, "pred"), t, lambda a, b, c: a if c else b)
        yield op(f"slct.{t}.s32", (t, t, "s32"), t, lambda a, b, c: b if c >> 31 else a)
    yield op(
        "slct.u32.f32", ("u32", "u32", "f32"), "u32", lambda a, b, c: a if F32.value(c) >= 0 else b
    )


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
    for source, to in (
        ("s32", "u8"),
        ("s32", "s16"),
        ("u32", "s32"),
        ("s64", "u32"),
        ("u64", "s64"),
    ):
        yield op(
            f"cvt.sat.{to}.{source}",
            (source,),
            to,
            lambda a, s=source, to=to: into_range(number(a, s), to),
        )
    for source, to in itertools.product(FORMATS, ("s16", "u16", "s32", "u32", "s64", "u64")):
        if source != "bf16":
            for mode in CEILING:
                yield op(f"cvt.{mode}.{to}.{source}", (source,), to, to_integer(source, to, mode))
    yield op(
        "cvt.rzi.ftz.s32.f32",
        ("f32",),
        "s32",
        lambda a: to_integer("f32", "s32", "rzi")(F32.flush(a)),
    )
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
        yield op(
            f"cvt.rn.{to}x2.f32", ("f32",) * 2, f"{to}x2", lambda a, b, one=one: (one(b), one(a))
        )
    for mode in CEILING:
        for t in ("f16", "f32", "f64"):
            yield op(f"cvt.{mode}.{t}.{t}", (t,), t, integral(FORMATS[t], mode))


def into_range(v, kind):
    n = bits_of(kind)
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if kind[0] == "s" else (0, (1 << n) - 1)
    return max(low, min(high, v))


def to_integer(source, to, mode):
    """Saturates. NaN: 0 from f32 and f16 to at most 32 bits, else the top bit of the result (seen
    on an H200 from 16 bits on)."""

    def run(a):
        x = FORMATS[source].value(a)
        if math.isnan(x):
            if source != "f64" and bits_of(to) <= 32:
                return 0
            return 1 << (bits_of(to) if bits_of(to) > 8 else 32) - 1
        if math.isinf(x):
            return into_range(2**80 if x > 0 else -(2**80), to)
        return into_range(CEILING[mode](x), to)

    return run


def from_integer(source, to, mode="rn"):
    f = FORMATS[to]
    return lambda a: f.round(Fraction(number(a, source)), mode) if a else 0


def between(source, to, mode="rn"):
    """The conversion of a float to another format."""
    f, g = FORMATS[source], FORMATS[to]

    def run(a):
        x = f.value(a)
        return g.round(Fraction(x), mode) if x and math.isfinite(x) else g.special(x)

    return run


def integral(f, mode):
    """An integer in the float's own format, with the sign of its source."""

    def run(a):
        x = f.value(a)
        if not math.isfinite(x) or x == 0:
            return f.special(x)
        y = CEILING[mode](x)
        return f.round(Fraction(y)) if y else a & f.sign

    return run


def move_cases():
    for t in ("b16", "b32", "b64", *INTS, "f32", "f64", "pred"):
        yield op(f"mov.{t}", (t,), t, lambda a: a)
    yield Case(
        "{ .reg .b16 l, h; mov.b32 {l, h}, %a; mov.b32 %d, {h, l}; }",
        ("b32",),
        ("b32",),
        lambda a: a >> 16 | (a & 0xFFFF) << 16,
    )
    yield Case(
        "{ .reg .b32 l, h; mov.b64 {l, h}, %a; mov.b64 %d, {h, l}; }",
        ("b64",),
        ("b64",),
        lambda a: a >> 32 | (a & 0xFFFFFFFF) << 32,
    )
    yield Case("mov.f32 %d, 0fC0490FDB;", ("b32",), ("f32",), lambda a: 0xC0490FDB)
    yield Case("mov.f64 %d, 0d400921FB54442D18;", ("b64",), ("f64",), lambda a: 0x400921FB54442D18)
    yield Case("mov.b32 %d, 0f7FC12345;", ("b32",), ("b32",), lambda a: 0x7FC12345)
    yield Case("mov.u32 %d, -1;", ("b32",), ("u32",), lambda a: 0xFFFFFFFF)


ALU_CASES = [
    *integer_cases(),
    *bit_cases(),
    *float_cases(),
    *approximate_cases(),
    *comparison_cases(),
    *conversion_cases(),
    *move_cases(),
]


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
