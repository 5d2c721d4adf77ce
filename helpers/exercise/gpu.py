"""The same kernel on a GPU: in a process of its own, with a time limit, one at a time a GPU.

A kernel that faults leaves its process's GPU context beyond repair, and one that never ends holds
the GPU; neither must reach the notebook. So each check starts a child (`ongpu`), which dies alone.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import device
from ..lock import Busy, held
from . import difference
from .definition import Case, Exercise
from .finding import Finding
from .simulated import arguments

__all__ = ["Report", "examine", "launches", "lock_file", "name", "require"]

ROOT = Path(__file__).resolve().parent.parent.parent
START_S = 90.0  # for Python, CuPy and the compiler, which a cold machine takes its time for
LAUNCH_S = 10.0  # for all launches together; they take milliseconds
QUEUE_S = 300.0  # for those who are first
LOOK_S = 0.02


@dataclass(frozen=True)
class Report:
    """What came out: y of each case, None from the first that failed on; then `error` says why,
    and `endless` is true when the time limit ended it."""

    results: tuple[np.ndarray | None, ...]
    error: str | None = None
    endless: bool = False


def require() -> None:
    """Raise DeviceError, with cause and cure, where there is no GPU.

    Whether it answers is for the child to find out: a context here would hold memory of it.
    """
    if problem := device.gpu_problem(ask=False):
        raise device.DeviceError(
            f"there is no GPU to run the answer on: {problem}. The check on the simulator needs "
            'none: leave the device out, or say "sim"'
        )


def name() -> str:
    """The GPU and the simulator, as a verdict cites them."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return f"simulator and {properties['name'].decode()}"


def lock_file() -> Path:
    """The file that whoever uses the first visible GPU locks; SOFTMAX_GPU_LOCKS names the folder
    where users have none in common."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip() or "0"
    safe = "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in first)
    folder = os.environ.get("SOFTMAX_GPU_LOCKS") or tempfile.gettempdir()
    return Path(folder) / f"softmax-gpu-{safe}.lock"


def examine(exercise: Exercise, code: str, cases: list[Case]) -> Finding | None:
    """Run the cases on the GPU and compare; None when all are right. DeviceError when the GPU is
    not to be had, which says nothing of the answer."""
    report = launches(exercise, code, cases)
    for k, (case, y) in enumerate(zip(cases, report.results, strict=True)):
        share = k / len(cases)
        if y is None and report.endless:
            return Finding("endless", report.error, kind="endless on the GPU", case=case,
                           evidence=(f"with {case}",), share=share)  # fmt: skip
        if y is None:
            return Finding("defect", "The simulator passes this kernel, and on the GPU it fails.",
                           kind="fault on the GPU", case=case, share=share,
                           evidence=(f"with {case}", report.error))  # fmt: skip
        x, _, want = arguments(exercise, case)
        if found := difference.compare(exercise, case, x, y, want):
            return Finding("wrong", "The result is right on the simulator and wrong on the GPU.",
                           kind="GPU", patterns=found.patterns, case=case, row=found.row,
                           col=found.col, got=found.got, expected=found.expected, share=share,
                           evidence=(f"with {case}: {found}",))  # fmt: skip
    return None


def launches(
    exercise: Exercise, code: str, cases: list[Case], which: str = "gpu", seconds: float = LAUNCH_S
) -> Report:
    """Launch the cases in a child, which gets `seconds` once it is ready. Raises DeviceError when
    the GPU is not free or not ready in time. which: "sim" lets the child use the simulator."""
    with tempfile.TemporaryDirectory(prefix="softmax-check-") as made:
        folder = Path(made)
        _write(exercise, code, cases, folder)
        try:
            with held(lock_file(), QUEUE_S):
                ended, late = _child(folder, which, seconds)
        except Busy as error:
            raise device.DeviceError(f"the GPU is busy: {error}. Run the check again") from None
        return _report(folder, len(cases), ended, late)


def _write(exercise: Exercise, code: str, cases: list[Case], folder: Path) -> None:
    launched = []
    for k, case in enumerate(cases):
        x, y, _ = arguments(exercise, case)
        np.save(folder / f"x{k}.npy", x)
        np.save(folder / f"y{k}.npy", y)
        grid, block, shared = exercise.launch.at(case.rows, case.cols)
        launched.append({"grid": grid, "block": block, "shared": shared, "rows": case.rows,
                         "cols": case.cols, "offset": case.offset,
                         "y_offset": case.y_offset})  # fmt: skip
    request = {"entry": exercise.entry, "code": code, "cases": launched}
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")


def _child(folder: Path, which: str, seconds: float) -> tuple[str, bool]:
    """Run the child to its end: how it ended, and whether it had to be stopped."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    child = subprocess.Popen(
        [sys.executable, "-m", "helpers.exercise.ongpu", str(folder)],
        env=os.environ | {"SOFTMAX_DEVICE": which, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a kernel may print without end
        stderr=subprocess.DEVNULL,
    )
    try:
        if not _wait(child, START_S, folder / "ready"):
            raise device.DeviceError(f"the GPU was not ready within {START_S:g} s. See nvidia-smi")
        if not _wait(child, seconds):
            return f"the kernel did not end within {seconds:g} s and was stopped", True
        return f"the process that ran the kernel ended with code {child.returncode}", False
    finally:
        child.kill()
        child.wait()


def _wait(child: subprocess.Popen, seconds: float, sign: Path | None = None) -> bool:
    """Wait until the child has ended, or `sign` is there; False after so many seconds."""
    end = time.monotonic() + seconds
    while child.poll() is None and not (sign and sign.exists()):
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    return True


def _report(folder: Path, count: int, ended: str, late: bool) -> Report:
    there = [path.exists() for path in (folder / f"out{k}.npy" for k in range(count))]
    results = tuple(np.load(folder / f"out{k}.npy") if ok else None for k, ok in enumerate(there))
    if all(there):
        return Report(results)
    told = folder / "error.json"
    if told.exists():
        error = json.loads(told.read_text(encoding="utf-8"))
        if error["kind"] == "DeviceError":
            raise device.DeviceError(error["message"])
        return Report(results, error["message"])
    return Report(results, ended, endless=late)
