"""Every kernel of the catalogue against its reference, on whatever device there is.

The same tests run on the simulator and on a GPU: all launches go through `helpers.launch`.
"""

import dataclasses

import numpy as np
import pytest

from helpers import device, launch, reference, versions
from helpers.device import cp
from helpers.simt.errors import LaunchError

EVERY = pytest.mark.parametrize("name", versions.VERSIONS)
SAFE = pytest.mark.parametrize("name", [v.name for v in versions.ladder()])
VECTOR = pytest.mark.parametrize("name", ["v3", "v4", "copy"])
NAN, INF = float("nan"), float("inf")

# Requests and sectors of global loads and stores at 4096 × 4096: x is read `reads` times. A warp's
# request covers 4 bytes a lane or 16, in 4 or 16 sectors, or in 32 where lanes read different rows.
AT_4096 = {
    "naive_f32": (1048576, 33554432, 524288, 16777216),
    "naive_f16": (1048576, 33554432, 524288, 16777216),
    "naive_bf16": (1048576, 33554432, 524288, 16777216),
    "v0": (1572864, 50331648, 524288, 16777216),
    "v1": (1572864, 6291456, 524288, 2097152),
    "v2": (1572864, 6291456, 524288, 2097152),
    "v3": (393216, 6291456, 131072, 2097152),
    "v4": (655360, 4194304, 524288, 2097152),
    "copy": (131072, 2097152, 131072, 2097152),
}


def judge(version, got, x):
    """The comparison with the version's reference; fails when it is out of bounds."""
    comparison = reference.compare(got, launch.expected(version, x))
    assert comparison.within(version.allowed(x.shape[-1])), comparison
    if version.reference == "rounded":
        assert comparison.max_ulp <= 1, comparison
    return comparison


