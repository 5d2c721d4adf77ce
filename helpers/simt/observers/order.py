"""Which accesses come before which: barriers of a block and of a warp, fences with atomics.

Time is the number of an access. Two accesses of different threads are ordered when the threads met
in between: at a __syncthreads(), at a __syncwarp() that names both, or because one published its
writes (a fence, then an atomic or volatile store) and the other looked later (an atomic, volatile
or acquiring load). Everything else is unordered, whatever the simulator's own order was.
"""

import numpy as np

__all__ = ["Order", "Signals"]

EVERYONE = 0xFFFFFFFF
KEPT = 16  # publications of a block that are told apart; older ones count as seen by everybody


class Order:
    """The meetings of one chunk of `blocks` × `threads` lanes; `first` is its first block, `clock`
    an endless iterator of numbers.

    Threads are numbered through the grid: block · threads + lane. `alike` stays true while every
    block of the chunk has met in the same way.
    """

    def __init__(self, first: int, blocks: int, threads: int, clock, published=None):
        self.first, self.blocks, self.threads = first, blocks, threads
        self.clock, self.now = clock, 0
        self.alike = True
        self.block = np.zeros(blocks, np.int64)  # when each block last met as a whole
        self.warp = None  # (blocks, warps): when each warp did, once one has
        self.warps_met = None  # (blocks, warps, warps): barriers of some warps
        self.lanes_met = None  # (blocks · warps, 32, 32): __syncwarp() of some lanes
        self.signals = ()
        if published is not None:  # within a block any fence will do, between blocks a wide one
            self.signals = tuple(Signals(self, blocks, threads, p) for p in published)

    def tick(self) -> int:
        """The next moment; the clock is that of the whole launch."""
        self.now = next(self.clock)
        return self.now

    # -- events
    def barrier(self, lanes, there, left=()) -> None:
        """Lanes (None: all) met at a barrier of the block; `there` are the threads it has. Those
        that had exited count among the lanes where the barrier waited for the whole block. `left`
        lists (lanes, time) of those that only arrived, and went on at that time."""
        self.tick()
        shape = self.blocks, self.threads
        if lanes is None:
            self.block[:] = self.now
            for s in self.signals:
                s.met(np.ones(self.blocks, bool))
            return
        lanes = np.broadcast_to(lanes, shape)
        for gone, _ in left:
            lanes = lanes & ~gone
        whole = lanes.any(1) & (lanes | ~np.broadcast_to(there, shape)).all(1)
        part = lanes.any(1) & ~whole
        self.alike &= bool(whole.all())
        if part.any():
            self.some_warps(lanes & part[:, None], left)
        self.block[whole] = self.now
        for s in self.signals:
            s.met(whole)

    def some_warps(self, lanes, left) -> None:
        warps = self.by_warp(lanes)
        if self.warps_met is None:
            self.warps_met = np.zeros((self.blocks, warps.shape[1], warps.shape[1]), np.int64)
        clock = self.warps_met
        for gone, time in left:
            gone = self.by_warp(gone) & warps.any(1, keepdims=True)
            knew = np.maximum(np.where(gone[:, :, None], clock, 0).max(1), gone * time)
            np.copyto(clock, np.maximum(clock, knew[:, None, :]), where=warps[:, :, None])
        meet(clock, warps, self.now)

    def by_warp(self, lanes):
        return lanes.reshape(self.blocks, -1, 32).any(-1)

    def warp_barrier(self, lanes, members) -> None:
        """Lanes (None: all) met at a __syncwarp(members)."""
        self.tick()
        shape = self.blocks, self.threads
        active = np.broadcast_to(True if lanes is None else lanes, shape).reshape(-1, 32)
        self.alike &= all_alike(lanes) and all_alike(members)
        members = np.broadcast_to(members, shape).reshape(-1, 32)
        for mask in np.unique(members[active]):
            self.lanes(mask, active & (members == mask))
        for s in self.signals:
            s.warps_met(active)

    def lanes(self, mask: int, group) -> None:
        """The lanes of a group, (warps, 32), met with this member mask."""
        if mask == EVERYONE:
            if self.warp is None:
                self.warp = np.zeros((self.blocks, self.threads // 32), np.int64)
            self.warp.reshape(-1)[group.any(1)] = self.now
            return
        if self.lanes_met is None:
            self.lanes_met = np.zeros((len(group), 32, 32), np.int64)
        meet(self.lanes_met, group, self.now)

    # -- the question
    def before(self, then, earlier, later, atomic: bool = False):
        """Did the access at time `then` by thread `earlier` come before thread `later`'s next one?
        Arrays of one length; the later threads are lanes of this chunk. An `atomic` access of
        another block also comes before what a thread does after its own look at a flag: that is
        how the last block may reset the counter."""
        place = later - self.first * self.threads
        row, lane = place // self.threads, place % self.threads
        mate = earlier - (self.first + row) * self.threads
        same = (mate >= 0) & (mate < self.threads)
        done = same & (then <= self.block[row])
        mate = np.where(same, mate, 0)
        warp, other = lane // 32, mate // 32
        if self.warp is not None:
            done |= same & (warp == other) & (then <= self.warp[row, warp])
        if self.lanes_met is not None:
            here = row * (self.threads // 32) + warp
            met = self.lanes_met[here, lane % 32, mate % 32]
            done |= same & (warp == other) & (then <= met)
        if self.warps_met is not None:
            done |= same & (then <= self.warps_met[row, warp, other])
        for signals, suits in zip(self.signals, (same, ~same), strict=False):
            left = np.flatnonzero(suits & ~done)
            if left.size:
                done[left] = signals.before(then[left], earlier[left], row[left], lane[left])
        if atomic and self.signals:
            done |= ~same & (then <= self.signals[1].heard[row, lane])
        return done


def all_alike(rows) -> bool:
    """Do all blocks have the same?"""
    return rows is None or rows.shape[0] == 1 or bool((rows == rows[:1]).all())


def meet(clock, group, now) -> None:
    """Vector clocks: the members of each row's group learn what any of them knows, and `now`."""
    known = np.where(group[:, :, None], clock, 0).max(1)
    known[group] = now
    np.copyto(clock, known[:, None, :], where=group[:, :, None])


class Signals:
    """Order by fences and flags. A publication of a block is its time and, for each lane, the time
    before which its accesses are visible; `published` has those of all chunks, by first block."""

    def __init__(self, order: Order, blocks: int, threads: int, published: dict):
        self.order, self.published = order, published
        shape = blocks, threads
        self.fenced = np.zeros(shape, np.int64)  # when each lane last executed a fence
        self.block_then = np.zeros(shape, np.int64)  # … and when its block had last met before it
        self.warp_then = np.zeros(shape, np.int64)  # … and its warp
        self.known = np.zeros(shape, np.int64)  # fences that the whole block knows of
        self.told = np.zeros(shape, np.int64)  # the cover last published
        self.heard = np.zeros(shape, np.int64)  # when each lane last looked at a flag
        self.count = np.zeros(blocks, int)  # publications of each block
        self.levels: list = []  # (times, covers) of the first, second, … publication of each block
        published[order.first] = self.levels

    def fence(self, lanes, now: int) -> None:
        order = self.order
        lanes = np.broadcast_to(lanes, self.fenced.shape)
        self.fenced[lanes] = now
        np.copyto(self.block_then, order.block[:, None], where=lanes)
        if order.warp is not None:
            np.copyto(self.warp_then, np.repeat(order.warp, 32, axis=1), where=lanes)

    def release(self, lanes, now: int) -> None:
        """Lanes write a flag: what they fenced before is published."""
        lanes = np.broadcast_to(lanes, self.fenced.shape)
        warps = (self.warp_then * lanes).reshape(len(lanes), -1, 32).max(-1)
        cover = np.maximum(self.known, (self.block_then * lanes).max(1)[:, None])
        cover = np.maximum(cover, np.repeat(warps, 32, axis=1))
        cover = np.maximum(cover, self.fenced * lanes)
        new = np.flatnonzero((cover > self.told).any(1))
        self.told[new] = cover[new]
        full = new[self.count[new] == KEPT]
        for k in range(KEPT - 1 if full.size else 0):
            for table, following in zip(self.levels[k], self.levels[k + 1], strict=True):
                table[full] = following[full]
        if full.size:
            self.levels[0][0][full] = 0
            self.count[full] -= 1
        for k in np.unique(self.count[new]):
            if k == len(self.levels):
                self.levels.append((np.zeros_like(self.count), np.zeros_like(self.told)))
            rows = new[self.count[new] == k]
            self.levels[k][0][rows], self.levels[k][1][rows] = now, cover[rows]
        self.count[new] += 1

    def acquire(self, lanes, now: int) -> None:
        """Lanes look at a flag: they may know all that was published before."""
        self.heard[np.broadcast_to(lanes, self.heard.shape)] = now

    def met(self, rows) -> None:
        for table, values in (
            (self.known, np.maximum(self.known, self.fenced)),
            (self.block_then, self.block_then.max(1, keepdims=True)),
            (self.heard, self.heard.max(1, keepdims=True)),
        ):
            np.copyto(table, values, where=rows[:, None])

    def warps_met(self, active) -> None:
        heard = self.heard.reshape(-1, 32)
        most = np.where(active, heard, 0).max(1, keepdims=True)
        np.copyto(heard, most, where=active)

    def before(self, then, earlier, row, lane):
        heard = self.heard[row, lane]
        done = np.zeros(len(then), bool)
        block, mate = earlier // self.order.threads, earlier % self.order.threads
        firsts = np.array(sorted(self.published))
        chunk = np.searchsorted(firsts, block, "right") - 1
        for c in np.unique(chunk[heard > 0]):
            here = np.flatnonzero((chunk == c) & (heard > 0))
            at = block[here] - firsts[c]
            for times, covers in self.published[int(firsts[c])]:
                told = (times[at] <= heard[here]) & (then[here] < covers[at, mate[here]])
                done[here] |= told
        return done
