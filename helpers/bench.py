"""Time versions and peers on a GPU, at one size or over many, beside two copies as the ceiling.

Nothing is timed that has not just been compared with its reference, and nothing without a GPU:
the simulator has no clock. `timing` says how; what comes out is a `recorded.Record`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from . import device, launch, ondevice, progress, provenance, recorded, specs, subjects, versions
from . import peers as libraries
from .plan import Case, default_plan, peers_for
from .recorded import Figure, Record
from .simt.errors import LaunchError
from .timing import (
    BUDGET_US,
    LEAST,
    ROTATED,
    SHORT_US,
    WARMUP,
    BenchError,
    Clock,
    GpuClock,
    Timing,
    measure,
    replay,
    rotation,
)
from .versions import Version

__all__ = [
    "BenchError",
    "Case",
    "Repeatability",
    "default_file",
    "default_plan",
    "ladder",
    "repeatability",
    "sweep",
    "time_version",
    "writable",
]

MINUTES = 8.0  # a sweep begins no further size after these, less what one size may take
ONE_SIZE_S = 30.0
L2_SHARE, L2_TURNS = 0.85, 100  # of the L2, what two matrices may fill; copies in one graph
COVERS = 3  # flushes before a peer: the host needs longer to queue five operations than a kernel


def ladder(
    rows: int = 4096,
    cols: int = 4096,
    names: Iterable[str] | None = None,
    repeats: int = 50,
    seed: int = 0,
    peers: bool = False,
) -> Record:
    """Time versions (all rungs when names is None) and both copies at rows × cols; with `peers`
    also the libraries that are installed.

    Input is standard-normal. Returns a record with origin "live", ready for `recorded.save`.
    BenchError without a GPU or for a wrong kernel, ValueError for an unknown name, LaunchError for
    a size that a version cannot take; what a peer cannot do is said in the record's method.
    """
    if isinstance(names, str):
        names = [names]
    picked = versions.ladder() if names is None else [versions.get(name) for name in names]
    session = _Session(repeats, seed, strict=True)
    for version in picked:
        launch.config(version, rows, cols)  # refuses a size before anything is allocated
    for dtype in dict.fromkeys(version.dtype for version in picked):
        group = tuple(version.name for version in picked if version.dtype == dtype)
        session.run(Case(rows, cols, dtype, group, peers_for(dtype) if peers else ()))
    return session.record()


def time_version(version: Version | str, rows: int, cols: int, repeats: int = 50) -> Figure:
    """Time one version, the copies beside it; its figure. Raises what `ladder` raises, and
    ValueError for a version changed since it was taken from the catalogue: a record has its name
    only."""
    name = version if isinstance(version, str) else version.name
    own = versions.get(name)
    if not isinstance(version, str) and version != own:
        raise ValueError(f"expected {name} as the catalogue has it (block={own.block}), got one "
                         f"with block={version.block}; to time that, change its record in "
                         "helpers/versions.py")
    return ladder(rows, cols, [name], repeats).figure(recorded.row_name(name), rows, cols)


def sweep(
    plan: Iterable[Case] | None = None,
    path: str | os.PathLike | None = None,
    repeats: int = 50,
    seed: int = 0,
    minutes: float = MINUTES,
) -> Record:
    """Time every case of a plan (`default_plan` when None) and go on past whatever fails.

    Versions that refuse a size, peers that raise or are wrong, sizes that no longer fit into the
    time or the memory: each is named with its reason in the record's method. path: where to write
    the record; until the end what is finished lies beside it, under the ending .partial. BenchError
    without a GPU, FileNotFoundError without the folder.
    """
    plan = default_plan() if plan is None else list(plan)
    path = writable(path) if path is not None else None
    session, end = _Session(repeats, seed), time.monotonic() + 60 * minutes - ONE_SIZE_S
    with progress.bar(len(plan), "sweep") as bar:
        for case in plan:
            bar.label = f"sweep, {case}"
            if time.monotonic() > end:
                session.note("the whole size", f"the {minutes:g} minutes were over", case)
            elif session.usable:
                session.run(case)
                if path is not None and session.figures:
                    recorded.save(session.record(), _partial(path))
            else:
                session.note("the whole size", "the device had stopped answering", case)
            bar.update(1)
    record = session.record()
    if path is not None:
        recorded.save(record, path)
        _partial(path).unlink(missing_ok=True)
    return record


def writable(path: str | os.PathLike) -> Path:
    """The path of a file that can be written once a run is over. FileNotFoundError, before it
    begins, where the folder is not there."""
    path = Path(path)
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.resolve().parent} to write to; "
                                "name a file in one that exists (--out FILE)")
    return path


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def default_file() -> Path:
    """Where a sweep of this device and day belongs: measurements/h200_2026-11-30.json."""
    where = provenance.where()
    short = where["device"].removeprefix("NVIDIA ").lower().replace(" ", "_")
    return recorded.MEASUREMENTS / f"{short}_{where['date']}.json"


@dataclass(frozen=True)
class Repeatability:
    """How far two runs differ: rows of (name, size, relative difference), the worst first."""

    rows: tuple[tuple[str, str, float], ...]

    @property
    def worst(self) -> float:
        """The largest relative difference."""
        return self.rows[0][2]

    def within(self, limit: float) -> bool:
        """True when no row differs by more than `limit` (0.05 for 5 %)."""
        return self.worst <= limit

    def __str__(self):
        name, size, difference = self.rows[0]
        return f"{len(self.rows)} rows; the worst is {name} at {size}, {difference:.1%} apart"


def repeatability(a: Record, b: Record) -> Repeatability:
    """Compare the medians of two runs, row by row, relative to the smaller of each two.

    Rows that only one run has are left out; BenchError when there is no row in common.
    """
    def key(row: Figure) -> tuple:
        return row.name, row.rows, row.cols, row.dtype

    first, second = ({key(row): row.us for row in run.rows if row.us} for run in (a, b))
    found = [(name, f"{rows}×{cols} {dtype}", _apart(us, second[name, rows, cols, dtype]))
             for (name, rows, cols, dtype), us in first.items()
             if (name, rows, cols, dtype) in second]
    if not found:
        raise BenchError("the two runs have no row in common: nothing can be compared")
    return Repeatability(tuple(sorted(found, key=lambda row: -row[2])))


def _apart(one: float, other: float) -> float:
    return abs(one - other) / min(one, other)


def _clock() -> Clock:
    if not device.on_gpu():
        raise BenchError(
            f"no GPU to time on: the active device is the {device.name()}, which has no clock. "
            "Recorded figures: print(helpers.recorded.latest()); drawn: helpers.roofline.ladder()"
        )
    return GpuClock(device.spec().l2)


def _answers() -> bool:
    """Whether the device still works: after an illegal access nothing runs in this process."""
    try:
        device.cp.cuda.Device().synchronize()
    except Exception:
        return False
    return True


@dataclass
class _Session:
    """One run: its figures so far, and what its record has to say about them.

    strict: what fails is raised, except in a peer; otherwise it becomes a note.
    """

    repeats: int
    seed: int
    strict: bool = False
    figures: list[Figure] = field(default_factory=list)
    notes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    replayed: list[str] = field(default_factory=list)
    missing: dict[str, str | None] = field(default_factory=dict)
    usable: bool = True

    def __post_init__(self):
        self.clock, self.where, self.clocks = _clock(), provenance.where(), provenance.clocks()

    def run(self, case: Case) -> None:
        """Time everything of one case, and add its figures."""
        try:
            self._run(case)
        finally:
            libraries.release()  # here, where nothing of the case is referred to any more

    def _run(self, case: Case) -> None:
        try:
            x = ondevice.normal(case.rows, case.cols, case.dtype, self.seed)
            y = device.cp.empty_like(x)
        except Exception as error:  # most likely out of memory
            return self._failed("the whole size", error, case)
        makers, timings = dict(self._subjects(case, x, y)), {}
        for name, make in makers.items():
            covers = COVERS if name in libraries.PEERS else 1
            try:
                timings[name] = measure(make(), self.clock, self.repeats, covers)
            except Exception as error:  # a library may raise anything; the run goes on
                self._failed(name, error, case)
        if timings and min(timing.us for timing in timings.values()) < SHORT_US:
            self._replay(case, makers, timings, x, y)
        if case.resident:
            self._in_l2(case, makers, timings, x, y)
        self._add(case, x, timings)

    def _subjects(self, case: Case, x, y) -> Iterator[tuple[str, Callable]]:
        """(name of the row, function that makes its subject), the ceilings first."""
        yield "memcpy", partial(subjects.memcpy, x, y)
        if x.nbytes % 4 == 0:
            yield recorded.row_name("copy"), partial(subjects.copy_kernel, x, y)
        for name in case.versions:
            if name != "copy":
                yield name, partial(subjects.of_version, versions.get(name), x, y)
        for name in case.peers:
            if name not in self.missing:
                self.missing[name] = libraries.get(name).missing()
            if self.missing[name] is None:
                yield name, partial(subjects.of_peer, libraries.get(name), x, y)

    def _replay(self, case: Case, makers: dict, timings: dict[str, Timing], x, y) -> None:
        """Time everything of a size again in graphs: one method a size, so that rows compare."""
        count = rotation(2 * x.nbytes, self.clock.l2_bytes)
        if count is None:
            reason = "timed by events, since buffers as small do not fill the L2 in one graph"
            return self.note("the whole size", reason, case)
        pairs = [(x.copy(), device.cp.empty_like(y)) for _ in range(count)]
        self.replayed.append(f"{case} ({count} launches a graph)")
        for name in timings:
            try:
                timings[name] = replay(makers[name](), self.clock, pairs, self.repeats)
            except Exception as error:
                self._note_error(name, error, case, "timed by events: ")

    def _in_l2(self, case: Case, makers: dict, timings: dict[str, Timing], x, y) -> None:
        """Copy the same two matrices over and over: after the first time they lie in the L2."""
        if 2 * x.nbytes > L2_SHARE * self.clock.l2_bytes:
            return self.note(recorded.L2_COPY, "two such matrices do not stay in this L2", case)
        try:
            copy = makers[recorded.row_name("copy")]()
            timings[recorded.L2_COPY] = replay(copy, self.clock, [(x, y)] * L2_TURNS, self.repeats)
        except Exception as error:
            self._failed(recorded.L2_COPY, error, case)

    def _failed(self, name: str, error: Exception, case: Case) -> None:
        if self.strict and name not in libraries.PEERS:
            raise error
        self._note_error(name, error, case)

    def _note_error(self, name: str, error: Exception, case: Case, what: str = "") -> None:
        text = device.first_line(error)
        if len(text) > LONGEST_REASON:
            text = f"{text[:LONGEST_REASON]}…"
        plain = isinstance(error, (BenchError, LaunchError))  # a sentence of the lessons
        self.note(name, what + (text if plain else f"{type(error).__name__}: {text}"), case)
        self.usable = _answers()

    def note(self, name: str, reason: str, case: Case) -> None:
        """Have the record say why `name` has no figure at a size, or another one. Reasons that
        differ only in their numbers are told once."""
        alike = re.sub(r"[\d.]+", "#", reason)
        for (known, told), sizes in self.notes.items():
            if known == name and re.sub(r"[\d.]+", "#", told) == alike:
                return sizes.append(str(case))
        self.notes[name, reason] = [str(case)]

    def _add(self, case: Case, x, timings: dict[str, Timing]) -> None:
        ceilings = [timings[name].us for name in recorded.CEILINGS if name in timings]
        if not ceilings:
            return self.note("the whole size", "no copy could be timed beside it", case)
        for name, timing in timings.items():
            gbps = specs.effective_bandwidth(*x.shape, x.dtype.itemsize, timing.us * 1e-6) / 1e9
            version = recorded.version_of(name)
            self.figures.append(Figure(
                name=name, rows=case.rows, cols=case.cols, dtype=case.dtype,
                us=round(timing.us, 3), us_q1=round(timing.us_q1, 3), us_q3=round(timing.us_q3, 3),
                repeats=timing.repeats, gbps=_digits(gbps),
                copy_share=_digits(min(ceilings) / timing.us), origin="live",
                kernel=version and version.source_hash, **self.where,
            ))  # fmt: skip

    def record(self) -> Record:
        """All that has been measured until now."""
        ran = dict.fromkeys(figure.name for figure in self.figures)
        packages = {p.package: p.version() for p in map(libraries.PEERS.get, ran) if p}
        return Record(
            **self.where,
            method=" ".join(self._method()),
            libraries={**provenance.libraries(), **packages},
            kernels={figure.name: figure.kernel for figure in self.figures if figure.kernel},
            rows=tuple(self.figures),
        )

    def _method(self) -> Iterator[str]:
        yield METHOD.format(repeats=self.repeats, flush=self.clock.flush_bytes >> 20)
        if any(figure.name in libraries.PEERS for figure in self.figures):
            yield PEER_METHOD
        if self.replayed:
            yield f"{REPLAY_METHOD} Replayed: {'; '.join(self.replayed)}."
        if any(figure.name == recorded.L2_COPY for figure in self.figures):
            yield L2_METHOD
        missing = {name: reason for name, reason in self.missing.items() if reason}
        left_out = [f"{name} everywhere ({reason})" for name, reason in missing.items()]
        left_out += [f"{name} at {', '.join(sizes)} ({reason})"
                     for (name, reason), sizes in self.notes.items()]
        if left_out:
            yield f"Left out, or as noted: {'; '.join(left_out)}."
        before, after = self.clocks, provenance.clocks()
        if before and after:
            yield f"Before the run: {before}; after it: {after}."


def _digits(value: float) -> float:
    """Five significant digits: a slow kernel on a small matrix has a bandwidth, too."""
    return float(f"{value:.5g}")


LONGEST_REASON = 240
METHOD = (
    "Standard-normal input, drawn on the device. Before it is timed every result is compared "
    "whole: softmaxes with float64 (16-bit ones with float64 rounded to their type, the 16-bit "
    "naive kernels with their own order of rounding), copies exactly. Then warm-up "
    f"({WARMUP} launches, one of a slow kernel) and up to {{repeats}} timed launches, so many as "
    f"{BUDGET_US / 1e6:g} s hold but {LEAST} at least, CUDA events around the launch alone; before "
    "each the L2 was flushed by writing {flush} MiB. us is the median, us_q1 and us_q3 the "
    "quartiles. memcpy is cudaMemcpyAsync from device to device; copy_kernel copies 16-bit "
    "matrices as the float32 words they fill; copy_share is the share of the faster copy at that "
    "size."
)
PEER_METHOD = (
    f"Peers get the same arrays; before each launch {COVERS} flushes, since the host needs longer "
    "to queue them. Some allocate their result, and that is part of their launch."
)
L2_METHOD = (
    f"{recorded.L2_COPY} is the copy kernel replayed {L2_TURNS} times a graph on one pair of "
    "matrices that stays in the L2; its copy_share, above 1, is against the copies from memory."
)
REPLAY_METHOD = (
    f"Where anything took less than {SHORT_US:g} µs, the whole size was timed again by CUDA graph: "
    f"one launch on each of so many pairs of buffers that they hold {ROTATED} times the L2; us is "
    "the graph's time over its launches, and repeats counts replays."
)
