"""The catalogue: every kernel of the lessons, in reading order. There is no other list.

Adding a version = one `.cu` file, one record here, one notebook; a test fails when one is missing.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import ml_dtypes
import numpy as np

from .specs import Spec

__all__ = ["VERSIONS", "SourceError", "Version", "get", "ladder", "probe", "probes"]

KERNELS = Path(__file__).resolve().parent.parent / "kernels_cu"
PROBES = KERNELS / "probes"
MAX_THREADS = 1024  # threads a block, on every GPU
# Kernels count columns in an int and look at most 4 elements a thread past the end.
MAX_COLS = 2**31 - 1 - 4 * MAX_THREADS


class SourceError(FileNotFoundError):
    """A `.cu` file that is missing or cannot be read; the message says which, why, and the cure."""


@dataclass(frozen=True)
class Version:
    """One kernel: where it is, how it is launched, what it must compute.

    block: threads a block. work: what one thread or block takes on, a key of `grid`'s table.
    reads: times the kernel reads x from global memory. staged: bytes of dynamic shared memory a
    column. tolerance: bound on the relative norm error against `reference` ("softmax" in float64,
    "rounded" as the 16-bit kernels round, "copy"), for standard-normal x. lesson: the notebook's
    name without its ending. Raises ValueError for a block the kernel cannot run with.
    """

    name: str
    file: str
    entry: str
    lesson: str
    idea: str
    work: str
    reads: int
    tolerance: float
    reference: str = "softmax"
    dtype: str = "float32"
    block: int = 256
    max_block: int = MAX_THREADS
    power_of_two: bool = False
    staged: int = 0

    def __post_init__(self):
        rule = "a power of two" if self.power_of_two else "a multiple of 32"
        fits = self.block & (self.block - 1) == 0 if self.power_of_two else self.block % 32 == 0
        if not (fits and 1 <= self.block <= self.max_block):
            raise ValueError(
                f"{self.name} needs {rule} of at most {self.max_block} threads a block, got "
                f"{self.block}; 256 is right for every version, the header of {self.file} says more"
            )

    def grid(self, rows: int, cols: int) -> tuple[int]:
        """Blocks to launch for rows × cols: x only, since y and z stop at 65535."""
        per_thread = {
            "thread a row": (rows, self.block),
            "block a row": (rows, 1),
            "thread a float4": (rows * cols, 4 * self.block),
        }
        items, per_block = per_thread[self.work]
        return (-(-items // per_block),)

    def shared(self, cols: int) -> int:
        """Bytes of dynamic shared memory a block needs at `cols` columns."""
        return self.staged * cols

    def allowed(self, cols: int) -> float:
        """The tolerance at `cols` columns: where one thread adds up a row, float by float, the
        error grows with its length."""
        serial = self.work == "thread a row" and self.reference == "softmax"
        return self.tolerance * max(1.0, cols / 16384) if serial else self.tolerance

    def max_cols(self, spec: Spec) -> int:
        """The longest row the kernel can take on `spec`.

        A version that stages the row has the shared memory a block may opt in to, less the kernel's
        static part, which is read from the compiled kernel (so this may compile it).
        """
        if not self.staged:
            return MAX_COLS
        return (spec.shared_optin - static_shared(self.source, self.entry)) // self.staged

    def limits(self, cols: int, dtype, spec: Spec) -> str | None:
        """None when rows of `cols` elements of `dtype` run on `spec`, else a sentence: why not,
        how far it goes, the way out.
        """
        if np.dtype(dtype) != self.np_dtype:
            return (
                f"{self.name} is written for {self.dtype}, got {np.dtype(dtype)}; "
                f'convert with x.astype("{self.dtype}")'
            )
        if cols < 1:
            return f"{self.name} needs rows of at least 1 element, got {cols}"
        most = self.max_cols(spec)
        if cols <= most:
            return None
        fit = [v.name for v in ladder() if v.max_cols(spec) >= cols]
        why = f"it keeps a row in the {spec.shared_optin} bytes of shared memory that a block gets"
        why = f" on {spec.name}: {why}" if self.staged else ""
        way_out = f"use {' or '.join(fit)}" if fit else "split the rows"
        return f"{self.name} takes at most {most} columns{why}; for {cols} {way_out}"

    @property
    def path(self) -> Path:
        """The `.cu` file."""
        return KERNELS / self.file

    @property
    def source(self) -> str:
        """The text of the `.cu` file as it is now. Raises SourceError when it cannot be read."""
        return _read(self.path, self.name)

    @property
    def source_hash(self) -> str:
        """SHA-256 of the source, the same whatever the line endings of the checkout."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def np_dtype(self) -> np.dtype:
        """The element type, for NumPy and CuPy."""
        return np.dtype(ml_dtypes.bfloat16 if self.dtype == "bfloat16" else self.dtype)


