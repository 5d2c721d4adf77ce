"""The rows that a kernel is tried on, by name; the same numbers each time."""

from collections.abc import Callable

import numpy as np

__all__ = ["INPUTS", "WORDS", "make", "offset"]

ALIGN = 16  # bytes, of a float4
SPIKE = 1000.0  # above the rest: e^1000 is beyond every type
SHIFT = 1e4  # every e^x is infinite
DEEP = -1e5  # every e^x is 0, and float32 still tells 0.01 apart; float16 has no such number
ABYSS = -1e30  # below whatever finite number a maximum is likely to start at
STAIR = 1000.0  # from one row to the next
PART_MASKED = 1 / 3


def normal(rng, rows, cols):
    return rng.standard_normal((rows, cols))


def equal(rng, rows, cols):
    """Every element of a row is the same number, another one in each row."""
    return np.repeat(rng.standard_normal((rows, 1)), cols, axis=1)


def spike(rng, rows, cols):
    """One element of each row, at any column, stands far above the others."""
    x = normal(rng, rows, cols)
    x[np.arange(rows), rng.integers(0, cols, rows)] += SPIKE
    return x


def tiny(rng, rows, cols):
    """Near -50: whatever adds e^0 for an element that is not there shows at once."""
    return normal(rng, rows, cols) - 50


def shifted(rng, rows, cols):
    """Near 10000: e^x is infinite."""
    return normal(rng, rows, cols) + SHIFT


def deep(rng, rows, cols):
    """Near -100000: e^x is 0 for every element."""
    return normal(rng, rows, cols) + DEEP


def abyss(rng, rows, cols):
    """From -2e30 to -1e30: of a finite start of the maximum nothing but that start is left."""
    return ABYSS * (1 + rng.random((rows, cols)))


def stairs(rng, rows, cols):
    """Each row 1000 above the one before: a number of another row shows."""
    return normal(rng, rows, cols) + STAIR * np.arange(rows)[:, None]


def neginf(rng, rows, cols):
    """A third of the elements are -inf; in no row all, and in the first row those in front."""
    x = normal(rng, rows, cols)
    hidden = rng.random((rows, cols)) < PART_MASKED
    hidden[0, : cols // 2] = True
    hidden[np.arange(rows), rng.integers(cols // 2, cols, rows)] = False
    return np.where(hidden, -np.inf, x)


def masked(rng, rows, cols):
    """The last and every other row before it are -inf throughout."""
    x = neginf(rng, rows, cols)
    x[::-1][::2] = -np.inf
    return x


def nan(rng, rows, cols):
    """As `masked`, with a NaN in the last row, which else is all -inf, and in the one before it."""
    x = masked(rng, rows, cols)
    for row in {rows - 1, max(rows - 2, 0)}:
        x[row, rng.integers(cols)] = np.nan
    return x


def ascending(rng, rows, cols):
    """Distinct values, the largest last."""
    return np.tile(np.arange(cols) * 0.01 - 1, (rows, 1))


def descending(rng, rows, cols):
    """Distinct values, the largest first."""
    return ascending(rng, rows, cols)[:, ::-1].copy()


def ones16(rng, rows, cols):
    """Ones: added up one at a time in 16 bits, they stick at 2048 (FP16)."""
    return np.ones((rows, cols))


def sixteens(rng, rows, cols):
    """16 throughout: 4096 of them are 65536, which FP16 does not have."""
    return np.full((rows, cols), 16.0)


INPUTS: dict[str, Callable[..., np.ndarray]] = {
    make.__name__: make
    for make in (
        normal, equal, spike, tiny, shifted, deep, abyss, stairs, neginf, masked, nan,
        ascending, descending, ones16, sixteens,
    )
}  # fmt: skip

WORDS = {
    "normal": "standard-normal",
    "equal": "equal within a row",
    "spike": "one large element a row",
    "tiny": "near -50",
    "shifted": "near 10000",
    "deep": "near -100000",
    "abyss": "from -2e30 to -1e30",
    "stairs": "each row 1000 above the one before",
    "neginf": "some elements -inf",
    "masked": "some rows -inf throughout",
    "nan": "some rows -inf throughout, two with a NaN",
    "ascending": "ascending",
    "descending": "descending",
    "ones16": "1 throughout",
    "sixteens": "16 throughout",
}


def make(name: str, rows: int, cols: int, dtype: str) -> np.ndarray:
    """A matrix rows x cols of the input called `name`, drawn in float64 and rounded to `dtype`."""
    rng = np.random.default_rng([rows, cols, *name.encode()])
    with np.errstate(over="ignore"):  # float16 has nothing beyond 65504
        return INPUTS[name](rng, rows, cols).astype(dtype)


def offset(array: np.ndarray, elements: int) -> np.ndarray:
    """A copy that starts `elements` after an address every vector type is aligned to."""
    size = array.dtype.itemsize
    memory = np.empty(array.nbytes + (elements + ALIGN) * size + ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN + elements * size
    placed = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed
