"""Atomic operations: lanes that hit one address take turns, in the order of blocks and threads.

On a GPU that order is nobody's to say; a fixed one makes results repeatable. Lanes with an address
of their own go together. Those that share are sorted by address, and a `chain` works out what each
of them finds and what the last leaves, for all addresses at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import PtxError
from ..ptx import Vector
from . import rounding
from .memory import Union, address_of, in_space, reach, space_of
from .table import Form, Row, refuse
from .types import TYPES, Type

__all__ = ["ROWS", "Atomic", "exclusive", "take_turns"]


@dataclass(frozen=True, slots=True)
class Atomic:
    """`apply(old, *sources) -> new`; `chain(base, starts, group, *sources) -> (old, last)`: sorted
    by address, `base` is what each address holds, `starts` where its lanes begin, `group` to which
    address a lane belongs; `old` is what each lane finds, `last` what is left."""

    apply: Callable
    chain: Callable


def take_turns(view, index, operation: Atomic, sources):
    """Run the operation at each index of a memory's `view`, lane by lane; (old, changed?)."""
    if len(index) == 1 or (index[1:] > index[:-1]).all():
        return together(view, index, operation, sources)
    order = sorted_by(index)
    places = index[order]
    first = np.concatenate([[True], places[1:] != places[:-1]])
    if first.all():
        return together(view, index, operation, sources)
    starts, group = np.flatnonzero(first), np.cumsum(first) - 1
    base = view[places[starts]]
    found, last = operation.chain(base, starts, group, *(s[order] for s in sources))
    view[places[starts]] = last
    old = np.empty_like(found)
    old[order] = found
    return old, not same_bits(base, last)


def together(view, index, operation: Atomic, sources):
    """No two lanes share an address."""
    old = view[index]
    new = operation.apply(old, *sources)
    view[index] = new
    return old, not same_bits(old, new)


def sorted_by(index):
    """Stable order by index; a narrow range of them sorts many times faster as 16-bit numbers."""
    low = index.min()
    if index.max() - low < 1 << 16:
        index = (index - low).astype(np.uint16)
    return np.argsort(index, kind="stable")


def same_bits(a, b) -> bool:
    return a.tobytes() == b.tobytes()


# ---------------------------------------------------------------------------- chains
def exclusive(values, starts, group):
    """The sum of the values before each one in its group, and the whole sum of each group."""
    total = np.cumsum(values, dtype=values.dtype)
    before = total - values
    ends = np.append(starts[1:], len(values)) - 1
    return before - before[starts][group], total[ends] - before[starts]


def sums(base, starts, group, b):
    before, whole = exclusive(b, starts, group)
    return base[group] + before, base + whole


def swaps(base, starts, group, b):
    old = np.concatenate([b[:1], b[:-1]])
    old[starts] = base
    return old, b[np.append(starts[1:], len(b)) - 1]


def compare_and_swap(base, starts, group, compare, value):
    """Nearly all lanes find another value than they compare with, or leave it as it is: look only
    for the next lane of each group that changes something."""
    state, lane, count = base.copy(), np.arange(len(group)), len(group)
    old, waits_from = base[group], starts
    while True:
        wins = (compare == state[group]) & (value != state[group]) & (lane >= waits_from[group])
        first = np.minimum.reduceat(np.where(wins, lane, count), starts)
        won = first < count
        if not won.any():
            return old, state
        state[won] = value[first[won]]
        waits_from = np.where(won, first + 1, count)
        old = np.where(lane >= waits_from[group], state[group], old)


def rounds(apply: Callable) -> Callable:
    """The chain of any operation: first the first lane of every address, then the second …"""

    def chain(base, starts, group, *sources):
        sizes = np.diff(np.append(starts, len(group)))
        state, old = base.copy(), np.empty(len(group), base.dtype)
        for turn in range(sizes.max()):
            mine = np.flatnonzero(sizes > turn)
            at = starts[mine] + turn
            old[at] = state[mine]
            state[mine] = apply(state[mine], *(s[at] for s in sources))
        return old, state

    return chain


def scans(function: np.ufunc) -> Callable:
    """The chain of a ufunc: NumPy runs along each address, or `rounds` across many short ones."""
    across = rounds(function)

    def chain(base, starts, group, b):
        ends = np.append(starts[1:], len(b))
        if (ends - starts).max() < len(starts):
            return across(base, starts, group, b)
        old, last = np.empty_like(b), np.empty_like(base)
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            run = function.accumulate(np.concatenate([base[k : k + 1], b[start:end]]))
            old[start:end], last[k] = run[:-1], run[-1]
        return old, last

    return chain


def counter(step: int) -> Atomic:
    """inc (step 1) and dec (step -1): round and round between 0 and b."""

    def apply(old, b):
        if step > 0:
            return np.where(old >= b, np.uint32(0), old + np.uint32(1))
        return np.where((old == 0) | (old > b), b, old - np.uint32(1))

    slow = rounds(apply)

    def chain(base, starts, group, b):
        bound = b[starts]
        if (b != bound[group]).any():
            return slow(base, starts, group, b)
        turn = np.arange(len(b)) - starts[group]
        sizes = np.diff(np.append(starts, len(b)))
        # a value beyond the bound goes where the last one before the wrap goes
        begin = np.where(base > bound, bound if step > 0 else 0, base).astype(np.int64)
        around = bound.astype(np.int64) + 1
        old = ((begin[group] + step * turn) % around[group]).astype(np.uint32)
        old[starts] = base
        return old, ((begin + step * sizes) % around).astype(np.uint32)

    return Atomic(apply, chain)


