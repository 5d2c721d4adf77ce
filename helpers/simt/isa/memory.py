"""Opcodes that read or write memory. Every address goes through `reach`: one place for bounds,
alignment and masking, and one event for the observers."""

import numpy as np

from ..errors import PtxError
from ..memory import Access, Rows, describe
from ..ptx import Vector
from .lanes import Lanes
from .table import Form, Row, refuse

__all__ = ["ROWS"]

SPACES = "global shared shared::cta local const param"
HINTS = (
    "volatile relaxed acquire release weak mmio gpu cta cluster sys nc ca cg cs cv lu wb wt "
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::64B L2::128B L2::256B"
)
KINDS = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 f16 bf16"


def space_of(f: Form) -> str:
    return (f.one_of(*SPACES.split()) or "generic").replace("::cta", "")


def width_of(f: Form) -> tuple[int, int]:
    """Bytes of one element, and how many a lane moves."""
    count = {"v2": 2, "v4": 4, "v8": 8}.get(f.one_of("v2", "v4", "v8"), 1)
    return f.type.size, count


def address_of(operand, code):
    """A reader of the address an operand names, int64."""
    read = code.address(operand.base)
    offset = operand.offset
    if offset == 0:
        return read
    return lambda m: read(m) + offset


NOWHERE = Rows(np.zeros((1, 1)), 0)  # the local memory of a kernel that has none


def in_space(space: str, access):
    """`access(m, space, address)` as it is, or, for generic addresses, once for each space whose
    window lanes point into, and then for the lanes that point into none: global memory."""
    if space != "generic":
        return lambda m, address: access(m, space, address)

    def run(m, address):
        whole = m.mask
        for window, (start, stop) in m.windows.items():
            inside = (address >= start) & (address < stop)
            if not inside.any():
                continue
            here, rest = inside, ~inside
            if m.mask is not None:
                here, rest = here & m.mask, rest & m.mask
            if here.any():
                m.mask = here if rest.any() or m.mask is not None else None
                access(m, window, address - start)
            m.mask = rest
            if not rest.any():
                break
        else:
            access(m, "global", address)
        m.mask = whole

    return run


def reach(m, space: str, address, width: int, kind: str, values=()):
    """Check an access and list what it touches: (lanes, bytes within `home`, home), where `home`
    has `.typed(dtype)`. Lanes that may not touch what they point at are a defect, and left out;
    `home` is None when no lane is left.
    """
    store = kind != "load"
    home = m.rows.get(space)  # None for global memory, which is found by address
    mask = m.mask
    if mask is None:
        lanes = Lanes.all
    else:
        parts = [address.shape, *(v.shape for v in values)]
        lanes = Lanes(mask, np.broadcast_shapes(*parts, *([home.offset.shape] if home else [])))
    picked = lanes.pick(address)
    home, stray = locate(m, space, lanes, picked, width, store)
    if stray is not None:
        mask = without(m, mask, lanes.spread(np.broadcast_to(stray, picked.shape)))
        lanes = Lanes(mask, m.shape)
        picked = lanes.pick(address)
        home = locate(m, space, lanes, picked, width, store)[0] if picked.size else None
    if m.watch_access:
        access = Access(space, kind, address, mask, width, m.pc, home, tuple(values))
        for hear in m.watch_access:
            hear(m, access)
    if home is None:
        return lanes, picked, None
    return lanes, picked + (lanes.pick(home.offset) if space in m.rows else -home.origin), home


def without(m, mask, stray):
    """The mask less the stray lanes, spelled out for every lane."""
    active = np.broadcast_to(True if mask is None else mask, m.shape)
    return active & ~np.broadcast_to(stray, m.shape)


def locate(m, space: str, lanes, picked, width: int, store: bool):
    """The memory that picked addresses lie in, and which of them stray (None: none does)."""
    low, high = int(picked.min()), int(picked.max()) + width
    if space == "global":
        home = m.memory.find(low, high)
        inside = home is not None and (home.writable or not store)
    else:
        home = m.rows.get(space, NOWHERE)
        inside = low >= 0 and high <= home.size
    aligned = not int(np.bitwise_or.reduce(picked, axis=None)) & (width - 1)
    if inside and aligned:
        return home, None
    return stray_lanes(m, space, lanes, home, picked, width, store)


def stray_lanes(m, space, lanes, home, picked, width, store):
    """The slow path: find each lane that must not do this access, and report the first."""
    bad_alignment = (picked & (width - 1)) != 0
    locked = np.zeros(picked.shape, bool)
    if space == "global":
        inside = locked.copy()
        for s in m.memory.segments:
            here = (picked >= s.start) & (picked + width <= s.stop)
            inside |= here
            locked |= here & (store and not s.writable)
    else:
        inside = (picked >= 0) & (picked + width <= home.size)
    verb = "write" if store else "read"
    if not inside.all():
        bad = int(picked[~inside][0])
        miss = (
            describe(m.memory.nearest(bad), bad, width)
            if space == "global"
            else f"byte {bad} of {home.size} B of {space} memory{m.variable_at(space, bad)}"
        )
        name = getattr(m.memory.nearest(bad), "name", None) if space == "global" else None
        m.defect(
            "out of bounds",
            f"{width}-byte {verb} {miss}",
            bad_lanes=lanes.spread(~inside),
            array=name,
        )
    elif bad_alignment.any():
        bad = int(picked[bad_alignment][0])
        near = m.memory.nearest(bad) if space == "global" else None
        place = f"`{near.name}` + {bad - near.start} B" if near else f"{space} memory + {bad} B"
        m.defect(
            "misaligned",
            f"{width}-byte {verb} at {place}, which is {bad % width} bytes off a {width}-byte "
            "boundary: the hardware faults (misaligned address)",
            bad_lanes=lanes.spread(bad_alignment),
            array=near.name if near else None,
        )
    elif locked.any():
        name = m.memory.nearest(int(picked[locked][0])).name
        m.defect(
            "write to read-only memory",
            f"{width}-byte write to `{name}`, an array that Python marks as read-only",
            bad_lanes=lanes.spread(locked),
            array=name,
        )
    else:
        return Union(m.memory.segments, picked, width), None
    return home, ~inside | bad_alignment | locked


