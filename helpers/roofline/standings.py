"""Everybody at one size: versions, peers and copies, the fastest on top."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes

from .. import versions
from ..recorded import CEILINGS, Figure, Record
from ..theme import Theme, mark, theme
from .drawing import HATCH, SMALL, axes, halo, heading, say
from .origins import DEVICE, older, run, title

__all__ = ["Peers", "Standing", "peers", "peers_content"]

_LONG = 3  # a bar that many times the median is cut off
_ROOM = 1.5  # the axis over the longest bar, for the words at its end


@dataclass(frozen=True)
class Standing:
    """One row: time in µs, share of the copy of the same run (None without), older kernel or not"""

    name: str
    us: float
    share: float | None
    older: bool = False

    def __str__(self) -> str:
        share = "" if self.share is None else f" · {self.share:.1%} of copy"
        return f"{self.us:.1f} µs{share}{' · older kernel' if self.older else ''}"


@dataclass(frozen=True)
class Peers:
    """All that the picture says: the rows by time, and the notes."""

    title: str
    rows: tuple[Standing, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        rows = "; ".join(f"{title(row.name)} {row}" for row in self.rows)
        return " ".join([f"Bar chart: {self.title}, the fastest first.", f"{rows or 'No rows'}.",
                         *(f"{note}." for note in self.notes)])


def peers(
    rows: int = 4096,
    cols: int = 4096,
    dtype: str = "float32",
    ax: Axes | None = None,
    *,
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
    dark: bool = False,
) -> Axes:
    """Draw the time of every row of one size, the fastest on top; returns its axes.

    Figures: `live` ones, else the newest record of `device`; a size nobody measured gives an empty
    picture that says so. ValueError for live figures of several devices.
    """
    look, said = theme(dark), peers_content(rows, cols, dtype, live, device)
    with look.applied():
        ax = axes(ax, look, max(3.0, 1.4 + 0.29 * len(said.rows)))
        _bars(ax, said, look)
        heading(ax, said.title, [], said.notes)
    say(ax, str(said))
    return ax


def peers_content(
    rows: int = 4096,
    cols: int = 4096,
    dtype: str = "float32",
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
) -> Peers:
    """Choose and sort the rows of one size, and what must be said of them."""
    source = run(device, live, (rows, cols, dtype))
    here = [figure for figure in source.by_name.values() if figure.us]
    standings = [Standing(f.name, f.us, f.copy_share, f.stale)
                 for f in sorted(here, key=lambda figure: figure.us)]
    headline = f"Time of softmax and copy, {rows} × {cols} {dtype}"
    return Peers(headline, tuple(standings), (source.label, *older(source.rows), *_cut(standings)))


def _cut(standings: list[Standing]) -> list[str]:
    limit = _limit(standings) if standings else 0
    cut = [title(row.name) for row in standings if row.us > limit]
    return [f"bars cut off: {', '.join(cut)}"] if cut else []


def _limit(standings: Iterable[Standing]) -> float:
    """The time at which bars are cut, so that one slow row does not flatten all others."""
    times = [row.us for row in standings]
    high = _LONG * median(times)
    return high if max(times) > high else max(times)


def _bars(ax: Axes, said: Peers, look: Theme) -> None:
    limit = _limit(said.rows) if said.rows else 1.0
    for place, row in enumerate(said.rows):
        length, ours = min(row.us, limit), row.name in versions.VERSIONS
        fill = {"facecolor": mark(row.name, look).colour, "edgecolor": look.paper}
        if row.name in CEILINGS:
            fill = {"facecolor": look.paper, "edgecolor": look.ink}
        ax.barh(place, length, 0.68, zorder=2, hatch=HATCH["older"] if row.older else None, **fill)
        if row.us > limit:
            ax.annotate("≈", (0.93 * limit, place), ha="center", va="center", fontsize=15,
                        color=look.paper, fontweight="bold", rotation=90, zorder=4)
        ax.annotate(str(row), (length, place), (4, 0), textcoords="offset points", va="center",
                    fontsize=SMALL + 0.5, color=look.ink, zorder=3, path_effects=halo(look),
                    fontweight="bold" if ours else "normal")
    names = [title(row.name) for row in said.rows]
    ax.set_yticks(range(len(names)), names, fontsize=9)
    for row, label in zip(said.rows, ax.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if row.name in versions.VERSIONS else "normal")
    ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
    ax.set_xlim(0, limit * _ROOM)
    ax.set_xticks([at for at in ax.get_xticks() if at <= limit])  # beyond, no bar is to scale
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("time (µs)")
    ax.grid(axis="x", zorder=0)
    ax.set_axisbelow(True)
