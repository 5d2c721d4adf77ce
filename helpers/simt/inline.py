"""Calls of device functions become code: a copy of the callee's body in the place of each call.

What is left is one flat list of instructions, in which the deepest call has the lowest program
counter that is open, as the scheduler wants it. The parameters of a call are named memory in PTX
(`st.param`, `ld.param`); caller and callee give them different names, here they share one.
"""

import re
from dataclasses import replace
from itertools import count

from .errors import UnsupportedInstruction
from .ptx import (
    SIZES,
    Address,
    Function,
    Instruction,
    Label,
    Module,
    Negated,
    Pair,
    Register,
    Symbol,
    Vector,
)

__all__ = ["BUILTIN", "expand", "frames", "plain", "signature"]

BUILTIN = {"vprintf", "__assertfail"}  # these the machine has itself
MOST = 1 << 17  # instructions of an expanded kernel
DEEPEST = 64  # calls within calls


def expand(module: Module, name: str) -> Function:
    """The entry `name` with every call in it expanded; UnsupportedInstruction for a recursive
    function, a call through a pointer, and a function that is declared but not there."""
    entry = module.functions[name]
    if not any(ins.opcode == "call" for ins in entry.instructions):
        return entry
    expander = Expander(module, entry)
    expander.body(entry, {}, (name,))
    return expander.whole


def plain(name: str) -> str:
    """The C++ name in a mangled one: `_Z4facti` is `fact`, `_ZN2ns3addEff` is `ns::add`."""
    found = re.match(r"_ZN?L?(?=\d)", name)
    parts, at = [], found.end() if found else 0
    while found and (digits := re.match(r"L?(\d+)", name[at:])):
        start = at + digits.end()
        at = start + int(digits[1])
        parts.append(name[start:at])
        if not name.startswith("_ZN"):
            break
    return "::".join(parts) or name


def signature(ins: Instruction) -> tuple[tuple, object, tuple]:
    """A call's results, callee and arguments."""
    operands = list(ins.operands)
    results = operands.pop(0).parts if operands and isinstance(operands[0], Vector) else ()
    callee = operands.pop(0)
    given = operands[0].parts if operands and isinstance(operands[0], Vector) else ()
    return results, callee, given


class Expander:
    """Builds the flat function; `body` appends one function's instructions to it."""

    def __init__(self, module: Module, entry: Function):
        self.module, self.entry = module, entry
        self.whole = replace(entry, variables=[], instructions=[], registers=0)
        self.frames = count(1)

    def refuse(self, ins: Instruction, why: str) -> UnsupportedInstruction:
        return UnsupportedInstruction(
            f"{ins.mnemonic} is not simulated: {why}",
            mnemonic=ins.mnemonic,
            line=ins.line,
            file=self.module.files.get(ins.file),
        )

    def body(self, function: Function, known: dict, callers: tuple) -> None:
        """Append a function. `known` gives the names of its parameters at the call, `callers` the
        functions that are open around it."""
        frame = next(self.frames)
        names = known | self.variables(function, frame)
        first, out = self.whole.registers, self.whole.instructions
        self.whole.registers += function.registers
        start, places = len(out), []
        for ins in function.instructions:
            places.append(len(out))
            ins = self.moved(ins, first, names)
            if ins.opcode == "ret" and function is not self.entry:
                out.append(replace(ins, opcode="bra", operands=(Label(-1),)))
            elif ins.opcode == "call":
                self.call(ins, callers)
            else:
                out.append(ins)
            if len(out) + 8 * frame > MOST:
                raise self.refuse(
                    ins, f"{self.entry.name} with its calls expanded has over {MOST} instructions"
                )
        if function is not self.entry:
            while len(out) > start and out[-1].operands == (Label(-1),) and out[-1].guard is None:
                out.pop()  # the last return: its lanes are there already
        places = [min(place, len(out)) for place in places] + [len(out)]
        for k in range(start, len(out)):
            out[k] = settled(out[k], places)

    def variables(self, function: Function, frame: int) -> dict:
        """Add a function's variables to the kernel's; the new names of those that need one. Local
        and shared ones are the same in every copy: a function is never open twice."""
        names = {}
        for v in function.variables:
            if v.space == "param":
                names[v.name] = f"{v.name}@{frame}"
            elif function is not self.entry:
                names[v.name] = f"{function.name}.{v.name}"
            v = replace(v, name=names.get(v.name, v.name))
            if v not in self.whole.variables:
                self.whole.variables.append(v)
        return names

    def moved(self, ins: Instruction, first: int, names: dict) -> Instruction:
        """An instruction with its registers counted from `first` and its variables renamed."""

        def at(operand):
            match operand:
                case Register(index, name, size):
                    return Register(first + index, name, size)
                case Symbol(name):
                    return Symbol(names.get(name, name))
                case Address(base, offset):
                    return Address(at(base), offset)
                case Vector(parts):
                    return Vector(tuple(map(at, parts)))
                case Pair(one, other):
                    return Pair(at(one), at(other))
                case Negated(inner):
                    return Negated(at(inner))
                case Label(target):
                    return Fresh(target)
            return operand

        return replace(ins, operands=tuple(map(at, ins.operands)), guard=at(ins.guard))

    def call(self, ins: Instruction, callers: tuple) -> None:
        """Append the callee's body, or the call itself when the machine answers it."""
        results, callee, given = signature(ins)
        if not isinstance(callee, Symbol):
            raise self.refuse(
                ins, "it calls through a pointer to a function, known only at run time"
            )
        if callee.name in BUILTIN:
            self.whole.instructions.append(ins)
            return
        function = self.module.functions.get(callee.name)
        if len(callers) > DEEPEST:
            raise self.refuse(ins, f"its calls are nested more than {DEEPEST} deep")
        if callee.name in callers:
            raise self.refuse(
                ins, f"recursive device function {plain(callee.name)}; write it as a loop"
            )
        if function is None or not function.instructions:
            raise self.refuse(
                ins, f"{plain(callee.name)} is declared, but its code is not in this PTX"
            )
        formals = [p.name for p in (*function.results, *function.parameters)]
        actual = [*results, *given]
        if len(formals) != len(actual) or not all(isinstance(a, Symbol) for a in actual):
            raise self.refuse(
                ins, f"its arguments are not those that {plain(callee.name)} declares"
            )
        out = self.whole.instructions
        if ins.guard is not None:  # who does not call jumps over it
            at = len(out)
            out.append(None)
        names = {f: a.name for f, a in zip(formals, actual, strict=True)}
        self.body(function, names, (*callers, callee.name))
        if ins.guard is not None:
            out[at] = replace(
                ins,
                opcode="bra",
                suffixes=(),
                operands=(Label(len(out)),),
                negated=not ins.negated,
            )


