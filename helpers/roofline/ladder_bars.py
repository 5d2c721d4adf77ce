"""The bandwidth ladder: every version's effective bandwidth against the roofs of its device."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..recorded import Figure, Record
from ..theme import Theme, theme
from .drawing import HATCH, SMALL, axes, halo, heading, on, say, spread
from .ladder_model import Content, Series, content
from .origins import tick

__all__ = ["ladder"]

_GROUP = 0.84  # share of a version's slot that its bars fill
_WIDE = 90  # characters of a note, so that it ends before the roofs' labels begin
_LINE = 0.058  # height of a line of a roof's label, as a share of the axis


def ladder(
    upto: str = "v4",
    live: Record | Iterable[Figure] = (),
    ax: Axes | None = None,
    *,
    rows: int = 4096,
    cols: int = 4096,
    dark: bool = False,
    predicted: Iterable = (),
) -> Axes:
    """Draw the bandwidth ladder up to one version; returns its axes.

    Bars: the article's A100 figures, the recorded H200's, `live` ones (a record or figures from
    `helpers.bench`), float32 at rows × cols, and hatched those `predicted` (`helpers.model`).
    Later versions keep their place and stay empty; upto="copy" shows the two copies alone.
    ValueError for a version that is no rung, and for figures of another size only.
    """
    look, said = theme(dark), content(upto, live, rows, cols, predicted)
    with look.applied():
        ax = axes(ax, look)
        heights = [gbps for one in said.series for gbps in one.bars.values()]
        top = 1.06 * max([*heights, *(roof.gbps for roof in said.roofs)], default=1)
        ax.set_ylim(0, top)
        _bars(ax, said, look, top)
        _roofs(ax, said, look, top)
        _words(ax, said, look, upto)
    say(ax, str(said))
    return ax


def _bars(ax: Axes, said: Content, look: Theme, top: float) -> None:
    width = _GROUP / max(len(said.series), 1)
    upright = len(said.slots) * len(said.series) > 15
    for index, one in enumerate(said.series):
        for name, gbps in one.bars.items():
            x = said.slots.index(name) - _GROUP / 2 + (index + 0.5) * width
            older = name in one.older
            ax.bar(x, gbps, width * 0.92, zorder=3, **_fill(one, older, look))
            number = f"{gbps:.0f}{' ' if upright else chr(10)}older" if older else f"{gbps:.0f}"
            inside = gbps > 0.15 * top and not one.predicted  # there no roof runs through it
            plain = inside and not older
            ax.annotate(
                number, (x, gbps), (0, -3 if inside else 2), textcoords="offset points",
                ha="center", va="top" if inside else "bottom", rotation=90 if upright else 0,
                fontsize=SMALL, color=on(one.colour) if plain else look.ink, zorder=5,
                path_effects=None if plain else halo(look),
            )


def _fill(one: Series, older: bool, look: Theme) -> dict:
    """Solid; hollow and hatched when predicted; crossed out when of an older kernel."""
    if one.predicted:
        return {"facecolor": look.paper, "edgecolor": one.colour, "hatch": HATCH["predicted"]}
    if older:
        return {"facecolor": one.colour, "edgecolor": look.paper, "hatch": HATCH["older"]}
    return {"color": one.colour}


def _roofs(ax: Axes, said: Content, look: Theme, top: float) -> None:
    across = ax.get_yaxis_transform()
    labels = [[*textwrap.wrap(roof.label, 20), f"{roof.gbps:.0f} GB/s"] for roof in said.roofs]
    gap = _LINE * top * max(map(len, labels), default=0)
    places = spread([roof.gbps for roof in said.roofs], gap)
    for roof, label, place in zip(said.roofs, labels, places, strict=True):
        style = (0, (2, 2)) if roof.measured else "solid"
        ax.axhline(roof.gbps, color=roof.colour, linestyle=style, linewidth=1.6, zorder=2)
        ax.annotate(
            "\n".join(label), xy=(1, roof.gbps), xytext=(1.03, place),
            xycoords=across, textcoords=across, va="center", fontsize=SMALL, color=look.ink,
            arrowprops={"arrowstyle": "-", "color": roof.colour, "linewidth": 1.6,
                        "linestyle": style, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)},
        )


def _words(ax: Axes, said: Content, look: Theme, upto: str) -> None:
    middle, half = (len(said.slots) - 1) / 2, max(len(said.slots), 4) / 2 + 0.1
    ax.set_xlim(middle - half, middle + half)
    ax.set_xticks(range(len(said.slots)), [tick(name) for name in said.slots], fontsize=9)
    for name, label in zip(said.slots, ax.get_xticklabels(), strict=True):
        label.set_color(look.ink if name in said.shown else look.quiet)
        label.set_fontweight("bold" if name == upto else "normal")
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("effective bandwidth (GB/s)")
    ax.grid(axis="y", zorder=0)
    ax.set_axisbelow(True)
    handles = [Patch(label=one.label, **_fill(one, False, look)) for one in said.series]
    heading(ax, said.title, handles, said.notes, wide=_WIDE)
