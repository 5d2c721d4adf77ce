"""The simulator's mistakes-finder: every faulty kernel is found at its line, no correct one is.

tests/faulty and tests/correct hold the kernels; their header lines say what to expect.
"""

import hashlib
import json
from collections import Counter
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from faulty.corpus import cases
from race_programs import THREADS, expected, program
from race_programs import source as source_of

from helpers import launch, simt, standin, versions
from helpers.simt import errors
from helpers.simt.observers.facts import facts_of
from helpers.simt.observers.order import Order

FAULTY, CORRECT = cases("faulty"), cases("correct")
SCHEDULES = ("lowest", "highest", 7)
REFUSED = ("too much shared memory", "block too large")
STOPPED = {"endless loop": errors.BudgetExceeded, "unsupported": errors.UnsupportedInstruction}
FOUND = [c for c in FAULTY if c.kind not in (*REFUSED, *STOPPED)]
RACES = {"race between blocks", "race between warps", "race inside a warp"}
# What may be found beside the mistake that a kernel was written for: its consequences.
BESIDE = {kind: {*RACES, "uninitialised"} for kind in RACES}
BESIDE["divergent barrier"] = RACES
BESIDE["outside the member mask"] = {"shuffle from an inactive lane"}
RECORDS = sorted((Path(__file__).parent.parent / "measurements" / "sanitizer").glob("*.json"))
FAMILIES = {
    "memcheck": {"out of bounds", "misaligned", "trap", "write to read-only memory"},
    "racecheck": {*RACES, "same-value race", "missing cp.async wait"},
    "synccheck": {"divergent barrier", "outside the member mask", "shuffle from an inactive lane"},
    "initcheck": {"uninitialised"},
}


def names(values):
    return pytest.mark.parametrize("case", values, ids=lambda c: c.name)


def examined(case, **limits):
    """The profile of one launch, with fresh arguments; those come second."""
    kernel, args = simt.RawKernel(case.source, "kernel"), case.arguments()
    found = simt.profile(
        kernel,
        case.grid,
        case.block,
        tuple(args),
        shared_mem=case.shared,
        cooperative=case.cooperative,
        **limits,
    )
    return found, args


def run(source, args, grid=1, block=64, **limits):
    kernel = simt.RawKernel(source, "kernel")
    return simt.profile(kernel, (grid,), (block,), tuple(args), **limits)


def test_corpus_is_as_large_as_it_should_be():
    """At least 40 kernels of either sort, and each kind of mistake in several shapes."""
    kinds = Counter(c.kind for c in FAULTY)
    assert len(FAULTY) >= 40
    assert len(CORRECT) >= 40
    assert all(
        kinds[kind] >= 4 for kind in ("out of bounds", "misaligned", "uninitialised", *RACES)
    )
    assert kinds["divergent barrier"] >= 4
    assert {*REFUSED, *STOPPED, "missing cp.async wait", "trap"} <= set(kinds)


# ---------------------------------------------------------------------------- the corpus
@names(FOUND)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_faulty_kernel_is_found(case, schedule):
    """The mistake is reported as its kind and at its line, whatever runs first."""
    found, _ = examined(case, schedule=schedule)
    assert any(d.kind == case.kind and d.line in case.lines for d in found.defects), found.defects
    others = {d.kind for d in found.defects} - {case.kind} - BESIDE.get(case.kind, set())
    assert not others, found.defects


@names(FOUND)
def test_plain_launch_raises_it(case):
    """A plain launch stops at the mistake and says line, block, thread and source line."""
    kernel = simt.RawKernel(case.source, "kernel")
    with pytest.raises(errors.Defect) as caught:
        kernel(case.grid, case.block, tuple(case.arguments()), shared_mem=case.shared)
    defect = caught.value
    assert defect.kind in {case.kind} | BESIDE.get(case.kind, set())
    assert defect.source.strip() == case.source.splitlines()[defect.line - 1].strip()
    assert defect.block is not None
    assert defect.thread is not None
    assert json.loads(json.dumps(defect.to_json()))["kind"] == defect.kind


