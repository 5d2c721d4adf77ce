"""What a program's text tells the defect checkers before anything runs.

Which accesses are strong and which publish; which arrays a store can reach, by following pointers
back to the kernel's parameters (what nobody can write needs no watching); which registers some path
reads before it has written them; and which barriers stand under which branches.
"""

from dataclasses import dataclass, field

from ..ptx import Address, Immediate, Label, Negated, Pair, Register, Symbol, Vector

__all__ = ["Facts", "element_size", "facts_of", "operands_of", "registers_of", "suppressed"]

ANYWHERE = "anywhere"  # a pointer that was itself read from memory
STRONG = {"relaxed", "acquire", "release", "acq_rel", "sc", "mmio"}
PUBLISHES = {"release", "acq_rel", "sc"}
ACCESSES = {"ld", "ldu", "st", "atom", "red", "cp", "mbarrier"}
NARROWS = {"mul", "div", "rem", "shr", "shl", "setp", "set", "popc", "clz"}
SPACES = {"shared", "shared::cta", "global", "local", "const", "param"}
EXITS = {"ret", "exit"}


@dataclass(frozen=True)
class Facts:
    """Facts of a program; instructions are named by their program counter.

    `strong`    accesses that may meet others of their kind without a race
    `publishes` those that make visible what was written before them
    `signals`   whether threads may order each other by fences and flags
    `grain`     bytes of a cell in each space: those of the narrowest access, at most 4
    `written`   the arguments (byte offsets in the parameter block) that stores can reach; None: any
    `registers` those that each instruction reads, and those that it writes
    `unset`     registers that some path reads before it has written them
    `split`     branches that part the threads of a block before a barrier, with those barriers
    """

    strong: frozenset
    publishes: frozenset
    signals: bool
    grain: dict = field(hash=False)
    written: frozenset | None
    registers: tuple
    unset: frozenset
    split: dict = field(hash=False)


_known: dict = {}  # id(instructions) → (instructions, Facts): programs live as long as their cache


def facts_of(program) -> Facts:
    """The Facts of a Program, worked out once."""
    found = _known.get(id(program.instructions))
    if found is None or found[0] is not program.instructions:
        if len(_known) > 256:
            _known.clear()
        found = _known[id(program.instructions)] = program.instructions, study(program)
    return found[1]


def study(program) -> Facts:
    instructions = program.instructions
    registers = tuple(map(registers_of, instructions, program.rows))
    flow = Flow(instructions)
    words = [set(ins.suffixes) for ins in instructions]
    accesses = [pc for pc, ins in enumerate(instructions) if ins.opcode in ACCESSES]
    strong = {pc for pc in accesses if is_strong(instructions[pc], words[pc])}
    publishes = {pc for pc in strong if words[pc] & PUBLISHES or "arrive" in words[pc]}
    fences = any(ins.opcode in ("membar", "fence", "atom") for ins in instructions)
    grain = {"shared": 4, "global": 4, "local": 4}
    for space in grain:
        elsewhere = SPACES - {space, f"{space}::cta"}
        sizes = [element_size(instructions[pc]) for pc in accesses if not words[pc] & elsewhere]
        grain[space] = min([4, *sizes])
    return Facts(
        frozenset(strong),
        frozenset(publishes),
        fences or bool(publishes),
        grain,
        written(program),
        registers,
        unset(flow, instructions, registers),
        split(flow, instructions),
    )


def is_strong(ins, words: set) -> bool:
    """Volatile counts between blocks, where it is the old way to look at a flag. In shared memory
    it does not: lanes that rely on it race, whatever the manual calls them."""
    volatile = "volatile" in words and not words & {"shared", "shared::cta"}
    atomic = ins.opcode in ("atom", "red", "mbarrier") or "mbarrier" in words  # cp.async.mbarrier
    return atomic or volatile or bool(words & STRONG)


