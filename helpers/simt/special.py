"""Special registers: what a kernel can read of where it is (`%tid.x`, `%laneid`, …)."""

import numpy as np

from .errors import UnsupportedInstruction

__all__ = ["KNOWN", "REFUSED", "check", "value"]

LANE = {
    "eq": lambda lane: 1 << lane,
    "lt": lambda lane: (1 << lane) - 1,
    "le": lambda lane: (2 << lane) - 1,
    "gt": lambda lane: 0xFFFFFFFF & -(2 << lane),
    "ge": lambda lane: 0xFFFFFFFF & -(1 << lane),
}
# name → function of (machine, lanes of a block, blocks, axis), int64 and broadcast as usual
KNOWN = {
    "tid": lambda m, t, b, k: t // count(m.launch.block, k) % m.launch.block[k],
    "ctaid": lambda m, t, b, k: b // count(m.launch.grid, k) % m.launch.grid[k],
    "ntid": lambda m, t, b, k: m.launch.block[k],
    "nctaid": lambda m, t, b, k: m.launch.grid[k],
    "laneid": lambda m, t, b, k: t % 32,
    "warpid": lambda m, t, b, k: t // 32,
    "nwarpid": lambda m, t, b, k: m.shape[1] // 32,
    "dynamic_smem_size": lambda m, t, b, k: m.launch.dynamic_shared,
    "total_smem_size": lambda m, t, b, k: m.rows["shared"].size,
    # every block is a cluster of its own
    "clusterid": lambda m, t, b, k: b // count(m.launch.grid, k) % m.launch.grid[k],
    "nclusterid": lambda m, t, b, k: m.launch.grid[k],
    "cluster_ctaid": lambda m, t, b, k: 0,
    "cluster_nctaid": lambda m, t, b, k: 1,
    "cluster_ctarank": lambda m, t, b, k: 0,
    "cluster_nctarank": lambda m, t, b, k: 1,
    "is_explicit_cluster": lambda m, t, b, k: 0,
    # where cooperative groups look for the memory of the grid's barrier, 0 in a plain launch
    "envreg1": lambda m, t, b, k: m.launch.workspace >> 32,
    "envreg2": lambda m, t, b, k: m.launch.workspace & 0xFFFFFFFF,
    **{
        f"lanemask_{name}": lambda m, t, b, k, bits=bits: bits(t % 32)
        for name, bits in LANE.items()
    },
}
CLOCK = "the simulator has no clock: it never tells a time"
PLACE = "the simulator has no multiprocessors: it has no place in a real GPU"
REFUSED = dict.fromkeys(("clock", "clock_hi", "clock64", "globaltimer"), CLOCK)
REFUSED |= dict.fromkeys(("smid", "nsmid", "gridid", "pm0", "envreg0"), PLACE)


def split(name: str) -> tuple[str, str]:
    base, _, axis = name[1:].partition(".")
    return base, axis


def check(name: str) -> None:
    """UnsupportedInstruction, with the reason, for a register (`%clock`) that is not simulated."""
    base, axis = split(name)
    if base not in KNOWN or axis == "w":
        why = REFUSED.get(base, CLOCK if "time" in base else PLACE)
        raise UnsupportedInstruction(f"{name} is not simulated: {why}", mnemonic=name)


def value(m, name: str) -> np.ndarray:
    """The register for the lanes of a chunk, uint32."""
    base, axis = split(name)
    lanes = np.arange(m.shape[1], dtype=np.int64)[None, :]
    blocks = np.arange(m.first, m.first + m.shape[0], dtype=np.int64)[:, None]
    result = KNOWN[base](m, lanes, blocks, "xyz".find(axis) if axis else 0)
    return np.atleast_2d(result).astype(np.uint32)


def count(shape: tuple, k: int) -> int:
    """How many there are in the axes before axis k."""
    return int(np.prod(shape[:k]))
