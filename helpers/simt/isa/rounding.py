"""Floating-point arithmetic that rounds once, in every mode the compiler emits.

NumPy rounds to nearest, and has no fused multiply-add. The other results come from a float64 result
and its exact error (Knuth's two-sum, Dekker's product), which together say on which side of a
rounded value the true one lies. That costs, so the common case takes the plain float64 path and
only the few lanes where rounding twice (to float64, then to the type) may differ are repaired.
"""

from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np

from .lanes import in_slices

__all__ = ["TINY", "divide", "flush", "fma", "narrow", "plus", "saturate", "square_root", "times"]

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
LOWEST = np.iinfo(np.int64).min
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# Fraction bits a float64 has beyond the type: they decide the rounding.
SPARE = {F32: 29, np.dtype(np.float16): 42, BFLOAT16: 45}
# The smallest normal number of each type.
TINY = {F64: 2.0**-1022, F32: 2.0**-126, np.dtype(np.float16): 2.0**-14, BFLOAT16: 2.0**-126}


def flush(x):
    """Subnormals become zeros of the same sign: the `.ftz` modifier."""
    small = np.abs(x) < smallest(x.dtype)
    return np.where(small, np.copysign(x.dtype.type(0), x), x) if np.count_nonzero(small) else x


@cache
def smallest(dtype, times: int = 1):
    """The smallest normal number of a type, or so many times that, as a scalar of the type."""
    return dtype.type(times * TINY[dtype])


def saturate(x):
    """Clamp to [0, 1]; NaN becomes +0: the `.sat` modifier."""
    zero = x.dtype.type(0)
    y = np.fmax(x, zero)
    np.fmin(y, x.dtype.type(1), out=y)
    return np.add(y, zero, out=y)


# ---------------------------------------------------------------------------- float64 to the type
def narrow(s, dtype, mode: str = "rn", error=None):
    """Round float64 `s` to `dtype` in mode rn (to nearest even), rz (towards zero), rm (down) or
    rp (up). `error()` gives what the true value has beyond `s`; None says that `s` is exact."""
    if mode == "rn":
        s = s if error is None or dtype == F64 else odd(s, error())
        return s if dtype == F64 else nearest(s, dtype)
    return directed(s if dtype == F64 else nearest(s, dtype), s, error, mode)


def nearest(s, dtype):
    """float64 to the nearest value of a narrower type."""
    if dtype != BFLOAT16:
        return s.astype(dtype)
    # ml_dtypes goes through float32; made odd where that is inexact, it cannot round to a tie
    single = s.astype(F32)
    back = single.astype(F64)
    inexact = (back != s) & np.isfinite(s) & np.isfinite(single)
    bits = single.view(np.int32) - (inexact & (np.abs(back) > np.abs(s)))
    return np.where(inexact, bits | 1, bits).astype(np.int32).view(F32).astype(BFLOAT16)


def odd(s, error):
    """Round-to-odd: an inexact `s` gets an odd last bit, so that a second rounding cannot take it
    for a tie. `error` is the part of the true value that `s` lost."""
    lost = (error != 0) & np.isfinite(s) & np.isfinite(error)
    away = (error < 0) == (s > 0)  # s lies farther from zero than the true value: step back first
    bits = s.view(np.int64)
    return np.where(lost, (bits - away) | 1, bits).view(F64)


def directed(y, s, error, mode: str):
    """Correct y, the nearest value to s, to mode rz, rm or rp; the true value is s (+ error())."""
    wide = y.astype(F64)
    if error is None:
        return corrected(y, wide, s, mode)
    above, below, tie = wide > s, wide < s, wide == s
    if tie.any():
        e = error()
        above, below = above | (tie & (e < 0)), below | (tie & (e > 0))
    if mode == "rz":
        return step(y, (above & (s > 0)) | (below & (s < 0)), towards_zero=True)
    return step(y, above, down=True) if mode == "rm" else step(y, below, down=False)


def corrected(y, wide, s, mode: str):
    """`directed` where s is the true value, and `wide` is y in float64."""
    if mode == "rz":
        return step(y, np.abs(wide) > np.abs(s), towards_zero=True)
    return step(y, wide > s, down=True) if mode == "rm" else step(y, wide < s, down=False)


