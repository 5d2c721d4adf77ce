"""Recorded results: every figure with its origin, device and date.

One JSON file a device and date in `measurements/`, and `article.json` with the published figures
and claims; Nsight Compute's counters and the latencies of single instructions in folders below.
Nothing here measures; `helpers.bench`, `helpers.nsight` and `helpers.latency` do.
"""

from __future__ import annotations

import dataclasses
import html
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import files, specs, versions
from .columns import aligned
from .files import RecordError

if TYPE_CHECKING:  # they bring the simulator and CuPy's checks; most readers want a figure
    from .latency import Latencies
    from .nsight import Report

__all__ = [
    "ARTICLE",
    "CEILINGS",
    "L2_COPY",
    "MEASUREMENTS",
    "Claim",
    "Figure",
    "Published",
    "Record",
    "RecordError",
    "article",
    "claim",
    "claims",
    "figures",
    "latency",
    "latest",
    "load",
    "ncu",
    "ncu_file",
    "newest",
    "row_name",
    "save",
    "table",
    "usual_rows",
    "version_of",
]

MEASUREMENTS = Path(__file__).resolve().parent.parent / "measurements"
ARTICLE = "article.json"
CEILINGS = ("memcpy", "copy_kernel")
L2_COPY = "l2_copy"  # the copy kernel on matrices that stay in the L2


@dataclass(frozen=True)
class Figure:
    """One result: what ran, how long it took, where and when.

    us, us_q1, us_q3 are the median and quartiles of `repeats` launches in microseconds (None where
    only a bandwidth was published); gbps is effective bandwidth in 10^9 bytes/s; copy_share is the
    share of the faster copy of the same run (0 to 1, None where no copy was measured). kernel is
    the hash of the source that ran, None for memcpy, peers and what was published.
    """

    name: str
    rows: int
    cols: int
    dtype: str
    us: float | None
    us_q1: float | None
    us_q3: float | None
    repeats: int | None
    gbps: float
    copy_share: float | None
    origin: str
    device: str
    date: str | None
    driver: str | None
    kernel: str | None = None

    @property
    def peak_share(self) -> float | None:
        """Share of the data sheet's bandwidth, 0 to 1; None for a card without a data sheet."""
        sheet = specs.of_device(self.device)
        return self.gbps * 1e9 / sheet.bandwidth if sheet else None

    @property
    def stale(self) -> bool:
        """True when another source ran than the catalogue's file of today."""
        version = version_of(self.name)
        return bool(version and self.kernel) and self.kernel != version.source_hash

    def label(self) -> str:
        """Origin, device and date, and whether an older kernel ran."""
        return self.where(" with an older kernel" if self.stale else "")

    def where(self, mark: str = "") -> str:
        """Origin, device and date alone, for charts that mark older kernels one by one."""
        undated = "as published" if self.origin == "article" else "no date"
        return f"{self.origin}{mark}, {self.device}, {self.date or undated}"


@dataclass(frozen=True)
class Published(Figure):
    """A published figure: also the share of peak (percent) and the speed-up it was printed with."""

    percent: float | None = None
    speedup: float | None = None


