"""Reductions beside each other: trees in shared memory and of shuffles, from recorded runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import simt, versions
from ..simt import Trace
from .code import View, table
from .reduction import LANES, Reduction, reductions
from .trees_picture import LEGEND, draw, number, sentence
from .warps import traced

__all__ = ["FORMS", "OPS", "Trees", "record", "tree"]

# The entries of kernels_cu/probes/reduce.cu, and what each is.
FORMS = {
    "halving": "shared memory, stride halved (as V1)",
    "doubling": "shared memory, stride doubled",
    "down": "shuffles down (as V2)",
    "xor": "shuffles xor",
}
OPS = ("max", "sum")
_FOLDED = "Where a box stands for a warp of 32 slots, it shows the value of the first."
_MOST_THREADS, _MOST_COLS = 1024, 4096


@dataclass(frozen=True)
class Trees:
    """Reductions of the same kind beside each other: (what to call it, the reduction) each.

    `warp` is the one that is drawn lane by lane.
    """

    subjects: tuple[tuple[str, Reduction], ...]
    warp: int = 0

    @property
    def table(self) -> View:
        """What each takes: rounds, barriers, wavefronts of shared memory, shuffles."""
        columns = [reduction for _, reduction in self.subjects]
        body = [
            ["rounds, one after another", *(str(one.rounds) for one in columns)],
            ["barriers of the block", *(str(one.total("barriers")) for one in columns)],
            ["wavefronts of shared memory", *(_waves(one) for one in columns)],
            ["shuffles (warp instructions)", *(str(one.total("shuffles")) for one in columns)],
            ["result", *(number(one.result) for one in columns)],
            ["threads that end with it", *(str(one.holders) for one in columns)],
        ]
        names = ["one reduction", *(name for name, _ in self.subjects)]
        devices = ", ".join(dict.fromkeys(one.device for one in columns))
        threads = ", ".join(dict.fromkeys(str(one.threads) for one in columns))
        caption = f"{columns[0].op} over a block of {threads} threads; counted by the simulator, "
        return table(names, body, caption + devices)

    def __str__(self) -> str:
        return f"{self.picture()}\n\n{self.table}"

    __repr__ = __str__

    def picture(self) -> View:
        """The trees without the table."""
        figures = "".join(
            '<figure style="margin:0;flex:1 1 416px;min-width:min(416px,100%);max-width:560px">'
            f'<figcaption style="font-weight:600">{name}</figcaption>'
            f"{draw(one, _alt(name, one), self.warp)}</figure>"
            for name, one in self.subjects
        )
        row = f'<div style="display:flex;flex-wrap:wrap;gap:12px 16px">{figures}</div>'
        folded = any(one.threads > LANES for _, one in self.subjects)
        note = f'<div style="font-size:12px;line-height:1.4">{_FOLDED}</div>' if folded else ""
        text = "\n\n".join(_words(name, one) for name, one in self.subjects)
        return View(text, f'<div style="max-width:1140px">{LEGEND}{note}{row}</div>')

    def readout(self) -> str:
        """The table, as HTML."""
        return f'<div style="line-height:1.4">{self.table._repr_html_()}</div>'

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_() + self.readout()


def tree(
    *subjects: Trace | versions.Version | str, op: str = "max", threads: int = 64, cols: int = 100,
    warp: int = 0, seed: int = 0,
) -> Trees:
    """Reductions round by round: who reads whose value, values, barriers, wavefronts, shuffles.

    A subject is a trace, a version of the catalogue ("v1") or a form of the probe reduce.cu
    (halving, doubling, down, xor; halving beside down when none is given). `op` is max or sum;
    a form takes `threads` a block over one row of `cols` small whole numbers. Versions run as the
    catalogue launches them. All edges, values and counts are recorded by the simulator. ValueError
    for a size, form or subject that there is not.
    """
    _checked(op, threads, cols, warp)
    pairs = []
    for subject in subjects or ("halving", "down"):
        if isinstance(subject, str) and subject in FORMS:
            pairs.append((FORMS[subject], record(subject, op, threads, cols, seed)))
            continue
        _known(subject)
        name, trace = traced(subject, 1, cols)
        pairs.append((name, _chosen(trace, op)))
    return Trees(tuple(pairs), warp)


@lru_cache(maxsize=16)
def record(form: str, op: str, threads: int, cols: int, seed: int = 0) -> Reduction:
    """Run one entry of the probe on the simulator and read its reduction."""
    kernel = simt.RawKernel(versions.probe("reduce"), f"{form}_{op}")
    largest = 99 if op == "max" else 9
    x = np.random.default_rng(seed).integers(1, largest + 1, cols).astype(np.float32)
    out = np.empty(threads, np.float32)
    recorded = simt.trace(kernel, (1,), (threads,), (x, out, cols), races=False)  # a test looks
    return reductions(recorded)[0]


def _checked(op: str, threads: int, cols: int, warp: int) -> None:
    if op not in OPS:
        raise ValueError(f"op must be max or sum, got {op!r}")
    if threads not in (32, 64, 128, 256, 512, _MOST_THREADS):
        raise ValueError(
            f"threads must be a power of two from 32 to {_MOST_THREADS} (the tree in shared "
            f"memory halves them every round), got {threads}"
        )
    if not (isinstance(cols, int | np.integer) and 1 <= cols <= _MOST_COLS):
        raise ValueError(f"cols must be a whole number from 1 to {_MOST_COLS:,}, got {cols}")
    if not 0 <= warp < threads // LANES:
        raise ValueError(
            f"a block of {threads} threads has the warps 0 to {threads // LANES - 1}, got {warp}"
        )


def _known(subject) -> None:
    if isinstance(subject, str) and subject not in versions.VERSIONS:
        choices = ", ".join((*FORMS, *(version.name for version in versions.ladder())))
        raise ValueError(f"nothing to draw is called {subject!r}; choose from {choices}")


def _chosen(trace: Trace, op: str) -> Reduction:
    found = reductions(trace)
    for one in found:
        if one.op == op:
            return one
    have = ", ".join(dict.fromkeys(one.op for one in found))
    raise ValueError(f"{trace.kernel} has no {op} over the block; it has {have}")


def _waves(one: Reduction) -> str:
    found, ideal = one.total("wavefronts"), one.total("ideal")
    return str(found) if found == ideal else f"{found} (without conflicts {ideal})"


def _alt(name: str, one: Reduction) -> str:
    return (
        f"{name}: the {one.op} of a block of {one.threads} threads in {one.rounds} rounds with "
        f"{one.total('barriers')} barriers; the result is {number(one.result)}"
    )


def _words(name: str, one: Reduction) -> str:
    lines, turn = [f"{name}, {one.threads} threads, {one.op}:"], 0
    for row in one.rows:
        turn += row.kind in ("shared", "shuffle")
        barrier = " · barrier" * row.barriers
        lines.append(f"  {sentence(one, row, turn)}{barrier}")
    return "\n".join(lines)