def step(y, wrong, *, down=False, towards_zero=False):
    """The neighbouring value where `wrong`: one more or one less in the bit pattern."""
    if not np.count_nonzero(wrong):
        return y
    signed = np.dtype(f"i{y.dtype.itemsize}")
    bits = y.view(signed)
    by = wrong.astype(signed)
    if towards_zero:
        return (bits - by).view(y.dtype)
    if y.min() > 0:  # the usual case
        return (bits - by if down else bits + by).view(y.dtype)
    sign = (bits >> (8 * signed.itemsize - 1)) | 1
    result = (bits - by * sign if down else bits + by * sign).view(y.dtype)
    at_zero = wrong & (y == 0)
    if at_zero.any():
        smallest = np.ones(1, signed).view(y.dtype)[0]
        result = np.where(at_zero, -smallest if down else smallest, result)
    return result


# ---------------------------------------------------------------------------- exact errors
def two_sum(a, b, s):
    """The exact error of s = a + b in float64."""
    t = s - a
    return (a - (s - t)) + (b - t)


def product(a, b):
    """float64 a · b and its exact error (Dekker; operands and product of moderate size)."""

    def halves(x):
        c = 134217729.0 * x  # 2^27 + 1
        high = c - (c - x)
        return high, x - high

    p = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


# ---------------------------------------------------------------------------- operations
def plus(a, b, mode: str = "rn"):
    """a + b in the type of a, rounded as `mode` says."""
    if mode == "rn":
        return a + b
    return fma(a, np.ones((1, 1), a.dtype), b, mode)


def times(a, b, mode: str = "rn"):
    """a · b in the type of a. Products of types narrower than float64 are exact in float64."""
    if mode == "rn":
        return a * b
    if a.dtype == F64:
        return exactly(lambda x, y: x * y, (a, b), mode)
    return narrow(a.astype(F64) * b.astype(F64), a.dtype, mode)


def fma(a, b, c, mode: str = "rn"):
    """a · b + c with one rounding, in the type of a."""
    dtype = a.dtype
    if dtype == F64:
        return exactly(product_plus, (a, b, c), mode)
    return in_slices(lambda a, b, c: fused(a, b, c, mode), a, b, c)


def fused(a, b, c, mode: str):
    """fma of a type narrower than float64, whose products float64 has exactly: first as if the sum
    were exact, too; then with more care in the few lanes where what it lost may decide."""
    dtype, c = a.dtype, c.astype(F64)
    p = into(np.multiply, a.astype(F64), b.astype(F64))
    s = p + c
    y = nearest(s, dtype)
    if mode == "rn":
        if s.size == 1 and clear(s, dtype):
            return y
        unsure = doubtful(s, y)
    else:
        wide = y.astype(F64)
        unsure = wide == s
        y = corrected(y, wide, s, mode)
    if np.count_nonzero(unsure):
        few = np.flatnonzero(unsure)
        there = s.reshape(-1)[few]
        if mode != "rn" or np.count_nonzero(there):  # a zero is exact
            repair(y, few, there, *(lanes_of(v, s.shape, few) for v in (p, c)), mode)
    return y


def into(operation, x, y):
    """operation(x, y), in the memory of x, which nobody else needs, when the result fits there."""
    return operation(x, y, out=x if x.shape == y.shape or y.size == 1 else None)


def lanes_of(values, shape, few):
    """Some lanes, counted through the shape, of an array that has it or broadcasts to it."""
    if values.shape == shape:
        return values.reshape(-1)[few]
    return values.reshape(-1) if values.size == 1 else np.broadcast_to(values, shape).flat[few]


def repair(y, few, s, p, c, mode: str) -> None:
    """`fused` of a few lanes, where s = p + c, with the exact error of the sum, if it has one."""
    if mode == "rm" and not s.all():
        s = zeros_down(s, p, c)
    elif not np.count_nonzero((s - p != c) | (s - c != p)):
        return
    y.reshape(-1)[few] = narrow(s, y.dtype, mode, lambda: two_sum(p, c, s))


