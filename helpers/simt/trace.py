"""A launch recorded step by step, and what can be asked of it: the state after any step, the steps
of a line or a thread, the next barrier. Everything here is a pure function of the record."""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from . import kernel as kernels
from .arguments import check_dimensions
from .errors import Defect, LaunchError
from .observers.tracer import Tracer, code_of
from .steps import Code, Masks, Step, lanes_of, mask_of, pick, step_from_json, step_to_json

__all__ = ["Cell", "Held", "Lane", "State", "Trace", "trace"]

MOST = 20_000  # steps: some 10 MB of JSON for a block of 64 threads
FORMAT = 1


@dataclass(frozen=True)
class Lane:
    """Where a thread is at a step: active, waiting (at a barrier, or for its warp), idle (its
    turn has not come, or its warp executes without it) or exited; `line` is the one it is at."""

    thread: int
    status: str
    line: int | None


@dataclass(frozen=True)
class Cell:
    """4 bytes of shared memory after a step. `value` is a number, a tuple of two (16-bit types) or
    None when nobody has written it; `before` what the step replaced, None where it changed nothing.
    `thread`, `line` and `step` are the last writer's."""

    name: str
    value: object
    before: object
    thread: int | None
    line: int | None
    step: int | None
    read: bool
    written: bool


@dataclass(frozen=True)
class Held:
    """A register of one thread: `value`, the value `before` the step (None where it did not write
    it), the `line` and `step` that wrote it, and its `origin`: a parameter, a built-in variable, an
    element of memory (`x[12]`) or the thread a shuffle read, "" where none of these."""

    register: str
    value: object
    before: object
    line: int
    step: int
    origin: str


def number(value):
    """A NumPy scalar as Python's, 16-bit floats too."""
    return value.item() if value.dtype.kind in "biuf" else float(value)


