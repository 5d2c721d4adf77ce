"""The kernels of tests/faulty and tests/correct, with what their header lines say of them.

// One sentence: what is wrong, or why nothing is.
// expect: race between warps, line 12          (or lines 12 14: any of them; or clean)
// launch: grid 2x2, block 64, shared 256, cooperative
// args: x float[40,32] normal; y float[40,32] zero; n int 40
// gpu: silent, why                              (what compute-sanitizer cannot see)
// note: same-value race                         (notes that a clean kernel may leave)
"""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["HERE", "Case", "cases"]

HERE = Path(__file__).resolve().parent.parent
TYPES = {
    "float": "f4", "double": "f8", "float16": "f2", "int": "i4", "unsigned": "u4",
    "int64": "i8", "int16": "i2", "int8": "i1",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One kernel: `kind` and `lines` of its defect ("clean" and none), how to launch it, what a
    GPU's tools are expected to miss (`gpu`), and the kind of `note` it may leave."""

    path: Path
    source: str
    kind: str
    lines: tuple[int, ...]
    grid: tuple
    block: tuple
    shared: int
    cooperative: bool
    args: tuple
    gpu: str
    note: str

    @property
    def name(self) -> str:
        return self.path.stem

    def arguments(self) -> list:
        """Fresh arguments, the same every time: NumPy arrays and NumPy scalars."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [value(rng, *arg) for arg in self.args]


def value(rng, dtype: str, shape, fill: str):
    """One argument: a number, or an array filled as the header says."""
    if shape is None:
        return np.dtype(dtype).type(fill)
    word, _, most = fill.partition(" ")
    array = {
        "zero": lambda: np.zeros(shape, dtype),
        "normal": lambda: rng.standard_normal(shape).astype(dtype),
        "arange": lambda: np.arange(np.prod(shape), dtype=dtype).reshape(shape),
        "below": lambda: rng.integers(0, int(most), shape).astype(dtype),
        "readonly": lambda: np.ones(shape, dtype),
    }[word]()
    array.flags.writeable = word != "readonly"
    return array


def case(path: Path) -> Case:
    source = path.read_text()
    head = dict(re.findall(r"^// (expect|launch|args|gpu|note): (.*)$", source, re.M))
    kind, _, lines = head["expect"].partition(", line")
    launch = dict((part.strip() + " yes").split(" ")[:2] for part in head["launch"].split(","))
    args = []
    for text in head["args"].split("; "):
        _, ctype, fill = text.split(" ", 2)
        base, _, dims = ctype.partition("[")
        shape = tuple(map(int, dims[:-1].split(","))) if dims else None
        args.append((TYPES[base], shape, fill))
    return Case(
        path,
        source,
        kind,
        tuple(map(int, re.findall(r"\d+", lines))),
        tuple(map(int, launch["grid"].split("x"))),
        tuple(map(int, launch["block"].split("x"))),
        int(launch.get("shared", 0)),
        "cooperative" in launch,
        tuple(args),
        head.get("gpu", ""),
        head.get("note", ""),
    )


def cases(folder: str) -> list[Case]:
    """All kernels of tests/faulty or tests/correct, by name."""
    return [case(path) for path in sorted((HERE / folder).glob("*.cu"))]
