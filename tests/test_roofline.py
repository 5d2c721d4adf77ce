"""The bandwidth ladder: every bar with its origin, every device with its own roof."""

import dataclasses
import itertools

import matplotlib
import matplotlib.pyplot as plt
import pytest
from chart_words import apart

from helpers import recorded, roofline, theme, versions
from helpers.recorded import Figure, Record
from helpers.roofline import drawing

RUNGS = [version.name for version in versions.ladder()]
SPEEDS = {"memcpy": 3700, "copy_kernel": 3650, "v0": 60, "v1": 1900, "v2": 1950, "v3": 3100,
          "v4": 2700}


@pytest.fixture(autouse=True)
def _headless():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def record(device="NVIDIA H200", origin="live", share=1.0, date="2026-12-02"):
    """A made-up record of the whole ladder at a share of the speeds above."""
    kernels = {name: v.source_hash for name in SPEEDS if (v := recorded.version_of(name))}
    rows = tuple(
        Figure(name, 4096, 4096, "float32", 1.0, 1.0, 1.0, 50, gbps * share, gbps / 3700, origin,
               device, date, "580.1")
        for name, gbps in SPEEDS.items()
    )
    return Record(device, "580.1", date, "made up", {}, kernels, rows)


STORED = record(origin="recorded", date="2026-11-30")


def keep(monkeypatch, rows):
    """Let measurements/ hold these figures of the H200 and the article's."""
    monkeypatch.setattr(recorded, "figures", lambda device, *size: [
        row for row in rows if (row.rows, row.cols, row.dtype) == size])


@pytest.fixture
def stored(monkeypatch):
    """measurements/ with a record of the H200."""
    keep(monkeypatch, STORED.rows)


@pytest.fixture
def empty(monkeypatch):
    """measurements/ with the article alone."""
    keep(monkeypatch, ())


def test_bars_reach_the_lessons_version_and_no_further(stored):
    """Later rungs keep their place on the axis and show no result before their lesson."""
    said = roofline.content("v2", record())
    assert said.slots == tuple(RUNGS)
    assert [list(one.bars) for one in said.series] == [["v0", "v1", "v2"]] * 3
    assert [one.label for one in said.series] == [
        "article, NVIDIA A100 80GB SXM4, as published",
        "recorded, NVIDIA H200, 2026-11-30",
        "live, NVIDIA H200, 2026-12-02",
    ]
    published = {row.name: row.gbps for row in recorded.article()}
    assert said.series[0].bars == {name: published[name] for name in ("v0", "v1", "v2")}


def test_every_device_has_its_own_roof_and_its_measured_copy(stored):
    """The A100's 2.039 TB/s, the H200's 4.8, once each, and the faster copy of every run."""
    said = roofline.content("v4", record(share=1.01))
    assert [(roof.label, roof.gbps) for roof in said.roofs] == [
        ("A100 data sheet", 2039.0),
        ("H200 data sheet", 4800.0),
        ("H200 copy, recorded", 3700.0),
        ("H200 copy, live", 3737.0),
    ]
    assert [roof.measured for roof in said.roofs] == [False, False, True, True]


def test_the_first_picture_shows_the_copies_alone(stored):
    """upto="copy": memcpy and copy kernel as bars, the data sheets as lines, no softmax."""
    said = roofline.content("copy")
    assert [one.bars for one in said.series] == [{"memcpy": 3700, "copy_kernel": 3650}]
    assert [roof.label for roof in said.roofs] == ["A100 data sheet", "H200 data sheet"]
    assert "copy of 4096 × 4096" in said.title


def test_a_missing_record_is_said_in_the_picture(empty):
    """Without a recorded H200 the article stands alone, and the legend says why."""
    ax = roofline.ladder("v1")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [
        "article, NVIDIA A100 80GB SXM4, as published",
        "recorded, NVIDIA H200: nothing in measurements/ at this size yet",
    ]
    assert "nothing in measurements/" in roofline.describe("v1")


def test_a_stale_bar_is_named(monkeypatch):
    """A bar from an older kernel than the file of today is called so, once it is shown."""
    keep(monkeypatch, [dataclasses.replace(row, kernel="0123") if row.name == "v2" else row
                       for row in STORED.rows])
    assert roofline.content("v4").notes == ("recorded with an older kernel: V2",)
    assert roofline.content("v1").notes == ()


