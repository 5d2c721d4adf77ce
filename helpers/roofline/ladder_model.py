"""What the bandwidth ladder says: bars, roofs and notes, before anything is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import recorded, specs, versions
from ..recorded import CEILINGS, Figure, Record
from ..theme import COLOURS
from .origins import DEVICE, given, older, roof_of, title

__all__ = ["Content", "Roof", "Series", "content"]

_COLOUR_OF = {"article": "orange", "recorded": "blue", "live": "green", "predicted": "sky"}
_SPARE = ("purple", "vermillion", "yellow")  # for a second device of one origin


@dataclass(frozen=True)
class Roof:
    """A horizontal line no bar of its device should cross: gbps in 10^9 bytes/s."""

    label: str
    gbps: float
    colour: str
    measured: bool


@dataclass(frozen=True)
class Series:
    """The bars of one origin, device and date: version name -> 10^9 bytes/s.

    `older` names the bars of another kernel than the catalogue's of today.
    """

    label: str
    colour: str
    bars: dict[str, float]
    older: frozenset[str] = frozenset()
    predicted: bool = False


@dataclass(frozen=True)
class Content:
    """All that the ladder says, before anything is drawn; the picture and its text share it.

    slots are the names along the axis, shown those whose bars the lesson has reached.
    """

    title: str
    slots: tuple[str, ...]
    shown: tuple[str, ...]
    series: tuple[Series, ...]
    roofs: tuple[Roof, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"Bar chart: {self.title}, in GB/s."]
        for one in self.series:
            bars = ", ".join(f"{title(name)} {gbps:.0f}" for name, gbps in one.bars.items())
            said.append(f"{one.label}: {bars}.")
        lines = "; ".join(f"{roof.label} {roof.gbps:.0f}" for roof in self.roofs)
        said.append(f"Lines: {lines or 'none'}.")
        if later := [title(name) for name in self.slots if name not in self.shown]:
            said.append(f"Still to come: {', '.join(later)}.")
        return " ".join([*said, *(f"{note}." for note in self.notes)])


def content(
    upto: str,
    live: Record | Iterable[Figure] = (),
    rows: int = 4096,
    cols: int = 4096,
    predicted: Iterable = (),
) -> Content:
    """Choose the bars, the lines and the notes; upto is a rung of the ladder or "copy".

    predicted: objects with name, rows, cols, gbps and device, as `helpers.model` makes them.
    """
    rungs = tuple(version.name for version in versions.ladder())
    if upto not in (*rungs, "copy"):
        raise ValueError(f"upto={upto!r} is no rung of the ladder; use {', '.join(rungs)} or copy")
    slots = CEILINGS if upto == "copy" else rungs
    shown = CEILINGS if upto == "copy" else rungs[: rungs.index(upto) + 1]
    groups, notes = _groups(given(live), rows, cols, shown)

    series, roofs = [], []
    for figures, colour in zip(groups, _colours(groups), strict=True):
        last = {row.name: row for row in figures}  # of one measured twice
        bars = {name: last[name].gbps for name in shown if name in last}
        if bars:
            changed = frozenset(name for name in bars if last[name].stale)
            series.append(Series(figures[0].where(), colour, bars, changed))
        found = _roofs_of(figures, colour, with_copy=upto != "copy")
        if all(roof.measured for roof in found):
            notes.append(f"{figures[0].device}: no data sheet in helpers/specs.py, so no roof")
        roofs += found
    series += _predicted(predicted, rows, cols, shown)
    unique: dict[tuple[str, float], Roof] = {}
    for roof in roofs:
        unique.setdefault((roof.label, roof.gbps), roof)
    what = "copy" if upto == "copy" else "softmax"
    headline = f"Effective bandwidth, {what} of {rows} × {cols} float32"
    return Content(headline, slots, shown, tuple(series), tuple(unique.values()), tuple(notes))


def _groups(
    given: Sequence[Figure], rows: int, cols: int, shown: Sequence[str]
) -> tuple[list[list[Figure]], list[str]]:
    """Figures by origin, device and date, in the order of the legend, and what must be said."""
    wanted = (rows, cols, "float32")
    published = [f for f in recorded.article() if (f.rows, f.cols, f.dtype) == wanted]
    stored = recorded.figures(DEVICE, *wanted)
    notes = []
    if not stored:
        notes.append(f"recorded, {DEVICE}: nothing in measurements/ at this size yet")
    notes += older(figure for figure in stored if figure.name in shown)
    fresh = [f for f in given if (f.rows, f.cols, f.dtype) == wanted]
    if given and not fresh:
        sizes = sorted({f"{f.rows}×{f.cols} {f.dtype}" for f in given})
        raise ValueError(f"live holds no figure at {rows}×{cols} float32, only {', '.join(sizes)}; "
                         "pass rows= and cols= of what was measured")
    by_label: dict[str, list[Figure]] = {}
    for figure in fresh:
        by_label.setdefault(figure.where(), []).append(figure)
    return [group for group in (published, stored, *by_label.values()) if group], notes


def _predicted(made: Iterable, rows: int, cols: int, shown: Sequence[str]) -> list[Series]:
    """One series a device of the predictions at this size."""
    made = tuple(made)
    here = [one for one in made if (one.rows, one.cols) == (rows, cols)]
    if made and not here:
        sizes = sorted({f"{one.rows}×{one.cols}" for one in made})
        raise ValueError(f"predicted holds nothing at {rows}×{cols}, only {', '.join(sizes)}; "
                         "pass rows= and cols= of what was predicted")
    series, colours = [], itertools.cycle((_COLOUR_OF["predicted"], *_SPARE))
    for device in dict.fromkeys(one.device for one in here):
        bars = {name: one.gbps for name in shown for one in here
                if (one.name, one.device) == (name, device)}
        if bars:
            colour = COLOURS[next(colours)]
            series.append(Series(f"predicted, {device}", colour, bars, predicted=True))
    return series


def _colours(groups: Sequence[Sequence[Figure]]) -> list[str]:
    """One colour an origin, whatever else is drawn; further devices take the spare ones."""
    spare, names = itertools.cycle(_SPARE), []
    for origin in (figures[0].origin for figures in groups):
        name = _COLOUR_OF[origin]
        names.append(next(spare) if name in names else name)
    return [COLOURS[name] for name in names]


def _roofs_of(figures: Sequence[Figure], colour: str, with_copy: bool) -> list[Roof]:
    """The device's data-sheet line, and the faster copy of the same run where there was one."""
    first, roofs = figures[0], []
    spec = specs.of_device(first.device)
    short = spec.name if spec else first.device.removeprefix("NVIDIA ")
    if spec:
        roofs.append(Roof(f"{short} data sheet", spec.bandwidth / 1e9, colour, False))
    copy = roof_of(figures)
    if copy and with_copy:
        roofs.append(Roof(f"{short} copy, {first.origin}", copy, colour, True))
    return roofs
