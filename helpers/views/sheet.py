"""A page to draw on in inches from the top left: boxes, lines and words, without axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from ..theme import Picture, theme

__all__ = ["BODY", "HEADING", "SMALL", "WIDTH", "Sheet"]

WIDTH = 9.2  # inches, so that a page of 900 pixels shows it at nine tenths of its size
SMALL, BODY, HEADING = 9.5, 10.5, 12.0  # points at full width
BLACK = "#000000"  # on a coloured box in both looks; the look's ink would turn white in the dark


class Sheet:
    """`figure` is the Picture. Boxes are (left, top, width, height); lines are sequences of points.
    Each call makes one artist: many boxes at once cost hardly more than one."""

    def __init__(self, height: float, dark: bool = False) -> None:
        self.look = theme(dark)
        with self.look.applied():  # not by pyplot, which would keep and show every figure
            self.figure = Picture(figsize=(WIDTH, height))
            self.figure.look = self.look
            self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        self.axes.set_axis_off()

    def boxes(
        self, boxes: Iterable[Sequence[float]], fill: str = "none", edge: str | None = None,
        hatch: str | None = None, line: float = 0.8,
    ) -> None:
        """Rectangles of one kind; `edge` is the quiet colour unless given."""
        corners = [((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in boxes]
        if not corners:
            return
        edge = edge or self.look.quiet
        with self.look.applied():
            shapes = PolyCollection(corners, facecolors=fill, edgecolors=edge, linewidths=line,
                                    hatch=hatch, clip_on=False)
            self.axes.add_collection(shapes, autolim=False)

    def lines(self, lines: Iterable[Sequence[tuple[float, float]]], colour: str | None = None,
              width: float = 0.8, dashed: bool = False) -> None:
        """Polylines of one kind."""
        if not (lines := list(lines)):
            return
        strokes = LineCollection(lines, colors=colour or self.look.ink, linewidths=width,
                                 linestyles="--" if dashed else "-", clip_on=False)
        self.axes.add_collection(strokes, autolim=False)

    def word(self, x: float, y: float, text: str, size: float = BODY, **how) -> None:
        """Words whose left end (`ha`) and middle (`va`) are at (x, y)."""
        how = {"ha": "left", "va": "center_baseline", "color": self.look.ink} | how
        self.axes.text(x, y, text, size=size, parse_math=False, **how)

    def numbers(self, boxes: Iterable[Sequence[float]], words: Iterable[object],
                colour: str = BLACK) -> None:
        """One short word in the middle of each box: all of them one shape, as many words take ten
        times as long to draw."""
        placed = [
            Path(outline.vertices + (x + w / 2, y + h / 2), outline.codes)
            for (x, y, w, h), word in zip(boxes, words, strict=True)
            if (outline := _outline(str(word))) is not None
        ]
        if placed:
            shape = PathPatch(Path.make_compound_path(*placed), facecolor=colour, linewidth=0,
                              clip_on=False)
            self.axes.add_artist(shape)  # add_patch would measure every curve of it


@lru_cache(maxsize=512)
def _outline(word: str) -> Path | None:
    """A word in the small size around (0, 0), in inches with y downwards."""
    if not word:
        return None
    with theme().applied():
        path = TextPath((0, 0), word, size=SMALL)
        digit = TextPath((0, 0), "0", size=SMALL).get_extents().height
    middle = path.get_extents()
    centre = (middle.x0 + middle.x1) / 2, digit / 2
    return Path((path.vertices - centre) / (72, -72), path.codes)
