"""The overflow lesson: the naive kernels beside the safe one, on a row that the reader changes.

`evaluate` runs the kernels, `draw` shows a result, `panel` puts controls in front of both.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from functools import lru_cache
from html import escape

import ipywidgets as widgets
import numpy as np

from .overflow_card import SHORT, Cards, draw
from .overflow_model import FORMATS, Format, Outcome, Result, Runner, evaluate, launch_kernel
from .overflow_rows import D_K_MAX, PRESETS, Preset, attention_row, largest_logit_row
from .overflow_text import readout, summary, table

__all__ = [
    "FORMATS", "PRESETS", "Cards", "Format", "Outcome", "Panel", "Preset", "Result",
    "attention_row", "draw", "evaluate", "largest_logit_row", "panel",
]

_WIDE = {"description_width": "8em"}


class Number:
    """A slider and a number box that hold one value; the box takes values beyond the slider.

    `value` is the box's. `log2` makes the slider run over the powers of two.
    """

    def __init__(self, label: str, value: float, low: float, high: float, step: float,
                 log2: bool = False) -> None:
        self._to_slider = (lambda v: np.log2(max(v, 1))) if log2 else float
        self._from_slider = (lambda v: round(2**v)) if log2 else (lambda v: round(v, 6))
        self._range, self._step = (low, high), step
        self.slider = widgets.FloatSlider(
            self._clipped(value), min=low, max=high, step=step, description=label, readout=False,
            style=_WIDE, layout=widgets.Layout(flex="1 1 260px", max_width="430px"),
        )
        self.box = widgets.FloatText(
            value, step=1 if log2 else step, description="or type it",
            tooltip=f"{label}, as a number",
            style={"description_width": "initial"}, layout=widgets.Layout(width="11.5em"),
        )
        self.slider.observe(self._moved, "value")
        self.box.observe(self._typed, "value")
        self.view = _line(self.slider, self.box)

    @property
    def value(self) -> float:
        """What the box says, NaN included."""
        return self.box.value

    def _clipped(self, value: float) -> float:
        low, high = self._range
        return float(np.clip(self._to_slider(value), low, high))

    def _apart(self) -> bool:
        """True when slider and box differ by more than the slider's own rounding in the browser."""
        difference = abs(self.slider.value - self._clipped(self.box.value))
        return not difference <= 0.51 * self._step  # a NaN in the box is apart from everything

    def _typed(self, change) -> None:
        if np.isfinite(change.new) and self._apart():
            self.slider.value = self._clipped(change.new)

    def _moved(self, change) -> None:
        if self._apart():  # else the browser reports that the slider now follows the box
            self.box.value = self._from_slider(change.new)


