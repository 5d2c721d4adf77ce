"""Rows of N floats on 16-byte lines: where float4 kernels fault, and how V3 cuts a row instead.

Faults are those of kernels_cu/probes/float4_tail.cu, launched for each row by itself, cuts those of
V3's recorded loads and stores; both run on the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .. import simt, versions
from .coalesced import count
from .svg import points
from .warps import LANES

if TYPE_CHECKING:
    from ..theme import Picture

__all__ = ["LINE", "Alignment", "Fault", "Row", "alignment"]

LINE = 4  # floats between two multiples of 16 bytes
MOST_ROWS, MOST_COLS = 16, 1024  # what can be drawn, and traced while a reader waits


@dataclass(frozen=True)
class Fault:
    """What a GPU would stop at: "x" or "y", the simulator's message, the line of the probe."""

    array: str
    message: str
    line: int


@dataclass(frozen=True)
class Row:
    """One row: `x_phase` and `y_phase` are how many floats past a 16-byte line it begins in x and
    in y; `loads` and `stores` V3's accesses as (first column, floats), ascending; `faults` what
    the kernel without a head does there."""

    number: int
    x_phase: int
    y_phase: int
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]
    faults: tuple[Fault, ...]

    @property
    def parts(self) -> tuple[int, int, int]:
        """(head, quads, tail): scalars loaded before the float4s, float4s, scalars after them."""
        quads = [first for first, floats in self.loads if floats == LINE]
        scalars = [first for first, floats in self.loads if floats == 1]
        head = sum(first < min(quads) for first in scalars) if quads else self._short_head
        return head, len(quads), len(scalars) - head

    @property
    def _short_head(self) -> int:
        """Of a row without any float4: the columns before the first 16-byte line."""
        return min(len(self.loads), -self.x_phase % LINE)

    def __str__(self) -> str:
        head, quads, tail = self.parts
        stores = sum(floats == LINE for _, floats in self.stores)
        verdict = " and ".join(
            f"the {'load' if fault.array == 'x' else 'store'} faults" for fault in self.faults
        ) or "runs"
        return (
            f"row {self.number}: x begins {4 * self.x_phase} bytes past a line, y "
            f"{4 * self.y_phase}; V3 loads {head} + {quads} float4 + {tail}, stores "
            f"{count(stores, 'float4')} and {count(len(self.stores) - stores, 'scalar')}; "
            f"without a head: {verdict}"
        )


@dataclass(frozen=True)
class Alignment:
    """All rows of a matrix of `cols` columns whose x and y begin so many floats past a 16-byte
    line."""

    cols: int
    x_offset: int
    y_offset: int
    rows: tuple[Row, ...]
    device: str

    @property
    def faulty(self) -> tuple[int, ...]:
        """The rows on which the kernel without a head faults."""
        return tuple(row.number for row in self.rows if row.faults)

    @property
    def headline(self) -> str:
        """What is to be seen, in one sentence."""
        what = f"N = {self.cols}, N % 4 = {self.cols % LINE}"
        if self.x_offset or self.y_offset:
            what += f", x + {self.x_offset}, y + {self.y_offset}"
        if not self.faulty:
            if self.cols < LINE:
                return f"{what}: no row is long enough for a float4"
            return f"{what}: every row begins on a 16-byte line, float4 needs no scalar head"
        rows = count(len(self.rows), "row")
        return f"{what}: without a head, float4 faults on {len(self.faulty)} of {rows}"

    @cached_property
    def first(self) -> str:
        """The first fault, as the simulator reports it."""
        for row in self.rows:
            for fault in row.faults:
                return (
                    f"row {row.number}, launched by itself, float4_tail.cu line {fault.line}: "
                    f"{fault.message}"
                )
        return "no fault"

    def picture(self, dark: bool = False) -> Picture:
        """The drawing, with its alternative text."""
        from .aligned_picture import draw

        return draw(self, dark)

    @property
    def source(self) -> str:
        """Where faults and cuts come from."""
        return (
            f"run on the simulator, {self.device}: faults of the probe float4_tail, cuts from the "
            "recorded accesses of softmax_v3"
        )

    def __str__(self) -> str:
        return "\n".join([f"{self.headline}.", *(f"  {row}" for row in self.rows),
                          f"  {self.first}", f"({self.source})"])

    __repr__ = __str__

    def readout(self) -> str:
        """HTML: every row in words, and the first fault."""
        return (
            f'<p style="margin:.3em 0">First fault: {escape(self.first)}</p>'
            f"<details><summary>every row in words</summary>"
            f"{points(map(str, self.rows))}</details><small>{escape(self.source)}</small>"
        )

    def _repr_html_(self) -> str:
        return f'<div style="margin:.6em 0">{self.picture()._repr_html_()}{self.readout()}</div>'


