"""Opcodes that move the program counter. A step returns None to go on with the next instruction,
an index to jump, or STOP when no lane of the fragment goes on from here."""

import numpy as np

from .table import Form, Row
from .types import TYPES

__all__ = ["ROWS", "STOP"]

STOP = -1
U32 = TYPES["u32"]
GRID_TRAP = (
    ": grid.sync() is only for a cooperative launch, RawKernel(…, enable_cooperative_groups=True)"
)


def branch(ins, f: Form, code):
    """bra: all lanes, or those whose guard holds; the others fall through."""
    target = ins.operands[0].target
    if ins.guard is None:
        return lambda m: target
    read = code.guard(ins)

    def step(m):
        wish, mask = read(m), m.mask
        if wish.size == 1:
            return target if wish.item() else None
        taken = wish if mask is None else wish & mask
        if not np.count_nonzero(taken):
            return None
        rest = ~wish if mask is None else ~wish & mask
        if not np.count_nonzero(rest):
            return target
        for hear in m.watch_branch:
            hear(m, taken, rest)
        m.put(target, taken)
        m.put(m.pc + 1, rest)
        return STOP

    return step


def leave(ins, f: Form, code):
    """ret and exit of a kernel: the lanes are gone."""

    def step(m):
        m.retire(m.mask)
        return STOP

    if ins.guard is None:
        return step
    read = code.guard(ins)

    def guarded(m):
        going = read(m) if m.mask is None else read(m) & m.mask
        if not going.any():
            return None
        rest = ~read(m) if m.mask is None else ~read(m) & m.mask
        m.retire(going)
        if rest.any():
            m.put(m.pc + 1, rest)
        return STOP

    return guarded


def trap(ins, f: Form, code):
    """trap: the kernel gives up. Where mistakes are collected, the lanes that trap end."""
    read = code.guard(ins) if ins.guard is not None else None

    def step(m):
        here = np.broadcast_to(True if m.mask is None else m.mask, m.shape)
        going = here if read is None else here & read(m)
        if not going.any():
            return None
        why = GRID_TRAP if m.launch.program.cooperative and not m.launch.workspace else ""
        m.defect("trap", f"the kernel executed a trap instruction{why}", bad_lanes=going)
        m.retire(going)
        if (rest := here & ~going).any():
            m.put(m.pc + 1, rest)
        return STOP

    return step


def branch_indexed(ins, f: Form, code):
    """brx.idx: each lane goes to the label that its index picks from the list."""
    read, targets = code.reader(ins.operands[0], U32), [o.target for o in ins.operands[1].parts]
    guard = code.guard(ins) if ins.guard is not None else None

    def step(m):
        here = np.broadcast_to(m.active(), m.shape)
        going = here if guard is None else here & guard(m)
        index = np.minimum(np.broadcast_to(read(m), m.shape), len(targets) - 1)
        for k in np.unique(index[going]):
            m.put(targets[k], going & (index == k))
        if (rest := here & ~going).any():
            m.put(m.pc + 1, rest)
        return STOP

    return step


# fmt: off
ROWS = [
    Row("bra", "label", "", "uni", branch, "control", "go on at the label"),
    Row("ret", "", "", "uni", leave, "control", "return; in a kernel, exit"),
    Row("exit", "", "", "", leave, "control", "the thread ends"),
    Row("trap", "", "", "", trap, "control", "stop the kernel with an error"),
    Row("brx", "a labels", "", "idx uni", branch_indexed, "control", "go on at label number a"),
]
# fmt: on
