"""Intensity, sweep, traffic, peers and prediction: exact contents, and words that can be read."""

import csv
import dataclasses
import math
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from chart_words import apart
from matplotlib.text import Text

from helpers import recorded, roofline, specs, theme, versions
from helpers.model.work import resident
from helpers.recorded import Figure, RecordError
from helpers.roofline import cliffs, counted, drawing

RUNGS = [version.name for version in versions.ladder()]
SPEEDS = {"memcpy": 3700, "copy_kernel": 3650, "v0": 60, "v1": 1900, "v2": 1950, "v3": 3100,
          "v4": 2700}
PEERS = {"torch.softmax": 2300, "torch.compile": 3000, "torch five operations": 680,
         "triton fused": 3600, "cudnn": 3300, "cupyx.softmax": 1200, "cupy five operations": 600,
         "liger": 3500, "quack": 3550}
SIZES = tuple(2**k for k in range(7, 19))
H200, T4 = "NVIDIA H200", "Tesla T4"


@pytest.fixture(autouse=True)
def _headless():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def figure(name, cols=4096, gbps=1000.0, device=H200, origin="live", rows=4096):
    us = 2 * rows * cols * 4 / gbps / 1e3
    return Figure(name, rows, cols, "float32", us, us, us, 50, gbps, gbps / 3700, origin, device,
                  "2026-12-02", "580.1")


def figures(speeds=SPEEDS, sizes=(4096,), **changes):
    """Made-up figures that grow towards N = 4096; V4 stops where it is refused."""
    return tuple(
        figure(name, cols, gbps * min(1, (cols + 600) / 4096), **changes)
        for name, gbps in speeds.items() for cols in sizes
        if not (name == "v4" and cols > 58080) and not (name == "v0" and cols > 16384)
    )


def ncu(name, rows, cols, device):
    """Counters at 4096 × 4096 as an H200 has them: DRAM reads each row once, V0's three times."""
    if (rows, cols, device) != (4096, 4096, H200):
        raise RecordError("nothing at this size")
    matrix = 4 * rows * cols
    reads = 3 * matrix if name == "v0" else matrix
    counters = {"dram__bytes_read.sum": float(reads), "dram__bytes_write.sum": 0.75 * matrix}
    return SimpleNamespace(counters=counters, stale=name == "v2",
                           label=lambda: f"Nsight Compute, recorded, {H200}, 2026-11-30")


def claim(name):
    return SimpleNamespace(value={"intensity_scalar": 0.333, "intensity_vectorised": 0.458}[name])


def keep(monkeypatch, rows):
    """Let measurements/ hold these figures of the H200."""
    monkeypatch.setattr(recorded, "newest", lambda device: list(rows))
    monkeypatch.setattr(recorded, "figures", lambda device, *size: [
        row for row in rows if (row.rows, row.cols, row.dtype) == size])


@pytest.fixture
def stored(monkeypatch):
    """Counters and claims in measurements/; times come from `live`."""
    keep(monkeypatch, ())
    monkeypatch.setattr(recorded, "ncu", ncu)
    monkeypatch.setattr(recorded, "claim", claim)


# -- counting


@pytest.mark.parametrize(("name", "cols"), [("v0", 101), ("v1", 9222), ("v3", 12301), ("v4", 9000)])
def test_two_short_launches_foretell_a_long_one(name, cols):
    """The straight line through two short launches meets the launch in full, to the last digit."""
    version = versions.get(name)
    rows = 32 if version.work == "thread a row" else 8
    full = dict(counted._sample(version, version.source_hash, rows, cols))
    seen = counted.count(name, rows, cols)
    assert (seen.read, seen.written) == (32 * full.pop(counted._LOADS),
                                         32 * full.pop(counted._STORES))
    assert seen.instructions == full


def test_flops_are_those_of_the_algorithm():
    """V1: N + 255 maxima, 2N exponentials, N divisions a row; V4 computes exp once."""
    v1, v4 = (counted.count(name, 4096, 4096).instructions for name in ("v1", "v4"))
    assert (v1["max"], v1["ex2"], v1["div"]) == (4096 * (4096 + 255), 2 * 4096**2, 4096**2)
    assert v4["ex2"] == 4096**2
    assert counted.count("copy", 4096, 4096).flops == 0


