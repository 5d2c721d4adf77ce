"""The reduction panel: two ways to join the values of a block, beside each other."""

from __future__ import annotations

from ..views.reduction import LANES, Reduction
from ..views.trees import FORMS, OPS, Trees, number, tree
from .controls import Choice, Panel, Whole

__all__ = ["look", "panel"]

_THREADS = {f"{threads}": threads for threads in (32, 64, 128, 256, 512, 1024)}


def look(
    left: str = "halving", right: str = "down", op: str = "max", threads: int = 64, cols: int = 100,
    warp: int = 0,
) -> tuple[str, Trees]:
    """The sentence of the panel and the trees; a warp that the block has not becomes its last."""
    trees = tree(left, right, op=op, threads=threads, cols=cols,
                 warp=min(warp, threads // LANES - 1))
    (_, first), (_, second) = trees.subjects
    costs = f"{left} takes {_cost(first)}; {right} takes {_cost(second)}"
    return f"The {op} of the row is {number(first.result)}: {costs}.", trees


def _cost(one: Reduction) -> str:
    shuffles = one.total("shuffles")
    parts = [f"{one.total('wavefronts')} wavefronts of shared memory"]
    parts += [f"{shuffles} shuffles"] if shuffles else []
    barriers = one.total("barriers")
    return ", ".join(parts) + f" and {barriers} barrier{'' if barriers == 1 else 's'}"


def panel() -> Panel:
    """A new panel. Every new choice runs the probe kernel on the simulator."""
    forms = {f"{name}: {what}": name for name, what in FORMS.items()}
    return Panel(look, {
        "left": Choice("on the left", forms, "halving"),
        "right": Choice("on the right", forms, "down"),
        "op": Choice("joined by", {op: op for op in OPS}, "max"),
        "threads": Choice("threads a block", _THREADS, 64),
        "cols": Whole("columns", 100, 1, 1100, most=4096),
        "warp": Whole("warp drawn", 0, 0, 31),
    })
