"""`%%exercise v1/block_max` above a kernel checks it and notes the outcome for the learner."""

import sys

__all__ = ["exercise", "register"]


def exercise(line: str, cell: str):
    """The cell magic: `%%exercise NAME [gpu|sim]`. Returns the Verdict, which shows itself.

    Without a device the kernel also runs on a GPU where there is one.
    """
    from .. import device, learner
    from .judge import check

    words = line.split()
    if not words or len(words) > 2:
        raise ValueError("expected: %%exercise NAME, such as %%exercise v1/block_max")
    where = words[1] if len(words) > 1 else "gpu" if device.on_gpu() else "sim"
    verdict = check(words[0], cell, device=where)
    learner.note("exercise", verdict.name, verdict.passed, score=verdict.score)
    return verdict


def register(shell=None) -> None:
    """Make the magic known to `shell`, or to the running notebook if there is one."""
    if shell is None and "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        shell.register_magic_function(exercise, "cell", "exercise")
