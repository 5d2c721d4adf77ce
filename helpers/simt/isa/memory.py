"""Opcodes that read or write memory. Every address goes through `reach`: one place for bounds,
alignment and masking, and one event for the observers."""

from types import SimpleNamespace

import numpy as np

from ..errors import PtxError
from ..memory import ADDRESSES, Access, Rows, describe
from ..ptx import Register, Vector
from ..spans import span_of
from .lanes import Lanes, joined, selected
from .table import Form, Row, refuse
from .types import TYPES

__all__ = ["ROWS", "between_blocks"]

SPACES = "global shared shared::cta local const param param::entry param::func"
HINTS = (
    "volatile relaxed acquire release weak mmio gpu cta cluster sys nc ca cg cs cv lu wb wt "
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::64B L2::128B L2::256B"
)
FENCES = "cta cluster gpu sys acq_rel acquire release sc proxy alias async mbarrier_init"
KINDS = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 f16 bf16"


def between_blocks(ins) -> bool:
    """Can an instruction tell one block what another does? Atomics and volatile loads can."""
    suffixes = set(ins.suffixes)
    if suffixes & {"shared", "shared::cta", "local", "param"}:
        return False
    return ins.opcode in ("atom", "red") or ins.opcode == "ld" and not suffixes.isdisjoint(POLLING)


def space_of(f: Form) -> str:
    return (f.one_of(*SPACES.split()) or "generic").split("::")[0]


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
BY_OFFSET = ("shared", "local")  # spaces whose addresses count from 0; all others have generic ones
POLLING = ("volatile", "relaxed", "acquire", "mmio", "cv")  # loads that look what others have done


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


def evenly(m, space: str, slot: int, offset: int, width: int, kind: str, values=()):
    """`reach` for the usual case: all lanes at work, at addresses in even steps within one array.
    The addresses are those in register `slot` + offset. Returns a Span of bytes within `home.data`,
    and home; None when the case is another one."""
    base = m.registers[slot]
    known, span = m.spans.get(slot, (None, None))
    if known is not base:  # else they are those of the last access
        span = span_of(base.view(np.int64))
        m.spans[slot] = base, span
    if span is None:
        return None
    span = span.moved(offset)
    home = m.memory.find(span.low, span.high + width)
    if home is None or not span.multiple(width):
        return None
    if kind == "store":
        shape = joined(*(v.shape for v in values), base.shape)
        if not home.writable or shape != base.shape or not span.apart(width):
            return None
    if m.watch_access:
        base = base.view(np.int64)
        space = "global" if space == "generic" else space
        access = Access(space, kind, base, None, width, m.pc, home, tuple(values), offset, span)
        for hear in m.watch_access:
            hear(m, access)
    return span.moved(-home.origin), home


def quickly(quick, operand, code, space: str, access):
    """The step of a load or store: `quick(m, slot, offset)` where that is true, else `access`."""
    read, run = address_of(operand, code), in_space(space, access)
    if space in BY_OFFSET or not isinstance(operand.base, Register) or operand.base.size != 8:
        return lambda m: run(m, read(m))
    slot, offset = operand.base.index, operand.offset

    def step(m):
        if m.mask is not None or not quick(m, slot, offset):
            run(m, read(m))

    return step


def reach(m, space: str, address, width: int, kind: str, values=(), align=None):
    """Check an access and list what it touches: (lanes, bytes within `home`, home), where `home`
    has `.typed(dtype)`. Lanes that may not touch what they point at are a defect, and left out;
    `home` is None when no lane is left. `align` is the width unless given, a power of two.
    """
    store = kind != "load"
    home = m.rows.get(space)  # None for global memory, which is found by address
    mask = m.mask
    if mask is None:
        lanes = Lanes.all
    else:
        parts = [address, *values, *([home.offset] if home else [])]
        lanes = selected(m, joined(*(v.shape for v in parts)))
    picked = lanes.pick(address)
    home, stray = locate(m, space, lanes, picked, width, store, align or width)
    if stray is not None:
        mask = without(m, mask, lanes.spread(np.broadcast_to(stray, picked.shape)))
        lanes = Lanes(mask, m.shape)
        lanes.result = lanes.spread  # a lane that strays reads 0
        picked = lanes.pick(address)
        home = (
            locate(m, space, lanes, picked, width, store, align or width)[0]
            if picked.size
            else None
        )
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


