"""The counters that are kept in `measurements/`, and the choice among those of a reader's file."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from .. import versions
from .export import ExportError, number, read, whole
from .report import Report

__all__ = ["choose", "reports"]

CALIBRATED = 4096  # rows and columns of the catalogue's versions among the calibration kernels


def reports(folder: Path | str) -> list[Report]:
    """Every recorded launch of a version below `folder`, the newest run first.

    nsight/*.csv (written by `nsight.run`) has many sizes; ncu_*/counters.csv, the measurement of
    the calibration kernels, has the versions at one.
    """
    folder = Path(folder)
    runs = [(facts(path), list(ladder(path))) for path in folder.glob("nsight/*.csv")]
    runs += [(facts(p.with_name("meta.json")), list(calibration(p)))
             for p in folder.glob("ncu_*/counters.csv")]  # fmt: skip
    # of one day the run over many sizes first
    runs.sort(key=lambda run: (run[0]["date"], len(run[1])), reverse=True)
    return [placed(report, about) for about, found in runs for report in found]


def facts(path: Path) -> dict:
    """The JSON beside a CSV: device, date, kernel hashes."""
    try:
        found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return {key: found[key] for key in ("device", "date", "kernels")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExportError(f"{path.with_suffix('.json')} should say where and when the counters "
                          f"beside it were measured ({error!r}); restore it") from None


def ladder(path: Path) -> Iterator[Report]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            version, rows, cols = (row.pop(key) for key in ("version", "rows", "cols"))
            if version in versions.VERSIONS:
                entry = versions.get(version).entry
                yield Report(entry, counters(row), int(rows), int(cols))


def calibration(path: Path) -> Iterator[Report]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            version = versions.VERSIONS.get(row.pop("case"))
            if version:
                yield Report(version.entry, counters(row), CALIBRATED, CALIBRATED)


def counters(row: dict[str, str]) -> dict[str, float]:
    return {name: whole(number(text)) for name, text in row.items() if text}


def placed(report: Report, about: dict) -> Report:
    """The report with device, date, and whether its kernel has changed since."""
    known = about["kernels"].values()
    stale = report.version.source_hash not in known
    return dataclasses.replace(report, device=about["device"], date=about["date"], stale=stale)


def choose(path: Path | str, kernel: str | None = None, launch: str | int | None = None) -> Report:
    """One launch of an exported file; ExportError listing what it has when none or several fit."""
    found = read(path)
    wanted = versions.VERSIONS[kernel].entry if kernel in versions.VERSIONS else kernel
    fits = [report for report in found if wanted is None or report.kernel == wanted]
    fits = fits or [report for report in found if wanted and wanted in report.kernel]
    if launch is not None:
        fits = [report for report in fits if report.launch == str(launch)]
    has = "; ".join(dict.fromkeys(
        f"{report.kernel} (launch {report.launch})" if report.launch else report.kernel
        for report in found
    ))  # fmt: skip
    if not fits:
        asked = " ".join(filter(None, (kernel, f"launch {launch}" if launch is not None else "")))
        raise ExportError(f"{path} has no {asked}; it has {has}")
    alike = {(report.kernel, report.counters.get("launch__grid_size")) for report in fits}
    if len(alike) > 1:
        raise ExportError(f"{path} has several kernels or sizes: {has}. Say which one, with "
                          "kernel= or launch=")
    return fits[-1]
