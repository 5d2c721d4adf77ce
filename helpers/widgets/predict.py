"""Predictions: the reader commits to a number or a choice, and a later cell shows the answer.

    guess = predict.number("How many load requests does V0 make?", "requests")
    guess.reveal(profile.counters[name], why="…", source="counted by the simulator")

A guess that is committed stays. Without one, as when a notebook runs by itself, only answer and
reason are shown.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from html import escape
from numbers import Real

import ipywidgets as widgets

from .. import learner
from ..recorded import Figure
from ..simt import Profile
from ..views.code import View

__all__ = ["Guess", "choice", "number", "parsed"]

_TOLERANCE = 0.1  # how far off, relative to the answer, still counts as right
_SETTLED = 0.15  # seconds from Enter to the text
_UNITS = {"GB/s": "gbps", "µs": "us", "us": "us"}  # of a recorded figure, by its unit
_SCALE = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}  # no b: it would be read in 3 B, bytes
_NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:[,_\s]\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d+)?)\s*([kmg]?)", re.IGNORECASE
)


def number(
    question: str, unit: str = "", low: float | None = None, high: float | None = None,
    tolerance: float = _TOLERANCE,
) -> Guess:
    """Ask for a number, shown at once. `low` and `high` are the smallest and largest that make
    sense; a guess within `tolerance` (relative) of the answer is right. ValueError for limits the
    wrong way round or a negative tolerance."""
    if low is not None and high is not None and low > high:
        raise ValueError(f"low must not be above high, got low={low} and high={high}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be 0 or more, relative to the answer, got {tolerance}")
    return _shown(Guess(question, unit, (low, high), tolerance))


def choice(question: str, options: Sequence[str]) -> Guess:
    """Ask for one of at least two different texts, shown at once."""
    if isinstance(options, str) or len(set(options)) < 2 or len(set(options)) != len(options):
        raise ValueError(f"choice() needs at least two different texts to choose from: {options!r}")
    return _shown(Guess(question, options=tuple(options)))


def parsed(text: str) -> float:
    """The number a reader means: 1572864, 1,572,864, 1.5M, 1e6. ValueError says what to type."""
    plain = text.strip().replace("−", "-")
    match = _NUMBER.fullmatch(plain)
    if not match or not re.search(r"\d", match.group(1).partition("e")[0]):
        raise ValueError(f"“{text.strip()}” is no number; type one such as 1,572,864 or 1.5M")
    digits, letter = match.groups()
    value = float(re.sub(r"[,_\s]", "", digits)) * _SCALE[letter.lower()]
    if not math.isfinite(value):
        raise ValueError(f"“{text.strip()}” is too large a number")
    return value


def _within(value: float, low: float | None, high: float | None) -> float:
    if low is not None and value < low:
        raise ValueError(f"expected at least {said(low)}, got {said(value)}")
    if high is not None and value > high:
        raise ValueError(f"expected at most {said(high)}, got {said(value)}")
    return value


def said(value: float) -> str:
    """A number for reading: 1,572,864 or 0.25."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.4g}".replace("-", "−")


