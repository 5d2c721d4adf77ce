"""Parameter lists read from CUDA C++ source."""

import ml_dtypes
import numpy as np
import pytest

from helpers import versions
from helpers.simt.errors import LaunchError
from helpers.simt.source import Parameter, entries, parameters, signature

BF16 = np.dtype(ml_dtypes.bfloat16)


def only(declaration, before=""):
    """The one parameter of a kernel that is declared with it."""
    source = f'{before}\nextern "C" __global__ void f({declaration}) {{}}'
    (parameter,) = parameters(source, "f")
    return parameter


@pytest.mark.parametrize(
    ("declaration", "ctype", "dtype", "const"),
    [
        ("const float* x", "float*", "f4", True),
        ("float const *x", "float*", "f4", True),
        ("const float* __restrict__ x", "float*", "f4", True),
        ("float* const x", "float*", "f4", False),
        ("float x[]", "float*", "f4", False),
        ("double *x", "double*", "f8", False),
        ("__half* x", "__half*", "f2", False),
        ("const half*x", "half*", "f2", True),
        ("const __nv_bfloat16 * x", "__nv_bfloat16*", BF16, True),
        ("const float4* x", "float4*", "f4", True),
        ("const __half2* x", "__half2*", "f2", True),
        ("unsigned char* x", "unsigned char*", "u1", False),
        ("unsigned int* x", "unsigned int*", "u4", False),
        ("std::uint32_t* x", "std::uint32_t*", "u4", False),
        ("const cuda::std::int64_t* x", "cuda::std::int64_t*", "i8", True),
        ("const void* x", "void*", None, True),
        ("const float** x", "float**", None, True),
        ("Point* x", "Point*", None, False),
        ("const T* x", "T*", None, True),
        ("Span<float, 3>* x", "Span<float,3>*", None, False),
    ],
)
def test_pointers(declaration, ctype, dtype, const):
    """A pointer's element type is found however it is spelt; what cannot be known is None."""
    dtype = None if dtype is None else np.dtype(dtype)
    assert only(declaration) == Parameter("x", ctype, True, dtype, const)


@pytest.mark.parametrize(
    ("declaration", "dtype"),
    [
        ("int n", "i4"),
        ("const int n", "i4"),
        ("signed n", "i4"),
        ("unsigned n", "u4"),
        ("unsigned int n", "u4"),
        ("int unsigned n", "u4"),
        ("short int n", "i2"),
        ("unsigned short n", "u2"),
        ("char n", "i1"),
        ("signed char n", "i1"),
        ("long n", "l"),
        ("unsigned long int n", "L"),
        ("long long n", "i8"),
        ("unsigned long long int n", "u8"),
        ("size_t n", "u8"),
        ("std::size_t n", "u8"),
        ("int8_t n", "i1"),
        ("bool n", "?"),
        ("float n", "f4"),
        ("double n", "f8"),
        ("half n", "f2"),
        ("int n = 3", "i4"),
        ("float4 n", None),
        ("struct Point n", None),
        ("const float& n", None),
    ],
)
def test_scalars(declaration, dtype):
    """Every way to write an arithmetic type is understood; structs and references are not."""
    found = only(declaration)
    assert (found.name, found.pointer) == ("n", False)
    assert found.dtype == (None if dtype is None else np.dtype(dtype))
    assert found.dtype is not None or dtype is None


@pytest.mark.parametrize(
    "before", ["typedef float real;", "using real = float;", "#define real float"]
)
def test_aliases_are_followed(before):
    """A type renamed by typedef, using or #define is the type it stands for."""
    assert only("const real* x", before).dtype == np.float32


def test_alias_given_twice_is_unknown():
    """Two #defines under an #if: which one holds is not ours to guess."""
    assert only("real* x", "#define real float\n#define real double").dtype is None


def test_alias_loop_ends():
    """#define a b, #define b a does not hang."""
    assert only("a* x", "#define a b\n#define b a").dtype is None


