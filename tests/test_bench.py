"""The benchmark: whole records, one size or a sweep that goes on past whatever fails."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import bench, device, launch, plan, provenance, recorded, subjects, timing, versions
from helpers import peers as libraries
from helpers.bench import BenchError, Case

LADDER = [version.name for version in versions.ladder()]


class FakeClock:
    """A device that takes `us[name]` µs for a launch of `name`, and for a graph their sum."""

    l2_bytes, flush_bytes = 512, 256 * 2**20

    def __init__(self):
        self.us, self.running, self.spent = {}, None, 0.0

    def flush(self):
        pass

    def event(self):
        return SimpleNamespace(record=self.start, synchronize=lambda: None)

    def start(self):
        self.spent, self.before = 0.0, self.spent

    def elapsed_us(self, start, end):
        return self.before

    def ran(self, name):
        self.spent += self.us.get(name, 20.0)

    def capture(self, launches):
        return SimpleNamespace(launch=lambda: [one() for one in launches])


@pytest.fixture
def clock(monkeypatch):
    """A machine that looks like a GPU to the benchmark and runs kernels where the tests run."""
    fake = FakeClock()
    launch_once = subjects.ArraySubject.launch

    def timed(self):
        launch_once(self)
        fake.ran(self.name)

    def memcpy(x, y):
        y[...] = x
        return y

    monkeypatch.setattr(subjects.ArraySubject, "launch", timed)
    monkeypatch.setattr(subjects, "_memcpy", memcpy)
    monkeypatch.setattr(timing, "WARMUP", 0)  # a simulated launch takes long
    monkeypatch.setattr(bench, "_clock", lambda: fake)
    monkeypatch.setattr(provenance, "libraries", lambda: {"numpy": np.__version__})
    monkeypatch.setattr(provenance, "where", lambda: {"device": "NVIDIA H200", "driver": "580.1",
                                                      "date": "2026-11-30"})
    monkeypatch.setattr(provenance, "clocks", lambda: "SM clock 1980 MHz")
    return fake


def peer(name, build, **more):
    """A stand-in for a library's softmax."""
    made = libraries.Peer(name, "a-package", "", build, (), **more)
    return dataclasses.replace(made)


@pytest.fixture
def peers(clock, monkeypatch):
    """Five peers: right, right in its own array, wrong, raising, and not installed."""

    def right(x, y):
        def queue():
            y[...] = device.cp.asarray(launch.expected("v1", x).astype(x.dtype))
            return y

        return queue

    def own(x, y):
        return lambda: device.cp.asarray(launch.expected("v1", x).astype(x.dtype))

    def wrong(x, y):
        return lambda: device.cp.zeros_like(x)

    def raising(x, y):
        raise RuntimeError(f"no kernel for {x.shape[1]} columns\nand much more")

    there = {name: peer(name, build) for name, build in
             {"right": right, "own": own, "wrong": wrong, "raising": raising}.items()}
    absent = peer("absent", right)
    monkeypatch.setattr(libraries, "PEERS", {**there, "absent": absent})
    monkeypatch.setattr(libraries.Peer, "missing", lambda self: "not installed; pip install it"
                        if self.name == "absent" else None)
    monkeypatch.setattr(libraries.Peer, "version", lambda self: "1.2.3")
    return clock


def test_without_a_gpu_the_way_out_is_the_recorded_table(monkeypatch):
    """The simulator has no clock: an error that says so and where the recorded figures are."""
    monkeypatch.setattr(device, "on_gpu", lambda: False)
    for call in (bench.ladder, bench.sweep, lambda: bench.time_version("v1", 64, 64)):
        with pytest.raises(BenchError, match=r"no clock.*recorded\.latest"):
            call()


def test_an_unknown_version_is_named_before_the_device_is_asked():
    """A typing mistake is told with the names there are."""
    with pytest.raises(ValueError, match="choose from"):
        bench.ladder(64, 64, ["v99"])