def product_plus(a, b, c):
    """a · b + c of fractions, or of float64 arrays without the infinity of an overflowing a · b
    meeting an infinite c."""
    if isinstance(a, Fraction):
        return a * b + c
    s = a * b + c
    return np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, s)


def zeros_down(s, a, b):
    """Rounding down, a + b = 0 of opposite signs is −0."""
    opposite = (s == 0) & (np.signbit(a) != np.signbit(b))
    return np.where(opposite, -0.0, s) if opposite.any() else s


def clear(s, dtype) -> bool:
    """`doubtful` of one lane, turned round: plain numbers are quicker than arrays of one."""
    spare = SPARE[dtype]
    tail = s.view(np.int64).item() & ((1 << spare) - 1)
    return tail != 1 << (spare - 1) and not abs(s.item()) < 2 * TINY[dtype]


def doubtful(s, y):
    """Lanes where an error that s has already dropped would decide the rounding: s lies exactly
    between two values of the type. Subnormals have other halfway points, so take all of them."""
    spare = SPARE[y.dtype]
    halfway = (s.view(np.int64) << (64 - spare)) == LOWEST
    halfway |= np.abs(y) < smallest(y.dtype, 2)
    return halfway


def divide(a, b, mode: str = "rn"):
    """a / b in the type of a."""
    if mode == "rn":
        return a / b
    if a.dtype == F64:
        return exactly(lambda x, y: x / y, (a, b), mode)
    wide_a, wide_b = a.astype(F64), b.astype(F64)
    q = wide_a / wide_b

    def error():  # the sign of a/b − q, from the exact residual a − q·b
        p, low = product(q, wide_b)
        return ((wide_a - p) - low) * np.sign(wide_b)

    return narrow(q, a.dtype, mode, error)


def square_root(a, mode: str = "rn"):
    """√a in the type of a."""
    if mode == "rn":
        return np.sqrt(a)
    if a.dtype == F64:
        return square_root64(a, mode)
    wide = a.astype(F64)
    root = np.sqrt(wide)

    def error():
        p, low = product(root, root)
        return (wide - p) - low

    return narrow(root, a.dtype, mode, error)


def square_root64(a, mode: str):
    """float64 √a in a directed mode: the nearest root squared says on which side it lies."""
    root = np.array(np.sqrt(a))
    for where in map(tuple, np.argwhere(np.isfinite(root) & (a > 0))):
        near, true = Fraction(float(root[where])), Fraction(float(a[where]))
        if near * near > true and mode != "rp":
            root[where] = np.nextafter(root[where], -np.inf)
        elif near * near < true and mode == "rp":
            root[where] = np.nextafter(root[where], np.inf)
    return root


def exactly(operation, sources, mode: str):
    """float64 results in any mode, lane by lane through fractions: slow, and rarely needed."""
    sources = np.broadcast_arrays(*sources)
    y = np.array(operation(*sources), F64)
    finite = np.isfinite(sources[0])
    for source in sources[1:]:
        finite = finite & np.isfinite(source)
    for where in map(tuple, np.argwhere(finite)):
        values = [Fraction(float(source[where])) for source in sources]
        try:
            true = operation(*values)
        except ZeroDivisionError:
            continue
        if true != 0:
            y[where] = rounded(true, mode)
        elif mode == "rm" and len(sources) == 3:  # a sum that cancels; other zeros have their sign
            a, b, c = (float(source[where]) for source in sources)
            if (np.signbit(a) ^ np.signbit(b)) != np.signbit(c):
                y[where] = -0.0
    return y


def rounded(true: Fraction, mode: str) -> float:
    """A fraction as float64."""
    try:
        near = float(true)
    except OverflowError:
        near = np.inf if true > 0 else -np.inf
    if mode == "rn" or (np.isfinite(near) and near == true):
        return near
    above = near > 0 if np.isinf(near) else near > true
    down = mode == "rm" or (mode == "rz" and true > 0)
    if above == down:
        return float(np.nextafter(near, -np.inf if down else np.inf))
    return near
