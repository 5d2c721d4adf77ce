"""The course builder, what marks, the guide; nbgrader's own part where it is installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest

from helpers import course, exercise, notebooks
from helpers.course import cells, marking
from helpers.course.__main__ import main

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "classroom" / "GUIDE.md"
TEXT = GUIDE.read_text(encoding="utf-8")
ALL = exercise.all()
needs_nbgrader = pytest.mark.skipif(
    importlib.util.find_spec("nbgrader") is None,
    reason="nbgrader is not installed; python3 start.py test-classroom installs and tries it",
)

# ------------------------------------------------------------------------------------ the builder


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_between_the_marks_is_all_that_the_skeleton_lacks(one):
    """Without the marked lines the answer is the skeleton, without the marks the solution."""
    marked = cells.between_marks(one.skeleton, one.solution).splitlines()
    left, inside = [], False
    for line in marked:
        if line in (cells.BEGIN, cells.END):
            assert inside == (line == cells.END)
            inside = not inside
        elif not inside:
            left.append(line)
    assert left == one.skeleton.splitlines()
    assert [line for line in marked if line not in (cells.BEGIN, cells.END)] == (
        one.solution.splitlines()
    )


def test_a_solution_that_changes_lines_is_refused():
    """Solving only adds lines; otherwise the skeleton could not be handed out."""
    with pytest.raises(ValueError, match="more than add lines"):
        cells.between_marks("a\nb\n", "a\nc\n")


def test_a_course_of_everything(tmp_path):
    """One assignment a lesson; every exercise has task, answer and check, each with its own id."""
    built = course.build(tmp_path / "c")
    assert built.assignments == tuple(sorted({one.lesson for one in ALL}))
    found = []
    for name in built.assignments:
        made = nbformat.read(tmp_path / "c" / "source" / name / f"{name}.ipynb", as_version=4)
        nbformat.validate(made)
        told = [cell.metadata.nbgrader for cell in made.cells]
        ids = [one.grade_id for one in told]
        assert ids == [cell.id for cell in made.cells]
        found += [one for one in ALL if cells.answer_id(one.name) in ids]
        for cell, one in zip(made.cells, told, strict=True):
            assert one.locked == (not one.solution)
            assert one.grade == cell.source.startswith("course.mark(")
            assert one.solution == cell.source.startswith("%%exercise ")
    assert sorted(one.name for one in found) == sorted(one.name for one in ALL)
    compile((tmp_path / "c" / "nbgrader_config.py").read_text(), "config", "exec")


def test_building_again_keeps_what_a_teacher_changed(tmp_path):
    """A changed file stays and is named; --force replaces it."""
    names = ["v1/block_max"]
    first = course.build(tmp_path, names, "a")
    assert first.kept == ()
    source = tmp_path / "source" / "a" / "a.ipynb"
    text = source.read_text()
    source.write_text(text.replace("Hint 1", "Hint one"))
    again = course.build(tmp_path, names, "a")
    assert again.kept == (source,)
    assert str(source) in str(again)
    assert course.build(tmp_path, names, "a", force=True).kept == ()
    assert source.read_text() == text
    source.write_bytes(b"\xff\xfe\x00")  # no text at all
    assert course.build(tmp_path, names, "a").kept == (source,)
    assert course.build(tmp_path, names, "a", force=True).kept == ()
    assert source.read_text() == text


def test_an_exercise_named_twice_is_there_once(tmp_path):
    """Cells of one id would make an invalid notebook."""
    once, twice = (course.build(tmp_path / str(k), ["v1/block_max"] * k, "a") for k in (1, 2))
    texts = [(one.folder / "source" / "a" / "a.ipynb").read_text() for one in (once, twice)]
    assert texts[0] == texts[1]


def test_what_cannot_be_built_is_said(tmp_path, capsys):
    """An unknown exercise, no points, an address that is none: exit code 2 and the reason."""
    for words in (
        ["build", str(tmp_path / "c"), "--only", "v1/nothing"],
        ["build", str(tmp_path / "c"), "--points", "0"],
        ["build", str(tmp_path / "c"), "--assignment", "../evil"],
        ["build", str(tmp_path / "c"), "--assignment", str(tmp_path / "evil")],
        ["build", str(tmp_path / "c"), "--assignment", ".."],
        ["link", "hub", "repository"],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err.startswith("course: ")
    assert not [*tmp_path.iterdir()]


def test_a_link_says_what_to_fetch_and_what_to_open():
    """nbgitpuller reads repo, branch and urlpath; the first lesson is where it says."""
    link = urlsplit(course.pull_link("https://hub.example.org/", "https://example.org/a/soft.git"))
    assert link.path == "/hub/user-redirect/git-pull"
    asked = {key: value for key, (value,) in parse_qs(link.query).items()}
    assert asked["repo"] == "https://example.org/a/soft.git"
    folder, _, path = asked["urlpath"].removeprefix("lab/tree/").partition("/")
    assert folder == "soft"
    assert (ROOT / path).is_file()


# --------------------------------------------------------------------------------------- the marks


@pytest.fixture
def answers(monkeypatch):
    monkeypatch.setattr(marking, "_answers", {})
    return marking._answers


def test_marks_are_the_score_times_the_points(answers):
    """Full points for the solution, none for nothing, the skeleton, or a skeleton with a remark."""
    one = exercise.load("v1/block_max")
    assert course.mark(one.name, 10) == 0
    for text, points in (
        (one.solution, 10),
        (one.skeleton, 0),
        (f"// mine\n\n{one.skeleton}", 0),
        (one.kernels("wrong")["no_barrier_in_the_tree"], 6),
    ):
        answers[one.name] = text
        got = course.mark(one.name, 10)
        assert (got, repr(got)) == (points, repr(float(points)))
        assert f"{points} of 10 points" in got._repr_html_()


def test_no_better_than_the_skeleton_is_no_points(answers):
    """Where the skeleton is right by luck already, another lucky kernel has done nothing."""
    one = exercise.load("v1/scratch_race")
    answers[one.name] = one.kernels("wrong")["fence"]
    got = course.mark(one.name, 10)
    assert got == 0
    assert got.verdict.score > 0
    assert "No better" in got._repr_html_()


IN_A_NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from helpers import course, exercise
course.use_in_notebook(); course.use_in_notebook()
shell.run_cell_magic("exercise", "v1/block_max", exercise.load("v1/block_max").solution)
mark = course.mark("v1/block_max", 10)
print("text", shell.display_formatter.format(mark)[0]["text/plain"])
"""


