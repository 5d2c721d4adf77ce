"""nbgrader's settings for a course; the course's own nbgrader_config.py calls `apply`."""

import os

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    OverwriteCells,
    OverwriteKernelspec,
)

from . import marking
from .sanitise import NothingAdded, OnlyKernels

__all__ = ["apply"]


def apply(config, course: str, device: str = "sim", timeout_s: int = 120) -> None:
    """Set `config`, as nbgrader's get_config() gives it.

    `device`: "sim", or "gpu" to run kernels that passed on the simulator on this machine's GPU too.
    `timeout_s`: for one cell, over and above the check's own limits.
    """
    if device not in ("sim", "gpu"):
        raise ValueError(f"device: expected 'sim' or 'gpu', got {device!r}")
    os.environ[marking.DEVICE] = device
    os.environ["SOFTMAX_DEVICE"] = "sim"  # what a notebook's own cells would use
    config.CourseDirectory.course_id = course
    config.ClearSolutions.code_stub = {"python": ""}
    config.Autograde.sanitize_preprocessors = [
        ClearOutput,
        DeduplicateIds,
        OverwriteKernelspec,
        NothingAdded,
        OverwriteCells,
        OnlyKernels,  # behind OverwriteCells: it trusts what is locked
        CheckCellMetadata,
    ]
    config.OverwriteCells.add_missing_cells = True
    config.Execute.timeout = timeout_s
    config.Execute.interrupt_on_timeout = True
    # Files that come with a submission lie in the folder where it runs: none may be imported.
    config.Execute.extra_arguments = ["--InteractiveShellApp.ignore_cwd=True"]