@pytest.mark.parametrize(
    ("name", "sheet"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4070 Laptop GPU", "RTX 4070 Laptop GPU"),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA A100-SXM4-40GB", None),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_a_device_gets_the_roof_of_its_own_data_sheet_or_none(stored, name, sheet):
    """A card of the same name with other memory gets no roof rather than a wrong one."""
    said = roofline.content("v4", record(name, share=0.05))
    sheets = [roof.label for roof in said.roofs if not roof.measured]
    assert set(sheets) == {f"{one} data sheet" for one in ("A100", "H200", sheet) if one}
    missing = (f"{name}: no data sheet in helpers/specs.py, so no roof",)
    assert said.notes == (() if sheet else missing)


def test_one_figure_brings_the_copy_of_its_run(empty):
    """A figure of time_version carries the copy in its share, and the line is drawn from it."""
    figure = dataclasses.replace(record().figure("v1"), gbps=1500.0, copy_share=0.5)
    labels = {roof.label: roof.gbps for roof in roofline.content("v1", [figure]).roofs}
    assert labels["H200 copy, live"] == 3000.0


def test_a_size_nobody_measured_is_an_empty_picture_that_says_so(empty):
    """No figure of 512 × 512 anywhere: no bar, and the note in place of one."""
    ax = roofline.ladder("v4", rows=512, cols=512)
    assert len(ax.patches) == 0
    assert "nothing in measurements/ at this size" in ax.figure.alt


def test_an_unknown_rung_is_refused(empty):
    """The message lists the rungs there are, and copy."""
    with pytest.raises(ValueError, match="v99.*v0, v1, .*or copy"):
        roofline.ladder("v99")


def test_live_figures_of_another_size_are_not_drawn_as_this_one(empty):
    """Bandwidth at 512 × 512 beside published 4096 × 4096 would compare unlike things."""
    other = [dataclasses.replace(record().figure("v1"), rows=512, cols=512)]
    with pytest.raises(ValueError, match="512×512 float32"):
        roofline.ladder("v1", other)
    said = roofline.content("v1", other, 512, 512)
    assert [one.bars for one in said.series] == [{"v1": 1900}]


def test_the_alternative_text_says_every_bar_and_every_line(stored):
    """Who cannot see the picture reads the same numbers, in a notebook's HTML too."""
    ax = roofline.ladder("v1", record())
    alt = ax.figure.alt
    assert alt == roofline.describe("v1", record())
    for number in ("V0 102", "V1 714", "V1 1900", "A100 data sheet 2039", "H200 data sheet 4800"):
        assert number in alt
    assert "Still to come: V2, V3, V4" in alt
    markup = ax.figure._repr_html_()
    assert f'role="img" aria-label="{alt}"' in markup
    assert "currentColor" in markup
    assert theme.theme().ink not in markup


def test_it_draws_into_the_readers_axes_and_leaves_their_settings(stored):
    """ax= is used and returned; rcParams are afterwards what they were."""
    before = dict(matplotlib.rcParams)
    _, ax = plt.subplots()
    assert roofline.ladder("v0", ax=ax) is ax
    assert dict(matplotlib.rcParams) == before


LIVE = {
    "none": (),
    "h200": record(share=1.003),
    "laptop": record("NVIDIA GeForce RTX 4070 Laptop GPU", share=0.06),
    "two": (*record(share=1.003).rows, *record("NVIDIA H100", share=0.7).rows),
}


@pytest.mark.parametrize("live", LIVE)
@pytest.mark.parametrize("upto", ["copy", "v0", "v4"])
@pytest.mark.parametrize("with_record", [True, False], ids=["record", "no-record"])
def test_no_text_is_cut_off_or_printed_over_another(monkeypatch, upto, live, with_record):
    """At notebook width all words lie inside the picture and apart from each other."""
    keep(monkeypatch, STORED.rows if with_record else ())
    apart(roofline.ladder(upto, LIVE[live]).figure)


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 5.0], [9.0, 1.0, 5.0], [4.9, 5.0, 5.1, 50.0]])
def test_labels_are_spread_without_changing_their_order(values):
    """Neighbouring labels keep their distance, and one with room stays where its line is."""
    places = drawing.spread(values, 2.0)
    ordered = sorted(range(len(values)), key=lambda index: values[index])
    for low, high in itertools.pairwise(ordered):
        assert places[high] - places[low] >= 2.0 - 1e-9
    assert sum(places) == pytest.approx(sum(values))
    if values and max(values) == 50.0:
        assert places[-1] == 50.0


def luminance(colour):
    """Relative luminance as WCAG defines it."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
             for c in matplotlib.colors.to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_on_its_ground(dark):
    """Ink on paper and numbers on bars at 4.5:1 or better, as WCAG asks; grids at 3:1."""
    look = theme.theme(dark)
    assert contrast(look.ink, look.paper) > 12
    assert contrast(look.quiet, look.paper) > 3
    for colour in theme.COLOURS.values():
        assert contrast(drawing.on(colour), colour) >= 4.5, colour


def test_the_readme_picture_is_a_png(stored, tmp_path):
    """1440 × 720 pixels, and no figure left open."""
    path = roofline.readme_picture(tmp_path / "ladder.png")
    assert plt.imread(path).shape[:2] == (720, 1440)
    assert plt.get_fignums() == []


def test_the_theme_leaves_interactive_mode_as_the_drawing_left_it():
    """A backend that loads inside the theme turns it on for good, so that figures are shown."""
    before = matplotlib.is_interactive()
    try:
        for wanted in (True, False):
            with theme.theme().applied():
                matplotlib.interactive(wanted)
            assert matplotlib.is_interactive() is wanted
    finally:
        matplotlib.interactive(before)