def test_a_ladder_is_a_whole_record(clock, tmp_path):
    """Both copies and every rung, with sources, shares and bandwidths, ready for the file."""
    clock.us = {"memcpy": 20.0, "copy_kernel": 16.0, **dict.fromkeys(LADDER, 40.0)}
    record = bench.ladder(6, 40, repeats=3)
    assert [row.name for row in record.rows] == ["memcpy", "copy_kernel", *LADDER]
    assert record.kernels == {
        "copy_kernel": versions.get("copy").source_hash,
        **{name: versions.get(name).source_hash for name in LADDER},
    }
    for row in record.rows:
        assert (row.rows, row.cols, row.dtype, row.repeats) == (6, 40, "float32", 3)
        assert row.gbps == pytest.approx(2 * 6 * 40 * 4 / (row.us * 1e3), rel=1e-4)
        assert row.label() == "live, NVIDIA H200, 2026-11-30"
    shares = {row.name: row.copy_share for row in record.rows}
    assert shares == {"memcpy": 0.8, "copy_kernel": 1.0, **dict.fromkeys(LADDER, 0.4)}
    for said in ("up to 3 timed launches", "256 MiB", "SM clock 1980 MHz; after it: SM clock"):
        assert said in record.method
    for unsaid in ("Peers", "Replayed", "Left out"):
        assert unsaid not in record.method
    stored = recorded.load(recorded.save(record, tmp_path / "h200.json"))
    assert stored.kernels == record.kernels


def test_one_version_comes_with_the_share_of_a_copy_of_the_same_run(clock):
    """time_version runs the copies too, or its share would be of another day's."""
    clock.us = {"v2": 80.0}
    figure = bench.time_version("v2", 5, 33, repeats=2)
    assert (figure.name, figure.us, figure.copy_share) == ("v2", 80.0, 0.25)
    assert bench.time_version("copy", 5, 33, repeats=2).name == "copy_kernel"


def test_a_changed_version_is_not_timed_under_the_catalogue_s_name(clock):
    """A block of 128 would be dropped, and the figure would pass for that of 256."""
    changed = dataclasses.replace(versions.get("v1"), block=128)
    with pytest.raises(ValueError, match=r"block=256.*block=128"):
        bench.time_version(changed, 64, 64)


def test_versions_of_another_type_are_measured_against_copies_of_their_bytes(clock):
    """A 16-bit version is set against copies of 16-bit elements; an odd number of them is no whole
    number of the words that the copy kernel moves."""
    record = bench.ladder(4, 32, ["naive_f16", "v1"], repeats=1)
    sized = [(row.name, row.dtype) for row in record.rows]
    assert sized == [("memcpy", "float16"), ("copy_kernel", "float16"), ("naive_f16", "float16"),
                     ("memcpy", "float32"), ("copy_kernel", "float32"), ("v1", "float32")]
    odd = bench.ladder(3, 33, ["naive_bf16"], repeats=1)
    assert [row.name for row in odd.rows] == ["memcpy", "naive_bf16"]


def test_a_kernel_that_writes_nothing_is_refused(clock, monkeypatch):
    """The array an earlier kernel filled rightly cannot pass for the work of the next."""
    real = launch.kernel
    monkeypatch.setattr(
        launch, "kernel", lambda v: (lambda *_, **__: None) if v.name == "v2" else real(v)
    )
    with pytest.raises(BenchError, match="v2 is not timed"):
        bench.ladder(4, 32, ["v1", "v2"], repeats=1)


def test_short_launches_are_all_timed_again_in_graphs(clock):
    """Where one takes under 10 µs, every row of the size is a launch's share of a graph, and the
    record says which size."""
    clock.us = {"memcpy": 9.0, "v1": 300.0}
    record = bench.ladder(4, 32, ["v1"], repeats=4)
    assert record.figure("v1", 4, 32).us == 300.0
    assert "Replayed: 4×32 float32 (3 launches a graph)." in record.method


def test_too_small_for_a_graph_stays_with_events(clock):
    """A matrix of a few bytes would need more launches than a graph should hold: it is said."""
    clock.us, clock.l2_bytes = {"memcpy": 9.0}, 60 * 2**20
    record = bench.ladder(1, 32, ["v1"], repeats=1)
    assert "Replayed" not in record.method
    assert "the whole size at 1×32 float32 (timed by events" in record.method


def test_what_cannot_be_captured_is_named(peers, monkeypatch):
    """Its row stays, timed by events; the others are replayed."""
    peers.us = {"memcpy": 9.0}
    real = timing.replay

    def replay(subject, *rest):
        if subject.name == "own":
            raise BenchError("own cannot be captured into a CUDA graph: it allocates")
        return real(subject, *rest)

    monkeypatch.setattr(bench, "replay", replay)
    record = bench.ladder(4, 32, ["v1"], repeats=1, peers=True)
    assert record.figure("own", 4, 32).us == 20.0
    assert "own at 4×32 float32 (timed by events: own cannot be captured" in record.method