def test_bytes_asked_for_are_nsights_sectors():
    """Sectors × 32 of the simulator are those that Nsight Compute recorded at 4096 × 4096."""
    (path,) = recorded.MEASUREMENTS.glob("ncu_nvidia_h200_*/counters.csv")
    with open(path, encoding="utf-8") as file:
        rows = {row["case"]: row for row in csv.DictReader(file)}
    for name in RUNGS:
        seen = counted.count(name, 4096, 4096)
        assert seen.read == 32 * int(rows[name][counted._LOADS]), name
        assert seen.written == 32 * int(rows[name][counted._STORES]), name


# -- cliffs


@pytest.mark.parametrize("card", specs.SPECS)
def test_cliffs_lie_where_the_condition_turns(card):
    """At the cliff the kernel still has room, one column further it has not."""
    spec, v4 = specs.get(card), versions.get("v4")
    found = {(c.names, c.what): c.cols for c in cliffs.cliffs(RUNGS, spec)}
    two, most = (found[("v4",), what]
                 for what in ("one block an SM", "refused, no shared memory left"))
    assert resident(v4, two, spec) == 2
    assert resident(v4, two + 1, spec) == 1
    assert v4.limits(most, "float32", spec) is None
    assert v4.limits(most + 1, "float32", spec) is not None
    l2 = found[("v1", "v2", "v3"), "rows in flight outgrow L2"]
    blocks = spec.threads_per_sm // 256 * spec.sms
    assert blocks * 4 * l2 <= spec.l2 < blocks * 4 * (l2 + 1)
    assert not any("v0" in names for names, _ in found)


def test_few_rows_outgrow_l2_later():
    """With fewer rows than the device holds blocks, only those rows compete for L2."""
    few, many = (
        next(c.cols for c in cliffs.cliffs(["v1"], specs.get("h200"), rows) if "L2" in c.what)
        for rows in (128, 4096)
    )
    assert few == specs.get("h200").l2 // (4 * 128) > many


# -- contents


def test_intensity_at_counted_flops_and_recorded_bytes(stored):
    """FLOPs of the simulator over requested and over DRAM bytes, in the time of the record."""
    said = roofline.intensity_content(live=figures())
    assert [point.name for point in said.points] == RUNGS
    v3, seen = said.points[3], counted.count("v3", 4096, 4096)
    matrix = 4 * 4096**2
    assert v3.asked == seen.flops / (4 * matrix)
    assert v3.moved == seen.flops / (1.75 * matrix)
    assert v3.gflops == pytest.approx(seen.flops / (2 * matrix / 3100e9) / 1e9)
    assert [(slope.gbps, slope.measured) for slope in said.slopes] == [(4800, False), (3700, True)]
    assert said.compute == ("H200 data sheet, FP32", 67000)
    assert [one.intensity for one in said.claims] == pytest.approx([0.25, 0.333, 0.458], abs=1e-3)
    assert "no roof of L2" in str(said)


def test_intensity_of_another_device_borrows_no_counters(stored):
    """A T4's DRAM bytes are not the H200's: only what is asked for is drawn, and that is said."""
    said = roofline.intensity_content(live=figures(device=T4))
    assert all(point.moved is None for point in said.points)
    assert "DRAM bytes of Tesla T4 at this size not recorded: V0, V1, V2, V3, V4" in said.notes


def test_a_measured_l2_becomes_a_roof(stored):
    """A row of the copy kernel on a matrix that stays in L2 draws the L2 roof."""
    warm = figure(recorded.L2_COPY, 1024, 9000.0, rows=1024)
    said = roofline.intensity_content(live=(*figures(), warm))
    assert ("L2, live", 9000.0) in [(slope.label, slope.gbps) for slope in said.slopes]
    assert "no roof of L2" not in str(said)


def test_intensity_without_claims_says_so(stored, monkeypatch):
    """The article's intensities are left out with the reason, not typed in."""
    def none(name):
        raise RecordError(f"no claim called {name}")

    monkeypatch.setattr(recorded, "claim", none)
    said = roofline.intensity_content(live=figures())
    assert said.claims == ()
    assert "no claim called intensity_scalar" in str(said)


