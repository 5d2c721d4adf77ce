"""The coalescing panel: stride, offset and width of a warp's load, and the sectors it touches."""

from __future__ import annotations

import numpy as np

from .. import simt, versions
from ..views.coalesced import Coalescing, requests
from ..views.warps import LANES
from .controls import Choice, Panel, Whole

__all__ = ["look", "panel", "strided"]

_WIDTHS = {
    "2 bytes (half)": 2, "4 bytes (float)": 4, "8 bytes (float2)": 8, "16 bytes (float4)": 16,
}


def strided(stride: int, offset: int, width: int) -> simt.Trace:
    """The trace of kernels_cu/probes/strided.cu, one warp, on the simulator.

    Elements of `width` bytes (2, 4, 8, 16), `stride` of them apart, from `offset` floats into x on.
    What a GPU would fault on is in the trace's `.defects`.
    """
    kernel = simt.RawKernel(versions.probe("strided"), f"strided_{8 * width}")
    floats = offset + -(-((LANES - 1) * stride + 1) * width // 4)
    x, y = np.zeros(floats, np.float32), np.zeros(LANES * width // 4, np.float32)
    return simt.trace(kernel, (1,), (LANES,), (x, y, stride, offset))


def look(stride: int = 1, offset: int = 0, width: int = 4) -> tuple[str, Coalescing]:
    """The sentence of the panel and what is to be drawn. Raises ValueError where a GPU faults."""
    trace = strided(stride, offset, width)
    if trace.defects:
        raise ValueError(
            f"A GPU stops here with “misaligned address”: {width} bytes a lane must begin at a "
            f"multiple of {width} bytes, and x + {4 * offset} bytes does not"
        )
    (request,) = requests(trace, title=f"stride {stride}, offset {offset}, {width} bytes")
    ideal = "the fewest possible" if len(request.sectors) == request.ideal else (
        f"{request.ideal} would do for so many bytes"
    )
    return f"{request.headline}; {ideal}.", Coalescing((request,))


def panel() -> Panel:
    """A new panel. Every change runs the probe kernel on the simulator again."""
    return Panel(look, {
        "stride": Whole("stride, in elements", 1, 0, 33, most=1024),
        "offset": Whole("offset, in floats", 0, 0, 16, most=1024),
        "width": Choice("bytes a lane", _WIDTHS, 4),
    })
