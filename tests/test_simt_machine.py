"""Threads, warps and blocks: who runs when, who waits for whom, and what comes of it."""

import itertools

import numpy as np
import pytest
from ptx_lanes import entry
from simt_runs import kernel, needs_nvrtc, run

from helpers import simt

pytestmark = needs_nvrtc
LANE = np.arange(32)


def ints(count):
    return np.zeros(count, np.int32)


def ptx_words(body: str, threads: int = 32, words: int = 1, shared: int = 0):
    """What the threads of one block leave at [%mine], `words` words each, under every schedule."""
    start = (
        """
    .reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<9>, %out, %mine;
    ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x;
    """
        + f"mad.wide.u32 %mine, %r0, {4 * words}, %out;"
    )
    found = simt.from_ptx(entry(start + body, ".param .u64 out"))
    (out,) = run(found, (1,), (threads,), np.zeros(threads * words, np.uint32), shared=shared)
    return out.reshape(threads, words)


# ---------------------------------------------------------------------------- divergence
def test_branches_inside_branches():
    """Each lane takes its own way through nested conditions, loops and early returns."""
    source = """__global__ f(int* y, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x, v = 0;
        if (t >= n) return;
        if (t % 2) { if (t % 3) v = 1; else { v = 2; if (t > 40) { y[t] = -7; return; } } }
        else for (int i = 0; i < t % 5; ++i) { if (i == 3) continue; v += 10; if (v > 25) break; }
        y[t] = v;
    }"""

    def one(t):
        if t % 2:
            return 1 if t % 3 else -7 if t > 40 else 2
        v = 0
        for i in range(t % 5):
            if i == 3:
                continue
            v += 10
            if v > 25:
                break
        return v

    y, _ = run(source, (3,), (64,), ints(192), 150)
    assert y.tolist() == [one(t) for t in range(150)] + [0] * 42


def test_loops_of_different_lengths():
    """A while loop ends for each lane when its own number says so."""
    source = """__global__ f(const int* x, int* y) {
        int t = blockIdx.x * 96 + threadIdx.x, steps = 0;
        for (long long v = x[t]; v != 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
        y[t] = steps;
    }"""

    def steps(v):
        count = 0
        while v != 1:
            v = 3 * v + 1 if v % 2 else v // 2
            count += 1
        return count

    x = np.arange(1, 193, dtype=np.int32)
    _, y = run(source, (2,), (96,), x, ints(192))
    assert y.tolist() == [steps(int(v)) for v in x]


def test_nested_loops_of_different_lengths():
    """Inner and outer trip counts both depend on the lane."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x, sum = 0;
        for (int i = 0; i <= t % 7; ++i) for (int j = i; j < t % 11; ++j) sum += i * j + 1;
        y[t] = sum;
    }"""
    (y,) = run(source, (1,), (77,), ints(77))
    assert y.tolist() == [
        sum(i * j + 1 for i in range(t % 7 + 1) for j in range(i, t % 11)) for t in range(77)
    ]


def test_lanes_meet_again_behind_a_branch():
    """The lowest counter goes first, so parted lanes join where their ways do: after an if, after
    a loop, and after a loop left early."""
    body = """
    and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0; @%p1 bra A; add.u32 %r2, %r2, 1; bra B;
    A: add.u32 %r2, %r2, 2; B: activemask.b32 %r3; st.global.u32 [%mine], %r3;
    mov.u32 %r4, 0;
    C: add.u32 %r4, %r4, 1; setp.le.u32 %p2, %r4, %r0; @%p2 bra C;
    activemask.b32 %r3; st.global.u32 [%mine+4], %r3;
    mov.u32 %r4, 0;
    D: setp.eq.u32 %p3, %r4, 5; @%p3 bra E; add.u32 %r4, %r4, 1; setp.le.u32 %p2, %r4, %r0;
    @%p2 bra D; E: activemask.b32 %r3; st.global.u32 [%mine+8], %r3;"""
    start = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %mine; ld.param.u64 %mine, [out];"
    start += "mov.u32 %r0, %tid.x; mad.wide.u32 %mine, %r0, 12, %mine;"
    out = np.zeros(96, np.uint32)
    simt.from_ptx(entry(start + body, ".param .u64 out"))((1,), (32,), (out,))
    assert out.tolist() == [2**32 - 1] * 96


