"""The roofline proper, drawn: FLOP/byte against GFLOP/s, both logarithmic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..recorded import Figure, Record
from ..theme import Theme, mark, theme
from .drawing import SMALL, axes, halo, heading, say, within
from .intensities import Intensity, intensity_content
from .origins import DEVICE, title

__all__ = ["intensity"]

_X = (0.02, 100)  # FLOP/byte: the article's 0.25 far enough right for its words to stand left of it
_STEP = 0.075  # from one line of words to the next, as a share of the axis
_NAMES = 0.7  # where the versions' names stand, as a share of the axis


def intensity(
    names: Sequence[str] | None = None,
    device: str = DEVICE,
    rows: int = 4096,
    cols: int = 4096,
    ax: Axes | None = None,
    dark: bool = False,
    live: Record | Iterable[Figure] = (),
) -> Axes:
    """Draw the roofline, FLOP/byte against GFLOP/s; returns its axes.

    A version's hollow marker is at the bytes its instructions ask for, the filled one at the bytes
    that DRAM moved (Nsight Compute, recorded); FLOPs are counted by the simulator, times are the
    record's of `device` or `live` ones. names: rungs of the ladder, None for all. Roofs: data
    sheet, measured copy, FP32. ValueError for a name that is no rung.
    """
    look, said = theme(dark), intensity_content(names, device, rows, cols, live)
    with look.applied():
        ax = axes(ax, look, 4.8)
        _scales(ax, said)
        _roofs(ax, said, look)
        _claims(ax, said, look)
        _points(ax, said, look)
        heading(ax, said.title, _key(said, look), said.notes)
    say(ax, str(said))
    return ax


def _scales(ax: Axes, said: Intensity) -> None:
    reached = [point.gflops for point in said.points] or [100]
    highest = said.compute[1] if said.compute else 10 * max(reached)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*_X)
    ax.set_ylim(min(50, min(reached) / 2), highest * 2)
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.minorticks_off()
    ax.set_xlabel("intensity (FLOP/byte)")
    ax.set_ylabel("performance (GFLOP/s)")
    ax.grid(zorder=0)


def _roofs(ax: Axes, said: Intensity, look: Theme) -> None:
    """Every roof up to the FP32 one; names at the left edge, a line from each to its roof."""
    low, high = ax.get_ylim()
    flat = said.compute[1] if said.compute else high
    for place, slope in enumerate(said.slopes):
        style = (0, (3, 2)) if slope.measured else "solid"
        ridge = flat / slope.gbps
        ax.plot((_X[0], ridge), (_X[0] * slope.gbps, flat), color=look.ink, linestyle=style,
                linewidth=1.6, zorder=2)
        share = 0.93 - _STEP * (place + 0.6)
        height = low * (high / low) ** share
        ax.annotate(
            f"{slope.label} {slope.gbps:.0f} GB/s", xy=(height / slope.gbps, height),
            xytext=(0.015, share), textcoords="axes fraction", va="center", fontsize=SMALL,
            color=look.ink, arrowprops={"arrowstyle": "-", "color": look.quiet, "shrinkB": 0,
                                        "linewidth": 0.8, "shrinkA": 0, "relpos": (1, 0.5)},
        )
    if said.compute:
        start = min((flat / slope.gbps for slope in said.slopes), default=_X[0])
        ax.plot((start, _X[1]), (flat, flat), color=look.ink, linewidth=1.6, zorder=2)
        ax.annotate(f"{said.compute[0]} {flat:.0f} GFLOP/s", (_X[1], flat), (-4, 3), ha="right",
                    va="bottom", textcoords="offset points", fontsize=SMALL, color=look.ink)


def _claims(ax: Axes, said: Intensity, look: Theme) -> None:
    """Poles at the article's intensities, each higher than the one left of it, words on its left"""
    low, high = ax.get_ylim()
    for place, claim in enumerate(sorted(said.claims, key=lambda claim: claim.intensity)):
        share = 0.5 + _STEP * place
        top = low * (high / low) ** share
        ax.plot((claim.intensity,) * 2, (low, top), color=look.quiet, linestyle=(0, (1, 1.5)),
                linewidth=1.5, zorder=1)
        ax.annotate(f"{claim.label}: {claim.intensity:.3g}", (claim.intensity, top), (-3, 0),
                    textcoords="offset points", ha="right", va="center", fontsize=SMALL,
                    color=look.ink, path_effects=halo(look))


def _points(ax: Axes, said: Intensity, look: Theme) -> None:
    to_share = ax.transData + ax.transAxes.inverted()
    heights = [to_share.transform((1, point.gflops))[1] for point in said.points]
    for point, place in zip(said.points, within(heights, 0.065, 0.03, 0.85), strict=True):
        own = mark(point.name, look)
        ends = [point.asked] if point.moved is None else [point.asked, point.moved]
        ax.plot(ends, [point.gflops] * len(ends), color=own.colour, linewidth=1.2, zorder=3)
        for intensity, face in zip(ends, (look.paper, own.colour), strict=False):
            ax.plot(intensity, point.gflops, own.marker, markersize=8, markerfacecolor=face,
                    markeredgecolor=own.colour, markeredgewidth=1.6, zorder=4)
        ax.annotate(
            _short(point), xy=(ends[-1], point.gflops), xytext=(_NAMES, place), va="center",
            textcoords="axes fraction", fontsize=SMALL, color=look.ink, path_effects=halo(look),
            arrowprops={"arrowstyle": "-", "color": own.colour, "linewidth": 1, "shrinkA": 1,
                        "shrinkB": 6, "linestyle": (0, (1, 2)), "relpos": (0, 0.5)},
        )


def _short(point) -> str:
    real = "" if point.moved is None else f", {point.moved:.2f} moved"
    return f"{title(point.name)}: {point.asked:.2f} asked{real}"


def _key(said: Intensity, look: Theme) -> list[Line2D]:
    """What hollow and filled mean, where both are drawn."""
    shape = {"linestyle": "none", "marker": "o", "markersize": 7, "markeredgecolor": look.ink}
    asked = Line2D([], [], markerfacecolor=look.paper, **shape,
                   label="FLOP a byte asked for: sectors × 32, counted by the simulator")
    moved = Line2D([], [], markerfacecolor=look.ink, **shape,
                   label="FLOP a byte that DRAM moved, read and written")
    both = any(point.moved is not None for point in said.points)
    return [asked, moved] if both else [asked] if said.points else []
