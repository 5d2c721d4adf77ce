"""The comparison on the device says what `reference` says, whole or in pieces."""

import math

import ml_dtypes
import numpy as np
import pytest

from helpers import device, ondevice, reference

TYPES = ["float32", "float16", "bfloat16"]


@pytest.fixture
def xy(request):
    """x, and a softmax of it in its own type with some wrong elements."""
    x = ondevice.normal(7, 40, request.param, seed=3)
    y = reference.softmax(x).astype(x.dtype)
    y[3, 5] = 0.5
    y[6, 39] = 0
    return x, device.cp.asarray(y)


@pytest.mark.parametrize("xy", TYPES, indirect=True)
@pytest.mark.parametrize("piece", [1, 80, 1 << 23], ids=["a row", "two rows", "whole"])
def test_it_agrees_with_the_reference(xy, piece, monkeypatch):
    """Error, ulps, worst element and its values, however many rows are taken at a time."""
    monkeypatch.setattr(ondevice, "PIECE", piece)
    x, y = xy
    expected = reference.softmax(x)
    if x.dtype.itemsize == 2:
        expected = expected.astype(x.dtype)
    want, got = reference.compare(y, expected), ondevice.compare(y, x)
    assert got.rel_error == pytest.approx(want.rel_error, rel=1e-9)
    assert got.rel_error > 0.01
    assert (got.max_ulp, got.worst, got.nonfinite) == (want.max_ulp, want.worst, want.nonfinite)
    assert (got.got, got.expected) == pytest.approx((want.got, want.expected), rel=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 1000), (130, 33)])
def test_softmax_is_the_references(shape):
    """The same float64 formulas; only the exponentials of two libraries may differ."""
    x = ondevice.normal(*shape, "float32")
    got = device.cp.asnumpy(ondevice.softmax(ondevice.wide(x)))
    np.testing.assert_allclose(got, reference.softmax(x), rtol=1e-13, atol=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("piece", [1, 1 << 23])
def test_what_is_not_finite_never_passes(bad, piece, monkeypatch):
    """One NaN or infinity anywhere is found, counted, and named as the worst."""
    monkeypatch.setattr(ondevice, "PIECE", piece)
    x = ondevice.normal(5, 9, "float32")
    y = reference.softmax(x).astype(np.float32)
    y[2, 4] = bad
    found = ondevice.compare(device.cp.asarray(y), x)
    assert not found.within(1e9)
    assert (found.worst, found.nonfinite) == ((2, 4), 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_copies_are_compared_exactly(dtype):
    """Equal arrays have no error at all; one changed element is seen."""
    x = ondevice.normal(4, 6, dtype)
    assert ondevice.compare(x.copy(), x, ondevice.copied).rel_error == 0.0
    y = x.get()
    y[3, 3] = 9
    assert ondevice.compare(device.cp.asarray(y), x, ondevice.copied).worst == (3, 3)


def test_other_shapes_and_nothing_are_refused():
    """As `reference.compare` refuses them."""
    x = ondevice.normal(2, 3, "float32")
    for y in (x[:1], x[:, :2], x[:0]):
        with pytest.raises(ValueError, match="same shape with at least one element"):
            ondevice.compare(y, x if y.size else y)


def test_bfloat16_is_rounded_as_everywhere_else():
    """To the nearest, ties to even, infinity above the largest, NaN to NaN: as ml_dtypes does; only
    numbers that are subnormal in float32 may be flushed."""
    ties = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.3961e38, -0.0])
    every = np.arange(0, 2**32, 9973, dtype=np.uint32).view(np.float32)
    normal = every[~(abs(every) < np.finfo(np.float32).tiny)]
    assert normal.size > 400_000
    for x in (ties, normal, np.array([math.nan, math.inf, -math.inf])):
        got = ondevice.wide(ondevice.rounded(device.cp.asarray(x), np.dtype(ml_dtypes.bfloat16)))
        with np.errstate(all="ignore"):
            want = x.astype(np.float32).astype(ml_dtypes.bfloat16)
        assert np.array_equal(device.cp.asnumpy(got), want.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_input_is_standard_normal_and_repeatable(dtype, monkeypatch):
    """Mean 0, deviation 1, the same for one seed, other for another."""
    x = ondevice.normal(64, 256, dtype, seed=1)
    numbers = ondevice.wide(x)
    assert abs(float(numbers.mean())) < 0.03
    assert float(numbers.std()) == pytest.approx(1, abs=0.03)
    bits = f"uint{8 * x.dtype.itemsize}"
    assert (x.view(bits) == ondevice.normal(64, 256, dtype, seed=1).view(bits)).all()
    assert not (x.view(bits) == ondevice.normal(64, 256, dtype, seed=2).view(bits)).all()
