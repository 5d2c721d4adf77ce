"""Draws requests: the lanes of a warp above, the sectors they touch below, lines between."""

from __future__ import annotations

from itertools import pairwise

from ..theme import COLOURS, Picture
from .coalesced import SECTOR, Coalescing, Request
from .sheet import HEADING, SMALL, WIDTH, Sheet
from .warps import LANES

__all__ = ["draw"]

_EDGE = 0.05  # inches left free on either side
_LANE = (WIDTH - 2 * _EDGE) / LANES
_GAP = 0.3  # of a sector: how a gap is drawn, however many sectors are in it
_UNIT = (WIDTH - 2 * _EDGE) / (LANES + (LANES - 1) * _GAP)  # 32 sectors with gaps fill the width
_HEIGHT = 2.05  # of one request
_TOP = {"heading": 0.16, "place": 0.40, "lanes": 0.55, "sectors": 1.36, "labels": 1.76}
_BOX = {"lanes": 0.24, "sectors": 0.26}


def draw(view: Coalescing, dark: bool = False) -> Picture:
    """A new Picture of all requests of a view."""
    sheet = Sheet(_HEIGHT * len(view.requests), dark)
    for number, request in enumerate(view.requests):
        _request(sheet, request, number * _HEIGHT)
    sheet.figure.alt = ". ".join(map(_words, view.requests)) + "."
    return sheet.figure


def _words(request: Request) -> str:
    lanes = request.access.lanes
    return (
        f"{request.headline}. Lanes {lanes[0]} to {lanes[-1]} above, sectors below, "
        f"{request.pattern}"
    )


def _request(sheet: Sheet, request: Request, top: float) -> None:
    access = request.access
    sheet.word(_EDGE, top + _TOP["heading"], request.headline, HEADING, weight="bold")
    code = request.place
    sheet.word(_EDGE, top + _TOP["place"], code if len(code) < 118 else f"{code[:116]} …", SMALL)
    left = _sector_places(request)
    y = top + _TOP["sectors"]
    bottom = top + _TOP["lanes"] + _BOX["lanes"]
    sheet.lines(
        ([(_lane(lane) + _LANE / 2, bottom), (_byte(left, at) + _wide(access.width) / 2, y)]
         for lane, at in zip(access.lanes, access.address, strict=True)),
        COLOURS["blue"], 0.9,
    )
    _lanes(sheet, set(access.lanes), top + _TOP["lanes"])
    _sectors(sheet, request, left, y)


def _lane(lane: int) -> float:
    return _EDGE + lane * _LANE


def _lanes(sheet: Sheet, active: set[int], y: float) -> None:
    """A numbered box a lane; those that take no part are empty and hatched."""
    boxes = [(_lane(lane) + 0.015, y, _LANE - 0.03, _BOX["lanes"]) for lane in range(LANES)]
    busy = [box for lane, box in enumerate(boxes) if lane in active]
    idle = [box for lane, box in enumerate(boxes) if lane not in active]
    sheet.boxes(busy, COLOURS["sky"], COLOURS["blue"])
    sheet.boxes(idle, hatch="////")
    sheet.numbers(busy, sorted(active))


def _sector_places(request: Request) -> dict[int, float]:
    """Sector → its left end: neighbours touch, a gap of any length is one mark wide."""
    places, x = {}, 0.0
    for before, sector in zip((None, *request.sectors), request.sectors, strict=False):
        x += _GAP * _UNIT if before is not None and sector > before + 1 else 0.0
        places[sector] = x
        x += _UNIT
    start = (WIDTH - x) / 2  # in the middle
    return {sector: start + place for sector, place in places.items()}


def _byte(left: dict[int, float], at: int) -> float:
    return left[at // SECTOR] + at % SECTOR * _UNIT / SECTOR


def _wide(size: int) -> float:
    return size * _UNIT / SECTOR


def _sectors(sheet: Sheet, request: Request, left: dict[int, float], y: float) -> None:
    """Bytes used are filled, the rest of a sector is empty; marks where sectors are left out."""
    access, height = request.access, _BOX["sectors"]
    pieces = {(_byte(left, at), y, _wide(access.width), height) for at in access.address}
    sheet.boxes(sorted(pieces), COLOURS["orange"], "#7a5200", line=0.5)
    sheet.boxes([(x, y, _UNIT, height) for x in left.values()], edge=sheet.look.ink, line=1.1)
    gaps = [left[b] - _GAP * _UNIT / 2 for a, b in pairwise(request.sectors) if b > a + 1]
    sheet.lines(([(x - 0.02, y + height + 0.03), (x + 0.02, y - 0.03)] for x in gaps), width=1.2)
    _labels(sheet, request, left, y + height + 0.14)


def _labels(sheet: Sheet, request: Request, left: dict[int, float], y: float) -> None:
    """Where the sectors are, and what is filled of them."""
    access, first = request.access, SECTOR * request.sectors[0]
    words = f"filled: bytes asked for · sectors {request.pattern}"
    if first >= access.start:
        words += f", from {access.element(first)} on"
    ends = left[request.sectors[0]], left[request.sectors[-1]] + _UNIT
    sheet.word(sum(ends) / 2, y, words, SMALL, ha="center")
