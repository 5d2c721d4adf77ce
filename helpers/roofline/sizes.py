"""The sweep: effective bandwidth over the length of a row, with the cliffs that specs foretell."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from .. import recorded, versions
from ..recorded import CEILINGS, Figure, Record
from ..specs import Spec
from ..theme import Theme, mark, theme
from .cliffs import Cliff, cliffs
from .drawing import SMALL, axes, halo, heading, say, within
from .origins import DEVICE, Run, chosen, run, title

__all__ = ["Line", "Sweep", "sweep", "sweep_content"]

_LABEL = 0.062  # height of a label, as a share of the axis
_CLIFF = 0.225  # width of a cliff's words, as a share of the axis
_CLIFF_WORDS = 17  # characters a line of them
_FEW_PEERS = ("torch.softmax", "torch.compile", "triton fused", "quack")
_ABOVE = 0.31  # where the heading begins when there are cliffs under it


@dataclass(frozen=True)
class Line:
    """One row name over N: cols -> 10^9 bytes/s, and whether a kernel of it has changed since."""

    name: str
    gbps: dict[int, float]
    older: bool = False


@dataclass(frozen=True)
class Sweep:
    """All that the sweep says: sizes along the axis, lines, the data-sheet roof, cliffs, notes."""

    title: str
    sizes: tuple[int, ...]
    lines: tuple[Line, ...]
    roof: tuple[str, float] | None
    cliffs: tuple[Cliff, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"Line chart: {self.title}, in GB/s over N."]
        for line in self.lines:
            points = ", ".join(f"{gbps:.0f} at {cols}" for cols, gbps in line.gbps.items())
            said.append(f"{title(line.name)}: {points}.")
        if self.roof:
            said.append(f"Line: {self.roof[0]} {self.roof[1]:.0f}.")
        said += [f"Cliff: {cliff}." for cliff in self.cliffs]
        return " ".join([*said, *(f"{note}." for note in self.notes)])


def sweep(
    dtype: str = "float32",
    rows: int | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
    dark: bool = False,
) -> Axes:
    """Draw effective bandwidth over N, one line a version, peer and copy; returns its axes.

    dtype: of the elements; rows: M of the matrices, None for the one measured at the most N;
    names: rows of the record, None for versions, copies and a few peers. Figures: `live` ones, else
    the newest record of `device`. Cliffs are computed from the kernels and the data sheet. A size
    nobody measured is a gap. ValueError for a name that the figures lack and for live figures of
    several devices.
    """
    look, said = theme(dark), sweep_content(dtype, rows, names, live, device)
    with look.applied():
        ax = axes(ax, look)
        highest = [gbps for line in said.lines for gbps in line.gbps.values()]
        top = 1.06 * max([*highest, *([said.roof[1]] if said.roof else [])], default=1)
        _scales(ax, said, top)
        _lines(ax, said, look)
        _labels(ax, said, look, top)
        _cliffs(ax, said, look)
        heading(ax, said.title, [], said.notes, _ABOVE + 1 if said.cliffs else 1.01)
    say(ax, str(said))
    return ax


def sweep_content(
    dtype: str = "float32",
    rows: int | None = None,
    names: Sequence[str] | None = None,
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
) -> Sweep:
    """Choose lines, roof, cliffs and notes from one run's figures of one type."""
    source = run(device, live)
    typed = [figure for figure in source.rows if figure.dtype == dtype]
    rows = rows or recorded.usual_rows(typed) or 4096
    fit = [figure for figure in typed if figure.rows == rows]
    order = sorted(dict.fromkeys(figure.name for figure in fit), key=_rank)
    lines, left = [], _crowd(order) if names is None else []
    for name in (n for n in chosen(names, order) if n not in left) if fit else ():
        last = {f.cols: f for f in fit if f.name == name}  # of one measured twice
        changed = any(f.stale for f in last.values())
        lines.append(Line(name, {cols: last[cols].gbps for cols in sorted(last)}, changed))
    sizes = tuple(sorted({size for line in lines for size in line.gbps}))
    spec = source.spec
    roof = (f"{source.short} data sheet", spec.bandwidth / 1e9) if spec and lines else None
    headline = f"Effective bandwidth, softmax of {rows} × N {dtype}"
    return Sweep(headline, sizes, tuple(lines), roof, _between(lines, sizes, spec, rows),
                 tuple(_notes(source, lines, f"{rows} × N {dtype}", left)))


def _crowd(order: Sequence[str]) -> list[str]:
    """The peers that are left out unless asked for: more than a few grey lines cannot be told
    apart."""
    peers = [name for name in order if _rank(name)[0] == 1]
    few = [name for name in peers if name in _FEW_PEERS]
    return [name for name in peers if name not in few] if few else []


def _rank(name: str) -> tuple[int, str]:
    """Versions first, then peers, then the copies."""
    return (2 if name in CEILINGS else 0 if name in versions.VERSIONS else 1, name)


