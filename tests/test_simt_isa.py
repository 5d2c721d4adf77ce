"""Every row of the opcode tables, as cases: PTX, lanes in, lanes out."""

import random

import numpy as np
import pytest
from atomic_cases import FORMS
from atomic_cases import listing as atomics
from instruction_cases import CASES as MORE_CASES
from instruction_cases import PROGRAMS as MORE_PROGRAMS
from isa_cases import ALU_CASES, agrees, signed
from ptx_lanes import BLOCK, RUNS, entry, lanes

from helpers import simt
from helpers.simt import isa


def judge(case, columns, got) -> None:
    """Compare every lane with what the case expects."""
    for inputs, *outputs in zip(zip(*columns, strict=True), *got, strict=True):
        wanted = case.expect(*inputs)
        wanted = wanted if len(case.results) == 2 else (wanted,)
        for kind, output, want in zip(case.results, outputs, wanted, strict=True):
            assert agrees(kind, output, want), (
                f"{case}({', '.join(map(hex, inputs))}) = {output:#x}, "
                f"expected {hex(want) if isinstance(want, int) else want}"
            )


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("case", ALU_CASES, ids=str)
def test_arithmetic(case, run):
    """An instruction on registers gives the lanes that exact arithmetic gives."""
    values = case.lanes()
    judge(case, values, lanes(case.body, case.sources, values, case.results, run=run))


