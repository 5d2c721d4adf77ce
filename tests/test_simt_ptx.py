"""The PTX parser: what compilers emit, what inline assembly brings, and what is no PTX at all."""

import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_lanes import HEADER, entry

from helpers import simt
from helpers.simt import nvrtc, ptx

OUT = ".param .u64 out"
START = """
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>, %out;
ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %out, %r0, 4, %out;
"""


def run(body: str, threads: int = 4, before: str = "") -> list[int]:
    """The words that the threads of one block store at [%out]."""
    words = np.zeros(threads, np.uint32)
    simt.from_ptx(entry(START + body, OUT, before=before))((1,), (threads,), (words,))
    return words.tolist()


def function(body: str, before: str = ""):
    return ptx.parse(entry(body, before=before)).functions["f"]


# ---------------------------------------------------------------------------- what it reads
def test_inner_braces_redeclare_registers():
    """A register declared again inside braces is another one, single or as a family, and the
    outer one is back behind them: so every function of cuda_fp16.h arrives."""
    assert (
        run("""
        mov.u32 %r1, 1; mov.u32 %r2, 2;
        { .reg .b32 %r1; mov.u32 %r1, 100; { .reg .b32 %r1; mov.u32 %r1, 1000; }
          add.u32 %r2, %r2, %r1; }
        { .reg .b32 %r<9>; mov.u32 %r1, 7; mov.u32 %r2, 8; }
        add.u32 %r3, %r1, %r2; st.global.u32 [%out], %r3;""")
        == [103] * 4
    )


def test_inner_braces_may_change_the_type():
    """The inner %r1 may even be a predicate."""
    assert run("""
        mov.u32 %r1, 5; mov.u32 %r2, 0;
        { .reg .pred %r1; setp.eq.u32 %r1, %r0, 2; @%r1 mov.u32 %r2, 9; }
        add.u32 %r3, %r1, %r2; st.global.u32 [%out], %r3;""") == [5, 5, 14, 5]


def test_labels_belong_to_their_braces():
    """Two scopes may use one label name; a branch takes the innermost."""
    assert (
        run("""
        mov.u32 %r1, 0; { bra L; mov.u32 %r1, 1; L: add.u32 %r1, %r1, 10; }
        { bra L; mov.u32 %r1, 2; L: add.u32 %r1, %r1, 100; }
        st.global.u32 [%out], %r1;""")
        == [110] * 4
    )


def test_several_instructions_on_a_line():
    """Line ends mean nothing: inline assembly puts much on one line, or one thing on many."""
    assert (
        run(
            "mov.u32 %r1,1;add.u32 %r1,%r1,1;{add.u32 %r1,%r1,1;}add.u32\n%r1\n,%r1,1;"
            "st.global.u32[%out],%r1;"
        )
        == [4] * 4
    )


def test_comments_are_ignored():
    """// and /* */ anywhere, with braces and semicolons in them."""
    assert (
        run("""
        mov.u32 %r1, 3; // } ; {
        /* st.global.u32 [%out], 7; } */ st.global.u32 [%out], /* ; */ %r1;""")
        == [3] * 4
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1", 2**32 - 1),
        ("0x1F", 31),
        ("0xFFFFFFFFU", 2**32 - 1),
        ("017", 15),
        ("0b101", 5),
        ("42U", 42),
        ("0f3F800000", 0x3F800000),
        ("0F7FC12345", 0x7FC12345),
        ("0f7F800001", 0x7F800001),
        ("WARP_SZ", 32),
    ],
)
def test_numbers(text, value):
    """Every way to write a constant; a hexadecimal float keeps its bits, NaN payloads included."""
    assert run(f"mov.b32 %r1, {text}; st.global.u32 [%out], %r1;") == [value] * 4


def test_float_constants():
    """Decimals and hexadecimal doubles."""
    (bits,) = set(run("add.f32 %r1, 0f00000000, 1.5; st.global.u32 [%out], %r1;"))
    assert bits == 0x3FC00000
    high = run(
        "mov.f64 %d1, 0d3FF8000000000000; shr.u64 %d1, %d1, 32; cvt.u32.u64 %r1, %d1;"
        "st.global.u32 [%out], %r1;"
    )
    assert high == [struct.unpack(">II", struct.pack(">d", 1.5))[0]] * 4


