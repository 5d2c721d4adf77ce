"""Reads what Nsight Compute exports as CSV, however it was exported.

    ncu --csv --page raw …       a launch a row, a metric a column, the units in the row below
    ncu --csv --page details …   a metric a row: Metric Name, Metric Unit, Metric Value
    the window's "Export to CSV" either of these

Both may come with ncu's own lines and the program's output around them, with thousands separators
or decimal commas, with scaled units (Kbyte, Gbyte, us) and in any encoding that a spreadsheet or
PowerShell's redirection writes. Values are brought to base units: bytes, nanoseconds, hertz, and
for rates a second. What a metric of bytes or time is measured in must be known; a file that is cut
off inside a line is refused.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import RecordError
from .report import Report

__all__ = ["ExportError", "number", "read", "scale"]

KERNEL_COLUMNS = ("kernel name", "function name", "demangled name")
WAYS = "export with: ncu --csv --page raw --print-units base PROGRAM > FILE.csv"
# The details page gives some metrics a title instead of a name.
TITLES = {
    "duration": "gpu__time_duration.sum",
    "registers per thread": "launch__registers_per_thread",
    "static shared memory per block": "launch__shared_mem_per_block_static",
    "dynamic shared memory per block": "launch__shared_mem_per_block_dynamic",
    "block limit registers": "launch__occupancy_limit_registers",
    "block limit shared mem": "launch__occupancy_limit_shared_mem",
    "block limit warps": "launch__occupancy_limit_warps",
    "achieved occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "theoretical occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "dram throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "executed instructions": "smsp__inst_executed.sum",
}


class ExportError(RecordError):
    """A file that is no export of Nsight Compute; the message names file, line and cause."""


@dataclass(frozen=True)
class Line:
    """A row of the file: its line number there, its cells, and whether a quote is left open."""

    number: int
    cells: list[str]
    cut: bool = False


def read(path: str | Path) -> list[Report]:
    """Every launch of an exported CSV file, in the file's order, without device or date.

    Raises FileNotFoundError for a path that is none, ExportError for a file that cannot be read.
    """
    path = Path(path)
    header, body = table(path)
    names = [cell.strip().lower() for cell in header.cells]
    for wanted in KERNEL_COLUMNS:
        if wanted in names:
            kernel_at = names.index(wanted)
            break
    long = "metric name" in names
    rows = list((long_rows if long else wide_rows)(path, header, names, body))
    if not rows:
        raise ExportError(f"{path}: line {header.number} is a header, and no launch follows it. "
                          f"Did ncu find the kernel? Else {WAYS}")
    launches: dict[tuple, dict] = {}
    comma = decimal_comma(path, rows)
    for line, metric, unit, value in rows:
        key = line.cells[names.index("id")] if "id" in names else line.cells[kernel_at]
        launch = launches.setdefault((key, line.cells[kernel_at]), {"line": line, "counters": {}})
        found = number(value, comma)
        if found is None and metric == "device__attribute_display_name":
            launch["device"] = value
        if found is not None:
            launch["counters"][metric] = whole(found * factor(path, line, metric, unit))
        elif not missing(value) and (unit or re.search(r"__\w+\.", metric)):
            raise ExportError(f"{path}: line {line.number}: {metric} is {value!r}, which is no "
                              f"number. Restore the line, or {WAYS}")
    return [_report(path, names, key, launch) for key, launch in launches.items()]


def _report(path: Path, names: list[str], key: tuple[str, str], launch: dict) -> Report:
    """The launch as a report; the grid and block are counters too where the file has them."""
    cells, counters = launch["line"].cells, launch["counters"]
    for column in ("grid size", "block size"):
        metric = f"launch__{column.replace(' ', '_')}"
        if column in names and metric not in counters:
            sizes = re.findall(r"\d+", cells[names.index(column)])
            if sizes:
                counters[metric] = product(map(int, sizes))
    capability = cells[names.index("cc")].strip() if "cc" in names else ""
    device = launch.get("device") or (f"compute capability {capability}" if capability else None)
    return Report(short(key[1]), counters, device=device, origin=f"your file {path.name}",
                  launch=key[0] if "id" in names else None)


def product(numbers: Iterable[int]) -> int:
    result = 1
    for each in numbers:
        result *= each
    return result


# ---------------------------------------------------------------------------- lines and columns
def table(path: Path) -> tuple[Line, list[Line]]:
    """The header and the rows below it; what ncu and the program print around them is left out."""
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise ExportError(f"{path} is a folder; name the CSV file in it") from None
    text = decode(raw)
    if "\0" in text or path.suffix in (".ncu-rep", ".nsight-cuprof-report"):
        raise ExportError(f"{path} is a report of Nsight Compute, not a CSV file; turn it into one "
                          f"with: ncu --import {path.name} --csv --page raw > {path.stem}.csv")
    for delimiter in ",;\t":
        lines = list(cells_of(text, delimiter))
        at = next((i for i, line in enumerate(lines) if is_header(line.cells)), None)
        if at is None:
            continue
        header, body = lines[at], []
        for line in lines[at + 1 :]:
            if is_header(line.cells) and line.cells != header.cells:
                raise ExportError(f"{path}: line {line.number} begins a second table with other "
                                  "columns; keep one export a file")
            if noise(line, header.cells):
                continue
            if line.cut or len(line.cells) < needed(header.cells):
                cells = f"{len(line.cells)} cells{', the last without its end,' * line.cut}"
                raise ExportError(
                    f"{path}: line {line.number} has {cells} where the header in line "
                    f"{header.number} has {len(header.cells)}; the file is cut off or edited"
                )
            body.append(line)
        return header, body
    raise ExportError(f"{path}: no line is a header with the columns ID and Kernel Name, so this "
                      f"is no CSV export of Nsight Compute{said(text)}; {WAYS}")


def decode(raw: bytes) -> str:
    """Text with or without a byte-order mark, also as PowerShell's redirection writes it."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:  # a spreadsheet of Western Windows
        return raw.decode("cp1252", errors="replace")


