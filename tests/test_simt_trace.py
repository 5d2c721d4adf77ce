"""A recorded launch: what every step says, the state at any step, and the ways through them."""

import json

import numpy as np
import pytest
from ptx_lanes import entry
from simt_runs import SCHEDULES, kernel, needs_nvrtc

from helpers import launch, simt, versions
from helpers.simt.steps import lanes_of
from helpers.simt.trace import Trace

FULL = (1 << 32) - 1


def matrix(rows, cols, dtype=np.float32):
    return np.random.default_rng(0).standard_normal((rows, cols), dtype=np.float32).astype(dtype)


def traced(name, rows=1, cols=256, threads=64, **how):
    """(trace, x, y) of a version of the catalogue; y as the traced launch left it."""
    version = versions.get(name)
    x = matrix(rows, cols, version.np_dtype)
    y = np.empty_like(x)
    found = simt.RawKernel(version.source, version.entry)
    grid, shared = version.grid(rows, cols), version.shared(cols)
    return simt.trace(found, grid, (threads,), (x, y, rows, cols), shared, **how), x, y


@pytest.fixture(scope="module")
def v1():
    return traced("v1")


def where(trace, text: str, line: int | None = None) -> list[int]:
    """The steps whose PTX starts so, on a line if one is given."""
    return [
        s.index
        for s in trace.steps
        if trace.program[s.pc].ptx.startswith(text) and line in (None, trace.line(s.index))
    ]


def line_of(trace, text: str, nth: int = 0) -> int:
    """The number of the source line that contains a text."""
    return [k for k, line in enumerate(trace.source, 1) if text in line][nth]


def words(source: str, threads: int = 64, x=None, **how):
    """The trace of a kernel `f(const float* x, float* y)` in one block."""
    x = np.arange(threads, dtype=np.float32) if x is None else x
    return simt.trace(kernel(source), (1,), (threads,), (x, np.zeros_like(x)), **how)


# ---------------------------------------------------------------------------- the record
def test_a_small_launch_is_small_and_complete(v1):
    """V1 with 64 threads at 256 columns: under 1 MB of JSON, right results, every line there."""
    trace, x, y = v1
    assert len(trace.to_json()) < 1_000_000
    assert np.allclose(y, launch.expected("v1", x), rtol=1e-5)
    assert trace.threads == 64
    assert not trace.defects
    barriers = [n for n, text in enumerate(trace.source, 1) if "__syncthreads();" in text]
    assert set(barriers) <= set(trace.lines)
    assert str(trace).startswith("softmax_v1, block 0: ")


