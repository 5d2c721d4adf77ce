"""Where two runs part: the first line and lane, whatever the order in which warps ran."""

import dataclasses

import numpy as np
import pytest
from ptx_lanes import entry
from simt_runs import SCHEDULES, kernel, needs_nvrtc
from test_simt_trace import SHUFFLE, line_of, matrix, traced, words

from helpers import simt, versions


def softmax(x, source=None, name="v1", threads=64, **how):
    """The trace of a version, or of a changed source of it, on x."""
    version = versions.get(name)
    found = simt.RawKernel(source or version.source, version.entry)
    shape = x.shape
    return simt.trace(found, (shape[0],), (threads,), (x, np.empty_like(x), *shape), **how)


@pytest.fixture(scope="module")
def v1():
    return softmax(matrix(1, 256))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3", "v4", "naive_f16"])
def test_the_schedule_is_no_difference(name, schedule):
    """A kernel without races does the same in every thread, in whatever order warps run."""
    one, two = (traced(name, rows=2, cols=40, schedule=s)[0] for s in ("lowest", schedule))
    assert simt.diff(one, two) is None
    assert simt.diff(two, one) is None


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_waiting_for_the_warp_is_no_difference(schedule):
    """A shuffle whose lanes come one after another counts once, when it has its result."""

    def run(order):
        out = np.zeros(32, np.uint32)
        found = simt.from_ptx(entry(SHUFFLE, ".param .u64 out"))
        return simt.trace(found, (1,), (32,), (out,), schedule=order)

    assert simt.diff(run("lowest"), run(schedule)) is None


def test_a_trace_and_its_json(v1):
    """A trace read back from JSON is no other."""
    assert simt.diff(v1, simt.Trace.from_json(v1.to_json())) is None


def test_other_inputs_part_where_they_are_read(v1):
    """Column 70 differs: thread 6 sees it first, in its second turn."""
    x = matrix(1, 256)
    x[0, 70] = 9
    found = simt.diff(v1, softmax(x))
    line = line_of(v1, "fmaxf(local_max")
    assert (found.kind, found.line, found.thread) == ("value", line, 6)
    assert found.found == (float(matrix(1, 256)[0, 70]), 9.0)
    assert str(found) == (
        f"line {line}, thread 6: x[70] is {found.found[0]} in the first run, 9.0 in the second"
    )


def test_values_are_compared_bit_by_bit():
    """-0 is not +0, and a NaN is itself."""
    x = matrix(1, 64)
    x[0, 3], x[0, 9] = 0.0, np.nan
    y = x.copy()
    assert simt.diff(softmax(x), softmax(y)) is None
    y[0, 3] = -0.0
    found = simt.diff(softmax(x), softmax(y))
    assert (found.thread, str(found.found[1])) == (3, "-0.0")


def test_other_sizes_part_at_the_parameter(v1):
    """Fewer columns, in smaller arrays that lie elsewhere: not the addresses differ but `cols`."""
    found = simt.diff(v1, softmax(matrix(1, 200)))
    assert (found.kind, found.what, found.found) == ("value", "cols is", (256, 200))


def test_another_block_size(v1):
    """Twice the threads show where blockDim.x is read."""
    found = simt.diff(v1, softmax(matrix(1, 256), threads=128))
    assert (found.what, found.found) == ("blockDim.x is", (64, 128))


@needs_nvrtc
def test_more_threads_that_change_nothing():
    """Threads that only one block has are the difference when all others agree."""
    source = "__global__ f(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    x = np.arange(64, dtype=np.float32)
    one, two = (words(source, threads, x) for threads in (32, 64))
    found = simt.diff(one, two)
    assert (found.kind, found.thread, found.lines) == ("threads", 32, (None, 1))
    assert "there are 32 threads in the first run, 64 in the second" in str(found)
    assert simt.diff(two, one).lines == (1, None)


