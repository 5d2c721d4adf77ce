"""Counts the instructions that the PTX executes, and the branches that part a warp.

The hardware runs other instructions than the PTX has: these figures go under plain names, never
under those of Nsight Compute.
"""

from collections import Counter

import numpy as np

from .coalescing import by_warp
from .names import LAUNCHED, Tally
from .requests import add

__all__ = ["Mix"]

MEETINGS = {"bar": "barriers", "barrier": "barriers", "shfl": "shuffles", "vote": "votes"}


class Mix:
    """Executions of each instruction, in warps and lanes."""

    def __init__(self):
        self.runs: dict = {}  # (first, last) → [warps, lanes] that executed them, one by one
        self.parted = Counter()  # pc → warps that a branch divided
        self.blocks = self.warps = 0
        self._mask, self._busy = self, (0, 0)  # the last mask (at first none: no mask is a Mix)

    def fork(self) -> "Mix":
        return Mix()

    def join(self, part: "Mix") -> None:
        for ends, values in part.runs.items():
            add(self.runs, ends, values)
        self.parted += part.parted
        self.blocks += part.blocks
        self.warps += part.warps

    def chunk(self, m) -> None:
        self.blocks += m.shape[0]
        self.warps += m.shape[0] * m.shape[1] // 32

    def run(self, m, first: int, last: int) -> None:
        mask = m.mask
        if mask is not self._mask:  # loops keep their mask
            self._mask, self._busy = mask, busy(m, mask)
        add(self.runs, (first, last), self._busy)

    def branch(self, m, taken, rest) -> None:
        both = with_lanes(m, taken) & with_lanes(m, rest)
        self.parted[m.pc] += int(both.sum()) * (m.shape[0] // both.shape[0])

    def executed(self) -> dict:
        """pc → [warps, lanes]."""
        found: dict = {}
        for (first, last), values in self.runs.items():
            for pc in range(first, last + 1):
                add(found, pc, values)
        return found

    def report(self, program, tally: Tally) -> None:
        for name, value in (("blocks", self.blocks), ("warps", self.warps)):
            tally.counters[LAUNCHED[name]] += value
        kinds: dict = {}  # (line, class) → warps, lanes
        for pc, (warps, lanes) in self.executed().items():
            ins, row = program.instructions[pc], program.rows[pc]
            add(kinds, (ins.line, row.counts), (warps, lanes))
            if ins.opcode in MEETINGS and "warp" not in ins.suffixes:
                tally.add_ptx(ins.line, MEETINGS[ins.opcode], warps)
            if ins.opcode == "bra" and ins.guard is not None:
                tally.add_ptx(ins.line, "branches", warps)
        for (line, kind), (warps, lanes) in kinds.items():
            tally.add_ptx(line, "instructions", warps)
            tally.add_ptx(line, "thread instructions", lanes)
            tally.add_ptx(line, f"{kind} instructions", warps)
        for pc, warps in self.parted.items():
            tally.add_ptx(program.instructions[pc].line, "divergent branches", warps)


def with_lanes(m, mask):
    """(rows, warps): which warps have a lane in the mask."""
    warps = m.shape[1] // 32
    return by_warp(mask, warps).any(1).reshape(-1, warps)


def busy(m, mask) -> tuple[int, int]:
    """(warps, lanes) that are active in a chunk."""
    if mask is None:
        return m.shape[0] * m.shape[1] // 32, m.shape[0] * m.shape[1]
    rows = with_lanes(m, mask)
    each = m.shape[0] // rows.shape[0]
    lanes = int(np.count_nonzero(mask)) * (m.shape[1] // mask.shape[1])
    return int(rows.sum()) * each, lanes * each
