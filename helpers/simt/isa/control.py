"""Opcodes that move the program counter. A step returns None to go on with the next instruction,
an index to jump, or STOP when no lane of the fragment goes on from here."""

import numpy as np

from .table import Form, Row, refuse

__all__ = ["ROWS", "STOP"]

STOP = -1


def branch(ins, f: Form, code):
    """bra: all lanes, or those whose guard holds; the others fall through."""
    target = ins.operands[0].target
    if ins.guard is None:
        return lambda m: target
    read = code.guard(ins)

    def step(m):
        wish, mask = read(m), m.mask
        if mask is None:
            if wish.all():
                return target
            if not wish.any():
                return None
            taken, rest = wish, ~wish
        else:
            taken, rest = wish & mask, ~wish & mask
            if not rest.any():
                return target
            if not taken.any():
                return None
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
        m.defect("trap", "the kernel executed a trap instruction", bad_lanes=going)
        m.retire(going)
        if (rest := here & ~going).any():
            m.put(m.pc + 1, rest)
        return STOP

    return step


def call(ins, f: Form, code):
    raise refuse(ins.mnemonic, "calls of functions that were not inlined are not in the table")


# fmt: off
ROWS = [
    Row("bra", "label", "", "uni", branch, "control", "go on at the label"),
    Row("ret", "", "", "uni", leave, "control", "return; in a kernel, exit"),
    Row("exit", "", "", "", leave, "control", "the thread ends"),
    Row("trap", "", "", "", trap, "control", "stop the kernel with an error"),
    Row("call", "f", "", "uni", call, "control", "call a function"),
]
# fmt: on
