"""The bandwidth ladder: every version's effective bandwidth against the roofs of its device.

Effective bandwidth is 2·rows·cols·itemsize / time, nothing else. Every bar comes from
`helpers.recorded` or from figures the caller measured; no figure is written here.
"""

from __future__ import annotations

import itertools
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.patheffects as effects
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import recorded, specs, versions
from .recorded import CEILINGS, Figure, Record
from .theme import COLOURS, Picture, Theme, picture, theme

__all__ = ["Content", "Roof", "Series", "content", "describe", "ladder", "readme_picture", "theme"]

_RECORDED_DEVICE = "NVIDIA H200"
_COLOUR_OF = {"article": "orange", "recorded": "blue", "live": "green"}
_SPARE = ("purple", "vermillion", "sky")  # for a second device of one origin
_OTHER_MEMORY = re.compile("40GB|PCIe|NVL")  # cards of a data sheet's name, not of its bandwidth
_GROUP = 0.84  # share of a version's slot that its bars fill
_LINE = 0.058  # height of a line of a roof's label, as a share of the axis


@dataclass(frozen=True)
class Roof:
    """A horizontal line no bar of its device should cross: gbps in 10^9 bytes/s."""

    label: str
    gbps: float
    colour: str
    measured: bool


@dataclass(frozen=True)
class Series:
    """The bars of one origin, device and date: version name -> 10^9 bytes/s."""

    label: str
    colour: str
    bars: dict[str, float]


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
            bars = ", ".join(f"{_title(name)} {gbps:.0f}" for name, gbps in one.bars.items())
            said.append(f"{one.label}: {bars}.")
        lines = "; ".join(f"{roof.label} {roof.gbps:.0f}" for roof in self.roofs)
        said.append(f"Lines: {lines or 'none'}.")
        if later := [_title(name) for name in self.slots if name not in self.shown]:
            said.append(f"Still to come: {', '.join(later)}.")
        return " ".join([*said, *(f"{note}." for note in self.notes)])


def ladder(
    upto: str = "v4",
    live: Record | Iterable[Figure] = (),
    ax: Axes | None = None,
    *,
    rows: int = 4096,
    cols: int = 4096,
    dark: bool = False,
) -> Axes:
    """Draw the bandwidth ladder up to one version; returns its axes.

    Bars: the article's A100 figures, the recorded H200's, and `live` ones (a record or figures
    from `helpers.bench`), float32 at rows × cols. Later versions keep their place and stay empty;
    upto="copy" shows the two copies alone. ValueError for a version that is no rung.
    """
    look, said = theme(dark), content(upto, live, rows, cols)
    with look.applied():
        if ax is None:
            ax = picture(9, 4.5, look).subplots()
        heights = [gbps for one in said.series for gbps in one.bars.values()]
        top = 1.06 * max([*heights, *(roof.gbps for roof in said.roofs)], default=1)
        ax.set_ylim(0, top)
        _bars(ax, said, look, top)
        _roofs(ax, said, look, top)
        _words(ax, said, look, upto)
    if isinstance(ax.figure, Picture):
        ax.figure.alt = str(said)
    return ax


def describe(
    upto: str = "v4",
    live: Record | Iterable[Figure] = (),
    rows: int = 4096,
    cols: int = 4096,
) -> str:
    """What `ladder` shows, in words: every bar and every line with its number."""
    return str(content(upto, live, rows, cols))


def readme_picture(path: str | os.PathLike, dark: bool = False) -> Path:
    """Draw the whole ladder, published and recorded, as a PNG of 1440 × 720 pixels."""
    last = versions.ladder()[-1].name
    figure = ladder(last, dark=dark).figure
    figure.savefig(path, dpi=160)
    plt.close(figure)
    return Path(path)


