"""Listings, diffs and counter tables say what the files and the simulator say, safely escaped."""

import dataclasses
import html
import re

import pytest

from helpers import device, launch, versions, views
from helpers.simt.profile import Profile
from helpers.views import code as listings

RUNGS = [version.name for version in versions.ladder()]


def plain(view):
    """The code lines of a listing as a browser shows them: (numbers, sign, code)."""
    rows = re.compile(r'<span class="row[^"]*">(.*?)</span>\n</span>', re.DOTALL)
    lines = []
    for row in rows.findall(view._repr_html_()):
        numbers = re.findall(r'<b data-n="(\d*)"></b>', row)
        sign = re.search(r"<b>(.)</b>", row).group(1).strip()
        code = re.sub(r"<[^>]+>", "", row.partition('<span class="code">')[2])
        lines.append((numbers, sign, html.unescape(code)))
    return lines


@pytest.mark.parametrize("name", versions.VERSIONS)
def test_a_listing_is_the_file(name):
    """Every line of the .cu file is there, in order, with its number, markup taken away."""
    expected = versions.get(name).source.splitlines()
    found = plain(views.source(name))
    assert [code for _, _, code in found] == expected
    assert [numbers for numbers, _, _ in found] == [[str(n + 1)] for n in range(len(expected))]
    assert [line[5:] for line in str(views.source(name)).splitlines()] == expected


@pytest.mark.parametrize("name", versions.VERSIONS)
def test_the_entry_alone_is_the_kernel_with_the_files_line_numbers(name):
    """From the line with the entry's name to its closing brace; header and helpers left out."""
    version = versions.get(name)
    found = plain(views.source(version, entry_only=True))
    lines = version.source.splitlines()
    assert version.entry in found[0][2]
    assert found[-1][2] == "}"
    for numbers, _, code in found:
        assert lines[int(numbers[0]) - 1] == code
    assert sum("__global__" in code for _, _, code in found) == 1


@pytest.mark.parametrize(("a", "b"), [*zip(RUNGS, RUNGS[1:], strict=False), ("v4", "v0"),
                                      ("naive_f32", "v0"), ("v1", "v1")])
def test_a_diff_holds_both_files(a, b):
    """Without the lines that came it is the old file, without those that went the new one."""
    rows = plain(views.diff(a, b))
    old, new = versions.get(a).source.splitlines(), versions.get(b).source.splitlines()
    assert [code for _, sign, code in rows if sign != "+"] == old
    assert [code for _, sign, code in rows if sign != "-"] == new
    assert [n[0] for n, _, _ in rows if n[0]] == [str(i + 1) for i in range(len(old))]
    assert [n[1] for n, _, _ in rows if n[1]] == [str(i + 1) for i in range(len(new))]


def test_the_text_of_a_diff_is_a_unified_diff():
    """A terminal gets what it knows, and is told when nothing differs."""
    text = str(views.diff("v1", "v2"))
    assert text.startswith("--- v1_block_shared.cu\n+++ v2_warp_shuffle.cu\n@@")
    assert "no difference" in str(views.diff("v1", "v1"))


def test_the_header_is_folded():
    """The leading comment, and no more, is behind the fold of a listing."""
    markup = views.source("v1")._repr_html_()
    folded = re.search(r"<details><summary>header: (\d+) lines</summary>(.*?)</details>", markup,
                       re.DOTALL)
    lines = versions.get("v1").source.splitlines()
    assert int(folded.group(1)) == lines.index("") + 1
    assert "Stops at" in folded.group(2)
    assert "neg_inf" not in folded.group(2)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("// a\n// b\n\nint c;", 3),
        ("// a\nint c;", 1),
        ("/* a\n * b */\n\nint c;", 3),
        ("int c;\n// a", 0),
        ("\n// a\nint c;", 0),
        ("// a", 1),
        ("", 0),
    ],
)
def test_where_a_header_ends(code, lines):
    """At the first line that is no comment, one blank line included."""
    assert listings.header(code.splitlines()) == lines


def test_code_cannot_become_markup():
    """What a kernel's text contains is shown, not executed; a comment may span lines."""
    code = 'if (a < b && c > d) s = "<b>"; /* <script>\nalert(1)\n</script> */ // & more\n#if 1 < 2'
    marked = listings.highlight(code)
    assert [html.unescape(re.sub(r"</?i[^>]*>", "", line)) for line in marked] == code.splitlines()
    assert not any("<script" in line or "<b>" in line for line in marked)
    assert all(line.count("<i ") == line.count("</i>") for line in marked)


def test_the_page_decides_the_colours():
    """Code takes JupyterLab's colours, plain text keeps the page's: light and dark both work."""
    style = listings._STYLE
    assert "var(--jp-mirror-editor-keyword-color" in style
    assert not re.search(r"background(-color)?: *#", style)


def profile(kernel, *numbers):
    counts = dict(zip(views.COUNTERS, numbers, strict=True))
    return Profile(kernel, (1,), (32,), "T4 specification", counts, {}, [], ())


def test_counters_of_given_profiles():
    """Requests, sectors and their ratio, by kernel; no store at all has no ratio."""
    view = views.counters(
        profile("softmax_v0", 1572864, 50331648, 524288, 16777216), profile("reads", 10, 45, 0, 0)
    )
    cells = [re.split(r"\s{2,}", line) for line in str(view).splitlines()]
    assert cells[0] == ["counter", "softmax_v0", "reads"]
    assert cells[1] == ["load requests", "1,572,864", "10"]
    assert cells[-3:-1] == [["sectors per load request", "32.0", "4.5"],
                            ["sectors per store request", "32.0", "–"]]
    assert cells[-1] == ["(counted by the simulator, T4 specification)"]
    for name in views.COUNTERS:
        assert f'title="{name}"' in view._repr_html_()


def test_counters_of_a_wrong_kernel_do_not_look_clean():
    """A profile with defects is marked under the table."""
    wrong = dataclasses.replace(profile("oops", 1, 4, 1, 4), defects=["a race"])
    view = views.counters(profile("good", 1, 4, 1, 4), wrong)
    assert str(view).endswith("T4 specification; oops made mistakes: see its profile)")


def test_counters_of_versions_say_size_and_simulated_card():
    """Exact counts of a launch at the size asked for, marked as the simulator's."""
    view = views.counters("v1", versions.get("v3"), rows=4, cols=256)
    assert f"(4×256, counted by the simulator, {device.simulated_spec().name}" in str(view)
    expected = launch.profile("v3", 4, 256).counters
    for name, label in views.COUNTERS.items():
        line = next(line for line in str(view).splitlines() if line.startswith(label))
        assert line.split()[-1] == f"{expected[name]:,}"


def test_counters_of_nothing_is_an_error_with_the_call_to_make():
    """The message shows how to ask."""
    with pytest.raises(ValueError, match=r'counters\("v0", "v1"\)'):
        views.counters()


def test_an_unknown_version_is_refused_with_the_names_there_are():
    """As everywhere, the catalogue answers."""
    with pytest.raises(ValueError, match="choose from"):
        views.source("v99")
