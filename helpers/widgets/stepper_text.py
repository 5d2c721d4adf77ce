"""The stepper's sentences: what a step does and where the warps are, from the trace alone."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from ..simt.steps import Step, lanes_of
from ..simt.trace import Trace
from .stepper_access import elements, plural

__all__ = ["deed", "people", "places", "title", "waiting"]

WARP = 32
# What an instruction does, by its opcode; "in 16 lanes" follows.
DEEDS = {
    "add": "An addition", "sub": "A subtraction", "mul": "A multiplication",
    "mad": "A multiplication and an addition", "fma": "A multiplication and an addition",
    "div": "A division", "rem": "The remainder of a division", "rcp": "1 divided by a value",
    "max": "The larger of two values is kept", "min": "The smaller of two values is kept",
    "neg": "The sign is changed", "abs": "The sign is dropped", "setp": "A comparison",
    "selp": "One of two values is chosen", "mov": "A value is copied",
    "cvt": "A value is converted", "cvta": "A pointer is made one of global memory",
    "shl": "Bits are shifted left", "shr": "Bits are shifted right", "and": "Bits are combined",
    "or": "Bits are combined", "xor": "Bits are combined", "not": "Bits are combined",
    "lop3": "Bits are combined", "ex2": "2 to the power of a value", "lg2": "A logarithm",
    "sqrt": "A square root", "rsqrt": "1 divided by a square root",
}  # fmt: skip
LEAVES = "has left the kernel", "have left the kernel"


def title(trace: Trace) -> str:
    """`softmax_v1 · block 0 of 1 · 64 threads in 2 warps · …`: what was recorded, and by whom."""
    blocks = int(np.prod(trace.grid))
    warps = plural(-(-trace.threads // WARP), "warp")
    return (
        f"{trace.kernel} · block {trace.block_index} of {blocks} · {trace.threads} threads in "
        f"{warps} · recorded by the simulator ({trace.device}), which tells no times"
    )


# ---------------------------------------------------------------------------- what is done
def deed(trace: Trace, step: Step) -> str:
    """What a step does, in one sentence."""
    code = trace.program[step.pc]
    guard = code.ptx.startswith("@")
    opcode = code.ptx.split()[1 if guard else 0].split(".")[0]
    if not step.acting and not step.parked and step.taken is None and code.kind != "barrier":
        return "No lane does anything: the guard is false for all of them."
    if opcode == "bra":
        return branch(trace, step)
    if code.kind == "barrier" and opcode in ("bar", "barrier"):
        return barrier(step)
    if opcode == "shfl" or step.sources is not None:
        return shuffle(step)
    if code.kind == "exit":
        return f"{lanes(step.acting)} {LEAVES[step.acting.bit_count() > 1]}."
    if step.touches:
        return "; ".join(access(touch) for touch in step.touches) + "."
    return register(step, code, opcode)


def register(step: Step, code, opcode: str) -> str:
    """An instruction that moves or computes values."""
    many = lanes(step.acting)
    if step.parked and not step.acting:
        return f"{lanes(step.parked)} must wait for the others of the warp."
    if code.origin:
        kind = "The argument " if code.kind == "memory" else ""
        return f"{kind}{code.origin} goes to a register, in {many}."
    if opcode == "mov" and "%" not in code.ptx.split(",")[-1]:
        return f"A constant goes to a register, in {many}."
    return f"{DEEDS.get(opcode, f'{opcode} is executed')}, in {many}."


def access(touch) -> str:
    deeds = {"load": "is read", "store": "is written", "atomic": "is updated atomically"}
    done = deeds.get(touch.kind, "will be filled by a copy that runs on its own")
    where = {"shared": " in shared memory", "local": " in local memory"}.get(touch.space, "")
    return f"{elements(touch)}{where} {done} by {lanes(touch.lanes)}"


def branch(trace: Trace, step: Step) -> str:
    """Who jumps, and whether a warp is divided. The target's line is said where it is another."""
    taken, stays = step.taken, step.lanes & ~step.taken
    code = trace.program[step.pc]
    label = code.ptx.split()[-1][1:]
    line = trace.program[int(label)].line if label.isdigit() else 0
    goal = f" to line {line}" if line and line != code.line else ""
    if not stays:
        return f"Branch: {lanes(taken)} {verb('jump', many(taken))}{goal}."
    if not taken:
        return f"Branch: nobody jumps, {lanes(stays)} {verb('go', many(stays))} on."
    if warps_of(taken).isdisjoint(warps_of(stays)):
        jump, go = verb("jump", more(taken)), verb("go", more(stays))
        return (
            f"The branch parts the warps: {people(taken)} {jump}{goal}, {people(stays)} {go} on."
        )
    return (
        f"The branch divides a warp: {lanes(taken)} {verb('jump', many(taken))}{goal}, "
        f"{stays.bit_count()} {verb('go', many(stays))} on."
    )


def verb(word: str, plain: bool) -> str:
    """`they jump`, `it jumps`; go becomes goes."""
    return word if plain else f"{word}{'es' if word == 'go' else 's'}"


