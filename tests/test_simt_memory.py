"""Memory: what an access hits, what it misses, and how the message says so."""

import numpy as np
import pytest
from ptx_lanes import entry
from simt_runs import kernel, needs_nvrtc, run

from helpers import simt

pytestmark = needs_nvrtc


def defect(source, grid, block, *args, **options) -> simt.Defect:
    """The first defect of a launch."""
    with pytest.raises(simt.Defect) as caught:
        kernel(source)(grid, block, args, **options)
    return caught.value


def floats(count):
    return np.zeros(count, np.float32)


# ---------------------------------------------------------------------------- out of bounds
READ = """__global__ f(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] =
        x[i + n];
}"""


def test_one_past_the_end():
    """Array, size, element, block, thread, line and source text: all that a learner needs."""
    error = defect(READ, (4,), (64,), floats(256), floats(256), 1)
    assert str(error).splitlines() == [
        "out of bounds: Invalid __global__ read of size 4 bytes: just past the end of `x` "
        "(1024 B), element 256 of 256",
        "  in kernel f, block 3, thread 63",
        "  kernel.cu:4: x[i + n];",
    ]
    assert (error.kind, error.array) == ("out of bounds", "x")
    assert (error.kernel, error.block, error.thread, error.line) == ("f", 3, 63, 4)


@pytest.mark.parametrize(
    ("shift", "text", "thread"),
    [
        (3, "just past the end of `x` (1024 B), element 256 of 256", 61),
        (-1, "4 bytes before the start of `x` (1024 B), element -1 of 256", 0),
        (1000, "2976 bytes past the end of `x` (1024 B), element 1000 of 256", 0),
        (-1000, "4000 bytes before the start of `x` (1024 B), element -1000 of 256", 0),
    ],
)
def test_how_far_it_misses(shift, text, thread):
    """The distance is in bytes, the element as the kernel counts them."""
    error = defect(READ, (4,), (64,), floats(256), floats(256), shift)
    assert text in error.message
    assert error.thread == thread


def test_block_and_thread_in_two_dimensions():
    """Places of a 2-D launch are named by their x, y and z."""
    source = """__global__ f(float* y, int n) {
        int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
        y[i * n + j] = 1;
    }"""
    error = defect(source, (2, 2), (8, 8), floats(15 * 16), 16)
    assert (error.block, error.thread) == ((0, 1, 0), (0, 7, 0))
    assert "Invalid __global__ write of size 4 bytes: just past the end of `y`" in error.message


def test_vector_access_half_over_the_end():
    """A float4 whose first bytes are inside and whose last are not is out of bounds."""
    source = """__global__ f(const float4* x, float* y) { y[threadIdx.x] = x[threadIdx.x].w; }"""
    x = floats(14)
    error = defect(source, (1,), (4,), x, floats(4))
    wide = """__global__ f(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }"""
    error_wide = defect(wide, (1,), (4,), x, floats(16))
    assert (error.kind, error_wide.kind) == ("out of bounds", "out of bounds")
    assert "its last 8 of 16 bytes lie past the end of `x` (56 B)" in error_wide.message
    assert error_wide.thread == 3


def test_a_wild_pointer():
    """An address near no array says so instead of counting terabytes."""
    source = "__global__ f(float* y, long long at) { y[0] = *(float*)at; }"
    assert "lies in no array" in defect(source, (1,), (1,), floats(1), 64).message
    assert "lies in no array" in defect(source, (1,), (1,), floats(1), -4096).message


def test_no_array_at_all():
    """A kernel without array arguments has nothing to hit."""
    source = "__global__ f(long long at) { *(float*)at = 1; }"
    assert "the kernel was given none" in defect(source, (1,), (1,), 64).message


def test_an_empty_array():
    """An array of no elements has no element 0."""
    error = defect("__global__ f(float* y) { y[0] = 1; }", (1,), (1,), floats(0))
    assert "just past the end of `y` (0 B), element 0 of 0" in error.message


def test_neighbouring_arrays_are_far_apart():
    """An index beyond one array never lands in the next by luck."""
    error = defect(READ, (1,), (4,), floats(4), floats(4), 4)
    assert error.array == "x"


