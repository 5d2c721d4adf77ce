"""How many blocks of a version an SM holds as rows grow longer: from data sheets, not measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from .. import recorded, specs, versions
from ..recorded import Figure
from ..specs import Spec
from ..versions import Version
from .code import View, table

__all__ = ["CARDS", "Fit", "Occupancy", "bandwidths", "fit", "occupancy", "staircase"]

CARDS = ("t4", "a100", "h100", "h200")


@dataclass(frozen=True)
class Fit:
    """Blocks of one version at one row length on an SM of one card. `limits` are by cause (as
    Spec.room has them), `bound` is the cause that counts."""

    card: str
    cols: int
    threads: int
    limits: tuple[tuple[str, int], ...]
    threads_per_sm: int

    @property
    def blocks(self) -> int:
        """Blocks an SM, 0 where the row does not fit at all."""
        return min(count for _, count in self.limits)

    @property
    def bound(self) -> str:
        """threads, blocks or shared memory."""
        return min(self.limits, key=lambda limit: limit[1])[0]

    @property
    def warps(self) -> int:
        return self.blocks * self.threads // 32

    @property
    def share(self) -> float:
        """Resident threads over those an SM can hold, 0 to 1."""
        return self.blocks * self.threads / self.threads_per_sm


@dataclass(frozen=True)
class Occupancy:
    """One version on several cards: `fits` at `cols` columns, `steps` the whole staircase of each
    card as (longest row, blocks an SM), `static` its fixed bytes of shared memory; `figures` are
    recorded bandwidths over N, of the version and of one to compare with."""

    version: str
    block: int
    cols: int
    static: int
    staged: int
    fits: tuple[Fit, ...]
    steps: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    figures: tuple[Figure, ...] = ()

    @property
    def wall(self) -> int | None:
        """The longest row within the 48 KB that need no asking for; None without staging."""
        least = min(specs.get(card).shared_default for card, _ in self.steps)
        return (least - self.static) // self.staged if self.staged else None

    @cached_property
    def table(self) -> View:
        """The cards at `cols` columns: blocks, warps, share of the SM, what limits it."""
        body = [
            ["blocks an SM", *(str(fit.blocks) for fit in self.fits)],
            ["warps an SM", *(str(fit.warps) for fit in self.fits)],
            ["of the SM's threads", *(f"{fit.share:.0%}" for fit in self.fits)],
            ["limited by", *(fit.bound for fit in self.fits)],
        ]
        if self.staged:
            last = (f"{steps[-1][0]:,}" if steps else "none" for _, steps in self.steps)
            body.append(["longest row", *last])
        names = [f"N = {self.cols:,}", *(specs.get(fit.card).name for fit in self.fits)]
        each = f"{self.staged} N + " * bool(self.staged)
        bytes_ = f"{each}{self.static} bytes of shared memory a block"
        return table(names, body, f"{self.version}, {self.block} threads, {bytes_}; computed from "
                     "the data sheets and the kernel's attributes, registers not counted")

    def sentence(self) -> str:
        """The cards at `cols` columns in one sentence."""
        parts = (f"{specs.get(fit.card).name} {fit.blocks} ({fit.share:.0%})" for fit in self.fits)
        return (
            f"{self.version} with {self.block} threads at N = {self.cols:,}, blocks an SM (share "
            f"of its threads): {', '.join(parts)}."
        )

    def __str__(self) -> str:
        return f"{self.table}\n{recorded.table(self.figures)}" if self.figures else str(self.table)

    __repr__ = __str__

    def picture(self) -> View:
        """The staircases, and below them the recorded bandwidth where there is one."""
        from .residency_picture import draw

        return draw(self)

    def readout(self) -> str:
        """The table, as HTML."""
        return f'<div style="line-height:1.4">{self.table._repr_html_()}</div>'

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_() + self.readout()


def occupancy(
    version: Version | str = "v4", cols: int = 4096, block: int | None = None,
    cards: Sequence[str] = CARDS, figures: Iterable[Figure] | None = None,
) -> Occupancy:
    """Blocks, warps and share of the threads of an SM over the row length N, on several cards.

    Computed from specs and the kernel's own static shared memory; nothing is measured. `figures`
    are drawn below: recorded bandwidths over N (by default those of the newest H200 record, when
    it has several N; pass () for none). ValueError for a block the kernel cannot run with, a row
    length below 1 or an unknown card.
    """
    version = versions.get(version) if isinstance(version, str) else version
    version = replace(version, block=version.block if block is None else int(block))
    if not (isinstance(cols, int) and 1 <= cols <= versions.MAX_COLS):
        raise ValueError(f"N must be a whole number from 1 to {versions.MAX_COLS:,}, got {cols}")
    if not cards:
        raise ValueError(f"occupancy() needs a card; choose from {', '.join(specs.SPECS)}")
    sheets = [(card.lower(), specs.get(card)) for card in cards]
    return Occupancy(
        version.name, version.block, cols,
        versions.static_shared(version.source, version.entry), version.staged,
        tuple(fit(version, cols, spec, card) for card, spec in sheets),
        tuple((card, staircase(version, spec)) for card, spec in sheets),
        tuple(bandwidths(version.name) if figures is None else figures),
    )


def fit(version: Version, cols: int, spec: Spec, card: str = "") -> Fit:
    """What limits the blocks of `version` on an SM of `spec` at `cols` columns."""
    shared = versions.static_shared(version.source, version.entry) + version.shared(cols)
    limits = tuple(spec.room(version.block, shared).items())
    return Fit(card or spec.name, cols, version.block, limits, spec.threads_per_sm)


def staircase(version: Version, spec: Spec) -> tuple[tuple[int, int], ...]:
    """((longest row, blocks an SM), …) from the most blocks to the fewest; a version that stages
    nothing has one step without an end, told by its longest row."""
    steps: list[tuple[int, int]] = []
    low, most = 1, version.max_cols(spec)
    while low <= most:
        blocks = fit(version, low, spec).blocks
        high = _last(version, spec, blocks, low, most)
        steps.append((high, blocks))
        low = high + 1
    return tuple(steps)


def _last(version: Version, spec: Spec, blocks: int, low: int, high: int) -> int:
    """The longest row from `low` on that still has so many blocks: they never rise with N."""
    while low < high:
        middle = (low + high + 1) // 2
        if fit(version, middle, spec).blocks == blocks:
            low = middle
        else:
            high = middle - 1
    return low


def bandwidths(name: str = "v4") -> list[Figure]:
    """A version's recorded bandwidths over N, with those of V3, which stages nothing, all at one
    number of rows; [] where the newest record has the version at one N only."""
    record = recorded.latest()
    found = [row for row in (record.rows if record else ())
             if row.name in (name, "v3") and row.dtype == "float32"]
    rows = recorded.usual_rows(row for row in found if row.name == name)
    found = [row for row in found if row.rows == rows]
    return found if len({row.cols for row in found if row.name == name}) > 1 else []