def locate(m, space: str, lanes, picked, width: int, store: bool, align: int):
    """The memory that picked addresses lie in, and which of them stray (None: none does)."""
    if picked.size == 1:
        low = high = bits = picked.item()
    else:
        low, high = int(picked.min()), int(picked.max())
        bits = int(np.bitwise_or.reduce(picked, axis=None))
    high += width
    if space in BY_OFFSET:
        home = m.rows.get(space, NOWHERE)
        inside = low >= 0 and high <= home.size
    else:
        home = m.memory.find(low, high)
        inside = home is not None and (home.writable or not store)
    if inside and not bits & (align - 1):
        return home, None
    return stray_lanes(m, space, lanes, home, picked, width, store, align)


def stray_lanes(m, space, lanes, home, picked, width, store, align):
    """The slow path: find each lane that must not do this access, and report the first."""
    bad_alignment = (picked & (align - 1)) != 0
    locked = np.zeros(picked.shape, bool)
    by_offset = space in BY_OFFSET
    if not by_offset:
        inside = locked.copy()
        for s in m.memory.segments:
            here = (picked >= s.start) & (picked + width <= s.stop)
            inside |= here
            locked |= here & (store and not s.writable)
    else:
        inside = (picked >= 0) & (picked + width <= home.size)
    invalid = f"Invalid __{space}__ {'write' if store else 'read'} of size {width} bytes"
    if not inside.all():
        bad = int(picked[~inside][0])
        if by_offset and bad >= 1 << 31:
            bad -= 1 << 32  # a 32-bit address before the start
        near = variable_near(m, space, bad) if by_offset else m.memory.nearest(bad)
        m.defect(
            "out of bounds",
            f"{invalid}: {describe(near, bad, width)}",
            bad_lanes=lanes.spread(~inside),
            array=near.name if near else None,
        )
    elif bad_alignment.any():
        bad = int(picked[bad_alignment][0])
        near = variable_near(m, space, bad) if by_offset else m.memory.nearest(bad)
        m.defect(
            "misaligned",
            f"{invalid} at `{near.name}` + {bad - near.start} B: misaligned, {bad % align} bytes "
            f"off a {align}-byte boundary; the hardware faults",
            bad_lanes=lanes.spread(bad_alignment),
            array=near.name,
        )
    elif locked.any():
        near = m.memory.nearest(int(picked[locked][0]))
        m.defect(
            "write to read-only memory",
            f"{invalid}: `{near.name}` is {near.locked}",
            bad_lanes=lanes.spread(locked),
            array=near.name,
        )
    else:
        return Union(m.memory.segments, picked, width), None
    return home, ~inside | bad_alignment | locked


def variable_near(m, space: str, offset: int) -> SimpleNamespace:
    """The shared variable that an offset was meant for; all of the space where it has none."""
    whole = f"{space} memory", offset, m.rows.get(space, NOWHERE).size
    name, inside, size = m.variable(space, offset) or whole
    return SimpleNamespace(name=name, start=offset - inside, size=size, dtype=None)


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
        if (registers := code.frame(source, size, count)) is not None:
            return copy([code.reader(r, f.type) for r in registers], writes)
        if code.is_argument(source):
            return load_argument(writes, code.argument(source, size * count), f.type)
        space = code.memory_of(source)
    shift = size.bit_length() - 1
    polls = space not in ("local", "const", "param") and f.one_of(*POLLING) is not None

    def access(m, space, address):
        lanes, place, home = reach(m, space, address, size * count, "load")
        if polls:
            m.poll()
        if home is None:
            return
        if m.copies is not None and space == "shared":
            m.copies.check(m, lanes, place, size * count)
        view, first = home.typed(f.type.dtype), place >> shift
        for k, write in enumerate(writes):
            write(m, lanes.result(view.take(first + k if k else first)))

    def quick(m, slot, offset):
        if (found := evenly(m, space, slot, offset, size * count, "load")) is None:
            return False
        if polls:
            m.poll()
        span, home = found
        for k, write in enumerate(writes):
            write(m, span.moved(k * size).view(home.data, f.type.dtype).copy())
        return True

    return quickly(quick, source, code, space, access)


