"""Floating-point arithmetic that rounds once, in every mode the compiler emits.

NumPy rounds to nearest, and has no fused multiply-add. The other results are made from the float64
sum and its exact error (Knuth's two-sum), which say on which side of the true value a rounded one
lies. That costs; so `fma` takes the plain float64 path and repairs the few lanes where rounding
twice (to float64, then to the type) can differ from rounding once.
"""

import ml_dtypes
import numpy as np

__all__ = ["divide", "flush", "fma", "narrow", "plus", "saturate", "square_root", "times"]

F64 = np.dtype(np.float64)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# Fraction bits a float64 has beyond the type: all of them decide the rounding.
SPARE = {np.dtype(np.float32): 29, np.dtype(np.float16): 42, BFLOAT16: 45}
TINY = {
    np.dtype(np.float64): 2.0**-1022,
    np.dtype(np.float32): 2.0**-126,
    np.dtype(np.float16): 2.0**-14,
    BFLOAT16: 2.0**-126,
}


def flush(x):
    """Subnormals become zeros of the same sign: the `.ftz` modifier."""
    small = np.abs(x) < np.asarray(TINY[x.dtype], x.dtype)
    return np.where(small, np.copysign(x.dtype.type(0), x), x) if small.any() else x


def saturate(x):
    """Clamp to [0, 1]; NaN becomes 0: the `.sat` modifier."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    return np.fmin(np.fmax(x, zero), one)


def neighbour(x, up: bool):
    """The next value of the same type above (or below) x, by counting in the bit pattern."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = x.view(signed)
    step = np.where((bits < 0) == up, -1, 1).astype(signed)
    result = (bits + step).view(x.dtype)
    smallest = np.asarray(1, signed).view(x.dtype)
    result = np.where(x == 0, smallest if up else -smallest, result)
    return np.where(np.isnan(x) | (x == (np.inf if up else -np.inf)), x, result)


def narrow(s, dtype, mode: str = "rn", error=None):
    """Round float64 `s` to `dtype`; `error` is what the true value has beyond `s`, None if exact.

    Modes: rn to nearest even, rz towards zero, rm down, rp up.
    """
    if dtype == F64 and mode == "rn":
        return s
    if error is not None and dtype != F64:
        s = odd(s, error)
        error = None
    with np.errstate(all="ignore"):
        if dtype == BFLOAT16 and s.dtype == F64:
            y = to_bfloat16(s)
        else:
            y = s.astype(dtype)
    return y if mode == "rn" else directed(y, s, error, mode)


def to_bfloat16(s):
    """float64 → bfloat16 in one rounding: go through a float32 rounded to odd, which cannot tie."""
    single = s.astype(np.float32)
    back = single.astype(F64)
    inexact = (back != s) & np.isfinite(s) & np.isfinite(single)
    bits = single.view(np.int32)
    towards_zero = bits - (np.abs(back) > np.abs(s))
    bits = np.where(inexact, towards_zero | 1, bits).astype(np.int32)
    return bits.view(np.float32).astype(BFLOAT16)


def odd(s, error):
    """Round-to-odd: make the last bit of an inexact `s` sticky, so that a second rounding cannot
    mistake it for a tie. `error` is the part of the true value that `s` lost."""
    lost = (error != 0) & np.isfinite(s) & np.isfinite(error)
    if not lost.any():
        return s
    bits = s.view(np.int64)
    away = (error < 0) == (s > 0)  # s was rounded away from zero: step back before making it odd
    # s == 0 with an error cannot happen: two-sum's zero is exact
    return np.where(lost, (bits - away) | 1, bits).view(F64)


def directed(y, s, error, mode: str):
    """Correct a rounded-to-nearest y to rz, rm or rp; the true value is s (+ error)."""
    wide = y.astype(F64)
    above = (wide > s) if error is None else (wide > s) | ((wide == s) & (error < 0))
    below = (wide < s) if error is None else (wide < s) | ((wide == s) & (error > 0))
    if mode == "rm":
        wrong, up = above, False
    elif mode == "rp":
        wrong, up = below, True
    else:
        negative = s < 0
        wrong = np.where(negative, below, above)
        result = np.where(negative, neighbour(y, True), neighbour(y, False))
        return np.where(wrong, result, y) if wrong.any() else y
    return np.where(wrong, neighbour(y, up), y) if wrong.any() else y


