"""A parsed function becomes a Program: one Python function an instruction, ready to run.

Decoding settles everything that does not depend on data: where operands come from, which NumPy
function applies, where shared variables lie, and which registers need no masking.
"""

from dataclasses import dataclass, replace

import numpy as np

from . import isa, special
from .errors import PtxError, UnsupportedInstruction
from .inline import expand, frames, plain
from .isa.lanes import blend
from .isa.memory import between_blocks
from .isa.types import TYPES, Type, unsigned
from .memory import ADDRESSES
from .ptx import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Negated,
    Pair,
    Register,
    Special,
    Symbol,
    Vector,
)
from .variables import addresses, used_globals

__all__ = ["Program", "decode"]

SPACES = {"global", "shared", "local", "const", "param"}
SERIAL = {"cas", "exch"}
MEETINGS = {"bar", "barrier", "shfl", "vote", "match", "redux", "elect"}


@dataclass(frozen=True)
class Program:
    """A kernel that can run: `steps[pc](machine)` executes `instructions[pc]`.

    `zeros` are the registers' values at the start, `shared` the static shared bytes, `dynamic`
    where the dynamic ones begin, and `local` the local bytes of a lane; `variables` maps a shared
    variable's name to (offset, size). `globals` are the __device__ and __constant__ variables it
    uses. `argument_memory` says that it reads its arguments through an address, `cooperative` that
    it asks for a barrier of the grid, `talks` that blocks may wait for each other, `serial`
    that lanes may have to take turns at a lock or in a loop around a compare-and-swap. `reductions`
    are the atomics whose result nobody reads: the hardware runs them as `red`.
    """

    name: str
    instructions: tuple[Instruction, ...]
    rows: tuple
    steps: tuple
    zeros: tuple
    shared: int
    dynamic: int
    local: int
    variables: dict
    parameters: tuple
    max_threads: int | None
    files: dict
    globals: tuple
    argument_memory: bool
    cooperative: bool
    talks: bool
    serial: bool
    reductions: frozenset