def copy(reads, writes):
    """ld.param and st.param of a call whose parameters are registers."""
    pairs = list(zip(reads, writes, strict=True))

    def step(m):
        for read, write in pairs:
            write(m, read(m))

    return step


def load_argument(writes, offset: int, t):
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
    parts = source.parts if isinstance(source, Vector) else (source,)
    if len(parts) != count:
        raise PtxError(f"{ins.mnemonic} moves {count} values a lane, got {len(parts)}")
    reads = [code.reader(part, f.type) for part in parts]
    if space == "const":
        raise refuse(ins.mnemonic, "constant memory cannot be written")
    if space == "param":
        if (registers := code.frame(target, size, count)) is not None:
            return copy(reads, [code.writer(r, f.type) for r in registers])
        space = code.memory_of(target)
    shift = size.bit_length() - 1
    careful = code.talks  # a loop that waits may write the same to shared memory, again and again

    def access(m, space, address):
        values = [read(m) for read in reads]
        lanes, place, home = reach(m, space, address, size * count, "store", values)
        if home is None:
            return
        view, first = home.typed(f.type.dtype), place >> shift
        changed = space == "global" or (space == "shared" and not careful)
        for k, value in enumerate(values):
            index, value = first + k if k else first, lanes.pick(value)
            if index.shape != value.shape:
                index, value = np.broadcast_arrays(index, value)
            if not changed and space == "shared":
                changed = view[index].tobytes() != value.tobytes()
            view[index] = value
        m.changes += changed

    def quick(m, slot, offset):
        values = [read(m) for read in reads]
        if (found := evenly(m, space, slot, offset, size * count, "store", values)) is None:
            return False
        span, home = found
        for k, value in enumerate(values):
            span.moved(k * size).view(home.data, f.type.dtype)[...] = value
        m.changes += 1
        return True

    return quickly(quick, target, code, space, access)


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


def in_window(ins, f: Form, code):
    """isspacep p, a: does a generic address lie in a space? Global memory is what is left."""
    space = space_of(f)
    write, read = code.writer(ins.operands[0], TYPES["pred"]), code.address(ins.operands[1])

    def step(m):
        address = read(m)
        windows = m.windows | ADDRESSES
        inside = {name: (address >= a) & (address < b) for name, (a, b) in windows.items()}
        if space != "global":
            write(m, inside[space])
        else:
            write(m, ~np.logical_or.reduce([*inside.values()]))

    return step


def nothing(ins, f: Form, code):
    """Prefetches, and discards: the simulator's memory has no cache."""
    return lambda m: None


def fence(ins, f: Form, code):
    """membar, fence: the simulator's memory is in order anyway; observers may want to know."""
    wide = not (f.has("cta") or f.has("proxy"))

    def step(m):
        for hear in m.watch_fence:
            hear(m, wide)

    return step


# fmt: off
ROWS = [
    Row("ld", "d [a]", KINDS, f"{SPACES} {HINTS} v2 v4", load, "memory", "d = memory at a"),
    Row("ldu", "d [a]", KINDS, f"{SPACES} {HINTS} v2 v4", load, "memory",
        "d = memory at a, the same for all lanes"),
    Row("st", "[a] b", KINDS, f"{SPACES} {HINTS} v2 v4", store, "memory", "memory at a = b"),
    Row("cvta", "d a", "u32 u64", f"{SPACES} to", convert_address, "move",
        "an address of one space in another"),
    Row("isspacep", "p a", "", SPACES, in_window, "compare", "does a lie in the space?"),
    Row("prefetch", "[a]", "", f"{SPACES} L1 L2 L2::evict_last L2::evict_normal", nothing, "memory",
        "bring a line into a cache; here nothing"),
    Row("prefetchu", "[a]", "", "L1", nothing, "memory", "bring a line into L1; here nothing"),
    Row("discard", "[a] b", "", "global L2", nothing, "memory",
        "forget b cached bytes; here nothing"),
    Row("applypriority", "[a] b", "", "global L2::evict_normal", nothing, "memory",
        "how long a cache line lives; here nothing"),
    Row("nanosleep", "a", "u32", "", nothing, "control", "wait a little; here not at all"),
    Row("membar", "", "", "cta gl sys", fence, "memory", "order memory accesses"),
    Row("fence", "", "", f"{FENCES} global shared::cta", fence, "memory",
        "order memory accesses"),
]
# fmt: on