def warps_of(mask: int) -> set:
    return set((lanes_of(mask) // WARP).tolist())


def more(mask: int) -> bool:
    """Whether `people` names several."""
    return not people(mask).startswith(("warp ", "thread "))


def barrier(step: Step) -> str:
    if step.parked:
        said = f"{people(step.parked)} {verb('wait', more(step.parked))} at the barrier"
        return f"{said} for the rest.".capitalize()
    if step.released.bit_count() > step.lanes.bit_count():
        return f"The last have come to the barrier: {people(step.released)} may go on."
    return "The whole block is at the barrier, and goes on."


def shuffle(step: Step) -> str:
    """Who reads whom, as a rule where there is one."""
    if step.sources is None:
        return f"{lanes(step.parked or step.lanes)} come to the shuffle, and wait for their warp."
    lane, source = lanes_of(step.acting), step.sources.astype(int)
    others = source != lane
    if not others.any():
        return "Shuffle: each lane reads its own value."
    apart, mixed = (source - lane)[others], (source ^ lane)[others]
    own = "; those at the end read their own" if not others.all() else ""
    if len(set(source.tolist())) == 1 or len(set((source % WARP).tolist())) == 1:
        return f"Shuffle: every lane reads lane {source[0] % WARP} of its warp."
    if (apart == apart[0]).all():
        way = "above" if apart[0] > 0 else "below"
        return f"Shuffle: each lane reads the lane {abs(apart[0])} {way} it{own}."
    if (mixed == mixed[0]).all():
        return f"Shuffle: lane n reads lane n xor {mixed[0]}."
    return f"Shuffle: {plural(int(others.sum()), 'lane')} of {len(lane)} read another lane's value."


# ---------------------------------------------------------------------------- who is where
def many(mask: int) -> bool:
    return mask.bit_count() > 1


def lanes(mask: int) -> str:
    return plural(mask.bit_count(), "lane")


def people(mask: int) -> str:
    """Threads by name: `warp 1`, `warps 1-3`, `threads 40-59`, `thread 7`."""
    numbers = lanes_of(mask)
    found = np.unique(numbers // WARP)
    if len(numbers) == WARP * len(found):
        return f"warp{'s' if len(found) > 1 else ''} {spans(found)}"
    return f"thread{'s' if len(numbers) > 1 else ''} {spans(numbers)}"


def spans(numbers) -> str:
    """Ascending numbers as ranges: 0-3, 8."""
    runs = [list(run) for _, run in groupby(enumerate(map(int, numbers)), lambda e: e[1] - e[0])]
    said = [f"{run[0][1]}" + (f"–{run[-1][1]}" if len(run) > 1 else "") for run in runs]
    return ", ".join(said if len(said) < 5 else [*said[:3], "…", said[-1]])


def places(groups) -> str:
    """All warps, those that are alike together: `Warp 0: 16 of 32 lanes …; warps 1–3 wait ….`;
    `groups` are those of `stepper_model.place_of`."""
    alike: dict = {}
    for warp, group in enumerate(groups):
        alike.setdefault(tuple(sorted(group)), []).append(warp)
    parts = []
    for group, warps in alike.items():
        plain = len(warps) > 1
        name = f"warp{'s' if plain else ''} {spans(warps)}"
        parts.append(f"{name}{standing(group, plain)}")
    said = "; ".join(parts)
    return said[0].upper() + said[1:] + "."


def standing(group, plain: bool) -> str:
    """What the lanes of a warp do, as the rest of a sentence about it; `plain` for several."""
    size = sum(n for *_, n in group)
    if len(group) == 1:
        letter, line, _ = group[0]
        if letter == "a":
            return f": all {'' if plain else f'{size} '}lanes active on line {line}"
        if letter == "p":
            return f": all {'' if plain else f'{size} '}lanes predicated off on line {line}"
        if letter == "w":
            return f" wait{'' if plain else 's'} at line {line}"
        return f" {LEAVES[plain]}" if letter == "x" else (
            f" {'are' if plain else 'is'} idle, next on line {line}")  # fmt: skip
    said = []
    order = sorted(group, key=lambda g: "apw.x".index(g[0]))
    for letter, line, n in order:
        count = f"{n} of {size} lanes" if not said else str(n)
        does = {
            "a": f"active on line {line}", "p": f"predicated off on line {line}",
            "w": f"waiting at line {line}", ".": f"sitting out until line {line}", "x": "gone",
        }[letter]  # fmt: skip
        said.append(f"{count} {does}")
    return ": " + ", ".join(said)


def waiting(trace: Trace, where, k: int) -> str:
    """Who waits, where, and for whom; "" when nobody does."""
    status, line, meets = where.status[k], where.line[k], where.meets[k]
    waits = status == ord("w")
    if not waits.any():
        return "Nobody waits."
    rest = mask(~waits & (status != ord("x")))
    parts = []
    for at, inside in sorted({*zip(line[waits].tolist(), meets[waits].tolist(), strict=True)}):
        those = mask(waits & (line == at) & (meets == inside))
        stay = verb("wait", more(those))
        reason = "for lanes of the warp" if inside else f"for {people(rest)}" if rest else "in vain"
        parts.append(f"{people(those)} {stay} at line {at}, {reason}")
    return "; ".join(parts).capitalize() + "."


def mask(lanes: np.ndarray) -> int:
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