@names([c for c in FAULTY if c.kind in STOPPED])
def test_kernel_that_cannot_go_on_is_stopped(case):
    """Endless loops and unsupported instructions end in an error with the line."""
    with pytest.raises(STOPPED[case.kind]) as caught:
        examined(case, budget=20_000)
    assert caught.value.line in case.lines


@names([c for c in FAULTY if c.kind in REFUSED])
def test_launch_that_does_not_fit_is_refused(case):
    """Too much shared memory, too large a block: refused before anything runs."""
    kernel = simt.RawKernel(case.source, "kernel")
    word = "shared memory" if "shared" in case.kind else "thread|block"
    with pytest.raises(errors.LaunchError, match=word):
        kernel(case.grid, case.block, tuple(case.arguments()), shared_mem=case.shared)


@names(CORRECT)
def test_correct_kernel_is_clean(case):
    """No false alarm, and the same results whatever runs first."""
    results = []
    for schedule in SCHEDULES:
        found, args = examined(case, schedule=schedule)
        assert found.defects == []
        assert {d.kind for d in found.notes} <= {case.note}
        results.append([np.asarray(a).tobytes() for a in args])
    assert results[1:] == results[:-1]


@pytest.mark.parametrize("name", versions.VERSIONS)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (3, 5), (5, 33), (7, 259), (2, 1027)])
def test_project_kernels_are_clean(name, rows, cols):
    """The lessons' kernels race with nobody and read nothing unwritten, in place as well."""
    version = versions.get(name)
    config = launch.config(version, rows, cols)
    kernel = simt.RawKernel(version.source, version.entry)
    x = np.random.default_rng(0).standard_normal((rows, cols)).astype(version.np_dtype)
    for y in (np.zeros_like(x), x):
        found = simt.profile(
            kernel, config.grid, config.block, (x, y, rows, cols), config.shared_mem, races=True
        )
        assert found.defects == found.notes == []


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_agree_with_brute_force(seed):
    """Barriers of all kinds, atomics, plain accesses: every race that is named is one, and where
    there is one, one is named, whatever runs first."""
    steps = program(seed)
    races = expected(steps)
    for schedule in SCHEDULES:
        found = run(source_of(steps), [np.zeros(THREADS, "i4")], 2, THREADS, schedule=schedule)
        named = {(d.kind, tuple(sorted(d.lines))) for d in found.defects}
        assert named <= races
        assert bool(named) == bool(races)


# ---------------------------------------------------------------------------- what is said
RACE = """\
extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    tile[tid] = x[tid];
    y[tid] = tile[(tid + 16) % 64];
}
"""


def floats(n=64):
    return np.arange(n, dtype="f4"), np.zeros(n, "f4")


def test_race_names_both_sides_and_the_way_out():
    """Both accesses with line and thread, the element, and which barrier goes where."""
    (inside, between) = sorted(run(RACE, floats()).defects, key=lambda d: d.kind, reverse=True)
    assert (between.kind, between.lines, between.array) == ("race between warps", (4, 5), "tile")
    assert between.message == (
        "Race reported between Write access at line 4 by thread 32 and Read access at line 5 by "
        "thread 16 on `tile`[32] (4 bytes, shared): nothing orders them. Put a __syncthreads() "
        "between line 4 and line 5"
    )
    assert inside.kind == "race inside a warp"
    assert inside.message.endswith("Put a __syncwarp() between line 4 and line 5")


def test_race_between_blocks_names_the_blocks():
    """Threads of different blocks are told apart, and the advice is another."""
    source = """
extern "C" __global__ void kernel(float* y) { y[threadIdx.x] = blockIdx.x; }
"""
    (defect,) = run(source, [floats()[1]], grid=2).defects
    assert "by thread 0 of block 1 and" in defect.message or "by thread 0 of block 0 and" in (
        defect.message
    )
    assert "`y`[0] (4 bytes, global)" in defect.message
    assert "atomicAdd()" in defect.message


