"""How a block joins its threads' values into one: every round of it, read off a recorded launch.

A round is what happens between one exchange and the next: lanes read each other's registers in a
shuffle, or cells of shared memory are joined between two barriers. Nothing here knows a kernel.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..simt import Trace
from ..simt.observers.banks import waves
from ..simt.steps import Step, Touch, lanes_of

__all__ = ["LANES", "Reduction", "Row", "reductions"]

LANES = 32  # threads of a warp, and banks of shared memory
FOLDS = {"max": np.max, "min": np.min, "sum": np.sum, "mul": np.prod}
EXCHANGES = ("shared", "shuffle")  # the rows that are rounds: they join two values into one


@dataclass(frozen=True)
class Row:
    """One line of the picture: values in their slots, and where they came from.

    `kind` is columns (each thread's own part of the row), store and load (registers to shared
    memory and back), shared and shuffle (a round of the tree), broadcast (all read one cell).
    Slots are threads when `place` is lane, cells of the shared array when it is cell. `edges` are
    (slot of the row above, slot here), a slot's own value included; `values` are by slot, None
    where it holds none; `neutral` slots hold the neutral element because nothing was loaded for
    them. `threads` and `warps` took part; `wavefronts` of shared memory against the `ideal` ones;
    `shuffles` are warp instructions; `barriers` of the block follow. `line` is the `.cu` file's.
    """

    kind: str
    place: str
    edges: tuple[tuple[int, int], ...] = ()
    values: tuple[float | None, ...] = ()
    neutral: frozenset[int] = frozenset()
    threads: int = 0
    warps: int = 0
    wavefronts: int = 0
    ideal: int = 0
    shuffles: int = 0
    barriers: int = 0
    line: int = 0

    @cached_property
    def written(self) -> frozenset[int]:
        """The slots that got their value in this row."""
        return frozenset(to for _, to in self.edges)

    @cached_property
    def foreign(self) -> tuple[tuple[int, int], ...]:
        """The edges between different slots: who read whose value."""
        return tuple((a, b) for a, b in self.edges if a != b)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The distances between reader and read, ascending."""
        return tuple(sorted({abs(a - b) for a, b in self.foreign}))


@dataclass(frozen=True)
class Reduction:
    """All rows of one reduction of a block: `op` is max, min, sum or mul; `fed` counts, by thread,
    the elements of global memory it loaded before the first exchange."""

    kernel: str
    device: str
    threads: int
    op: str
    fed: tuple[int, ...]
    rows: tuple[Row, ...]

    @cached_property
    def result(self) -> float:
        """What the reduction ends with."""
        return next(value for value in self.rows[-1].values if value is not None)

    @property
    def holders(self) -> int:
        """How many threads hold the result in a register at the end."""
        last = self.rows[-1]
        if last.kind == "broadcast":
            return last.threads
        return sum(value == self.result for value in last.values) if last.place == "lane" else 0

    @cached_property
    def rounds(self) -> int:
        """Exchanges one after another."""
        return sum(row.kind in EXCHANGES for row in self.rows)

    def total(self, name: str) -> int:
        """barriers, wavefronts, ideal or shuffles of all rows."""
        return sum(getattr(row, name) for row in self.rows)

    @cached_property
    def live(self) -> tuple[frozenset[int], ...]:
        """For each row the slots whose value is part of the result."""
        needed, found = _holding(self.rows[-1]), []
        for row, above in zip(self.rows[::-1], (*self.rows[-2::-1], None), strict=True):
            found.append(needed)
            read = {a for a, b in row.edges if b in needed}
            same = above is not None and above.place == row.place and row.kind != "load"
            needed = frozenset(read | (needed - row.written if same else set()))
        return tuple(found[::-1])


def _holding(row: Row) -> frozenset[int]:
    return frozenset(slot for slot, value in enumerate(row.values) if value is not None)


