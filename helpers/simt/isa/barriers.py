"""Barriers of a block: sixteen of them, for all its threads or a count, with or without waiting.

`bar` and `barrier.….aligned` want a warp to come as one; plain `barrier` lets its lanes come one by
one, and counts the warp when its last one is there.
"""

import numpy as np

from ..errors import PtxError
from .control import STOP
from .table import Form, Row
from .types import TYPES
from .warp import warp_barrier

__all__ = ["ROWS"]

U32, PRED = TYPES["u32"], TYPES["pred"]
BARRIERS = 16
MODES = ("sync", "arrive", "red")


def barrier(ins, f: Form, code):
    """bar.sync a{, b}, bar.arrive a, b and bar.red d, a{, b}, p."""
    if f.has("warp"):
        return warp_barrier(ins, f, code)
    operands, mode = list(ins.operands), f.one_of(*MODES)
    act, votes = None, []
    if mode == "red":
        act = answer(f.one_of("popc", "and", "or"), code.writer(operands.pop(0), of_red(f)))
        votes = [code.reader(operands.pop(), PRED)]
    number, *counts = [code.reader(o, U32) for o in operands]
    if len(counts) > 1 or mode is None or (mode == "arrive" and not counts):
        raise PtxError(f"{ins.mnemonic} does not have the operands it needs")
    how = {"act": act, "gone": mode == "arrive", "aligned": aligned(ins, f)}

    def step(m):
        for hear in m.watch_barrier:
            hear(m)
        where, many = number(m), [read(m) for read in counts]
        values = [vote(m) for vote in votes]
        if not counts and m.mask is None and where.size == 1 and not m.barriers:
            for hear in m.watch_sync:
                hear(m, None)
            if act:
                ayes = np.broadcast_to(values[0], m.shape).sum(1, keepdims=True)
                act(m, ayes, np.full((1, 1), m.shape[1]))
            return None
        for n, mask in by_number(m, where):
            m.arrive(n, mask, values, count=count_of(m, many), **how)
        return None if how["gone"] else STOP

    return step


def of_red(f: Form):
    return U32 if f.has("popc") else PRED


def aligned(ins, f: Form) -> bool:
    return ins.opcode == "bar" or f.has("aligned")


def answer(operation: str, write):
    """What bar.red returns, given how many threads of each block voted, and how many for it."""

    def act(m, ayes, voters):
        result = {"popc": ayes, "and": ayes == voters, "or": ayes > 0}[operation]
        write(m, result.astype(np.uint32) if operation == "popc" else result)

    return act


def by_number(m, numbers):
    """(barrier, lanes that name it) of a step."""
    active = np.broadcast_to(m.active(), m.shape)
    numbers = np.broadcast_to(numbers, m.shape)
    if (wrong := active & (numbers >= BARRIERS)).any():
        m.defect(
            "mismatched barrier",
            f"there are barriers 0 to {BARRIERS - 1}, not {int(numbers[wrong][0])}",
            bad_lanes=wrong,
        )
    for n in np.unique(numbers[active]):
        yield int(n), active & (numbers == n)


def count_of(m, counts: list):
    """How many threads take part, int64 lanes; None when the whole block does."""
    if not counts:
        return None
    count = counts[0].astype(np.int64)
    if (wrong := m.active() & ((count % 32 != 0) | (count == 0))).any():
        m.defect(
            "mismatched barrier",
            f"a barrier for {int(np.broadcast_to(count, wrong.shape)[wrong][0])} threads: the "
            "count must be a multiple of 32, since barriers count warps",
            bad_lanes=wrong,
        )
    return count


SUFFIXES = "sync arrive red cta popc and or pred u32"
# fmt: off
ROWS = [
    Row("bar", "d a b p", "", f"{SUFFIXES} warp", barrier, "barrier",
        "wait for the block, or b threads of it, at barrier a; arrive: do not wait; red: also "
        "combine p; warp: wait for the lanes of mask a"),
    Row("barrier", "d a b p", "", f"{SUFFIXES} aligned", barrier, "barrier",
        "bar, whose lanes may come one by one"),
]
# fmt: on