def test_inactive_lanes_may_point_anywhere():
    """Only active lanes are checked: the guard `if (i < n)` is enough."""
    source = """__global__ f(const float* x, float* y, int n) {
        int i = threadIdx.x;
        if (i < n) y[i] = x[i] + 1;
    }"""
    *_, y, _ = run(source, (1,), (96,), floats(70), floats(70), 70)
    assert y.tolist() == [1.0] * 70


# ---------------------------------------------------------------------------- alignment
def test_a_misaligned_vector():
    """A float4 at a place that is no multiple of 16 bytes faults on the hardware."""
    source = """__global__ f(const float* x, float4* y, int n) {
        y[threadIdx.x] = *(const float4*)(x + n + 4 * threadIdx.x);
    }"""
    error = defect(source, (1,), (4,), floats(64), floats(16), 3)
    assert error.kind == "misaligned"
    assert (error.array, error.line, error.thread) == ("x", 2, 0)
    assert "Invalid __global__ read of size 16 bytes at `x` + 12 B" in error.message
    assert "12 bytes off a 16-byte boundary" in error.message


def test_a_view_keeps_its_place():
    """A slice that starts off a boundary is misaligned here as it would be on a GPU, and its own
    length bounds it although the allocation goes on."""
    source = """__global__ f(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }"""
    whole = np.arange(64, dtype=np.float32)
    error = defect(source, (1,), (4,), whole[1:17], floats(16))
    assert (error.kind, error.array) == ("misaligned", "x")
    y = floats(16)
    kernel(source)((1,), (4,), (whole[4:20], y))
    assert np.array_equal(y, whole[4:20])
    error = defect(source, (1,), (5,), whole[4:20], floats(20))
    assert (error.kind, error.array) == ("out of bounds", "x")


def test_views_of_one_allocation():
    """Input and output may be slices of one array; nothing outside the output is written."""
    whole = np.arange(100, dtype=np.float32)
    kernel(READ)((1,), (10,), (whole[20:31], whole[50:60], 1))
    assert np.array_equal(whole[50:60], np.arange(21, 31))
    assert np.array_equal(np.delete(whole, np.s_[50:60]), np.delete(np.arange(100), np.s_[50:60]))


def test_misaligned_shared_memory():
    """Shared memory has the same boundaries."""
    source = """__global__ f(int* y) {
        __shared__ __align__(16) char s[64];
        *(int*)(s + threadIdx.x + 1) = 1;
        __syncthreads();
        y[0] = s[0];
    }"""
    error = defect(source, (1,), (2,), np.zeros(1, np.int32))
    assert (error.kind, error.line) == ("misaligned", 3)
    assert "at `s` + 1 B: misaligned" in error.message


# ---------------------------------------------------------------------------- shared, local
def test_shared_memory_has_an_end():
    """A store behind the last byte names the variable and the size."""
    source = """__global__ f(int* y) {
        __shared__ int first[4], tile[32];
        first[threadIdx.x % 4] = 1;
        tile[threadIdx.x] = 1;
        __syncthreads();
        y[threadIdx.x] = tile[threadIdx.x % 32] + first[0];
    }"""
    error = defect(source, (1,), (33,), np.zeros(33, np.int32))
    assert error.kind == "out of bounds"
    assert (error.line, error.thread) == (4, 32)
    assert "write of size 4 bytes" in error.message
    assert "__shared__" in error.message
    assert "just past the end of `tile` (128 B)" in error.message


def test_dynamic_shared_memory_has_the_size_of_the_launch():
    """One float too few in the launch is found at the thread that needs it."""
    source = """__global__ f(float* y) {
        extern __shared__ float s[];
        s[threadIdx.x] = 1;
        __syncthreads();
        y[threadIdx.x] = s[threadIdx.x];
    }"""
    error = defect(source, (2,), (64,), floats(64), shared_mem=252)
    assert (error.line, error.block, error.thread) == (3, 0, 63)
    assert "just past the end of `s` (252 B)" in error.message
    run(source, (1,), (64,), floats(64), shared=256)


