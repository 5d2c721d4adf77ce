"""What a learner has done is kept in one file: whole, whoever writes, at no lesson's cost."""

import ast
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest

from helpers import learner, notebooks
from helpers.widgets import predict

ROOT = Path(__file__).parent.parent
LESSON = "03_v1_block_shared"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A learner's file in a folder of its own."""
    path = tmp_path / "mine.json"
    monkeypatch.setenv("SOFTMAX_PROGRESS", str(path))
    return path


def kept(path):
    return json.loads(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------------------- notes
def test_a_note_is_kept_with_what_else_is_told(file):
    """kind -> name -> passed, tries, when, and the rest."""
    learner.note("exercise", "v1/block_max", False, stage="slow", score=0.8)
    entry = kept(file)["exercise"]["v1/block_max"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", entry.pop("when"))
    assert entry == {"passed": False, "tries": 1, "stage": "slow", "score": 0.8}


def test_what_was_passed_stays_passed(file):
    """A later failure counts as a try and takes nothing away."""
    for passed in (False, True, False):
        learner.note("quiz", "03-rounds", passed)
    entry = kept(file)["quiz"]["03-rounds"]
    assert (entry["passed"], entry["tries"]) == (True, 3)


def test_where_it_is_kept(monkeypatch, tmp_path):
    """The folder that the notebook runs in, a file of one's own, or nowhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOFTMAX_PROGRESS")
    assert learner.place() == tmp_path / "softmax_progress.json"
    monkeypatch.setenv("SOFTMAX_PROGRESS", str(tmp_path / "sub" / "own.json"))
    learner.note("lesson", LESSON, True)
    assert kept(tmp_path / "sub" / "own.json")
    monkeypatch.setenv("SOFTMAX_PROGRESS", "off")
    learner.note("lesson", LESSON, True)
    assert learner.place() is None
    assert [path.name for path in tmp_path.iterdir()] == ["sub"]
    assert "SOFTMAX_PROGRESS=off" in str(learner.summary())


def test_lessons_and_exercises_share_one_file(monkeypatch, tmp_path):
    """The workbooks lie in a folder beside the lessons."""
    monkeypatch.delenv("SOFTMAX_PROGRESS")
    for folder in ("notebooks", "exercises"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert learner.place() == tmp_path / "notebooks" / "softmax_progress.json"


def test_git_leaves_it_alone():
    """The file, one set aside, and the lock are ignored in the notebooks' folder."""
    names = [learner.NAME, f"{learner.NAME}.damaged2", f".{learner.NAME}.lock"]
    asked = [f"notebooks/{name}" for name in names]
    command = ["git", "check-ignore", *asked]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.split() == asked, found.stderr


@pytest.mark.parametrize(
    ("args", "more", "error", "text"),
    [(("exam", "x", True), {}, ValueError, "lesson, prediction, exercise, quiz, got 'exam'"),
     (("quiz", "x", True), {"code": object()}, TypeError, "not JSON serializable")],
)  # fmt: skip
def test_a_note_that_cannot_be_kept_writes_nothing(file, args, more, error, text):
    """Another kind, or something JSON cannot hold."""
    with pytest.raises(error, match=text):
        learner.note(*args, **more)
    assert not file.exists()


# ---------------------------------------------------------------------------- the file
BROKEN = [b"", b'{"quiz": {"a": {"pas', b"\xff\xfe\x00", b"[]", b"3", b'{"quiz": []}',
          b'{"quiz": {"a": 1}}', b'{"quiz": {"a": {"passed": 1}}}',
          b"[" * 100_000, b'{"quiz": {"\\ud800": {"passed": true}}}',
          b'{"quiz": {"a": {"passed": true, "tries": "x"}}}']  # fmt: skip


@pytest.mark.parametrize("damage", BROKEN)
def test_a_damaged_file_is_set_aside(file, capsys, damage):
    """Its bytes are kept under another name, one line says so, and a new file begins."""
    file.write_bytes(damage)
    learner.note("quiz", "03-rounds", True)
    assert capsys.readouterr().out == (
        "mine.json was damaged; it is now mine.json.damaged, and a new one begins.\n"
    )
    assert file.with_name("mine.json.damaged").read_bytes() == damage
    assert list(kept(file)) == ["quiz"]


def test_a_name_that_no_file_can_hold_costs_a_line(file, capsys):
    """Half a character: the lesson goes on, and nothing is written."""
    learner.note("prediction", "\ud800", True)
    assert capsys.readouterr().out.startswith("Progress was not kept: ")
    assert not file.exists()


def test_a_second_damaged_file_does_not_overwrite_the_first(file, capsys):
    """Reading alone sets aside, too; each gets a name of its own."""
    for damage in (b"one", b"two"):
        file.write_bytes(damage)
        learner.summary()
    aside = sorted(file.parent.glob("*.damaged*"))
    assert [path.read_bytes() for path in aside] == [b"one", b"two"]
    assert capsys.readouterr().out.count("\n") == 2


def test_kinds_of_a_later_version_survive(file):
    """What this version does not know is kept as it is."""
    later = {"badge": {"gold": {"passed": True, "metal": 79}}}
    file.write_text(json.dumps(later), encoding="utf-8")
    learner.note("lesson", LESSON, True)
    assert kept(file)["badge"] == later["badge"]


def test_a_folder_that_cannot_be_written_costs_a_line(tmp_path, monkeypatch, capsys):
    """The lesson goes on; the line names file and reason."""
    (tmp_path / "plain").write_text("no folder")
    monkeypatch.setenv("SOFTMAX_PROGRESS", str(tmp_path / "plain" / "mine.json"))
    learner.note("quiz", "03-rounds", True)
    assert re.fullmatch(r"Progress was not kept: .*mine\.json: .+\n", capsys.readouterr().out)
    assert [line.quiz[0] for line in learner.summary().lines] == [0] * 7


def test_a_writer_that_dies_leaves_the_old_file(file, monkeypatch):
    """The file is replaced as a whole or not at all, and no scrap stays behind."""
    learner.note("quiz", "03-rounds", True)
    before = file.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        learner.note("quiz", "03-requests", True)
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} == {"mine.json", ".mine.json.lock"}


def test_kernels_that_write_at_once_lose_nothing(file):
    """Three processes with two threads each, fifteen notes a thread: all are there."""
    code = """if True:
        import sys, threading
        from helpers import learner
        def write(name):
            for n in range(15): learner.note("quiz", f"{name}-{n}", True)
        threads = [threading.Thread(target=write, args=(sys.argv[1] + t,)) for t in "ab"]
        [t.start() for t in threads]; [t.join() for t in threads]"""
    writers = [subprocess.Popen([sys.executable, "-c", code, name], cwd=ROOT) for name in "xyz"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    names = {f"{name}{t}-{n}" for name in "xyz" for t in "ab" for n in range(15)}
    assert set(kept(file)["quiz"]) == names


def test_a_lock_that_is_never_given_back_does_not_stop_a_lesson(file, monkeypatch):
    """After a while the note is written all the same."""
    monkeypatch.setattr(learner, "_WAIT_S", 0.05)
    with learner._locked(file):
        writer = threading.Thread(target=learner.note, args=("quiz", "03-rounds", True))
        writer.start()
        writer.join(10)
    assert "03-rounds" in kept(file)["quiz"]


def test_nothing_is_sent_anywhere():
    """The module imports nothing that could reach a network."""
    tree = ast.parse(Path(learner.__file__).read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in nodes for a in n.names} | {getattr(n, "module", "") for n in nodes}
    assert not names & {"socket", "http", "urllib", "urllib.request", "requests", "ssl", "asyncio"}
    assert {"json", "versions"} <= names


# ---------------------------------------------------------------------------- what is shown
def test_the_summary_counts_what_there_is_and_what_was_done(file):
    """By lesson: read, predictions of its notebook, its exercises, its questions."""
    learner.note("prediction", "How many sectors does one of V1's load requests touch?", True)
    learner.note("prediction", "For 4096 × 4096, V0 makes 1,572,864 load requests. "
                               "How many does V1 make?", True)  # an f-string in the notebook
    learner.note("prediction", "How many times as fast as V0 is V1, on an H200?", False)
    learner.note("prediction", "Something that no lesson asks", True)
    learner.note("quiz", "03-rounds", True)
    learner.note("exercise", "no/such", True)
    line = next(line for line in learner.summary().lines if line.lesson == LESSON)
    source = "".join(
        cell.source for cell in nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", 4).cells
        if cell.cell_type == "code"
    )  # fmt: skip
    assert line.predictions == (2, len(re.findall(r"predict\.(?:number|choice)\(", source)))
    questions = json.loads((ROOT / "quizzes" / f"{LESSON}.json").read_text(encoding="utf-8"))
    assert (line.read, line.quiz, line.exercises[0]) == (False, (1, len(questions)), 0)


def test_exercises_are_counted_with_their_lesson(file):
    """Every exercise belongs to one lesson; a passed one counts there."""
    there = sorted((ROOT / "exercises").glob("*/*/exercise.toml"))
    names = [f"{path.parent.parent.name}/{path.parent.name}" for path in there]
    assert names
    assert sum(line.exercises[1] for line in learner.summary().lines) == len(names)
    for name in names:
        learner.note("exercise", name, True)
    assert all(done == all_ for done, all_ in (line.exercises for line in learner.summary().lines))


def test_the_end_of_a_lesson(file):
    """Noted, and what was done in this lesson is shown; the summary of all shows it, too."""
    shown = learner.finished(LESSON)
    assert [line.lesson for line in shown.lines] == [LESSON]
    assert kept(file)["lesson"][LESSON]["passed"] is True
    assert [line.read for line in learner.summary().lines].count(True) == 1
    with pytest.raises(ValueError, match="no lesson called '03'; there are 00_start_here, 01_"):
        learner.finished("03")


def test_text_and_html_say_the_same(file):
    """Every cell of the table is in both, with the file's place, escaped."""
    learner.note("lesson", LESSON, True)
    shown = learner.Summary(learner.summary().lines, Path("a<b.json"))
    page = shown._repr_html_()
    for line in shown.lines:
        assert re.search(r"\s+".join(map(re.escape, line.cells)), str(shown))
        assert re.sub("<[^>]*>", "", page).count("".join(line.cells)) == 1
    assert "a&lt;b.json, and sent nowhere." in page
    assert str(shown).endswith("Kept in a<b.json, and sent nowhere.")
    assert page.count('scope="col"') == 5


# ---------------------------------------------------------------------------- who notes
def test_a_revealed_prediction_is_noted(file):
    """Right or not, once it was committed; without a guess there is nothing to note."""
    for text, value in (("A?", 7), ("B?", 70), ("C?", None)):
        guess = predict.Guess(text)
        if value is not None:
            guess.commit(value)
        guess.reveal(7, source="test")
    noted = {name: entry["passed"] for name, entry in kept(file)["prediction"].items()}
    assert noted == {"A?": True, "B?": False}


def test_a_lesson_run_headless_is_nobodys_progress(tmp_path, monkeypatch):
    """`start.py lessons` runs notebooks without leaving a file beside them."""
    monkeypatch.delenv("SOFTMAX_PROGRESS")
    note = f'from helpers import learner\nlearner.finished("{LESSON}")\nassert not learner.place()'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(note)])
    nbformat.write(notebook, tmp_path / "lesson.ipynb")
    assert notebooks.execute(tmp_path / "lesson.ipynb").error is None
    assert [path.name for path in tmp_path.iterdir()] == ["lesson.ipynb"]
