"""Timing: checked first, flushed before each launch, events around the launch and nothing else."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import bench, device, launch, recorded, reference, specs, versions
from helpers.bench import BenchError, Subject

RIGHT = reference.compare(np.ones((1, 1)), np.ones((1, 1)))
WRONG = reference.compare(np.full((1, 1), 2.0), np.ones((1, 1)))
NAN = reference.compare(np.full((1, 1), np.nan), np.ones((1, 1)))


class FakeClock:
    """Logs every action and answers the times it was given, the last one for ever."""

    flush_bytes = 256 * 2**20

    def __init__(self, *times):
        self.log, self.times = [], list(times)

    def flush(self):
        self.log.append("flush")

    def event(self):
        return SimpleNamespace(
            record=lambda: self.log.append("record"), synchronize=lambda: self.log.append("sync")
        )

    def elapsed_us(self, start, end):
        assert start is not end
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


def subject(clock, comparison=RIGHT):
    def check():
        clock.log.append("check")
        return comparison

    return Subject("v9", lambda: clock.log.append("launch"), check, 1e-6)


def test_the_sequence_of_a_measurement():
    """Check, warm up, then for each repetition flush, record, launch, record, wait."""
    clock = FakeClock(5.0)
    bench.measure(subject(clock), clock, repeats=3, warmup=2)
    once = ["flush", "record", "launch", "record", "sync"]
    assert clock.log == ["check", "launch", "launch", *once * 3]


def test_median_and_quartiles():
    """The result is what half and three quarters of the launches undercut, one outlier or not."""
    clock = FakeClock(30.0, 10.0, 20.0, 1000.0, 40.0)
    assert bench.measure(subject(clock), clock, repeats=5) == (20.0, 30.0, 40.0)


@pytest.mark.parametrize("comparison", [WRONG, NAN], ids=["wrong", "nan"])
def test_a_wrong_kernel_is_never_timed(comparison):
    """A result out of tolerance, or NaN, is refused before the first timed launch."""
    clock = FakeClock(5.0)
    with pytest.raises(BenchError, match="v9 is not timed because its result is wrong"):
        bench.measure(subject(clock, comparison), clock)
    assert clock.log == ["check"]


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(time):
    """Zero, negative and not-a-number never become a figure."""
    clock = FakeClock(5.0, time, 5.0)
    with pytest.raises(BenchError, match="is no time"):
        bench.measure(subject(clock), clock, repeats=3)


def test_no_repetitions_no_figure():
    """A median of nothing is an error, found before anything runs."""
    clock = FakeClock(5.0)
    with pytest.raises(BenchError, match="repeats=0"):
        bench.measure(subject(clock), clock, repeats=0)
    assert clock.log == []


@pytest.mark.parametrize("spec", specs.SPECS.values(), ids=lambda spec: spec.name)
def test_the_flush_writes_at_least_twice_the_l2(spec, monkeypatch):
    """What the flush writes displaces the whole cache of every card the lessons know."""
    written = []
    data = SimpleNamespace(memset_async=lambda value, size: written.append(size))
    fake = SimpleNamespace(zeros=lambda size, dtype: SimpleNamespace(data=data), uint8=None)
    monkeypatch.setitem(vars(device), "cp", fake)
    bench.GpuClock(spec.l2).flush()
    assert written[0] >= max(2 * spec.l2, 256 * 2**20)


def test_events_tell_microseconds(monkeypatch):
    """CUDA reports milliseconds; figures are in microseconds."""
    cuda = SimpleNamespace(get_elapsed_time=lambda start, end: end - start)
    fake = SimpleNamespace(zeros=lambda size, dtype: None, uint8=None, cuda=cuda)
    monkeypatch.setitem(vars(device), "cp", fake)
    assert bench.GpuClock(0).elapsed_us(1.0, 1.5) == 500.0


def test_without_a_gpu_the_way_out_is_the_recorded_table(monkeypatch):
    """The simulator has no clock: an error that says so and where the recorded figures are."""
    monkeypatch.setattr(device, "on_gpu", lambda: False)
    for call in (bench.ladder, lambda: bench.time_version("v1", 64, 64)):
        with pytest.raises(BenchError, match=r"no clock.*recorded\.latest"):
            call()


def test_an_unknown_version_is_named_before_the_device_is_asked():
    """A typing mistake is told with the names there are."""
    with pytest.raises(ValueError, match="choose from"):
        bench.ladder(64, 64, ["v99"])


@pytest.fixture
def clock(monkeypatch):
    """A machine that looks like a GPU to the benchmark and runs kernels where the tests run."""
    fake = FakeClock(8.0)
    monkeypatch.setattr(bench, "_clock", lambda: fake)
    monkeypatch.setattr(bench, "_memcpy", lambda x, y: y.__setitem__(..., x))
    monkeypatch.setattr(bench, "_libraries", lambda: {"numpy": np.__version__})
    monkeypatch.setattr(bench, "_provenance", lambda: {"device": "NVIDIA H200", "driver": "580.1",
                                                       "date": "2026-11-30"})
    monkeypatch.setattr(bench, "_clocks_note", lambda: "")
    return fake


def test_a_ladder_is_a_whole_record(clock, tmp_path):
    """Both copies and every rung, with sources, shares and bandwidths, ready for the file."""
    clock.times = [10.0] * 3 + [8.0] * 3 + [20.0]  # memcpy, the copy kernel, then the rungs
    record = bench.ladder(6, 40, repeats=3)
    rungs = [version.name for version in versions.ladder()]
    assert [row.name for row in record.rows] == ["memcpy", "copy_kernel", *rungs]
    assert record.kernels == {
        "copy_kernel": versions.get("copy").source_hash,
        **{name: versions.get(name).source_hash for name in rungs},
    }
    for row in record.rows:
        assert (row.rows, row.cols, row.dtype, row.repeats) == (6, 40, "float32", 3)
        assert row.gbps == pytest.approx(2 * 6 * 40 * 4 / (row.us * 1e3), abs=0.06)
        assert row.label() == "live, NVIDIA H200, 2026-11-30"
    shares = {row.name: row.copy_share for row in record.rows}
    assert shares == {"memcpy": 0.8, "copy_kernel": 1.0, **dict.fromkeys(rungs, 0.4)}
    assert "256 MiB" in record.method
    stored = recorded.load(recorded.save(record, tmp_path / "h200.json"))
    assert stored.kernels == record.kernels


def test_one_version_comes_with_the_share_of_a_copy_of_the_same_run(clock):
    """time_version runs the copies too, or its share would be of another day's."""
    clock.times = [10.0] * 4 + [40.0]
    figure = bench.time_version("v2", 5, 33, repeats=2)
    assert (figure.name, figure.us, figure.copy_share) == ("v2", 40.0, 0.25)
    assert bench.time_version("copy", 5, 33, repeats=2).name == "copy_kernel"