def float_sum(flushes: bool) -> Atomic:
    """Addition in lane order, each sum rounded. On global memory f32 flushes subnormals, which
    only sums of very small numbers can notice."""
    if not flushes:
        return Atomic(np.add, scans(np.add))

    def apply(old, b):
        return rounding.flush(rounding.flush(old) + rounding.flush(b))

    plain, flushing = scans(np.add), rounds(apply)

    def chain(base, starts, group, b):
        both = np.abs(np.concatenate([base, b]))
        tiny = (both > 0) & (both < np.float32(2.0**-100))
        return (flushing if tiny.any() else plain)(base, starts, group, b)

    return Atomic(apply, chain)


# ---------------------------------------------------------------------------- atom and red
TAKES = {
    "add": "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2",
    "min": "u32 s32 u64 s64",
    "max": "u32 s32 u64 s64",
    "inc": "u32",
    "dec": "u32",
    "and": "b32 b64",
    "or": "b32 b64",
    "xor": "b32 b64",
    "exch": "b32 b64",
    "cas": "b16 b32 b64",
}
UFUNCS = {"min": np.minimum, "max": np.maximum}
UFUNCS |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
OPERATIONS = {
    "inc": counter(1),
    "dec": counter(-1),
    "exch": Atomic(lambda old, b: b, swaps),
    "cas": Atomic(lambda old, c, b: np.where(old == c, b, old), compare_and_swap),
    **{name: Atomic(ufunc, scans(ufunc)) for name, ufunc in UFUNCS.items()},
}


def operation_of(name: str, t: Type, space: str) -> Atomic:
    if name != "add":
        return OPERATIONS[name]
    if t.floating:
        return float_sum(t.name == "f32" and space == "global")
    return Atomic(np.add, sums)


def atomic(ins, f: Form, code):
    """atom d, [a], b{, c} and red [a], b; d and b may be vectors, of neighbours."""
    operands, t, name = list(ins.operands), f.type, f.one_of(*TAKES)
    count = int((f.one_of("v2", "v4", "v8") or "v1")[1:])
    check(ins, f, name, count)
    raw = TYPES[f"b{t.bits}"] if t.packed > 1 else t
    targets = parts_of(operands.pop(0)) if ins.opcode == "atom" else ()
    writes = [code.writer(part, raw) for part in targets]
    where = address_of(operands.pop(0), code)
    reads = [[code.reader(part, raw) for part in parts_of(o)] for o in operands]
    if [len(r) for r in reads] != [count] * (2 if name == "cas" else 1):
        raise PtxError(f"{ins.mnemonic} does not have the operands it needs")

    def access(m, space, address):
        values = [[np.broadcast_to(read(m), m.shape) for read in parts] for parts in reads]
        lanes, place, home = reach(m, space, address, count * t.size, "atomic", sum(values, []))
        if home is None:
            return
        picked = [np.stack([lanes.pick(v) for v in parts], -1) for parts in values]
        old = perform(m, home, place, t, operation_of(name, t, space), picked)
        for k, write in enumerate(writes):
            write(m, lanes.result(old[..., k]))

    run = in_space(space_of(f), access)
    return lambda m: run(m, np.broadcast_to(where(m), m.shape))


def check(ins, f: Form, name: str | None, count: int) -> None:
    """Refuse what PTX has no such atomic for."""
    t = f.type
    if name is None or t.name not in TAKES[name].split():
        raise refuse(ins.mnemonic, f"atom and red .{name or '?'} take {TAKES.get(name, TAKES)}")
    if t.dtype.itemsize == 2 and name == "add" and not f.has("noftz"):
        raise refuse(ins.mnemonic, f"PTX wants .noftz with .{t.name}")
    if count > 1 and (name != "add" or not t.floating or count * t.size > 16):
        raise refuse(ins.mnemonic, "vectors are for sums of f32, f16 and bf16, of at most 16 bytes")


def parts_of(operand) -> tuple:
    return operand.parts if isinstance(operand, Vector) else (operand,)


def perform(m, home, place, t: Type, operation: Atomic, values):
    """The operation on the memory (or, of a Union, on each array) that the places lie in. `values`
    and what was there before are raw, (…, registers of a lane)."""
    parts = home.parts if isinstance(home, Union) else [(home, np.ones(place.shape, bool))]
    unit, elements = t.dtype.itemsize, values[0].shape[-1] * t.packed
    old = np.empty((*place.shape, elements), t.dtype)
    changed = False
    for memory, here in parts:
        first = (place[here] - (memory.origin if isinstance(home, Union) else 0)) // unit
        index = (first[:, None] + np.arange(elements)).reshape(-1)
        sources = [v[here].view(t.dtype).reshape(-1) for v in values]
        found, news = take_turns(memory.typed(t.dtype), index, operation, sources)
        old[here], changed = found.reshape(-1, elements), changed or news
    if changed:
        m.changes += 1
    else:
        m.poll()
    return old.view(values[0].dtype)


SUFFIXES = (
    "global shared shared::cta relaxed acquire release acq_rel cta cluster gpu sys noftz v2 v4 v8 "
)
SUFFIXES += " ".join(TAKES)
# fmt: off
ROWS = [
    Row("atom", "d [a] b c", "b16 b32 b64 u32 s32 u64 s64 f32 f64 f16 f16x2 bf16 bf16x2",
        SUFFIXES, atomic, "atomic",
        "d = memory at a, which becomes op(memory, b), in one step"),
    Row("red", "[a] b", "b32 b64 u32 s32 u64 s64 f32 f64 f16 f16x2 bf16 bf16x2",
        SUFFIXES, atomic, "atomic",
        "memory at a = op(memory, b), in one step"),
]
# fmt: on