def cells_of(text: str, delimiter: str) -> Iterator[Line]:
    """Line by line: an unbalanced quote in a program's output must not swallow what follows."""
    for count, line in enumerate(text.splitlines(), 1):
        if line.strip():
            cells = next(csv.reader([line], delimiter=delimiter))
            yield Line(count, cells, cut=line.count('"') % 2 == 1)


def is_header(cells: list[str]) -> bool:
    names = [cell.strip().lower() for cell in cells]
    metrics = "metric name" in names or any("__" in name for name in names)
    return metrics and any(name in names for name in KERNEL_COLUMNS)


def noise(line: Line, header: list[str]) -> bool:
    """A line that is not of the table: ncu's own (==PROF==), the program's output, the header of
    the same table again. In the table the ID is a number, in the row of units it is empty."""
    cells = line.cells
    if header[0].strip().lower() == "id":
        return not re.fullmatch(r"\d*", cells[0].strip()) or (len(cells) == 1 and not line.cut)
    return cells == header or cells[0].startswith("==") or len(cells) < 3


def needed(header: list[str]) -> int:
    """How many cells a row has at the least: what rules say stands behind the metric's value."""
    names = [cell.strip().lower() for cell in header]
    return names.index("metric value") + 1 if "metric value" in names else len(header)


def said(text: str) -> str:
    """What ncu complained of in the file, where it did."""
    errors = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    return f"; in it ncu says: {errors[0]}" if errors else ""


def long_rows(path: Path, header: Line, names: list[str], body: list[Line]):
    """(line, metric, unit, value) where each metric has a row."""
    columns = []
    for wanted in ("metric name", "metric unit", "metric value"):
        if wanted not in names:
            raise ExportError(f"{path}: line {header.number} has a column Metric Name and none "
                              f"called {wanted.title()}; {WAYS}")
        columns.append(names.index(wanted))
    for line in body:
        metric, unit, value = (line.cells[at].strip() for at in columns)
        if metric:  # rules and their advice have rows without one
            yield line, metric_name(metric), unit, value


def wide_rows(path: Path, header: Line, names: list[str], body: list[Line]):
    """(line, metric, unit, value) where each metric has a column; units are in the first row."""
    units = [""] * len(names)
    at = next(names.index(name) for name in KERNEL_COLUMNS if name in names)
    for line in body:
        if not line.cells[at].strip():
            units = line.cells
            continue
        for name, unit, value in zip(header.cells, units, line.cells, strict=False):
            if "__" in name:
                yield line, metric_name(name.strip()), unit.strip(), value.strip()


def metric_name(text: str) -> str:
    """The metric's own name, also where the export puts a title before it or instead of it."""
    named = re.search(r"\b[a-z]\w*__[\w.]+", text)
    return named.group() if named else TITLES.get(text.lower(), text)


