"""Addresses in even steps: found where they are, and counted as if lane by lane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simt_runs import kernel, needs_nvrtc

from helpers import simt
from helpers.simt.observers.coalescing import touch, touch_evenly
from helpers.simt.spans import Span, span_of

STEPS = st.integers(-7, 7)


def spread(span: Span) -> np.ndarray:
    rows, columns = np.arange(span.rows)[:, None], np.arange(span.columns)
    return span.start + span.down * rows + span.across * columns


@given(STEPS, STEPS, STEPS, st.integers(1, 5), st.integers(1, 5), st.data())
@settings(max_examples=500, deadline=None)
def test_even_steps_are_found(start, down, across, rows, columns, data):
    """An array is a Span exactly when one describes it; a number that is off is noticed anywhere,
    even where two make up for each other."""
    values = spread(Span(start, down, across, rows, columns))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
        values[at] += data.draw(STEPS)
    down = int(values[1, 0] - values[0, 0]) if rows > 1 else 0
    across = int(values[0, 1] - values[0, 0]) if columns > 1 else 0
    wanted = Span(int(values[0, 0]), down, across, rows, columns)
    found = span_of(values)
    assert found == (wanted if np.array_equal(spread(wanted), values) else None)
    if found:
        assert (found.low, found.high) == (values.min(), values.max())
        assert found.moved(3) == span_of(values + 3)
        for width in (1, 2, 4):
            if found.multiple(width):
                assert not (values % width).any()
            if found.apart(width):
                assert (np.diff(np.sort(values, axis=None)) >= width).all()


def test_many_lanes_are_compared_in_pieces():
    """One lane of a large chunk that is off, wherever it is."""
    values = spread(Span(1 << 40, 16384, 4, 300, 256))
    assert span_of(values) == Span(1 << 40, 16384, 4, 300, 256)
    for place in (1, 255, 256, 16383, 16384, 16385, values.size - 2, values.size - 1):
        off = values.copy()
        off.reshape(-1)[place] += 4
        assert span_of(off) is None


def test_steps_too_large_for_int64_are_no_span():
    """The machine's integers cannot hold what lies between two of them."""
    far = np.array([[-(2**63)], [2**63 - 1]])
    assert span_of(far) is None
    assert span_of(far.T) is None


@needs_nvrtc
@pytest.mark.parametrize("line", ["y[blockIdx.x * m] = 1", "y[0] = y[blockIdx.x * m]"])
@pytest.mark.parametrize("blocks", [2, 3])
def test_an_address_at_the_far_end_is_out_of_bounds(line, blocks):
    """Found and named like any other, for two blocks as for three."""
    far = kernel(f"__global__ f(float* y, long long m) {{ {line}; }}")
    y = np.zeros(32, np.float32)
    found = simt.profile(far, (blocks,), (32,), (y, 0x1FFFFFFFFFFFFFFF))
    assert {defect.kind for defect in found.defects} >= {"out of bounds"}


@given(
    st.integers(0, 40),
    st.sampled_from((0, 1, 4, 6, 32, 100, 1024, 4096)),
    st.sampled_from((-64, -32, 0, 1, 2, 3, 8, 16)),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from((1, 2, 4, 8, 16)),
)
@settings(max_examples=500, deadline=None)
def test_sectors_of_even_steps(start, down, across, rows, warps, width):
    """The same requests, sectors, ideal and marks as lane by lane, wherever the quick way is taken;
    and it is taken for neighbours, for rows apart, and for one address."""
    span = Span(1 << 20 | start * width, down * width, across * width, rows, 32 * warps)
    quick, exact = touch_evenly(span, width, warps), touch(spread(span), None, width, warps)
    whole = span.down % 32 == 0
    if whole and (across in (0, 1) or span.across % 32 == 0):
        assert quick is not None
    if quick is not None:
        assert (quick.requests, quick.sectors) == (exact.requests, exact.sectors)
        assert quick.ideal == exact.ideal
        assert set(spread(quick.touched).ravel()) == set(exact.touched.ravel())


@needs_nvrtc
@pytest.mark.parametrize("step", [-1, 0, 1, 2, 9])
def test_loads_and_stores_in_even_steps(step):
    """Elements go where they belong, also backwards; of lanes that write one place the last wins,
    and an even step out of an array is found."""
    copy = kernel("""__global__ f(const float* x, float* y, int step, int start, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[(long long)start + (long long)i * step] = x[i];
    }""")
    n, start = 128, 127 if step < 0 else 0
    x = np.arange(n, dtype=np.float32) + 1
    y = np.zeros(n * max(abs(step), 1), np.float32)
    found = simt.profile(copy, (2,), (64,), (x, y, step, start, n), races=False)
    wanted = np.zeros_like(y)
    for i in range(n):
        wanted[start + i * step] = x[i]
    assert found.defects == []
    np.testing.assert_array_equal(y, wanted)
    short, place = np.zeros(max(abs(step), 1) * (n - 1), np.float32), start or (n - 1) * (step == 0)
    (defect,) = simt.profile(copy, (2,), (64,), (x, short, step, place, n), races=False).defects
    assert defect.kind == "out of bounds"
