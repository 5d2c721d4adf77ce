"""The coalescing view shows exactly the sectors that a recorded request touches."""

import numpy as np
import pytest
from pictures import drawn, fits

from helpers import launch, simt, versions, views
from helpers.simt.observers.names import GLOBAL
from helpers.views import coalesced
from helpers.widgets import coalescing as panels

LOADS, LOAD_SECTORS = GLOBAL["requests", "ld"], GLOBAL["sectors", "ld"]
PATTERNS = [
    (1, 0, 2), (1, 0, 4), (1, 0, 8), (1, 0, 16), (1, 1, 4), (1, 4, 16), (0, 0, 4), (0, 3, 4),
    (2, 0, 4), (3, 1, 4), (8, 0, 4), (32, 0, 4), (33, 5, 4), (7, 2, 8), (2, 0, 16), (1024, 8, 16),
    (5, 1, 2),
]


@pytest.mark.parametrize(("stride", "offset", "width"), PATTERNS)
def test_the_sectors_of_a_request_are_the_simulators(stride, offset, width):
    """Requests and sectors equal the counters of the same launch, the ideal too."""
    (request,) = coalesced.requests(panels.strided(stride, offset, width))
    kernel = simt.RawKernel(versions.probe("strided"), f"strided_{8 * width}")
    x, y = np.zeros(offset + 31 * stride * 4 + 4, np.float32), np.zeros(128, np.float32)
    counted = simt.profile(kernel, (1,), (32,), (x, y, stride, offset)).counters
    assert (request.block_requests, len(request.sectors)) == (
        counted[LOADS], counted[LOAD_SECTORS])
    stored = -(-32 * width // 32)
    assert request.ideal == counted["memory_l2_theoretical_sectors_global_ideal"] - stored


@pytest.mark.parametrize(("stride", "offset", "width"), PATTERNS)
def test_lanes_and_bytes_are_those_of_the_kernels_formula(stride, offset, width):
    """Lane k reads `width` bytes at 4 · offset + k · stride · width."""
    (request,) = coalesced.requests(panels.strided(stride, offset, width))
    access = request.access
    assert access.lanes == tuple(range(32))
    first = [4 * offset + lane * stride * width for lane in range(32)]
    assert [at - access.start for at in access.address] == first
    used = {byte for at in first for byte in range(at, at + width)}
    assert request.used == len(used)
    assert [s - access.start // 32 for s in request.sectors] == sorted({b // 32 for b in used})


def test_the_three_loads_of_the_lesson():
    """V0 touches 32 sectors and uses an eighth, V1 4 and V3 16 and both use all."""
    view = views.coalescing("v0", "v1", "v3")
    numbers = [(len(r.sectors), r.used, r.moved) for r in view.requests]
    assert numbers == [(32, 128, 1024), (4, 128, 128), (16, 512, 512)]
    assert view.requests[0].pattern == "one every 512 bytes"
    assert "v0: 1 request, 32 sectors, 128 of 1024 bytes used (12.5 %)" in str(view)


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3", "v4"])
@pytest.mark.parametrize("kind", ["load", "store"])
def test_the_totals_of_a_block_are_its_counters(name, kind):
    """One block, so the trace and the profile of the launch count the same."""
    trace = launch.trace(name, rows=1, cols=37)
    op = {"load": "ld", "store": "st"}[kind]
    counted = launch.profile(name, 1, 37).counters
    (first, *_) = coalesced.requests(trace, kind)
    assert first.block_requests == counted[GLOBAL["requests", op]]
    assert first.block_sectors == counted[GLOBAL["sectors", op]]


def test_any_load_or_store_of_any_warp_can_be_chosen():
    """They are counted from 0 in the order they happen."""
    trace = launch.trace("v1", rows=1, cols=40)
    assert [views.coalescing(trace, load=k).requests[0].access.line for k in range(3)] == sorted(
        {r.access.line for r in coalesced.requests(trace)})
    second = views.coalescing(trace, store=0, warp=1).requests[0].access
    assert (second.kind, second.array, second.lanes) == ("store", "y", tuple(range(8)))
    assert second.element(second.address[0]) == "y[32]"


@pytest.mark.parametrize(("given", "error"), [
    ({"load": 3}, r"load=3 of softmax_v1: warp 0 makes 3 load requests, counted from 0"),
    ({"store": 1}, r"store=1 of softmax_v1: warp 0 makes 1 store request, counted from 0"),
    ({"warp": 2}, r"warp 2 makes 0 load requests"),
    ({"load": 0, "store": 0}, "shows a load or a store, got load=0, store=0"),
    ({"titles": ["a", "b"]}, "titles: expected 1, one a subject"),
])
def test_a_request_that_is_not_there_is_refused(given, error):
    """The error says how many there are."""
    trace = launch.trace("v1", rows=1, cols=40)
    with pytest.raises(ValueError, match=error):
        views.coalescing(trace, **given)


def test_subjects_must_be_traces_or_versions():
    """Nothing at all, an unknown version and a number get one sentence each."""
    with pytest.raises(ValueError, match="needs a trace or a version"):
        views.coalescing()
    with pytest.raises(ValueError, match="no version called 'v9'"):
        views.coalescing("v9")
    with pytest.raises(ValueError, match="expected a trace .* got int 3"):
        views.coalescing(3)


@pytest.mark.parametrize(("stride", "offset", "width"), PATTERNS)
def test_every_word_of_the_picture_fits(stride, offset, width):
    """A line of code that is too long is cut."""
    fits(drawn(panels.look(stride, offset, width)[1], dark=stride > 1))


def test_the_picture_of_versions_fits_and_says_what_it_shows():
    """Alternative text has the numbers; partly idle warps are drawn too."""
    trace = launch.trace("v1", rows=1, cols=40)
    view = views.coalescing("v0", trace, titles=["V0", "V1, 40 columns"], warp=0)
    fits(drawn(view))
    tail = views.coalescing(trace, warp=1)
    figure = drawn(tail)
    fits(figure)
    assert "1 sector, 32 of 32 bytes used (100 %)" in figure.alt
    assert "Lanes 0 to 7" in figure.alt
    page = view._repr_html_()
    assert page.count('role="img"') == 1
    assert "counted by the simulator, H200 specification" in page


def test_the_panels_sentence_names_a_fault_of_a_gpu():
    """A float4 that begins 4 bytes into x is a ValueError with the rule, and no picture."""
    with pytest.raises(ValueError, match="misaligned address.*x \\+ 4 bytes does not"):
        panels.look(1, 1, 16)
    sentence, view = panels.look(2, 0, 4)
    assert sentence == ("stride 2, offset 0, 4 bytes: 1 request, 8 sectors, 128 of 256 bytes "
                        "used (50 %); 4 would do for so many bytes.")
    assert len(view.requests) == 1
