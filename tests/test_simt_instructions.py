"""The rest of the instruction set, as lanes in and lanes out, and what is said of each mnemonic."""

import numpy as np
import pytest
from instruction_cases import CASES, PROGRAMS, program
from isa_cases import agrees
from ptx_lanes import RUNS, lanes

from helpers import simt
from helpers.simt import isa
from helpers.simt.__main__ import PAGE, main
from helpers.simt.instructions import explain

SCHEDULES = ("lowest", "highest", 1)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_arithmetic(case, run):
    """An instruction on registers gives the lanes that exact arithmetic gives."""
    values = case.lanes()
    got = lanes(case.body, case.sources, values, case.results, run=run)
    for inputs, *outputs in zip(zip(*values, strict=True), *got, strict=True):
        wanted = case.expect(*inputs)
        wanted = wanted if len(case.results) == 2 else (wanted,)
        for kind, output, want in zip(case.results, outputs, wanted, strict=True):
            assert agrees(kind, output, want), (
                f"{case}({', '.join(map(hex, inputs))}) = {output:#x}, expected {want}"
            )


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("body", "threads", "expected"), PROGRAMS, ids=[body.split(";")[0] for body, *_ in PROGRAMS]
)
def test_programs_on_every_machine(body, threads, expected, run):
    """The same words on a GPU, where there is one to compare with."""
    out = np.zeros(len(expected), np.uint32)
    run(program(body), (1,), (threads,), [out])
    assert out.tolist() == [w & 0xFFFFFFFF for w in expected]