def test_versions_of_another_type_are_measured_against_a_copy_of_their_bytes(clock):
    """A 16-bit version is set against a memcpy of 16-bit elements, not the float32 kernel."""
    record = bench.ladder(4, 32, ["naive_f16", "v1"], repeats=1)
    sized = [(row.name, row.dtype) for row in record.rows]
    assert sized == [("memcpy", "float16"), ("naive_f16", "float16"), ("memcpy", "float32"),
                     ("copy_kernel", "float32"), ("v1", "float32")]


def test_a_kernel_that_writes_nothing_is_refused(clock, monkeypatch):
    """The array an earlier kernel filled rightly cannot pass for the work of the next."""
    real = launch.run
    monkeypatch.setattr(
        launch, "run", lambda v, x, out=None: out if v.name == "v2" else real(v, x, out)
    )
    with pytest.raises(BenchError, match="v2 is not timed"):
        bench.ladder(4, 32, ["v1", "v2"], repeats=1)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
         "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1)", "580.159.04"),
        ("560.94\n560.94\n", "560.94"),
        ("", None),
    ],
)
def test_the_drivers_number_is_read_from_what_there_is(text, number, monkeypatch):
    """From /proc or nvidia-smi alike; None, not a guess, where neither tells."""
    monkeypatch.setattr(bench.Path, "read_text", lambda *_, **__: text)
    assert bench._driver() == number

    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(bench.Path, "read_text", missing)
    monkeypatch.setattr(bench, "_nvidia_smi", lambda query: text)
    assert bench._driver() == number


def test_clocks_and_temperature_are_noted_where_nvidia_smi_tells(monkeypatch):
    """One sentence for the method, nothing where there is no nvidia-smi."""
    monkeypatch.setattr(bench, "_nvidia_smi", lambda query: "1980 MHz, 3201 MHz, 35\n")
    assert "SM clock 1980 MHz, memory clock 3201 MHz, 35 °C" in bench._clocks_note()
    monkeypatch.setattr(bench, "_nvidia_smi", lambda query: "")
    assert bench._clocks_note() == ""


@pytest.mark.skipif(not device.on_gpu(), reason="times need a GPU")
def test_figures_of_a_real_gpu_are_possible():
    """No copy is faster than the memory, no softmax much faster than the copy."""
    record = bench.ladder(4096, 4096, ["v3"])
    assert record.figure("memcpy").gbps * 1e9 < device.spec().bandwidth
    assert 0.1 < record.figure("v3").copy_share < 1.1
    assert record.driver
