"""One launch under observation: counters, in total and per line, and the kernel's mistakes."""

import json
from dataclasses import dataclass, replace

from . import kernel as kernels
from .observers import Counters

__all__ = ["Profile", "profile"]


@dataclass(frozen=True)
class Profile:
    """What a launch did. `counters` has Nsight Compute's metric names, `lines` the same per line
    of the `.cu` file, `defects` the mistakes seen (Defect), `device` the simulated one."""

    kernel: str
    grid: tuple
    block: tuple
    device: str
    counters: dict[str, int]
    lines: dict[int, dict[str, int]]
    defects: list
    source: tuple[str, ...]

    def table(self) -> str:
        """The counters as text, one a line."""
        width = max(map(len, self.counters))
        rows = [f"{name:<{width}}  {value:>15,}" for name, value in self.counters.items()]
        rows += [f"defect: {d}" for d in self.defects]
        return "\n".join([f"{self.kernel}, simulator ({self.device})", *rows])

    __str__ = table

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
                "defects": [d.to_json() for d in self.defects],
            }
        )


def profile(kernel, grid, block, args, shared_mem=0, **changes) -> Profile:
    """Run a kernel once on the simulator and report. Mistakes are collected, not raised.

    Takes what a launch takes; `schedule` and `budget` as in `limits`.
    """
    counters, defects = Counters(), []
    limits = replace(kernels.LIMITS.get(), **changes)
    limits = replace(limits, observers=(*limits.observers, counters))
    job = kernels.launch(kernel, grid, block, args, shared_mem, limits=limits, defects=defects)
    lines = dict(sorted(counters.lines.items()))
    return Profile(
        kernel.name,
        job.grid,
        job.block,
        f"{kernels.current_spec().name} specification",
        dict(counters.totals),
        lines,
        defects,
        job.source,
    )
