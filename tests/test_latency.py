"""Latencies: chains that are pure, a refusal without a GPU, records that are whole or refused."""

import dataclasses
import hashlib
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from simt_runs import needs_nvrtc

from helpers import files, latency, recorded, simt
from helpers.latency import Latencies, LatencyError
from helpers.simt import nvrtc
from helpers.simt.source import entries

CYCLES = {"fma": 4.0, "shuffle_down": 24.0, "shuffle_idx": 26.0, "shared_load": 23.0,
          "l1_load": 32.0, "l2_load": 280.0, "dram_load": 660.0,
          **{f"barrier_{n}": 12.0 + 2 * n for n in latency.WARPS}}  # fmt: skip
US = {"one_block": 2.9, "one_wave": 2.8, "block": 0.0, "graph": 0.6}
FOUND = Latencies("NVIDIA H200", "1", "2026-11-30", "how", latency.source_hash(), CYCLES, US,
                  "live")  # fmt: skip


def test_without_a_gpu_it_is_refused(monkeypatch):
    """The simulator has no clock; the way out is what is recorded."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    with pytest.raises(LatencyError, match=r"has no clock.*recorded\.latency"):
        latency.measure()


@needs_nvrtc
def test_the_simulator_refuses_the_chains():
    """They read the GPU's clock, and it has none: no time can come from it."""
    text = latency.source()
    assert sorted(entries(text)) == sorted(
        ["nothing", *(f"chain_{n}" for n in ("fma", "shuffle_down", "shuffle_idx", "shared", "load",
                                             "barrier"))]
    )  # fmt: skip
    with pytest.raises(simt.UnsupportedInstruction, match="clock"):
        simt.RawKernel(text, "chain_barrier")((1,), (32,), (np.zeros(1, np.int64), 4))


@needs_nvrtc
def test_a_chain_holds_nothing_but_its_steps():
    """The unrolled loop: 128 steps, and not an instruction between them that a step waits for."""
    ptx = nvrtc.compile_ptx(latency.source())
    for entry, step in (("chain_fma", "fma.rn.f32"), ("chain_shuffle_down", "shfl.sync.down"),
                        ("chain_shuffle_idx", "shfl.sync.idx")):  # fmt: skip
        body = re.search(rf"\.entry {entry}\(.*?\n}}", ptx, re.DOTALL)[0]
        lines = [line.strip() for line in body.splitlines()]
        steps = [i for i, line in enumerate(lines) if step in line]
        assert len(steps) >= 128
        others = {line.split()[0] for line in lines[steps[0] : steps[127]] if line
                  and not line.startswith((".loc", "//")) and step not in line}  # fmt: skip
        assert not {o for o in others if not o.startswith(("mov", "add", "setp", "@", "bra", "$L"))}


@pytest.fixture
def gpu(monkeypatch):
    """A GPU whose chains take 5 cycles a step and 1000 to start, and whose launches take 3 µs."""
    class Kernel:
        def __init__(self, text, entry):
            self.entry = entry

        def __call__(self, grid, block, args):
            if self.entry != "nothing":
                steps = next(a for a in reversed(args) if type(a) is int and a >= latency.STEPS)
                args[0][0] = 1000 + 5 * steps

    def zeros(count, dtype):
        array = np.zeros(min(count, 1000), dtype).view(Array)
        array.asked = count
        return array

    class Array(np.ndarray):
        data = property(lambda self: SimpleNamespace(ptr=0, memset_async=lambda *a: None))

        def set(self, host):
            pass

    events = SimpleNamespace(record=lambda *a: None, synchronize=lambda: None)
    cuda = SimpleNamespace(Event=lambda: events, get_elapsed_time=lambda a, b: 0.003)
    monkeypatch.setattr(latency, "device", SimpleNamespace(
        cp=SimpleNamespace(RawKernel=Kernel, zeros=zeros, cuda=cuda), on_gpu=lambda: True,
        spec=lambda: SimpleNamespace(l2=2**20, sms=4), name=lambda: "NVIDIA Test"))  # fmt: skip
    monkeypatch.setattr(latency.provenance, "where", lambda: {
        "device": "NVIDIA Test", "driver": "1", "date": "2026-12-01"})  # fmt: skip
    monkeypatch.setattr(latency, "_graph", lambda kernel, sms: 0.5)
    monkeypatch.setattr(latency, "RINGS", dict.fromkeys(latency.RINGS, 2**15))


