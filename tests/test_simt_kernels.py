"""Kernels that every CUDA course has, with the numbers they should give, in any order of lanes."""

import numpy as np
import pytest
from simt_runs import SCHEDULES, kernel, needs_nvrtc, run

from helpers import simt
from helpers.simt import machine, nvrtc

pytestmark = needs_nvrtc
rng = np.random.default_rng(7)


def has_cooperative_groups() -> bool:
    """Are the headers there? They come with the CUDA C++ core libraries, a wheel of their own."""
    try:
        nvrtc.compile_ptx("#include <cooperative_groups.h>\n__global__ void f() {}")
    except simt.CompileError:
        return False
    return True


needs_groups = pytest.mark.skipif(
    nvrtc.available() and not has_cooperative_groups(),
    reason="needs cooperative_groups.h (pip install nvidia-cuda-cccl)",
)


# ---------------------------------------------------------------------------- sums
GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
"""


@needs_groups
def test_group_sums():
    """Sums over tiles of 32, 8 and 4 lanes, and over the lanes that a branch leaves together."""
    source = GROUPS + """
    __global__ f(const int* x, int* y, int n) {
        cg::thread_block block = cg::this_thread_block();
        auto warp = cg::tiled_partition<32>(block);
        auto eight = cg::tiled_partition<8>(warp);
        auto four = cg::tiled_partition<4>(block);
        int i = block.group_index().x * block.size() + block.thread_rank(), v = x[i];
        y[i] = cg::reduce(warp, v, cg::plus<int>());
        y[i + n] = cg::reduce(eight, v, cg::greater<int>());
        y[i + 2 * n] = cg::inclusive_scan(four, v);
        if (v % 3) {
            auto some = cg::coalesced_threads();
            y[i + 3 * n] = cg::reduce(some, v, cg::plus<int>()) + 1000 * some.thread_rank();
        }
        auto alike = cg::labeled_partition(warp, v % 4);
        y[i + 4 * n] = alike.size() + 100 * (int)alike.any(v > 40) + 1000 * (int)alike.all(v > 3);
        y[i + 5 * n] = four.shfl_xor(v, 1) + eight.match_any(v % 2);
    }"""  # fmt: skip
    n = 192
    x = rng.integers(0, 50, n, dtype="i4")
    y = run(source, 2, 96, x, np.zeros(6 * n, "i4"), n)[1].reshape(6, n)
    warps = x.reshape(-1, 32)
    assert y[0].tolist() == warps.sum(1).repeat(32).tolist()
    assert y[1].tolist() == x.reshape(-1, 8).max(1).repeat(8).tolist()
    assert y[2].tolist() == x.reshape(-1, 4).cumsum(1).reshape(-1).tolist()
    for w, row in enumerate(warps):
        some = row % 3 != 0
        want = np.where(some, row[some].sum() + 1000 * (np.cumsum(some) - 1), 0)
        assert y[3].reshape(-1, 32)[w].tolist() == want.tolist()
        for lane, v in enumerate(row):
            mine = row[row % 4 == v % 4]
            want = len(mine) + 100 * (mine > 40).any() + 1000 * (mine > 3).all()
            assert y[4].reshape(-1, 32)[w, lane] == want
    for i, v in enumerate(x):
        eight = x[i & ~7 : (i & ~7) + 8]
        odd = sum(1 << k for k in range(8) if eight[k] % 2 == v % 2)
        assert y[5, i] == x[i ^ 1] + odd


GRID_SUM = GROUPS + """
__global__ f(const float* x, float* partial, float* y, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float s[64];
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 32; k; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
    grid.sync();
    float all = 0;
    for (int b = 0; b < gridDim.x; b++) all += partial[b];
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / all;
}"""  # fmt: skip


@needs_groups
@pytest.mark.parametrize("blocks", [1, 9])
@pytest.mark.parametrize("lanes", [1 << 16, 128])
def test_barrier_of_the_grid(blocks, lanes, monkeypatch):
    """All blocks meet at grid.sync(), however many chunks the simulator runs them in."""
    monkeypatch.setattr(machine, "LANES", lanes)
    n = 4000
    x = rng.integers(0, 8, n).astype("f4")
    f = kernel(GRID_SUM, enable_cooperative_groups=True)
    for schedule in SCHEDULES:
        y = np.zeros(n, "f4")
        with simt.limits(schedule=schedule):
            f(blocks, 64, (x, np.zeros(blocks, "f4"), y, n))
        assert np.array_equal(y, x / x.sum())


@needs_groups
def test_barrier_of_the_grid_needs_a_cooperative_launch():
    """Without it the kernel traps, as on a GPU, and the report says what to ask for."""
    with pytest.raises(simt.Defect, match="enable_cooperative_groups"):
        kernel(GRID_SUM)(2, 64, (np.ones(9, "f4"), np.zeros(2, "f4"), np.zeros(9, "f4"), 9))


@needs_groups
def test_cooperative_launch_must_fit():
    """More blocks than the device holds at once cannot meet."""
    x = np.ones(9, "f4")
    with pytest.raises(simt.LaunchError, match="holds at most 4224"):
        kernel(GRID_SUM, enable_cooperative_groups=True)(4225, 64, (x, x, x, 9))


def test_last_block_sums_the_rest():
    """The block that finishes last, as an atomic tells it, adds up what all have left."""
    source = """
    __device__ unsigned int count = 0;
    __global__ f(const float* x, volatile float* partial, float* y, int n) {
        __shared__ float s[128];
        __shared__ bool last;
        float sum = 0;
        for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) sum += x[i];
        s[threadIdx.x] = sum;
        __syncthreads();
        for (int k = 64; k; k /= 2) {
            if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            partial[blockIdx.x] = s[0];
            __threadfence();
            last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (last && threadIdx.x == 0) {
            float all = 0;
            for (int b = 0; b < gridDim.x; b++) all += partial[b];
            y[0] = all;
        }
    }"""  # fmt: skip
    x = rng.integers(-9, 9, 20000).astype("f4")
    for blocks in (1, 7, 700):
        y = run(source, blocks, 128, x, np.zeros(blocks, "f4"), np.zeros(1, "f4"), x.size)[2]
        assert y[0] == x.sum()


# ---------------------------------------------------------------------------- scans
def test_block_scans():
    """A scan by doubling steps in two buffers, and one by shuffles, give the running sums."""
    source = """
    __device__ int of_warp(int v) {
        for (int k = 1; k < 32; k *= 2) {
            int left = __shfl_up_sync(~0u, v, k);
            if (threadIdx.x % 32 >= k) v += left;
        }
        return v;
    }
    __global__ f(const int* x, int* doubling, int* shuffles) {
        __shared__ int s[2][256], sums[8];
        int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
        s[0][t] = x[i];
        __syncthreads();
        for (int k = 1; k < 256; k *= 2, from ^= 1) {
            s[from ^ 1][t] = s[from][t] + (t >= k ? s[from][t - k] : 0);
            __syncthreads();
        }
        doubling[i] = s[from][t];
        int v = of_warp(x[i]);
        if (t % 32 == 31) sums[t / 32] = v;
        __syncthreads();
        if (t < 32) {
            int w = of_warp(t < 8 ? sums[t] : 0);
            if (t < 8) sums[t] = w;
        }
        __syncthreads();
        shuffles[i] = v + (t < 32 ? 0 : sums[t / 32 - 1]);
    }"""  # fmt: skip
    x = rng.integers(-99, 99, 3 * 256, dtype="i4")
    want = x.reshape(-1, 256).cumsum(1).reshape(-1).tolist()
    _, doubling, shuffles = run(source, 3, 256, x, np.zeros_like(x), np.zeros_like(x))
    assert doubling.tolist() == want
    assert shuffles.tolist() == want


@pytest.mark.parametrize("lanes", [1 << 16, 256])
def test_scan_across_blocks_looks_back(lanes, monkeypatch):
    """Every block waits for the sum that the one before it publishes, in a chunk or across."""
    monkeypatch.setattr(machine, "LANES", lanes)
    source = """
    __global__ f(const int* x, int* y, volatile int* sums, volatile int* flags, int* order) {
        __shared__ int s[64], mine, before;
        if (threadIdx.x == 0) mine = atomicAdd(order, 1);
        __syncthreads();
        int t = threadIdx.x, b = mine;
        s[t] = x[64 * b + t];
        __syncthreads();
        for (int k = 1; k < 64; k *= 2) {
            int left = t >= k ? s[t - k] : 0;
            __syncthreads();
            s[t] += left;
            __syncthreads();
        }
        if (t == 0) {
            before = 0;
            if (b) {
                while (!flags[b - 1]) { }
                __threadfence();
                before = sums[b - 1];
            }
            sums[b] = before + s[63];
            __threadfence();
            flags[b] = 1;
        }
        __syncthreads();
        y[64 * b + t] = before + s[t];
    }"""  # fmt: skip
    blocks = 14
    x = rng.integers(-9, 9, 64 * blocks, dtype="i4")
    zeros = np.zeros(blocks, "i4")
    y = run(source, blocks, 64, x, np.zeros_like(x), zeros, zeros, np.zeros(1, "i4"))[1]
    assert y.tolist() == x.cumsum().tolist()


# ---------------------------------------------------------------------------- matrices
def test_tiled_matrix_product():
    """Tiles of 16 in shared memory, for sizes that are no multiple of it."""
    source = """
    __global__ f(const float* a, const float* b, float* c, int m, int n, int k) {
        __shared__ float as[16][16], bs[16][17];
        int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
        float sum = 0;
        for (int t = 0; t < k; t += 16) {
            as[y][x] = row < m && t + x < k ? a[row * k + t + x] : 0.f;
            bs[y][x] = col < n && t + y < k ? b[(t + y) * n + col] : 0.f;
            __syncthreads();
            for (int i = 0; i < 16; i++) sum += as[y][i] * bs[i][x];
            __syncthreads();
        }
        if (row < m && col < n) c[row * n + col] = sum;
    }"""  # fmt: skip
    for m, n, k in ((16, 16, 16), (33, 20, 40), (1, 1, 1)):
        a, b = (rng.integers(-4, 5, shape).astype("f4") for shape in ((m, k), (k, n)))
        grid = (-(-n // 16), -(-m // 16))
        c = run(source, grid, (16, 16), a, b, np.zeros((m, n), "f4"), m, n, k)[2]
        assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("pitch", [32, 33])
def test_transpose(pitch):
    """Through a tile of shared memory, with and without a column of padding."""
    source = f"""
    __global__ f(const float* x, float* y, int rows, int cols) {{
        __shared__ float tile[32][{pitch}];
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
        for (int k = 0; k < 32; k += 8)
            if (r + k < rows && c < cols)
                tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];
        __syncthreads();
        c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
        for (int k = 0; k < 32; k += 8)
            if (r + k < cols && c < rows)
                y[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
    }}"""  # fmt: skip
    for rows, cols in ((64, 64), (70, 33)):
        x = rng.standard_normal((rows, cols), dtype="f4")
        grid = (-(-cols // 32), -(-rows // 32))
        y = run(source, grid, (32, 8), x, np.zeros((cols, rows), "f4"), rows, cols)[1]
        assert np.array_equal(y, x.T)


def test_copies_in_the_background_feed_a_product():
    """Two buffers: while one tile is multiplied, cp.async brings the next."""
    source = """
    #include <cuda_pipeline_primitives.h>
    __device__ void bring(float* to, const float* from) {
        __pipeline_memcpy_async(to + 4 * threadIdx.x, from + 4 * threadIdx.x, 16);
        __pipeline_commit();
    }
    __global__ f(const float* x, const float* w, float* y, int tiles) {
        __shared__ alignas(16) float s[2][128];
        const float* mine = x + blockIdx.x * tiles * 128;
        float sum = 0;
        bring(s[0], mine);
        for (int t = 0; t < tiles; t++) {
            if (t + 1 < tiles) bring(s[(t + 1) % 2], mine + 128 * (t + 1));
            else __pipeline_commit();
            __pipeline_wait_prior(1);
            __syncthreads();
            for (int i = threadIdx.x; i < 128; i += 32) sum += s[t % 2][i] * w[128 * t + i];
            __syncthreads();
        }
        for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
        if (threadIdx.x == 0) y[blockIdx.x] = sum;
    }"""  # fmt: skip
    x = rng.integers(-4, 5, (6, 5 * 128)).astype("f4")
    w = rng.integers(-4, 5, 5 * 128).astype("f4")
    assert run(source, 6, 32, x, w, np.zeros(6, "f4"), 5)[2].tolist() == (x @ w).tolist()


# ---------------------------------------------------------------------------- rows and counts
def test_layer_norm():
    """Mean and variance of a row by one warp, in one pass (Welford) over vectors of four."""
    source = """
    __global__ f(const float4* x, const float* gain, const float* bias, float4* y, int n) {
        const float4* row = x + blockIdx.x * n / 4;
        float mean = 0, m2 = 0, count = 0;
        for (int i = threadIdx.x; i < n / 4; i += 32) {
            float4 v = row[i];
            for (float e : {v.x, v.y, v.z, v.w}) {
                count += 1;
                float d = e - mean;
                mean += d / count;
                m2 += d * (e - mean);
            }
        }
        for (int k = 16; k; k /= 2) {
            float m = __shfl_xor_sync(~0u, mean, k), s = __shfl_xor_sync(~0u, m2, k);
            float c = __shfl_xor_sync(~0u, count, k), d = m - mean, all = count + c;
            if (all > 0) {
                m2 += s + d * d * count * c / all;
                mean = (mean * count + m * c) / all;
                count = all;
            }
        }
        float scale = rsqrtf(m2 / count + 1e-5f);
        for (int i = threadIdx.x; i < n / 4; i += 32) {
            float4 v = row[i];
            const float* g = gain + 4 * i;
            const float* b = bias + 4 * i;
            y[blockIdx.x * n / 4 + i] = make_float4(
                (v.x - mean) * scale * g[0] + b[0], (v.y - mean) * scale * g[1] + b[1],
                (v.z - mean) * scale * g[2] + b[2], (v.w - mean) * scale * g[3] + b[3]);
        }
    }"""  # fmt: skip
    for n in (4, 100, 256):
        x = rng.standard_normal((5, n), dtype="f4") * 3 + 7
        gain, bias = rng.standard_normal((2, n), dtype="f4")
        y = run(source, 5, 32, x, gain, bias, np.zeros_like(x), n)[3]
        wide = x.astype("f8")
        want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        assert np.abs(y - (want * gain + bias)).max() < 1e-4


def test_histogram():
    """Atomics in shared memory, then one on global memory a bin and block."""
    source = """
    __global__ f(const unsigned char* x, unsigned int* counts, int n) {
        __shared__ unsigned int mine[256];
        for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            atomicAdd(&mine[x[i]], 1);
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x)
            if (mine[i]) atomicAdd(&counts[i], mine[i]);
    }"""  # fmt: skip
    x = (rng.standard_normal(10000) * 20 + 128).clip(0, 255).astype("u1")
    for block in (32, 160):
        counts = run(source, 4, block, x, np.zeros(256, "u4"), x.size)[1]
        assert counts.tolist() == np.bincount(x, minlength=256).tolist()


def test_largest_float_by_compare_and_swap():
    """atomicCAS in a loop, for what no atomic does: each lane tries until nobody came between."""
    source = """
    __global__ f(const float* x, float* largest, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        int* place = (int*)largest;
        int old = *(volatile int*)place, seen;
        do {
            seen = old;
            if (__int_as_float(seen) >= x[i]) break;
            old = atomicCAS(place, seen, __float_as_int(x[i]));
        } while (old != seen);
    }"""  # fmt: skip
    x = rng.standard_normal(1000, dtype="f4")
    assert run(source, 8, 128, x, np.full(1, -9, "f4"), x.size)[1][0] == x.max()


# ---------------------------------------------------------------------------- waiting
LOCK = """
__global__ f(int* lock, volatile int* count) {
    bool done = false;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}"""


def test_lock_taken_inside_a_loop():
    """Each thread gets the lock once, whichever of them the order of execution prefers."""
    assert run(LOCK, 3, 48, np.zeros(1, "i4"), np.zeros(1, "i4"))[1][0] == 144


def test_lock_spun_for_ahead_of_the_section():
    """The usual way to write it, which starves where lanes of a warp always wait for each other."""
    source = """
    __global__ f(int* lock, volatile int* count) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        *count += 1;
        __threadfence();
        atomicExch(lock, 0);
    }"""  # fmt: skip
    assert run(source, 2, 64, np.zeros(1, "i4"), np.zeros(1, "i4"))[1][0] == 128


@pytest.mark.parametrize("lanes", [1 << 16, 128])
def test_blocks_hand_over_through_flags(lanes, monkeypatch):
    """The first block waits for a flag that the last one sets, in a chunk or across."""
    monkeypatch.setattr(machine, "LANES", lanes)
    source = """
    __global__ f(volatile int* flag, volatile int* data, int* out) {
        if (blockIdx.x == 0) {
            while (flag[0] == 0) __nanosleep(100);
            out[threadIdx.x] = data[threadIdx.x] + 1;
        } else if (blockIdx.x == gridDim.x - 1) {
            data[threadIdx.x] = 10 * threadIdx.x;
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0) flag[0] = 1;
        }
    }"""  # fmt: skip
    out = run(source, 9, 64, np.zeros(1, "i4"), np.zeros(64, "i4"), np.zeros(64, "i4"))[2]
    assert out.tolist() == [10 * t + 1 for t in range(64)]


def test_waiting_in_vain_is_an_error():
    """A flag that nobody sets: the launch ends, and names the line that waits."""
    source = "__global__ f(volatile int* flag) {\n  while (!*flag) { }\n}"
    with pytest.raises(simt.BudgetExceeded, match="spinning without progress at line 2") as caught:
        kernel(source)(3, 64, (np.zeros(1, "i4"),))
    assert (caught.value.line, caught.value.block, caught.value.thread) == (2, 0, 0)


@pytest.mark.parametrize("lanes", [1 << 16, 64])
def test_a_block_waits_as_one(lanes, monkeypatch):
    """One thread looks at the flag and tells the others through shared memory, at every turn."""
    monkeypatch.setattr(machine, "LANES", lanes)
    source = """
    __global__ f(volatile int* turn, int* out) {
        __shared__ int mine;
        do {
            if (threadIdx.x == 0) mine = *turn == gridDim.x - 1 - blockIdx.x;
            __syncthreads();
            int go = mine;
            __syncthreads();
            if (go) break;
        } while (true);
        out[64 * *turn + threadIdx.x] = blockIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *turn += 1;
    }"""  # fmt: skip
    out = run(source, 5, 64, np.zeros(1, "i4"), np.zeros(5 * 64, "i4"))[1]
    assert out.reshape(5, 64)[:, 0].tolist() == [4, 3, 2, 1, 0]


def test_waiting_with_a_limit_ends():
    """A loop that counts while it polls is no endless one."""
    source = """
    __global__ f(volatile int* flag, int* out) {
        int n = 0;
        while (!*flag && n < 1000) n++;
        out[threadIdx.x] = n;
    }"""  # fmt: skip
    assert run(source, 1, 32, np.zeros(1, "i4"), np.zeros(32, "i4"))[1].tolist() == [1000] * 32


def test_more_blocks_than_fit_cannot_wait_for_each_other():
    """A barrier of the grid by hand, with more blocks than the device holds: those that came wait
    for others that cannot start."""
    source = """
    __global__ f(int* count, int n) {
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < n) { }
        }
        __syncthreads();
    }"""  # fmt: skip
    f, count = kernel(source), np.zeros(1, "i4")
    f(264, 1024, (count, 264))
    assert count[0] == 264
    with pytest.raises(simt.BudgetExceeded, match="1 blocks of the grid have not started"):
        f(265, 1024, (np.zeros(1, "i4"), 265))