def test_narrow_loads_extend():
    """A load into a wider register fills it: zeros for .u, the sign for .s."""
    assert (
        run("""
        mov.u32 %r1, 0xFFFF8081; st.global.u32 [%out], %r1;
        ld.global.u8 %d1, [%out]; ld.global.s8 %d2, [%out]; ld.global.u32 %d3, [%out];
        add.s64 %d1, %d1, %d2; shr.u64 %d3, %d3, 8; add.s64 %d1, %d1, %d3;
        cvt.u32.u64 %r2, %d1; st.global.u32 [%out], %r2;""")
        == [0x81 - 0x7F + 0xFFFF80] * 4
    )


def test_locations_follow_inlining():
    """Code from a header counts for the line of the .cu that called it, through several calls;
    code inlined from the .cu itself keeps its own line."""
    body = "\n".join(
        [
            ".reg .b32 %r<9>;",
            ".loc 1 10 3",
            "mov.u32 %r1, 1;",
            ".loc 2 489 9, function_name $L__info_string2, inlined_at 1 12 3",
            "mov.u32 %r2, 1;",
            ".loc 3 87 13, function_name $L__info_string3, inlined_at 2 489 9",
            "mov.u32 %r3, 1;",
            ".loc 1 4 3, function_name $L__info_string1, inlined_at 1 10 3",
            "mov.u32 %r4, 1;",
            ".loc 1 0 0",
            "mov.u32 %r5, 1;",
            ".loc\t1 13 1",
            "ret;",
        ]
    )
    files = '.file 1 "k.cu"\n.file\t2 "a.h"\n.file 3 "b.h"'
    read = function(body, files)
    places = [(i.file, i.line) for i in read.instructions]
    assert places[:6] == [(1, 10), (1, 12), (1, 12), (1, 4), (1, 4), (1, 13)]


def test_sections_and_directives_are_skipped():
    """Debug sections, pragmas and prototypes carry nothing to run."""
    after = """
    .section .debug_str
    {
    $L__info_string0:
    .b8 95,90,0 // "{;"
    { .b8 1 }
    }
    """
    text = entry('.pragma "nounroll"; ret;', before=".extern .func g (.param .b64 p);") + after
    assert ptx.parse(text).entries() == ["f"]


def test_declarations():
    """Parameters, bounds, variables with initial values, arrays of several dimensions."""
    module = ptx.parse(
        HEADER
        + """
        .global .align 8 .b8 table[8] = {1, 0x2, 3};
        .const .f32 half = 0f3F000000;
        .global .align 4 .u32 words[2][3];
        .extern .shared .align 16 .b8 dyn[];
        .visible .entry f(.param .u64 .ptr .global .align 4 x, .param .align 8 .b8 s[20],
                          .param .f64 d, .param .u8 b)
        .maxntid 128, 2, 1
        .minnctapersm 2
        { .shared .align 4 .b8 s1[128]; ret; }
        """
    )
    f = module.functions["f"]
    assert [(p.name, p.size, p.offset) for p in f.parameters] == [
        ("x", 8, 0),
        ("s", 20, 8),
        ("d", 8, 32),
        ("b", 1, 40),
    ]
    assert f.max_threads == 256
    assert [(v.name, v.space, v.size, v.align) for v in module.variables] == [
        ("table", "global", 8, 8),
        ("half", "const", 4, 4),
        ("words", "global", 24, 4),
        ("dyn", "shared", 0, 16),
    ]
    assert module.variables[0].initial == bytes([1, 2, 3, 0, 0, 0, 0, 0])
    assert module.variables[1].initial == struct.pack("<f", 0.5)
    assert [(v.name, v.size) for v in f.variables] == [("s1", 128)]