def _between(lines: Sequence[Line], sizes: Sequence[int], spec: Spec | None,
             rows: int) -> tuple[Cliff, ...]:
    """The cliffs between the first size and the last."""
    if not (spec and sizes):
        return ()
    found = cliffs([line.name for line in lines if line.name in versions.VERSIONS], spec, rows)
    return tuple(cliff for cliff in found if sizes[0] <= cliff.cols < sizes[-1])


def _notes(
    source: Run, lines: Sequence[Line], what: str, left: Sequence[str]
) -> list[str]:
    notes = [source.label]
    if source.rows and not lines:
        notes.append(f"no figure of {what} there; it has {_sizes(source)}")
    if older := [title(line.name) for line in lines if line.older]:
        notes.append(f"recorded with an older kernel (hollow markers): {', '.join(older)}")
    if lines and not source.spec:
        notes.append(f"{source.device}: no data sheet in helpers/specs.py, so no roof, no cliffs")
    if left:
        notes.append(f"measured, too (names=): {', '.join(left)}")
    return notes


def _sizes(source: Run) -> str:
    sizes = {f"{f.rows}×{f.cols} {f.dtype}": None for f in source.rows}
    listed = list(sizes)
    return ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")


def _scales(ax: Axes, said: Sweep, top: float) -> None:
    sizes = said.sizes or (128, 262144)
    ax.set_xscale("log", base=2)
    ax.set_xlim(sizes[0] / 1.3, max(sizes[-1], 2 * sizes[0]) * 1.15)
    ax.set_ylim(0, top)
    shown = [size for size in sizes if size & (size - 1) == 0] or list(sizes)
    shown = shown[:: 1 + len(shown) // 13]
    ax.set_xticks(shown, [f"{size}" for size in shown], fontsize=9)
    ax.minorticks_off()
    ax.set_xlabel("N, elements of a row")
    ax.set_ylabel("effective bandwidth (GB/s)")
    ax.grid(axis="y", zorder=0)


def _lines(ax: Axes, said: Sweep, look: Theme) -> None:
    others = [line.name for line in said.lines]
    for line in said.lines:
        own = mark(line.name, look, others)
        gbps = [line.gbps.get(size, float("nan")) for size in said.sizes]
        ax.plot(said.sizes, gbps, color=own.colour, marker=own.marker, linestyle=own.line,
                linewidth=1.8, markersize=5.5, zorder=3,
                markerfacecolor=look.paper if line.older else own.colour)
    if said.roof:
        ax.axhline(said.roof[1], color=look.ink, linewidth=1.6, zorder=2)


def _labels(ax: Axes, said: Sweep, look: Theme, top: float) -> None:
    """A name at the end of every line, in one column beside the axes."""
    others, ends = [line.name for line in said.lines], []
    for line in said.lines:
        cols, gbps = list(line.gbps.items())[-1]
        text = title(line.name) if cols == said.sizes[-1] else f"{title(line.name)}, to N = {cols}"
        own = mark(line.name, look, others)
        ends.append((gbps, cols, text, own.colour))
    if said.roof:
        ends.append((said.roof[1], ax.get_xlim()[1], f"{said.roof[0]} {said.roof[1]:.0f}",
                     look.ink))
    places = within([end[0] / top for end in ends], _LABEL, 0.02, 1.0)
    for (gbps, cols, text, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            text, xy=(cols, gbps), xycoords="data", xytext=(1.03, place),
            textcoords="axes fraction", va="center", fontsize=SMALL, color=look.ink,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1.1, "shrinkA": 1,
                        "shrinkB": 3, "linestyle": (0, (1, 2)), "relpos": (0, 0.5)},
        )


def _cliffs(ax: Axes, said: Sweep, look: Theme) -> None:
    """A vertical line at each, its words above the axes, side by side."""
    across = ax.transData + ax.transAxes.inverted()
    at = [across.transform((cliff.cols, 0))[0] for cliff in said.cliffs]
    half = _CLIFF / 2
    for cliff, x, place in zip(said.cliffs, at, within(at, _CLIFF, half, 1 - half), strict=True):
        ax.axvline(cliff.cols, color=look.quiet, linestyle=(0, (3, 2)), linewidth=1.2, zorder=1)
        ax.annotate(
            "\n".join(textwrap.wrap(str(cliff), _CLIFF_WORDS + 2)), xy=(x, 1), xytext=(place, 1.08),
            xycoords="axes fraction", textcoords="axes fraction", ha="center", va="bottom",
            fontsize=SMALL, color=look.ink, path_effects=halo(look),
            arrowprops={"arrowstyle": "-", "color": look.quiet, "linewidth": 1.2, "shrinkA": 0,
                        "shrinkB": 0, "relpos": (0.5, 0)},
        )
