"""Whole kernels of many kinds, as learners write them, against NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest
from simt_runs import kernel, needs_nvrtc, run

from helpers import simt

pytestmark = needs_nvrtc
RNG = np.random.default_rng(0)


def numbers(*shape) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def close(got, expected, relative=1e-6, absolute=1e-6) -> None:
    bad = ~np.isclose(got.astype(float), expected, rtol=relative, atol=absolute)
    assert not bad.any(), (got[bad][:5], np.asarray(expected)[bad][:5])


# ---------------------------------------------------------------------------- matrices and rows
@pytest.mark.parametrize("pad", [0, 1])
def test_transpose(pad):
    """Through a tile of shared memory, at sizes that no tile divides."""
    source = """__global__ f(const float* x, float* y, int rows, int cols) {
        __shared__ float tile[32][32 + PAD];
        int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
        for (int k = 0; k < 32; k += 8)
            if (row + k < rows && col < cols)
                tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * cols + col];
        __syncthreads();
        row = blockIdx.x * 32 + threadIdx.y, col = blockIdx.y * 32 + threadIdx.x;
        for (int k = 0; k < 32; k += 8)
            if (row + k < cols && col < rows)
                y[(size_t)(row + k) * rows + col] = tile[threadIdx.x][threadIdx.y + k];
    }"""
    x = numbers(70, 101)
    _, y, *_ = run(
        source.replace("PAD", str(pad)), (4, 3), (32, 8), x, np.zeros((101, 70), "f4"), 70, 101
    )
    assert np.array_equal(y, x.T)


def test_matrix_product():
    """Tiles of 16 × 16, two barriers a step."""
    source = """__global__ f(const float* a, const float* b, float* c, int n) {
        __shared__ float s[16][16], t[16][16];
        int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
        float sum = 0;
        for (int k = 0; k < n; k += 16) {
            s[y][x] = a[i * n + k + x];
            t[y][x] = b[(k + y) * n + j];
            __syncthreads();
            for (int q = 0; q < 16; q++) sum += s[y][q] * t[q][x];
            __syncthreads();
        }
        c[i * n + j] = sum;
    }"""
    a, b = numbers(64, 64), numbers(64, 64)
    _, _, c, _ = run(source, (4, 4), (16, 16), a, b, np.zeros((64, 64), "f4"), 64)
    close(c, a.astype(float) @ b, absolute=1e-4)


def test_layer_norm():
    """A block a row, sums by shuffles and shared memory, any number of columns."""
    source = """__device__ float block_sum(float v) {
        __shared__ float sums[32];
        for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
        __syncthreads();
        v = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0;
        for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
        __syncthreads();
        return v;
    }
    __global__ f(const float* x, float* y, int n) {
        const float* row = x + (size_t)blockIdx.x * n;
        float sum = 0, squares = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
        float mean = block_sum(sum) / n;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            float off = row[i] - mean;
            squares += off * off;
        }
        float scale = rsqrtf(block_sum(squares) / n + 1e-5f);
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * scale;
    }"""
    for n in (1, 33, 1000):
        x = numbers(5, n)
        _, y, _ = run(source, (5,), (96,), x, np.zeros_like(x), n)
        wide = x.astype(float)
        scale = np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
        close(y, (wide - wide.mean(axis=1, keepdims=True)) / scale, absolute=2e-5)


def test_bitonic_sort():
    """Partners exchange through shared memory, in both directions."""
    source = """__global__ f(int* x) {
        __shared__ int s[256];
        int t = threadIdx.x;
        s[t] = x[blockIdx.x * 256 + t];
        for (int k = 2; k <= 256; k *= 2)
            for (int j = k / 2; j; j /= 2) {
                __syncthreads();
                int p = t ^ j;
                if (p > t && (s[t] > s[p]) == !(t & k)) { int q = s[t]; s[t] = s[p]; s[p] = q; }
            }
        __syncthreads();
        x[blockIdx.x * 256 + t] = s[t];
    }"""
    x = RNG.integers(0, 1000, (5, 256), dtype=np.int32)
    (y,) = run(source, (5,), (256,), x)
    assert np.array_equal(y, np.sort(x, axis=1))


def test_cooperative_groups_tiles():
    """Tiles of 16 lanes reduce and broadcast."""
    source = """#include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ f(int* y) {
        auto block = cg::this_thread_block();
        auto tile = cg::tiled_partition<16>(block);
        int v = threadIdx.x;
        for (int o = 8; o; o /= 2) v += tile.shfl_down(v, o);
        block.sync();
        y[threadIdx.x] = tile.shfl(v, 0) + tile.any(threadIdx.x == 20);
    }"""
    (y,) = run(source, (1,), (64,), np.zeros(64, np.int32))
    sums = np.arange(64).reshape(4, 16).sum(1) + [0, 1, 0, 0]
    assert y.tolist() == np.repeat(sums, 16).tolist()


# ---------------------------------------------------------------------------- arithmetic of C
def test_switch():
    """Fall-through, returns and loops inside a switch."""
    source = """__global__ f(const int* x, int* y, int n) {
        int i = threadIdx.x;
        if (i >= n) return;
        int v = x[i];
        switch (v) {
        case 0: v = 17; break;
        case 1: v = v * 3;
        case 2: v += 9; break;
        case 3: y[i] = -1; return;
        case 4: v = ~v; break;
        case 5: for (int k = 0; k < i; k++) v += k; break;
        case 6: v = v * v; break;
        case 7: v = 1000 / (i + 1); break;
        default: v = -v;
        }
        y[i] = v;
    }"""
    x = RNG.integers(-2, 10, 100, dtype=np.int32)
    _, y, _ = run(source, (1,), (128,), x, np.zeros_like(x), 100)
    for i, (v, got) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        known = {
            0: 17,
            1: 12,
            2: 11,
            3: -1,
            4: -5,
            5: 5 + i * (i - 1) // 2,
            6: 36,
            7: 1000 // (i + 1),
        }
        assert got == known.get(v, -v)


def test_division_and_remainder():
    """Signed and unsigned, 32 and 64 bits, by variables and by the constants that compilers turn
    into multiplications."""
    source = """__global__ f(const int* x, const int* d, int* y, unsigned* u, long long* l, int n) {
        int i = threadIdx.x;
        y[i] = x[i] / d[i]; y[n + i] = x[i] % d[i]; y[2 * n + i] = x[i] / 7;
        y[3 * n + i] = x[i] % -13;
        u[i] = (unsigned)x[i] / (unsigned)d[i]; u[n + i] = (unsigned)x[i] % 1000003u;
        long long q = x[i] * 123456789ll;
        l[i] = q / d[i]; l[n + i] = q % d[i]; l[2 * n + i] = q / 1000000007ll;
        l[3 * n + i] = (unsigned long long)q / 10ull;
    }"""
    n = 256
    x = RNG.integers(-(2**31), 2**31, n).astype(np.int32)
    d = RNG.integers(1, 50, n).astype(np.int32) * RNG.choice([-1, 1], n).astype(np.int32)
    outputs = np.zeros((4, n), "i4"), np.zeros((2, n), "u4"), np.zeros((4, n), "i8")
    _, _, y, u, wide, _ = run(source, (1,), (n,), x, d, *outputs, n)

    def quotient(a, b):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    for i, (a, b) in enumerate(zip(x.tolist(), d.tolist(), strict=True)):
        q = a * 123456789
        assert y[:, i].tolist() == [
            quotient(a, b),
            a - b * quotient(a, b),
            quotient(a, 7),
            a + 13 * quotient(a, -13),
        ]
        assert u[:, i].tolist() == [a % 2**32 // (b % 2**32), a % 2**32 % 1000003]
        assert wide[:, i].tolist() == [
            quotient(q, b),
            q - b * quotient(q, b),
            quotient(q, 1000000007),
            q % 2**64 // 10,
        ]


def test_bit_intrinsics():
    """The functions that CUDA offers for bits."""
    source = """__global__ f(const unsigned* x, unsigned* y, int n) {
        int i = threadIdx.x;
        unsigned a = x[i];
        y[i] = __popc(a); y[n + i] = __clz(a); y[2 * n + i] = __brev(a); y[3 * n + i] = __ffs(a);
        y[4 * n + i] = __byte_perm(a, ~a, 0x3715); y[5 * n + i] = __funnelshift_l(a, a * 3, i);
        y[6 * n + i] = __umulhi(a, a); y[7 * n + i] = __usad(a, 7, i);
        y[8 * n + i] = __dp4a((int)a, (int)a, 3); y[9 * n + i] = a >> (i & 31) | a << (32 - i & 31);
    }"""
    n, most = 64, 2**32 - 1
    x = RNG.integers(0, 2**32, n, dtype=np.uint32)
    x[0] = 0
    _, y, _ = run(source, (1,), (n,), x, np.zeros((10, n), "u4"), n)
    for i, a in enumerate(x.tolist()):
        both = (most - a) << 32 | a
        byte = [both >> 8 * k & 255 for k in range(8)]
        signed = [(b & 127) - (b & 128) for b in byte[:4]]
        assert y[:, i].tolist() == [
            a.bit_count(),
            32 - a.bit_length(),
            int(f"{a:032b}"[::-1], 2),
            (a & -a).bit_length(),
            byte[5] | byte[1] << 8 | byte[7] << 16 | byte[3] << 24,
            ((a * 3 & most) << 32 | a) << i % 32 >> 32 & most,
            a * a >> 32,
            abs(a - 7) + i & most,
            sum(b * b for b in signed) + 3 & most,
            (a << 32 | a) >> i % 32 & most,
        ]


def test_bytes_and_shorts():
    """Narrow integers promote, wrap and shift as C says."""
    source = """typedef unsigned short ushort;
    __global__ f(const signed char* x, const ushort* h, short* y, unsigned char* z) {
        int i = threadIdx.x;
        y[i] = x[i] * (short)h[i]; y[64 + i] = x[i] >> 2; y[128 + i] = (short)h[i] >> (i & 15);
        y[192 + i] = h[i] / (unsigned short)(i + 1);
        z[i] = x[i] + h[i];
    }"""
    x, h = RNG.integers(-128, 128, 64).astype("i1"), RNG.integers(0, 65536, 64).astype("u2")
    _, _, y, z = run(source, (1,), (64,), x, h, np.zeros((4, 64), "i2"), np.zeros(64, "u1"))
    i, wide, short = np.arange(64), x.astype(int), h.astype("i2").astype(int)
    assert np.array_equal(y[0], (wide * short).astype("i2"))
    assert np.array_equal(y[1], wide >> 2)
    assert np.array_equal(y[2], short >> (i & 15))
    assert np.array_equal(y[3].view("u2"), h // (i + 1))
    assert np.array_equal(z, (wide + h).astype("u1"))


def test_float_functions():
    """The float library, inlined by the compiler: within a few ulp of the true values."""
    calls = {
        "expf(a)": np.exp, "logf(fabsf(a))": lambda a: np.log(abs(a)),
        "sqrtf(fabsf(a))": lambda a: np.sqrt(abs(a)), "a / 3.0f": lambda a: a / 3,
        "tanhf(a)": np.tanh, "floorf(a)": np.floor, "rintf(a)": np.rint, "truncf(a)": np.trunc,
        "roundf(a)": lambda a: np.copysign(np.floor(abs(a) + 0.5), a), "__expf(a)": np.exp,
        "powf(fabsf(a), 2.5f)": lambda a: abs(a) ** 2.5, "1.0f / a": lambda a: 1 / a,
        "fminf(a, 0.5f)": lambda a: np.minimum(a, 0.5), "exp2f(a)": np.exp2,
        "rsqrtf(fabsf(a))": lambda a: 1 / np.sqrt(abs(a)), "sinf(a)": np.sin, "cosf(a)": np.cos,
        "erff(a)": np.vectorize(math.erf), "__fdividef(a, 3.0f)": lambda a: a / 3,
        "log1pf(fabsf(a))": lambda a: np.log1p(abs(a)), "cbrtf(a)": np.cbrt,
        "fmaf(a, a, -1.0f)": lambda a: a * a - 1, "ldexpf(a, 5)": lambda a: a * 32,
        "fmodf(a, 0.75f)": lambda a: np.fmod(a, 0.75), "__sinf(a)": np.sin,
        "__logf(fabsf(a))": lambda a: np.log(abs(a)), "hypotf(a, 2.0f)": lambda a: np.hypot(a, 2),
        "copysignf(2.0f, a)": lambda a: np.copysign(2, a), "fdimf(a, 0.25f)":
        lambda a: np.maximum(a - 0.25, 0), "(float)(int)a": np.trunc, "(float)isnan(a)": np.isnan,
    }  # fmt: skip
    lines = "\n".join(f"y[{k} * n + i] = {call};" for k, call in enumerate(calls))
    source = f"""__global__ f(const float* x, float* y, int n) {{
        int i = threadIdx.x;
        float a = x[i];
        {lines}
    }}"""
    x = 3 * numbers(224)
    _, y, _ = run(source, (1,), (224,), x, np.zeros((len(calls), 224), "f4"), 224)
    for (call, function), row in zip(calls.items(), y, strict=True):
        try:
            close(row, function(x.astype(float)), relative=2e-6, absolute=2e-6)
        except AssertionError as error:
            raise AssertionError(call) from error


def test_double_precision():
    """Double arithmetic and the functions that the compiler inlines."""
    source = """__global__ f(const double* x, double* y, int n) {
        int i = threadIdx.x;
        double a = x[i];
        y[i] = exp(a); y[n + i] = sqrt(fabs(a)); y[2 * n + i] = a / 3.0;
        y[3 * n + i] = fma(a, a, -1.0); y[4 * n + i] = log(fabs(a)); y[5 * n + i] = floor(a);
        y[6 * n + i] = (float)a; y[7 * n + i] = 1.0 / a; y[8 * n + i] = fmin(a, 0.5);
        y[9 * n + i] = rsqrt(fabs(a)); y[10 * n + i] = (long long)(a * 1e15);
    }"""
    x = RNG.standard_normal(64) * 3
    _, y, _ = run(source, (1,), (64,), x, np.zeros((11, 64)), 64)
    size = abs(x)
    expected = (
        np.exp(x),
        np.sqrt(size),
        x / 3,
        x * x - 1,
        np.log(size),
        np.floor(x),
        x.astype("f4").astype(float),
        1 / x,
        np.minimum(x, 0.5),
        1 / np.sqrt(size),
        np.trunc(x * 1e15),
    )
    for row, wanted in zip(y, expected, strict=True):
        close(row, wanted, relative=1e-14, absolute=1e-14)


# ---------------------------------------------------------------------------- 16-bit floats
HALF = {
    "a + b": lambda a, b: a + b, "a * b": lambda a, b: a * b, "__hfma(a, b, a)":
    lambda a, b: a * b + a, "a / b": lambda a, b: a / b, "hexp(a)": lambda a, b: np.exp(a),
    "hsqrt(__habs(a))": lambda a, b: np.sqrt(abs(a)), "__hmax(a, b)": lambda a, b: np.maximum(a, b),
    "__hlt(a, b) ? a : b": lambda a, b: np.minimum(a, b), "hrcp(a)": lambda a, b: 1 / a,
    "hlog(__habs(a))": lambda a, b: np.log(abs(a)), "hfloor(a)": lambda a, b: np.floor(a),
    "-a": lambda a, b: -a, "hsin(a)": lambda a, b: np.sin(a), "__hmin_nan(a, b)":
    lambda a, b: np.minimum(a, b), "htanh(a)": lambda a, b: np.tanh(a),
    "__shfl_xor_sync(~0u, a, 1)": lambda a, b: a.reshape(-1, 2)[:, ::-1].ravel(),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "header", "dtype", "precision"),
    [
        ("__half", "cuda_fp16.h", np.float16, 2e-3),
        ("__nv_bfloat16", "cuda_bf16.h", ml_dtypes.bfloat16, 1.6e-2),
    ],
)
def test_half_precision(name, header, dtype, precision):
    """The operators and functions of cuda_fp16.h and cuda_bf16.h."""
    lines = "\n".join(f"z[{k} * n + i] = {call};" for k, call in enumerate(HALF))
    source = f"""#include <{header}>
    __global__ f(const {name}* x, const {name}* y, {name}* z, int n) {{
        int i = threadIdx.x;
        {name} a = x[i], b = y[i];
        {lines}
    }}"""
    x, y = numbers(96).astype(dtype), numbers(96).astype(dtype)
    _, _, z, _ = run(source, (1,), (96,), x, y, np.zeros((len(HALF), 96), dtype), 96)
    for (call, function), row in zip(HALF.items(), z, strict=True):
        wanted = function(x.astype(float), y.astype(float))
        try:
            close(row, wanted, relative=precision, absolute=precision / 2)
        except AssertionError as error:
            raise AssertionError(call) from error


def test_half2():
    """Two halves a register: arithmetic, comparison, conversion, saturation."""
    source = """#include <cuda_fp16.h>
    __global__ f(const __half2* x, const __half2* y, __half2* z, int n) {
        int i = threadIdx.x;
        __half2 a = x[i], b = y[i];
        z[i] = __hadd2(a, b); z[n + i] = __hfma2(a, b, a); z[2 * n + i] = __hmax2(a, b);
        z[3 * n + i] = __lowhigh2highlow(a);
        float2 q = __half22float2(a);
        z[4 * n + i] = __floats2half2_rn(q.x * 2, q.y * 3);
        z[5 * n + i] = __hgt2(a, b); z[6 * n + i] = __hadd2_sat(a, b);
        z[7 * n + i] = __hfma2_relu(a, b, a); z[8 * n + i] = __hbgt2(a, b) ? a : b;
        z[9 * n + i] = h2exp(a); z[10 * n + i] = __shfl_xor_sync(0xffffffff, a, 1);
    }"""
    x, y = numbers(128).astype("f2"), numbers(128).astype("f2")
    z = run(source, (1,), (64,), x, y, np.zeros((11, 128), "f2"), 64)[2]
    a, b = x.astype(float), y.astype(float)
    pairs = x.reshape(64, 2), y.reshape(64, 2)
    both = (pairs[0] > pairs[1]).all(axis=1, keepdims=True)
    fused = (a * b + a).astype("f2")
    exact = [
        x + y,
        fused,
        np.maximum(x, y),
        pairs[0][:, ::-1].ravel(),
        x * np.tile([2, 3], 64),
        x > y,
        np.clip(x + y, 0, 1),
        np.maximum(fused, 0),
        np.where(both, *pairs).ravel(),
    ]
    for k, wanted in enumerate(exact):
        assert np.array_equal(z[k], wanted.astype("f2")), k
    close(z[9], np.exp(a), relative=2e-3)
    assert np.array_equal(z[10].reshape(32, 2, 2), x.reshape(32, 2, 2)[:, ::-1])


# ---------------------------------------------------------------------------- the language
def test_templates_lambdas_and_structs():
    """C++ that the compiler resolves; a struct passed by value."""
    source = """template <class T, int N> __device__ T power(T v) {
        for (int k = 0; k < N; k++) v = v * v + T(1);
        return v;
    }
    struct Scale { int a; float b; double c; };
    __global__ f(const float* x, float* y, Scale s) {
        auto at = [&](int i) { return power<float, 3>(x[i]) * s.b + s.a + (float)s.c; };
        y[threadIdx.x] = at(threadIdx.x ^ 1);
    }"""
    scale = np.zeros((), np.dtype([("a", "i4"), ("b", "f4"), ("c", "f8")], align=True))
    scale["a"], scale["b"], scale["c"] = 1, 2, 3
    x = RNG.random(32, dtype=np.float32)
    _, y, _ = run(source, (1,), (32,), x, np.zeros(32, "f4"), scale[()])
    v = x.reshape(16, 2)[:, ::-1].ravel().astype(float)
    for _ in range(3):
        v = v * v + 1
    close(y, 2 * v + 4, relative=1e-5)


def test_vector_types_and_cache_hints():
    """float4, int2, __ldg, __stcs and volatile."""
    source = """__global__ f(const float4* x, float4* y, const int2* p, int2* q) {
        int t = threadIdx.x;
        float4 v = __ldg(&x[t]);
        v.x += 1; v.w *= 2;
        __stcs(&y[t], v);
        int2 w = p[t];
        volatile int* z = (volatile int*)q;
        z[2 * t] = w.y; z[2 * t + 1] = w.x;
    }"""
    x, p = numbers(32, 4), RNG.integers(0, 9, (32, 2), dtype=np.int32)
    _, y, _, q = run(source, (1,), (32,), x, np.zeros_like(x), p, np.zeros_like(p))
    assert np.array_equal(y, x * np.float32([1, 1, 1, 2]) + np.float32([1, 0, 0, 0]))
    assert np.array_equal(q, p[:, ::-1])


def test_fast_math():
    """--use_fast_math: approximate instructions and flushed subnormals."""
    source = """__global__ f(const float* x, float* y) {
        int t = threadIdx.x;
        y[t] = expf(x[t]) / (1.0f + sqrtf(x[t])) + logf(x[t]) + sinf(x[t]) + tanhf(x[t]);
    }"""
    x = RNG.random(64, dtype=np.float32) + np.float32(0.5)
    _, y = run(kernel(source, options=("--use_fast_math",)), (1,), (64,), x, np.zeros(64, "f4"))
    a = x.astype(float)
    close(y, np.exp(a) / (1 + np.sqrt(a)) + np.log(a) + np.sin(a) + np.tanh(a), relative=1e-3)


def test_several_kernels_of_one_module():
    """RawModule hands out each kernel by name, and lists them when a name is wrong."""
    code = """extern "C" __global__ void one(float* y) { y[threadIdx.x] = 1; }
    extern "C" __global__ void two(float* y) { y[threadIdx.x] += 2; }"""
    module = simt.RawModule(code=code)
    y = np.zeros(8, np.float32)
    for name in ("one", "two"):
        module.get_function(name)((1,), (8,), (y,))
    assert y.tolist() == [3.0] * 8
    with pytest.raises(simt.LaunchError, match="one, two"):
        module.get_function("three")
    with pytest.raises(simt.LaunchError, match=r"name_expressions=\['one<float>'\].* templates"):
        simt.RawModule(code=code, name_expressions=("one<float>",))


# ---------------------------------------------------------------------------- not simulated
def test_recursion_says_so():
    """A device function that calls itself is refused by name and line, before anything runs."""
    source = """__device__ int g(int v) { return v < 2 ? 1 : g(v - 1) + g(v - 2); }
    __global__ f(int* y) {
        y[0] = g(y[1]);
    }"""
    with pytest.raises(simt.UnsupportedInstruction, match="recurs") as caught:
        kernel(source)((1,), (1,), (np.zeros(2, np.int32),))
    assert caught.value.line in (1, 3)  # of the call in g, or of the one in f
    assert (caught.value.kernel, bool(caught.value.mnemonic)) == ("f", True)