def content(
    upto: str,
    live: Record | Iterable[Figure] = (),
    rows: int = 4096,
    cols: int = 4096,
) -> Content:
    """Choose the bars, the lines and the notes; upto is a rung of the ladder or "copy"."""
    rungs = tuple(version.name for version in versions.ladder())
    if upto not in (*rungs, "copy"):
        raise ValueError(f"upto={upto!r} is no rung of the ladder; use {', '.join(rungs)} or copy")
    slots = CEILINGS if upto == "copy" else rungs
    shown = CEILINGS if upto == "copy" else rungs[: rungs.index(upto) + 1]
    groups, notes = _groups(live, rows, cols, shown)

    series, roofs = [], []
    for figures, colour in zip(groups, _colours(groups), strict=True):
        bars = {name: row.gbps for name in shown for row in figures if row.name == name}
        if bars:
            series.append(Series(figures[0].label(), colour, bars))
        found = _roofs_of(figures, colour, with_copy=upto != "copy")
        if all(roof.measured for roof in found):
            notes.append(f"{figures[0].device}: no data sheet in helpers/specs.py, so no roof")
        roofs += found
    unique: dict[tuple[str, float], Roof] = {}
    for roof in roofs:
        unique.setdefault((roof.label, roof.gbps), roof)
    what = "copy" if upto == "copy" else "softmax"
    title = f"Effective bandwidth, {what} of {rows} × {cols} float32"
    return Content(title, slots, shown, tuple(series), tuple(unique.values()), tuple(notes))


def _groups(
    live: Record | Iterable[Figure], rows: int, cols: int, shown: Sequence[str]
) -> tuple[list[list[Figure]], list[str]]:
    """Figures by origin, device and date, in the order of the legend, and what must be said."""
    wanted = (rows, cols, "float32")
    published = [f for f in recorded.article() if (f.rows, f.cols, f.dtype) == wanted]
    record = recorded.latest(_RECORDED_DEVICE)
    stored = record.at(*wanted) if record else []
    notes = []
    if not stored:
        notes.append(f"recorded, {_RECORDED_DEVICE}: nothing in measurements/ at this size yet")
    elif older := [_title(f.name) for f in stored if f.name in shown and record.stale(f.name)]:
        notes.append(f"recorded with an older kernel: {', '.join(older)}")
    given = list(live.rows if isinstance(live, Record) else live)
    fresh = [f for f in given if (f.rows, f.cols, f.dtype) == wanted]
    if given and not fresh:
        sizes = sorted({f"{f.rows}×{f.cols} {f.dtype}" for f in given})
        raise ValueError(f"live holds no figure at {rows}×{cols} float32, only {', '.join(sizes)}; "
                         "pass rows= and cols= of what was measured")
    by_label: dict[str, list[Figure]] = {}
    for figure in fresh:
        by_label.setdefault(figure.label(), []).append(figure)
    return [group for group in (published, stored, *by_label.values()) if group], notes


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
    spec = _spec(first.device)
    short = spec.name if spec else first.device.removeprefix("NVIDIA ")
    if spec:
        roofs.append(Roof(f"{short} data sheet", spec.bandwidth / 1e9, colour, False))
    copies = [f.gbps for f in figures if f.name in CEILINGS]
    copies = copies or [f.gbps / f.copy_share for f in figures if f.copy_share]
    if copies and with_copy:
        roofs.append(Roof(f"{short} copy, {first.origin}", max(copies), colour, True))
    return roofs


def _spec(name: str) -> specs.Spec | None:
    """The data sheet of a device by its full name, as "NVIDIA H200"; None where there is none."""
    if _OTHER_MEMORY.search(name):
        return None
    found = (s for s in specs.SPECS.values() if re.search(rf"\b{re.escape(s.name)}\b", name))
    return next(found, None)


def _title(name: str) -> str:
    """A version's name as a reader says it: V3, copy kernel."""
    return name.replace("_", " ") if name in CEILINGS else name.upper()


def _tick(name: str) -> str:
    """The name and, for a version, the idea that its file is named after."""
    if name in CEILINGS:
        return _title(name)
    idea = Path(versions.get(name).file).stem.partition("_")[2].replace("_", " ")
    return f"{_title(name)}\n{idea}"


