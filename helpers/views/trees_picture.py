"""Draws a reduction as SVG: slots in a row for each round, edges for who read whose value.

More than 32 slots are folded: a round between warps is drawn with a box a warp, a round within a
warp with the 32 slots of one of them. Text in the SVG is the page's own, so it is quick to make,
sharp at any width and follows light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isinf

from ..theme import COLOURS
from .reduction import LANES, Reduction, Row
from .svg import SMALL, Svg, legend, swatch

__all__ = ["LEGEND", "draw", "number", "sentence"]

WIDTH, PITCH = 416, 13  # CSS pixels, also of one of 32 slots
_GAP = 18  # of the edges between two rows
_LINE = 16  # of a line of words
_READ, _ALARM, _WAIT = COLOURS["blue"], COLOURS["vermillion"], COLOURS["orange"]


def number(value: float) -> str:
    """A value for a narrow box: 37, 2.14, −∞."""
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.0f}" if value == int(value) else f"{value:.3g}"
    return text.replace("-", "−")


def sentence(reduction: Reduction, row: Row, turn: int) -> str:
    """What happens in a row, in words; `turn` numbers the rounds."""
    warps = -(-reduction.threads // LANES)
    of = f"{row.warps}/{warps} warps" if warps > 1 else "1 warp"
    waves = f"{_count(row.wavefronts, 'wavefront')}"
    if row.wavefronts > row.ideal:
        waves += f", not {row.ideal}"
    step = row.strides[0] if row.strides else 0
    if row.kind == "columns":
        return _columns(reduction, row)
    if row.kind == "store":
        cells = "scratch[thread]" if len(row.edges) == reduction.threads else "scratch[warp]"
        if len(row.edges) == 1:
            return f"thread 0 writes scratch[0] · {waves}"
        who = "every thread" if len(row.edges) == reduction.threads else "lane 0 of each warp"
        return f"{who} writes {cells} · {waves}"
    if row.kind == "shared":
        return f"{turn}. cell i ← i + {step} · {of}, {waves}"
    if row.kind == "shuffle":
        mutual = {(b, a) for a, b in row.foreign} == set(row.foreign)
        what = f"trades with i ^ {step}" if mutual else f"reads i + {step}"
        return f"{turn}. lane i {what} · {of}, {_count(row.shuffles, 'shuffle')}"
    if row.kind == "load":
        empty = f"; {len(row.neutral)} lanes neutral" if row.neutral else ""
        return f"lane i reads scratch[i] · {waves}{empty}"
    return f"all {row.threads} threads read scratch[0] · {waves}"


def _columns(reduction: Reduction, row: Row) -> str:
    fed = [count for count in reduction.fed if count]
    each = str(min(fed)) if len(set(fed)) == 1 else f"{min(fed)} to {max(fed)}"
    text = f"{sum(fed):,} columns, {each} a thread"
    if row.neutral:
        neutral = number(next(row.values[slot] for slot in row.neutral))
        text += f"; {_count(len(row.neutral), 'thread')} without: neutral {neutral}"
    return text


def _count(many: int, what: str) -> str:
    return f"{many:,} {what}{'' if many == 1 else 's'}"


def draw(reduction: Reduction, alt: str, warp: int = 0) -> str:
    """The SVG of a reduction; `warp` is the one drawn lane by lane where all do alike."""
    return _Drawing(reduction, warp).svg(alt)


class _Drawing(Svg):
    """Goes down the rows; `wide` says that the last nodes drawn are warps, not slots."""

    def __init__(self, reduction: Reduction, warp: int) -> None:
        super().__init__(WIDTH)
        self.reduction, self.warp = reduction, warp
        self.warps = -(-reduction.threads // LANES)
        self.y, self.turn = 2.0, 0
        self.wide, self.group = self.warps > 1, 0
        self.above: tuple[Row, frozenset[int]] | None = None

    def svg(self, alt: str) -> str:
        for row, live in zip(self.reduction.rows, self.reduction.live, strict=True):
            self._row(row, live)
        if self.reduction.rows[-1].kind != "broadcast":
            self._already()
        return self.markup(self.y + 2, alt)

    # -- rows
    def _row(self, row: Row, live: frozenset[int]) -> None:
        self.turn += row.kind in ("shared", "shuffle")
        self._words(row)
        if row.kind == "columns":
            self._nodes(row, live)
        elif row.kind == "broadcast":
            self._broadcast(row)
        elif row.kind == "store" and len(row.edges) in (1, self.reduction.threads):
            pass  # the same values in the same slots: nothing new to draw
        else:
            self._fold(row)
            self._edges(row, live)
            self._nodes(row, live)
        self.above = row, live
        if row.barriers:
            self._barrier(row)

    def _words(self, row: Row) -> None:
        left = 0
        if row.wavefronts > row.ideal:
            self.text(0, self.y + 12, "▲", f'fill="{_ALARM}"', "start")
            left = 14
        text = sentence(self.reduction, row, self.turn)
        self.text(left, self.y + 12, text, anchor="start")
        self.y += _LINE

    def _fold(self, row: Row) -> None:
        """Change between a box a warp and the slots of one warp, as the row needs it."""
        wide = self._between_warps(row)
        groups = {slot // LANES for slot in row.written}
        group = self.warp if self.warp in groups else min(groups)
        if wide == self.wide and (wide or group == self.group or row.kind == "load"):
            return
        x, width = group * WIDTH / self.warps, WIDTH / self.warps
        top, bottom = ((x, x + width), (0, WIDTH)) if self.wide else ((0, WIDTH), (x, x + width))
        if self.warps > 1 and self.above[0].kind != "load":
            height = 18
            low = self.y + height
            corners = [*((x, self.y) for x in top), *((x, low) for x in bottom[::-1])]
            self.polygon(corners, 'opacity=".13"')
            slots = f"{group * LANES} to {group * LANES + LANES - 1}"
            where = f"warp {group}: slots {slots}" if self.wide else "a box a warp again"
            self.text(WIDTH / 2, self.y + 13, where)
            self.y += height
            self.wide, self.group = wide, group
            self._nodes(*self.above)
        self.wide, self.group = wide, group

    def _between_warps(self, row: Row) -> bool:
        if self.warps == 1 or row.kind in ("store", "load"):
            return False
        return all(a // LANES != b // LANES for a, b in row.foreign)

    # -- marks
    def _slots(self, row: Row) -> Iterable[int]:
        """The slots that are drawn: first of each warp, or those of one warp."""
        if self.wide:
            return range(0, self.reduction.threads, LANES)
        start = 0 if row.place == "cell" and len(row.values) <= LANES else self.group * LANES
        return range(start, min(start + LANES, len(row.values)))

    def _x(self, slot: int) -> float:
        """The middle of a slot, or of the box of its warp."""
        if self.wide:
            return (slot // LANES + 0.5) * WIDTH / self.warps
        return (slot % LANES + 0.5) * PITCH

    def _edges(self, row: Row, live: frozenset[int]) -> None:
        shown = set(self._slots(row))
        own, read, lost = [], [], []
        spans = (abs(self._x(a) - self._x(b)) for a, b in row.foreign if b in shown)
        gap = _GAP + min(20, 0.08 * max(spans, default=0))  # flat lines would run together
        for a, b in row.edges:
            partial = row.kind == "store" and a // LANES != self.group
            if b not in shown or (self.wide and a % LANES):
                continue
            x0, x1 = (self._x(b) if partial else self._x(a)), self._x(b)
            y0 = self.y + gap * 0.55 if partial else self.y  # from another warp: a stub
            line = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {self.y + gap:.1f}"
            kind = lost if b not in live else own if x0 == x1 and not partial else read
            kind.append(line)
        self.path(lost, 'stroke="currentColor" stroke-dasharray="1 3" opacity=".45"')
        self.path(own, 'stroke="currentColor" opacity=".6"')
        self.path(read, f'stroke="{_READ}" stroke-width="1.4"')
        self.y += gap

    def _nodes(self, row: Row, live: frozenset[int]) -> None:
        """Values in boxes, turned where they would not fit; a dot where nobody reads on."""
        slots = list(self._slots(row))
        groups = [range(s, s + LANES) if self.wide else (s,) for s in slots]
        alive = [any(slot in live for slot in group) for group in groups]
        texts = [
            number(row.values[slot]) if on and row.values[slot] is not None else ""
            for slot, on in zip(slots, alive, strict=True)
        ]
        middles = [self._x(slot) for slot, text in zip(slots, texts, strict=True) if text]
        width, turned = self._fit(middles, texts)
        height = 7.3 * max(map(len, texts)) + 6 if turned else 17
        for slot, group, text in zip(slots, groups, texts, strict=True):
            x = self._x(slot)
            written = any(one in row.written for one in group)
            if not text:
                if all(abs(x - other) > width / 2 + 3 for other in middles):
                    self._dot(x, self.y + height / 2, written)
                continue
            neutral = all(one in row.neutral for one in group)
            fresh = (row.kind == "columns" or written) and not neutral
            self._box(max(x, width / 2), width, height, text, fresh, neutral, turned)
        self.y += height + 2

    def _fit(self, middles: Sequence[float], texts: Sequence[str]) -> tuple[float, bool]:
        """How wide boxes are, and whether their texts must be turned to fit."""
        own = WIDTH / self.warps if self.wide else PITCH
        room = min((b - a for a, b in pairwise(middles)), default=4 * PITCH)
        wanted = 7.4 * max(map(len, texts)) + 3
        turned = wanted > room
        return (own if turned else max(own, wanted)) - 1.2, turned

    def _box(self, x, width, height, text, fresh, neutral, turned) -> None:
        look = f'fill="{_READ}"' if fresh else 'fill="none" stroke="currentColor" stroke-width=".8"'
        look += ' stroke-dasharray="2 2"' if neutral else ""
        self.rect(x - width / 2, self.y, width, height, look)
        middle = self.y + height / 2
        style = f'font-size="{SMALL}" ' + ('fill="#fff"' if fresh else "")
        if turned:
            style += f' transform="rotate(-90 {x:.1f} {middle:.1f})"'
        self.text(x, middle + 4, text, style)

    def _dot(self, x: float, y: float, written: bool) -> None:
        look = 'fill="none" stroke="currentColor"' if written else ""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2.5 if written else 1.5}" '
                          f'opacity=".55" {look}/>')

    def _barrier(self, row: Row) -> None:
        y = self.y + 7
        words = "barrier" if row.barriers == 1 else f"{row.barriers} barriers"
        words += f": {_count(self.warps, 'warp')} wait" if self.warps > 1 else ""
        half = 3.9 * len(words)
        middle = WIDTH / 2
        sides = f"M0 {y:.1f}H{middle - half:.1f}M{middle + half:.1f} {y:.1f}H{WIDTH}"
        self.path([sides], f'stroke="{_WAIT}" stroke-width="4"')
        self.text(middle, y + 4, words)
        self.y += 17

    def _already(self) -> None:
        """No broadcast at the end: who holds the result without one."""
        one = self.reduction
        words = f"{number(one.result)} in {one.holders} of {one.threads} threads already"
        self.text(0, self.y + 13, words, anchor="start")
        self.y += _LINE

    def _broadcast(self, row: Row) -> None:
        x = self._x(row.edges[0][0])
        bottom = self.y + 14
        fan = [(x - 4, self.y), (x + 4, self.y), (WIDTH, bottom), (0, bottom)]
        self.polygon(fan, f'fill="{_READ}" opacity=".25"')
        self.rect(0, bottom, WIDTH, 18, f'fill="{_READ}"')
        text = f"{number(self.reduction.result)} in all {row.threads} threads"
        self.text(WIDTH / 2, bottom + 13, text, 'fill="#fff"')
        self.y = bottom + 22


LEGEND = legend([
    swatch(f'<rect x="2" y="1" width="14" height="10" rx="2" fill="{_READ}"/>',
           "written in this row"),
    swatch('<rect x="2" y="1" width="14" height="10" rx="2" fill="none" stroke="currentColor" '
           'stroke-dasharray="2 2"/>', "neutral element: nothing to load"),
    swatch('<path d="M1 2L17 10" stroke="currentColor" opacity=".6" fill="none"/>', "own value"),
    swatch(f'<path d="M1 2L17 10" stroke="{_READ}" stroke-width="1.4" fill="none"/>',
           "another's value"),
    swatch('<circle cx="9" cy="6" r="2.5" fill="none" stroke="currentColor"/>',
           "computed, but no part of the result"),
    swatch('<circle cx="9" cy="6" r="1.5"/>', "no longer read"),
    swatch(f'<path d="M0 6H18" stroke="{_WAIT}" stroke-width="4"/>', "barrier of the block"),
    swatch(f'<path d="M9 1L15 11H3z" fill="{_ALARM}"/>', "bank conflicts"),
])