@pytest.mark.parametrize(
    ("body", "threads", "expected"), PROGRAMS, ids=[body.split(";")[0] for body, *_ in PROGRAMS]
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_programs(body, threads, expected, schedule):
    """A program of one block leaves the right words in memory, in whatever order lanes run."""
    out = np.zeros(len(expected), np.uint32)
    with simt.limits(schedule=schedule):
        simt.from_ptx(program(body))((1,), (threads,), (out,))
    assert out.tolist() == [w & 0xFFFFFFFF for w in expected]


# ---------------------------------------------------------------------------- mistakes
def mistake(body: str, threads: int = 64) -> simt.Defect:
    with simt.limits(races=False), pytest.raises(simt.Defect) as caught:
        simt.from_ptx(program(body))((1,), (threads,), (np.zeros(4 * threads, np.uint32),))
    return caught.value


COPY = (
    "shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3;"
    "cp.async.ca.shared.global [%r2], [%mine], 4; cp.async.commit_group;"
)


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (COPY + "ld.shared.u32 %r1, [%r2];", "missing cp.async wait", "old bytes"),
        (COPY + "bar.sync 0; ld.shared.u32 %r1, [%r2];", "missing cp.async wait", "wait_group"),
        (
            COPY + "cp.async.wait_group 1; ld.shared.u32 %r1, [%r2];",
            "missing cp.async wait", "old bytes",
        ),
        ("bar.sync 16, %r0;", "mismatched barrier", "barriers 0 to 15, not 16"),
        ("bar.sync 1, %r0;", "mismatched barrier", "a barrier for 0 threads"),
        (
            "setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 32; @!%p1 bar.sync 1, 64;",
            "mismatched barrier", "some for 32 threads and some for 64",
        ),
        ("bar.sync 1, 32;", "mismatched barrier", "64 threads are at a barrier for 32"),
        (
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra E; bar.sync 1, 64; E:",
            "divergent barrier", "threads 32-63 wait at barrier 1 for 64 threads in all",
        ),
        (
            "setp.lt.u32 %p1, %r0, 32; @!%p1 bra E; bar.sync 3; E: bar.sync 0;",
            "divergent barrier", "threads 0-31",
        ),
        (
            "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra E; barrier.sync.aligned 0;"
            "bra F; E: barrier.sync.aligned 0; F:",
            "divergent barrier", "different __syncthreads",
        ),
        (
            "setp.lt.u32 %p1, %r0, 32; @!%p1 bra E; bar.arrive 1, 96; bar.arrive 1, 96; E:",
            "mismatched barrier", "again before it has completed",
        ),
        ("mbarrier.arrive.shared.b64 %d1, [s];", "invalid mbarrier", "not been initialised"),
        (
            "setp.lt.u32 %p1, %r0, 9; @%p1 bra E; ret; E: redux.sync.add.u32 %r1, %r0, 0xff;",
            "outside the member mask", "lane 8 executes redux.sync",
        ),
        ("st.u32 [%out+4096], 1;", "out of bounds", "write of size 4 bytes"),
        ("atom.global.add.u32 %r1, [%out+2], 1;", "misaligned", "2 bytes off a 4-byte boundary"),
        ("cp.async.cg.shared.global [s+8], [%out], 16;", "misaligned", "8 bytes off a 16-byte"),
        (
            "mov.u32 %r1, 6; cp.async.cg.shared.global [s], [%out+8], 16, %r1;",
            "misaligned", "8 bytes off a 16-byte",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_named(body, kind, says):
    """What the manual leaves undefined is reported, with what is wrong and who does it."""
    found = mistake(body)
    assert found.kind == kind
    assert says in found.message


def test_a_missing_wait_shows_the_old_bytes():
    """Where mistakes are collected, the kernel goes on with what a GPU would have read."""
    body = COPY + "ld.shared.u32 %r1, [%r2]; cp.async.wait_all; ld.shared.u32 %r4, [%r2];"
    body += "mad.lo.u32 %r1, %r1, 100, %r4; st.global.u32 [%mine], %r1;"
    body = (
        "shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], 7;" + body
    )
    out = np.full(32, 9, np.uint32)
    defects = simt.profile(simt.from_ptx(program(body)), (1,), (32,), (out,)).defects
    assert [d.kind for d in defects] == ["missing cp.async wait"]
    assert out.tolist() == [709] * 32


# ---------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("mnemonic", "why"),
    [
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "tensor-core"),
        ("cp.async.bulk.shared::cluster.global.mbarrier", "bulk copies"),
        ("mbarrier.arrive.expect_tx.shared.b64", "bulk copies"),
        ("barrier.cluster.arrive", "clusters"),
        ("ld.shared::cluster.u32", "clusters"),
        ("tex.2d.v4.f32.s32", "textures"),
        ("cvt.rna.tf32.f32", "tf32"),
        ("cvt.rn.satfinite.e4m3x2.f32", "below 16 bits"),
        ("vote.ballot.b32", "without .sync"),
        ("add.rx.f32", "add knows no .rx"),
        ("mul.lo.sat.s32", "do not saturate"),
        ("addc.cc.u16", "knows no .u16"),
        ("add.cc.u16", ".u16 has no carry"),
        ("frobnicate.b32", "no row for frobnicate"),
    ],
)
def test_refusals_have_a_reason(mnemonic, why):
    """What is not simulated is refused by name, with the reason."""
    with pytest.raises(simt.UnsupportedInstruction, match=why) as caught:
        explain(mnemonic)
    assert mnemonic in str(caught.value)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("min.f32 %r1, %r2, %r3, %r4;", "compute capability 10.0"),
        ("mov.u32 %r1, %clock;", "no clock"),
        ("mov.u64 %d1, %globaltimer;", "no clock"),
        ("mov.u32 %r1, %smid;", "no place in a real GPU"),
        ("atom.global.add.b32 %r1, [%d1], 1;", "add take u32"),
        ("atom.global.add.f16 %h1, [%d1], %h2;", "noftz"),
        ("redux.sync.add.b32 %r1, %r2, -1;", "add, min and max take"),
        ("st.const.u32 [%d1], 1;", "cannot be written"),
        ("red.global.add.v8.f32 [%d1], {%r1, %r2};", "at most 16 bytes"),
        ("cp.async.ca.shared.global.L2::cache_hint [s], [%d1], 4, %d2;", "cache"),
    ],
)
def test_refusals_of_a_kernel_name_the_line(line, why):
    """A launch is refused before it starts, with the instruction and its line."""
    with pytest.raises(simt.UnsupportedInstruction, match=why) as caught:
        simt.from_ptx(program(f".loc 1 12 3\n{line}"))((1,), (32,), (np.zeros(32, "u4"),))
    assert (caught.value.kernel, caught.value.line) == ("f", 12)


# ---------------------------------------------------------------------------- the page
def test_explain_prints_the_row():
    """The command says what the table says: operands, types, suffixes, class, meaning."""
    said = explain("shfl.sync.bfly.b32")
    for words in ("read a register of another lane", "d|p", ".sync .bfly", "b32 (bits", "warp"):
        assert words in said
    for opcode, row in isa.TABLE.items():
        assert row.meaning in explain(opcode)


def test_explain_on_the_command_line(capsys):
    """0 and the row, or 1 and the reason on the error stream."""
    assert main(["explain", "fma.rn.f16x2"]) == 0
    assert "rounded once" in capsys.readouterr().out
    assert main(["explain", "mma.sync"]) == 1
    assert "tensor-core" in capsys.readouterr().err


def test_the_page_is_current(tmp_path):
    """docs/instructions.md is what the tables say;"
    "`python -m helpers.simt instructions` makes it."""
    main(["instructions", str(tmp_path / "page.md")])
    made = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert made == PAGE.read_text(encoding="utf-8")
    assert all(f"`{opcode}`" in made for opcode in isa.TABLE)
