"""Device functions, variables of the module, printf and assertions: what a kernel leans on."""

import numpy as np
import pytest
from ptx_lanes import HEADER, entry
from simt_runs import kernel, needs_nvrtc, run

from helpers import simt

# ---------------------------------------------------------------------------- functions
FUNCTIONS = """
struct S { char c; double d; int a[3]; };
__device__ __noinline__ S twist(S s, char k, bool up, float2 v) {
    S r = s;
    r.c += k;
    r.d += v.x * v.y;
    for (int i = 0; i < 3; i++) r.a[i] = up ? s.a[2 - i] : -s.a[i];
    return r;
}
__device__ __noinline__ int inner(int n, int* out) {
    *out += n;
    if (n > 20) return 1;
    return n * 3;
}
__device__ __noinline__ int outer(int n) {
    int box = 5, r = 0;
    for (int i = 0; i < n % 4; i++) r += inner(n + i, &box);
    return r * 100 + box;
}
__device__ __noinline__ short half_of(short x, unsigned char y) { return x / 2 - y; }
__global__ f(int* out) {
    int t = threadIdx.x;
    S s{(char)(100 + t), t * 0.5, {t, 2 * t, 3 * t}};
    s = twist(s, 3, t & 1, make_float2(t, 2.f));
    int r = outer(t);
    if (t % 2) r += half_of(-t, 200);
    int mine[8];
    for (int i = 0; i < 8; i++) mine[i] = i * t;
    out[t] = s.c + 1000 * (int)(s.d * 2) + s.a[0] + 7 * s.a[1] + 13 * s.a[2] + r + mine[t & 7];
}"""


