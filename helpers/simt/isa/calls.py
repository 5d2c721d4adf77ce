"""Calls that the machine answers itself: printf, and an assertion that fails. All other calls are
gone by now: the callee's code has taken their place."""

import numpy as np

from ..inline import signature
from ..printf import Format
from .control import STOP
from .lanes import blend
from .memory import in_space, reach
from .table import Form, Row
from .types import TYPES

__all__ = ["ROWS"]

U32, U64 = TYPES["u32"], TYPES["u64"]
MOST_PRINTED = 1 << 15  # texts a launch, about what the 1 MiB of a GPU's printf buffer holds


def call(ins, f: Form, code):
    """call (d), f, (a, b): vprintf or __assertfail."""
    results, callee, given = signature(ins)
    kinds = {"vprintf": (U64, U64), "__assertfail": (U64, U64, U32, U64, U64)}[callee.name]
    reads = [
        code.reader(code.whole(symbol, t.size), t) for symbol, t in zip(given, kinds, strict=True)
    ]
    write = code.writer(code.whole(results[0], 4), U32) if results else None
    act = print_text if callee.name == "vprintf" else fail_assertion
    guard = code.guard(ins) if ins.guard is not None else None

    def step(m):
        here = m.mask
        lanes = np.broadcast_to(m.active(), m.shape)
        lanes = lanes if guard is None else lanes & guard(m)
        if not lanes.any():
            return None
        m.mask = lanes
        result = act(m, lanes, *(np.broadcast_to(read(m), m.shape) for read in reads))
        if result is not None and write is not None:
            write(m, result)
        m.mask = here
        return None if result is not None else without(m, lanes)

    return step


def without(m, lanes):
    """Lanes end here; the others go on."""
    rest = np.broadcast_to(m.active(), m.shape) & ~lanes
    m.retire(lanes)
    if rest.any():
        m.put(m.pc + 1, rest)
    return STOP


def print_text(m, lanes, formats, arguments):
    """vprintf: each lane's text, kept until the launch ends; how many values it shows. As with the
    buffer of a GPU, there is room for so much and no more."""
    shown = np.zeros(m.shape, np.uint32)
    for address in np.unique(formats[lanes]):
        mine = lanes & (formats == address)
        text = Format(string_at(m, int(address)))
        columns = [
            fetch(m, mine, arguments.astype(np.int64) + offset, dtype)
            for offset, dtype in text.layout
        ]
        shown[mine] = len(columns)
        for block, thread in np.argwhere(mine):
            if len(m.launch.printed) >= MOST_PRINTED:
                break
            values = [column[block, thread] for column in columns]
            line = text.fill(values, lambda at: string_at(m, int(at)))
            m.launch.printed.append((m.first + int(block), int(thread), line))
    return shown


def fail_assertion(m, lanes, message, file, line, function, width):
    """__assertfail: a defect with the words of the assertion. Returns nothing: the lanes end."""
    b, t = np.argwhere(lanes)[0]
    said, where = (string_at(m, int(v[b, t])) for v in (message, function))
    m.defect("assertion failed", f"{said} (in {where})", bad_lanes=lanes)


def string_at(m, address: int) -> str:
    """The text at a generic address, up to its zero byte."""
    home = m.memory.find(address, address + 1)
    if home is None:
        m.defect("out of bounds", f"printf reads a text at address 0x{address:x}, in no array",
                 bad_lanes=m.active())  # fmt: skip
        return ""
    start = address - home.origin
    data = home.data[start : start + home.stop - address].tobytes()
    return data.split(b"\0", 1)[0].decode(errors="replace")


def fetch(m, lanes, address, dtype):
    """A value of generic memory for some lanes, (blocks, threads), zero for the others."""
    found = np.zeros(m.shape, dtype)

    def access(m, space, address):
        nonlocal found
        picked, place, home = reach(m, space, address, dtype.itemsize, "load")
        if home is not None:
            values = picked.spread(home.typed(dtype).take(place // dtype.itemsize))
            found = blend(np.broadcast_to(m.mask, m.shape), np.broadcast_to(values, m.shape), found)

    here, m.mask = m.mask, lanes
    in_space("generic", access)(m, address)
    m.mask = here
    return found


ROWS = [Row("call", "f", "", "uni", call, "control", "call a function, whose code is put here")]
