"""Timing: checked first, cold L2 before each launch, median and quartiles, graphs for the short."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import device, reference, specs, timing
from helpers.timing import BenchError, Timing

RIGHT = reference.compare(np.ones((1, 1)), np.ones((1, 1)))
WRONG = reference.compare(np.full((1, 1), 2.0), np.ones((1, 1)))
NAN = reference.compare(np.full((1, 1), np.nan), np.ones((1, 1)))


class FakeClock:
    """Logs every action and answers the times it was given, the last one for ever."""

    l2_bytes, flush_bytes = 4096, 256 * 2**20

    def __init__(self, *times):
        self.log, self.times = [], list(times)

    def flush(self):
        self.log.append("flush")

    def event(self):
        return SimpleNamespace(
            record=lambda: self.log.append("record"), synchronize=lambda: self.log.append("sync")
        )

    def elapsed_us(self, start, end):
        assert start is not end
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]

    def capture(self, launches):
        self.log.append(f"capture {len(launches)}")

        def launch():
            self.log.append("graph")
            for one in launches:
                one()

        return SimpleNamespace(launch=launch)


class FakeSubject:
    """A kernel that says what is done to it; `on` other arrays it says on which."""

    name, tolerance = "v9", 1e-6

    def __init__(self, clock, comparison=RIGHT, where=""):
        self.clock, self.comparison, self.where = clock, comparison, where

    def launch(self):
        self.clock.log.append(f"launch{self.where}")

    def spoil(self):
        self.clock.log.append(f"spoil{self.where}")

    def compare(self):
        self.clock.log.append(f"compare{self.where}")
        return self.comparison

    def on(self, x, y):
        return FakeSubject(self.clock, self.comparison, f" {x}{y}")


def measured(*times, repeats, **more):
    clock = FakeClock(*times)
    return timing.measure(FakeSubject(clock), clock, repeats, **more)


def test_the_sequence_of_a_measurement():
    """Launch, spoil, launch, compare; one timed launch, warm-up; then the timed ones, each behind
    a flush, with nothing but the launch between the events."""
    clock = FakeClock(5.0)
    timing.measure(FakeSubject(clock), clock, repeats=3)
    once = ["flush", "record", "launch", "record", "sync"]
    gate = ["launch", "spoil", "launch", "compare"]
    assert clock.log == [*gate, *once, *["launch"] * timing.WARMUP, *once * 3]


def test_a_launch_that_is_slow_to_queue_gets_more_cover():
    """Every flush that was asked for stands before the first event, none between the two."""
    clock = FakeClock(5.0)
    timing.measure(FakeSubject(clock), clock, repeats=1, covers=3)
    assert clock.log[-7:] == ["flush"] * 3 + ["record", "launch", "record", "sync"]


def test_median_and_quartiles():
    """The result is what a quarter, half and three quarters of the launches undercut, an outlier or
    not; the launch before them does not count."""
    found = measured(99.0, 30.0, 10.0, 20.0, 1000.0, 40.0, repeats=5)
    assert found == Timing(us=30.0, us_q1=20.0, us_q3=40.0, repeats=5)


def test_an_outlier_moves_no_quartile():
    """One launch in fifty that took a second leaves all three figures where they were."""
    calm = measured(10.0, *[10.0, 11.0] * 25, repeats=50)
    stormy = measured(10.0, *[10.0, 11.0] * 24, 10.0, 1e6, repeats=50)
    assert stormy == calm


@pytest.mark.parametrize("comparison", [WRONG, NAN], ids=["wrong", "nan"])
def test_a_wrong_kernel_is_never_timed(comparison):
    """A result out of tolerance, or NaN, is refused before the first event."""
    clock = FakeClock(5.0)
    with pytest.raises(BenchError, match="v9 is not timed because its result is wrong"):
        timing.measure(FakeSubject(clock, comparison), clock)
    assert clock.log == ["launch", "spoil", "launch", "compare"]


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("before", [[], [5.0, 5.0]], ids=["first", "later"])
def test_a_time_that_is_none_is_refused(before, time):
    """Zero, negative, infinite and not-a-number never become a figure."""
    with pytest.raises(BenchError, match="is no time"):
        measured(*before, time, 5.0, repeats=3)


def test_no_repetitions_no_figure():
    """A median of nothing is an error, found before anything runs."""
    clock = FakeClock(5.0)
    with pytest.raises(BenchError, match="repeats=0"):
        timing.measure(FakeSubject(clock), clock, repeats=0)
    assert clock.log == []


@pytest.mark.parametrize(
    ("once_us", "wanted", "repeats"),
    [(10.0, 50, 50), (1e4, 50, 50), (1.25e4, 50, 40), (9.9e4, 50, 5), (9e6, 50, 5), (9e6, 3, 3)],
)
def test_slow_launches_are_repeated_less(once_us, wanted, repeats):
    """As many as half a second holds, five at least, and never more than asked for."""
    assert timing.repeats_for(once_us, wanted) == repeats
    assert measured(once_us, repeats=wanted).repeats == repeats


def test_a_slow_launch_is_warm_after_one():
    """Five more launches of 10 ms would cost more than they are worth."""
    clock = FakeClock(1e6)
    timing.measure(FakeSubject(clock), clock, repeats=50)
    assert clock.log.count("launch") == 2 + 1 + 5  # the gate, the first, the timed ones


@pytest.mark.parametrize("spec", specs.SPECS.values(), ids=lambda spec: spec.name)
@pytest.mark.parametrize("rows_cols", [(4096, 128), (4096, 512), (1, 1000)])
def test_rotated_buffers_hold_five_times_the_l2(spec, rows_cols):
    """So many pairs that each has left the L2 when its turn comes, or None for too many."""
    pair = 2 * 4 * math.prod(rows_cols)
    pairs = timing.rotation(pair, spec.l2)
    if pairs is None:
        assert timing.MOST_PAIRS * pair < 5 * spec.l2
    else:
        assert pair * (pairs - 1) < 5 * spec.l2 <= pair * pairs


def test_large_buffers_are_still_a_pair_apart():
    """Two pairs at least: one alone would be found in the cache of a card with a large one."""
    assert timing.rotation(2**40, 2**26) == 2


def test_the_sequence_of_a_replay():
    """Each pair once outside, then captured; the first and the last result must come from the
    graph itself; then whole graphs are timed, behind a flush, and divided."""
    clock = FakeClock(600.0, 300.0, 600.0, 900.0)
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    found = timing.replay(FakeSubject(clock), clock, pairs, repeats=3)
    assert found == Timing(200.0, 150.0, 250.0, repeats=3, launches=3)
    each = ["launch ab", "launch cd", "launch ef"]
    log = [*each, "capture 3", "spoil ab", "spoil ef", "graph", *each, "compare ab", "compare ef"]
    assert clock.log[: len(log)] == log
    assert clock.log[-7:] == ["flush", "record", "graph", *each, "record", "sync"][-7:]


def test_a_graph_with_a_wrong_result_is_refused():
    """Also one that captured nothing, and would be fast at that."""
    clock = FakeClock(5.0)
    with pytest.raises(BenchError, match="its result is wrong"):
        timing.replay(FakeSubject(clock, NAN), clock, [("a", "b")] * 2)
    assert "record" not in clock.log


def test_a_replay_of_nothing_is_refused():
    """Without pairs or repeats there is nothing to take a median of."""
    for pairs, repeats, what in (([], 3, "no pairs"), ([(0, 1)], 0, "repeats=0")):
        clock = FakeClock(5.0)
        with pytest.raises(BenchError, match=what):
            timing.replay(FakeSubject(clock), clock, pairs, repeats)


def test_what_cannot_be_captured_says_so():
    """The error names the subject and the library's reason."""
    clock = FakeClock(5.0)

    def capture(launches):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    clock.capture = capture
    with pytest.raises(BenchError, match="v9 cannot be captured.*not permitted when stream is ca"):
        timing.replay(FakeSubject(clock), clock, [("a", "b")] * 2)


