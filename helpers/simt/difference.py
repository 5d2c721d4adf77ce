"""Where two traces part: the first line and lane, and in what.

Threads are compared one by one, each with itself: the order in which a schedule lets warps run is
no difference. Of one program every instruction counts; of two (a kernel before and after a change)
only what can be seen of both: what they load and store, and where threads meet.
"""

from dataclasses import dataclass

import numpy as np

from .steps import Step, lanes_of, pick
from .trace import Trace, number

__all__ = ["Difference", "diff"]

END = -1


@dataclass(frozen=True)
class Difference:
    """`kind` is path (they execute different things), address, value, or threads (one block has
    more of them); `lines`, `steps` and `found` are those of the first run and of the second (None
    where that has ended), `thread` is in the block. As text it is one sentence."""

    kind: str
    thread: int
    lines: tuple
    steps: tuple
    what: str
    found: tuple

    @property
    def line(self) -> int | None:
        """The line of the first run, or of the second where the first has ended."""
        return self.lines[0] if self.lines[0] is not None else self.lines[1]

    def __str__(self) -> str:
        a, b = self.lines
        where = f"line {a}" if a == b else f"line {a} of the first run, line {b} of the second"
        if None in self.lines:
            where = f"line {self.line}"
        first, second = self.found
        what = f"{self.what} " if self.what else ""
        said = f"{what}{first} in the first run, {second} in the second"
        return f"{where}, thread {self.thread}: {said}"


def diff(run_a: Trace, run_b: Trace) -> Difference | None:
    """The first difference between two traces, in the order of the first; None when there is none.

    Values are compared bit by bit. ValueError for anything but two traces.
    """
    if not isinstance(run_a, Trace) or not isinstance(run_b, Trace):
        raise ValueError("diff compares two traces: record each with helpers.simt.trace(…)")
    return Comparison(run_a, run_b).run()


