"""What would cure a bank conflict: the recorded addresses, laid out in other ways.

Padding makes the rows of an array a few words longer; the XOR swizzle keeps their length and stores
column c of row r at column c ^ r. Both are tried on the addresses that a launch has used, with the
assembler's joining of accesses as far as the new layout still allows it.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from . import fusion
from .machine import short
from .observers.banks import BANKS, waves
from .observers.coalescing import by_warp

__all__ = ["Advice", "advise"]

PADDINGS = range(1, 9)  # words a row
WORD = 4
TYPES = {"char": 1, "half": 2, "short": 2, "bfloat16": 2, "int": 4, "unsigned": 4, "float": 4}
TYPES |= {"double": 8, "long": 8, "float2": 8, "int2": 8, "float4": 16, "int4": 16, "double2": 16}


@dataclass(frozen=True)
class Advice:
    """What other layouts of `array` would give at `line` of the `.cu` file, in wavefronts.

    `row` is the length of a row in words, `now` and `ideal` what is; `padded` maps words of padding
    a row to wavefronts (None: elements would be misaligned), `swizzled` is the XOR swizzle's (None:
    rows are no power of two long). `elsewhere` holds the same for all lines that use the array:
    {"now": …, 1: …, "swizzled": …}. `share` is the part of the accesses that was recorded.
    """

    line: int
    array: str
    row: int
    now: int
    ideal: int
    padded: dict
    swizzled: int | None
    elsewhere: dict = field(default_factory=dict)
    share: float = 1.0

    @property
    def best(self) -> int | None:
        """The smallest padding that comes closest to the ideal, None when none is better."""
        tried = {p: w for p, w in self.padded.items() if w is not None and w < self.now}
        return min(tried, key=lambda p: (tried[p], p), default=None)

    def __str__(self) -> str:
        ways = self.now / self.ideal if self.ideal else 1
        lines = [
            f"line {self.line}, `{self.array}` in rows of {self.row} words: {self.now:,} "
            f"wavefronts, {ways:.3g} times the {self.ideal:,} that would do"
        ]
        if self.best is None:
            lines.append("  no padding of 1 to 8 words a row helps")
        else:
            tried = (f"+{p}: {w:,}" for p, w in self.padded.items() if w is not None)
            lines.append(f"  padding, words a row: {', '.join(tried)}")
            rows = f"rows of {self.row + self.best} words"
            lines.append(f"  best: +{self.best}, {rows}{self.side_effect(self.best)}")
        if self.swizzled is not None and self.swizzled < self.now:
            lines.append(
                f"  XOR swizzle, column ^ row: {self.swizzled:,}, without more memory"
                f"{self.side_effect('swizzled')}"
            )
        if self.share < 0.995:
            lines.append(f"  (from {self.share:.0%} of the accesses, which were recorded)")
        return "\n".join(lines)

    def side_effect(self, way) -> str:
        """A warning where the other lines that use the array lose what this one gains."""
        now, then = self.elsewhere.get("now", 0), self.elsewhere.get(way, 0)
        return f"; but all lines together would go from {now:,} to {then:,}" if then >= now else ""

    def to_json(self) -> dict:
        return {
            "line": self.line,
            "array": self.array,
            "row": self.row,
            "now": self.now,
            "ideal": self.ideal,
            "padded": {str(p): w for p, w in self.padded.items()},
            "swizzled": self.swizzled,
            "best": self.best,
            "share": self.share,
        }


@dataclass(frozen=True)
class Access:
    """A recorded pattern: lanes' offsets within the array (warps, 32), who is active, the width of
    a lane's access once joined and as the PTX has it, and how many blocks did it."""

    lanes: np.ndarray
    active: np.ndarray | None
    width: int
    element: int
    kind: str
    blocks: int

    def wavefronts(self, lanes, width: int) -> int:
        """With the lanes elsewhere, in pieces of `width` bytes."""
        pieces = range(0, self.width, width)
        found = sum(waves(lanes(k), self.active, width, self.kind).source for k in pieces)
        return found * self.blocks

    @property
    def now(self) -> int:
        return waves(self.lanes, self.active, self.width, self.kind).source * self.blocks

    @property
    def ideal(self) -> int:
        return waves(self.lanes, self.active, self.width, self.kind).ideal * self.blocks

    def padded(self, row: int, words: int) -> int | None:
        """Rows of `row` bytes made longer by some words."""
        longer = row + WORD * words
        if longer % self.element:
            return None
        width = math.gcd(self.width, longer)
        return self.wavefronts(lambda k: pad(self.lanes + k, row, longer), max(width, self.element))

    def swizzled(self, row: int) -> int:
        """Column c of row r at column c ^ r, as far as the banks repeat."""
        size = max(self.element, WORD)
        return self.wavefronts(lambda k: swizzle(self.lanes + k, row, size), self.element)


