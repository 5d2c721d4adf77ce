"""An exercise as its folder defines it: skeleton.cu, solution.cu, right/, wrong/, exercise.toml.

Notebook, classroom and command line read it from here. Every mistake in a file is a
DefinitionError that names the file and the field.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import expression, inputs, references
from .tables import DefinitionError, Table, read, read_text

__all__ = [
    "COUNTERS",
    "PATTERNS",
    "STAGES",
    "Case",
    "DefinitionError",
    "Exercise",
    "Launch",
    "Mistake",
    "all_exercises",
    "load",
]

FOLDER = Path(__file__).resolve().parent.parent.parent / "exercises"
NAME = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")
DTYPES = ("float32", "float16")
STAGES = ("compile", "wrong", "defect", "lucky", "slow", "endless")
COUNTERS = (
    "load_requests",
    "load_sectors",
    "store_requests",
    "store_sectors",
    "shared_wavefronts",
    "bank_conflicts",
    "barriers",
    "shuffles",
)
# What the wrong elements of a result have in common; the most telling first.
PATTERNS = {
    "unwritten": "the kernel has written nothing there",
    "rows_misaligned": "only rows that start off a multiple of 16 bytes differ",
    "tail": "only the last columns behind a multiple of {width} are missing or wrong",
    "lane0_only": "only lane 0 of each warp, or thread 0 alone, has the right value",
    "first_warp": "only the first warp has a part in what is right",
    "scaled": "each row is right but for a factor of its own",
    "zero": "what differs is 0",
    "nan": "what differs is NaN",
    "first_row": "only the first row is right",
    "rounding": "the numbers are near, but not near enough: accuracy is lost",
    "all": "every element differs",
}


@dataclass(frozen=True)
class Case:
    """One trial: a matrix of rows x cols; x and y start so many elements off 16 bytes."""

    rows: int
    cols: int
    input: str = "normal"
    offset: int = 0
    y_offset: int = 0
    hidden: bool = False

    def __str__(self) -> str:
        starts = [
            f"{name} {by} element{'s' if by > 1 else ''} off a multiple of 16 bytes"
            for name, by in (("x", self.offset), ("y", self.y_offset))
            if by
        ]
        return ", ".join([f"{self.rows} × {self.cols}", inputs.WORDS[self.input], *starts])


@dataclass(frozen=True)
class Launch:
    """Blocks, threads a block, and dynamic bytes, each as arithmetic in rows, cols, block."""

    grid: str = "rows"
    block: int = 256
    shared: str = "0"

    def at(self, rows: int, cols: int) -> tuple[int, int, int]:
        """(blocks, threads a block, dynamic bytes) for a matrix."""
        size = (rows, cols, self.block)
        return expression.value(self.grid, *size), self.block, expression.value(self.shared, *size)


@dataclass(frozen=True)
class Mistake:
    """A typical mistake: what to tell the learner, and the conditions it is known by."""

    name: str
    message: str
    when: Mapping[str, tuple[str, ...] | re.Pattern]


@dataclass(frozen=True)
class Exercise:
    """One exercise; `name` is its place, "v1/block_max". Its `.cu` files are read when needed."""

    name: str
    folder: Path
    title: str
    task: str
    lesson: str
    entry: str
    hole: int
    hints: tuple[str, str]
    self_check: tuple[int, ...]
    dtype: str
    out_dtype: str
    reference: str
    launch: Launch
    cases: tuple[Case, ...]
    tolerance: float
    budget_size: tuple[int, int]
    budget: Mapping[str, str]
    mistakes: tuple[Mistake, ...]

    @property
    def skeleton(self) -> str:
        """What the learner starts from."""
        return read_text(self.folder / "skeleton.cu")

    @property
    def solution(self) -> str:
        return read_text(self.folder / "solution.cu")

    def kernels(self, which: str) -> dict[str, str]:
        """File stem -> text of the kernels in "right" or "wrong"."""
        return {path.stem: read_text(path) for path in sorted((self.folder / which).glob("*.cu"))}

    @property
    def signature(self) -> str:
        """The declaration every answer has to keep."""
        types = {"float32": "float", "float16": "__half"}
        return (f"{self.entry}(const {types[self.dtype]}* x, {types[self.out_dtype]}* y, "
                "int rows, int cols)")  # fmt: skip

    def allowed(self) -> dict[str, int]:
        """Counter -> the most the budget allows, at the size it is counted at."""
        size = (*self.budget_size, self.launch.block)
        return {name: expression.value(text, *size) for name, text in self.budget.items()}


def load(name: str, folder: Path | None = None) -> Exercise:
    """The exercise called `name`, such as "v1/block_max". Raises DefinitionError."""
    folder = folder or FOLDER
    if not NAME.fullmatch(name) or not (folder / name / "exercise.toml").is_file():
        there = ", ".join(_names(folder)) or f"none in {folder}"
        raise DefinitionError(f"no exercise {name!r}; there are {there}")
    path = folder / name / "exercise.toml"
    return _parsed(name, path, read_text(path))


def all_exercises(folder: Path | None = None) -> list[Exercise]:
    """Every exercise, version by version."""
    folder = folder or FOLDER
    return [load(name, folder) for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    """In the order of the lessons; transpose, which is no version, at the end."""
    paths = folder.glob("*/*/exercise.toml")
    found = [path.parent.relative_to(folder).as_posix() for path in paths]
    return sorted(found, key=lambda name: (not name.startswith(("naive", "v")), name))


@lru_cache(maxsize=64)
def _parsed(name: str, path: Path, text: str) -> Exercise:
    table = read(path, text)
    dtype = table.choice("dtype", DTYPES, "float32")
    launch = _launch(table.table("launch"))
    budget = table.table("budget")
    made = Exercise(
        name=name,
        folder=path.parent,
        title=table.text("title"),
        task=table.text("task"),
        lesson=table.text("lesson"),
        entry=table.text("entry"),
        hole=table.count("hole", 1),
        hints=table.items("hints", str, 2),
        self_check=table.items("self_check", int),
        dtype=dtype,
        out_dtype=table.choice("out_dtype", DTYPES, dtype),
        reference=table.choice("reference", tuple(references.REFERENCES)),
        launch=launch,
        cases=tuple(_case(part) for part in table.tables("cases")),
        tolerance=table.number("tolerance"),
        budget_size=(budget.count("rows", 1), budget.count("cols", 1)),
        budget={key: budget.text(key) for key in COUNTERS if key in budget.data},
        mistakes=tuple(_mistake(stem, part) for stem, part in table.named("mistakes")),
    )
    budget.end()
    table.end()
    _check_sizes(table, made)
    return made


def _check_sizes(table: Table, made: Exercise) -> None:
    """Every expression has a value at every size that it will be asked for."""
    if not any(not case.hidden for case in made.cases):
        raise table.wrong("cases", "at least one that is not hidden", "none")
    try:
        for case in made.cases:
            made.launch.at(case.rows, case.cols)
    except expression.ExpressionError as error:
        raise DefinitionError(f"{table.path}: [launch]: {error}") from None
    try:
        made.launch.at(*made.budget_size)
        made.allowed()
    except expression.ExpressionError as error:
        raise DefinitionError(f"{table.path}: [budget]: {error}") from None


def _launch(table: Table) -> Launch:
    made = Launch(
        table.text("grid", "rows"), table.count("block", 1, 256), table.text("shared", "0")
    )
    table.end()
    return made


def _case(table: Table) -> Case:
    made = Case(
        table.count("rows", 1),
        table.count("cols", 1),
        table.choice("input", tuple(inputs.INPUTS), "normal"),
        table.count("offset", 0, 0),
        table.count("y_offset", 0, 0),
        table.flag("hidden"),
    )
    table.end()
    return made


def _mistake(name: str, table: Table) -> Mistake:
    when = table.table("when")
    known = {
        "stage": STAGES,
        "kind": None,
        "pattern": tuple(PATTERNS),
        "input": tuple(inputs.INPUTS),
    }
    conditions: dict[str, Any] = {
        key: when.words(key, choices) for key, choices in known.items() if key in when.data
    }
    if "source" in when.data:
        try:
            conditions["source"] = re.compile(when.text("source"), re.M)
        except re.error as error:
            raise when.wrong("source", "a regular expression", str(error)) from None
    if not conditions:
        raise table.wrong("when", "at least one condition", "none")
    when.end()
    made = Mistake(name, table.text("message"), conditions)
    table.end()
    return made
