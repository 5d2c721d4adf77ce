"""What the stepper shows of a recorded launch, worked out once for all steps: plain JSON.

`model` goes through the trace a single time and leaves to the page only looking things up, so that
what a reader sees at any step can be tested here, against the trace's own `Trace.at(step)`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ..simt.steps import Touch
from ..simt.steps import pack as packed
from ..simt.trace import Trace
from . import stepper_text as text
from .stepper_access import traffic

__all__ = ["LANE_STEPS", "Whereabouts", "model", "place_of", "whereabouts"]

LANE_STEPS = 4_000_000  # steps x threads: beyond it the page would take far more than its limit
PTX = {"bool": "pred", "int": "s", "uint": "u", "float": "f"}
WARP = 32


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """Every thread at every step, (steps, threads): `status` as one letter, a active, p active but
    predicated off, w waiting, x exited, . idle; `line` the one it is at, 0 for an exited thread;
    `meets` is True where it waits for its warp rather than at a barrier of the block."""

    status: np.ndarray
    line: np.ndarray
    meets: np.ndarray


def whereabouts(trace: Trace) -> Whereabouts:
    """Where all threads are at all steps. A warp with nothing left before a barrier waits there."""
    count, threads, steps = len(trace), trace.threads, trace.steps
    active = bits((s.lanes for s in steps), threads)
    acting = bits((s.acting for s in steps), threads)
    parked = bits((s.parked for s in steps), threads)
    index = np.arange(count, dtype=np.int32)[:, None]
    upcoming = np.minimum.accumulate(np.where(active, index, count)[::-1])[::-1]
    after = np.vstack([upcoming[1:], np.full((1, threads), count, upcoming.dtype)])
    past = np.maximum.accumulate(np.where(active, index, -1))
    before = np.vstack([np.full((1, threads), -1, past.dtype), past[:-1]])

    barrier = np.array([trace.kind(k) == "barrier" for k in range(count)] + [False])
    meeting = np.array([trace.kind(k) != "barrier" for k in range(count)])
    held = held_lanes(trace) & ~active
    gone = (after == count) & ~active & ~held
    due = ~active & ~held & barrier[after]
    starts = np.arange(0, threads, WARP)
    busy = active | ~(due | held | gone)
    due &= ~np.repeat(np.logical_or.reduceat(busy, starts, axis=1), WARP, axis=1)[:, :threads]
    waiting = held | due

    status = np.full(active.shape, ord("."), np.uint8)
    for where, letter in ((gone, "x"), (waiting, "w"), (active, "p"), (active & acting, "a")):
        status[where] = ord(letter)
    came = held & (before >= 0) & np.take_along_axis(parked, np.maximum(before, 0), 0)
    at = np.where(active, index, np.where(came, before, after))
    lines = np.array([trace.line(k) for k in range(count)] + [0])
    return Whereabouts(status, np.where(gone, 0, lines[at]), came & meeting[before])


def bits(masks, threads: int) -> np.ndarray:
    """(steps, threads) booleans of masks that are integers."""
    size = -(-threads // 8)
    rows = b"".join(mask.to_bytes(size, "little") for mask in masks)
    packed_rows = np.frombuffer(rows, np.uint8).reshape(-1, size)
    return np.unpackbits(packed_rows, axis=1, bitorder="little")[:, :threads].astype(bool)


def held_lanes(trace: Trace) -> np.ndarray:
    """Lanes that have come to a barrier, or to an operation of their warp, before each step."""
    held, masks = 0, []
    for step in trace.steps:
        masks.append(held)
        held = (held | step.parked) & ~step.released
    return bits(masks, trace.threads)


# ---------------------------------------------------------------------------- the model
class Table(dict):
    """Each different thing once, in order; its number stands for it."""

    def number(self, item) -> int:
        return self.setdefault(item, len(self))


def model(trace: Trace) -> dict:
    """Everything the stepper shows of a trace, as JSON's own types.

    Numbers of threads are packed as [dtype, base64]; lanes are numbers of `masks` (hexadecimal,
    bit t for thread t); sentences are numbers of `texts`. `lanes` lists the different pictures of
    the block as [a letter a thread, the groups of each warp (letter, line, lanes)].
    ValueError for an empty trace, or for one far too large for a page.
    """
    if not trace.steps:
        raise ValueError(f"the trace of {trace.kernel} has no steps: nothing to show")
    if len(trace) * trace.threads > LANE_STEPS:
        raise ValueError(too_large(trace, f"{len(trace)} steps of {trace.threads} threads"))
    texts, masks, pictures = Table(), Table(), Table()
    where = whereabouts(trace)
    groups = [place_of(where, k) for k in range(len(trace))]
    letters = [bytes(row).decode() for row in where.status]
    floats = float_bits(trace)
    data = {
        "kernel": trace.kernel,
        "title": text.title(trace),
        "threads": trace.threads,
        "program": [[c.line, c.ptx, c.origin, operands(trace, c.ptx)] for c in trace.program],
        "registers": [
            [name, "b32" if k in floats else ptx_type(kind)]
            for k, (name, kind) in enumerate(trace.registers)
        ],
        "arrays": [[n, at, size, unit(kind)] for n, (at, size, kind) in trace.arrays.items()],
        "pc": [step.pc for step in trace.steps],
        "shown": [pictures.number(pair) for pair in zip(letters, groups, strict=True)],
        "deeds": [texts.number(text.deed(trace, step)) for step in trace.steps],
        "places": [texts.number(text.places(group)) for group in groups],
        "waits": [texts.number(text.waiting(trace, where, k)) for k in range(len(trace))],
        "entries": list(trace.entries),
        "barriers": [k for k in range(len(trace)) if trace.kind(k) == "barrier"],
        "counts": counts(trace),
        "writes": writes(trace, masks, floats),
        "touches": touches(trace, masks, texts),
        "sources": sources(trace, masks),
        "cells": cell_names(trace),
        "puts": puts(trace),
        "defects": defects(trace),
    }
    lanes = [[letters, [list(map(list, warp)) for warp in of]] for letters, of in pictures]
    return data | {"lanes": lanes, "texts": list(texts), "masks": [f"{m:x}" for m in masks]}


def too_large(trace: Trace, what: str) -> str:
    return (
        f"the stepper of {trace.kernel} would hold {what}, too much for a page: trace less, with "
        "fewer columns (cols=64), fewer threads (block=64) or, where a thread has a whole row, "
        "fewer rows"
    )


def place_of(where: Whereabouts, step: int) -> tuple:
    """For each warp its groups (letter, line, lanes) at a step, in the order of their lanes."""
    found = []
    for start in range(0, where.status.shape[1], WARP):
        warp = slice(start, start + WARP)
        tally: dict = defaultdict(int)
        for letter, line in zip(where.status[step, warp], where.line[step, warp], strict=True):
            tally[chr(letter), int(line)] += 1
        found.append(tuple((letter, line, n) for (letter, line), n in tally.items()))
    return tuple(found)


def ptx_type(dtype: str) -> str:
    """NumPy's name of a type as PTX has it: float32 → f32."""
    if dtype == "bfloat16":
        return "bf16"
    word = dtype.rstrip("0123456789")
    return PTX[word] + dtype.removeprefix(word)


