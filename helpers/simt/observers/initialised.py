"""Finds values that nobody ever wrote: registers, and shared, local and global memory.

Reading such a value is not yet a mistake: the compiler may load early and throw away. So the lanes
that hold one are followed from register to register, and reported when the value reaches a store, a
branch or an address. Nothing is followed until there is something to follow: memory that is read
before it was written, or a register that some path through the program reads without writing it.
Of global memory that is known of arrays that the stand-in's `empty` made (memory.unwritten).
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from ..meeting import ranges
from ..memory import never_written
from ..ptx import Negated, Register
from .facts import element_size, facts_of, operands_of
from .report import element_of

__all__ = ["Initialised"]

KIND = "uninitialised"
SPREADS = ("vote", "match", "redux")  # one lane's value reaches all lanes of its warp


class Initialised:
    """The checker of a launch; of global memory its chunks share what is written: `arrays`, by the
    address of the allocation."""

    def __init__(self):
        self.arrays: dict | None = None
        self.lock = Lock()

    def find(self, segments, grain: int) -> dict:
        """The allocations that nobody has written when the launch begins."""
        with self.lock:
            if self.arrays is None:
                self.arrays = {
                    s.origin: Written(1, s.data.size // grain + 1)
                    for s in segments
                    if never_written(s.data)
                }
        return self.arrays

    def fork(self) -> "Chunk":
        return Chunk(self)

    def join(self, part: "Chunk") -> None:
        """Nothing: what a chunk finds it says at once."""


@dataclass(eq=False)
class Origin:
    """Where values that nobody wrote come from: a load, or (access None) a register."""

    pc: int
    access: object = None
    address: np.ndarray | None = None
    bad: np.ndarray | None = None
    segment: object = None  # of global memory: the array
    reported: bool = field(default=False)


class Written:
    """Which cells of shared or local memory have been written: a row a block or a lane, or one row
    for as long as all do alike."""

    def __init__(self, rows: int, cells: int):
        self.rows, self.cells = rows, cells
        self.flags = np.zeros((1, cells), bool)
        self.complete = False

    def use(self, alike: bool) -> bool:
        """Make a row for each, unless all do alike; True while there is one row for all."""
        if not alike and len(self.flags) == 1 < self.rows:
            self.flags = np.repeat(self.flags, self.rows, axis=0)
        return len(self.flags) == 1

    def mark(self, rows, cells, count: int) -> None:
        for k in range(count):
            self.flags[rows, cells + k] = True
        if len(self.flags) * self.cells < 1 << 16:
            self.complete = bool(self.flags.all())

    def missing(self, rows, cells, count: int):
        """Which of these accesses find a cell that nobody wrote."""
        found = ~self.flags[rows, cells]
        for k in range(1, count):
            found |= ~self.flags[rows, cells + k]
        return found


class Chunk:
    """The checker of one chunk of blocks. `taint` lists, for each register that holds something
    unwritten, the lanes and the Origin."""

    def __init__(self, whole: Initialised):
        self.whole = whole

    def on_chunk(self, m) -> None:
        self.m, self.facts = m, facts_of(m.launch.program)
        self.arrays = self.whole.find(m.launch.memory.segments, self.facts.grain["global"])
        self.memories: dict = {}
        self.barrier = None
        self.taint = {r: [(np.ones(m.shape, bool), Origin(-1))] for r in self.facts.unset}
        self.following = False
        if self.taint:
            self.follow()

    def follow(self) -> None:
        """From now on, see every instruction."""
        if not self.following:
            self.following = True
            self.m.watch_instruction.append(self.step)

    # -- memory
    def on_barrier(self, m) -> None:
        self.barrier = m.pc

    def on_access(self, m, access) -> None:
        if access.home is None:
            return
        if access.space == "global" and self.arrays:
            self.to_global(access)
        if access.space not in ("shared", "local"):
            return
        memory = self.memories.get(access.space) or self.memory(access)
        if memory.complete and not self.taint:
            return
        shape = m.shape
        alike = access.space == "shared" and access.address.shape[0] == 1
        alike = alike and (access.mask is None or access.mask.shape[0] == 1)
        if memory.use(alike):
            shape = 1, shape[1]
        lane = np.flatnonzero(np.broadcast_to(True if access.mask is None else access.mask, shape))
        address = np.broadcast_to(access.address, shape)
        row = lane // shape[1] if access.space == "shared" else lane
        shift = self.facts.grain[access.space].bit_length() - 1
        cell = address.reshape(-1)[lane] >> shift
        count = self.touch(Origin(access.pc, access, address), memory, lane, row, cell)
        if access.kind != "load" and access.space == "local" and self.taint:
            self.unmark(memory, access, lane, cell, count)

    def touch(self, origin: Origin, memory: Written, lane, row, cell, segment=None) -> int:
        """Lanes touch the cells: look for unwritten ones, or note that they are written. Returns
        how many cells each lane touches."""
        access, shape = origin.access, origin.address.shape
        count = max(access.width // self.facts.grain[access.space], 1)
        if access.kind in ("load", "atomic"):
            missing = memory.missing(row, cell, count)
            if missing.any():
                origin.bad, origin.segment = np.zeros(shape, bool), segment
                origin.bad.reshape(-1)[lane[missing]] = True
                self.unwritten(origin)
        if access.kind != "load":
            memory.mark(row, cell, count)
        return count

    def to_global(self, access) -> None:
        home, shape = access.home, self.m.shape
        address = np.broadcast_to(access.address, shape)
        active = np.broadcast_to(True if access.mask is None else access.mask, shape)
        shift = self.facts.grain["global"].bit_length() - 1
        for s in [s for s, _ in home.parts] if hasattr(home, "parts") else [home]:
            memory = self.arrays.get(s.origin)
            if memory is not None and not memory.complete:
                lane = np.flatnonzero(active & (address >= s.start) & (address < s.stop))
                cell = (address.reshape(-1)[lane] - s.origin) >> shift
                self.touch(Origin(access.pc, access, address), memory, lane, 0, cell, s)

    def memory(self, access) -> Written:
        """The flags of a space; what belongs to no variable counts as written."""
        m, space, grain = self.m, access.space, self.facts.grain[access.space]
        rows = m.shape[0] * (m.shape[1] if space == "local" else 1)
        made = self.memories[space] = Written(rows, max(access.home.pitch // grain, 1))
        if space == "shared":
            made.flags[:] = True
            for place, size in m.launch.program.variables.values():
                end = place + size if size else access.home.size
                made.flags[:, place // grain : -(-end // grain)] = False
        return made

    def unmark(self, memory, access, lane, cell, count) -> None:
        """A local array that is given an unwritten value stays unwritten there."""
        ins = self.m.launch.program.instructions[access.pc]
        for register in self.registers(ins.operands[1:]):
            for lanes, _ in self.taint.get(register, ()):
                here = np.broadcast_to(lanes, self.m.shape).reshape(-1)[lane]
                for k in range(count):
                    memory.flags[lane[here], cell[here] + k] = False

    def unwritten(self, origin: Origin) -> None:
        """A load brings something that nobody wrote: follow it. An atomic uses it at once."""
        ins = self.m.launch.program.instructions[origin.pc]
        lanes = np.broadcast_to(origin.bad, self.m.shape)
        if origin.access.kind == "atomic" or ins.opcode == "cp":
            how = "copied to shared memory" if ins.opcode == "cp" else "updated by an atomic"
            self.report(origin, lanes, f"is {how}", origin.pc)
            return
        for register in self.registers(ins.operands[:1]):
            self.taint.setdefault(register, []).append((lanes, origin))
        self.follow()

    # -- registers
    @staticmethod
    def registers(operands) -> list[int]:
        return [r.index for o in operands for r in operands_of(o) if isinstance(r, Register)]

    def step(self, m) -> None:
        """Before an instruction: where does what it reads go?"""
        ins = m.launch.program.instructions[m.pc]
        reads, writes = self.facts.registers[m.pc]
        if self.taint.keys().isdisjoint(reads | writes):
            return
        active = np.broadcast_to(True if m.mask is None else m.mask, m.shape)
        if ins.guard is not None:
            if self.used((ins.guard.index,), active, "decides a branch") or ins.opcode == "bra":
                return
            holds = m.registers[ins.guard.index]
            active = active & (~holds if ins.negated else holds)
        if ins.opcode in ("st", "red", "atom", "ld", "ldu") and "param" not in ins.suffixes:
            self.memory_step(ins, active)
        elif ins.opcode != "shfl":
            self.assign(writes, active, self.result(ins, reads, active))

    def memory_step(self, ins, active) -> None:
        address = 0 if ins.opcode in ("st", "red") else 1
        self.used(self.registers(ins.operands[address : address + 1]), active, "is an address")
        if "local" not in ins.suffixes:
            values = ins.operands[address + 1 :]
            self.used(self.registers(values), active, "is stored")
        if address:
            self.assign(self.registers(ins.operands[:1]), active, [])

    def on_shuffle(self, m, mode, mask, j) -> None:
        """A lane gets what the lane it reads from holds."""
        if not self.taint:
            return
        ins = m.launch.program.instructions[m.pc]
        active = np.broadcast_to(True if mask is None else mask, m.shape)
        warps = (m.shape[0], m.shape[1] // 32, 32)
        j = np.broadcast_to(j, warps)
        moved = []
        for register in self.registers(ins.operands[1:2]):
            for lanes, origin in self.taint.get(register, ()):
                there = np.take_along_axis(np.broadcast_to(lanes, m.shape).reshape(warps), j, -1)
                moved.append((there.reshape(m.shape), origin))
        self.assign(self.registers(ins.operands[:1]), active, moved)

    def result(self, ins, reads, active) -> list:
        """The lanes of an instruction's result that depend on something unwritten."""
        parts = [(r, pair) for r in reads for pair in self.taint.get(r, ())]
        weight = self.weights(ins)
        found = []
        for register, (lanes, origin) in parts:
            lanes = lanes & active & weight.get(register, True)
            if ins.opcode in SPREADS:
                warps = lanes.reshape(*lanes.shape[:1], -1, 32).any(-1)
                lanes = np.repeat(warps, 32, axis=1)
            found.append((lanes, origin))
        return found

    def weights(self, ins) -> dict:
        """Register → the lanes in which the result depends on it, where that is not all: the value
        that a select leaves, the side of an `and` whose other side is zero."""
        m, sources = self.m, ins.operands[1:]

        def value(operand):
            if isinstance(operand, Negated):
                return ~m.registers[operand.operand.index]
            if isinstance(operand, Register):
                return m.registers[operand.index]
            return None

        if ins.opcode == "selp" and (chosen := value(sources[2])) is not None:
            pairs = ((sources[0], chosen), (sources[1], ~chosen))
        elif ins.opcode in ("and", "or") and len(sources) == 2:
            a, b = map(value, sources)
            if a is None or b is None:
                return {}
            decides = [self.neutral(ins.opcode, v) | self.unsure(s)
                       for v, s in ((b, sources[1]), (a, sources[0]))]  # fmt: skip
            pairs = tuple(zip(sources, decides, strict=True))
        else:
            return {}
        found: dict = {}
        for operand, lanes in pairs:
            for register in self.registers((operand,)):
                found[register] = found.get(register, False) | lanes
        return found

    @staticmethod
    def neutral(opcode: str, value):
        """Lanes in which the other side of an `and` or `or` decides."""
        return value != 0 if opcode == "and" else ~value != 0

    def unsure(self, operand):
        """The lanes in which an operand itself is unwritten."""
        lanes = np.zeros((1, 1), bool)
        for register in self.registers((operand,)):
            for more, _ in self.taint.get(register, ()):
                lanes = lanes | more
        return lanes

    def assign(self, registers, active, parts) -> None:
        """Active lanes of these registers now hold `parts`, and nothing unwritten beside."""
        for register in registers:
            kept = [(lanes & ~active, origin) for lanes, origin in self.taint.get(register, ())]
            kept = [pair for pair in (*kept, *parts) if not pair[1].reported and pair[0].any()]
            if kept:
                self.taint[register] = kept
            else:
                self.taint.pop(register, None)

    def used(self, registers, active, how: str) -> bool:
        """Report those of the registers that hold something unwritten in active lanes."""
        found = False
        for register in registers:
            for lanes, origin in self.taint.get(register, ()):
                if not origin.reported and (bad := lanes & active).any():
                    found = True
                    self.report(origin, bad, how, self.m.pc)
        return found

    # -- saying it
    def report(self, origin: Origin, bad, how: str, pc: int) -> None:
        origin.reported = True
        m = self.m
        line = m.launch.program.instructions[pc].line
        if origin.access is None:
            m.defect(
                KIND,
                f"a variable that was never set on this path {how}: it is whatever the register "
                "held. Give it a value in every branch",
                bad_lanes=bad,
                lines=(line,),
            )
            return
        access = origin.access
        read = m.launch.program.instructions[access.pc].line
        block, lane = (int(i) for i in np.argwhere(np.broadcast_to(bad, m.shape))[0])
        address = int(np.broadcast_to(origin.address, m.shape)[block, lane])
        size = element_size(m.launch.program.instructions[access.pc])
        name, offset, _ = m.variable(access.space, address) or (
            f"{access.space} memory",
            address,
            0,
        )
        if (s := origin.segment) is not None:
            name, offset = s.name, address - s.start
            size = s.dtype.itemsize if s.dtype is not None else size
        element = element_of(m.launch.source, name, offset, size, access.space)
        later = f" at line {line}" if line != read else ""
        m.defect(
            KIND,
            f"Uninitialized __{access.space}__ memory read of size {access.width} bytes: nobody "
            f"has written {element}, and the value {how}{later}. Write every element that is read, "
            "or do not read it",
            bad_lanes=bad,
            pc=access.pc,
            array=name,
            lines=(read,),
        )
        if access.space == "shared":
            self.early_exit(origin, block, name, address - offset, size)

    def early_exit(self, origin, block: int, name: str, start: int, size: int) -> None:
        """Add a note when threads of the block had returned before a barrier."""
        m = self.m
        gone = ~np.broadcast_to(m.living(), m.shape)[block]
        gone[m.threads :] = False
        if not gone.any() or self.barrier is None:
            return
        row = block if origin.bad.shape[0] > 1 else 0
        slots = np.unique(np.broadcast_to(origin.address, origin.bad.shape)[row][origin.bad[row]])
        unwritten = np.zeros(int(slots.max() - start) // size + 1, bool)
        unwritten[(slots - start) // size] = True
        m.defect(
            "early exit",
            f"threads {ranges(gone)} returned before the __syncthreads() at line "
            f"{m.launch.program.instructions[self.barrier].line}, and nobody else wrote "
            f"`{name}`[{ranges(unwritten)}]",
            pc=origin.pc,
            array=name,
            severity="note",
        )
