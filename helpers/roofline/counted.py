"""What a launch does, counted by the simulator: floating-point operations and sectors asked for.

A launch at full size would take the simulator minutes, and its loops do the same work every turn.
So two short launches are run, one turn of every loop apart, and the rest is a straight line through
them; blocks and warps repeat in the same way. A test compares it with launches run in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import launch, simt, versions
from ..versions import Version

__all__ = ["FLOP", "FLOPS_OF", "Counted", "count"]

# What each instruction of the PTX on floating-point numbers counts.
FLOPS_OF = {"add": 1, "sub": 1, "mul": 1, "max": 1, "min": 1, "div": 1, "ex2": 1, "rcp": 1,
            "fma": 2}
FLOP = "FLOPs, by the simulator: add, mul, max, division, exp2 count one, fma two, expf's own too"
_LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
_STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
_SECTOR = 32  # bytes
_FLOATS = frozenset("f16 f32 f64 bf16 f16x2 bf16x2".split())
# Rows and columns after which a launch repeats itself: a warp's rows, or eight rows, after which
# sectors are cut as before; and a turn of every thread's loop of float4 loads.
_REPEATS = {"thread a row": (32, 32), "block a row": (8, 4 * 1024), "thread a float4": (8, 4096)}


@dataclass(frozen=True)
class Counted:
    """One launch: executions of each floating-point instruction by a lane, bytes asked for."""

    version: str
    rows: int
    cols: int
    instructions: Mapping[str, int]
    read: int
    written: int

    @property
    def flops(self) -> int:
        """Floating-point operations, as FLOPS_OF counts them."""
        return sum(FLOPS_OF[name] * count for name, count in self.instructions.items())


def count(version: Version | str, rows: int, cols: int) -> Counted:
    """Count a launch of `version` on rows × cols. Exact where rows are a multiple of 32.

    Raises LaunchError for a size that the simulated device cannot take.
    """
    version = version if isinstance(version, Version) else versions.get(version)
    few, turn = _REPEATS[version.work]
    few = min(few, rows)
    if cols <= 2 * turn:
        total = _sample(version, version.source_hash, few, cols)
    else:
        short = turn + cols % turn
        one, two = (_sample(version, version.source_hash, few, short + k * turn) for k in (0, 1))
        turns = (cols - short) // turn
        total = {name: one[name] + (two[name] - one[name]) * turns for name in two}
    total = {name: round(value * rows / few) for name, value in total.items()}
    read, written = (_SECTOR * total.pop(name) for name in (_LOADS, _STORES))
    return Counted(version.name, rows, cols, total, read, written)


@lru_cache(maxsize=256)
def _sample(version: Version, source_hash: str, rows: int, cols: int) -> dict[str, int]:
    """Counts of one short launch; source_hash so that an edited file is counted anew."""
    seen = _Operations()
    with simt.limits(observers=(seen,)):
        profile = launch.profile(version, rows, cols)
    totals = dict.fromkeys(FLOPS_OF, 0) | seen.total
    return totals | {name: profile.counters[name] for name in (_LOADS, _STORES)}


class _Operations:
    """An observer of lanes that execute each floating-point instruction."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()

    def on_instruction(self, m) -> None:
        ins = m.launch.program.instructions[m.pc]
        kind = next((s for s in ins.suffixes if s in _FLOATS), None)
        if kind is None or ins.opcode not in FLOPS_OF:
            return
        lanes = m.shape[0] * m.shape[1]
        if m.mask is not None:
            lanes = int(np.count_nonzero(m.mask)) * (lanes // m.mask.size)
        self.total[ins.opcode] += lanes * (2 if kind.endswith("x2") else 1)
