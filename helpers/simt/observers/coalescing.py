"""How a global access falls into requests and sectors.

A request is a warp's execution of a load or store with at least one active lane. A sector is 32
bytes of memory at a multiple of 32; a request touches the distinct sectors of its active lanes.
The usual patterns, neighbours and one address for all, are recognised before anything is sorted.
"""

from dataclasses import dataclass

import numpy as np

from ..spans import Span

__all__ = ["SECTOR", "Touch", "touch", "touch_evenly"]

SECTOR = 5  # log2 of its bytes
NONE = np.zeros(0, np.int64)


@dataclass(slots=True)
class Touch:
    """What the warps of one access touch: `ideal` is the fewest sectors that their active lanes'
    bytes would fit in, `touched` the numbers of the sectors (some of them may occur twice)."""

    requests: int
    sectors: int
    ideal: int
    touched: np.ndarray | Span


def touch(address, mask, width: int, warps: int) -> Touch:
    """Count one access. `address` is int64 (rows, threads), 1 where alike, as is the boolean `mask`
    (None: all lanes); `width` is the bytes of a lane, aligned to it, `warps` those of a block. The
    counts are those of as many blocks as address and mask have rows."""
    if address.shape[1] == 1 and mask is None:
        return one_address(address, warps)
    if mask is None:
        return full(by_warp(address, warps), width)
    rows = max(address.shape[0], mask.shape[0])
    active = by_warp(mask, warps)
    awake = active.any(1)
    if not awake.any():
        return Touch(0, 0, 0, NONE)
    if mask.shape[0] < rows:  # the same threads of every block
        lanes = in_blocks(address, warps)[:, awake].reshape(-1, 32)
        active = active[awake]
        if active.all():
            return full(lanes, width)
        active = np.broadcast_to(active, (rows, *active.shape)).reshape(-1, 32)
    else:
        lanes = by_warp(np.broadcast_to(address, (rows, address.shape[1])), warps)[awake]
        active = active[awake]
        if active.all():
            return full(lanes, width)
    return partial(lanes, active, width)


def touch_evenly(span: Span, width: int, warps: int) -> Touch | None:
    """`touch` of all lanes at addresses in even steps; None for steps that part sectors."""
    part = (1 << SECTOR) - 1
    if (span.down | span.across if span.across != width else span.down) & part:
        return None
    requests, start, down = span.rows * warps, span.start >> SECTOR, span.down >> SECTOR
    if not span.across:  # one for all lanes of a block
        return Touch(requests, requests, requests, Span(start, down, 0, span.rows, 1))
    if abs(span.across) > part:  # a sector for every lane
        touched = Span(start, down, span.across >> SECTOR, span.rows, span.columns)
        return Touch(requests, 32 * requests, width * requests, touched)
    more = bool(span.start & part)  # neighbours, whose first may lie in the midst of a sector
    touched = Span(start, down, 1, span.rows, warps * width + more)
    return Touch(requests, (width + more) * requests, width * requests, touched)


def in_blocks(values, warps: int):
    """(rows, threads) → (rows, warps, 32)."""
    return np.broadcast_to(values, (values.shape[0], 32 * warps)).reshape(-1, warps, 32)


def by_warp(values, warps: int):
    """(rows, threads) → (rows · warps, 32)."""
    return in_blocks(values, warps).reshape(-1, 32)


def one_address(address, warps: int) -> Touch:
    """Every lane of a block at the same place: a sector a warp, which is the ideal, too."""
    count = address.shape[0] * warps
    return Touch(count, count, count, address[:, 0] >> SECTOR)


def full(lanes, width: int) -> Touch:
    """All 32 lanes of every row active."""
    step = lanes[:, 1:] - lanes[:, :-1]
    if (step == width).all():
        return neighbours(lanes[:, 0], width)
    sector = lanes >> SECTOR
    if (step >= 0).all():
        new = sector[:, 1:] != sector[:, :-1]
    else:
        sector = np.sort(sector, axis=1)
        new = sector[:, 1:] != sector[:, :-1]
    each = new.sum(1, dtype=np.uint8) + np.uint8(1)
    ideal = np.minimum(each, width)
    return Touch(len(lanes), int(each.sum()), int(ideal.sum()), sector.reshape(-1))


def neighbours(first, width: int) -> Touch:
    """Lane k at first + k · width: a stretch of bytes a warp."""
    begin, count = first >> SECTOR, len(first)
    if not int(np.bitwise_or.reduce(first)) & ((1 << SECTOR) - 1):  # the usual, aligned, case
        touched = begin[:, None] + np.arange(width)
        return Touch(count, count * width, count * width, touched.reshape(-1))
    each = (first + (32 * width - 1) >> SECTOR) - begin + 1
    most = int(each.max())
    touched = begin[:, None] + np.arange(most)
    if int(each.min()) < most:
        touched = np.minimum(touched, (begin + each - 1)[:, None])
    ideal = np.minimum(each, width)
    return Touch(count, int(each.sum()), int(ideal.sum()), touched.reshape(-1))


def partial(lanes, active, width: int) -> Touch:
    """Some lanes of each row idle, none of the rows all idle: an idle lane copies an active one."""
    busy = lanes[np.arange(len(lanes)), active.argmax(1)]
    sector = np.sort(np.where(active, lanes, busy[:, None]) >> SECTOR, axis=1)
    each = (sector[:, 1:] != sector[:, :-1]).sum(1) + 1
    fewest = -(-active.sum(1) * width >> SECTOR)
    ideal = np.minimum(each, fewest)
    return Touch(len(lanes), int(each.sum()), int(ideal.sum()), sector.reshape(-1))