class Panel(widgets.VBox):
    """The controls, the cards and their readout. Every change evaluates the row again.

    JupyterLab may deliver a change on a second thread while the first still evaluates a long row:
    evaluations run side by side, drawing is one at a time, and the latest change wins.
    """

    def __init__(self, run: Runner = launch_kernel) -> None:
        @lru_cache(maxsize=64)
        def evaluated(logits: bytes, shift: float) -> Result:
            return evaluate(np.frombuffer(logits), shift, run)

        self._evaluated: Callable[[bytes, float], Result] = evaluated
        self._cards = Cards()
        self._changes, self._shown, self._drawing = itertools.count(), -1, threading.Lock()
        self._make_controls()
        self.summary = widgets.HTML()
        self.pictures = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        self.sentences = widgets.HTML()
        self.numbers = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        super().__init__([
            self.source, *self._sources.values(),
            _line(self.shift.slider, self.shift.box, self.centre),
            self.summary, self.pictures, self.sentences, self.show_numbers, self.numbers,
        ])
        self._choose_source()

    def _make_controls(self) -> None:
        self.source = widgets.ToggleButtons(
            options=[("largest logit", "logit"), ("attention row", "attention"),
                     ("preset rows", "preset")],
            style={"button_width": "9em"},
        )
        self.logit = Number("largest logit", 10.0, -10.0, 100.0, 0.1)
        self.d_k = Number("d_k (head size)", 64, 0, np.log2(D_K_MAX), 1, log2=True)
        self.scaled = widgets.Checkbox(False, description="divide q·k by √d_k", indent=False)
        self.preset = widgets.Dropdown(
            options=[(preset.name, i) for i, preset in enumerate(PRESETS)], description="preset",
            style=_WIDE, layout=widgets.Layout(width="100%", max_width="520px"),
        )
        self.note = widgets.HTML()
        self.shift = Number("c, added to all", 0.0, -120.0, 120.0, 0.5)
        self.centre = widgets.Button(description="c = −(largest logit)", layout={"width": "14em"})
        self.show_numbers = widgets.Checkbox(False, description="the numbers as a table",
                                             indent=False)
        self._sources = {
            "logit": self.logit.view,
            "attention": widgets.VBox([self.d_k.view, self.scaled]),
            "preset": widgets.VBox([self.preset, self.note]),
        }
        self.source.observe(self._choose_source, "value")
        for control in (self.logit.box, self.d_k.box, self.scaled, self.preset, self.shift.box,
                        self.show_numbers):
            control.observe(self.refresh, "value")
        self.centre.on_click(self._centre)

    def _choose_source(self, _=None) -> None:
        for name, view in self._sources.items():
            view.layout.display = None if name == self.source.value else "none"
        self.refresh()

    def _centre(self, _) -> None:
        """The safe kernel's own choice of c, made by hand."""
        with contextlib.suppress(ValueError):  # no row now: the panel already says why
            largest = float(self._logits().max())
            if np.isfinite(largest):
                self.shift.box.value = -largest

    def _logits(self) -> np.ndarray:
        """The row that the controls describe; ValueError says which control has no usable value."""
        if self.source.value == "preset":
            preset = PRESETS[self.preset.value]
            self.note.value = f"<p style='margin:.2em 0;line-height:1.45'>{escape(preset.note)}</p>"
            return preset.logits
        if self.source.value == "attention":
            _finite("d_k", self.d_k.value)
            return attention_row(self.d_k.value, self.scaled.value)
        return largest_logit_row(_finite("the largest logit", self.logit.value))

    def refresh(self, _=None) -> None:
        """Evaluate and draw the row of the controls, or say in one sentence what is wrong."""
        change = next(self._changes)
        try:
            logits, shift = self._logits(), _finite("c", self.shift.value)
            if len(logits) > SHORT:
                self._say(f"Running {len(logits)} elements through four kernels …")
            outcome = self._evaluated(logits.astype(np.float64).tobytes(), shift)
        except (ValueError, RuntimeError, OSError) as error:
            outcome = f"{str(error).rstrip('.')}. The pictures still show the row before."
        with self._drawing:
            if change > self._shown:
                self._shown = change
                self._show(outcome)

    def _show(self, outcome: Result | str) -> None:
        if isinstance(outcome, str):
            self._say(outcome)
            return
        self.pictures.value = self._cards.show(outcome)._repr_html_()
        self._say(outcome.headline)
        self.sentences.value = readout(outcome)
        self.numbers.value = table(outcome) if self.show_numbers.value else ""

    def _say(self, sentence: str) -> None:
        self.summary.value = summary(sentence)


def panel(run: Runner = launch_kernel) -> Panel:
    """A new panel; `run` replaces the kernels in tests."""
    return Panel(run)


def _finite(name: str, value: float) -> float:
    if not np.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, got {value}; type one such as 11.")
    return float(value)


def _line(*children: widgets.Widget) -> widgets.Box:
    """Children side by side, or below each other where the page is narrow."""
    return widgets.Box(children, layout=widgets.Layout(display="flex", flex_flow="row wrap"))