def kinds(cols, seed=0):
    """Rows that break careless kernels, by name; every one has a softmax."""
    rng = np.random.default_rng(seed)
    plain = rng.standard_normal(cols).astype(np.float32)
    spike, holes = plain.copy(), plain.copy()
    spike[cols // 2] = 60.0
    holes[1::3] = -INF
    return {
        "random": plain,
        "equal": np.full(cols, 0.75, np.float32),
        "shifted up": plain + np.float32(1e4),
        "shifted down": plain - np.float32(1e4),
        "below zero": plain - np.float32(50),  # a 0 that slips into the sum would drown it
        "spike": spike,
        "tiny": plain * np.float32(1e-30),
        "-inf": holes,
    }


@EVERY
@pytest.mark.parametrize(
    ("rows", "cols"), [(512, 1000), (64, 781), (33, 31), (1, 1), (3, 5), (7, 4099)]
)
def test_standard_normal_rows(name, rows, cols):
    """The errors the lessons promise, at sizes that are no multiple of anything."""
    version = versions.get(name)
    x = launch.normal(rows, cols, version.np_dtype)
    judge(version, launch.run(version, x), x)


@EVERY
def test_at_4096_results_and_counters(name):
    """At the lessons' size: right, with the requests and sectors of Nsight Compute."""
    version = versions.get(name)
    result = launch.examine(version, 4096, 4096)
    assert result.ok, result.comparison
    if version.reference == "rounded":
        assert result.comparison.max_ulp <= 1, result.comparison
    counters = result.counters or launch.profile(version, 4096, 4096).counters
    prefix = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
    names = [prefix.format(what, op) for op in ("ld", "st") for what in ("requests", "sectors")]
    assert tuple(counters[n] for n in names) == AT_4096[name]


@SAFE
@pytest.mark.parametrize("cols", [1, 2, 31, 32, 33, 127, 129, 1023, 1024, 1025])
def test_awkward_rows(name, cols):
    """Shifts, spikes, ties, -inf: each row by itself is as good as a random one."""
    version, rows = versions.get(name), kinds(cols)
    x = cp.asarray(np.stack(list(rows.values())))
    got = cp.asnumpy(launch.run(version, x))
    for kind, row, y in zip(rows, cp.asnumpy(x), got, strict=True):
        comparison = reference.compare(y, reference.softmax(row))
        assert comparison.within(version.tolerance), f"{kind}: {comparison}"


@SAFE
def test_rows_the_formula_makes_nan(name):
    """NaN, +inf or only -inf: the whole row is NaN, and its neighbours are untouched."""
    version, cols = versions.get(name), 70
    x = np.stack([kinds(cols)["random"]] * 7)
    x[1, 69], x[2, 0], x[4], x[5], x[5, 3] = NAN, INF, -INF, -INF, NAN
    y = cp.asnumpy(launch.run(version, cp.asarray(x)))
    assert np.isnan(y).all(axis=1).tolist() == [False, True, True, False, True, True, False]
    judge(version, y[[0, 3, 6]], x[[0, 3, 6]])


@pytest.mark.parametrize(
    ("name", "last", "first"),
    [("naive_f32", 88.72, 88.73), ("naive_f16", 11.0859375, 11.09375), ("naive_bf16", 88.5, 89.0)],
)
def test_naive_kernels_overflow_where_the_lesson_says(name, last, first):
    """One step further e^x is inf: its own entry becomes NaN and every other one 0."""
    version = versions.get(name)
    x = np.array([[last, 0.0], [first, 0.0]], version.np_dtype)
    y = cp.asnumpy(launch.run(version, cp.asarray(x))).astype(float)
    assert np.isfinite(y[0]).all()
    assert np.isnan(y[1, 0])
    assert y[1, 1] == 0.0


@pytest.mark.parametrize(
    ("name", "survives", "dies"),
    [("naive_f32", -100.0, -104.0), ("naive_f16", -17.0, -17.5)],
)
def test_naive_kernels_underflow_where_the_lesson_says(name, survives, dies):
    """A row of -100 is subnormal and comes out exact in FP32, a row of -104 is 0 / 0."""
    version = versions.get(name)
    x = np.array([[survives] * 4, [dies] * 4], version.np_dtype)
    y = cp.asnumpy(launch.run(version, cp.asarray(x))).astype(float)
    assert y[0].tolist() == [0.25] * 4
    assert np.isnan(y[1]).all()


@pytest.mark.parametrize(("name", "stuck"), [("naive_f16", 2048), ("naive_bf16", 256)])
def test_16_bit_sums_stick(name, stuck):
    """More ones than that add up to 2048 in FP16 and to 256 in BF16, from left to right."""
    version = versions.get(name)
    y = launch.run(version, cp.asarray(np.zeros((2, stuck + 99), version.np_dtype)))
    assert np.all(cp.asnumpy(y).astype(float) == 1 / stuck)


@pytest.mark.parametrize(
    ("name", "cols"),
    [(name, cols) for name in versions.VERSIONS for cols in (3, 33)]
    + [(name, 781) for name in ("v1", "v3", "v4", "copy")],
)
@pytest.mark.parametrize("x_off", range(4))
def test_views_off_a_16_byte_boundary(name, cols, x_off):
    """x and y each 0 to 3 elements off, also differently; nothing outside y is written."""
    version, rows = versions.get(name), 5
    values = cp.asnumpy(launch.normal(rows, cols, version.np_dtype))
    for y_off in range(4):
        x, _ = off_by(values, x_off, version)
        y, whole = off_by(np.full_like(values, 7), y_off, version)
        launch.run(version, x, out=y)
        judge(version, y, values)
        around = np.delete(cp.asnumpy(whole), np.s_[y_off : y_off + values.size])
        assert np.all(around.astype(float) == 9.0)


def off_by(values, offset, version):
    """A device view of `values`, `offset` elements into a larger array of nines, and that array."""
    whole = cp.asarray(np.full(values.size + 8, 9, version.np_dtype))
    view = whole[offset : offset + values.size].reshape(values.shape)
    view[...] = cp.asarray(values)
    return view, whole


@VECTOR
@pytest.mark.parametrize("cols", range(1, 12))
def test_every_remainder_of_four(name, cols):
    """Head, body and tail share out every short row, whichever of them is empty."""
    version = versions.get(name)
    x = launch.normal(4, cols, seed=cols)
    judge(version, launch.run(version, x), x)


@pytest.mark.parametrize(
    ("name", "block"),
    [("v0", 32), ("v0", 1024), ("v1", 1), ("v1", 32), ("v1", 128)]
    + [(name, block) for name in ("v2", "v3", "v4") for block in (32, 96, 1024)],
)
@pytest.mark.parametrize("cols", [5, 300])
def test_other_blocks(name, block, cols):
    """Multiples of 32 for V2 to V4, powers of two up to 256 for V1: the headers promise it."""
    version = dataclasses.replace(versions.get(name), block=block)
    x = launch.normal(6, cols)
    judge(version, launch.run(version, x), x)


def test_copy_keeps_every_bit():
    """NaN payloads, infinities, subnormals and -0 included."""
    bits = np.random.default_rng(0).integers(0, 2**32, (37, 113), dtype=np.uint32)
    bits[0, :5] = 0x7F800001, 0xFFC12345, 0xFF800000, 0x80000000, 0x00000001
    y = launch.run("copy", cp.asarray(bits.view(np.float32)))
    assert np.array_equal(cp.asnumpy(y).view(np.uint32), bits)


@EVERY
def test_in_place(name):
    """y may be x itself: no element is read again after it was written."""
    version = versions.get(name)
    x = launch.normal(9, 130, version.np_dtype)
    before = cp.asnumpy(x)
    launch.run(version, x, out=x)
    judge(version, x, before)


@SAFE
def test_every_bit_is_the_same_the_next_time(name):
    """No race, no dependence on what ran before: two launches agree bit by bit."""
    x = launch.normal(20, 260)
    first, second = (cp.asnumpy(launch.run(name, x)) for _ in range(2))
    assert np.array_equal(first.view(np.uint32), second.view(np.uint32))


def test_v4_at_the_limit_of_shared_memory():
    """The longest row that fits runs, one column more is refused before the launch."""
    v4 = versions.get("v4")
    most = v4.max_cols(device.spec())
    x = launch.normal(1, most)
    judge(v4, launch.run(v4, x), x)
    with pytest.raises(LaunchError, match=f"at most {most} columns"):
        launch.run(v4, launch.normal(1, most + 1))


@EVERY
def test_offsets_beyond_2_to_the_31(name):
    """The last row of 16384 × 133120 elements: its offset does not fit in 32 bits."""
    if not device.on_gpu():
        pytest.skip("needs a GPU with 20 GB; elsewhere test_versions checks the PTX for it")
    version, rows, cols = versions.get(name), 16384, 133120
    if version.limits(cols, version.np_dtype, device.spec()):
        cols, rows = 40000, 2**31 // 40000 + 2
    need = 2 * rows * cols * version.np_dtype.itemsize
    if cp.cuda.Device().mem_info[0] < need:
        pytest.skip(f"needs {need / 1e9:.0f} GB of free GPU memory")
    x = cp.zeros((rows, cols), version.np_dtype)
    x[-1] = launch.normal(1, cols, version.np_dtype)[0]
    y = launch.run(version, x)
    judge(version, y[-1:], x[-1:])


def test_hexp_is_right_for_every_half():
    """hexp, as naive_f16 uses it: the nearest FP16 number to e^x, for every finite x there is."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    source = """#include <cuda_fp16.h>
    extern "C" __global__ void all(const __half* x, __half* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = hexp(x[i]);
    }"""
    there = cp.asarray(x)
    y = cp.empty_like(there)
    cp.RawKernel(source, "all")((-(-x.size // 256),), (256,), (there, y, x.size))
    with np.errstate(over="ignore"):
        wanted = np.exp(x.astype(np.float64)).astype(np.float16)
    got = cp.asnumpy(y)
    wrong = x[got != wanted]
    assert wrong.size == 0, f"{wrong.size} inputs, the first {wrong[:5]}"
