"""The child that runs an answer on a GPU: tried with the simulator in its place, and on a GPU."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from helpers import device, exercise, lock
from helpers.__main__ import main
from helpers.exercise import difference, gpu

TASK = exercise.load("v1/block_max")
CASES = list(TASK.cases)[:2]
HEAD = f'extern "C" __global__ void {TASK.entry}(const float* x, float* y, int rows, int cols)'
on_a_gpu = pytest.mark.skipif(device.gpu_problem() is not None, reason="needs a GPU")


@pytest.fixture(autouse=True)
def locks(monkeypatch, tmp_path):
    """A folder of locks for each test."""
    monkeypatch.setenv("SOFTMAX_GPU_LOCKS", str(tmp_path))
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")


def launched(code, seconds=60.0, which="sim", cases=CASES):
    return gpu.launches(TASK, code, cases, which, seconds)


def test_results_come_back_from_the_child():
    """Numbers as the kernel left them, for each case, wherever its arrays start."""
    cases = [*CASES, replace(CASES[1], offset=1)]
    report = launched(TASK.solution, cases=cases)
    assert report.error is None
    for case, y in zip(cases, report.results, strict=True):
        x, _, want = gpu.arguments(TASK, case)
        assert difference.compare(TASK, case, x, y, want) is None


def test_what_is_not_written_stays_as_it_was():
    """The mark of an element that nobody wrote survives the trip."""
    report = launched(f"{HEAD} {{}}")
    assert np.isnan(report.results[0]).all()
    bits = report.results[0].view("u4")
    assert (bits == difference.SENTINELS["float32"]).all()


def test_an_endless_kernel_is_stopped_with_its_process():
    """Within its time; the next answer is not held up."""
    code = f"{HEAD} {{ volatile int spin = 0; while (true) spin += 1; }}"
    began = time.monotonic()
    report = launched(code, seconds=0.01)
    assert time.monotonic() - began < 30
    assert report.endless
    assert "did not end within 0.01 s" in report.error
    assert report.results == (None, None)
    assert launched(TASK.solution).error is None


def test_a_fault_is_told_and_hurts_nobody():
    """What the device says comes back as text."""
    report = launched(f"{HEAD} {{ y[1 << 28] = 1; }}")
    assert not report.endless
    assert "out of bounds" in report.error
    assert report.results == (None, None)


def test_a_child_that_dies_is_told(monkeypatch):
    """Even if it says nothing."""
    real = subprocess.Popen
    child = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr(gpu.subprocess, "Popen", lambda words, **rest: real(child, **rest))
    report = launched(TASK.solution)
    assert "ended with code" in report.error
    assert report.results == (None, None)


def test_a_gpu_that_does_not_get_ready_is_no_fault_of_the_answer(monkeypatch):
    real = subprocess.Popen
    child = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(gpu.subprocess, "Popen", lambda words, **rest: real(child, **rest))
    monkeypatch.setattr(gpu, "START_S", 0.2)
    with pytest.raises(device.DeviceError, match="not ready within 0.2 s"):
        launched(TASK.solution)


def test_one_at_a_time(monkeypatch):
    """Who finds the GPU taken waits, and says so when it takes too long."""
    monkeypatch.setattr(gpu, "QUEUE_S", 0.1)
    with lock.held(gpu.lock_file(), 1), pytest.raises(device.DeviceError, match="the GPU is busy"):
        launched(TASK.solution)
    assert launched(TASK.solution).error is None


def test_the_lock_is_free_when_its_holder_is_killed(tmp_path):
    """A process that dies takes its lock with it."""
    path = tmp_path / "a.lock"
    code = (
        "import sys, time; from pathlib import Path; from helpers import lock\n"
        "with lock.held(Path(sys.argv[1]), 5):\n    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE,
                              env=os.environ | {"PYTHONPATH": str(gpu.ROOT)})  # fmt: skip
    try:
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(lock.Busy), lock.held(path, 0.1):
            pass
    finally:
        holder.kill()
        holder.wait()
    with lock.held(path, 5):
        pass


def test_each_gpu_has_its_own_lock(monkeypatch):
    """By what CUDA_VISIBLE_DEVICES names first, whatever that is."""
    names = set()
    for visible in ("0", "1,0", "GPU-8f2c/../x", ""):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        path = gpu.lock_file()
        assert path.parent == type(path)(os.environ["SOFTMAX_GPU_LOCKS"])
        names.add(path.name)
    assert len(names) == 3  # nothing is 0


@pytest.fixture
def pretend(monkeypatch):
    """A "GPU" that is there and gives what the test says."""
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(gpu, "name", lambda: "simulator and a card")

    def give(report):
        monkeypatch.setattr(gpu, "launches", lambda task, code, cases: report(cases))

    return give


def wants(cases):
    return tuple(gpu.arguments(TASK, case)[2].astype("f4") for case in cases)


def test_a_check_on_a_gpu_asks_both(pretend):
    """The verdict says where the answer ran, and what only the GPU saw."""
    pretend(lambda cases: gpu.Report(wants(cases)))
    verdict = exercise.check(TASK, TASK.solution, device="gpu")
    assert (verdict.passed, verdict.device) == (True, "simulator and a card")
    pretend(lambda cases: gpu.Report((wants(cases)[0], *(None,) * (len(cases) - 1)), "a fault"))
    verdict = exercise.check(TASK, TASK.solution, device="gpu")
    assert (verdict.stage, verdict.kind, verdict.case) == (
        "defect", "fault on the GPU", TASK.cases[1],
    )  # fmt: skip
    assert "a fault" in verdict.evidence
    pretend(lambda cases: gpu.Report((None,) * len(cases), "did not end", endless=True))
    assert exercise.check(TASK, TASK.solution, device="gpu").stage == "endless"
    pretend(lambda cases: gpu.Report(tuple(y + 1 for y in wants(cases))))
    verdict = exercise.check(TASK, TASK.solution, device="gpu")
    assert (verdict.stage, verdict.row) == ("wrong", 0)
    assert "wrong on the GPU" in str(verdict)


def test_what_the_simulator_refuses_never_reaches_the_gpu(pretend):
    pretend(lambda cases: pytest.fail("must not run"))
    assert not exercise.check(TASK, TASK.skeleton, device="gpu").passed


def test_without_a_gpu_there_is_one_clear_sentence(monkeypatch, capsys):
    """Before anything is run; on the command line with exit code 2."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    device._resolve.cache_clear()
    try:
        with pytest.raises(device.DeviceError, match="there is no GPU to run the answer on: CuPy"):
            exercise.check(TASK, TASK.solution, device="gpu")
        path = str(TASK.folder / "solution.cu")
        assert main(["check", TASK.name, path, "--device", "gpu"]) == 2
        assert "a GPU was asked for" in capsys.readouterr().err
    finally:
        device._resolve.cache_clear()


def test_a_gpu_that_the_child_does_not_get_says_nothing_of_the_answer(monkeypatch):
    """The child asks it, and what it says is no fault of the kernel."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with pytest.raises(device.DeviceError, match="a GPU was asked for"):
        gpu.launches(TASK, TASK.solution, TASK.cases[:1])


def test_another_device_is_refused():
    with pytest.raises(ValueError, match='"sim" or "gpu", got'):
        exercise.check(TASK, TASK.solution, device="tpu")


@on_a_gpu
def test_every_solution_passes_on_the_gpu():
    """The numbers of the hardware are those of the simulator."""
    for task in exercise.all():
        verdict = exercise.check(task, task.solution, device="gpu")
        assert verdict.passed, verdict


@on_a_gpu
@pytest.mark.parametrize("body", ["y[(size_t)1 << 40] = 1;", "while (true) y[0] += 1;"])
def test_the_gpu_survives_its_answers(body):
    """After a fault and after an endless kernel the next answer runs."""
    report = launched(f"{HEAD} {{ {body} }}", seconds=2.0, which="gpu")
    assert report.error
    assert launched(TASK.solution, which="gpu").error is None