def test_shared_memory_before_its_start():
    """A negative index misses as well."""
    source = "__global__ f(int* y, int n) { __shared__ int s[8]; s[n] = 1; y[0] = s[0]; }"
    error = defect(source, (1,), (1,), np.zeros(1, np.int32), -1)
    assert "4 bytes before the start of `shared memory` (32 B)" in error.message


def test_local_memory_has_an_end():
    """An index beyond a thread's own array does not reach another thread's."""
    source = """__global__ f(int* y, int n) {
        int a[4] = {1, 2, 3, 4};
        a[n] = threadIdx.x;
        y[threadIdx.x] = a[threadIdx.x % 4] + a[(threadIdx.x + n) % 4];
    }"""
    run(source, (1,), (64,), np.zeros(64, np.int32), 2)
    error = defect(source, (1,), (64,), np.zeros(64, np.int32), 4)
    assert (error.kind, error.line) == ("out of bounds", 3)
    assert "local memory" in error.message


# ---------------------------------------------------------------------------- several arrays
def test_lanes_of_one_instruction_in_several_arrays():
    """A pointer chosen by the lane may lead into either array, for loads and for stores."""
    source = """__global__ f(float* a, float* b, float* c) {
        int t = threadIdx.x;
        float* mine = t % 3 ? a : b;
        c[blockIdx.x * 32 + t] = mine[t];
        (t < 8 ? a : b)[t] = 10 * t;
    }"""
    a, b = np.arange(32, dtype=np.float32), np.arange(32, dtype=np.float32) + 100
    t = np.arange(32)
    after_a, after_b, c = run(source, (1,), (32,), a, b, floats(32))
    assert np.array_equal(c, np.where(t % 3, a, b))
    assert np.array_equal(after_a, np.where(t < 8, 10 * t, a))
    assert np.array_equal(after_b, np.where(t < 8, b, 10 * t))
    with simt.limits(races=False):  # blocks read what others write: only the ways are tried here
        run(source, (3,), (32,), floats(32), floats(32), floats(96))


def test_values_that_differ_by_block_in_several_arrays():
    """Addresses alike in all blocks, values not: each lane's array gets the last block's value."""
    source = """__global__ f(int* a, int* b) {
        (threadIdx.x < 16 ? a : b)[threadIdx.x] = gridDim.x - blockIdx.x > 0 ? 7 : blockIdx.x;
    }"""
    a, b = run(source, (4,), (32,), np.zeros(32, np.int32), np.zeros(32, np.int32))
    assert a.tolist() == [7] * 16 + [0] * 16
    assert b.tolist() == [0] * 16 + [7] * 16


def test_one_stray_lane_among_several_arrays():
    """The lanes that hit something do their work, the stray one is the defect."""
    source = """__global__ f(const float* a, const float* b, float* c) {
        int t = threadIdx.x;
        c[t] = (t % 2 ? a : b)[t];
    }"""
    a, b, c = floats(32) + 1, floats(31) + 2, floats(33)
    report = simt.profile(kernel(source), (1,), (33,), (a, b, c))
    (error,) = report.defects
    assert (error.array, error.thread) == ("b", 32)
    assert c.tolist() == [2.0, 1.0] * 16 + [0.0]


# ---------------------------------------------------------------------------- generic addresses
def test_generic_addresses():
    """A pointer may lead into global, shared or local memory, known only at run time."""
    source = """__global__ f(const float* x, float* y, int n) {
        __shared__ float s[64];
        int t = threadIdx.x;
        float mine[2] = {1000.0f + t, 2000.0f};
        mine[n & 1] += 0.5f;
        s[t] = -x[t];
        __syncthreads();
        const float* p = t % 3 == 0 ? x + (t ^ 3) : t % 3 == 1 ? s + (t ^ 3) : mine;
        float* q = t % 2 ? s + t : y + 64 + t;
        y[t] = *p;
        __syncthreads();
        *q = 7;
        __syncthreads();
        y[128 + t] = s[t];
    }"""
    x = np.arange(1, 65, dtype=np.float32)
    _, y, _ = run(source, (1,), (64,), x, floats(192), 0)
    t = np.arange(64)
    assert np.array_equal(y[:64], np.choose(t % 3, [x[t ^ 3], -x[t ^ 3], 1000.5 + t]))
    assert np.array_equal(y[64:128], np.where(t % 2, 0, 7))
    assert np.array_equal(y[128:], np.where(t % 2, 7, -x))


