"""Time what runs on a GPU: checked first, cold L2, median with quartiles.

Two ways. `measure` puts CUDA events around one launch, behind a flush of the L2. `replay` is for
launches so short that the events themselves would count: a CUDA graph of many launches, each on a
pair of buffers that has left the L2 since it was last used, timed as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import device, reference

__all__ = [
    "BenchError",
    "Clock",
    "Event",
    "GpuClock",
    "Graph",
    "Subject",
    "Timing",
    "measure",
    "repeats_for",
    "replay",
    "rotation",
]

WARMUP = 5  # launches before the timed ones
LEAST = 5  # timed launches of even the slowest subject
BUDGET_US = 0.5e6  # of one subject's timed launches, where LEAST allows
SLOW_US = 10e3  # from here on one launch is warm-up enough
SHORT_US = 10.0  # below, the events' own microseconds count: replay
FLUSH_BYTES = 256 * 2**20  # at least; GpuClock takes eight times the L2 of the card where more
ROTATED = 5  # times the L2 that the buffers of a replay fill together
MOST_PAIRS = 4096  # launches in a graph


class BenchError(RuntimeError):
    """A benchmark that cannot or must not run; the message says why and what to do instead."""


class Event(Protocol):
    """A mark in the device's queue, as `cupy.cuda.Event`."""

    def record(self) -> None: ...
    def synchronize(self) -> None: ...


class Graph(Protocol):
    """Launches captured once, queued again as a whole."""

    def launch(self) -> None: ...


class Clock(Protocol):
    """What timing needs of a device; tests give it one without a GPU."""

    l2_bytes: int
    flush_bytes: int

    def flush(self) -> None: ...
    def event(self) -> Event: ...
    def elapsed_us(self, start: Event, end: Event) -> float: ...
    def capture(self, launches: Sequence[Callable[[], None]]) -> Graph: ...


class Subject(Protocol):
    """One thing to time, on given arrays.

    launch queues it once; spoil fills its result with NaN; compare sets what is there against the
    reference; on gives the same subject on other arrays.
    """

    name: str
    tolerance: float

    def launch(self) -> None: ...
    def spoil(self) -> None: ...
    def compare(self) -> reference.Comparison: ...
    def on(self, x, y) -> Subject: ...


@dataclass(frozen=True)
class Timing:
    """Median and quartiles of a launch in microseconds, over `repeats` timings of `launches` each:
    one between events, many in a replayed graph."""

    us: float
    us_q1: float
    us_q3: float
    repeats: int
    launches: int = 1


class GpuClock:
    """CUDA events, and a buffer whose writing drives everything else out of the L2.

    Everything runs on the default stream, which CuPy, PyTorch and Triton share; only a capture
    needs a stream of its own.
    """

    def __init__(self, l2_bytes: int):
        # Twice the L2 empties it. Eight times also takes the card longer than the host needs to
        # check and queue the launch behind it.
        self.l2_bytes = l2_bytes
        self.flush_bytes = max(FLUSH_BYTES, 8 * l2_bytes)
        self._buffer = device.cp.zeros(self.flush_bytes, dtype=device.cp.uint8)

    def flush(self) -> None:
        self._buffer.data.memset_async(0, self.flush_bytes)

    def event(self) -> Event:
        return device.cp.cuda.Event()

    def elapsed_us(self, start: Event, end: Event) -> float:
        return 1e3 * device.cp.cuda.get_elapsed_time(start, end)

    def capture(self, launches: Sequence[Callable[[], None]]) -> Graph:
        """The launches as a CUDA graph. Where PyTorch is loaded it captures, since only then does
        its allocator keep the memory of what it allocates meanwhile."""
        torch = sys.modules.get("torch")
        with_torch = torch is not None and torch.cuda.is_available()
        return TorchGraph(torch, launches) if with_torch else _cupy_graph(launches)


def _cupy_graph(launches) -> Graph:
    stream = device.cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            for launch in launches:
                launch()
        finally:
            graph = stream.end_capture()  # also after an error, or the stream would stay captured
    return graph