@pytest.fixture
def cuda(monkeypatch):
    """What GpuClock asks of CuPy, with a log."""
    log = []

    class Stream:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            log.append("enter")

        def __exit__(self, *_):
            log.append("leave")

        def begin_capture(self):
            log.append("begin")

        def end_capture(self):
            log.append("end")
            return SimpleNamespace(launch=lambda: log.append("launch"))

    data = SimpleNamespace(memset_async=lambda value, size: log.append(size))
    cuda = SimpleNamespace(Stream=Stream, ExternalStream=Stream, Event=object,
                           get_elapsed_time=lambda start, end: end - start)  # fmt: skip
    fake = SimpleNamespace(zeros=lambda size, dtype: SimpleNamespace(data=data), uint8=None,
                           cuda=cuda)  # fmt: skip
    monkeypatch.setitem(vars(device), "cp", fake)
    monkeypatch.setitem(sys.modules, "torch", None)
    return log


@pytest.mark.parametrize("spec", specs.SPECS.values(), ids=lambda spec: spec.name)
def test_the_flush_writes_at_least_twice_the_l2(spec, cuda):
    """What the flush writes displaces the whole cache of every card the lessons know."""
    timing.GpuClock(spec.l2).flush()
    assert cuda[0] >= max(2 * spec.l2, 256 * 2**20)


