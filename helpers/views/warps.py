"""What one warp asked of memory in a step of a trace: lanes, addresses, and where in the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import launch, versions
from ..simt import Trace
from ..simt.steps import Touch, lanes_of

__all__ = ["LANES", "WarpAccess", "accesses", "accesses_at", "named", "traced"]

LANES = 32  # threads of a warp


@dataclass(frozen=True)
class WarpAccess:
    """One memory instruction of one warp, as recorded.

    `lanes` are those that took part, ascending, and `address` the first byte of each: in global
    memory as the simulator placed the arrays, in shared memory from its start. `start` is where
    `array` begins, `unit` the bytes of its elements, `width` those a lane moves. `kind` is load,
    store, atomic or async.
    """

    kernel: str
    device: str
    step: int
    line: int
    code: str
    warp: int
    kind: str
    array: str
    start: int
    unit: int
    width: int
    lanes: tuple[int, ...]
    address: tuple[int, ...]

    def element(self, address: int) -> str:
        """`x[12]`: the element of the array that an address lies in."""
        return f"{self.array}[{(address - self.start) // self.unit}]"


def accesses(trace: Trace, space: str, warp: int | None = None) -> Iterator[WarpAccess]:
    """All accesses of a traced block to "global" or "shared" memory in the order they happened;
    of one warp, or of all."""
    for step in range(len(trace)):
        yield from accesses_at(trace, step, space, warp)


def accesses_at(
    trace: Trace, step: int, space: str, warp: int | None = None
) -> Iterator[WarpAccess]:
    """The accesses of one step, a warp each. Several arrays met at once go by the first's name."""
    touches = [touch for touch in trace.steps[step].touches if touch.space == space]
    for kind in dict.fromkeys(touch.kind for touch in touches):
        here = [touch for touch in touches if touch.kind == kind]
        lanes = np.concatenate([lanes_of(touch.lanes) for touch in here])
        address = np.concatenate([_addresses(trace, touch) for touch in here])
        order = np.argsort(lanes)
        lanes, address = lanes[order], address[order]
        for number in np.unique(lanes // LANES).tolist():
            if warp is None or number == warp:
                mine = lanes // LANES == number
                yield _access(trace, step, number, here[0], lanes[mine] % LANES, address[mine])


def _addresses(trace: Trace, touch: Touch) -> np.ndarray:
    """One address a lane, within the whole of the space."""
    count = touch.lanes.bit_count()
    return np.broadcast_to(touch.offset, count) + _start(trace, touch)


def _start(trace: Trace, touch: Touch) -> int:
    table = trace.arrays if touch.space == "global" else trace.variables
    return table.get(touch.name, (0,))[0]


def _access(trace, step, warp, touch, lanes, address) -> WarpAccess:
    line = trace.line(step)
    return WarpAccess(
        kernel=trace.kernel,
        device=trace.device,
        step=step,
        line=line,
        code=trace.source[line - 1].strip() if 0 < line <= len(trace.source) else "",
        warp=warp,
        kind=touch.kind,
        array=touch.name,
        start=_start(trace, touch),
        unit=touch.unit,
        width=touch.width,
        lanes=tuple(lanes.tolist()),
        address=tuple(address.tolist()),
    )


def traced(subject: Trace | versions.Version | str, rows: int, cols: int) -> tuple[str, Trace]:
    """(what to call it, its trace): a trace as it is, a version traced at rows × cols."""
    if isinstance(subject, Trace):
        return subject.kernel, subject
    version = versions.get(subject) if isinstance(subject, str) else subject
    if not isinstance(version, versions.Version):
        raise ValueError(
            "expected a trace (launch.trace, simt.trace) or a version such as \"v1\", got "
            f"{type(subject).__name__} {subject!r:.40}"
        )
    return version.name, _of_version(version, version.source, rows, cols)


@lru_cache(maxsize=16)
def _of_version(version: versions.Version, source: str, rows: int, cols: int) -> Trace:
    """Kept, as tracing takes up to a second; by `source`, so that an edited file is traced anew."""
    del source
    return launch.trace(version, rows=rows, cols=cols)


def named(titles: Sequence[str] | None, subjects: Sequence) -> list[str | None]:
    """A title a subject, or None for each; ValueError when their numbers differ."""
    if titles is None:
        return [None] * len(subjects)
    if isinstance(titles, str) or len(titles) != len(subjects):
        raise ValueError(f"titles: expected {len(subjects)}, one a subject, got {titles!r}")
    return list(titles)
