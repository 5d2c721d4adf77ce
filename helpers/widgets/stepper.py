"""The step-through view: a recorded launch in a page of its own, instruction by instruction.

`panel` puts a trace, its model and a small script into one piece of HTML that needs no kernel and
nothing from elsewhere. It lives in a shadow root: the page's styles stay outside, its colours come
in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from ..simt.trace import Trace
from .stepper_model import model, too_large
from .stepper_page import skeleton

__all__ = ["LIMIT", "Stepper", "model", "panel"]

LIMIT = 3_000_000  # characters of HTML; a notebook with more opens slowly
_HERE = Path(__file__).parent


@dataclass(frozen=True, repr=False)
class Stepper:
    """A trace to step through: HTML for a notebook, a summary in words for a terminal."""

    text: str
    markup: str
    title: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.markup

    def page(self) -> str:
        """A stand-alone HTML document that follows the reader's light or dark setting."""
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(self.title)}</title></head>"
            f'<body style="margin:16px">{self.markup}</body></html>\n'
        )


def panel(trace: Trace, *, start: int | None = None, note: str | None = None) -> Stepper:
    """The stepper of a trace, first shown at step `start`, with a sentence `note` above it.

    ValueError: `start` is no step of the trace, the trace is empty, or its HTML would pass LIMIT.
    """
    data = model(trace)
    start = 0 if start is None else start
    if not 0 <= start < len(trace):
        raise ValueError(f"start: expected a step from 0 to {len(trace) - 1}, got {start}")
    text = _summary(trace, note)
    html = f"<style>{_file('stepper.css')}</style>{skeleton(trace, data, note)}"
    page = _embedded({"html": html, "model": data})
    # The attribute keeps JupyterLab's own keys (b: a new cell) out. Where scripts are not trusted
    # they are taken out with all they hold, and the words in front are what is left.
    markup = (
        f'<div class="cu-stepper" data-start="{start}" data-lm-suppress-shortcuts="true">'
        f"<pre>{escape(text)}\n(Scripts are off here: run the cell, or trust the notebook, to step "
        f'through it.)</pre><script type="application/json">{page}</script>'
        f"<script>{_file('stepper.js')}</script></div>"
    )
    if len(markup) > LIMIT:
        size = f"{len(markup) / 1e6:.1f} MB of HTML for {len(trace)} steps"
        raise ValueError(too_large(trace, f"{size} ({LIMIT / 1e6:.0f} MB are allowed)"))
    return Stepper(text, markup, data["title"])


def _summary(trace: Trace, note: str | None) -> str:
    found = [f"{d.kind} at line {d.line}" for d in trace.defects]
    wrong = f" The simulator found: {'; '.join(found)}." if found else ""
    said = f"{note}\n" if note else ""
    return (
        f"{said}{trace}.{wrong}\nShown in a notebook it can be stepped through; "
        f"in Python, trace.at(k) is the state at step k (0 to {len(trace) - 1})."
    )


def _embedded(data: dict) -> str:
    """JSON that may stand inside a script element, whatever the kernel's comments say."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _file(name: str) -> str:
    """The text of a file beside this module."""
    return (_HERE / name).read_text(encoding="utf-8")
