"""Observers see a launch's events and keep what they are for; the machine knows none of them.

An observer has any of these methods; `m` is the chunk, its `pc`, `mask` and `shape` say who acts:

    on_chunk(m)                    a group of blocks starts
    on_instruction(m)              before an instruction
    on_run(m, first, last)         after instructions first to last in a row, all by these lanes
    on_access(m, access)           a load or store (helpers.simt.memory.Access), before it happens
    on_branch(m, taken, rest)      a branch that parts lanes
    on_barrier(m)                  lanes arrive at a barrier of the block
    on_sync(m, lanes)              blocks pass a barrier: their lanes (None: all of the chunk)
    on_warp_sync(m, lanes, members)   warps pass __syncwarp(members)
    on_fence(m, wide)              lanes pass a memory fence, wider than their block or not
    on_shuffle(m, mode, mask, j)   lanes read lanes j
    on_async_commit(m)             lanes close a group of cp.async
    on_async_wait(m, but)          their copies have landed, but for the last so many groups (None:
                                   all have)
    on_mbarrier(m, lanes)          lanes see that a phase of an mbarrier is over

With `fork()` and `join(part)` an observer lets chunks run side by side: each chunk gets a fork of
its own, and the parts are joined in the order of the blocks. Without them, one runs after another.
"""

from .counters import Counters

__all__ = ["Counters"]
