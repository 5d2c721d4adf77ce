"""How long one step of a dependent chain takes on this GPU, and what a launch costs.

GPU only. A chain's every step needs the result of the step before, so its length over its steps is
the latency that a warp waits for when nothing else can run. Nothing here is a softmax: these are
the constants with which `helpers.model` predicts, and with which a lesson tests "5 cycles".
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import device, files, provenance, versions
from .files import RecordError

__all__ = ["FOLDER", "Latencies", "LatencyError", "latest", "load", "measure", "save", "source"]

FOLDER = Path(__file__).resolve().parent.parent / "measurements" / "latency"
FILE = versions.KERNELS / "clocks" / "latency.cu"
STEPS = 4096  # the shorter of the two chains; the longer one has twice as many
ROUNDS = 5  # of each chain; the median counts
LINE = 128  # bytes of a cache line: a ring visits each line once
RINGS = {"l1_load": 16 * 2**10, "l2_load": 8 * 2**20, "dram_load": 2**30}  # bytes
WARPS = (1, 2, 4, 8, 16, 32)
LAUNCHES = 30  # of each empty kernel; the median counts
GRAPH = 100  # empty kernels in one graph
MEANING = {
    "fma": "multiply-add",
    "shuffle_down": "shuffle to the lane below",
    "shuffle_idx": "shuffle from a computed lane",
    "shared_load": "load from shared memory",
    "l1_load": "load that hits L1",
    "l2_load": "load that hits L2",
    "dram_load": "load from memory",
    **{f"barrier_{n}": f"__syncthreads, {n} warp{'s' * (n > 1)} a block" for n in WARPS},
    "one_block": "empty kernel, 1 block",
    "one_wave": "empty kernel, a block an SM",
    "block": "each block more of an empty kernel",
    "graph": "empty kernel inside a graph",
}
US = ("one_block", "one_wave", "block", "graph")  # of MEANING; the others are cycles
CYCLES = tuple(name for name in MEANING if name not in US)
KEYS = {"device": "a text", "driver": "a text", "date": "a date like 2026-11-30",
        "method": "a text", "kernel": "a text", "cycles": "an object", "us": "an object",
        "origin": "recorded"}  # fmt: skip
METHOD = (
    f"Dependent chains of kernels_cu/clocks/latency.cu, one block, {STEPS} and {2 * STEPS} steps "
    f"between two readings of the SM's clock: cycles is the difference a step, median of {ROUNDS}. "
    f"Loads follow a ring in random order over lines of {LINE} bytes: 16 KiB and 8 MiB, visited "
    "once before, and 1 GiB after the L2 was overwritten. us: empty kernels of 256 threads between "
    f"CUDA events, the GPU kept busy before, median of {LAUNCHES}; block is the slope from 2^16 to "
    f"2^20 blocks, graph a share of a graph of {GRAPH}."
)


class LatencyError(RecordError):
    """Latencies that cannot be measured or read; the message says why and what to do."""


@dataclass(frozen=True, repr=False)
class Latencies:
    """One run: cycles of the SM's clock a step of each chain, microseconds of each kind of launch.

    kernel is the hash of the source that ran; `label()` names origin, device and date.
    """

    device: str
    driver: str | None
    date: str
    method: str
    kernel: str
    cycles: dict[str, float]
    us: dict[str, float]
    origin: str = "recorded"

    @property
    def stale(self) -> bool:
        """True when the chains' source has changed since."""
        return self.kernel != source_hash()

    def label(self) -> str:
        """Origin, device and date, and whether older chains ran."""
        old = " with an older kernel" if self.stale else ""
        return f"{self.origin}{old}, {self.device}, {self.date}"

    def barrier(self, warps: int) -> float:
        """Cycles of a __syncthreads of a block of so many warps: the next larger one measured."""
        return self.cycles[f"barrier_{min(n for n in WARPS if n >= min(warps, WARPS[-1]))}"]

    def lines(self) -> list[tuple[str, str]]:
        """(what, how long) of every figure."""
        found = [(MEANING.get(k, k), f"{v:.1f} cycles") for k, v in self.cycles.items()]
        return found + [(MEANING.get(k, k), f"{v:.4g} µs") for k, v in self.us.items()]

    def __str__(self) -> str:
        width = max(len(what) for what, _ in self.lines())
        return "\n".join([self.label(), *(f"{a:<{width}}  {b:>13}" for a, b in self.lines())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(what)}</th>'
            f"<td>{html.escape(figure)}</td></tr>"
            for what, figure in self.lines()
        )
        caption = f'<caption style="text-align:left">{html.escape(self.label())}</caption>'
        return f"<table>{caption}<tbody>{rows}</tbody></table>"


def source() -> str:
    """The text of the chains' `.cu` file."""
    return FILE.read_text(encoding="utf-8")


def source_hash() -> str:
    """SHA-256 of that text."""
    return hashlib.sha256(source().encode()).hexdigest()


def measure() -> Latencies:
    """Time every chain and launch on this GPU: seconds. LatencyError without a GPU."""
    if not device.on_gpu():
        raise LatencyError(
            f"no GPU to time on: the active device is the {device.name()}, which has no clock. "
            "Recorded latencies: print(helpers.recorded.latency())"
        )
    text = source()
    return Latencies(
        **provenance.where(), method=METHOD, kernel=source_hash(),
        cycles=_cycles(text), us=_launches(text), origin="live",
    )  # fmt: skip