class Fresh(Label):
    """A branch target that still counts its own function's instructions."""


def settled(ins: Instruction, places: list) -> Instruction:
    """The branch targets of an instruction as indices into the flat list."""

    def at(operand):
        if isinstance(operand, Vector):
            return Vector(tuple(map(at, operand.parts)))
        if isinstance(operand, Fresh):
            return Label(places[operand.target])
        return Label(places[-1]) if operand == Label(-1) else operand

    if ins is None or not any(isinstance(o, Label | Vector) for o in ins.operands):
        return ins
    return replace(ins, operands=tuple(map(at, ins.operands)))


# ---------------------------------------------------------------------------- parameters of calls
def frames(function: Function) -> dict[str, dict[int, int] | None]:
    """How the parameters of calls can be kept: {name: {offset: bytes}} where each piece is a
    register of its own, {name: None} where pieces overlap or somebody takes the address."""
    sizes = {v.name: v.size for v in function.variables if v.space == "param"}
    pieces = {name: {} for name in sizes}
    for ins in function.instructions:
        for name, offset, width in touched(ins, sizes):
            if width is None or pieces[name] is None:
                pieces[name] = None
            else:
                pieces[name][offset] = max(width, pieces[name].get(offset, 0))
    return {name: found and separate(found) for name, found in pieces.items()}


def touched(ins: Instruction, sizes: dict):
    """(name, offset, bytes) of every piece of a call's parameters that an instruction names; bytes
    is None where it is not one piece."""
    if ins.opcode == "call":
        results, _, given = signature(ins)
        yield from ((s.name, 0, sizes[s.name]) for s in (*results, *given) if s.name in sizes)
        return
    for operand in ins.operands:
        if isinstance(operand, Symbol) and operand.name in sizes:
            yield operand.name, 0, None
        elif isinstance(operand, Address) and getattr(operand.base, "name", None) in sizes:
            width = SIZES.get(ins.suffixes[-1]) if ins.opcode in ("ld", "st") else None
            many = next((int(s[1]) for s in ins.suffixes if s in ("v2", "v4")), 1)
            for k in range(many):
                yield operand.base.name, operand.offset + k * (width or 0), width


def separate(pieces: dict[int, int]) -> dict[int, int] | None:
    """The pieces, or None when two of them overlap."""
    end = 0
    for offset in sorted(pieces):
        if offset < end:
            return None
        end = offset + pieces[offset]
    return pieces
