"""Time kernels on a GPU: checked first, L2 flushed, CUDA events, median with quartiles.

Nothing is timed that has not just been compared with its reference, and nothing without a GPU:
the simulator has no clock. The two copies of `recorded.CEILINGS` run beside the kernels, as the
ceiling of the same run.
"""

from __future__ import annotations

import datetime
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from . import device, launch, progress, recorded, reference, specs, versions
from .recorded import Figure, Record
from .versions import Version

__all__ = ["BenchError", "Clock", "GpuClock", "Subject", "ladder", "measure", "time_version"]

WARMUP = 5
FLUSH_BYTES = 256 * 2**20  # at least; GpuClock takes eight times the L2 of the card where more


class BenchError(RuntimeError):
    """A benchmark that cannot or must not run; the message says why and what to do instead."""


class Event(Protocol):
    """A mark in the device's queue, as `cupy.cuda.Event`."""

    def record(self) -> None: ...
    def synchronize(self) -> None: ...


class Clock(Protocol):
    """What the timing loop needs of a device; tests give it one without a GPU."""

    def flush(self) -> None: ...
    def event(self) -> Event: ...
    def elapsed_us(self, start: Event, end: Event) -> float: ...


class GpuClock:
    """CUDA events, and a buffer whose writing drives everything else out of the L2."""

    def __init__(self, l2_bytes: int):
        # Twice the L2 empties it. Eight times also takes the card longer (above 100 µs on an H200)
        # than the host needs to check and queue the launch behind it.
        self.flush_bytes = max(FLUSH_BYTES, 8 * l2_bytes)
        self._buffer = device.cp.zeros(self.flush_bytes, dtype=device.cp.uint8)

    def flush(self) -> None:
        self._buffer.data.memset_async(0, self.flush_bytes)

    def event(self) -> Event:
        return device.cp.cuda.Event()

    def elapsed_us(self, start: Event, end: Event) -> float:
        return 1e3 * device.cp.cuda.get_elapsed_time(start, end)


@dataclass(frozen=True)
class Subject:
    """One thing to time: `launch` queues it once, `check` runs it and compares the result."""

    name: str
    launch: Callable[[], None]
    check: Callable[[], reference.Comparison]
    tolerance: float


def measure(
    subject: Subject, clock: Clock, repeats: int = 50, warmup: int = WARMUP
) -> tuple[float, float, float]:
    """First quartile, median and third quartile of `repeats` launches, in microseconds.

    The subject is checked before anything is timed: BenchError when it is further from its
    reference than its tolerance, or NaN. The flush keeps the device busy while the host queues the
    launch, so the events enclose the launch and nothing else.
    """
    if repeats < 1:
        raise BenchError(f"repeats={repeats}: a median needs at least one launch; 50 is usual")
    comparison = subject.check()
    if not comparison.within(subject.tolerance):
        raise BenchError(f"{subject.name} is not timed because its result is wrong: {comparison}; "
                         f"allowed is a relative error of {subject.tolerance:g}")
    for _ in range(warmup):
        subject.launch()
    start, end = clock.event(), clock.event()
    times = []
    for _ in range(repeats):
        clock.flush()
        start.record()
        subject.launch()
        end.record()
        end.synchronize()
        times.append(clock.elapsed_us(start, end))
    if not all(0 < time < float("inf") for time in times):  # false for NaN, too
        raise BenchError(f"{subject.name}: the events gave {min(times)} to {max(times)} µs, which "
                         "is no time; run again, and look for other programs on this GPU")
    return tuple(float(q) for q in np.quantile(times, (0.25, 0.5, 0.75)))


def ladder(
    rows: int = 4096,
    cols: int = 4096,
    names: Iterable[str] | None = None,
    repeats: int = 50,
    seed: int = 0,
) -> Record:
    """Time versions (all rungs when names is None) and both copies at rows × cols.

    Input is standard-normal. Returns a record with origin "live", ready for `recorded.save`.
    BenchError without a GPU or for a wrong kernel, ValueError for an unknown name, LaunchError for
    a size that a version cannot take.
    """
    if isinstance(names, str):
        names = [names]
    picked = versions.ladder() if names is None else [versions.get(name) for name in names]
    clock, where = _clock(), _provenance()
    figures: list[Figure] = []
    for dtype in dict.fromkeys(version.dtype for version in picked):
        group = {version.name: version for version in picked if version.dtype == dtype}
        x = _input(list(group.values()), rows, cols, seed)
        figures += _timed(list(group.values()), x, repeats, clock, where)
    return _record(figures, repeats, clock, where)


def time_version(version: Version | str, rows: int, cols: int, repeats: int = 50) -> Figure:
    """Time one version, the copies beside it; its figure. Raises what `ladder` raises."""
    name = version if isinstance(version, str) else version.name
    return ladder(rows, cols, [name], repeats).figure(recorded.row_name(name), rows, cols)


def _input(group: list[Version], rows: int, cols: int, seed: int):
    """The standard-normal matrix, once every version of the group has agreed to its size."""
    for version in group:
        launch.config(version, rows, cols)
    return launch.normal(rows, cols, group[0].np_dtype, seed)