def test_sweep_takes_the_rows_measured_at_most_sizes_and_leaves_gaps(stored):
    """M is never mixed; a size that one line lacks is missing there, not bridged."""
    live = [f for f in figures(sizes=SIZES[:5]) if (f.name, f.cols) != ("v1", 512)]
    said = roofline.sweep_content(live=[*live, figure("v1", 1024, rows=64)])
    assert "4096 × N" in said.title
    assert said.sizes == SIZES[:5]
    lines = {line.name: line for line in said.lines}
    assert list(lines) == [*RUNGS, "copy_kernel", "memcpy"]
    assert list(lines["v1"].gbps) == [128, 256, 1024, 2048]
    assert said.cliffs == ()  # all of them lie beyond the last size
    ax = roofline.sweep(live=live)
    marker = theme.mark("v1", ax.figure.look).marker
    (v1,) = [line for line in ax.lines if line.get_marker() == marker]
    assert [value != value for value in v1.get_ydata()] == [False, False, True, False, False]


def test_sweep_marks_the_cliffs_between_its_sizes(stored):
    """H200: L1, L2, one block an SM, refused; computed, in the order of N."""
    said = roofline.sweep_content(live=figures(sizes=SIZES))
    assert [(cliff.names, cliff.what[:16]) for cliff in said.cliffs] == [
        (("v1", "v2", "v3"), "rows in flight o"),
        (("v1", "v2", "v3"), "rows in flight o"),
        (("v4",), "one block an SM"),
        (("v4",), "refused, no shar"),
    ]
    assert said.roof == ("H200 data sheet", 4800)
    assert roofline.sweep_content(names=["v3"], live=figures(sizes=SIZES)).lines[0].name == "v3"


def test_names_that_are_not_there_are_refused(stored):
    """The message lists what there is."""
    with pytest.raises(ValueError, match="v0, v1.*got v9"):
        roofline.sweep(names=["v9"], live=figures())
    with pytest.raises(ValueError, match="v0, v1.*got copy"):
        roofline.intensity(["copy"])
    with pytest.raises(ValueError, match="got nobody"):
        roofline.traffic("nobody")


def test_figures_of_two_devices_are_one_chart_each(stored):
    """One line cannot belong to two devices."""
    with pytest.raises(ValueError, match="one device.*H200.*T4"):
        roofline.peers(live=(*figures(), *figures(device=T4)))


def test_traffic_counts_what_is_asked_for_and_what_moved(stored):
    """V3 asks for three reads and DRAM makes one: 201 MB, 67 MB; the article's account is 201."""
    said = roofline.traffic_content()
    matrix = said.matrix[4096]
    assert matrix == 4 * 4096**2
    by_name = {bar.name: bar for bar in said.bars}
    assert by_name["v3"].asked == by_name["v3"].account == (3 * matrix, matrix)
    assert by_name["v3"].moved == (matrix, 0.75 * matrix)
    assert by_name["v4"].account == (2 * matrix, matrix)
    assert by_name["v0"].asked == (24 * matrix, 8 * matrix)
    assert "V3 asks for 201 and 67, DRAM 67 and 50, the article's account 201 and 67" in str(said)
    assert "recorded with an older kernel: V2" in said.notes
    assert "DRAM: Nsight Compute, recorded, NVIDIA H200, 2026-11-30" in said.notes


def test_sizes_of_traffic_are_whole_numbers(stored):
    """NumPy's, too; none is a sentence."""
    said = roofline.traffic_content(["v3"], np.int64(64), np.int64(64))
    assert said == roofline.traffic_content(["v3"], 64, 64)
    for wrong in ({"cols": 0}, {"cols": 2.5}, {"rows": 0}, {"cols": (64, -1)}):
        with pytest.raises(ValueError, match="expected whole numbers from 1 on"):
            roofline.traffic(**wrong)


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0])
def test_what_is_no_number_is_refused_in_words(stored, value):
    """By every chart that takes live figures; Matplotlib would fail somewhere inside."""
    for key in ("gbps", "us"):
        live = [dataclasses.replace(figure("v3"), **{key: value})]
        for chart in (roofline.ladder, roofline.peers, roofline.sweep, roofline.intensity):
            with pytest.raises(ValueError, match=f"v3 at 4096×4096 has {key}={value}"):
                chart(live=live)


