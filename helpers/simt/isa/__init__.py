"""The instruction set: one row a mnemonic, in tables by what it touches, and the look-up."""

from . import (
    alu,
    atomics,
    barriers,
    bits,
    calls,
    control,
    copies,
    mbarrier,
    memory,
    packed,
    refused,
    warp,
)
from .control import STOP
from .table import Alu, Form, Row, form, refuse

__all__ = ["STOP", "TABLE", "Alu", "Form", "Row", "form", "lookup", "refuse", "row_of"]

REGISTERS_ONLY = (alu, bits, packed)
MACHINE = (memory, atomics, copies, warp, barriers, mbarrier, calls, control)
TABLE: dict[str, Row] = {
    row.opcode: row for table in (*REGISTERS_ONLY, *MACHINE) for row in table.ROWS
}
ALU = frozenset(row.opcode for table in REGISTERS_ONLY for row in table.ROWS)


def lookup(opcode: str, suffixes: tuple[str, ...] = ()) -> Row:
    """The row of an opcode; UnsupportedInstruction, with the reason, when there is none."""
    mnemonic = ".".join((opcode, *suffixes))
    if why := refused.why(opcode, suffixes):
        raise refuse(mnemonic, why)
    if opcode not in TABLE:
        raise refuse(mnemonic, f"no row for {opcode} in the opcode tables")
    return TABLE[opcode]


def row_of(instruction) -> Row:
    """The row of an instruction."""
    return lookup(instruction.opcode, instruction.suffixes)
