"""What this learner has done: lessons read, predictions, exercises, quiz questions.

It is kept in one file, softmax_progress.json, in the folder where the notebooks run, and sent
nowhere. SOFTMAX_PROGRESS names another file; SOFTMAX_PROGRESS=off keeps nothing.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import html
import json
import os
import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import files, lock, versions
from .columns import aligned

__all__ = ["KINDS", "Line", "Summary", "finished", "note", "place", "summary"]

NAME = "softmax_progress.json"
KINDS = ("lesson", "prediction", "exercise", "quiz")
ROOT = Path(__file__).resolve().parent.parent
_WAIT_S = 5.0  # for another kernel that is writing; it takes milliseconds


def place() -> Path | None:
    """The file, whether or not it exists yet; None when nothing is to be kept."""
    chosen = os.environ.get("SOFTMAX_PROGRESS", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    here = Path.cwd()
    # Lessons and exercises run from two folders of one project and share one file.
    beside = here.parent / "notebooks"
    return (beside if here.name == "exercises" and beside.is_dir() else here) / NAME


def note(kind: str, name: str, passed: bool, **more: object) -> None:
    """Note one try at something; what was once passed stays passed.

    kind: one of KINDS. more: what else to remember of this try, anything JSON can hold. ValueError
    for another kind, TypeError for what JSON cannot hold. A file that cannot be written costs a
    line of print, never the lesson.
    """
    if kind not in KINDS:
        raise ValueError(f"expected one of {', '.join(KINDS)}, got {kind!r}")
    entry = json.loads(json.dumps({**more, "passed": bool(passed)}))
    path = place()
    if path is None:
        return
    try:
        with _locked(path):
            data = _read(path)
            _add(data.setdefault(kind, {}), name, entry)
            files.write(path, _text(data), mode=0o600)
    except (OSError, ValueError, RecursionError) as error:  # whatever it is, the lesson goes on
        print(f"Progress was not kept: {path}: {getattr(error, 'strerror', None) or error}")


def finished(lesson: str) -> Summary:
    """Note that a lesson was read to its end, and return what was done in it.

    ValueError, listing the lessons, for a name that is none.
    """
    if lesson not in _lessons():
        raise ValueError(f"no lesson called {lesson!r}; there are {', '.join(_lessons())}")
    note("lesson", lesson, True)
    return Summary(tuple(line for line in summary().lines if line.lesson == lesson), place())


def summary() -> Summary:
    """What was done, lesson by lesson. A file that is damaged or cannot be read counts as empty."""
    path = place()
    data = {}
    if path is not None:
        try:
            data = _read(path)
        except OSError as error:
            print(f"Progress could not be read: {path}: {error.strerror or error}")
    return Summary(tuple(_line(lesson, data) for lesson in _lessons()), path)


# -- what is shown
@dataclass(frozen=True)
class Line:
    """One lesson: read to the end or not, and (done, there are) of each other kind."""

    lesson: str
    read: bool
    predictions: tuple[int, int]
    exercises: tuple[int, int]
    quiz: tuple[int, int]

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as a table shows it."""
        read = "✓" if self.read else "–"
        return (self.lesson, read, *map(_of, (self.predictions, self.exercises, self.quiz)))


@dataclass(frozen=True, repr=False)
class Summary:
    """Lines, one a lesson, and the file they come from; a table as text or HTML."""

    lines: tuple[Line, ...]
    path: Path | None

    heads = ("lesson", "read to the end", "predictions right", "exercises passed", "quiz right")

    @property
    def where(self) -> str:
        """Where this is kept, in a sentence."""
        if self.path is None:
            return "Nothing is kept: SOFTMAX_PROGRESS=off."
        return f"Kept in {self.path}, and sent nowhere."

    def __str__(self) -> str:
        rows = [self.heads, *(line.cells for line in self.lines)]
        return "\n".join([*aligned(rows), self.where])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'
        head = "".join(f'<th scope="col" {left}>{name}</th>' for name in self.heads)
        body = "".join(
            f'<tr><th scope="row" {left}>{html.escape(line.lesson)}</th>'
            + "".join(f"<td {left}>{cell}</td>" for cell in line.cells[1:]) + "</tr>"
            for line in self.lines
        )  # fmt: skip
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                f"<p>{html.escape(self.where)}</p>")  # fmt: skip


def _of(count: tuple[int, int]) -> str:
    return f"{count[0]} of {count[1]}" if count[1] else "–"


