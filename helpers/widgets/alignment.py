"""The alignment panel: a row length and where x and y begin; which rows fault, how V3 cuts them."""

from __future__ import annotations

from ..views.aligned import LINE, MOST_COLS, MOST_ROWS, Alignment, alignment
from .controls import Panel, Whole

__all__ = ["look", "panel"]


def look(cols: int = 30, rows: int = 8, x_offset: int = 0, y_offset: int = 0
         ) -> tuple[str, Alignment]:
    """The sentence of the panel and what is to be drawn."""
    view = alignment(cols, rows, x_offset, y_offset)
    return f"{view.headline}.", view


def panel() -> Panel:
    """A new panel. Every change runs V3 and the probe kernel on the simulator again."""
    return Panel(look, {
        "cols": Whole("N, floats a row", 30, 1, 64, most=MOST_COLS),
        "rows": Whole("rows", 8, 1, 8, most=MOST_ROWS),
        "x_offset": Whole("x, floats past a line", 0, 0, LINE - 1),
        "y_offset": Whole("y, floats past a line", 0, 0, LINE - 1),
    })
