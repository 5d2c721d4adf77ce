"""The reference softmax, and the judge that NaN cannot pass."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from helpers.reference import compare, rounded_softmax, softmax

shapes = array_shapes(min_dims=2, max_dims=2, max_side=8)
rows = arrays(np.float64, shapes, elements=st.floats(-500, 500))
NAN, INF = float("nan"), float("inf")
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@given(rows)
def test_rows_sum_to_one_and_lie_in_0_1(x):
    """A softmax is a probability distribution."""
    y = softmax(x)
    assert np.all((y >= 0) & (y <= 1))
    np.testing.assert_allclose(y.sum(axis=-1), 1.0, rtol=1e-12)


@given(rows, st.floats(-1000, 1000))
def test_a_shift_changes_nothing(x, c):
    """Adding c to every logit leaves the softmax, up to the rounding of x + c."""
    np.testing.assert_allclose(softmax(x + c), softmax(x), rtol=1e-11, atol=1e-300)


@given(rows, st.randoms(use_true_random=False))
def test_a_permutation_goes_through(x, random):
    """Softmax treats all columns alike."""
    order = random.sample(range(x.shape[1]), x.shape[1])
    np.testing.assert_allclose(softmax(x[:, order]), softmax(x)[:, order], rtol=1e-12)


@given(rows)
def test_order_is_kept(x):
    """A larger logit never has a smaller weight."""
    order = np.argsort(x, axis=-1)
    assert np.all(np.diff(np.take_along_axis(softmax(x), order, axis=-1), axis=-1) >= 0)


def test_known_values():
    """ln 1, ln 2, ln 5 weigh 1 : 2 : 5, in any floating type and number of dimensions."""
    expected = np.array([1, 2, 5]) / 8
    np.testing.assert_allclose(softmax(np.log([1.0, 2.0, 5.0])), expected, rtol=1e-15)
    assert softmax(np.zeros((2, 3, 4), np.float16)).dtype == np.float64
    assert np.all(softmax(np.zeros((2, 3, 4), np.float16)) == 0.25)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1e4, 1e4], [0.5, 0.5]),
        ([-INF, 0.0], [0.0, 1.0]),
        ([-INF, -INF], [NAN, NAN]),
        ([INF, 0.0], [NAN, NAN]),
        ([NAN, 0.0], [NAN, NAN]),
    ],
)
def test_extreme_rows(row, expected):
    """Large logits are harmless; what the formula makes NaN stays NaN."""
    np.testing.assert_array_equal(softmax(row), expected)


def test_softmax_leaves_its_input_alone():
    """The reference works on a copy, a float64 input included."""
    x = np.arange(6.0).reshape(2, 3)
    softmax(x)
    assert np.array_equal(x, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_no_columns_is_an_error(shape):
    """There is no softmax of nothing."""
    with pytest.raises(ValueError, match="at least one element"):
        softmax(np.zeros(shape))


@pytest.mark.parametrize(
    ("dtype", "x", "cols", "total"),
    [
        (np.float16, 0.0, 3000, 2048),  # adding 1 sticks at 2048
        (ml_dtypes.bfloat16, 0.0, 3000, 256),  # and at 256
        (np.float16, 2.7715, 4096, 32768),  # adding just under 16 sticks at 32768
        (np.float32, 0.0, 3000, 3000),
    ],
)
def test_rounded_sums_stick(dtype, x, cols, total):
    """The serial sum is rounded after every addition, in the type."""
    y = rounded_softmax(np.full((1, cols), x, dtype), dtype)
    assert y.dtype == dtype
    assert 1 / float(y[0, 0]) == pytest.approx(total / round(np.exp(x)), rel=2**-8)


@pytest.mark.parametrize(
    ("dtype", "last", "first"),
    [(np.float16, 11.0859375, 11.09375), (ml_dtypes.bfloat16, 88.5, 89.0)],
)
def test_rounded_overflow_starts_where_the_type_gives_out(dtype, last, first):
    """One step beyond the last finite input e^x is inf and inf / inf is NaN."""
    assert rounded_softmax(np.array([[last]], dtype), dtype)[0, 0] == 1
    y = rounded_softmax(np.array([[first, 0.0]], dtype), dtype)
    assert np.isnan(y[0, 0])
    assert y[0, 1] == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_operations_round_once(dtype):
    """Sum and quotient go through float32, and equal those of float64 rounded once."""
    rng = np.random.default_rng(1)
    a, b = (np.exp(rng.uniform(-5, 5, 20000)).astype(dtype) for _ in "ab")
    exact_a, exact_b = a.astype(np.float64), b.astype(np.float64)
    assert np.array_equal(a + b, (exact_a + exact_b).astype(dtype))
    assert np.array_equal(a / b, (exact_a / exact_b).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ulps_are_steps_of_the_type(dtype):
    """The distance of neighbours is 1, across a power of two and across zero too."""
    one = np.array([1.0], dtype)
    above, below = np.nextafter(one, dtype(2)), np.nextafter(one, dtype(0))
    assert compare(above, one).max_ulp == compare(below, one).max_ulp == 1
    assert compare(above, below.astype(np.float64)).max_ulp == 2
    tiny = np.nextafter(np.zeros(1, dtype), dtype(1))
    assert compare(tiny, -tiny).max_ulp == 2
    assert compare(np.zeros(1, dtype), -np.zeros(1, dtype)).max_ulp == 0


def test_relative_error_is_that_of_the_norms():
    """‖got - expected‖ / ‖expected‖, and the worst element with its index."""
    expected = np.array([[3.0, 0.0], [0.0, 4.0]])
    got = expected.copy()
    got[1, 0] = 0.5
    comparison = compare(got, expected)
    assert comparison.rel_error == pytest.approx(0.1)
    assert (comparison.worst, comparison.got, comparison.expected) == ((1, 0), 0.5, 0.0)
    assert comparison.within(0.11)
    assert not comparison.within(0.09)


@pytest.mark.parametrize("at", [0, 300_000, 599_999])
def test_the_worst_element_is_found_anywhere(at):
    """Comparing piece by piece loses no element and adds the pieces up."""
    expected = np.ones((600, 1000))
    got = expected.copy()
    got.flat[at] = 3.0
    comparison = compare(got, expected)
    assert comparison.worst == divmod(at, 1000)
    assert comparison.rel_error == pytest.approx(2 / np.sqrt(600_000))
    got.flat[(at + 400_000) % 600_000] = NAN
    assert comparison.within(1)
    assert not compare(got, expected).within(INF)
    assert compare(got, expected).worst == divmod((at + 400_000) % 600_000, 1000)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([NAN, 1.0], [0.0, 1.0]),
        ([0.0, 1.0], [NAN, 1.0]),
        ([NAN, 1.0], [NAN, 1.0]),
        ([NAN, INF], [NAN, INF]),
        ([INF, 1.0], [0.0, 1.0]),
        ([INF, 1.0], [-INF, 1.0]),
        ([1.0, 1.0], [INF, 1.0]),
        ([INF, 2.0], [INF, 1.0]),
        ([1.0, 0.0], [0.0, 0.0]),
    ],
)
def test_wrong_never_passes(got, expected):
    """Not even NaN where NaN was expected, nor an error beside an infinity or next to zeros."""
    for dtype in DTYPES:
        comparison = compare(np.array(got, dtype), np.array(expected))
        assert not comparison.within(0.5)
        assert comparison.nonfinite == np.count_nonzero(~np.isfinite(got))
        assert np.isnan(comparison.max_ulp) == (np.isnan(got).any() or np.isnan(expected).any())


def test_equal_passes_at_zero_tolerance():
    """Zeros and infinities that agree are no error."""
    for values in ([0.0, 0.0], [INF, 1.0], [-INF, INF]):
        assert compare(np.array(values), np.array(values)).within(0.0)


@pytest.mark.parametrize(("a", "b"), [((2, 3), (3, 2)), ((2,), (2, 1)), ((0, 4), (0, 4))])
def test_shapes_must_agree(a, b):
    """No broadcasting, and nothing compared is no success."""
    with pytest.raises(ValueError, match="same shape"):
        compare(np.zeros(a), np.zeros(b))


def test_a_comparison_reads_well():
    """Text and HTML say the error, the ulps, the place and both values."""
    comparison = compare(np.array([[0.5, NAN]]), np.array([[0.5, 0.5]]))
    for text in (repr(comparison), comparison._repr_html_()):
        for part in ("nan", "[0, 1]", "0.5", "not finite"):
            assert part in text
