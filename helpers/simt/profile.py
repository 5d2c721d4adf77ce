"""One launch under observation: counters, in total, per line and per array, and the mistakes."""

import json
from dataclasses import dataclass, field, replace

from . import kernel as kernels
from .advice import Advice, advise
from .errors import BudgetExceeded
from .listing import Listing, annotate
from .observers import Counters
from .observers.names import GLOBAL, SECTORS, WAVEFRONTS
from .observers.races import Races

__all__ = ["Profile", "profile"]

ALWAYS = 4  # counters that the table shows even when they are zero: loads and stores


@dataclass(frozen=True)
class Profile:
    """What a launch did.

    `counters` has Nsight Compute's metric names, `lines` the same per line of the `.cu` file and
    `arrays` per array (a request that meets two arrays counts for both). `ptx` and `ptx_lines`
    count what only holds of the PTX, under plain names. `unique` are the distinct 32-byte sectors
    "read" and "written" by the grid, `defects` the mistakes seen (Defect) and `notes` what does no
    harm by itself; `races` says whether data races and values that nobody wrote were looked for.
    `device` is the simulated one.
    """

    kernel: str
    grid: tuple
    block: tuple
    device: str
    counters: dict[str, int]
    lines: dict[int, dict[str, int]]
    defects: list
    source: tuple[str, ...]
    arrays: dict[str, dict[str, int]] = field(default_factory=dict)
    ptx: dict[str, int] = field(default_factory=dict)
    ptx_lines: dict[int, dict[str, int]] = field(default_factory=dict)
    unique: dict[str, int] = field(default_factory=dict)
    _recorded: tuple | None = field(default=None, repr=False, compare=False)
    notes: list = field(default_factory=list)
    races: bool = True

    @property
    def efficiency(self) -> float | None:
        """Ideal sectors over those that global accesses touch, 1 at best; None without any."""
        sectors = self.counters[SECTORS]
        return self.counters[f"{SECTORS}_ideal"] / sectors if sectors else None

    @property
    def shared_efficiency(self) -> float | None:
        """Ideal wavefronts over those that shared accesses take; None without any."""
        waves = self.counters[WAVEFRONTS]
        return self.counters[f"{WAVEFRONTS}_ideal"] / waves if waves else None

    def sectors_a_request(self, op: str = "ld", line: int | None = None) -> float | None:
        """Sectors a request of loads ("ld"), stores ("st"), red or atom; of one line, if given.
        None where there are no requests. ValueError for another `op`."""
        if op not in ("ld", "st", "red", "atom"):
            raise ValueError(f"op must be ld, st, red or atom, got {op!r}")
        counts = self.counters if line is None else self.lines.get(line, {})
        sectors, requests = (counts.get(GLOBAL[what, op], 0) for what in ("sectors", "requests"))
        return sectors / requests if requests else None

    def table(self) -> str:
        """The counters as text, one a line; those of the PTX behind them."""
        counts = [
            (name, value)
            for k, (name, value) in enumerate(self.counters.items())
            if value or k < ALWAYS
        ]
        ptx = [(f"PTX: {name}", value) for name, value in sorted(self.ptx.items())]
        unique = [(f"unique sectors {way}", value) for way, value in self.unique.items()]
        width = max(len(name) for name, _ in (*counts, *ptx, *unique))
        rows = [f"{name:<{width}}  {value:>15,}" for name, value in (*counts, *unique, *ptx)]
        rows += [f"defect: {d}" for d in self.defects]
        rows += [f"note: {d}" for d in self.notes]
        if not self.races:
            rows += ["data races, values that nobody wrote: not looked for; races=True does"]
        return "\n".join([f"{self.kernel}, simulator ({self.device})", *rows])

    __str__ = table

    def annotated(self, *measures: str) -> Listing:
        """The `.cu` listing with a column for each measure (see listing.MEASURES), without a name
        for all that are not zero. Shows itself as HTML in a notebook, else as text."""
        return annotate(self, measures)

    def _repr_html_(self) -> str:
        return self.annotated()._repr_html_()

    def advice(self, line: int | None = None) -> list[Advice]:
        """For each shared array with bank conflicts (at `line`, or anywhere): what padding its rows
        or the XOR swizzle would give, tried on the addresses of this launch."""
        if self._recorded is None:
            return []
        program, recorded = self._recorded
        lines = self.lines if line is None else {line}
        return advise(program, recorded, self.source, lines)

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(
            {
                "kernel": self.kernel,
                "grid": self.grid,
                "block": self.block,
                "device": self.device,
                "counters": self.counters,
                "lines": self.lines,
                "arrays": self.arrays,
                "ptx": self.ptx,
                "ptx_lines": self.ptx_lines,
                "unique": self.unique,
                "defects": [d.to_json() for d in self.defects],
                "notes": [d.to_json() for d in self.notes],
                "races": self.races,
                "advice": [a.to_json() for a in self.advice()],
                "source": self.source,
            }
        )


def profile(kernel, grid, block, args, shared_mem=0, cooperative=False, **changes) -> Profile:
    """Run a kernel once on the simulator and report. Mistakes are collected, not raised.

    Takes what a launch takes; `schedule`, `budget` and `races` as in `limits`. A launch without end
    raises BudgetExceeded, which has the mistakes found until then in `before`.
    """
    counters, found = Counters(), []
    limits = replace(kernels.LIMITS.get(), **changes)
    limits = replace(limits, observers=(*limits.observers, counters))
    try:
        job = kernels.launch(
            kernel,
            grid,
            block,
            args,
            shared_mem,
            limits=limits,
            defects=found,
            cooperative=cooperative,
        )
    except BudgetExceeded as error:
        error.before = tuple(found)
        raise
    seen = counters.report(job.program)
    return Profile(
        kernel.name,
        job.grid,
        job.block,
        f"{kernels.current_spec().name} specification",
        seen.counters,
        dict(sorted(seen.lines.items())),
        [d for d in found if d.severity == "error"],
        job.source,
        seen.arrays,
        dict(seen.ptx),
        {line: dict(counts) for line, counts in sorted(seen.ptx_lines.items())},
        seen.unique,
        (job.program, counters.wavefronts),
        [d for d in found if d.severity == "note"],
        any(isinstance(o, Races) for o in job.observers),
    )
