"""SVG by hand, for pictures that must redraw at once: the page's own font, ink and paper.

Sizes are CSS pixels at the natural width; `figure` lets a picture grow with the page, not shrink
below what can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["SMALL", "TEXT", "Svg", "legend", "points", "swatch"]

TEXT, SMALL = 12, 11.5  # 9 and 8.6 points


class Svg:
    """Collects marks on a page `width` wide; y grows downwards."""

    def __init__(self, width: float) -> None:
        self.width, self.parts = width, []

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "middle") -> None:
        """Words with their baseline at y."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(words)}</text>'
        )

    def path(self, pieces: Iterable[str], style: str) -> None:
        """Lines of one look; `pieces` are SVG path data."""
        if data := "".join(pieces):
            self.parts.append(f'<path d="{data}" fill="none" {style}/>')

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """A box with round corners, from its left top."""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
            f"{style}/>"
        )

    def polygon(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """A filled shape."""
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polygon points="{corners}" {style}/>')

    def markup(self, height: float, alt: str) -> str:
        """The whole picture as one piece of HTML, with its alternative text."""
        label = escape(alt, quote=True)
        return (
            f'<svg role="img" aria-label="{label}" viewBox="0 0 {self.width} {height:.0f}" '
            'xmlns="http://www.w3.org/2000/svg" fill="currentColor" '
            f'style="width:100%;height:auto" font-size="{TEXT}" '
            f'font-family="var(--jp-ui-font-family, sans-serif)">{"".join(self.parts)}</svg>'
        )


def swatch(mark: str, words: str) -> str:
    """An entry of a legend: a mark on 18 × 12 pixels, and what it means."""
    return (
        '<span style="white-space:nowrap"><svg width="18" height="12" aria-hidden="true" '
        f'fill="currentColor" style="vertical-align:-1px">{mark}</svg> {escape(words)}</span>'
    )


def legend(entries: Iterable[str]) -> str:
    """Entries beside each other, wrapping where the page is narrow."""
    style = "display:flex;flex-wrap:wrap;gap:.1em 1.2em;font-size:12px;line-height:1.4"
    return f'<div style="{style}">{"".join(entries)}</div>'


def points(words: Iterable[str]) -> str:
    """Sentences as a list, close under a picture."""
    items = "".join(f"<li>{escape(one)}</li>" for one in words)
    return f'<ul style="margin:.2em 0;padding-left:1.2em">{items}</ul>'
