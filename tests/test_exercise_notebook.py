"""Exercises in the notebook: the cell magic, and workbooks that are equal to the files."""

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import exercise, learner, notebooks
from helpers.exercise import definition, magic, workbook

TASK = exercise.load("v1/block_max")
BOOKS = workbook.books()


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """Progress goes to a file of the test's own, and the device is the simulator."""
    monkeypatch.setenv("SOFTMAX_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")


@pytest.fixture
def shell():
    shell = InteractiveShell()
    magic.register(shell)
    yield shell
    shell.clear_instance()


def test_a_cell_is_checked_and_noted(shell):
    """The cell's result is the verdict; the learner's file knows it, and a pass stays."""
    verdict = shell.run_cell_magic("exercise", "v1/block_max", TASK.solution)
    assert verdict.passed
    assert done() == 1
    assert not shell.run_cell_magic("exercise", "v1/block_max", TASK.skeleton).passed
    assert done() == 1


def done():
    return sum(line.exercises[0] for line in learner.summary().lines)


def test_a_slip_in_the_first_line_is_told(shell):
    with pytest.raises(ValueError, match="expected: %%exercise NAME"):
        magic.exercise("", "")
    with pytest.raises(exercise.DefinitionError, match="no exercise 'v1/nope'; there are"):
        magic.exercise("v1/nope", "")
    with pytest.raises(ValueError, match="device must be"):
        magic.exercise("v1/block_max tpu", "")


def test_the_folder_holds_what_the_files_say():
    """Written anew the notebooks would be the same, to the letter; none is left over."""
    there = {path.name: path.read_text(encoding="utf-8")
             for path in definition.FOLDER.glob("*.ipynb")}  # fmt: skip
    assert there == {name: workbook.text(book) for name, book in BOOKS.items()}


@pytest.mark.parametrize("name", BOOKS)
def test_a_workbook_has_every_skeleton_as_a_cell(name):
    """Valid, clean, and the cell is the file under its first line."""
    path = definition.FOLDER / name
    assert notebooks.check(path) is None
    cells = [cell.source for cell in nbformat.read(path, 4).cells]
    tasks = [task for task in exercise.all() if f"{task.name.split('/')[0]}.ipynb" == name]
    assert tasks
    for task in tasks:
        at = cells.index(f"%%exercise {task.name}\n{task.skeleton.rstrip()}")
        assert task.task in cells[at - 1]
        assert all(hint in cells[at + 1] for hint in task.hints)
        assert cells[at + 1].count("<details>") == cells[at + 1].count("</details>") == 2


def test_no_exercise_shows_its_solution():
    """What the reader is to write is not in its cells: neither the file nor the lines of the hole
    (another exercise may start where this one ends)."""
    for task in exercise.all():
        shown = set(task.skeleton.splitlines())
        hole = "\n".join(line for line in task.solution.splitlines() if line not in shown)
        page = "\n".join("".join(cell["source"]) for cell in workbook.cells(task))
        assert hole
        assert hole not in page
        assert task.solution.strip() not in page


@pytest.mark.parametrize("name", BOOKS)
def test_links_lead_to_lessons(name):
    """Lessons that are written have their notebook; the others are not linked."""
    for target in workbook.LINK.findall(workbook.text(BOOKS[name])):
        assert (definition.FOLDER / target).is_file(), target


def test_running_a_workbook_unsolved_is_no_error():
    """Every skeleton gets its verdict, and nothing raises."""
    run = notebooks.execute(definition.FOLDER / "v1.ipynb")
    assert run.error is None


def test_check_and_write(tmp_path, monkeypatch, capsys):
    """--check tells what differs and writes nothing; without it the files are made."""
    monkeypatch.setattr(workbook, "books", lambda: {"v1.ipynb": BOOKS["v1.ipynb"]})
    monkeypatch.setattr(workbook, "FOLDER", tmp_path)
    (tmp_path / "v0.ipynb").write_text("{}")
    assert workbook.main(["--check"]) == 1
    assert "v1.ipynb is not what the exercises' files say" in capsys.readouterr().out
    assert not (tmp_path / "v1.ipynb").exists()
    assert workbook.main([]) == 0
    assert "v0.ipynb belongs to no exercise" in capsys.readouterr().out
    (tmp_path / "v0.ipynb").unlink()
    assert workbook.main(["--check"]) == 0
