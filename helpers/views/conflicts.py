"""How the lanes of a warp fall onto the 32 banks of shared memory, and how many turns that takes.

The count of wavefronts is the simulator's (`simt.observers.banks.waves`, validated against an
H200). Which word goes in which of them is the hardware's secret: here the lowest address goes
first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .. import versions
from ..simt import Trace
from ..simt.observers.banks import BANKS, WAVEFRONT, Waves, alike, most_in_a_bank, waves
from .coalesced import count
from .svg import points
from .warps import LANES, WarpAccess, accesses, accesses_at, named, traced

if TYPE_CHECKING:
    from ..theme import Picture

__all__ = ["WORD", "BankAccess", "Banks", "Served", "banks", "shared_accesses"]

WORD = 4  # bytes: what one bank gives in one wavefront


@dataclass(frozen=True)
class Served:
    """An element handed over in one wavefront: the `words` of shared memory it lies in, counted
    from 0, and the `lanes` that get it. `late` when its bank already gave the same group of lanes
    another word, in an earlier wavefront: a bank conflict."""

    words: tuple[int, ...]
    lanes: tuple[int, ...]
    late: bool

    @property
    def banks(self) -> tuple[int, ...]:
        """Word w is in bank w % 32."""
        return tuple(word % BANKS for word in self.words)


@dataclass(frozen=True)
class BankAccess:
    """One shared-memory instruction of one warp; `title` is what its panel is called."""

    title: str
    access: WarpAccess

    @cached_property
    def waves(self) -> Waves:
        """The simulator's counts: wavefronts (`source`), their `ideal`, `hardware`, `conflicts`."""
        address, active = _lanes(self.access)
        return waves(address, active, self.access.width, self.access.kind)

    @cached_property
    def wavefronts(self) -> tuple[tuple[Served, ...], ...]:
        """What each wavefront serves, first to last; as many as `waves.source`."""
        found = []
        for group in _groups(self.access):
            found += _turns(self.access, group)
        return tuple(found)

    @property
    def headline(self) -> str:
        """The access in one line."""
        counts = self.waves
        conflicts = count(counts.conflicts, "bank conflict") if counts.conflicts else "no conflict"
        wavefronts = count(counts.source, "wavefront")
        return f"{self.title}: {wavefronts}, ideal {counts.ideal}; {conflicts}"

    @property
    def place(self) -> str:
        """What it does, and the line it is on."""
        a = self.access
        return (
            f"line {a.line}, {a.kind} of {a.width} bytes a lane by {count(len(a.lanes), 'lane')} "
            f"of warp {a.warp}: {a.code}"
        )

    @property
    def worst(self) -> str:
        """The bank that has most to give, in words."""
        late = [served for wave in self.wavefronts for served in wave if served.late]
        if not late:
            return "no bank has to give the lanes served together more than one word"
        words = defaultdict(set)
        for wave in self.wavefronts:
            for served in wave:
                words[served.banks[0]].update(served.words[:1])
        bank, most = max(words.items(), key=lambda item: len(item[1]))
        return f"bank {bank} has {len(most)} different words to give"

    def __str__(self) -> str:
        a = self.access
        words = [at // WORD for at in a.address]
        pairs = ", ".join(f"{lane}→{word}" for lane, word in zip(a.lanes, words, strict=True))
        rows = [f"  {self.place}", f"  {self.worst}", f"  lane→word: {pairs}"]
        if self.waves.hardware != self.waves.source:
            rows.append(f"  the hardware's own counter says {self.waves.hardware}: its source view "
                        "looks at 16 lanes of a wide load by themselves")
        return "\n".join([self.headline, *rows])


@dataclass(frozen=True)
class Banks:
    """Accesses to look at, one above the other: where the words lie, and wavefront by wavefront
    which bank gives what to which lane."""

    accesses: tuple[BankAccess, ...]

    def picture(self, dark: bool = False) -> Picture:
        """The drawing, with its alternative text."""
        from .conflicts_picture import draw

        return draw(self, dark)

    @property
    def source(self) -> str:
        """Where the numbers come from."""
        devices = dict.fromkeys(one.access.device for one in self.accesses)
        return (
            f"wavefronts counted by the simulator, {', '.join(devices)}; "
            "drawn in the order of addresses"
        )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.accesses), f"({self.source})"])

    __repr__ = __str__

    def readout(self) -> str:
        """HTML: the worst bank of each access, and where the numbers come from."""
        worst = points(f"{one.title}: {one.worst}" for one in self.accesses)
        return f"{worst}<small>{escape(self.source)}</small>"

    def _repr_html_(self) -> str:
        return f'<div style="margin:.6em 0">{self.picture()._repr_html_()}{self.readout()}</div>'


