"""Atomics: lanes take turns in the order of blocks and threads, and find what the last one left."""

import numpy as np
import pytest
from atomic_cases import FORMS, LANES, PATTERNS, Form, listing, values
from isa_cases import agrees, bits_of
from simt_runs import kernel, needs_nvrtc, run

from helpers import simt
from helpers.simt import machine


def launch(form: Form, pattern: str, opcode: str):
    """(memory before, inputs, memory after, old values) of a case."""
    memory, index, b, c, active = values(form, pattern)
    dtype = f"u{bits_of(form.kind) // 8}"
    left, out = np.array(memory, dtype), np.zeros(LANES, dtype)
    arrays = [np.array(index, "u4"), *(np.array(v, dtype) for v in (b, c)), np.array(active, "u4")]
    simt.from_ptx(listing(form, opcode))((1,), (LANES,), (left, *arrays, out))
    return memory, zip(index, b, c, active, strict=True), left.tolist(), out.tolist()


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_lanes_take_turns(form, pattern):
    """Each lane finds what those before it left, and changes it by its own operand."""
    memory, lanes, left, found = launch(form, pattern, "atom")
    for lane, (at, b, c, active) in enumerate(lanes):
        want = memory[at] if active else 0
        assert same(form.kind, found[lane], want), (
            f"lane {lane} found {found[lane]:#x}, not {want:#x}"
        )
        if active:
            memory[at] = form.apply(memory[at], b, c)
    assert all(same(form.kind, a, b) for a, b in zip(left, memory, strict=True))


@pytest.mark.parametrize("form", [f for f in FORMS if f.operation not in ("exch", "cas")], ids=str)
def test_red_leaves_what_atom_leaves(form):
    """red is atom without a result."""
    for pattern in PATTERNS:
        assert launch(form, pattern, "red")[2] == launch(form, pattern, "atom")[2]


def same(kind: str, got: int, want: int) -> bool:
    return agrees(kind, got, (want & 0xFFFF, want >> 16) if kind.endswith("x2") else want)


# ---------------------------------------------------------------------------- many at once
@needs_nvrtc
@pytest.mark.parametrize("lanes", [1 << 16, 128])
def test_sums_round_in_the_order_of_threads(lanes, monkeypatch):
    """A float sum of many lanes at one address is the sum from the first to the last, however the
    blocks are cut into chunks."""
    monkeypatch.setattr(machine, "LANES", lanes)
    x = np.random.default_rng(3).standard_normal(700, dtype="f4")
    source = """__global__ f(const float* x, float* y, int n) {
        int i = blockIdx.x * 64 + threadIdx.x;
        if (i < n) atomicAdd(y, x[i]);
    }"""
    y = np.zeros(1, "f4")
    kernel(source)(11, 64, (x, y, x.size))
    assert y[0] == np.add.accumulate(x)[-1] != x.astype("f8").sum().astype("f4")


@needs_nvrtc
def test_one_instruction_may_reach_several_arrays():
    """Lanes whose pointers lead into different arrays, and into shared memory."""
    source = """__global__ f(int* x, int* y, int* out) {
        __shared__ int s[2];
        int t = threadIdx.x;
        if (t < 2) s[t] = 0;
        __syncthreads();
        int* place = t % 3 == 0 ? x + 1 : t % 3 == 1 ? y : &s[1];
        atomicAdd(place, t);
        __syncthreads();
        if (t == 0) out[0] = s[1];
    }"""
    x, y, out = run(source, 1, 96, np.zeros(2, "i4"), np.zeros(1, "i4"), np.zeros(1, "i4"))
    assert [x[0], x[1], y[0], out[0]] == [0, *(sum(range(k, 96, 3)) for k in range(3))]


@needs_nvrtc
@pytest.mark.parametrize(("start", "bound"), [(0, 99), (7, 0), (120, 99), (2**32 - 1, 2**32 - 1)])
def test_counters_go_round(start, bound):
    """atomicInc and atomicDec of a thousand lanes at once, from within the bound and beyond."""
    source = """__global__ f(unsigned* up, unsigned* down, unsigned bound, unsigned* found) {
        int i = blockIdx.x * 100 + threadIdx.x;
        found[2 * i] = atomicInc(up, bound);
        found[2 * i + 1] = atomicDec(down, bound);
    }"""
    up, down, found = (np.full(n, start, "u4") for n in (1, 1, 2000))
    kernel(source)(10, 100, (up, down, bound, found))
    a = b = start
    for i in range(1000):
        assert (found[2 * i], found[2 * i + 1]) == (a, b)
        a = 0 if a >= bound else a + 1
        b = bound if b == 0 or b > bound else b - 1
    assert (up[0], down[0]) == (a, b)


@needs_nvrtc
def test_a_mistake_at_one_lane_spares_the_others():
    """A stray lane is reported with its thread; where mistakes are collected, the rest count."""
    source = "__global__ f(int* x) { atomicAdd(x + (threadIdx.x == 40 ? 9 : threadIdx.x % 4), 1); }"
    x = np.zeros(4, "i4")
    (found,) = simt.profile(kernel(source), 1, 64, (x,)).defects
    assert (found.kind, found.thread, found.array) == ("out of bounds", 40, "x")
    assert x.tolist() == [15, 16, 16, 16]