def two_sum(a, b, s):
    """The exact error of s = a + b in float64."""
    t = s - a
    return (a - (s - t)) + (b - t)


def plus(a, b, mode: str = "rn"):
    """a + b in the type of a, rounded as `mode` says."""
    dtype = a.dtype
    if mode == "rn":
        return a + b
    a, b = a.astype(F64), b.astype(F64)
    s = a + b
    return narrow(s, dtype, mode, two_sum(a, b, s))


def times(a, b, mode: str = "rn"):
    """a · b in the type of a. Products of types narrower than float64 are exact in float64."""
    dtype = a.dtype
    if mode == "rn":
        return a * b
    if dtype == F64:
        p, error = product(a, b)
        return narrow(p, dtype, mode, error)
    return narrow(a.astype(F64) * b.astype(F64), dtype, mode)


def product(a, b):
    """float64 a · b and its exact error, by Dekker's splitting (operands of moderate size)."""
    def halves(x):
        c = 134217729.0 * x  # 2^27 + 1
        high = c - (c - x)
        return high, x - high

    p = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def fma(a, b, c, mode: str = "rn"):
    """a · b + c with one rounding, in the type of a."""
    dtype = a.dtype
    if dtype == F64:
        return fma64(a, b, c, mode)
    p = np.multiply(a, b, dtype=F64) if dtype != BFLOAT16 else a.astype(F64) * b.astype(F64)
    c = c.astype(F64)
    s = p + c
    if mode != "rn":
        return narrow(s, dtype, mode, two_sum(p, c, s))
    y = narrow(s, dtype)
    doubtful = halfway(s, dtype) | (np.abs(y) < dtype.type(2 * TINY[dtype]))
    if doubtful.any():
        p, c, s = (v[doubtful] for v in np.broadcast_arrays(p, c, s))
        y[doubtful] = narrow(s, dtype, "rn", two_sum(p, c, s))
    return y


def halfway(s, dtype):
    """Lanes whose float64 lies exactly between two values of the type: where an error that s has
    already dropped would decide the rounding."""
    spare = SPARE[dtype]
    return (s.view(np.int64) & ((1 << spare) - 1)) == (1 << (spare - 1))


def fma64(a, b, c, mode: str):
    """float64 fma: exact through Python integers, lane by lane, where the fast form may err."""
    a, b, c = np.broadcast_arrays(a, b, c)
    p, low = product(a, b)
    s = p + c
    error = two_sum(p, c, s)
    y = np.where(np.isfinite(s), s + (error + low), s)
    exact = (error == 0) & (low == 0) if mode == "rn" else np.zeros(s.shape, bool)
    doubt = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & ~exact
    for where in np.argwhere(doubt):
        i = tuple(where)
        y[i] = fma_exact(float(a[i]), float(b[i]), float(c[i]), mode)
    return y


def fma_exact(a: float, b: float, c: float, mode: str) -> float:
    from fractions import Fraction

    true = Fraction(a) * Fraction(b) + Fraction(c)
    if true == 0:
        return a * b + c
    try:
        near = float(true)
    except OverflowError:
        near = np.inf if true > 0 else -np.inf
    if mode == "rn" or near == true:
        return near
    above = near > true if np.isfinite(near) else near > 0
    down = mode == "rm" or (mode == "rz" and true > 0)
    if above == down:
        return float(np.nextafter(near, -np.inf if down else np.inf))
    return near


def divide(a, b, mode: str = "rn"):
    """a / b. Float32 and narrower quotients in float64 never tie falsely (53 ≥ 2·24 + 2 bits)."""
    dtype = a.dtype
    with np.errstate(all="ignore"):
        if mode == "rn":
            return a / b
        wide_a, wide_b = a.astype(F64), b.astype(F64)
        q = wide_a / wide_b
        rest = -fma64(q, wide_b, -wide_a, "rn") * np.sign(wide_b)
        return narrow(q, dtype, mode, rest)


def square_root(a, mode: str = "rn"):
    """√a in the type of a."""
    dtype = a.dtype
    with np.errstate(all="ignore"):
        if mode == "rn":
            return np.sqrt(a)
        wide = a.astype(F64)
        root = np.sqrt(wide)
        return narrow(root, dtype, mode, -fma64(root, root, -wide, "rn"))
