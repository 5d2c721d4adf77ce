"""Counts what Nsight Compute counts, under its names: in all, per line, per array.

Global memory: requests and sectors. Shared memory: wavefronts and bank conflicts, as the assembler
joins the accesses (`fusion`). Besides, under plain names, what can only be said of the PTX: the
same wavefronts without joining, the mix of instructions, branches that part a warp, barriers.
"""

from .mix import Mix
from .names import NAMES, Tally
from .requests import Requests
from .wavefronts import Wavefronts

__all__ = ["NAMES", "Counters", "Tally"]


class Counters:
    """The observer: it hands each event to the part that counts it."""

    def __init__(self, parts=None):
        self.parts = parts or (Requests(), Wavefronts(), Mix())
        self.requests, self.wavefronts, self.mix = self.parts
        self.on_chunk, self.on_run = self.mix.chunk, self.mix.run
        self.on_branch = self.mix.branch

    def fork(self) -> "Counters":
        """A fresh one for a chunk; `join` adds what it counted."""
        return Counters(tuple(part.fork() for part in self.parts))

    def join(self, other: "Counters") -> None:
        for own, part in zip(self.parts, other.parts, strict=True):
            own.join(part)

    def on_access(self, m, access) -> None:
        if access.home is None:  # no lane is left that may touch what it points at
            return
        if access.space == "shared":
            self.wavefronts.count(m, access)
        elif access.space == "global":
            self.requests.count(m, access)
            if m.launch.program.instructions[access.pc].opcode == "cp":
                self.wavefronts.lands(m, access)

    def report(self, program) -> Tally:
        """Everything that was counted, by line and by name."""
        tally = Tally()
        for part in self.parts:
            part.report(program, tally)
        return tally