def test_a_thousand_dead_variables_cost_little():
    """Parsing is linear: cooperative groups bring more than a thousand unused variables."""

    def seconds(count):
        lines = "\n".join(
            f".global .align 4 .b8 v{k}[64] = {{{', '.join('1' * 64)}}};" for k in range(count)
        )
        text = entry("ret;", before=lines)
        start = time.process_time()
        ptx.parse(text)
        return time.process_time() - start

    seconds(10)
    assert seconds(2000) < 40 * seconds(200)  # linear is 10, quadratic 100


def test_operands_of_every_shape():
    """Vectors, pairs, negated predicates, addresses with offsets, special registers, symbols."""
    f = function("""
        .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<3>; .shared .b8 s[64];
        @!%p1 ld.global.v2.u32 {%r1, %r2}, [%d1+-8];
        setp.eq.and.u32 %p1|%p2, %r1, 3, !%p2;
        st.shared.u32 [s+16], %tid.y;""")
    load, test, store = f.instructions[:3]
    assert (load.negated, load.guard.name) == (True, "%p1")
    assert [r.name for r in load.operands[0].parts] == ["%r1", "%r2"]
    assert load.operands[1].offset == -8
    assert (test.operands[0].first.name, test.operands[0].second.name) == ("%p1", "%p2")
    assert test.operands[3] == ptx.Negated(test.operands[0].second)
    assert store.operands == (ptx.Address(ptx.Symbol("s"), 16), ptx.Special("%tid.y"))
    assert load.mnemonic == "ld.global.v2.u32"


# ---------------------------------------------------------------------------- what it refuses
WHOLE = entry("\n.reg .b32 %r<3>;\nmov.u32 %r1, 7;\nret;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no .version"),
        ("hello, world", "truncated"),
        ("#include <cuda_fp16.h>\n__global__ void f() { }", "expected a function"),
        ("\x7fELF\0\0", "no PTX text"),
        (None, "no PTX text"),
        (WHOLE.replace("8.4", "10.0"), "newer"),
        (WHOLE.replace("8.4", "new"), "cannot read the .version"),
        (WHOLE.replace("64\n", "32\n"), "64-bit"),
        (WHOLE[:-3], "truncated"),
        (WHOLE[: WHOLE.index("7")], "truncated"),
        (WHOLE.replace("7;", "7"), "cannot read the operand"),
        (WHOLE.replace("ret;", "ret"), "expected ';'"),
        (WHOLE + "}", "closing brace"),
        (WHOLE.replace("%r1", "%x1"), "%x1 is not a register"),
        (WHOLE.replace("%r1", "%r9"), "%r9 is not a register"),
        (WHOLE.replace("7", "09"), "cannot read the operand"),
        (WHOLE.replace("ret;", "bra L;"), "branch to L"),
        (WHOLE.replace("ret;", "@%q ret;"), "%q is not a register"),
        (WHOLE.replace("ret;", "RET;"), "cannot read the instruction"),
        (WHOLE.replace("ret;", ".nonsense 7;"), "unknown directive"),
        (WHOLE.replace("mov.u32 %r1, 7", "mov.u32 %r1,, 7"), "an operand is missing"),
        (WHOLE.replace("mov.u32 %r1, 7", "ld.u32 %r1, [%r1+%r2]"), "cannot read the address"),
        (WHOLE.replace(".b32", ".c32"), "cannot read the declaration"),
        (WHOLE.replace("()", "(.param .q32 p)"), "cannot read the parameter"),
        (WHOLE.replace("ret;", ".shared .align 3 .b8 s[4];"), "power of two"),
    ],
)
def test_unreadable_text(text, message):
    """Truncated, foreign or newer text is a PtxError that says what is wrong, with the line."""
    with pytest.raises(simt.PtxError, match=message) as caught:
        ptx.parse(text)
    if text and "\0" not in text:
        assert caught.value.line in range(1, text.count("\n") + 2)
        assert caught.value.source in text


def test_the_error_names_the_ptx_line():
    """The line and its text are those of the PTX."""
    text = WHOLE.replace("7;", "§;")
    with pytest.raises(simt.PtxError) as caught:
        ptx.parse(text)
    assert caught.value.source == "mov.u32 %r1, §;"
    assert text.splitlines()[caught.value.line - 1] == "mov.u32 %r1, §;"


