"""Executes a Program on the lanes of many blocks at once.

A chunk is a group of blocks that run side by side. All its lanes sit in NumPy arrays of shape
(blocks, threads), and one Python call executes one instruction for every lane that is at it. Lanes
part at branches into fragments, each with a program counter and a mask, and join again where their
counters meet; the fragment with the lowest counter goes first, which brings them together as early
as the code allows. The numbers do not depend on that choice unless the kernel has a race.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from .decode import Program
from .errors import BudgetExceeded, Defect, SimulatorError
from .isa.control import STOP
from .isa.lanes import blend
from .isa.warp import BIT, LANE, by_warp, everyone
from .memory import GlobalMemory, Rows

__all__ = ["Chunk", "Launch", "chunks", "run"]

LANES = 1 << 16  # of a chunk: its registers stay in the processor's cache
WORKERS = 4  # chunks at once: NumPy lets other threads work while it computes
TICK = (1 << 12) - 1  # instructions between looks at budget and progress
SHARED_WINDOW = (0x0100_0000_0000, 0x0100_0100_0000)
LOCAL_WINDOW = (0x0200_0000_0000, 0x0200_0100_0000)
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
EVENTS = ("chunk", "instruction", "access", "branch", "barrier", "sync", "warp_sync", "shuffle")


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


@dataclass
class Parked:
    """Lanes that wait for partners: at a barrier, or at an operation of their warp."""

    pc: int
    mask: np.ndarray
    values: list
    act: object = None


class Chunk:
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
        self.fragments = {0: self.alive}
        self.meetings: dict = {}  # (kind, mode) → [Parked]
        self.barriers: dict = {}  # barrier number → [Parked]
        self.executed = 0
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
    def run(self) -> None:
        """Run every lane to its end."""
        for hear in self.watch_chunk:
            hear(self)
        steps, watch = self.launch.program.steps, self.watch_instruction
        fragments, pick, budget = self.fragments, self.scheduler(), self.launch.budget
        while fragments or self.release():
            pc = pick(fragments)
            self.mask = fragments.pop(pc)
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
                elif go == STOP:
                    break
                else:
                    pc = go
                if fragments:
                    if go is not None or pc in fragments:
                        self.put(pc, self.mask)
                        break

    def tick(self, budget: int) -> None:
        """Now and then: is this an endless loop, and is the reader still waiting?"""
        if self.executed > budget:
            raise self.exhausted()
        if self.launch.progress:
            self.launch.progress(0)

    def scheduler(self):
        """How the next fragment is chosen from {pc: mask}."""
        schedule = self.launch.schedule
        if schedule == "lowest":
            return min
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
            **self.where(),
        )

    # -- meeting
    def living(self) -> np.ndarray:
        return np.ones((1, 1), bool) if self.alive is None else self.alive

    def active(self, mask=None) -> np.ndarray:
        mask = self.mask if mask is None else mask
        return np.ones((1, 1), bool) if mask is None else mask

    def meet(self, kind, values: list, act):
        """An operation of a warp, whose last value is the member mask: act now for warps that are
        complete, and park the lanes of the others."""
        members = values[-1]
        if self.mask is None and everyone(members):
            act(self, None, values)
            return None
        active = by_warp(self, self.active())
        self.check_members(kind[0], active, members)
        ready = complete(self, active, members)
        if ready.all():
            act(self, self.mask, values)
            return None
        ready = ready & self.active()
        waiting = self.active() & ~ready
        if ready.any():
            here, self.mask = self.mask, ready
            act(self, ready, values)
            self.mask = here
            self.put(self.pc + 1, ready)
        self.meetings.setdefault(kind, []).append(Parked(self.pc, waiting, values, act))
        return STOP

    def check_members(self, what: str, active, members) -> None:
        """A lane that executes a warp operation must be in its own member mask."""
        if everyone(members):
            return
        outside = active & (by_warp(self, members) & BIT == 0)
        if outside.any():
            lane = int(np.argwhere(outside)[0][-1])
            self.defect(
                "outside the member mask",
                f"lane {lane} executes {what}.sync with a member mask that leaves it out",
                bad_lanes=outside.reshape(outside.shape[0], -1),
            )

    def wait_block(self, number: int) -> int:
        """Park the lanes at barrier `number`; release() lets complete blocks go."""
        self.barriers.setdefault(number, []).append(Parked(self.pc, self.active(), []))
        return STOP

    def release(self) -> bool:
        """No fragment can run: let go those lanes whose partners have come. False at the end."""
        if self.release_warps() or self.release_blocks():
            return True
        if not (self.meetings or self.barriers):
            return False
        self.stuck()
        return bool(self.fragments)

    def release_warps(self) -> bool:
        moved = False
        for kind, parked in list(self.meetings.items()):
            whole = np.zeros(self.shape, bool)
            values = [np.zeros(self.shape, v.dtype) for v in parked[0].values]
            for p in parked:
                whole = whole | p.mask
                values = [
                    blend(p.mask, new, old) for new, old in zip(p.values, values, strict=True)
                ]
            ready = complete(self, by_warp(self, whole), values[-1]) & whole
            if not ready.any():
                continue
            moved = True
            for p in parked:
                going = p.mask & ready
                if going.any():
                    self.mask, self.pc = going, p.pc
                    p.act(self, ready, values)
                    self.put(p.pc + 1, going)
                p.mask = p.mask & ~ready
            self.keep(self.meetings, kind, parked)
        return moved

    def release_blocks(self) -> bool:
        moved = False
        for number, parked in list(self.barriers.items()):
            arrived = np.zeros(self.shape, bool)
            for p in parked:
                arrived = arrived | p.mask
            waits = arrived.any(1, keepdims=True)
            done = waits & (arrived | ~self.living()).all(1, keepdims=True)
            if not done.any():
                continue
            moved = True
            self.same_barrier(parked)
            for hear in self.watch_sync:
                hear(self, np.broadcast_to(done, self.shape))
            for p in parked:
                going = p.mask & done
                if going.any():
                    self.put(p.pc + 1, going)
                p.mask = p.mask & ~done
            self.keep(self.barriers, number, parked)
        return moved

    def keep(self, table: dict, key, parked: list) -> None:
        left = [p for p in parked if p.mask.any()]
        table.pop(key)
        if left:
            table[key] = left

    def same_barrier(self, parked: list) -> None:
        """bar.sync is warp-aligned: lanes of one warp must be at the same instruction."""
        places = np.zeros((*self.shape[:1], self.shape[1] // 32), int)
        for pc in {p.pc for p in parked}:
            here = np.zeros(self.shape, bool)
            for p in parked:
                if p.pc == pc:
                    here = here | p.mask
            places += here.reshape(*places.shape, 32).any(-1)
        torn = np.repeat(places > 1, 32, axis=1)
        if torn.any():
            self.pc = parked[0].pc
            self.defect(
                "divergent barrier",
                "lanes of one warp are at different __syncthreads(): undefined, every thread of "
                "the warp must reach the same one",
                bad_lanes=torn & np.broadcast_to(parked[0].mask, self.shape),
            )

    def stuck(self) -> None:
        """Nobody can go on: say who waits and who is missing, then let the waiting ones end."""
        table = self.barriers or self.meetings
        key, parked = next(iter(table.items()))
        arrived = np.zeros(self.shape, bool)
        for p in parked:
            arrived = arrived | p.mask
        self.pc = parked[0].pc
        block = int(arrived.any(1).argmax())
        missing = np.broadcast_to(self.living(), self.shape)[block] & ~arrived[block]
        what = "__syncthreads()" if table is self.barriers else f"{key[0]}"
        self.defect(
            "divergent barrier" if table is self.barriers else "divergent warp operation",
            f"threads {ranges(arrived[block])} wait at {what} for threads {ranges(missing)}, "
            "which wait elsewhere and never come",
            bad_lanes=arrived,
        )
        for waiting in (self.barriers, self.meetings):
            for p in (p for parked in waiting.values() for p in parked):
                self.retire(p.mask)
            waiting.clear()

    # -- what a kernel can ask
    def special(self, name: str) -> np.ndarray:
        """A special register, uint32 (64-bit ones uint64)."""
        if name not in self._special:
            self._special[name] = special(self, name[1:])
        return self._special[name]

    # -- saying what is wrong
    def where(self, bad_lanes=None) -> dict:
        """Kernel, file, line, source text and, of the first bad lane, block and thread."""
        launch = self.launch
        ins = launch.program.instructions[self.pc]
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

    def defect(self, kind: str, message: str, *, bad_lanes, array=None) -> None:
        """Report a mistake of the kernel: raise it, or add it to the launch's list once a line."""
        found = Defect(kind, message, array=array, **self.where(bad_lanes))
        if self.launch.defects is None:
            raise found
        known = {(d.kind, d.line, d.array) for d in self.launch.defects}
        if (found.kind, found.line, found.array) not in known:
            self.launch.defects.append(found)

    def variable_at(self, space: str, offset: int) -> str:
        """Which shared variable an offset lies in or just behind, for a message."""
        table = self.launch.program.variables if space == "shared" else {}
        before = [(place, size, name) for name, (place, size) in table.items() if place <= offset]
        if not before:
            return ""
        place, size, name = max(before)
        return f", {offset - place} bytes into `{short(name)}` ({size} B)"