def test_of_a_size_measured_twice_every_chart_takes_the_last(stored):
    """Ladder, sweep and peers show one figure, not three."""
    live = [figure("v3", gbps=3000.0), dataclasses.replace(figure("v3", gbps=2000.0), kernel=None)]
    assert roofline.sweep_content(live=live).lines[0].gbps == {4096: 2000.0}
    assert roofline.content("v4", live).series[-1].bars == {"v3": 2000.0}
    assert [row.us for row in roofline.peers_content(live=live).rows] == [live[1].us]


def test_a_long_name_with_dollars_stays_text_and_out_of_the_way(stored):
    """No formula, no word over another; a run without a date says so."""
    device = "NVIDIA GeForce RTX 4090 $x$ Founders Edition, the second of this machine"
    live = [dataclasses.replace(one, device=device, date=None) for one in figures()]
    for chart in (roofline.ladder, roofline.peers, roofline.sweep):
        drawn = chart(live=live).figure
        apart(drawn)
        named = [text for text in drawn.findobj(Text) if "$" in text.get_text()]
        assert named
        assert not any(text.get_parse_math() for text in named)
        assert f"live, {device}, no date" in drawn.alt


def test_traffic_says_what_does_not_fit_and_what_is_not_recorded(stored):
    """V4 takes no 65536 columns; nobody recorded counters there."""
    said = roofline.traffic_content(["v3", "v4"], cols=(4096, 65536))
    assert [(bar.name, bar.cols) for bar in said.bars] == [("v3", 4096), ("v4", 4096),
                                                           ("v3", 65536)]
    assert "DRAM of NVIDIA H200 not recorded: V3 at 65536" in said.notes
    assert "rows too long for V4 at 65536" in said.notes
    with pytest.raises(ValueError, match="one to four N"):
        roofline.traffic(cols=())


def test_peers_are_sorted_by_time_with_their_share(stored):
    """Fastest first; the slow ones are cut, named, and keep their number."""
    said = roofline.peers_content(live=figures(SPEEDS | PEERS))
    times = [row.us for row in said.rows]
    assert times == sorted(times)
    assert len(times) == len(SPEEDS | PEERS)
    assert str(said.rows[0]) == "36.3 µs · 100.0% of copy"
    assert any("cut off" in note and "V0" in note for note in said.notes)


def prediction(name, us, device=H200, cols=4096):
    gbps = 2 * 4096 * cols * 4 / us / 1e3
    return SimpleNamespace(name=name, rows=4096, cols=cols, us=us, gbps=gbps, device=device,
                           why="limited by DRAM.")


def test_a_prediction_stands_beside_what_was_recorded(stored):
    """The miss is of the time, in per cent of the recorded one; what is not recorded has none."""
    (v3,) = [f for f in figures() if f.name == "v3"]
    made = [prediction("v3", 0.8 * v3.us), prediction("v4", 50.0)]
    said = roofline.predicted_content(made, live=[v3])
    assert [row.miss for row in said.rows] == [pytest.approx(-0.2), None]
    assert "−20%" in str(said)
    assert "limited by DRAM" in str(said)
    with pytest.raises(ValueError, match="4096×512 on NVIDIA H200"):
        roofline.predicted([prediction("v3", 9.0, cols=512)], live=[v3])


def test_what_was_recorded_is_drawn_without_live_figures(stored, monkeypatch):
    """All sizes for the sweep, one for the others; an older kernel is named in each."""
    keep(monkeypatch, [dataclasses.replace(one, kernel="0") if one.name == "v2" else one
                       for one in figures(sizes=(1024, 4096), origin="recorded")])
    older = "recorded with an older kernel: V2"
    for said in (roofline.sweep_content(), roofline.intensity_content(), roofline.peers_content()):
        assert "recorded, NVIDIA H200, 2026-12-02" in said.notes[0]
        assert older.split(":")[0] in str(said)
    assert [line.name for line in roofline.sweep_content().lines if line.older] == ["v2"]
    assert older in roofline.predicted_content([prediction("v2", 70.0)]).notes
    assert len(roofline.peers_content().rows) == len(SPEEDS)


def test_without_the_models_constants_there_is_a_note(stored, monkeypatch):
    """Latencies that nobody recorded leave an empty picture that says which."""
    def none(*where):
        raise RecordError("no latencies of NVIDIA H200")

    monkeypatch.setattr(recorded, "latency", none)
    ax = roofline.predicted()
    assert "no prediction: no latencies of NVIDIA H200" in ax.figure.alt
    apart(ax.figure)