def _cycles(text: str) -> dict[str, float]:
    cp = device.cp
    sink = cp.zeros(32, np.float32)
    found = {
        "fma": _chain(text, "chain_fma", 32, lambda n: (sink, n, 1.0, 1.0)),
        "shuffle_down": _chain(text, "chain_shuffle_down", 32, lambda n: (sink, n)),
        "shuffle_idx": _chain(text, "chain_shuffle_idx", 32, lambda n: (sink, n)),
        "shared_load": _chain(text, "chain_shared", 32, lambda n: (sink, n)),
    }
    dirty = cp.zeros(max(256 * 2**20, 8 * device.spec().l2), np.uint8)
    for name, size in RINGS.items():
        ring, cells = _ring(size)
        warm = 0 if name == "dram_load" else cells
        found[name] = _chain(
            text, "chain_load", 1,
            lambda n, ring=ring, warm=warm, far=name != "l1_load": (sink, ring, warm, n, far),
            before=lambda: dirty.data.memset_async(0, dirty.nbytes),
        )  # fmt: skip
    for warps in WARPS:
        found[f"barrier_{warps}"] = _chain(text, "chain_barrier", 32 * warps, lambda n: (n,))
    return found


def _chain(text: str, entry: str, threads: int, arguments, before=None) -> float:
    """Cycles a step, from the difference of two lengths."""
    cp = device.cp
    kernel, cycles, times = cp.RawKernel(text, entry), cp.zeros(1, np.int64), []
    for _ in range(ROUNDS + 1):  # the first one loads the code
        lengths = []
        for steps in (STEPS, 2 * STEPS):
            if before:
                before()
            kernel((1,), (threads,), (cycles, *arguments(steps)))
            lengths.append(int(cycles[0]))
        times.append((lengths[1] - lengths[0]) / STEPS)
    return round(statistics.median(times[1:]), 2)


def _ring(size: int):
    """(cells, how many lines they are on): one 8-byte cell a line holds the address of the next."""
    cp = device.cp
    ring = cp.zeros(size // 8, np.int64)
    lines = np.random.default_rng(0).permutation(size // LINE)
    lines = np.roll(lines, -int(np.flatnonzero(lines == 0)[0]))  # the chain begins with cell 0
    host = np.zeros(size // 8, np.int64)
    host[lines * (LINE // 8)] = ring.data.ptr + np.roll(lines, -1) * LINE
    ring.set(host)
    return ring, len(lines)


def _launches(text: str) -> dict[str, float]:
    cp = device.cp
    kernel, sms = cp.RawKernel(text, "nothing"), device.spec().sms
    times = {blocks: _empty(kernel, blocks) for blocks in (1, sms, 2**16, 2**20)}
    return {
        "one_block": round(times[1], 3),
        "one_wave": round(times[sms], 3),
        "block": round((times[2**20] - times[2**16]) / (2**20 - 2**16), 7),
        "graph": round(_graph(kernel, sms), 3),
    }


def _empty(kernel, blocks: int) -> float:
    """Microseconds of an empty kernel between two events; the GPU is busy while they are queued."""
    cp = device.cp
    busy, times = cp.zeros(512 * 2**20, np.uint8), []
    start, end = cp.cuda.Event(), cp.cuda.Event()
    for _ in range(LAUNCHES):
        busy.data.memset_async(0, busy.nbytes)
        start.record()
        kernel((blocks,), (256,), ())
        end.record()
        end.synchronize()
        times.append(1e3 * cp.cuda.get_elapsed_time(start, end))
    return statistics.median(times)


def _graph(kernel, blocks: int) -> float:
    """Microseconds a kernel of a graph of empty ones."""
    cp = device.cp
    stream, times = cp.cuda.Stream(non_blocking=True), []
    start, end = cp.cuda.Event(), cp.cuda.Event()
    with stream:
        kernel((blocks,), (256,), ())  # compiled before the capture
        stream.begin_capture()
        for _ in range(GRAPH):
            kernel((blocks,), (256,), ())
        graph = stream.end_capture()
        for _ in range(LAUNCHES):
            start.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            times.append(1e3 * cp.cuda.get_elapsed_time(start, end) / GRAPH)
    return statistics.median(times)


def save(found: Latencies, folder: Path | str = FOLDER) -> Path:
    """Write <device>_<date>.json; what was live is recorded from then on. LatencyError for what
    `load` would refuse."""
    slug = re.sub(r"\W+", "_", found.device.lower()).strip("_")
    path = Path(folder) / f"{slug}_{found.date}.json"
    stored = {**dataclasses.asdict(found), "origin": "recorded"}
    _latencies(path, stored)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    return path


def load(path: Path | str) -> Latencies:
    """Read one file; LatencyError naming it when it is not what `save` writes."""
    try:
        raw = files.read(path)
    except RecordError as error:
        raise LatencyError(str(error)) from None
    return _latencies(path, raw)


def _latencies(path: Path | str, raw: object) -> Latencies:
    try:
        files.expect(path, "the record", raw, KEYS, optional=("driver",))
        files.expect(path, "cycles", raw["cycles"], dict.fromkeys(CYCLES, "a positive number"))
        kinds = {**dict.fromkeys(US, "a positive number"), "block": "0 or more"}  # block is a slope
        files.expect(path, "us", raw["us"], kinds)
    except RecordError as error:
        raise LatencyError(f"{error}. Restore the file, or record again on that GPU: "
                           "python -m helpers.latency") from None
    return Latencies(**raw)


def latest(device_name: str = "NVIDIA H200", folder: Path | str = FOLDER) -> Latencies | None:
    """The newest record of one device, None when there is none."""
    there = files.of_device(Path(folder).glob("*.json"), device_name)
    found = (_latencies(path, raw) for path, raw in there)
    return max(found, key=lambda one: one.date, default=None)


if __name__ == "__main__":
    try:
        measured = measure()
    except LatencyError as error:
        sys.exit(f"error: {error}")
    print(measured)
    print("wrote", save(measured))
