"""The lessons as files: valid, clean, whole, and in step with the catalogue."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from helpers import versions

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LESSONS = sorted({version.lesson for version in versions.VERSIONS.values()})
LONGEST_FUNCTION = 40  # lines, about a screen
EVERY = pytest.mark.parametrize("lesson", LESSONS)
LADDER = versions.ladder()


def cells(lesson, kind=None):
    """A lesson's cells, of one kind or all; read as they are, without repair."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)
    return [cell for cell in notebook.cells if kind in (None, cell.cell_type)]


def prose(lesson):
    return "\n\n".join(cell.source for cell in cells(lesson, "markdown"))


def code(lesson):
    return "\n\n".join(cell.source for cell in cells(lesson, "code"))


def test_the_folder_holds_the_catalogues_lessons_and_no_others():
    """Every lesson of the catalogue exists; a notebook that no version names would go untested."""
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == LESSONS


@EVERY
def test_the_file_is_valid_and_opens_with_the_kernel_everybody_has(lesson):
    """nbformat 4.5 with an id for each cell, so that diffs stay small; kernel python3."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert notebook.metadata.kernelspec.name == "python3"


@EVERY
def test_code_is_plain_and_short(lesson):
    """Python without magics or shell lines, no kernel pasted, no function longer than a screen."""
    for cell in cells(lesson, "code"):
        functions = (n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.FunctionDef))
        for function in functions:
            assert function.end_lineno - function.lineno < LONGEST_FUNCTION, function.name
        assert "__global__" not in cell.source
        assert "pip install" not in cell.source


@EVERY
def test_length(lesson):
    """A lesson is read in one sitting: 25 to 40 cells and 1,200 to 2,000 words."""
    assert 25 <= len(cells(lesson)) <= 40
    assert 1200 <= len(prose(lesson).split()) <= 2000


@EVERY
def test_links_lead_somewhere(lesson):
    """Every relative link of the prose is a file of the project."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(lesson))
    for target in targets:
        if not target.startswith(("https://", "#")):
            assert (NOTEBOOKS / target.partition("#")[0]).is_file(), target


@EVERY
def test_a_folded_answer_closes(lesson):
    """An unclosed <details> would swallow the rest of its cell."""
    for cell in cells(lesson, "markdown"):
        assert cell.source.count("<details>") == cell.source.count("</details>")
        assert cell.source.count("<summary>") == cell.source.count("<details>")


@pytest.mark.parametrize(("lesson", "following"), list(zip(LESSONS, LESSONS[1:], strict=False)))
def test_a_lesson_leads_to_the_next(lesson, following):
    """The last cell of each lesson links the one after it."""
    assert f"]({following}.ipynb)" in cells(lesson)[-1].source


@EVERY
def test_the_loading_line_is_in_sight(lesson):
    """Each lesson compiles its version in the open; 01 does so for one of its three."""
    entries = [version.entry for version in versions.VERSIONS.values() if version.lesson == lesson]
    assert any(f'cp.RawKernel(source, "{entry}")' in code(lesson) for entry in entries)


@pytest.mark.parametrize("name", ["copy", *(version.name for version in LADDER)])
def test_a_version_ends_with_its_bandwidth(name):
    """The last code cell draws the ladder up to this version; a GPU adds its own times."""
    last = cells(versions.get(name).lesson, "code")[-1].source
    assert f'roofline.ladder("{name}", live)' in last


@pytest.mark.parametrize(("before", "after"), list(zip(LADDER, LADDER[1:], strict=False)))
def test_the_change_is_shown_as_a_diff(before, after):
    """Each rung shows what became of its predecessor's file."""
    assert f'views.diff("{before.name}", "{after.name}")' in code(after.lesson)
