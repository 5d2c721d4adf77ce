"""What a row of logits becomes in FP32, FP16 and BF16, with and without the maximum subtracted.

The outputs come from the project's kernels. The exponentials and the running sum, which a kernel
keeps to itself, are repeated here in NumPy: the same order, one rounding to the type each step.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

from .. import reference
from . import overflow_text

__all__ = ["FORMATS", "Format", "Outcome", "Result", "Runner", "evaluate"]

Runner = Callable[[str, np.ndarray], np.ndarray]
"""`run(version name, rows x cols array) -> rows x cols array`, all of them NumPy arrays."""


@dataclass(frozen=True)
class Format:
    """A floating-point type and the naive kernel that works in it."""

    name: str
    dtype: np.dtype
    kernel: str

    @property
    def largest(self) -> float:
        """The largest finite number of the type."""
        return float(ml_dtypes.finfo(self.dtype).max)

    @property
    def smallest(self) -> float:
        """The smallest positive (subnormal) number of the type."""
        return float(ml_dtypes.finfo(self.dtype).smallest_subnormal)

    @property
    def smallest_normal(self) -> float:
        """The smallest number that still has all its digits."""
        return float(ml_dtypes.finfo(self.dtype).smallest_normal)

    @property
    def unit(self) -> float:
        """Half the distance from 1 to the next number: the relative error of one rounding."""
        return float(ml_dtypes.finfo(self.dtype).eps) / 2

    @property
    def overflows_above(self) -> float:
        """The x at which e^x equals the largest finite number."""
        return float(np.log(self.largest))

    @property
    def vanishes_below(self) -> float:
        """The x at which e^x is half the smallest positive number: below it, e^x rounds to 0."""
        return float(np.log(self.smallest / 2))


FORMATS = (
    Format("FP32", np.dtype(np.float32), "naive_f32"),
    Format("FP16", np.dtype(np.float16), "naive_f16"),
    Format("BF16", np.dtype(ml_dtypes.bfloat16), "naive_bf16"),
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One row in one type. Arrays have shape (n,), in that type unless said otherwise.

    `logits` (float64) as given; `wanted` (float64) logits + shift; `inputs` the same, rounded;
    `exponentials` e^x, rounded; `running` their left-to-right sum, rounded at each step; `naive`
    and `safe` the kernels' outputs; `exact` (float64) the softmax before shift and rounding.
    """

    format: Format
    logits: np.ndarray
    wanted: np.ndarray
    inputs: np.ndarray
    exponentials: np.ndarray
    running: np.ndarray
    naive: np.ndarray
    safe: np.ndarray
    exact: np.ndarray

    @cached_property
    def denominator(self) -> float:
        """The sum of the exponentials as the naive kernel adds them."""
        return float(self.running[-1])

    @cached_property
    def true_denominator(self) -> float:
        """The sum of the same rounded exponentials in float64."""
        return float(self.exponentials.astype(np.float64).sum())

    @cached_property
    def lost_share(self) -> float:
        """The share of `true_denominator` that rounding lost; 0 where a sum is not finite."""
        if not np.isfinite(self.denominator) or self.true_denominator == 0:
            return 0.0
        return 1 - self.denominator / self.true_denominator

    @cached_property
    def stuck_from(self) -> int | None:
        """The element from which a tenth of the row or more changes nothing in the sum.

        None when the roundings before that element explain all that is lost.
        """
        start = int(np.argmax(self.running == self.running[-1])) + 1
        explained = max(start**0.5 * self.format.unit, 1e-4)
        stuck = self.lost_share > explained and start <= 0.9 * len(self.running)
        return start if stuck else None

    @cached_property
    def naive_sum(self) -> float:
        """The sum of the naive outputs, in float64."""
        return float(self.naive.astype(np.float64).sum())

    @cached_property
    def safe_sum(self) -> float:
        """The sum of the safe outputs, in float64."""
        return float(self.safe.astype(np.float64).sum())

    @cached_property
    def safe_error(self) -> float:
        """The largest absolute distance of the safe output from `exact`."""
        return float(np.abs(self.safe.astype(np.float64) - self.exact).max())

    @cached_property
    def gap(self) -> float:
        """The largest absolute distance between the naive and the safe output."""
        return float(np.abs(self.naive.astype(np.float64) - self.safe.astype(np.float64)).max())

    @property
    def tolerance(self) -> float:
        """The relative difference that roundings explain, or four digits if they explain less."""
        return max((len(self.naive) ** 0.5 + 4) * self.format.unit, 1e-4)

    @cached_property
    def naive_holds(self) -> bool:
        """True when naive and safe agree within the tolerance, relative to the largest output."""
        return self.gap <= self.tolerance * float(self.safe.max())

    @property
    def message(self) -> str:
        """One sentence: what happened to the naive form, and where."""
        return overflow_text.message(self)


