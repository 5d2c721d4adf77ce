"""Counts wavefronts and bank conflicts of shared memory, as the PTX has the accesses and fused."""

from collections import Counter

import numpy as np

from .. import fusion
from .banks import waves
from .coalescing import by_warp, touch
from .names import EXECUTED, SHARED, WAVEFRONTS, Tally
from .requests import add, rows_of

__all__ = ["PATTERNS", "Wavefronts", "kind_of_instruction", "lanes_of"]

PATTERNS = 64  # recorded of an instruction, for advice; those that it repeats count once
KNOWN = 4096  # patterns whose wavefronts are remembered
NOTHING = (0, 0, 0, 0)
PTX = ("shared wavefronts", "shared wavefronts, ideal", "shared bank conflicts")

_known: dict = {}


class Wavefronts:
    """Shared memory. Blocks mostly repeat a few patterns of addresses: those are told apart,
    counted and kept for advice; what does not repeat is counted one by one, its first block kept.
    """

    def __init__(self):
        self.patterns: dict = {}  # (pc, addresses, mask, threads) → [blocks, counts of a block]
        self.samples: dict = {}  # the same of what is counted in `rest`: [blocks]
        self.rest: dict = {}  # pc → counts: source, ideal, hardware, conflicts, fused and literal
        self.busy = Counter()  # pc → warps with an active lane, of atomics and cp.async
        self.facts: dict = {}  # pc → (variable, kind, what becomes of it)
        self.kept = Counter()  # pc → how many patterns and samples
        self.copied: tuple = ()  # pc of the last cp.async, and its wavefronts

    def fork(self) -> "Wavefronts":
        return Wavefronts()

    def join(self, part: "Wavefronts") -> None:
        self.facts |= part.facts
        self.busy += part.busy
        for pc, values in part.rest.items():
            add(self.rest, pc, values)
        for key, (blocks, values) in part.patterns.items():
            if not self.keep(self.patterns, key, blocks, values):
                add(self.rest, key[0], [v * blocks for v in values])
        for key, (blocks, _) in part.samples.items():
            self.keep(self.samples, key, blocks, ())

    def keep(self, table: dict, key, blocks: int, values) -> bool:
        """Count blocks under a pattern, unless that is new and there are too many already."""
        known = table.get(key)
        if known is not None:
            known[0] += blocks
        elif self.kept[key[0]] < PATTERNS:
            self.kept[key[0]] += 1
            table[key] = [blocks, values]
        else:
            return False
        return True

    def count(self, m, access) -> None:
        pc, mask, blocks = access.pc, access.mask, m.shape[0]
        marks = None if mask is None else mask[:1].tobytes()
        key = pc, access.address[:1].tobytes(), marks, m.shape[1]
        rows = rows_of(access)
        if rows == 1:
            known = self.patterns.get(key)
            if known is not None:
                known[0] += blocks
                return
        values = self.measured(m, access)
        plain = access.kind in ("load", "store")
        if not plain:
            self.note(m, access, blocks // rows, values[0])
        if rows > 1 or not plain or not self.keep(self.patterns, key, blocks, values):
            add(self.rest, pc, [v * (blocks // rows) for v in values])
            self.keep(self.samples, key, blocks, ())

    def measured(self, m, access) -> tuple:
        """The counts of an access: fused and literal."""
        pc, program = access.pc, m.launch.program
        if pc not in self.facts:
            kind, joined = kind_of_instruction(program, pc), fusion.plan(program).get(pc)
            self.facts[pc] = variable_of(m, access), kind, joined
        _, kind, joined = self.facts[pc]
        literal = fused = measure(m, access, access.width, 0, kind)
        if joined is not None:
            fused = NOTHING
            if joined.leads:
                fused = measure(m, access, joined.width, joined.shift, kind)
        return *fused, *literal

    def note(self, m, access, times: int, wavefronts: int) -> None:
        """Of atomics and cp.async: how many warps execute one."""
        lanes, active = lanes_of(access.address, access.mask, m.shape[1])
        warps = len(lanes) if active is None else int(active.any(1).sum())
        self.busy[access.pc] += warps * times
        self.copied = access.pc, wavefronts * times

    def lands(self, m, access) -> None:
        """The global side of a cp.async, which follows the shared one: it lands line by line of
        128 bytes, so that many lines take many wavefronts."""
        width = max(access.width >> 2, 1)
        found = touch(access.address >> 2, access.mask, width, m.shape[1] // 32)
        pc, known = self.copied
        lines = found.sectors * (m.shape[0] // rows_of(access))
        add(self.rest, pc, (max(lines - known, 0),))

    # -- reports
    def totals(self) -> dict[int, list[int]]:
        """{pc: counts}, those of `rest`."""
        totals = {pc: list(values) for pc, values in self.rest.items()}
        for (pc, *_), (blocks, values) in self.patterns.items():
            add(totals, pc, [v * blocks for v in values])
        return totals

    def recorded(self, pc: int):
        """(addresses, mask or None, threads, blocks) of the patterns of an instruction."""
        for (place, address, mask, threads), (blocks, _) in (
            *self.patterns.items(),
            *self.samples.items(),
        ):
            if place == pc:
                yield address, mask, threads, blocks

    def report(self, program, tally: Tally) -> None:
        for pc, values in self.totals().items():
            ins = program.instructions[pc]
            counts = {WAVEFRONTS: values[0], f"{WAVEFRONTS}_ideal": values[1]}
            if ins.opcode in ("ld", "st"):
                counts |= {SHARED["wavefronts", ins.opcode]: values[2]}
                counts |= {SHARED["conflicts", ins.opcode]: values[3]}
            elif ins.opcode in ("atom", "red", "cp"):
                executed = EXECUTED["ldgsts" if ins.opcode == "cp" else "shared_atom"]
                counts[executed] = self.busy[pc]
            tally.add(ins.line, counts)
            tally.add_array(self.facts[pc][0], counts)
            for label, value in zip(PTX, (values[4], values[5], values[7]), strict=True):
                tally.add_ptx(ins.line, label, value)


def kind_of_instruction(program, pc: int) -> str:
    """Load, store or atomic, as `waves` wants it. Adding a plain 1 whose result nobody reads has
    an instruction of its own, that adds up the lanes of a word first."""
    ins = program.instructions[pc]
    if ins.opcode not in ("atom", "red"):
        return "load" if ins.opcode in ("ld", "ldu") else "store"
    one = getattr(ins.operands[-1], "value", None) == 1
    return "store" if one and "add" in ins.suffixes and pc in program.reductions else "atomic"


def variable_of(m, access) -> str:
    """The shared variable that an access is in, by its first active lane."""
    lanes, active = lanes_of(access.address, access.mask, m.shape[1])
    first = lanes.flat[0] if active is None else lanes[active][0]
    found = m.variable("shared", int(first))
    return found[0] if found else "shared memory"


def lanes_of(address, mask, threads: int):
    """Offsets (warps, 32) and who is active, of the rows that address and mask have."""
    rows = address.shape[0] if mask is None else max(address.shape[0], mask.shape[0])
    lanes = by_warp(np.broadcast_to(address, (rows, address.shape[1])), threads // 32)
    if mask is None:
        return lanes, None
    return lanes, by_warp(np.broadcast_to(mask, (rows, mask.shape[1])), threads // 32)


def measure(m, access, width: int, shift: int, kind: str) -> tuple:
    """An access as one of `width` bytes that begins `shift` bytes further on. Blocks mostly repeat
    a few patterns, whose results are remembered."""
    address, mask, threads = access.address, access.mask, m.shape[1]
    key = None
    if rows_of(access) == 1:
        key = address.tobytes(), None if mask is None else mask.tobytes(), threads, width, shift
        key += (kind,)
        if key in _known:
            return _known[key]
    lanes, active = lanes_of(address, mask, threads)
    found = waves(lanes + shift, active, width, kind)
    values = found.source, found.ideal, found.hardware, found.conflicts
    if key is not None:
        if len(_known) >= KNOWN:
            _known.clear()
        _known[key] = values
    return values
