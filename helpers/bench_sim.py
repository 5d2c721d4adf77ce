"""How fast the simulator itself is on this machine: `python3 start.py bench-sim`.

Million elements a second for each rung of the ladder, bare and under observation, with the peak of
memory, and Numba's CUDA simulator on V1's algorithm beside it. These are speeds of a Python program
on this machine; they say nothing about a GPU. Every figure comes from a process of its own, whose
result is checked first.
"""

import argparse
import datetime
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from . import reference, versions

__all__ = ["MODES", "Sample", "main", "measure", "measure_numba", "separately", "table"]

ROOT = Path(__file__).resolve().parent.parent
MODES = ("no checks", "counters", "counters + races")
NUMBA = "numba"
NUMBA_SIZE = (2, 1024)  # about a second; its time an element does not depend on the size


@dataclass(frozen=True)
class Sample:
    """One figure: `seconds` the fastest of the launches, `peak` the bytes of memory the process
    held at most (None where the system does not tell)."""

    name: str
    mode: str
    rows: int
    cols: int
    seconds: float
    peak: int | None

    @property
    def rate(self) -> float:
        """Million elements a second."""
        return self.rows * self.cols / self.seconds / 1e6


# ---------------------------------------------------------------------------- measuring
def measure(name: str, mode: str, rows: int, cols: int, repeats: int = 3) -> Sample:
    """Time launches of a version in this process; the first one, which compiles, is checked and
    not counted. Raises RuntimeError when its result is wrong."""
    from . import launch, simt

    version = versions.get(name)
    x = np.random.default_rng(0).standard_normal((rows, cols), dtype=np.float32)
    y = np.empty_like(x)
    kernel = simt.RawKernel(version.source, version.entry)
    shape = launch.config(version, rows, cols)
    if shape.shared_mem:
        kernel.max_dynamic_shared_size_bytes = shape.shared_mem

    def once():
        with limits(mode):
            kernel(shape.grid, shape.block, (x, y, rows, cols), shared_mem=shape.shared_mem)

    once()
    check(name, x, y, version.allowed(cols))
    return Sample(name, mode, rows, cols, fastest(once, repeats), peak())


def limits(mode: str):
    """The context of a launch in that mode; bounds, barriers and shuffles are always checked."""
    from . import simt
    from .simt.observers import Counters

    seen = () if mode == "no checks" else (Counters(),)
    return simt.limits(observers=seen, races=mode == "counters + races")


def measure_numba(rows: int, cols: int, repeats: int = 1) -> Sample:
    """Time V1's algorithm in Numba's CUDA simulator, in this process. Raises ImportError without
    Numba, RuntimeError when the result is wrong."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # Numba reads it when it is imported
    softmax = numba_kernel()
    x = np.random.default_rng(0).standard_normal((rows, cols), dtype=np.float32)
    y = np.empty_like(x)

    def once():
        softmax[(rows,), (256,)](x, y, cols)

    seconds = fastest(once, repeats)
    check("Numba's v1", x, y, 1e-6)
    return Sample("v1", NUMBA, rows, cols, seconds, peak())


def numba_kernel():
    """V1 as Numba writes it: a block of 256 threads a row, trees in shared memory."""
    global cuda  # Numba's simulator puts its own module in place of a global one only
    from numba import cuda, float32

    @cuda.jit
    def softmax(x, y, cols):
        scratch = cuda.shared.array(256, float32)
        row, tid, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        best = -math.inf
        for col in range(tid, cols, threads):
            best = max(best, x[row, col])
        scratch[tid] = best
        cuda.syncthreads()
        stride = threads // 2
        while stride > 0:
            if tid < stride:
                scratch[tid] = max(scratch[tid], scratch[tid + stride])
            cuda.syncthreads()
            stride //= 2
        row_max = scratch[0]
        cuda.syncthreads()
        total = 0.0
        for col in range(tid, cols, threads):
            total += math.exp(x[row, col] - row_max)
        scratch[tid] = total
        cuda.syncthreads()
        stride = threads // 2
        while stride > 0:
            if tid < stride:
                scratch[tid] += scratch[tid + stride]
            cuda.syncthreads()
            stride //= 2
        for col in range(tid, cols, threads):
            y[row, col] = math.exp(x[row, col] - row_max) / scratch[0]

    return softmax


def check(name: str, x, y, tolerance: float) -> None:
    """Compare with the reference, a few rows at a time: its memory must not become the peak."""
    for rows in (slice(k, k + 256) for k in range(0, len(x), 256)):
        comparison = reference.compare(y[rows], reference.softmax(x[rows]))
        if not comparison.within(tolerance):
            raise RuntimeError(
                f"{name} computes something wrong, its time says nothing: {comparison}"
            )


def fastest(run, repeats: int) -> float:
    """Seconds of the fastest of some runs: what else the machine does only makes them slower."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def peak() -> int | None:
    """The most memory this process has held so far, in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


# ---------------------------------------------------------------------------- a process each
def separately(name: str, mode: str, rows: int, cols: int, repeats: int) -> Sample | str:
    """A Sample from a process of its own, or one line on why there is none."""
    if mode == NUMBA and importlib.util.find_spec("numba") is None:
        return "not installed (pip install numba)"
    job = json.dumps([name, mode, rows, cols, repeats])
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "helpers.bench_sim", "--job", job],
        env={**os.environ, "PYTHONPATH": path, "SOFTMAX_DEVICE": "sim"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return (done.stderr.strip() or f"ended with code {done.returncode}").splitlines()[-1]
    return Sample(**json.loads(done.stdout.splitlines()[-1]))


def work(job: str) -> Sample:
    """What the process of its own does."""
    name, mode, rows, cols, repeats = json.loads(job)
    if mode == NUMBA:
        return measure_numba(rows, cols, repeats)
    return measure(name, mode, rows, cols, repeats)


# ---------------------------------------------------------------------------- the report
def machine() -> str:
    """Where and when: "this machine, 2 cores, 2026-11-30"."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return f"this machine, {cores} core{'s' * (cores > 1)}, {datetime.date.today()}"


