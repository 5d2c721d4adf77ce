"""The listing with counters a line: every line, every number, in the page's HTML and in text."""

import html
import re

import numpy as np
import pytest

from helpers import launch, simt, versions, views
from helpers.simt.listing import MEASURES
from helpers.views.costs import DEFAULT, compact


def table(view):
    """(numbers as exact texts, line, code) of each row of the HTML, markup taken away."""
    rows = re.findall(r"<tr>((?:<td.*?</td>)*)<th scope=\"row\">(\d+)</th>"
                      r'<td class="code">(.*?)</td></tr>', view._repr_html_(), re.DOTALL)
    plain = []
    for cells, line, code in rows:
        numbers = re.findall(r'<td(?: title="([\d,]+)")?>', cells)
        code = code.partition('<div class="note">')[0]
        plain.append((numbers, int(line), html.unescape(re.sub(r"<[^>]+>", "", code))))
    return plain


@pytest.mark.parametrize("name", ["v0", "v1", "v3", "v4"])
def test_every_line_has_the_profiles_numbers(name):
    """The source is the file's, header folded; cells are the exact counts of that line."""
    version = versions.get(name)
    profile = launch.profile(name, 4, 781)
    view = views.annotated(name, "requests", "sectors", rows=4, cols=781)
    lines = version.source.splitlines()
    rows = table(view)
    assert rows[-1][1] == len(lines)
    assert rows[0][1] > 8
    for numbers, line, code in rows:
        assert code == lines[line - 1]
        counts = profile.lines.get(line, {})
        expected = [MEASURES[m].value(counts, {}) for m in ("requests", "sectors")]
        assert [int(n.replace(",", "") or 0) for n in numbers] == expected
    assert f"header: {rows[0][1] - 1} lines" in view._repr_html_()


def test_a_measure_that_is_zero_throughout_is_left_out_by_default():
    """V0 uses no shared memory, V1 does; text and HTML have the same columns."""
    for name, labels in (("v0", DEFAULT[:2]), ("v1", DEFAULT)):
        view = views.annotated(name, rows=2, cols=100)
        heads = re.findall(r'<th scope="col" title=[^>]*>(.*?)</th>', view._repr_html_())
        assert tuple(head.replace("&shy;", "") for head in heads) == labels
        assert str(view).splitlines()[2].split() == [*labels, "line"]


def test_bars_are_relative_to_the_largest_and_the_foot_has_the_sum():
    """One bar of each column is full."""
    profile = launch.profile("v1", 8, 1000)
    markup = views.annotated(profile, "wavefronts")._repr_html_()
    widths = [int(width) for width in re.findall(r'<u style="width:(\d+)%"', markup)]
    assert max(widths) == 100
    total = profile.counters["memory_l1_wavefronts_shared"]
    assert f'<tfoot><tr><td title="{total:,}">' in markup
    assert profile.device in markup


def test_defects_stand_under_their_line():
    """As the simulator words them, escaped."""
    x, y = np.ones((4, 100), np.float32), np.empty((4, 100), np.float32)
    kernel = simt.RawKernel(versions.get("v2").source, "softmax_v2")
    profile = simt.profile(kernel, (4,), (48,), (x, y, 4, 100))
    view = views.annotated(profile)
    assert profile.defects
    assert html.escape(profile.defects[0].message) in view._repr_html_()
    assert profile.defects[0].message in str(view)


@pytest.mark.parametrize(("value", "text"), [
    (0, "0"), (999_999, "999,999"), (1_572_864, "1.57 M"), (50_331_648, "50.3 M"),
    (999_400_000, "999 M"), (999_600_000, "1 G"), (1_234_000_000, "1.23 G"),
])
def test_counts_are_short(value, text):
    """At most seven characters, exact below a million."""
    assert compact(value) == text


def test_an_unknown_measure_or_version_is_refused_before_a_launch(monkeypatch):
    """With the choices."""
    monkeypatch.setattr(launch, "profile", lambda *_: pytest.fail("launched"))
    with pytest.raises(ValueError, match="no measure called 'bytes'; choose from requests"):
        views.annotated("v1", "bytes")
    with pytest.raises(ValueError, match="no version called"):
        views.annotated("v77")
