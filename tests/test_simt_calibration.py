"""The simulator's counters against Nsight Compute's on a GPU: every calibration kernel, every rung.

The measurement is kept in measurements/ncu_…; tests/calibration/run.py makes a new one.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from simt_runs import needs_nvrtc

from helpers import correlation, simt
from helpers.simt.observers.names import LAUNCHED

CALIBRATION = Path(__file__).parent / "calibration"
sys.path.insert(0, str(CALIBRATION))
from cases import CASES  # noqa: E402 - lies beside the kernels

sys.path.remove(str(CALIBRATION))
pytestmark = needs_nvrtc


@pytest.fixture(scope="module")
def measured():
    try:
        return correlation.load()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def profiled(case, known) -> tuple:
    """(profile, how many times the measured launch it is smaller) of a case that was measured."""
    if case.name not in known.counters:
        pytest.skip(f"not in {known.folder.name}: tests/calibration/run.py measures it")
    if known.stale(case.path):
        pytest.skip(f"{case.path.name} has changed since {known.folder.name} was measured")
    small = case.part or case
    kernel = simt.RawKernel(small.path.read_text(encoding="utf-8"), small.entry)
    if small.shared:
        kernel.max_dynamic_shared_size_bytes = small.shared
    seen = simt.profile(kernel, small.grid, small.block, small.arguments(), small.shared)
    assert seen.defects == []
    return seen, case.parts


def compared(case, known) -> list:
    seen, parts = profiled(case, known)
    counters = dict(seen.counters)
    if case.part:  # accesses are a parts-th, blocks need not be
        for launched in LAUNCHED.values():
            del counters[launched]
    return known.pairs(case.name, counters, seen.lines, parts)


@pytest.mark.parametrize("name", CASES)
def test_counters_equal_the_hardware(name, measured):
    """Exact where nothing but the access decides; in the band where the hardware counts its
    delays as well; and where a listed cause makes a difference, there still is one."""
    pairs = compared(CASES[name], measured)
    assert len(pairs) > 20
    wrong = [p for p in pairs if not p.allowed and not p.outlier]
    assert not wrong, wrong


def test_every_outlier_still_is_one(measured):
    """The list of outliers holds nothing that the simulator has learnt since."""
    cases = ["shared_atom_float, stride 8, 32 lanes", "red_uniform", "async_16, stride 4"]
    cases += ["red_at, random", "shared_load_128, a lane a quarter"]
    pairs = [p for name in cases for p in compared(CASES[name], measured)]
    found = correlation.Correlation(tuple(pairs)).outliers()
    assert {outlier for outlier, _ in found} == set(correlation.OUTLIERS)


@pytest.mark.parametrize("name", ["naive_f32", "v1", "v4", "copy"])
def test_memory_reads_at_least_the_unique_sectors(name, measured):
    """With cold caches, the DRAM must deliver every sector that the grid reads."""
    seen, parts = profiled(CASES[name], measured)
    assert seen.unique["read"] * 32 * parts <= measured.counters[name]["dram__bytes_read.sum"]
    assert seen.unique["read"] > 0


def test_the_measurement_is_complete(measured):
    """Provenance, and every kernel of the calibration and the catalogue."""
    for key in ("device", "driver", "date", "ncu", "nvcc", "method", "kernels"):
        assert measured.about[key]
    assert {"v0", "v1", "v2", "v3", "v4", "copy", "naive_f32"} <= measured.counters.keys()
    assert (measured.folder / "kernels.ptx").read_text().count(".visible .entry") >= 40
    files = list(measured.folder.iterdir())
    assert len(files) <= 8
    assert sum(file.stat().st_size for file in files) <= 1 << 20


def pair(simulated, measured, metric="memory_l1_wavefronts_shared", case="a", delays=0.0):
    return correlation.Pair(case, metric, simulated, measured, delays)


def test_what_is_allowed():
    """Only the hardware may have more, only where it counts delays, only by the band."""
    assert pair(5, 5).allowed
    assert not pair(5, 6).allowed
    assert pair(100, 120, delays=31).allowed
    assert not pair(100, 140, delays=31).allowed
    assert not pair(100, 99, delays=31).allowed


def test_the_table_names_each_metric_and_each_cause():
    """A metric a row, how many pairs are equal, and the sentence of every outlier met."""
    pairs = [pair(5, 5), pair(100, 120, delays=31), pair(1, 3, case="shared_atom_float, x")]
    found = correlation.Correlation(tuple(pairs), "a GPU")
    assert found.rows() == [("memory_l1_wavefronts_shared", 3, 1, 1, "+20.0%")]
    assert found.wrong() == []
    assert "a GPU" in str(found)
    assert "compare-and-swap" in str(found)
    assert "&lt;" in correlation.Correlation(tuple(pairs), "<b>")._repr_html_()
    assert correlation.Correlation((pair(5, 7),)).wrong() == [pair(5, 7)]


def test_the_plot_shows_every_pair():
    """A point for each pair that is not zero on both sides, crosses for outliers, and its text."""
    pairs = [pair(5, 5), pair(0, 0), pair(0, 7), pair(1, 3, case="shared_atom_float, x")]
    ax = correlation.plot(pairs)
    points = np.concatenate([c.get_offsets() for c in ax.collections])
    assert len(points) == 3
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert "1 of 3 numbers are equal" in ax.figure.alt


def test_without_a_measurement(tmp_path, monkeypatch):
    """The error says what is missing and how to get it."""
    monkeypatch.setattr(correlation, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="calibration/run.py"):
        correlation.load()