def pad(offset, row: int, longer: int):
    return offset // row * longer + offset % row


def swizzle(offset, row: int, size: int):
    period = min(row, BANKS * WORD) // size
    return offset ^ (offset // row % period) * size


def advise(program, recorded, source, lines) -> list[Advice]:
    """Advice for those of the lines that have bank conflicts. `recorded` is the launch's
    Wavefronts observer, `source` the lines of the `.cu` file."""
    found = []
    counts = recorded.totals()
    places = {}  # (line, array) → pcs
    for pc in counts:
        array = recorded.facts[pc][0]
        places.setdefault((program.instructions[pc].line, array), []).append(pc)
    for (line, array), pcs in sorted(places.items()):
        if line not in lines:
            continue
        values = [counts[pc] for pc in pcs]
        if sum(v[0] for v in values) <= sum(v[1] for v in values):
            continue
        here = [a for pc in pcs for a in accesses(program, recorded, pc, array)]
        if here:
            everywhere = [pc for pc in counts if recorded.facts[pc][0] == array]
            rest = [a for pc in everywhere for a in accesses(program, recorded, pc, array)]
            counted = sum(v[0] for v in values)
            found.append(try_layouts(line, array, here, rest, row_of(array, source, here), counted))
    return found


def try_layouts(line, array, here, everywhere, row: int, counted: int) -> Advice:
    now = sum(a.now for a in here)
    padded = {p: total(a.padded(row, p) for a in here) for p in PADDINGS}
    power = row & (row - 1) == 0
    elsewhere = {p: total(a.padded(row, p) for a in everywhere) for p in PADDINGS}
    elsewhere = {p: w for p, w in elsewhere.items() if w is not None}
    elsewhere["now"] = sum(a.now for a in everywhere)
    if power:
        elsewhere["swizzled"] = sum(a.swizzled(row) for a in everywhere)
    return Advice(
        line,
        array,
        row // WORD,
        now,
        sum(a.ideal for a in here),
        padded,
        sum(a.swizzled(row) for a in here) if power else None,
        elsewhere,
        min(1.0, now / counted) if counted else 1.0,
    )


def total(values) -> int | None:
    values = list(values)
    return None if None in values else sum(values)


def accesses(program, recorded, pc: int, array: str) -> list[Access]:
    """The patterns of an instruction, as the assembler makes it; none for one that it drops."""
    joined = fusion.plan(program).get(pc)
    if joined is not None and not joined.leads:
        return []
    element, count = fusion.shape_of(program.instructions[pc])
    width, shift = (joined.width, joined.shift) if joined else (element * count, 0)
    kind = recorded.facts[pc][1]
    start = next((p for name, (p, _) in program.variables.items() if short(name) == array), 0)
    result = []
    for address, mask, threads, blocks in recorded.recorded(pc):
        lanes = by_warp(np.frombuffer(address, np.int64)[None, :], threads // 32) + shift - start
        active = None
        if mask is not None:
            active = by_warp(np.frombuffer(mask, bool)[None, :], threads // 32)
        result.append(Access(lanes, active, width, element, kind, blocks))
    return result


def row_of(array: str, source, here: list[Access]) -> int:
    """Bytes of a row: as the array is declared, else as far apart as the lanes are, else the 32
    words after which the banks begin again."""
    declared = re.compile(rf"__shared__[^;]*?(\w+)\s+(?:\w+[^;]*,\s*)?{array}((?:\s*\[[^\]]*\])+)")
    for text in source:
        if found := declared.search(text):
            sizes = re.findall(r"\[([^\]]*)\]", found[2])
            if len(sizes) > 1 and sizes[-1].strip().isdigit() and found[1] in TYPES:
                return int(sizes[-1]) * TYPES[found[1]]
    apart = 0
    for access in here:
        lanes = access.lanes if access.active is None else access.lanes[access.active]
        steps = np.unique(np.abs(np.diff(lanes.reshape(-1))))
        apart = math.gcd(apart, *map(int, steps))
    return apart if apart >= BANKS * WORD else BANKS * WORD