@pytest.mark.parametrize(("marking_now", "checks"), [(True, 1), (False, 2)])
def test_the_cell_hands_its_text_to_the_mark(marking_now, checks, tmp_path):
    """nbgrader reads a bare number; while it marks, the cell itself checks nothing."""
    count = "import helpers.exercise as e\nreal, n = e.check, []\n"
    count += "e.check = lambda *a, **k: (n.append(1), real(*a, **k))[1]\n"
    count += "import helpers.exercise.judge as j\nj.check = e.check\n"
    code = count + IN_A_NOTEBOOK + "print('checks', len(n))"
    env = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "SOFTMAX_PROGRESS": "off"}
    env |= {"NBGRADER_EXECUTION": "autograde"} if marking_now else {}
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, text=True,
                          capture_output=True, check=True).stdout  # fmt: skip
    assert "text 10.0" in said
    assert f"checks {checks}" in said


# -------------------------------------------------------------------------- before anything is run


@needs_nbgrader
def test_only_locked_cells_and_answers_are_left_to_run():
    """A student's Python becomes plain text; an answer is data whatever its first line was."""
    from helpers.course.sanitise import OnlyKernels

    def cell(source, **told):
        made = nbformat.v4.new_code_cell(source)
        if told:
            made.metadata["nbgrader"] = told
        return made

    name = cells.answer_id("v1/block_max")
    firsts = ["%%exercise v1/block_max", "%%exercise {print(1)}", "  %%exercise v1/block_max gpu"]
    notebook = nbformat.v4.new_notebook(
        cells=[
            cell("locked", grade_id="setup", locked=True, solution=False),
            cell("import os"),
            cell("import os", grade_id="no-exercise", locked=False, solution=True),
            *(cell(f"{first}\nint a;", grade_id=name, solution=True) for first in firsts),
            cell("!rm -r /\nint a;", grade_id=name, solution=True),
        ]
    )
    OnlyKernels().preprocess(notebook, {})
    kinds = [one.cell_type for one in notebook.cells]
    assert kinds == ["code", "raw", "raw", "code", "code", "code", "code"]
    texts = [one.source for one in notebook.cells]
    assert texts[0] == "locked"
    assert texts[3:6] == ["%%exercise v1/block_max\nint a;"] * 3
    assert texts[6] == "%%exercise v1/block_max\n!rm -r /\nint a;"
    nbformat.validate(notebook)