@pytest.mark.parametrize("name", ["v1", "v3", "v4", "naive_f16", "naive_bf16"])
def test_json_keeps_everything(name):
    """There and back is the same text, and the states of both are the same."""
    trace = traced(name, cols=20)[0]
    text = trace.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    again = Trace.from_json(text)
    assert again.to_json() == text
    for k in (0, len(trace) // 2, len(trace) - 1):
        one, two = trace.at(k), again.at(k)
        assert one.cells() == two.cells()
        assert one.registers(3) == two.registers(3)
        assert (one.lanes, one.counts) == (two.lanes, two.counts)


def test_json_of_another_format_is_refused():
    """A text that is no trace says so."""
    with pytest.raises(ValueError, match="record it again"):
        Trace.from_json('{"format": 0}')


def test_defects_survive_json():
    """A mistake found while tracing is in the trace, and in its JSON."""
    source = "__global__ f(const float* x, float* y) { y[threadIdx.x + 1] = x[threadIdx.x]; }"
    trace = Trace.from_json(words(source).to_json())
    (defect,) = trace.defects
    assert (defect.kind, defect.thread, defect.array) == ("out of bounds", 63, "y")


test_defects_survive_json = needs_nvrtc(test_defects_survive_json)


def test_loads_name_array_index_and_value(v1):
    """Thread t reads columns t, t + 64, … of x, and gets what is there."""
    trace, x, _ = v1
    loads = where(trace, "ld.global", line_of(trace, "fmaxf(local_max"))
    assert len(loads) == 4
    for turn, k in enumerate(loads):
        (touch,), (write,) = trace.steps[k].touches, trace.steps[k].writes
        assert (touch.kind, touch.space, touch.name) == ("load", "global", "x")
        assert touch.index.tolist() == [64 * turn + t for t in range(64)]
        assert write.values.tobytes() == x[0, 64 * turn : 64 * turn + 64].tobytes()
    assert trace.steps[loads[1]].touches[0].place(5) == "x[69]"


def test_stores_hold_what_is_stored(v1):
    """The values stored to y are y."""
    trace, _, y = v1
    for k in where(trace, "st.global"):
        (touch,) = trace.steps[k].touches
        assert touch.name == "y"
        assert touch.values[0].tobytes() == y[0, touch.index].tobytes()


def test_vectors_are_one_access_of_four_elements():
    """A float4 load: 16 bytes a lane, four registers, `x[0..3]`."""
    trace, x, _ = traced("v3")
    k = where(trace, "ld.global.v4")[0]
    (touch,) = trace.steps[k].touches
    assert (touch.unit, touch.width, touch.place(2)) == (4, 16, "x[8..11]")
    assert [w.values[2] for w in trace.steps[k].writes] == x[0, 8:12].tolist()


def test_one_block_of_several_is_recorded():
    """Block 2 of 3 works on row 2; its number may be a tuple."""
    for index in (2, (2,), (2, 0, 0)):
        trace, x, _ = traced("v1", rows=3, block_index=index)
        assert trace.block_index == 2
        k = where(trace, "ld.global")[0]
        assert trace.steps[k].touches[0].index[0] == 2 * 256
        assert trace.steps[k].writes[0].values.tobytes() == x[2, :64].tobytes()


def test_a_block_that_is_not_there():
    """Blocks are counted from 0, in a grid that the message gives."""
    for index in (3, -1, (0, 1)):
        with pytest.raises(simt.LaunchError, match=r"the grid is \(3, 1, 1\)"):
            traced("v1", rows=3, block_index=index)


def test_too_long_a_trace_says_how_to_trace_less():
    """More steps than allowed: one error with the line and the way out."""
    with pytest.raises(simt.BudgetExceeded, match="passes 100 steps at line .*fewer columns"):
        traced("v1", max_steps=100)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["v1", "v2", "v4"])
def test_tracing_changes_nothing(name, schedule):
    """The results are those of a plain launch, bit by bit."""
    y = traced(name, schedule=schedule)[2]
    version = versions.get(name)
    x, plain = matrix(1, 256), np.empty((1, 256), np.float32)
    found = simt.RawKernel(version.source, version.entry)
    found((1,), (64,), (x, plain, 1, 256), shared_mem=version.shared(256))
    assert y.tobytes() == plain.tobytes()


# ---------------------------------------------------------------------------- shared memory
def tree(values):
    """Rounds of V1's maximum in plain Python: [(cells before, cells after, stride)]."""
    cells, stride = list(values), len(values) // 2
    while stride:
        before = list(cells)
        cells[:stride] = [max(cells[t], cells[t + stride]) for t in range(stride)]
        yield before, list(cells), stride
        stride //= 2


def test_shared_memory_round_by_round(v1):
    """After each round the cells are those of the tree, each with its writer, line and value."""
    trace, x, _ = v1
    line = line_of(trace, "scratch[tid] = fmaxf")
    stores = where(trace, "st.shared", line)
    rounds = list(tree(x.reshape(4, 64).max(0).tolist()))
    assert len(stores) == len(rounds) == 6
    for k, (before, after, stride) in zip(stores, rounds, strict=True):
        cells = trace.at(k).cells("scratch")[:64]
        assert [c.value for c in cells] == after
        assert [c.before for c in cells] == before[:stride] + [None] * (64 - stride)
        assert [c.written for c in cells] == [t < stride for t in range(64)]
        assert [c.thread for c in cells] == list(range(64))
        assert all((c.line == line) == (c.step > stores[0] - 1) for c in cells)
        assert {c.step for c in cells[:stride]} == {k}
    assert cells[5].name == "scratch[5]"


def test_cells_that_a_step_reads(v1):
    """The second load of a round reads the upper half."""
    trace = v1[0]
    first, second = where(trace, "ld.shared", line_of(trace, "scratch[tid] = fmaxf"))[:2]
    for k, cells in ((first, range(32)), (second, range(32, 64))):
        assert [i for i, c in enumerate(trace.at(k).cells()) if c.read] == list(cells)