def element_size(ins) -> int:
    """Bytes of one element of a memory instruction; 4 where the suffixes do not tell."""
    sizes = [int(s[1:]) // 8 for s in ins.suffixes if s[0] in "busf" and s[1:].isdigit()]
    return 2 if "bf16" in ins.suffixes else min(sizes, default=4)


def operands_of(operand):
    """The registers, symbols and labels inside an operand."""
    match operand:
        case Register() | Symbol() | Label():
            yield operand
        case Vector():
            for part in operand.parts:
                yield from operands_of(part)
        case Pair():
            yield from operands_of(operand.first)
            yield from operands_of(operand.second)
        case Negated():
            yield from operands_of(operand.operand)
        case Address():
            yield from operands_of(operand.base)


def registers_of(ins, row) -> tuple[frozenset, frozenset]:
    """The registers that an instruction reads and those that it writes."""
    targets = 1 if row.operands[:1] in ("d", "p") else 0
    found = [
        frozenset(r.index for o in part for r in operands_of(o) if isinstance(r, Register))
        for part in (ins.operands[targets:], ins.operands[:targets])
    ]
    guard = frozenset() if ins.guard is None else frozenset((ins.guard.index,))
    return found[0] | guard, found[1]


def suppressed(source, mark: str) -> frozenset[int]:
    """The lines of a source whose comment says that the author knows: `// race: intended, why`."""
    return frozenset(number for number, line in enumerate(source, 1) if mark in line)


# ---------------------------------------------------------------------------- pointers
def written(program) -> frozenset | None:
    """Offsets of the parameters whose pointers reach the address of a store; None for any."""
    moves = [move for ins in program.instructions if (move := pointer_move(program, ins))]
    origin: dict[int, set] = {}
    changed = True
    while changed:
        changed = False
        for into, sources, more in moves:
            found = more.union(*(origin.get(s, ()) for s in sources))
            for register in into:
                here = origin.setdefault(register, set())
                if not found <= here:
                    here |= found
                    changed = True
    return stored(program, origin)


def pointer_move(program, ins):
    """(registers written, registers whose pointers they take over, further origins)."""
    if ins.opcode in ("st", "red") or not ins.operands:
        return None
    target, *sources = ins.operands
    into = [r.index for r in operands_of(target) if isinstance(r, Register)]
    if ins.opcode in ACCESSES:
        offset = argument(program, ins)
        if offset is not None:
            return into, [], {offset}
        return into, [], {ANYWHERE} if element_size(ins) == 8 else set()
    if not keeps_pointers(ins):
        return into, [], set()
    parts = [p for s in sources for p in operands_of(s)]
    symbols = {p.name for p in parts if isinstance(p, Symbol)}
    return into, [p.index for p in parts if isinstance(p, Register)], symbols


def argument(program, ins) -> int | None:
    """The place in the parameter block that an instruction loads from, if it does."""
    if ins.opcode != "ld" or "param" not in ins.suffixes:
        return None
    source = ins.operands[1]
    name = getattr(source.base, "name", None)
    return next((p.offset + source.offset for p in program.parameters if p.name == name), None)


def keeps_pointers(ins) -> bool:
    """Can the result still point to what a source points to? A remainder, `p % 16`, cannot."""
    if ins.opcode == "cvt":
        return ins.suffixes[:1] in (("u64",), ("s64",))
    small = any(isinstance(o, Immediate) and 0 <= o.value < 1 << 32 for o in ins.operands)
    return ins.opcode not in NARROWS and not (ins.opcode == "and" and small)


def stored(program, origin) -> frozenset | None:
    """The union over all stores to global memory of where their addresses come from."""
    reached = set()
    for ins in program.instructions:
        if ins.opcode not in ("st", "red", "atom") or set(ins.suffixes) & (SPACES - {"global"}):
            continue
        address = next(o for o in ins.operands if isinstance(o, Address))
        if not isinstance(address.base, Register):
            continue
        found = origin.get(address.base.index, set())
        if not found - {ANYWHERE}:
            return None
        reached |= found
    return frozenset(r for r in reached if isinstance(r, int))


# ---------------------------------------------------------------------------- flow
class Flow:
    """A program as stretches of instructions that run from first to last: `parts` are their
    ranges, `after` the parts that may follow each; the part behind the last is the end."""

    def __init__(self, instructions):
        targets = [t for pc, ins in enumerate(instructions) for t in jumps(ins, pc)]
        starts = sorted({0, *targets})
        self.parts = [range(a, b) for a, b in zip(starts, [*starts[1:], 0], strict=True) if a < b]
        at = {part.start: k for k, part in enumerate(self.parts)}
        self.after = []
        for part in self.parts:
            ins = instructions[part[-1]]
            ways = [at.get(t, len(self.parts)) for t in followers(ins, part[-1])]
            if ins.opcode in EXITS and len(self.parts) not in ways:
                ways.append(len(self.parts))
            self.after.append(ways)


def followers(ins, pc: int) -> list[int]:
    """Where lanes may go from an instruction, but for the end."""
    found = [o.target for part in ins.operands for o in operands_of(part) if isinstance(o, Label)]
    if ins.guard is not None or ins.opcode not in ("bra", "brx", *EXITS):
        found.append(pc + 1)
    return found


def jumps(ins, pc: int) -> list[int]:
    """The places where a new part begins because of this instruction."""
    return [*followers(ins, pc), pc + 1] if ins.opcode in ("bra", "brx", *EXITS) else []


def unset(flow: Flow, instructions, registers) -> frozenset:
    """Registers that are read where not every path has written them; a write under a predicate does
    not count. Sets are numbers, with a bit for each register that is read in a part before it is
    written there."""
    early, written = [], []
    for part in flow.parts:
        reads, writes = set(), set()
        for pc in part:
            reads |= registers[pc][0] - writes
            if instructions[pc].guard is None:
                writes |= registers[pc][1]
        early.append(reads)
        written.append(writes)
    bit = {register: 1 << k for k, register in enumerate(sorted(set().union(*early)))}
    adds = [sum(bit[r] for r in writes & bit.keys()) for writes in written]
    sure = [-1] * len(flow.parts)  # written on every path to here
    sure[0], changed = 0, True
    while changed:
        changed = False
        for k, ways in enumerate(flow.after):
            for way in ways:
                if way < len(sure) and sure[way] & ~(sure[k] | adds[k]):
                    sure[way] &= sure[k] | adds[k]
                    changed = True
    return frozenset(r for k, reads in enumerate(early) for r in reads if not sure[k] & bit[r])


def split(flow: Flow, instructions) -> dict[int, frozenset]:
    """Branch → the barriers between it and the place where its ways join again. A way that leads
    straight to the end of the kernel joins nowhere: threads that exit early do no harm."""
    barriers = [[pc for pc in part if waits_for_warps(instructions[pc])] for part in flow.parts]
    branches = [k for k, part in enumerate(flow.parts) if parts_lanes(instructions[part[-1]])]
    if not (any(barriers) and branches):
        return {}
    after, found = joins(flow), {}
    for k in branches:
        stop = {p for p in range(len(flow.parts)) if p != k and after[k] >> p & 1}
        if all(leaves(instructions, flow.parts[p].start) for p in stop):
            continue
        inside = reached(flow, k, stop)
        if here := frozenset(pc for part in inside for pc in barriers[part]):
            found[flow.parts[k][-1]] = here
    return found


def parts_lanes(ins) -> bool:
    return ins.opcode == "bra" and ins.guard is not None


def waits_for_warps(ins) -> bool:
    """Is it a barrier that a warp must come to as one?"""
    aligned = ins.opcode == "bar" or ins.opcode == "barrier" and "aligned" in ins.suffixes
    return aligned and "warp" not in ins.suffixes


def leaves(instructions, pc: int) -> bool:
    """Does an instruction lead straight to the end?"""
    for _ in range(8):
        ins = instructions[pc]
        if ins.guard is not None or ins.opcode not in ("bra", *EXITS):
            return False
        if ins.opcode in EXITS:
            return True
        pc = ins.operands[0].target
    return False


def joins(flow: Flow) -> list[int]:
    """For each part those that all ways from it to the end go through, a bit each."""
    end = len(flow.parts)
    after, changed = [-1] * end + [1 << end], True
    while changed:
        changed = False
        for k in range(end - 1, -1, -1):
            common = -1
            for way in flow.after[k]:
                common &= after[way]
            common |= 1 << k
            if common != after[k]:
                after[k], changed = common, True
    return after


def reached(flow: Flow, start: int, stop: set) -> set:
    """The parts that can run between one and the places to stop at."""
    seen, pending = set(), [*flow.after[start]]
    while pending:
        k = pending.pop()
        if k in seen or k in stop or k >= len(flow.parts):
            continue
        seen.add(k)
        pending += flow.after[k]
    return seen
