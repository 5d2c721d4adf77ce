"""More cases of opcodes, in the form of isa_cases: carry chains, 24-bit products, permutations of
bytes, masks, packing, and programs of a block for what touches memory or other lanes."""

import itertools
import random

from exact import BF16, F16
from isa_cases import FORMATS, Case, bits_of, edges, halves, number, op, signed
from ptx_lanes import entry

__all__ = ["CASES", "PROGRAMS", "program"]

M32 = 2**32 - 1


def sample(*kinds, rows=300):
    """Random rows of the edges of some types, as columns."""
    draw = random.Random(str(kinds))
    chosen = [[draw.choice(edges(kind)) for kind in kinds] for _ in range(rows)]
    return tuple(zip(*chosen, strict=True))


# ---------------------------------------------------------------------------- carries
def carry_cases():
    for t in ("u32", "s32", "u64", "s64"):
        n = bits_of(t)
        yield Case(  # the two words of a sum: d is the upper one
            f"{{ .reg .b{n} x; add.cc.{t} x, %a, %b; addc.{t} %d, %a, %c; }}",
            (t,) * 3,
            (t,),
            lambda a, b, c, n=n: a + c + (a + b >> n),
        )
        yield Case(
            f"{{ .reg .b{n} x; sub.cc.{t} x, %a, %b; subc.{t} %d, %a, %c; }}",
            (t,) * 3,
            (t,),
            lambda a, b, c: a - c - (a < b),
        )
        yield Case(  # a carry that goes through a word, of all ones or zero
            f"{{ .reg .b{n} x; add.cc.{t} x, %a, %b; addc.cc.{t} x, %c, -1; addc.{t} %d, 0, 0; }}",
            (t,) * 3,
            (t,),
            lambda a, b, c, n=n: c + (2**n - 1) + (a + b >> n) >> n,
        )
        yield Case(
            f"{{ .reg .b{n} x; sub.cc.{t} x, %a, %b; subc.cc.{t} x, %c, 0; subc.{t} %d, 0, 0; }}",
            (t,) * 3,
            (t,),
            lambda a, b, c: -(c < (a < b)),
        )
        for part in ("lo", "hi"):
            yield Case(
                f"{{ .reg .b{n} x; mad.{part}.cc.{t} x, %a, %b, %c; addc.{t} %d, 0, 0; }}",
                (t,) * 3,
                (t,),
                carry_of_product(t, part),
            )
            yield Case(
                f"{{ .reg .b{n} x; add.cc.{t} x, -1, 1; madc.{part}.{t} %d, %a, %b, %c; }}",
                (t,) * 3,
                (t,),
                lambda a, b, c, t=t, part=part: product(t, part)(a, b) + c + 1,
            )
            yield Case(
                f"{{ .reg .b{n} x; add.cc.{t} x, -1, 1; madc.{part}.cc.{t} x, %a, %b, %c;"
                f" addc.{t} %d, 0, 0; }}",
                (t,) * 3,
                (t,),
                carry_of_product(t, part, 1),
            )
    yield op(
        "mad.hi.sat.s32",
        ("s32",) * 3,
        "s32",
        lambda a, b, c: clamped((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32)),
        sample("s32", "s32", "s32"),
    )


def product(t, part):
    n = bits_of(t)

    def run(a, b):
        whole = number(a, t) * number(b, t)
        return (whole >> n if part == "hi" else whole) & (2**n - 1)

    return run


def carry_of_product(t, part, carry=0):
    f, n = product(t, part), bits_of(t)
    return lambda a, b, c: f(a, b) + c + carry >> n


def clamped(x: int) -> int:
    return max(-(2**31), min(2**31 - 1, x))


# ---------------------------------------------------------------------------- 24 bits
def narrow(value: int, t: str) -> int:
    return signed(value & 0xFFFFFF, 24) if t[0] == "s" else value & 0xFFFFFF


