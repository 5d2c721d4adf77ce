"""The calibration launches: each kernel, its grid and its arguments, for the simulator and a GPU.

`run.py` launches them under Nsight Compute; the tests launch them on the simulator and compare.
"""

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from helpers import versions  # noqa: E402 - run.py is started as a script

__all__ = ["CASES", "Case"]

SIDE = 256  # of the matrices in tiles.cu
LADDER = 4096


@dataclass(frozen=True)
class Case:
    """One launch. `arguments()` makes its NumPy arrays and scalars afresh, the same each time.
    A large one has a `part` that does a `parts`-th of its work and counts as much less."""

    name: str
    path: Path
    entry: str
    grid: tuple
    block: tuple
    arguments: Callable
    shared: int = 0
    part: "Case | None" = None
    parts: int = 1


def case(name, file, entry, *arguments, grid=(1,), block=(32,)) -> Case:
    """A case of this folder; arrays among the arguments are copied for each launch."""

    def fresh():
        return tuple(a.copy() if isinstance(a, np.ndarray) else np.int32(a) for a in arguments)

    return Case(name, HERE / file, entry, grid, block, fresh)


def floats(count: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(count, dtype=np.float32)


LANE = np.arange(32)


def patterns() -> dict[str, np.ndarray]:
    """Which of 1024 elements each lane touches, -1 for none."""
    rng = np.random.default_rng(1)
    found = {f"stride {n}": LANE * n for n in (0, 1, 2, 3, 4, 8, 16, 32)}
    found |= {f"{n} lanes": np.where(LANE < n, LANE, -1) for n in (0, 1, 8, 16, 31)}
    found |= {f"{n} lanes, stride 32": np.where(LANE < n, LANE * 32, -1) for n in (4, 17)}
    found |= {f"equal in {n}s": LANE // n for n in (2, 4, 8, 16)}
    found |= {f"equal in {n}s, stride 32": LANE // n * 32 for n in (2, 4)}
    found |= {
        "equal lanes n, n^2": LANE & ~2,
        "equal lanes n, n^16": LANE & 15,
        "joined n, n^2": LANE // 4 * 2 + LANE % 2,
        "joined n, n^4": LANE // 8 * 4 + LANE % 4,
        "joined n, n^16": LANE % 16,
        "joined n^1, then n^2": np.where(LANE < 16, LANE // 2, LANE // 4 * 2 + LANE % 2),
        "4 lanes a half": np.where(LANE % 16 < 4, LANE, -1),
        "a lane a quarter": np.where(LANE % 8 == 0, LANE, -1),
        "half in pairs": np.where(LANE < 16, LANE // 2, LANE),
        "pairs but one lane": np.where(LANE == 5, 900, LANE // 2),
        "pairs, 31 lanes": np.where(LANE < 31, LANE // 2, -1),
        "pairs, even lanes": np.where(LANE % 2 == 0, LANE // 2, -1),
        "pairs in random order": rng.permutation(16)[LANE // 2],
        "pairs at random": rng.integers(0, 1024, 16)[LANE // 2],
        "reversed": LANE[::-1].copy(),
        "permuted": rng.permutation(32),
        "random": rng.integers(0, 1024, 32),
        "random, near": rng.integers(0, 64, 32),
        "random, 21 lanes": np.where(rng.random(32) < 0.66, rng.integers(0, 1024, 32), -1),
    }
    found["pairs at random, 27 lanes"] = np.where(LANE % 6 < 5, found["pairs at random"], -1)
    return {name: index.astype(np.int32) for name, index in found.items()}


STORED = {f"stride {n}" for n in (0, 1, 2, 4, 32)} | {f"{n} lanes" for n in (1, 8, 31)}
STORED |= {"equal in 2s", "equal in 4s", "random", "random, near"}


def shared_cases():
    for width in (32, 64, 128):
        for direction in ("load", "store"):
            entry = f"shared_{direction}_{width}"
            for name, index in patterns().items():
                if direction == "store" and name not in STORED:
                    continue
                out = np.zeros(32, np.float32)
                yield case(f"{entry}, {name}", "shared.cu", entry, index, out)


ELEMENTS = {8: (np.uint8, 1), 16: (np.uint16, 1), 32: (np.float32, 1)}
ELEMENTS |= {64: (np.float32, 2), 128: (np.float32, 4)}


def global_cases():
    """(offset, stride, lanes) of global accesses, in elements."""
    shapes = [(0, n, 32) for n in (0, 1, 2, 4, 8, 32)] + [(1, 1, 32), (3, 1, 32)]
    shapes += [(0, 1, n) for n in (0, 1, 16, 31)] + [(1, 3, 21)]
    for width, (dtype, parts) in ELEMENTS.items():
        x = np.ones(2048 * parts, dtype)
        out = np.zeros(1, np.float32)
        for shape in shapes if width in (32, 128) else shapes[1::3]:
            name = f"{width}, offset {shape[0]}, stride {shape[1]}, {shape[2]} lanes"
            yield case(f"global_load_{name}", "global.cu", f"global_load_{width}", x, out, *shape)
            yield case(f"global_store_{name}", "global.cu", f"global_store_{width}", x, *shape)
    for shape in shapes[1:8:2]:
        name = f"global_load_nc, offset {shape[0]}, stride {shape[1]}"
        yield case(name, "global.cu", "global_load_nc", x, out, *shape)
    for factor, modulus in ((5, 37), (17, 64), (7, 1000), (31, 512)):
        name = f"global_load_scattered, {factor} mod {modulus}"
        yield case(name, "global.cu", "global_load_scattered", x, out, factor, modulus)


def flow_cases():
    x, y = floats(1024), np.zeros(64, np.float32)
    for lanes in (0, 1, 16, 31, 32):
        yield case(f"two_way, {lanes} lanes", "flow.cu", "two_way", x, y, lanes, 5)
        yield case(f"predicated, {lanes} lanes", "flow.cu", "predicated", x, y, lanes)
    yield case("meetings", "flow.cu", "meetings", x, y, block=(64,))


def atomic_cases():
    ints, sums, old = np.zeros(1024, np.int32), np.zeros(1024, np.float32), np.zeros(32, np.int32)
    for stride, lanes in ((0, 32), (1, 32), (8, 32), (32, 32), (0, 7), (1, 0)):
        name = f"stride {stride}, {lanes} lanes"
        yield case(f"red_int, {name}", "atomics.cu", "red_int", ints, stride, lanes)
        yield case(f"atom_int, {name}", "atomics.cu", "atom_int", ints, old, stride, lanes)
        yield case(f"shared_atom_int, {name}", "atomics.cu", "shared_atom_int", old, stride, lanes)
        out = np.zeros(32, np.float32)
        entry = "shared_atom_float"
        yield case(f"{entry}, {name}", "atomics.cu", entry, out, stride, lanes)
    for stride in (0, 1):
        yield case(f"red_float, stride {stride}", "atomics.cu", "red_float", sums, stride, 32)
        yield case(f"atom_cas, stride {stride}", "atomics.cu", "atom_cas", ints, old, stride, 32)
    found = patterns()
    for name in ("equal in 2s", "equal in 4s, stride 32", "random", "random, near", "stride 3"):
        index = found[name]
        yield case(f"red_at, {name}", "atomics_at.cu", "red_at", ints, index)
        yield case(f"shared_atom_at, {name}", "atomics_at.cu", "shared_atom_at", old, index)
        yield case(f"shared_inc_at, {name}", "atomics_at.cu", "shared_inc_at", old, index)
    yield case("red_uniform", "atomics.cu", "red_uniform", ints)
    yield case(
        "red_uniform, 4 blocks of 64", "atomics.cu", "red_uniform", ints, grid=(4,), block=(64,)
    )


def async_cases():
    x, out = floats(1024), np.zeros(32, np.float32)
    for width in (4, 8, 16):
        for stride in (1, 4):
            entry = f"async_{width}"
            yield case(f"{entry}, stride {stride}", "async.cu", entry, x, out, stride)


def tile_cases():
    x, y = floats(1024), np.zeros(256, np.float32)
    yield case("row_sums_32", "tiles.cu", "row_sums_32", x, y)
    yield case("row_sums_33", "tiles.cu", "row_sums_33", x, y)
    yield case("four_neighbours", "tiles.cu", "four_neighbours", x, y, block=(128,))
    n, square = SIDE, floats(SIDE * SIDE)
    tiles = (n // 32, n // 32)
    for kind in ("plain", "32", "33"):
        entry = f"transpose_{kind}"
        yield case(entry, "tiles.cu", entry, square, 0 * square, n, grid=tiles, block=(32, 8))
    yield case(
        "product",
        "tiles.cu",
        "product",
        square,
        square,
        0 * square,
        n,
        grid=(n // 16, n // 16),
        block=(16, 16),
    )
    keys = np.random.default_rng(2).integers(0, 64, 4096).astype(np.int32)
    for name, values in (("random", keys), ("one key", 0 * keys), ("in order", np.sort(keys))):
        counts = np.zeros(64, np.int32)
        yield case(
            f"histogram, {name}",
            "tiles.cu",
            "histogram",
            values,
            counts,
            keys.size,
            grid=(4,),
            block=(256,),
        )


def ladder_cases():
    """Every version of the catalogue at 4096 × 4096. Rows cost alike, and where a thread has a row
    of its own so do columns, as long as lanes stay in sectors of their own."""
    for version in versions.VERSIONS.values():
        rows, cols = (256, 256) if version.work == "thread a row" else (64, LADDER)
        part = matrix_case(version, rows, cols)
        parts = LADDER * LADDER // (rows * cols)
        yield dataclasses.replace(matrix_case(version, LADDER, LADDER), part=part, parts=parts)


def matrix_case(version, rows: int, cols: int) -> Case:
    def arguments():
        x = floats(rows * cols).reshape(rows, cols).astype(version.np_dtype)
        return x, np.empty_like(x), np.int32(rows), np.int32(cols)

    grid, shared = version.grid(rows, cols), version.shared(cols)
    return Case(
        version.name, version.path, version.entry, grid, (version.block,), arguments, shared
    )


FAMILIES = (
    ladder_cases,
    tile_cases,
    flow_cases,
    async_cases,
    atomic_cases,
    global_cases,
    shared_cases,
)
CASES: dict[str, Case] = {c.name: c for family in FAMILIES for c in family()}
