"""The reduction view: rounds, edges, values and counts as recorded, folded and drawn."""

import itertools
import re

import numpy as np
import pytest

from helpers import launch, simt, versions, views
from helpers.views import trees_picture
from helpers.views.reduction import LANES, reductions
from helpers.views.trees import FORMS, OPS, record
from helpers.widgets import tree

CASES = list(itertools.product(FORMS, OPS))
WAVES = "memory_l1_wavefronts_shared"
SHUFFLES = {"down": lambda lane, by: lane + by, "xor": lambda lane, by: lane ^ by}


def probe(form, op, threads, cols):
    """(row, what each thread ends with, trace, profile) of one entry of the probe."""
    kernel = simt.RawKernel(versions.probe("reduce"), f"{form}_{op}")
    x = np.random.default_rng(7).integers(-50, 50, cols).astype(np.float32)
    out = np.full(threads, np.nan, np.float32)
    args = (x, out, cols)
    traced = simt.trace(kernel, (1,), (threads,), args)
    profile = simt.profile(kernel, (1,), (threads,), args)
    return x, out, traced, profile


@pytest.mark.parametrize(("form", "op"), CASES)
@pytest.mark.parametrize(("threads", "cols"), [(32, 1), (64, 100), (128, 128), (256, 781)])
def test_the_probe_is_right_and_the_view_counts_as_the_profile_does(form, op, threads, cols):
    """Result, wavefronts and shuffles are the simulator's; no defect; every thread gets it."""
    x, out, traced, profile = probe(form, op, threads, cols)
    assert not profile.defects
    assert (out == getattr(x, op)()).all()
    (one,) = reductions(traced)
    assert (one.op, one.result, one.holders) == (op, getattr(x, op)(), threads)
    assert one.total("wavefronts") == profile.counters[WAVES]
    assert one.total("ideal") == profile.counters[f"{WAVES}_ideal"]
    assert one.total("shuffles") == profile.ptx.get("shuffles", 0)
    assert one.total("barriers") * threads // LANES == profile.ptx["barriers"]
    assert sum(one.fed) == cols


@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("form", ["halving", "doubling"])
def test_a_tree_in_shared_memory_joins_two_cells_a_round(form, threads):
    """Exactly the edges of the textbook tree, every cell with its own value and its partner's."""
    one = record(form, "sum", threads, 3 * threads)
    rounds = [row for row in one.rows if row.kind == "shared"]
    strides = [threads >> k for k in range(1, threads.bit_length())]
    strides = strides if form == "halving" else strides[::-1]
    for row, stride in zip(rounds, strides, strict=True):
        cells = range(stride) if form == "halving" else range(0, threads, 2 * stride)
        assert set(row.edges) == {(c, c) for c in cells} | {(c + stride, c) for c in cells}
        assert (row.barriers, row.threads) == (1, len(cells))


@pytest.mark.parametrize("form", SHUFFLES)
def test_shuffles_join_a_lane_with_one_of_its_warp(form):
    """Both levels read 16, 8, 4, 2, 1 lanes away; a lane without that neighbour reads itself."""
    one = record(form, "max", 64, 64)
    rounds = [row for row in one.rows if row.kind == "shuffle"]
    assert [row.strides for row in rounds] == 2 * [(16,), (8,), (4,), (2,), (1,)]
    for row in rounds:
        (by,) = row.strides
        for reader in {to for _, to in row.edges}:
            warp, lane = divmod(reader, LANES)
            other = SHUFFLES[form](lane, by)
            partner = warp * LANES + (other if other < LANES else lane)
            assert {a for a, to in row.edges if to == reader} == {reader, partner}


@pytest.mark.parametrize(("form", "op"), CASES)
def test_every_value_is_the_join_of_those_its_edges_come_from(form, op):
    """Round for round, from the values of the row above; all numbers are small and whole."""
    one = record(form, op, 128, 500)
    join = {"max": max, "sum": sum}[op]
    for above, row in itertools.pairwise(one.rows):
        for slot in row.written:
            terms = [above.values[a] for a, b in row.edges if b == slot]
            # A lane that reads itself joins its value with itself.
            lone = row.kind == "shuffle" and len(terms) == 1
            assert row.values[slot] == join(terms * 2 if lone else terms)


def test_threads_without_a_column_hold_the_neutral_element():
    """20 columns for 32 threads: 12 of them; warps that have no partial, too."""
    for op, neutral in (("max", -np.inf), ("sum", 0.0)):
        one = record("down", op, 32, 20)
        first, load = one.rows[0], next(row for row in one.rows if row.kind == "load")
        assert first.neutral == set(range(20, 32))
        assert load.neutral == set(range(1, 32))
        assert {first.values[slot] for slot in first.neutral} == {neutral}


def test_live_slots_are_those_that_reach_the_result():
    """Down: half the lanes each round; xor's last level keeps all; dead lanes change nothing."""
    down = record("down", "sum", 32, 32)
    live = [len(live) for row, live in zip(down.rows, down.live, strict=True)
            if row.kind == "shuffle"]
    assert live == 2 * [16, 8, 4, 2, 1]
    xor = record("xor", "sum", 32, 32)
    assert len(xor.live[-1]) == 32


