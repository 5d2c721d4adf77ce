"""What Nsight Compute counted in one launch, and the same beside the simulator's counters."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .. import launch, versions
from ..simt.observers.names import GLOBAL, LAUNCHED, SHARED
from ..simt.profile import Profile

__all__ = ["Beside", "Report"]

SECTOR, LANES = 32, 32  # bytes; threads of a warp
SIMULATED = 16 * 4096  # elements that are enough to count a version whose blocks are alike
SUBJECTS = (  # in the order in which a reader asks; the first that fits a metric's name
    ("requests and sectors", "l1tex__t_"),
    ("shared memory", "l1tex__data_"),
    ("L2", "lts__t_"),
    ("DRAM", "dram__bytes"),
    ("blocks and warps", "launched"),
    ("instructions", "inst_executed"),
    ("why warps wait (warps for each issue)", "stalled"),
    ("how busy", "throughput"),
    ("how busy", "active"),
    ("launch", "launch__"),
    ("under the profiler, no benchmark time", "time_duration"),
)
STALLED = {
    "long_scoreboard": "for L1, L2 or memory",
    "short_scoreboard": "for shared memory",
    "barrier": "for a barrier",
    "wait": "for the instruction before",
    "lg_throttle": "for a place in L1's queue",
    "mio_throttle": "for a place in shared memory's",
}
# What the metrics of `ladder` count, in words; others speak for themselves.
MEANINGS = {
    **{f"smsp__average_warps_issue_stalled_{why}_per_issue_active.ratio": words
       for why, words in STALLED.items()},
    GLOBAL["requests", "ld"]: "load requests",
    GLOBAL["sectors", "ld"]: "sectors they touch",
    GLOBAL["requests", "st"]: "store requests",
    GLOBAL["sectors", "st"]: "sectors they touch",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum": "loaded sectors found in L1",
    SHARED["wavefronts", "ld"]: "turns of shared loads",
    SHARED["wavefronts", "st"]: "turns of shared stores",
    SHARED["conflicts", "ld"]: "turns too many, loads",
    SHARED["conflicts", "st"]: "turns too many, stores",
    "lts__t_sectors_srcunit_tex_op_read.sum": "sectors that L1 asks L2 for",
    "lts__t_sectors_srcunit_tex_op_write.sum": "sectors that L1 sends to L2",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum": "of both, found in L2",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum": "of both, not found in L2",
    "dram__bytes_read.sum": "read from memory",
    "dram__bytes_write.sum": "written to memory",
    LAUNCHED["blocks"]: "blocks",
    LAUNCHED["warps"]: "warps",
    "smsp__inst_executed.sum": "warp instructions",
    "smsp__inst_executed_pipe_xu.sum": "of them exp2 and reciprocal",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "additions, by thread",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": "multiplications, by thread",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "multiply-adds, by thread",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy reached",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "cycles with an issue",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "L2",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "the SMs' busiest unit",
    "launch__occupancy_limit_blocks": "blocks an SM holds at most",
    "launch__occupancy_limit_registers": "blocks that registers allow",
    "launch__occupancy_limit_shared_mem": "blocks that shared memory allows",
    "launch__occupancy_limit_warps": "blocks that warps allow",
    "gpu__time_duration.sum": "with emptied caches and ncu's stops",
}  # fmt: skip
UNITS = {"dram__bytes": "B", "time_duration": "ns", "pct": "%", "shared_mem_per_block": "B"}


@dataclass(frozen=True, repr=False)
class Report:
    """One launch as Nsight Compute saw it.

    counters: metric -> number in base units (bytes, ns, per cent). kernel: its short name; launch:
    its ID in a reader's file. rows, cols: the matrix, None where a file does not say. stale: the
    catalogue's kernel has changed since.
    """

    kernel: str
    counters: dict[str, float]
    rows: int | None = None
    cols: int | None = None
    device: str | None = None
    date: str | None = None
    origin: str = "recorded"
    launch: str | None = None
    stale: bool = False

    @property
    def version(self) -> versions.Version | None:
        """The version of the catalogue with this kernel, None for another's."""
        return next((v for v in versions.VERSIONS.values() if v.entry == self.kernel), None)

    def label(self) -> str:
        """Origin, device and date, as every figure is labelled."""
        old = " with an older kernel" if self.stale else ""
        parts = [f"{self.origin}{old}", self.device or "device not named"]
        parts += [self.date or "no date"] + ([f"launch {self.launch}"] if self.launch else [])
        return ", ".join(["Nsight Compute", *parts])

    def beside(
        self, profile: Profile | None = None, metrics: Iterable[str] | None = None
    ) -> Beside:
        """A table of these counters and the simulator's, of all metrics or of some by name.

        profile: of the same kernel on rows of the same length; fewer rows will do, where blocks
        are alike. Without one a version of the catalogue is simulated, a few rows of it. Raises
        ValueError for a profile of another kernel, of blocks that do not make up those measured, or
        of rows that are too short or long, where there is nothing to simulate, and for a metric
        that was not measured.
        """
        chosen = self if metrics is None else self._only(tuple(metrics))
        profile = profile or self._simulated()
        if profile.kernel != self.kernel:
            raise ValueError(f"beside() got a profile of {profile.kernel}, and Nsight Compute "
                             f"measured {self.kernel}; profile the kernel that was measured")
        return Beside(chosen, profile, self._parts(profile))

    def _only(self, metrics: tuple[str, ...]) -> Report:
        if unknown := [name for name in metrics if name not in self.counters]:
            raise ValueError(f"beside() got metrics that were not measured: {', '.join(unknown)}; "
                             f"there are {', '.join(self.counters)}")
        return replace(self, counters={name: self.counters[name] for name in metrics})

    def _parts(self, profile: Profile) -> int:
        """How many launches like the simulated one make up the measured one."""
        blocks = self.counters.get(LAUNCHED["blocks"]) or self.counters.get("launch__grid_size")
        if not blocks:
            raise ValueError(f"beside() does not know how many blocks of {self.kernel} were "
                             f"measured; export {LAUNCHED['blocks']} or launch__grid_size, too")
        few, own = profile.counters[LAUNCHED["blocks"]], profile.counters[LAUNCHED["warps"]]
        parts, rest = divmod(int(blocks), few)
        threads = self.counters.get("launch__block_size")
        warps = self.counters.get(LAUNCHED["warps"], threads and blocks * -(-threads // LANES))
        if rest or (warps and warps != parts * own):
            raise ValueError(f"beside() got a profile of {few:,} blocks with {own:,} warps, and "
                             f"measured were {blocks:,.0f} with {warps or math.nan:,.0f}; profile "
                             "the same blocks, as many or a part that divides them")
        if self.version and self.rows and self.cols:  # a version reads each element of its rows
            read = self.rows * self.cols * self.version.np_dtype.itemsize / parts
            if abs(profile.unique.get("read", 0) * SECTOR - read) >= SECTOR:
                raise ValueError(f"beside() got a profile of rows of another length than the "
                                 f"{self.cols} that were measured; profile {self.version.name} "
                                 f"with cols={self.cols}")
        return parts

    def _simulated(self) -> Profile:
        version = self.version
        if version is None or not (self.rows and self.cols):
            raise ValueError(f"{self.kernel} at a size that the file does not tell cannot be "
                             "simulated from here: give beside() a profile of it")
        few = max(4, SIMULATED // self.cols)  # in 4 rows every alignment occurs
        few = version.block if version.work == "thread a row" else 2 ** (few.bit_length() - 1)
        rows = few if self.rows % few == 0 else self.rows
        return launch.profile(version, rows, self.cols)

    def __str__(self) -> str:
        width = max(map(len, self.counters), default=0)
        size = f" at {self.rows}×{self.cols}" if self.cols else ""
        lines = [f"{self.kernel}{size}: {self.label()}"]
        for _, metrics in grouped(self.counters):
            lines += [f"{m:<{width}}  {shown(m, self.counters[m]):>15}" for m in metrics]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = [
            (subject, [(m, shown(m, self.counters[m]), MEANINGS.get(m, "")) for m in metrics])
            for subject, metrics in grouped(self.counters)
        ]
        size = f" at {self.rows}×{self.cols}" if self.cols else ""
        head = ("metric", "Nsight Compute", "what it counts")
        return page(head, body, f"{self.kernel}{size}: {self.label()}")


@dataclass(frozen=True, repr=False)
class Beside:
    """Nsight Compute's counters beside the simulator's, which ran a `parts`-th of the launch."""

    report: Report
    profile: Profile
    parts: int

    def lines(self) -> list[tuple[str, float | None, float, str]]:
        """(metric, simulator, Nsight Compute, verdict) of every metric that Nsight Compute has;
        simulator None where it does not count that at all."""
        found = []
        for _, metrics in grouped(self.report.counters):
            for metric in metrics:
                simulated = self.profile.counters.get(metric)
                ours = None if simulated is None else simulated * self.parts
                theirs = self.report.counters[metric]
                found.append((metric, ours, theirs, verdict(metric, ours, theirs)))
        return found

    @property
    def equal(self) -> list[str]:
        """The metrics in which both agree to the last digit."""
        return [metric for metric, ours, theirs, _ in self.lines() if ours == theirs]

    def caption(self) -> str:
        size = f" at {self.report.rows}×{self.report.cols}" if self.report.cols else ""
        part = f", on 1/{self.parts} of the blocks, times {self.parts}" if self.parts > 1 else ""
        return (f"{self.report.kernel}{size}. {self.report.label()}. Beside it: counted by the "
                f"{self.profile.device} simulator{part}.")

    def _texts(self) -> list[tuple[str, ...]]:
        rows = []
        for metric, ours, theirs, said in self.lines():
            what = MEANINGS.get(metric, "")
            if metric == "dram__bytes_read.sum":
                least = SECTOR * self.profile.unique.get("read", 0) * self.parts
                what += f"; the rows alone: {least:,} B"
            simulated = "–" if ours is None else shown(metric, ours)
            rows.append((metric, simulated, shown(metric, theirs), said, what))
        return rows

    def __str__(self) -> str:
        rows = [HEAD, *self._texts()]
        first, *others = (max(len(row[k]) for row in rows) for k in range(4))
        lines = [
            "  ".join([name.ljust(first), *(c.rjust(w) for c, w in zip(cells, others, strict=True)),
                       what]).rstrip()
            for name, *cells, what in rows
        ]  # fmt: skip
        return "\n".join([self.caption(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        texts = {row[0]: row for row in self._texts()}
        body = [(subject, [texts[m] for m in metrics])
                for subject, metrics in grouped(self.report.counters)]
        return page(HEAD, body, self.caption())


HEAD = ("metric", "simulator", "Nsight Compute", "", "what it counts")


def verdict(metric: str, ours: float | None, theirs: float) -> str:
    """What to make of the two numbers of one metric."""
    if ours is None:
        return "Nsight only"
    if ours == theirs:
        return "= equal"
    more = f"{theirs / ours - 1:+.1%}" if ours else f"{theirs:+,.0f}"
    # the hardware's counters of shared memory also count what an access waits for other traffic
    return f"{more}: delays, too" if metric in SHARED.values() else more


def grouped(counters: dict[str, float]) -> list[tuple[str, list[str]]]:
    """(subject, its metrics) in reading order; the four global counters come first."""
    groups: dict[str, list[str]] = {}
    first = [name for name in GLOBAL.values() if name in counters]
    for metric in (*first, *sorted(set(counters) - set(first))):
        subject = next((what for what, part in SUBJECTS if part in metric), "other")
        groups.setdefault(subject, []).append(metric)
    order = [*dict.fromkeys(what for what, _ in SUBJECTS), "other"]
    return [(what, groups[what]) for what in order if what in groups]


def shown(metric: str, value: float) -> str:
    """A counter with its unit; counts have none."""
    unit = next((u for part, u in UNITS.items() if part in metric), "")
    digits = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{digits} {unit}".rstrip()


def page(head: Sequence[str], groups, caption: str) -> str:
    """An HTML table with a heading for each group, words on the left; colours are the page's."""
    # a metric's name is one long word: on a narrow page it breaks, and its meaning stays in sight
    left = 'style="text-align:left;font-weight:normal;overflow-wrap:anywhere"'

    def cells(row) -> str:
        first, *numbers, last = map(html.escape, row)
        middle = "".join(f'<td style="white-space:nowrap">{cell}</td>' for cell in numbers)
        return f'<tr><th scope="row" {left}>{first}</th>{middle}<td {left}>{last}</td></tr>'

    first, *numbers, last = (f'<th scope="col"{{}}>{html.escape(name)}</th>' for name in head)
    at_left = ' style="text-align:left"'
    heads = "".join([first.format(at_left), *(n.format("") for n in numbers), last.format(at_left)])
    body = "".join(
        f'<tr><th colspan="{len(head)}"{at_left}>{html.escape(subject)}</th></tr>'
        + "".join(map(cells, rows))
        for subject, rows in groups
    )
    caption = f"<caption{at_left}>{html.escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
