"""The bank panel: a warp reads down a column of a tile in shared memory, padded or swizzled."""

from __future__ import annotations

import numpy as np

from .. import simt, versions
from ..views.conflicts import Banks, shared_accesses
from ..views.warps import LANES
from .controls import Choice, Panel, Whole

__all__ = ["column", "look", "panel"]

_WIDTHS = {"4 bytes (float)": 4, "8 bytes (float2)": 8, "16 bytes (float4)": 16}
_LAYOUTS = {"plain: [row][column]": False, "XOR swizzle: [row][column ^ row]": True}
_SHARING = {"1: each its own": 1, "2: neighbours share": 2, "4 share": 4, "32: all the same": 32}
_MOST = 64  # elements a row: with 16 bytes each the tile still fits in 48 KB


def column(
    pitch: int, at: int = 0, width: int = 4, swizzle: bool = False, sharing: int = 1
) -> simt.Trace:
    """The trace of kernels_cu/probes/banks.cu, one warp, on the simulator.

    Lane r reads row r // sharing, column `at`, of a tile whose rows are `pitch` elements of `width`
    bytes (4, 8, 16) apart.
    """
    kernel = simt.RawKernel(versions.probe("banks"), f"banks_{8 * width}")
    y = np.zeros(LANES * width // 4, np.float32)
    args = (y, pitch, at, sharing, LANES - 1 if swizzle else 0)
    size = width * ((LANES - 1) * pitch + LANES)
    return simt.trace(kernel, (1,), (LANES,), args, shared_mem=size)


def look(
    pitch: int = 32, at: int = 0, width: int = 4, swizzle: bool = False, sharing: int = 1
) -> tuple[str, Banks]:
    """The sentence of the panel and what is to be drawn."""
    trace = column(pitch, at, width, swizzle, sharing)
    layout = f"[{pitch}]{', swizzled' if swizzle else ''}"
    title = f"{layout}, column {at} of {width}-byte elements"
    (load,) = [a for a in shared_accesses(trace, title=title) if a.access.kind == "load"]
    return f"{load.headline}; {load.worst}.", Banks((load,))


def panel() -> Panel:
    """A new panel. Every change runs the probe kernel on the simulator again."""
    return Panel(look, {
        "pitch": Whole("elements a row", LANES, 0, _MOST),
        "at": Whole("column read", 0, 0, LANES - 1),
        "width": Choice("bytes an element", _WIDTHS, 4),
        "swizzle": Choice("layout", _LAYOUTS, False),
        "sharing": Choice("lanes an element", _SHARING, 1),
    })