@dataclass(frozen=True, repr=False)
class Record:
    """One run on one device: the rows, and all that is needed to judge or repeat them.

    libraries is name -> version, kernels is row name -> hash of the source that ran.
    """

    device: str
    driver: str | None
    date: str | None
    method: str
    libraries: dict[str, str]
    kernels: dict[str, str]
    rows: tuple[Figure, ...]

    def figure(self, name: str, rows: int = 4096, cols: int = 4096) -> Figure:
        """The row called `name` at rows × cols; RecordError listing what there is otherwise."""
        for row in self.rows:
            if (row.name, row.rows, row.cols) == (name, rows, cols):
                return row
        have = ", ".join(f"{row.name} at {row.rows}×{row.cols}" for row in self.rows)
        raise RecordError(f"{self.device} has no figure for {name} at {rows}×{cols}; it has {have}")

    def at(self, rows: int, cols: int, dtype: str = "float32") -> list[Figure]:
        """Every row of one size and type, in the order recorded."""
        wanted = (rows, cols, dtype)
        return [row for row in self.rows if (row.rows, row.cols, row.dtype) == wanted]

    def stale(self, name: str) -> bool:
        """True when a row called `name` is."""
        return any(row.stale for row in self.rows if row.name == name)

    def to_json(self) -> str:
        """The text of a measurements file: the run once, then one line a row."""
        run = {key: getattr(self, key) for key in _RUN if key != "rows"}
        head = json.dumps(run, indent=2, ensure_ascii=False)[:-2]
        rows = ",\n".join("    " + json.dumps(_row(row), ensure_ascii=False) for row in self.rows)
        return f'{head},\n  "rows": [\n{rows}\n  ]\n}}\n'

    def __str__(self) -> str:
        return table(self.rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _table_html(self.rows)


# What each key of a file holds, in the file's order; which of them may be null is said below.
_RUN = {
    "device": "a text", "driver": "a text", "date": "a date like 2026-11-30", "method": "a text",
    "libraries": "an object of texts", "kernels": "an object of texts", "rows": "a list",
}  # fmt: skip
_ROW = {
    "name": "a text", "rows": "a positive whole number", "cols": "a positive whole number",
    "dtype": "a text", "us": "a positive number", "us_q1": "a positive number",
    "us_q3": "a positive number", "repeats": "a positive whole number",
    "gbps": "a positive number", "copy_share": "a positive number",
    "origin": "recorded or article",
}  # fmt: skip
_PUBLISHED = {**_ROW, "percent": "a positive number", "speedup": "a positive number"}
_CLAIM = {"value": "a number, a list or an object", "unit": "a text", "what": "a text",
          "device": "a text"}  # fmt: skip
_UNKNOWN = ("driver", "date")  # of a run
_UNPUBLISHED = ("us", "us_q1", "us_q3", "repeats", "copy_share")  # not always published


def row_name(version: str) -> str:
    """What a version of the catalogue is called in a record: the copy kernel is a ceiling there."""
    return "copy_kernel" if version == "copy" else version


def version_of(row: str) -> versions.Version | None:
    """The version a row's name stands for; None for memcpy and others outside the catalogue."""
    return next((v for v in versions.VERSIONS.values() if row_name(v.name) == row), None)


def load(path: str | os.PathLike) -> Record:
    """Read one measurements file; RecordError names the file and what is wrong with it."""
    return _record(Path(path), files.read(path))


def save(record: Record, path: str | os.PathLike) -> Path:
    """Write a record so that a reader sees the old file or the whole new one, never half of it.

    A file is a recording: rows that were live when measured are stored as recorded. RecordError for
    what `load` would refuse.
    """
    path = Path(path)
    stored = tuple(dataclasses.replace(r, origin="recorded") if r.origin == "live" else r
                   for r in record.rows)
    text = dataclasses.replace(record, rows=stored).to_json()
    _record(path, json.loads(text))
    files.write(path, text)
    return path


def article(folder: str | os.PathLike = MEASUREMENTS) -> list[Published]:
    """The published A100 figures, quoted as reference data: measurements/article.json."""
    return list(load(Path(folder) / ARTICLE).rows)


def latest(device: str = "NVIDIA H200", folder: str | os.PathLike = MEASUREMENTS) -> Record | None:
    """The newest record of one device, None when there is none; a broken file is an error.

    Of two of one date the one with more rows: a sweep over sizes has the ladder's size, too.
    """
    return next(iter(_records(device, folder)), None)


def newest(
    device: str = "NVIDIA H200", folder: str | os.PathLike = MEASUREMENTS
) -> list[Figure]:
    """Everything recorded of one device, over all its files: of each name, size and type the row of
    the newest file that has it. A row knows by itself whether its kernel is still the same."""
    found: dict[tuple, Figure] = {}
    for record in _records(device, folder):
        for row in record.rows:
            found.setdefault((row.name, row.rows, row.cols, row.dtype), row)
    return list(found.values())


def figures(
    device: str = "NVIDIA H200",
    rows: int = 4096,
    cols: int = 4096,
    dtype: str = "float32",
    folder: str | os.PathLike = MEASUREMENTS,
) -> list[Figure]:
    """Recorded figures of one device, size and type: all from the newest record that has that size,
    so that they share one run and its copies; [] when none has."""
    return next(filter(None, (r.at(rows, cols, dtype) for r in _records(device, folder))), [])


def _records(device: str, folder: str | os.PathLike) -> list[Record]:
    """The records of one device, the newest first."""
    there = (path for path in Path(folder).glob("*.json") if path.name != ARTICLE)
    found = [_record(path, raw) for path, raw in files.of_device(there, device)]
    return sorted(found, key=lambda record: (record.date or "", len(record.rows)), reverse=True)


@dataclass(frozen=True)
class Claim:
    """Something the articles say, as published: value is a number, a list or a table of numbers.

    device is None where the article does not name one. `label()` must be shown with it.
    """

    name: str
    value: float | list | dict
    unit: str
    what: str
    device: str | None

    def label(self) -> str:
        return f"article, {self.device or 'device not named'}, as published"


def claims(folder: str | os.PathLike = MEASUREMENTS) -> dict[str, Claim]:
    """Every claim of article.json by name; RecordError for a file without, or with a broken one."""
    path = Path(folder) / ARTICLE
    load(path)  # one error for a missing or broken file
    raw = files.read(path).get("claims")
    if not isinstance(raw, dict):
        raise RecordError(f"{path}: expected an object under claims, got {type(raw).__name__}")
    for name, one in raw.items():
        files.expect(path, f"claim {name}", one, _CLAIM, optional=("device",))
    return {name: Claim(name, **one) for name, one in raw.items()}


def claim(name: str, folder: str | os.PathLike = MEASUREMENTS) -> Claim:
    """One claim of the articles; RecordError listing those there are for another name."""
    found = claims(folder)
    if name not in found:
        raise RecordError(f"no claim called {name!r}; article.json has {', '.join(found)}")
    return found[name]


def latency(
    device: str = "NVIDIA H200", folder: str | os.PathLike = MEASUREMENTS
) -> Latencies:
    """The newest latencies of one device, in cycles; RecordError when there are none."""
    from . import latency as chains

    found = chains.latest(device, Path(folder) / "latency")
    if found is None:
        raise RecordError(f"no latencies of {device} in {Path(folder) / 'latency'}; on that GPU, "
                          "python -m helpers.latency records them")
    return found


def ncu(
    version: str,
    rows: int = 4096,
    cols: int = 4096,
    device: str = "NVIDIA H200",
    folder: str | os.PathLike = MEASUREMENTS,
) -> Report:
    """What Nsight Compute counted for a version at rows × cols, from the newest record that has it.

    `.beside()` sets the simulator's counters beside it. RecordError listing the sizes there are.
    """
    from .nsight import stored

    wanted = versions.get(version)
    found = [r for r in stored.reports(folder) if r.device == device and r.kernel == wanted.entry]
    for report in found:
        if (report.rows, report.cols) == (rows, cols):
            return report
    sizes = ", ".join(dict.fromkeys(f"{r.rows}×{r.cols}" for r in found)) or "nothing"
    raise RecordError(f"Nsight Compute has not measured {version} at {rows}×{cols} on {device}; it "
                      f"has {sizes}. On a GPU: python3 start.py profile-gpu {version}")


def ncu_file(
    path: str | os.PathLike, kernel: str | None = None, launch: str | int | None = None
) -> Report:
    """A reader's own CSV export of Nsight Compute: the one launch in it, or the one asked for.

    kernel: a version, or a part of a kernel's name; launch: an ID of the file. Of several launches
    that are alike the last is taken. Raises FileNotFoundError; nsight.ExportError for a file that
    is no export, or that leaves a choice, listing what it has.
    """
    from .nsight import stored

    return stored.choose(path, kernel, launch)


def usual_rows(figures: Iterable[Figure]) -> int | None:
    """The M that was measured at the most N, the larger of two; None where there is nothing."""
    sizes: dict[int, set[int]] = {}
    for figure in figures:
        sizes.setdefault(figure.rows, set()).add(figure.cols)
    return max(sizes, key=lambda rows: (len(sizes[rows]), rows), default=None)


_HEADINGS = ("name", "size", "dtype", "µs", "quartiles", "GB/s", "of copy", "of peak", "origin")


def table(rows: Iterable[Figure]) -> str:
    """The figures as aligned text, a line each."""
    return "\n".join(aligned([_HEADINGS, *map(_cells, rows)]))


def _table_html(rows: Iterable[Figure]) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line(_cells(row), "td") for row in rows)
    return f"<table><thead>{line(_HEADINGS, 'th')}</thead><tbody>{body}</tbody></table>"


