"""Every figure that a lesson states is one that the project measured, quotes or counts."""

import dataclasses
import html
import json
import re
from functools import cache
from pathlib import Path

import nbformat
import prose
import pytest
from nbclient import NotebookClient

from helpers import recorded, specs, versions

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LESSONS = sorted({version.lesson for version in versions.VERSIONS.values()})
LIMIT_S = 120  # a lesson's own limit is half of it, and is checked when the lessons are run


@cache
def run(lesson):
    """The lesson executed here: its prose, its code, and all that its cells show, as text."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=LIMIT_S,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    )
    client.execute()
    words, code = (
        "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == kind)
        for kind in ("markdown", "code")
    )
    code = re.sub(r"(?m)^[%!].*$", "", code)  # of IPython, not of Python
    shown = [shown_text(out) for cell in notebook.cells for out in cell.get("outputs", ())]
    return words, code, "\n".join(shown)


def pools(words, code, shown) -> dict[str, list[float]]:
    """What holds a lesson's figures. What its code shows word for word holds nothing."""
    for text in sorted(prose.shown(code), key=len, reverse=True):
        shown = shown.replace(text, " ") if re.search(r"\d", text) else shown
    printed = prose.numbers(shown) + prose.worked(words)
    return known() | {"printed": printed, "chosen": prose.sizes(code)}


def shown_text(output) -> str:
    """An output as a reader sees it; of a picture, its text in words."""
    data = output.get("data", {})
    markup = re.sub(r"<(script|style)\b.*?</\1>", " ", str(data.get("text/html", "")), flags=re.S)
    said = output.get("text", ""), data.get("text/plain", "")
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', markup))
    bare = re.sub(r"<[^>]*>", " ", markup)
    return html.unescape("\n".join([*said, labels, bare]))


@cache
def known() -> dict[str, list[float]]:
    """What the project has measured or quotes, by kind, and the catalogue's and sheets' numbers."""
    records = map(recorded.load, recorded.MEASUREMENTS.glob("*.json"))
    figures = [row for record in records for row in record.rows]
    sheets = [value for spec in specs.SPECS.values() for value in dataclasses.astuple(spec)]
    given = [float(value) for value in sheets if isinstance(value, int | float)]
    given += [2.0**k for k in range(21)] + [version.block for version in versions.VERSIONS.values()]
    roofs = [spec.bandwidth / 1e9 for spec in specs.SPECS.values()]
    return {
        "bandwidth": [row.gbps for row in figures] + roofs,
        "time": [row.us for row in figures if row.us],
        "given": given + claims(),
    }


def claims() -> list[float]:
    """Every number among the article's claims."""
    raw = json.loads((recorded.MEASUREMENTS / recorded.ARTICLE).read_text(encoding="utf-8"))
    return prose.numbers(json.dumps(raw.get("claims", {})))


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_stated_figure_is_held_by_a_record_or_by_the_lessons_own_output(lesson):
    """A number of the prose rounds from a measurement, a claim, a data sheet or an output."""
    words, code, shown = run(lesson)
    pool = pools(words, code, shown)
    texts = [words, *prose.shown(code)]
    loose = [f for text in texts for f in prose.stated(text) if not prose.held(f, pool)]
    assert not loose, "\n".join(f"{f.text!r} in: …{f.sentence}…" for f in loose)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_prediction_s_premises_are_sizes_or_come_from_code(lesson):
    """Whatever number a question or an answer on offer has typed in, small ones too, is a size
    that the lesson's cells pass on, a power of two or a data sheet's; a count is put in by code."""
    words, code, shown = run(lesson)
    pool = pools(words, code, shown)
    plain = {kind: pool[kind] for kind in ("given", "chosen")}
    loose = [f.text for text in prose.questions(code) for f in prose.stated(text, every=True)
             if not prose.held(f, plain if f in small(text) else pool)]
    assert not loose


def small(text) -> list:
    """The whole numbers of a text that are no stated figures."""
    return [f for f in prose.stated(text, every=True) if f not in prose.stated(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("runs at 1,879 GB/s here", "bandwidth", 1879),
        ("takes 71.4 µs", "time", 71.4),
        ("2.039 TB/s", "bandwidth", 2039),
        ("35 % of it", "share", 35),
        ("1,572,864 load requests", "count", 1572864),
        ("e^−100 is 3.8e−44", "count", 3.8e-44),
        ("the largest is 3.4028e+38", "count", 3.4028e38),
        ("the largest is 3.4028 · 10³⁸", "count", 3.4028e38),
    ],
)
def test_a_figure_is_found(text, kind, value):
    """Units, separators and minus signs are read as a reader reads them."""
    (figure,) = prose.stated(text)
    assert (figure.kind, figure.value) == (kind, pytest.approx(value))


@pytest.mark.parametrize("text", ["`4096.0`", "V3 and 19 barriers", "[x](06_v4.ipynb)", "$1.5$"])
def test_what_is_no_figure_is_left_alone(text):
    """Code, names, links and formulas state nothing."""
    assert prose.stated(text) == []


def test_a_sum_is_worked_out():
    """What the prose reckons is reckoned again, so a slip of the pen is caught."""
    assert prose.worked("4/3 = 1.33 times, 1/4 + 1 = 1.25, 3 × 67.1 = 201.3") == pytest.approx(
        [4 / 3, 1.25, 201.3]
    )
    pools = {"printed": prose.worked("4/3 = 1.34"), "given": []}
    assert not prose.held(prose.stated("1.34")[0], pools)


def test_what_code_shows_word_for_word_is_held_too():
    """Questions, offers and reasons are read; what code fills in, formats and sizes are not."""
    code = (
        'OFFERS = ["2345 of them", f"{x:8.3f} more"]\n'
        'a = predict.number("V1 meets 19 barriers and 1,572,864 loads.", low=3)\n'
        "b = predict.choice(f'N = {781:5}', OFFERS)\n"
        'a.reveal(profile(64, cols=100), why="because of 77.7 %")\n'
        "for n in (5, -6): print('1234 read', {n: 3 * 4})"
    )
    asked = " ".join(prose.questions(code))
    assert [f.text for f in prose.stated(asked, every=True)] == ["19", "1,572,864", "2345"]
    assert [f.text for f in prose.stated(" ".join(prose.shown(code)))] == [
        "1,572,864", "2345", "77.7 %", "1234"]
    assert sorted(prose.sizes(code)) == [-6, 3, 5, 64, 100]


def test_a_question_cannot_vouch_for_itself():
    """What a lesson types into its own question holds no figure, there or in the prose; nor is 19
    in any data sheet."""
    code = 'predict.number("V1 meets 19 barriers and 1,572,864 loads.")'
    pool = pools("1,572,864 loads", code, "Predict: V1 meets 19 barriers and 1,572,864 loads.")
    plain = {kind: pool[kind] for kind in ("given", "chosen")}
    assert not any(prose.held(f, plain) for f in prose.stated(prose.questions(code)[0], every=True))
    assert not prose.held(prose.stated("1,572,864 loads")[0], pool)


def test_a_wrong_figure_is_caught():
    """The judge can say no: one digit off, or the right number with another unit."""
    pools = {"bandwidth": [1879.2], "time": [71.4], "given": [], "printed": []}
    right = [*prose.stated("1879 GB/s"), *prose.stated("71 µs")]
    wrong = [*prose.stated("1878 GB/s"), *prose.stated("71.5 µs"), *prose.stated("1879 µs")]
    assert all(prose.held(figure, pools) for figure in right)
    assert not any(prose.held(figure, pools) for figure in wrong)