def reductions(trace: Trace) -> tuple[Reduction, ...]:
    """The reductions of a traced block in order: exchanges that end with the maximum, the minimum,
    the sum or the product of all threads' values. ValueError where there are none.

    A barrier between the last read of a result and what follows belongs to neither. Values are
    read as 32-bit floats.
    """
    found = _Reader(trace).read()
    if not found:
        raise ValueError(
            f"{trace.kernel} has no reduction in block {trace.block_index}: nothing joins "
            'its threads\' values into one; take a version that reduces a block, such as "v1"'
        )
    return found


@dataclass
class _Draft:
    """A row while it is read: `values` by slot; `then` is the pc whose result they become."""

    row: Row
    values: dict = field(default_factory=dict)
    pc: int = -1
    then: int = -1

    def frozen(self, slots: int) -> Row:
        return replace(self.row, values=tuple(self.values.get(slot) for slot in range(slots)))


class _Reader:
    """Walks once through the steps, with the registers and the shared cells as they are then."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.done = trace, []
        self.shared = _exchanged(trace)
        self.registers: dict[str, np.ndarray] = {}
        self.cells: dict[int, float] = {}
        self._restart()

    def _restart(self) -> None:
        self.rows: list[_Draft] = []
        self.op, self.fed = "", Counter()
        self.reads: list[tuple[Touch, np.ndarray, np.ndarray]] = []  # loads not yet part of a row

    def read(self) -> tuple[Reduction, ...]:
        for step in self.trace.steps:
            for touch in step.touches:
                self._touch(step, touch)
            if step.sources is not None:
                self._shuffle(step)
            self._write(step)
            if self.trace.program[step.pc].kind == "barrier" and step.released:
                self._barrier()
        self._finish()
        return tuple(self.done)

    # -- events
    def _touch(self, step: Step, touch: Touch) -> None:
        if touch.space == "global" and touch.kind == "load":
            if self.rows:
                self._finish()
            threads = lanes_of(touch.lanes).tolist()
            self.fed.update(dict.fromkeys(threads, touch.width // touch.unit))
        elif touch.space == "shared" and touch.name in self.shared:
            threads = lanes_of(touch.lanes)
            cells = np.broadcast_to(touch.index, len(threads))
            if touch.kind == "load":
                self.reads.append((touch, threads, cells))
                self.line = self._line(step)
            elif touch.kind == "store":
                self._store(step, touch, threads, cells)

    def _store(self, step, touch, threads, cells) -> None:
        values = np.broadcast_to(touch.values[0], len(threads))
        owner = dict(zip(threads.tolist(), cells.tolist(), strict=True))
        held = dict(zip(threads.tolist(), map(float, values), strict=True))
        row = self._row("store", "cell", step, threads)
        edges, used = list(owner.items()), ()
        if self.reads and set(owner) <= set(self.reads[-1][1].tolist()):
            used, self.reads = self.reads, []
            row = replace(row, kind="shared")
            pairs = (pair for _, who, cells in used for pair in _pairs(cells, who))
            edges = [(cell, owner[thread]) for cell, thread in pairs if thread in owner]
            self.op = self.op or self._operation(step.pc)
        elif not self.rows:
            self._columns(held)
        for one in (*used, (touch, threads, cells)):
            row = self._counted(row, *one)
        self.cells.update((cell, held[thread]) for thread, cell in owner.items())
        draft = _Draft(replace(row, edges=tuple(sorted(set(edges)))), dict(self.cells))
        self.rows.append(draft)

    def _shuffle(self, step: Step) -> None:
        threads = lanes_of(step.acting)
        code = self.trace.program[step.pc].ptx
        before = self._floats(_operands(code)[2], threads)
        self._flush()
        if not self.rows:
            self._columns(before)
        elif self.rows[-1].row.kind == "load":
            self._complete_load(before)
        sources = np.broadcast_to(step.sources, len(threads)).tolist()
        then, other = self._joined(step.pc)
        edges = set(zip(sources, threads.tolist(), strict=True))
        if other and self._floats(other, threads) == before:
            edges |= {(t, t) for t in threads.tolist()}
        self.op = self.op or self._operation(then)
        last = self.rows[-1]
        if last.pc == step.pc and not set(last.values) & set(before):  # another warp, a step later
            row = last.row
            edges |= set(row.edges)
        else:
            row, last = Row("shuffle", "lane", line=self._line(step)), None
        warps = len(np.unique(threads // LANES))
        row = replace(
            row, edges=tuple(sorted(edges)), threads=row.threads + len(threads),
            warps=row.warps + warps, shuffles=row.shuffles + warps,
        )
        received = dict(zip(threads.tolist(), self._received(step, len(threads)), strict=True))
        if last:
            last.row, last.values = row, last.values | received
        else:
            self.rows.append(_Draft(row, received, step.pc, then))

    def _write(self, step: Step) -> None:
        threads = lanes_of(step.acting) if step.writes else ()
        for write in step.writes:
            name, dtype = self.trace.registers[write.register]
            held = self.registers.get(name)
            if held is None:
                held = self.registers[name] = np.zeros(self.trace.threads, dtype)
            held[threads] = write.values
        draft = next((d for d in reversed(self.rows) if d.then == step.pc), None)
        if draft and step.writes:
            name = self.trace.registers[step.writes[0].register][0]
            draft.values.update(self._floats(name, threads))

    def _barrier(self) -> None:
        closed = self.rows and self.rows[-1].row.kind == "broadcast"
        self._flush()
        if self.rows and not closed and self.rows[-1].row.kind != "broadcast":
            last = self.rows[-1]
            last.row = replace(last.row, barriers=last.row.barriers + 1)

    # -- rows
    def _flush(self) -> None:
        """Loads that no store has followed: a broadcast when all threads read one cell."""
        if not self.reads or not self.rows:
            self.reads = []
            return
        edges, values, row = [], {}, Row("load", "lane", line=self.line)
        for touch, threads, cells in self.reads:
            edges += _pairs(cells, threads)
            values |= {t: self.cells.get(c) for c, t in edges}
            row = self._counted(row, touch, threads, cells)
        self.reads = []
        every = len(values) == self.trace.threads > 1
        if every and len({cell for cell, _ in edges}) == 1:
            row = replace(row, kind="broadcast")
        threads = np.array(sorted(values))
        row = replace(
            row, edges=tuple(sorted(set(edges))), threads=len(threads),
            warps=len(np.unique(threads // LANES)),
        )
        self.rows.append(_Draft(row, values))

    def _columns(self, values: dict) -> None:
        empty = frozenset(t for t in values if not self.fed[t])
        row = Row("columns", "lane", neutral=empty, threads=len(values),
                  warps=-(-len(values) // LANES))
        self.rows.append(_Draft(row, values))

    def _complete_load(self, before: dict) -> None:
        """Lanes that take part in the next shuffle without a load hold the neutral element."""
        draft = self.rows[-1]
        empty = frozenset(before) - draft.row.written
        draft.values = before | draft.values
        draft.row = replace(draft.row, neutral=draft.row.neutral | empty)

    def _finish(self) -> None:
        self._flush()
        if any(draft.row.kind in EXCHANGES for draft in self.rows):
            cells = 1 + max(self.cells, default=0)
            sizes = {"lane": self.trace.threads, "cell": cells}
            fed = tuple(self.fed[t] for t in range(self.trace.threads))
            rows = tuple(draft.frozen(sizes[draft.row.place]) for draft in self.rows)
            trace = self.trace
            one = Reduction(trace.kernel, trace.device, trace.threads, self.op, fed, rows)
            if _joins_all(one):
                self.done.append(one)
        self._restart()

    def _row(self, kind: str, place: str, step: Step, threads: np.ndarray) -> Row:
        warps = len(np.unique(threads // LANES))
        return Row(kind, place, threads=len(threads), warps=warps, line=self._line(step))

    def _counted(self, row: Row, touch: Touch, threads, cells) -> Row:
        """The row with the wavefronts of one more access."""
        warps = -(-self.trace.threads // LANES)
        offset, active = np.zeros(warps * LANES, np.int64), np.zeros(warps * LANES, bool)
        offset[threads], active[threads] = cells * touch.unit, True
        offset[threads] += self.trace.variables[touch.name][0]
        shape = warps, LANES
        found = waves(offset.reshape(shape), active.reshape(shape), touch.width, touch.kind)
        wavefronts, ideal = row.wavefronts + found.hardware, row.ideal + found.ideal
        return replace(row, wavefronts=wavefronts, ideal=ideal)

    # -- what the instructions say
    def _joined(self, pc: int) -> tuple[int, str]:
        """The instruction that joins what a shuffle brought with another value, and that value's
        register; copies from register to register are followed."""
        brought = {_operands(self.trace.program[pc].ptx)[0]}
        for at in range(pc + 1, len(self.trace.program)):
            code = self.trace.program[at]
            if code.kind in ("warp", "barrier", "control"):
                break
            names = _operands(code.ptx)
            if len(names) < 2 or not brought & set(names[1:]):
                continue
            if not code.ptx.startswith("mov"):
                return at, next((n for n in names[1:] if n not in brought), "")
            brought.add(names[0])
        return -1, ""

    def _operation(self, pc: int) -> str:
        """max, sum, min or mul, by the nearest instruction at or before `pc` that joins two."""
        for at in range(pc, -1, -1):
            word = self.trace.program[at].ptx.partition(".")[0]
            if word in ("max", "add", "min", "mul"):
                return {"add": "sum"}.get(word, word)
        return ""

    def _received(self, step: Step, count: int) -> list[float]:
        values = np.broadcast_to(step.writes[0].values, count)
        return [float(v) for v in _as_float(np.ascontiguousarray(values))]

    def _floats(self, name: str, threads) -> dict[int, float]:
        held = _as_float(self.registers[name])
        return {int(t): float(held[t]) for t in threads}

    def _line(self, step: Step) -> int:
        return self.trace.program[step.pc].line


def _joins_all(one: Reduction) -> bool:
    """Whether it ends with the join of all values it began with; a mere exchange does not."""
    values = [value for value in one.rows[0].values if value is not None]
    if one.op not in FOLDS:
        return False
    with np.errstate(all="ignore"):
        whole = float(FOLDS[one.op](np.array(values)))
    slack = 1e-4 * float(np.abs(values).sum()) if one.op == "sum" else 0.0  # floats, in any order
    same = math.isclose(one.result, whole, rel_tol=1e-4, abs_tol=slack)
    return same or math.isnan(one.result) or math.isnan(whole)


def _exchanged(trace: Trace) -> frozenset[str]:
    """The shared arrays that pass values on: not those in which every thread only keeps its own.
    In a block of one warp a partial result has a single thread for writer and reader."""
    writer, users, found = {}, {}, set()
    for step in trace.steps:
        for touch in step.touches:
            if touch.space != "shared" or touch.kind not in ("load", "store"):
                continue
            threads = lanes_of(touch.lanes).tolist()
            cells = np.broadcast_to(touch.index, len(threads)).tolist()
            places = [(touch.name, cell) for cell in cells]
            users.setdefault(touch.name, set()).update(threads)
            if touch.kind == "store":
                writer.update(zip(places, threads, strict=True))
            elif any(writer.get(p, t) != t for p, t in zip(places, threads, strict=True)):
                found.add(touch.name)
    return frozenset(found | {name for name, threads in users.items() if len(threads) == 1})


def _pairs(a: np.ndarray, b: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(a.tolist(), b.tolist(), strict=True))


def _operands(ptx: str) -> list[str]:
    """The registers an instruction names, its destination first, a shuffle's predicate second."""
    return re.findall(r"%[a-z]+\d+", ptx)


def _as_float(values: np.ndarray) -> np.ndarray:
    """Registers of 32 bits as the floats in them."""
    return values if values.dtype.kind == "f" else values.view(np.float32)