class Guess:
    """One prediction. `value` is None until it is committed, and does not change afterwards.

    `box` is the control: a text field or radio buttons, a Commit button (Enter does the same in the
    field) and a line that says what happened.
    """

    def __init__(
        self, question: str, unit: str = "", limits: tuple = (None, None),
        tolerance: float = _TOLERANCE, options: tuple[str, ...] = (),
    ) -> None:
        self.question, self.unit, self.options = question, unit, options
        self.limits, self.tolerance = limits, tolerance
        self.value: float | str | None = None
        self._closed, self._cell = False, None
        if options:
            self.field = widgets.RadioButtons(options=options, value=None,
                                              layout=widgets.Layout(width="max-content"))
        else:
            # The whole text is sent at once, on Enter or when the field is left: keys sent one by
            # one are held back while the kernel answers, and a click could overtake the last.
            self.field = widgets.Text(placeholder="a number, such as 1.5M",
                                      continuous_update=False, layout=widgets.Layout(width="15em"))
            self.field.on_msg(self._entered)
        self.field.tooltip = question
        self.button = widgets.Button(description="Commit", tooltip="Commit to this prediction",
                                     layout=widgets.Layout(width="7em"))
        self.button.on_click(lambda _: self._submitted())
        self.status = widgets.HTML()
        entry = [self.field, widgets.HTML(escape(unit)), self.button]
        layout = widgets.Layout(display="flex", flex_flow="row wrap", align_items="center")
        question = widgets.HTML(f"<b>Predict:</b> {escape(question)}")
        self.box = widgets.VBox([question, widgets.Box(entry, layout=layout), self.status])

    # -- the reader's side
    def commit(self, value: float | str) -> None:
        """Commit to a number (text is read as in the field) or to one of the options.

        ValueError for anything else, and for a second commitment; nothing is lost then.
        """
        if self._closed:
            what = "the answer is out" if self.value is None else f"committed to {self._own()}"
            raise ValueError(f"this prediction is closed: {what}; run its cell again for a new one")
        if self.options:
            if value not in self.options:
                raise ValueError(f"choose one of: {'; '.join(self.options)}")
            self.value = value
            self.field.value = value
        else:
            text = isinstance(value, str)
            self.value = _within(parsed(value) if text else _number(value), *self.limits)
            self.field.value = value if text else said(value)
        self._close(f"Committed: <b>{escape(self._own())}</b>")

    def _entered(self, _, content, __) -> None:
        """Enter was pressed. The browser says so just before it sends the text."""
        if content.get("event") != "submit":
            return
        try:
            asyncio.get_running_loop().call_later(_SETTLED, self._submitted)
        except RuntimeError:  # nothing more is to come where no kernel listens
            self._submitted()

    def _submitted(self) -> None:
        """The button or Enter: commit, or say in the control what is wrong."""
        if self._closed:
            return
        try:
            if self.field.value in (None, ""):
                what = "choose an answer" if self.options else "type a number"
                raise ValueError(f"{what} first")
            self.commit(self.field.value)
        except ValueError as error:
            self._say(f"{escape(str(error))}.")

    def _close(self, words: str) -> None:
        self._closed = self.field.disabled = self.button.disabled = True
        self.button.layout.display = "none"
        self._say(words)

    def _say(self, words: str) -> None:
        self.status.value = f'<span role="status">{words}</span>'

    # -- the answer
    def reveal(
        self, answer: object, why: str = "", source: str = "", counter: str | None = None
    ) -> View:
        """Guess and answer together, how far off it was, and the reason (folded when it was right).

        answer: a number, one of the options, a recorded Figure (its GB/s or µs, by the unit), or a
        Profile with the name of its `counter`. source says where a plain answer comes from; Figures
        and Profiles say it themselves. ValueError for an answer that fits the question in no way.
        """
        found, origin = self._answer(answer, counter)
        source = source or origin
        if not source:
            raise ValueError("reveal() needs to say where its answer comes from, as in "
                             'source="counted by the simulator"')
        if not self._closed:
            self._close("No prediction was committed before the answer came.")
        if self.value is not None:
            learner.note("prediction", self.question, self.right(found))
        return _revealed(self, found, why, source)

    def right(self, answer: float | str) -> bool:
        """Whether the committed guess is the answer, or within the tolerance of it."""
        if self.options:
            return self.value == answer
        return abs(self.value - answer) <= self.tolerance * abs(answer)

    def _answer(self, answer: object, counter: str | None) -> tuple[float | str, str]:
        """(the answer, where it comes from if it says so)."""
        if self.options:
            if answer not in self.options:
                options = ", ".join(map(repr, self.options))
                raise ValueError(f"the answer must be one of {options}, got {answer!r}")
            return answer, ""
        if isinstance(answer, Figure):
            key = _UNITS.get(self.unit)
            if key is None:
                raise ValueError(f"a Figure answers in GB/s or µs; this question is in "
                                 f"{self.unit or 'no unit'}")
            return _number(getattr(answer, key)), answer.label()
        if isinstance(answer, Profile):
            if counter not in answer.counters:
                raise ValueError(f"a Profile answers with one of its counters, got counter="
                                 f"{counter!r}; choose from {', '.join(answer.counters)}")
            return answer.counters[counter], f"counted by the simulator ({answer.device})"
        return _number(answer), ""

    def _own(self) -> str:
        return self.value if self.options else self._with_unit(self.value)

    def _with_unit(self, value: float | str) -> str:
        return value if self.options else f"{said(value)} {self.unit}".rstrip()

    # -- on the page
    def __repr__(self) -> str:
        state = "not committed" if self.value is None else f"committed: {self._own()}"
        return f"Predict: {self.question} ({state})"

    def _ipython_display_(self) -> None:
        """The last expression of the cell that made it has been shown already."""
        if self._cell is None or self._cell != _cell():
            self.show()
        self._cell = None

    def show(self) -> None:
        """Show the control; where there is none to be had, the question as text."""
        from IPython.display import display

        bundle = dict(self.box._repr_mimebundle_())
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = f"<p><b>Predict:</b> {escape(self.question)}{self._list()}</p>"
        display(bundle, raw=True)

    def _list(self) -> str:
        return f" ({escape(' / '.join(self.options))})" if self.options else ""


