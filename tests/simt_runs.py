"""Launches for the simulator's tests: one kernel of CUDA C++, under every order of execution."""

import numpy as np
import pytest

from helpers import simt
from helpers.simt import nvrtc

__all__ = ["SCHEDULES", "kernel", "needs_nvrtc", "run"]

SCHEDULES = ("lowest", "highest", 1, 2, 3)
needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed here")


def kernel(source: str, name: str = "f", **options) -> simt.RawKernel:
    """The kernel of a source whose `__global__` stands for extern "C" __global__ void."""
    return simt.RawKernel(
        source.replace("__global__", 'extern "C" __global__ void'), name, **options
    )


def run(source, grid, block, *args, shared: int = 0) -> list:
    """The arguments after a launch, arrays as copies; every schedule must leave the same bytes."""
    found = source if isinstance(source, simt.RawKernel) else kernel(source)
    results = []
    for schedule in SCHEDULES:
        mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        with simt.limits(schedule=schedule):
            found(grid, block, tuple(mine), shared_mem=shared)
        results.append(mine)
    for schedule, other in zip(SCHEDULES, results, strict=True):
        for a, b in zip(results[0], other, strict=True):
            if isinstance(a, np.ndarray):
                assert a.tobytes() == b.tobytes(), f"schedule {schedule} gives other results"
    return results[0]