def test_line_comment_silences_a_race():
    """`race: intended` on either line leaves that race out, and no other."""
    quiet = RACE.replace("tile[tid] = x[tid];", "tile[tid] = x[tid];  // race: intended, a test")
    assert run(quiet, floats()).defects == []
    other = RACE.replace("int tid", "int  tid  /* race: intended, a test */")
    assert len(run(other, floats()).defects) == 2


def test_same_value_is_a_note_and_raises_nothing():
    """Threads that write one value are mentioned; that two of them differ is a race."""
    source = """
extern "C" __global__ void kernel(const float* x, float* y) { y[0] = x[threadIdx.x]; }
"""
    x, y = np.ones(64, "f4"), np.zeros(1, "f4")
    found = run(source, (x, y))
    assert found.defects == []
    assert {d.severity for d in found.notes} == {"note"}
    assert "note: same-value race" in found.table()
    simt.RawKernel(source, "kernel")((1,), (64,), (x, y))
    x[63] = 2
    assert {d.kind for d in run(source, (x, y)).defects} <= RACES
    assert run(source, (x, y)).defects


def test_early_exit_is_a_note_beside_the_unwritten_slots():
    """Who returned before which barrier, and which slots were read and never written."""
    case = next(c for c in FAULTY if c.name == "uninitialised_early_exit")
    found, _ = examined(case)
    (note,) = found.notes
    assert note.message == (
        "threads 40-63 returned before the __syncthreads() at line 11, and nobody else wrote "
        "`slots`[40-47]"
    )


def test_races_are_looked_for_in_small_launches_unless_told():
    """By default in launches of up to 262144 threads on 16 MiB; the profile says whether it was."""
    source = """
extern "C" __global__ void kernel(float* y) { y[threadIdx.x / 2] = threadIdx.x; }
"""
    y = np.zeros(1024, "f4")
    kernel = simt.RawKernel(source, "kernel")
    assert run(source, [y]).races
    assert run(source, [y]).defects
    off = run(source, [y], races=False)
    assert (off.races, off.defects) == (False, [])
    assert "races=True" in off.table()
    assert not run(source, [y], grid=257, block=1024).races
    assert not run(source, [np.zeros((1 << 22) + 1, "f4")]).races
    assert run(source, [y], grid=257, block=1024, races=True).defects
    with simt.limits(races=False):
        kernel((1,), (64,), (y,))
    with pytest.raises(errors.Defect), simt.limits(races=True):
        kernel((257,), (1024,), (y,))


# ---------------------------------------------------------------------------- the parts
def order(threads=64, blocks=1):
    return Order(0, blocks, threads, count(1))


def before(orders, then, u, v):
    return bool(orders.before(np.array([then]), np.array([u]), np.array([v]))[0])


def test_barrier_orders_its_block_only():
    """What came before a barrier of block 0 comes before all that its threads do later."""
    orders = order(blocks=2)
    then = orders.tick()
    lanes = np.zeros((2, 64), bool)
    lanes[0] = True
    orders.barrier(lanes, np.ones((1, 1), bool))
    assert before(orders, then, 5, 40)
    assert not before(orders, then, 64 + 5, 64 + 40)
    assert not before(orders, then, 5, 64 + 40)
    assert not before(orders, orders.tick(), 5, 40)


def test_barriers_of_some_warps_add_up():
    """Warp 0 meets 1, then 1 meets 2: what 0 did is known to 2, and nothing of 2 to 0."""
    orders = order(threads=96)
    then = orders.tick()
    for pair in ([0, 1], [1, 2]):
        lanes = np.zeros((1, 96), bool)
        lanes[0].reshape(3, 32)[pair] = True
        orders.barrier(lanes, np.ones((1, 1), bool))
    assert before(orders, then, 0, 70)
    assert before(orders, then, 0, 33)
    assert not before(orders, then, 70, 0)