def test_starting_the_clock_falls_away(gpu):
    """Two lengths are subtracted: what is left is the cycles of a step."""
    found = latency.measure()
    assert set(found.cycles.values()) == {5.0}
    assert set(CYCLES) == set(found.cycles)
    assert found.us == {"one_block": 3.0, "one_wave": 3.0, "block": 0.0, "graph": 0.5}
    assert found.kernel == hashlib.sha256(latency.source().encode()).hexdigest()
    assert found.label() == "live, NVIDIA Test, 2026-12-01"


def test_a_record_survives_the_file_and_is_recorded_then(tmp_path):
    """What is saved is what is loaded, under another origin; the newest of a device is found."""
    path = latency.save(FOUND, tmp_path / "latency")
    assert path.name == "nvidia_h200_2026-11-30.json"
    assert latency.load(path) == dataclasses.replace(FOUND, origin="recorded")
    latency.save(dataclasses.replace(FOUND, date="2027-01-01"), tmp_path / "latency")
    latency.save(dataclasses.replace(FOUND, device="NVIDIA T4"), tmp_path / "latency")
    assert recorded.latency(folder=tmp_path).date == "2027-01-01"
    assert recorded.latency("NVIDIA T4", tmp_path).device == "NVIDIA T4"
    with pytest.raises(recorded.RecordError, match=r"no latencies of NVIDIA H100.*on that GPU"):
        recorded.latency("NVIDIA H100", tmp_path)


def stored(**changes):
    return json.dumps({**dataclasses.asdict(FOUND), "origin": "recorded", **changes})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[" * 100_000, stored(cycles={"fma": 4}), stored(cycles=None),
     stored(us={k: v for k, v in US.items() if k != "one_wave"}), stored(date=None),
     *(stored(cycles={**CYCLES, "fma": wrong}) for wrong in ("4", -4, 0, float("nan"), True)),
     stored(us={**US, "block": -0.1}), stored(kernel=None), stored(origin="live")],
    ids=range(16),
)
def test_a_broken_record_is_refused_by_name(tmp_path, text):
    """The message names the file."""
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(LatencyError, match=r"x\.json"):
        latency.load(path)


def test_what_load_would_refuse_is_not_written(tmp_path, monkeypatch):
    """Nor is half a file left, when the disk is full."""
    with pytest.raises(LatencyError, match="fma nan"):
        latency.save(dataclasses.replace(FOUND, cycles={**CYCLES, "fma": float("nan")}), tmp_path)
    path = latency.save(FOUND, tmp_path)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        latency.save(dataclasses.replace(FOUND, driver="2"), tmp_path)
    assert latency.load(path).driver == "1"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_older_chains_are_told():
    """Their hash is compared with the source's of today."""
    old = dataclasses.replace(FOUND, kernel="0", origin="recorded")
    for text in (str(old), old._repr_html_()):
        assert "recorded with an older kernel, NVIDIA H200, 2026-11-30" in text
    assert not recorded.latency().stale


def test_another_devices_broken_record_is_not_in_the_way(tmp_path):
    """Only the files of the device that is asked for are read closely."""
    latency.save(FOUND, tmp_path)
    (tmp_path / "t4.json").write_text('{"device": "Tesla T4"}')
    assert latency.latest(folder=tmp_path).device == "NVIDIA H200"
    with pytest.raises(LatencyError, match=r"t4\.json"):
        latency.latest("Tesla T4", tmp_path)


def test_a_barrier_between_two_measured_sizes_takes_the_larger():
    """3 warps wait as long as 4; more than 32 there are not."""
    assert FOUND.barrier(8) == CYCLES["barrier_8"]
    assert FOUND.barrier(3) == CYCLES["barrier_4"]
    assert FOUND.barrier(32) == FOUND.barrier(64) == CYCLES["barrier_32"]


def test_it_shows_itself_with_its_label():
    """Text and HTML name what was measured in words, the unit, origin, device and date."""
    for text in (str(FOUND), FOUND._repr_html_()):
        for part in ("live, NVIDIA H200, 2026-11-30", "shuffle to the lane below", "24.0 cycles",
                     "__syncthreads, 1 warp a block", "2.8 µs"):  # fmt: skip
            assert part in text


def test_the_recorded_chains_are_those_of_today():
    """measurements/latency holds an H200's, of this very source, and they are no nonsense."""
    found = recorded.latency()
    assert found.kernel == hashlib.sha256(latency.source().encode()).hexdigest()
    order = [found.cycles[n] for n in ("fma", "shared_load", "l1_load", "l2_load", "dram_load")]
    assert order == sorted(order)
    assert found.us["graph"] < found.us["one_block"]
    assert found.us["one_wave"] == pytest.approx(found.us["one_block"], rel=0.1)
