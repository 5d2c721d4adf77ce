"""What the simulator does not do, by name, and why: instructions, and suffixes of others."""

__all__ = ["INSTRUCTIONS", "SUFFIXES", "why"]

TENSOR = "tensor-core instructions are outside this simulator"
CLUSTER = "clusters and their shared memory are outside this simulator: every block is on its own"
BULK = "bulk copies and their transaction counts are outside this simulator"
TEXTURE = "textures and surfaces are outside this simulator"
VIDEO = "video instructions have no case in today's compilers"
POLICY = "the simulator has no cache, so it has no cache policies"
FORMAT = "formats below 16 bits, and tf32, are for tensor cores, which are outside this simulator"
WIDE = "128-bit values are outside this simulator"
NEWER = "that form needs compute capability 10.0; the newest simulated is 9.0"
STACK = "stack memory of a size known only at run time is outside this simulator"

# opcode, or opcode and first suffixes → the reason
INSTRUCTIONS = {
    **dict.fromkeys(
        ("mma", "wmma", "wgmma", "tcgen05", "ldmatrix", "stmatrix", "movmatrix"), TENSOR
    ),
    **dict.fromkeys(
        ("mapa", "getctarank", "barrier.cluster", "clusterlaunchcontrol", "multimem"), CLUSTER
    ),
    **dict.fromkeys(
        ("cp.async.bulk", "cp.reduce", "st.async", "red.async", "st.bulk", "tensormap"), BULK
    ),
    **dict.fromkeys(
        ("mbarrier.expect_tx", "mbarrier.complete_tx", "mbarrier.arrive.expect_tx"), BULK
    ),
    **dict.fromkeys(("tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"), TEXTURE),
    **dict.fromkeys(
        ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"), VIDEO
    ),
    **dict.fromkeys(("vadd2", "vadd4", "vsub2", "vsub4", "vavrg2", "vavrg4"), VIDEO),
    "createpolicy": POLICY,
    **dict.fromkeys(("alloca", "stacksave", "stackrestore"), STACK),
    "setmaxnreg": "how many registers a warp has is the assembler's business",
    "griddepcontrol": "one grid runs at a time: there is none to depend on",
    "pmevent": "the simulator has counters of its own",
    "brkpt": "there is no debugger to stop in",
    "fns": "the compiler does not emit it for CUDA C++",
    "vote.all": "without .sync it ended with compute capability 7.0",
    "vote.any": "without .sync it ended with compute capability 7.0",
    "vote.ballot": "without .sync it ended with compute capability 7.0",
    "shfl.up": "without .sync it ended with compute capability 7.0",
    "shfl.down": "without .sync it ended with compute capability 7.0",
    "shfl.bfly": "without .sync it ended with compute capability 7.0",
    "shfl.idx": "without .sync it ended with compute capability 7.0",
}
SUFFIXES = {
    "shared::cluster": CLUSTER,
    "L2::cache_hint": POLICY,
    "unified": POLICY,
    "b128": WIDE,
    "f32x2": NEWER,
    "multicast::cluster": CLUSTER,
    **dict.fromkeys(("expect_tx", "complete_tx"), BULK),
    **dict.fromkeys(("tf32", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"), FORMAT),
    **dict.fromkeys(("u16x2", "s16x2"), "packed 16-bit integers are outside this simulator"),
    **dict.fromkeys(("u4", "s4", "u2", "s2"), FORMAT),
    "rna": FORMAT,
    "rs": "stochastic rounding is outside this simulator",
    "satfinite": "clamping to the largest finite number is outside this simulator",
    "oob": "it is for tensor maps, which are outside this simulator",
}


def why(opcode: str, suffixes: tuple[str, ...] = ()) -> str | None:
    """The reason for refusing an instruction, None when the tables do not name it."""
    names = [".".join((opcode, *suffixes[:n])) for n in range(len(suffixes), -1, -1)]
    found = [INSTRUCTIONS[name] for name in names if name in INSTRUCTIONS]
    found += [why for suffix, why in SUFFIXES.items() if suffix in suffixes]
    return found[0] if found else None
