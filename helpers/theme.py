"""One look for every plot: Okabe-Ito colours, light and dark, and alternative text in notebooks."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

__all__ = ["COLOURS", "Mark", "Picture", "Theme", "mark", "picture", "theme"]

# Okabe and Ito's palette, which the common colour-vision deficiencies keep apart.
COLOURS = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}
# A rung of the ladder has one colour and one marker in every chart, by its place on the ladder.
_RUNGS = ("vermillion", "purple", "sky", "green", "blue", "orange")
_MARKERS = "osD^vPX*h8"
_OTHERS = "<>pdH1234"  # of rows that are no rung; they are grey or in the page's ink
# In a notebook's HTML ink and paper become the page's own, so one picture serves both themes.
_PAGE_INK = "currentColor"
_PAGE_PAPER = "var(--jp-layout-color0, var(--vscode-editor-background, Canvas))"
_QUIET = "#7a7a7a"  # grids and frames: 4.3:1 on white and 4.4:1 on the dark paper


@dataclass(frozen=True)
class Theme:
    """Text, background and the quieter colour of grids and frames, as hexadecimal colours."""

    ink: str
    paper: str
    quiet: str = _QUIET

    @property
    def rc(self) -> dict[str, object]:
        """Matplotlib settings of this look, for `rc_context`."""
        return {
            "figure.facecolor": self.paper,
            "figure.dpi": 100,
            "savefig.facecolor": self.paper,
            "axes.facecolor": self.paper,
            "axes.edgecolor": self.quiet,
            "axes.labelcolor": self.ink,
            "axes.prop_cycle": mpl.cycler(color=list(COLOURS.values())),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlesize": 12,
            "font.family": "DejaVu Sans",  # the one font Matplotlib always brings
            "font.size": 10,
            "grid.color": self.quiet,
            "grid.alpha": 0.35,
            "legend.frameon": False,
            "svg.fonttype": "path",
            "text.parse_math": False,  # a $ in a device's name is a dollar
            "text.color": self.ink,
            "xtick.color": self.ink,
            "ytick.color": self.ink,
        }

    def applied(self) -> AbstractContextManager:
        """`with theme().applied():` draws in this look and leaves the reader's settings alone."""
        return _applied(self.rc)


@contextmanager
def _applied(rc):
    with mpl.rc_context(rc):
        yield
        # A notebook's first figure loads its backend, which turns interactive mode on. rc_context
        # would turn it off again, and no later figure of the session would be shown.
        interactive = mpl.is_interactive()
    mpl.interactive(interactive)


def theme(dark: bool = False) -> Theme:
    """The project's look, on white or (dark=True) on near-black paper."""
    return Theme("#e8e8e6", "#111111") if dark else Theme("#1b1b1d", "#ffffff")


@dataclass(frozen=True)
class Mark:
    """How one row of a record is drawn in every chart: colour, marker, line style."""

    colour: str
    marker: str
    line: object = "solid"


def mark(name: str, look: Theme, among: Sequence[str] = ()) -> Mark:
    """The mark of a version by its rung; of a copy or a peer by its place `among` its own kind."""
    if name[:1] == "v" and name[1:].isdigit():
        place = int(name[1:])
        style = "solid" if place < len(_RUNGS) else (0, (5, 1))
        return Mark(COLOURS[_RUNGS[place % len(_RUNGS)]], _MARKERS[place % len(_MARKERS)], style)
    if name in ("copy_kernel", "copy"):
        return Mark(look.ink, "|")
    if name == "memcpy":
        return Mark(look.ink, "_", (0, (1, 1)))
    place = among.index(name) if name in among else 0
    return Mark(look.quiet, _OTHERS[place % len(_OTHERS)], (0, (4, 1 + place % 3, 1, 1)))


class Picture(Figure):
    """A Matplotlib figure that a notebook shows with its alternative text, in the page's colours.

    `.alt` is the text, `.look` the theme it was drawn in. Saved as PNG it keeps that theme.
    """

    alt = ""
    look = theme()

    def _repr_html_(self) -> str:
        buffer = io.StringIO()
        with self.look.applied():
            self.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        svg = buffer.getvalue()
        svg = svg[svg.index("<svg"):]
        svg = svg.replace(self.look.ink, _PAGE_INK).replace(self.look.paper, _PAGE_PAPER)
        label = html.escape(self.alt, quote=True)
        start = f'<svg role="img" aria-label="{label}" style="width:100%;height:auto"'
        svg = svg.replace("<svg", start, 1)
        return f'<div style="max-width:{self.get_figwidth():g}in">{svg}</div>'


def picture(width: float, height: float, look: Theme) -> Picture:
    """A new Picture of width × height inches in one look; draw on it under `look.applied()`."""
    with look.applied():
        figure = plt.figure(FigureClass=Picture, figsize=(width, height))
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    figure.look = look
    return figure
