"""Draws rows on 16-byte lines: V3's float4s and scalars, and beside each row whether float4 without
a head would fault on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..theme import COLOURS, Picture
from .aligned import LINE, Alignment, Row
from .sheet import BODY, HEADING, SMALL, WIDTH, Sheet

__all__ = ["draw"]

_LEFT, _RIGHT = 0.9, 1.45  # inches for the row's name, and for what a float4 kernel does there
_LINES = 7  # 16-byte lines drawn; of longer rows the middle ones are folded
_GAP = 0.82
_FLOAT = (WIDTH - _LEFT - _RIGHT - _GAP) / (_LINES * LINE)
_STRIP, _BETWEEN, _HEAD = 0.23, 0.11, 0.62
_COLOUR = {LINE: (COLOURS["sky"], COLOURS["blue"]), 1: (COLOURS["orange"], "#7a5200")}


def draw(view: Alignment, dark: bool = False) -> Picture:
    """A new Picture of all rows; y has strips of its own where it is misaligned differently."""
    arrays = "x" if view.x_offset == view.y_offset else "xy"
    block = len(arrays) * _STRIP + _BETWEEN
    sheet = Sheet(_HEAD + len(view.rows) * block + 0.32, dark)
    sheet.word(0.05, 0.16, view.headline, HEADING, weight="bold")
    sheet.word(_LEFT, 0.46, "numbers are columns; frames are 16-byte lines", SMALL)
    sheet.word(WIDTH - _RIGHT + 0.12, 0.46, "without a head", SMALL)
    strips = [
        _Strip(view.cols, row, array, _HEAD + row.number * block + number * _STRIP)
        for row in view.rows for number, array in enumerate(arrays)
    ]
    _pieces(sheet, strips)
    for strip in strips:
        _beside(sheet, strip, apart=len(arrays) > 1)
    _legend(sheet, _HEAD + len(view.rows) * block + 0.1)
    sheet.figure.alt = " ".join([f"{view.headline}.", *(f"{row}." for row in view.rows)])
    return sheet.figure


@dataclass(frozen=True)
class _Strip:
    """The row in x, as V3 loads it, or in y, as it stores it; `top` is where it is drawn."""

    cols: int
    row: Row
    array: str
    top: float

    @property
    def phase(self) -> int:
        return self.row.x_phase if self.array == "x" else self.row.y_phase

    @property
    def lines(self) -> int:
        """How many 16-byte lines the row lies on."""
        return -(-(self.phase + self.cols) // LINE)

    @property
    def middle(self) -> float:
        return self.top + _STRIP / 2

    def pieces(self, floats: int) -> Iterator[tuple[tuple, str]]:
        """(box, columns) of the accesses of so many floats that are in sight."""
        shown = _shown(self.lines)
        for first, size in self.row.loads if self.array == "x" else self.row.stores:
            line, inside = divmod(self.phase + first, LINE)
            if size == floats and line in shown:
                x = shown[line] + inside * _FLOAT + 0.01
                box = x, self.top + 0.02, floats * _FLOAT - 0.02, _STRIP - 0.06
                yield box, _columns(first, floats)


def _pieces(sheet: Sheet, strips: list[_Strip]) -> None:
    """All lines and what is on them; one artist a kind, since each costs a redraw a millisecond."""
    sheet.boxes([
        (x, strip.top, LINE * _FLOAT, _STRIP - 0.02)
        for strip in strips for x in _shown(strip.lines).values()
    ], line=1.2)
    for floats, (fill, edge) in _COLOUR.items():
        here = [piece for strip in strips for piece in strip.pieces(floats)]
        boxes = [box for box, _ in here]
        sheet.boxes(boxes, fill, edge)
        sheet.numbers(boxes, [columns for _, columns in here])


def _beside(sheet: Sheet, strip: _Strip, apart: bool) -> None:
    """Left the row's name, right ✓ or ✗ with its word, between them the lines folded away."""
    if strip.array == "x":
        sheet.word(0.05, strip.middle, f"row {strip.row.number}", BODY)
    if apart:
        sheet.word(_LEFT - 0.2, strip.middle, strip.array, BODY)
    folded = strip.lines - len(_shown(strip.lines))
    if folded:
        x = _LEFT + _LINES // 2 * LINE * _FLOAT + _GAP / 2
        sheet.word(x, strip.middle, f"+{folded} lines", SMALL, ha="center")
    faults = [fault.array for fault in strip.row.faults]
    bad = strip.array in faults if apart else bool(faults)
    what = {"x": "load ", "y": "store "}[strip.array] if apart else ""
    good = "is fine" if apart else "runs"
    words = f"✗ {what}faults" if bad else f"✓ {what}{good}"
    weight = "bold" if bad else "normal"
    sheet.word(WIDTH - _RIGHT + 0.12, strip.middle, words, BODY, weight=weight)


def _columns(first: int, floats: int) -> str:
    """The columns of a piece; three digits do not fit in a single float's box."""
    return f"{first}–{first + 3}" if floats == LINE else str(first) if first < 100 else ""


def _shown(lines: int) -> dict[int, float]:
    """16-byte line of the row → its left end; the first and the last few of a long row."""
    width = LINE * _FLOAT
    if lines <= _LINES:
        return {line: _LEFT + line * width for line in range(lines)}
    half = _LINES // 2
    left = {line: _LEFT + line * width for line in range(half)}
    start = _LEFT + half * width + _GAP
    return left | {lines - half + k: start + k * width for k in range(half)}


def _legend(sheet: Sheet, y: float) -> None:
    """What the boxes are."""
    x = _LEFT
    for floats, words in ((LINE, "V3 moves a float4, 16 bytes at once"), (1, "V3 moves one float")):
        fill, edge = _COLOUR[floats]
        sheet.boxes([(x, y - 0.06, 0.3, 0.14)], fill, edge)
        sheet.word(x + 0.38, y + 0.01, words, SMALL)
        x += 3.2