class TorchGraph:
    """A graph that PyTorch captures and replays."""

    def __init__(self, torch, launches):
        self._graph = torch.cuda.CUDAGraph()
        # "relaxed": CuPy may allocate meanwhile. CuPy and PyTorch each have a current stream.
        with torch.cuda.graph(self._graph, capture_error_mode="relaxed"):
            stream = torch.cuda.current_stream().cuda_stream
            with device.cp.cuda.ExternalStream(stream):
                for launch in launches:
                    launch()

    def launch(self) -> None:
        self._graph.replay()


def measure(subject: Subject, clock: Clock, repeats: int = 50, covers: int = 1) -> Timing:
    """Time single launches between events, the L2 flushed before each.

    At most `repeats` launches, fewer of a slow one (`repeats_for`). The subject is checked before
    anything is timed: BenchError when it is further from its reference than its tolerance, or NaN.
    The flushes, `covers` of them, keep the device busy while the host queues the launch, so the
    events enclose the launch and nothing else.
    """
    _some(repeats)
    subject.launch()  # whatever is compiled or allocated once; its result is not looked at
    subject.spoil()
    subject.launch()
    _refuse_wrong(subject)
    return _timing(subject.name, subject.launch, clock, repeats, covers)


def replay(subject: Subject, clock: Clock, pairs: Sequence[tuple], repeats: int = 50) -> Timing:
    """Time a graph of one launch on each of `pairs` (x, y), one after the other.

    The pairs should hold `rotation` times the L2, so that each launch finds its input in DRAM. The
    time of a launch is the graph's over their number; the gap from one launch to the next is in it.
    BenchError when the subject cannot be captured, when the graph's results are wrong, and without
    any pairs or repeats.
    """
    _some(repeats)
    if not pairs:
        raise BenchError("no pairs of buffers to replay on; rotation() says how many to make")
    turns = [subject.on(x, y) for x, y in pairs]
    for turn in turns:
        turn.launch()
    try:
        graph = clock.capture([turn.launch for turn in turns])
    except Exception as error:  # what a library does in a launch is its own affair
        raise BenchError(f"{subject.name} cannot be captured into a CUDA graph: "
                         f"{device.first_line(error)}") from error
    ends = turns[0], turns[-1]
    for turn in ends:
        turn.spoil()
    graph.launch()  # a graph that holds no launch would be fast, too
    for turn in ends:
        _refuse_wrong(turn)
    whole = _timing(subject.name, graph.launch, clock, repeats, covers=1)
    each = (time / len(turns) for time in (whole.us, whole.us_q1, whole.us_q3))
    return Timing(*each, whole.repeats, len(turns))


def rotation(pair_bytes: int, l2_bytes: int) -> int | None:
    """Pairs of buffers that together hold at least five times the L2; None where that takes too
    many launches for one graph."""
    pairs = max(2, -(-ROTATED * l2_bytes // pair_bytes))
    return pairs if pairs <= MOST_PAIRS else None


def repeats_for(once_us: float, wanted: int) -> int:
    """Timed launches of a subject that takes `once_us`: `wanted`, or as many as half a second
    holds, but five at least."""
    return min(wanted, max(LEAST, int(BUDGET_US / once_us)))


def _some(repeats: int) -> None:
    if repeats < 1:
        raise BenchError(f"repeats={repeats}: a median needs at least one launch; 50 is usual")


def _refuse_wrong(subject: Subject) -> None:
    comparison = subject.compare()
    if not comparison.within(subject.tolerance):
        raise BenchError(f"{subject.name} is not timed because its result is wrong: {comparison}; "
                         f"allowed is a relative error of {subject.tolerance:g}")


def _timing(name: str, queue: Callable[[], None], clock: Clock, repeats: int, covers: int):
    start, end = clock.event(), clock.event()

    def once() -> float:
        for _ in range(covers):
            clock.flush()
        start.record()
        queue()
        end.record()
        end.synchronize()
        time = clock.elapsed_us(start, end)
        if not 0 < time < float("inf"):  # true for NaN, too
            raise BenchError(f"{name}: the events gave {time} µs, which is no time; run again, and "
                             "look for other programs on this GPU")
        return time

    first = once()
    if first < SLOW_US:
        for _ in range(WARMUP):
            queue()
    times = [once() for _ in range(repeats_for(first, repeats))]
    first_quartile, median, third = (float(q) for q in np.quantile(times, (0.25, 0.5, 0.75)))
    return Timing(median, first_quartile, third, len(times))
