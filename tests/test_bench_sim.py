"""The simulator's own speed: figures with their place and date, from checked results only."""

import json
import re
import time

import numpy as np
import pytest

from helpers import bench_sim, launch, simt, versions
from helpers.bench_sim import MODES, NUMBA, Sample


def samples(**changed):
    """Results of a made-up run: 2 million elements a second, and whatever is changed."""
    made = {("v1", mode): Sample("v1", mode, 1000, 1000, 0.5, 10**8) for mode in MODES}
    return made | {("v1", NUMBA): "not installed (pip install numba)"} | changed


@pytest.mark.parametrize("mode", MODES)
def test_a_figure_has_a_rate_and_a_peak(mode):
    """Elements of the matrix by the time of a launch; the process's memory at its height."""
    found = bench_sim.measure("v1", mode, 3, 40, repeats=1)
    assert (found.name, found.mode, found.rows, found.cols) == ("v1", mode, 3, 40)
    assert found.rate == pytest.approx(120 / found.seconds / 1e6)
    assert found.peak is None or 10**7 < found.peak < 10**10


def test_the_fastest_of_the_launches_counts(monkeypatch):
    """Three runs of 5, 2 and 4 seconds: 2."""
    clock = iter([0, 5, 10, 12, 20, 24])
    monkeypatch.setattr(bench_sim.time, "perf_counter", lambda: next(clock))
    assert bench_sim.fastest(lambda: None, 3) == 2


def test_a_wrong_result_is_not_timed(monkeypatch):
    """The first launch is compared with the reference before any is timed."""
    monkeypatch.setattr(bench_sim, "fastest", lambda *_: pytest.fail("timed"))
    monkeypatch.setattr(bench_sim.reference, "softmax", lambda x: np.zeros(x.shape) + 0.5)
    with pytest.raises(RuntimeError, match="v1 computes something wrong"):
        bench_sim.measure("v1", "no checks", 3, 40)


def test_a_process_of_its_own():
    """Returns the same Sample, or one line on what went wrong there."""
    found = bench_sim.separately("v2", "counters", 2, 64, 1)
    assert isinstance(found, Sample), found
    assert (found.name, found.mode, found.rows) == ("v2", "counters", 2)
    why = bench_sim.separately("v9", "counters", 2, 64, 1)
    assert "no version called 'v9'" in why
    assert "\n" not in why


def test_numba_beside_ours():
    """Its simulator runs the same algorithm, and the result is checked."""
    pytest.importorskip("numba")
    found = bench_sim.separately("v1", NUMBA, 1, 256, 1)
    assert isinstance(found, Sample), found
    assert found.rate > 0


def test_without_numba(monkeypatch):
    """One line says that it is not there and how to get it."""
    monkeypatch.setattr(bench_sim.importlib.util, "find_spec", lambda name: None)
    found = bench_sim.separately("v1", NUMBA, 1, 256, 1)
    assert found == "not installed (pip install numba)"
    assert found in bench_sim.table(samples(), 1000, 1000)


def test_the_table_says_where_and_when():
    """Sizes, unit, machine, cores and date; a rate a mode; the highest peak."""
    results = samples()
    results["v1", MODES[2]] = Sample("v1", MODES[2], 1000, 1000, 2.0, 3 * 10**8)
    results["v1", NUMBA] = Sample("v1", NUMBA, 2, 1000, 1.0, 10**8)
    text = bench_sim.table(results, 1000, 1000)
    assert re.search(
        r"1000 × 1000, million elements a second \(this machine, \d+ cores?, \d{4}-", text
    )
    row = next(line for line in text.splitlines() if line.startswith("v1"))
    assert row.split() == ["v1", "2.00", "2.00", "0.50", "300", "MB"]
    assert "Numba's CUDA simulator, V1's algorithm: 0.0020 at 2 × 1000" in text


def test_a_failure_is_said_below_the_table():
    """The cell says so, the reason follows."""
    results = samples()
    results["v1", MODES[1]] = "MemoryError: no"
    text = bench_sim.table(results, 1000, 1000)
    assert "failed" in text
    assert "v1, counters: MemoryError: no" in text


def test_the_command(monkeypatch, capsys):
    """Every mode of the versions asked for, then Numba; JSON on request; 1 when one fails."""
    asked = []

    def separately(*job):
        asked.append(job)
        return samples().get(job[:2], "broken")

    monkeypatch.setattr(bench_sim, "separately", separately)
    assert bench_sim.main(["v1", "--rows", "8", "--cols", "16", "--repeats", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["mode"] for row in data["rows"]] == [*MODES, NUMBA]
    assert data["rows"][0]["rate"] == 2.0
    assert asked == [("v1", m, 8, 16, 2) for m in MODES] + [("v1", NUMBA, 2, 1024, 1)]
    assert bench_sim.main(["v0", "v1"]) == 1
    assert "v0, no checks: broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"), [(["v7"], "choose from v0, v1"), (["--rows", "0"], "start at 1")]
)
def test_a_wrong_command(line, said, capsys):
    """A rung that is not there, a size of 0: what there is, and exit code 2."""
    with pytest.raises(SystemExit) as ended:
        bench_sim.main(line)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


# ---------------------------------------------------------------------------- small launches
def seconds(name: str, rows: int, cols: int) -> float:
    """Processor seconds of a launch, the best of four."""
    x = launch.normal(rows, cols, versions.get(name).np_dtype)
    times = []
    for _ in range(4):
        start = time.process_time()
        launch.run(name, x)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", ["naive_f32", "naive_f16", "v0"])
def test_idle_threads_cost_nothing(name):
    """One row, and 255 threads that have left: not dearer than 256 rows (twice, for the noise)."""
    if launch.device.on_gpu():
        pytest.skip("a property of the simulator")
    assert seconds(name, 1, 64) < 2 * seconds(name, 256, 64)


def test_threads_that_leave_early_change_nothing():
    """Registers of lanes that have left may hold anything: the others' results stay the same."""
    version = versions.get("v0")
    for rows in (1, 31, 33, 255, 257):
        x = np.random.default_rng(rows).standard_normal((rows, 37), dtype=np.float32)
        results = []
        for schedule in ("lowest", "highest", 1):
            y = np.empty_like(x)
            with simt.limits(schedule=schedule):
                kernel = simt.RawKernel(version.source, version.entry)
                kernel(version.grid(rows, 37), (256,), (x, y, rows, 37))
            results.append(y.tobytes())
        assert len(set(results)) == 1
        assert np.allclose(y, launch.expected(version, x), rtol=1e-5)
