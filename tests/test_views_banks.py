"""The bank view: words, banks and wavefronts of an access, as many as the simulator counts."""

from itertools import product

import numpy as np
import pytest
from pictures import drawn, fits, words

from helpers import launch, simt, versions, views
from helpers.simt.observers.names import SHARED, WAVEFRONTS
from helpers.views import conflicts
from helpers.views.warps import WarpAccess
from helpers.widgets import banks as panels

COLUMNS = list(product((0, 1, 2, 8, 31, 32, 33, 64), (0, 5), (4, 8, 16), (False, True), (1, 2)))


def load(*args):
    """The probe's load for the panel's controls."""
    found = conflicts.shared_accesses(panels.column(*args))
    (wanted,) = [one for one in found if one.access.kind == "load"]
    return wanted


def access(address, width, lanes=range(32), kind="load"):
    """An access of one warp with these byte offsets."""
    return conflicts.BankAccess("made up", WarpAccess(
        "k", "d", 0, 1, "", 0, kind, "s", 0, 4, width, tuple(lanes), tuple(address)))


@pytest.mark.parametrize("args", COLUMNS[::5], ids=str)
def test_wavefronts_are_the_counters_of_the_launch(args):
    """Source view, ideal and hardware counter of the probe's load, and as many rows drawn."""
    pitch, at, width, swizzle, sharing = args
    kernel = simt.RawKernel(versions.probe("banks"), f"banks_{8 * width}")
    y = np.zeros(8 * width, np.float32)
    counted = simt.profile(
        kernel, (1,), (32,), (y, pitch, at, sharing, 31 * swizzle),
        shared_mem=width * (31 * pitch + 32))
    one = load(*args)
    line = counted.lines[one.access.line]
    assert one.waves.source == line[WAVEFRONTS] == len(one.wavefronts)
    assert one.waves.ideal == line[f"{WAVEFRONTS}_ideal"]
    assert one.waves.hardware == counted.counters[SHARED["wavefronts", "ld"]]
    assert one.waves.conflicts == counted.counters[SHARED["conflicts", "ld"]]


@pytest.mark.parametrize("args", COLUMNS[::4], ids=str)
def test_every_lane_gets_its_words_from_their_banks_once(args):
    """Lane r reads the element of the kernel's formula; a bank gives one word a wavefront."""
    pitch, at, width, swizzle, sharing = args
    one, got = load(*args), {}
    for wave in one.wavefronts:
        given = [bank for served in wave for bank in served.banks]
        assert len(given) == len(set(given))
        got |= {lane: served.words for served in wave for lane in served.lanes}
    each = width // 4
    for lane in range(32):
        row = lane // sharing
        element = row * pitch + (at ^ (row & 31 * swizzle))
        assert got[lane] == tuple(range(element * each, (element + 1) * each))


