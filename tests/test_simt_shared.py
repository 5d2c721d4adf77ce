"""Shared memory: wavefronts, their ideal and bank conflicts, and what would cure them.

The numbers are those of an H200 under Nsight Compute 2025.3; test_simt_calibration holds every
pattern of the measurement, here the rules stand one by one.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simt_runs import kernel, needs_nvrtc

from helpers import simt
from helpers.simt.observers import banks
from helpers.simt.observers.names import SHARED, WAVEFRONTS

pytestmark = needs_nvrtc
LANE = np.arange(32)
WIDTHS = (4, 8, 16)


def waves(elements, width: int, kind: str = "load", active=None) -> banks.Waves:
    lanes = np.asarray(elements, np.int64)[None] * width
    return banks.waves(lanes, None if active is None else np.asarray(active)[None], width, kind)


def numbers(found: banks.Waves) -> tuple:
    return found.source, found.ideal, found.hardware, found.conflicts


@pytest.mark.parametrize(
    ("width", "stride", "expected"),
    [
        *[(4, stride, n) for stride, n in {1: 1, 2: 2, 4: 4, 8: 8, 32: 32, 0: 1, 33: 1}.items()],
        *[(8, stride, n) for stride, n in {1: 2, 2: 4, 4: 8, 0: 1, 3: 2}.items()],
        *[(16, stride, n) for stride, n in {1: 4, 2: 8, 4: 16, 0: 2, 3: 4}.items()],
        *[(1, stride, n) for stride, n in {1: 1, 4: 1, 8: 2, 128: 32}.items()],
        *[(2, stride, n) for stride, n in {1: 1, 2: 1, 4: 2, 64: 32}.items()],
    ],
)  # fmt: skip
def test_strides(width, stride, expected):
    """Wavefronts of a load by its stride in elements; the conflicts are what is over the groups."""
    found = waves(LANE * stride, width)
    groups = {16: 2 if stride == 0 else 4, 8: 1 if stride == 0 else 2}.get(width, 1)
    assert numbers(found) == (expected, groups, expected, expected - groups)


@pytest.mark.parametrize(("width", "wavefronts"), [(8, 1), (16, 2)])
@pytest.mark.parametrize("together", [2, 4, 32])
def test_lanes_that_agree_in_pairs(width, wavefronts, together):
    """Lanes n and n^1 at one address: a wide load takes two groups at once, a store does not."""
    assert numbers(waves(LANE // together, width)) == (wavefronts, wavefronts, wavefronts, 0)
    assert waves(LANE // together, width, "store").source == 32 * width // 128


@pytest.mark.parametrize(
    ("lanes", "expected"), [(0, 0), (1, 1), (8, 1), (9, 2), (16, 2), (31, 4), (32, 4)]
)
def test_idle_lanes(lanes, expected):
    """Only quarters of a warp with an active lane take a wavefront of a 128-bit load."""
    assert numbers(waves(LANE, 16, active=lanes > LANE)) == (expected, expected, expected, 0)
    assert waves(LANE * 32, 4, active=lanes > LANE).source == lanes


def test_an_idle_lane_has_no_say_in_a_pair():
    """A pair agrees when one of its lanes is idle."""
    assert numbers(waves(LANE // 2, 16, active=LANE < 31)) == (2, 2, 2, 0)
    odd_elsewhere = np.where(LANE % 2, 500 + LANE, LANE // 2)
    assert numbers(waves(odd_elsewhere, 8, active=LANE % 2 == 0)) == (1, 1, 1, 0)


def test_the_hardware_and_the_source_view_differ():
    """Half a warp in pairs: the source view joins that half of a 128-bit load, the hardware does
    not; pairs that conflict: the hardware joins them, the source view does not."""
    half = np.where(LANE < 16, LANE // 2, LANE)
    assert numbers(waves(half, 16)) == (3, 3, 4, 0)
    conflicting = np.repeat([0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23], 2)
    found = waves(conflicting, 8)
    assert (found.source, found.ideal, found.hardware) == (4, 2, 2)


@pytest.mark.parametrize(("stride", "expected"), [(1, 1), (0, 32), (8, 8), (32, 32), (2, 2)])
def test_atomics_take_turns(stride, expected):
    """Lanes of an atomic operation that share a word or a bank wait for each other."""
    assert waves(LANE * stride, 4, "atomic").source == expected


def counted(elements, width: int, active) -> int:
    """Wavefronts of a store, on fingers: words by bank of each group."""
    total, group = 0, min(32, 128 // max(width, 4))
    for start in range(0, 32, group):
        words: dict[int, set] = {}
        for lane in range(start, start + group):
            if active[lane]:
                first = elements[lane] * width
                for word in {(first + byte) // 4 for byte in range(width)}:
                    words.setdefault(word % 32, set()).add(word)
        total += max(map(len, words.values()), default=0)
    return total


@settings(max_examples=200)
@given(
    st.lists(st.integers(0, 300), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
    st.sampled_from([1, 2, *WIDTHS]),
)
def test_any_pattern(elements, active, width):
    """Scattered, repeated, idle: the same as counting on fingers; a load takes no more, and
    neither ever less than the bytes need."""
    stored = waves(elements, width, "store", active)
    assert stored.source == stored.hardware == counted(elements, width, active)
    loaded = waves(elements, width, "load", active)
    assert loaded.hardware <= stored.source
    assert loaded.ideal <= loaded.source <= stored.source
    assert 0 <= loaded.conflicts <= loaded.hardware


# ---------------------------------------------------------------------------- whole kernels
ROW_SUMS = """__global__ f(const float* x, float* y) {
    __shared__ float s[32][PITCH];
    for (int k = 0; k < 32; k++) s[k][threadIdx.x] = x[32 * k + threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 32; k++) sum += s[threadIdx.x][k];
    y[threadIdx.x] = sum;
}"""
READ, WRITE = 6, 3  # lines


def row_sums(pitch: int):
    x, y = np.arange(1024, dtype=np.float32), np.zeros(32, np.float32)
    report = simt.profile(kernel(ROW_SUMS.replace("PITCH", str(pitch))), (1,), (32,), (x, y))
    assert y.tolist() == x.reshape(32, 32).sum(1).tolist()
    return report


@pytest.mark.parametrize(
    ("pitch", "literal", "fused"), [(32, 1024, 256), (33, 32, 32), (36, 128, 32)]
)
def test_rows_of_a_tile(pitch, literal, fused):
    """Padding a 32 × 32 tile wins 8 times on the hardware, not 32 times as the PTX would have it:
    the assembler joins the loads of the unpadded rows."""
    report = row_sums(pitch)
    line, ptx = report.lines[READ], report.ptx_lines[READ]
    assert line[WAVEFRONTS] == fused
    assert line[f"{WAVEFRONTS}_ideal"] == 32
    assert line[SHARED["wavefronts", "ld"]] == fused
    assert line[SHARED["conflicts", "ld"]] == fused - 32
    assert ptx["shared wavefronts"] == literal
    assert ptx["shared wavefronts, ideal"] == 32
    assert ptx.get("shared bank conflicts", 0) == literal - 32
    assert report.lines[WRITE][SHARED["wavefronts", "st"]] == 32
    assert report.arrays["s"][WAVEFRONTS] == fused + 32


def test_blocks_and_warps_add_up():
    """Many chunks of many blocks, partial warps and a branch: each warp counts once."""
    source = """__global__ f(float* y) {
        __shared__ float a[96], b[96];
        a[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x < 40) b[threadIdx.x] = a[2 * threadIdx.x];
        __syncthreads();
        y[blockIdx.x * blockDim.x + threadIdx.x] = b[threadIdx.x % 32];
    }"""
    y = np.zeros(3000 * 90, np.float32)
    report = simt.profile(kernel(source), (3000,), (90,), (y,))
    assert report.lines[3][WAVEFRONTS] == 3000 * 3
    assert report.arrays["a"][SHARED["wavefronts", "ld"]] == 3000 * (2 + 1)
    assert report.lines[5][SHARED["wavefronts", "st"]] == 3000 * 2
    assert report.arrays["b"][SHARED["wavefronts", "ld"]] == 3000 * 3
    assert report.counters["sm__ctas_launched.sum"] == 3000
    assert report.counters["smsp__warps_launched.sum"] == 9000
    assert y[:90].tolist() == [float(2 * (t % 32)) for t in range(90)]


def test_unlike_blocks_count_each_for_itself():
    """Where blocks use other addresses, each counts by its own."""
    source = """__global__ f(float* y) {
        __shared__ float s[1024];
        s[threadIdx.x * (blockIdx.x + 1)] = 1.0f;
        y[blockIdx.x] = s[0];
    }"""
    report = simt.profile(kernel(source), (8,), (32,), (np.zeros(8, np.float32),))
    by_stride = [1, 2, 1, 4, 1, 2, 1, 8]
    assert report.lines[3][WAVEFRONTS] == sum(by_stride)


@pytest.mark.parametrize("blocks", [1, 300])
def test_more_patterns_than_are_kept(blocks):
    """A line that never repeats a pattern counts each time; its advice says what it has seen."""
    source = """__global__ f(float* y, int rounds) {
        __shared__ float s[32 * 256];
#pragma unroll 1
        for (int k = 0; k < rounds; k++) {
            s[threadIdx.x * k] = k;
            __syncthreads();
        }
        y[blockIdx.x] = s[0];
    }"""
    rounds = 200
    y = np.zeros(blocks, np.float32)
    report = simt.profile(kernel(source), (blocks,), (32,), (y, rounds), races=False)
    each = [waves(LANE * k, 4, "store").source for k in range(rounds)]
    assert report.lines[5][WAVEFRONTS] == blocks * sum(each)
    (advice,) = report.advice()
    assert 0 < advice.share < 1
    assert "which were recorded" in str(advice)


def test_a_histogram():
    """Adding 1 counts the lanes of a word first; adding anything else makes them take turns."""
    source = """__global__ f(const int* keys, int* counts) {
        __shared__ int bins[32];
        bins[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&bins[keys[threadIdx.x]], WHAT);
        __syncthreads();
        counts[threadIdx.x] = bins[threadIdx.x];
    }"""
    keys, counts = np.full(32, 7, np.int32), np.zeros(32, np.int32)
    executed = "smsp__inst_executed_op_shared_atom.sum"
    for what, expected in (("1", 1), ("2 + (int)threadIdx.x", 32)):
        report = simt.profile(kernel(source.replace("WHAT", what)), (1,), (32,), (keys, counts))
        assert report.lines[5][WAVEFRONTS] == expected
        assert report.counters[executed] == 1


# ---------------------------------------------------------------------------- advice
def test_advice_for_a_column():
    """Every padding and the swizzle, tried on the addresses; a multiple of four words keeps the
    loads joined."""
    (advice,) = row_sums(32).advice()
    assert (advice.line, advice.array, advice.row) == (READ, "s", 32)
    assert (advice.now, advice.ideal) == (256, 32)
    assert advice.padded[1] == advice.padded[4] == 32
    assert advice.padded[8] == 64
    assert advice.swizzled == 32
    assert advice.best == 1
    assert "rows of 33 words" in str(advice)
    assert advice.to_json()["best"] == 1


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6, 7, 8])
def test_advice_comes_true(words):
    """What padding would give is what the padded kernel gives."""
    (advice,) = row_sums(32).advice(READ)
    assert row_sums(32 + words).lines[READ][WAVEFRONTS] == advice.padded[words]


def test_the_swizzle_comes_true():
    """So it is for the XOR swizzle."""
    swizzled = ROW_SUMS.replace("PITCH", "32").replace("s[k][threadIdx.x]", "s[k][threadIdx.x ^ k]")
    swizzled = swizzled.replace("s[threadIdx.x][k]", "s[threadIdx.x][k ^ threadIdx.x]")
    x, y = np.arange(1024, dtype=np.float32), np.zeros(32, np.float32)
    report = simt.profile(kernel(swizzled), (1,), (32,), (x, y))
    (advice,) = row_sums(32).advice()
    assert report.lines[READ][WAVEFRONTS] == advice.swizzled
    assert report.advice() == []
    assert y.tolist() == x.reshape(32, 32).sum(1).tolist()


def test_no_advice_without_conflicts():
    """A kernel without bank conflicts gets none, and neither does one without shared memory."""
    assert row_sums(33).advice() == []
    source = "__global__ f(float* y) { y[threadIdx.x] = 1; }"
    assert simt.profile(kernel(source), (1,), (32,), (np.zeros(32, np.float32),)).advice() == []


def test_advice_warns_of_other_lines():
    """Where padding moves the conflict to another line, the advice says so."""
    source = """__global__ f(float* y) {
        __shared__ float s[32][32];
        int t = threadIdx.x;
        for (int k = 0; k < 8; k++) s[t][t ^ k] = k;
        s[t][0] = 1;
        y[t] = s[t][t];
    }"""
    report = simt.profile(kernel(source), (1,), (32,), (np.zeros(32, np.float32),))
    (advice,) = report.advice(5)
    assert advice.now == 32
    assert advice.padded[1] == 1
    assert "all lines together" in str(advice)
