"""Atomics for the tests: a kernel for each, and what lanes find and leave one after another."""

import random
from dataclasses import dataclass

from exact import BF16, F16, F32, F64, add
from isa_cases import bits_of, edges, signed
from ptx_lanes import entry

__all__ = ["FORMS", "PATTERNS", "Form", "listing", "values"]

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
LANES = 96


@dataclass(frozen=True)
class Form:
    """`atom.SPACE.operation.kind`; `noftz` where PTX wants it."""

    operation: str
    kind: str
    space: str

    @property
    def mnemonic(self) -> str:
        noftz = ".noftz" if self.kind.startswith(("f16", "bf16")) else ""
        return f"{self.operation}{noftz}.{self.kind}"

    def __str__(self):
        return f"{self.space}.{self.mnemonic}"

    def apply(self, old: int, b: int, c: int) -> int:
        """What the memory holds after one lane; bit patterns."""
        n, kind = bits_of(self.kind), self.kind
        if kind.endswith("x2"):
            half = Form(self.operation, kind[:-2], self.space)
            low = half.apply(old & 0xFFFF, b & 0xFFFF, 0)
            return low | half.apply(old >> 16, b >> 16, 0) << 16
        if kind in FORMATS:
            f = FORMATS[kind]
            if (kind, self.space) == ("f32", "global"):
                return f.flush(add(f, f.flush(old), f.flush(b)))
            return add(f, old, b)
        x, y = (signed(v, n) if kind[0] == "s" else v for v in (old, b))
        result = {
            "add": lambda: x + y,
            "min": lambda: min(x, y),
            "max": lambda: max(x, y),
            "inc": lambda: 0 if x >= y else x + 1,
            "dec": lambda: y if x == 0 or x > y else x - 1,
            "and": lambda: x & y,
            "or": lambda: x | y,
            "xor": lambda: x ^ y,
            "exch": lambda: y,
            "cas": lambda: c if x == y else x,
        }
        return result[self.operation]() & (1 << n) - 1


KINDS = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
}
FORMS = [
    Form(operation, kind, space)
    for operation, kinds in KINDS.items()
    for kind in kinds
    for space in ("global", "shared")
]
# which word each lane goes to
PATTERNS = {
    "alone": lambda draw: draw.sample(range(LANES), LANES),
    "all at one": lambda draw: [5] * LANES,
    "few": lambda draw: [draw.randrange(7) for _ in range(LANES)],
    "pairs": lambda draw: [(i * 29 % LANES) // 2 for i in range(LANES)],
}


def values(form: Form, pattern: str):
    """(memory, index, b, c) of a case, and which lanes take part."""
    draw = random.Random(f"{form} {pattern}")
    domain = edges(form.kind)
    if form.kind in FORMATS or form.kind.endswith("x2"):
        domain = [v for v in domain if finite(v, form.kind)]
    memory = [draw.choice(domain) for _ in range(LANES)]
    index = PATTERNS[pattern](draw)
    b = [draw.choice(domain) for _ in range(LANES)]
    c = [draw.choice(domain) for _ in range(LANES)]
    if form.operation == "cas":  # half of them find what they hope for
        b = [memory[at] if draw.random() < 0.5 else v for at, v in zip(index, b, strict=True)]
    active = [draw.random() < 0.8 for _ in range(LANES)]
    return memory, index, b, c, active


def finite(value: int, kind: str) -> bool:
    if kind.endswith("x2"):
        return finite(value & 0xFFFF, kind[:-2]) and finite(value >> 16, kind[:-2])
    f = FORMATS[kind]
    return value & ~f.sign < f.infinity


def listing(form: Form, opcode: str = "atom") -> str:
    """A kernel `f(memory, index, b, c, active, out)` of one block of LANES threads."""
    n = bits_of(form.kind)
    register, size = f"b{n}", n // 8
    result = "%old, " if opcode == "atom" else ""
    more = ", %c" if form.operation == "cas" else ""
    place = "[%at]" if form.space == "global" else "[%spot]"
    names = ("memory", "index", "b", "c", "active", "out")
    return entry(
        f"""
        .reg .{register} %old, %b, %c, %x; .reg .b32 %t, %i, %spot, %q; .reg .b64 %at, %p<7>;
        .reg .pred %go; .shared .align 8 .b8 s[{size * LANES}];
        mov.u32 %t, %tid.x;
        {" ".join(f"ld.param.u64 %p{k}, [{name}];" for k, name in enumerate(names))}
        mad.wide.u32 %at, %t, 4, %p1; ld.global.u32 %i, [%at];
        mad.wide.u32 %at, %t, 4, %p4; ld.global.u32 %q, [%at]; setp.ne.u32 %go, %q, 0;
        mad.wide.u32 %at, %t, {size}, %p2; ld.global.{register} %b, [%at];
        mad.wide.u32 %at, %t, {size}, %p3; ld.global.{register} %c, [%at];
        mov.u32 %q, s; mad.lo.u32 %spot, %t, {size}, %q;
        mad.wide.u32 %at, %t, {size}, %p0; ld.global.{register} %x, [%at];
        st.shared.{register} [%spot], %x; bar.sync 0;
        mad.lo.u32 %spot, %i, {size}, %q; mad.wide.u32 %at, %i, {size}, %p0; mov.{register} %old, 0;
        @%go {opcode}.{form.space}.{form.mnemonic} {result}{place}, %b{more};
        bar.sync 0; mad.wide.u32 %at, %t, {size}, %p5; st.global.{register} [%at], %old;
        mad.lo.u32 %spot, %t, {size}, %q; ld.shared.{register} %x, [%spot];
        mad.wide.u32 %at, %t, {size}, %p0;
        {f"st.global.{register} [%at], %x;" if form.space == "shared" else ""}
        ret;""",
        ", ".join(f".param .u64 {name}" for name in names),
    )
