"""Which shared accesses the assembler joins: the rules one by one, and against the real SASS.

NVRTC holds the assembler; what it made of a kernel is read with nvdisasm, where the wheel
nvidia-cuda-nvdisasm or a CUDA toolkit is installed.
"""

import re
import shutil
import subprocess
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from ptx_lanes import entry
from simt_runs import needs_nvrtc

from helpers import simt, versions
from helpers.simt import fusion, nvrtc

TESTS = Path(__file__).parent
KERNELS = sorted((TESTS / "fusion_kernels").glob("*.cu"))
SOURCES = [*KERNELS, *sorted((TESTS / "calibration").glob("*.cu"))]
SOURCES += [version.path for version in versions.VERSIONS.values()]


# ---------------------------------------------------------------------------- what becomes of PTX
def widths(program) -> Counter:
    """{(LDS or STS, bits): how many} of a program's instructions, joined as planned."""
    found, plan = Counter(), fusion.plan(program)
    for pc, ins in enumerate(program.instructions):
        if ins.opcode in ("ld", "st") and {"shared", "shared::cta"} & set(ins.suffixes):
            size, count = fusion.shape_of(ins)
            joined = plan.get(pc)
            if joined is None or joined.leads:
                width = size * count if joined is None else joined.width
                found["LDS" if ins.opcode == "ld" else "STS", 8 * width] += 1
    return found


def program_of(body: str):
    """A kernel whose %a is a multiple of 16 within `s`, %b of 8, %c of 4, and %n unknown."""
    text = f"""
        .reg .b32 %a, %b, %c, %n, %m, %s, %t, %r<9>; .reg .f32 %f<40>; .reg .b16 %h<9>;
        .reg .b64 %d<9>, %y; .reg .pred %p;
        .shared .align 16 .b8 s[4096];
        ld.param.u64 %y, [y]; ld.param.u32 %n, [n]; ld.param.u32 %m, [m];
        mov.u32 %s, s; mov.u32 %t, %tid.x;
        shl.b32 %r1, %n, 4; add.u32 %a, %s, %r1;
        shl.b32 %r2, %n, 3; add.u32 %b, %s, %r2;
        shl.b32 %r3, %n, 2; add.u32 %c, %s, %r3;
        {body}"""
    parameters = ".param .u64 y, .param .u32 n, .param .u32 m"
    return simt.from_ptx(entry(text, parameters))._compiled()


def loads(base: str, *offsets, kind="f32", register="%f") -> str:
    return " ".join(
        f"ld.shared.{kind} {register}{k}, [{base}+{offset}];" for k, offset in enumerate(offsets)
    )


def stores(base: str, *offsets, kind="f32", register="%f1") -> str:
    return " ".join(f"st.shared.{kind} [{base}+{offset}], {register};" for offset in offsets)