def test_peers_are_checked_and_none_is_dropped_in_silence(peers):
    """The right ones have rows; the wrong, the raising and the absent are named with the reason."""
    record = bench.ladder(4, 32, ["v1"], repeats=1, peers=True)
    assert [row.name for row in record.rows] == ["memcpy", "copy_kernel", "v1", "right", "own"]
    assert record.libraries["a-package"] == "1.2.3"
    assert set(record.kernels) == {"copy_kernel", "v1"}
    for said in ("absent everywhere (not installed; pip install it)",
                 "wrong at 4×32 float32 (wrong is not timed because its result is wrong",
                 "raising at 4×32 float32 (RuntimeError: no kernel for 32 columns)",
                 "Peers get the same arrays"):  # fmt: skip
        assert said in record.method


def test_a_sweep_goes_on_past_what_fails(peers, tmp_path):
    """Every size that can be timed is; the same reason at several sizes is told once."""
    cases = [Case(4, 32, "float32", ("v1", "v3"), ("raising",)),
             Case(2, 58100, "float32", ("v4",), ("raising", "right")),
             Case(4, 16, "bfloat16", ("naive_bf16",), ("own",))]  # fmt: skip
    path = tmp_path / "h200.json"
    record = bench.sweep(cases, path, repeats=1)
    named = [(row.name, row.cols) for row in record.rows if row.name not in recorded.CEILINGS]
    assert named == [("v1", 32), ("v3", 32), ("right", 58100), ("naive_bf16", 16), ("own", 16)]
    assert "v4 at 2×58100 float32 (v4 takes at most" in record.method
    both = "raising at 4×32 float32, 2×58100 float32 (RuntimeError: no kernel for 32 columns)"
    assert both in record.method
    assert recorded.load(path).method == record.method
    assert [file.name for file in tmp_path.iterdir()] == ["h200.json"]


def test_the_roof_of_the_l2_is_a_copy_that_stays_there(peers, clock):
    """One more row: a hundred copies of one pair of matrices; a note where they do not fit."""
    record = bench.sweep([Case(4, 8, resident=True), Case(4, 48, resident=True)], repeats=1)
    roofs = [row for row in record.rows if row.name == recorded.L2_COPY]
    assert [(row.rows, row.cols, row.us) for row in roofs] == [(4, 8, 20.0)]
    assert f"replayed {bench.L2_TURNS} times a graph on one pair" in record.method
    assert "l2_copy at 4×48 float32 (two such matrices do not stay in this L2)" in record.method


def test_what_is_finished_survives_a_crash(peers, tmp_path, monkeypatch):
    """After every size the record so far lies beside the file to be."""
    real = launch.config

    def config(version, rows, cols):
        if cols == 48:
            raise KeyboardInterrupt
        return real(version, rows, cols)

    monkeypatch.setattr(launch, "config", config)
    cases = [Case(4, 32, "float32", ("v1",)), Case(4, 48, "float32", ("v1",))]
    with pytest.raises(KeyboardInterrupt):
        bench.sweep(cases, tmp_path / "h200.json", repeats=1)
    left = recorded.load(tmp_path / "h200.json.partial")
    assert {row.cols for row in left.rows} == {32}
    assert recorded.latest(folder=tmp_path) is None


def test_a_dead_device_ends_the_sweep_with_what_there_is(peers, monkeypatch):
    """After an illegal access no kernel runs any more: the rest is named, not tried."""
    cases = [Case(4, 32, "float32", ("v1",), ("right",)), Case(4, 48, "float32", (), ("raising",)),
             Case(4, 64, "float32", ("v1",))]  # fmt: skip
    monkeypatch.setattr(bench, "_answers", lambda: False)
    record = bench.sweep(cases, repeats=1)
    assert {row.cols for row in record.rows} == {32, 48}
    assert "the whole size at 4×64 float32 (the device had stopped answering)" in record.method


def test_a_sweep_ends_in_its_time(clock, monkeypatch):
    """Sizes that no longer fit are named; none is begun that might not end in time."""
    now = iter(range(0, 10000, 20))
    monkeypatch.setattr(bench.time, "monotonic", lambda: next(now))
    cases = [Case(4, cols, "float32", ("v1",)) for cols in (16, 32, 48, 64)]
    record = bench.sweep(cases, repeats=1, minutes=1.5)
    assert {row.cols for row in record.rows} == {16, 32, 48}
    assert "the whole size at 4×64 float32 (the 1.5 minutes were over)" in record.method


def test_a_size_without_memory_is_named(clock, monkeypatch):
    """The next size is tried all the same."""
    real = bench.ondevice.normal

    def normal(rows, cols, *rest):
        if cols == 48:
            raise MemoryError("Out of memory allocating 9 bytes")
        return real(rows, cols, *rest)

    monkeypatch.setattr(bench.ondevice, "normal", normal)
    record = bench.sweep([Case(4, 48), Case(4, 32)], repeats=1)
    assert {row.cols for row in record.rows} == {32}
    assert "the whole size at 4×48 float32 (MemoryError: Out of memory" in record.method