@dataclass(frozen=True, eq=False)
class Result:
    """A row of logits (float64), the constant added to each, and one outcome a type."""

    logits: np.ndarray
    shift: float
    outcomes: tuple[Outcome, ...]

    def __getitem__(self, name: str) -> Outcome:
        """The outcome in the type called `name`; KeyError when there is none."""
        return {outcome.format.name: outcome for outcome in self.outcomes}[name]

    def __len__(self) -> int:
        """The number of elements in the row."""
        return len(self.logits)

    @property
    def headline(self) -> str:
        """The whole row in one line."""
        return overflow_text.headline(self)

    def __repr__(self) -> str:
        return "\n".join([self.headline, *(outcome.message for outcome in self.outcomes)])

    def _repr_html_(self) -> str:
        return overflow_text.summary(self.headline) + overflow_text.readout(self)


def launch_kernel(version: str, x: np.ndarray) -> np.ndarray:
    """Run a version of the catalogue on the active device; NumPy in, NumPy out."""
    from .. import launch
    from ..device import cp

    return cp.asnumpy(launch.run(version, cp.asarray(x)))


def evaluate(logits, shift: float = 0.0, run: Runner = launch_kernel) -> Result:
    """Run the naive kernels and V1 on one row, rounded to each type.

    `logits` shape (n,), n >= 1, any values, infinities and NaN included; `shift` is added to each
    before rounding. V1 (FP32 inside) takes the three rounded rows in one launch.
    ValueError: no numbers, no element, more than one dimension, or a shift that is not finite.
    """
    logits, shift = _row(logits), _finite(shift)
    with np.errstate(all="ignore"):  # the infinities are the subject
        wanted, exact = logits + shift, reference.softmax(logits)
        rows = np.stack([wanted.astype(format.dtype).astype(np.float32) for format in FORMATS])
        outcomes = tuple(
            _outcome(format, logits, wanted, safe, exact, run)
            for format, safe in zip(FORMATS, run("v1", rows), strict=True)
        )
    return Result(logits, shift, outcomes)


def _row(logits) -> np.ndarray:
    """The logits in float64, shape (n,), n >= 1."""
    try:
        given = np.asarray(logits)
        if given.dtype.kind in "USc":  # NumPy would read "1.5", and drop an imaginary part
            raise TypeError
        row = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"logits: expected one row of real numbers, got {reprlib.repr(logits)}; "
            "pass a list such as [1.0, 2.0, 3.0]"
        ) from None
    if row.ndim != 1 or row.size == 0:
        raise ValueError(
            f"logits: expected one row with at least one element, got shape {row.shape}; "
            "pass a list such as [1.0, 2.0, 3.0]"
        )
    return row


def _finite(shift) -> float:
    """The shift as a float."""
    try:
        value = np.nan if isinstance(shift, str | bytes) else float(shift)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(
            f"shift: expected a finite number, got {reprlib.repr(shift)}; use 0 for no shift"
        )
    return value


def _outcome(format: Format, logits, wanted, safe, exact, run: Runner) -> Outcome:
    """One type: its naive kernel, and what that kernel computes on the way."""
    inputs = wanted.astype(format.dtype)
    exponentials = np.exp(inputs.astype(np.float64)).astype(format.dtype)
    return Outcome(
        format=format,
        logits=logits,
        wanted=wanted,
        inputs=inputs,
        exponentials=exponentials,
        running=np.add.accumulate(exponentials, dtype=format.dtype),
        naive=run(format.kernel, inputs[np.newaxis])[0],
        safe=safe.astype(format.dtype),
        exact=exact,
    )
