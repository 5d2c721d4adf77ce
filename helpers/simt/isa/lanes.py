"""Picking and mixing lanes: the one place where an active mask meets an array.

Lane arrays have the shape (blocks, threads); an axis along which nothing varies has length 1, and
NumPy's broadcasting does the rest. A mask is such an array of booleans, or None: every lane.
"""

import numpy as np

from .types import unsigned

__all__ = ["Lanes", "blend", "in_slices", "joined", "selected"]

SLICE = 1 << 16  # lanes: smaller slices cost calls and turns at the interpreter's lock


def blend(mask, new, old):
    """`new` where the mask is set, else `old` (their types must have one size). On bit patterns:
    three cheap passes, where `np.where` would mispredict a branch a lane."""
    if mask.size == 1:
        return new if mask.item() else old.view(new.dtype)
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
        if np.count_nonzero(mask) == mask.size:
            return
        self.shape = joined(shape, mask.shape)
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
        if self.columns is not None and self.columns.size == 1 and values.shape == (1, 1):
            return values if self.shape[0] == 1 else values.repeat(self.shape[0], 0)
        if values.shape != self.shape:
            values = np.broadcast_to(values, self.shape)
        return values[self.keep] if self.columns is None else values.take(self.columns, 1)

    def spread(self, values, idle=0):
        """What `pick` picked, back in place; `idle` in the lanes that it left out."""
        if self.everything:
            return values
        whole = np.full(self.shape, idle, values.dtype)
        if self.columns is None:
            whole[self.keep] = values
        else:
            whole[:, self.columns] = values
        return whole

    def result(self, values):
        """`spread` for a register: idle lanes keep their own value anyway, so they get one that
        costs nothing. A zero would, where functions take care of zeros and subnormals."""
        if self.everything or self.columns is not None and self.columns.size == 1:
            return values
        return self.spread(values, values.flat[0])


Lanes.all = Lanes(None, None)


def joined(*shapes):
    """The shape that lane arrays of these shapes have together."""
    return max(s[0] for s in shapes), max(s[1] for s in shapes)


def selected(m, shape) -> Lanes:
    """The Lanes of the machine's mask for arrays of this shape, kept while the mask stays."""
    mask, known = m.selections
    if mask is not m.mask:
        known = {}
        m.selections = m.mask, known
    if shape not in known:
        known[shape] = Lanes(m.mask, shape)
    return known[shape]


def in_slices(function, *sources):
    """function(*sources), a few blocks at a time where they are many: asking the system for large
    pieces of memory, for what it needs in between, can cost more than filling them."""
    if max(s.size for s in sources) <= SLICE:
        return function(*sources)
    rows, threads = joined(*(s.shape for s in sources))
    few, y = max(SLICE // threads, 1), None
    for i in range(0, rows, few):
        part = function(*(s if s.shape[0] == 1 else s[i : i + few] for s in sources))
        if y is None:
            y = np.empty((rows, part.shape[1]), part.dtype)
        y[i : i + few] = part
    return y