def _cells(row: Figure) -> tuple[str, ...]:
    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    quartiles = "–" if row.us_q1 is None else f"{row.us_q1:.1f}–{row.us_q3:.1f} of {row.repeats}"
    return (row.name, f"{row.rows}×{row.cols}", row.dtype, number(row.us, ".1f"), quartiles,
            number(row.gbps, ".0f"), number(row.copy_share, ".0%"), number(row.peak_share, ".0%"),
            row.label())


def _row(row: Figure) -> dict:
    return {key: getattr(row, key) for key in (_PUBLISHED if isinstance(row, Published) else _ROW)}


def _record(path: Path, raw: object) -> Record:
    """The content of a file as a Record; RecordError for anything that does not belong there."""
    if isinstance(raw, dict) and path.name == ARTICLE:
        raw = {key: value for key, value in raw.items() if key != "claims"}
    files.expect(path, "the record", raw, _RUN, optional=_UNKNOWN)
    shared = {key: raw[key] for key in ("device", *_UNKNOWN)}
    rows = tuple(_figure(path, number, row, raw["kernels"], shared)
                 for number, row in enumerate(raw["rows"]))
    return Record(**{**raw, "rows": rows})


def _figure(path: Path, number: int, row: object, kernels: dict, shared: dict) -> Figure:
    published = isinstance(row, dict) and row.get("origin") == "article"
    name = row.get("name") if isinstance(row, dict) else None
    where = f"row {number} ({name})" if isinstance(name, str) else f"row {number}"
    files.expect(path, where, row, _PUBLISHED if published else _ROW,
                 optional=_UNPUBLISHED if published else ())
    if (row["us_q1"] is None) != (row["us_q3"] is None):
        raise RecordError(f"{path}: {where} has one quartile without the other")
    if not published and version_of(name) and name not in kernels:
        raise RecordError(f"{path}: {where} has no hash under kernels; expected that of the source "
                          "that ran. Record it again")
    return (Published if published else Figure)(**row, **shared, kernel=kernels.get(name))