@pytest.mark.parametrize(
    "line",
    [
        "mov.u32 %r1, no_such_variable;",
        "ld.shared.u32 %r1, [no_such_variable];",
        "ld.param.u32 %r1, [p+64];",
        "ld.global.v2.u32 %r1, [%d1];",
        "st.global.v4.u32 [%d1], {%r1, %r2};",
        "mov.u32 %r1, 1.5;",
        "shfl.sync.b32 %r1, %r1, 1, 31, -1;",
        "vote.sync.pred %p1, %p1, -1;",
    ],
)
def test_what_only_decoding_can_see(line):
    """Text that can be read and means nothing is a PtxError with kernel and line, too."""
    with pytest.raises(simt.SimulatorError) as caught:
        simt.from_ptx(entry(START + ".loc 1 5 1\n" + line, OUT))((1,), (1,), (np.zeros(1, "u4"),))
    assert isinstance(caught.value, simt.PtxError | simt.UnsupportedInstruction)
    assert (caught.value.kernel, caught.value.line) == ("f", 5)


def test_missing_and_ambiguous_entries():
    """from_ptx takes the only kernel, or the one named; otherwise it lists those there are."""
    two = entry("ret;", name="g") + entry("ret;", name="h").removeprefix(HEADER)
    assert simt.from_ptx(two, "h").name == "h"
    for name in (None, "missing"):
        with pytest.raises(simt.LaunchError, match="g, h"):
            simt.from_ptx(two, name)


# ---------------------------------------------------------------------------- mutated text
def sample() -> str:
    """PTX with something of everything: shared and local memory, a loop, a shuffle, halves."""
    text = nvrtc.compile_ptx(
        """#include <cuda_fp16.h>
        extern "C" __global__ void f(const float* x, const __half* h, float* y, int n) {
            __shared__ float s[64];
            extern __shared__ float d[];
            int a[4], t = threadIdx.x;
            s[t] = x[t];
            d[t] = 1;
            __syncthreads();
            for (int k = 0; k < 4; k++) a[k] = t * k;
            float v = a[x[t] > 0 ? t & 3 : 0] + __shfl_xor_sync(~0u, s[t ^ 1], 1);
            for (int i = t; i < n; i += 32) v += x[i];
            if (t < 5) v /= 3.0f;
            y[t] = v + __half2float(hexp(h[t])) + d[t] + __ballot_sync(~0u, t & 1);
        }"""
    )
    start = text.index(".visible .entry")
    return HEADER.replace("8.4", "9.0") + ".extern .shared .align 16 .b8 d[];\n" + text[start:]


TOKENS = [
    "{",
    "}",
    ";",
    ",",
    "[",
    "]",
    ".reg .b32 %r<5>;",
    "%r1",
    "%p1",
    "0",
    "-1",
    "09",
    "0x",
    "/*",
    "ret;",
    "L:",
    "bra L;",
    "@%p1 ",
    "|",
    '"',
    "9999999999999",
    ".align 0",
    ".v4",
    "%clock",
]


@pytest.fixture(scope="module")
def whole_text():
    text = sample()
    execute(text)  # before it is damaged, it runs
    return text


def execute(text: str) -> None:
    arrays = np.ones(64, "f4"), np.ones(64, "f2"), np.zeros(64, "f4")
    with simt.limits(budget=20_000):
        simt.from_ptx(text, "f")((2,), (32,), (*arrays, 40), shared_mem=128)


@settings(max_examples=200)
@given(data=st.data())
def test_mutated_text_raises_only_our_own_errors(whole_text, data):
    """Whatever happens to the text, it runs, or one of the simulator's own exceptions says no."""
    text = whole_text
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.sampled_from([0, 1, 3, 12, 60, 5000])))
        piece = data.draw(st.sampled_from([*TOKENS, "", text[start:stop] * 2]))
        text = text[:start] + piece + text[stop:]
    try:
        execute(text)
    except simt.SimulatorError as error:
        str(error)  # its message can be made, too
