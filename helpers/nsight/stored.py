"""The counters that are kept in `measurements/`, and the choice among those of a reader's file."""

from __future__ import annotations

import csv
import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path

from .. import files, versions
from .export import ExportError, number, read, whole
from .report import Report

__all__ = ["choose", "reports"]

FACTS = {"device": "a text", "date": "a date like 2026-11-30", "kernels": "an object of texts"}
CALIBRATED = 4096  # rows and columns of the catalogue's versions among the calibration kernels


def reports(folder: Path | str) -> list[Report]:
    """Every recorded launch of a version below `folder`, the newest run first.

    nsight/*.csv (written by `nsight.run`) has many sizes; ncu_*/counters.csv, the measurement of
    the calibration kernels, has the versions at one. ExportError for one that is damaged; a CSV
    without the JSON that says where and when is no record, and is left out with a warning.
    """
    pairs = [(path, path.with_suffix(".json")) for path in Path(folder).glob("nsight/*.csv")]
    pairs += [(p, p.with_name("meta.json")) for p in Path(folder).glob("ncu_*/counters.csv")]
    runs = []
    for path, beside in pairs:
        if beside.exists():
            runs.append((facts(beside), list(launches(path))))
        else:
            warnings.warn(f"{path} is left out: no {beside.name} beside it says where and when it "
                          "was measured. Your own export: recorded.ncu_file(path)", stacklevel=2)
    # of one day the run over many sizes first
    runs.sort(key=lambda run: (run[0]["date"], len(run[1])), reverse=True)
    return [placed(report, about) for about, found in runs for report in found]


def facts(path: Path) -> dict:
    """Of the JSON beside a CSV: device, date, kernel hashes."""
    try:
        found = files.read(path)
        about = {k: found[k] for k in FACTS if k in found} if isinstance(found, dict) else found
        files.expect(path, "the record", about, FACTS)
    except files.RecordError as error:
        raise ExportError(f"{error}. It should say where and when the counters beside it were "
                          "measured; restore it") from None
    return about


def launches(path: Path) -> Iterator[Report]:
    """A report a row; `case` names a calibration kernel, `version` a version at rows × cols."""
    text = path.read_text(encoding="utf-8")
    header, *lines = csv.reader(text.splitlines()) if text else ([],)
    if "version" not in header and "case" not in header:
        raise ExportError(f"{path}: no header with a column version or case; restore the file")
    key = "version" if "version" in header else "case"
    for line, cells in enumerate(lines, 2):
        if len(cells) != len(header) or (line > len(lines) and not text.endswith("\n")):
            raise ExportError(f"{path}: line {line} has {len(cells)} cells of {len(header)}, or no "
                              "end; the file is cut off or edited. Restore it")
        row = dict(zip(header, cells, strict=True))
        version = versions.VERSIONS.get(row.pop(key))
        if version:
            found = {name: counter(path, line, name, text) for name, text in row.items() if text}
            size = [found.pop(side, CALIBRATED) for side in ("rows", "cols")]
            yield Report(version.entry, found, *size)


def counter(path: Path, line: int, name: str, text: str) -> float:
    """The number of a cell; ExportError for none, and for rows and cols that are no size."""
    found = number(text)
    found = found if found is None else whole(found)
    if found is None or (name in ("rows", "cols") and not (isinstance(found, int) and found > 0)):
        raise ExportError(f"{path}: line {line} has {name} {text!r}, which is no number that could "
                          "stand there. Restore the file")
    return found


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