def _timed(group: list[Version], x, repeats: int, clock: Clock, where: dict) -> list[Figure]:
    """Both copies and the versions of one element type, all on the same two arrays."""
    y = device.cp.empty_like(x)
    copy = versions.get("copy")
    kernels = [version for version in group if version.name != copy.name]
    if copy.dtype == group[0].dtype:
        kernels.insert(0, copy)
    subjects = [_memcpy_subject(x, y), *(_subject(version, x, y) for version in kernels)]
    times = {}
    with progress.bar(len(subjects), f"timing at {x.shape[0]}×{x.shape[1]}") as bar:
        for subject in subjects:
            times[subject.name] = measure(subject, clock, repeats)
            bar.update(1)
    copy_us = min(times[name][1] for name in recorded.CEILINGS if name in times)
    return [_figure(name, x, found, repeats, copy_us, where) for name, found in times.items()]


def _subject(version: Version, x, y) -> Subject:
    """A version on given arrays: launched without further ado, checked against its reference."""
    config, kernel = launch.config(version, *x.shape), launch.kernel(version)

    def queue() -> None:
        kernel(config.grid, config.block, (x, y, *x.shape), shared_mem=config.shared_mem)

    def check() -> reference.Comparison:
        _spoil(y)
        return reference.compare(launch.run(version, x, out=y), launch.expected(version, x))

    return Subject(recorded.row_name(version.name), queue, check, version.allowed(x.shape[1]))


def _memcpy_subject(x, y) -> Subject:
    def check() -> reference.Comparison:
        _spoil(y)
        _memcpy(x, y)
        return reference.compare(y, x)

    return Subject("memcpy", lambda: _memcpy(x, y), check, 0.0)


def _spoil(y) -> None:
    """Fill y with NaN, so that what an earlier kernel left cannot pass for this one's work."""
    y.view(device.cp.uint8)[...] = 0xFF  # all bits set is a NaN in every floating type


def _memcpy(x, y) -> None:
    y.data.copy_from_device_async(x.data, x.nbytes)


def _clock() -> Clock:
    if not device.on_gpu():
        raise BenchError(
            f"no GPU to time on: the active device is the {device.name()}, which has no clock. "
            "Recorded figures: print(helpers.recorded.latest()); drawn: helpers.roofline.ladder()"
        )
    return GpuClock(device.spec().l2)


def _figure(name: str, x, quartiles, repeats: int, copy_us: float, where: dict) -> Figure:
    first, median, third = quartiles
    gbps = specs.effective_bandwidth(*x.shape, x.dtype.itemsize, median * 1e-6) / 1e9
    return Figure(
        name=name, rows=x.shape[0], cols=x.shape[1], dtype=x.dtype.name,
        us=round(median, 3), us_q1=round(first, 3), us_q3=round(third, 3), repeats=repeats,
        gbps=round(gbps, 1), copy_share=round(copy_us / median, 4), origin="live", **where,
    )


def _record(figures: list[Figure], repeats: int, clock: Clock, where: dict) -> Record:
    ran = {figure.name: recorded.version_of(figure.name) for figure in figures}
    method = (
        "Standard-normal input; every kernel compared with its reference first, then "
        f"{WARMUP} launches for warm-up and {repeats} timed ones, CUDA events around the launch "
        f"alone; before each the L2 was flushed by writing {clock.flush_bytes >> 20} MiB. us is "
        "the median, us_q1 and us_q3 the quartiles. memcpy is cudaMemcpyAsync from device to "
        f"device; copy_share is the share of the faster copy of the run.{_clocks_note()}"
    )
    return Record(
        **where, method=method, libraries=_libraries(), rows=tuple(figures),
        kernels={name: version.source_hash for name, version in ran.items() if version},
    )


def _provenance() -> dict[str, str | None]:
    """Device, driver and date, gathered once a run."""
    return {"device": device.name(), "driver": _driver(), "date": f"{datetime.date.today()}"}


def _driver() -> str | None:
    """The driver's own number, as 580.159.04; None where neither /proc nor nvidia-smi tells."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        text = _nvidia_smi("driver_version")
    found = re.search(r"\b\d{3,}\.\d+(?:\.\d+)?\b", text)
    return found.group() if found else None


def _clocks_note() -> str:
    """One sentence on clocks and temperature just after the run; empty where nothing tells."""
    values = [value.strip() for value in
              _nvidia_smi("clocks.sm,clocks.mem,temperature.gpu").partition("\n")[0].split(",")]
    if len(values) != 3:
        return ""
    return f" After the run: SM clock {values[0]}, memory clock {values[1]}, {values[2]} °C."


def _nvidia_smi(query: str) -> str:
    """nvidia-smi's answer, one line a GPU; empty without the program: it is no part of CuPy."""
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _libraries() -> dict[str, str]:
    cp = device.cp
    return {
        "cupy": cp.__version__,
        "numpy": np.__version__,
        "CUDA runtime": _cuda(cp.cuda.runtime.runtimeGetVersion()),
        "CUDA of the driver": _cuda(cp.cuda.runtime.driverGetVersion()),
    }


def _cuda(number: int) -> str:
    """CUDA's 13050 as 13.5."""
    return f"{number // 1000}.{number % 1000 // 10}"