def _shown(guess: Guess) -> Guess:
    """Show a new guess when there is a notebook to show it in."""
    cell = _cell()
    if cell is not None:
        guess.show()
        guess._cell = cell
    return guess


def _cell() -> int | None:
    """The number of the cell that runs; None outside IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return shell.execution_count if shell else None


def _number(value: object) -> float:
    """A finite number, from NumPy too."""
    try:
        ok = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except (TypeError, OverflowError):  # 10**400 is finite, but no float
        ok = False
    if not ok:
        raise ValueError(f"expected a finite number, got {value!r}; take it from a profile's "
                         "counters or a recorded figure")
    return value


def _far(guess: float, answer: float) -> str:
    """How far off a guess was, in words: by a ratio where there is one."""
    if guess == answer:
        return "exactly"
    direction = "high" if guess > answer else "low"
    if guess * answer <= 0:  # no ratio
        return f"{said(abs(guess - answer))} too {direction}"
    ratio = max(guess / answer, answer / guess)
    if ratio >= 2:
        return f"{said(float(f'{ratio:.3g}'))} times too {direction}"
    return f"{100 * abs(guess / answer - 1):.2g} % too {direction}"


def _revealed(guess: Guess, answer: float | str, why: str, source: str) -> View:
    shown, right = guess._with_unit(answer), guess.value is not None and guess.right(answer)
    if guess.value is None:
        verdict, own = "", "none"
    elif guess.options:
        verdict, own = "right" if right else "not so", guess._own()
    else:
        far = _far(guess.value, answer)
        verdict, own = f"{'right' if right else 'not so'}: {far}", guess._own()
    sign = "✓ " if right else "✗ " if verdict else ""
    rows = [("your prediction", own), ("answer", f"{shown} ({source})")]
    rows += [("", f"{sign}{verdict}")] if verdict else []
    text = [guess.question, *(f"  {name}: {value}".replace("  : ", "  ") for name, value in rows)]
    text += [f"  why: {why}"] if why else []
    return View("\n".join(text), _markup(guess, rows, why, right))


def _markup(guess: Guess, rows: Sequence[tuple[str, str]], why: str, right: bool) -> str:
    body = "".join(
        f'<tr><th scope="row" style="white-space:nowrap">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    reason = f"<p style='margin:.3em 0'><b>Why:</b> {escape(why)}</p>" if why else ""
    if right and why:
        reason = f"<details><summary>why</summary><p>{escape(why)}</p></details>"
    return (
        f'<figure class="cu-view" role="status"><figcaption>{escape(guess.question)}</figcaption>'
        f"<table><tbody>{body}</tbody></table>{reason}</figure>"
    )
