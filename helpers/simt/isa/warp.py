"""Opcodes by which the lanes of a warp meet: shuffles, votes, matches, sums.

Lanes that reach one wait in the machine until their partners are there too (`m.meet`); when nobody
is missing, which is nearly always, they go straight on.
"""

import numpy as np

from ..errors import PtxError
from ..ptx import Pair, Symbol
from .table import Form, Row, refuse
from .types import TYPES

__all__ = ["ROWS"]

B32, PRED = TYPES["b32"], TYPES["pred"]
LANE = np.arange(32)
BIT = np.uint32(1) << LANE.astype(np.uint32)


def shuffle(ins, f: Form, code):
    """shfl.sync d|p, a, b, c, members."""
    target, *sources = ins.operands
    first, second = (target.first, target.second) if hasattr(target, "first") else (target, None)
    write = code.writer(first, B32)
    write_valid = code.writer(second, PRED) if second is not None else None
    reads = [code.reader(o, B32) for o in sources]
    mode = f.one_of("up", "down", "bfly", "idx")
    if mode is None or len(sources) != 4:
        raise PtxError(f"{ins.mnemonic} needs up, down, bfly or idx, and four sources")

    def act(m, mask, values):
        result, valid = exchange(m, mode, mask, *values)
        write(m, result)
        if write_valid is not None:
            write_valid(m, valid)

    def step(m):
        return m.meet(("shfl", mode), [read(m) for read in reads], act)

    return step


def source_lane(mode: str, b, c):
    """The lane each lane reads, and whether that is in range (9.7.9.6 of the PTX manual).

    `b` and `c` have lanes of a warp along the last axis: the offset or index, and the clamp with
    the segment mask in bits 8 to 12.
    """
    b, c = b.astype(np.int64) & 31, c.astype(np.int64)
    segment, clamp = (c >> 8) & 31, c & 31
    highest = (LANE & segment) | (clamp & ~segment & 31)
    lowest = LANE & segment
    if mode == "up":
        j = LANE - b
        valid = j >= highest
    elif mode == "down":
        j = LANE + b
        valid = j <= highest
    elif mode == "bfly":
        j = LANE ^ b
        valid = j <= highest
    else:
        j = lowest | (b & ~segment & 31)
        valid = j <= highest
    return np.where(valid, j, LANE), valid


def by_warp(m, values):
    """(blocks, threads) → (blocks, warps, 32), blocks 1 where all are alike."""
    rows = values.shape[0]
    return np.broadcast_to(values, (rows, m.shape[1])).reshape(rows, -1, 32)


