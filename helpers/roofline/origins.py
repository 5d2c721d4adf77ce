"""Where the figures of a chart come from: one run of one device, its data sheet, its names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import recorded, specs, versions
from ..recorded import CEILINGS, Figure, Record

__all__ = ["DEVICE", "Run", "chosen", "given", "older", "roof_of", "run", "tick", "title"]

DEVICE = "NVIDIA H200"  # whose record the charts show when nothing else is asked for


@dataclass(frozen=True)
class Run:
    """Figures of one device; `label` names their origin, device and dates, or what is missing."""

    device: str
    label: str
    rows: tuple[Figure, ...]

    @property
    def spec(self) -> specs.Spec | None:
        """The device's data sheet, None where there is none."""
        return specs.of_device(self.device)

    @property
    def short(self) -> str:
        """The device as a chart's labels say it: H200."""
        return self.spec.name if self.spec else self.device.removeprefix("NVIDIA ")

    @property
    def by_name(self) -> dict[str, Figure]:
        """Of a run of one size: name -> figure; of a name measured twice, the last."""
        return {figure.name: figure for figure in self.rows}


def run(device: str = DEVICE, live: Record | Iterable[Figure] = (),
        size: tuple[int, int, str] | None = None) -> Run:
    """The live figures where there are any, else those recorded of `device`; none may be left.

    size: rows, cols and dtype, None for all sizes. ValueError when the live figures are of more
    than one device or origin.
    """
    rows = given(live)
    if not rows:
        found = recorded.figures(device, *size) if size else recorded.newest(device)
        label = "; ".join(sorted({figure.where() for figure in found}))
        missing = f"recorded, {device}: nothing in measurements/{' at this size' if size else ''}"
        return Run(device, label or f"{missing} yet", tuple(found))
    labels = sorted({figure.where() for figure in rows})
    if len(labels) > 1:
        raise ValueError(f"expected live figures of one device and date, got {'; '.join(labels)}; "
                         "draw one chart for each")
    fit = tuple(f for f in rows if size in (None, (f.rows, f.cols, f.dtype)))
    missing = "" if fit else ": nothing of this size"
    return Run(rows[0].device, labels[0] + missing, fit)


def given(live: Record | Iterable[Figure]) -> tuple[Figure, ...]:
    """The figures of a record, or the figures as they are. ValueError for one that cannot be drawn:
    no time or bandwidth is NaN, infinite or below 0."""
    figures = tuple(live.rows if isinstance(live, Record) else live)
    for figure in figures:
        for key in ("gbps", "us"):
            value = getattr(figure, key)
            if value is not None and not 0 < value < float("inf"):  # true for NaN, too
                raise ValueError(f"{figure.name} at {figure.rows}×{figure.cols} has {key}={value}; "
                                 "expected a positive number: measure it again or leave it out")
    return figures


def roof_of(figures: Iterable[Figure]) -> float | None:
    """GB/s of the faster copy among figures of one run, from a share where no copy is there."""
    figures = tuple(figures)
    copies = [f.gbps for f in figures if f.name in CEILINGS]
    copies = copies or [f.gbps / f.copy_share for f in figures if f.copy_share]
    return max(copies, default=None)


def older(figures: Iterable[Figure]) -> list[str]:
    """The note on figures of another kernel than the catalogue's of today, none without any."""
    names = [title(figure.name) for figure in figures if figure.stale]
    return [f"recorded with an older kernel: {', '.join(dict.fromkeys(names))}"] if names else []


def chosen(names: Sequence[str] | None, among: Sequence[str]) -> tuple[str, ...]:
    """The names asked for, all of `among` for None. ValueError for one that is not among them."""
    if names is None:
        return tuple(among)
    names = (names,) if isinstance(names, str) else tuple(names)
    if unknown := [name for name in names if name not in among]:
        raise ValueError(f"expected names among {', '.join(among)}, got {', '.join(unknown)}")
    return names


def title(name: str) -> str:
    """A row's name as a reader says it: V3, copy kernel, torch.softmax."""
    if name in CEILINGS:
        return name.replace("_", " ")
    return name.upper() if name in (rung.name for rung in versions.ladder()) else name


def tick(name: str) -> str:
    """The name and, for a version, the idea that its file is named after."""
    if name not in versions.VERSIONS:
        return title(name)
    idea = Path(versions.get(name).file).stem.partition("_")[2].replace("_", " ")
    return f"{title(name)}\n{idea}"
