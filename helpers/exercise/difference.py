"""Compares a result with the reference, and says what the wrong elements have in common."""

import math
from dataclasses import dataclass

import numpy as np

from .. import reference
from .definition import PATTERNS, Case, Exercise
from .references import REFERENCES

__all__ = ["Difference", "compare", "expected", "unwritten"]

VECTOR, WARP = 4, 32  # elements of a float4, lanes
ALIGN = 16  # bytes of a float4
NEAR = 0.02  # relative error that is a loss of accuracy rather than another number
STEADY = 1e-3  # how much a factor may vary within a row
ALIKE = 1e-3  # relative error within which a wrong result is that of other columns
PICKED = ("row_max", "row_max_everywhere", "transpose")  # elements of x as they are, not rounded
MOST = 0.9  # of the elements that are said to be wrong
SENTINELS = {"float32": 0x7FC0BEEF, "float16": 0x7EED}  # quiet NaNs that no arithmetic makes


@dataclass(frozen=True)
class Difference:
    """Where a result is wrong: the first bad element, its values, how many differ, and every
    pattern that holds, the most telling first."""

    row: int
    col: int | None
    got: float
    expected: float
    wrong: int
    size: int
    rel_error: float
    patterns: tuple[str, ...]
    width: int = VECTOR

    def __str__(self) -> str:
        where = f"row {self.row}" + ("" if self.col is None else f", column {self.col}")
        got = "nothing (never written)" if "unwritten" in self.patterns else f"{self.got:.7g}"
        return f"y at {where}: got {got}, expected {self.expected:.7g}"

    def pattern(self) -> str | None:
        """The most telling pattern in words."""
        return PATTERNS[self.patterns[0]].format(width=self.width) if self.patterns else None


def expected(exercise: Exercise, x: np.ndarray) -> np.ndarray:
    """What the reference makes of x, in float64."""
    with np.errstate(all="ignore"):
        return REFERENCES[exercise.reference](x.astype(np.float64))