def test_events_tell_microseconds(cuda):
    """CUDA reports milliseconds; figures are in microseconds."""
    assert timing.GpuClock(0).elapsed_us(1.0, 1.5) == 500.0


def test_a_capture_ends_whatever_happens(cuda):
    """On a stream of its own, begun and ended, also when a launch fails."""
    timing.GpuClock(0).capture([lambda: cuda.append("one"), lambda: cuda.append("two")]).launch()
    assert cuda == ["enter", "begin", "one", "two", "end", "leave", "launch"]
    cuda.clear()
    with pytest.raises(ZeroDivisionError):
        timing.GpuClock(0).capture([lambda: 1 / 0])
    assert cuda == ["enter", "begin", "end", "leave"]


def test_where_pytorch_is_loaded_it_captures(cuda, monkeypatch):
    """CuPy then launches into the stream that PyTorch captures, and PyTorch replays."""

    class Capture:
        def __init__(self, graph, capture_error_mode):
            assert capture_error_mode == "relaxed"

        def __enter__(self):
            cuda.append("torch begins")

        def __exit__(self, *_):
            cuda.append("torch ends")

    torch = SimpleNamespace(cuda=SimpleNamespace(
        is_available=lambda: True, graph=Capture,
        CUDAGraph=lambda: SimpleNamespace(replay=lambda: cuda.append("replay")),
        current_stream=lambda: SimpleNamespace(cuda_stream=7),
    ))  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    timing.GpuClock(0).capture([lambda: cuda.append("one")]).launch()
    assert cuda == ["torch begins", "enter", "one", "leave", "torch ends", "replay"]


@pytest.mark.skipif(not device.on_gpu(), reason="graphs need a GPU")
def test_a_replay_on_a_real_gpu_is_no_longer_than_events():
    """A short launch costs less in a graph, where no event surrounds it, and more than nothing."""
    from helpers import ondevice, subjects

    clock = timing.GpuClock(device.spec().l2)
    x = ondevice.normal(4096, 128, "float32")
    y = device.cp.empty_like(x)
    count = timing.rotation(2 * x.nbytes, clock.l2_bytes)
    pairs = [(x.copy(), device.cp.empty_like(y)) for _ in range(count)]
    subject = subjects.copy_kernel(x, y)
    events, graph = timing.measure(subject, clock), timing.replay(subject, clock, pairs)
    assert 1.0 < graph.us <= 1.1 * events.us
