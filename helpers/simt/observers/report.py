"""How a race is put into words: compute-sanitizer's vocabulary, then what to do about it."""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..isa.types import unsigned
from ..machine import unravel
from .facts import element_size

__all__ = ["KINDS", "Reports", "Side", "advice", "element_of", "sentence"]

PLACES = {"Read": 0, "Atomic": 1, "Write": 2}  # the greater one's line is the defect's
KINDS = ("race between blocks", "race between warps", "race inside a warp")


@dataclass(frozen=True)
class Side:
    """One of the two accesses: what it did (Write, Read, Atomic), where, and which thread."""

    what: str
    pc: int
    line: int
    block: object
    thread: object


class Reports:
    """The part of a race checker (`races.Chunk`) that puts into words what it has found. A code is
    a thread, shifted by BITS, and the TIME of its access."""

    BITS = 29
    TIME = (1 << BITS) - 1

    def report(self, seen, codes, at, cell, name) -> None:
        """A defect for each class of race and pair of instructions among the lanes `at`."""
        threads = self.order.threads
        other, mine = codes >> self.BITS, seen.thread[at]
        apart, alone = other // threads != mine // threads, other // 32 == mine // 32
        kind = np.where(apart, 0, np.where(alone, 2, 1))
        pcs = self.whole.pcs_at(other, codes & self.TIME, threads)
        same = np.zeros(len(at), bool)
        if name == "Write" and seen.name == "Write" and seen.access.values:
            same = self.same_value(seen, codes, at)
        group = (pcs * len(KINDS) + kind) * 2 + same
        for i in np.unique(group, return_index=True)[1]:
            pc = int(pcs[i])
            strong = seen.strong and pc in self.facts.strong
            if not strong and self.whole.quiet.isdisjoint((pc, seen.access.pc)):
                first = self.side(name, pc, int(other[i]))
                second = self.side(seen.name, seen.access.pc, int(mine[i]))
                self.say(KINDS[kind[i]], first, second, seen, int(cell[i]), bool(same[i]))

    def side(self, what: str, pc: int, thread: int) -> Side:
        launch = self.m.launch
        block, lane = divmod(thread, self.order.threads)
        line = launch.program.instructions[pc].line
        return Side(what, pc, line, unravel(block, launch.grid), unravel(lane, launch.block))

    def say(self, kind, first, second, seen, cell, same) -> None:
        name, element = self.element(seen, cell)
        key = (kind, *sorted((first.line, second.line)), name, same)
        if self.whole.said.setdefault(key, second) is not second:  # another thread may be as far
            return
        text = sentence(kind, first, second, element, same, self.facts.signals)
        at = max((first, second), key=lambda s: (PLACES[s.what], s.line))
        self.m.defect(
            "same-value race" if same else kind,
            text,
            pc=at.pc,
            block=at.block,
            thread=at.thread,
            array=name,
            lines=(first.line, second.line),
            severity="note" if same else "error",
        )

    def element(self, seen, cell) -> tuple[str, str]:
        """The array that a cell belongs to, and how a message names the element."""
        size = element_size(self.m.launch.program.instructions[seen.access.pc])
        space = seen.access.space
        offset = cell << self.shift[space]
        if space == "global":
            s = seen.place
            offset += s.origin - s.start
            size = s.dtype.itemsize if s.dtype is not None else size
            return s.name, element_of((), s.name, offset, size, space)
        offset %= seen.access.home.pitch
        name, offset, _ = self.m.variable(space, offset) or ("shared memory", offset, 0)
        return name, element_of(self.m.launch.source, name, offset, size, space)

    def same_value(self, seen, codes, at):
        """Which of these writing lanes write what is there already, or what the lane of the same
        instruction writes that they meet."""
        access, (blocks, threads) = seen.access, self.m.shape
        alike = access.space == "shared" and self.shared_rows == 1
        lane = seen.lane[at]
        block = np.arange(blocks)[:, None] if alike else lane // threads
        lane = lane % threads
        size = access.width // len(access.values)
        twin = (codes & self.TIME) == self.order.now
        twin &= np.isin((codes >> self.BITS) // threads - self.order.first, np.arange(blocks))
        mate = np.where(twin, (codes >> self.BITS) % threads, lane)
        mate_block = block
        if not alike:
            mate_block = np.where(twin, (codes >> self.BITS) // threads - self.order.first, block)
        address = np.broadcast_to(access.address, self.m.shape)[block, lane]
        if access.space == "shared":
            index = access.home.offset[block, 0] + address
            view = access.home.typed(unsigned(size))
        else:
            index, view = address - seen.place.origin, seen.place.typed(unsigned(size))
        same = True
        for k, value in enumerate(access.values):
            value = np.broadcast_to(value.view(unsigned(size)), self.m.shape)
            old = np.where(twin, value[mate_block, mate], view.take(index // size + k))
            same = same & (value[block, lane] == old)
        return same.all(0) if alike else same


def sentence(kind: str, first: Side, second: Side, element: str, same: bool, signals: bool) -> str:
    """`first` came earlier in this run; `same` when both wrote one value."""
    apart = kind == KINDS[0]
    text = (
        f"Race reported between {place(first, apart)} and {place(second, apart)}"
        f" on {element}: nothing orders them. "
    )
    if same:
        return text + (
            "Both write the same value, so the result stands; say so with `// race: intended` "
            "on the line, or let one thread write"
        )
    return text + advice(kind, first, second, signals)


def place(side: Side, apart: bool) -> str:
    block = f" of block {side.block}" if apart else ""
    return f"{side.what} access at line {side.line} by thread {side.thread}{block}"


def advice(kind: str, first: Side, second: Side, signals: bool) -> str:
    """What orders the two, or makes the order unimportant."""
    both_write = "Read" not in (first.what, second.what)
    if kind == KINDS[0]:
        fence = (
            "put a __threadfence() before the flag or counter that hands the data over, and a "
            "__syncthreads() behind the thread that looks at it"
        )
        if both_write and first.line == second.line:
            return "Let each block write elements of its own, or combine them with atomicAdd()"
        return (
            f"Blocks cannot wait for each other at a __syncthreads(): {fence}, or split the kernel "
            "into two launches"
            if signals
            else "Blocks of a launch run in any order: use an atomic such as atomicAdd() for what "
            "they share, or split the kernel into two launches"
        )
    call = "__syncthreads()" if kind == KINDS[1] else "__syncwarp()"
    if first.line == second.line and (both_write or first.what == "Read"):
        if both_write:
            return "Let one thread write it, give each thread its own element, or use atomicAdd()"
        return (
            f"Read into a register, call {call}, then write; or use atomicAdd() where threads "
            "update one element"
        )
    if first.line < second.line:
        return f"Put a {call} between line {first.line} and line {second.line}"
    back = "it" if first.line == second.line else f"line {second.line}"
    return f"Put a {call} after line {first.line}, before the loop comes back to {back}"


def element_of(source, name: str, offset: int, size: int, space: str) -> str:
    """An element of an array by name and index: "`tile`[1][0] (4 bytes, shared)"."""
    if size == 0 or offset % size:
        return f"`{name}` + {offset} bytes ({size} bytes, {space})"
    index, places = offset // size, []
    for extent in reversed(extents(tuple(source), name) if space == "shared" else ()):
        places.append(index % extent)
        index //= extent
    return (
        f"`{name}`{''.join(f'[{i}]' for i in (index, *reversed(places)))} ({size} bytes, {space})"
    )


@lru_cache
def extents(source: tuple, name: str) -> tuple:
    """The extents of a __shared__ array behind its first, where the source has them as numbers."""
    declared = rf"__shared__[^;]*\b{re.escape(name)}\s*\[[^]]*\]((?:\s*\[\s*\d+\s*\])+)"
    found = re.search(declared, "\n".join(source))
    return tuple(map(int, re.findall(r"\d+", found[1]))) if found else ()
