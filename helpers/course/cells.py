"""The cells of an assignment, from the definitions of its exercises.

Each exercise has three: the task (read only), the answer (what the learner edits), and the check
(locked, carries the points).
"""

import difflib

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ..simt.source import clean

__all__ = ["answer_id", "between_marks", "notebook", "unanswered"]

BEGIN, END = "// BEGIN SOLUTION", "// END SOLUTION"  # nbgrader clears the lines between them
SETUP = "from helpers import course  # brings %%exercise, and what marks it"


def answer_id(name: str) -> str:
    """nbgrader's name for the answer to an exercise: "v1-block_max" for "v1/block_max"."""
    return name.replace("/", "-")


def between_marks(skeleton: str, solution: str) -> str:
    """The solution with every run of lines that the skeleton lacks between nbgrader's marks.

    ValueError when the solution does more than add lines.
    """
    before, after = skeleton.splitlines(), solution.splitlines()
    lines, at = [], 0
    for start, end in _added(before, after):
        lines += [*after[at:start], BEGIN, *after[start:end], END]
        at = end
    return "\n".join([*lines, *after[at:]])


def unanswered(skeleton: str, answer: str) -> bool:
    """True when the answer is the skeleton still, or nothing, comments and blank space aside."""
    said, given = (clean(text).split() for text in (answer, skeleton))
    return not said or said == given


def notebook(title: str, exercises, points: int):
    """The source notebook (nbformat) of one assignment, solutions included."""
    made = [_read_only("title", _opening(title, exercises)), _setup()]
    for one in exercises:
        made += [_task(one, points), _answer(one), _check(one, points)]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return new_notebook(cells=made, metadata={"kernelspec": kernel})


def _added(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """(start, end) in `after` of each run of lines to add to `before`."""
    match = difflib.SequenceMatcher(None, before, after, autojunk=False)
    found = match.get_opcodes()
    if any(what not in ("equal", "insert") for what, *_ in found):
        raise ValueError("the solution does more than add lines to the skeleton")
    return [(start, end) for what, _, _, start, end in found if what == "insert"]


def _grading(name, *, solution=False, points=None):
    """nbgrader's metadata of one cell."""
    told = {"schema_version": 3, "grade_id": name, "solution": solution, "task": False}
    told |= {"grade": points is not None, "locked": not solution}
    return {"nbgrader": told | ({} if points is None else {"points": points})}


def _read_only(name, text):
    return new_markdown_cell(text, id=name, metadata=_grading(name))


def _setup():
    return new_code_cell(SETUP, id="setup", metadata=_grading("setup"))


def _opening(title, exercises):
    lessons = ", ".join(sorted({one.lesson for one in exercises}))
    return (
        f"# {title}\n\nLessons: {lessons}. Run the next cell first. Below each task is a kernel "
        "with a hole; write into that cell, leave its first line as it is, and run it. The cell "
        "after it gives the points. Partial credit: for the share of inputs that come out right, "
        "then for a kernel that is right by luck, then for one that is right but over its budget."
    )


def _task(one, points):
    hints = "\n\n".join(
        f"<details><summary>Hint {k}</summary>\n\n{hint}\n\n</details>"
        for k, hint in enumerate(one.hints, 1)
    )
    text = f"## {one.title} ({points} points)\n\n{one.task}\n\n{hints}"
    return _read_only(f"{answer_id(one.name)}-task", text)


def _answer(one):
    text = between_marks(one.skeleton, one.solution)
    name = answer_id(one.name)
    return new_code_cell(
        f"%%exercise {one.name}\n{text}", id=name, metadata=_grading(name, solution=True)
    )


def _check(one, points):
    name = f"{answer_id(one.name)}-check"
    return new_code_cell(
        f'course.mark("{one.name}", points={points})',
        id=name,
        metadata=_grading(name, points=points),
    )
