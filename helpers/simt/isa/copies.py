"""cp.async: copies from global to shared memory that land later, when a lane waits for them.

What is under way has been read, but not yet written: a kernel that forgets to wait sees the old
bytes, as it would on a GPU, and is told so.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import PtxError
from .mbarrier import arrive_at
from .memory import address_of, reach
from .table import Form, Row, refuse
from .types import TYPES

__all__ = ["ROWS", "Copies"]

U32, PRED = TYPES["u32"], TYPES["pred"]
WORD = np.dtype(np.uint32)


@dataclass
class Copy:
    """One instruction's copies: of each lane its number, its words in shared memory, the words to
    write there, and the group of copies it belongs to."""

    lane: np.ndarray
    place: np.ndarray
    words: np.ndarray
    group: np.ndarray

    def part(self, which) -> "Copy":
        return Copy(self.lane[which], self.place[which], self.words[which], self.group[which])


class Copies:
    """The copies of a chunk that are under way; `groups` counts what each lane has committed."""

    def __init__(self, m):
        self.groups = np.zeros(m.shape, np.int64)
        self.under_way: list[Copy] = []
        self.memory = m.rows["shared"].typed(WORD)
        self.pending = np.zeros(self.memory.size, bool)  # of each word

    def issue(self, lane, place, words) -> None:
        place = place[:, None] + np.arange(words.shape[1])
        self.under_way.append(Copy(lane, place, words, self.groups.reshape(-1)[lane]))
        self.pending[place] = True

    def commit(self, m) -> None:
        self.groups = self.groups + m.active()

    def land(self, m, but: int | None) -> None:
        """The active lanes wait for all their copies, or for all groups but the last `but`."""
        waits = np.broadcast_to(m.active(), m.shape).reshape(-1)
        groups, left = self.groups.reshape(-1), []
        for copy in self.under_way:
            lands = waits[copy.lane]
            if but is not None:
                lands = lands & (copy.group < groups[copy.lane] - but)
            if lands.any():
                landing = copy.part(lands)
                self.memory[landing.place] = landing.words
                self.pending[landing.place] = False
                m.changes += 1
            if not lands.all():
                left.append(copy.part(~lands))
        self.under_way = left
        for copy in left:
            self.pending[copy.place] = True  # a word may be the target of two copies

    def check(self, m, lanes, place, width: int) -> None:
        """Report lanes that read shared memory a copy is still on its way to."""
        if not self.under_way:
            return
        stale = self.pending[place >> 2]
        for word in range(1, -(-width // 4)):
            stale = stale | self.pending[(place >> 2) + word]
        if stale.any():
            offset = int(place[stale][0]) % m.rows["shared"].pitch
            name, offset, _ = m.variable("shared", offset) or ("shared memory", offset, 0)
            m.defect(
                "missing cp.async wait",
                f"reads {width} bytes at `{name}` + {offset} B, which a cp.async has not filled "
                "yet: old bytes. The thread that copies must wait (cp.async.wait_group), and a "
                "barrier tell the others",
                bad_lanes=lanes.spread(stale),
                array=name,
            )


def copies_of(m) -> Copies:
    if m.copies is None:
        m.copies = Copies(m)
    return m.copies


# ---------------------------------------------------------------------------- the instruction
def copy(ins, f: Form, code):
    """cp.async.ca [shared], [global], bytes{, bytes to read}; what is not read becomes zero."""
    target, source, size, *rest = ins.operands
    size = getattr(size, "value", None)
    if size not in (4, 8, 16) or (f.has("cg") and size != 16):
        raise PtxError(f"{ins.mnemonic} copies 4, 8 or 16 bytes, .cg only 16; got {size}")
    if len(rest) > 1:
        raise refuse(ins.mnemonic, "it has more operands than the table knows (a cache policy?)")
    to, of = address_of(target, code), address_of(source, code)
    reads = bytes_to_read(rest, size, code)

    def step(m):
        lanes, place, home = reach(m, "shared", whole(m, to), size, "async")
        if home is None:
            return
        lane = lanes.pick(np.arange(m.shape[0] * m.shape[1]).reshape(m.shape)).reshape(-1)
        words = fetch(m, lane, whole(m, of), np.broadcast_to(reads(m), m.shape), size)
        copies_of(m).issue(lane, place.reshape(-1) >> 2, words)

    return step


def whole(m, address):
    return np.broadcast_to(address(m), m.shape)


def bytes_to_read(rest: list, size: int, code):
    """How many bytes each lane reads: all, or what the operand says (true: none)."""
    if not rest:
        return lambda m: np.full((1, 1), size)
    register = rest[0]
    if getattr(register, "size", 4) == 0:
        skips = code.reader(register, PRED)
        return lambda m: np.where(skips(m), 0, size)
    read = code.reader(register, U32)
    return lambda m: np.minimum(read(m).astype(np.int64), size)


def fetch(m, lane, address, reads, size: int):
    """The words that the lanes copy, (lanes, words)."""
    data = np.zeros((m.shape[0] * m.shape[1], size), np.uint8)
    active, here = np.zeros(m.shape, bool), m.mask
    active.reshape(-1)[lane] = True
    for much in np.unique(reads[active]):
        mine = active & (reads == much)
        if not much:
            continue
        m.mask = mine
        lanes, place, home = reach(m, "global", address, int(much), "load", align=size)
        if home is not None:
            unit = np.dtype(np.uint32 if much % 4 == 0 else np.uint8)
            first = place[..., None] // unit.itemsize + np.arange(much // unit.itemsize)
            mine = lanes.spread(np.ones(place.shape, bool))
            data[np.broadcast_to(mine, m.shape).reshape(-1), :much] = (
                home.typed(unit).take(first).reshape(place.size, -1).view(np.uint8)
            )
    m.mask = here
    return data[lane].view(WORD)


def commit(ins, f: Form, code):
    """cp.async.commit_group: the copies since the last one are a group."""

    def step(m):
        copies_of(m).commit(m)
        for hear in m.watch_async_commit:
            hear(m)

    return step


def wait(ins, f: Form, code):
    """cp.async.wait_all, and wait_group n: for all groups but the last n."""
    but = None if f.has("wait_all") else ins.operands[0].value

    def step(m):
        if m.copies is not None:
            m.copies.land(m, but)
        for hear in m.watch_async_wait:
            hear(m, but)

    return step


def arrive(ins, f: Form, code):
    """cp.async.mbarrier.arrive: the lane's copies land now, and then it arrives. Without .noinc the
    barrier expects this arrival in addition, so that nothing is left to count."""
    joins = arrive_at(ins.operands[0], f, code) if f.has("noinc") else lambda m: None

    def step(m):
        if m.copies is not None:
            m.copies.land(m, None)
        for hear in m.watch_async_wait:
            hear(m, None)
        joins(m)

    return step


KINDS = {"commit_group": commit, "wait_group": wait, "wait_all": wait, "mbarrier": arrive}


def form_of(ins, f: Form, code):
    if not f.has("async"):
        raise refuse(ins.mnemonic, "of cp, only cp.async is in the table")
    kind = f.one_of(*KINDS)
    return KINDS[kind](ins, f, code) if kind else copy(ins, f, code)


# fmt: off
ROWS = [
    Row("cp", "[a] [b] c e", "",
        "async ca cg shared shared::cta global L2::64B L2::128B L2::256B commit_group wait_group "
        "wait_all mbarrier arrive noinc b64", form_of, "memory",
        "copy c bytes from global b to shared a, e of them read; they land when the lane waits"),
]
# fmt: on
