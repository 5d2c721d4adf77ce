"""The occupancy panel: row length, block and card, and how many blocks an SM then holds."""

from __future__ import annotations

from .. import specs
from ..views.residency import CARDS, Occupancy, occupancy
from .controls import Choice, Panel, Whole

__all__ = ["look", "panel"]

_ALL = "all four"


def look(cols: int = 4096, block: int = 256, card: str = _ALL) -> tuple[str, Occupancy]:
    """The sentence of the panel and what is to be drawn."""
    view = occupancy("v4", cols, block, CARDS if card == _ALL else (card,))
    return view.sentence(), view


def panel() -> Panel:
    """A new panel for V4; everything is computed from data sheets."""
    cards = {_ALL: _ALL} | {specs.get(card).name: card for card in CARDS}
    return Panel(look, {
        "cols": Whole("N, columns", 4096, 1, 65536, most=1 << 20),
        "block": Choice("threads a block", {str(n): n for n in (32, 64, 128, 256, 512, 1024)}, 256),
        "card": Choice("card", cards, _ALL),
    })