@dataclass(frozen=True, eq=False)
class Trace:
    """One block of a launch, instruction by instruction.

    `program` holds the PTX instructions, `registers` (name, dtype) by number; `arrays` maps a name
    to (address, bytes, dtype), `variables` one of shared memory to (offset, bytes; 0: the rest);
    `shared` counts the bytes of shared memory, `threads` those of the block.
    """

    kernel: str
    grid: tuple
    block: tuple
    block_index: int
    threads: int
    device: str
    source: tuple[str, ...]
    program: tuple[Code, ...]
    registers: tuple[tuple[str, str], ...]
    arrays: dict
    variables: dict
    shared: int
    defects: tuple
    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        at = sorted(self.lines)
        lines = f"lines {at[0]} to {at[-1]}" if at else "no lines"
        return (
            f"{self.kernel}, block {self.block_index}: {len(self)} steps of {self.threads} "
            f"threads, {lines}, simulator ({self.device})"
        )

    __repr__ = __str__

    # -- where to go
    def line(self, step: int) -> int:
        """The `.cu` line of a step, 0 for none."""
        return self.program[self.steps[step].pc].line

    def kind(self, step: int) -> str:
        """The class of a step's instruction."""
        return self.program[self.steps[step].pc].kind

    def next(self, step: int, line: int | None = None) -> int | None:
        """The first step after `step` that enters `line` (None: any other line); None at the end.
        A line is entered from another line, or from its own end."""
        return next((k for k in self.entries if k > step and self._goes(k, step, line)), None)

    def previous(self, step: int, line: int | None = None) -> int | None:
        """The last step before `step` that enters `line` (None: any other line)."""
        back = reversed(self.entries)
        return next((k for k in back if k < step and self._goes(k, step, line)), None)

    def next_barrier(self, step: int) -> int | None:
        """The first step after `step` at which lanes come to a barrier of the block."""
        return next((k for k in range(step + 1, len(self)) if self.kind(k) == "barrier"), None)

    def previous_barrier(self, step: int) -> int | None:
        """The last step before `step` at which lanes come to a barrier of the block."""
        return next((k for k in range(step - 1, -1, -1) if self.kind(k) == "barrier"), None)

    def steps_of(self, thread: int) -> list[int]:
        """The steps that a thread executes."""
        if not 0 <= thread < self.threads:
            raise ValueError(f"a thread of this block is from 0 to {self.threads - 1}: {thread}")
        return np.flatnonzero(self._active[:, thread]).tolist()

    def _goes(self, k: int, step: int, line: int | None) -> bool:
        return self.line(k) == line if line else self.line(k) != self.line(step)

    @cached_property
    def entries(self) -> list[int]:
        """Steps at which the line changes, or starts again further up."""
        steps = self.steps
        return [
            k
            for k, step in enumerate(steps)
            if k == 0 or self.line(k) != self.line(k - 1) or step.pc <= steps[k - 1].pc
        ]

    # -- what happened
    @cached_property
    def lines(self) -> dict[int, int]:
        """Line → how often threads executed it, in all: see State.counts."""
        return self.at(len(self) - 1).counts if self.steps else {}

    def at(self, step: int) -> "State":
        """The state when `step` has been executed; the lanes as they are while it is."""
        if not 0 <= step < len(self):
            raise ValueError(f"a step of this trace is from 0 to {len(self) - 1}, got {step}")
        return State(self, step)

    @cached_property
    def _active(self) -> np.ndarray:
        """(steps, threads): who executes what."""
        size = -(-self.threads // 8)
        rows = b"".join(s.lanes.to_bytes(size + 4, "little")[:size] for s in self.steps)
        bits = np.frombuffer(rows, np.uint8).reshape(-1, size)
        return np.unpackbits(bits, axis=1, bitorder="little")[:, : self.threads].astype(bool)

    @cached_property
    def _done(self) -> list[int]:
        """How many lanes each step completes."""
        return [step.done.bit_count() for step in self.steps]

    @cached_property
    def pieces(self) -> dict[int, list[tuple]]:
        """Line → its pieces of straight code, each (a key for its text, its first pc, its last).
        Copies of one piece, as an inlined function has, share a key."""
        pieces = defaultdict(list)
        for (line, kind), run in groupby(
            enumerate(self.program), lambda item: (item[1].line, item[1].kind == "control")
        ):
            run = list(run)
            if line and not kind:
                key = tuple(code.ptx.split()[0] for _, code in run)
                pieces[line].append((key, run[0][0], run[-1][0]))
        return pieces

    # -- JSON
    def to_json(self) -> str:
        """Everything, as JSON without spaces."""
        masks = Masks()
        steps = [step_to_json(step, masks) for step in self.steps]
        head = {name: getattr(self, name) for name in PLAIN}
        program = [[c.line, c.ptx, c.kind, c.origin] for c in self.program]
        defects = [d.to_json() for d in self.defects]
        data = {"format": FORMAT, **head, "program": program, "defects": defects}
        data |= {"masks": masks.to_json(), "steps": steps}
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """The trace that `to_json` wrote. ValueError for a text of another format."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"this is no trace of format {FORMAT}: record it again")
        masks = Masks(data["masks"])
        head = {name: frozen(data[name]) for name in PLAIN}
        defects = tuple(defect_from_json(d) for d in data["defects"])
        steps = (step_from_json(k, step, masks) for k, step in enumerate(data["steps"]))
        program = tuple(Code(*row) for row in data["program"])
        return cls(**head, program=program, defects=defects, steps=tuple(steps))


PLAIN = ("kernel", "grid", "block", "block_index", "threads", "device", "source", "registers")
PLAIN += ("arrays", "variables", "shared")


def frozen(value):
    """JSON's lists as the tuples they were."""
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def defect_from_json(data: dict) -> Defect:
    found = Defect(data["kind"], data["message"])
    for name, value in data.items():
        setattr(found, name, frozen(value))
    return found


# ---------------------------------------------------------------------------- the state at a step
@dataclass(frozen=True, eq=False)
class State:
    """Where the block is: its lanes while step `index` runs, its memory when it has run."""

    trace: Trace
    index: int

    @property
    def step(self) -> Step:
        return self.trace.steps[self.index]

    @property
    def line(self) -> int:
        return self.trace.line(self.index)

    @property
    def code(self) -> Code:
        return self.trace.program[self.step.pc]

    # -- lanes
    @cached_property
    def waiting(self) -> int:
        """Lanes that have come to a barrier (or to an operation of their warp) and wait. A warp
        that has nothing left to do before the barrier counts as being there."""
        return self._held | self._due

    @cached_property
    def _held(self) -> int:
        held = 0
        for step in self.trace.steps[: self.index]:
            held = (held | step.parked) & ~step.released
        return held & ~self.step.lanes

    @cached_property
    def _due(self) -> int:
        """Lanes whose next step is a barrier, in warps none of whose lanes has anything else."""
        barriers = np.array([self.trace.kind(k) == "barrier" for k in range(len(self.trace))])
        active = self.trace._active[self.index]
        due = ~active & (self._next >= 0) & barriers[self._next]
        held = np.isin(np.arange(self.trace.threads), lanes_of(self._held))
        busy = active | ~(due | held | (self._next < 0))
        for start in range(0, self.trace.threads, 32):
            warp = slice(start, start + 32)
            due[warp] &= not busy[warp].any()
        return mask_of(due)

    @cached_property
    def _next(self) -> np.ndarray:
        """For each thread its first step after this one, -1 for none."""
        later = self.trace._active[self.index + 1 :]
        if not len(later):
            return np.full(self.trace.threads, -1)
        return np.where(later.any(0), later.argmax(0) + self.index + 1, -1)

    @cached_property
    def exited(self) -> int:
        """Lanes that have no step left."""
        gone = (self._next < 0) & ~self.trace._active[self.index]
        return mask_of(gone) & ~self.waiting

    @property
    def missing(self) -> int:
        """Lanes that those at the barrier wait for: the others that have not exited."""
        alive = (1 << self.trace.threads) - 1 & ~self.exited
        return alive & ~self.waiting if self.waiting else 0

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Every thread of the block: active, waiting, idle or exited."""
        return tuple(self._lane(t) for t in range(self.trace.threads))

    def _lane(self, thread: int) -> Lane:
        bit, trace = 1 << thread, self.trace
        if self.step.lanes & bit:
            return Lane(thread, "active", self.line)
        if self.exited & bit:
            return Lane(thread, "exited", None)
        following = int(self._next[thread])
        if self.waiting & bit:
            before = np.flatnonzero(trace._active[: self.index, thread])
            came = len(before) and trace.steps[before[-1]].parked & bit
            return Lane(thread, "waiting", trace.line(before[-1] if came else following))
        return Lane(thread, "idle", trace.line(following))

    def __str__(self) -> str:
        """Who does what, a warp at a time: "warp 0: 16 of 32 active on line 31"."""
        parts = []
        for start in range(0, self.trace.threads, 32):
            lanes = self.lanes[start : start + 32]
            said = []
            for status in ("active", "waiting", "exited"):
                here = [lane for lane in lanes if lane.status == status]
                verb = {"active": "active on", "waiting": "waiting at"}.get(status)
                place = f" line {here[0].line}" if here and verb else ""
                if here:
                    said.append(f"{len(here)} of {len(lanes)} {verb or status}{place}")
            parts.append(f"warp {start // 32}: {', '.join(said) or 'idle'}")
        return " · ".join(parts)

    # -- lines
    @cached_property
    def counts(self) -> dict[int, int]:
        """Line → how often threads have executed it so far: of its straight pieces of code the one
        executed most, copies of a piece added up. In a loop that the compiler has unrolled, a turn
        of the unrolled loop counts once."""
        trace = self.trace
        lanes = np.zeros(len(trace.program), np.int64)
        np.add.at(
            lanes,
            [s.pc for s in trace.steps[: self.index + 1]],
            trace._done[: self.index + 1],
        )
        counts = {}
        for line, pieces in sorted(trace.pieces.items()):
            total = defaultdict(int)
            for key, first, last in pieces:
                total[key] += int(lanes[first : last + 1].max())
            if most := max(total.values()):
                counts[line] = most
        return counts

    # -- shared memory
    @cached_property
    def _memory(self) -> tuple[dict, dict]:
        """Cell → (bits, type, writer, step) before this step, and the same after it."""
        before: dict = {}
        for step in self.trace.steps[: self.index]:
            before.update(cells_of(step))
        return before, before | dict(cells_of(self.step))

    def cells(self, name: str | None = None) -> list[Cell]:
        """The cells of a shared variable, or of all shared memory."""
        at, size = 0, self.trace.shared
        if name is not None:
            if name not in self.trace.variables:
                known = ", ".join(self.trace.variables) or "none"
                raise ValueError(f"no shared variable {name!r}; {self.trace.kernel} has {known}")
            at, size = self.trace.variables[name]
            size = size or self.trace.shared - at
        return [self.cell(k) for k in range(at // 4, -(-(at + size) // 4))]

    def cell(self, index: int) -> Cell:
        """4 bytes of shared memory by their number."""
        before, after = self._memory
        new, old = after.get(index), before.get(index)
        now = new is not None and new[3] == self.index
        thread, step = new[2:] if new else (None, None)
        return Cell(
            self._name(index),
            decoded(new),
            decoded(old) if now else None,
            None if thread == -1 else thread,
            None if step is None else self.trace.line(step),
            step,
            index in self._read,
            now,
        )

    @cached_property
    def _read(self) -> set[int]:
        found = set()
        for touch in self.step.touches:
            if touch.space == "shared" and touch.kind in ("load", "atomic"):
                start = self.trace.variables.get(touch.name, (0, 0))[0]
                for at in touch.offset.tolist():
                    found.update(range(at + start >> 2, (at + start + touch.width + 3) >> 2))
        return found

    def _name(self, cell: int) -> str:
        """`scratch[3]` for the cell, counted in 4 bytes."""
        inside = [(at, name) for name, (at, _) in self.trace.variables.items() if at <= 4 * cell]
        at, name = max(inside, default=(0, "shared"))
        return f"{name}[{cell - at // 4}]"

    # -- registers
    def registers(self, thread: int) -> list[Held]:
        """What a thread holds in registers, last written first."""
        last: dict = {}  # register → (step, write, what was there before)
        for k in self.trace.steps_of(thread):
            if k > self.index:
                break
            step = self.trace.steps[k]
            for write in step.writes if step.acting >> thread & 1 else ():
                old = last.pop(write.register, None)
                last[write.register] = k, write, old and old[:2]
        return [self._held_by(thread, *entry) for entry in reversed(last.values())]

    def _held_by(self, thread: int, k: int, write, old) -> Held:
        def value(k, write):
            return number(pick(write.values, self.trace.steps[k].acting, [thread])[0])

        return Held(
            self.trace.registers[write.register][0],
            value(k, write),
            value(*old) if old and k == self.index else None,
            self.trace.line(k),
            k,
            self._origin(self.trace.steps[k], thread),
        )

    def _origin(self, step: Step, thread: int) -> str:
        if step.sources is not None:
            return f"thread {int(pick(step.sources, step.acting, [thread])[0])}"
        for touch in step.touches:
            if touch.kind == "load" and touch.lanes >> thread & 1:
                return touch.place(thread)
        return self.trace.program[step.pc].origin


def cells_of(step: Step):
    """(cell, (bits, type, writer, step)) of what a step wrote to shared memory."""
    if step.cells is not None:
        c = step.cells
        for cell, bits, thread in zip(
            c.index.tolist(), c.bits.tolist(), c.threads.tolist(), strict=True
        ):
            yield cell, (bits, c.dtype, thread, step.index)


def decoded(entry):
    """The bits of a cell as its type: a number, or a tuple of the smaller ones in it."""
    if entry is None:
        return None
    bits, name = entry[:2]
    dtype = np.dtype(name)
    if dtype.itemsize > 4:
        return bits
    values = np.array([bits], np.uint32).view(dtype)
    return number(values[0]) if len(values) == 1 else tuple(map(number, values))


# ---------------------------------------------------------------------------- recording
def trace(
    kernel, grid, block, args, shared_mem=0, block_index=0, max_steps=MOST, **changes
) -> Trace:
    """Run a kernel once on the simulator and record one of its blocks.

    Takes what a launch takes; `block_index` is a number or a tuple (x, y, z), `schedule` and
    `budget` are those of `limits`. Mistakes of the kernel are collected in `.defects`. Raises
    LaunchError for a block the grid has not, BudgetExceeded for more than `max_steps` steps.
    """
    grid, block = check_dimensions(grid, block, kernel.name)
    tracer = Tracer(linear(block_index, grid, kernel.name), max_steps)
    limits = replace(kernels.LIMITS.get(), **changes)
    limits = replace(limits, observers=(*limits.observers, tracer))
    defects: list = []
    job = kernels.launch(kernel, grid, block, args, shared_mem, limits=limits, defects=defects)
    tracer.finish()
    return assembled(kernel, job, tracer, defects)


def linear(index, grid, name: str) -> int:
    """The number of a block, x first."""
    place = (*index, 0, 0)[:3] if isinstance(index, tuple) else unravelled(index, grid)
    if not all(0 <= i < n for i, n in zip(place, grid, strict=True)):
        raise LaunchError(
            f"cannot trace block {index} of {name}: the grid is {grid}, blocks are counted from 0",
            kernel=name,
        )
    x, y, z = place
    return x + grid[0] * (y + grid[1] * z)


def unravelled(index: int, grid) -> tuple:
    x, y, _ = grid
    return index % x, index // x % y, index // (x * y)


def assembled(kernel, job, tracer: Tracer, defects) -> Trace:
    """The Trace of what the tracer has seen of a launch."""
    program, segments = job.program, job.memory.segments
    wanted = kernel._parameters()
    names = {
        slot.name: wanted[k].name if wanted is not None else f"argument {k + 1}"
        for k, slot in enumerate(program.parameters)
    }
    rows = zip(program.instructions, program.rows, strict=True)
    arrays: dict = {}
    for s in segments:
        arrays.setdefault(s.name, (s.start, s.size, None if s.dtype is None else s.dtype.name))
    return Trace(
        kernel.name,
        job.grid,
        job.block,
        tracer.index,
        int(np.prod(job.block)),
        f"{kernels.current_spec().name} specification",
        job.source,
        tuple(code_of(ins, row, names) for ins, row in rows),
        tracer.registers(),
        arrays,
        tracer.shared_variables(),
        tracer.shared_size,
        tuple(defects),
        tuple(tracer.steps),
    )
