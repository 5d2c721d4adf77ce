"""The rows that the overflow lesson looks at: one movable logit, an attention row, presets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["D_K_MAX", "PRESETS", "Preset", "attention_row", "largest_logit_row"]

D_K_MAX = 8192
_KEYS = 12
_SLOW = "Without a GPU this row takes a few seconds."
# NaN marks the element that a row's own logit replaces.
_NEIGHBOURS = (-2.0, 1.0, 3.0, 5.5, 7.0, 8.5, np.nan, 4.0, 0.5, 8.0)
_SMALL_NEIGHBOURS = (-2.0, 1.0, 0.0, 2.0, 3.0, 4.0, np.nan, 2.0, 0.5, 3.0)


def largest_logit_row(largest: float) -> np.ndarray:
    """Ten logits (float64), of which element 6 is `largest`; the others reach 8.5."""
    return _with(_NEIGHBOURS, largest)


def attention_row(d_k: float, scaled: bool) -> np.ndarray:
    """q·k for one query and 12 keys of d_k standard-normal components; scaled: divided by √d_k.

    ValueError: d_k is no whole number from 1 to 8192.
    """
    if not (1 <= d_k <= D_K_MAX and d_k == int(d_k)):
        raise ValueError(
            f"d_k: expected a whole number from 1 to {D_K_MAX}, got {d_k:.15g}; "
            "a head usually has 64 or 128"
        )
    d_k = int(d_k)
    query, keys = _query_and_keys()
    scores = keys[:, :d_k] @ query[:d_k]
    return scores / np.sqrt(d_k) if scaled else scores


@cache
def _query_and_keys() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.standard_normal(D_K_MAX), random.standard_normal((_KEYS, D_K_MAX))


def _with(neighbours: tuple[float, ...], logit: float) -> np.ndarray:
    row = np.array(neighbours)
    return np.where(np.isnan(row), logit, row)


@dataclass(frozen=True, eq=False)
class Preset:
    """A row worth seeing, and what to look for in it."""

    name: str
    logits: np.ndarray
    note: str


PRESETS = (
    Preset("FP16, last input that fits: 11.0859375", _with(_SMALL_NEIGHBOURS, 11.0859375),
           "FP16 holds by a hair: e^x is 65248 of at most 65504."),
    Preset("FP16, one step on: 11.09375", _with(_SMALL_NEIGHBOURS, 11.09375),
           "The next FP16 number. Its exponential is inf, and the row is lost."),
    Preset("BF16, last input that fits: 88.5", _with(_SMALL_NEIGHBOURS, 88.5),
           "FP32 and BF16 share their range; BF16's inputs are half a unit apart here."),
    Preset("BF16, one step on: 89", _with(_SMALL_NEIGHBOURS, 89.0),
           "Past 88.72 no type is left."),
    Preset("FP32, last input that fits: 88.72283", _with(_SMALL_NEIGHBOURS, 88.72283172607422),
           "The last FP32 number below ln(3.4028e38) = 88.722839."),
    Preset("FP32, one step on: 88.72284", _with(_SMALL_NEIGHBOURS, 88.72283935546875),
           "FP32 overflows, BF16 does not: it rounded the logit down to 88.5 first."),
    Preset("all −100: the row that survives", np.full(10, -100.0),
           "In FP32 e^−100 is subnormal, not 0, and ten equal ones still give exactly 1/10."),
    Preset("all −104: underflow", np.full(10, -104.0),
           "Every exponential rounds to 0, so the denominator is 0 and 0/0 is NaN."),
    Preset("2048, then ones: the sum sticks", np.array([7.625] + [0.0] * 11),
           "In FP16 and in BF16 2048 + 1 rounds back to 2048: all eleven ones are lost."),
    Preset("ones, then 2048: it does not", np.array([0.0] * 11 + [7.625]),
           "The same numbers the other way round: now they count (in BF16 as 16). Order matters."),
    Preset("1808, then 511 ones: watch it stick", np.array([7.5] + [0.0] * 511),
           "FP16 counts up to 2048 and no further; BF16 cannot add even the first one."),
    Preset("512 ones: BF16 sticks", np.zeros(512),
           "BF16 stops counting at 256. FP16 is exact here: it can count to 2048."),
    Preset("2560 ones: FP16 sticks too", np.zeros(2560),
           f"FP16 stops counting at 2048. {_SLOW}"),
    Preset("2560 terms of 15.98", np.full(2560, 2.771484375),
           f"Above 32768 FP16 numbers are 32 apart: 15.98 more rounds to nothing. {_SLOW}"),
    Preset("one +inf", _with(_NEIGHBOURS, np.inf),
           "inf/inf in the naive form, inf − inf in the safe one. Nothing saves this row."),
    Preset("all −inf: a fully masked row", np.full(10, -np.inf),
           "The maximum is −inf, and −inf − (−inf) is NaN. Attention treats such a row apart."),
)