def short(name: str) -> str:
    """The C++ name of a mangled function-scope variable: `_ZZ10softmax_v1E1s` is `s`."""
    digits = ""
    tail = name
    for i in range(len(name) - 1, -1, -1):
        for n in range(1, len(name) - i):
            digits = name[i : i + n]
            if digits.isdigit() and int(digits) == len(name) - i - n and name.startswith("_Z"):
                return name[i + n :]
    return tail


def complete(m: Chunk, active, members) -> np.ndarray:
    """Lanes all of whose fellow members that still live are active, too: (blocks, threads)."""
    weights = np.uint32(1) << LANE.astype(np.uint32)
    here = (active * weights).sum(-1, dtype=np.uint32)[..., None]
    living = (by_warp(m, m.living()) * weights).sum(-1, dtype=np.uint32)[..., None]
    ready = (by_warp(m, members) & living & ~here) == 0
    ready = ready | ~active
    return ready.reshape(ready.shape[0], -1)


def special(m: Chunk, name: str) -> np.ndarray:
    launch, (count, threads) = m.launch, m.shape
    base, _, axis = name.partition(".")
    k = "xyz".find(axis) if axis else 0
    lanes = np.arange(threads, dtype=np.int64)[None, :]
    blocks = np.arange(m.first, m.first + count, dtype=np.int64)[:, None]
    uniform = np.ones((1, 1), np.int64)
    weight = {
        "eq": 1 << lanes % 32,
        "lt": (1 << lanes % 32) - 1,
        "le": (2 << lanes % 32) - 1,
        "gt": 0xFFFFFFFF & -(2 << lanes % 32),
        "ge": 0xFFFFFFFF & -(1 << lanes % 32),
    }
    values = {
        "tid": lambda: lanes // int(np.prod(launch.block[:k])) % launch.block[k],
        "ctaid": lambda: blocks // int(np.prod(launch.grid[:k])) % launch.grid[k],
        "ntid": lambda: uniform * launch.block[k],
        "nctaid": lambda: uniform * launch.grid[k],
        "laneid": lambda: lanes % 32,
        "warpid": lambda: lanes // 32,
        "nwarpid": lambda: uniform * (threads // 32),
        "dynamic_smem_size": lambda: uniform * launch.dynamic_shared,
        "total_smem_size": lambda: uniform * m.rows["shared"].size,
    }
    if base.startswith("lanemask_"):
        return weight[base[9:]].astype(np.uint32)
    if base not in values or axis == "w":
        raise SimulatorError(
            f"%{name} is not simulated: the machine has no clock and no place in a real GPU",
            **m.where(),
        )
    return values[base]().astype(np.uint32)


def unravel(index: int, shape) -> int | tuple:
    """A linear index as CUDA's (x, y, z), or as it is where only x is used."""
    x, y, z = shape
    return index if y == z == 1 else (index % x, index // x % y, index // (x * y))


def ranges(mask) -> str:
    """Which places of a mask are set: "0-15, 40"."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    pairs = [(a, b - 1) for a, b in edges.reshape(-1, 2)]
    shown = ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in pairs[:6])
    return (shown + (", …" if len(pairs) > 6 else "")) or "none"


def chunks(launch: Launch):
    """The launch's blocks in groups that fit the cache: (first block, count)."""
    total = int(np.prod(launch.grid))
    threads = -(-int(np.prod(launch.block)) // 32) * 32
    count = max(1, LANES // threads)
    for first in range(0, total, count):
        yield first, min(count, total - first)


def run(launch: Launch) -> None:
    """Execute a launch, chunk after chunk, or several at once where blocks cannot notice."""
    jobs = list(chunks(launch))
    workers = min(len(jobs), os.cpu_count() or 1, WORKERS)
    if workers == 1 or not independent(launch):
        for job in jobs:
            finish(launch, execute(launch, *job))
        return
    quiet = replace(launch, progress=None)  # the workers' part; here the blocks are counted
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(execute, quiet, *job) for job in jobs]
        try:
            for job in running:
                finish(launch, job.result())
        finally:
            for job in running:
                job.cancel()


def independent(launch: Launch) -> bool:
    """May chunks run side by side? Not when blocks can talk to each other (atomics), and not when
    an observer wants to see everything in order (it has no fork)."""
    talks = any(ins.opcode in ("atom", "red") for ins in launch.program.instructions)
    return not talks and all(hasattr(o, "fork") for o in launch.observers)


def execute(launch: Launch, first: int, count: int) -> Chunk:
    """Run one chunk to its end."""
    with np.errstate(all="ignore"):
        chunk = Chunk(launch, first, count)
        chunk.run()
        return chunk


def finish(launch: Launch, chunk: Chunk) -> None:
    """Gather what the observers of one chunk saw."""
    for whole, part in zip(launch.observers, chunk.observers, strict=True):
        if part is not whole:
            whole.join(part)
    if launch.progress:
        launch.progress(chunk.shape[0])