def test_the_ladder_hatches_predictions_and_older_kernels(stored, monkeypatch):
    """A predicted bar is hollow and hatched, an older one crossed; both are named."""
    keep(monkeypatch, [dataclasses.replace(one, kernel="0") if one.name == "v1" else one
                       for one in figures(origin="recorded")])
    ax = roofline.ladder("v2", predicted=[prediction("v1", 60.0), prediction("v4", 60.0)])
    hatches = [patch.get_hatch() for patch in ax.patches]
    assert hatches.count(drawing.HATCH["predicted"]) == 1
    assert hatches.count(drawing.HATCH["older"]) == 1
    assert "1900\nolder" in [text.get_text() for text in ax.texts]
    assert "predicted, NVIDIA H200: V1 2237" in ax.figure.alt
    with pytest.raises(ValueError, match="predicted holds nothing at 4096×4096, only 4096×512"):
        roofline.ladder("v1", predicted=[prediction("v1", 9.0, cols=512)])


def test_a_version_keeps_its_colour_and_marker():
    """Two rungs never share both, and no rung looks like a peer or a copy."""
    look = theme.theme()
    marks = [theme.mark(f"v{k}", look) for k in range(10)]
    assert len({(one.colour, one.marker) for one in marks}) == 10
    assert len({one.marker for one in marks}) == 10
    peers = [theme.mark(name, look, list(PEERS)) for name in PEERS]
    assert not {one.colour for one in peers} & {one.colour for one in marks}


# -- pictures

EVERYBODY = SPEEDS | PEERS
INPUTS = {
    "h200": figures(EVERYBODY, SIZES),
    "t4": figures({name: gbps * 0.07 for name, gbps in SPEEDS.items()}, SIZES[:9], device=T4),
    "unknown": figures(SPEEDS, SIZES[:8], device="NVIDIA GeForce RTX 4090 Founders Edition"),
    "one": (figure("v3", gbps=3100.0),),
    "nothing": (),
}
CHARTS = {
    "intensity": lambda live, dark: roofline.intensity(live=live, dark=dark),
    "sweep": lambda live, dark: roofline.sweep(live=live, dark=dark),
    "peers": lambda live, dark: roofline.peers(live=live, dark=dark),
    "other-size": lambda live, dark: roofline.peers(64, 64, "float16", live=live, dark=dark),
    "predicted": lambda live, dark: roofline.predicted(
        [prediction(name, 40.0 + 3 * k, live[0].device if live else H200)
         for k, name in enumerate(RUNGS)], live=live, dark=dark),
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("chart", CHARTS)
def test_no_word_is_cut_off_or_over_another(stored, chart, given):
    """At notebook width, for other devices, one figure or none; the text says the title."""
    ax = CHARTS[chart](INPUTS[given], given == "t4")
    apart(ax.figure)
    assert ax.figure.alt.count(".") > 1
    markup = ax.figure._repr_html_()
    assert 'role="img" aria-label="' in markup
    assert ax.figure.look.ink not in markup


@pytest.mark.parametrize("cols", [4096, 64, (1024, 4096, 16384, 65536)])
def test_no_word_of_traffic_is_in_the_way(stored, cols):
    """One N with reads and writes, one that nobody recorded, four small panels."""
    apart(roofline.traffic(cols=cols).figure)


def test_a_readers_axes_are_used_and_kept(stored):
    """ax= is drawn on and returned, and the reader's settings stay."""
    before = dict(matplotlib.rcParams)
    for chart in (roofline.intensity, roofline.sweep, roofline.peers):
        _, ax = plt.subplots()
        assert chart(ax=ax, live=figures(sizes=SIZES[3:7])) is ax
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("values", [[], [0.5], [0.9, 0.95, 1.0], [0.0, 0.0, 0.0], [0.2] * 30])
def test_labels_stay_within_their_column(values):
    """Between the ends, in the order of the values, apart by the gap while there is room."""
    places = drawing.within(values, 0.06, 0.0, 1.0)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    ordered = [place for _, place in sorted(zip(values, places, strict=True))]
    gap = min(0.06, 1 / max(len(values) - 1, 1))
    assert all(b - a >= gap - 1e-9 for a, b in zip(ordered, ordered[1:], strict=False))
