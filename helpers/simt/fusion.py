"""Which shared-memory accesses the assembler joins into wider ones.

PTX is not what the hardware runs: ptxas turns neighbouring loads, or stores, of shared memory into
64- and 128-bit accesses where it can prove the alignment. `plan` predicts that by the rules ptxas
13.5 was seen to follow (the tests hold it to the real assembler where that is installed):

* Accesses join within one basic block, at constant offsets from one base register. A write to
  shared memory, a barrier or a fence ends what loads may join; stores join only when they follow
  each other in one aligned piece of memory, with no read of shared memory between them.
* Alignment is a count of trailing zero bits, carried through the integer instructions that make the
  address, through loops too. It is the base register's: [r - 12] with r = 12 more than a multiple
  of 16 is not known to be aligned, unless the 12 is added last, where it moves into the offset.
* Three of the four words of an aligned 16 bytes are loaded together, and two of an aligned 8;
  stores join only without gaps. 16-bit elements join up to 64 bits, loads only where nobody widens
  them to integers; bytes, volatile accesses and predicated ones never do.
* What ptxas makes of a branch (predicated code, loops unrolled further) is not predicted.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, partial

from .ptx import Address, Immediate, Instruction, Label, Pair, Register, Symbol, Vector

__all__ = ["Joined", "plan", "shape_of"]

TOP = 32  # trailing zero bits of a zero
SIZES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64)}
SIZES |= {"bf16": 2, "f16x2": 4, "bf16x2": 4}
FLOATING = {"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "pred"}
ACCESSES = {"ld", "ldu", "st", "atom", "red"}
SPACES = {"global", "shared::cluster", "local", "const", "param"}
STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
BARRIERS = {"bar", "barrier", "membar", "fence", "nanosleep", "call", "mbarrier"}


@dataclass(frozen=True, slots=True)
class Joined:
    """What becomes of an instruction: the first of a group `leads` and stands for all of it, an
    access of `width` bytes that begins `shift` bytes after its own address; the others vanish."""

    leads: bool
    width: int
    shift: int


@dataclass(frozen=True, slots=True)
class Value:
    """A register as base + offset. The base is a number that equal expressions share; `soft` is an
    offset that an `or` added, which may move through further additions; `zeros` are the trailing
    zero bits of the base."""

    base: int
    offset: int
    soft: int
    zeros: int

    @property
    def hard(self) -> tuple[int, int]:
        return self.base, self.offset

    @property
    def whole_zeros(self) -> int:
        """Of base and offset, without the soft part."""
        return min(self.zeros, zeros_of(self.offset))

    @property
    def all_zeros(self) -> int:
        return min(self.zeros, zeros_of(self.offset + self.soft))


@dataclass(slots=True)
class Part:
    """A shared access that may join others of its `unit`."""

    pc: int
    offset: int
    size: int
    unit: str


CONSTANT, SHARED = 0, 1  # bases: nothing, the beginning of shared memory
# of loads, by unit: pieces to try, (their bytes, how many of these must be read)
LOADS = {"word": ((16, 12), (8, 8)), "double": ((16, 16),), "half": ((8, 6), (4, 4))}
_known: dict = {}


def plan(program) -> dict[int, Joined]:
    """{place of an instruction: what becomes of it}, of those that the assembler joins."""
    found = _known.get(id(program))
    if found is None or found[0] is not program:
        if len(_known) > 256:
            _known.clear()
        found = _known[id(program)] = program, Planner(program).run()
    return found[1]


def zeros_of(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else TOP


class Planner:
    """Walks the instructions once, block by block."""

    def __init__(self, program):
        self.code, self.variables = program.instructions, program.variables
        self.written = [destinations(ins) for ins in self.code]
        self.defined: dict[int, list[int]] = defaultdict(list)  # register → where
        for pc, indices in enumerate(self.written):
            for index in indices:
                self.defined[index].append(pc)
        self.changing = [index for index, places in self.defined.items() if len(places) > 1]
        self.zeros = self.alignments()
        self.numbers: dict = {}  # expression → base
        self.values: dict[int, Value] = {}  # register → value, as far as the walk has come
        self.block = 0
        self.joined: dict[int, Joined] = {}
        self.loads: dict = defaultdict(list)  # (base, its zeros) → parts
        self.stores: list[Part] = []
        self.place: tuple = ()  # base and aligned piece of the stores

    def run(self) -> dict[int, Joined]:
        starts = block_starts(self.code)
        for pc, ins in enumerate(self.code):
            if pc in starts:
                self.end_block(pc)
            self.visit(pc, ins)
            for index in self.written[pc]:
                self.values[index] = self.evaluate(pc, ins, index)
        self.end_block(len(self.code))
        return self.joined

    def end_block(self, pc: int) -> None:
        """Registers written in several places may come from any of them now."""
        self.end_loads()
        self.end_stores()
        self.block = pc
        for index in self.changing:
            self.values.pop(index, None)

    # -- alignment
    def alignments(self) -> dict[int, int]:
        """Trailing zeros of every register, whatever path leads to it: begin with the best and take
        back what a definition does not hold."""
        zeros = {
            index: TOP
            for index, places in self.defined.items()
            if all(self.code[pc].opcode in TRAILING for pc in places)
        }
        changed = True
        while changed:
            changed = False
            for index in zeros:
                known = partial(self.operand_zeros, zeros=zeros)
                least = min(trailing(self.code[pc], known) for pc in self.defined[index])
                if least < zeros[index]:
                    zeros[index], changed = least, True
        return zeros

    def operand_zeros(self, operand, zeros) -> int:
        match operand:
            case Register():
                return zeros.get(operand.index, 0)
            case Immediate() if isinstance(operand.value, int):
                return zeros_of(operand.value)
            case Symbol() if operand.name in self.variables:
                return zeros_of(self.variables[operand.name][0])
        return 0

    # -- values
    def number(self, expression) -> int:
        return self.numbers.setdefault(expression, len(self.numbers) + 2)

    def value(self, operand) -> Value:
        match operand:
            case None:
                return Value(SHARED, 0, 0, TOP)
            case Immediate() if isinstance(operand.value, int):
                return Value(CONSTANT, operand.value, 0, TOP)
            case Symbol() if operand.name in self.variables:
                return Value(SHARED, self.variables[operand.name][0], 0, TOP)
            case Register():
                index = operand.index
                if index in self.values:
                    return self.values[index]
                base = self.number(("register", index, self.block))
                return Value(base, 0, 0, self.zeros.get(index, 0))
        return Value(self.number(operand), 0, 0, 0)

    def evaluate(self, pc: int, ins: Instruction, index: int) -> Value:
        """The value of a register that an instruction writes."""
        zeros = trailing(ins, lambda operand: self.value(operand).all_zeros)
        if ins.guard is not None or ins.opcode not in TRAILING or FLOATING & set(ins.suffixes):
            zeros = self.zeros.get(index, 0) if ins.guard is not None else zeros
            return Value(self.number(("at", pc, index)), 0, 0, zeros)
        sources = [self.value(o) for o in ins.operands[1:]]
        if ins.opcode in ("mov", "cvta"):
            return sources[0]
        if ins.opcode == "add":
            return self.sum(*sources)
        if ins.opcode == "or" and sources[1].base == CONSTANT:
            a, extra = sources[0], sources[1].offset
            if 0 <= extra < 1 << a.all_zeros:
                return Value(a.base, a.offset, a.soft + extra, a.zeros)
        expression = ins.mnemonic, *((v.base, v.offset + v.soft) for v in sources)
        return Value(self.number(expression), 0, 0, zeros)

    def sum(self, a: Value, b: Value) -> Value:
        """A constant term moves into the offset; two others make a base of their own."""
        if a.base == CONSTANT:
            a, b = b, a
        if b.base == CONSTANT:
            return Value(a.base, a.offset + b.offset, a.soft + b.soft, a.zeros)
        base = self.number(("sum", *sorted((a.hard, b.hard))))
        return Value(base, 0, a.soft + b.soft, min(a.whole_zeros, b.whole_zeros))

    # -- instructions
    def visit(self, pc: int, ins: Instruction) -> None:
        """What an instruction means for the accesses that wait to be joined."""
        words = set(ins.suffixes)
        shared = bool(words & {"shared", "shared::cta"})
        if not shared and (ins.opcode in ACCESSES and words & SPACES):
            return
        if ins.opcode in ("ld", "ldu"):
            self.end_stores()
            if shared:
                self.load(pc, ins)
        elif ins.opcode == "st":
            self.end_loads()
            self.store(pc, ins) if shared else self.end_stores()
        elif ins.opcode in ("atom", "red") or ins.opcode in BARRIERS:
            self.end_loads()
            self.end_stores()
        elif ins.opcode == "cp" and "commit_group" not in words:
            self.end_loads()
            self.end_stores()

    def address(self, operand: Address) -> tuple[int, int, int]:
        """(base, its trailing zeros, offset)."""
        value = self.value(operand.base)
        return value.base, value.zeros, value.offset + value.soft + operand.offset

    def load(self, pc: int, ins: Instruction) -> None:
        size, count = shape_of(ins)
        if ins.guard is not None or STRONG & set(ins.suffixes) or size < 2:
            return
        base, zeros, offset = self.address(ins.operands[1])
        unit = "alone"
        if size * count <= 8 and size * count >= 4 and (count > 1 or size == 4):
            unit = "word"
        elif count == 1 and size == 8:
            unit = "double"
        elif size == 2 and self.stays_half(ins.operands[0]):
            unit = "half"
        self.loads[base, zeros].append(Part(pc, offset, size * count, unit))

    def stays_half(self, register, depth: int = 4) -> bool:
        """True when nobody turns a 16-bit register into a wider integer."""
        if not isinstance(register, Register) or register.size != 2:
            return False
        return all(
            half_use(use)
            or (use.opcode == "mov" and depth and self.stays_half(use.operands[0], depth - 1))
            for use in self.uses[register.index]
        )

    @cached_property
    def uses(self) -> dict[int, list[Instruction]]:
        """Who reads a register."""
        found = defaultdict(list)
        for ins in self.code:
            for index in sources_of(ins):
                found[index].append(ins)
        return found

    def end_loads(self) -> None:
        for (_, zeros), parts in self.loads.items():
            first: dict = {}
            for part in parts:  # what has been read is not read again
                known = first.setdefault((part.offset, part.size, part.unit), part)
                if known is not part:
                    self.joined[part.pc] = Joined(False, part.size, 0)
            for unit, pieces in LOADS.items():
                left = [p for p in first.values() if p.unit == unit]
                for width, enough in pieces:
                    if zeros >= zeros_of(width):
                        left = self.join(left, width, enough)
        self.loads.clear()

    def join(self, parts: list[Part], width: int, enough: int) -> list[Part]:
        """Join the parts of each aligned piece of `width` bytes that has `enough` of them covered;
        give back the rest."""
        pieces, left = defaultdict(list), []
        for part in parts:
            pieces[part.offset // width].append(part)
        for number, group in pieces.items():
            inside = all(p.offset + p.size <= (number + 1) * width for p in group)
            covered = {k for p in group for k in range(p.offset, p.offset + p.size)}
            if len(group) < 2 or not inside or len(covered) < enough:
                left += group
                continue
            lead = min(group, key=lambda p: p.pc)
            for part in group:
                shift = number * width - lead.offset
                self.joined[part.pc] = Joined(part is lead, width, shift)
        return left

    def store(self, pc: int, ins: Instruction) -> None:
        size, count = shape_of(ins)
        if ins.guard is not None or STRONG & set(ins.suffixes) or size < 2 or size * count == 16:
            self.end_stores()
            return
        base, zeros, offset = self.address(ins.operands[0])
        piece = min(8 if size == 2 else 16, 1 << min(zeros, 4))
        place = base, offset // piece, piece, size
        if place != self.place or any(p.offset == offset for p in self.stores):
            self.end_stores()
        self.place = place
        self.stores.append(Part(pc, offset, size * count, f"{size} {count}"))

    def end_stores(self) -> None:
        if len({p.unit for p in self.stores}) == 1:
            left = self.stores
            for width in (16, 8, 4):
                if width <= self.place[2]:
                    left = self.join(left, width, width)
        self.stores, self.place = [], ()


# ---------------------------------------------------------------------------- the text of PTX
def destinations(ins: Instruction) -> list[int]:
    """The registers an instruction writes."""
    if not ins.operands or ins.opcode in ("st", "red", "bra", "bar"):
        return []
    return [r.index for r in inside(ins.operands[0])]


def sources_of(ins: Instruction) -> set[int]:
    """The registers an instruction reads."""
    first = 0 if ins.opcode in ("st", "red", "bra", "bar") else 1
    return {r.index for o in ins.operands[first:] for r in inside(o)}


def inside(operand):
    match operand:
        case Register():
            yield operand
        case Vector():
            for part in operand.parts:
                yield from inside(part)
        case Pair():
            yield from inside(operand.first)
            yield from inside(operand.second)
        case Address() if isinstance(operand.base, Register):
            yield operand.base


def shape_of(ins: Instruction) -> tuple[int, int]:
    """Bytes of an element of a memory instruction, and how many a lane moves; cp.async moves one
    of the size that its third operand says."""
    if ins.opcode == "cp":
        return getattr(ins.operands[2], "value", 4), 1
    size = next((SIZES[s] for s in reversed(ins.suffixes) if s in SIZES), 0)
    return size, next((int(s[1:]) for s in ins.suffixes if s in ("v2", "v4", "v8")), 1)


def half_use(ins: Instruction) -> bool:
    """An instruction that takes a 16-bit register as it is, in the low or the high half."""
    if ins.opcode == "st" or ins.opcode == "mov" and isinstance(ins.operands[1], Vector):
        return True
    last = ins.suffixes[-1] if ins.suffixes else ""
    to_float = ins.opcode == "cvt" and any(s in ("f16", "f32", "f64") for s in ins.suffixes[:-1])
    return last in ("f16", "bf16") or to_float


def trailing(ins: Instruction, zeros) -> int:
    """Trailing zeros of an instruction's result, from those that `zeros` knows of its operands."""
    rule, sources = TRAILING.get(ins.opcode), ins.operands[1:]
    if rule is None or FLOATING & set(ins.suffixes) or "hi" in ins.suffixes:
        return 0
    known = [zeros(operand) for operand in sources]
    for k in AMOUNTS.get(ins.opcode, ()):  # not the zeros but the number counts
        known[k] = getattr(sources[k], "value", 0)
    try:
        return min(rule(*known), TOP)
    except TypeError:  # not the operands that the rule is about
        return 0


