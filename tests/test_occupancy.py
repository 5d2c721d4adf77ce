"""Blocks an SM over the row length: limits, staircases and panel, by brute force and by hand."""

import dataclasses
import itertools
import re

import pytest

from helpers import recorded, specs, versions, views
from helpers.views.residency import CARDS, fit, occupancy, staircase
from helpers.views.residency_picture import draw
from helpers.widgets import occupancy as panels

KB = 1024
V4 = versions.get("v4")


def figure(name, cols, gbps, rows=4096):
    return recorded.Figure(name, rows, cols, "float32", 1.0, 1.0, 1.0, 9, gbps, None, "recorded",
                           "NVIDIA H200", "2026-11-30", None)


@pytest.mark.parametrize(("card", "threads", "shared", "room"), [
    # An SM of 228 KB: 227 KB and the system's 1 KB fill it; one unit more does not fit a second.
    ("h200", 256, 227 * KB, {"blocks": 32, "threads": 8, "shared memory": 1}),
    ("h200", 256, 113 * KB, {"blocks": 32, "threads": 8, "shared memory": 2}),
    ("h200", 256, 113 * KB + 1, {"blocks": 32, "threads": 8, "shared memory": 1}),
    ("h200", 256, 227 * KB + 1, {"blocks": 32, "threads": 8, "shared memory": 0}),
    ("a100", 1024, 0, {"blocks": 32, "threads": 2, "shared memory": 164}),
    ("t4", 32, 4 * KB, {"blocks": 16, "threads": 32, "shared memory": 16}),  # nothing reserved
    ("t4", 256, 0, {"blocks": 16, "threads": 4, "shared memory": 16}),
])
def test_an_sm_has_room_by_three_limits(card, threads, shared, room):
    """Worked out by hand from the data sheets."""
    assert specs.get(card).room(threads, shared) == room


@pytest.mark.parametrize(("card", "block"), list(itertools.product(CARDS, (32, 256, 1024))))
def test_a_staircase_is_what_every_row_length_gives(card, block):
    """Each step's end and the row after it, and V4's own limit at the end."""
    version, spec = dataclasses.replace(V4, block=block), specs.get(card)
    steps = staircase(version, spec)
    assert steps[-1] == (version.max_cols(spec), fit(version, steps[-1][0], spec).blocks)
    assert [blocks for _, blocks in steps] == sorted({b for _, b in steps}, reverse=True)
    first = 1
    for last, blocks in steps:
        lengths = {first, (first + last) // 2, last}
        assert {fit(version, cols, spec).blocks for cols in lengths} == {blocks}
        first = last + 1
    assert fit(version, first, spec).blocks == 0


def test_the_limits_the_lessons_quote():
    """48 KB, and the opt-in of each card, less the kernel's static bytes."""
    view = occupancy("v4", figures=())
    static = view.static
    assert static == versions.static_shared(V4.source, V4.entry) > 0
    assert view.wall == (48 * KB - static) // 4
    ends = {card: steps[-1][0] for card, steps in view.steps}
    caps = {"t4": 64, "a100": 163, "h100": 227, "h200": 227}
    assert ends == {card: (cap * KB - static) // 4 for card, cap in caps.items()}
    assert {one.card: (one.blocks, one.bound) for one in view.fits} == {
        "t4": (3, "shared memory"), "a100": (8, "threads"), "h100": (8, "threads"),
        "h200": (8, "threads"),
    }
    assert occupancy("v4", 32768, figures=()).fits[-1].share == 256 / 2048


def test_a_version_without_staging_has_one_step():
    """V3 holds as many blocks at any N, and has no wall."""
    view = views.occupancy("v3", 50_000, figures=())
    assert [len(steps) for _, steps in view.steps] == [1, 1, 1, 1]
    assert view.wall is None
    assert "48 KB" not in view._repr_html_()


def test_the_picture_is_the_staircase():
    """Corners of the drawn line are the steps: as many falls as steps, ends crossed out."""
    view = occupancy("v4", figures=(), cards=("h200",))
    markup = draw(view)._repr_html_()
    (line,) = re.findall(r'd="(M[^"]*)" fill="none" stroke="#56B4E9"', markup)
    assert line.count("H") == len(view.steps[0][1])
    assert line.count("V") == len(view.steps[0][1])
    assert markup.count("l8 8M") == 1
    for cols, blocks in view.steps[0][1]:
        assert f"{blocks} up to N = {cols:,}" in markup


def test_recorded_bandwidth_is_drawn_with_its_origin():
    """Only where a record has several N; label, device and date stand above it."""
    rows = [figure("v4", 2**k, 100.0 * k) for k in range(9, 16)] + [figure("v3", 4096, 900.0)]
    markup = occupancy("v4", figures=rows)._repr_html_()
    assert "recorded, NVIDIA H200, 2026-11-30" in markup
    assert "4,096 rows" in markup
    assert markup.count('r="3"') == 8
    assert "1200" in str(occupancy("v4", figures=rows))
    assert "Recorded GB/s" not in occupancy("v4", figures=())._repr_html_()


def test_the_newest_record_is_taken_only_with_several_sizes(monkeypatch):
    """A single N is no curve."""
    record = recorded.latest()
    for sizes in ((4096,), (4096, 8192)):
        rows = tuple(figure("v4", cols, 1000.0) for cols in sizes)
        changed = dataclasses.replace(record, rows=rows)
        monkeypatch.setattr(recorded, "latest", lambda changed=changed: changed)
        assert len(occupancy("v4").figures) == (len(sizes) if len(sizes) > 1 else 0)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"cols": 0}, "N must be a whole number from 1"),
    ({"cols": 4096.0}, "N must be a whole number from 1"),
    ({"block": 48}, "multiple of 32"),
    ({"block": 2048}, "at most 1024"),
    ({"cards": ("b300",)}, "no data sheet called 'b300'"),
    ({"cards": ()}, "needs a card; choose from t4"),
    ({"version": "v99"}, "no version called 'v99'"),
])
def test_wrong_arguments_are_one_sentence(wrong, message):
    """What was expected, what was got."""
    with pytest.raises(ValueError, match=message):
        occupancy(**wrong)


def test_the_panel_follows_its_controls_and_survives_wrong_values():
    """The readout has the numbers of the model; N = 0 is a sentence."""
    panel = panels.panel()
    assert "H200 8 (100%)" in panel.summary.value
    panel.controls["cols"].box.value = 32768
    assert "H200 1 (12%)" in panel.summary.value
    before = panel.image.value
    panel.controls["cols"].box.value = -5
    assert "from 1 to 1048576, got -5" in panel.summary.value
    assert panel.image.value == before
    panel.controls["cols"].box.value = 100_000  # beyond every card: no block, and drawn
    assert "H200 0 (0%)" in panel.summary.value
    panel.controls["card"].dropdown.value = "t4"
    assert "A100" not in panel.summary.value