def test_a_generic_address_beyond_shared_memory():
    """Out of range is out of range through a generic pointer, too."""
    source = """__device__ void put(float* p, int i) { p[i] = 1; }
    __global__ f(float* y, int n) {
        __shared__ float s[8];
        put(n > 100 ? y : s, threadIdx.x + n);
        __syncthreads();
        y[0] = s[0];
    }"""
    error = defect(source, (1,), (4,), floats(1), 6)
    assert (error.kind, error.thread) == ("out of bounds", 2)
    assert "__shared__ write" in error.message


def test_an_address_of_local_memory_in_a_kernel_that_has_none():
    """A made-up address in the local window is out of bounds, not a crash."""
    text = entry(".reg .b64 %d<2>; .reg .b32 %r<2>; mov.u64 %d1, 16; ld.local.u32 %r1, [%d1];")
    with pytest.raises(simt.Defect, match="__local__ read .*`local memory` .0 B."):
        simt.from_ptx(text)((1,), (1,), ())


# ---------------------------------------------------------------------------- profile, read-only
def test_profile_collects_defects_once_a_line():
    """Every faulty line is one entry; the lanes without fault do their work."""
    source = """__global__ f(const float* x, float* y) {
        int t = threadIdx.x;
        float v = x[t + 8];
        v += x[t];
        y[t - 2] = v;
    }"""
    x, y = floats(32) + 1, floats(32)
    report = simt.profile(kernel(source), (2,), (32,), (x, y))
    assert [(d.kind, d.line, d.array, d.thread) for d in report.defects] == [
        ("out of bounds", 3, "x", 24),
        ("out of bounds", 5, "y", 0),
    ]
    assert y.tolist() == [2.0] * 22 + [1.0] * 8 + [0.0] * 2


def test_a_defect_leaves_the_next_launch_alone():
    """After an error the same kernel runs, and the arrays are those of the caller."""
    found = kernel(READ)
    x, y = np.arange(256, dtype=np.float32), floats(256)
    with pytest.raises(simt.Defect):
        found((4,), (64,), (x, y, 1))
    found((4,), (64,), (x, y, 0))
    assert np.array_equal(x, y)


def test_stray_lanes_read_zero_and_count_nothing():
    """A lane that may not load gets 0, and its access is in no counter."""
    report = simt.profile(kernel(READ), (1,), (64,), (floats(32) + 3, y := floats(64) + 9, 0))
    assert y.tolist() == [3.0] * 32 + [0.0] * 32
    prefix = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
    assert report.counters[prefix.format("requests")] == 1
    assert report.counters[prefix.format("sectors")] == 4


def test_writing_through_a_const_pointer_to_a_read_only_array():
    """An array that Python protects stays as it is, whatever the kernel casts away."""
    source = "__global__ f(const float* x) { ((float*)x)[threadIdx.x] = 1; }"
    x = floats(4)
    x.flags.writeable = False
    error = defect(source, (1,), (4,), x)
    assert (error.kind, error.array, error.line) == ("write to read-only memory", "x", 1)
    assert not x.any()


def test_any_layout_of_the_allocation():
    """Contiguous parts of transposed, offset and odd-sized allocations all have the right bytes."""
    source = "__global__ f(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"
    base = np.arange(60, dtype=np.float32)
    transposed = np.asfortranarray(base.reshape(6, 10)).T[2]
    odd = np.zeros(103, np.uint8)[:100].view(np.float32)
    odd[:] = base[:25]
    for x in (transposed, base[5:11], base.reshape(3, 4, 5)[1, 2], odd, np.array(base)[::1]):
        y = floats(x.size)
        kernel(source)((1,), (x.size,), (x, y))
        assert np.array_equal(y, 2 * x.ravel())