def block_starts(code) -> set[int]:
    """Where basic blocks begin: at the targets of branches and behind them. A jump to the next
    instruction that nobody else jumps to is none."""
    origins = defaultdict(list)
    for pc, ins in enumerate(code):
        for operand in ins.operands:
            if isinstance(operand, Label):
                origins[operand.target].append(pc)
    starts = set()
    for target, places in origins.items():
        if places == [target - 1] and code[target - 1].guard is None:
            continue
        starts.add(target)
        starts.update(pc + 1 for pc in places)
    return starts


# fmt: off
TRAILING = {  # trailing zeros of a result, of those of its operands
    "mov": lambda a: a, "cvta": lambda a: a, "cvt": lambda a: a, "neg": lambda a: a,
    "add": min, "sub": min, "or": min, "xor": min, "and": max,
    "mul": lambda a, b: a + b, "mul24": lambda a, b: a + b, "shl": lambda a, n: a + n,
    "mad": lambda a, b, c: min(a + b, c), "mad24": lambda a, b, c: min(a + b, c),
    "selp": lambda a, b, p: min(a, b), "slct": lambda a, b, c: min(a, b),
    "bfi": lambda a, b, start, length: min(b, a + start),
}
AMOUNTS = {"shl": (1,), "bfi": (2,)}
# fmt: on
