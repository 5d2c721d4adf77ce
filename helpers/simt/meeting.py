"""How lanes wait for one another: the operations of a warp, and the barriers of a block.

Lanes that come first are parked with what they bring. Operations of a warp go by member mask and
kind of instruction, not by program counter; a barrier counts whole warps, and every block of a
chunk has its own sixteen of them.
"""

from dataclasses import dataclass

import numpy as np

from .isa.control import STOP
from .isa.lanes import blend
from .isa.warp import BIT, LANE, by_warp, everyone

__all__ = ["Meetings", "Parked", "ranges"]

NONE = 1 << 40  # more threads than any barrier waits for


@dataclass
class Parked:
    """Lanes that wait for partners: at a barrier, or at an operation of their warp.

    Of a barrier, `count` is how many threads take part (None: the block), `gone` says that only
    the arrival counts and the lanes went on, `aligned` that a warp must come as one.
    """

    pc: int
    mask: np.ndarray
    values: list
    act: object = None
    count: np.ndarray | None = None
    gone: bool = False
    aligned: bool = True


class Meetings:
    """The part of a Chunk in which lanes wait: `meetings` of warps, `barriers` of blocks; while a
    barrier is passed, `passing` has those who came to it."""

    passing: tuple | list = ()

    def living(self) -> np.ndarray:
        return np.ones((1, 1), bool) if self.alive is None else self.alive

    def active(self, mask=None) -> np.ndarray:
        mask = self.mask if mask is None else mask
        return np.ones((1, 1), bool) if mask is None else mask

    def release(self) -> bool:
        """No fragment can run: let go those lanes whose partners have come. False at the end."""
        if self.release_warps() or self.release_blocks():
            return True
        if not (self.meetings or any(not p.gone for ps in self.barriers.values() for p in ps)):
            return False
        self.stuck()
        return bool(self.fragments)

    def keep(self, table: dict, key, parked: list) -> None:
        left = [p for p in parked if p.mask.any()]
        table.pop(key)
        if left:
            table[key] = left

    # -- operations of a warp
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

    # -- barriers of a block
    def arrive(self, number: int, mask, values=(), **how) -> None:
        """Lanes come to barrier `number`, to wait there or, `gone`, only to be counted; `how` has
        the rest of a Parked."""
        parked = Parked(self.pc, mask, list(values), **how)
        before = [p for p in self.barriers.get(number, ()) if p.gone or parked.gone]
        if before and self.overlap(before, parked) is not None:
            self.release_blocks()  # they may be complete by now
            before = [p for p in before if p.mask.any()]
            if (twice := self.overlap(before, parked)) is not None:
                self.defect(
                    "mismatched barrier",
                    f"threads arrive at barrier {number} again before it has completed",
                    bad_lanes=twice,
                )
        self.barriers.setdefault(number, []).append(parked)
        if parked.gone:
            self.release_blocks()

    def overlap(self, before: list, parked: Parked):
        """The lanes of `parked` that are among those before; None when there is none."""
        twice = np.zeros(self.shape, bool)
        for p in before:
            twice = twice | (p.mask & parked.mask)
        return twice if twice.any() else None

    def release_blocks(self) -> bool:
        moved, here = False, (self.mask, self.pc)
        for number, parked in list(self.barriers.items()):
            arrived = np.zeros(self.shape, bool)
            for p in parked:
                arrived = arrived | p.mask
            wanted = self.wanted(parked)
            done = self.complete_blocks(arrived, wanted)
            if not done.any():
                continue
            moved = True
            self.same_barrier(parked)
            lanes = np.broadcast_to(done, self.shape) if wanted is None else done & arrived
            self.passing = parked
            for hear in self.watch_sync:
                hear(self, lanes)
            votes = self.votes(parked)
            for p in parked:
                going = p.mask & done
                if going.any() and not p.gone:
                    if p.act:
                        self.mask, self.pc = going, p.pc
                        p.act(self, *votes)
                    self.put(p.pc + 1, going)
                p.mask = p.mask & ~done
            self.keep(self.barriers, number, parked)
        self.mask, self.pc = here
        return moved

    def wanted(self, parked: list):
        """How many threads each block's barrier waits for, (blocks, 1); None: all that live."""
        if all(p.count is None for p in parked):
            return None
        most, least = np.zeros((1, 1), int), np.full((1, 1), NONE)
        for p in parked:
            count = self.shape[1] if p.count is None else p.count
            most = np.maximum(most, np.where(p.mask, count, 0).max(1, keepdims=True))
            least = np.minimum(least, np.where(p.mask, count, NONE).min(1, keepdims=True))
        if (mixed := (most > least) & (most > 0)).any():
            self.pc = parked[-1].pc
            self.defect(
                "mismatched barrier",
                f"threads wait at one barrier, some for {int(least[mixed][0])} threads and some "
                f"for {int(most[mixed][0])}",
                bad_lanes=mixed & parked[-1].mask,
            )
        return most

    def complete_blocks(self, arrived, wanted):
        """The blocks, (blocks, 1), whose barrier everybody who is waited for has reached."""
        here = arrived | ~self.living()
        waits = arrived.any(1, keepdims=True)
        if wanted is None:
            return waits & here.all(1, keepdims=True)
        warps = (len(here), -1, 32)
        came = 32 * (here.reshape(warps).all(2) & arrived.reshape(warps).any(2)).sum(1)[:, None]
        if (many := waits & (came > wanted)).any():
            self.defect(
                "mismatched barrier",
                f"{int(came[many][0])} threads are at a barrier for {int(wanted[many][0])}",
                bad_lanes=many & arrived,
            )
        return waits & (came >= wanted)

    def votes(self, parked: list):
        """Of bar.red: how many threads of each block brought true, and how many came."""
        ayes, voters = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64)
        for p in parked:
            if p.values:
                ayes = ayes + (p.mask & p.values[0]).sum(1, keepdims=True)
                voters = voters + p.mask.sum(1, keepdims=True)
        return ayes, voters

    def same_barrier(self, parked: list) -> None:
        """bar.sync is warp-aligned: lanes of one warp must be at the same instruction."""
        places = np.zeros((*self.shape[:1], self.shape[1] // 32), int)
        for pc in {p.pc for p in parked if p.aligned}:
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

    # -- when nobody comes
    def stuck(self) -> None:
        """Nobody can go on: say who waits and who is missing, then let the waiting ones end."""
        table = self.barriers if any(map(waiting, self.barriers.values())) else self.meetings
        key, parked = next((k, waiting(ps)) for k, ps in table.items() if waiting(ps))
        arrived = np.zeros(self.shape, bool)
        for p in parked:
            arrived = arrived | p.mask
        self.pc = parked[0].pc
        block = int(arrived.any(1).argmax())
        missing = np.broadcast_to(self.living(), self.shape)[block] & ~arrived[block]
        whom = f"threads {ranges(missing)}, which wait elsewhere and never come"
        what = key[0] if table is self.meetings else f"barrier {key}" if key else "__syncthreads()"
        if table is self.barriers and (wanted := self.wanted(parked)) is not None:
            whom = f"{int(np.broadcast_to(wanted, (len(arrived), 1))[block, 0])} threads in all"
        self.defect(
            "divergent barrier" if table is self.barriers else "divergent warp operation",
            f"threads {ranges(arrived[block])} wait at {what} for {whom}",
            bad_lanes=arrived,
        )
        for tables in (self.barriers, self.meetings):
            for p in (p for parked in tables.values() for p in waiting(parked)):
                self.retire(p.mask)
            tables.clear()


def waiting(parked: list) -> list:
    """Those whose lanes are really there."""
    return [p for p in parked if not p.gone]


def complete(m, active, members) -> np.ndarray:
    """Lanes all of whose fellow members that still live are active, too, with the very same member
    mask: (blocks, threads)."""
    weights = np.uint32(1) << LANE.astype(np.uint32)
    living = (by_warp(m, m.living()) * weights).sum(-1, dtype=np.uint32)[..., None]
    members = by_warp(m, members)
    ready = ~active
    for mask in np.unique(members if members.size == 1 else of_active(members, active)):
        mine = active & (members == mask)
        here = (mine * weights).sum(-1, dtype=np.uint32)[..., None]
        ready = ready | (mine & ((mask & living & ~here) == 0))
    return ready.reshape(ready.shape[0], -1)


def of_active(values, active):
    """The values of active lanes."""
    values, active = np.broadcast_arrays(values, active)
    return values[active]


def ranges(mask) -> str:
    """Which places of a mask are set: "0-15, 40"."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    pairs = [(a, b - 1) for a, b in edges.reshape(-1, 2)]
    shown = ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in pairs[:6])
    return (shown + (", …" if len(pairs) > 6 else "")) or "none"