def unit(dtype: str | None) -> int:
    return 1 if dtype is None else np.dtype(dtype).itemsize


def operands(trace: Trace, ptx: str) -> list[int]:
    """The registers that an instruction names, each once, in its order."""
    numbers = {name: k for k, (name, _) in enumerate(trace.registers) if name}
    named = re.findall(r"%[a-z]+\w*", ptx)
    return list(dict.fromkeys(numbers[name] for name in named if name in numbers))


def counts(trace: Trace) -> dict:
    """Line → [steps, counts]: where its count of executions (see State.counts) changes."""
    pieces = {pc: (line, piece) for line, of in trace.pieces.items() for piece in of
              for pc in range(piece[1], piece[2] + 1)}  # fmt: skip
    done = defaultdict(int)
    most: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))  # line, key, first pc
    found: dict = {}
    for k, step in enumerate(trace.steps):
        done[step.pc] += step.done.bit_count()
        if step.pc not in pieces:
            continue
        line, (key, first, _) = pieces[step.pc]
        copies = most[line][key]
        copies[first] = max(copies[first], done[step.pc])
        count = max(sum(of.values()) for of in most[line].values())
        when, how_often = found.setdefault(line, ([], []))
        if count and (not how_often or count != how_often[-1]):
            when.append(k)
            how_often.append(count)
    return {str(line): list(pair) for line, pair in sorted(found.items()) if pair[0]}


# ---------------------------------------------------------------------------- values
def pack(values: np.ndarray) -> list:
    """[dtype, base64], of a type that a browser has: 16-bit floats become float32."""
    values = np.asarray(values)
    if values.dtype.itemsize == 2 and values.dtype.kind not in "iu":
        values = values.astype(np.float32)
    return packed(values)


def writes(trace: Trace, masks: Table, floats: set) -> list:
    """[step, register, lanes, values] of every register written; one value may stand for all."""
    def values(write):
        return write.values.view(np.float32) if write.register in floats else write.values

    return [
        [step.index, write.register, masks.number(step.acting), pack(values(write))]
        for step in trace.steps
        for write in step.writes
    ]


