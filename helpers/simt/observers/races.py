"""Finds data races from the order of accesses, never from their luck.

Of every cell of memory that is written (4 bytes, or as few as the kernel's narrowest access has) it
keeps the last writer, and the readers and the atomics with the lowest and the highest thread
number: if any two threads lie in different warps or blocks, these do. Each new access is compared
with them; two accesses of different threads, one of them a write, that no barrier or fence orders
(`order.py`) are a race. Atomics do not race with each other, nor do volatile and other strong
accesses to global memory. Two writes of one value are reported as a note.

A line of the `.cu` file that carries the comment `race: intended` is left out, with the reason to
follow: `flag = 1;  // race: intended, every thread writes 1`.
"""

from array import array
from itertools import count
from threading import Lock

import numpy as np

from .facts import facts_of, suppressed
from .order import Order
from .report import Reports

__all__ = ["MARK", "Races"]

MARK = "race: intended"
BITS, TIME = Reports.BITS, Reports.TIME
TOP = np.iinfo(np.int64).max


class Races:
    """Races of one launch. Chunks run side by side unless their blocks can talk; what they know of
    global memory is shared, under a lock."""

    def __init__(self):
        self.launch = None
        self.lock = Lock()
        self.clock = count(1)
        self.shadows: dict = {}  # origin of an allocation → Shadow
        self.published = ({}, {})
        self.logs: dict[int, tuple] = {}  # first block of a chunk → (times, program counters)
        self.said: dict = {}  # what has been reported, and by which chunk

    def fork(self) -> "Chunk":
        return Chunk(self)

    def join(self, part: "Chunk") -> None:
        """Nothing: everything a chunk has to say is said when it is found."""

    def start(self, launch) -> None:
        """Learn the program, at the first chunk of the launch."""
        with self.lock:
            if self.launch is None:
                self.learn(launch)

    def learn(self, launch) -> None:
        self.launch, self.facts = launch, facts_of(launch.program)
        lines = suppressed(launch.source, MARK)
        self.quiet = {
            pc
            for pc, ins in enumerate(launch.program.instructions)
            if ins.line in lines and ins.file in (0, 1)
        }
        self.tracked = self.origins()

    def origins(self) -> set:
        """The allocations that the kernel may write to: of its arguments those that a store can
        reach, and every variable of the module."""
        launch, reached = self.launch, self.facts.written
        arguments, written = (
            {int.from_bytes(launch.parameters[at : at + 8], "little") for at in offsets}
            for offsets in ({p.offset for p in launch.program.parameters}, reached or ())
        )
        return {
            s.origin
            for s in launch.memory.segments
            if s.writable and (reached is None or s.start in written or s.start not in arguments)
        }

    def pcs_at(self, thread, time, threads: int):
        """The instructions of recorded accesses."""
        firsts = sorted(self.logs)
        chunk = np.searchsorted(firsts, thread // threads, "right") - 1
        found = np.empty(len(thread), np.int64)
        for c in np.unique(chunk):
            times, pcs = (np.array(log[:]) for log in self.logs[firsts[c]])  # it may still grow
            here = chunk == c
            found[here] = pcs[np.searchsorted(times, time[here])]
        return found


class Shadow:
    """What is remembered of one memory: a code, thread « 29 | time, for each cell; 0 is nobody."""

    def __init__(self, cells: int):
        self.writer = np.zeros(cells, np.int64)
        self.cells = cells
        self.readers = None  # (codes, their complements): the largest are highest and lowest
        self.atomics = None

    def pair(self, name: str):
        """The codes of readers or atomics, made when the first one comes."""
        if getattr(self, name) is None:
            setattr(self, name, (np.zeros(self.cells, np.int64), np.zeros(self.cells, np.int64)))
        return getattr(self, name)

    def repeated(self, times: int, step: int) -> "Shadow":
        """The same for several blocks that have done alike, with their own thread numbers."""
        other = Shadow(self.cells * times)
        shift = (np.arange(times, dtype=np.int64) * step << BITS)[:, None]
        other.writer = spread(self.writer, shift)
        for name in ("readers", "atomics"):
            if pair := getattr(self, name):
                setattr(other, name, (spread(pair[0], shift), spread(pair[1], -shift)))
        return other


def spread(codes, shift):
    return np.where(codes != 0, codes + shift, 0).reshape(-1)


class Chunk(Reports):
    """The checker of one chunk of blocks."""

    def __init__(self, whole: Races):
        self.whole = whole

    def on_chunk(self, m) -> None:
        whole = self.whole
        whole.start(m.launch)
        self.m, self.facts = m, whole.facts
        blocks, threads = m.shape
        published = whole.published if self.facts.signals else None
        self.order = Order(m.first, blocks, threads, whole.clock, published)
        self.times, self.pcs = array("q"), array("q")
        whole.logs[m.first] = self.times, self.pcs
        self.shared = None
        self.shared_rows = 1  # until blocks do different things
        self.lanes: tuple = None, None, None  # (mask, shape, active lanes): the last ones
        self.arrived: list = []  # (pc, lanes, time) of every bar.arrive, less those that have met
        self.copies: list = []  # cp.async under way: (pc, lanes, cells, words in memory)
        self.shift = {s: g.bit_length() - 1 for s, g in self.facts.grain.items()}

    # -- events
    def on_barrier(self, m) -> None:
        if "arrive" in m.launch.program.instructions[m.pc].suffixes:
            lanes = np.broadcast_to(m.active(), m.shape).copy()
            self.arrived.append((m.pc, lanes, self.order.tick()))

    def on_sync(self, m, lanes) -> None:
        left = [] if lanes is None else [self.arrival(p) for p in m.passing if p.gone]
        self.order.barrier(lanes, np.arange(m.shape[1]) < m.threads, left)

    def arrival(self, parked) -> tuple:
        """When lanes that pass a barrier now had arrived at it: (lanes, time)."""
        for entry in self.arrived:
            pc, lanes, time = entry
            if pc == parked.pc and (here := lanes & parked.mask).any():
                lanes &= ~here
                if not lanes.any():
                    self.arrived = [e for e in self.arrived if e is not entry]
                return here, time
        return parked.mask, self.order.now

    def on_warp_sync(self, m, lanes, members) -> None:
        self.order.warp_barrier(lanes, members)

    def on_fence(self, m, wide: bool) -> None:
        now = self.order.tick()
        lanes = True if m.mask is None else m.mask
        for signals, counts in zip(self.order.signals, (True, wide), strict=False):
            if counts:
                signals.fence(lanes, now)

    def on_async_wait(self, m, but) -> None:
        """Copies land when their thread has waited: only then were their cells written."""
        left = []
        waits = np.broadcast_to(m.active(), m.shape).reshape(-1)
        for pc, lane, cell, word in self.copies:
            lands, now = waits[lane] & ~m.copies.pending[word], self.tick(pc)
            code = (lane + self.order.first * self.order.threads) << BITS
            mine = self.shared.writer[cell] >> BITS == code >> BITS
            self.shared.writer[cell[lands & mine]] = code[lands & mine] | now
            if not lands.all():
                left.append((pc, lane[~lands], cell[~lands], word[~lands]))
        self.copies = left

    def on_access(self, m, access) -> None:
        if access.space == "shared":
            self.to_shared(access)
        elif access.space == "global":
            self.to_global(access)
        if self.order.signals and access.pc in self.facts.strong:
            self.signal(access)

    def signal(self, access) -> None:
        """A strong access is a flag: looking at it acquires, writing it releases."""
        now = self.order.now
        lanes = True if access.mask is None else access.mask
        for signals in self.order.signals:
            if access.pc in self.facts.publishes:
                signals.fence(lanes, now)
            if access.kind != "load":
                signals.release(lanes, now)
            if access.kind != "store":
                signals.acquire(lanes, now)

    def tick(self, pc: int) -> int:
        now = self.order.tick()
        self.times.append(now)
        self.pcs.append(pc)
        return now

    def picked(self, access, shape):
        """The active lanes of an access, counted through the chunk, and their addresses."""
        mask, address = access.mask, access.address
        if self.lanes[0] is not mask or self.lanes[1] != shape:
            if mask is None:
                lane = np.arange(shape[0] * shape[1])
            else:
                lane = np.flatnonzero(np.broadcast_to(mask, shape))
            self.lanes = mask, shape, lane
        lane = self.lanes[2]
        if address.size == 1:
            return lane, np.full(lane.size, address.item())
        address = np.broadcast_to(address, shape).reshape(-1)
        return lane, address if mask is None else address[lane]

    # -- shared memory
    def to_shared(self, access) -> None:
        blocks, threads = self.m.shape
        size = access.home.pitch if access.home is not None else 0
        if not size:
            return
        cells = size >> self.shift["shared"]
        alike = self.order.alike and access.address.shape[0] == 1
        alike = alike and (access.mask is None or access.mask.shape[0] == 1)
        alike = alike and access.kind != "async"
        if self.shared is None:
            self.shared = Shadow(cells)
        if not alike and self.shared_rows == 1 < blocks:
            self.shared, self.shared_rows = self.shared.repeated(blocks, threads), blocks
        shape = self.shared_rows, threads
        lane, address = self.picked(access, shape)
        first = address >> self.shift["shared"]
        if shape[0] > 1:
            first = first + lane // threads * cells
        self.check(self.shared, access, lane, first, "shared")
        if access.kind == "async":
            place = access.home.offset.reshape(-1)[lane // threads] + address
            for k in range(access.width >> self.shift["shared"]):
                word = place + (k << self.shift["shared"]) >> 2
                self.copies.append((access.pc, lane, first + k, word))

    # -- global memory
    def to_global(self, access) -> None:
        home = access.home
        if home is None:
            return
        shape = self.m.shape
        if hasattr(home, "parts"):  # several arrays behind one access
            lane, address = self.picked(access, shape)
            for segment in self.m.launch.memory.segments:
                here = (address >= segment.start) & (address < segment.stop)
                self.to_segment(access, segment, lane[here], address[here])
        elif home.origin in self.whole.tracked or access.kind != "load":
            self.to_segment(access, home, *self.picked(access, shape))

    def to_segment(self, access, segment, lane, address) -> None:
        whole = self.whole
        if not lane.size or (access.kind == "load" and segment.origin not in whole.tracked):
            return
        with whole.lock:
            whole.tracked.add(segment.origin)
            shift = self.shift["global"]
            if segment.origin not in whole.shadows:
                whole.shadows[segment.origin] = Shadow((segment.data.size >> shift) + 1)
            first = (address - segment.origin) >> shift
            self.check(whole.shadows[segment.origin], access, lane, first, segment)

    # -- the rules
    def check(self, shadow, access, lane, first, place) -> None:
        """Compare an access of lanes (numbers within the chunk) with what their cells remember,
        and remember it. `first` is each lane's first cell."""
        thread = lane + self.order.first * self.order.threads
        now = self.tick(access.pc)
        code = thread << BITS | now
        seen = Seen(access, access.pc in self.facts.strong, lane, thread, place)
        act = {"Read": self.read, "Write": self.write, "Atomic": self.combine}[seen.name]
        for k in range(max(access.width >> self.shift[access.space], 1)):
            act(shadow, seen, first + k if k else first, thread, code)

    def read(self, shadow, seen, cell, thread, code) -> None:
        self.compare(seen, shadow.writer[cell], cell, "Write")
        if seen.strong:
            return
        if shadow.atomics:
            self.compare_pair(seen, shadow.atomics, cell, "Atomic")
        self.add(shadow.pair("readers"), cell, code, thread)

    def combine(self, shadow, seen, cell, thread, code) -> None:
        self.compare(seen, shadow.writer[cell], cell, "Write")
        if shadow.readers:
            self.compare_pair(seen, shadow.readers, cell, "Read")
        self.add(shadow.pair("atomics"), cell, code, thread)

    def write(self, shadow, seen, cell, thread, code) -> None:
        self.compare(seen, shadow.writer[cell], cell, "Write")
        for name, pair in (("Read", shadow.readers), ("Atomic", shadow.atomics)):
            if pair:
                if name == "Read" or not seen.strong:
                    self.compare_pair(seen, pair, cell, name)
                pair[0][cell] = pair[1][cell] = 0
        shadow.writer[cell] = code
        there = shadow.writer[cell]
        if not np.array_equal(there, code):  # two lanes of this very instruction
            self.compare(seen, there, cell, "Write")

    def add(self, pair, cell, code, thread) -> None:
        """Keep the highest and the lowest thread since these cells' threads last met."""
        for codes, new, at, by in (
            (pair[0], code, cell, thread),
            (pair[1], (TOP - code)[::-1], cell[::-1], thread[::-1]),
        ):
            old = codes[at]
            known = np.flatnonzero(old)
            if known.size:
                was = old[known] if codes is pair[0] else TOP - old[known]
                unordered = ~self.order.before(was & TIME, was >> BITS, by[known])
                kept, new = known[unordered], new.copy()
                new[kept] = np.maximum(old[kept], new[kept])
            codes[at] = new

    def compare_pair(self, seen, pair, cell, name) -> None:
        high, low = pair[0][cell], pair[1][cell]
        self.compare(seen, high, cell, name)
        self.compare(seen, np.where(low != 0, TOP - low, 0), cell, name)

    def compare(self, seen, codes, cell, name) -> None:
        """Report the lanes that race with the recorded accesses of other threads."""
        if not codes.any():
            return
        other = codes >> BITS
        at = np.flatnonzero((codes != 0) & (other != seen.thread))
        if not at.size:
            return
        then = codes[at] & TIME
        at = at[~self.order.before(then, other[at], seen.thread[at], name == "Atomic")]
        if at.size:
            self.report(seen, codes[at], at, cell[at], name)


NAMES = {"load": "Read", "store": "Write", "async": "Write", "atomic": "Atomic"}


class Seen:
    """The access at hand, with its active lanes (of the chunk) and threads (of the grid)."""

    def __init__(self, access, strong, lane, thread, place):
        self.access, self.strong, self.name = access, strong, NAMES[access.kind]
        self.lane, self.thread, self.place = lane, thread, place