def test_syncwarp_orders_its_members_only():
    """__syncwarp(mask) orders the lanes of the mask, each group by itself."""
    orders = order(threads=32)
    then = orders.tick()
    members = np.where(np.arange(32) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)[None]
    orders.warp_barrier(None, members)
    assert before(orders, then, 3, 9)
    assert before(orders, then, 20, 30)
    assert not before(orders, then, 3, 20)


@pytest.mark.parametrize("name", [n for n in versions.VERSIONS if n != "copy"])
def test_only_y_is_watched(name):
    """The pointers of all stores come from y: x needs no watching."""
    version = versions.get(name)
    program = simt.RawKernel(version.source, version.entry)._compiled()
    assert facts_of(program).written == {program.parameters[1].offset}


def test_array_reached_through_a_table_of_pointers_is_watched():
    """A pointer read from memory may point anywhere: then every array is watched."""
    source = """
extern "C" __global__ void kernel(float** table, const float* x, float* y) {
    table[0][threadIdx.x / 2] = x[threadIdx.x];
}
"""
    program = simt.RawKernel(source, "kernel")._compiled()
    assert facts_of(program).written is None


# ---------------------------------------------------------------------------- the real tools
RECORD = json.loads(RECORDS[-1].read_text()) if RECORDS else {"kernels": {}}
NEEDS_RECORD = pytest.mark.skipif(
    not RECORDS, reason="no measurements/sanitizer/*.json: tests/faulty/sanitize.py makes one"
)
# What the tools of compute-sanitizer 2025.3 do not see, and why; by kernel or by kind.
SILENT = {
    "bounds_off_by_one": "the array behind begins where this one ends",
    "misaligned_float4_row": "the assembler drops the unused half of the vector",
    "race_read_beside_atomics": "racecheck leaves atomics out",
    "race_reset_beside_atomics": "racecheck leaves atomics out",
    "barrier_in_uneven_loop": "the threads that have left the loop exit, and the barrier completes",
    "barrier_behind_a_return": "the threads that have returned exit, and the barrier completes",
    "uninitialised": "initcheck watches global memory, which a launch here always gets filled",
    "shuffle from an inactive lane": "no tool looks at shuffles",
    "outside the member mask": "no tool looks at shuffles",
}
# Where the tools and the simulator name different lines, or a tool accuses a correct kernel.
ELSEWHERE = {
    "trap_in_kernel": "the tool names the line after it",
    "barrier_for_one_warp": "synccheck names the barrier that the other warp has come to",
}
ACCUSED = {"lock_in_shared_memory": "racecheck does not follow a lock made of atomics and fences"}


def findings(case) -> dict:
    """Tool → what it said of this kernel; None for a source that has changed since."""
    entry = RECORD["kernels"].get(case.name)
    if not entry or entry["source"] != hashlib.sha256(case.source.encode()).hexdigest()[:16]:
        return None
    said = {tool: [f for f in entry[tool]["findings"] if f["lines"]] for tool in FAMILIES}
    return {tool: found for tool, found in said.items() if found}


@NEEDS_RECORD
@names([c for c in FAULTY if findings(c)])
def test_what_compute_sanitizer_finds_is_found_here(case):
    """Its findings on a GPU have their counterpart, of the same family and on a common line."""
    found, _ = examined(case)
    for tool, said in findings(case).items():
        mine = [d for d in found.defects if d.kind in FAMILIES[tool]]
        assert mine, said
        lines = {line for d in mine for line in (d.line, *d.lines)}
        if case.name not in ELSEWHERE:
            assert all(lines & set(finding["lines"]) for finding in said), said


@NEEDS_RECORD
def test_compute_sanitizer_agrees_on_the_correct_kernels():
    """On a GPU, too, none of the correct kernels has a finding, but for those listed."""
    assert [c.name for c in CORRECT if findings(c)] == list(ACCUSED)


@NEEDS_RECORD
def test_what_compute_sanitizer_misses_is_known():
    """A faulty kernel that no tool reports has a reason: in its header, or in the list above."""
    missed = [c for c in FAULTY if findings(c) == {} and not c.gpu]
    assert [c.name for c in missed if not {c.name, c.kind} & set(SILENT)] == []
    assert all(any(k in (c.name, c.kind) for c in missed) for k in SILENT)


