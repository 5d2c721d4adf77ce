"""Executes a Program on the lanes of many blocks at once.

A chunk is a group of blocks that run side by side. All its lanes sit in NumPy arrays of shape
(blocks, threads), and one Python call executes one instruction for every lane that is at it. Lanes
part at branches into fragments, each with a program counter and a mask, and join again where their
counters meet; the fragment with the lowest counter goes first, which brings them together as early
as the code allows. The numbers do not depend on that choice unless the kernel has a race.
"""

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random
from threading import Lock

import numpy as np

from . import special
from .decode import Program
from .errors import BudgetExceeded, Defect, SimulatorError
from .isa.control import STOP
from .meeting import Meetings
from .memory import GlobalMemory, Rows

__all__ = ["Chunk", "Launch", "chunks", "run"]

LANES = 1 << 17  # of a chunk: enough that NumPy, not Python, has the work
SERIAL_LANES = 1 << 12  # where one lane after another gets its turn, each at the cost of all
WORKERS = 4  # chunks at once: NumPy lets other threads work while it computes
LOCAL_BYTES = 1 << 28  # of the local arrays of a chunk
NOBODY = np.zeros((1, 1), bool)
REPORTING = Lock()  # chunks side by side may find one defect at a time
TICK = (1 << 12) - 1  # instructions between looks at budget and progress
LONG = (1 << 18) - 1  # instructions after which any loop makes way for other lanes
PATIENCE = 8  # looks at memory that does not change, after which a loop makes way
SHARED_WINDOW = (0x0100_0000_0000, 0x0100_0100_0000)
LOCAL_WINDOW = (0x0200_0000_0000, 0x0200_0100_0000)
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
EVENTS = ("chunk", "instruction", "run", "access", "branch", "barrier", "sync", "warp_sync")
EVENTS += ("fence", "shuffle", "async_commit", "async_wait", "mbarrier")


@dataclass(frozen=True)
class Launch:
    """Everything that one launch fixes. `schedule` is lowest, highest, or a seed for a random
    order; `budget` counts the instructions a chunk may execute; `defects` is a list that collects
    them, or None to raise the first."""

    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    memory: GlobalMemory
    parameters: bytes
    dynamic_shared: int
    observers: tuple
    defects: list | None
    budget: int
    schedule: object
    source: tuple[str, ...]
    file: str
    progress: object = None  # called with the number of blocks that have ended, 0 now and then
    resident: int = 1 << 40  # blocks that the device holds at a time
    workspace: int = 0  # the address of the grid's barrier, 0 without one
    printed: list = field(default_factory=list)  # (block, thread, text) of every printf
    stop: threading.Event = field(default_factory=threading.Event)  # set: chunks give up


class Stopped(Exception):
    """A chunk gave up because another one failed, or because the reader interrupted."""


