"""Every rounding mode of every operation that has one, against exact fractions.

Lanes are the edges of a format, random patterns (mostly of very different sizes), and numbers of
few bits and like sizes, whose results lie on ties and cancel.
"""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from exact import BF16, F16, F32, F64, MODES, add, divide, fma, multiply, square_root
from isa_cases import FORMATS, agrees, between, edges, from_integer
from ptx_lanes import lanes

LANES = 700
WIDE = ("f32", "f64")


def close(f, draw) -> int:
    """A pattern near 1, often with few bits set: ties and cancellations are common among these."""
    exponent = f.bias + draw.randint(-f.fraction - 3, f.fraction + 3)
    exponent = max(0, min(exponent, 2 * f.bias))
    body = draw.getrandbits(f.fraction) & -(1 << draw.randrange(f.fraction + 1))
    return draw.getrandbits(1) << (f.bits - 1) | exponent << f.fraction | body


def tiny(f, draw) -> int:
    """A pattern whose products with its like are subnormal, or nearly so."""
    exponent = max(0, f.bias // 2 + draw.randint(-f.fraction, f.fraction) // 2)
    return (
        draw.getrandbits(1) << (f.bits - 1) | exponent << f.fraction | draw.getrandbits(f.fraction)
    )


def patterns(f, kind: str, count: int, seed) -> list[list[int]]:
    """`count` columns of patterns."""
    draw = random.Random(str(seed))
    makers = (lambda f, draw: draw.getrandbits(f.bits), close, close, tiny)
    rows = [
        [make(f, draw) for _ in range(count)]
        for make in itertools.islice(itertools.cycle(makers), LANES)
    ]
    special = edges(kind)
    rows += [[draw.choice(special) for _ in range(count)] for _ in range(LANES // 2)]
    return [list(column) for column in zip(*rows, strict=True)]


def compare(body, sources, columns, result, expect) -> None:
    (got,) = lanes(body, sources, columns, (result,))
    for *inputs, output in zip(*columns, got, strict=True):
        want = expect(*inputs)
        assert agrees(result, output, want), (
            f"{body.split()[0]}({', '.join(map(hex, inputs))}) = {output:#x}, expected {want:#x}"
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize(
    ("opcode", "function", "count"),
    [
        ("add", add, 2),
        ("mul", multiply, 2),
        ("fma", fma, 3),
        ("div", divide, 2),
        ("sqrt", square_root, 1),
    ],
)
def test_every_mode(opcode, function, count, kind, mode):
    """f32 and f64 results are the exact ones, rounded once."""
    f = FORMATS[kind]
    names = ", ".join(("%d", "%a", "%b", "%c")[: count + 1])
    columns = patterns(f, kind, count, opcode + mode)
    compare(
        f"{opcode}.{mode}.{kind} {names};",
        (kind,) * count,
        columns,
        kind,
        lambda *v: function(f, *v, mode),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", WIDE)
def test_reciprocal(kind, mode):
    """rcp is the division of 1."""
    f = FORMATS[kind]
    one = f.bias << f.fraction
    compare(
        f"rcp.{mode}.{kind} %d, %a;",
        (kind,),
        patterns(f, kind, 1, mode),
        kind,
        lambda a: divide(f, one, a, mode),
    )


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("opcode", "function", "count"), [("add", add, 2), ("mul", multiply, 2), ("fma.rn", fma, 3)]
)
def test_16_bit_formats(opcode, function, count, kind):
    """f16 and bf16 round once to nearest, subnormals included."""
    f = FORMATS[kind]
    names = ", ".join(("%d", "%a", "%b", "%c")[: count + 1])
    compare(
        f"{opcode}.{kind} {names};",
        (kind,) * count,
        patterns(f, kind, count, opcode),
        kind,
        lambda *v: function(f, *v),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("source", "result"), [("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16")]
)
def test_narrowing(source, result, mode):
    """A conversion to a narrower format rounds once in its mode."""
    columns = patterns(FORMATS[source], source, 1, mode)
    columns[0] += halfway(FORMATS[source], FORMATS[result])
    compare(
        f"cvt.{mode}.{result}.{source} %d, %a;",
        (source,),
        columns,
        result,
        between(source, result, mode),
    )


def halfway(wide, narrow) -> list[int]:
    """Patterns of the wide format at, just below and just above ties of the narrow one."""
    draw, found = random.Random(0), []
    for _ in range(200):
        low = draw.randrange(narrow.infinity)
        middle = (
            Fraction(narrow.value(low))
            + Fraction(
                narrow.value(low + 1) if low + 1 < narrow.infinity else 2 * narrow.value(low)
            )
        ) / 2
        pattern = wide.round(middle)
        found += [
            p | draw.getrandbits(1) << (wide.bits - 1) for p in (pattern, pattern - 1, pattern + 1)
        ]
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("result", ["f16", "f32", "f64"])
def test_from_integers(source, result, mode):
    """Integers that a float cannot hold are rounded once in the mode asked for."""
    bits, draw = int(source[1:]), random.Random(0)
    numbers = edges(source)
    for _ in range(300):
        width = draw.randint(1, bits)
        ones = draw.getrandbits(width) | 1 << (width - 1)
        numbers.append(ones & -(1 << draw.randrange(width)))
        numbers.append((numbers[-1] + draw.choice((-1, 1))) % (1 << bits))
    compare(
        f"cvt.{mode}.{result}.{source} %d, %a;",
        (source,),
        [numbers],
        result,
        from_integer(source, result, mode),
    )


def test_fma_rounds_once():
    """(1+2⁻¹⁵)2⁻¹² · (1−2⁻¹⁵)2⁻¹² + 1+2⁻²³ is 1+2⁻²³: rounding to float64 first gives a tie, and
    the tie a wrong neighbour."""
    a, b, c = ((1 + 2.0**-15) * 2.0**-12, (1 - 2.0**-15) * 2.0**-12, 1 + 2.0**-23)
    values = [[F32.round(Fraction(v))] for v in (a, b, c)]
    (got,) = lanes("fma.rn.f32 %d, %a, %b, %c;", ("f32",) * 3, values, ("f32",))
    assert got == [F32.round(Fraction(c))]
    assert np.float32(a * b + c) != np.float32(c)  # the case does tell the two apart


@pytest.mark.parametrize(("f", "kind"), [(F32, "f32"), (F64, "f64"), (F16, "f16"), (BF16, "bf16")])
def test_fma_next_to_a_tie(f, kind):
    """c a neighbour of a power of two, a·b half a step of it and a little more or less."""
    half = Fraction(1, 2 ** (f.fraction + 1))
    columns = [[], [], []]
    for k, sign in itertools.product(range(1, f.fraction // 2), (1, -1)):
        small = Fraction(sign, 2**k)
        for c in (1, 1 + 2 * half, 2 - 2 * half):
            for column, v in zip(columns, ((1 + small), (1 - small) * half, c), strict=True):
                column.append(f.round(Fraction(v)))
    compare(f"fma.rn.{kind} %d, %a, %b, %c;", (kind,) * 3, columns, kind, lambda *v: fma(f, *v))
