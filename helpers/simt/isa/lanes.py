"""Picking and mixing lanes: the one place where an active mask meets an array.

Lane arrays have the shape (blocks, threads); an axis along which nothing varies has length 1, and
NumPy's broadcasting does the rest. A mask is such an array of booleans, or None: every lane.
"""

import numpy as np

from .types import unsigned

__all__ = ["Lanes", "blend"]


def blend(mask, new, old):
    """`new` where the mask is set, else `old` (their types must have one size). On bit patterns:
    three cheap passes, where `np.where` would mispredict a branch a lane."""
    if new.dtype.kind == "b":
        return (new & mask) | (old & ~mask)
    raw = unsigned(new.dtype.itemsize)
    old = old.view(raw)
    select = (-mask.view(np.int8)).astype(f"i{raw.itemsize}").view(raw)
    return (old ^ ((old ^ new.view(raw)) & select)).view(new.dtype)


class Lanes:
    """The active lanes of one access: `pick` lists them from an array, `spread` puts values back.

    `shape` is the broadcast shape of what the access reads; along axes where that has length 1,
    a lane stands for all lanes, and is active when any of them is.
    """

    all: "Lanes"  # the selection that leaves nothing out

    def __init__(self, mask, shape):
        self.shape = shape
        self.keep = self.columns = None
        if mask is None:
            return
        for axis in (0, 1):
            if shape[axis] == 1 and mask.shape[axis] > 1:
                mask = mask.any(axis, keepdims=True)
        if mask.all():
            return
        self.shape = np.broadcast_shapes(shape, mask.shape)
        if mask.shape[0] == 1:  # the same threads in every block: whole columns, quicker to pick
            self.columns = np.flatnonzero(mask[0])
        else:
            self.keep = np.broadcast_to(mask, self.shape)

    @property
    def everything(self) -> bool:
        return self.keep is None and self.columns is None

    def pick(self, values):
        if self.everything:
            return values
        values = np.broadcast_to(values, self.shape)
        return values[self.keep] if self.columns is None else values[:, self.columns]

    def spread(self, values):
        if self.everything:
            return values
        whole = np.zeros(self.shape, values.dtype)
        if self.columns is None:
            whole[self.keep] = values
        else:
            whole[:, self.columns] = values
        return whole


Lanes.all = Lanes(None, None)
