"""Which sizes a sweep measures, and what runs at each."""

from __future__ import annotations

from dataclasses import dataclass

from . import peers, versions

__all__ = ["Case", "default_plan", "peers_for", "versions_for"]

AT_4096 = tuple(2**k for k in range(7, 19))  # 128 … 262144 columns
LONG_ROWS = ((2048, 524288), (1024, 1048576), (16, 1048576), (1, 16777216))
IN_L2 = (2048, 2048)  # two such matrices of float32 fit the L2 of an A100, H100 or H200
OTHER_SIZES = ((131072, 1024), (1048576, 128), (32768, 4096), (8192, 32768), (4096, 50257),
               (4096, 151936), (32768, 4097))  # fmt: skip
SIXTEEN_BIT = ((4096, 1024), (4096, 4096), (32768, 4096), (4096, 16384), (8192, 32768),
               (4096, 50257), (4096, 65536), (4096, 262144), (16, 1048576))  # fmt: skip
LONGEST_SERIAL = 1048576  # one thread a row: at 16777216 columns a launch would take many seconds
SHORTEST_NAIVE = 1024  # columns up to which the 16-bit kernels are set against their own rounding


@dataclass(frozen=True)
class Case:
    """One size of a sweep: a matrix, the versions that run on it, and the peers.

    resident: the copy kernel is timed once more on matrices that stay in the L2, as its roof.
    """

    rows: int
    cols: int
    dtype: str = "float32"
    versions: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    resident: bool = False

    def __str__(self):
        return f"{self.rows}×{self.cols} {self.dtype}"


def default_plan() -> list[Case]:
    """The sizes of the lessons: float32 over N and M, then both 16-bit types at a handful."""
    sizes = [(4096, cols) for cols in AT_4096] + [IN_L2, *OTHER_SIZES, *LONG_ROWS]
    plan = [Case(*size, "float32", versions_for(size[1], "float32"), peers_for("float32"),
                 resident=size == IN_L2) for size in sizes]
    for dtype in ("bfloat16", "float16"):
        plan += [Case(*size, dtype, versions_for(size[1], dtype), peers_for(dtype))
                 for size in SIXTEEN_BIT]
    return plan


def versions_for(cols: int, dtype: str) -> tuple[str, ...]:
    if dtype != "float32":
        short = [v for v in versions.VERSIONS.values() if v.dtype == dtype]
        return tuple(v.name for v in short if cols <= SHORTEST_NAIVE)
    serial = [v.name for v in versions.ladder() if v.work == "thread a row"]
    return tuple(v.name for v in versions.ladder()
                 if v.name not in serial or cols <= LONGEST_SERIAL)


def peers_for(dtype: str) -> tuple[str, ...]:
    return tuple(name for name, peer in peers.PEERS.items() if dtype in peer.dtypes)