def test_cells_nobody_has_written(v1):
    """They have no value and no writer; 64 threads use a quarter of scratch[256]."""
    cell = v1[0].at(len(v1[0]) - 1).cells()[64]
    assert (cell.name, cell.value, cell.thread, cell.line) == ("scratch[64]", None, None, None)


def test_an_unknown_shared_variable():
    """The error lists those there are, dynamic ones too."""
    state = traced("v4", cols=20)[0].at(0)
    with pytest.raises(ValueError, match="has scratch, staged"):
        state.cells("tile")
    assert len(state.cells("staged")) == 20


@needs_nvrtc
def test_narrow_and_conflicting_writes():
    """16-bit cells hold two numbers; of several writers of a cell the last thread is named."""
    source = """#include <cuda_fp16.h>
    __global__ f(const float* x, float* y) {
        __shared__ __half h[64]; __shared__ float one;
        int t = threadIdx.x;
        h[t] = __float2half(x[t]);
        if (t < 40) one = x[t];
        __syncthreads();
        y[t] = __half2float(h[63 - t]) + one;
    }"""
    trace = words(source)
    state = trace.at(len(trace) - 1)
    assert [c.value for c in state.cells("h")] == [(2.0 * k, 2.0 * k + 1) for k in range(32)]
    (one,) = state.cells("one")
    assert (one.value, one.thread) == (39.0, 39)


@needs_nvrtc
def test_shared_atomics():
    """An atomic changes its cell, though no store ever names the value."""
    source = """__global__ f(const float* x, float* y) {
        __shared__ unsigned n;
        if (threadIdx.x == 0) n = 0;
        __syncthreads();
        atomicAdd(&n, threadIdx.x);
        __syncthreads();
        y[threadIdx.x] = n;
    }"""
    trace = words(source)
    (cell,) = trace.at(len(trace) - 1).cells("n")
    assert (cell.value, cell.line) == (sum(range(64)), 5)


# ---------------------------------------------------------------------------- lanes
def test_the_lanes_of_a_round(v1):
    """Stride 16: half of warp 0 works, the rest of it sits out, warp 1 is at the barrier."""
    trace = v1[0]
    line = line_of(trace, "scratch[tid] = fmaxf")
    state = trace.at(where(trace, "st.shared", line)[1])
    status = [lane.status for lane in state.lanes]
    assert status == ["active"] * 16 + ["idle"] * 16 + ["waiting"] * 32
    assert {lane.line for lane in state.lanes[32:]} == {line + 1}
    assert str(state) == (
        f"warp 0: 16 of 32 active on line {line} · warp 1: 32 of 32 waiting at line {line + 1}"
    )
    assert state.missing == FULL


@needs_nvrtc
def test_who_waits_at_a_barrier_and_who_is_missing():
    """Threads from 40 on come later, four have left: the others wait until the last arrives."""
    source = """__global__ f(const float* x, float* y) {
        __shared__ float s[64];
        int t = threadIdx.x;
        if (t >= 60) return;
        float v = x[t];
        if (t < 40) v *= 2.0f; else v = v / 3.0f + sqrtf(v);
        s[t] = v;
        __syncthreads();
        y[t] = s[59 - t];
    }"""
    early, late = (1 << 40) - 1, ((1 << 60) - 1) ^ ((1 << 40) - 1)
    trace = words(source, schedule="highest")
    first, second = where(trace, "bar.sync")
    assert (trace.steps[first].lanes, trace.steps[second].lanes) in ((early, late), (late, early))
    came = trace.steps[first].lanes
    assert (trace.steps[first].parked, trace.steps[first].released) == (came, 0)
    between = trace.at(second - 1)
    assert (between.waiting, between.missing) == (came, (early | late) ^ came)
    assert between.exited == 0xF << 60
    assert trace.steps[second].released == early | late
    assert trace.at(second + 1).waiting == 0