def narrow_cases():
    for t in ("u32", "s32"):
        for part, shift in (("lo", 0), ("hi", 16)):

            def times(a, b, t=t, shift=shift):
                return narrow(a, t) * narrow(b, t) >> shift

            yield op(f"mul24.{part}.{t}", (t, t), t, times)
            yield op(f"mad24.{part}.{t}", (t,) * 3, t, lambda a, b, c, f=times: f(a, b) + c)
    yield op(
        "mad24.hi.sat.s32",
        ("s32",) * 3,
        "s32",
        lambda a, b, c: clamped(
            signed(narrow(a, "s") * narrow(b, "s") >> 16 & M32, 32) + signed(c, 32)
        ),
    )


# ---------------------------------------------------------------------------- bytes and bits
PERMUTATIONS = {
    "f4e": lambda c: [c + i for i in range(4)],
    "b4e": lambda c: [(c - i) % 8 for i in range(4)],
    "rc8": lambda c: [c] * 4,
    "ecl": lambda c: [max(i, c) for i in range(4)],
    "ecr": lambda c: [min(i, c) for i in range(4)],
    "rc16": lambda c: [0, 1, 0, 1] if c % 2 == 0 else [2, 3, 2, 3],
}


def byte_cases():
    values = tuple(
        zip(
            *itertools.product(
                (0x03020100, 0x80FF7F01), (0x07060504, 0x11F28384), (0, 1, 2, 3, 7, 0xFFFFFFFC)
            ),
            strict=True,
        )
    )
    for mode, pick in PERMUTATIONS.items():

        def permuted(a, b, c, pick=pick):
            both = b << 32 | a
            return sum((both >> 8 * at & 255) << 8 * i for i, at in enumerate(pick(c & 3)))

        yield op(f"prmt.b32.{mode}", ("b32",) * 3, "b32", permuted, values)
    for left, right in itertools.product("us", repeat=2):
        result = "u32" if left == right == "u" else "s32"
        for part, first in (("lo", 0), ("hi", 16)):

            def two(a, b, c, left=left, right=right, first=first):
                return c + sum(
                    number(a >> 16 * i & 0xFFFF, f"{left}16")
                    * number(b >> first + 8 * i & 255, f"{right}8")
                    for i in range(2)
                )

            yield op(
                f"dp2a.{part}.{left}32.{right}32",
                ("b32", "b32", "b32"),
                result,
                two,
                sample("b32", "b32", "b32"),
            )
    amounts = (0, 1, 5, 31, 32, 33, 40, 255, 2**31)
    places = tuple(zip(*itertools.product(amounts, amounts), strict=True))
    for mode in ("clamp", "wrap"):

        def cut(x, mode=mode):
            return x % 32 if mode == "wrap" else min(x, 32)

        yield op(
            f"bmsk.{mode}.b32",
            ("b32", "b32"),
            "b32",
            lambda a, b, cut=cut: ((1 << cut(b)) - 1) << cut(a),
            places,
        )
        for t in ("u32", "s32"):

            def widened(a, b, t=t, cut=cut):
                field = a & (1 << cut(b)) - 1
                return signed(field, cut(b)) if t[0] == "s" and cut(b) else field

            yield op(
                f"szext.{mode}.{t}",
                (t, "u32"),
                t,
                widened,
                tuple(zip(*itertools.product(edges(t), amounts), strict=True)),
            )
    for to in ("u8", "s8", "u16", "s16"):
        n = bits_of(to)
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if to[0] == "s" else (0, (1 << n) - 1)

        def both(a, b, n=n, low=low, high=high):
            a, b = (max(low, min(high, signed(x, 32))) & (1 << n) - 1 for x in (a, b))
            return a << n | b

        if n == 16:
            yield op(f"cvt.pack.sat.{to}.s32", ("s32", "s32"), "b32", both)
        else:
            yield op(
                f"cvt.pack.sat.{to}.s32.b32",
                ("s32", "s32", "b32"),
                "b32",
                lambda a, b, c, both=both: c << 16 | both(a, b),
                sample("s32", "s32", "b32"),
            )


# ---------------------------------------------------------------------------- floats
def sign_cases():
    for t, f in (("f32", FORMATS["f32"]), ("f16", F16), ("bf16", BF16)):
        for name, largest in (("min", False), ("max", True)):
            for strict in ("", ".NaN"):
                one = with_signs(f, largest, bool(strict))
                suffixes = (t,) if t == "f32" else (t, f"{t}x2")
                for suffix in suffixes:
                    each = halves(one) if suffix.endswith("x2") else one
                    yield op(f"{name}{strict}.xorsign.abs.{suffix}", (suffix,) * 2, suffix, each)