@pytest.mark.parametrize("case", ALU_CASES, ids=str)
def test_values_that_lanes_share(case):
    """The same where a value is one for the block, or for all: the machine holds it only once."""
    draw = random.Random(case.body)
    domains = case.lanes()
    for turn in range(3):
        shapes = [("one", "block", "lane")[(turn + k) % 3] for k in range(len(domains))]
        if turn == 0:
            shapes = ["one"] * len(domains)
        need = {"lane": 2 * BLOCK, "block": 2, "one": 1}
        values = [
            draw.choices(domain, k=need[s]) for domain, s in zip(domains, shapes, strict=True)
        ]
        columns = [np.repeat(np.array(v, object), 2 * BLOCK // len(v)).tolist() for v in values]
        judge(case, columns, lanes(case.body, case.sources, values, case.results, shapes))


# ---------------------------------------------------------------------------- other rows
REGISTERS = """
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<9>; .reg .b64 %out, %mine;
.shared .align 16 .b8 s[1024];
ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %mine, %r0, 4, %out;
"""


def whole(body: str, expected, threads: int = 32, words: int = 1):
    """One block whose threads find their number in %r0 and the address of their own word in %mine,
    in an array %out of zeros; `expected` is what they leave there."""
    text = entry(REGISTERS + body, ".param .u64 out")
    return pytest.param(text, threads, words, expected, id=body.split()[0])


T = range(32)
PROGRAMS = [
    # memory
    whole(
        "st.global.u32 [%mine], %r0; ld.global.u32 %r1, [%out+8]; st.global.u32 [%mine], %r1;",
        [2] * 32,
    ),
    whole(
        """st.u32 [%mine], 7; ldu.global.u32 %r1, [%out]; add.u32 %r1, %r1, %r0;
        st.global.u32 [%mine], %r1;""",
        [7 + t for t in T],
    ),
    whole(
        """ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out]; st.volatile.global.u32 [%mine], 5;
        ld.relaxed.gpu.global.L1::no_allocate.u32 %r1, [%mine]; st.global.wt.u32 [%mine], %r1;""",
        [5] * 32,
    ),
    whole(
        """mad.wide.u32 %mine, %r0, 16, %out; mov.u32 %r1, 9;
        st.global.v4.b32 [%mine], {%r0, %r1, 3, %r0};""",
        [v for t in T for v in (t, 9, 3, t)],
        words=4,
    ),
    whole(
        """st.global.u32 [%mine], 0xF1F2F3F4; ld.global.s8 %r1, [%mine+1];
        ld.global.u8 %r2, [%mine+1]; ld.global.s16 %r3, [%mine]; add.u32 %r1, %r1, %r2;
        add.u32 %r1, %r1, %r3; st.global.u32 [%mine], %r1;""",
        [-13 + 0xF3 + signed(0xF3F4, 16)] * 32,
    ),
    whole(
        """mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1; xor.b32 %r3, %r2, 4;
        st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r4, [%r3];
        st.global.u32 [%mine], %r4;""",
        [t ^ 1 for t in T],
    ),
    whole(
        """mov.u32 %r1, s; cvt.u64.u32 %d1, %r1; cvta.shared.u64 %d2, %d1;
        mad.wide.u32 %d2, %r0, 4, %d2; st.u32 [%d2], %r0; cvta.to.shared.u64 %d3, %d2;
        cvt.u32.u64 %r2, %d3; ld.shared.u32 %r3, [%r2]; st.global.u32 [%mine], %r3;""",
        list(T),
    ),
    whole("cvta.to.global.u64 %d1, %mine; cvta.global.u64 %d2, %d1; st.u32 [%d2], 4;", [4] * 32),
    whole(
        """prefetch.global.L2 [%mine]; membar.gl; fence.acq_rel.gpu; fence.sc.sys;
        st.global.u32 [%mine], 1;""",
        [1] * 32,
    ),
    # lanes of a warp
    whole(
        """shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, -1; selp.u32 %r2, 100, 0, %p1;
        add.u32 %r1, %r1, %r2; st.global.u32 [%mine], %r1;""",
        [(t ^ 1) + 100 for t in T],
    ),
    whole(
        """setp.gt.u32 %p1, %r0, 20; vote.sync.ballot.b32 %r1, %p1, -1;
        st.global.u32 [%mine], %r1;""",
        [sum(1 << i for i in range(21, 32))] * 32,
    ),
    whole(
        """setp.gt.u32 %p1, %r0, 20; vote.sync.any.pred %p2, %p1, -1;
        vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1;
        selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3; selp.u32 %r3, 4, 0, %p4;
        add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%mine], %r1;""",
        [1] * 32,
    ),
    whole(
        """setp.lt.u32 %p1, %r0, 5; @%p1 bra L; ret; L: activemask.b32 %r1;
        st.global.u32 [%mine], %r1;""",
        [31 if t < 5 else 0 for t in T],
    ),
    # the block
    whole(
        """bar.warp.sync -1; barrier.sync.aligned 0; barrier.sync 1; bar.cta.sync 0;
        st.global.u32 [%mine], 1;""",
        [1] * 64,
        threads=64,
    ),
    # control
    whole(
        "setp.eq.u32 %p1, %r0, 3; @!%p1 bra.uni L; st.global.u32 [%mine], 8; L: ret;",
        [8 * (t == 3) for t in T],
    ),
    whole("bra.uni L; st.global.u32 [%mine], 8; L: ret;", [0] * 32),
    whole("bra L; st.global.u32 [%mine], 8; L:", [0] * 32),  # a kernel may end without ret
    whole(
        "setp.eq.u32 %p1, %r0, 3; @%p1 ret; st.global.u32 [%mine], 8;", [8 * (t != 3) for t in T]
    ),
    whole(
        "setp.lt.u32 %p1, %r0, 3; @%p1 exit; st.global.u32 [%mine], 8; exit;",
        [8 * (t >= 3) for t in T],
    ),
    whole("exit; st.global.u32 [%mine], 8;", [0] * 32),
    whole("setp.eq.u32 %p1, %r0, 99; @%p1 trap; st.global.u32 [%mine], 8;", [8] * 32),
]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("text", "threads", "words", "expected"), PROGRAMS)
def test_memory_warp_and_control(text, threads, words, expected, run):
    """An instruction that touches memory or other lanes leaves the right words in memory."""
    out = np.zeros(threads * words, np.uint32)
    run(text, (1,), (threads,), [out])
    assert out.tolist() == [v & 0xFFFFFFFF for v in expected]


def test_ld_param_reads_each_type():
    """Parameters of every width come from their own, aligned, place."""
    kinds = ("u8", "s16", "u32", "f32", "u64", "f64")
    loads = "".join(
        f"ld.param.{k} %{'r' if k in ('u8', 's16', 'u32', 'f32') else 'd'}{n}, [p{n}];"
        for n, k in enumerate(kinds)
    )
    body = (
        ".reg .b32 %r<9>; .reg .b64 %d<9>;\n"
        + loads
        + "ld.param.u64 %d0, [out];"
        + "".join(f"st.global.b32 [%d0+{4 * n}], %r{n};" for n in range(4))
        + "".join(f"st.global.b64 [%d0+{8 * n - 16}], %d{n};" for n in (4, 5))
    )
    parameters = ", ".join(f".param .{k} p{n}" for n, k in enumerate(kinds)) + ", .param .u64 out"
    out = np.zeros(8, np.uint32)
    arguments = (200, -3, 7, np.float32(1.5), 2**40, 2.5)
    simt.from_ptx(entry(body, parameters))((1,), (1,), (*arguments, out))
    assert out[:4].tolist() == [200, 2**32 - 3, 7, 0x3FC00000]
    assert out[4:].view(np.uint64)[:1].tolist() == [2**40]
    assert out[6:].view(np.float64).tolist() == [2.5]


def test_const_and_local_memory():
    """A local array is one a lane: each reads back what it wrote, at an index of its own."""
    body = (
        ".local .align 8 .b8 depot[32]; .reg .b64 %sp, %g, %d1, %out; .reg .b32 %r<9>;\n"
        "mov.u64 %sp, depot; cvta.local.u64 %g, %sp; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 7;"
        "mad.wide.u32 %d1, %r1, 4, %g; st.u32 [%d1], %r0; mad.wide.u32 %d1, %r1, 4, %sp;"
        "ld.local.u32 %r2, [%d1]; ld.param.u64 %out, [out]; mad.wide.u32 %out, %r0, 4, %out;"
        "st.global.u32 [%out], %r2;"
    )
    out = np.zeros(64, np.uint32)
    simt.from_ptx(entry(body, ".param .u64 out"))((1,), (64,), (out,))
    assert out.tolist() == list(range(64))


def test_call_is_refused_by_name():
    """A call of a function that was not inlined is an error that names it."""
    with pytest.raises(simt.UnsupportedInstruction, match=r"call\.uni"):
        run_line("call.uni g;")


def test_trap_is_a_defect():
    """trap ends the kernel with an error, for the lanes that reach it."""
    with pytest.raises(simt.Defect) as caught:
        run_line(
            ".reg .pred %p; .reg .b32 %t; mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 7; @%p trap;"
        )
    assert (caught.value.kind, caught.value.thread) == ("trap", 7)


def run_line(line: str, threads: int = 32) -> None:
    simt.from_ptx(entry(f".loc 1 12 3\n{line}\nret;", before='.file 1 "k.cu"'))(
        (1,), (threads,), ()
    )


def mnemonics(text: str) -> list[list[str]]:
    """Every word of PTX that may be a mnemonic, as [opcode, *suffixes]."""
    return [word.split(".") for word in text.replace(";", " ").split()]


def test_every_row_has_a_case():
    """Adding a row to the opcode tables means adding a case: here, or where the rest are tried."""
    texts = [case.body for case in ALU_CASES] + [program.values[0] for program in PROGRAMS]
    texts += [case.body for case in MORE_CASES] + [body for body, *_ in MORE_PROGRAMS]
    texts += [atomics(FORMS[0], opcode) for opcode in ("atom", "red")]
    tried = {opcode for text in texts for opcode, *_ in mnemonics(text)}
    tried.add("call")  # test_call_is_refused_by_name
    assert set(isa.TABLE) - tried == set()


def test_every_type_of_an_arithmetic_row_has_a_case():
    """A row's types are all tried: a type that nobody tried is a type that does not work."""
    tried = {}
    for case in (*ALU_CASES, *MORE_CASES):
        for opcode, *suffixes in mnemonics(case.body):
            tried.setdefault(opcode, set()).update(suffixes)
    missing = {
        opcode: gap
        for opcode in isa.ALU
        if (gap := set(isa.TABLE[opcode].types.split()) - tried.get(opcode, set()))
    }
    assert missing == {}


@pytest.mark.parametrize(
    ("line", "mnemonic"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 x;", "mma.sync"),
        ("wgmma.fence.sync.aligned;", "wgmma.fence"),
        ("tcgen05.wait.ld.sync.aligned;", "tcgen05.wait"),
        ("frobnicate.b32 %r1, %r2;", "frobnicate.b32"),
        ("add.rx.f32 %r1, %r2, %r3;", "add.rx.f32"),
        ("add %r1, %r2, %r3;", "add"),
        ("ld.global.b128 %r1, [%d1];", "ld.global.b128"),
        ("setp.s32 %p1, %r1, %r2;", "setp"),
        ("add.sat.u32 %r1, %r2, %r3;", "add"),
    ],
)
def test_unsupported_names_mnemonic_and_line(line, mnemonic):
    """An opcode or a suffix outside the tables is refused, never ignored."""
    registers = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    with pytest.raises(simt.UnsupportedInstruction) as caught:
        run_line(registers + line)
    error = caught.value
    assert error.mnemonic.startswith(mnemonic)
    assert error.mnemonic in str(error)
    assert (error.kernel, error.file, error.line) == ("f", "k.cu", 12)


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %r1, %r2;",
        "add.u32 %r1, %r2, %r3, %r4;",
        "add.u64 %r1, %d2, %d3;",
        "add.f32 %r1, %p1, %r2;",
        "mov.u32 %r1, [%d1];",
        "ld.global.u32 %r1, %d1;",
        "ld.global.u32 %r1, [%p1];",
        "st.global.u32 [%r1], %h1;",
        "setp.eq.u32 %r1, %r2, %r3;",
        "bar.sync;",
        "bra %r1;",
        "shfl.sync.down.b32 %r1, %r2;",
        "@%r1 add.u32 %r1, %r2, %r3;",
    ],
)
def test_wrong_operands_are_a_ptx_error(line):
    """Operands of the wrong number, kind or size: the simulator's own error, with the line."""
    registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    with pytest.raises(simt.PtxError) as caught:
        run_line(registers + line)
    assert caught.value.line is not None
