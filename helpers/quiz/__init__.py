"""Quizzes: one JSON file a lesson in quizzes/, shown by jupyterquiz, and as text elsewhere.

    quiz.show("03_v1_block_shared")      # in a notebook: to click; in a terminal: to read
    quiz.answer("03-rounds", 7)          # a reply in Python: right or not, and why

A question is a dict in jupyterquiz's own format, which ignores the two fields it does not know:
`id`, which begins with the lesson's number, and `self_check`, the lines of the self-check list
that it belongs to (1 to 10). Options are shuffled, the same way each time for everybody.
"""

from __future__ import annotations

import html
import json
import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import learner

__all__ = ["Quiz", "Reply", "answer", "lessons", "load", "show"]

FOLDER = Path(__file__).resolve().parent.parent.parent / "quizzes"
ASKS = {"multiple_choice": "choose one", "many_choice": "choose all", "numeric": "a number"}
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


@dataclass(frozen=True)
class Reply:
    """What a reply to a question earned: `right`, and the `feedback` as plain text."""

    right: bool
    feedback: str

    def __str__(self) -> str:
        return f"{'✓' if self.right else '✗'} {self.feedback}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Quiz:
    """The questions of one lesson, each with its options in the order in which they are shown."""

    lesson: str
    questions: tuple[dict, ...]

    def __str__(self) -> str:
        """Questions and options; no answer is given away."""
        count = f"Quiz on {self.lesson}, {len(self.questions)} questions"
        example = self.questions[0]["id"]
        hint = f'Reply with quiz.answer("{example}", …): a letter, several letters, or a number.'
        asked = (_asked(n, q) for n, q in enumerate(self.questions, 1))
        return "\n\n".join([count, *asked, hint])

    __repr__ = __str__

    def _ipython_display_(self) -> None:
        from IPython.display import display

        from .page import listener, markup

        field = listener(self)
        # Nothing to see where the field is not to be had: a saved page has no kernel to tell.
        display(field._repr_mimebundle_() | {"text/plain": "", "text/html": ""}, raw=True)
        page = markup(self, told=field._dom_classes[0])
        display({"text/plain": str(self), "text/html": page}, raw=True)


def lessons() -> list[str]:
    """The lessons that have a quiz, in reading order."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(lesson: str) -> Quiz:
    """The quiz of a lesson. ValueError, listing those there are, when it has none, and for a file
    that cannot be read as one."""
    if lesson not in lessons():
        raise ValueError(f"no quiz for {lesson!r}; there are {', '.join(lessons()) or 'none'}")
    path = FOLDER / f"{lesson}.json"
    try:
        questions = json.loads(path.read_text(encoding="utf-8"))
        return Quiz(lesson, tuple(map(_shuffled, questions)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"quizzes/{path.name} cannot be read as a list of questions ({error!r}); "
            f"restore it with: git checkout -- quizzes/{path.name}"
        ) from error


def show(lesson: str) -> None:
    """Show the quiz of a lesson: to click in a notebook or a page, as text in a terminal.

    ValueError as in `load`.
    """
    from IPython import get_ipython

    quiz = load(lesson)
    if get_ipython() is None:
        print(quiz)
    else:
        quiz._ipython_display_()


def answer(question: str, reply: str | float | Sequence[str]) -> Reply:
    """Reply to the question with this id: the letter of an option, several letters ("ac") where
    all are to be chosen, or a number. The reply is noted among what this learner has done.

    ValueError for an id that no quiz has, and for a reply that is no possible one.
    """
    found = next((q for one in map(load, lessons()) for q in one.questions
                  if q["id"] == question), None)  # fmt: skip
    if found is None:
        raise ValueError(f"no question {question!r}; quiz.load(lesson) lists them with their ids")
    earned = _number(found, reply) if found["type"] == "numeric" else _choice(found, reply)
    learner.note("quiz", question, earned.right)
    return earned


def _shuffled(question: dict) -> dict:
    """The question with its options in an order of its own, not that of the file."""
    if question["type"] == "numeric":
        return question
    options = list(question["answers"])
    random.Random(question["id"]).shuffle(options)
    return question | {"answers": options}


def _asked(number: int, question: dict) -> str:
    """A question and its options as text."""
    head = f"{number}. {plain(question['question'])}"
    lines = [f"{head} ({ASKS[question['type']]}) [{question['id']}]"]
    if "code" in question:
        lines += [f"       {line}" for line in plain(question["code"]).splitlines()]
    if question["type"] != "numeric":
        letters = string.ascii_lowercase
        options = zip(letters, question["answers"], strict=False)
        lines += [f"   {letter}) {plain(option['answer'])}" for letter, option in options]
    return "\n".join(lines)


def plain(markup: str) -> str:
    """The HTML of a question as text: e<sup>x</sup> becomes e^x."""
    powers = re.sub(r"<sup>(.*?)</sup>", r"^\1", markup)
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<sub>(.*?)</sub>", r"_\1", powers)))


def _choice(question: dict, reply) -> Reply:
    options = dict(zip(string.ascii_lowercase, question["answers"], strict=False))
    try:
        text = "".join(reply).lower()
    except TypeError:  # a number, None
        text = ""
    letters = sorted({letter for letter in text if letter not in " ,"})
    if not letters or not set(letters) <= set(options):
        raise ValueError(f"expected letters from a to {max(options)}, got {reply!r}")
    if len(letters) > 1 and question["type"] == "multiple_choice":
        raise ValueError(f"one of the options is right, got {len(letters)}: {reply!r}")
    right = {letter for letter, option in options.items() if option["correct"]}
    said = [f"{letter}) {plain(options[letter]['feedback'])}" for letter in letters]
    if set(letters) < right:
        said.append(f"{len(letters)} of {len(right)}: there are more.")
    return Reply(set(letters) == right, " ".join(said))


def _number(question: dict, reply) -> Reply:
    """As jupyterquiz judges: the first answer that holds the number, else the default."""
    text = str(reply).strip().replace("−", "-")
    if "," in text and not THOUSANDS.fullmatch(text):
        raise ValueError(f"expected a number such as 1,024 or 1.33, got {reply!r}")
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        raise ValueError(f"expected a number, got {reply!r}") from None
    for one in question["answers"]:
        low, high = one.get("range", (0, 0))
        if low <= value < high or value == one.get("value"):
            return Reply(one["correct"], plain(one["feedback"]))
    return Reply(False, plain(question["answers"][-1]["feedback"]))
