"""The comparison of `reference`, made where the arrays are: billions of elements in a blink.

The same float64 formulas, a few rows at a time, on whichever module owns the arrays. bfloat16,
which CuPy does not compute with, goes through its bits. Numbers below float32's smallest normal
one, 1.2e-38, may count as 0: CuPy's own kernels flush them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np

from . import device
from .reference import Comparison

__all__ = ["compare", "copied", "normal", "rounded", "softmax", "wide"]

PIECE = 1 << 23  # elements at a time: float64 temporaries of 64 MiB


def softmax(x):
    """Softmax of float64 rows, with the maximum subtracted, as `reference.softmax` has it."""
    x = x - x.max(axis=-1, keepdims=True)
    x = device.cp.exp(x)
    return x / x.sum(axis=-1, keepdims=True)


def copied(x):
    """What a copy should be: x itself."""
    return x


def compare(got, x, make: Callable = softmax) -> Comparison:
    """`reference.compare(got, make(x))`, expected values rounded to got's type where that is of 16
    bits: its best result is then no error, whatever the size of its steps.

    got, x: 2-D, of one shape and floating type, both on the active device.
    """
    if got.shape != x.shape or got.size == 0:
        raise ValueError(f"compare needs two matrices of the same shape with at least one element, "
                         f"got {got.shape} and {x.shape}")
    with np.errstate(all="ignore"):  # NaN and infinities are answers; CuPy never warns
        found = [_piece(got[rows], make(wide(x[rows])), rows.start) for rows in _pieces(x)]
    error, norm, steps, nonfinite = (np.array([f[i] for f in found]) for i in range(4))
    rel_error = math.sqrt(error.sum())
    if 0.0 < rel_error < math.inf:
        rel_error = rel_error / math.sqrt(norm.sum()) if norm.sum() else math.inf
    worst = max(found, key=lambda piece: math.inf if math.isnan(piece[4]) else piece[4])
    return Comparison(
        rel_error=rel_error,
        max_ulp=math.nan if math.isnan(rel_error) else float(steps.max()),
        worst=worst[5],
        got=worst[6],
        expected=worst[7],
        nonfinite=int(nonfinite.sum()),
    )


def _pieces(x) -> Iterator[slice]:
    rows = max(1, PIECE // x.shape[1])
    return (slice(first, first + rows) for first in range(0, x.shape[0], rows))


def _piece(got, expected, first_row: int) -> tuple:
    """Of some rows: squared error, squared norm of the finite expected values, largest distance in
    ulps, elements of got that are not finite; the largest error, its index and the two values."""
    cp = device.cp
    nearest = rounded(expected, got.dtype)
    g, e = wide(got), wide(nearest) if got.dtype.itemsize == 2 else expected
    difference = cp.where(g == e, 0.0, cp.abs(g - e))  # two equal infinities do not differ
    norm = cp.where(cp.isfinite(e), e, 0.0)
    # A NaN comes before all others; CuPy's argmax does not say where it puts one.
    at = int(cp.where(cp.isnan(difference), cp.inf, difference).argmax())
    row, col = divmod(at, got.shape[1])
    return (
        float((difference * difference).sum()),
        float((norm * norm).sum()),
        float(_ulps(got, nearest).max()),
        int((~cp.isfinite(g)).sum()),
        float(difference[row, col]),
        (first_row + row, col),
        float(g[row, col]),
        float(e[row, col]),
    )


def _ulps(a, b):
    """Steps between representable values, as `reference.ulps` counts them."""
    size = a.dtype.itemsize

    def rank(values):
        bits = values.view(f"int{8 * size}").astype("int64")
        return device.cp.where(bits < 0, -(1 << (8 * size - 1)) - bits, bits)

    return device.cp.abs(rank(a) - rank(b))


def wide(x):
    """x in float64."""
    if x.dtype.name != "bfloat16":
        return x.astype("float64")
    bits = device.cp.ascontiguousarray(x).view("uint16").astype("uint32")
    return (bits << 16).view("float32").astype("float64")


def rounded(x, dtype):
    """Floats to the nearest of `dtype`, ties to even, as a cast does; bfloat16 through float32, as
    `ml_dtypes` has it."""
    if np.dtype(dtype).name != "bfloat16":
        return x.astype(dtype)
    bits = x.astype("float32").view("uint32")
    nan = device.cp.isnan(x)
    upper = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    return device.cp.where(nan, 0x7FC0, upper).astype("uint16").view(dtype)


def normal(rows: int, cols: int, dtype: str, seed: int = 0):
    """A device matrix of standard-normal numbers, drawn by the device's own generator."""
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    draw = device.cp.random.default_rng(seed)
    x = device.cp.empty((rows, cols), dtype)
    for part in _pieces(x):
        drawn = draw.standard_normal(x[part].shape, dtype=np.dtype("float32"))
        bits = f"uint{8 * x.dtype.itemsize}"  # bfloat16 is moved as its bits
        x[part].view(bits)[...] = rounded(drawn, x.dtype).view(bits)
    return x