def layout(variables, start: int = 0) -> tuple[dict, int]:
    """Offsets of variables one after another: ({name: (offset, size)}, total bytes)."""
    places, offset = {}, start
    for v in variables:
        offset = -(-offset // v.align) * v.align
        places[v.name] = (offset, v.size)
        offset += v.size
    return places, offset


def constant(value: Immediate, t: Type) -> np.ndarray:
    """An immediate as a (1, 1) array of the type."""
    if value.bits:
        data = np.array([[value.value]], unsigned(value.bits // 8))
        if t.floating:
            data = data.view(f"f{value.bits // 8}").astype(t.dtype)
        else:
            data = data.astype(unsigned(t.size)).view(t.dtype)
    elif t.kind == "p":
        data = np.array([[bool(value.value)]])
    elif isinstance(value.value, float) and not t.floating:
        raise PtxError(f"{value.value} is no .{t.name}")
    elif t.floating and t.size > 2:
        data = np.array([[value.value]], t.dtype)
    else:  # an integer, or the bit pattern of a 16-bit float
        raw = int(value.value) & ((1 << t.bits) - 1)
        data = np.array([[raw]], unsigned(t.size)).view(t.dtype)
    data.flags.writeable = False
    return data


def temporaries(function: Function, rows) -> set[int]:
    """Registers written and read only within one straight run of instructions, first written.

    Nobody else ever sees such a value, so writing it needs no mask. A run ends at branches and
    where lanes meet: there, other lanes may run the same instructions before these go on.
    """
    starts = {o.target for i in function.instructions for o in i.operands if isinstance(o, Label)}
    home, shared, run = {}, set(), 0
    for pc, (ins, row) in enumerate(zip(function.instructions, rows, strict=True)):
        if pc in starts or ins.opcode in MEETINGS or row.counts == "control":
            run += 1
        written, read = registers(ins, row)
        for index in read:
            if home.get(index) != run:
                shared.add(index)
        for index in written:
            if home.setdefault(index, run) != run or ins.guard is not None or in_parts(ins):
                shared.add(index)
        if ins.opcode in MEETINGS or row.counts == "control":
            run += 1
    return set(home) - shared


def in_parts(ins: Instruction) -> bool:
    """True of a generic access: lanes may point into several spaces, which are read in turn."""
    spaces = {suffix.split("::")[0] for suffix in ins.suffixes}
    return ins.opcode in ("ld", "ldu", "atom") and not SPACES & spaces


def registers(ins: Instruction, row) -> tuple[set[int], set[int]]:
    """The registers an instruction writes and those it reads."""

    def within(operand):
        match operand:
            case Register():
                yield operand.index
            case Vector():
                for part in operand.parts:
                    yield from within(part)
            case Pair():
                yield from within(operand.first)
                yield from within(operand.second)
            case Negated():
                yield from within(operand.operand)
            case Address():
                yield from within(operand.base)

    targets = 1 if row.operands[:1] in ("d", "p") else 0
    written = {r for o in ins.operands[:targets] for r in within(o)}
    read = {r for o in ins.operands[targets:] for r in within(o)}
    return written, read | ({ins.guard.index} if ins.guard is not None else set())


class Decoder:
    """Builds the steps of one function; the tables call its reader, writer and address."""

    def __init__(self, module: Module, function: Function, rows):
        self.module, self.function, self.rows = module, function, rows
        inner = [v for v in function.variables if v.space == "shared"]
        outer = [v for v in module.variables if v.space == "shared" and v.size]
        used = {o.name for i in function.instructions for o in names(i)}
        self.addresses = addresses(module)
        self.globals = used_globals(module, self.addresses, used)
        self.argument_memory = self.cooperative = False
        self.talks = any(map(between_blocks, function.instructions))
        inner += [v for v in outer if v.name in used]
        self.shared, self.shared_size = layout(inner)
        extern = [v for v in module.variables if v.space == "shared" and not v.size]
        self.dynamic = {v.name for v in extern}
        align = max([16, *(v.align for v in extern if v.name in used)])
        self.dynamic_start = -(-self.shared_size // align) * align
        self.size, self.extra = function.registers, []
        self.carry = self.new_register("the carry", 0)
        frames_ = frames(function)
        self.pieces = {
            name: {offset: self.new_register(name, size) for offset, size in pieces.items()}
            for name, pieces in frames_.items()
            if pieces is not None
        }
        spilled = [v for v in function.variables if frames_.get(v.name, 0) is None]
        self.local, self.local_size = layout(
            [*(v for v in function.variables if v.space == "local"), *spilled]
        )
        self.offsets = {p.name: p.offset for p in function.parameters}
        self.temporary = temporaries(function, rows)

    def new_register(self, name: str, size: int) -> Register:
        """A register that no instruction names: the carry flag, a piece of a call's parameter."""
        self.size += 1
        self.extra.append(Register(self.size - 1, name, size))
        return self.extra[-1]

    # -- operands
    def reader(self, operand, t: Type):
        """A function of the machine that returns the operand's lanes as type `t`."""
        match operand:
            case Register():
                return self.read_register(operand, t)
            case Immediate():
                value = constant(operand, t)
                return lambda m: value
            case Negated():
                slot = operand.operand.index
                return lambda m: ~m.registers[slot]
            case Special():
                name = operand.name
                special.check(name)
                self.cooperative |= name.startswith("%envreg")
                return lambda m: m.special(name).astype(unsigned(t.size), copy=False).view(t.dtype)
            case Symbol() | Address(base=Symbol()):
                value = constant(Immediate(self.spot(operand)), t)
                return lambda m: value
            case _:
                raise PtxError(f"{operand} cannot be read as {t.name}")

    def read_register(self, register: Register, t: Type):
        slot, dtype = register.index, t.dtype
        if (register.size == 0) != (t.kind == "p") or register.size < t.size:
            raise PtxError(f"{register.name} is too small to be read as .{t.name}")
        if t.kind == "p":
            return lambda m: m.registers[slot]
        if register.size == t.size:

            def read(m):
                value = m.registers[slot]
                return value if value.dtype is dtype else value.view(dtype)

            return read
        whole, part = unsigned(register.size), unsigned(t.size)
        return lambda m: m.registers[slot].view(whole).astype(part).view(dtype)

    def place(self, name: str) -> int:
        """The address of a variable within its space."""
        for table in (self.shared, self.local):
            if name in table:
                return table[name][0]
        if name in self.dynamic:
            return self.dynamic_start
        if name in self.addresses:
            return self.addresses[name]
        if name in self.offsets:
            self.argument_memory = True
            return ADDRESSES["param"][0] + self.offsets[name]
        if name in self.module.functions:
            raise UnsupportedInstruction(
                f"the address of {plain(name)}, a function, is taken: calls through pointers are "
                "not simulated"
            )
        raise PtxError(f"{name} is no variable of this kernel that the simulator can address")

    def spot(self, operand) -> int:
        """The address of a variable, or of a place in it (`table+8`)."""
        if isinstance(operand, Symbol):
            return self.place(operand.name)
        return self.place(operand.base.name) + operand.offset

    def address(self, base):
        """A reader of addresses, as int64 lanes."""
        if base is None:
            return lambda m: np.zeros((1, 1), np.int64)
        if isinstance(base, Symbol | Address):
            value = np.array([[self.spot(base)]], np.int64)
            return lambda m: value
        if isinstance(base, Immediate):
            value = np.array([[base.value]], np.int64)
            return lambda m: value
        slot, size = base.index, base.size
        if size == 8:
            return lambda m: m.registers[slot].view(np.int64)
        if size != 4:
            raise PtxError(f"{base.name} cannot hold an address")
        return lambda m: m.registers[slot].view(np.uint32).astype(np.int64)

    # -- parameters: of the kernel, and of calls
    def is_argument(self, address: Address) -> bool:
        return isinstance(address.base, Symbol) and address.base.name in self.offsets

    def argument(self, address: Address, width: int) -> int:
        """The offset of `width` bytes of a kernel argument in the parameter block."""
        name, block = address.base.name, self.function.parameters[-1]
        offset = self.offsets[name] + address.offset
        if not 0 <= offset <= block.offset + block.size - width:
            raise PtxError(f"[{name}+{address.offset}] lies outside the kernel's parameters")
        return offset

    def frame(self, address: Address, size: int, many: int) -> list[Register] | None:
        """The registers that hold a piece of a call's parameter; None if memory does."""
        pieces = isinstance(address.base, Symbol) and self.pieces.get(address.base.name)
        if not pieces:
            return None
        return [pieces[address.offset + k * size] for k in range(many)]

    def whole(self, symbol: Symbol, size: int) -> Register:
        """The register of a parameter in one piece, for a call that the machine answers."""
        if symbol.name not in self.pieces:
            raise PtxError(f"{symbol.name} is no {size}-byte parameter of a call")
        return self.pieces[symbol.name][0]

    def memory_of(self, address: Address) -> str:
        """The space of a parameter that is memory: a call's is local, the kernel's has its own."""
        if isinstance(address.base, Symbol) and address.base.name in self.local:
            return "local"
        self.argument_memory = True
        return "param"

    def guard(self, ins: Instruction):
        slot = ins.guard.index
        if ins.guard.size:
            raise PtxError(f"{ins.guard.name} guards an instruction but is no predicate")
        if ins.negated:
            return lambda m: ~m.registers[slot]
        return lambda m: m.registers[slot]

    def writer(self, operand, t: Type):
        """A function (machine, lanes of type `t`) that stores into the operand, active lanes only.

        This is where values widen to their register, and the only place where a mask is applied.
        """
        if isinstance(operand, Symbol) and operand.name == "_":
            return lambda m, value: None
        if not isinstance(operand, Register):
            raise PtxError(f"{operand} is no destination")
        slot = operand.index
        if (operand.size == 0) != (t.kind == "p") or operand.size < t.size:
            raise PtxError(f"{operand.name} is too small for a .{t.name}")
        extend = operand.size != t.size
        part = t.dtype if t.kind == "s" else unsigned(t.size or 1)
        whole = np.dtype(f"{'i' if t.kind == 's' else 'u'}{operand.size or 1}")
        temporary = slot in self.temporary

        def write(m, value):
            if extend:
                value = value.view(part).astype(whole)
            if m.mask is None or temporary or m.mask is m.free:
                m.registers[slot] = value
            else:
                m.registers[slot] = blend(m.mask, value, m.registers[slot])

        return write

    # -- instructions
    def step(self, ins: Instruction, row):
        f = isa.form(row, ins.suffixes)
        if ins.opcode in ("addc", "subc", "madc") or f.has("cc"):
            ins = self.with_carry(ins, f)
        if ins.opcode == "mov" and any(isinstance(o, Vector) for o in ins.operands):
            step = self.move_vector(ins, f)
        elif ins.opcode in isa.ALU:
            step = self.alu_step(ins, row.make(f))
        else:
            step = row.make(ins, f, self)
        if ins.guard is None or row.counts == "control":
            return step
        return guarded(step, self.guard(ins))

    def with_carry(self, ins: Instruction, f: isa.Form) -> Instruction:
        """The carry flag as one more source of addc, subc, madc, and the second result of .cc."""
        target, *sources = ins.operands
        if f.has("cc"):
            target = Pair(target, self.carry)
        if ins.opcode[-1] == "c":
            sources.append(self.carry)
        return replace(ins, operands=(target, *sources))

    def alu_step(self, ins: Instruction, alu: isa.Alu):
        target, *sources = ins.operands
        if ins.opcode in ("min", "max") and len(sources) == 3:
            raise isa.refuse(f"{ins.mnemonic} of three numbers", isa.refused.NEWER)
        if len(sources) != len(alu.sources):
            raise PtxError(f"{ins.mnemonic} takes {len(alu.sources)} sources, got {len(sources)}")
        reads = [self.reader(o, t) for o, t in zip(sources, alu.sources, strict=True)]
        function = alu.function
        if alu.second is not None:
            return self.two_results(target, alu, reads)
        write = self.writer(target, alu.result)
        if len(reads) == 1:
            (a,) = reads
            return lambda m: write(m, function(a(m)))
        if len(reads) == 2:
            a, b = reads
            return lambda m: write(m, function(a(m), b(m)))
        if len(reads) == 3:
            a, b, c = reads
            return lambda m: write(m, function(a(m), b(m), c(m)))
        return lambda m: write(m, function(*[read(m) for read in reads]))

    def two_results(self, target, alu: isa.Alu, reads):
        first, second = target, Symbol("_")
        if isinstance(target, Pair):
            first, second = target.first, target.second
        write, write_second = self.writer(first, alu.result), self.writer(second, alu.second)

        def step(m):
            y, other = alu.function(*[read(m) for read in reads])
            write(m, y)
            write_second(m, other)

        return step

    def move_vector(self, ins: Instruction, f: isa.Form):
        """mov between one register and the pieces of a `{…}`, lowest first."""
        target, source = ins.operands
        whole = f.type
        parts = (target if isinstance(target, Vector) else source).parts
        piece = TYPES[f"b{whole.bits // len(parts)}"]
        width = whole.dtype.type(piece.bits)
        if isinstance(target, Vector):
            read, writes = self.reader(source, whole), [self.writer(p, piece) for p in parts]

            def unpack(m):
                value = read(m).view(whole.dtype)
                for k, write in enumerate(writes):
                    write(m, (value >> (width * whole.dtype.type(k))).astype(piece.dtype))

            return unpack
        write, reads = self.writer(target, whole), [self.reader(p, piece) for p in parts]

        def pack(m):
            value = reads[0](m).astype(whole.dtype)
            for k, read in enumerate(reads[1:], 1):
                value = value | read(m).astype(whole.dtype) << (width * whole.dtype.type(k))
            write(m, value)

        return pack


def guarded(step, guard):
    """Run a step under its predicate: lanes for which it does not hold sit it out."""

    def run(m):
        saved = m.mask
        active = guard(m) if saved is None else guard(m) & saved
        count = np.count_nonzero(active)
        if not count:
            return None
        m.mask = None if saved is None and count == active.size else active
        go = step(m)
        m.mask = saved
        if go == isa.STOP:  # its lanes wait for others somewhere; the rest goes on
            rest = ~active if saved is None else saved & ~active
            if rest.any():
                m.put(m.pc + 1, rest)
        return go

    return run


def names(ins: Instruction):
    for operand in ins.operands:
        if isinstance(operand, Symbol):
            yield operand
        elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
            yield operand.base


def decode(module: Module, name: str) -> Program:
    """The Program of an entry. UnsupportedInstruction and PtxError name kernel and line."""
    at = None
    try:
        function = expand(module, name)
        rows = []
        for at in function.instructions:
            rows.append(isa.row_of(at))
        decoder = Decoder(module, function, rows)
        steps, registers_ = [], {}
        for at, row in zip(function.instructions, rows, strict=True):
            steps.append(decoder.step(at, row))
            collect(at, registers_)
    except (UnsupportedInstruction, PtxError) as error:
        if isinstance(error, UnsupportedInstruction) and at and not error.mnemonic:
            error.mnemonic = at.mnemonic
        error.kernel = name
        if at and error.line is None:
            error.line, error.file = at.line, module.files.get(at.file)
        raise
    except (IndexError, KeyError, ValueError, AttributeError, TypeError, OverflowError) as error:
        raise PtxError(
            f"{at.mnemonic if at else 'a call'} does not have the operands it needs ({error})",
            kernel=name,
            line=at.line if at else None,
            file=module.files.get(at.file) if at else None,
        ) from error
    zeros = [np.zeros((1, 1), bool)] * decoder.size
    for register in [*registers_.values(), *decoder.extra]:
        zeros[register.index] = ZERO[register.size]
    return Program(
        name,
        tuple(function.instructions),
        tuple(rows),
        tuple(steps),
        tuple(zeros),
        decoder.shared_size,
        decoder.dynamic_start,
        decoder.local_size,
        decoder.shared | dict.fromkeys(decoder.dynamic, (decoder.dynamic_start, 0)),
        function.parameters,
        function.max_threads,
        module.files,
        decoder.globals,
        decoder.argument_memory,
        decoder.cooperative,
        decoder.talks,
        any(ins.opcode == "atom" and SERIAL & {*ins.suffixes} for ins in function.instructions),
        reductions(function, rows),
    )


def reductions(function: Function, rows) -> frozenset[int]:
    """The places of `red`, and of `atom` whose result no instruction reads."""
    used = set()
    for ins, row in zip(function.instructions, rows, strict=True):
        used |= registers(ins, row)[1]
    return frozenset(
        pc
        for pc, ins in enumerate(function.instructions)
        if ins.opcode == "red"
        or ins.opcode == "atom"
        and getattr(ins.operands[0], "index", None) not in used
    )


ZERO = {0: np.zeros((1, 1), bool)} | {n: np.zeros((1, 1), f"u{n}") for n in (1, 2, 4, 8)}


def collect(ins: Instruction, found: dict) -> None:
    """Note the registers of an instruction, by index."""
    pending = [*ins.operands, ins.guard]
    while pending:
        match pending.pop():
            case Register() as r:
                found[r.index] = r
            case Vector() as v:
                pending += v.parts
            case Pair() as p:
                pending += (p.first, p.second)
            case Negated() as n:
                pending.append(n.operand)
            case Address() as a:
                pending.append(a.base)
