"""What a softmax should be, and the one comparison that every check uses.

NaN never passes: `Comparison.within` is false as soon as any error is NaN.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Comparison", "compare", "rounded_softmax", "softmax"]

PIECE = 1 << 18  # elements compared at a time: 2 MB temporaries are reused, 128 MB ones are not


def softmax(x) -> np.ndarray:
    """Softmax over the last axis, in float64, with the maximum subtracted.

    x: any shape and floating type, NumPy or CuPy. A row that holds a NaN or a +inf, or only -inf,
    comes out NaN, as the formula has it. Raises ValueError for an empty last axis.
    """
    x = host(x).astype(np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"softmax needs rows of at least one element, got shape {x.shape}")
    with np.errstate(invalid="ignore"):  # inf - inf: the NaN is the answer
        x -= x.max(axis=-1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=-1, keepdims=True)
    return x


def rounded_softmax(x, dtype) -> np.ndarray:
    """Softmax without the maximum, rounded to `dtype` wherever naive_f16 and naive_bf16 round.

    Over the last axis: every exponential rounded, the sum taken from left to right and rounded
    after each addition, the quotient rounded. float16 and bfloat16 arithmetic goes through float32,
    whose 24 bits are enough for the second rounding to change nothing (24 >= 2 * 11 + 2).
    """
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):  # overflow, and the NaN after it, are what it is for
        exponentials = np.exp(host(x).astype(np.float64)).astype(dtype)
        total = np.zeros(exponentials.shape[:-1], dtype)
        for column in np.ascontiguousarray(np.moveaxis(exponentials, -1, 0)):
            total = total + column
        return exponentials / total[..., np.newaxis]


@dataclass(frozen=True)
class Comparison:
    """How far `got` is from `expected`.

    rel_error: norm of the difference over norm of the expected, in float64 (NaN if anything is NaN,
    inf if only one of the two is infinite somewhere). max_ulp: the most representable values that
    lie between an element and the expected one rounded to the element's type (NaN if anything is
    NaN). worst: index of the worst element, a NaN before all others; got and expected: its values.
    nonfinite: how many elements of `got` are NaN or infinite.
    """

    rel_error: float
    max_ulp: float
    worst: tuple[int, ...]
    got: float
    expected: float
    nonfinite: int

    def within(self, tolerance: float) -> bool:
        """True when the relative norm error is at most `tolerance`; false for NaN."""
        return bool(self.rel_error <= tolerance)

    def __repr__(self):
        where = ", ".join(map(str, self.worst))
        bad = f", {self.nonfinite} not finite" if self.nonfinite else ""
        return (
            f"relative error {self.rel_error:.2e}, at most {self.max_ulp:.0f} ulp{bad}; "
            f"worst at [{where}]: {self.got:.9g}, expected {self.expected:.9g}"
        )

    def _repr_html_(self):
        cells = {
            "relative error": f"{self.rel_error:.2e}",
            "largest error": f"{self.max_ulp:.0f} ulp",
            "elements not finite": self.nonfinite,
            "worst at": list(self.worst),
            "got": f"{self.got:.9g}",
            "expected": f"{self.expected:.9g}",
        }
        rows = (f"<tr><th scope='row'>{key}</th><td>{v}</td></tr>" for key, v in cells.items())
        return f"<table>{''.join(rows)}</table>"


def compare(got, expected) -> Comparison:
    """Compare a result with what it should be, element by element and as a whole.

    got, expected: arrays of one shape, NumPy or CuPy, at least one element. ulps are those of got's
    type. Raises ValueError when the shapes differ or there is nothing to compare.
    """
    got, expected = host(got), host(expected)
    if got.shape != expected.shape or got.size == 0:
        raise ValueError(
            f"compare needs two arrays of the same shape with at least one element, got "
            f"{got.shape} and {expected.shape}"
        )
    g, e = got.reshape(-1), expected.reshape(-1)
    starts = range(0, g.size, PIECE)
    pieces = [piece_errors(g[i : i + PIECE], e[i : i + PIECE]) for i in starts]
    error, norm, steps, nonfinite, largest, where = map(np.array, zip(*pieces, strict=True))
    piece = np.argmax(largest)  # argmax stops at a NaN, here and in piece_errors
    worst = np.unravel_index(starts[piece] + where[piece], got.shape)
    rel_error = np.sqrt(error.sum())
    if 0.0 < rel_error < np.inf:  # 0 stays 0 where all that is expected is 0
        with np.errstate(divide="ignore"):
            rel_error = rel_error / np.sqrt(norm.sum())
    return Comparison(
        rel_error=float(rel_error),
        max_ulp=float("nan") if np.isnan(rel_error) else float(steps.max()),
        worst=tuple(int(i) for i in worst),
        got=float(got[worst]),
        expected=float(expected[worst]),
        nonfinite=int(nonfinite.sum()),
    )


def piece_errors(got: np.ndarray, expected: np.ndarray) -> tuple:
    """Of two flat arrays: squared error, squared norm of the finite expected values, largest ulp
    distance, elements of got that are not finite, largest error and where it is."""
    with np.errstate(all="ignore"):
        g, e = got.astype(np.float64), expected.astype(np.float64)
        difference = np.abs(g - e)
        difference[g == e] = 0.0  # two equal infinities do not differ
        steps = ulps(got, expected.astype(got.dtype)).max()
        where = np.argmax(difference)
        norm = np.square(e, where=np.isfinite(e), out=np.zeros_like(e)).sum()
        nonfinite = np.count_nonzero(~np.isfinite(g))
        return np.square(difference).sum(), norm, steps, nonfinite, difference[where], where


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Steps between representable values from a to b, both of one floating type and free of NaN."""
    size = a.dtype.itemsize

    def rank(values):  # as integers, negative floats run backwards: turn them round
        bits = np.ascontiguousarray(values).view(f"i{size}")
        return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits)

    a, b = rank(a), rank(b)
    return np.maximum(a, b).view(f"u{size}") - np.minimum(a, b).view(f"u{size}")  # cannot overflow


def host(array) -> np.ndarray:
    """The array in the CPU's memory, as NumPy's own type."""
    return np.asarray(array.get() if hasattr(array, "get") else array)
