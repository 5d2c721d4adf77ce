"""Address spaces: where each array lies, what an address hits, and what it misses.

Global arrays get made-up addresses, 512-byte aligned as CuPy's are and far apart, so that a stray
index never lands in a neighbour by luck. A view keeps its offset in the allocation it comes from:
an array that is misaligned on a GPU is misaligned here. Shared and local memory are one byte array
for all blocks of a chunk, a row a block or a lane.
"""

from dataclasses import dataclass, field

import numpy as np

from .spans import Span

__all__ = ["ADDRESSES", "ALIGN", "GLOBAL_BASE", "GUARD", "VARIABLE_BASE"]
__all__ += ["Access", "GlobalMemory", "Rows", "Segment", "describe", "never_written", "unwritten"]

# Where the spaces of read-only data lie among generic addresses, and then a module's variables.
ADDRESSES = {
    "const": (0x0300_0000_0000, 0x0400_0000_0000),
    "param": (0x0400_0000_0000, 0x0500_0000_0000),
}
VARIABLE_BASE = 0x7E00_0000_0000
GLOBAL_BASE = 0x7F00_0000_0000
ALIGN = 512
GUARD = 1 << 16
# What memory holds that nobody has written: a NaN in every floating-point type, and so odd a number
# otherwise that no program fills an array with it.
UNWRITTEN = np.array([0xFFF7FFAB], "<u4").view(np.uint8)


@dataclass(slots=True, eq=False)
class Access:
    """One memory instruction of one fragment, as observers see it, just before it happens.

    `kind` is load, store, atomic or async (a copy into shared memory that lands later). `address`
    is int64 within `space` (global, shared, local, const or param), broadcastable to (blocks,
    threads), as is the boolean `mask` (None: all); `width` counts the bytes of a lane. `home` is
    the memory that is hit: a Segment (or several, in a Union), or the chunk's Rows. `values` are
    the registers stored. `span` says the same as `address`, where that goes in even steps.
    """

    space: str
    kind: str
    base: np.ndarray  # int64, like the address, which lies `offset` bytes further on
    mask: np.ndarray | None
    width: int
    pc: int
    home: object
    values: tuple = ()
    offset: int = 0
    span: Span | None = None

    @property
    def address(self) -> np.ndarray:
        if self.offset:
            self.base, self.offset = self.base + self.offset, 0
        return self.base


class Segment:
    """A stretch of global memory that the kernel may touch: one array argument or variable.
    `locked` says why it may not be written, when it may not."""

    locked = "an array that Python marks as read-only"

    def __init__(self, name, start, size, data, origin, dtype=None, writable=True):
        self.name, self.start, self.size = name, start, size
        self.stop = start + size
        self.data, self.origin = data, origin  # the whole allocation's bytes, and their address
        self.dtype, self.writable = dtype, writable
        self._views = {}

    def typed(self, dtype):
        """The allocation as elements of `dtype` (a last, partial element is not reachable)."""
        if dtype not in self._views:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            self._views[dtype] = self.data[:whole].view(dtype)
        return self._views[dtype]


def root_of(array: np.ndarray) -> np.ndarray:
    """The allocation a view belongs to; the array itself when that is not one C-ordered block."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root if root.flags.c_contiguous else array


def unwritten(array: np.ndarray) -> np.ndarray:
    """Fill a fresh C-contiguous array of numbers so that `never_written` knows it again."""
    if array.dtype.kind != "b" and array.size:  # a bool of other bits misleads NumPy
        raw = array.view(np.ndarray).reshape(-1).view(np.uint8)
        whole = raw.size // 4 * 4
        raw[:whole].view("<u4")[:] = UNWRITTEN.view("<u4")[0]
        raw[whole:] = UNWRITTEN[: raw.size - whole]
    return array


def never_written(data: np.ndarray) -> bool:
    """Has nobody written any of an allocation's bytes since `unwritten`? Whoever writes but a part
    is believed to have written all of it."""
    whole = data.size // 4 * 4
    if not whole or not np.array_equal(data[:4], UNWRITTEN):
        return False
    return bool((data[:whole].view("<u4") == UNWRITTEN.view("<u4")[0]).all())


@dataclass
class GlobalMemory:
    """The arrays of one launch, at addresses made up for it."""

    segments: list = field(default_factory=list)
    _allocations: dict = field(default_factory=dict)
    _next: int = GLOBAL_BASE

    def add(self, array: np.ndarray, name: str) -> int:
        """Map an array (C-contiguous) and return the address of its first element."""
        root = root_of(array)
        where = root.__array_interface__["data"][0]
        if (where, root.nbytes) not in self._allocations:
            flat = root.view(np.ndarray).reshape(-1).view(np.uint8)
            self._allocations[where, root.nbytes] = self._next, flat
            self._next += -(-(root.nbytes + GUARD) // ALIGN) * ALIGN
        origin, data = self._allocations[where, root.nbytes]
        start = origin + array.__array_interface__["data"][0] - where
        self.segments.append(
            Segment(name, start, array.nbytes, data, origin, array.dtype, array.flags.writeable)
        )
        return start

    def place(self, data, name: str, address: int, dtype=None, locked: str = "") -> None:
        """Map bytes (uint8) at an address of their own: a module's variable, or parameters."""
        segment = Segment(name, address, data.size, data, address, dtype, not locked)
        segment.locked = locked
        self.segments.append(segment)

    def find(self, low: int, high: int) -> Segment | None:
        """The segment that holds every byte from `low` up to, not including, `high`."""
        for segment in self.segments:
            if segment.start <= low and high <= segment.stop:
                return segment
        return None

    def nearest(self, address: int) -> Segment | None:
        """The segment an address outside all of them was probably meant for."""
        return min(
            self.segments,
            key=lambda s: max(s.start - address, address - s.stop + 1, 0),
            default=None,
        )


class Rows:
    """Shared memory (a row a block) or local memory (a row a lane) of one chunk."""

    writable = True

    def __init__(self, rows: np.ndarray, size: int):
        self.size = size
        self.pitch = -(-size // 16) * 16
        self.offset = rows.astype(np.int64) * self.pitch  # of each block or lane
        self.data = np.zeros(max(rows.size * self.pitch, 16), np.uint8)
        self._views = {}

    def typed(self, dtype):
        if dtype not in self._views:
            self._views[dtype] = self.data.view(dtype)
        return self._views[dtype]


def describe(segment: Segment | None, address: int, width: int) -> str:
    """How an access misses an array: "4 bytes past the end of `x` (16384 B)"."""
    if segment is None:
        return f"address 0x{address:x} lies in no array: the kernel was given none"
    size = f"`{segment.name}` ({segment.size} B)"
    distance = address - segment.start
    if max(-distance, distance - segment.size) > 1 << 40:
        return f"address 0x{address:x} lies in no array; the nearest is {size}"
    if distance < 0:
        return f"{-distance} bytes before the start of {size}{element(segment, distance)}"
    if distance >= segment.size:
        past = distance - segment.size
        where = f"{past} bytes past the end of" if past else "just past the end of"
        return f"{where} {size}{element(segment, distance)}"
    over = distance + width - segment.size
    return (
        f"its last {over} of {width} bytes lie past the end of {size}{element(segment, distance)}"
    )


def element(segment: Segment, distance: int) -> str:
    if segment.dtype is None or distance % segment.dtype.itemsize:
        return ""
    count = segment.size // segment.dtype.itemsize
    return f", element {distance // segment.dtype.itemsize} of {count}"
