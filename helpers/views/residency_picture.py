"""Draws staircases of blocks an SM over the row length, and recorded bandwidth below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log2

from .. import specs
from ..theme import COLOURS
from .code import View
from .residency import Occupancy
from .svg import SMALL, Svg, legend, swatch

__all__ = ["draw"]

_WIDTH, _LEFT, _RIGHT = 480, 44, 34  # CSS pixels: a page of 900 leaves 468 for an output
_FIRST, _LAST = 2**8, 2**16  # columns: shorter rows change nothing
_HEIGHTS = (150, 110)  # of the staircases and of the bandwidth
# Colour, dash and width of a staircase; a later one is thinner and lies on an earlier one.
_LOOKS = (("sky", "none", 6), ("vermillion", "none", 3), ("green", "6 3", 2), ("purple", "2 2", 2))
_HALO = 'style="paint-order:stroke;stroke:var(--jp-layout-color0, Canvas);stroke-width:4"'
_GRID = 'stroke="currentColor" opacity=".25"'


def draw(view: Occupancy) -> View:
    """The picture of an Occupancy, its words as text."""
    chart = Svg(_WIDTH)
    bottom = _staircases(chart, view)
    if view.figures:
        bottom = _bandwidth(chart, view, bottom + 22)
    chart.text((_WIDTH + _LEFT - _RIGHT) / 2, bottom + 32, "N, columns of a row")
    style = f"max-width:{1.4 * _WIDTH:.0f}px;min-width:min({_WIDTH}px,100%)"
    words = _alt(view)
    svg = chart.markup(bottom + 38, words)
    return View(words, f'<div style="{style}">{_legend(view)}{svg}</div>')


def _x(cols: float) -> float:
    share = log2(min(max(cols, _FIRST), _LAST) / _FIRST) / log2(_LAST / _FIRST)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _staircases(chart: Svg, view: Occupancy) -> float:
    """Draws them; returns the height of their axis."""
    top, bottom = 34, 34 + _HEIGHTS[0]
    highest = max((steps[0][1] for _, steps in view.steps if steps), default=0) or 1
    tick = 1 if highest <= 8 else highest // 4
    chart.text(0, 12, f"{view.version}, {view.block} threads a block: blocks an SM",
               'font-weight="600"', "start")
    chart.text(_WIDTH - 2, top - 14, "warps", anchor="end")
    y = _axes(chart, range(0, highest + 1, tick), highest, top, bottom)
    for blocks in range(0, highest + 1, tick):
        warps = str(blocks * view.block // 32)
        chart.text(_WIDTH - _RIGHT + 4, y(blocks) + 4, warps, anchor="start")
    for (_, steps), look in zip(_alike(view), _LOOKS, strict=False):
        _staircase(chart, steps, y, look)
    if view.wall is not None:
        x = _x(view.wall)
        chart.path([f"M{x:.1f} {top - 4}V{bottom}"], 'stroke="currentColor" stroke-dasharray="2 3"')
    x = _x(view.cols)
    chart.path([f"M{x:.1f} {top - 4}V{bottom}"], 'stroke="currentColor" stroke-width="1.4"')
    if view.wall is not None:  # after the line at N, which its halo interrupts
        words = f"48 KB: N = {view.wall:,}"
        chart.text(_x(view.wall) + 4, top + 14, words, _HALO, "start")
    chart.text(x - 4, top - 5, f"N = {view.cols:,}", anchor="end" if x > _LEFT + 90 else "start")
    for blocks in {fit.blocks for fit in view.fits}:
        chart.parts.append(f'<circle cx="{x:.1f}" cy="{y(blocks):.1f}" r="4"/>')
    return bottom


def _staircase(chart: Svg, steps: Sequence[tuple[int, int]], y: Callable, look: tuple) -> None:
    colour, dash, width = look
    data, height = "", 0.0
    for cols, blocks in steps:
        height = y(blocks)
        data += f"V{height:.1f}" if data else f"M{_x(1):.1f} {height:.1f}"
        data += f"H{_x(cols):.1f}"
    style = f'stroke="{COLOURS[colour]}" stroke-dasharray="{dash}" stroke-width="{width}"'
    if steps and steps[-1][0] < _LAST:
        data += f"V{y(0):.1f}"
        x, low = _x(steps[-1][0]), y(0)
        cross = f"M{x - 4:.1f} {low - 4:.1f}l8 8M{x + 4:.1f} {low - 4:.1f}l-8 8"
        chart.path([cross], 'stroke="currentColor" stroke-width="2"')
    chart.path([data], style)


def _axes(chart: Svg, ticks: Iterable[int], highest: float, top: float, bottom: float) -> Callable:
    """Grid, labels and the axis of columns; returns the height of a value."""
    def y(value: float) -> float:
        return bottom - (bottom - top) * value / highest

    right = _WIDTH - _RIGHT
    ticks = list(ticks)
    chart.path([f"M{_LEFT} {y(tick):.1f}H{right}" for tick in ticks], _GRID)
    for tick in ticks:
        chart.text(_LEFT - 5, y(tick) + 4, f"{tick:,}", anchor="end")
    powers = [2**k for k in range(8, 17)]
    chart.path([f"M{_x(n):.1f} {bottom}v4" for n in powers], 'stroke="currentColor"')
    for n in powers:
        chart.text(_x(n), bottom + 16, f"{n:,}", f'font-size="{SMALL}"')
    return y


def _bandwidth(chart: Svg, view: Occupancy, top: float) -> float:
    figures = sorted((row for row in view.figures if row.cols >= _FIRST), key=lambda row: row.cols)
    top, title = top + 26, top + 12
    bottom = top + _HEIGHTS[1]
    most = max(row.gbps for row in figures)
    tick = 1000 if most > 1000 else 100
    y = _axes(chart, range(0, int(most) + 1, tick), 1.05 * most, top, bottom)
    many = sorted({row.rows for row in figures})
    rows = f"{many[0]:,}" if len(many) == 1 else f"{many[0]:,} to {many[-1]:,}"
    words = f"GB/s of {view.version}, {rows} rows ({figures[0].label()})"
    chart.text(0, title, words, 'font-weight="600"', "start")
    for name in dict.fromkeys(row.name for row in figures):
        rows = [row for row in figures if row.name == name]
        own = name == view.version
        points = [(_x(row.cols), y(row.gbps)) for row in rows]
        line = "M" + "L".join(f"{x:.1f} {height:.1f}" for x, height in points)
        colour = COLOURS["orange" if own else "blue"]
        dash = "" if own else 'stroke-dasharray="5 3"'
        chart.path([line], f'stroke="{colour}" stroke-width="2" {dash}')
        for x, height in points:
            chart.parts.append(f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3" fill="{colour}"/>')
        x, height = points[-1]
        chart.text(x - 2, height - 7, name, 'font-weight="600"')
    return bottom


def _alike(view: Occupancy) -> list[tuple[str, tuple]]:
    """(names, steps) of the cards; those with the same staircase share one."""
    found: dict[tuple, list[str]] = {}
    for card, steps in view.steps:
        found.setdefault(steps, []).append(specs.get(card).name)
    ordered = sorted(found.items(), key=lambda item: -max((cols for cols, _ in item[0]), default=0))
    return [(", ".join(names), steps) for steps, names in ordered]


def _legend(view: Occupancy) -> str:
    entries = []
    for (names, steps), (colour, dash, width) in zip(_alike(view), _LOOKS, strict=False):
        last = steps[-1][0] if steps else 0
        end = f", N at most {last:,} (×)" if last < _LAST else ""
        mark = (f'<path d="M0 6H18" stroke="{COLOURS[colour]}" stroke-width="{width}" '
                f'stroke-dasharray="{dash}"/>')
        entries.append(swatch(mark, names + end))
    if view.wall is not None:
        mark = '<path d="M9 0V12" stroke="currentColor" stroke-dasharray="2 3"/>'
        entries.append(swatch(mark, "48 KB a block: a launch beyond it must opt in"))
    return legend(entries)


def _alt(view: Occupancy) -> str:
    parts = []
    for names, steps in _alike(view):
        falls = ", ".join(f"{blocks} up to N = {cols:,}" for cols, blocks in steps if cols < _LAST)
        parts.append(f"{names}: {falls or f'{steps[0][1]} at any N' if steps else 'none'}")
    text = f"Blocks of {view.version} on an SM over the row length. {'; '.join(parts)}."
    own = [row for row in view.figures if row.name == view.version]
    if own:
        pairs = ", ".join(f"{row.gbps:.0f} at N = {row.cols:,}" for row in own)
        text += f" Recorded GB/s of {view.version} ({own[0].label()}): {pairs}."
    return text
