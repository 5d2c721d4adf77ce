"""Notebooks are kept without outputs, and the headless runner tells good ones from bad."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers import notebooks

PATHS = notebooks.find()


def written(folder, name, *cells):
    """A notebook of these code cells; returns its path."""
    path = folder / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
    return path


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_lessons_are_clean(path):
    """No outputs, no execution counts, no traces of running, and valid for nbformat."""
    assert notebooks.check(path) is None


DIRT = {
    "output": lambda nb: nb.cells[1].outputs.append(new_output("stream", text="1\n")),
    "count": lambda nb: nb.cells[1].update(execution_count=3),
    "timing": lambda nb: nb.cells[1].metadata.update(execution={"iopub.status.idle": "2026"}),
    "widgets": lambda nb: nb.metadata.update(widgets={"state": {}}),
}


@pytest.mark.parametrize("dirt", DIRT)
def test_dirt_is_found_and_fixed(dirt, tmp_path):
    """Each trace of running is reported; --fix removes it and nothing else."""
    path = tmp_path / "dirty.ipynb"
    notebook = new_notebook(cells=[new_markdown_cell("# π"), new_code_cell("1 + 1")])
    nbformat.write(notebook, path)
    clean = path.read_bytes()
    assert notebooks.check(path) is None
    DIRT[dirt](notebook)
    nbformat.write(notebook, path)
    dirty = path.read_bytes()
    assert "lint --fix" in notebooks.check(path)
    assert path.read_bytes() == dirty
    assert notebooks.check(path, fix=True) is None
    assert path.read_bytes() == clean


def test_a_mark_that_keeps_output_is_refused(tmp_path):
    """nbstripout leaves cells tagged keep_output alone; here that is a finding, fixed by hand."""
    path = tmp_path / "kept.ipynb"
    cell = new_code_cell("1", metadata={"tags": ["keep_output"]})
    cell.outputs = [new_output("stream", text="1\n")]
    nbformat.write(new_notebook(cells=[cell]), path)
    assert "cell 1 is marked to keep its output" in notebooks.check(path, fix=True)


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    """A broken file is a finding with its name, not a traceback."""
    path = tmp_path / "broken.ipynb"
    path.write_text("{", encoding="utf-8")
    assert notebooks.check(path).startswith("broken.ipynb: not a valid notebook")


def test_finding_notebooks(tmp_path):
    """All in reading order, or those whose name starts so; a slip lists what there is."""
    for name in ("01_b", "00_a", "02_c"):
        written(tmp_path, name)
    stems = [path.stem for path in notebooks.find((), tmp_path)]
    assert stems == ["00_a", "01_b", "02_c"]
    found = notebooks.find(["02", "notebooks/00_a.ipynb"], tmp_path)
    assert [path.stem for path in found] == ["00_a", "02_c"]
    with pytest.raises(ValueError, match="no notebook named '9'; there are 00_a, 01_b, 02_c"):
        notebooks.find(["9"], tmp_path)
    with pytest.raises(ValueError, match="no notebooks in"):
        notebooks.find((), tmp_path / "nowhere")


def test_running_good_and_bad_notebooks(tmp_path, monkeypatch, capsys):
    """Each has a time and a verdict; a cell that raises is named with its error.

    Every notebook starts in its own folder, in a process that knows nothing of the one before.
    """
    written(tmp_path, "0_good", "import os; x = 1", "assert os.path.exists('0_good.ipynb')")
    written(tmp_path, "1_bad", "'fine'", "assert 'x' in globals(), 'a fresh process'")
    monkeypatch.setattr(notebooks, "FOLDERS", (tmp_path,))
    assert notebooks.main(["run", "--limit", "300"]) == 1
    said = capsys.readouterr().out
    assert "1_bad: cell 2" in said
    assert "AssertionError: a fresh process" in said
    assert said.rstrip().endswith("1 passed, 1 failed")


def test_an_endless_notebook_is_stopped(tmp_path):
    """Past the limit the kernel is ended, and the error says in which cell and after how long."""
    run = notebooks.execute(written(tmp_path, "endless", "import time; time.sleep(600)"), limit=3)
    assert run.error.startswith("cell 1, after ")
    assert run.error.endswith("did not end")
    assert 3 <= run.seconds < 300


def test_the_report_counts_and_lists_the_slow():
    """Over half of the limit is slow, without being a failure."""
    runs = [notebooks.Run("a", 10.0), notebooks.Run("b", 31.0)]
    assert notebooks.report(runs, 60) == "Slow (over 30 s): b 31.0 s\n2 passed, 0 failed"


def test_a_wrong_name_on_the_command_line(capsys):
    """Nothing runs, the names there are follow, and the exit code is 2."""
    assert notebooks.main(["run", "no_such_lesson"]) == 2
    assert "00_start_here" in capsys.readouterr().err
