"""What one block of a version asks of its SM, counted by the simulator on a few rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .. import launch, versions
from ..simt.observers.names import GLOBAL, LAUNCHED, SECTORS, SHARED
from ..simt.profile import Profile
from ..specs import Spec
from ..versions import Version

__all__ = ["Work", "busy_warps", "counted", "resident"]

PERIOD, PERIOD_SERIAL = 4096, 64  # columns after which every loop of a kernel has repeated
SECTORS_A_LINE = 4
LANES = 32  # threads of a warp


@dataclass(frozen=True)
class Work:
    """What one block asks for, by the simulator's counters; sectors are of 32 bytes.

    A warp's own: first, again: load requests for data not seen before, and seen before; barriers,
    shuffles; shared: loads from shared memory. The block's: instructions; touched: sectors that its
    loads ask L1 for; fetched: those that L1 must ask for when it keeps nothing between passes;
    read, written: distinct ones; stored: sectors that stores send; lines: what L1 looks up.
    """

    first: float
    again: float
    barriers: float
    shuffles: float
    shared: float
    instructions: float
    touched: float
    fetched: float
    read: float
    written: float
    stored: float
    lines: float


def counted(version: Version | str, rows: int, cols: int) -> Work:
    """The work of one block at rows × cols; a few rows of at most 8192 columns are simulated.

    Beyond them every loop only repeats: what a further period of columns adds is counted once.
    """
    version = versions.get(version) if isinstance(version, str) else version
    if version.grid(1, 2 * PERIOD) != version.grid(1, PERIOD):
        cols = PERIOD  # longer rows are more blocks, not more work for each: a full one
    period = PERIOD_SERIAL if version.work == "thread a row" else PERIOD
    if cols <= 2 * period:
        return _simulated(version, version.source_hash, rows, cols)
    base = period + cols % period
    a, b = (_simulated(version, version.source_hash, rows, n) for n in (base, base + period))
    times = (cols - base) // period
    return Work(**{k: v + times * (getattr(b, k) - v) for k, v in vars(a).items()})


@lru_cache(maxsize=256)
def _simulated(version: Version, source: str, rows: int, cols: int) -> Work:
    """The mean work of a block; the hash of the source is there to count an edited kernel anew."""
    few = 1
    while version.grid(2 * few, cols) == version.grid(few, cols):
        few *= 2  # until one block is full
    if cols % 4:
        few = max(few, 4)  # rows begin at four places within 16 bytes
    few = min(few, rows)
    seen = launch.profile(version, few, cols)
    blocks, warps = seen.counters[LAUNCHED["blocks"]], seen.counters[LAUNCHED["warps"]]
    warps = min(warps, blocks * busy_warps(version, few))
    count, ptx = seen.counters, seen.ptx
    read, written = seen.unique["read"], seen.unique["written"]
    touched, ideal = count[GLOBAL["sectors", "ld"]], count[f"{SECTORS}_ideal"]
    scattered = count[SECTORS] > 2 * ideal  # lanes far apart: each sector is in a line of its own
    first = _first(seen, read)
    return Work(
        first=first / warps,
        again=(count[GLOBAL["requests", "ld"]] - first) / warps,
        barriers=ptx.get("barriers", 0) / warps,
        shuffles=ptx.get("shuffles", 0) / warps,
        shared=count[SHARED["wavefronts", "ld"]] / warps,
        instructions=ptx["instructions"] / blocks,
        touched=touched / blocks,
        fetched=max(read, ideal - written if scattered else touched) / blocks,
        read=read / blocks,
        written=written / blocks,
        stored=count[GLOBAL["sectors", "st"]] / blocks,
        lines=count[SECTORS] / blocks / (1 if scattered else SECTORS_A_LINE),
    )


def busy_warps(version: Version, rows: int) -> int:
    """Warps of a block that have a row: with a thread a row and few rows, the others leave."""
    rows = min(rows, version.block) if version.work == "thread a row" else version.block
    return -(-rows // LANES)


def resident(version: Version, cols: int, spec: Spec) -> int:
    """Blocks that an SM holds at a time, by its threads and its shared memory (registers aside)."""
    static = versions.static_shared(version.source, version.entry)
    return min(spec.room(version.block, static + version.shared(cols)).values())


def _first(seen: Profile, distinct: int) -> float:
    """Load requests for data that no earlier line of the source has loaded: lines are taken in
    order until all distinct sectors are there."""
    found, left = 0.0, distinct
    for line in sorted(seen.lines):
        counts = seen.lines[line]
        sectors = counts[GLOBAL["sectors", "ld"]]
        if sectors and left > 0:
            found += counts[GLOBAL["requests", "ld"]] * min(1, left / sectors)
            left -= sectors
    return found