def float_bits(trace: Trace) -> set:
    """Untyped 32-bit registers that hold a float's bits: those that moves and shuffles connect
    with a float register. A shuffle moves bits, so its registers have no type of their own."""
    kinds = [kind for _, kind in trace.registers]
    pairs = [
        operands(trace, code.ptx.replace("|", ", "))
        for code in trace.program
        if code.ptx.startswith(("mov.b32 ", "shfl."))
    ]
    pairs = [[r for r in pair if kinds[r] in ("float32", "uint32")][:2] for pair in pairs]
    found: set = set()
    while fresh := {
        a
        for pair in pairs
        if len(pair) == 2
        for a, b in (pair, pair[::-1])
        if kinds[a] == "uint32" and (kinds[b] == "float32" or b in found)
    } - found:
        found |= fresh
    return found


def sources(trace: Trace, masks: Table) -> list:
    """[step, lanes, the thread that each of them reads] of every shuffle."""
    return [
        [step.index, masks.number(step.acting), pack(step.sources.astype(np.int16))]
        for step in trace.steps
        if step.sources is not None
    ]


def touches(trace: Trace, masks: Table, texts: Table) -> list:
    """[step, space, kind, array, lanes, first elements, elements a lane, cells, text] of every
    access; `cells` are those of shared memory that it reads."""
    return [
        [
            step.index, touch.space, touch.kind, touch.name, masks.number(touch.lanes),
            pack(touch.index.astype(np.int32)), touch.width // touch.unit,
            cells_read(trace, touch), texts.number(traffic(trace, touch).text),
        ]
        for step in trace.steps
        for touch in step.touches
    ]  # fmt: skip


def cells_read(trace: Trace, touch: Touch) -> list[int]:
    """Numbers of the 4-byte cells of shared memory that an access reads."""
    if touch.space != "shared" or touch.kind not in ("load", "atomic"):
        return []
    start = trace.variables.get(touch.name, (0, 0))[0]
    return sorted({
        cell
        for at in (touch.offset + start).tolist()
        for cell in range(at >> 2, at + touch.width + 3 >> 2)
    })


def puts(trace: Trace) -> list:
    """[step, cells, values, values a cell, writers] of every step that wrote shared memory."""
    found = []
    for step in trace.steps:
        if step.cells is not None:
            c = step.cells
            dtype = np.dtype(c.dtype)
            values = c.bits if dtype.itemsize > 4 else c.bits.astype(np.uint32).view(dtype)
            each = len(values) // len(c.index)
            found.append([step.index, pack(c.index), pack(values), each, pack(c.threads)])
    return found


def cell_names(trace: Trace) -> list:
    """[variable, first cell, cells shown, cells in all] of the shared memory that is used: up to
    the last cell that anybody touches."""
    used = set()
    for step in trace.steps:
        used |= set(() if step.cells is None else step.cells.index.tolist())
        for touch in step.touches:
            used |= set(cells_read(trace, touch))
    if not used:
        return []
    places = sorted((at, size, name) for name, (at, size) in trace.variables.items())
    found = []
    for k, (at, size, name) in enumerate(places or [(0, 0, "shared")]):
        stop = at + size if size else trace.shared
        if not size and k + 1 < len(places):
            stop = max(stop, at)
        first, last = at // 4, -(-stop // 4)
        mine = [cell for cell in used if first <= cell < last]
        if mine and (not found or first >= found[-1][1] + found[-1][3]):
            shown = min(max(mine) + 1 - first, last - first)
            found.append([name, first, shown, last - first])
    return found


# ---------------------------------------------------------------------------- mistakes
def defects(trace: Trace) -> list:
    """{kind, message, lines, step, note} of what the simulator found; `step` is where to look: the
    first access of the thread it names on that line, None where this block has none."""
    return [
        {
            "kind": found.kind,
            "message": found.message,
            "lines": [line for line in dict.fromkeys(found.lines) if line],
            "step": step_of(trace, found),
            "note": found.severity == "note",
        }
        for found in trace.defects
    ]


def step_of(trace: Trace, found) -> int | None:
    block, thread = flat(found.block, trace.grid), flat(found.thread, trace.block)
    if block not in (None, trace.block_index):
        return None
    here = [
        step
        for step in trace.steps
        if trace.line(step.index) == found.line
        and (thread is None or step.lanes >> thread & 1)
    ]
    telling = [s for s in here if trace.kind(s.index) in ("memory", "barrier", "warp")]
    named = [s for s in telling if any(t.name == found.array for t in s.touches)]
    if "shuffle" in found.kind:
        named = [s for s in telling if "shfl" in trace.program[s.pc].ptx]
    return min((step.index for step in named or telling or here), default=None)


def flat(index, shape) -> int | None:
    """A CUDA index, a number or (x, y, z), as one number."""
    if not isinstance(index, tuple):
        return index
    x, y, z = (*index, 0, 0)[:3]
    return x + shape[0] * (y + shape[1] * z)

