"""Parts that the panels share: a slider with a number box, and the panel that redraws.

A panel is a thin skin: `look` is a pure function of the controls' values that a test can call.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from html import escape

import ipywidgets as widgets

__all__ = ["Choice", "Panel", "Whole"]

_LABEL = {"description_width": "10.5em"}
_ERRORS = (ValueError, RuntimeError, OSError)
# Matplotlib's settings belong to the process, and JupyterLab may deliver two panels' changes on two
# threads: one drawing at a time.
_drawing = threading.Lock()


class Whole:
    """A slider and a number box for one whole number; the box goes on to `most`, where the slider
    ends at `high`. What the box holds counts: JupyterLab's sliders snap."""

    def __init__(
        self, label: str, value: int, low: int, high: int, most: int | None = None
    ) -> None:
        self.label, self.low, self.high, self.most = label, low, high, most or high
        self.slider = widgets.IntSlider(
            value, min=low, max=high, description=label, readout=False, style=_LABEL,
            layout=widgets.Layout(flex="1 1 260px", max_width="430px"),
        )
        self.box = widgets.IntText(
            value, description="or type it", tooltip=f"{label}, {low} to {self.most}",
            style={"description_width": "initial"}, layout=widgets.Layout(width="11em"),
        )
        self.slider.observe(self._moved, "value")
        self.box.observe(self._typed, "value")
        self.view = line(self.slider, self.box)

    @property
    def value(self) -> int:
        """What the box says; ValueError when it is out of range."""
        value = self.box.value
        if not self.low <= value <= self.most:
            raise ValueError(
                f"{self.label}: expected a whole number from {self.low} to {self.most}, got {value}"
            )
        return value

    def observe(self, react: Callable) -> None:
        """Call `react` when the number has changed."""
        self.box.observe(react, "value")

    def _clipped(self, value: int) -> int:
        return min(max(value, self.low), self.high)

    def _typed(self, change) -> None:
        self.slider.value = self._clipped(change.new)

    def _moved(self, change) -> None:
        if change.new != self._clipped(self.box.value):  # else the slider only follows the box
            self.box.value = change.new


class Choice:
    """A dropdown of (words, value)."""

    def __init__(self, label: str, options: Mapping[str, object], value: object) -> None:
        self.label = label
        self.dropdown = widgets.Dropdown(
            options=list(options.items()), value=value, description=label, style=_LABEL,
            layout=widgets.Layout(width="100%", max_width="430px"),
        )
        self.view = self.dropdown

    @property
    def value(self) -> object:
        return self.dropdown.value

    def observe(self, react: Callable) -> None:
        """Call `react` when another entry is chosen."""
        self.dropdown.observe(react, "value")


class Panel(widgets.VBox):
    """Controls, a sentence, a picture and a readout.

    `look(name=value, …)` gets the controls' values and returns (sentence, view): view.picture() is
    drawn, view.readout() is the rest in words. A ValueError or an error of the simulator becomes
    the sentence, and the picture stays. Changes may come on several threads: the latest wins.
    """

    def __init__(self, look: Callable[..., tuple], controls: Mapping[str, Whole | Choice]) -> None:
        self._look, self.controls = look, dict(controls)
        self._changes, self._shown = itertools.count(), -1
        self.summary = widgets.HTML()
        whole = {"width": "100%", "margin": "0"}  # a margin beside 100 % would be cut off
        self.image, self.readout = (widgets.HTML(layout=widgets.Layout(**whole)) for _ in range(2))
        rows = [control.view for control in self.controls.values()]
        super().__init__([*rows, self.summary, self.image, self.readout])
        for control in self.controls.values():
            control.observe(self.refresh)
        self.refresh()

    def refresh(self, _=None) -> None:
        """Look again with the controls as they are, or say in one sentence what is wrong."""
        change = next(self._changes)
        try:
            values = {name: control.value for name, control in self.controls.items()}
            sentence, view = self._look(**values)
        except _ERRORS as error:
            first = str(getattr(error, "message", error)).splitlines()[0].rstrip(".")
            sentence, view = f"{first}. The picture still shows what was there before.", None
        with _drawing:
            if change > self._shown:
                self._shown = change
                self._show(sentence, view)

    def _show(self, sentence: str, view) -> None:
        if view is not None:
            self.image.value = view.picture()._repr_html_()
            self.readout.value = view.readout()
        self.summary.value = (
            '<p role="status" style="margin:.3em 0;line-height:1.45;font-weight:600">'
            f"{escape(sentence)}</p>"
        )


def line(*children: widgets.Widget) -> widgets.Box:
    """Children side by side, or below each other where the page is narrow."""
    return widgets.Box(children, layout=widgets.Layout(display="flex", flex_flow="row wrap"))
