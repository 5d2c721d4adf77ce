"""The fundamental types of PTX, and what each is in NumPy."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

__all__ = ["TYPES", "Type", "unsigned"]


@dataclass(frozen=True, slots=True)
class Type:
    """`name` as in PTX, NumPy `dtype`, `size` in bytes of a register holding it; `kind` is f
    (float), s (signed), u (unsigned), b (bits) or p (predicate); `packed` values a register."""

    name: str
    dtype: np.dtype
    size: int
    kind: str
    packed: int = 1

    @property
    def floating(self) -> bool:
        return self.kind == "f"

    @property
    def integer(self) -> bool:
        return self.kind in "sub"

    @property
    def bits(self) -> int:
        return 8 * self.size


def unsigned(size: int) -> np.dtype:
    """The unsigned NumPy type of `size` bytes: how raw bits are held."""
    return np.dtype(f"u{size}")


def _types():
    yield Type("pred", np.dtype(bool), 0, "p")
    for size in (1, 2, 4, 8):
        for letter, code in (("u", "u"), ("s", "i"), ("b", "u")):
            yield Type(f"{letter}{8 * size}", np.dtype(f"{code}{size}"), size, letter)
    for size in (2, 4, 8):
        yield Type(f"f{8 * size}", np.dtype(f"f{size}"), size, "f")
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    yield Type("bf16", bfloat16, 2, "f")
    yield Type("f16x2", np.dtype(np.float16), 4, "f", 2)
    yield Type("bf16x2", bfloat16, 4, "f", 2)


TYPES = {t.name: t for t in _types()}
