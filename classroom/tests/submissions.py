"""Twenty hand-ins for one small assignment: right ones, wrong ones, and those that try something.

Each is a student with the texts of three answers, and what was done to the notebook besides.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from helpers import exercise

__all__ = ["CHEATS", "EXERCISES", "Submission", "all_submissions", "hand_in"]

EXERCISES = ("v1/block_max", "v1/scratch_race", "v4/vectorise")
WRONG = (  # one of each kind, and one that is no better than what was handed out
    ("v1/block_max", "barrier_in_the_condition"),
    ("v1/block_max", "flt_min"),
    ("v1/block_max", "neighbouring_columns"),
    ("v1/block_max", "no_barrier_in_the_tree"),
    ("v1/block_max", "past_the_end"),
    ("v1/scratch_race", "barriers_everywhere"),
    ("v1/scratch_race", "fence"),
    ("v4/vectorise", "edge_not_added"),
    ("v4/vectorise", "stores_scalar"),
    ("v4/vectorise", "y_taken_as_aligned"),
)
ENDLESS = "    while (rows > 0) { if (threadIdx.x > 2048) break; }\n"
FORGED = "10.0"


@dataclass(frozen=True)
class Submission:
    """A student's folder: exercise -> text of the answer; `change` is made to the notebook."""

    student: str
    answers: dict[str, str] = field(default_factory=dict)
    change: Callable | None = None
    files: dict[str, str] = field(default_factory=dict)
    notebook: bool = True


def all_submissions(marker: Path) -> list[Submission]:
    """The twenty; those that try to run Python of their own would leave a file at `marker`."""
    right = {name: exercise.load(name).solution for name in EXERCISES}
    first = EXERCISES[0]
    return [
        Submission("right", right),
        Submission("right_otherwise", {name: _otherwise(name) for name in EXERCISES}),
        *(
            Submission(stem, right | {name: exercise.load(name).kernels("wrong")[stem]})
            for name, stem in WRONG
        ),
        Submission("no_compile", right | {first: right[first].replace(";", "", 1)}),
        Submission("endless", right | {first: _endless(right[first])}),
        Submission("untouched", {name: exercise.load(name).skeleton for name in EXERCISES}),
        Submission("emptied", dict.fromkeys(EXERCISES, "")),
        Submission("nothing", notebook=False),
        Submission("forged", right | {first: _skeleton(first)}, change=_forge),
        Submission("deleted", right, change=_delete_check),
        Submission("python", right | {first: _skeleton(first)}, *_python(marker)),
    ]


CHEATS = ("forged", "deleted", "python")


def hand_in(one: Submission, release: Path, folder: Path) -> None:
    """Write a submission as nbgrader finds it: the released notebook, answered and changed."""
    folder.mkdir(parents=True)
    for name, text in one.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    if not one.notebook:
        return
    notebook = nbformat.read(release, as_version=4)
    for cell in notebook.cells:
        name = cell.source.split("\n")[0].removeprefix("%%exercise ")
        if cell.source.startswith("%%exercise") and name in one.answers:
            answer = one.answers[name]
            cell.source = f"%%exercise {name}\n{answer}" if answer else ""
    if one.change:
        one.change(notebook)
    nbformat.write(notebook, folder / release.name)


def _skeleton(name):
    return exercise.load(name).skeleton


def _otherwise(name):
    return next(iter(exercise.load(name).kernels("right").values()))


def _endless(text):
    """The text with a loop that never ends at the start of its kernel."""
    head, body = text[: text.index("__global__")], text[text.index("__global__") :]
    return head + body.replace("{\n", "{\n" + ENDLESS, 1)


def _checks(notebook):
    return [cell for cell in notebook.cells if cell.source.startswith("course.mark(")]


def _forge(notebook):
    for cell in _checks(notebook):
        cell.source = FORGED


def _delete_check(notebook):
    notebook.cells.remove(_checks(notebook)[1])


def _python(marker):
    """Python of the student's own, in every place where it might be run: (change, files)."""
    run = f"open({str(marker)!r}, 'a').write('ran')"

    def change(notebook):
        answer = next(cell for cell in notebook.cells if cell.source.startswith("%%exercise"))
        forge = f"{run}\nfrom helpers import course\ncourse.mark = lambda *_, **__: 10.0"
        answer.source = f"{forge}\n{answer.source}"
        notebook.cells.insert(1, nbformat.v4.new_code_cell(forge))
        locked = nbformat.v4.new_code_cell(forge)
        told = {"grade_id": "mine", "locked": True, "grade": False, "solution": False}
        locked.metadata["nbgrader"] = told | {"task": False, "schema_version": 3}
        notebook.cells.append(locked)
        notebook.cells.append(nbformat.v4.new_code_cell(f"%%exercise {{{run}}}\n"))
        notebook.metadata["kernelspec"] = {"name": "mine", "display_name": "mine"}

    return change, dict.fromkeys(("helpers.py", "numpy.py", "ipython_config.py"), run)
