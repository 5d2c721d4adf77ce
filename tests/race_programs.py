"""Random straight-line kernels on one shared array, and their races worked out thread by thread.

The brute force keeps a vector clock for each thread; the checker in helpers.simt has no such thing.
"""

import random

import numpy as np

__all__ = ["THREADS", "expected", "program", "source"]

THREADS, CELLS, FIRST = 96, 24, 6  # FIRST: the line of the first step
WHO = (
    "tid >= 0", "tid < 32", "tid % 32 < 8", "tid < 24", "tid == 3", "tid / 32 == 1",
    "tid % 2 == 0", "tid >= 64", "tid % 32 == 5",
)  # fmt: skip
WHERE = (
    "tid % 24", "(tid + 1) % 24", "tid / 4", "(tid ^ 1) % 24", "(tid / 32 * 8 + tid % 8) % 24", "5",
    "(tid * 7) % 24", "tid / 32", "tid % 32 % 24",
)  # fmt: skip
SYNC = {
    "block": ("__syncthreads();", lambda tid: 0),
    "warp": ("__syncwarp();", lambda tid: tid // 32),
    "half": ("__syncwarp(tid % 32 < 16 ? 0x0000ffff : 0xffff0000);", lambda tid: tid // 16),
    "two": ('if (tid < 64) asm volatile("bar.sync 1, 64;" ::: "memory");', lambda tid: tid // 64),
}
ACT = {
    "read": "sum += v[{}];",
    "write": "v[{}] = 1000 * {} + tid;",
    "atom": "atomicAdd(&s[{}], tid + 1);",
}


def program(seed: int) -> list[tuple]:
    """Some steps: a meeting of threads, or (what, who, where)."""
    rng, steps = random.Random(seed), []
    for _ in range(rng.choice([4, 6, 9, 14])):
        if rng.random() < 0.45:
            steps.append((rng.choice(["block", "warp", "warp", "half", "half", "two"]),))
        else:
            act = rng.choice(["read", "write", "read", "write", "atom"])
            steps.append((act, rng.choice(WHO), rng.choice(WHERE)))
    return steps


def source(steps) -> str:
    lines = [
        'extern "C" __global__ void kernel(int* y) {',
        "    __shared__ int s[24];",
        "    volatile int* v = s; const int tid = threadIdx.x; int sum = 0;",
        "    if (tid < 24) v[tid] = 0;",
        "    __syncthreads();",
    ]
    for number, (act, *rest) in enumerate(steps, 1):
        text = SYNC[act][0] if act in SYNC else f"if ({rest[0]}) {ACT[act]}".format(rest[1], number)
        lines.append(f"    {text}")
    return "\n".join([*lines, "    y[tid] = sum;", "}"])


def python(text: str, tid: int) -> int:
    return int(eval(text.replace("/", "//"), {"tid": tid}))


def expected(steps) -> set:
    """All races: (kind, the two lines in order)."""
    knows = np.full((THREADS, THREADS), -1)  # [v, u]: the last step of u that v knows of
    before, found = [], set()  # before: (step, thread, cell, what)
    for step, (act, *rest) in enumerate(steps):
        if act in SYNC:
            groups = np.array([SYNC[act][1](tid) for tid in range(THREADS)])
            for group in (np.flatnonzero(groups == g) for g in np.unique(groups)):
                if act == "two" and group[0] >= 64:
                    continue
                knows[group] = knows[group].max(0)
                knows[np.ix_(group, group)] = step
            continue
        now = [(step, t, python(rest[1], t), act) for t in range(THREADS) if python(rest[0], t)]
        for k, (_, v, cell, _) in enumerate(now):
            for then, u, other, what in before + now[:k]:
                harmless = {act, what} in ({"read"}, {"atom"})
                if u != v and cell == other and not harmless and knows[v, u] < then:
                    kind = "inside a warp" if u // 32 == v // 32 else "between warps"
                    found.add((f"race {kind}", (then + FIRST, step + FIRST)))
        before += now
    return found