# ---------------------------------------------------------------------------- fresh global arrays
def fresh(dtype=np.float32):
    """An array as `cp.empty` makes it where there is no GPU."""
    return standin.empty(64, dtype)


def partly():
    x = fresh()
    x[7] = 1.0
    return x


COPY = "kernel(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }"
UPDATE = "kernel(float* x, float* y) { atomicAdd(&x[5], 1.0f); }"
BACK = """kernel(float* x, float* y) {
    x[threadIdx.x] = 2.0f;
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x ^ 40];
}"""
PAST = """kernel(float* x, float* y) {
    if (threadIdx.x < 40) x[threadIdx.x] = 2.0f;
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}"""
UNUSED = "kernel(float* x, float* y) { float v = x[threadIdx.x]; if (y[0] > 1.0f) y[1] = v; }"


def exploded(source: str, ctype: str = "float") -> str:
    source = source.replace("T*", f"{ctype}*")
    return source.replace("kernel(", 'extern "C" __global__ void kernel(')


@pytest.mark.parametrize(
    ("source", "x", "element"),
    [
        (COPY, fresh(), "`x`[0]"),
        (UPDATE, fresh(), "`x`[5]"),
        (PAST, fresh(), "`x`[40]"),
    ],
)
def test_arrays_that_nobody_wrote(source, x, element):
    """An array straight from `cp.empty` that a kernel reads is named, with the element."""
    (defect,) = run(exploded(source), (x, np.zeros(64, np.float32))).defects
    assert (defect.kind, defect.array) == ("uninitialised", "x")
    assert "Uninitialized __global__ memory read of size 4 bytes" in defect.message
    assert element in defect.message


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.float16, np.uint8])
def test_unwritten_arrays_of_other_types(dtype):
    """Elements of any size."""
    ctype = {"float64": "double", "int32": "int", "float16": "short", "uint8": "unsigned char"}
    x, y = fresh(dtype), np.zeros(64, dtype)
    if dtype is np.float16:
        x, y = x.view(np.int16), y.view(np.int16)
    (defect,) = run(exploded(COPY, ctype[np.dtype(dtype).name]), (x, y)).defects
    assert defect.kind == "uninitialised"
    assert f"read of size {np.dtype(dtype).itemsize} bytes" in defect.message


@pytest.mark.parametrize(
    ("source", "x", "y"),
    [
        (COPY, np.empty(64, np.float32), fresh()),  # NumPy's own, and a result nobody reads
        (COPY, partly(), fresh()),  # whoever writes a part may have written all
        (BACK, fresh(), fresh()),
        (UNUSED, fresh(), np.zeros(64, np.float32)),
    ],
)
def test_arrays_that_somebody_wrote(source, x, y):
    """No report of what was written, by the program or by the kernel, nor of what is not used."""
    assert run(exploded(source), (x, y)).defects == []


def test_a_second_launch_finds_what_the_first_one_wrote():
    """Memory that a kernel wrote is written for the next one."""
    x = fresh()
    fill = exploded("kernel(float* x) { if (threadIdx.x == 3) x[3] = 1.0f; }")
    assert run(fill, (x,)).defects == []
    assert run(exploded(COPY), (x, np.zeros(64, np.float32))).defects == []


def test_mistakes_before_an_endless_loop_are_told():
    """A profile that ends in an endless loop says where, and what it had found by then."""
    source = exploded("kernel(float* x, int n) {\n  x[n] = 1.0f;\n  for (;;) x[0] += 1.0f;\n}")
    with pytest.raises(errors.BudgetExceeded, match="spinning at line 3") as caught:
        run(source, (np.zeros(4, np.float32), 4), block=1, budget=10_000)
    (before,) = caught.value.before
    assert (before.kind, before.line) == ("out of bounds", 2)
    assert "before that, line 2: out of bounds" in str(caught.value)
    assert caught.value.to_json()["before"][0]["array"] == "x"
