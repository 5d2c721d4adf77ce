"""Draws a result of the overflow lesson: a card a type, exponentials above, outputs below.

Colour never works alone: naive bars are hatched, naive curves dotted; inf, 0 and NaN are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.markers import TICKLEFT

from ..theme import COLOURS, Picture, Theme, theme
from .overflow_model import FORMATS, Format, Outcome, Result
from .overflow_text import message, number, power_of_ten, total

__all__ = ["SHORT", "Card", "Cards", "draw"]

SHORT = 12  # up to this many elements each has its own bar; longer rows show their running sum
_SIZE = (2.9, 5.0)  # inches of a card at its widest
_NARROWEST = 2.25  # inches: two cards fit beside each other on a page of 900 pixels
_SMALL, _LARGE = 11.7, 13.6  # points at the widest, 9.1 and 10.6 at the narrowest
_EXP, _NAIVE, _SAFE = COLOURS["green"], COLOURS["orange"], COLOURS["blue"]
_ALARM = COLOURS["vermillion"]


class Card:
    """One type's two axes, kept between redraws; `show` replaces only what depends on the row."""

    def __init__(self, figure: Figure, format: Format, look: Theme) -> None:
        self.figure, self.format, self.look = figure, format, look
        with look.applied():
            figure.set_facecolor(look.paper)
            self.title = figure.text(0.01, 0.99, "", va="top", weight="bold", size=_LARGE)
            self.subtitle = figure.text(0.01, 0.935, "", va="top", size=_SMALL)
            figure.text(0.01, 0.49, "outputs and their sums", va="top", weight="bold", size=_LARGE)
            self.row_sums = figure.text(0.01, 0.44, "", va="top", size=_SMALL)
            self.upper = figure.add_axes((0.24, 0.55, 0.75, 0.335))
            self.lower = figure.add_axes((0.24, 0.1, 0.75, 0.285))
            figure.text(0.615, 0.022, "element of the row", ha="center", size=_SMALL)
        for axes in (self.upper, self.lower):
            axes.set_axis_off()  # Matplotlib's own axes take two thirds of the time of a redraw
            axes.plot((0, 0, 1), (1, 0, 0), color=look.quiet, transform=axes.transAxes, lw=1.2)
        self._drawn: list[Artist] = []

    def show(self, outcome: Outcome) -> None:
        """Draw one outcome in the card's own type."""
        while self._drawn:
            self._drawn.pop().remove()
        count = len(outcome.inputs)
        with self.look.applied(), np.errstate(all="ignore"):
            if count <= SHORT:
                self._horizontal(-0.7, count - 0.3, range(0, count, 1 + count // 11))
                self._exponentials(outcome)
                self._bars(outcome)
            else:
                self._horizontal(0, 1.14 * count, (0, count // 2, count))
                self._running_sum(outcome)
                self._curves(outcome)
        self.row_sums.set_text(
            f"naive {total(outcome.naive_sum)}, safe {total(outcome.safe_sum)}"
        )

    def _horizontal(self, left: float, right: float, ticks: Iterable[int]) -> None:
        """Both horizontal axes; element numbers below the lower one."""
        self.upper.set_xlim(left, right)
        self.lower.set_xlim(left, right)
        place = self.lower.get_xaxis_transform()
        for tick in ticks:
            self._keep(self.lower.text(tick, -0.04, str(tick), transform=place, ha="center",
                                       va="top", size=_SMALL))

    def _vertical(self, axes: Axes, bottom: float, top: float, ticks: dict[float, str]) -> None:
        """A vertical axis: its limits, and the positions of its ticks with their labels."""
        axes.set_ylim(bottom, top)
        place = axes.get_yaxis_transform()
        self._keep(axes.plot([0] * len(ticks), list(ticks), marker=TICKLEFT, linestyle="none",
                             markersize=3, color=self.look.quiet, transform=place, clip_on=False))
        for y, label in ticks.items():
            self._keep(axes.text(-0.03, y, label, transform=place, ha="right",
                                 va="center_baseline", size=_SMALL))

    def _exponentials(self, outcome: Outcome) -> None:
        """e^x on a log axis from the type's smallest positive to its largest finite number."""
        axes, format = self.upper, self.format
        low, high = np.log10(format.smallest / 2), np.log10(format.largest)
        margin = 0.17 * (high - low)
        bottom, top = low - margin, high + margin
        self.title.set_text(f"{format.name}: e^x, log scale")
        self.subtitle.set_text(
            f"– – largest {number(format.largest)} (x = {format.overflows_above:.2f})"
        )
        step = 4 if format.largest < 1e6 else 20
        ticks = range(int(np.ceil(low / step)) * step, int(high) + 1, step)
        self._vertical(axes, bottom, top, {tick: power_of_ten(tick) for tick in ticks})

        self._keep(axes.axhspan(high, top, color=_ALARM, alpha=0.12, linewidth=0))
        self._keep(axes.axhspan(bottom, low, color=_ALARM, alpha=0.12, linewidth=0))
        self._keep(axes.axhline(high, color=_ALARM, linestyle="--", linewidth=1.5))
        element = np.arange(len(outcome.inputs))
        value = outcome.exponentials.astype(np.float64)
        height = np.clip(np.log10(value), low, high)  # log10 of 0 and inf are infinite
        fine, infinite = (value > 0) & np.isfinite(value), np.isinf(value)
        self._keep(axes.vlines(element[value > 0], bottom, height[value > 0], _EXP, linewidth=2))
        self._keep(axes.plot(element[fine], height[fine], "o", color=_EXP, markersize=5))
        self._keep(axes.plot(element[infinite], height[infinite], "^", color=_ALARM))
        self._write(axes, _runs(infinite), high + 0.3 * margin, "inf")
        self._write(axes, element[value == 0], bottom + 0.1 * margin, "0")
        self._write(axes, element[np.isnan(value)], (low + high) / 2, "NaN", rotation=90)

    def _bars(self, outcome: Outcome) -> None:
        """Both outputs side by side; the exact softmax as a line across each pair."""
        axes, element = self.lower, np.arange(len(outcome.inputs))
        naive, safe = (y.astype(np.float64) for y in (outcome.naive, outcome.safe))
        exact = np.nan_to_num(outcome.exact)
        tallest = np.nanmax([*naive, *safe, *exact])
        top, step = (1.12, 0.25) if tallest > 0.25 else (0.28, 0.05)
        self._vertical(axes, 0, top, {y: f"{y:.2f}" for y in np.arange(0, top, step)})
        for start, height, look in (
            (element - 0.4, naive, {"facecolor": "none", "edgecolor": _NAIVE, "hatch": "//////"}),
            (element, safe, {"facecolor": _SAFE, "edgecolor": _SAFE}),
        ):
            bars = PolyCollection(_rectangles(start, 0.4, np.nan_to_num(height)), **look)
            self._keep(axes.add_collection(bars, autolim=False))
        lost_naive, lost_safe = np.isnan(naive), np.isnan(safe)
        centre = element - 0.33 * ~lost_safe + 0.2 * ~lost_naive  # one word where both are NaN
        either = lost_naive | lost_safe
        self._write(axes, centre[either], 0.02 * top, "NaN", rotation=90)
        lost = (naive == 0) & (exact > 0.01)
        self._write(axes, element[lost] - 0.25, 0.02 * top, "0")
        self._keep(axes.hlines(exact, element - 0.45, element + 0.45, self.look.ink, linewidth=1))

    def _running_sum(self, outcome: Outcome) -> None:
        """A long row: the sum so far in the type, against the same sum in float64."""
        axes, term = self.upper, np.arange(len(outcome.running))
        running = outcome.running.astype(np.float64)
        true = np.cumsum(outcome.exponentials.astype(np.float64))
        finite = np.isfinite(running)
        self.title.set_text(f"{self.format.name}: running sum")
        self.subtitle.set_text("of e^x; – – the same in float64")
        bottom = 0.9 * true[0] if true[0] > true[-1] / 2 else 0.0
        height = self._scale(axes, np.concatenate([true, running]), bottom)
        self._keep(axes.plot(term, true, "--", color=self.look.ink, linewidth=1.2))
        self._keep(axes.plot(term[finite], running[finite], color=_EXP, linewidth=2.5))
        if not finite.all():
            first = int(np.argmin(finite))
            self._write(axes, [first], bottom + 0.85 * height, number(running[first]))
        elif outcome.stuck_from is not None:
            # Under the rising curve on the right, or above a line that lies too low for that.
            low = outcome.denominator < bottom + 0.3 * height
            self._write(axes, [1.12 * len(term)],
                        outcome.denominator + 0.03 * height if low else bottom + 0.08 * height,
                        f"sticks at {number(outcome.denominator)}", ha="right")

    def _curves(self, outcome: Outcome) -> None:
        """A long row: both outputs as curves over the elements."""
        axes, element = self.lower, np.arange(len(outcome.inputs))
        naive, safe = (y.astype(np.float64) for y in (outcome.naive, outcome.safe))
        top = self._scale(axes, np.concatenate([naive, safe]))  # of an axis that begins at 0
        self._keep(axes.plot(element, safe, color=_SAFE, linewidth=2.5))
        self._keep(axes.plot(element, naive, ":", color=_NAIVE, linewidth=2.5))
        for y, name, height in ((naive, "naive", 0.75), (safe, "safe", 0.55)):
            if np.isnan(y).any():
                text = f"{name}: {np.isnan(y).sum()} NaN"
                self._write(axes, [len(y) / 2], height * top, text)

    def _scale(self, axes: Axes, values: np.ndarray, bottom: float = 0.0) -> float:
        """Scale an axis from `bottom` to beyond the largest finite value; return its height."""
        largest = np.max(values[np.isfinite(values)], initial=0) or 1.0
        height = 1.3 * (largest - bottom)
        decade = 10 ** np.floor(np.log10(height / 2))
        step = decade * max(s for s in (1, 2, 5) if s * decade <= height / 2)
        ticks = np.arange(np.ceil(bottom / step) * step, bottom + height, step)
        self._vertical(axes, bottom, bottom + height, {y: number(y) for y in ticks})
        return height

    def _write(self, axes: Axes, where: Iterable[float], height: float, text: str, **how) -> None:
        """The same few letters at several elements."""
        how = {"ha": "center", "va": "bottom", "size": _SMALL, "weight": "bold"} | how
        for x in where:
            self._keep(axes.text(x, height, text, color=_ALARM, **how))

    def _keep(self, artists: Artist | list[Artist]) -> None:
        self._drawn += artists if isinstance(artists, list) else [artists]


class Cards:
    """One card a type, side by side where there is room, below each other where there is none."""

    def __init__(self, dark: bool = False) -> None:
        self._cards = []
        for format in FORMATS:
            figure = Picture(figsize=_SIZE)
            figure.look = theme(dark)
            self._cards.append(Card(figure, format, figure.look))

    @property
    def figures(self) -> list[Picture]:
        """The figures, in the order of the types."""
        return [card.figure for card in self._cards]

    def show(self, result: Result) -> Cards:
        """Draw a result; return the cards."""
        for card, outcome in zip(self._cards, result.outcomes, strict=True):
            card.figure.alt = message(outcome)
            card.show(outcome)
        return self

    def __repr__(self) -> str:
        return "\n".join(figure.alt for figure in self.figures)

    def _repr_html_(self) -> str:
        columns = f"repeat(auto-fit,minmax({_NARROWEST}in,1fr))"
        grid = f"display:grid;gap:6px;grid-template-columns:{columns}"
        cards = "".join(figure._repr_html_() for figure in self.figures)
        # The width is limited outside the grid: a grid that knows its limit would not wrap.
        return f'<div style="max-width:9.2in">{_LEGEND}<div style="{grid}">{cards}</div></div>'


def draw(result: Result, dark: bool = False) -> Cards:
    """New cards that show a result; a notebook displays them."""
    return Cards(dark).show(result)


def _swatch(style: str, text: str) -> str:
    """One entry of the legend, in HTML so that it wraps and follows the page's theme."""
    box = "display:inline-block;width:1.1em;height:.8em;margin-right:.35em"
    return (f'<span style="white-space:nowrap"><span aria-hidden="true" style="{box};{style}">'
            f"</span>{escape(text)}</span>")


_LEGEND = (
    '<div style="display:flex;flex-wrap:wrap;gap:.2em 1.2em;margin:.3em 0">'
    + _swatch(f"background:{_EXP};height:.2em;margin-bottom:.3em", "e^x, rounded to the type")
    + _swatch(
        f"border:1px solid {_NAIVE};background:repeating-linear-gradient(135deg,"
        f"{_NAIVE} 0 1.5px,transparent 1.5px 4px)", "naive (hatched or dotted)")
    + _swatch(f"background:{_SAFE}", "safe: minus the maximum")
    + _swatch("background:currentColor;height:.1em;margin-bottom:.3em", "exact, in float64")
    + "</div>"
)


def _runs(mask: np.ndarray) -> np.ndarray:
    """The middle of each run of true elements: neighbours share one word."""
    start, stop = np.flatnonzero(np.diff(mask, prepend=False, append=False)).reshape(-1, 2).T
    return (start + stop - 1) / 2


def _rectangles(left: np.ndarray, width: float, height: np.ndarray) -> np.ndarray:
    """Corners (n, 4, 2) of bars that stand on 0."""
    x = left[:, np.newaxis] + np.array([0, 0, width, width])
    return np.stack([x, height[:, np.newaxis] * np.array([0, 1, 1, 0])], axis=-1)