def _bars(ax: Axes, said: Content, look: Theme, top: float) -> None:
    width = _GROUP / max(len(said.series), 1)
    rotation = 90 if len(said.slots) * len(said.series) > 15 else 0
    halo = [effects.withStroke(linewidth=2.5, foreground=look.paper)]
    for index, one in enumerate(said.series):
        for name, gbps in one.bars.items():
            x = said.slots.index(name) - _GROUP / 2 + (index + 0.5) * width
            ax.bar(x, gbps, width * 0.92, color=one.colour, zorder=3)
            inside = gbps > 0.15 * top  # there no roof can run through the number
            ax.annotate(
                f"{gbps:.0f}", (x, gbps), (0, -3 if inside else 2), textcoords="offset points",
                ha="center", va="top" if inside else "bottom", rotation=rotation, fontsize=8.5,
                color=_on(one.colour) if inside else look.ink, zorder=5,
                path_effects=None if inside else halo,
            )


def _on(colour: str) -> str:
    """Black or near-white, whichever reads better on a bar of this colour."""
    return "#fdfdfd" if colour == COLOURS["blue"] else "#000000"


def _roofs(ax: Axes, said: Content, look: Theme, top: float) -> None:
    across = ax.get_yaxis_transform()
    labels = [[*textwrap.wrap(roof.label, 20), f"{roof.gbps:.0f} GB/s"] for roof in said.roofs]
    gap = _LINE * top * max(map(len, labels), default=0)
    places = _spread([roof.gbps for roof in said.roofs], gap)
    for roof, label, place in zip(said.roofs, labels, places, strict=True):
        style = (0, (2, 2)) if roof.measured else "solid"
        ax.axhline(roof.gbps, color=roof.colour, linestyle=style, linewidth=1.6, zorder=2)
        ax.annotate(
            "\n".join(label), xy=(1, roof.gbps), xytext=(1.03, place),
            xycoords=across, textcoords=across, va="center", fontsize=8.5, color=look.ink,
            arrowprops={"arrowstyle": "-", "color": roof.colour, "linewidth": 1.6,
                        "linestyle": style, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)},
        )


def _words(ax: Axes, said: Content, look: Theme, upto: str) -> None:
    middle, half = (len(said.slots) - 1) / 2, max(len(said.slots), 4) / 2 + 0.1
    ax.set_xlim(middle - half, middle + half)
    ax.set_xticks(range(len(said.slots)), [_tick(name) for name in said.slots], fontsize=9)
    for name, label in zip(said.slots, ax.get_xticklabels(), strict=True):
        label.set_color(look.ink if name in said.shown else look.quiet)
        label.set_fontweight("bold" if name == upto else "normal")
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("effective bandwidth (GB/s)")
    ax.grid(axis="y", zorder=0)
    ax.set_axisbelow(True)
    handles = [Patch(color=one.colour, label=one.label) for one in said.series]
    handles += [Line2D([], [], linestyle="none", label=note) for note in said.notes]
    legend = ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), fontsize=9,
                       title=said.title, alignment="left", borderaxespad=0, borderpad=0.2)
    legend.get_title().set(fontweight="bold", fontsize=11.5)


def _spread(values: Sequence[float], gap: float) -> list[float]:
    """Places nearest to the values that keep at least `gap` between neighbours, in their order."""
    order = np.argsort(values, kind="stable")
    blocks: list[list[float]] = []  # [mean, count] of values less their place in the queue
    for rank, index in enumerate(order):
        blocks.append([values[index] - rank * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            before, many = blocks[-1]
            blocks[-1] = [(before * many + mean * count) / (many + count), many + count]
    level = [mean for mean, count in blocks for _ in range(count)]
    places = [0.0] * len(values)
    for rank, index in enumerate(order):
        places[index] = level[rank] + rank * gap
    return places
