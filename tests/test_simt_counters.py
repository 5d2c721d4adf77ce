"""Requests and sectors of global memory, against a count on fingers.

A request is a warp's execution of a load or store with at least one active lane; its sectors are
the distinct 32-byte pieces that the bytes of its active lanes lie in.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_lanes import entry
from simt_runs import kernel, needs_nvrtc

from helpers import simt

pytestmark = needs_nvrtc
NAMES = {
    (what, op): f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
    for what in ("requests", "sectors")
    for op in ("ld", "st")
}
TYPES = {"unsigned char": 1, "short": 2, "float": 4, "double": 8, "float2": 8, "float4": 16}
# Reads and writes where the pattern says, -1 is an idle lane. The pattern's own load is in line 3.
AT = 3
SOURCE = """typedef TYPE T;
__global__ f(const T* x, T* y, const int* at, int n) {
    int i = at[blockIdx.x * blockDim.x + threadIdx.x];
    if (i >= 0) { T v = x[i];
        y[i] = v; }
}"""
kernels = {name: kernel(SOURCE.replace("TYPE", name)) for name in TYPES}
ELEMENTS = 2048
LANE = np.arange(32)


def measured(name: str, pattern, offset: int = 0, block: int = 32) -> dict:
    """What the copying alone counts; `pattern` has an element for each thread, x and y begin
    `offset` bytes behind a 512-byte boundary."""
    pattern = np.asarray(pattern, np.int32).ravel()
    width = TYPES[name]
    x, y = (
        np.zeros(ELEMENTS * 16 + 512, np.uint8)[offset : offset + ELEMENTS * width]
        for _ in range(2)
    )
    element = {1: "u1", 2: "i2", 4: "f4"}.get(width, "f8" if name == "double" else "f4")
    arguments = (x.view(element), y.view(element), pattern, pattern.size)
    report = simt.profile(kernels[name], (pattern.size // block,), (block,), arguments)
    assert report.defects == []
    rest = {line: counts for line, counts in report.lines.items() if line != AT}
    return {key: sum(counts[full] for counts in rest.values()) for key, full in NAMES.items()}


def counted(name: str, pattern, offset: int = 0, block: int = 32) -> dict:
    """The same, lane by lane."""
    width, requests, sectors = TYPES[name], 0, 0
    for one in np.asarray(pattern).reshape(-1, block):
        for start in range(0, block, 32):
            lanes = [i for i in one[start : start + 32] if i >= 0]
            bytes_ = {offset + i * width + k for i in lanes for k in range(width)}
            requests += bool(lanes)
            sectors += len({b // 32 for b in bytes_})
    values = {"requests": requests, "sectors": sectors}
    return {key: values[key[0]] for key in NAMES}


@pytest.mark.parametrize(
    ("name", "stride", "offset", "sectors"),
    [
        ("unsigned char", 1, 0, 1), ("short", 1, 0, 2), ("float", 1, 0, 4), ("double", 1, 0, 8),
        ("float2", 1, 0, 8), ("float4", 1, 0, 16),
        ("short", 1, 2, 3), ("float", 1, 4, 5), ("float", 1, 28, 5), ("float", 1, 32, 4),
        ("double", 1, 8, 9), ("float4", 1, 16, 17), ("unsigned char", 1, 31, 2),
        ("float", 2, 0, 8), ("float", 3, 0, 12), ("float", 4, 0, 16), ("float", 8, 0, 32),
        ("float", 32, 0, 32), ("double", 2, 0, 16), ("double", 4, 0, 32), ("float4", 2, 0, 32),
        ("float", 0, 0, 1), ("float4", 0, 16, 1), ("short", 16, 0, 32), ("short", 8, 0, 16),
    ],
)  # fmt: skip
def test_widths_strides_and_offsets(name, stride, offset, sectors):
    """What an H200 counts for one warp: a stride or an offset costs sectors, never requests."""
    got = measured(name, LANE * stride, offset)
    assert got == {key: 1 if key[0] == "requests" else sectors for key in NAMES}
    assert got == counted(name, LANE * stride, offset)


@pytest.mark.parametrize("active", [0, 1, 8, 16, 31])
@pytest.mark.parametrize("stride", [0, 1, 8])
def test_idle_lanes(active, stride):
    """Only active lanes count, and a warp without any makes no request."""
    pattern = np.where(LANE < active, LANE * stride, -1)
    got = measured("float", pattern)
    assert got == counted("float", pattern)
    assert got["requests", "ld"] == (active > 0)


@pytest.mark.parametrize("block", [32, 40, 96, 1, 250])
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_every_warp_of_every_block_counts(block, blocks):
    """Partial warps, warps that are idle as a whole, blocks alike and unlike."""
    threads = np.arange(block * blocks)
    for pattern in (
        threads,
        threads % block,
        threads % 3,
        np.zeros_like(threads),
        np.where(threads % block < 33, threads, -1),
        np.where(threads // block == 0, threads, -1),
    ):
        assert measured("float", pattern, block=block) == counted("float", pattern, block=block)


@settings(max_examples=60)
@given(data=st.data())
def test_any_pattern(data):
    """Scattered, repeated, descending, with gaps: the same as counting on fingers."""
    name = data.draw(st.sampled_from(sorted(TYPES)))
    size = data.draw(st.sampled_from([1, 3, 40, ELEMENTS - 1]))
    element = st.integers(-1, size)
    pattern = data.draw(st.lists(element, min_size=64, max_size=64))
    offset = TYPES[name] * data.draw(st.integers(0, 32 // TYPES[name]))
    block = data.draw(st.sampled_from([32, 64, 16]))
    assert measured(name, pattern, offset, block) == counted(name, pattern, offset, block)


def test_totals_are_the_sum_of_the_lines():
    """Each line has its own counters, and the launch their sum."""
    arrays = np.zeros(64, np.float32), np.zeros(64, np.float32), np.arange(64, dtype=np.int32)
    report = simt.profile(kernels["float"], (2,), (32,), (*arrays, 64))
    assert sorted(report.lines) == [3, 4, 5]
    for name in NAMES.values():
        assert report.counters[name] == sum(line[name] for line in report.lines.values())
    assert report.counters[NAMES["requests", "ld"]] == 4
    assert report.counters[NAMES["requests", "st"]] == 2


def test_loops_and_divergence_add_up():
    """An access in a loop counts each time, one in a branch for the lanes that took it."""
    source = """__global__ f(const float* x, float* y) {
        int t = threadIdx.x;
        float v = 0;
        for (int i = 0; i < t % 4 + 1; ++i)
            v += x[t + 64 * i];
        if (t % 2)
            y[t] = v;
    }"""
    x, y = np.zeros(256, np.float32), np.zeros(64, np.float32)
    lines = simt.profile(kernel(source), (3,), (64,), (x, y)).lines
    assert lines[5][NAMES["requests", "ld"]] == 3 * 2 * 4
    assert lines[5][NAMES["sectors", "ld"]] == 3 * 2 * 4 * 4
    assert lines[7][NAMES["requests", "st"]] == 3 * 2
    assert lines[7][NAMES["sectors", "st"]] == 3 * 2 * 4


def test_many_blocks():
    """More blocks than run at once: nothing is counted twice, nothing is lost."""
    source = "__global__ f(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] += 1; }"
    y = np.zeros(256 * 1000, np.float32)
    counters = simt.profile(kernel(source), (1000,), (256,), (y,)).counters
    assert [
        counters[NAMES[what, op]] for what in ("requests", "sectors") for op in ("ld", "st")
    ] == [8000, 8000, 32000, 32000]
    assert y.tolist() == [1.0] * y.size


@pytest.mark.parametrize("schedule", ["lowest", "highest", 5])
def test_the_order_of_execution_counts_the_same(schedule):
    """Counters of a kernel whose warps part and join do not hang on the schedule."""
    text = entry(
        """.reg .pred %p; .reg .b32 %t, %n; .reg .b64 %y; ld.param.u64 %y, [y];
        mov.u32 %t, %tid.x; mad.wide.u32 %y, %t, 4, %y; and.b32 %n, %t, 31;
        setp.lt.u32 %p, %n, 7; @%p bra A; st.global.u32 [%y+512], %t; bra B;
        A: st.global.u32 [%y], %t; B: bar.warp.sync -1;
        st.global.u32 [%y+256], %t;""",
        ".param .u64 y",
    )
    y = np.zeros(256, np.uint32)
    report = simt.profile(simt.from_ptx(text), (2,), (64,), (y,), schedule=schedule)
    assert report.counters[NAMES["requests", "st"]] == 2 * 2 * 3
    assert report.counters[NAMES["sectors", "st"]] == 2 * 2 * (1 + 4 + 4)


def test_what_does_not_count():
    """Shared memory, local memory and arguments are no global accesses; generic addresses count
    where they lead."""
    source = """__global__ f(float* y, int n) {
        __shared__ float s[64];
        float a[4] = {1, 2, 3, 4};
        s[threadIdx.x] = a[n & 3];
        __syncthreads();
        float* p = n > 5 ? y : s;
        p[threadIdx.x] = 7;
    }"""
    for n, requests in ((0, 0), (9, 2)):
        report = simt.profile(kernel(source), (1,), (64,), (np.zeros(64, np.float32), n))
        assert report.counters[NAMES["requests", "st"]] == requests
        assert report.counters[NAMES["requests", "ld"]] == 0


def test_a_load_held_back_by_its_guard_is_no_request():
    """A predicated load counts for the lanes whose guard holds; with none there is no request."""
    text = entry(
        """.reg .pred %p; .reg .b32 %t, %v, %n; .reg .b64 %x;
        ld.param.u64 %x, [x]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;
        mad.wide.u32 %x, %t, 4, %x; setp.lt.u32 %p, %t, %n;
        @%p ld.global.u32 %v, [%x]; @%p st.global.u32 [%x], %v;""",
        ".param .u64 x, .param .u32 n",
    )
    for n, requests, sectors in ((0, 0, 0), (1, 1, 1), (9, 1, 2), (40, 2, 5), (64, 2, 8)):
        report = simt.profile(simt.from_ptx(text), (1,), (64,), (np.zeros(64, np.uint32), n))
        for op in ("ld", "st"):
            got = [report.counters[NAMES[what, op]] for what in ("requests", "sectors")]
            assert got == [requests, sectors]


def test_reports():
    """As text, as JSON, and with the names that Nsight Compute uses."""
    import json

    arrays = np.zeros(64, np.float32), np.zeros(64, np.float32), np.arange(64, dtype=np.int32)
    report = simt.profile(kernels["float"], (2,), (32,), (*arrays, 64))
    facts = json.loads(report.to_json())
    assert facts["counters"][NAMES["sectors", "ld"]] == 16
    assert (facts["kernel"], facts["grid"], facts["block"]) == ("f", [2, 1, 1], [32, 1, 1])
    assert NAMES["sectors", "ld"] in str(report)