FOUR = loads("%a", 0, 4, 8, 12)
TWO, OTHERS = loads("%a", 0, 4), loads("%a", 8, 12)
ADDRESS = "add.u32 %r5, %s, %r4; " + loads("%r5", 0, 4, 8, 12)
L, S = "LDS", "STS"
RULES = {
    # which words of an aligned piece
    "four": (FOUR, {(L, 128): 1}),
    "in any order": (loads("%a", 12, 0, 8, 4), {(L, 128): 1}),
    "three of four": (loads("%a", 0, 4, 12), {(L, 128): 1}),
    "three, not the first": (loads("%a", 4, 8, 12), {(L, 128): 1}),
    "two that are a pair": (loads("%a", 8, 12), {(L, 64): 1}),
    "two of two pairs": (loads("%a", 4, 8), {(L, 32): 2}),
    "two apart": (loads("%a", 0, 8), {(L, 32): 2}),
    "two pieces at once": (loads("%a", 0, 16, 4, 20, 8, 24, 12, 28), {(L, 128): 2}),
    "across a piece": (loads("%a", 8, 12, 16, 20), {(L, 64): 2}),
    "six": (loads("%a", 0, 4, 8, 12, 16, 20), {(L, 128): 1, (L, 64): 1}),
    "twice the same": (loads("%a", 0, 0, 4, 8), {(L, 128): 1}),
    # how well the base is aligned
    "aligned to 8": (loads("%b", 0, 4, 8, 12), {(L, 64): 2}),
    "aligned to 4": (loads("%c", 0, 4, 8, 12), {(L, 32): 4}),
    "the beginning": (loads("s", 0, 4, 8, 12), {(L, 128): 1}),
    "a constant added last": (
        "add.u32 %r4, %a, 12; " + loads("%r4", -12, -8, -4, 0), {(L, 128): 1}),
    "a constant added before": ("add.u32 %r4, %r1, 12; " + ADDRESS, {(L, 32): 4}),
    "an or for an addition": ("or.b32 %r4, %r1, 4; " + ADDRESS, {(L, 128): 1, (L, 32): 1}),
    "a multiplication": ("mul.lo.u32 %r4, %n, 48; " + ADDRESS, {(L, 128): 1}),
    "a multiple of 8": ("mad.lo.u32 %r5, %n, 24, %s; " + loads("%r5", 0, 4, 8, 12), {(L, 64): 2}),
    "a mask": ("and.b32 %r4, %n, 4080; " + ADDRESS, {(L, 128): 1}),
    "an xor": ("shl.b32 %r6, %m, 5; xor.b32 %r4, %r1, %r6; " + ADDRESS, {(L, 128): 1}),
    "a choice": (
        "setp.lt.u32 %p, %n, %m; shl.b32 %r6, %m, 5; selp.b32 %r4, %r1, %r6, %p; " + ADDRESS,
        {(L, 128): 1}),
    "a minimum": ("shl.b32 %r6, %m, 5; min.u32 %r4, %r1, %r6; " + ADDRESS, {(L, 32): 4}),
    "a shift to the right": ("shl.b32 %r6, %n, 6; shr.u32 %r4, %r6, 2; " + ADDRESS, {(L, 32): 4}),
    "through 64 bits": (
        "cvt.u64.u32 %d1, %r1; shl.b64 %d2, %d1, 1; cvt.u32.u64 %r4, %d2; " + ADDRESS,
        {(L, 128): 1}),
    "the same sum twice": (
        "add.u32 %r4, %r1, %s; " + loads("%a", 0, 4) + loads("%r4", 8, 12), {(L, 128): 1}),
    "another base": (loads("%a", 0, 4) + loads("%b", 8, 12), {(L, 64): 2}),
    # what stands between
    "a global store": (TWO + "st.global.f32 [%y], %f1; " + OTHERS, {(L, 128): 1}),
    "a shuffle": (TWO + "shfl.sync.bfly.b32 %r5, %n, 1, 31, -1; " + OTHERS, {(L, 128): 1}),
    "a barrier": (TWO + "bar.sync 0; " + OTHERS, {(L, 64): 2}),
    "a warp barrier": (TWO + "bar.warp.sync -1; " + OTHERS, {(L, 64): 2}),
    "a fence": (TWO + "membar.cta; " + OTHERS, {(L, 64): 2}),
    "a shared store": (TWO + stores("%a", 64) + OTHERS, {(L, 64): 2, (S, 32): 1}),
    "a shared atomic": (TWO + "red.shared.add.u32 [s], 1; " + OTHERS, {(L, 64): 2}),
    "a generic store": (TWO + "st.f32 [%y], %f1; " + OTHERS, {(L, 64): 2}),
    "a label nobody else jumps to": (TWO + "bra.uni A; A: " + OTHERS, {(L, 128): 1}),
    "a branch": (
        TWO + "setp.lt.u32 %p, %n, %m; @%p bra A; bar.sync 1; A: " + OTHERS, {(L, 64): 2}),
    # which kinds of access
    "pairs": ("ld.shared.v2.f32 {%f1, %f2}, [%a]; " + OTHERS, {(L, 128): 1}),
    "64-bit numbers": (loads("%a", 0, 8, kind="b64", register="%d"), {(L, 128): 1}),
    "a 64-bit number and words": ("ld.shared.b64 %d1, [%a]; " + OTHERS, {(L, 64): 2}),
    "volatile": (loads("%a", 0, 4, kind="f32").replace("ld.", "ld.volatile."), {(L, 32): 2}),
    "predicated": (
        "setp.lt.u32 %p, %n, %m; " + TWO.replace("ld.", "@%p ld."), {(L, 32): 2}),
    "bytes": (loads("%a", 0, 1, 2, 3, kind="u8", register="%r"), {(L, 8): 4}),
    "halves that stay halves": (
        loads("%a", 0, 2, 4, kind="u16", register="%h") + "cvt.f32.f16 %f1, %h0; "
        "cvt.f32.f16 %f2, %h1; cvt.f32.f16 %f3, %h2;", {(L, 64): 1}),
    "eight halves": (
        loads("%a", 0, 2, 4, 6, 8, 10, 12, 14, kind="u16", register="%h")
        + " ".join(f"cvt.f32.f16 %f{k}, %h{k};" for k in range(8)), {(L, 64): 2}),
    "halves that become integers": (
        loads("%a", 0, 2, kind="u16", register="%h") + "cvt.u32.u16 %r4, %h0; "
        "cvt.f32.f16 %f2, %h1;", {(L, 16): 2}),
    # stores
    "four stores": (stores("%a", 0, 4, 8, 12), {(S, 128): 1}),
    "stores in any order": (stores("%a", 12, 4, 8, 0), {(S, 128): 1}),
    "three stores": (stores("%a", 0, 4, 8), {(S, 64): 1, (S, 32): 1}),
    "stores by turns": (stores("%a", 0, 16, 4, 20), {(S, 32): 4}),
    "stores, piece by piece": (stores("%a", 0, 4, 16, 20, 8, 12), {(S, 64): 3}),
    "stores at 8": (stores("%b", 0, 8, 4, 12), {(S, 32): 4}),
    "stores over a load": (
        stores("%a", 0, 4) + loads("%a", 64) + stores("%a", 8, 12), {(S, 64): 2, (L, 32): 1}),
    "stores of two lengths": (
        "st.shared.v2.f32 [%a], {%f1, %f2}; " + stores("%a", 8, 12), {(S, 64): 1, (S, 32): 2}),
    "stores of halves": (stores("%a", 0, 2, 4, 6, kind="u16", register="%h1"), {(S, 64): 1}),
    # loops
    "a loop by 16": (
        "mov.u32 %r5, %a; A: " + loads("%r5", 0, 4, 8, 12) + "add.u32 %r5, %r5, 16; "
        "setp.lt.u32 %p, %r5, %m; @%p bra A;", {(L, 128): 1}),
    "a loop by 8": (
        "mov.u32 %r5, %a; A: " + loads("%r5", 0, 4, 8, 12) + "add.u32 %r5, %r5, 8; "
        "setp.lt.u32 %p, %r5, %m; @%p bra A;", {(L, 64): 2}),
    "a loop that begins 12 further on": (
        "add.u32 %r5, %a, 12; A: " + loads("%r5", -12, -8, -4, 0) + "add.u32 %r5, %r5, 16; "
        "setp.lt.u32 %p, %r5, %m; @%p bra A;", {(L, 32): 4}),
    "on both sides of a step": (
        TWO + "add.u32 %a, %a, 16; " + loads("%a", -8, -4), {(L, 128): 1}),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_what_ptxas_joins(rule):
    """Each rule as ptxas 13.5 was seen to follow it for sm_90."""
    body, expected = RULES[rule]
    assert widths(program_of(body)) == expected


def test_a_group_has_one_leader_that_covers_it():
    """The leader comes first, and its wide access holds the bytes of all its group."""
    program = program_of(loads("%a", 8, 4, 12, 0))
    plan = fusion.plan(program)
    assert [joined.leads for _, joined in sorted(plan.items())] == [True, False, False, False]
    assert {joined.width for joined in plan.values()} == {16}
    assert plan[min(plan)].shift == -8
    assert fusion.plan(program) is plan


@pytest.mark.parametrize("body", ["", "bar.sync 0;", loads("%a", 0), "ld.global.f32 %f1, [%y];"])
def test_nothing_to_join(body):
    """Programs without neighbours have an empty plan."""
    assert fusion.plan(program_of(body)) == {}


# ---------------------------------------------------------------------------- against real SASS
def tool(name: str) -> str | None:
    """nvdisasm of the PATH, or of the wheel."""
    if found := shutil.which(name):
        return found
    for wheel in ("nvidia-cuda-nvdisasm", "nvidia-cuda-nvcc"):
        try:
            files = metadata.files(wheel) or ()
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.stem == name and file.parent.name == "bin" and file.locate().is_file():
                return str(file.locate())
    return None


NVDISASM = tool("nvdisasm")
needs_nvdisasm = pytest.mark.skipif(
    not NVDISASM, reason="nvdisasm is not here: pip install nvidia-cuda-nvdisasm"
)
# The assembler copies the bodies of these kernels' loops, or (the last) writes a loop of its own:
# there the kinds of access are compared, not how many of them the code has.
COPIED = {"product", "transpose_32", "transpose_33", "shared_atom_float"}


def cubin_of(source: str, file: str) -> bytes:
    from cuda.bindings import nvrtc as bindings

    _, program = bindings.nvrtcCreateProgram(source.encode(), file.encode(), 0, [], [])
    flags = ["--gpu-architecture=sm_90", *nvrtc.FLAGS]
    flags += [f"-I{folder}" for folder in nvrtc.include_dirs()]
    (status,) = bindings.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
    assert status == bindings.nvrtcResult.NVRTC_SUCCESS
    code = bytes(bindings.nvrtcGetCUBINSize(program)[1])
    bindings.nvrtcGetCUBIN(program, code)
    bindings.nvrtcDestroyProgram(program)
    return code


def sass_widths(path: Path, folder: Path) -> dict[str, Counter]:
    """The same as `widths` of every kernel of a source, from the machine code."""
    binary = folder / "kernels.cubin"
    binary.write_bytes(cubin_of(path.read_text(encoding="utf-8"), path.name))
    listing = subprocess.run(
        [NVDISASM, "-c", str(binary)], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, Counter] = {}
    for line in listing.splitlines():
        if section := re.match(r"\.text\.(\w+):", line):
            own = found.setdefault(section[1], Counter())
        elif access := re.search(r"\*/\s+(@\S+)?\s*(LDS|STS)((?:\.\w+)*) ", line):
            if access[1] != "@!PT":  # code that cp.async needs, and that does nothing
                bits = re.search(r"\.[US]?(8|16|64|128)\b", access[3])
                own[access[2], int(bits[1]) if bits else 32] += 1
    return found


@needs_nvrtc
@needs_nvdisasm
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_machine_code_has_these_widths(path, tmp_path):
    """Predicted widths of shared accesses are those of the machine code, kernel by kernel."""
    source = path.read_text(encoding="utf-8")
    for name, actual in sass_widths(path, tmp_path).items():
        predicted = widths(simt.RawKernel(source, name)._compiled())
        if name in COPIED:
            assert set(predicted) == set(actual), name
        else:
            assert predicted == actual, name


def test_there_are_twenty_kernels_to_compare():
    """The comparison covers kernels written for it, beside the project's own."""
    text = "".join(path.read_text(encoding="utf-8") for path in KERNELS)
    assert text.count("__global__") >= 40
    assert len(SOURCES) > len(KERNELS) + 9
