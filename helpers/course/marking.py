"""Marks for answers: the hidden check, turned into points that nbgrader can read.

In a notebook that is being marked, `%%exercise` only keeps the text of the cell, so that each
answer is checked once. The text goes to the simulator; nothing of it runs on this machine.
"""

import os
import sys
from functools import cache
from html import escape

from .. import exercise
from ..exercise.magic import exercise as checked
from .cells import unanswered

__all__ = ["Mark", "mark", "use_in_notebook"]

DEVICE = "SOFTMAX_MARK_DEVICE"  # "sim", or "gpu" where the teacher allows it
_answers: dict[str, str] = {}


class Mark(float):
    """Points for one answer. As text it is a bare number, which nbgrader takes for the mark."""

    def __new__(cls, points: float, possible: float, verdict=None, why: str = ""):
        made = super().__new__(cls, points)
        made.possible, made.verdict, made.why = possible, verdict, why
        return made

    def _repr_html_(self) -> str:
        why = f"<p>{escape(self.why)}</p>" if self.why else ""
        shown = self.verdict._repr_html_() if self.verdict else ""
        return f"<p><b>{float(self):g} of {self.possible:g} points</b></p>{why}{shown}"


def mark(name: str, points: float) -> Mark:
    """The points for the answer last run in this notebook's cell `%%exercise name`.

    Checked with the hidden inputs too. An answer that is missing, or no better than the skeleton
    (some start from a kernel that is right by luck), has none.
    """
    task = exercise.load(name)
    answer = _answers.get(name, "")
    if unanswered(task.skeleton, answer):
        why = f"No answer: the cell %%exercise {name} was not run, or holds what was handed out."
        return Mark(0.0, points, why=why)
    verdict = exercise.check(name, answer, device=os.environ.get(DEVICE, "sim"), hidden=True)
    if 0 < verdict.score < 1 and verdict.score <= _start(name):
        return Mark(0.0, points, verdict, "No better than what was handed out.")
    return Mark(round(points * verdict.score, 2), points, verdict)


@cache
def _start(name: str) -> float:
    """The score of the skeleton."""
    return exercise.check(name, exercise.load(name).skeleton).score


def use_in_notebook() -> None:
    """Make `%%exercise` keep what it is given; outside a notebook nothing happens."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.register_magic_function(_keep, "cell", "exercise")


def _keep(line: str, cell: str):
    for name in line.split()[:1]:
        _answers[name] = cell
    if os.environ.get("NBGRADER_EXECUTION") != "autograde":
        return checked(line, cell)