def test_nameless_parameters_are_numbered():
    """A declaration without names still has its types."""
    first, second = parameters('extern "C" __global__ void f(const int*, unsigned);', "f")
    assert (first.name, first.dtype, second.name, second.dtype) == ("#0", np.int32, "#1", np.uint32)


@pytest.mark.parametrize("inside", ["", "void", " /* none */ "])
def test_no_parameters(inside):
    """An empty list in each of its spellings."""
    assert parameters(f'extern "C" __global__ void f({inside}) {{}}', "f") == ()


@pytest.mark.parametrize(
    "head",
    [
        'extern "C" __global__ void __launch_bounds__(256) f',
        'extern "C" __global__ __launch_bounds__(256, (1 + 1)) void f',
        'extern "C" __global__ void __cluster_dims__(2, 1, 1) f',
        'extern "C" __launch_bounds__(256) __global__ static void f',
        'extern "C"\n__global__\nvoid\nf',
        'extern "C" { __global__ void f',
    ],
)
def test_declarator(head):
    """The kernel's name is found among attributes, and over several lines."""
    assert parameters(head + "(float x) {}", "f")[0].name == "x"


def test_comments_and_strings_hide_nothing_and_add_nothing():
    """A kernel in a comment or a string is none, and // inside a string starts no comment."""
    source = r"""
        // extern "C" __global__ void a(int n)
        /* extern "C" __global__ void b(int n) */
        #define MAKE(name) extern "C" __global__ void name(int n)
        extern "C" __global__ void f(const float* x, /* float* y, */ int n // , int m
        ) { printf("http:// __global__ void c(int n)"); char quote = '"'; }
        extern "C" __global__ void g(int n) { char end = '"'; }
    """
    assert entries(source) == ("f", "g")
    assert signature(source, "f") == "f(const float* x, int n)"


def test_kernels_behind_macros():
    """Macros that stand for the words before a kernel's name are read as those, also in parts."""
    source = """
        #define API extern "C"
        #define KERNEL API __global__ void
        #define HERE __global__ \\
            void
        KERNEL f(const float* x, int n) {}
        KERNEL __launch_bounds__(256) g(float* y) {}
        extern "C" HERE h(int n) {}
        HERE k(int n) {}
    """
    assert entries(source) == ("f", "g", "h", "k")
    assert signature(source, "f") == "f(const float* x, int n)"
    assert signature(source, "h") == "h(int n)"
    with pytest.raises(LaunchError, match='without extern "C"'):
        parameters(source, "k")


def test_a_macro_with_arguments_is_named():
    """What it declares is not guessed; the message says which macro it is."""
    source = '#define MAKE(name) extern "C" __global__ void name\nMAKE(f)(int n) {}'
    with pytest.raises(LaunchError, match=r"'f'.* the macro MAKE\(…\) declares cannot be seen"):
        parameters(source, "f")


def test_missing_entry_lists_the_entries_there_are():
    """A wrong name is answered with the right ones."""
    source = 'extern "C" __global__ void f() {} extern "C" __global__ void g() {}'
    with pytest.raises(LaunchError, match=r"'h'.* which has f, g\."):
        parameters(source, "h")
    with pytest.raises(LaunchError, match="no function in it is __global__"):
        parameters("void f() {}", "f")


def test_kernel_without_c_linkage_is_explained():
    """A name that C++ mangles is not found by any launcher; the cure is extern "C"."""
    with pytest.raises(LaunchError, match='Write: extern "C"'):
        parameters("__global__ void f(int n) {}", "f")


@pytest.mark.parametrize("version", versions.VERSIONS.values(), ids=lambda v: v.name)
def test_every_kernel_of_the_catalogue(version):
    """The files have the one signature (const T* x, T* y, int rows, int cols)."""
    x, y, rows, cols = parameters(version.source, version.entry)
    assert [p.name for p in (x, y, rows, cols)] == ["x", "y", "rows", "cols"]
    assert x.pointer
    assert y.pointer
    assert x.const
    assert not y.const
    assert x.dtype == y.dtype == version.np_dtype
    assert rows.dtype == cols.dtype == np.int32