@needs_nvrtc
def test_lanes_that_wait_for_ever():
    """A barrier that some never reach: the others are still there at the last step."""
    source = """__global__ f(const float* x, float* y) {
        if (threadIdx.x < 32) asm volatile("bar.sync 0;"); else asm volatile("bar.sync 1;");
        y[threadIdx.x] = x[threadIdx.x];
    }"""
    trace = words(source)
    assert [d.kind for d in trace.defects] == ["divergent barrier"]
    last = trace.at(len(trace) - 1)
    assert {lane.status for lane in last.lanes if lane.thread < 32} == {"waiting"}
    assert not where(trace, "st.global")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v4"])
def test_every_thread_is_somewhere_at_every_step(name, schedule):
    """Active, waiting, idle and exited are all threads, each once; nobody leaves and comes back."""
    trace = traced(name, rows=3, cols=40, schedule=schedule)[0]
    gone = 0
    for k in range(len(trace)):
        state = trace.at(k)
        assert not state.step.lanes & (state.waiting | state.exited)
        assert not state.waiting & state.exited
        assert gone & ~state.exited == 0
        gone = state.exited
        active = {lane.thread for lane in state.lanes if lane.status == "active"}
        assert active == set(state.step.threads)
        assert [lane.thread for lane in state.lanes] == list(range(trace.threads))