def test_a_branch_alone_inside_a_loop_sees_its_own_lanes():
    """Inside a branch only the lanes that took it are active."""
    words = ptx_words("""
    setp.lt.u32 %p1, %r0, 5; @%p1 bra A; bra B; A: activemask.b32 %r1; st.global.u32 [%mine], %r1;
    B: ret;""")
    assert words[:, 0].tolist() == [31] * 5 + [0] * 27


# ---------------------------------------------------------------------------- shapes
@pytest.mark.parametrize("threads", [1, 31, 32, 33, 40, 100, 1024])
def test_partial_last_warps(threads):
    """Lanes beyond the block do not exist: no store, no vote, no share in a barrier."""
    source = """__global__ f(int* y, unsigned* m) {
        __shared__ int s[1024];
        int t = threadIdx.x;
        s[t] = t;
        __syncthreads();
        y[blockIdx.x * blockDim.x + t] = s[blockDim.x - 1 - t] + blockIdx.x;
        m[blockIdx.x * blockDim.x + t] = __activemask();
    }"""
    y, mask = run(source, (3,), (threads,), ints(3 * threads), np.zeros(3 * threads, np.uint32))
    t = np.arange(threads)
    assert y.tolist() == [v for b in range(3) for v in (threads - 1 - t + b).tolist()]
    lanes = np.minimum(32, threads - t // 32 * 32)
    assert mask.tolist() == [(1 << int(n)) - 1 for n in lanes] * 3


@pytest.mark.parametrize("grid", [(2, 3, 4), (5,), (1, 7)])
@pytest.mark.parametrize("block", [(4, 3, 5), (33,), (2, 8), (1, 1, 64)])
def test_blocks_and_grids_of_three_dimensions(grid, block):
    """threadIdx, blockIdx, blockDim and gridDim: x runs fastest."""
    source = """__global__ f(int* y) {
        int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int* mine = y + 7 * (b * blockDim.x * blockDim.y * blockDim.z + t);
        mine[0] = threadIdx.x; mine[1] = threadIdx.y; mine[2] = threadIdx.z;
        mine[3] = blockIdx.x; mine[4] = blockIdx.y; mine[5] = blockIdx.z;
        mine[6] = blockDim.x + 100 * gridDim.x;
    }"""
    bx, by, bz = (*block, 1, 1)[:3]
    gx, gy, gz = (*grid, 1, 1)[:3]
    places = itertools.product(*map(range, (gz, gy, gx, bz, by, bx)))
    expected = [(tx, ty, tz, x, y, z, bx + 100 * gx) for z, y, x, tz, ty, tx in places]
    (y,) = run(source, grid, block, ints(7 * len(expected)))
    assert y.reshape(-1, 7).tolist() == [list(row) for row in expected]


def test_more_blocks_than_run_at_once():
    """Thousands of blocks, the last ones on their own: each writes its own places."""
    source = """__global__ f(int* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = i ^ blockIdx.x;
    }"""
    count = 300_007
    y = ints(count)
    kernel(source)((-(-count // 96),), (96,), (y, count))
    i = np.arange(count)
    assert np.array_equal(y, i ^ i // 96)


def test_special_registers():
    """Lane, warp and mask registers, and the amount of shared memory."""
    words = ptx_words(
        """
    .shared .b8 s[24];
    mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mov.u32 %r3, %lanemask_lt;
    mov.u32 %r4, %lanemask_ge; mov.u32 %r5, %lanemask_eq; mov.u32 %r6, %nwarpid;
    mov.u32 %r7, %dynamic_smem_size;
    mov.u32 %r8, s; mov.u32 %r9, %lanemask_le; mov.u32 %r10, %lanemask_gt;
    st.global.v4.u32 [%mine], {%r1, %r2, %r3, %r4};
    st.global.v4.u32 [%mine+16], {%r5, %r6, %r7, %r8};
    st.global.v2.u32 [%mine+32], {%r9, %r10};""",
        64,
        12,
        shared=48,
    )
    for t, row in enumerate(words[:, :10].tolist()):
        n = t % 32
        le = (2 << n) - 1
        assert row == [
            n,
            t // 32,
            (1 << n) - 1,
            2**32 - (1 << n),
            1 << n,
            2,
            48,
            0,
            le,
            2**32 - 1 - le,
        ]


def test_no_clock():
    """A simulator has no time to tell: reading the clock is an error with its line."""
    with pytest.raises(simt.SimulatorError, match="clock") as caught:
        kernel("__global__ f(int* y) {\n  y[0] = clock();\n}")((1,), (1,), (ints(1),))
    assert caught.value.line == 2


# ---------------------------------------------------------------------------- memories of a block
def test_static_and_dynamic_shared_memory():
    """Both lie side by side, each block has its own, and dynamic memory begins aligned."""
    source = """__global__ f(int* y, int n) {
        extern __shared__ __align__(128) int dynamic[];
        __shared__ int fixed[5];
        __shared__ char bytes[3];
        int t = threadIdx.x;
        if (t < 5) fixed[t] = 100 * t + blockIdx.x;
        if (t < 3) bytes[t] = 7 * t;
        for (int i = t; i < n; i += blockDim.x) dynamic[i] = i * i;
        __syncthreads();
        y[blockIdx.x * 64 + t] = dynamic[n - 1 - t] + fixed[t % 5] + bytes[t % 3];
        y[128 + t] = (unsigned long long)dynamic % 128;
    }"""
    y, _ = run(source, (2,), (64,), ints(192), 100, shared=400)
    t = np.arange(64)
    one = (99 - t) ** 2 + 100 * (t % 5) + 7 * (t % 3)
    assert y.tolist() == [*one, *(one + np.repeat(1, 64)), *[0] * 64]


def test_local_arrays():
    """An array of a thread that is indexed at run time is memory of its own."""
    source = """__global__ f(const int* x, int* y) {
        int t = threadIdx.x, a[8];
        for (int k = 0; k < 8; k++) a[k] = x[t] * k;
        a[x[t] & 7] = 100;
        int sum = 0;
        for (int k = 0; k < 8; k++) sum += a[(k + t) & 7] * (k + 1);
        y[t] = sum;
    }"""

    def one(t, v):
        a = [v * k for k in range(8)]
        a[v & 7] = 100
        return sum(a[(k + t) & 7] * (k + 1) for k in range(8))

    x = np.random.default_rng(0).integers(0, 100, 70, dtype=np.int32)
    _, y = run(source, (1,), (70,), x, ints(70))
    assert y.tolist() == [one(t, int(v)) for t, v in enumerate(x)]


def test_predicated_instructions():
    """A guard holds lanes back from any instruction: arithmetic, loads, stores, faults."""
    words = ptx_words(
        """
    mov.u32 %r2, 0;
    setp.lt.u32 %p1, %r0, 3; mov.u32 %r1, 5; @%p1 add.u32 %r1, %r1, 1; @!%p1 mul.lo.u32 %r1, %r1, 2;
    @%p1 st.global.u32 [%mine], %r1; @!%p1 st.global.u32 [%mine], 77;
    setp.eq.u32 %p2, %r0, 0; mov.u64 %d1, 0; @%p2 mov.u64 %d1, %mine; @%p2 ld.global.u32 %r2, [%d1];
    setp.gt.u32 %p3, %r0, 1000; @%p3 st.global.u32 [0], %r1; @%p3 trap;
    add.u32 %r2, %r2, %r1; st.global.u32 [%mine+4], %r2;""",
        words=2,
    )
    assert words.tolist() == [[6, 12], [6, 6], [6, 6], *[[77, 10]] * 29]


def test_predicated_meetings():
    """A shuffle or a barrier under a guard takes the guarded lanes; the others go on."""
    words = ptx_words(
        """
    setp.lt.u32 %p1, %r0, 8; mov.u32 %r1, %r0; mov.u32 %r2, 0;
    @%p1 shfl.sync.idx.b32 %r1, %r0, 7, 31, 0xFF;
    setp.lt.u32 %p2, %r0, 32; @%p2 bar.sync 1; bar.sync 0;
    @%p1 vote.sync.ballot.b32 %r2, %p1, 0xFF; st.global.v2.u32 [%mine], {%r1, %r2};""",
        32,
        2,
    )
    assert words.tolist() == [[7, 255]] * 8 + [[t, 0] for t in range(8, 32)]


# ---------------------------------------------------------------------------- barriers
def test_barriers_separate_writes_from_reads():
    """A block scan: every step reads what the step before wrote."""
    source = """__global__ f(const int* x, int* y) {
        __shared__ int s[128];
        int t = threadIdx.x, i = blockIdx.x * 128 + t;
        s[t] = x[i];
        __syncthreads();
        for (int d = 1; d < 128; d *= 2) {
            int v = t >= d ? s[t - d] : 0;
            __syncthreads();
            s[t] += v;
            __syncthreads();
        }
        y[i] = s[t];
    }"""
    x = np.random.default_rng(0).integers(-9, 9, 512, dtype=np.int32)
    _, y = run(source, (4,), (128,), x, ints(512))
    assert np.array_equal(y.reshape(4, 128), x.reshape(4, 128).cumsum(1))


def test_threads_that_returned_are_not_waited_for():
    """A block of 64 whose threads from 40 on return early finishes: so does an H200."""
    source = """__global__ f(int* y) {
        __shared__ int s[64];
        int t = threadIdx.x;
        if (t >= 40) return;
        s[t] = t;
        __syncthreads();
        y[t] = s[39 - t];
    }"""
    (y,) = run(source, (1,), (64,), ints(64))
    assert y.tolist() == [*range(39, -1, -1), *[0] * 24]


def test_a_barrier_in_a_loop_of_different_lengths():
    """Blocks may take different numbers of barriers: each waits for its own threads only."""
    source = """__global__ f(int* y) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = t;
        for (int i = 0; i <= blockIdx.x; ++i) {
            __syncthreads();
            int v = s[(t + 1) % 64];
            __syncthreads();
            s[t] = v;
        }
        y[blockIdx.x * 64 + t] = s[t];
    }"""
    (y,) = run(source, (4,), (64,), ints(256))
    assert y.tolist() == [(t + b + 1) % 64 for b in range(4) for t in range(64)]


def defect(found, threads, *args, **options) -> simt.Defect:
    with pytest.raises(simt.Defect) as caught:
        found((2,), (threads,), args, **options)
    return caught.value


def test_a_barrier_that_part_of_the_block_cannot_reach():
    """Threads that wait at one barrier for threads that wait at another: both groups are named."""
    body = """
    .reg .pred %p; .reg .b32 %t, %b; .file 1 "k.cu"
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; add.u32 %b, %b, %t;
    setp.lt.u32 %p, %b, 33; @%p bra L;
    .loc 1 7 1
    bar.sync 1; bra M;
    L:
    .loc 1 9 1
    bar.sync 2; M: ret;"""
    found = simt.from_ptx(entry(body.replace('.file 1 "k.cu"', ""), before='.file 1 "k.cu"'))
    error = defect(found, 96)
    assert error.kind == "divergent barrier"
    assert (error.kernel, error.block) == ("f", 0)
    groups = {"33-95": 7, "0-32": 9}
    waiting, missing = ("0-32", "33-95") if error.line == 9 else ("33-95", "0-32")
    assert groups[waiting] == error.line
    assert f"threads {waiting} wait" in str(error)
    assert f"for threads {missing}" in str(error)


def test_two_barriers_for_one_warp():
    """Lanes of one warp at different __syncthreads(): undefined, so a defect with the line."""
    source = """__global__ f(int* y) {
        if (threadIdx.x < 40)
            __syncthreads();
        else {
            y[threadIdx.x] = 1;
            __syncthreads();
        }
        y[threadIdx.x] += 2;
    }"""
    error = defect(kernel(source), 64, ints(64))
    assert error.kind == "divergent barrier"
    assert error.line in (3, 6)
    assert error.source == "__syncthreads();"
    assert error.thread in range(32, 64)


def test_a_warp_operation_that_waits_for_a_barrier():
    """Lanes at a shuffle of the whole warp wait for lanes that stand at __syncthreads()."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x;
        if (t % 32 < 8) t = __shfl_sync(0xffffffff, t, 3);
        else { y[t] = 5; __syncthreads(); }
        y[t] = 1;
    }"""
    error = defect(kernel(source), 64, ints(64))
    assert error.kind.startswith("divergent")
    assert "wait" in str(error)


def test_profile_goes_on_behind_a_stuck_barrier():
    """Under profile a deadlock is one entry among the defects, and the launch ends."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x;
        if (t < 32) asm volatile("bar.sync 1;"); else asm volatile("bar.sync 2;");
        y[blockIdx.x * 64 + t] = 1;
    }"""
    y = ints(128)
    report = simt.profile(kernel(source), (2,), (64,), (y,))
    assert [d.kind for d in report.defects] == ["divergent barrier"]
    assert not y.any()


# ---------------------------------------------------------------------------- shuffles and votes
def source_lane(mode, lane, b, c):
    """The lane read, and whether it is in range, by 9.7.9.6 of the PTX manual."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    highest, lowest = (lane & segment) | (clamp & ~segment), lane & segment
    j = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": lowest | (b & ~segment)}[mode]
    inside = j >= highest if mode == "up" else j <= highest
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("varying", [False, True])
def test_shuffles(mode, varying):
    """All modes, offsets, segments and clamps, the same for all lanes or each lane its own."""
    base = [0, 1, 3, 5, 16, 31, 33, 63]
    for b, width in itertools.product(base, (32, 16, 8, 2, 1)):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        if varying:
            body = f"""
            mad.lo.u32 %r1, %r0, 7, {b}; and.b32 %r2, %r0, 8; mul.lo.u32 %r2, %r2, 32;
            xor.b32 %r2, %r2, {c}; mul.lo.u32 %r3, %r0, %r0;
            shfl.sync.{mode}.b32 %r4|%p1, %r3, %r1, %r2, -1;"""
        else:
            body = f"""mul.lo.u32 %r3, %r0, %r0;
            shfl.sync.{mode}.b32 %r4|%p1, %r3, {b}, {c}, 0xFFFFFFFF;"""
        found = simt.from_ptx(
            entry(
                """
            .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %out; ld.param.u64 %out, [out];
            mov.u32 %r0, %tid.x; mad.wide.u32 %out, %r0, 8, %out;"""
                + body
                + """
            selp.u32 %r5, 1, 0, %p1; st.global.v2.u32 [%out], {%r4, %r5};""",
                ".param .u64 out",
            )
        )
        out = np.zeros((64, 2), np.uint32)
        found((1,), (64,), (out,))
        for t in range(64):
            mine = (7 * t + b, c ^ (t & 8) * 32) if varying else (b, c)
            j, inside = source_lane(mode, t % 32, *mine)
            assert out[t].tolist() == [(t // 32 * 32 + j) ** 2, inside], (t, b, width)


def test_shuffle_clamps():
    """A clamp below the segment's last lane cuts it short: 4127 is segments of 16 clamped at 31."""
    words = ptx_words(
        """
    shfl.sync.down.b32 %r1|%p1, %r0, 2, 5, -1; shfl.sync.down.b32 %r2|%p2, %r0, 2, 4127, -1;
    selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 1, 0, %p2;
    st.global.v4.u32 [%mine], {%r1, %r3, %r2, %r4};
    """,
        words=4,
    )
    for t, (first, p, second, q) in enumerate(words.tolist()):
        assert (first, p) == ((t + 2, 1) if t + 2 <= 5 else (t, 0))
        assert (second, q) == ((t + 2, 1) if t % 16 < 14 else (t, 0))


def test_lanes_shuffle_from_different_places():
    """The lanes of a warp meet by member mask, not by program counter: half of them arrive through
    another branch, at another instruction, and later."""
    words = ptx_words("""
    setp.lt.u32 %p1, %r0, 16; @%p1 bra A;
    mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %r0; @%p2 bra L;
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; bra B;
    A: mul.lo.u32 %r3, %r0, 1000; shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1; mov.u32 %r2, %r4;
    B: st.global.u32 [%mine], %r2;""")
    assert words[:, 0].tolist() == [max(t + 16, 1) for t in range(16)] + [
        (t - 16) * 1000 for t in range(16, 32)
    ]


def test_groups_of_a_warp_act_at_once():
    """Each half of a warp shuffles, votes and waits under its own member mask."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x, v = t;
        unsigned mask = t & 16 ? 0xffff0000u : 0xffffu;
        for (int o = 8; o; o /= 2) v += __shfl_xor_sync(mask, v, o, 16);
        __syncwarp(mask);
        y[t] = v;
        y[64 + t] = __ballot_sync(mask, t & 1);
        y[128 + t] = __any_sync(mask, t == 3);
        y[192 + t] = __all_sync(mask, t != 3);
        y[256 + t] = __uni_sync(mask, t < 16);
    }"""
    (y,) = run(source, (1,), (64,), ints(320))
    sums, ballots, some, every, same = y.reshape(5, 64).tolist()
    t = np.arange(64)
    assert sums == np.repeat(np.arange(64).reshape(4, 16).sum(1), 16).tolist()
    assert ballots == np.where(t & 16, 0xAAAA0000 - 2**32, 0xAAAA).tolist()
    assert (some, every) == ((t < 16).tolist(), (t >= 16).tolist())
    assert same == [1] * 64


def test_votes_count_only_those_who_are_there():
    """Lanes that have returned, and lanes beyond the block, vote neither yes nor no."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x;
        if (t % 4 == 3) return;
        y[4 * t] = __ballot_sync(__activemask(), 1);
        y[4 * t + 1] = __all_sync(__activemask(), t % 4 < 3);
        y[4 * t + 2] = __any_sync(__activemask(), t == 33);
        y[4 * t + 3] = __ballot_sync(__activemask(), t % 2);
    }"""
    (y,) = run(source, (1,), (40,), ints(160))
    there = [[t for t in range(w, min(w + 32, 40)) if t % 4 < 3] for w in (0, 32)]
    for t, row in enumerate(y.reshape(40, 4).tolist()):
        mates = there[t // 32]
        word = sum(1 << m % 32 for m in mates)
        odd = sum(1 << m % 32 for m in mates if m % 2)
        signed = [word - (word >> 31 << 32), odd - (odd >> 31 << 32)]
        assert row == ([signed[0], 1, t > 31, signed[1]] if t % 4 < 3 else [0] * 4)


def test_reading_a_lane_that_is_gone():
    """A shuffle from a lane that has returned names reader and source, with the line."""
    source = """__global__ f(int* y) {
        int t = threadIdx.x;
        if (t >= 20) return;
        y[t] = __shfl_down_sync(0xffffffff, t, 4);
    }"""
    error = defect(kernel(source), 64, ints(64))
    assert error.kind == "shuffle from an inactive lane"
    assert (error.line, error.block, error.thread) == (4, 0, 16)
    assert "lane 16 reads lane 20" in error.message


def test_reading_a_lane_beyond_the_block():
    """The last warp of a block of 40 has eight lanes."""
    source = "__global__ f(int* y) { y[threadIdx.x] = __shfl_down_sync(~0u, threadIdx.x, 4); }"
    error = defect(kernel(source), 40, ints(40))
    assert (error.kind, error.thread) == ("shuffle from an inactive lane", 36)


def test_reading_a_lane_outside_the_mask():
    """A lane that takes part in another group is not there for this one."""
    source = """__global__ f(int* y) {
        unsigned mask = threadIdx.x & 16 ? 0xffff0000u : 0xffffu;
        y[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 16);
    }"""
    error = defect(kernel(source), 32, ints(32))
    assert (error.kind, error.thread) == ("shuffle from an inactive lane", 0)
    assert "member mask" in error.message


@pytest.mark.parametrize("call", ["__shfl_sync(0xffffu, t, 0)", "__ballot_sync(0xffffu, 1)"])
def test_executing_outside_the_mask(call):
    """A lane that its own member mask leaves out is a defect at that lane."""
    error = defect(
        kernel(f"__global__ f(int* y) {{ int t = threadIdx.x; y[t] = {call}; }}"), 32, ints(32)
    )
    assert (error.kind, error.thread) == ("outside the member mask", 16)


# ---------------------------------------------------------------------------- endless loops
def test_the_budget_ends_an_endless_loop():
    """A kernel that never ends is an error with its line; afterwards all is as before."""
    source = """__global__ f(int* y, int n) {
        if (threadIdx.x == 5)
            while (y[0] == 0)
                y[1] += n;
        y[2] = 9;
    }"""
    found = kernel(source)
    for schedule in ("lowest", "highest", 3):
        with (
            simt.limits(budget=10_000, schedule=schedule),
            pytest.raises(simt.BudgetExceeded, match="budget of 10000") as caught,
        ):
            found((1,), (32,), (ints(3), 1))
        assert caught.value.line in (3, 4)
        assert caught.value.budget == 10_000
    y = np.array([1, 0, 0], np.int32)
    found((1,), (32,), (y, 1))
    assert y.tolist() == [1, 0, 9]


def test_the_usual_budget_grows_with_the_arrays(monkeypatch):
    """Without any setting an endless loop ends too, later where the work is larger."""
    monkeypatch.setattr(simt.kernel, "BUDGET", 5000)
    found = kernel(
        "__global__ f(volatile unsigned* y) { for (unsigned i = 1; i; i += 2) y[0] = i; }"
    )
    for count, budget in ((1, 5100), (1000, 105_000)):
        with pytest.raises(simt.BudgetExceeded) as caught:
            found((1,), (1,), (np.zeros(count, np.uint32),))
        assert caught.value.budget == budget


# ---------------------------------------------------------------------------- limits of a launch
SHARED = """__global__ f(int* y) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}"""


@pytest.mark.parametrize("size", [-4, 49156, 300 * 1024, 100.5])
def test_dynamic_shared_memory_has_limits(size):
    """More than the default without opting in, less than none, half a byte: refused."""
    with pytest.raises(simt.LaunchError, match="max_dynamic_shared_size_bytes"):
        kernel(SHARED)((1,), (32,), (ints(32),), shared_mem=size)


def test_opting_in_to_more_shared_memory():
    """Up to what the device has, as on a GPU; beyond it the setting itself is an error."""
    found = kernel(SHARED)
    found.max_dynamic_shared_size_bytes = 100 * 1024
    found((1,), (32,), (ints(32),), shared_mem=100 * 1024)
    with pytest.raises(simt.LaunchError, match="232448"):
        found.max_dynamic_shared_size_bytes = 300 * 1024


@pytest.mark.parametrize(
    ("body", "threads", "message"),
    [
        (".shared .b8 s[60000];", 32, "60000 bytes of static shared memory"),
        (".local .b8 a[600000];", 32, "600000 bytes a thread"),
    ],
)
def test_static_memory_has_limits(body, threads, message):
    """Shared memory of a block and local memory of a thread, as CUDA limits them."""
    with pytest.raises(simt.LaunchError, match=message):
        simt.from_ptx(entry(body))((1,), (threads,), ())


def test_launch_bounds_are_kept():
    """A block larger than the kernel was compiled for is refused."""
    source = (
        """extern "C" __global__ void __launch_bounds__(64) f(int* y) { y[threadIdx.x] = 1; }"""
    )
    found = simt.RawKernel(source, "f")
    found((1,), (64,), (ints(64),))
    with pytest.raises(simt.LaunchError, match="at most 64 threads"):
        found((1,), (65,), (ints(65),))


@pytest.mark.parametrize(
    "args",
    [5, None, (), (1, 2), ([1],), ("x",), (None,), (2**64,), (1.5,), (np.float32(1),),
     (np.zeros(10)[::2],), (np.array([object()]),)],
)  # fmt: skip
def test_arguments_of_a_kernel_given_as_ptx(args):
    """Without a source there are no types to check, but sizes, counts and layouts there are."""
    found = simt.from_ptx(entry("ret;", ".param .u64 p"))
    with pytest.raises(simt.LaunchError):
        found((1,), (1,), args)
    for fine in ((1,), (-1,), (2**64 - 1,), (np.int64(3),), (np.zeros(3),), [7]):
        found((1,), (1,), fine)
