"""The simulator's counters against those that Nsight Compute measured on a GPU, metric by metric.

`measurements/ncu_<device>_<date>/` holds what tests/calibration/run.py has recorded there. Metrics
are exact, or within a band where the hardware counts its own delays as well; every other difference
is in OUTLIERS, with its cause.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .simt.observers.names import NAMES, SECTORS, SHARED, WAVEFRONTS

__all__ = ["BAND", "OUTLIERS", "Correlation", "Measurement", "Outlier", "Pair", "load", "plot"]

FOLDER = Path(__file__).resolve().parent.parent / "measurements"
# The source page's columns -> the metric.
COLUMNS = {
    "sectors": SECTORS,
    "sectors_ideal": f"{SECTORS}_ideal",
    "wavefronts": WAVEFRONTS,
    "wavefronts_ideal": f"{WAVEFRONTS}_ideal",
}
# Hardware counters of shared memory also count what an access waits for other traffic: published
# differences reach 29 %.
BAND = 0.30
BANDED = {name: what_and_op for what_and_op, name in SHARED.items()}


@dataclass(frozen=True)
class Outlier:
    """Cases and metrics (regular expressions) in which hardware and simulator differ, and why."""

    cases: str
    metrics: str
    cause: str

    def matches(self, pair: Pair) -> bool:
        return bool(re.search(self.cases, pair.case) and re.search(self.metrics, pair.metric))


OUTLIERS = (
    Outlier(
        "^shared_atom_float",
        "shared",
        "atomicAdd of a float in shared memory is no instruction: the assembler makes it a loop of "
        "a load and a compare-and-swap, once for each lane of a word",
    ),
    Outlier(
        "^red_uniform",
        "sectors.*op_red",
        "the assembler sees that all lanes add to one address: it adds up the warp, and one lane "
        "makes the request",
    ),
    Outlier(
        "^async_16, stride 4",
        "sectors.*op_ld|wavefronts_shared$",
        "cp.async.cg goes past L1: its counters see half of the scattered sectors, and the source "
        "view a wavefront for every lane",
    ),
    Outlier(
        "^async_.* line ",
        ".",
        "inline assembly over two lines of source: nvcc gives its instruction the last of them, "
        "NVRTC the first",
    ),
    Outlier(
        "^red_at, random",
        "sectors.*op_red",
        "three of the 29 sectors are touched by two lanes at different words (lanes 0 and 12, 7 "
        "and 10, 21 and 23), and 30 were measured, so one pair went in two turns. Not because of "
        "halves or quarters of the warp, nor of the order within a sector: such pairs share a turn "
        "in the nearer pattern. Lanes taken in order, at most 10 sectors or 9 lines of 128 bytes "
        "at a time, would explain it, but one case is too few to tell",
    ),
)


@dataclass(frozen=True)
class Measurement:
    """A recorded folder: `about` has device, driver, date and the hashes of the kernels' sources;
    `counters` is {case: {metric: number}}, `lines` {case: {line: {metric: number}}}."""

    folder: Path
    about: dict
    counters: dict[str, dict[str, float]]
    lines: dict[str, dict[int, dict[str, int]]]

    def pairs(self, case: str, counters: dict, lines: dict, parts: int = 1) -> list[Pair]:
        """One case's metrics and lines beside the simulator's, which did a `parts`-th of it."""
        measured = self.counters[case]
        found = [
            Pair(
                case, metric, counters[metric] * parts, measured[metric], self.delays(case, metric)
            )
            for metric in counters
            if metric in measured
        ]
        known = self.lines.get(case, {})
        for line in sorted(known.keys() | lines.keys()):
            ours, theirs = lines.get(line, {}), known.get(line, {})
            for metric in COLUMNS.values():
                pair = ours.get(metric, 0) * parts, theirs.get(metric, 0)
                if any(pair):
                    found.append(Pair(f"{case} line {line}", metric, *pair))
        return found

    def delays(self, case: str, metric: str) -> float:
        """How much more the hardware may count than the accesses themselves: conflicts are a part
        of the wavefronts, whose band they share."""
        what, op = BANDED.get(metric, (None, None))
        return 1 + BAND * self.counters[case][SHARED["wavefronts", op]] if what else 0.0

    def stale(self, source: Path) -> bool:
        """True when a `.cu` file is not the one that was measured."""
        digest = hashlib.sha256(source.read_text(encoding="utf-8").encode()).hexdigest()
        return digest not in self.about["kernels"].values()

    def __str__(self) -> str:
        return f"{self.about['device']}, {self.about['date']}, Nsight Compute {self.about['ncu']}"


@dataclass(frozen=True)
class Pair:
    """A number of the simulator and of the hardware, and how much larger that one may be."""

    case: str
    metric: str
    simulated: float
    measured: float
    delays: float = 0.0

    @property
    def equal(self) -> bool:
        return self.simulated == self.measured

    @property
    def allowed(self) -> bool:
        return 0 <= self.measured - self.simulated <= self.delays

    @property
    def outlier(self) -> Outlier | None:
        return next((o for o in OUTLIERS if o.matches(self)), None)


def load(folder: Path | str | None = None) -> Measurement:
    """A recorded folder, by default the newest. FileNotFoundError when there is none."""
    if folder is None:
        folders = sorted(FOLDER.glob("ncu_*"), key=lambda path: path.name.rsplit("_", 1)[-1])
        if not folders:
            raise FileNotFoundError(
                f"no measurement of Nsight Compute in {FOLDER}; on a machine with a GPU, "
                "tests/calibration/run.py makes one"
            )
        folder = folders[-1]
    folder = Path(folder)
    with (folder / "counters.csv").open(newline="", encoding="utf-8") as file:
        counters = {
            row.pop("case"): {name: float(text) for name, text in row.items() if text}
            for row in csv.DictReader(file)
        }
    lines: dict = defaultdict(lambda: defaultdict(lambda: dict.fromkeys(COLUMNS.values(), 0)))
    with (folder / "source.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = lines[row["case"]][int(row["line"])]
            for column, metric in COLUMNS.items():
                own[metric] += int(row[column])
    about = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return Measurement(folder, about, counters, {case: dict(own) for case, own in lines.items()})


@dataclass(frozen=True, repr=False)
class Correlation:
    """Pairs of many cases; shows itself as a table, a metric a row."""

    pairs: tuple[Pair, ...]
    source: str = ""

    def rows(self) -> list[tuple[str, int, int, int, str]]:
        """(metric, pairs, equal ones, outliers, the largest difference of the others)."""
        found = []
        for metric in (*NAMES, *sorted({p.metric for p in self.pairs} - set(NAMES))):
            pairs = [p for p in self.pairs if p.metric == metric]
            if not pairs:
                continue
            unequal = [p for p in pairs if not p.equal]
            listed = [p for p in unequal if p.outlier]
            rest = [p for p in unequal if not p.outlier]
            worst = max(rest, key=lambda p: p.measured - p.simulated, default=None)
            equal = len(pairs) - len(unequal)
            found.append((metric, len(pairs), equal, len(listed), difference(worst)))
        return found

    def outliers(self) -> list[tuple[Outlier, list[Pair]]]:
        """Each known cause with the pairs that it explains."""
        unequal = [p for p in self.pairs if not p.equal]
        grouped = [(o, [p for p in unequal if p.outlier is o]) for o in OUTLIERS]
        return [(outlier, pairs) for outlier, pairs in grouped if pairs]

    def wrong(self) -> list[Pair]:
        """Pairs that differ more than they may, for no known cause."""
        return [p for p in self.pairs if not p.allowed and not p.outlier]

    def causes(self) -> list[str]:
        """The known outliers, a sentence each."""
        return [
            f"{', '.join(sorted({p.case.split(' line ')[0] for p in pairs}))}: {outlier.cause}"
            for outlier, pairs in self.outliers()
        ]

    def table(self) -> str:
        rows = [HEAD, *([str(cell) for cell in row] for row in self.rows())]
        first, *others = (max(len(row[k]) for row in rows) for k in range(len(HEAD)))
        lines = [f"simulator against {self.source}"] if self.source else []
        for name, *cells in rows:
            numbers = (cell.rjust(width) for cell, width in zip(cells, others, strict=True))
            lines.append("  ".join([name.ljust(first), *numbers]).rstrip())
        return "\n".join([*lines, *(f"outlier: {cause}" for cause in self.causes())])

    __str__ = __repr__ = table

    def _repr_html_(self) -> str:
        heads = "".join(f'<th scope="col">{head}</th>' for head in HEAD)
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells)
            + "</tr>"
            for name, *cells in self.rows()
        )
        causes = "".join(f"<li>{html.escape(cause)}</li>" for cause in self.causes())
        caption = f"<caption>simulator against {html.escape(self.source)}</caption>"
        return (
            f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
            f"<ul>{causes}</ul>"
        )


HEAD = "metric", "pairs", "equal", "outliers", "largest other difference"


def difference(pair: Pair | None) -> str:
    """How the hardware differs from the simulator."""
    if pair is None:
        return ""
    if not pair.simulated:
        return f"0, hardware {pair.measured:,.0f}"
    return f"{pair.measured / pair.simulated - 1:+.1%}"


GROUPS = {  # in the order in which they are tried
    "global requests": r"t_requests",
    "global sectors": r"sectors",
    "shared bank conflicts": r"conflicts",
    "shared wavefronts": r"wavefronts",
    "instructions, blocks, warps": r"^sm",
}
COLOURED = "sky", "blue", "vermillion", "orange", "green"


def group_of(metric: str) -> str | None:
    return next((label for label, pattern in GROUPS.items() if re.search(pattern, metric)), None)


def plot(pairs: Iterable[Pair], ax=None, title: str = "", dark: bool = False):
    """Simulated against measured numbers on logarithmic axes, a colour a group of metrics; known
    outliers as crosses. A zero on one side lies at the edge, zeros on both are left out. Returns
    the Axes; the picture has its alternative text."""
    from .theme import COLOURS, Picture, picture, theme  # not at import: Matplotlib takes its time

    look, pairs = theme(dark), [p for p in pairs if p.simulated or p.measured]
    with look.applied():
        if ax is None:
            ax = picture(6.5, 6, look).subplots()
        for label, name in zip(GROUPS, COLOURED, strict=True):
            mine = [p for p in pairs if group_of(p.metric) == label]
            for marker, chosen in (("o", False), ("x", True)):
                points = [p for p in mine if bool(p.outlier and not p.equal) is chosen]
                ax.scatter(
                    [max(p.simulated, 0.5) for p in points],
                    [max(p.measured, 0.5) for p in points],
                    s=22,
                    marker=marker,
                    color=COLOURS[name],
                    alpha=0.8,
                    linewidths=1.2 if chosen else 0,
                    label=None if chosen or not points else label,
                )
        largest = max((max(p.simulated, p.measured) for p in pairs), default=10)
        ax.plot([0.5, 2 * largest], [0.5, 2 * largest], linewidth=1, zorder=0, color=look.quiet)
        ax.set(xscale="log", yscale="log", xlabel="simulator", ylabel="hardware", title=title)
        ax.grid(True)
        ax.legend(loc="upper left")
    if isinstance(ax.figure, Picture):
        ax.figure.alt = described(pairs)
    return ax


def described(pairs: Sequence[Pair]) -> str:
    equal = sum(p.equal for p in pairs)
    known = sum(1 for p in pairs if not p.equal and p.outlier)
    return (
        f"Simulator against hardware: {equal} of {len(pairs)} numbers are equal and lie on the "
        f"diagonal, {known} are outliers of known cause, the others a little above it."
    )