@needs_nbgrader
def test_the_gpu_is_used_only_when_allowed(monkeypatch):
    """The device goes to the environment of what marks; anything else is refused."""
    from traitlets.config import Config

    from helpers.course import settings

    for name in (marking.DEVICE, "SOFTMAX_DEVICE"):
        monkeypatch.setenv(name, "")
    settings.apply(Config(), "c")
    assert marking.os.environ[marking.DEVICE] == "sim"
    settings.apply(Config(), "c", device="gpu")
    assert marking.os.environ[marking.DEVICE] == "gpu"
    with pytest.raises(ValueError, match="'sim' or 'gpu'"):
        settings.apply(Config(), "c", device="both")


# ----------------------------------------------------------------------------------------- the hub


class Section(SimpleNamespace):
    """A part of a configuration: whatever is asked of it is there."""

    def __getattr__(self, name):
        value = Section()
        setattr(self, name, value)
        return value


@pytest.mark.parametrize("gpu", ["", "0"])
def test_the_hub_gives_everybody_the_simulator(gpu, tmp_path, monkeypatch):
    """Lessons never take the GPU; a GPU is visible, with its queue, only where it was allowed."""
    monkeypatch.setenv("SOFTMAX_HUB_GPU", gpu)
    monkeypatch.setenv("SOFTMAX_GPU_LOCKS", str(tmp_path / "queue"))
    path = ROOT / "classroom" / "jupyterhub_config.py"
    config = Section()
    exec(
        compile(path.read_text(encoding="utf-8"), str(path), "exec"),
        {"get_config": lambda: config, "__file__": str(path)},
    )
    given = config.Spawner.environment
    assert given["SOFTMAX_DEVICE"] == "sim"
    assert given["CUDA_VISIBLE_DEVICES"] == gpu
    assert ("SOFTMAX_GPU_LOCKS" in given) == bool(gpu) == (tmp_path / "queue").exists()
    assert config.JupyterHub.bind_url.startswith("http://127.0.0.1")


# --------------------------------------------------------------------------------------- the guide


@pytest.mark.parametrize(
    "path", notebooks.find(folder=ROOT / "notebooks"), ids=lambda path: path.stem
)
def test_the_guide_has_a_section_for_every_lesson(path):
    """With minutes that add up to 45, what to show, questions and common mistakes."""
    section = re.search(rf"^### {path.stem}\b.*?(?=^##)", TEXT, re.M | re.S)
    assert section, f"GUIDE.md has no section on {path.stem}"
    for part in ("Minutes", "Show", "Ask", "Common mistakes"):
        assert f"**{part}.**" in section[0]
    minutes = re.search(r"\*\*Minutes\.\*\*(.*?)(?:\n\n|\.\s)", section[0] + "\n\n", re.S)[1]
    parts = [int(part.split()[-1].rstrip(".")) for part in minutes.split("·")]
    assert sum(parts) == 45
    assert len(re.findall(r"^\d\. \*", section[0], re.M)) >= 3


def test_the_guide_names_every_exercise_with_its_lesson():
    """Each is in the row of its own lesson; and no other is named."""
    rows = dict(re.findall(r"^\| (\d\d_\w+) \| (.*) \|$", TEXT, re.M))
    for one in ALL:
        assert f"`{one.name}`" in rows[one.lesson], one.name
    named = set(re.findall(r"`([a-z0-9]+/[a-z0-9_]+)`", TEXT))
    assert named == {one.name for one in ALL}


def test_the_guide_s_links_lead_somewhere():
    """Files are there, and so are the headings."""
    anchors = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", TEXT, re.M)
    }
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 10
    for link in links:
        if link.startswith("#"):
            assert link[1:] in anchors, link
        else:
            assert (GUIDE.parent / link).exists(), link


def test_the_guide_s_credit_is_the_check_s():
    """The percentages of the guide are those of the verdict."""
    from helpers.exercise.verdict import SCORES

    flat = " ".join(TEXT.split())
    assert SCORES["compile"] == SCORES["endless"] == 0
    assert SCORES["wrong"] == SCORES["defect"] == 0.25
    assert "up to a quarter" in flat
    assert f"(a race) {SCORES['lucky']:.0%}".replace("%", " %") in flat
    assert f"over the budget {SCORES['slow']:.0%}".replace("%", " %") in flat
