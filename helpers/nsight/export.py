"""Reads what Nsight Compute exports as CSV, however it was exported.

    ncu --csv --page raw …       a launch a row, a metric a column, the units in the row below
    ncu --csv --page details …   a metric a row: Metric Name, Metric Unit, Metric Value
    the window's "Export to CSV" either of these

Both may come with ncu's own lines and the program's output around them, with thousands separators
or decimal commas, with scaled units (Kbyte, Gbyte, us) and in any encoding that a spreadsheet or
PowerShell's redirection writes. Values are brought to base units: bytes, nanoseconds, hertz, and
for rates a second.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

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


class ExportError(ValueError):
    """A file that is no export of Nsight Compute; the message names file, line and cause."""


@dataclass(frozen=True)
class Line:
    """A row of the file: its line number there, and its cells."""

    number: int
    cells: list[str]


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
            launch["counters"][metric] = whole(found * scale(unit))
        elif not missing(value) and unit:
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
            if noise(line.cells, header.cells):
                continue
            if len(line.cells) < needed(header.cells):
                raise ExportError(
                    f"{path}: line {line.number} has {len(line.cells)} cells where the header in "
                    f"line {header.number} has {len(header.cells)}; the file is cut off or edited"
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
    return raw.decode("utf-8-sig", errors="replace")


def cells_of(text: str, delimiter: str) -> Iterator[Line]:
    """Line by line: an unbalanced quote in a program's output must not swallow what follows."""
    for count, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield Line(count, next(csv.reader([line], delimiter=delimiter)))


def is_header(cells: list[str]) -> bool:
    names = [cell.strip().lower() for cell in cells]
    metrics = "metric name" in names or any("__" in name for name in names)
    return metrics and any(name in names for name in KERNEL_COLUMNS)


def noise(cells: list[str], header: list[str]) -> bool:
    """A line that is not of the table: ncu's own (==PROF==), the program's output, the header of
    the same table again. In the table the ID is a number, in the row of units it is empty."""
    if header[0].strip().lower() == "id":
        return not re.fullmatch(r"\d*", cells[0].strip()) or len(cells) == 1
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
    name = re.sub(r"<.*>", "", kernel.split("(")[0] if not kernel.startswith("(") else kernel)
    return name.strip().split(" ")[-1].split("::")[-1]


# ---------------------------------------------------------------------------- numbers and units
POINT = re.compile(r"-?\d{1,3}(,\d{3})*\.\d+|-?\d+\.(\d{1,2}|\d{4,})|-?\d{1,3}(,\d{3}){2,}")
COMMA = re.compile(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+,(\d{1,2}|\d{4,})|-?\d{1,3}(\.\d{3}){2,}")
EITHER = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}")  # 12,345: a thousand, or twelve and a third?


def decimal_comma(path: Path, rows) -> bool:
    """Does the file write 1.234,5 for 1,234.5? Cells that can only mean one of them decide, and
    without any the point, as ncu has it where the system's language does not say otherwise."""
    seen: dict[bool, Line] = {}
    for line, _, _, value in rows:
        value = bare(value)
        if not EITHER.fullmatch(value):
            for comma, pattern in ((False, POINT), (True, COMMA)):
                if pattern.fullmatch(value):
                    seen.setdefault(comma, line)
    if len(seen) == 2:
        raise ExportError(f"{path}: line {seen[False].number} has a decimal point and line "
                          f"{seen[True].number} a decimal comma; export again in one language")
    return True in seen


def bare(value: str) -> str:
    """The number alone: without spaces that group digits, and without the instances behind it."""
    return re.sub(r"\s*\(.*\)$|[\s\u00a0\u202f']", "", value.strip())


def number(value: str, comma: bool = False) -> float | None:
    """The number in a cell, None where it is none; comma: it has a decimal comma."""
    text = bare(value)
    group, point = (".", ",") if comma else (",", ".")
    try:
        return float(text.replace(group, "").replace(point, "."))
    except ValueError:
        return None


def missing(value: str) -> bool:
    return bare(value).lower() in ("", "n/a", "nan", "-")


def whole(value: float) -> float | int:
    """Counts as integers; a scaled 1.57 Mbyte has lost its last digits and is rounded, too."""
    nearest = round(value)
    return nearest if abs(value - nearest) <= 1e-9 * abs(value) else value


PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}
SCALED = re.compile(r"([kmgt]?)(byte|bit|hz|inst|sector|request|cycle|warp|thread|block)s?", re.I)


def scale(unit: str) -> float:
    """What a value in this unit is multiplied by to be in base units (bytes, ns, Hz, a second).

    Prefixes are decimal, as ncu's are. A unit that is not known stays what it is: 1.
    """
    above, _, below = unit.strip().partition("/")
    if not below and (time := duration(above)):
        return time
    found = SCALED.fullmatch(above)
    factor = PREFIXES[found[1].lower()] if found else 1.0
    time = duration(below)
    return factor * 1e9 / time if time else factor


def duration(unit: str) -> float | None:
    """Nanoseconds of usecond, us, ms …; None for what is no time."""
    return TIMES.get(re.sub(r"econds?$", "", unit.strip()))