def test_bank_conflicts_show_where_the_stride_grows():
    """Doubling in 1024 threads: the first five rounds take 96 wavefronts each, halving none
    more than it must."""
    rounds = [row for row in record("doubling", "max", 1024, 1024).rows if row.kind == "shared"]
    assert [row.wavefronts for row in rounds] == [96, 96, 96, 96, 96, 48, 24, 12, 6, 3]
    halving = record("halving", "max", 1024, 1024)
    assert halving.total("wavefronts") == halving.total("ideal")


@pytest.mark.parametrize("name", ["v1", "v2", "v3", "v4"])
def test_the_catalogues_kernels_have_a_maximum_and_a_sum(name):
    """From their own traces; their barriers as the lessons state them, 9 or 2 a reduction."""
    x = np.random.default_rng(3).standard_normal((1, 700), np.float32)
    first, second = reductions(launch.trace(name, x=x))
    assert (first.op, second.op) == OPS
    assert first.result == x.max()
    assert second.result == pytest.approx(np.exp(x - x.max()).sum(), rel=1e-5)
    expected = 9 if name == "v1" else 2
    assert first.total("barriers") == second.total("barriers") == expected


def test_a_trace_without_a_reduction_says_so():
    """V0 reads no value of another thread."""
    with pytest.raises(ValueError, match="softmax_v0 has no reduction.*v1"):
        views.tree("v0")


def test_a_mere_exchange_is_no_reduction():
    """Neighbours that trade by a shuffle and multiply join nothing into one."""
    source = """extern "C" __global__ void trade(const float* x, float* y) {
        float v = x[threadIdx.x] * 3.0f;
        y[threadIdx.x] = v * __shfl_xor_sync(0xffffffff, v, 1);
    }"""
    x = np.arange(1, 33, dtype=np.float32)
    kernel = simt.RawKernel(source, "trade")
    with pytest.raises(ValueError, match="trade has no reduction in block 0: nothing joins"):
        reductions(simt.trace(kernel, (1,), (32,), (x, np.zeros_like(x))))


@pytest.mark.parametrize(("wrong", "message"), [
    ({"op": "min"}, "op must be max or sum"),
    ({"threads": 48}, "power of two from 32 to 1024"),
    ({"cols": 0}, "from 1 to 4,096, got 0"),
    ({"cols": 2.5}, "whole number"),
    ({"threads": 64, "warp": 2}, "warps 0 to 1, got 2"),
])
def test_a_wrong_size_is_one_sentence(wrong, message):
    """What was expected, what was got."""
    with pytest.raises(ValueError, match=message):
        views.tree(**wrong)


def test_an_unknown_subject_lists_the_choices():
    """Forms first, then versions."""
    with pytest.raises(ValueError, match="'butterfly'; choose from halving.*v1"):
        views.tree("butterfly")


@pytest.mark.parametrize("threads", [32, 256, 1024])
@pytest.mark.parametrize("form", FORMS)
def test_the_drawing_holds_what_the_rows_say(form, threads):
    """Alternative text, a caption a row in order, a bar a barrier, and nothing beyond its width."""
    one = record(form, "max", threads, 700)
    shown = views.tree(form, threads=threads, cols=700, warp=threads // LANES - 1)
    markup = shown._repr_html_()
    assert markup.count("<svg role") == 1
    assert f"aria-label=\"{FORMS[form]}" in markup
    assert markup.count("barrier:") + markup.count(">barrier<") == one.total("barriers")
    turns = itertools.accumulate(row.kind in ("shared", "shuffle") for row in one.rows)
    captions = [trees_picture.sentence(one, row, turn)
                for row, turn in zip(one.rows, turns, strict=True)]
    place = 0
    for caption in captions:
        place = markup.index(f">{caption}<", place + 1)
    assert max(map(len, captions)) <= 62
    boxes = re.findall(r'<rect x="(-?[\d.]+)" y="[\d.]+" width="([\d.]+)"', markup)
    assert all(float(x) >= -0.1 and float(x) + float(w) <= 416.1 for x, w in boxes)
    assert str(one.total("wavefronts")) in str(shown)


def test_a_version_beside_a_form_and_a_trace():
    """All three kinds of subject."""
    shown = views.tree("v2", "down", launch.trace("v1", cols=100), op="sum", threads=256)
    assert [name for name, _ in shown.subjects] == ["v2", FORMS["down"], "softmax_v1"]
    assert "barriers of the block" in str(shown)


def test_the_panel_follows_its_controls_and_survives_wrong_values():
    """A row that is empty becomes a sentence, the picture stays; a warp too many is the last."""
    panel = tree.panel()
    before = panel.image.value
    panel.controls["cols"].box.value = 0
    assert "expected a whole number from 1 to 4096, got 0" in panel.summary.value
    assert panel.image.value == before
    panel.controls["cols"].box.value = 37
    assert "37 columns" in panel.image.value
    panel.controls["warp"].box.value = 31
    panel.controls["threads"].dropdown.value = 256
    panel.controls["op"].dropdown.value = "sum"
    assert "sum" in panel.summary.value
    assert "warp 7: slots 224 to 255" in panel.image.value
