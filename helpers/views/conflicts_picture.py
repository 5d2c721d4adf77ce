"""Draws shared-memory accesses: left the words in memory, right what each wavefront serves."""

from __future__ import annotations

from itertools import pairwise

from ..simt.observers.banks import BANKS
from ..theme import COLOURS, Picture
from .conflicts import BankAccess, Banks, Served
from .sheet import HEADING, SMALL, WIDTH, Sheet

__all__ = ["draw"]

_EDGE = 0.05  # inches left free on either side
_CELL = 0.08  # a word of the map on the left
_MAP = BANKS * _CELL
_FIRST = _EDGE + _MAP + 0.62  # where the wavefronts begin, after the words' numbers
_NUMBER = 0.36  # for their own numbers, on the right
_BANK = (WIDTH - _EDGE - _FIRST - _NUMBER) / BANKS
_ROW = 0.16  # of a wavefront
_GAP = 0.05  # where rows of memory are left out
_HEAD = 1.02  # title, line, and the heads of both tables
_FILL = {False: COLOURS["sky"], True: COLOURS["orange"]}
_LINE = {False: COLOURS["blue"], True: "#7a5200"}


def draw(view: Banks, dark: bool = False) -> Picture:
    """A new Picture of all accesses of a view."""
    heights = [_height(one) for one in view.accesses]
    sheet = Sheet(sum(heights), dark)
    for number, one in enumerate(view.accesses):
        _access(sheet, one, sum(heights[:number]))
    sheet.figure.alt = ". ".join(f"{one.headline}: {one.worst}" for one in view.accesses) + "."
    return sheet.figure


def _height(one: BankAccess) -> float:
    rows, _ = _rows(one)
    return _HEAD + max(_ROW * len(one.wavefronts), max(rows.values()) + _CELL) + 0.3


def _rows(one: BankAccess) -> tuple[dict[int, float], list[float]]:
    """Row of memory → how far down it is drawn, and where rows between are left out."""
    touched = sorted({w // BANKS for wave in one.wavefronts for s in wave for w in s.words})
    places, gaps, y = {touched[0]: 0.0}, [], 0.0
    for before, row in pairwise(touched):
        y += _CELL
        if row > before + 1:
            gaps.append(y + _GAP / 2)
            y += _GAP
        places[row] = y
    return places, gaps


def _access(sheet: Sheet, one: BankAccess, top: float) -> None:
    sheet.word(_EDGE, top + 0.16, one.headline, HEADING, weight="bold")
    code = one.place
    sheet.word(_EDGE, top + 0.40, code if len(code) < 112 else f"{code[:110]} …", SMALL)
    _map(sheet, one, top + _HEAD)
    _wavefronts(sheet, one, top + _HEAD)


def _map(sheet: Sheet, one: BankAccess, top: float) -> None:
    """The rows of memory that are touched, 32 words each: a column is a bank."""
    rows, gaps = _rows(one)
    sheet.word(_EDGE, top - 0.36, "the words in shared memory", SMALL)
    sheet.word(_EDGE, top - 0.14, "a row: 32 words, one a bank", SMALL)
    sheet.boxes([(_EDGE, top + y, _MAP, _CELL) for y in rows.values()], line=0.4)
    for late in (False, True):
        sheet.boxes(
            [(_EDGE + word % BANKS * _CELL, top + rows[word // BANKS], _CELL, _CELL)
             for wave in one.wavefronts for served in wave if served.late == late
             for word in served.words],
            _FILL[late], _LINE[late], line=0.5,
        )
    sheet.lines(([(_EDGE - 0.03, top + y), (_EDGE + _MAP + 0.03, top + y)] for y in gaps),
                dashed=True, width=0.7)
    ends = sorted(rows)
    for row in {ends[0], ends[-1]}:
        sheet.word(_EDGE + _MAP + 0.06, top + rows[row] + _CELL / 2, str(row * BANKS), SMALL)


def _wavefronts(sheet: Sheet, one: BankAccess, top: float) -> None:
    """A row a wavefront, a column a bank; in a box the lowest lane that gets what is there."""
    heads = [(_FIRST + bank * _BANK, top - 0.24, _BANK, 0.2) for bank in range(0, BANKS, 4)]
    sheet.word(_FIRST, top - 0.36, "lanes served, a row for each wavefront; columns are banks",
               SMALL)
    sheet.numbers(heads, range(0, BANKS, 4), sheet.look.ink)
    tops = [top + number * _ROW for number in range(len(one.wavefronts))]
    sheet.boxes([(_FIRST, y, BANKS * _BANK, _ROW) for y in tops], line=0.4)
    for late in (False, True):
        for shared in (False, True):
            _served(sheet, [
                (s, y) for y, wave in zip(tops, one.wavefronts, strict=True) for s in wave
                if s.late == late and (len(s.lanes) > 1) == shared
            ], late, shared)
    names = []
    for number, wave in enumerate(one.wavefronts, start=1):
        mark = "+ " if wave[0].late else ""
        names.append(f"{mark}{number}")
    sheet.numbers([(WIDTH - _EDGE - _NUMBER, y, _NUMBER, _ROW) for y in tops], names,
                  sheet.look.ink)
    _legend(sheet, one, top + len(tops) * _ROW + 0.14)


def _legend(sheet: Sheet, one: BankAccess, y: float) -> None:
    """Only of the marks that are there."""
    served = [s for wave in one.wavefronts for s in wave]
    words = []
    if any(s.late for s in served):
        words.append("+ (orange): the bank gave another word first")
    if any(len(s.lanes) > 1 for s in served):
        words.append("thick: shared by lanes")
    sheet.word(_FIRST, y, " · ".join(words), SMALL)


def _served(sheet: Sheet, here: list[tuple[Served, float]], late: bool, shared: bool) -> None:
    """Boxes of one look, each with its top."""
    boxes = [
        (_FIRST + s.banks[0] * _BANK, y + 0.01, len(s.words) * _BANK, _ROW - 0.02)
        for s, y in here
    ]
    sheet.boxes(boxes, _FILL[late], _LINE[late], line=2.2 if shared else 0.8)
    sheet.numbers(boxes, [s.lanes[0] for s, _ in here])