def test_a_file_that_cannot_be_written_is_found_first(tmp_path):
    """Before a sweep of minutes, not after it."""
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere to write to.*--out"):
        bench.sweep([], tmp_path / "nowhere" / "h200.json")


def test_the_default_file_is_of_device_and_date(clock):
    """Where `recorded.latest` looks for it."""
    assert bench.default_file() == recorded.MEASUREMENTS / "h200_2026-11-30.json"


WANTED = {
    *((4096, 2**k) for k in range(7, 19)),
    *((131072, 1024), (1048576, 128), (32768, 4096), (8192, 32768), (16, 1048576), (1, 16777216)),
    *((4096, 50257), (4096, 151936), (32768, 4097)),
}


def test_the_default_plan_has_every_size_the_lessons_speak_of():
    """float32 over N and M with every rung and peer; both 16-bit types; no size twice."""
    cases = plan.default_plan()
    sizes = {(case.rows, case.cols) for case in cases if case.dtype == "float32"}
    assert sizes >= WANTED
    assert len({str(case) for case in cases}) == len(cases)
    for case in cases:
        assert 2 * case.rows * case.cols <= 2**32  # two matrices of 8 GiB, on the largest cards
        assert set(case.peers) == {n for n, p in libraries.PEERS.items() if case.dtype in p.dtypes}
        if case.dtype == "float32" and case.cols <= 1048576:
            assert list(case.versions) == LADDER
    single = next(case for case in cases if case.rows == 1)
    assert "v0" not in single.versions and set(LADDER) - set(single.versions) == {"v0"}  # noqa: PT018
    assert {case.dtype for case in cases} == {"float32", "float16", "bfloat16"}
    assert {name for case in cases for name in case.versions} >= {"naive_f16", "naive_bf16"}


def figure(name, us, cols=64):
    return recorded.Figure(name, 4, cols, "float32", us, us, us, 50, 1.0, 0.5, "recorded",
                           "NVIDIA H200", "2026-11-30", "580")  # fmt: skip


def run_of(*figures):
    return recorded.Record("NVIDIA H200", "580", "2026-11-30", "", {}, {}, figures)


def test_two_runs_are_compared_row_by_row():
    """The worst row first, relative to the faster of the two; what only one has does not count."""
    a = run_of(figure("v1", 100.0), figure("v2", 50.0), figure("v3", 10.0), figure("v4", 1.0))
    b = run_of(figure("v1", 104.0), figure("v2", 40.0), figure("v3", 10.0), figure("v4", 9.0, 32))
    found = bench.repeatability(a, b)
    assert found.rows == (("v2", "4×64 float32", 0.25), ("v1", "4×64 float32", pytest.approx(0.04)),
                          ("v3", "4×64 float32", 0.0))  # fmt: skip
    assert found.worst == 0.25
    assert not found.within(0.05)
    assert str(found) == "3 rows; the worst is v2 at 4×64 float32, 25.0% apart"
    assert bench.repeatability(b, a) == found
    with pytest.raises(BenchError, match="no row in common"):
        bench.repeatability(a, run_of(figure("v1", 1.0, 32)))


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
    monkeypatch.setattr(provenance.Path, "read_text", lambda *_, **__: text)
    assert provenance.driver() == number

    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(provenance.Path, "read_text", missing)
    monkeypatch.setattr(provenance, "_nvidia_smi", lambda query: text)
    assert provenance.driver() == number


def test_clocks_and_temperature_are_noted_where_nvidia_smi_tells(monkeypatch):
    """Three figures for the method, nothing where there is no nvidia-smi."""
    monkeypatch.setattr(provenance, "_nvidia_smi", lambda query: "1980 MHz, 3201 MHz, 35\n")
    assert provenance.clocks() == "SM clock 1980 MHz, memory clock 3201 MHz, 35 °C"
    monkeypatch.setattr(provenance, "_nvidia_smi", lambda query: "")
    assert provenance.clocks() == ""


@pytest.mark.skipif(not device.on_gpu(), reason="times need a GPU")
def test_figures_of_a_real_gpu_are_possible():
    """No copy is faster than the memory, no softmax much faster than the copy; two runs agree."""
    record = bench.ladder(4096, 4096, ["v3"])
    assert record.figure("memcpy").gbps * 1e9 < device.spec().bandwidth
    assert 0.1 < record.figure("v3").copy_share < 1.1
    assert record.driver
    assert bench.repeatability(record, bench.ladder(4096, 4096, ["v3"])).within(0.05)
