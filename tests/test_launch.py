"""A call is right or refused with one clear error, and the process stays usable afterwards.

These tests run on the active device: the simulator, or a GPU where there is one.
"""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

from helpers import device, launch, reference, specs, versions
from helpers.simt.errors import CompileError, LaunchError

COUNTERS = [
    f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum"
    for unit in ("requests", "sectors")
    for op in ("ld", "st")
]
NAMES = list(versions.VERSIONS)


@pytest.fixture
def cp():
    return device.cp


def small(cp, rows=3, cols=5, dtype="float32"):
    return cp.asarray(np.arange(rows * cols).reshape(rows, cols).astype(dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (33, 31), (5, 781)])
def test_every_version_is_within_its_tolerance(name, shape):
    """check() compares with the reference the catalogue names, on the active device."""
    comparison = launch.check(name, *shape)
    assert comparison.within(versions.get(name).tolerance), comparison


def test_result_goes_to_out_or_to_a_new_array(cp):
    """run() returns what it wrote: a new array, `out`, or x itself."""
    x = small(cp)
    expected = launch.expected("v1", x)
    new, out = launch.run("v1", x), cp.empty_like(x)
    assert launch.run("v1", x, out=out) is out
    for y in (new, out):
        assert y.shape == x.shape
        assert y.dtype == x.dtype
        assert reference.compare(y, expected).within(1e-6)
    assert launch.run("v1", x, out=x) is x
    assert reference.compare(x, expected).within(1e-6)


def test_a_version_is_named_or_given(cp):
    """A name and its record are the same to every function."""
    version = versions.get("v2")
    assert launch.config("v2", 7, 9) == launch.config(version, 7, 9)
    assert launch.kernel("v2") is launch.kernel(version)
    with pytest.raises(ValueError, match="no version called 'v99'.*v0, v1"):
        launch.run("v99", small(cp))


def test_config_of_a_row_a_block():
    """Grid, block and shared memory come from the catalogue."""
    assert launch.config("v4", 7, 1000) == launch.Config((7, 1, 1), (256, 1, 1), 4000)
    assert launch.config("v0", 1000, 7) == launch.Config((4, 1, 1), (256, 1, 1), 0)


BAD_MATRICES = {
    "float64": (
        lambda cp: small(cp, dtype="float64"),
        r'float32, got float64.*astype\("float32"\)',
    ),
    "float16": (lambda cp: small(cp, dtype="float16"), "a version for float16: naive_f16"),
    "int32": (lambda cp: small(cp, dtype="int32"), "float32, got int32"),
    "transposed": (lambda cp: small(cp).T, "C-contiguous.*ascontiguousarray"),
    "strided": (lambda cp: small(cp, 3, 8)[:, ::2], "C-contiguous"),
    "rows of a wider matrix": (lambda cp: small(cp, 3, 8)[:, :5], "C-contiguous"),
    "a vector": (lambda cp: small(cp)[0], r"2 dimensions \(rows, cols\), got shape \(5,\)"),
    "a cube": (lambda cp: small(cp).reshape(1, 3, 5), "2 dimensions"),
    "no rows": (lambda cp: small(cp)[:0], "rows=0; it takes from 1"),
    "no columns": (lambda cp: cp.empty((3, 0), dtype="float32"), "cols=0; it takes from 1"),
    "a list": (lambda cp: [[1.0]], r"got list.*cp\.asarray\(x\)"),
    "a number": (lambda cp: 1.0, "got float"),
    "nothing": (lambda cp: None, "got NoneType"),
}


@pytest.mark.parametrize("case", BAD_MATRICES)
@pytest.mark.parametrize("name", ["v1", "v4"])
def test_bad_input_is_refused(cp, name, case):
    """Each bad matrix has its own error, naming the version, and leaves the device usable."""
    make, message = BAD_MATRICES[case]
    with pytest.raises(LaunchError, match=message) as caught:
        launch.run(name, make(cp))
    assert name in str(caught.value)
    assert launch.check(name, 2, 3).within(1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda cp, x: cp.empty((5, 3), dtype="float32"), "shape"),
        (lambda cp, x: cp.empty((3, 5), dtype="float64"), "out of float32, got float64"),
        (lambda cp, x: cp.empty((5, 3), dtype="float32").T, "out C-contiguous"),
        (lambda cp, x: np.zeros((3, 5)).tolist(), "out as an array on the device"),
    ],
)
def test_bad_out_is_refused(cp, make, message):
    """out is checked as x is."""
    x = small(cp)
    with pytest.raises(LaunchError, match=message):
        launch.run("v1", x, out=make(cp, x))


