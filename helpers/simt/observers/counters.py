"""Counts memory requests and sectors as Nsight Compute does.

A request is a warp's execution of a load or store with at least one active lane. A sector is 32
bytes of memory at a multiple of 32; a request touches the distinct sectors of its active lanes.
"""

import numpy as np

__all__ = ["Counters", "sectors_of"]

SECTOR = 5  # log2 of its bytes
NAMES = {
    (metric, store): f"l1tex__t_{metric}_pipe_lsu_mem_global_op_{'st' if store else 'ld'}.sum"
    for metric in ("requests", "sectors")
    for store in (False, True)
}


def sectors_of(address, mask, width: int, warps: int) -> tuple[int, int]:
    """(requests, sectors) of one access. `address` is (rows, threads) with 1 where alike; the
    counts are those of `rows` blocks of the broadcast shape of address and mask."""
    if address.shape[1] == 1 and (mask is None or mask.shape[1] == 1):
        rows = (
            address.shape[0]
            if mask is None
            else int(np.broadcast_to(mask, (max(address.shape[0], mask.shape[0]), 1)).sum())
        )
        each = 1 if width <= 32 and not (address & (width - 1)).any() else None
        if each:
            return rows * warps, rows * warps
    if mask is None:
        return count_full(by_lanes(address, warps), width)
    return count_masked(address, mask, width, warps)


def by_lanes(values, warps: int):
    """(rows, threads) → (rows · warps, 32)."""
    if values.shape[1] == 1:
        values = np.broadcast_to(values, (values.shape[0], 32 * warps))
    return values.reshape(-1, 32)


def count_full(address, width: int) -> tuple[int, int]:
    """All lanes active. Ascending addresses, the usual case, need no sorting: a lane opens a new
    sector when its number differs from its left neighbour's."""
    sector = address >> SECTOR
    step = sector[:, 1:] - sector[:, :-1]
    if width <= 32 and (step >= 0).all():
        return len(sector), len(sector) + int(np.count_nonzero(step))
    return len(sector), distinct(sector, None)


def distinct(sector, active) -> int:
    """Distinct values of each row among the active places, summed."""
    if active is not None:
        sector = np.where(active, sector, -1)
    ordered = np.sort(sector, axis=1)
    new = ordered[:, 1:] != ordered[:, :-1]
    count = int(np.count_nonzero(new)) + len(ordered)
    return count if active is None else count - int(np.count_nonzero(ordered[:, 0] == -1))


def count_masked(address, mask, width: int, warps: int) -> tuple[int, int]:
    """Some lanes idle: leave out the warps that are all idle, then count as above."""
    rows = max(address.shape[0], mask.shape[0])
    active = by_lanes(mask, warps)
    if mask.shape[0] < address.shape[0]:  # the same threads of every block
        awake = np.flatnonzero(active.any(1))
        lanes = by_warp_rows(address, warps)[:, awake].reshape(-1, 32)
        active = np.broadcast_to(active[awake], (rows, len(awake), 32)).reshape(-1, 32)
    else:
        awake = active.any(1)
        active = active[awake]
        lanes = np.broadcast_to(address, (rows, 32 * warps)).reshape(-1, 32)[awake]
    return len(active), distinct(lanes >> SECTOR, active) if len(active) else 0


def by_warp_rows(values, warps: int):
    return np.broadcast_to(values, (values.shape[0], 32 * warps)).reshape(-1, warps, 32)


class Counters:
    """Global-memory requests and sectors: totals under Nsight Compute's names, and per line."""

    def __init__(self):
        self.totals = dict.fromkeys(NAMES.values(), 0)
        self.lines: dict[int, dict[str, int]] = {}

    def fork(self) -> "Counters":
        """A fresh one for a chunk; `join` adds what it counted."""
        return Counters()

    def join(self, part: "Counters") -> None:
        for name, value in part.totals.items():
            self.totals[name] += value
        for line, counts in part.lines.items():
            own = self.lines.setdefault(line, dict.fromkeys(NAMES.values(), 0))
            for name, value in counts.items():
                own[name] += value

    def on_access(self, m, access) -> None:
        if access.space != "global":
            return
        blocks, threads = m.shape
        rows = access.address.shape[0]
        if access.mask is not None:
            rows = max(rows, access.mask.shape[0])
        requests, sectors = sectors_of(access.address, access.mask, access.width, threads // 32)
        alike = blocks // rows  # blocks that do exactly the same are counted once
        line = m.launch.program.instructions[access.pc].line
        counts = self.lines.setdefault(line, dict.fromkeys(NAMES.values(), 0))
        for metric, value in (("requests", requests), ("sectors", sectors)):
            name = NAMES[metric, access.store]
            self.totals[name] += value * alike
            counts[name] += value * alike