def unwritten(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An output in which what the kernel leaves out can be told from what it computes."""
    y = np.empty(shape, dtype)
    y.view(f"u{y.dtype.itemsize}")[...] = SENTINELS[dtype]
    return y


def compare(
    exercise: Exercise, case: Case, x: np.ndarray, y: np.ndarray, want: np.ndarray
) -> Difference | None:
    """None when y is within the tolerance of `want`, the relative norm of the error. A NaN is right
    where the reference has one."""
    both = np.isnan(y) & np.isnan(want)
    comparison = reference.compare(np.where(both, 0, y), np.where(both, 0.0, want))
    if comparison.within(exercise.tolerance):
        return None
    got = y.astype(np.float64)
    bad = wrong(got, want, exercise.tolerance)
    if not bad.any():
        bad[comparison.worst] = True
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    look = _Look(exercise, case, x, y, got, want, bad)
    found = tuple(name for name in PATTERNS if getattr(look, name)())
    return Difference(
        row=first[0],
        col=first[1] if len(first) > 1 else None,
        got=float(got[first]),
        expected=float(want[first]),
        wrong=int(bad.sum()),
        size=bad.size,
        rel_error=comparison.rel_error,
        patterns=found,
        width=look.width,
    )


def wrong(got: np.ndarray, want: np.ndarray, tolerance: float) -> np.ndarray:
    """Which elements are off by more than the tolerance, relative to themselves or to a typical
    one, whichever is more."""
    finite = np.isfinite(want)
    typical = math.sqrt(np.square(want[finite]).mean()) if finite.any() else 0.0
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= tolerance * np.maximum(np.abs(want), typical)
    return ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))


@dataclass
class _Look:
    """The patterns of definition.PATTERNS, one method each, on one wrong result."""

    exercise: Exercise
    case: Case
    x: np.ndarray
    y: np.ndarray
    got: np.ndarray
    want: np.ndarray
    bad: np.ndarray
    width: int = VECTOR

    # -- the values
    def unwritten(self) -> bool:
        bits = self.y.view(f"u{self.y.dtype.itemsize}")
        return bool((bits[self.bad] == SENTINELS[self.exercise.out_dtype]).all())

    def nan(self) -> bool:
        return bool(np.isnan(self.got[self.bad]).all())

    def zero(self) -> bool:
        return bool((self.got[self.bad] == 0).all())

    def all(self) -> bool:
        return bool(self.bad.all())

    def rounding(self) -> bool:
        if self.exercise.reference in PICKED:
            return False
        with np.errstate(all="ignore"):
            error, size = np.abs(self.got - self.want)[self.bad], np.abs(self.want)[self.bad]
        return bool((np.isfinite(size) & (error <= NEAR * size)).all())

    def scaled(self) -> bool:
        """Each row times a number of its own, of which at least one is not 1."""
        if self.exercise.reference in PICKED or self.got.ndim < 2 or self.got.shape[1] < 3:
            return False
        rows = np.isfinite(self.got).all(1) & np.isfinite(self.want).all(1)
        if not rows[self.bad.any(1)].all():
            return False
        got, want = self.got[rows], self.want[rows]
        size = np.abs(want).max(1, keepdims=True)
        counts = np.abs(want) > 1e-3 * np.where(size, size, 1)
        if (counts.sum(1) < 2).any():
            return False
        with np.errstate(all="ignore"):
            factor = np.where(counts, got / want, np.nan)
            low, high = np.nanmin(factor, 1), np.nanmax(factor, 1)
        return bool(((high - low <= STEADY * np.abs(high)) & (high != 0)).all())

    # -- the places
    def first_row(self) -> bool:
        rows = self.bad.reshape(len(self.bad), -1).any(1)
        return len(rows) > 1 and not rows[0] and bool(rows[1:].all())

    def rows_misaligned(self) -> bool:
        rows = self.bad.reshape(len(self.bad), -1).any(1)
        if len(rows) != self.case.rows:
            return False
        starts = np.arange(len(rows)) * self.case.cols + self.case.offset
        off = starts * self.x.dtype.itemsize % ALIGN != 0
        return bool(off.any() and not off.all() and (rows == off).all())

    def tail(self) -> bool:
        for width in (VECTOR, WARP, self.exercise.launch.block):
            whole = self.case.cols - self.case.cols % width
            if 0 < whole < self.case.cols and self._only(np.arange(self.case.cols) >= whole):
                self.width = width
                return True
        return False

    def lane0_only(self) -> bool:
        """Of lane 0, or thread 0, all is right; of the others nearly nothing."""
        thread = np.arange(self.case.cols) % self.exercise.launch.block
        return any(self._wrong_in(others) for others in (thread % WARP != 0, thread != 0))

    def first_warp(self) -> bool:
        return self._share(lambda thread: thread >= WARP)

    def _share(self, others) -> bool:
        """Is all wrong but the part of some threads? Of what a thread has, column by column."""
        columns = others(np.arange(self.case.cols) % self.exercise.launch.block)
        return bool(columns.any() and not columns.all() and self._only(columns, whole=True))

    def _wrong_in(self, columns: np.ndarray, share: float = MOST) -> bool:
        """Are the wrong elements in these columns alone, and more than this share of them wrong?"""
        if self.bad.shape != self.x.shape or not columns.any() or columns.all():
            return False
        bad = self.bad[self.bad.any(1)]
        return bool(not bad[:, ~columns].any() and bad[:, columns].mean() > share)

    def _only(self, columns: np.ndarray, whole: bool = False) -> bool:
        """Are the wrong elements in these columns alone (`whole`: in nearly all of them)? Or is the
        result that of the row without these columns?"""
        if self.bad.shape[0] != len(self.x):
            return False
        rows = self.bad.reshape(len(self.bad), -1).any(1)
        got = self.got[rows]
        if self.bad.shape == self.x.shape:
            if self._wrong_in(columns, MOST if whole else 0):
                return True
            got = got[:, ~columns]
        without = expected(self.exercise, self.x[rows][:, ~columns])
        return bool(np.isfinite(got).all() and not wrong(got, without, ALIKE).any())
