"""The check: compiles, right, free of defects, within the budget; it stops at the first failure."""

import textwrap
import time
from collections.abc import Iterator

import numpy as np

from .. import device as devices
from .. import simt
from ..simt.source import clean
from . import difference
from .definition import Case, Exercise, load
from .finding import Finding, mistake
from .simulated import Outcome, compiled, counted, run
from .verdict import CLIPPED, SHOWN, Verdict, score

__all__ = ["LUCKY", "check"]

# Defects that may leave the numbers right, this time.
LUCKY = ("race", "uninitialised", "missing cp.async wait")
EMPTY = "This is the skeleton as it was given: about {} lines at YOUR CODE are missing."
BY_LUCK = " The numbers came out right, but only by luck."
SCHEDULES = ("highest", 1)  # besides "lowest", under which every case runs
COUNTED = {
    "load_requests": "load requests",
    "load_sectors": "sectors loaded",
    "store_requests": "store requests",
    "store_sectors": "sectors stored",
    "shared_wavefronts": "wavefronts of shared memory",
    "bank_conflicts": "bank conflicts",
    "barriers": "arrivals of warps at barriers",
    "shuffles": "shuffles",
}


def check(name: str | Exercise, code: str, device: str = "sim", hidden: bool = True) -> Verdict:
    """Check an answer: the text of a `.cu` file. Never raises for what is wrong with the answer.

    device: "sim", or "gpu" to run it on a GPU as well once the simulator has passed it, in a
    process of its own. hidden: also try the hidden cases. Raises DefinitionError for an exercise
    that is not there, DeviceError for a GPU that is not.
    """
    exercise = name if isinstance(name, Exercise) else load(name)
    if device == "gpu":
        from . import gpu

        gpu.require()
    elif device != "sim":
        raise ValueError(f'device must be "sim" or "gpu", got {device!r}')
    began = time.perf_counter()
    cases = [case for case in exercise.cases if hidden or not case.hidden]
    said: list[str] = []
    where = f"simulator ({devices.simulated_spec().name} specification)"
    found = _simulated(exercise, code, cases, said)
    if found is None and device == "gpu":
        found = gpu.examine(exercise, code, cases)
        where = gpu.name()
    return _verdict(exercise, code, found, where, time.perf_counter() - began, "".join(said))


def _simulated(exercise: Exercise, code: str, cases: list[Case], said: list[str]) -> Finding | None:
    """Every stage on the simulator; None when all are passed."""
    kernel = compiled(exercise, code)
    if isinstance(kernel, Finding):
        return kernel
    try:
        return next(_stages(exercise, kernel, cases, said), None)
    except simt.LaunchError as error:
        return Finding("compile", error.message, kind="launch")
    except simt.UnsupportedInstruction as error:
        return Finding("compile", error.message, kind="unsupported", line=error.line,
                       source=error.source)  # fmt: skip
    except MemoryError:
        return Finding("endless", "the kernel takes more memory than this machine has: does it "
                       "print in a loop?", kind="memory")  # fmt: skip


def _stages(exercise, kernel, cases, said) -> Iterator[Finding]:
    """What ends the check, if anything; the stages in their order."""
    first = None  # defect of a case whose numbers are right
    results = {}
    for k, case in enumerate(cases):
        outcome = run(exercise, kernel, case, "lowest")
        said.append(outcome.said[: CLIPPED + 1])
        share = k / len(cases)
        if found := _wrong(exercise, outcome, first, share):
            yield found
        if outcome.defects and first is None:
            first = _defect(outcome.defects[0], case, share)
        results[case] = outcome.y
    if first is not None:
        yield first
    yield from _schedules(exercise, kernel, cases, results)
    yield from _budget(exercise, kernel)


def _wrong(exercise, outcome: Outcome, before: Finding | None, share: float) -> Finding | None:
    """The finding of a case with wrong numbers or without an end."""
    case = outcome.case
    if outcome.endless:
        error = outcome.endless
        where = f" It was at line {error.line} when it was stopped." if error.line else ""
        return Finding("endless", f"The kernel does not come to its end.{where}",
                       kind="endless loop", line=error.line, source=error.source, case=case,
                       share=share, evidence=(error.message.split(";")[0], *_place(error),
                                              f"with {_named(case)}"))  # fmt: skip
    found = difference.compare(exercise, case, outcome.x, outcome.y, outcome.want)
    if found is None:
        return None
    evidence = (f"with {_named(case)}: {found}", f"{found.wrong} of {found.size} elements differ")
    facts = {
        "patterns": found.patterns, "case": case, "row": found.row, "col": found.col,
        "got": found.got, "expected": found.expected, "share": share,
    }  # fmt: skip
    if outcome.defects:
        defect = _defect(outcome.defects[0], case, share)
    elif before is not None:
        defect = before
    else:
        message = f"The result is wrong: {found.pattern() or 'see the first element that differs'}."
        return Finding("wrong", message, evidence=evidence, **facts)
    message = defect.message.replace(BY_LUCK, "")
    return Finding("defect", message, kind=defect.kind, line=defect.line, source=defect.source,
                   evidence=(*defect.evidence, *evidence), **facts)  # fmt: skip


