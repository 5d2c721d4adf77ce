"""How the lanes of a warp fall into 32-byte sectors of global memory, for requests of real kernels.

`requests` reads them from a trace, `coalescing` puts some beside each other and draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from .. import versions
from ..simt import Trace
from .svg import points
from .warps import WarpAccess, accesses, named, traced

if TYPE_CHECKING:
    from ..theme import Picture

__all__ = ["SECTOR", "Coalescing", "Request", "coalescing", "requests"]

SECTOR = 32  # bytes: what memory hands over at least


@dataclass(frozen=True)
class Request:
    """One load or store instruction of one warp in global memory, and the sectors it touches.

    `title` is what its panel is called; `block_requests` and `block_sectors` count all requests of
    its kind that the traced block made.
    """

    title: str
    access: WarpAccess
    block_requests: int
    block_sectors: int

    @cached_property
    def sectors(self) -> tuple[int, ...]:
        """The numbers of the sectors touched, ascending; a sector's first byte is 32 times that."""
        return sectors_of(self.access)

    @cached_property
    def used(self) -> int:
        """Bytes that some lane asked for, each counted once."""
        width = self.access.width
        return len({byte for at in self.access.address for byte in range(at, at + width)})

    @property
    def moved(self) -> int:
        """Bytes of all the sectors touched."""
        return SECTOR * len(self.sectors)

    @property
    def ideal(self) -> int:
        """The fewest sectors that so many bytes fit in, or fewer where lanes share bytes."""
        fewest = -(-len(self.access.lanes) * self.access.width // SECTOR)
        return min(fewest, len(self.sectors))

    @property
    def headline(self) -> str:
        """The request in one line."""
        share = f"{100 * self.used / self.moved:.3g} %"
        return (
            f"{self.title}: 1 request, {count(len(self.sectors), 'sector')}, {self.used} of "
            f"{self.moved} bytes used ({share})"
        )

    @property
    def place(self) -> str:
        """What it does, and the line it is on."""
        access = self.access
        lanes = f"{len(access.lanes)} lanes" if len(access.lanes) > 1 else "1 lane"
        return (
            f"line {access.line}, {access.kind} of {access.width} bytes a lane by {lanes} of warp "
            f"{access.warp}: {access.code}"
        )

    @property
    def pattern(self) -> str:
        """How the sectors lie."""
        gaps = {b - a for a, b in zip(self.sectors, self.sectors[1:], strict=False)}
        if gaps <= {1}:
            return "side by side" if gaps else "just the one"
        if len(gaps) == 1:
            return f"one every {SECTOR * gaps.pop():,} bytes"
        return f"from {SECTOR * min(gaps):,} to {SECTOR * max(gaps):,} bytes apart"

    @property
    def total(self) -> str:
        """All requests of the block, in words."""
        each = self.block_sectors / self.block_requests
        return (
            f"{self.title}, the whole traced block: "
            f"{count(self.block_requests, f'{self.access.kind} request')}, "
            f"{count(self.block_sectors, 'sector')}, {each:.3g} a request"
        )

    def __str__(self) -> str:
        a = self.access
        ends = f"lane {a.lanes[0]}: {a.element(a.address[0])}"
        if len(a.lanes) > 1:
            ends += f" … lane {a.lanes[-1]}: {a.element(a.address[-1])}"
        return "\n".join([
            self.headline, f"  {self.place}", f"  {ends}",
            f"  sectors {self.pattern}; {self.ideal} would be ideal", f"  {self.total}",
        ])


@dataclass(frozen=True)
class Coalescing:
    """Requests to look at, one above the other on one scale: the length of a strip is the bytes
    moved, what is filled of it the bytes used."""

    requests: tuple[Request, ...]

    def picture(self, dark: bool = False) -> Picture:
        """The drawing, with this text as its alternative."""
        from .coalesced_picture import draw

        return draw(self, dark)

    @property
    def source(self) -> str:
        """Where the numbers come from."""
        devices = dict.fromkeys(request.access.device for request in self.requests)
        return f"counted by the simulator, {', '.join(devices)}"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.requests), f"({self.source})"])

    __repr__ = __str__

    def readout(self) -> str:
        """HTML: what the whole block did, and where the numbers come from."""
        totals = points(request.total for request in self.requests)
        return f"{totals}<small>{escape(self.source)}</small>"

    def _repr_html_(self) -> str:
        return f'<div style="margin:.6em 0">{self.picture()._repr_html_()}{self.readout()}</div>'


def coalescing(
    *subjects: Trace | versions.Version | str, load: int | None = None, store: int | None = None,
    warp: int = 0, rows: int = 32, cols: int = 128, titles: Sequence[str] | None = None,
) -> Coalescing:
    """One global load (or store) of one warp of each subject: lanes above, sectors below.

    A subject is a trace, or a version that is traced at rows × cols on the simulator. `load` and
    `store` count the requests of that warp from 0; without either it is the first load. `titles`
    are the panels' names, one a subject. Raises ValueError for a request that the warp does not
    make.
    """
    if not subjects:
        raise ValueError('coalescing() needs a trace or a version, as in coalescing("v0", "v1")')
    if load is not None and store is not None:
        raise ValueError(f"coalescing() shows a load or a store, got load={load}, store={store}")
    kind, number = ("store", store) if store is not None else ("load", load or 0)
    found = []
    for subject, given in zip(subjects, named(titles, subjects), strict=True):
        name, trace = traced(subject, rows, cols)
        title = given or name
        mine = requests(trace, kind, warp, title)
        if not 0 <= number < len(mine):
            raise ValueError(
                f"{kind}={number} of {title}: warp {warp} makes "
                f"{count(len(mine), f'{kind} request')}, counted from 0; choose another one, or "
                "another warp"
            )
        found.append(mine[number])
    return Coalescing(tuple(found))


def requests(
    trace: Trace, kind: str = "load", warp: int = 0, title: str | None = None
) -> list[Request]:
    """The global requests of one kind that a warp makes in a traced block, in order."""
    every = [access for access in accesses(trace, "global") if access.kind == kind]
    sectors = sum(len(sectors_of(access)) for access in every)
    return [
        Request(title or trace.kernel, access, len(every), sectors)
        for access in every if access.warp == warp
    ]


def sectors_of(access: WarpAccess) -> tuple[int, ...]:
    """The distinct sectors that the bytes of an access lie in, ascending."""
    last = access.width - 1
    touched = {s for at in access.address for s in range(at // SECTOR, (at + last) // SECTOR + 1)}
    return tuple(sorted(touched))


def count(number: int, noun: str) -> str:
    """`1 sector`, `4 sectors`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
