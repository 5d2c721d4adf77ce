"""Addresses in even steps: from thread to thread, and from block to block.

Most kernels address global memory so. Where that is found out, four numbers say for all lanes what
is touched, whether it is allowed and how it falls into sectors, and a view of the array takes the
place of one index a lane.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Span", "span_of"]

BYTES = np.dtype(np.uint8)
FARTHEST = (1 << 63) - 1  # between two numbers, as int64 holds it
SLICE = 1 << 14  # lanes that are looked at together


class Span(NamedTuple):
    """`rows` × `columns` numbers: `start`, `down` more from row to row, `across` from column to
    column (0 where there is one only)."""

    start: int
    down: int
    across: int
    rows: int
    columns: int

    @property
    def low(self) -> int:
        """The smallest of the numbers."""
        before = min(self.down, 0) * (self.rows - 1) + min(self.across, 0) * (self.columns - 1)
        return self.start + before

    @property
    def high(self) -> int:
        """The largest of the numbers."""
        behind = max(self.down, 0) * (self.rows - 1) + max(self.across, 0) * (self.columns - 1)
        return self.start + behind

    def multiple(self, of: int) -> bool:
        """Are all of them multiples of a power of two?"""
        return not (self.start | self.down | self.across) & (of - 1)

    def moved(self, by: int) -> "Span":
        return Span(self.start + by, self.down, self.across, self.rows, self.columns)

    def apart(self, width: int) -> bool:
        """Do stretches of `width` bytes that begin there lie apart for certain?"""
        (short, few), (long, many) = sorted(
            ((abs(self.across), self.columns), (abs(self.down), self.rows))
        )
        if few == 1:
            return many == 1 or long >= width
        return short >= width and (many == 1 or long >= short * few)

    def view(self, memory: np.ndarray, dtype=BYTES) -> np.ndarray:
        """The elements at these places of `memory`, an array of bytes."""
        shape, steps = (self.rows, self.columns), (self.down, self.across)
        return np.ndarray(shape, dtype, memory, self.start, steps)


def span_of(values: np.ndarray) -> Span | None:
    """An array (rows, columns) of integers as a Span; None when it is none."""
    rows, columns = values.shape
    start = values.item(0)
    across = values.item(1) - start if columns > 1 else 0
    down = values.item(columns) - start if rows > 1 else 0
    if max(abs(down), abs(across)) > FARTHEST:
        return None
    if values.item(-1) != start + down * (rows - 1) + across * (columns - 1):
        return None
    span = Span(start, down, across, rows, columns)
    if rows > 1:  # each row begins and ends where it should
        ends = values[:, :: max(columns - 1, 1)]
        if np.count_nonzero(ends - ends[0] != np.arange(rows)[:, None] * down):
            return None
    line = values.reshape(-1)
    jumps = rows - 1 if down - across * (columns - 1) != across else 0  # from row to row
    for i in range(0, line.size - 1, SLICE):
        part = line[i : i + SLICE + 1]
        jumps -= np.count_nonzero(part[1:] - part[:-1] != across)
        if jumps < 0:
            return None
    return span
