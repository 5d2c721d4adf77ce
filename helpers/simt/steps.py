"""What a trace is made of: steps, what they touched, wrote and changed; and their compact JSON.

Lanes are one number, bit t for thread t of the block. Values are an array with one entry for each
lane concerned, lowest thread first, or with a single entry that holds for all of them. In JSON an
array is [dtype, base64 of its bytes], so that a NaN keeps its payload, and lanes are an index into
one list of masks.
"""

import base64
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  (makes np.dtype("bfloat16") known)
import numpy as np

__all__ = ["Cells", "Code", "Masks", "Step", "Touch", "Write"]
__all__ += ["lanes_of", "mask_of", "pick", "step_from_json", "step_to_json"]


def lanes_of(mask: int) -> np.ndarray:
    """The threads of a mask, ascending."""
    raw = np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def mask_of(lanes: np.ndarray) -> int:
    """The mask of an array of booleans, one a thread."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


def pick(values: np.ndarray, mask: int, threads) -> np.ndarray:
    """The entries of some threads of `mask`, out of values that are in the order of its lanes."""
    if len(values) == 1:
        return np.broadcast_to(values, len(threads))
    return values[np.searchsorted(lanes_of(mask), threads)]


# ---------------------------------------------------------------------------- the parts
@dataclass(frozen=True)
class Code:
    """One PTX instruction: its line in the `.cu` file (0: none), its text, its class (arithmetic,
    memory, barrier, warp, control, exit …) and, where that is certain, what a value it writes
    means: a parameter's name or `threadIdx.x`."""

    line: int
    ptx: str
    kind: str
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Touch:
    """An access of a step to one array: `kind` is load, store, atomic or async; `name` the array
    or shared variable; `offset` the bytes from its start, `unit` the bytes of an element, `width`
    those a lane moves; `values` what is stored, one array a register (a load's are the step's
    `writes`). Two arrays in the same memory (y = x) go by the first one's name."""

    kind: str
    space: str
    name: str
    lanes: int
    offset: np.ndarray
    unit: int
    width: int
    values: tuple = ()

    @property
    def index(self) -> np.ndarray:
        """The first element each lane touches."""
        return self.offset // self.unit

    def place(self, thread: int) -> str:
        """What a thread touches: `x[12]`, or `x[12..15]`."""
        first = int(pick(self.index, self.lanes, [thread])[0])
        count = self.width // self.unit
        return f"{self.name}[{first}{f'..{first + count - 1}' if count > 1 else ''}]"


@dataclass(frozen=True, eq=False)
class Write:
    """A register (its number in Trace.registers) and what the acting lanes have got in it."""

    register: int
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Cells:
    """4-byte cells of shared memory after a step that wrote them: their numbers, their bits, the
    thread that wrote each (-1: a copy that landed) and the type of what it wrote."""

    index: np.ndarray
    bits: np.ndarray
    threads: np.ndarray
    dtype: str


@dataclass(frozen=True, eq=False)
class Step:
    """One instruction executed by some lanes of the block.

    `lanes` execute it; `acting` are those that do something (the others are predicated off, or
    wait for their warp), `done` those that have it behind them (the others get a second step, with
    the result, when they have waited), `taken` those that jump, at a branch. `parked` lanes then
    wait at a barrier or for lanes of their warp, and `released` ones wait no more.
    `sources` is, at a shuffle, the thread whose value each acting lane has got.
    """

    index: int
    pc: int
    lanes: int
    acting: int
    done: int
    taken: int | None = None
    parked: int = 0
    released: int = 0
    touches: tuple[Touch, ...] = ()
    writes: tuple[Write, ...] = ()
    sources: np.ndarray | None = None
    cells: Cells | None = None

    @property
    def threads(self) -> list[int]:
        """The threads that execute the step."""
        return lanes_of(self.lanes).tolist()


# ---------------------------------------------------------------------------- JSON
class Masks:
    """The masks of a trace, each kept once."""

    def __init__(self, listed=()):
        self.list = [int(text, 16) for text in listed]
        self.known = {mask: k for k, mask in enumerate(self.list)}

    def number(self, mask: int) -> int:
        if mask not in self.known:
            self.known[mask] = len(self.list)
            self.list.append(mask)
        return self.known[mask]

    def to_json(self) -> list[str]:
        return [f"{mask:x}" for mask in self.list]


def pack(values: np.ndarray) -> list:
    if values.dtype.kind == "i" and values.dtype.itemsize == 8 and np.all(abs(values) < 1 << 31):
        values = values.astype(np.int32)
    return [values.dtype.name, base64.b64encode(np.ascontiguousarray(values)).decode()]


def unpack(data) -> np.ndarray:
    name, text = data
    return np.frombuffer(base64.b64decode(text), np.dtype(name))


def step_to_json(step: Step, masks: Masks) -> dict:
    """Only what a step has: {"pc", "lanes"} and as many of the others as apply."""
    data = {"pc": step.pc, "lanes": masks.number(step.lanes)}
    for name in ("acting", "done"):
        if getattr(step, name) != step.lanes:
            data[name] = masks.number(getattr(step, name))
    if step.taken is not None:
        data["taken"] = masks.number(step.taken)
    for name in ("parked", "released"):
        if getattr(step, name):
            data[name] = masks.number(getattr(step, name))
    if step.touches:
        data["touches"] = [
            [t.kind, t.space, t.name, masks.number(t.lanes), pack(t.offset), t.unit, t.width]
            + [pack(v) for v in t.values]
            for t in step.touches
        ]
    if step.writes:
        data["writes"] = [[w.register, *pack(w.values)] for w in step.writes]
    if step.sources is not None:
        data["sources"] = pack(step.sources)
    if step.cells is not None:
        c = step.cells
        data["cells"] = [c.dtype, pack(c.index), pack(c.bits), pack(c.threads)]
    return data


def touch_from_json(row: list, masks: Masks) -> Touch:
    kind, space, name, lanes, offset, unit, width, *values = row
    stored = tuple(map(unpack, values))
    return Touch(kind, space, name, masks.list[lanes], unpack(offset), unit, width, stored)


def step_from_json(index: int, data: dict, masks: Masks) -> Step:
    def lanes(name, otherwise):
        return masks.list[data[name]] if name in data else otherwise

    cells = data.get("cells")
    return Step(
        index,
        data["pc"],
        lanes("lanes", 0),
        lanes("acting", lanes("lanes", 0)),
        lanes("done", lanes("lanes", 0)),
        lanes("taken", None),
        lanes("parked", 0),
        lanes("released", 0),
        tuple(touch_from_json(row, masks) for row in data.get("touches", ())),
        tuple(Write(register, unpack(rest)) for register, *rest in data.get("writes", ())),
        unpack(data["sources"]) if "sources" in data else None,
        Cells(*(unpack(part) for part in cells[1:]), cells[0]) if cells else None,
    )
