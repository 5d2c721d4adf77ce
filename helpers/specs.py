"""Data sheets of the GPUs the lessons speak of, and the one definition of effective bandwidth.

Nothing here was measured by this project: each record names where its figures come from.
"""

import re
from dataclasses import dataclass

__all__ = ["SPECS", "Spec", "effective_bandwidth", "get", "of_device"]

KB = 1024
MB = 1024 * KB

# Per-SM and per-block limits, by compute capability.
GUIDE = "CUDA C++ Programming Guide, technical specifications per compute capability"


@dataclass(frozen=True)
class Spec:
    """One GPU as its maker describes it.

    bandwidth is in bytes/s (10^12 for a TB/s), fp32_flops in operations/s without tensor cores;
    l2, shared_per_sm, shared_default and shared_optin in bytes (1 KB = 1024), the last two a
    block: what every kernel may use, and what it may use after asking for more; blocks_per_sm is
    the most an SM holds, however small they are.
    """

    name: str
    compute_capability: tuple[int, int]
    bandwidth: float
    sms: int
    l2: int
    shared_per_sm: int
    shared_optin: int
    threads_per_sm: int
    fp32_flops: float
    source: str
    shared_default: int = 48 * KB
    registers_per_sm: int = 65536
    blocks_per_sm: int = 32

    def room(self, threads: int, shared: int) -> dict[str, int]:
        """How many blocks of `threads` threads and `shared` bytes an SM has room for, by each of
        its limits; the least of them counts, registers aside (only the assembler knows those).

        Shared memory is handed out in units, and from compute capability 8.0 on the system takes
        1 KB of each block's.
        """
        unit, reserved = (128, KB) if self.compute_capability >= (8, 0) else (256, 0)
        each = -(-(shared + reserved) // unit) * unit
        fits = shared <= self.shared_optin
        return {
            "blocks": self.blocks_per_sm,
            "threads": self.threads_per_sm // (-(-threads // 32) * 32),
            "shared memory": (self.shared_per_sm // each if each else self.blocks_per_sm) * fits,
        }


SPECS: dict[str, Spec] = {
    "t4": Spec(
        name="T4",
        compute_capability=(7, 5),
        bandwidth=320e9,  # the data sheet's figure; about 300e9 is what copies reach
        sms=40,
        l2=4 * MB,
        shared_per_sm=64 * KB,
        shared_optin=64 * KB,
        threads_per_sm=1024,
        fp32_flops=8.1e12,
        blocks_per_sm=16,
        source=f"NVIDIA T4 data sheet; SMs, L2: Turing architecture white paper; limits: {GUIDE}",
    ),
    "laptop": Spec(
        name="RTX 4070 Laptop GPU",
        compute_capability=(8, 9),
        bandwidth=256e9,  # 128-bit GDDR6 at 16 Gb/s a pin
        sms=36,
        l2=32 * MB,
        shared_per_sm=100 * KB,
        shared_optin=99 * KB,
        threads_per_sm=1536,
        fp32_flops=20.0e12,  # 4608 cores, 2 operations each, at the 2.175 GHz of the 115 W setting
        blocks_per_sm=24,
        source=(
            "NVIDIA GeForce RTX 4070 Laptop GPU product page; L2: Ada architecture white paper; "
            f"limits: {GUIDE}"
        ),
    ),
    "a100": Spec(
        name="A100",
        compute_capability=(8, 0),
        bandwidth=2.039e12,
        sms=108,
        l2=40 * MB,
        shared_per_sm=164 * KB,
        shared_optin=163 * KB,
        threads_per_sm=2048,
        fp32_flops=19.5e12,
        source=(
            "NVIDIA A100 80GB SXM4 data sheet; SMs and L2: Ampere architecture white paper; "
            f"limits: {GUIDE}"
        ),
    ),
    "h100": Spec(
        name="H100",
        compute_capability=(9, 0),
        bandwidth=3.35e12,
        sms=132,
        l2=50 * MB,
        shared_per_sm=228 * KB,
        shared_optin=227 * KB,
        threads_per_sm=2048,
        fp32_flops=67e12,
        source=(
            "NVIDIA H100 SXM5 data sheet; SMs and L2: Hopper architecture white paper; "
            f"limits: {GUIDE}"
        ),
    ),
    "h200": Spec(
        name="H200",
        compute_capability=(9, 0),
        bandwidth=4.8e12,
        sms=132,
        l2=60 * MB,
        shared_per_sm=228 * KB,
        shared_optin=227 * KB,
        threads_per_sm=2048,
        fp32_flops=67e12,
        source=f"NVIDIA H200 SXM data sheet; SMs and L2: as its driver reports; limits: {GUIDE}",
    ),
}


def get(name: str) -> Spec:
    """The data sheet called `name`, in any case. Raises ValueError listing the names there are."""
    try:
        return SPECS[name.lower()]
    except KeyError:
        raise ValueError(f"no data sheet called {name!r}; choose from {', '.join(SPECS)}") from None


# What a driver calls the very cards above: others of the same name have another memory.
DEVICES = {
    "t4": r"\bT4\b",
    "laptop": r"RTX 4070 Laptop",
    "a100": r"\bA100\b.*80 ?GB(?!.*PCIe)",
    "h100": r"\bH100\b.*(80GB HBM3|SXM)",
    "h200": r"\bH200\b",
}


def of_device(name: str) -> Spec | None:
    """The data sheet of the card that a driver calls `name`; None when there is none."""
    found = (key for key, pattern in DEVICES.items() if re.search(pattern, name))
    return next((SPECS[key] for key in found), None)


def effective_bandwidth(rows: int, cols: int, itemsize: int, seconds: float) -> float:
    """Bytes/s of a softmax of rows × cols: one read and one write of the matrix over its time.

    However often a kernel reads a row, it is credited with one read, so versions compare. itemsize
    is in bytes. Raises ValueError for a time that is not positive.
    """
    if not seconds > 0:
        raise ValueError(
            f"bandwidth needs a time above 0 s, got {seconds}; "
            "a launch on the simulator has no time, use a recorded figure there"
        )
    return 2 * rows * cols * itemsize / seconds