def functions(t: int) -> int:
    """The same in Python, with C's narrow types."""

    def inner(n):
        nonlocal box
        box += n
        return 1 if n > 20 else n * 3

    box, c = 5, (103 + t + 128) % 256 - 128
    a = [3 * t, 2 * t, t] if t % 2 else [-t, -2 * t, -3 * t]
    r = sum(inner(t + i) for i in range(t % 4)) * 100 + box
    r += (-(t // 2) - 200) if t % 2 else 0
    return c + 1000 * int(t * 5.0) + a[0] + 7 * a[1] + 13 * a[2] + r + (t & 7) * t


@needs_nvrtc
def test_functions_take_and_return_what_they_should():
    """Structs by value, narrow integers, pointers to a caller's local variable, calls in a loop of
    another call, early returns, calls of only some lanes. (An H200 gives these numbers, too.)"""
    out = run(FUNCTIONS, 1, 64, np.zeros(64, "i4"))[0]
    assert out.tolist() == [functions(t) for t in range(64)]


def call(body: str, functions: str, threads: int = 32) -> list[int]:
    """Run PTX that leaves %r1 in the thread's word of `out`."""
    text = (
        ".reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
        "ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 4, %d0;\n"
        f"{body}\nst.global.u32 [%d0], %r1; ret;"
    )
    out = np.zeros(threads, np.uint32)
    simt.from_ptx(entry(text, ".param .u64 out", before=functions))((1,), (threads,), (out,))
    return out.tolist()


SQUARE = """.func (.param .b32 back) square (.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [back], %r2; ret; }
"""


def test_calls_of_some_lanes():
    """A call under a predicate is made by the lanes for which it holds; the others keep going."""
    body = """{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; st.param.b32 [b], 7;
    setp.gt.u32 %p1, %r0, 9; @%p1 call (b), square, (a); ld.param.b32 %r1, [b]; }"""
    assert call(body, SQUARE) == [t * t if t > 9 else 7 for t in range(32)]


def test_parameters_read_in_other_pieces_than_written():
    """Where caller and callee cut a parameter differently, it is memory: bytes are bytes."""
    function = """.func (.param .b32 back) cut (.param .align 8 .b8 x[8])
    { .reg .b32 %r<4>; .reg .b64 %d<2>; .reg .b16 %h<3>; ld.param.u64 %d1, [x];
      shr.u64 %d1, %d1, 8; cvt.u32.u64 %r1, %d1; ld.param.u8 %h1, [x+7]; cvt.u32.u16 %r2, %h1;
      add.u32 %r3, %r1, %r2; st.param.b32 [back], %r3; ret; }"""
    body = """{ .param .align 8 .b8 a[8]; .param .b32 b; mov.u32 %r2, 0xF0102030;
    st.param.v2.b32 [a], {%r0, %r2}; call (b), cut, (a); ld.param.b32 %r1, [b]; }"""
    want = [((t | 0xF0102030 << 32) >> 8) + 0xF0 & 0xFFFFFFFF for t in range(32)]
    assert call(body, function) == want


def test_a_function_without_arguments():
    """call f; with nothing in and nothing out, which leaves by several returns."""
    function = """.global .u32 seen;
    .func note () { .reg .pred %p; .reg .b32 %t, %x; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 4;
      @%p ret; atom.global.add.u32 %x, [seen], %t; ret; }"""
    assert call("call note; call.uni note; bar.sync 0; ld.global.u32 %r1, [seen];", function) == (
        [20] * 32
    )


UNCALLABLE = {
    "recursive device function down": (
        ".func down () { call middle; ret; }\n",
        ".func middle () { call down; ret; }\n",
        "call down;",
    ),
    "far is declared, but its code is not in this PTX": (".extern .func far ();\n", "call far;"),
    "through a pointer": (SQUARE, "call %d1, (%r1), P;"),
    "the address of square, a function, is taken": (SQUARE, "mov.u64 %d1, square;"),
    "holds the address of square": (
        SQUARE, ".global .u64 table[1] = {square};\n", "ld.global.u64 %d1, [table];",
    ),
    "not those that square declares": (SQUARE, "call square, (%r1);"),
}  # fmt: skip


@pytest.mark.parametrize("message", UNCALLABLE)
def test_calls_that_are_refused(message):
    """Recursion and calls through pointers end in one clear sentence, before anything runs."""
    *functions, body = UNCALLABLE[message]
    with pytest.raises(simt.UnsupportedInstruction, match=message) as caught:
        call(body, "".join(functions))
    assert caught.value.kernel == "f"


@needs_nvrtc
def test_recursion_in_the_source_names_its_line():
    """The error of a `.cu` is at the line of the call."""
    source = """
    __device__ __noinline__ int twist(int n, int* x) {
        if (n < 2) return x[n];
        return twist(n - 1, x) * 3 + twist(n - 2, x);
    }
    __global__ f(int* x) { x[0] = twist(x[1], x); }"""
    with pytest.raises(simt.UnsupportedInstruction, match="recursive device function twist") as e:
        kernel(source)(1, 1, (np.zeros(9, "i4"),))
    assert e.value.line == 4


@pytest.mark.parametrize("body", ["call;", "call square, (3, 4, 5);", "call (%p1), (%r1);"])
def test_calls_without_sense_are_ptx_errors(body):
    """Half a call: the simulator's own error."""
    with pytest.raises((simt.PtxError, simt.UnsupportedInstruction)):
        call(body, SQUARE)


def test_calls_that_double_are_cut_off():
    """Sixty functions that each call the next one twice: too long, and said at once."""
    functions = [f".func g{k} () {{ call g{k + 1}; call g{k + 1}; ret; }}\n" for k in range(60)]
    with pytest.raises(simt.UnsupportedInstruction, match="over 131072 instructions"):
        call("call g0;", "".join([*functions, ".func g60 () { ret; }\n"]))


def test_calls_that_go_too_deep_are_cut_off():
    """Three hundred functions, each in the one before."""
    functions = [f".func g{k} () {{ call g{k + 1}; ret; }}\n" for k in range(300)]
    with pytest.raises(simt.UnsupportedInstruction, match="more than 64 deep"):
        call("call g0;", "".join([*functions, ".func g300 () { ret; }\n"]))


# ---------------------------------------------------------------------------- variables
VARIABLES = """
__device__ int counter = 5;
__device__ float table[3] = {1.5f, 2.5f, -3.0f};
__constant__ short few[4] = {10, -20, 30, -40};
__device__ const char* names[2] = {"even", "odd"};
__global__ f(int* out) {
    int t = threadIdx.x;
    out[t] = counter + (int)(2 * table[t % 3]) + few[t & 3] + names[t & 1][1];
    __syncthreads();
    if (t == 0) counter += 100;
}
__global__ g(int* out) { out[0] = counter; }"""


@needs_nvrtc
def test_variables_outlive_a_launch():
    """A __device__ variable keeps its value between launches of the module's kernels, starts anew
    with a new module, and is Python's to read and to set."""
    module = simt.RawModule(code=VARIABLES.replace("__global__", 'extern "C" __global__ void'))
    f, g = module.get_function("f"), module.get_function("g")
    out = np.zeros(32, "i4")
    f(1, 32, (out,))
    texts = (ord("v"), ord("d"))
    few, table = (10, -20, 30, -40), (3, 5, -6)
    assert out.tolist() == [5 + table[t % 3] + few[t & 3] + texts[t & 1] for t in range(32)]
    g(1, 1, (out,))
    assert out[0] == 105
    assert module.get_global("counter").view("i4")[0] == 105
    np.ndarray(1, "i4", module.get_global("counter"))[0] = -1
    g(1, 1, (out,))
    assert out[0] == -1
    fresh = kernel(VARIABLES, "g")
    fresh(1, 1, (out,))
    assert out[0] == 5
    address = module.get_global("names").view("u8")[1]
    assert address != 0  # where the text "odd" lies
    with pytest.raises(simt.LaunchError, match="no variable called 'other'.* counter"):
        module.get_global("other")


@needs_nvrtc
def test_errors_at_variables_name_them():
    """Out of bounds of a __device__ array, and a write to constant memory by its address."""
    source = "__device__ float table[3];\n__global__ f(int i) { table[i] = 1; }"
    with pytest.raises(simt.Defect, match="just past the end of `table` .12 B."):
        kernel(source)(1, 1, (3,))
    with pytest.raises(simt.Defect, match="write to read-only memory: .*`fixed` is a __constant__"):
        call("cvta.const.u64 %d1, fixed; st.u32 [%d1+4], 1;", ".const .u32 fixed[4];\n")


@needs_nvrtc
def test_arguments_can_be_memory():
    """A struct argument that is indexed, through its own address."""
    text = """.visible .entry f(.param .align 4 .b8 s[20], .param .u64 out)
    { .reg .b64 %d<9>; .reg .b32 %r<9>; mov.u32 %r1, %tid.x; mov.b64 %d1, s; ld.param.u64 %d2,
     [out];
      mad.wide.u32 %d3, %r1, 4, %d1; ld.param.u32 %r2, [%d3+4]; cvta.param.u64 %d4, %d3;
      ld.u32 %r3, [%d4]; isspacep.param %p, %d4; @%p add.u32 %r3, %r3, 1000;
      mad.lo.u32 %r2, %r3, 100, %r2; mad.wide.u32 %d2, %r1, 4, %d2; st.global.u32 [%d2],
      %r2; ret; }"""
    values, out = np.zeros(1, "V20"), np.zeros(4, "u4")
    values.view("u4")[:] = [1, 2, 3, 4, 5]
    simt.from_ptx(HEADER + text.replace("{ .reg", "{ .reg .pred %p; .reg", 1))(
        (1,), (4,), (values[0], out)
    )
    assert out.tolist() == [(1000 + k) * 100 + k + 1 for k in range(1, 5)]


# ---------------------------------------------------------------------------- printf
LETTERS = r"""
__global__ f(int* shown) {
    shown[0] = printf("%d|%5d|%-5d|%05d|%+d|%i\n", -7, 42, 42, 42, 42, 13);
    shown[1] = printf("%u %x %X %o %#x %#o\n", 4000000000u, 255, 255, 8, 255, 8);
    shown[2] = printf("%f %.2f %8.3f %e %g %G %a\n", 1.5, 3.14159, 2.71828, 12345.678, 0.0001,
     1e20, 1.0);
    shown[3] = printf("%s|%10s|%-10s|%.2s|%c|%%\n", "abc", "abc", "abc", "abc", 'z');
    shown[4] = printf("%ld %lld %lu %llx %zu\n", -5L, -5LL, 5UL, 0x123456789abcLL);
    shown[5] = printf("%hd %hhd\n", 70000, 300);
    shown[6] = printf("%*d|%.*f\n", 6, 42);
    shown[7] = printf("nothing\n");
    shown[8] = printf("%f %f %f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0);
    shown[9] = printf("%p %p\n", (void*)0x1234, (void*)0);
    shown[10] = printf("%5c|%-3c|% d|%.3d\n", 'a', 'b', 5, 5);
}"""
# as an H200 prints them (driver 580.159.04)
PRINTED = """\
-7|   42|42   |00042|+42|13
4000000000 ff FF 10 0xff 010
1.500000 3.14    2.718 1.234568e+04 0.0001 1E+20 0x1p+0
abc|       abc|abc       |ab|z|%
-5 -5 5 123456789abc %zu
4464 44
    42|%.*f
nothing
inf -inf -nan
0x1234 (nil)
    a|b  | 5|005
"""


@needs_nvrtc
def test_printf_writes_what_a_gpu_writes(capsys):
    """Every conversion that CUDA lists, and the two it does not know."""
    shown = np.zeros(11, "i4")
    kernel(LETTERS)(1, 1, (shown,))
    assert capsys.readouterr().out == PRINTED
    assert shown.tolist() == [6, 6, 7, 5, 4, 2, 2, 0, 3, 2, 4]


@needs_nvrtc
@pytest.mark.parametrize("schedule", ["lowest", "highest", 3])
def test_printf_comes_in_the_order_of_blocks_and_threads(schedule, capsys):
    """Whatever ran first: block by block, thread by thread, and in each the order of its lines."""
    source = r"""
    __global__ f(int n) {
        int t = threadIdx.x;
        if (t & 1) printf("%d.%d odd %s\n", blockIdx.x, t, t == 1 ? "first" : "later");
        for (int i = 0; i < t; i++) if (i == 2) printf("%d.%d i %lld\n", blockIdx.x, t, 1LL << 40);
    }"""
    with simt.limits(schedule=schedule):
        kernel(source)(3, 4, (1,))
    want = [[f"{b}.1 odd first", f"{b}.3 odd later", f"{b}.3 i {2**40}"] for b in range(3)]
    assert capsys.readouterr().out.splitlines() == sum(want, [])


@needs_nvrtc
def test_printf_before_a_mistake_is_still_printed(capsys):
    """What a kernel said before it failed is what its author needs to see."""
    source = r'__global__ f(int* x) { printf("here %d\n", x[0]); x[9] = 1; }'
    with pytest.raises(simt.Defect, match="out of bounds"):
        kernel(source)(1, 1, (np.ones(4, "i4"),))
    assert capsys.readouterr().out == "here 1\n"


@needs_nvrtc
def test_assertions_name_expression_and_thread():
    """A failed assertion is a mistake, with the words of the assertion; the lanes end."""
    source = """
    extern "C" __device__ void __assertfail(
        const char* message, const char* file, unsigned line, const char* function, size_t width);
    #define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))
    __global__ f(int* x) {
        assert(x[threadIdx.x] < 40);
        x[threadIdx.x] = -1;
    }"""
    x = np.arange(32, dtype="i4") * 2
    with pytest.raises(simt.Defect, match=r"assertion failed: x\[threadIdx.x\] < 40 .in f") as e:
        kernel(source)(1, 32, (x,))
    assert (e.value.line, e.value.thread) == (6, 20)
    defects = simt.profile(kernel(source), 1, 32, (x := np.arange(32, dtype="i4") * 2,)).defects
    assert [d.kind for d in defects] == ["assertion failed"]
    assert x.tolist() == [-1 if t < 20 else 2 * t for t in range(32)]
