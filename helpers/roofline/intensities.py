"""The roofline proper, in numbers: what each version computes, moves and reaches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import recorded, versions
from ..nsight import Report
from ..recorded import Figure, Record, RecordError
from .counted import FLOP, count
from .origins import DEVICE, Run, chosen, given, older, roof_of, run, title

__all__ = ["Claimed", "Intensity", "Point", "Slope", "counters_of",
           "intensity_content", "moved", "report"]

_MOVED = ("dram__bytes_read.sum", "dram__bytes_write.sum")


@dataclass(frozen=True)
class Point:
    """A version: GFLOP/s in its recorded time, FLOP a byte asked for and a byte of DRAM (or None).

    flops are of the whole launch, as `counted` defines them.
    """

    name: str
    flops: int
    gflops: float
    asked: float
    moved: float | None

    def __str__(self) -> str:
        real = "DRAM bytes not recorded" if self.moved is None else f"{self.moved:.2f} of DRAM"
        return f"{title(self.name)} {self.gflops:.0f} GFLOP/s, {self.asked:.2f} asked for, {real}"


@dataclass(frozen=True)
class Slope:
    """A roof that rises with intensity: 10^9 bytes/s."""

    label: str
    gbps: float
    measured: bool


@dataclass(frozen=True)
class Claimed:
    """An intensity the article states or implies, in FLOP/byte."""

    label: str
    intensity: float


@dataclass(frozen=True)
class Intensity:
    """All that the roofline says; compute is the data sheet's FP32 roof in GFLOP/s."""

    title: str
    points: tuple[Point, ...]
    slopes: tuple[Slope, ...]
    compute: tuple[str, float] | None
    claims: tuple[Claimed, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"Log-log roofline: {self.title}."]
        said += [f"{point}." for point in self.points]
        said += [f"Roof: {slope.label} {slope.gbps:.0f} GB/s." for slope in self.slopes]
        if self.compute:
            said.append(f"Roof: {self.compute[0]} {self.compute[1]:.0f} GFLOP/s.")
        said += [f"{claim.label}: {claim.intensity:.3g} FLOP/byte." for claim in self.claims]
        return " ".join([*said, *(f"{note}." for note in self.notes)])


def intensity_content(
    names: Sequence[str] | None = None,
    device: str = DEVICE,
    rows: int = 4096,
    cols: int = 4096,
    live: Record | Iterable[Figure] = (),
) -> Intensity:
    """Choose points, roofs, the article's intensities and the notes, for float32 at rows × cols."""
    source = run(device, live, (rows, cols, "float32"))
    rungs = [version.name for version in versions.ladder()]
    names, figures = chosen(names, rungs), source.by_name
    points = tuple(_point(figures[name], source) for name in names
                   if name in figures and figures[name].us)
    claims, claim_notes = _claims()
    spec = source.spec
    compute = (f"{spec.name} data sheet, FP32", spec.fp32_flops / 1e9) if spec else None
    headline = f"Roofline of {source.short}, softmax of {rows} × {cols} float32"
    notes, l2 = _notes(source, names, points, rows, cols), _l2(source, live)
    if not l2:
        notes.append("no roof of L2: data sheets do not give one and none is recorded")
    return Intensity(headline, points, (*l2, *_slopes(source)), compute, claims,
                     (*notes, *claim_notes))


def report(name: str, rows: int, cols: int, device: str) -> Report | None:
    """Nsight Compute's recorded counters of a version on that device, None where there are none."""
    try:
        return recorded.ncu(name, rows, cols, device)
    except RecordError:
        return None


def counters_of(found: Iterable[Report | None]) -> list[str]:
    """The note on where DRAM's bytes come from: origin, device and date of each report there is."""
    labels = sorted({one.label() for one in found if one})
    return [f"DRAM: {'; '.join(labels)}"] if labels else []


def moved(name: str, rows: int, cols: int, device: str) -> tuple[int, int] | None:
    """Bytes that DRAM read and wrote, None where Nsight Compute recorded none."""
    seen = report(name, rows, cols, device)
    if not seen or any(metric not in seen.counters for metric in _MOVED):
        return None
    read, written = (int(seen.counters[metric]) for metric in _MOVED)
    return read, written


def _point(figure: Figure, source: Run) -> Point:
    size = (figure.name, figure.rows, figure.cols)
    counted, dram = count(*size), moved(*size, source.device)
    real = counted.flops / sum(dram) if dram else None
    return Point(figure.name, counted.flops, counted.flops / figure.us / 1e3,
                 counted.flops / (counted.read + counted.written), real)


def _l2(source: Run, live: Record | Iterable[Figure]) -> list[Slope]:
    """The roof of L2, where the copy kernel was timed in it; its matrix is a small one."""
    rows = given(live) or recorded.newest(source.device)
    return [Slope(f"L2, {f.origin}", f.gbps, True) for f in rows if f.name == recorded.L2_COPY][-1:]


def _slopes(source: Run) -> list[Slope]:
    slopes, copy = [], roof_of(source.rows)
    if source.spec:
        slopes.append(Slope("DRAM, data sheet", source.spec.bandwidth / 1e9, False))
    if copy:
        slopes.append(Slope(f"copy, {source.rows[0].origin}", copy, True))
    return slopes


def _claims() -> tuple[tuple[Claimed, ...], list[str]]:
    """The article's two intensities, and the scalar one with every read of its code counted."""
    try:
        scalar = recorded.claim("intensity_scalar").value
        vectorised = recorded.claim("intensity_vectorised").value
    except RecordError as error:
        return (), [f"article's intensities left out: {error}"]
    counted, made = 2, versions.get("v1").reads  # reads that the article counts, that it makes
    own = scalar * (counted + 1) / (made + 1)
    return (
        Claimed(f"article's, over {made} reads", own),
        Claimed("article, scalar", scalar),
        Claimed("article, vectorised", vectorised),
    ), []


def _notes(source: Run, names: Sequence[str], points: Sequence[Point], rows: int,
           cols: int) -> list[str]:
    seen = (report(point.name, rows, cols, source.device) for point in points)
    notes = [f"time: {source.label}" if points else source.label, *counters_of(seen)]
    here = {point.name for point in points}
    if missing := [title(name) for name in names if name not in here]:
        notes.append(f"no time at {rows} × {cols}: {', '.join(missing)}")
    if bare := [title(point.name) for point in points if point.moved is None]:
        notes.append(f"DRAM bytes of {source.device} at this size not recorded: {', '.join(bare)}")
    notes += older(figure for figure in source.rows if figure.name in here)
    notes += [FLOP] if points else []
    roof = source.spec.bandwidth / 1e9 if source.spec else float("inf")
    if above := [title(point.name) for point in points if point.gflops > point.asked * roof]:
        notes.append(f"asked for more than DRAM can bring, so caches answered: {', '.join(above)}")
    return notes
