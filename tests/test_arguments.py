"""A kernel call is checked, and its numbers converted, before the launch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.simt.arguments import check_dimensions, convert
from helpers.simt.errors import LaunchError
from helpers.simt.source import parameters

TYPES = {
    "bool": np.bool_,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "size_t": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}
INTEGERS = [name for name, dtype in TYPES.items() if np.issubdtype(dtype, np.integer)]


def call(declaration, *args, **options):
    wanted = parameters(f'extern "C" __global__ void f({declaration}) {{}}', "f")
    return convert(wanted, args, "f", **options)


def row(dtype="float32"):
    return np.zeros((3, 4), dtype)


def test_a_right_call_passes_arrays_through_and_types_the_numbers():
    """Arrays stay the same objects, numbers get the parameter's type."""
    x, y = row(), row()
    got = call("const float* x, float* y, int n, float a, size_t m", x, y, 12, 1, 7)
    assert got[0] is x
    assert got[1] is y
    assert [type(number) for number in got[2:]] == [np.int32, np.float32, np.uint64]


def test_a_python_float_reaches_a_float_parameter():
    """The classic trap: 8 bytes of double where the kernel reads a 4-byte float."""
    (a,) = call("float a", 0.5)
    assert a.dtype == np.float32
    assert a == 0.5


@pytest.mark.parametrize(
    ("declaration", "args", "message"),
    [
        ("float* x, int n", (row(),), r"f takes 2 arguments \(float\* x, int n\), got 1"),
        ("float* x", (row(), 1), "takes 1 arguments"),
        (
            "float* x",
            (row("float64"),),
            r'`float\* x`: expected an array of float32.*astype\("float',
        ),
        ("float* x", (row("int32"),), "expected an array of float32, got an array of int32"),
        ("float* x", (1.0,), "argument 1 of f.*expected an array, got float 1.0"),
        ("float* x", ([1.0],), "expected an array, got list"),
        ("float* x", (None,), "expected an array, got None"),
        ("float* x", (np.float32(1),), "expected an array, got float32"),
        ("float* x", (row().T,), "C-contiguous.*ascontiguousarray"),
        ("float* x", (row()[:, ::2],), "C-contiguous"),
        ("void* x", (row().T,), "C-contiguous"),
        ("int n", (row(),), "expected a number, got an array"),
        ("int n", (np.zeros((), "int32"),), "expected a number, got an array"),
        ("int n", (1.0,), "expected an integer, got float 1.0"),
        ("int n", (np.float32(1),), "expected an integer"),
        ("int n", (True,), "expected an integer, got bool True"),
        ("float a", (True,), "expected a number, got bool"),
        ("float a", ("1",), "expected a number, got str 1"),
        ("float a", (1j,), "expected a number, got complex"),
        ("float a", (None,), "expected a number, got None"),
        ("bool b", (1,), "expected a bool, got int 1"),
        ("int n", (2**31,), "from -2147483648 to 2147483647, got int 2147483648"),
        ("unsigned n", (-1,), "from 0 to 4294967295, got int -1"),
        ("float a", (1e39,), "a number that float32 can hold"),
        ("half a", (65520.0,), "a number that float16 can hold"),
        ("double a", (10**400,), "a number that float64 can hold"),
    ],
)
def test_a_wrong_call_is_refused(declaration, args, message):
    """Each error names the argument, what was expected and what was got."""
    with pytest.raises(LaunchError, match=message):
        call(declaration, *args)


def test_arguments_must_be_a_tuple():
    """(x) is no tuple, and the message shows the comma that is missing."""
    wanted = parameters('extern "C" __global__ void f(float* x) {}', "f")
    with pytest.raises(LaunchError, match=r"one tuple.*\(x,\)"):
        convert(wanted, row(), "f")


def test_read_only_array_is_refused_only_where_it_could_be_written():
    """A const pointer takes a read-only array, another one does not."""
    x = row()
    x.flags.writeable = False
    assert call("const float* x", x)[0] is x
    with pytest.raises(LaunchError, match="read-only"):
        call("float* x", x)


def test_host_array_is_refused_on_a_gpu():
    """A NumPy array's address means nothing to a GPU."""
    with pytest.raises(LaunchError, match=r"host memory.*cp\.asarray"):
        call("float* x", row(), on_gpu=True)


def test_unknown_types_are_passed_on():
    """Nothing is claimed about structs: the value goes through as it is."""
    point = object()
    assert call("Point p", point) == (point,)
    x = row("float64")
    assert call("const T* x", x)[0] is x


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_infinity_and_nan_are_numbers(value):
    """A kernel may be handed an infinity on purpose."""
    np.testing.assert_equal(call("float a", value)[0], np.float32(value))


@settings(deadline=None)  # a busy machine is no defect
@given(name=st.sampled_from(INTEGERS), value=st.integers(-(2**65), 2**65))
def test_an_integer_arrives_whole_or_not_at_all(name, value):
    """Within the range of its type a number is kept, outside it is refused; it never wraps."""
    info = np.iinfo(TYPES[name])
    if info.min <= value <= info.max:
        (got,) = call(f"{name} n", value)
        assert (type(got), int(got)) == (TYPES[name], value)
    else:
        with pytest.raises(LaunchError):
            call(f"{name} n", value)


@settings(deadline=None)  # a busy machine is no defect
@given(value=st.floats(width=32, allow_nan=False))
def test_a_float_that_fits_is_exact(value):
    """A float32 value written as a Python float is not changed."""
    assert float(call("float a", value)[0]) == value


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        ((4,), (256,), ((4, 1, 1), (256, 1, 1))),
        (4, 256, ((4, 1, 1), (256, 1, 1))),
        ((np.int64(4), 2), (32, 32), ((4, 2, 1), (32, 32, 1))),
        ((2**31 - 1, 65535, 65535), (1, 1, 64), ((2**31 - 1, 65535, 65535), (1, 1, 64))),
    ],
)
def test_dimensions_are_filled_up(grid, block, expected):
    """One to three integers become three."""
    assert check_dimensions(grid, block, "f") == expected


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((0,), (1,), r"grid\.x of f is 0"),
        ((1,), (0,), r"block\.x of f is 0"),
        ((-1,), (1,), r"grid\.x of f is -1"),
        ((2**31,), (1,), r"grid\.x of f is 2147483648; it must be from 1 to 2147483647"),
        ((1, 65536), (1,), r"grid\.y of f is 65536"),
        ((1,), (1, 1, 65), r"block\.z of f is 65"),
        ((1,), (64, 32), "2048 threads"),
        ((1.5,), (1,), "one to three integers.*//"),
        ((), (1,), "one to three integers"),
        ((1, 1, 1, 1), (1,), "one to three integers"),
        ("8", (1,), "one to three integers"),
    ],
)
def test_impossible_dimensions_are_refused(grid, block, message):
    """CUDA's limits hold before the launch, and 0 blocks are not silently 1."""
    with pytest.raises(LaunchError, match=message):
        check_dimensions(grid, block, "f")


def test_a_number_for_an_unknown_type_must_say_its_size():
    """A struct given an int would get its first bytes and zeros; an enum given 1.5 nonsense."""
    source = """struct P { int a; float b; };
    extern "C" __global__ void f(P p, int* y) { *y = p.a; }"""
    wanted = parameters(source, "f")
    y = np.zeros(1, np.int32)
    for value in (3, 1.5, True):
        with pytest.raises(LaunchError, match="NumPy scalar of its size"):
            convert(wanted, (value, y), "f")
    point = np.array((3, 2.0), [("a", "i4"), ("b", "f4")])[()]
    assert convert(wanted, (point, y), "f") == (point, y)
