"""Twenty submissions through nbgrader: handed out, marked, given back, and the marks in a file."""

import csv
import functools
import os
import re
import subprocess
import sys
import time
from html import unescape

import nbformat
import pytest
from submissions import CHEATS, EXERCISES, all_submissions, hand_in

from helpers import course, exercise
from helpers.course.cells import BEGIN, END, answer_id

pytest.importorskip("nbgrader", reason="needs the extra: pip install -e '.[classroom]'")

POINTS = 10
NAME = "trial"


@pytest.fixture(scope="module")
def trip(tmp_path_factory):
    """The whole way, once: the course's folder, the submissions, marks a student, the log."""
    folder = tmp_path_factory.mktemp("class") / "softmax"
    marker = folder.parent / "ran"
    course.build(folder, EXERCISES, NAME, POINTS)
    log = nbgrader(folder, "generate_assignment", NAME)
    handed_in = all_submissions(marker)
    roster = "id,first_name,last_name,email\n" + "".join(f"{one.student},,,\n" for one in handed_in)
    (folder / "students.csv").write_text(roster, encoding="utf-8")
    log += nbgrader(folder, "db", "student", "import", "students.csv")
    for one in handed_in:
        place = folder / "submitted" / one.student / NAME
        hand_in(one, folder / "release" / NAME / f"{NAME}.ipynb", place)
    start = time.perf_counter()
    log += nbgrader(folder, "autograde", NAME)
    seconds = time.perf_counter() - start
    print(f"\n{len(handed_in)} submissions of {len(EXERCISES)} answers marked in {seconds:.0f} s")
    log += nbgrader(folder, "generate_feedback", NAME)
    log += nbgrader(folder, "export")
    with open(folder / "grades.csv", encoding="utf-8", newline="") as file:
        marks = {row["student_id"]: row for row in csv.DictReader(file)}
    return folder, {one.student: one for one in handed_in}, marks, log, marker


def nbgrader(folder, *arguments):
    """Run nbgrader in a course's folder; what it said."""
    env = dict(os.environ, PYTHONUTF8="1")
    env.pop("SOFTMAX_PROGRESS", None)
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, text=True, encoding="utf-8",
                          capture_output=True, timeout=900)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@functools.cache
def verdict(name, text):
    return exercise.check(name, text)


def expected(submission):
    """What the check itself, called directly, would give for a submission's answers."""
    if submission.student in ("untouched", "emptied", "nothing"):
        return 0.0
    points = 0.0
    for name, text in submission.answers.items():
        skeleton = exercise.load(name).skeleton
        score = verdict(name, text).score
        points += round(POINTS * score, 2) if score > verdict(name, skeleton).score else 0.0
    return points


def test_nothing_of_the_solutions_is_handed_out(trip):
    """The released answer is the skeleton, blank lines aside; no mark, no line of the solution."""
    folder, *_ = trip
    released = nbformat.read(folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    cells = {cell.id: cell.source for cell in released.cells}
    for name in EXERCISES:
        magic, _, text = cells[answer_id(name)].partition("\n")
        task = exercise.load(name)
        assert magic == f"%%exercise {name}"
        assert [s for s in text.splitlines() if s] == [s for s in task.skeleton.splitlines() if s]
    assert not any(mark in text for text in cells.values() for mark in (BEGIN, END))


def test_there_are_twenty_and_each_has_marks(trip):
    """One line a student in grades.csv, out of the points that there are."""
    _, submissions, marks, *_ = trip
    assert len(submissions) == 20
    assert marks.keys() == submissions.keys()
    assert {float(row["max_score"]) for row in marks.values()} == {POINTS * len(EXERCISES)}


def test_every_mark_is_the_check_s_own(trip):
    """nbgrader's marks are those of the check called directly, partial credit included."""
    _, submissions, marks, *_ = trip
    got = {student: float(marks[student]["score"]) for student in submissions}
    assert got == pytest.approx({one.student: expected(one) for one in submissions.values()})


def test_every_stage_occurs_and_is_marked_apart(trip):
    """Not compiling, wrong, defect, lucky, slow, endless and passed are all among the answers."""
    _, submissions, marks, *_ = trip
    stages = {
        verdict(name, text).stage
        for one in submissions.values()
        for name, text in one.answers.items()
        if text
    }
    assert stages == {"compile", "wrong", "defect", "lucky", "slow", "endless", "passed"}
    assert float(marks["right"]["score"]) == POINTS * len(EXERCISES)
    assert float(marks["right_otherwise"]["score"]) == POINTS * len(EXERCISES)
    partial = {"fence": 0, "flt_min": 0.25 / 2, "no_barrier_in_the_tree": 0.6, "stores_scalar": 0.8}
    for student, most in {"no_compile": 0, "endless": 0, **partial}.items():
        got = float(marks[student]["score"]) / POINTS - (len(EXERCISES) - 1)
        assert 0 <= got <= most + 1e-9, student
        assert most not in (0.6, 0.8) or got == pytest.approx(most), student


def test_feedback_names_the_mistake(trip):
    """What is given back to a student holds the check's message for each answer of theirs."""
    folder, submissions, *_ = trip
    for one in submissions.values():
        page = folder / "feedback" / one.student / NAME / f"{NAME}.html"
        assert page.exists() == one.notebook
        if not one.notebook or one.student in CHEATS:
            continue
        said = words(page.read_text(encoding="utf-8"))
        for name, text in one.answers.items():
            if text and text != exercise.load(name).skeleton:
                message = " ".join(verdict(name, text).message.split())
                assert message in said, (one.student, name)


def words(page):
    """The text of an HTML page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_a_forged_check_is_put_back(trip):
    """Ten points written into every check cell count for nothing; a deleted check comes back."""
    folder, _, marks, log, _ = trip
    assert float(marks["forged"]["score"]) == POINTS * (len(EXERCISES) - 1)
    assert float(marks["deleted"]["score"]) == POINTS * len(EXERCISES)
    marked = nbformat.read(folder / "autograded" / "forged" / NAME / f"{NAME}.ipynb", 4)
    checks = [cell for cell in marked.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [cell.source for cell in checks] == [
        f'course.mark("{name}", points={POINTS})' for name in EXERCISES
    ]
    assert "checksum" in log


def test_no_python_of_a_student_runs(trip):
    """Neither cells of their own, nor files beside the notebook, nor the line of the magic."""
    folder, submissions, marks, log, marker = trip
    assert str(marker) in (folder / "submitted/python" / NAME / f"{NAME}.ipynb").read_text()
    assert not marker.exists()
    assert float(marks["python"]["score"]) == POINTS * (len(EXERCISES) - 1)
    assert "shown, not run" in log