def test_overlapping_out_is_refused(cp):
    """x and out may be one array or two, but not partly the same memory; next to it is fine."""
    both = cp.asarray(np.zeros((8, 5), "float32"))
    with pytest.raises(LaunchError, match="overlaps x, 20 bytes apart"):
        launch.run("v1", both[:4], out=both[1:5])
    with pytest.raises(LaunchError, match="overlaps x"):
        launch.run("v1", both[1:5], out=both[:4])
    launch.run("v1", both[:4], out=both[4:])
    assert both.get()[4:] == pytest.approx(0.2)


def test_longest_row_runs_and_the_next_is_refused():
    """V4's limit is exact: the row that just fits runs, one more column is refused by name."""
    version = versions.get("v4")
    most = version.max_cols(device.spec())
    assert launch.check("v4", 1, most).within(version.tolerance)
    with pytest.raises(LaunchError, match=rf"v4 takes at most {most} columns.*use v0"):
        launch.config("v4", 1, most + 1)


@pytest.mark.parametrize("card", specs.SPECS)
def test_limit_is_the_simulated_cards(card, monkeypatch):
    """SOFTMAX_SIM_SPEC moves V4's limit, as another card would."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    monkeypatch.setenv("SOFTMAX_SIM_SPEC", card)
    most = specs.get(card).shared_optin // 4
    with pytest.raises(LaunchError, match="at most"):
        launch.config("v4", 1, most + 1)
    launch.config("v4", 1, most - 1024)


@pytest.mark.parametrize(
    ("rows", "cols"), [(0, 5), (5, 0), (-1, 5), (5, -1), (2**31, 1), (1, 2**31)]
)
@pytest.mark.parametrize("use", [launch.config, launch.check, launch.profile, launch.examine])
def test_impossible_sizes_are_refused_before_anything_is_made(use, rows, cols):
    """Sizes outside an int, or empty, cost neither memory nor time."""
    with pytest.raises(LaunchError, match=r"v1 (got (rows|cols)=|takes at most)"):
        use("v1", rows, cols)


def test_most_rows_of_all_have_a_grid():
    """2^31 - 1 rows are as many blocks as grid.x holds."""
    assert launch.config("v1", 2**31 - 1, 1).grid == (2**31 - 1, 1, 1)


@pytest.mark.parametrize("block", [200, 0, 512, 2048])
def test_block_that_v1_cannot_use_is_refused(block):
    """V1's tree halves the block: anything but a power of two up to 256 is an error."""
    with pytest.raises(ValueError, match=f"v1 needs a power of two.*got {block}"):
        dataclasses.replace(versions.get("v1"), block=block)


def test_missing_file_says_how_to_get_it_back(cp, monkeypatch, tmp_path):
    """A version without its .cu names the path and the way out."""
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    with pytest.raises(FileNotFoundError, match="v1_block_shared.cu.*git checkout"):
        launch.run("v1", small(cp))


def test_source_that_does_not_compile_shows_its_line(cp, monkeypatch, tmp_path):
    """The compiler's message comes with the file's own name, the line and its text."""
    version = versions.get("v1")
    broken = version.source.replace("float local_sum = 0.0f;", "float local_sum = ;")
    assert broken != version.source
    (tmp_path / version.file).write_text(broken)
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    with pytest.raises(CompileError, match="expected an expression") as caught:
        launch.run("v1", small(cp))
    error = caught.value
    assert (error.file, error.text) == ("v1_block_shared.cu", "float local_sum = ;")
    assert "v1_block_shared.cu" in str(error)
    assert "kernel.cu" not in str(error)
    monkeypatch.undo()
    assert launch.check("v1", 2, 3).within(1e-6)