def banks(
    *subjects: Trace | versions.Version | str | int, step: int | None = None,
    load: int | None = None, store: int | None = None, warp: int = 0, rows: int = 1,
    cols: int = 256, titles: Sequence[str] | None = None,
) -> Banks:
    """One shared-memory access of one warp of each subject: words, banks and wavefronts.

    A subject is a trace, or a version that is traced at rows × cols on the simulator; a number
    after a trace is its step, as in banks(trace, 120). Without a step, `load` or `store` count that
    warp's accesses from 0; without any it is the first load. Accesses are those of the PTX: where
    the assembler joins neighbours, a profile counts the joined ones. `titles` are names, one a
    subject. Raises ValueError for a step or a number without such an access.
    """
    if load is not None and store is not None:
        raise ValueError(f"banks() shows a load or a store, got load={load}, store={store}")
    found = []
    pairs = _with_steps(subjects, step)
    for (subject, at), given in zip(pairs, named(titles, pairs), strict=True):
        name, trace = traced(subject, rows, cols)
        title = given or name
        if at is not None:
            found.append(_at_step(trace, title, at, warp))
        else:
            kind, number = ("store", store) if store is not None else ("load", load or 0)
            found.append(_numbered(trace, title, kind, number, warp))
    return Banks(tuple(found))


def shared_accesses(trace: Trace, warp: int = 0, title: str | None = None) -> list[BankAccess]:
    """The loads and stores of shared memory that a warp of a traced block makes, in order."""
    every = accesses(trace, "shared", warp)
    return [BankAccess(title or trace.kernel, a) for a in every if a.kind in ("load", "store")]


def _with_steps(subjects, step) -> list[tuple]:
    """(subject, its step or None): a number belongs to what stands before it."""
    pairs: list[tuple] = []
    for subject in subjects:
        if not isinstance(subject, int):
            pairs.append((subject, step))
        elif pairs:
            pairs[-1] = pairs[-1][0], subject
    if not pairs:
        raise ValueError('banks() needs a trace or a version, as in banks("v1") or banks(trace, 9)')
    return pairs


def _at_step(trace: Trace, title: str, step: int, warp: int) -> BankAccess:
    if not 0 <= step < len(trace):
        raise ValueError(f"{title} has steps 0 to {len(trace) - 1}, got {step}")
    for access in accesses_at(trace, step, "shared", warp):
        if access.kind in ("load", "store"):
            return BankAccess(title, access)
    there = [a.access.step for a in shared_accesses(trace, warp)]
    near = min(there, key=lambda k: abs(k - step), default=None)
    way_out = f"the nearest one is step {near}" if there else f"warp {warp} makes none at all"
    raise ValueError(
        f"step {step} of {title}: warp {warp} neither loads from shared memory nor stores to it "
        f"there; {way_out}"
    )


def _numbered(trace: Trace, title: str, kind: str, number: int, warp: int) -> BankAccess:
    mine = [a for a in shared_accesses(trace, warp, title) if a.access.kind == kind]
    if not 0 <= number < len(mine):
        raise ValueError(
            f"{kind}={number} of {title}: warp {warp} makes {count(len(mine), f'shared {kind}')}, "
            "counted from 0; choose another one, or another warp"
        )
    return mine[number]


# ------------------------------------------------------------------ which wavefront serves whom
def _lanes(access: WarpAccess) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and who is active, both (1, 32), as the simulator's rules want them."""
    address, active = np.zeros((1, LANES), np.int64), np.zeros((1, LANES), bool)
    address[0, list(access.lanes)] = access.address
    active[0, list(access.lanes)] = True
    return address, active


def _groups(access: WarpAccess) -> list[range]:
    """The lanes that are served together: 32 of them up to 4 bytes a lane, 16 or 8 of wider
    elements, twice as many where lanes of a load agree in pairs and no bank has two to give."""
    size = min(LANES, WAVEFRONT // access.width)
    if access.kind != "load" or size == LANES:
        return [range(start, start + size) for start in range(0, LANES, size)]
    address, active = _lanes(access)
    element = address // access.width
    agree = [alike(element, active, partner)[0] for partner in (1, 2)]
    joined = most_in_a_bank(element, active, 2 * size, access.width, False)[0]
    found = []
    for number, start in enumerate(range(0, LANES, 2 * size)):
        lanes = slice(start, start + 2 * size)
        whole = joined[number] == 1 and any(pairs[lanes].all() for pairs in agree)
        step = 2 * size if whole else size
        found += [range(at, at + step) for at in range(start, start + 2 * size, step)]
    return found


def _turns(access: WarpAccess, group: range) -> list[tuple[Served, ...]]:
    """The wavefronts of one group: in each, every bank gives at most one element."""
    readers = defaultdict(list)  # element → lanes
    size = max(access.width, WORD)
    for lane, at in zip(access.lanes, access.address, strict=True):
        if lane in group:
            readers[at // size].append(lane)
    given: dict[int, int] = defaultdict(int)  # bank of an element → elements given so far
    turns = defaultdict(list)
    for element, lanes in sorted(readers.items()):
        bank = element % (BANKS * WORD // size)
        words = range(element * size // WORD, (element + 1) * size // WORD)
        turns[given[bank]].append(Served(tuple(words), tuple(lanes), given[bank] > 0))
        given[bank] += 1
    return [tuple(turns[k]) for k in sorted(turns)]