def test_random_accesses_are_drawn_in_as_many_wavefronts_as_counted():
    """Any addresses, widths and lanes, loads and stores: pairs that agree included."""
    rng = np.random.default_rng(0)
    for _ in range(600):
        width = int(rng.choice([1, 2, 4, 8, 16]))
        lanes = np.flatnonzero(rng.random(32) < rng.choice([0.2, 0.7, 1.0]))
        if not len(lanes):
            continue
        element = rng.integers(0, rng.choice([2, 8, 40, 500]), 32) // int(rng.choice([1, 4]))
        share = int(rng.choice([1, 2, 4, 32]))
        element = element[np.arange(32) // share * share][lanes]
        kind = str(rng.choice(["load", "store"]))
        one = access((element * width).tolist(), width, lanes.tolist(), kind)
        assert len(one.wavefronts) == one.waves.source, (width, kind, one.access)
        served = [lane for wave in one.wavefronts for s in wave for lane in s.lanes]
        assert sorted(served) == lanes.tolist()


@pytest.mark.parametrize(("args", "wavefronts", "conflicted"), [
    ((32,), 32, 31), ((33,), 1, 0), ((32, 3, 4, True), 1, 0), ((2,), 2, 1), ((0,), 1, 0),
    ((1, 0, 8), 2, 0), ((2, 0, 8), 4, 2), ((1, 0, 16), 4, 0), ((4, 0, 16), 16, 12),
    ((1, 0, 8, False, 2), 1, 0), ((1, 0, 16, False, 2), 2, 0), ((32, 0, 8), 32, 30),
])
def test_the_cases_of_the_lesson(args, wavefronts, conflicted):
    """[32] takes 32 turns, [33] and the swizzle one; lanes that agree in pairs halve the turns."""
    one = load(*args)
    assert (len(one.wavefronts), one.waves.conflicts) == (wavefronts, conflicted)
    late = [wave for wave in one.wavefronts if any(served.late for served in wave)]
    assert len(late) == conflicted


def test_the_rounds_of_v1s_tree():
    """Each round's loads read neighbouring words: one wavefront, half the lanes from 16 on."""
    trace = launch.trace("v1", rows=1, cols=64)
    loads = [a for a in conflicts.shared_accesses(trace) if a.access.kind == "load"]
    assert {len(a.wavefronts) for a in loads} == {1}
    busy = [len(a.access.lanes) for a in loads if "scratch[tid + stride]" in a.access.code]
    assert set(busy) == {32, 16, 8, 4, 2, 1}
    step = loads[1].access.step
    assert views.banks(trace, step).accesses[0].access == loads[1].access
    assert views.banks(trace, step=step).accesses == views.banks(trace, step).accesses
    assert views.banks(trace, load=1).accesses == views.banks(trace, step).accesses
    assert views.banks("v1", store=0).accesses[0].title == "v1"


@pytest.mark.parametrize(("args", "given", "error"), [
    ((0,), {}, r"step 0 of softmax_v1: warp 0 neither loads .* nor stores .* the nearest one is"),
    ((10**6,), {}, r"softmax_v1 has steps 0 to \d+, got 1000000"),
    ((), {"load": 999}, r"load=999 of softmax_v1: warp 0 makes \d+ shared loads, counted from 0"),
    ((), {"load": 0, "store": 0}, "shows a load or a store"),
    ((), {"warp": 99}, "warp 99 makes 0 shared loads"),
    ((), {"titles": "ab"}, "titles: expected 1"),
])
def test_an_access_that_is_not_there_is_refused(args, given, error):
    """The error says what there is."""
    trace = launch.trace("v1", rows=1, cols=64)
    with pytest.raises(ValueError, match=error):
        views.banks(trace, *args, **given)


def test_without_a_subject_there_is_no_view():
    """A step alone is none."""
    for args in ((), (3,)):
        with pytest.raises(ValueError, match="needs a trace or a version"):
            views.banks(*args)


@pytest.mark.parametrize("args", COLUMNS[::17], ids=str)
def test_every_word_of_the_picture_fits(args):
    """From one wavefront to 32, rows of memory side by side or far apart."""
    fits(drawn(panels.look(*args)[1], dark=args[3]))


def test_colour_is_not_the_only_carrier():
    """Extra wavefronts are numbered with a +, shared words and both marks explained."""
    pairs = panels.column(1, 0, 4, False, 2)
    view = views.banks(panels.column(32), pairs, titles=("[32]", "pairs"))
    said = words(drawn(view))
    assert "+ (orange): the bank gave another word first" in said
    assert "thick: shared by lanes" in said
    assert view.picture().alt == (
        "[32]: 32 wavefronts, ideal 1; 31 bank conflicts: bank 0 has 32 different words to give. "
        "pairs: 1 wavefront, ideal 1; no conflict: no bank has to give the lanes served together "
        "more than one word.")
    assert "lane→word: 0→0, 1→32" in str(view)
    assert "counted by the simulator" in view._repr_html_()