@needs_nvrtc
def test_two_versions_part_at_a_missing_barrier(v1):
    """Without the barrier of the maximum's rounds the next thing a thread does is another."""
    barrier = next(t for t in v1.source if "separates this round's writes" in t)
    source = versions.get("v1").source.replace(barrier + "\n", "", 1)
    found = simt.diff(v1, softmax(matrix(1, 256), source))
    line = v1.source.index(barrier) + 1
    assert (found.kind, found.thread, found.lines) == ("path", 0, (line, line - 1))
    assert "bar.sync" in found.found[0]
    assert "ld.shared" in found.found[1]


@needs_nvrtc
def test_two_versions_part_at_a_wrong_index(v1):
    """A partner off by one: the first address that differs."""
    good = "scratch[tid] += scratch[tid + stride]"
    source = versions.get("v1").source.replace(good, good.replace("stride]", "stride - 1]"))
    found = simt.diff(v1, softmax(matrix(1, 256), source))
    assert (found.kind, found.line, found.thread) == ("address", line_of(v1, good), 0)
    assert found.found == ("scratch[32]", "scratch[31]")
    assert str(found).endswith("load of scratch[32] in the first run, scratch[31] in the second")


@needs_nvrtc
def test_two_versions_that_do_the_same(v1):
    """A change that only renames and adds comments and arithmetic is no difference."""
    source = versions.get("v1").source.replace("local_sum", "mine")
    source = "// one more line\n" + source
    assert simt.diff(v1, softmax(matrix(1, 256), source)) is None


@needs_nvrtc
def test_two_versions_part_at_a_value(v1):
    """Another neutral element: the first thing stored that differs."""
    source = versions.get("v1").source.replace("float local_sum = 0.0f", "float local_sum = 1.0f")
    found = simt.diff(v1, softmax(matrix(1, 256), source))
    assert (found.kind, found.what) == ("value", "scratch[0] becomes")
    assert found.found[1] - found.found[0] == pytest.approx(1.0, abs=1e-5)


@needs_nvrtc
def test_a_race_shows_between_schedules():
    """One warp reads what another writes without a barrier: some order gives other values."""
    source = """__global__ f(const float* x, float* y) {
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = 0.0f;
        __syncthreads();
        float v = x[t];
        if (t < 32) s[t] = v; else v = s[t - 32];
        y[t] = v;
    }"""
    x = np.arange(1, 65, dtype=np.float32)
    first = words(source, x=x)
    found = [simt.diff(first, words(source, x=x, schedule=s)) for s in ("highest", 1, 2, 3, 4)]
    found = [d for d in found if d is not None]
    assert found
    for d in found:
        assert (d.kind, d.line, d.thread) == ("value", 7, 32)
        assert d.what == "s[0] is"
        assert sorted(d.found) == [0.0, 1.0]


@needs_nvrtc
def test_one_run_goes_on():
    """A loop that runs once more: its last test is the first difference, a branch."""
    source = """__global__ f(const float* x, float* y, int n) {
        float v = 0.0f;
        #pragma unroll 1
        for (int i = 0; i < n; ++i) v += x[threadIdx.x];
        y[threadIdx.x] = v;
    }"""
    x = np.ones(32, np.float32)
    runs = [
        simt.trace(kernel(source), (1,), (32,), (x, np.zeros_like(x), np.int32(n))) for n in (3, 4)
    ]
    assert simt.diff(*runs).found == (3, 4)  # the parameter itself
    blind = [without_values(run) for run in runs]
    found = simt.diff(*blind)
    assert (found.kind, found.line, found.thread) == ("path", 4, 0)
    assert found.found == ("goes on", "takes the branch")


def without_values(trace):
    """The same path, with nothing known of what registers hold."""
    steps = tuple(dataclasses.replace(step, writes=()) for step in trace.steps)
    return dataclasses.replace(trace, steps=steps)


def test_only_traces_can_be_compared(v1):
    """Anything else is refused, with the way to get a trace."""
    with pytest.raises(ValueError, match=r"helpers.simt.trace\(…\)"):
        simt.diff(v1, v1.to_json())
