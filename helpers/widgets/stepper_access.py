"""What one access of a recorded step costs: requests and sectors, or wavefronts, as a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..simt.observers.banks import waves
from ..simt.observers.coalescing import touch as coalesced
from ..simt.steps import Touch, lanes_of
from ..simt.trace import Trace

__all__ = ["Traffic", "elements", "traffic"]

WARP = 32
VERBS = {"load": "reads", "store": "writes", "atomic": "updates", "async": "copies to"}


@dataclass(frozen=True)
class Traffic:
    """An access in numbers. Global memory: `requests` (one a warp), `sectors` of 32 bytes and how
    few the bytes would fit in (`ideal`). Shared memory: `wavefronts`, their `ideal`, `conflicts`.
    What does not apply is None."""

    text: str
    requests: int | None = None
    sectors: int | None = None
    ideal: int | None = None
    wavefronts: int | None = None
    conflicts: int | None = None


def traffic(trace: Trace, touch: Touch) -> Traffic:
    """Count an access as the simulator's observers count it, and say it."""
    what = f"{VERBS[touch.kind]} {elements(touch)}"
    if touch.space == "global" and touch.name in trace.arrays:
        address, active = by_lane(trace, touch, trace.arrays[touch.name][0])
        found = coalesced(address, active, touch.width, address.shape[1] // WARP)
        said = (
            f"{what}: {plural(found.sectors, 'sector')} of 32 bytes in "
            f"{plural(found.requests, 'request')} ({found.ideal} would do)"
        )
        return Traffic(said, found.requests, found.sectors, found.ideal)
    if touch.space == "shared":
        address, active = by_lane(trace, touch, trace.variables.get(touch.name, (0, 0))[0])
        kind = "store" if touch.kind == "async" else touch.kind
        found = waves(address.reshape(-1, WARP), active.reshape(-1, WARP), touch.width, kind)
        said = (
            f"{what}: {plural(found.hardware, 'wavefront')} ({found.ideal} would do), "
            f"{plural(found.conflicts, 'bank conflict')}"
        )
        numbers = {"wavefronts": found.hardware, "conflicts": found.conflicts}
        return Traffic(said, ideal=found.ideal, **numbers)
    return Traffic(f"{what} ({touch.space} memory)")


def by_lane(trace: Trace, touch: Touch, start: int):
    """Addresses and who is active, (1, threads) with whole warps."""
    width = -(-trace.threads // WARP) * WARP
    address, active = np.zeros((1, width), np.int64), np.zeros((1, width), bool)
    threads = lanes_of(touch.lanes)
    address[0, threads] = touch.offset + start
    active[0, threads] = True
    return address, active


def elements(touch: Touch) -> str:
    """The elements of an access: `x[3]`, `x[0..63]`, `x[0], x[40], … x[280]`."""
    each = touch.width // touch.unit
    first = np.unique(touch.index)
    if len(first) == 1 or (np.diff(first) == each).all():
        last = int(first[-1]) + each - 1
        return f"{touch.name}[{first[0]}{f'..{last}' if last > first[0] else ''}]"
    shown = [*first[:2].tolist(), *(["…"] if len(first) > 3 else []), *first[2:][-1:].tolist()]
    places = (k if k == "…" else f"{touch.name}[{k}{f'..{k + each - 1}' if each > 1 else ''}]"
              for k in shown)  # fmt: skip
    return ", ".join(places).replace("…,", "…")


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
