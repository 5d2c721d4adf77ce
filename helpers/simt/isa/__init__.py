"""The instruction set: one row a mnemonic (alu, memory, warp, control), and the look-up."""

from . import alu, control, memory, warp
from .alu import Alu
from .control import STOP
from .table import Form, Row, form, refuse

__all__ = ["STOP", "TABLE", "Alu", "Form", "Row", "form", "refuse", "row_of"]

TABLE: dict[str, Row] = {
    row.opcode: row for table in (alu, memory, warp, control) for row in table.ROWS
}
ALU = frozenset(row.opcode for row in alu.ROWS)
TENSOR = ("mma", "wmma", "wgmma", "tcgen05", "ldmatrix", "stmatrix", "movmatrix")


def row_of(instruction) -> Row:
    """The row of an instruction's opcode; UnsupportedInstruction when there is none."""
    row = TABLE.get(instruction.opcode)
    if row is not None:
        return row
    tensor = instruction.opcode in TENSOR
    raise refuse(
        instruction.mnemonic,
        "tensor-core instructions are outside this simulator"
        if tensor
        else f"no row for {instruction.opcode} in the simulator's opcode tables",
    )