def short(kernel: str) -> str:
    """A kernel's name without return type, namespaces, template arguments and parameters."""
    name, inner = kernel.replace("->", ""), 1
    while inner:  # from the inside out; a name in brackets may stand in front, or anywhere
        name, inner = re.subn(r"<[^<>(){}]*>|\([^<>(){}]*\)|\{[^<>(){}]*\}", "", name)
    words = name.replace("::", " ").split()
    return words[-1] if words else kernel.strip()


# ---------------------------------------------------------------------------- numbers and units
POINT = re.compile(r"-?\d{1,3}(,\d{3})*\.\d+|-?\d+\.(\d{1,2}|\d{4,})|-?\d{1,3}(,\d{3}){2,}")
COMMA = re.compile(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+,(\d{1,2}|\d{4,})|-?\d{1,3}(\.\d{3}){2,}")
EITHER = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}")  # 12,345: a thousand, or twelve and a third?


def decimal_comma(path: Path, rows) -> bool:
    """Does the file write 1.234,5 for 1,234.5? Cells that can only mean one of them decide, and
    without any the point, as ncu has it where the system's language does not say otherwise."""
    seen: dict[bool, Line] = {}
    for line, metric, unit, value in rows:
        value = bare(value)
        if not EITHER.fullmatch(value):
            for comma, pattern in ((False, POINT), (True, COMMA)):
                if pattern.fullmatch(value):
                    seen.setdefault(comma, line)
        elif metric.endswith(".sum") and scale(unit) == 1:  # a count is whole: 393.216 is 393,216
            seen.setdefault("." in value, line)
    if len(seen) == 2:
        raise ExportError(f"{path}: line {seen[False].number} has a decimal point and line "
                          f"{seen[True].number} a decimal comma; export again in one language")
    return True in seen


def bare(value: str) -> str:
    """The number alone: without spaces that group digits, and without the instances behind it."""
    return re.sub(r"^\(!\)|\s*\(.*\)$|[\s\u00a0\u202f'\u2019]", "", value.strip())


def number(value: str, comma: bool = False) -> float | None:
    """The number in a cell, None where it is none that is finite; comma: it has a decimal comma."""
    text = bare(value)
    group, point = (".", ",") if comma else (",", ".")
    try:
        found = float(text.replace(group, "").replace(point, "."))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def missing(value: str) -> bool:
    """Does the cell say that there is no value, as ncu and C's printf write that?"""
    return re.fullmatch(r"-?|n/a|nodata|[-+]?(nan|inf|infinity)", bare(value).lower()) is not None


def whole(value: float) -> float | int:
    """Counts as integers; a scaled 1.57 Mbyte has lost its last digits and is rounded, too."""
    nearest = round(value)
    return nearest if abs(value - nearest) <= 1e-9 * abs(value) else value


PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
# What is counted, with its prefix: Kbyte, MB, GiB, Minst; a small b would be a bit.
SCALED = re.compile(
    r"([kKmMgGtTpP]?)(i?)(?:B|(?i:byte|bit|hz|inst|instruction|sector|request|cycle|warp|thread|"
    r"block|register)s?)"
)
MEASURED = re.compile(r"bytes|shared_mem|_time|time_")  # metrics whose unit must be known


def factor(path: Path, line: Line, metric: str, unit: str) -> float:
    """`scale`, and 1 for a count in a unit that is not known; ExportError for bytes or time."""
    found = scale(unit)
    if found is None and (MEASURED.search(metric) or re.search(r"byte|second|B\b", unit)):
        raise ExportError(f"{path}: line {line.number}: {metric} is in {unit!r}, which is no known "
                          f"unit of bytes or time; {WAYS}")
    return 1.0 if found is None else found


def scale(unit: str) -> float | None:
    """What a value in this unit is multiplied by to be in base units (bytes, ns, Hz, a second).

    Prefixes are decimal, as ncu's are, but for KiB and its like. None for a unit that is not known.
    """
    above, _, below = unit.strip().partition("/")
    if above in ("", "%"):
        return 1.0
    if not below and (time := duration(above)):
        return time
    found = SCALED.fullmatch(above)
    if not found:
        return None
    times = (1024.0 if found[2] else 1000.0) ** PREFIXES[found[1].lower()]
    if time := duration(below):
        return times * 1e9 / time
    return times if not below or SCALED.fullmatch(below) else None


def duration(unit: str) -> float | None:
    """Nanoseconds of usecond, us, ms …; None for what is no time. The micro sign has two codes."""
    return TIMES.get(re.sub(r"(?<=s)ec(onds?)?$", "", re.sub("[\u00b5\u03bc]", "u", unit.strip())))
