"""Finds barriers that not every thread can reach: __syncthreads() under a condition that is not the
same for the whole block.

Whether such a barrier hangs, passes or pairs with another one is luck, so it is not waited for.
`facts.split` knows which branches lie around which barriers; when threads part at one and some then
come to the barrier inside, the others are missing, wherever they are by now. Threads that return
early have gone for good, and are not missed.
"""

import numpy as np

from ..meeting import ranges
from .facts import facts_of

__all__ = ["Barriers"]


class Barriers:
    """The checker of a launch; chunks have nothing to do with each other."""

    def fork(self) -> "Chunk":
        return Chunk()

    def join(self, part: "Chunk") -> None:
        """Nothing: what a chunk finds it says at once."""


class Chunk:
    """The checker of one chunk: `parted` holds, for each branch at which threads have parted, all
    that were there."""

    def on_chunk(self, m) -> None:
        self.split = facts_of(m.launch.program).split
        self.parted: dict = {}

    def on_branch(self, m, taken, rest) -> None:
        if m.pc not in self.split:
            return
        taken, rest = np.broadcast_to(taken, m.shape), np.broadcast_to(rest, m.shape)
        blocks = taken.any(1, keepdims=True) & rest.any(1, keepdims=True)
        before = self.parted.get(m.pc, np.zeros(m.shape, bool))
        self.parted[m.pc] = np.where(blocks, taken | rest, before)

    def on_barrier(self, m) -> None:
        for branch, barriers in self.split.items():
            if m.pc in barriers and branch in self.parted:
                self.look(m, branch)

    def look(self, m, branch: int) -> None:
        """Did all come that were at the branch?"""
        sizes = (32,) if counted(m.launch.program.instructions[m.pc]) else (32, m.shape[1])
        for size in sizes:  # a warp that is torn is worse than a block
            here = np.broadcast_to(m.active(), m.shape).reshape(-1, size)
            there = self.parted[branch].reshape(-1, size)
            missing = there & ~here & here.any(1, keepdims=True)
            if missing.any():
                self.report(m, branch, here, missing)
                break
        together = here.any(1, keepdims=True) & ~missing.any(1, keepdims=True)
        self.parted[branch] = (there & ~together).reshape(m.shape)

    def report(self, m, branch: int, here, missing) -> None:
        """Say who waits for whom, in the first warp or block that lacks somebody."""
        lacks = missing.any(1)
        group, size = int(lacks.argmax()), here.shape[1]
        start = group * size % m.shape[1]
        came, missed = np.zeros((2, m.shape[1]), bool)
        came[start : start + size], missed[start : start + size] = here[group], missing[group]
        m.defect(
            "divergent barrier",
            f"threads {ranges(came)} wait at this barrier for threads {ranges(missed)}, which went "
            f"another way at line {m.launch.program.instructions[branch].line}: every thread of "
            f"the {'warp' if size == 32 else 'block'} must reach it. Move it out of the condition",
            bad_lanes=(here & lacks[:, None]).reshape(m.shape),
        )


def counted(ins) -> bool:
    """Is the barrier for a number of threads, and not for the whole block?"""
    return len(ins.operands) > (3 if "red" in ins.suffixes else 1)
