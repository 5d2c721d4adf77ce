"""Observers see a launch's events and keep what they are for; the machine knows none of them.

An observer has any of these methods; `m` is the chunk, its `pc`, `mask` and `shape` say who acts:

    on_chunk(m)                    a group of blocks starts
    on_instruction(m)              before an instruction
    on_access(m, access)           a load or store (helpers.simt.memory.Access)
    on_branch(m, taken, rest)      a branch that parts lanes
    on_barrier(m)                  lanes arrive at a barrier
    on_shuffle(m, mode, mask, j)   lanes read lanes j
"""

from .counters import Counters

__all__ = ["Counters"]