def _line(lesson: str, data: dict) -> Line:
    def passed(kind):
        return {name for name, entry in data.get(kind, {}).items() if entry["passed"]}

    guesses = [re.compile(pattern, re.DOTALL) for pattern in _predictions(lesson)]
    right = sum(any(map(guess.fullmatch, passed("prediction"))) for guess in guesses)
    here, asked = _exercises(lesson), _questions(lesson)
    return Line(
        lesson,
        lesson in passed("lesson"),
        (right, len(guesses)),
        (len(passed("exercise") & here), len(here)),
        (len(passed("quiz") & asked), len(asked)),
    )


# -- what there is to do
def _lessons() -> list[str]:
    return sorted({version.lesson for version in versions.VERSIONS.values()})


@cache
def _predictions(lesson: str) -> list[str]:
    """A pattern for each question that the lesson's notebook asks with predict.number/choice."""
    path = ROOT / "notebooks" / f"{lesson}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else ()
    found = []
    for cell in cells:
        with contextlib.suppress(SyntaxError):  # a magic, or a reader's unfinished line
            if cell["cell_type"] == "code":
                found += map(_pattern, _asked(ast.parse("".join(cell["source"]))))
    return found


def _asked(tree: ast.AST) -> Iterator[ast.expr]:
    """The first argument of every call of predict.number or predict.choice."""
    for call in ast.walk(tree):
        name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if name in ("predict.number", "predict.choice") and call.args:
            yield call.args[0]


def _pattern(text: ast.expr) -> str:
    """A string, or an f-string with anything in its fields, as a regular expression."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    plain = (part.value if isinstance(part, ast.Constant) else None for part in parts)
    return "".join(".*" if part is None else re.escape(part) for part in plain)


@cache
def _exercises(lesson: str) -> set[str]:
    """The exercises, as version/name, that belong to a lesson."""
    files = (ROOT / "exercises").glob("*/*/exercise.toml")
    return {
        f"{path.parent.parent.name}/{path.parent.name}"
        for path in files
        if tomllib.loads(path.read_text(encoding="utf-8")).get("lesson") == lesson
    }


@cache
def _questions(lesson: str) -> set[str]:
    """The ids of the lesson's quiz questions."""
    path = ROOT / "quizzes" / f"{lesson}.json"
    questions = json.loads(path.read_text(encoding="utf-8")) if path.exists() else ()
    return {question["id"] for question in questions}


# -- the file
def _add(entries: dict, name: str, entry: dict) -> None:
    before = entries.get(name, {"passed": False, "tries": 0})
    entry["tries"] = before.get("tries", 0) + 1
    entry["passed"] |= before["passed"]
    entry["when"] = datetime.datetime.now().isoformat(timespec="seconds")
    entries[name] = entry


def _read(path: Path) -> dict:
    """What the file holds, {} when there is none. A damaged one is set aside; a line says so."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    with contextlib.suppress(ValueError, RecursionError):  # not UTF-8, not JSON, endlessly nested
        data = json.loads(text.decode("utf-8"))
        if _sound(data) and _text(data).encode():  # what cannot be written again is damaged, too
            return data
    aside = _unused(path)
    os.replace(path, aside)
    print(f"{path.name} was damaged; it is now {aside.name}, and a new one begins.")
    return {}


def _sound(data: object) -> bool:
    """kind -> name -> entry with `passed` and `tries`; kinds of a later version may be there."""
    kinds = data.values() if isinstance(data, dict) else [None]
    return all(
        isinstance(entry, dict)
        and isinstance(entry.get("passed"), bool)
        and isinstance(entry.get("tries", 0), int)
        for entries in kinds
        for entry in (entries.values() if isinstance(entries, dict) else [None])
    )


def _unused(path: Path) -> Path:
    """A name for the damaged file that overwrites no earlier one."""
    aside, number = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged{number}")
    return aside


def _text(data: dict) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other kernels from writing between our reading and our writing.

    The system frees the lock when a process ends. Where a file system has no locks, or somebody
    holds one for seconds, carry on: then the file is still whole, at worst an entry short.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "a+b") as file:
        until = time.monotonic() + _WAIT_S
        while not _lock(file) and time.monotonic() < until:
            time.sleep(0.01)
        yield


def _lock(file) -> bool:
    """Take the lock; False when another has it. True, too, where there are no locks to be had."""
    try:
        lock.take(file.fileno())
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True