class Union:
    """Several arrays behind one access, all of it legal: gathers and scatters piece by piece."""

    origin = 0

    def __init__(self, segments, picked, width):
        self.parts = []
        left = np.ones(picked.shape, bool)
        for s in segments:
            here = left & (picked >= s.start) & (picked + width <= s.stop)
            if here.any():
                self.parts.append((s, here))
                left &= ~here

    def typed(self, dtype):
        return UnionView(self.parts, dtype)


class UnionView:
    def __init__(self, parts, dtype):
        self.parts, self.dtype = parts, dtype

    def take(self, index):
        out = np.empty(index.shape, self.dtype)
        for s, here in self.parts:
            out[here] = s.typed(self.dtype)[index[here] - s.origin // self.dtype.itemsize]
        return out

    def __setitem__(self, index, values):
        for s, here in self.parts:
            here = np.broadcast_to(here, index.shape)  # of each address; values may vary further
            s.typed(self.dtype)[index[here] - s.origin // self.dtype.itemsize] = values[here]


# ---------------------------------------------------------------------------- loads and stores
def load(ins, f: Form, code):
    """ld d, [a]: one element, or two or four neighbours, a lane."""
    destination, source = ins.operands
    parts = destination.parts if isinstance(destination, Vector) else (destination,)
    writes = [code.writer(part, f.type) for part in parts]
    space, (size, count) = space_of(f), width_of(f)
    if len(parts) != count:
        raise PtxError(f"{ins.mnemonic} moves {count} values a lane, got {len(parts)} registers")
    if space == "param":
        return load_parameter(writes, code.parameter(source, size * count), f.type)
    if space == "const":
        raise refuse(ins.mnemonic, "the simulator has no constant memory")
    read = address_of(source, code)
    shift = size.bit_length() - 1

    def access(m, space, address):
        lanes, place, home = reach(m, space, address, size * count, "load")
        if home is None:
            return
        view, first = home.typed(f.type.dtype), place >> shift
        for k, write in enumerate(writes):
            write(m, lanes.spread(view.take(first + k if k else first)))

    run = in_space(space, access)
    return lambda m: run(m, read(m))


def load_parameter(writes, offset: int, t):
    """ld.param: the kernel's arguments, one value for every lane."""

    def step(m):
        for k, write in enumerate(writes):
            value = np.frombuffer(m.parameters, t.dtype, 1, offset + k * t.size)
            write(m, value.reshape(1, 1))

    return step


def store(ins, f: Form, code):
    """st [a], b."""
    target, source = ins.operands
    space, (size, count) = space_of(f), width_of(f)
    if space in ("param", "const"):
        raise refuse(
            ins.mnemonic,
            "it prepares the call of a function that was not inlined (printf, __noinline__, "
            "recursion), and calls are not in the table",
        )
    where = address_of(target, code)
    parts = source.parts if isinstance(source, Vector) else (source,)
    if len(parts) != count:
        raise PtxError(f"{ins.mnemonic} moves {count} values a lane, got {len(parts)}")
    reads = [code.reader(part, f.type) for part in parts]
    shift = size.bit_length() - 1

    def access(m, space, address):
        values = [read(m) for read in reads]
        lanes, place, home = reach(m, space, address, size * count, "store", values)
        if home is None:
            return
        view, first = home.typed(f.type.dtype), place >> shift
        for k, value in enumerate(values):
            index, value = first + k if k else first, lanes.pick(value)
            if index.shape != value.shape:
                index, value = np.broadcast_arrays(index, value)
            view[index] = value

    run = in_space(space, access)
    return lambda m: run(m, where(m))


# ---------------------------------------------------------------------------- addresses
def convert_address(ins, f: Form, code):
    """cvta: between a space's own addresses and generic ones. Global ones are the same."""
    space = space_of(f)
    to_space = f.has("to")
    write, read = code.writer(ins.operands[0], f.type), code.address(ins.operands[1])

    def step(m):
        start = m.windows[space][0] if space in m.windows else 0
        write(m, (read(m) + (-start if to_space else start)).astype(f.type.dtype))

    return step


def nothing(ins, f: Form, code):
    """Fences and prefetches: the simulator's memory is in order, and has no cache."""
    return lambda m: None


# fmt: off
ROWS = [
    Row("ld", "d [a]", KINDS, f"{SPACES} {HINTS} v2 v4", load, "memory", "d = memory at a"),
    Row("ldu", "d [a]", KINDS, f"{SPACES} {HINTS} v2 v4", load, "memory",
        "d = memory at a, the same for all lanes"),
    Row("st", "[a] b", KINDS, f"{SPACES} {HINTS} v2 v4", store, "memory", "memory at a = b"),
    Row("cvta", "d a", "u32 u64", f"{SPACES} to", convert_address, "move",
        "an address of one space in another"),
    Row("prefetch", "[a]", "", f"{SPACES} L1 L2", nothing, "memory", "bring a line into a cache"),
    Row("membar", "", "", "cta gl sys", nothing, "memory", "order memory accesses"),
    Row("fence", "", "", "cta cluster gpu sys acq_rel sc proxy async", nothing, "memory",
        "order memory accesses"),
]
# fmt: on
