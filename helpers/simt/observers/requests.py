"""Counts requests and sectors of global memory, and which sectors the grid touches at all."""

import numpy as np

from ..spans import Span
from .coalescing import SECTOR, by_warp, touch, touch_evenly
from .names import EXECUTED, GLOBAL, SECTORS, Tally

__all__ = ["Requests", "add", "rows_of"]

WAYS = {"load": ("read",), "store": ("written",), "atomic": ("read", "written")}
MOST = 1 << 12  # Spans that wait to be marked


def add(table: dict, key, values) -> None:
    """Add numbers to those that a table has under a key."""
    own = table.get(key)
    if own is None:
        table[key] = list(values)
    else:
        for k, value in enumerate(values):
            own[k] += value


def rows_of(access) -> int:
    """For how many unlike blocks an access has addresses or a mask."""
    rows = access.base.shape[0]
    return rows if access.mask is None else max(rows, access.mask.shape[0])


class Requests:
    """Global memory. The marks of `seen` are bytes that only ever become 1, so that the forks of
    chunks that run side by side share them."""

    def __init__(self, seen=None):
        self.at: dict = {}  # pc → [requests, sectors, ideal, sectors of the hardware's counter]
        self.of: dict = {}  # (pc, array) → the same
        self.seen = {"read": {}, "written": {}} if seen is None else seen
        self.later: set = set()  # (way, origin, bytes of the allocation, Span of sectors) to mark

    def fork(self) -> "Requests":
        return Requests(self.seen)

    def join(self, part: "Requests") -> None:
        part.mark_all()
        for own, other in ((self.at, part.at), (self.of, part.of)):
            for key, values in other.items():
                add(own, key, values)

    def count(self, m, access) -> None:
        warps = m.shape[1] // 32
        times = m.shape[0] // rows_of(access)  # blocks that do exactly the same are counted once
        whole = self.one(access, access.mask, warps, times, self.at, access.pc)
        segments = getattr(access.home, "parts", None)
        if segments is None:
            add(self.of, (access.pc, access.home.name), whole[0])
            self.mark(access.home, access.kind, whole[1])
            return
        for segment, _ in segments:  # lanes that point into several arrays
            here = (access.address >= segment.start) & (access.address < segment.stop)
            mask = here if access.mask is None else here & access.mask
            mask = np.broadcast_to(mask, (mask.shape[0], m.shape[1]))
            key = access.pc, segment.name
            part = self.one(access, mask, warps, times, self.of, key)
            self.mark(segment, access.kind, part[1])

    def one(self, access, mask, warps: int, times: int, table: dict, key):
        """Count an access, or the part of it that `mask` leaves; its numbers and its sectors."""
        span = access.span
        found = touch_evenly(span, access.width, warps) if span is not None else None
        if found is None:
            found = touch(access.address, mask, access.width, warps)
        hardware = found.sectors
        if access.kind == "atomic":
            hardware = turns(access.address, mask, warps)
        values = [v * times for v in (found.requests, found.sectors, found.ideal, hardware)]
        add(table, key, values)
        return values, found.touched

    def mark(self, segment, kind: str, touched) -> None:
        """Note sectors as read or written, a byte for each of the allocation."""
        for way in WAYS[kind]:
            if isinstance(touched, Span):  # loops come back to the same ones
                self.later.add((way, segment.origin, segment.data.size, touched))
            else:
                marks = self.marks(way, segment.origin, segment.data.size)
                marks[touched - (segment.origin >> SECTOR)] = True
        if len(self.later) > MOST:
            self.mark_all()

    def marks(self, way: str, origin: int, size: int) -> np.ndarray:
        """The marks of an allocation."""
        marks = self.seen[way].get(origin)
        if marks is None:
            marks = self.seen[way].setdefault(origin, np.zeros((size >> SECTOR) + 2, bool))
        return marks

    def mark_all(self) -> None:
        for way, origin, size, touched in self.later:
            touched.moved(-(origin >> SECTOR)).view(self.marks(way, origin, size))[...] = True
        self.later.clear()

    def report(self, program, tally: Tally) -> None:
        self.mark_all()
        for table, tell in ((self.at, self.tell_line), (self.of, self.tell_array)):
            for key, values in table.items():
                pc = key if table is self.at else key[0]
                op = operation(program, pc)
                counts = {GLOBAL["requests", op]: values[0], GLOBAL["sectors", op]: values[3]}
                counts |= {SECTORS: values[1], f"{SECTORS}_ideal": values[2]}
                if op == "red":
                    counts[EXECUTED["global_red"]] = values[0]
                tell(program, tally, key, counts)
        for way, marks in self.seen.items():
            tally.unique[way] = sum(int(np.count_nonzero(m)) for m in marks.values())

    def tell_line(self, program, tally, pc, counts) -> None:
        tally.add(program.instructions[pc].line, counts)

    def tell_array(self, program, tally, key, counts) -> None:
        tally.add_array(key[1], counts)


def operation(program, pc: int) -> str:
    """What the hardware's counters call it: ld (cp.async, too), st, red or atom."""
    opcode = program.instructions[pc].opcode
    if opcode in ("atom", "red"):
        return "red" if opcode == "red" or pc in program.reductions else "atom"
    return "st" if opcode == "st" else "ld"


def turns(address, mask, warps: int) -> int:
    """Sectors of an atomic operation: lanes with one address take turns, and each turn touches the
    sector again."""
    rows = address.shape[0] if mask is None else max(address.shape[0], mask.shape[0])
    lanes = by_warp(np.broadcast_to(address, (rows, address.shape[1])), warps)
    warp = np.broadcast_to(np.arange(len(lanes))[:, None], lanes.shape)
    active = np.ones(lanes.shape, bool)
    if mask is not None:
        active = by_warp(np.broadcast_to(mask, (rows, mask.shape[1])), warps)
    places = np.stack([warp[active], lanes[active]], 1)
    places, times = np.unique(places, axis=0, return_counts=True)
    if not len(places):
        return 0
    sector = places[:, 0] << 48 | places[:, 1] >> SECTOR
    order = np.argsort(sector, kind="stable")
    starts = np.flatnonzero(np.diff(sector[order], prepend=-1))
    return int(np.maximum.reduceat(times[order], starts).sum())