def test_edited_file_takes_effect(cp, monkeypatch, tmp_path):
    """A reader who edits a .cu file and runs the cell again gets the new kernel."""
    version = versions.get("copy")
    x = small(cp)
    assert launch.run("copy", x).get().tolist() == x.get().tolist()
    header = 'extern "C" __global__ void copy_kernel'
    edited = header + "(const float* x, float* y, int rows, int cols) { y[threadIdx.x] = 7; }"
    (tmp_path / version.file).write_text(edited)
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    out = cp.zeros((16, 16), dtype="float32")
    assert launch.run("copy", small(cp, 16, 16), out=out).get().tolist() == [[7.0] * 16] * 16


def test_rows_are_the_same_everywhere():
    """normal() is NumPy's generator in float32: the device has no say in the numbers."""
    x = launch.normal(4, 5, "float32", seed=3)
    expected = np.random.default_rng(3).standard_normal((4, 5), dtype=np.float32)
    assert (x.get() == expected).all()
    half = launch.normal(4, 5, ml_dtypes.bfloat16, seed=3)
    assert (half.get() == expected.astype(ml_dtypes.bfloat16)).all()


def test_seed_changes_the_rows():
    """Two seeds are two inputs."""
    assert (launch.normal(4, 5, seed=1).get() != launch.normal(4, 5, seed=2).get()).any()


@pytest.mark.parametrize("name", NAMES)
def test_expected_is_the_reference_the_catalogue_names(cp, name):
    """Rounded for the 16-bit naive kernels, the input for the copy, float64 softmax otherwise."""
    version = versions.get(name)
    x = launch.normal(3, 5, version.np_dtype)
    got = launch.expected(name, x)
    host = x.get()
    if version.reference == "copy":
        assert (got == host).all()
    elif version.reference == "rounded":
        assert (got == reference.rounded_softmax(host, version.np_dtype)).all()
    else:
        assert (got == reference.softmax(host)).all()


def test_profile_counts_on_the_simulator():
    """profile() has the four global counters, on whatever device the rest runs."""
    counters = launch.profile("copy", 8, 128).counters
    assert [counters[name] for name in COUNTERS] == [8, 8, 128, 128]


def test_examine_counts_the_launch_it_checks(monkeypatch):
    """On the simulator one launch gives the comparison and the counters."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    result = launch.examine("v1", 3, 5)
    assert result.ok
    assert result.comparison.within(1e-6)
    assert (result.version, result.rows, result.cols) == ("v1", 3, 5)
    assert result.device.startswith("simulator (")
    assert set(COUNTERS) <= set(result.counters)
    assert result.counters == dict(launch.profile("v1", 3, 5).counters)


def test_examine_raises_the_defect_it_sees(monkeypatch, tmp_path):
    """A kernel that writes past its array does not pass for a checked one."""
    version = versions.get("copy")
    header = 'extern "C" __global__ void copy_kernel'
    edited = header + "(const float* x, float* y, int rows, int cols) { y[rows * cols] = 7; }"
    (tmp_path / version.file).write_text(edited)
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    with pytest.raises(Exception, match="past the end of `y`") as caught:
        launch.examine("copy", 2, 3)
    assert version.file in str(caught.value)


@pytest.mark.skipif(device.gpu_problem() is not None, reason=f"no GPU: {device.gpu_problem()}")
class TestRealGpu:
    """What only a card can show."""

    @pytest.fixture(autouse=True)
    def on_gpu(self, monkeypatch):
        monkeypatch.setenv("SOFTMAX_DEVICE", "gpu")

    def test_host_array_is_refused(self):
        """A NumPy array is not on the card."""
        with pytest.raises(LaunchError, match="in host memory"):
            launch.run("v1", np.zeros((3, 5), "float32"))

    def test_examine_counts_nothing(self):
        """A launch on a GPU has no counters, and says so with None."""
        result = launch.examine("v1", 3, 5)
        assert result.ok
        assert result.counters is None
        assert result.device == device.name()

    def test_profile_stays_on_the_simulator(self):
        """profile() needs no card and gives the same counts beside one."""
        assert launch.profile("copy", 8, 128).counters[COUNTERS[0]] == 8

    @pytest.mark.parametrize("name", NAMES)
    def test_large_matrix(self, name):
        """4096 × 4096 is right on the card."""
        comparison = launch.check(name, 4096, 4096)
        assert comparison.within(versions.get(name).tolerance), comparison
