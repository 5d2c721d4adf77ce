"""PTX for the tests: a few instructions, lanes of bit patterns in, lanes of bit patterns out.

RUNS are the machines that a program runs on: the simulator, and with SOFTMAX_COMPARE_GPU=1 on a
machine with a GPU that GPU too, which must then give what the tests expect of the simulator.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from helpers import simt

__all__ = ["BLOCK", "HEADER", "RUNS", "entry", "lanes", "listing", "simulate"]

HEADER = ".version 8.4\n.target sm_90\n.address_size 64\n"
BLOCK = 64
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


def listing(body: str, sources, results, shapes=()) -> str:
    """A kernel `f(sources…, results…)`: loads its element of each source into %a, %b, %c, %e, runs
    the body, and stores %d (and %q). `shapes` says for each source whether an element belongs to a
    "lane" (as without it), to a "block", or is the "one" of all."""
    parameters = [f"p{k}" for k in range(len(sources) + len(results))]
    inputs = list(zip(parameters, sources, NAMES, shapes or ["lane"] * len(sources), strict=False))
    outputs = list(zip(parameters[len(sources) :], results, DESTINATIONS, strict=False))
    lines = [
        ".reg .b32 %lane, %block, %one;",
        ".reg .b64 %at;",
        ".reg .b16 %flag;",
        *(f".reg .{register(kind)} %{name};" for _, kind, name, *_ in (*inputs, *outputs)),
        "mov.u32 %lane, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %one, 0;",
        f"mad.lo.u32 %lane, %block, {BLOCK}, %lane;",
    ]
    for parameter, kind, name, shape in inputs:
        lines += place(parameter, kind, shape)
        if kind == "pred":
            lines += ["ld.global.u8 %flag, [%at];", f"setp.ne.u16 %{name}, %flag, 0;"]
        else:
            lines.append(f"ld.global.b{8 * size(kind)} %{name}, [%at];")
    lines.append(body)
    for parameter, kind, name in outputs:
        lines += place(parameter, kind, "lane")
        if kind == "pred":
            lines += [f"selp.u16 %flag, 1, 0, %{name};", "st.global.u8 [%at], %flag;"]
        else:
            lines.append(f"st.global.b{8 * size(kind)} [%at], %{name};")
    return entry("\n".join([*lines, "ret;"]), ", ".join(f".param .u64 {p}" for p in parameters))


def place(parameter: str, kind: str, shape: str) -> list[str]:
    return [
        f"ld.param.u64 %at, [{parameter}];",
        f"mad.wide.u32 %at, %{shape}, {size(kind)}, %at;",
    ]


def simulate(text: str, grid, block, arrays) -> None:
    """Run a PTX text on the simulator; the arrays are changed in place. Races are not looked for:
    lanes may meet in memory without a barrier, since one warp's instructions keep their order."""
    with simt.limits(races=False):
        simt.from_ptx(text)(grid, block, tuple(arrays))


def run_on_gpu(text: str, grid, block, arrays) -> None:
    """The same on the GPU, through the driver's own assembler."""
    import cupy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.ptx"
        path.write_text(text)
        kernel = cupy.RawModule(path=str(path)).get_function("f")
        there = [cupy.asarray(array) for array in arrays]
        kernel(grid, block, tuple(there))
        for array, result in zip(arrays, there, strict=True):
            array[...] = result.get()


RUNS = [pytest.param(simulate, id="simulator")]
if os.environ.get("SOFTMAX_COMPARE_GPU"):
    RUNS.append(pytest.param(run_on_gpu, id="gpu"))


def lanes(body: str, sources, values, results, shapes=(), run=simulate) -> list[list[int]]:
    """Run the body on lanes. `values` holds one list of bit patterns a source; so does the answer,
    for each result: one a lane. With `shapes` there are two blocks."""
    count = 2 * BLOCK if shapes else len(values[0])
    blocks = -(-count // BLOCK)
    need = {"lane": blocks * BLOCK, "block": blocks, "one": 1}
    arrays = [
        np.array([*v, *[v[0]] * (need[shape] - len(v))], f"u{size(t)}")
        for t, v, shape in zip(sources, values, shapes or ["lane"] * len(sources), strict=True)
    ]
    outputs = [np.zeros(blocks * BLOCK, f"u{size(t)}") for t in results]
    run(listing(body, sources, results, shapes), (blocks,), (BLOCK,), [*arrays, *outputs])
    return [out[:count].tolist() for out in outputs]