def with_signs(f, largest, strict):
    def run(a, b):
        x, y = a & ~f.sign, b & ~f.sign
        if f.is_nan(x) or f.is_nan(y):
            if strict or (f.is_nan(x) and f.is_nan(y)):
                return f.nan
            size = y if f.is_nan(x) else x
        else:
            size = (max if largest else min)(x, y)
        return size | (a ^ b) & f.sign

    return run


def pair_cases():
    """setp of two halves, each combined with a predicate."""
    for t, f in (("f16x2", F16), ("bf16x2", BF16)):
        rows = [edges(t), edges(t)[5:] + edges(t)[:5], [k % 2 for k, _ in enumerate(edges(t))]]
        for name, combine in (("and", lambda x, y: x & y), ("xor", lambda x, y: x ^ y)):

            def both(a, b, c, f=f, combine=combine):
                pairs = [
                    (f.value(x), f.value(y))
                    for x, y in ((a & 0xFFFF, b & 0xFFFF), (a >> 16, b >> 16))
                ]
                return tuple(int(combine(x < y, bool(c))) for x, y in pairs)

            yield Case(
                f"setp.lt.{name}.{t} %d|%q, %a, %b, %c;",
                (t, t, "pred"),
                ("pred", "pred"),
                both,
                tuple(map(tuple, rows)),
            )


CASES = [*carry_cases(), *narrow_cases(), *byte_cases(), *sign_cases(), *pair_cases()]


# ---------------------------------------------------------------------------- programs of a block
REGISTERS = (
    ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<19>;\n.reg .b64 %d<19>;\n"
    ".reg .b64 %out, %mine;\n.shared .align 16 .b8 s[4096];\n"
    "ld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %mine, %r0, 4, %out;\n"
)
SAVE = "st.global.u32 [%mine], %r1;"
T, PAIR = range(32), range(64)


def bits(lanes) -> int:
    return sum(1 << i for i in lanes)


