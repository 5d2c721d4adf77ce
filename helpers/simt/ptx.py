"""PTX text to a Module: functions, parameters, variables, and instructions with `.cu` lines.

The parser runs once over the text. It knows the grammar, not the meaning of any opcode: that is
the business of `isa`. Names are resolved here, so that the machine never looks one up: a register
is a number, a branch target an index into the instruction list.
"""

import re
import struct
from dataclasses import dataclass, field, replace

from .errors import PtxError

__all__ = ["Address", "Function", "Immediate", "Instruction", "Label", "Module", "Negated", "Pair"]
__all__ += ["Parameter", "Register", "Special", "Symbol", "Variable", "Vector", "parse"]

NEWEST = (9, 9)
SIZES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "pred": 1}
SIZES |= {"b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8}
SIZES |= {"f16x2": 4, "bf16x2": 4, "b128": 16}


# ---------------------------------------------------------------------------- operands
@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` counts the registers of its function, `size` is in bytes
    (0 for a predicate)."""

    index: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. `bits` is set for hexadecimal floats (32 or 64), whose value is their bit
    pattern, so that a NaN keeps its payload; else None."""

    value: int | float
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class Special:
    """A read-only register of the machine such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter or function, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target: an index into the function's instructions."""

    target: int


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; the base is a Register, a Symbol or None."""

    base: object
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`, also the argument list of a call."""

    parts: tuple


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: a destination with a second, predicate, destination."""

    first: object
    second: object


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`: a predicate operand taken the other way round."""

    operand: Register


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `guard` is the predicate register or None; `line` counts from 1 in the file
    that Module.files names by the number `file` (1 is the `.cu` itself), 0 when the compiler gave
    none; `mnemonic` is the opcode with its suffixes."""

    opcode: str
    suffixes: tuple
    operands: tuple
    guard: Register | None
    negated: bool
    line: int
    file: int

    @property
    def mnemonic(self) -> str:
        return ".".join((self.opcode, *self.suffixes))


# ---------------------------------------------------------------------------- declarations
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its PTX type, size in bytes, and offset in the parameter block."""

    name: str
    type: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A `.shared`, `.local`, `.global`, `.const` or, for a call, `.param` variable; size 0 means
    `extern` (dynamic). `pointers` are the places in `initial` that hold an address: (offset, name,
    bytes to add)."""

    name: str
    space: str
    size: int
    align: int
    initial: bytes | None = None
    type: str = "b8"
    pointers: tuple = ()


@dataclass
class Function:
    """An entry or a device function. `registers` is how many its instructions use."""

    name: str
    entry: bool
    parameters: tuple = ()
    results: tuple = ()
    variables: list = field(default_factory=list)
    instructions: list = field(default_factory=list)
    registers: int = 0
    max_threads: int | None = None


@dataclass
class Module:
    """Everything a PTX text declares."""

    version: tuple
    target: str
    functions: dict
    variables: list
    files: dict

    def entries(self) -> list[str]:
        return [f.name for f in self.functions.values() if f.entry]


# ---------------------------------------------------------------------------- text to statements
TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<line>^[ \t]*\.(?:loc|version|target|address_size|file)\b[^\n]*)"
    r"|(?P<mark>[;{}])"
    r"|(?P<text>[^;{}\"/\n]+|[\n/\"])",
    re.M | re.S,
)
LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
GUARDED = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?([a-z]\w*(?:[.:]+\w+)*)\s*(.*)", re.S)
LOC = re.compile(r"\.loc\s+(\d+\s+\d+\s+\d+)(.*)")
INLINED = re.compile(r"inlined_at\s+(\d+\s+\d+\s+\d+)")
VARIABLE = re.compile(
    r"\.(?P<space>shared|local|global|const|param)\s+(?:\.align\s+(?P<align>\d+)\s*)?"
    r"\.(?P<type>\w+)\s+(?P<name>[\w$%]+)\s*(?P<dims>(?:\[\s*\d*\s*\])*)\s*(?:=\s*(?P<init>.*))?$",
    re.S,
)
PARAMETER = re.compile(
    r"\.(?:param|reg)\s+(?:\.align\s+\d+\s*)?\.(?P<type>\w+)\s*(?:\.ptr(?:\s*\.\w+)*(?:\s*\d+)?\s*)?"
    r"(?P<name>[\w$%]+)\s*(?P<dims>(?:\[\s*\d+\s*\])*)"
)
HEADER = re.compile(
    r"\.(?P<kind>entry|func)\s*(?P<results>\([^)]*\))?\s*(?P<name>[\w$%]+)\s*"
    r"(?P<parameters>\([^)]*\))?(?P<rest>.*)",
    re.S,
)
SPECIAL = re.compile(
    r"%(?:(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)\.[xyzw]|laneid|warpid|nwarpid|smid|nsmid"
    r"|gridid|clock|clock_hi|clock64|globaltimer(?:_lo|_hi)?|lanemask_(?:eq|le|lt|ge|gt)"
    r"|(?:dynamic|total|aggr)_smem_size|cluster_n?ctarank|is_explicit_cluster|pm\d(?:_64)?"
    r"|envreg\d+|current_graph_exec)$"
)
NUMBER = re.compile(
    r"[-+]?(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"
    r"|\d+\.\d*(?:[eE][-+]?\d+)?|0[0-7]*U?|[1-9]\d*U?)$"
)
PLACE = re.compile(r"([A-Za-z_$][\w$]*)\s*\+\s*(\d+)")  # part of a variable: `table+8`
POINTER = re.compile(r"(?:generic\(([\w$%]+)\)|([A-Za-z_$%][\w$%]*))(?:\+(\d+))?")


def number(text: str) -> Immediate:
    """`0f3F800000`, `0d…`, `0x1F`, `-7`, `1.5`, octal `017`; the text has matched NUMBER."""
    sign, body = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    kind = body[:2].lower()
    if kind in ("0f", "0d"):
        bits = 32 if kind == "0f" else 64
        return Immediate(int(body[2:], 16) ^ ((sign < 0) << (bits - 1)), bits)
    if "." in body:
        return Immediate(sign * float(body))
    octal = len(body) > 1 and body[0] == "0" and body.rstrip("U").isdigit()
    return Immediate(sign * int(body.rstrip("U"), 8 if octal else 0))


def constant_bytes(value: Immediate, kind: str, code: str) -> bytes:
    """A number of an initial value in memory; `code` is struct's for integers of the type."""
    if isinstance(value.value, float):
        return struct.pack("<f" if kind == "f32" else "<d", value.value)
    return struct.pack("<" + code, value.value % (1 << 8 * SIZES[kind]))


def split(text: str) -> list[str]:
    """Split at the commas outside brackets and braces."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return parts


def elements(dims: str) -> int:
    count = 1
    for size in re.findall(r"\[\s*(\d*)\s*\]", dims):
        count *= int(size or 0)
    return count


class Scope:
    """The names of one pair of braces: registers (`%r<9>` declares a family), labels, lists of
    branch targets, and the parameters of calls, which may have the same name elsewhere."""

    def __init__(self, parent=None):
        self.parent = parent
        self.registers = {}
        self.families = {}
        self.labels = {}
        self.targets = {}
        self.parameters = {}

    def find(self, table: str, name: str):
        """What a name means in this scope or one around it, None for nothing."""
        scope = self
        while scope is not None:
            if name in getattr(scope, table):
                return getattr(scope, table)[name]
            scope = scope.parent
        return None


class Parser:
    """Reads statements one after another; the state is the module and the open function."""

    def __init__(self, text: str):
        self.text = text
        self.module = Module((0, 0), "", {}, [], {})
        self.function = None
        self.scope = None
        self.fixups = []
        self.loc = (0, 0)
        self.callers = {}  # "file line column" of inlined code -> (file, line) that called it
        self.at = 0
        self.label = None  # the last one

    # -- driving
    def run(self) -> Module:
        if not isinstance(self.text, str) or "\0" in self.text:
            raise PtxError("this is no PTX text: expected the output of NVRTC or nvcc -ptx")
        statement, depth, skipping = "", 0, 0
        for token in TOKEN.finditer(self.text):
            self.at = token.start()
            kind, text = token.lastgroup, token.group()
            if kind == "comment":
                continue
            if (
                kind == "line"
                and not skipping
                and not (statement := self.labels(statement)).strip()
            ):
                self.directive(text.strip())
                continue
            if skipping:  # inside a .section of debug strings
                skipping += (text == "{") - (text == "}")
                continue
            if kind != "mark":
                statement += text
                continue
            statement = self.labels(statement)
            head = statement.strip()
            if text == ";":
                if depth:
                    statement += text
                else:
                    self.statement(head)
                    statement = ""
            elif text == "{":
                if depth or (head and (self.function is not None or "=" in head)):
                    depth += 1  # a vector operand or an initial value
                    statement += text
                elif head.startswith(".section"):
                    skipping, statement = 1, ""
                else:
                    self.open(head)
                    statement = ""
            elif depth:
                depth -= 1
                statement += text
            elif head:
                raise self.error(f"expected ';' after {head[:60]!r}")
            else:
                self.close()
        if self.function is not None or statement.strip() or depth or skipping:
            raise self.error("the text ends in the middle of a function: it is truncated")
        if self.module.version == (0, 0):
            raise self.error("no .version line: this is no PTX")
        return self.module

    def error(self, message: str) -> PtxError:
        line = self.text.count("\n", 0, self.at) + 1
        start = self.text.rfind("\n", 0, self.at) + 1
        source = self.text[start:].split("\n", 1)[0]
        return PtxError(message, file="PTX", line=line, source=source)

    def directive(self, text: str) -> None:
        if text.startswith(".loc"):
            self.location(text)
        elif text.startswith(".version"):
            found = re.match(r"\.version\s+(\d+)\.(\d+)", text)
            if not found:
                raise self.error("cannot read the .version line")
            self.module.version = (int(found[1]), int(found[2]))
            if self.module.version > NEWEST:
                raise self.error(
                    f"PTX version {found[1]}.{found[2]} is newer than {NEWEST[0]}.{NEWEST[1]}, the "
                    "newest this simulator knows; compile with an older NVRTC"
                )
        elif text.startswith(".target"):
            self.module.target = text.split(None, 1)[-1].split(",")[0].strip()
        elif text.startswith(".file"):
            if found := re.match(r'\.file\s+(\d+)\s+"([^"]*)"', text):
                self.module.files[int(found[1])] = found[2]
        elif text.startswith(".address_size") and "64" not in text:
            raise self.error("only 64-bit PTX (.address_size 64) is simulated")

    def location(self, text: str) -> None:
        """`.loc file line column`. Code inlined from a header counts for the line of the `.cu`
        that called it, through however many calls; line 0 is the compiler's own, and stays with
        the line before."""
        found = LOC.match(text)
        if not found:
            raise self.error("cannot read the .loc line")
        file, line, _ = map(int, found[1].split())
        outer = INLINED.search(found[2])
        if file != 1 and outer:
            place = " ".join(outer[1].split())
            file, line = self.callers.get(place, tuple(map(int, place.split()[:2])))
            self.callers[" ".join(found[1].split())] = file, line
        if line:
            self.loc = (file, line)

    # -- braces
    def open(self, head: str) -> None:
        if self.function is None:
            self.header(head)
            self.scope = Scope()
        else:
            self.scope = Scope(self.scope)

    def close(self) -> None:
        if self.function is None:
            raise self.error("a closing brace without an opening one")
        self.scope = self.scope.parent
        if self.scope is None:
            self.finish()

    def header(self, head: str, *, prototype: bool = False) -> None:
        found = HEADER.search(head)
        if not found:
            raise self.error(f"expected a function, got {head[:60]!r}")
        function = Function(found["name"], found["kind"] == "entry")
        function.parameters = self.parameters(found["parameters"])
        function.results = self.parameters(found["results"])
        if limit := re.search(r"\.(?:maxntid|reqntid)\s+([\d, ]+)", found["rest"]):
            function.max_threads = 1
            for part in limit[1].replace(",", " ").split():
                function.max_threads *= int(part)
        if prototype:
            self.module.functions.setdefault(function.name, function)
        else:
            self.module.functions[function.name] = self.function = function
            self.fixups, self.loc = [], (0, 0)

    def parameters(self, text: str | None) -> tuple:
        result, offset = [], 0
        for part in split(text.strip()[1:-1]) if text else []:
            if not part:
                continue
            found = PARAMETER.match(part)
            if not found or found["type"] not in SIZES:
                raise self.error(f"cannot read the parameter {part!r}")
            size = SIZES[found["type"]] * elements(found["dims"])
            align = self.alignment(re.search(r"\.align\s+(\d+)", part), SIZES[found["type"]])
            offset = -(-offset // align) * align
            result.append(Parameter(found["name"], found["type"], size, offset))
            offset += size
        return tuple(result)

    def alignment(self, found, otherwise: int) -> int:
        """The bytes of an `.align`, `otherwise` where there is none."""
        align = int(found[1]) if found else otherwise
        if align & (align - 1) or not align:
            raise self.error(f"an alignment must be a power of two, got {align}")
        return align

    def finish(self) -> None:
        """The function is complete: it returns at its end, and branch targets become indices."""
        self.instruction("ret")
        function, self.function = self.function, None
        for index, position, name, scope in self.fixups:
            old = function.instructions[index]
            operands = list(old.operands)
            operands[position] = self.target(name, scope)
            function.instructions[index] = replace(old, operands=tuple(operands))

    def target(self, name: str, scope: Scope):
        """Where a branch goes: the Label, or the Vector of those that `.branchtargets` lists."""
        listed = scope.find("targets", name)
        targets = [scope.find("labels", each) for each in listed or [name]]
        if None in targets:
            raise self.error(f"branch to {name}, a label that does not exist")
        labels = tuple(map(Label, targets))
        return labels[0] if listed is None else Vector(labels)

    # -- statements
    def labels(self, statement: str) -> str:
        while self.function is not None and (found := LABEL.match(statement)):
            self.label = found[1]
            self.scope.labels[self.label] = len(self.function.instructions)
            statement = statement[found.end() :]
        return statement

    def statement(self, text: str) -> None:
        if not text:
            return
        if self.function is None:
            return self.declare_global(text)
        if text.startswith(".reg"):
            return self.declare_registers(text)
        if found := VARIABLE.match(text):
            return self.function.variables.append(self.named(self.variable(found)))
        if text.startswith(".branchtargets"):
            self.scope.targets[self.label] = split(text.split(None, 1)[-1])
            return None
        if text.startswith((".pragma", ".callprototype")):
            return None
        if text.startswith("."):
            raise self.error(f"unknown directive {text[:60]!r}")
        return self.instruction(text)

    def declare_global(self, text: str) -> None:
        linkage = re.sub(r"^(?:\.(?:visible|extern|weak|common)\s+)+", "", text)
        if re.match(r"\.(?:entry|func)\b", linkage):
            return self.header(linkage, prototype=True)
        if text.startswith((".pragma", ".alias")):
            return None
        if not (found := VARIABLE.match(re.sub(r"\.attribute\([^)]*\)\s*", "", linkage))):
            raise self.error(f"unknown declaration {text[:60]!r}")
        return self.module.variables.append(self.variable(found))

    def named(self, variable: Variable) -> Variable:
        """A variable of a function. Each call names its parameters `param0`, …: number them."""
        if variable.space != "param":
            return variable
        name = f"{variable.name}'{len(self.function.variables)}"
        self.scope.parameters[variable.name] = name
        return replace(variable, name=name)

    def variable(self, found) -> Variable:
        if found["type"] not in SIZES:
            raise self.error(f"unknown type .{found['type']}")
        unit = SIZES[found["type"]]
        size = unit * elements(found["dims"])
        initial, pointers = None, ()
        if found["init"]:
            initial, pointers = self.initial(found["init"], found["type"], size)
        align = self.alignment(re.search(r"\.align\s+(\d+)", found[0]), unit)
        return Variable(
            found["name"], found["space"], size, align, initial, found["type"], pointers
        )

    def initial(self, text: str, kind: str, size: int) -> tuple[bytes, tuple]:
        """The bytes of `{1, 2, generic(name)+4, …}`, and which of them are addresses of what."""
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(SIZES[kind])
        data, pointers = b"", []
        for part in re.sub(r"[{}\s]", "", text).split(","):
            if NUMBER.match(part) and code:
                value = number(part)
                data += constant_bytes(value, kind, code)
            elif (found := POINTER.fullmatch(part)) and SIZES[kind] == 8:
                pointers.append((len(data), found[1] or found[2], int(found[3] or 0)))
                data += bytes(8)
            else:
                raise self.error(f"initial value {part!r} is no number")
        return data.ljust(size, b"\0"), tuple(pointers)

    def declare_registers(self, text: str) -> None:
        found = re.match(r"\.reg\s*\.(\w+)\s+(.*)", text, re.S)
        if not found or found[1] not in SIZES:
            raise self.error(f"cannot read the declaration {text[:60]!r}")
        for name in split(found[2]):
            if family := re.match(r"([\w$%]+)<(\d+)>$", name):
                self.scope.families[family[1]] = (int(family[2]), found[1])
            else:
                self.scope.registers[name] = self.new_register(name, found[1])

    def new_register(self, name: str, kind: str) -> Register:
        register = Register(self.function.registers, name, 0 if kind == "pred" else SIZES[kind])
        self.function.registers += 1
        return register

    def register(self, name: str) -> Register | None:
        """The register of this name in the innermost scope that declares it, None without one."""
        stem = name.rstrip("0123456789")
        scope = self.scope
        while scope is not None:
            if name in scope.registers:
                return scope.registers[name]
            count, kind = scope.families.get(stem, (0, "")) if stem != name else (0, "")
            if int(name[len(stem) :] or 0) < count:
                made = scope.registers[name] = self.new_register(name, kind)
                return made
            scope = scope.parent
        return None

    def instruction(self, text: str) -> None:
        found = GUARDED.fullmatch(text)
        if not found:
            raise self.error(f"cannot read the instruction {text[:60]!r}")
        guard = None
        if found[2] and (guard := self.register(found[2])) is None:
            raise self.error(f"{found[2]} is not a register that was declared")
        opcode, *suffixes = re.split(r"\.", found[3])
        operands = tuple(
            self.operand(part, position, branch=opcode in ("bra", "brx"))
            for position, part in enumerate(split(found[4]) if found[4].strip() else [])
        )
        file, line = self.loc
        self.function.instructions.append(
            Instruction(opcode, tuple(suffixes), operands, guard, found[1] == "!", line, file)
        )

    def operand(self, text: str, position: int = 0, *, branch: bool = False):
        if not text:
            raise self.error("an operand is missing")
        if text[0] in "{(" and text[-1] in "})":
            inner = text[1:-1].strip()
            return Vector(tuple(self.operand(p) for p in split(inner)) if inner else ())
        if text[0] == "[":
            return self.address(text)
        if text[0] == "!":
            inner = self.operand(text[1:].strip())
            if not isinstance(inner, Register):
                raise self.error(f"cannot negate {text!r}")
            return Negated(inner)
        if "|" in text:
            first, second = text.split("|", 1)
            return Pair(self.operand(first.strip()), self.operand(second.strip()))
        if NUMBER.match(text):
            return number(text)
        if SPECIAL.match(text):
            return Special(text)
        if text == "WARP_SZ":
            return Immediate(32)
        if (known := self.register(text)) is not None:
            return known
        if found := PLACE.fullmatch(text):
            return Address(self.operand(found[1]), number(found[2]).value)
        if not re.fullmatch(r"[A-Za-z_$%][\w$%.]*", text):
            raise self.error(f"cannot read the operand {text!r}")
        if branch:
            self.fixups.append((len(self.function.instructions), position, text, self.scope))
        elif text.startswith("%"):
            raise self.error(f"{text} is not a register that was declared")
        return Symbol(self.scope.find("parameters", text) or text)

    def address(self, text: str) -> Address:
        found = re.fullmatch(r"\[\s*([^\]+]+?)\s*(?:\+\s*(-?\w+))?\s*\]", text)
        if not found:
            raise self.error(f"cannot read the address {text!r}")
        offset = 0
        if found[2]:
            if not NUMBER.match(found[2]):
                raise self.error(f"cannot read the address {text!r}")
            offset = number(found[2]).value
        base = self.operand(found[1])
        if isinstance(base, Immediate):
            return Address(None, base.value + offset)
        if not isinstance(base, Register | Symbol):
            raise self.error(f"cannot read the address {text!r}")
        return Address(base, offset)


def parse(text: str) -> Module:
    """The Module that a PTX text declares; PtxError with the PTX line when it cannot be read."""
    return Parser(text).run()