def exchange(m, mode: str, mask, value, b, c, members):
    """Move values between lanes; reading a lane that does not take part is a defect."""
    value = by_warp(m, value)
    if b.size == 1 and c.size == 1:  # the compiler's immediates: one pattern for all warps
        pattern, valid = source_lane(mode, b.reshape(-1), c.reshape(-1))
        result = value.take(pattern, -1)
        j = np.broadcast_to(pattern, (1, 1, 32))
        valid = np.broadcast_to(valid, (1, m.shape[1] // 32, 32)).reshape(1, -1)
    else:
        j, valid = source_lane(mode, by_warp(m, b), by_warp(m, c))
        shape = np.broadcast_shapes(value.shape, j.shape)
        result = np.take_along_axis(np.broadcast_to(value, shape), np.broadcast_to(j, shape), -1)
        valid = valid.reshape(valid.shape[0], -1)
    if mask is not None or not everyone(members):
        check_partners(m, mask, j, members)
    for hear in m.watch_shuffle:
        hear(m, mode, mask, j)
    return result.reshape(result.shape[0], -1), valid


def everyone(members) -> bool:
    """True when the member mask is the constant of all lanes."""
    return members.size == 1 and members.flat[0] == 0xFFFFFFFF


def words(flags):
    """(…, 32) booleans → (…, 1) numbers with a bit for each: what a ballot returns."""
    return (flags * BIT).sum(-1, dtype=np.uint32)[..., None]


def check_partners(m, mask, j, members):
    """Lanes read only lanes that take part and that their own member mask names."""
    active = by_warp(m, m.active(mask))
    partner = (words(active) & by_warp(m, members)) >> j.astype(np.uint32) & np.uint32(1) != 0
    lonely = active & ~partner
    shape = lonely.shape
    if lonely.any():
        at = tuple(np.argwhere(lonely)[0])
        reads = int(np.broadcast_to(j, shape)[at])
        m.defect(
            "shuffle from an inactive lane",
            f"lane {at[-1]} reads lane {reads}, which does not take part (it has exited, is "
            "elsewhere, or is missing from the member mask): the value is undefined",
            bad_lanes=lonely.reshape(lonely.shape[0], -1),
        )


def vote(ins, f: Form, code):
    """vote.sync: a predicate of the whole warp."""
    mode = f.one_of("all", "any", "uni", "ballot")
    if mode is None:
        raise PtxError(f"{ins.mnemonic} needs all, any, uni or ballot")
    ballot = mode == "ballot"
    write = code.writer(ins.operands[0], B32 if ballot else PRED)
    reads = [code.reader(ins.operands[1], PRED), code.reader(ins.operands[2], B32)]

    def act(m, mask, values):
        active = by_warp(m, m.active(mask))
        members = by_warp(m, values[1])  # lanes of a warp may vote in several groups at once
        voters = words(active) & members
        ayes = words(by_warp(m, values[0]) & active) & members
        if ballot:
            result = ayes
        else:
            all_, any_ = ayes == voters, ayes != 0
            result = {"all": all_, "any": any_, "uni": all_ | ~any_}[mode]
        write(m, result.reshape(result.shape[0], -1))

    def step(m):
        return m.meet(("vote", mode), [read(m) for read in reads], act)

    return step


def warp_barrier(ins, f: Form, code):
    """bar.warp.sync members: lanes of a warp wait for each other."""
    read = code.reader(ins.operands[0], B32)

    def act(m, mask, values):
        for hear in m.watch_warp_sync:
            hear(m, mask, values[-1])

    def step(m):
        return m.meet(("bar.warp", ""), [read(m)], act)

    return step


def fellows(m, mask, members):
    """(…, 32, 32) booleans: does lane i, of the second last axis, take lane j of the last into its
    group? Lanes of a warp may meet in several groups at once."""
    together = words(by_warp(m, m.active(mask))) & by_warp(m, members)
    return together[..., None] & BIT != 0


def pair_of(target, first, second, code):
    """Writers of `d` and, where the instruction has it, `p` of `d|p`."""
    d, p = (target.first, target.second) if isinstance(target, Pair) else (target, Symbol("_"))
    return code.writer(d, first), code.writer(p, second)


def match(ins, f: Form, code):
    """match.sync: which lanes of the group hold the same value; all: do all of them?"""
    everybody = f.has("all")
    write, write_all = pair_of(ins.operands[0], B32, PRED, code)
    reads = [code.reader(ins.operands[1], f.type), code.reader(ins.operands[2], B32)]

    def act(m, mask, values):
        value, group = by_warp(m, values[0]), fellows(m, mask, values[1])
        same = group & (value[..., :, None] == value[..., None, :])
        alike = (same == group).all(-1)
        result = words(same)[..., 0]
        write(m, flat(np.where(alike, result, np.uint32(0)) if everybody else result))
        write_all(m, flat(alike))

    def step(m):
        return m.meet(("match", f.one_of("any", "all")), [read(m) for read in reads], act)

    return step


def flat(values):
    """(blocks, warps, 32) → (blocks, threads)."""
    return values.reshape(len(values), -1)


REDUCTIONS = {"add": np.add, "min": np.minimum, "max": np.maximum}
REDUCTIONS |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def redux(ins, f: Form, code):
    """redux.sync: a sum (or the like) over the group, for all its lanes."""
    name, t = f.one_of(*REDUCTIONS), f.type
    if name is None or (t.kind == "b") != (name in ("and", "or", "xor")):
        raise refuse(ins.mnemonic, "add, min and max take .u32 or .s32; and, or, xor take .b32")
    write = code.writer(ins.operands[0], t)
    reads = [code.reader(ins.operands[1], t), code.reader(ins.operands[2], B32)]
    neutral = {"and": -1, "min": np.iinfo(t.dtype).max, "max": np.iinfo(t.dtype).min}.get(name, 0)
    idle = np.array(neutral & 0xFFFFFFFF, np.uint32).view(t.dtype)

    def act(m, mask, values):
        value, group = by_warp(m, values[0]), fellows(m, mask, values[1])
        mine = np.where(group, value[..., None, :], idle)
        write(m, flat(REDUCTIONS[name].reduce(mine, -1, t.dtype)))

    def step(m):
        return m.meet(("redux", name), [read(m) for read in reads], act)

    return step


def elect(ins, f: Form, code):
    """elect.sync d|p: the lowest lane of the group is its leader."""
    write, write_leader = pair_of(ins.operands[0], B32, PRED, code)
    read = code.reader(ins.operands[1], B32)

    def act(m, mask, values):
        leader = fellows(m, mask, values[0]).argmax(-1)
        write(m, flat(leader.astype(np.uint32)))
        write_leader(m, flat(leader == LANE))

    def step(m):
        return m.meet(("elect", ""), [read(m)], act)

    return step


def active_mask(ins, f: Form, code):
    """activemask: which lanes are here now."""
    write = code.writer(ins.operands[0], B32)

    def step(m):
        write(m, np.repeat(words(by_warp(m, m.active()))[..., 0], 32, axis=-1))

    return step


# fmt: off
ROWS = [
    Row("shfl", "d|p a b c m", "b32", "sync up down bfly idx", shuffle, "warp",
        "read a register of another lane"),
    Row("vote", "d p m", "pred b32", "sync all any uni ballot", vote, "warp",
        "a predicate over the warp"),
    Row("match", "d|p a m", "b32 b64", "sync any all", match, "warp",
        "the lanes that have the same a"),
    Row("redux", "d a m", "u32 s32 b32", "sync add min max and or xor", redux, "warp",
        "one number from the a of all lanes"),
    Row("elect", "d|p m", "", "sync", elect, "warp", "choose the lowest lane"),
    Row("activemask", "d", "b32", "", active_mask, "warp", "the lanes that are here"),
]
# fmt: on
