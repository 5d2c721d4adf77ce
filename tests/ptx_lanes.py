"""PTX for the tests: a few instructions, lanes of bit patterns in, lanes of bit patterns out."""

import numpy as np

from helpers import simt

__all__ = ["HEADER", "entry", "lanes", "listing"]

HEADER = ".version 8.4\n.target sm_90\n.address_size 64\n"
BLOCK = 128
NAMES = ("a", "b", "c", "e")
DESTINATIONS = ("d", "q")


def size(kind: str) -> int:
    """Bytes of a PTX type in memory."""
    if kind == "pred":
        return 1
    return 4 if kind.endswith("x2") else int(kind.lstrip("bfsu")) // 8


def register(kind: str) -> str:
    """The type of a register that holds it."""
    return "pred" if kind == "pred" else f"b{max(8 * size(kind), 16)}"


def entry(body: str, parameters: str = "", name: str = "f", before: str = "") -> str:
    """A whole PTX text around the body of one kernel; `before` holds module declarations."""
    return f"{HEADER}{before}\n.visible .entry {name}({parameters})\n{{\n{body}\n}}\n"


def listing(body: str, sources, results) -> str:
    """A kernel `f(sources…, results…)`: loads its lane of each source into %a, %b, %c, %e, runs
    the body, and stores %d (and %q)."""
    parameters = [f"p{k}" for k in range(len(sources) + len(results))]
    lines = [
        ".reg .b32 %t, %i;",
        ".reg .b64 %at;",
        ".reg .b16 %flag;",
        *(f".reg .{register(t)} %{n};" for t, n in zip(sources, NAMES, strict=False)),
        *(f".reg .{register(t)} %{n};" for t, n in zip(results, DESTINATIONS, strict=False)),
        "mov.u32 %t, %tid.x;",
        "mov.u32 %i, %ctaid.x;",
        f"mad.lo.u32 %i, %i, {BLOCK}, %t;",
    ]
    for parameter, kind, name in zip(parameters, sources, NAMES, strict=False):
        lines += place(parameter, kind)
        if kind == "pred":
            lines += ["ld.global.u8 %flag, [%at];", f"setp.ne.u16 %{name}, %flag, 0;"]
        else:
            lines.append(f"ld.global.b{8 * size(kind)} %{name}, [%at];")
    lines.append(body)
    for parameter, kind, name in zip(parameters[len(sources) :], results, DESTINATIONS, strict=False):
        lines += place(parameter, kind)
        if kind == "pred":
            lines += [f"selp.u16 %flag, 1, 0, %{name};", "st.global.u8 [%at], %flag;"]
        else:
            lines.append(f"st.global.b{8 * size(kind)} [%at], %{name};")
    return entry("\n".join([*lines, "ret;"]), ", ".join(f".param .u64 {p}" for p in parameters))


def place(parameter: str, kind: str) -> list[str]:
    return [f"ld.param.u64 %at, [{parameter}];", f"mad.wide.u32 %at, %i, {size(kind)}, %at;"]


def lanes(body: str, sources, values, results) -> list[list[int]]:
    """Run the body on lanes. `values` holds one list of bit patterns a source; so does the answer,
    for each result."""
    count = len(values[0])
    whole = -(-count // BLOCK) * BLOCK
    arrays = [
        np.array([*v, *[v[0]] * (whole - count)], f"u{size(t)}")
        for t, v in zip(sources, values, strict=True)
    ]
    outputs = [np.zeros(whole, f"u{size(t)}") for t in results]
    kernel = simt.from_ptx(listing(body, sources, results))
    kernel((whole // BLOCK,), (BLOCK,), (*arrays, *outputs))
    return [out[:count].tolist() for out in outputs]
