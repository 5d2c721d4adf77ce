"""Names of the counters, and the tables they are collected in."""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["EXECUTED", "GLOBAL", "LAUNCHED", "NAMES", "SECTORS", "SHARED", "Tally", "WAVEFRONTS"]

GLOBAL = {
    (what, op): f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
    for op in ("ld", "st", "red", "atom")
    for what in ("requests", "sectors")
}
SHARED = {
    (what, op): f"l1tex__data_{text}_mem_shared_op_{op}.sum"
    for what, text in (
        ("wavefronts", "pipe_lsu_wavefronts"),
        ("conflicts", "bank_conflicts_pipe_lsu"),
    )
    for op in ("ld", "st")
}
SECTORS = "memory_l2_theoretical_sectors_global"
WAVEFRONTS = "memory_l1_wavefronts_shared"
EXECUTED = {
    op: f"smsp__inst_executed_op_{op}.sum" for op in ("global_red", "shared_atom", "ldgsts")
}
LAUNCHED = {"blocks": "sm__ctas_launched.sum", "warps": "smsp__warps_launched.sum"}
# of a line or an array; a launch has the last two besides
NAMES = (*GLOBAL.values(), SECTORS, f"{SECTORS}_ideal", WAVEFRONTS, f"{WAVEFRONTS}_ideal")
NAMES += (*SHARED.values(), *EXECUTED.values())


@dataclass
class Tally:
    """What was counted. `counters` has Nsight Compute's names, `ptx` plain ones for what only holds
    of the PTX; `lines` and `ptx_lines` are the same per line of the `.cu` file, `arrays` the first
    per array. `unique` counts the distinct 32-byte sectors of global memory that the grid "read"
    and "written": what memory must move at the least."""

    counters: dict = field(default_factory=lambda: dict.fromkeys((*NAMES, *LAUNCHED.values()), 0))
    ptx: Counter = field(default_factory=Counter)
    lines: dict = field(default_factory=dict)
    ptx_lines: dict = field(default_factory=dict)
    arrays: dict = field(default_factory=dict)
    unique: dict = field(default_factory=dict)

    def add(self, line: int, counts: dict) -> None:
        """Counts of a line, by Nsight Compute's names."""
        own = self.lines.setdefault(line, dict.fromkeys(NAMES, 0))
        for name, value in counts.items():
            self.counters[name] += value
            own[name] += value

    def add_array(self, array: str, counts: dict) -> None:
        """Counts of an array, a share of those of lines."""
        own = self.arrays.setdefault(array, dict.fromkeys(NAMES, 0))
        for name, value in counts.items():
            own[name] += value

    def add_ptx(self, line: int, name: str, value: int) -> None:
        """A count of the PTX's own."""
        if value:
            self.ptx[name] += value
            self.ptx_lines.setdefault(line, Counter())[name] += value
