"""mbarrier: barriers in shared memory, at which lanes arrive now and wait later.

The hardware keeps its 64 bits to itself. Here they are, from the lowest: arrivals still pending
(20), arrivals expected (20), the number of the phase (23), and a bit that says initialised.
"""

import numpy as np

from .atomics import Atomic, exclusive, rounds, take_turns
from .memory import address_of, in_space, reach, space_of
from .table import Form, Row, refuse
from .types import TYPES

__all__ = ["ROWS", "arrive_at"]

U32, U64, PRED = TYPES["u32"], TYPES["u64"], TYPES["pred"]
FIELD, PHASE, LIVE = (1 << 20) - 1, (1 << 23) - 1, 1 << 63
MOST = FIELD


def fields(word):
    """pending, expected, phase; int64."""
    word = word.view(np.int64)
    return word & FIELD, word >> 20 & FIELD, word >> 40 & PHASE


def word(pending, expected, phase):
    value = pending | expected << 20 | (phase & PHASE) << 40
    return value.astype(np.uint64) | np.uint64(LIVE)


def after(old, count):
    """The barrier when `count` more have come: phases end when all that are expected are there."""
    pending, expected, phase = fields(old)
    expected = np.maximum(expected, 1)
    came = expected - pending + count.astype(np.int64)
    return word(expected - came % expected, expected, phase + came // expected)


def arrivals(base, starts, group, count):
    before, every = exclusive(count.astype(np.int64), starts, group)
    return after(base[group], before), after(base, every)


def drop(old, count):
    """Arrive, and be expected no more."""
    pending, expected, phase = fields(old)
    left, fewer = pending - count.astype(np.int64), expected - count.astype(np.int64)
    ends = left <= 0
    return word(np.where(ends, fewer, left), fewer, phase + ends)


ARRIVE, DROP = Atomic(after, arrivals), Atomic(drop, rounds(drop))


def visit(f: Form, kind: str, act):
    """`act(m, lanes, memory's words, index)` on the barrier that each lane's address names."""

    def access(m, space, address):
        lanes, place, home = reach(m, space, address, 8, kind)
        if home is not None:
            view, index = home.typed(U64.dtype), (place >> 3).reshape(-1)
            if kind != "store" and not (view[index] & np.uint64(LIVE)).all():
                stale = (view[index] & np.uint64(LIVE) == 0).reshape(place.shape)
                m.defect(
                    "invalid mbarrier",
                    "the barrier has not been initialised (mbarrier.init), or not yet",
                    bad_lanes=lanes.spread(stale),
                )
            act(m, lanes, view, index, place.shape)

    run = in_space(space_of(f), access)
    return lambda m, where: run(m, np.broadcast_to(where(m), m.shape))


def initialise(ins, f: Form, code):
    """mbarrier.init [a], count and mbarrier.inval [a]."""
    where = address_of(ins.operands[0], code)
    read = code.reader(ins.operands[1], U32) if f.has("init") else None

    def act(m, lanes, view, index, shape):
        if read is None:
            view[index] = 0
        else:
            count = lanes.pick(np.broadcast_to(read(m), m.shape)).reshape(-1).astype(np.int64)
            view[index] = word(count, count, np.zeros_like(count))
        m.changes += 1

    run = visit(f, "store", act)
    return lambda m: run(m, where)


def arrive_at(operand, f: Form, code, write=None, count=None, operation=ARRIVE):
    """A step in which lanes arrive; `write` takes the state before, for test_wait."""
    where = address_of(operand, code)

    def act(m, lanes, view, index, shape):
        many = np.ones((1, 1), np.uint32) if count is None else count(m)
        many = lanes.pick(np.broadcast_to(many, m.shape)).reshape(-1)
        old, _ = take_turns(view, index, operation, [many])
        m.changes += 1
        if write is not None:
            write(m, lanes.result(old.reshape(shape)))

    run = visit(f, "atomic", act)
    return lambda m: run(m, where)


def arrive(ins, f: Form, code):
    """mbarrier.arrive and arrive_drop: state, [a]{, count}."""
    target, address, *rest = ins.operands
    write = code.writer(target, U64)
    count = code.reader(rest[0], U32) if rest else None
    return arrive_at(address, f, code, write, count, DROP if f.has("arrive_drop") else ARRIVE)


def wait(ins, f: Form, code):
    """mbarrier.test_wait and try_wait p, [a], state (or its phase's parity): is it over?"""
    target, address, state = ins.operands[:3]
    write, where = code.writer(target, PRED), address_of(address, code)
    parity = f.has("parity")
    read = code.reader(state, U32 if parity else U64)

    def act(m, lanes, view, index, shape):
        since = lanes.pick(np.broadcast_to(read(m), m.shape)).reshape(-1)
        phase = fields(view[index])[2]
        over = (phase & 1) != since.astype(np.int64) if parity else phase != fields(since)[2]
        write(m, lanes.result(over.reshape(shape)))
        if not over.all():
            m.poll()
        if over.any():
            passed = np.broadcast_to(lanes.spread(over.reshape(shape)), m.shape)
            for hear in m.watch_mbarrier:
                hear(m, passed)

    run = visit(f, "atomic", act)
    return lambda m: run(m, where)


def pending_count(ins, f: Form, code):
    """mbarrier.pending_count d, state."""
    write, read = code.writer(ins.operands[0], U32), code.reader(ins.operands[1], U64)
    return lambda m: write(m, fields(read(m))[0].astype(np.uint32))


KINDS = {
    "init": initialise,
    "inval": initialise,
    "arrive": arrive,
    "arrive_drop": arrive,
    "test_wait": wait,
    "try_wait": wait,
    "pending_count": pending_count,
}


def form_of(ins, f: Form, code):
    kind = f.one_of(*KINDS)
    if kind is None:
        raise refuse(ins.mnemonic, "it names no operation that is in the table")
    return KINDS[kind](ins, f, code)


# fmt: off
ROWS = [
    Row("mbarrier", "d [a] b", "b64",
        f"{' '.join(KINDS)} shared shared::cta parity relaxed acquire release cta cluster "
        "noComplete", form_of, "barrier",
        "a barrier in shared memory: set up, arrive, ask whether it is over"),
]
# fmt: on