@lru_cache(maxsize=64)
def static_shared(source: str, entry: str) -> int:
    """Bytes of shared memory that a kernel declares with a fixed size, from its attributes."""
    from .simt import RawKernel  # not at import: it brings the compiler

    return RawKernel(source, entry).attributes["shared_size_bytes"]


NAIVE = {"lesson": "01_overflow", "work": "thread a row", "reads": 2}
BLOCK_A_ROW = {"work": "block a row", "tolerance": 1e-6}

VERSIONS: dict[str, Version] = {
    version.name: version
    for version in (
        Version(
            name="naive_f32",
            file="naive_f32.cu",
            entry="naive_f32",
            idea="the formula as it stands: overflows above 88.72",
            tolerance=5e-6,  # a serial float sum
            **NAIVE,
        ),
        Version(
            name="naive_f16",
            file="naive_f16.cu",
            entry="naive_f16",
            idea="the same in FP16: overflows above 11.09, the sum sticks at 2048",
            dtype="float16",
            reference="rounded",
            tolerance=2**-10,  # 1 ulp of 11 bits
            **NAIVE,
        ),
        Version(
            name="naive_bf16",
            file="naive_bf16.cu",
            entry="naive_bf16",
            idea="the same in BF16: FP32's range, the sum sticks at 256",
            dtype="bfloat16",
            reference="rounded",
            tolerance=2**-7,  # 1 ulp of 8 bits
            **NAIVE,
        ),
        Version(
            name="v0",
            file="v0_thread_per_row.cu",
            entry="softmax_v0",
            lesson="02_v0_thread_per_row",
            idea="one thread a row, three serial passes",
            work="thread a row",
            reads=3,
            tolerance=5e-6,  # a serial float sum
        ),
        Version(
            name="v1",
            file="v1_block_shared.cu",
            entry="softmax_v1",
            lesson="03_v1_block_shared",
            idea="one block a row, tree reductions in shared memory",
            reads=3,
            max_block=256,
            power_of_two=True,
            **BLOCK_A_ROW,
        ),
        Version(
            name="v2",
            file="v2_warp_shuffle.cu",
            entry="softmax_v2",
            lesson="04_v2_warp_shuffle",
            idea="two-level reductions with warp shuffles",
            reads=3,
            **BLOCK_A_ROW,
        ),
        Version(
            name="v3",
            file="v3_float4.cu",
            entry="softmax_v3",
            lesson="05_v3_float4",
            idea="float4 loads and stores",
            reads=3,
            **BLOCK_A_ROW,
        ),
        Version(
            name="v4",
            file="v4_staged_exp.cu",
            entry="softmax_v4",
            lesson="06_v4_staged_exp",
            idea="exponentials staged in shared memory: two reads",
            reads=2,
            staged=4,
            **BLOCK_A_ROW,
        ),
        Version(
            name="copy",
            file="copy.cu",
            entry="copy_kernel",
            lesson="00_start_here",
            idea="y = x, the ceiling",
            work="thread a float4",
            reads=1,
            reference="copy",
            tolerance=0.0,
        ),
    )
}


def get(name: str) -> Version:
    """The version called `name`. Raises ValueError listing the names there are."""
    try:
        return VERSIONS[name]
    except KeyError:
        raise ValueError(f"no version called {name!r}; choose from {', '.join(VERSIONS)}") from None


def ladder() -> list[Version]:
    """The rungs V0, V1, … that are compared with each other, slowest idea first."""
    return [version for name, version in VERSIONS.items() if name[0] == "v" and name[1:].isdigit()]


def probe(name: str) -> str:
    """The source of kernels_cu/probes/<name>.cu: a small kernel that shows one thing, no version.

    Raises ValueError listing the probes there are, SourceError when the file cannot be read.
    """
    if name not in probes():
        raise ValueError(f"no probe called {name!r}; choose from {', '.join(probes())}")
    return _read(PROBES / f"{name}.cu", name)


def probes() -> list[str]:
    """The names of all probes."""
    return sorted(path.stem for path in PROBES.glob("*.cu"))


def _read(path: Path, name: str) -> str:
    """The text of a `.cu` file; SourceError says which, why it cannot be read, and the cure."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except FileNotFoundError:
        why = "there is no such file"
    except UnicodeDecodeError as error:
        why = f"it is not UTF-8 (byte {error.start}); save it as UTF-8, or"
    except OSError as error:
        why = f"it cannot be read ({error.strerror})"
    else:
        if "\0" not in text:
            return text
        why = "it holds a NUL character, where a compiler would stop reading"
    place = f"kernels_cu/{path.relative_to(KERNELS).as_posix()}"
    raise SourceError(
        f"{name} should be in {path}, and {why}; restore it with: git checkout -- {place}"
    )
