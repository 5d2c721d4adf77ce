"""Records one block of a small launch, instruction by instruction, so that a view can replay it.

The machine says what is about to happen; the tracer completes a step when the next one begins, and
then reads from registers and shared memory what the instruction has left there. Lanes that had to
wait for others of their warp get a step of their own when their result arrives.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import isa
from ..errors import BudgetExceeded
from ..isa.types import TYPES, unsigned
from ..machine import short
from ..ptx import Address, Immediate, Label, Negated, Pair, Register, Special, Symbol, Vector
from ..steps import Cells, Code, Step, Touch, Write, lanes_of, mask_of

__all__ = ["Tracer", "code_of", "register_types"]


# ---------------------------------------------------------------------------- the program's text
def text_of(operand) -> str:
    """An operand as PTX spells it."""
    match operand:
        case Immediate(value, None):
            return str(value)
        case Immediate(value, bits):
            return f"0{'f' if bits == 32 else 'd'}{value:0{bits // 4}X}"
        case Register() | Special() | Symbol():
            return operand.name
        case Label():
            return f"L{operand.target}"
        case Vector():
            return "{" + ", ".join(map(text_of, operand.parts)) + "}"
        case Pair():
            return f"{text_of(operand.first)}|{text_of(operand.second)}"
        case Negated():
            return f"!{text_of(operand.operand)}"
        case Address(None, offset):
            return f"[{offset}]"
        case Address(base, offset):
            return f"[{text_of(base)}{f'+{offset}' if offset else ''}]"
    return str(operand)


def code_of(ins, row, names: dict) -> Code:
    """An instruction for people. `names` maps parameters to their names in the `.cu` file."""
    guard = f"@{'!' * ins.negated}{ins.guard.name} " if ins.guard else ""
    text = f"{guard}{ins.mnemonic} {', '.join(map(text_of, ins.operands))}".strip()
    return Code(ins.line if ins.file in (0, 1) else 0, text, kind_of(ins, row), origin(ins, names))


def kind_of(ins, row) -> str:
    """The row's class, with the barriers of a block kept apart from those of a warp."""
    if row.counts == "barrier" and "warp" in ins.suffixes:
        return "warp"
    return "exit" if ins.opcode in ("ret", "exit") else row.counts


def origin(ins, names: dict) -> str:
    """Where a register's value comes from, as far as that is certain: the kernel's parameter, or
    a built-in variable. The compiler keeps no names of local variables."""
    source = ins.operands[1] if len(ins.operands) == 2 else None
    if ins.opcode == "ld" and "param" in ins.suffixes and isinstance(source, Address):
        return names.get(getattr(source.base, "name", None), "") if not source.offset else ""
    if ins.opcode == "mov" and isinstance(source, Special):
        name, _, axis = source.name[1:].partition(".")
        cuda = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}
        return f"{cuda[name]}.{axis}" if name in cuda else ""
    return ""


def operand_types(ins, row):
    """(register, type) for what an instruction says of its registers' types."""
    f = isa.form(row, ins.suffixes)
    if ins.opcode in isa.ALU and not any(isinstance(o, Vector) for o in ins.operands):
        alu = row.make(f)
        types = (alu.result, *alu.sources)
        first = ins.operands[0].first if isinstance(ins.operands[0], Pair) else ins.operands[0]
        yield from zip((first, *ins.operands[1:]), types, strict=False)
    elif row.counts == "memory" and f.types:
        for operand in ins.operands:
            parts = operand.parts if isinstance(operand, Vector) else (operand,)
            yield from ((part, f.type) for part in parts)


def register_types(program) -> dict[int, np.dtype]:
    """What each register holds, from the types of the instructions that use it: bit operations
    and moves say nothing, a float counts more than an integer, a signed more than an unsigned."""
    found: dict[int, tuple] = {}
    for ins, row in zip(program.instructions, program.rows, strict=True):
        for operand, t in operand_types(ins, row):
            if isinstance(operand, Register) and t.size == operand.size and t.kind in "fsup":
                rank = "pusf".index(t.kind)
                found[operand.index] = max(found.get(operand.index, (-1, None)), (rank, t.name))
    return {index: TYPES[name].dtype for index, (_, name) in found.items()}


def destinations(ins, row) -> list[Register]:
    """The registers an instruction writes."""
    waits = ins.opcode in ("bar", "barrier") and "red" not in ins.suffixes
    if row.operands[:1] not in ("d", "p") or not ins.operands or waits:
        return []
    pending, found = [ins.operands[0]], []
    while pending:
        match pending.pop(0):
            case Register() as register:
                found.append(register)
            case Vector(parts):
                pending += parts
            case Pair(first, second):
                pending += (first, second)
    return found


def alike(values):
    """One value in place of many that have the same bits."""
    raw = values.view(unsigned(values.dtype.itemsize))
    return values[:1] if len(raw) > 1 and (raw == raw[0]).all() else values


def typed(values, dtype):
    """The same bits as another type, if that is as wide."""
    if dtype is None or dtype.itemsize != values.dtype.itemsize or values.dtype.kind == "b":
        return values
    return values.view(dtype)


