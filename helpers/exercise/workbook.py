"""Writes the exercise notebooks out of the exercises' files: `python -m helpers.exercise.workbook`.

One notebook a version, exercises/<version>.ipynb: for each exercise its task, a cell with the
skeleton to fill in and run, and two folded hints. A test holds them equal to the files.
"""

import argparse
import json
import re
import sys
from itertools import groupby
from pathlib import Path

from .definition import FOLDER, DefinitionError, Exercise, all_exercises

__all__ = ["books", "cells", "main", "notebook"]

LINK = re.compile(r"\]\((\.\./[^)]+)\)")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
OPENING = """\
# Exercises: {title}

Each exercise has one hole in its kernel, marked `YOUR CODE`. Fill it in and run the cell: the \
check says whether the kernel compiles, is right on many matrices, is free of races and other \
defects, and keeps within the budget. It stops at the first of these that fails and says what it \
saw. Solving only adds lines. What these kernels are for is told in {lessons}."""


def books(folder: Path | None = None) -> dict[str, dict]:
    """File name -> the notebook, as nbformat's plain dictionaries."""
    found = groupby(all_exercises(folder), key=lambda one: one.name.split("/")[0])
    return {f"{version}.ipynb": notebook(version, list(group)) for version, group in found}


def notebook(version: str, exercises: list[Exercise]) -> dict:
    """The exercises of one version as a notebook."""
    lessons = dict.fromkeys(one.lesson for one in exercises)
    links = " and ".join(map(link, lessons))
    title = version.upper() if version.startswith("v") else version
    made = [
        cell("markdown", f"{version}-opening", OPENING.format(title=title, lessons=links)),
        cell("code", f"{version}-import", "from helpers import exercise"),
    ]
    for one in exercises:
        made += cells(one)
    return {"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def link(lesson: str) -> str:
    """A lesson by its name, linked where it is written."""
    target = f"../notebooks/{lesson}.ipynb"
    return f"[{lesson}]({target})" if (FOLDER / target).is_file() else f"lesson {lesson}"


def cells(exercise: Exercise) -> list[dict]:
    """Task, skeleton and hints of one exercise."""
    key = exercise.name.replace("/", "-").replace("_", "-")
    lines = f"The hole takes about {exercise.hole} line{'s' if exercise.hole > 1 else ''}."
    hints = "\n\n".join(
        f"<details><summary>Hint {k}</summary>\n\n{hint}\n\n</details>"
        for k, hint in enumerate(exercise.hints, 1)
    )
    return [
        cell("markdown", f"{key}-task", f"## {exercise.title}\n\n{exercise.task}\n\n{lines}"),
        cell("code", f"{key}-answer", f"%%exercise {exercise.name}\n{exercise.skeleton.rstrip()}"),
        cell("markdown", f"{key}-hints", hints),
    ]


def cell(kind: str, name: str, source: str) -> dict:
    made = {"cell_type": kind, "id": name[:64], "metadata": {},
            "source": source.splitlines(keepends=True)}  # fmt: skip
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def text(book: dict) -> str:
    """The file's text, laid out as Jupyter writes it."""
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Write the notebooks, or with --check only compare; 1 when one differs, 2 for a mistake in an
    exercise."""
    parser = argparse.ArgumentParser(prog="python -m helpers.exercise.workbook")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    options = parser.parse_args(argv)
    try:
        made = {FOLDER / name: text(book) for name, book in books().items()}
    except DefinitionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    there = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.ipynb")}
    differing = sorted(path for path in made | there if made.get(path) != there.get(path))
    for path in differing:
        if options.check:
            print(f"{path.name} is not what the exercises' files say; write it anew with: "
                  "python -m helpers.exercise.workbook")  # fmt: skip
        elif path in made:
            path.write_text(made[path], encoding="utf-8", newline="\n")
            print(f"wrote {path.name}")
        else:
            print(f"{path.name} belongs to no exercise; delete it")
    return int(options.check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