# ---------------------------------------------------------------------------- shuffles, branches
def test_shuffles_say_who_reads_whom():
    """In V2's tree each lane gets the value of the lane above it, or its own at the end."""
    trace = traced("v2")[0]
    held = {w.register: w.values for w in trace.steps[0].writes}
    for k in range(where(trace, "shfl")[0]):
        held |= {w.register: w.values for w in trace.steps[k].writes}
    seen = []
    for k in where(trace, "shfl")[:5]:
        step = trace.steps[k]
        lane, source = lanes_of(step.acting), step.sources
        seen.append(int(source[0] - lane[0]))
        assert set((source // 32 - lane // 32).tolist()) == {0}
    assert seen in ([16, 8, 4, 2, 1], [1, 2, 4, 8, 16])


SHUFFLE = """
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;
    setp.lt.u32 %p, %r0, 16; @%p bra low;
    add.u32 %r1, %r0, 100; shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; bra join;
low: add.u32 %r1, %r0, 200; shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
join: st.global.u32 [%d1], %r2; ret;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_that_come_late(schedule):
    """Two halves of a warp meet at different instructions: each gets a step with its result."""
    out = np.zeros(32, np.uint32)
    found = simt.from_ptx(entry(SHUFFLE, ".param .u64 out"))
    trace = simt.trace(found, (1,), (32,), (out,), schedule=schedule)
    assert out.tolist() == [116 + t for t in range(16)] + [200 + t for t in range(16)]
    got = {}
    for k in where(trace, "shfl"):
        step = trace.steps[k]
        assert (step.done == 0) == (step.parked == step.lanes)
        threads = lanes_of(step.acting).tolist()
        if threads:
            got |= dict(zip(threads, step.writes[0].values.tolist(), strict=True))
            assert step.sources.tolist() == [t ^ 16 for t in threads]
    assert [got[t] for t in range(32)] == out.tolist()


def test_branches_part_lanes(v1):
    """Stride 8 at `if (tid < stride)`: the branch jumps over the body for all but eight threads."""
    trace = v1[0]
    k = where(trace, "@%p", line_of(trace, "scratch[tid] = fmaxf"))[2]
    step = trace.steps[k]
    assert step.lanes == (1 << 64) - 1
    assert step.lanes & ~step.taken == (1 << 8) - 1


def test_lanes_that_are_predicated_off():
    """A guarded instruction is executed by all and does something for those whose guard holds."""
    body = """
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;
    setp.lt.u32 %p, %r0, 5; mov.u32 %r1, 1; @!%p mov.u32 %r1, 2; st.global.u32 [%d1], %r1; ret;
    """
    out = np.zeros(32, np.uint32)
    trace = simt.trace(simt.from_ptx(entry(body, ".param .u64 out")), (1,), (32,), (out,))
    (k,) = where(trace, "@!%p mov.u32 %r1, 2")
    assert (trace.steps[k].lanes, trace.steps[k].acting) == (FULL, FULL & ~31)
    assert out.tolist() == [1] * 5 + [2] * 27
    names = [{h.register: h.value for h in trace.at(k).registers(t)} for t in (4, 5)]
    assert [n["%r1"] for n in names] == [1, 2]


# ---------------------------------------------------------------------------- registers
def test_registers_of_a_thread(v1):
    """Values before and after, and where they come from when that is certain."""
    trace, x, _ = v1
    k = where(trace, "max.f32", line_of(trace, "fmaxf(local_max"))[1]
    held = {h.register: h for h in trace.at(k).registers(7)}
    newest = trace.at(k).registers(7)[0]
    assert newest.value == max(x[0, 7], x[0, 71])
    assert newest.before == x[0, 7]
    assert (newest.line, newest.step) == (trace.line(k), k)
    origins = {h.origin: h.value for h in held.values() if h.origin}
    assert origins["x[71]"] == x[0, 71]
    assert origins["cols"] == 256
    assert origins["blockDim.x"] == 64


def test_registers_of_16_bit_kernels():
    """Their values are numbers, not bit patterns."""
    trace, x, y = traced("naive_f16", cols=3)
    k = where(trace, "ld.global")[0]
    (held,) = [h for h in trace.at(k).registers(0) if h.origin == "x[0]"]
    assert held.value == float(x[0, 0])
    k = where(trace, "st.global")[-1]
    assert float(trace.steps[k].touches[0].values[0][0]) == float(y[0, 2])


def test_a_thread_that_is_not_there(v1):
    """Threads are counted from 0 to 63."""
    with pytest.raises(ValueError, match="from 0 to 63"):
        v1[0].at(0).registers(64)


# ---------------------------------------------------------------------------- lines and ways
def test_how_often_lines_are_executed(v1):
    """Of V1: 256 columns, 6 rounds of 64 threads, one division a column."""
    trace = v1[0]
    rounds = line_of(trace, "for (int stride")
    assert trace.lines[line_of(trace, "fmaxf(local_max")] == 256
    assert trace.lines[line_of(trace, "scratch[tid] = value")] == 64
    assert trace.lines[rounds] == trace.lines[rounds + 1] == trace.lines[rounds + 2] == 6 * 64
    assert trace.lines[line_of(trace, "/ row_sum")] == 256
    half = trace.at(where(trace, "st.shared", rounds + 1)[2])
    assert half.counts[rounds + 1] == 3 * 64
    assert line_of(trace, "/ row_sum") not in half.counts


@needs_nvrtc
def test_lines_of_a_function_used_twice():
    """A function that is inlined at two places is executed at both."""
    source = """__device__ float twice(float v) {
        return v * 1.5f + 0.5f;
    }
    __global__ f(const float* x, float* y) {
        float v = twice(x[threadIdx.x]);
        __syncthreads();
        y[threadIdx.x] = twice(v);
    }"""
    assert words(source).lines[2] == 2 * 64


def test_ways_through_the_steps(v1):
    """The next and the previous step of a line, the next barrier, the steps of a thread."""
    trace = v1[0]
    line = line_of(trace, "fmaxf(local_max")
    turns, k = [], 0
    while (k := trace.next(k, line)) is not None:
        turns.append(k)
    assert {trace.line(k) for k in turns} == {line}
    assert len([k for k in turns if trace.steps[k].lanes == (1 << 64) - 1]) >= 4
    back, k = [], len(trace) - 1
    while (k := trace.previous(k, line)) is not None:
        back.append(k)
    assert back[::-1] == turns
    assert trace.line(trace.next(0)) != trace.line(0)
    barriers, k = [], -1
    while (k := trace.next_barrier(k)) is not None:
        barriers.append(k)
    assert len(barriers) == 2 * (1 + 6) + 1
    assert trace.previous_barrier(barriers[3]) == barriers[2]
    assert trace.previous_barrier(0) is None
    assert trace.next(len(trace) - 1) is None
    own = trace.steps_of(40)
    assert own == [s.index for s in trace.steps if 40 in s.threads]
    assert not set(own) & set(where(trace, "st.shared", line_of(trace, "scratch[tid] = fmaxf"))[1:])


def test_steps_outside_the_trace(v1):
    """Asking for a step that is not there names the range."""
    with pytest.raises(ValueError, match="from 0 to"):
        v1[0].at(len(v1[0]))