# ---------------------------------------------------------------------------- the recorder
@dataclass
class Draft:
    """The step that is under way. `homes` are the bytes in shared memory of its touches, `dtype` is
    the type of the array that they go to."""

    pc: int
    lanes: int
    acting: int
    taken: int | None
    touches: list
    homes: list
    dtype: np.dtype | None = None


class Tracer:
    """Observer of one launch: the steps of block number `index`, at most `most` of them."""

    def __init__(self, index: int, most: int):
        self.index, self.most = index, most
        self.steps: list[Step] = []
        self.chunk = self.draft = None

    # -- events
    def on_chunk(self, m) -> None:
        row = self.index - m.first
        if not 0 <= row < m.shape[0]:
            return
        self.chunk, self.row = m, row
        self.threads = m.shape[1]
        self.everyone = (1 << self.threads) - 1
        self.waiting, self.absent = 0, []  # absent: (pc, lanes) that wait for their warp
        self.sources = np.zeros(self.threads, np.int64)
        self.late = {}  # cells of shared memory that a copy under way will write → thread
        self.learn(m.launch.program)
        self.words = self.shared_words().copy()
        self.shared_size = m.rows["shared"].size

    def learn(self, program) -> None:
        self.program = program
        self.types = register_types(program)
        self.targets = [
            destinations(*pair) for pair in zip(program.instructions, program.rows, strict=True)
        ]
        self.kinds = [kind_of(*p) for p in zip(program.instructions, program.rows, strict=True)]
        self.variables = sorted((at, name) for name, (at, _) in program.variables.items())

    def on_instruction(self, m) -> None:
        if m is not self.chunk:
            return
        self.close()
        lanes = self.number(m.mask)
        if not lanes:
            return
        ins = self.program.instructions[m.pc]
        acting, taken = lanes, None
        if ins.guard is not None:
            holds = mask_of(self.of_block(m.registers[ins.guard.index]) != ins.negated) & lanes
            if ins.opcode == "bra":
                taken = holds
            else:
                acting = holds
        elif ins.opcode == "bra":
            taken = lanes
        self.draft = Draft(m.pc, lanes, acting, taken, [], [])

    def on_access(self, m, access) -> None:
        if m is not self.chunk or self.draft is None:
            return
        lanes = self.number(access.mask) & self.draft.acting
        if not lanes:
            return
        threads = lanes_of(lanes)
        where = self.of_block(access.address)[threads]
        if access.space == "shared":
            self.draft.homes.append((threads, where, access.width))
        values = [self.of_block(v)[threads] for v in access.values]
        form = isa.form(self.program.rows[m.pc], self.program.instructions[m.pc].suffixes)
        unit = form.type.size if form.types else access.width
        for name, start, dtype, here in self.named(m, access.space, where, access.width):
            if access.space == "global":
                self.draft.dtype = dtype
            known = dtype is not None and access.width % dtype.itemsize == 0
            self.draft.touches.append(
                Touch(
                    access.kind,
                    access.space,
                    name,
                    lanes if here.all() else self.mask_of(threads[here]),
                    alike(where[here] - start),
                    dtype.itemsize if known and access.space == "global" else unit,
                    access.width,
                    tuple(alike(typed(v[here], dtype)) for v in values),
                )
            )

    def on_shuffle(self, m, mode, mask, j) -> None:
        if m is self.chunk:
            lanes = lanes_of(self.number(m.mask))
            j = np.broadcast_to(j, (j.shape[0], self.threads // 32, 32))
            j = j[self.row if len(j) > 1 else 0].reshape(-1)
            self.sources[lanes] = (lanes // 32 * 32) + j[lanes]

    # -- reading the machine
    def of_block(self, values) -> np.ndarray:
        """The block's row of an array of lanes."""
        row = values[self.row if values.shape[0] > 1 else 0]
        return row if len(row) > 1 else np.broadcast_to(row, self.threads)

    def mask_of(self, threads) -> int:
        lanes = np.zeros(self.threads, bool)
        lanes[threads] = True
        return mask_of(lanes)

    def number(self, mask) -> int:
        """A mask of the chunk as the block's threads."""
        return self.everyone if mask is None else mask_of(self.of_block(mask))

    def shared_words(self) -> np.ndarray:
        home = self.chunk.rows["shared"]
        start = int(home.offset[self.row, 0])
        return home.data[start : start + home.pitch].view(np.uint32)

    def named(self, m, space: str, where, width: int):
        """(name, its first address, type of its elements or None, which lanes) of an access."""
        left = np.ones(len(where), bool)
        if space == "global":
            for s in m.memory.segments:
                here = left & (where >= s.start) & (where + width <= s.stop)
                if here.any():
                    left &= ~here
                    yield s.name, s.start, s.dtype, here
        if space == "shared":
            for start, name in reversed(self.variables):
                here = left & (where >= start)
                if here.any():
                    left &= ~here
                    yield short(name), start, self.stored_type(m.pc), here
        if left.any():
            yield space, 0, None, left

    # -- what the program says
    def registers(self) -> tuple[tuple[str, str], ...]:
        """(name, type) of every register, by number."""
        names = {r.index: r.name for targets in self.targets for r in targets}
        return tuple(
            (names.get(k, ""), self.type_of(k, zero.dtype).name)
            for k, zero in enumerate(self.program.zeros)
        )

    def type_of(self, register: int, otherwise) -> np.dtype:
        return self.types.get(register, otherwise)

    def shared_variables(self) -> dict[str, tuple[int, int]]:
        """Name → (offset, bytes) of the variables in shared memory, 0 bytes for the dynamic one."""
        return {short(name): place for name, place in self.program.variables.items()}

    # -- completing a step
    def finish(self) -> None:
        """The launch has ended."""
        self.close()

    def close(self) -> None:
        """What the last instruction has done is now there to be read."""
        draft, self.draft = self.draft, None
        if draft is None:
            return
        m, barrier = self.chunk, self.kinds[draft.pc] == "barrier"
        before, self.waiting = self.waiting, self.parked(m)
        living = self.everyone if m.alive is None else self.number(m.alive)
        parked = self.waiting & draft.lanes
        late = parked if self.targets[draft.pc] or not barrier else 0  # their results come later
        released = (before | draft.lanes if barrier else before) & ~self.waiting & living
        step = self.step(draft.pc, draft.lanes, draft.acting & ~late, draft.dtype)
        self.add(
            replace(
                step,
                done=draft.lanes & ~late,
                parked=parked,
                released=released,
                taken=draft.taken,
                touches=tuple(draft.touches),
                cells=self.changed(draft),
            )
        )
        if late:
            self.absent.append((draft.pc, late))
        self.arrive(living)

    def parked(self, m) -> int:
        """The lanes that wait somewhere."""
        waiting = 0
        for table in (*m.barriers.values(), *m.meetings.values()):
            for parked in table:
                waiting |= 0 if parked.gone else self.number(parked.mask)
        return waiting

    def arrive(self, living: int) -> None:
        """Lanes that have waited for others of their warp: their results are there now."""
        absent, self.absent = self.absent, []
        for pc, lanes in absent:
            if here := lanes & ~self.waiting & living:
                self.add(self.step(pc, here, here))
            if left := lanes & self.waiting:
                self.absent.append((pc, left))

    def step(self, pc: int, lanes: int, acting: int, dtype=None) -> Step:
        """A step with what its lanes have got, from an array of `dtype` where it is a load."""
        threads = lanes_of(acting)
        writes, sources = [], None
        for register in self.targets[pc] if len(threads) else ():
            values = self.of_block(self.chunk.registers[register.index])[threads]
            own = self.type_of(register.index, self.program.zeros[register.index].dtype)
            values = typed(np.ascontiguousarray(values).view(own), dtype)
            writes.append(Write(register.index, alike(values)))
        if self.program.instructions[pc].opcode == "shfl" and len(threads):
            sources = self.sources[threads]
        step = Step(len(self.steps), pc, lanes, acting, done=lanes)
        return replace(step, writes=tuple(writes), sources=sources)

    def add(self, step: Step) -> None:
        if len(self.steps) >= self.most:
            line = self.program.instructions[step.pc].line
            raise BudgetExceeded(
                f"the trace of {self.program.name} passes {self.most} steps at line {line}: trace "
                "less (fewer columns or elements a thread; other blocks cost nothing), or raise "
                "max_steps",
                budget=self.most,
                kernel=self.program.name,
                line=line,
            )
        self.steps.append(step)

    def changed(self, draft: Draft) -> Cells | None:
        """The 4-byte cells of shared memory that the step has written or changed."""
        ins = self.program.instructions[draft.pc]
        if ins.opcode in isa.ALU or not len(self.words):
            return None
        writers = {}
        for touch in draft.touches:
            if touch.space == "shared" and touch.kind == "async":
                self.late |= written(draft.homes)
            elif touch.space == "shared" and touch.kind != "load":
                writers |= written(draft.homes)
        words = self.shared_words()
        for cell in np.flatnonzero(words != self.words).tolist():
            if cell not in writers:
                writers[cell] = self.late.pop(cell, -1)
        if not writers:
            return None
        cells = np.array(sorted(writers), np.int32)
        self.words = words.copy()
        threads = np.array([writers[c] for c in cells.tolist()], np.int16)
        return Cells(cells, self.words[cells], threads, self.stored_type(draft.pc).name)

    def stored_type(self, pc: int) -> np.dtype:
        """The type of what a store puts into shared memory: its register's, where that is known."""
        ins = self.program.instructions[pc]
        for operand in ins.operands[1:] if ins.opcode == "st" else ins.operands:
            for part in operand.parts if isinstance(operand, Vector) else (operand,):
                if isinstance(part, Register) and part.index in self.types:
                    return self.types[part.index]
        return np.dtype(np.uint32)


def written(homes) -> dict[int, int]:
    """Cell → thread of the accesses of a step; of two threads the later one counts."""
    found = {}
    for threads, where, width in homes:
        for thread, at in zip(threads.tolist(), where.tolist(), strict=True):
            for cell in range(at >> 2, (at + width + 3) >> 2):
                found[cell] = thread
    return found