class Comparison:
    """One run of `diff`: `whole` when both traces are of one program."""

    def __init__(self, a: Trace, b: Trace):
        self.a, self.b = a, b
        self.whole = [c.ptx for c in a.program] == [c.ptx for c in b.program]
        self.threads = min(a.threads, b.threads)
        self.plan_b, self.later_b = self.plan(b)

    def run(self) -> Difference | None:
        done = np.zeros(self.threads, int)  # how far each thread has come in the second run
        for step in self.a.steps:
            if not self.counts(self.a, step):
                continue
            lanes = self.lanes(step)
            partners = self.plan_b[lanes, done[lanes]]
            done[lanes] += 1
            parts = [
                self.compare(step, int(partner), lanes[partners == partner])
                for partner in np.unique(partners)
            ]
            if found := min(filter(None, parts), key=lambda d: d.thread, default=None):
                return found
        return self.rest(done) or self.sizes()

    # -- which steps count
    def counts(self, trace: Trace, step: Step) -> bool:
        """Does the step matter? Of two programs only what touches memory or meets other lanes."""
        return self.whole or bool(step.touches) or trace.kind(step.index) in ("barrier", "warp")

    def lanes(self, step: Step) -> np.ndarray:
        """The threads of both runs that get the step done."""
        lanes = lanes_of(step.done)
        return lanes[lanes < self.threads]

    def plan(self, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        """(threads, …): the steps of each thread in order, END behind the last; and how many."""
        rows: list[list[int]] = [[] for _ in range(self.threads)]
        for step in trace.steps:
            if self.counts(trace, step):
                for thread in self.lanes(step).tolist():
                    rows[thread].append(step.index)
        length = max(max(map(len, rows)), len(self.a)) + 1
        plan = np.full((self.threads, length), END)
        for thread, row in enumerate(rows):
            plan[thread, : len(row)] = row
        return plan, np.array([len(row) for row in rows])

    # -- comparing
    def compare(self, step: Step, partner: int, lanes) -> Difference | None:
        """The first difference of some lanes between a step and its partner in the second run."""
        if partner == END:
            return self.found("path", lanes[0], step, None, "", (self.does(step), "has ended"))
        other = self.b.steps[partner]
        same = (
            step.pc == other.pc
            if self.whole
            else self.shape(self.a, step) == self.shape(self.b, other)
        )
        if not same:
            does = f"{self.does(step)}", f"{self.does(other, self.b)}"
            return self.found("path", lanes[0], step, other, "", does)
        looks = (self.acting, self.jumps, self.addresses, self.stored, self.results)
        parts = [found for look in looks for found in look(step, other, lanes)]
        return min(parts, key=lambda d: d.thread, default=None)

    def shape(self, trace: Trace, step: Step) -> tuple:
        """What a step of another program must have to be the same."""
        touches = tuple((t.kind, t.space) for t in step.touches)
        return touches or trace.program[step.pc].ptx.split()[0]

    def does(self, step: Step, trace: Trace | None = None) -> str:
        return f"executes `{(trace or self.a).program[step.pc].ptx}`"

    def found(self, kind, thread, step, other, what, values) -> Difference:
        return Difference(
            kind,
            int(thread),
            (step and self.a.line(step.index), other and self.b.line(other.index)),
            (step and step.index, other and other.index),
            what,
            values,
        )

    def acting(self, step: Step, other: Step, lanes):
        yield from self.masks(step, other, lanes, step.acting, other.acting, "acts", "sits out")

    def jumps(self, step: Step, other: Step, lanes):
        if self.whole and step.taken is not None:
            words = "takes the branch", "goes on"
            yield from self.masks(step, other, lanes, step.taken, other.taken, *words)

    def masks(self, step, other, lanes, first: int, second: int, yes: str, no: str):
        for thread in lanes[np.isin(lanes, lanes_of(first ^ second))][:1]:
            said = [yes if mask >> int(thread) & 1 else no for mask in (first, second)]
            yield self.found("path", thread, step, other, "", tuple(said))

    def addresses(self, step: Step, other: Step, lanes):
        for one, two in zip(step.touches, other.touches, strict=False):
            here = lanes[np.isin(lanes, lanes_of(one.lanes & two.lanes))]
            moved = one.name != two.name or one.width != two.width
            differ = pick(one.offset, one.lanes, here) != pick(two.offset, two.lanes, here)
            for thread in here[differ | moved][:1]:
                places = one.place(thread), two.place(thread)
                yield self.found("address", thread, step, other, f"{one.kind} of", places)

    def stored(self, step: Step, other: Step, lanes):
        for one, two in zip(step.touches, other.touches, strict=False):
            here = lanes[np.isin(lanes, lanes_of(one.lanes & two.lanes))]
            for first, second in zip(one.values, two.values, strict=False):
                values = pick(first, one.lanes, here), pick(second, two.lanes, here)
                for thread, said in self.values(here, *values):
                    what = f"{one.place(thread)} becomes"
                    yield self.found("value", thread, step, other, what, said)

    def results(self, step: Step, other: Step, lanes):
        here = lanes[np.isin(lanes, lanes_of(step.acting & other.acting))]
        if not self.whole and not (step.touches or step.sources is not None):
            return
        for one, two in zip(step.writes, other.writes, strict=False):
            values = pick(one.values, step.acting, here), pick(two.values, other.acting, here)
            for thread, said in self.values(here, *values):
                what = self.a.at(step.index)._origin(step, int(thread))
                name = self.a.registers[one.register][0]
                what = f"{what} is" if what else f"register {name} becomes"
                yield self.found("value", thread, step, other, what, said)

    def values(self, lanes, first, second):
        """The first lane whose values differ in any bit, and the two values."""
        if first.dtype != second.dtype:
            first, second = (bits(v) for v in (first, second))
        for k in np.flatnonzero(bits(first) != bits(second)):
            one, two = number(first[k]), number(second[k])
            if not target(self.a, one) or target(self.a, one) != target(self.b, two):
                yield lanes[k], (one, two)
                return

    # -- what is left when the first run has ended
    def rest(self, done) -> Difference | None:
        left = np.flatnonzero(done < self.later_b)
        if not len(left):
            return None
        thread = min(left, key=lambda t: self.plan_b[t, done[t]])
        other = self.b.steps[self.plan_b[thread, done[thread]]]
        said = "has ended", self.does(other, self.b)
        return self.found("path", thread, None, other, "", said)

    def sizes(self) -> Difference | None:
        a, b = self.a.threads, self.b.threads
        if a == b:
            return None
        more = self.a if a > b else self.b
        first = more.steps_of(self.threads)[0]
        steps = (first, None) if more is self.a else (None, first)
        lines = tuple(None if k is None else more.line(k) for k in steps)
        said = f"there are {a} threads", f"{b}"
        return Difference("threads", self.threads, lines, steps, "", said)


def target(trace: Trace, value) -> tuple | None:
    """What a value points at, if it is an address: where arrays are larger, the next ones lie
    elsewhere, which is no difference."""
    for name, (start, size, _) in trace.arrays.items() if isinstance(value, int) else ():
        if start <= value <= start + size:
            return name, value - start
    return None


def bits(values) -> np.ndarray:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
