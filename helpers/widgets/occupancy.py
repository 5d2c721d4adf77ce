"""The occupancy panel: row length, block and card, and how many blocks an SM then holds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from .. import specs
from ..recorded import Figure
from ..views.residency import CARDS, Occupancy, bandwidths, occupancy
from .controls import Choice, Panel, Whole

__all__ = ["look", "panel"]

_ALL = "all four"


def look(
    cols: int = 4096, block: int = 256, card: str = _ALL, figures: Iterable[Figure] | None = None
) -> tuple[str, Occupancy]:
    """The sentence of the panel and what is to be drawn; `figures` as `occupancy` takes them."""
    view = occupancy("v4", cols, block, CARDS if card == _ALL else (card,), figures)
    return view.sentence(), view


def panel() -> Panel:
    """A new panel for V4; everything is computed from data sheets."""
    cards = {_ALL: _ALL} | {specs.get(card).name: card for card in CARDS}
    once = partial(look, figures=bandwidths())  # not from the file at every move of a control
    return Panel(once, {
        "cols": Whole("N, columns", 4096, 1, 65536, most=1 << 20),
        "block": Choice("threads a block", {str(n): n for n in (32, 64, 128, 256, 512, 1024)}, 256),
        "card": Choice("card", cards, _ALL),
    })