def alignment(
    cols: int, rows: int = 8, x_offset: int = 0, y_offset: int | None = None
) -> Alignment:
    """Rows of `cols` floats on 16-byte lines: faults without a scalar head, and V3's cuts.

    x and y begin so many floats (0 to 3) past a 16-byte line; y_offset None is x's. Raises
    ValueError for a number out of range: 1 to 1024 columns, 1 to 16 rows.
    """
    y_offset = x_offset if y_offset is None else y_offset
    for name, value, low, high in (
        ("cols", cols, 1, MOST_COLS), ("rows", rows, 1, MOST_ROWS),
        ("x_offset", x_offset, 0, LINE - 1), ("y_offset", y_offset, 0, LINE - 1),
    ):
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name}: expected a whole number from {low} to {high}, got {value}")
    x, y = (_matrix(rows, cols, offset) for offset in (x_offset, y_offset))
    loads, stores = _cuts(x, y)
    found = tuple(
        Row(k, (x_offset + k * cols) % LINE, (y_offset + k * cols) % LINE, loads[k], stores[k],
            _faults(x[k : k + 1], y[k : k + 1]))
        for k in range(rows)
    )
    device = f"{simt.current_spec().name} specification"
    return Alignment(cols, x_offset, y_offset, found, device)


def _matrix(rows: int, cols: int, offset: int) -> np.ndarray:
    """A view that begins `offset` floats into an allocation: the simulator keeps that place."""
    return np.zeros(offset + rows * cols, np.float32)[offset:].reshape(rows, cols)


class _Recorder:
    """Observer of a launch: {"load" or "store": {(element of its array, floats)}}."""

    def __init__(self) -> None:
        self.found: dict[str, set] = {"load": set(), "store": set()}

    def on_access(self, m, access) -> None:
        """Keep a global access: one a lane, however often it comes."""
        if access.space != "global":
            return
        lanes = np.broadcast_to(access.address, m.shape)
        active = ... if access.mask is None else np.broadcast_to(access.mask, m.shape)
        elements = np.unique((lanes[active] - access.home.start) // 4).tolist()
        self.found[access.kind].update((element, access.width // 4) for element in elements)


def _cuts(x: np.ndarray, y: np.ndarray) -> tuple[list[tuple], list[tuple]]:
    """What V3 loads and stores, for each row (first column, floats) of every access. One warp a row
    cuts it like any block, and its three passes all alike."""
    version, recorder = versions.get("v3"), _Recorder()
    kernel = simt.RawKernel(version.source, version.entry)
    rows, cols = x.shape
    with simt.limits(observers=(recorder,)):
        kernel((rows,), (LANES,), (x, y, rows, cols))
    kept: dict[str, list] = {}
    for kind, pieces in recorder.found.items():
        kept[kind] = [[] for _ in range(rows)]
        for element, floats in sorted(pieces):
            kept[kind][element // cols].append((element % cols, floats))
    return tuple([tuple(row) for row in kept[kind]] for kind in ("load", "store"))


def _faults(x_row: np.ndarray, y_row: np.ndarray) -> tuple[Fault, ...]:
    """What the kernel without a head does on one row of its own."""
    kernel = simt.RawKernel(versions.probe("float4_tail"), "float4_tail")
    seen = simt.profile(kernel, (1,), (LANES,), (x_row, y_row, *x_row.shape), races=False)
    return tuple(
        Fault(defect.array, defect.message, defect.line)
        for defect in seen.defects if defect.kind == "misaligned"
    )
