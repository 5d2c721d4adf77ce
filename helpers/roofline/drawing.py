"""What all charts draw alike: paper, words above the axes, labels that keep their distance."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from ..theme import COLOURS, Picture, Theme, picture

__all__ = ["HATCH", "SMALL", "axes", "halo", "heading", "on", "say", "spread", "within"]

SMALL = 8.5  # points: the smallest text of a chart
# Hatches mean the same in every chart.
HATCH = {"predicted": "////", "older": "xx", "requested": "...."}
_WIDE = 108  # characters of 9 points that stay beside the axes of a picture of 9 inches


def axes(ax: Axes | None, look: Theme, height: float = 4.5) -> Axes:
    """The reader's axes, or those of a new picture 9 inches wide."""
    return picture(9, height, look).subplots() if ax is None else ax


def heading(on: Axes | Figure, title: str, handles: Iterable[Artist], notes: Iterable[str],
            above: float = 1.01, wide: int = _WIDE) -> Legend:
    """Title, key and notes above the axes, or above all axes of a figure, in that order.

    `above` is where they begin, in shares of the axes' height; a line has `wide` characters.
    """
    handles = [*handles]
    for handle in handles:
        handle.set_label(textwrap.fill(handle.get_label(), wide))
    lines = [part for note in notes for part in textwrap.wrap(note, wide)]
    told = [Line2D([], [], linestyle="none", label=line) for line in lines]
    place = {"loc": "outside upper left"} if isinstance(on, Figure) else {
        "loc": "lower left", "bbox_to_anchor": (0, above)}
    if not handles:  # no key, no room for one
        place |= {"handlelength": 0, "handletextpad": 0}
    legend = on.legend(handles=[*handles, *told], fontsize=9, title=title, alignment="left",
                       borderaxespad=0, borderpad=0.2, **place)
    legend.get_title().set(fontweight="bold", fontsize=11.5)
    return legend


def say(ax: Axes, text: str) -> None:
    """Give the picture its alternative text; a reader's own figure has no place for one."""
    if isinstance(ax.figure, Picture):
        ax.figure.alt = text


def halo(look: Theme) -> list[effects.AbstractPathEffect]:
    """An edge of paper around text that lines may cross."""
    return [effects.withStroke(linewidth=2.5, foreground=look.paper)]


def on(colour: str) -> str:
    """Black or near-white, whichever reads better on a bar of this colour."""
    return "#fdfdfd" if colour == COLOURS["blue"] else "#000000"


def spread(values: Sequence[float], gap: float) -> list[float]:
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


def within(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as `spread` finds them, moved between low and high; closer where the room is short."""
    count = len(values)
    if not count:
        return []
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.argsort(values, kind="stable")
    least = {index: low + rank * gap for rank, index in enumerate(order)}
    most = {index: high - (count - 1 - rank) * gap for rank, index in enumerate(order)}
    return [min(max(place, least[index]), most[index])
            for index, place in enumerate(spread(values, gap))]
