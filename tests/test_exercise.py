"""The exercises themselves: each wrong kernel fails with its own message, each right one passes."""

import re
import time

import pytest

from helpers import exercise
from helpers.exercise import definition

ALL = exercise.all()
EVERY = pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
HOLE = re.compile(r"^\s*// YOUR CODE: about (\d+) lines?\.$")
LONGEST = 60  # lines of a .cu file, roughly
SLACK = 2  # lines that a hole may be off what it says
SLOWEST = 3.0  # seconds a check may take; of the processor, so that other work does not count
NOTEBOOKS = definition.FOLDER.parent / "notebooks"
LESSONS = {path.stem[:2]: path.stem for path in NOTEBOOKS.glob("*.ipynb")}


def files(which):
    return [
        pytest.param(task, name, text, id=f"{task.name}/{name}")
        for task in ALL
        for name, text in task.kernels(which).items()
    ]


def timed(task, text):
    """(the verdict, seconds of the processor that it took)."""
    began = time.process_time()
    verdict = exercise.check(task, text)
    return verdict, time.process_time() - began


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def test_there_are_enough():
    """At least 16 exercises, with at least 60 wrong kernels and three right ones for each."""
    assert len(ALL) >= 16
    assert sum(len(task.kernels("wrong")) for task in ALL) >= 60


@EVERY
def test_the_skeleton_fails_and_says_why(task):
    """Nobody passes by handing in what they were given."""
    verdict = exercise.check(task, task.skeleton)
    assert not verdict.passed
    assert verdict.stage in ("wrong", "defect", "lucky", "slow"), verdict  # but it does compile
    assert len(verdict.message) > 20
    assert verdict.evidence


@EVERY
def test_the_solution_passes_in_time(task):
    """The solution is right, and its check, the longest there is, is quick enough to be used."""
    verdict, seconds = timed(task, task.solution)
    assert verdict.passed, verdict
    assert verdict.score == 1.0
    assert seconds < SLOWEST


@pytest.mark.parametrize(("task", "name", "text"), files("right"))
def test_another_right_answer_passes(task, name, text):
    """The check asks for a result, not for one way to it."""
    verdict = exercise.check(task, text)
    assert verdict.passed, verdict


@pytest.mark.parametrize(("task", "name", "text"), files("wrong"))
def test_a_typical_mistake_is_named(task, name, text):
    """A wrong kernel fails with its own message and no other's, in good time."""
    verdict, seconds = timed(task, text)
    assert not verdict.passed
    assert verdict.mistake == name, verdict
    assert verdict.message == {one.name: one.message for one in task.mistakes}[name]
    assert 0 <= verdict.score < 1
    assert seconds < SLOWEST


@EVERY
def test_files_and_messages_belong_together(task):
    """Every wrong file has a message, every message a file, and no two messages are one."""
    assert {one.name for one in task.mistakes} == set(task.kernels("wrong"))
    assert len(task.mistakes) >= 4
    assert len({one.message for one in task.mistakes}) == len(task.mistakes)
    assert len(task.kernels("right")) >= 3


@EVERY
def test_right_answers_differ(task):
    """Three right answers are three, not one with other names for its variables."""
    texts = [task.solution, *task.kernels("right").values()]
    shapes = [re.sub(r"\s+|//[^\n]*", "", text) for text in texts]
    assert len(set(shapes)) == len(shapes)


@EVERY
def test_solving_only_adds_lines(task):
    """Without the added lines the solution is the skeleton, and the hole is as large as it says."""
    skeleton, solution = lines(task.skeleton), lines(task.solution)
    rest = iter(solution)
    missing = [line for line in skeleton if line not in rest]
    assert not missing
    said = [int(found[1]) for line in skeleton if (found := HOLE.match(line))]
    assert said == [task.hole]
    assert abs(len(solution) - len(skeleton) - task.hole) <= SLACK


@EVERY
def test_the_task_is_short_and_plain(task):
    """At most three sentences; two hints that differ; a lesson that is there; hidden cases."""
    sentences = re.findall(r"[.!?](?:\s|$)", re.sub(r"`[^`]*`", "code", task.task))
    assert 1 <= len(sentences) <= 3
    assert len(set(task.hints)) == 2
    assert LESSONS.get(task.lesson[:2], task.lesson) == task.lesson  # once it is written
    assert sum(case.hidden for case in task.cases) >= 3
    assert set(task.self_check) <= set(range(1, 11))


@EVERY
def test_hints_do_not_give_the_solution_away(task):
    """No hint holds a whole line of what is to be written."""
    added = set(lines(task.solution)) - set(lines(task.skeleton))
    for line in added:
        if len(line.strip()) > 25:
            assert line.strip() not in " ".join(task.hints)


@EVERY
def test_kernels_are_short(task):
    """Every .cu file fits a screen or two."""
    texts = {"skeleton": task.skeleton, "solution": task.solution}
    for name, text in (texts | task.kernels("right") | task.kernels("wrong")).items():
        assert len(text.splitlines()) <= LONGEST * 1.5, name
        assert max(map(len, text.splitlines())) <= 100, name


def test_the_written_self_check_items_have_exercises():
    """Items 4 and 5 of the list of what a reader should be able to do ask to write something."""
    covered = {item for task in ALL for item in task.self_check}
    assert {4, 5} <= covered