def _named(case: Case) -> str:
    return f"{case} (a hidden case)" if case.hidden else str(case)


def _place(error: simt.SimulatorError) -> list[str]:
    source = textwrap.shorten(error.source or "", 100, placeholder=" …")
    return [_at(error.line, source)] if error.line else []


def _at(line: int, source: str) -> str:
    return f"line {line}: {source}" if source else f"line {line}"


def _defect(defect: simt.Defect, case: Case, share: float = 1.0) -> Finding:
    """The finding of a defect in a case whose numbers are right."""
    lucky = defect.kind.startswith(LUCKY)
    others = [f"and line {line}" for line in defect.lines if line and line != defect.line]
    who = f"block {defect.block}, thread {defect.thread}" if defect.block is not None else ""
    evidence = [f"{defect.kind}: {defect.message}", *_place(defect), *others,
                ", ".join(filter(None, (who, f"with {_named(case)}")))]  # fmt: skip
    return Finding(
        "lucky" if lucky else "defect",
        f"{defect.kind[0].upper()}{defect.kind[1:]} at line {defect.line}."
        + (BY_LUCK if lucky else ""),
        kind=defect.kind,
        line=defect.line,
        source=(defect.source or "").strip() or None,
        case=case,
        evidence=tuple(evidence),
        share=share,
    )


def _schedules(exercise, kernel, cases, results) -> Iterator[Finding]:
    """Every case once more, with warps and blocks in another order."""
    for case in cases:
        for schedule in SCHEDULES:
            outcome = run(exercise, kernel, case, schedule)
            if outcome.defects:
                yield _defect(outcome.defects[0], case)
            found = _wrong(exercise, outcome, None, 1.0)
            if found is not None or not _alike(outcome.y, results[case]):
                yield Finding(
                    "lucky",
                    "The result depends on which warp or block runs first.",
                    kind="schedule",
                    case=case,
                    evidence=(f"with {_named(case)}, warps in another order",
                              *(found.evidence if found else ())),
                )  # fmt: skip


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal but for the rounding that another order of atomics may bring."""
    if one.tobytes() == other.tobytes():
        return True
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=1e-3, equal_nan=True))


def _budget(exercise, kernel) -> Iterator[Finding]:
    allowed = exercise.allowed()
    if not allowed:
        return
    rows, cols = exercise.budget_size
    spent = counted(exercise, kernel)
    for counter, most in allowed.items():
        if spent[counter] > most:
            yield Finding(
                "slow",
                f"Over the budget: {spent[counter]} {COUNTED[counter]}, at most {most} are allowed "
                f"at {rows} × {cols}.",
                kind=counter,
                evidence=tuple(f"{COUNTED[key]}: {spent[key]}, budget {limit}"
                               for key, limit in allowed.items()),
            )  # fmt: skip


def _verdict(exercise, code, found: Finding | None, where, seconds, said) -> Verdict:
    shown = "\n".join(said[:CLIPPED].splitlines()[:SHOWN])
    said = shown if shown == said.rstrip("\n") else f"{shown}\n(and more)"
    common = {"name": exercise.name, "device": where, "seconds": seconds, "said": said}
    if found is None:
        allowed = exercise.allowed()
        text = "Right on every case, free of defects" + (", within the budget." if allowed else ".")
        return Verdict(passed=True, stage="passed", message=text, score=score("passed"), **common)
    known = mistake(exercise, found, code) if isinstance(code, str) else None
    message, evidence = known.message if known else found.message, found.evidence
    if isinstance(code, str) and clean(code).split() == clean(exercise.skeleton).split():
        known, message = None, EMPTY.format(exercise.hole)
    if message != found.message and found.stage not in ("defect", "lucky"):
        evidence = (found.message, *evidence)
    if found.stage == "compile" and found.line:
        evidence = (_at(found.line, (found.source or "").strip()), *evidence)
    return Verdict(
        passed=False,
        stage=found.stage,
        message=message,
        score=score(found.stage, found.share),
        kind=found.kind,
        line=found.line,
        source=found.source,
        pattern=found.patterns[0] if found.patterns else None,
        case=found.case,
        row=found.row,
        col=found.col,
        got=found.got,
        expected=found.expected,
        mistake=known.name if known else None,
        evidence=evidence,
        **common,
    )