class Chunk(Meetings):
    """Blocks `first` … `first + count - 1` of a launch: registers, memories, fragments."""

    windows = WINDOWS

    def __init__(self, launch: Launch, first: int, count: int):
        self.launch, self.first = launch, first
        program = launch.program
        self.threads = int(np.prod(launch.block))
        self.shape = (count, -(-self.threads // 32) * 32)
        self.memory, self.parameters = launch.memory, launch.parameters
        self.registers = list(program.zeros)
        self.rows = self.block_memories(count)
        here = np.arange(self.shape[1])[None, :] < self.threads
        self.alive = None if here.all() else here  # None: every lane of the chunk
        self.mask = self.alive
        self.pc = 0
        self.free = None  # the mask of the fragment that runs, when no other lane is alive
        self.fragments = {0: self.alive}
        self.selections: tuple = (None, {})  # (mask, {shape: Lanes}): the last mask's, kept
        self.spans: dict = {}  # register → its last value that was an address, and that as a Span
        self.meetings: dict = {}  # (kind, mode) → [Parked]
        self.barriers: dict = {}  # barrier number → [Parked]
        self.executed = self.changes = 0  # instructions; those that may have changed memory
        self.polls = self.polled_at = 0  # looks at memory since the last change, and which that was
        self.patience = PATIENCE
        self.tired: set = set()  # the places of fragments that only poll
        self.seen_at = -1  # the last change that all of these have looked for
        self.states: tuple = (0, set())  # (changes, what `repeats` has seen since)
        self.copies = None  # cp.async under way, once there is one (isa.copies.Copies)
        self._special: dict = {}
        self.observers = [o.fork() if hasattr(o, "fork") else o for o in launch.observers]
        for event in EVENTS:
            hearing = [getattr(o, f"on_{event}", None) for o in self.observers]
            setattr(self, f"watch_{event}", [hear for hear in hearing if hear])

    def block_memories(self, count: int) -> dict:
        program = self.launch.program
        size = program.shared
        if self.launch.dynamic_shared:
            size = program.dynamic + self.launch.dynamic_shared
        rows = {"shared": Rows(np.arange(count)[:, None], size)}
        if program.local:
            lanes = np.arange(count * self.shape[1]).reshape(self.shape)
            rows["local"] = Rows(lanes, program.local)
        return rows

    # -- running
    def run(self) -> bool:
        """Run every lane to its end; False when those that are left only wait for memory to
        change, which takes another chunk."""
        if not self.executed:
            for hear in self.watch_chunk:
                hear(self)
        steps, watch = self.launch.program.steps, self.watch_instruction
        fragments, pick, budget = self.fragments, self.scheduler(), self.launch.budget
        while fragments or self.release():
            pc = pick(fragments) if not self.tired else self.rested(pick)
            if pc is None:
                return False
            self.mask = fragments.pop(pc)
            alone = not (fragments or self.meetings or self.barriers)
            self.free = self.mask if alone else NOBODY
            first = pc
            while True:
                self.pc = pc
                self.executed += 1
                if not self.executed & TICK:
                    self.tick(budget)
                if watch:
                    for hear in watch:
                        hear(self)
                go = steps[pc](self)
                if go is None:
                    pc += 1
                    if pc not in fragments:
                        continue
                for hear in self.watch_run:
                    hear(self, first, self.pc)
                if go == STOP:
                    break
                if go is not None:
                    pc = go
                if fragments or self.polls >= self.patience:
                    self.yield_at(pc)
                    break
                first = pc
        return True

    def yield_at(self, pc: int) -> None:
        """The fragment that runs goes back among the others, as tired when it has been polling."""
        if self.polls >= self.patience:
            self.tired.add(pc)
            self.polls = 0
        self.put(pc, self.mask)

    def poll(self) -> None:
        """Somebody looked at memory that others may change: a flag, a lock, a counter."""
        if self.polled_at != self.changes:
            self.polls, self.polled_at = 0, self.changes
        self.polls += 1

    def rested(self, pick):
        """The next fragment among those that do not merely poll; when all do, all get another
        turn if anything has changed since they last had one. None: nothing has."""
        fresh = {pc: mask for pc, mask in self.fragments.items() if pc not in self.tired}
        if fresh:
            return pick(fresh)
        self.tired.clear()
        released = self.release_warps() or self.release_blocks()
        if released or self.seen_at != self.changes:
            self.seen_at = self.changes
            return pick(self.fragments)
        return None

    def repeats(self) -> bool:
        """Is every lane where it has been before, with all its registers and no memory changed?
        Then nothing will ever come of it, unless another chunk changes memory. Else it may be
        counting: look again after twice as long."""
        places = sorted(self.fragments)
        values = (*(self.active(self.fragments[pc]) for pc in places), *self.registers)
        state = hash((*places, *((v.shape, v.tobytes()) for v in values)))
        before, states = self.states
        if before != self.changes:
            self.states = self.changes, (states := set())
        known = state in states
        states.add(state)
        if not known:
            self.patience *= 2
        return known

    def spinning(self, waiting: int) -> SimulatorError:
        """The error for a launch in which all lanes that are left look at memory that none of them
        will change; `waiting` blocks could not start."""
        self.pc = min(self.fragments)
        line, lanes = self.launch.program.instructions[self.pc].line, self.fragments[self.pc]
        more = (
            f". {waiting} blocks of the grid have not started: the device holds "
            f"{self.launch.resident} at a time, and those wait"
        )
        return BudgetExceeded(
            f"spinning without progress at line {line}: threads wait for a value in memory that "
            f"no thread will change{more if waiting else ''}",
            budget=self.launch.budget,
            **self.where(self.active(lanes)),
        )

    def tick(self, budget: int) -> None:
        """Now and then: is this an endless loop, and is the reader still waiting?"""
        if self.executed > budget:
            raise self.exhausted()
        if self.launch.stop.is_set():
            raise Stopped
        if self.fragments and not self.executed & LONG:
            self.polls = self.patience  # whatever it does, others have waited for long enough
        if self.launch.progress:
            self.launch.progress(0)

    def scheduler(self):
        """How the next fragment is chosen from {pc: mask}."""
        schedule = self.launch.schedule
        if schedule == "lowest":  # but lanes that are at their end leave at once
            ends = {pc for pc, step in enumerate(self.launch.program.instructions) if at_end(step)}
            return lambda fragments: min(ends & fragments.keys() or fragments)
        if schedule == "highest":
            return max
        random = Random(schedule)
        return lambda fragments: random.choice(sorted(fragments))

    def put(self, pc: int, mask) -> None:
        """Lanes go on at `pc`, together with those that are there already."""
        there = self.fragments.get(pc)
        mask = mask if there is None else there | mask
        if mask is not None and self.alive is None and mask.all():
            mask = None
        self.fragments[pc] = mask

    def retire(self, mask) -> None:
        """Lanes exit."""
        if mask is None:
            self.alive = np.zeros((1, 1), bool)
        else:
            self.alive = ~mask if self.alive is None else self.alive & ~mask

    def exhausted(self) -> SimulatorError:
        ins = self.launch.program.instructions[self.pc]
        return BudgetExceeded(
            f"instruction budget of {self.launch.budget} exceeded, spinning at line {ins.line}: "
            "an endless loop, or a long one; helpers.simt.limits(budget=…) raises the budget",
            budget=self.launch.budget,
            **self.where(self.active()),
        )

    # -- what a kernel can ask
    def special(self, name: str) -> np.ndarray:
        """A special register, uint32 (64-bit ones uint64)."""
        if name not in self._special:
            self._special[name] = special.value(self, name)
        return self._special[name]

    # -- saying what is wrong
    def where(self, bad_lanes=None, pc=None) -> dict:
        """Kernel, file, line, source text and, of the first bad lane, block and thread."""
        launch = self.launch
        ins = launch.program.instructions[self.pc if pc is None else pc]
        own = ins.file in (0, 1)
        text = (
            launch.source[ins.line - 1].strip()
            if own and ins.line and ins.line <= len(launch.source)
            else None
        )
        place = {"kernel": launch.program.name, "line": ins.line or None, "source": text}
        place["file"] = launch.file if own else launch.program.files.get(ins.file)
        if bad_lanes is not None:
            b, t = np.argwhere(np.broadcast_to(bad_lanes, self.shape))[0]
            place["block"] = unravel(self.first + int(b), launch.grid)
            place["thread"] = unravel(int(t), launch.block)
        return place

    def defect(self, kind: str, message: str, *, bad_lanes=None, pc=None, **facts) -> None:
        """Report a mistake of the kernel: raise it, or add it to the launch's list once a line.
        A note (`severity`) is never raised. `facts` are further attributes of the Defect."""
        found = Defect(kind, message, **(self.where(bad_lanes, pc) | facts))
        if self.launch.defects is None:
            if found.severity == "error":
                raise found
            return
        with REPORTING:
            if found.key not in {d.key for d in self.launch.defects}:
                self.launch.defects.append(found)

    def variable(self, space: str, offset: int) -> tuple[str, int, int] | None:
        """The shared variable that an offset lies in or just behind: its name, the offset within
        it, and its size (what the launch gave, for a dynamic one)."""
        table = self.launch.program.variables if space == "shared" else {}
        before = [(place, size, name) for name, (place, size) in table.items() if place <= offset]
        if not before:
            return None
        place, size, name = max(before)
        return short(name), offset - place, size or self.launch.dynamic_shared


def at_end(ins) -> bool:
    """Do all lanes that come to this instruction exit?"""
    return ins.opcode in ("ret", "exit") and ins.guard is None


def short(name: str) -> str:
    """The C++ name of a mangled function-scope variable: `_ZZ10softmax_v1E1s` is `s`."""
    if not name.startswith("_Z"):
        return name
    for i in range(len(name) - 1, -1, -1):
        for n in range(1, len(name) - i):
            digits = name[i : i + n]
            if digits.isdigit() and int(digits) == len(name) - i - n:
                return name[i + n :]
    return name


def unravel(index: int, shape) -> int | tuple:
    """A linear index as CUDA's (x, y, z), or as it is where only x is used."""
    x, y, z = shape
    return index if y == z == 1 else (index % x, index // x % y, index // (x * y))


def chunks(launch: Launch):
    """The launch's blocks in groups that run side by side: (first block, count)."""
    total = int(np.prod(launch.grid))
    threads = -(-int(np.prod(launch.block)) // 32) * 32
    most = SERIAL_LANES if launch.program.serial else LANES
    lanes = min(most, LOCAL_BYTES // max(launch.program.local, 1))
    count = max(1, lanes // threads)
    for first in range(0, total, count):
        yield first, min(count, total - first)


def run(launch: Launch) -> None:
    """Execute a launch, chunk after chunk, or several at once where blocks cannot notice."""
    jobs = list(chunks(launch))
    workers = min(len(jobs), os.cpu_count() or 1, WORKERS)
    if workers == 1 or not independent(launch):
        for chunk in in_turns(launch, jobs):
            finish(launch, chunk)
        return
    quiet = replace(launch, progress=None)  # the workers' part; here the blocks are counted
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(lambda job: [*in_turns(quiet, [job])], job) for job in jobs]
        try:
            for job in running:
                for chunk in job.result():
                    finish(launch, chunk)
        finally:  # all done, or the first defect, or Ctrl-C: whoever still runs may stop
            launch.stop.set()
            for job in running:
                job.cancel()


def independent(launch: Launch) -> bool:
    """May chunks run side by side? Not when blocks can talk to each other, and not when an observer
    wants to see everything in order (it has no fork)."""
    return not launch.program.talks and all(hasattr(o, "fork") for o in launch.observers)


def in_turns(launch: Launch, jobs):
    """Run chunks, and yield them in their order. One that can only wait for memory to change rests
    while others run: no more blocks at a time than the device holds, as on a GPU."""
    todo, resting, ended, at = deque(jobs), deque(), {}, jobs[0][0]
    quiet = vain = 0  # turns in a row: without a change, without a chance
    while todo or resting:
        room = launch.resident - sum(chunk.shape[0] for chunk in resting)
        chunk = start(launch, todo, room) if todo and room > 0 else resting.popleft()
        before = chunk.changes
        with np.errstate(all="ignore"):
            done = chunk.run()
        if done or chunk.changes != before:
            quiet, vain, chunk.patience = 0, 0, PATIENCE
        if done:
            chunk.registers, chunk.spans = [], {}  # large, and nobody asks for them any more
            ended[chunk.first] = chunk
            while at in ended:
                chunk = ended.pop(at)
                at += chunk.shape[0]
                yield chunk
            continue
        resting.append(chunk)
        quiet += 1
        if quiet > len(resting):
            vain = vain + 1 if chunk.repeats() else 0
        if vain > len(resting):
            raise chunk.spinning(sum(count for _, count in todo))


def start(launch: Launch, todo: deque, room: int) -> Chunk:
    """The next chunk, or as many of its blocks as there is room for."""
    first, count = todo.popleft()
    if count > room:
        todo.appendleft((first + room, count - room))
    return Chunk(launch, first, min(count, room))


def finish(launch: Launch, chunk: Chunk) -> None:
    """Gather what the observers of one chunk saw."""
    for whole, part in zip(launch.observers, chunk.observers, strict=True):
        if part is not whole:
            whole.join(part)
    if launch.progress:
        launch.progress(chunk.shape[0])