# (body, threads, words of `out` in the end): %r0 is the thread, %mine its own word of out
PROGRAMS = [
    # matches, sums and leaders of a warp
    ("shr.u32 %r2, %r0, 2; match.any.sync.b32 %r1, %r2, -1;" + SAVE, 32,
     [bits(range(t & ~3, (t & ~3) + 4)) for t in T]),
    ("cvt.u64.u32 %d1, %r0; and.b64 %d1, %d1, 1; shl.b64 %d1, %d1, 40;"
     "match.any.sync.b64 %r1, %d1, -1;" + SAVE, 32,
     [0xAAAAAAAA if t & 1 else 0x55555555 for t in T]),
    ("mov.u32 %r2, 5; match.all.sync.b32 %r1|%p1, %r2, -1; @!%p1 add.u32 %r1, %r1, 1;" + SAVE, 32,
     [M32] * 32),
    ("setp.lt.u32 %p2, %r0, 31; selp.u32 %r2, 5, 6, %p2; match.all.sync.b32 %r1|%p1, %r2, -1;"
     "@!%p1 add.u32 %r1, %r1, 9;" + SAVE, 32, [9] * 32),
    # two groups of one warp at once: the mask is the lane's own
    ("and.b32 %r2, %r0, 16; mov.u32 %r3, 0xffff; shl.b32 %r3, %r3, %r2;"
     "redux.sync.add.u32 %r1, %r0, %r3;" + SAVE, 32, [sum(range(16 * (t // 16),
     16 * (t // 16) + 16)) for t in T]),
    ("and.b32 %r2, %r0, 16; mov.u32 %r3, 0xffff; shl.b32 %r3, %r3, %r2; shr.u32 %r4, %r0, 3;"
     "match.any.sync.b32 %r1, %r4, %r3;" + SAVE, 32, [bits(range(t & ~7,
     (t & ~7) + 8)) for t in T]),
    ("sub.s32 %r2, %r0, 7; redux.sync.min.s32 %r1, %r2, -1;" + SAVE, 32, [M32 - 6] * 32),
    ("sub.s32 %r2, %r0, 7; redux.sync.max.s32 %r1, %r2, -1;" + SAVE, 32, [24] * 32),
    ("sub.u32 %r2, %r0, 7; redux.sync.min.u32 %r1, %r2, -1;" + SAVE, 32, [0] * 32),
    ("sub.u32 %r2, %r0, 7; redux.sync.max.u32 %r1, %r2, -1;" + SAVE, 32, [M32] * 32),
    ("sub.s32 %r2, %r0, 7;"
     "redux.sync.add.s32 %r1, %r2, -1;" + SAVE, 32, [sum(t - 7 for t in T)] * 32),
    ("add.u32 %r2, %r0, 64; redux.sync.and.b32 %r1, %r2, -1;" + SAVE, 32, [64] * 32),
    ("add.u32 %r2, %r0, 64; redux.sync.or.b32 %r1, %r2, -1;" + SAVE, 32, [95] * 32),
    ("shl.b32 %r2, 1, %r0; redux.sync.xor.b32 %r1, %r2, -1;" + SAVE, 32, [M32] * 32),
    # lanes of which only some are there: the others have left, or are elsewhere
    ("setp.lt.u32 %p1, %r0, 5; @%p1 bra L; ret; L: redux.sync.add.u32 %r1, %r0, 31;" + SAVE, 32,
     [10 if t < 5 else 0 for t in T]),
    ("setp.lt.u32 %p1, %r0, 5; @%p1 bra L; redux.sync.max.u32 %r1, %r0, 0xffffffe0; bra M;"
     "L: redux.sync.max.u32 %r1, %r0, 31; M:" + SAVE, 32, [4 if t < 5 else 31 for t in T]),
    ("elect.sync %r1|%p1, -1; selp.u32 %r2, 100, 0, %p1; add.u32 %r1, %r1, %r2;" + SAVE, 32,
     [100] + [0] * 31),
    ("setp.ge.u32 %p1, %r0, 5; @%p1 bra L; ret; L: elect.sync %r1|%p1, 0xffffffe0;"
     "selp.u32 %r2, 100, 0, %p1; add.u32 %r1, %r1, %r2;" + SAVE, 32,
     [0] * 5 + [105] + [5] * 26),
    ("setp.gt.u32 %p1, %r0, 20;"
     "vote.sync.ballot.b32 %r1, !%p1, -1;" + SAVE, 32, [bits(range(21))] * 32),
    # barriers
    ("setp.gt.u32 %p1, %r0, 20; bar.red.popc.u32 %r1, 0, %p1;" + SAVE, 64, [43] * 64),
    ("setp.gt.u32 %p1, %r0, 20; bar.red.and.pred %p2, 0, %p1; bar.cta.red.or.pred %p3, 1, %p1;"
     "selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3;"
     "add.u32 %r1, %r1, %r2;" + SAVE, 64, [2] * 64),
    ("setp.lt.u32 %p1, %r0, 99; bar.red.and.pred %p2, 0, !%p1; barrier.red.and.pred %p3, 1, %p1;"
     "selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3;"
     "add.u32 %r1, %r1, %r2;" + SAVE, 64, [2] * 64),
    # the first warp meets the second at barrier 1, the third the fourth at barrier 2
    ("shr.u32 %r2, %r0, 6; add.u32 %r2, %r2, 1; shl.b32 %r3, %r0, 2; mov.u32 %r4, s;"
     "add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r0; bar.sync %r2, 64; xor.b32 %r3, %r3, 128;"
     "ld.shared.u32 %r1, [%r3];" + SAVE, 128, [t ^ 32 for t in range(128)]),
    ("setp.lt.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 0; mov.u32 %r1, 0; @%p1 bra P;"
     "bar.sync 1, 64; ld.shared.u32 %r1, [s]; bra Q;"
     "P: @%p2 st.shared.u32 [s], 77; bar.arrive 1, 64; Q:" + SAVE, 64, [0] * 32 + [77] * 32),
    ("setp.gt.u32 %p1, %r0, 20; bar.red.popc.u32 %r1, 3, 64, %p1;" + SAVE, 64, [43] * 64),
    # lanes of a warp come to a barrier one by one, from different places
    ("and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra E; barrier.sync 0; mov.u32 %r1, 1;"
     "bra F; E: barrier.sync 0; mov.u32 %r1, 2; F:" + SAVE, 64, [2 - (t & 1) for t in PAIR]),
    ("barrier.cta.sync 2; barrier.cta.arrive 1, 32; barrier.sync.aligned 0; mov.u32 %r1, 1;" + SAVE,
     32, [1] * 32),
    # spaces of generic addresses
    ("mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; isspacep.shared %p1, %d1; isspacep.global %p2, %d1;"
     "isspacep.global %p3, %mine; isspacep.local %p4, %mine; isspacep.const %p5, %mine;"
     "isspacep.shared::cta %p6, %mine; selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2;"
     "@%p3 add.u32 %r1, %r1, 4; @%p4 add.u32 %r1, %r1, 8; @%p5 add.u32 %r1, %r1, 16;"
     "@%p6 add.u32 %r1, %r1, 32;" + SAVE, 32, [5] * 32),
    # atomics of neighbours
    ("red.global.add.v2.f32 [%out], {0f3F800000, 0f40000000};"
     "mov.b32 %r3, 0x3F803F80; mov.b32 %r4, 0x40003F80;"
     "atom.global.v2.bf16x2.add.noftz {%r1, %r2}, [%out+8], {%r3, %r4};", 32,
     [0x42000000, 0x42800000, 0x42004200, 0x42804200]),
    # places in variables
    ("st.shared.u32 [s+8], 7; bar.warp.sync -1; mov.u32 %r2, s+4; ld.shared.u32 %r1, [%r2+4];"
     "mov.u64 %d1, s+8; cvta.shared.u64 %d1, %d1; ld.u32 %r3, [%d1]; cvta.shared.u64 %d2, s+8;"
     "sub.u64 %d2, %d2, %d1; cvt.u32.u64 %r4, %d2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;"
     + SAVE, 1, [14]),
    # an indexed branch
    ("and.b32 %r2, %r0, 3; X: .branchtargets A, B, C, A; brx.idx %r2, X; A: mov.u32 %r1, 10; bra E;"
     "B: mov.u32 %r1, 20; bra E; C: mov.u32 %r1, 30; E:" + SAVE, 32,
     [(10, 20, 30, 10)[t & 3] for t in T]),
    ("setp.gt.u32 %p1, %r0, 7; and.b32 %r2, %r0, 1; X: .branchtargets A, B;"
     "mov.u32 %r1, 5; @%p1 brx.idx %r2, X; bra E; A: mov.u32 %r1, 10; bra E;"
     "B: mov.u32 %r1, 20; E:" + SAVE, 32, [5 if t < 8 else (10, 20)[t & 1] for t in T]),
    # what does nothing here
    ("nanosleep.u32 20; discard.global.L2 [%out], 128; prefetchu.L1 [%out]; mov.u32 %r1, 1;"
     "bar.sync 0; applypriority.global.L2::evict_normal [%out], 128; fence.proxy.async;"
     "fence.mbarrier_init.release.cluster; fence.acq_rel.cta;" + SAVE, 32, [1] * 32),
    # copies that land later
    ("shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; st.global.u32 [%mine], %r0;"
     "cp.async.ca.shared.global [%r2], [%mine], 4; cp.async.wait_all; ld.shared.u32 %r1, [%r2];"
     "add.u32 %r1, %r1, 1;" + SAVE, 32, [t + 1 for t in T]),
    ("shl.b32 %r2, %r0, 4; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; mad.wide.u32 %d1, %r0, 16, %out;"
     "st.global.v4.u32 [%d1], {1, 2, 3, 4}; st.shared.v4.u32 [%r2], {9, 9, 9, 9};"
     "and.b32 %r4, %r0, 15; min.u32 %r4, %r4, 16; cp.async.cg.shared.global [%r2], [%d1], 16, %r4;"
     "cp.async.commit_group; cp.async.wait_group 0; ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];"
     "st.global.v4.u32 [%d1], {%r5, %r6, %r7, %r8};", 32,
     [k + 1 if 4 * k < (t & 15) else 0 for t in T for k in range(4)]),
    ("shl.b32 %r2, %r0, 3; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; mad.wide.u32 %d1, %r0, 8, %out;"
     "st.global.v2.u32 [%d1], {1, 2}; setp.lt.u32 %p1, %r0, 4;"
     "cp.async.ca.shared::cta.global.L2::128B [%r2], [%d1], 8, %p1; cp.async.wait_all;"
     "ld.shared.v2.u32 {%r5, %r6}, [%r2]; st.global.v2.u32 [%d1], {%r5, %r6};", 32,
     [0 if t < 4 else k + 1 for t in T for k in range(2)]),
    # barriers in memory
    ("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [s], 64; bar.sync 0;"
     "mbarrier.arrive.shared.b64 %d1, [s]; W: mbarrier.try_wait.shared.b64 %p2, [s], %d1;"
     "@!%p2 bra W; mbarrier.test_wait.parity.shared.b64 %p3, [s], 0;"
     "mbarrier.test_wait.parity.shared.b64 %p4, [s], 1; selp.u32 %r1, 1, 0, %p3;"
     "@%p4 add.u32 %r1, %r1, 2;" + SAVE, 64, [1] * 64),
    ("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [s], 3; bar.sync 0; mov.u32 %r1, 0;"
     "@!%p1 bra E; mbarrier.arrive.shared.b64 %d1, [s]; mbarrier.pending_count.b64 %r1, %d1;"
     "mbarrier.test_wait.shared.b64 %p2, [s], %d1; @%p2 add.u32 %r1, %r1, 100;"
     "mbarrier.arrive.noComplete.release.cta.shared.b64 %d2, [s], 1;"
     "mbarrier.pending_count.b64 %r2, %d2;"
     "mad.lo.u32 %r1, %r2, 10, %r1; mbarrier.arrive.shared.b64 %d3, [s];"
     "mbarrier.test_wait.acquire.cta.shared.b64 %p2, [s], %d1; @%p2 add.u32 %r1, %r1, 1000;"
     "mbarrier.inval.shared.b64 [s]; E:" + SAVE, 32, [1023] + [0] * 31),
    ("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [s], 2; bar.sync 0; mov.u32 %r1, 0;"
     "@!%p1 bra E; mbarrier.arrive_drop.shared.b64 %d1, [s]; mbarrier.arrive.shared.b64 %d1, [s];"
     "mbarrier.arrive.shared.b64 %d2, [s]; mbarrier.pending_count.b64 %r1, %d2;"
     "mbarrier.test_wait.shared.b64 %p2, [s], %d2; @%p2 add.u32 %r1, %r1, 100; E:" + SAVE, 32,
     [101] + [0] * 31),
    ("setp.eq.u32 %p1, %r0, 0; mov.u64 %d9, s; cvta.shared.u64 %d9, %d9;"
     "@%p1 mbarrier.init.b64 [%d9], 32;"
     "bar.sync 0; st.global.u32 [%mine], %r0; shl.b32 %r2, %r0, 2; mov.u32 %r3, s;"
     "add.u32 %r2, %r2, %r3; cp.async.ca.shared.global [%r2+16], [%mine], 4;"
     "cp.async.mbarrier.arrive.noinc.shared.b64 [s];"
     "W: mbarrier.try_wait.parity.shared.b64 %p2, [s], 0, 1000;"
     "@!%p2 bra W; xor.b32 %r2, %r2, 4;"
     "ld.shared.u32 %r1, [%r2+16];" + SAVE, 32, [t ^ 1 for t in T]),
    # volatile, acquire, release
    ("st.release.gpu.global.u32 [%mine], %r0; ld.acquire.gpu.global.u32 %r1, [%mine];"
     "shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3;"
     "st.volatile.shared.u32 [%r2], %r1; ld.volatile.shared.u32 %r1, [%r2];"
     "add.u32 %r1, %r1, 1;" + SAVE, 32, [t + 1 for t in T]),
]  # fmt: skip


def program(body: str) -> str:
    """The text of such a program, an entry `f(out)`."""
    return entry(REGISTERS + body + "\nret;", ".param .u64 out")