def table(results: dict, rows: int, cols: int) -> str:
    """The report. `results` maps (version, mode) to a Sample or the reason why there is none."""
    ours = {key: found for key, found in results.items() if key[1] != NUMBA}
    lines = [
        f"The simulator at {rows} × {cols}, million elements a second ({machine()}):",
        "",
        "version" + "".join(f"{mode:>18}" for mode in MODES) + f"{'peak memory':>14}",
    ]
    for name in dict.fromkeys(name for name, _ in ours):
        found = [ours[name, mode] for mode in MODES]
        lines.append(f"{name:<7}" + "".join(map(cell, found)) + f"{most(found):>14}")
    lines.append("")
    lines += [f"{', '.join(key)}: {why}" for key, why in ours.items() if isinstance(why, str)]
    beside = results.get(("v1", NUMBA))
    if isinstance(beside, Sample):
        beside = f"{beside.rate:.4f} at {beside.rows} × {beside.cols}"
    if beside:
        lines.append(f"Numba's CUDA simulator, V1's algorithm: {beside}")
    return "\n".join(lines)


def cell(found) -> str:
    return f"{found.rate:>18.2f}" if isinstance(found, Sample) else f"{'failed':>18}"


def most(found: list) -> str:
    peaks = [s.peak for s in found if isinstance(s, Sample) and s.peak]
    return f"{max(peaks) / 1e6:.0f} MB" if peaks else "–"


def main(argv=None) -> int:
    """Measure and print. Exit code 0, or 1 when a version could not be measured."""
    ladder = [version.name for version in versions.ladder()]
    parser = argparse.ArgumentParser(prog="python -m helpers.bench_sim", description=__doc__)
    parser.add_argument("versions", nargs="*", help=f"default: {' '.join(ladder)}")
    parser.add_argument("--rows", type=int, default=4096, help="default 4096")
    parser.add_argument("--cols", type=int, default=4096, help="default 4096")
    parser.add_argument("--repeats", type=int, default=3, help="launches a figure; default 3")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.job:
        print(json.dumps(asdict(work(options.job))))
        return 0
    names = options.versions or ladder
    if unknown := [name for name in names if name not in ladder]:
        parser.error(f"no rung called {unknown[0]!r}; choose from {', '.join(ladder)}")
    if min(options.rows, options.cols, options.repeats) < 1:
        parser.error("--rows, --cols and --repeats start at 1")
    results = collect(names, options)
    print(as_json(results) if options.json else table(results, options.rows, options.cols))
    return int(any(isinstance(results[n, m], str) for n in names for m in MODES))


def collect(names: list, options) -> dict:
    """Everything, one process after another; what is under way is said on stderr."""
    jobs = [
        (name, mode, options.rows, options.cols, options.repeats)
        for name in names
        for mode in MODES
    ]
    jobs.append(("v1", NUMBA, *NUMBA_SIZE, 1))
    results = {}
    for k, job in enumerate(jobs, 1):
        print(f"{k} of {len(jobs)}: {job[0]}, {job[1]}", file=sys.stderr)
        results[job[:2]] = separately(*job)
    return results


def as_json(results: dict) -> str:
    rows = [
        asdict(r) | {"rate": r.rate} if isinstance(r, Sample) else {"name": n, "mode": m, "why": r}
        for (n, m), r in results.items()
    ]
    return json.dumps({"machine": machine(), "rows": rows}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
