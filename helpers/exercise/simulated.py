"""Runs an answer on the simulator: compile, launch one case, count one launch."""

import contextlib
import io
import re
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .. import simt
from ..simt import kernel as kernels
from ..simt.observers.names import GLOBAL, SHARED, WAVEFRONTS
from ..simt.source import parameters
from . import difference, inputs
from .definition import Case, Exercise
from .finding import Finding
from .refusals import refusal

__all__ = ["Outcome", "arguments", "compiled", "counted", "run"]

# Instructions that a chunk of blocks may execute before it counts as endless: several times what
# right answers need, and what slow ones need that go through a short row for each of its elements.
BUDGET, BUDGET_A_COLUMN = 30_000, 50
APART = 32  # times that, where the lanes of a warp that part may go on one by one
LONGEST_S = 2.0  # of the processor, for one launch; right answers take a tenth of that
MISSING_HEADER = re.compile(r"(could not|cannot) open source file")


class Clock:
    """Ends a launch that takes far longer than any answer does: instructions may be slow, too."""

    def __init__(self) -> None:
        self.end = time.process_time() + LONGEST_S

    def fork(self) -> "Clock":
        return self

    def join(self, part: "Clock") -> None:
        """Nothing: there is one clock for all."""

    def on_run(self, m, first, last) -> None:
        if time.process_time() > self.end:
            line = m.launch.program.instructions[last].line or None
            said = f"not at its end after {LONGEST_S:g} s of simulation"
            raise simt.BudgetExceeded(said, line=line)


@dataclass
class Outcome:
    """One case that was run: the result, None where there is none, and what went wrong."""

    case: Case
    x: np.ndarray
    y: np.ndarray
    want: np.ndarray
    defects: list[simt.Defect] = field(default_factory=list)
    endless: simt.BudgetExceeded | None = None
    said: str = ""


def compiled(exercise: Exercise, code: str) -> simt.RawKernel | Finding:
    """The answer's kernel, or why there is none."""
    if refused := refusal(code):
        return Finding("compile", refused[0], kind="refused", line=refused[1],
                       source=_source(code, refused[1]))  # fmt: skip
    kernel = simt.RawKernel(code, exercise.entry)
    try:
        _check_signature(exercise, code)
        kernel.compile()
        _opt_in(exercise, kernel)
    except simt.CompileError as error:
        return _compile_error(error)
    except simt.LaunchError as error:
        return Finding("compile", error.message, kind="launch")
    except simt.SimulatorError as error:
        return Finding("compile", error.message, kind="unsupported", line=error.line,
                       source=error.source)  # fmt: skip
    return kernel


def _check_signature(exercise: Exercise, code: str) -> None:
    """The answer takes what the exercise passes. Raises LaunchError."""
    found = parameters(code, exercise.entry)
    wanted = [(exercise.dtype, True, True), (exercise.out_dtype, True, False)]
    wanted += [("int32", False, None)] * 2
    fits = len(found) == len(wanted) and all(
        one.pointer == pointer
        and (one.dtype is None or one.dtype == np.dtype(dtype))
        and const in (None, one.const)
        for one, (dtype, pointer, const) in zip(found, wanted, strict=True)
    )
    if not fits:
        got = ", ".join(map(str, found))
        raise simt.LaunchError(
            f"the kernel's parameters are not those of the exercise: expected {exercise.signature},"
            f" got {exercise.entry}({got}). Leave that line of the skeleton as it is"
        )


def _opt_in(exercise: Exercise, kernel: simt.RawKernel) -> None:
    """Allow the dynamic shared memory that the exercise launches with, where it is much."""
    most = max(exercise.launch.at(case.rows, case.cols)[2] for case in exercise.cases)
    most = max(most, exercise.launch.at(*exercise.budget_size)[2])
    if most > kernel.max_dynamic_shared_size_bytes:
        kernel.max_dynamic_shared_size_bytes = most


def _compile_error(error: simt.CompileError) -> Finding:
    message = error.message
    if MISSING_HEADER.search(message):
        message += ". Only headers that the run-time compiler brings can be included"
    own = error.file in (None, "kernel.cu")
    log = tuple((error.log or "").strip().splitlines()[:12])
    return Finding("compile", message, kind="compile", line=error.line if own else None,
                   source=error.source if own else None, evidence=log)  # fmt: skip


def _source(code: str, line: int | None) -> str | None:
    lines = code.splitlines() if isinstance(code, str) else []
    return lines[line - 1].strip() if line and line <= len(lines) else None


def arguments(exercise: Exercise, case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, y, what y should become); x may only be read."""
    x = inputs.make(case.input, case.rows, case.cols, exercise.dtype)
    want = difference.expected(exercise, x)
    y = difference.unwritten(want.shape, exercise.out_dtype)
    x, y = inputs.offset(x, case.offset), inputs.offset(y, case.y_offset)
    x.flags.writeable = False
    return x, y, want


def run(exercise: Exercise, kernel: simt.RawKernel, case: Case, schedule: object) -> Outcome:
    """Launch one case, looking for every defect. LaunchError where CUDA has no such launch."""
    x, y, want = arguments(exercise, case)
    outcome = Outcome(case, x, y, want)
    grid, block, shared = exercise.launch.at(case.rows, case.cols)
    budget = _enough(case.cols) * (1 if schedule == "lowest" else APART)
    limits = kernels.Limits(budget, schedule, (Clock(),), True)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            kernels.launch(
                kernel, (grid,), (block,), (x, y, case.rows, case.cols), shared,
                limits=limits, defects=outcome.defects,
            )  # fmt: skip
    except simt.BudgetExceeded as error:
        outcome.endless = error
    outcome.defects = [one for one in outcome.defects if one.severity == "error"]
    outcome.said = said.getvalue()
    return outcome


def _enough(cols: int) -> int:
    return BUDGET + BUDGET_A_COLUMN * cols


def counted(exercise: Exercise, kernel: simt.RawKernel) -> dict[str, int]:
    """The counters of the budget, of one launch at its size."""
    rows, cols = exercise.budget_size
    x, y, _ = arguments(exercise, Case(rows, cols))
    grid, block, shared = exercise.launch.at(rows, cols)
    with contextlib.redirect_stdout(io.StringIO()):
        seen = simt.profile(kernel, (grid,), (block,), (x, y, rows, cols), shared, races=False,
                            budget=_enough(cols))  # fmt: skip
    ptx = Counter(seen.ptx)
    return {
        "load_requests": seen.counters[GLOBAL["requests", "ld"]],
        "load_sectors": seen.counters[GLOBAL["sectors", "ld"]],
        "store_requests": seen.counters[GLOBAL["requests", "st"]],
        "store_sectors": seen.counters[GLOBAL["sectors", "st"]],
        "shared_wavefronts": seen.counters[WAVEFRONTS],
        "bank_conflicts": sum(seen.counters[SHARED["conflicts", op]] for op in ("ld", "st")),
        "barriers": ptx["barriers"],
        "shuffles": ptx["shuffles"],
    }
