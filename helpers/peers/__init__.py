"""Softmaxes of other libraries, timed beside the lessons' own where they are installed.

Every one gets the same two CuPy arrays, is checked like the lessons' kernels, and imports what it
needs only when it is asked for.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata

from .. import device
from . import cudnn, cupies, torches

__all__ = ["PEERS", "Peer", "array", "get", "release"]

HALF, BRAIN = "float16", "bfloat16"
# Against float64 rounded to the result's type: whoever computes in float32 inside rounds once.
ONE_ROUNDING = {"float32": 5e-6, HALF: 2**-11, BRAIN: 2**-8}
# Five operations round after each; most costs x - max: up to 8 in size, in steps of 2^-8 and 2^-5.
# cuDNN is held to the same: in long 16-bit rows many of its results are one step off, which in
# float16, below its smallest normal number, is a percent.
FIVE_ROUNDINGS = {"float32": 5e-6, HALF: 2**-9, BRAIN: 2**-6}


@dataclass(frozen=True)
class Peer:
    """A library's softmax over the rows of a matrix.

    package: what pip installs. idea: one line. build(x, y): a function that queues one launch on
    CuPy arrays of one shape and returns where its result will be, y or an array of its own. needs:
    the modules it imports. tolerance: element type -> bound on the relative norm error against
    float64 rounded to that type; other types it does not take.
    """

    name: str
    package: str
    idea: str
    build: Callable
    needs: tuple[str, ...]
    tolerance: dict[str, float] = field(default_factory=ONE_ROUNDING.copy)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types it takes."""
        return tuple(self.tolerance)

    def missing(self) -> str | None:
        """Why it cannot run here, with the way to install it; None when it can."""
        if not device.on_gpu():
            return f"needs a GPU; this is the {device.name()}"
        for module in self.needs:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                return f"{error.name} is not installed; pip install {self.package}"
            except Exception as error:  # a build for another CUDA version can fail in many ways
                return f"{module} does not load: {device.first_line(error)}"
        if "torch" in self.needs and not sys.modules["torch"].cuda.is_available():
            return "this PyTorch sees no GPU; install its build for CUDA (pytorch.org says how)"
        return cudnn.problem() if self.name == "cudnn" else None

    def make(self, x, y) -> Callable:
        """The launch on x and y; calling it queues one and returns where the result will be."""
        return self.build(x, y)

    def version(self) -> str:
        """Of the package, as it is recorded."""
        known = {"cudnn": cudnn.version, "cupy": lambda: device.cp.__version__}
        return known.get(self.package, lambda: metadata.version(self.package))()


TRITON = ("torch", "triton")
PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("torch.softmax", "torch", "PyTorch's own kernel", torches.softmax, ("torch",)),
        Peer("torch.compile", "torch", "torch.softmax through PyTorch's compiler",
             torches.compiled, TRITON),
        Peer("torch five operations", "torch", "max, subtract, exp, sum, divide: five kernels",
             torches.five_operations, ("torch",), FIVE_ROUNDINGS),
        Peer("triton fused", "triton", "one Triton program a row, the row in registers",
             torches.triton_fused, TRITON),
        Peer("cudnn", "cudnn", "cuDNN's softmax, the accurate algorithm",
             cudnn.softmax, (), FIVE_ROUNDINGS),
        Peer("cupyx.softmax", "cupy", "CuPy's own, over five of its array operations",
             cupies.softmax, ("cupyx.scipy.special",),
             {k: v for k, v in FIVE_ROUNDINGS.items() if k != BRAIN}),
        Peer("cupy five operations", "cupy", "max, subtract, exp, sum, divide: five arrays",
             cupies.five_operations, (), {k: v for k, v in FIVE_ROUNDINGS.items() if k != BRAIN}),
        Peer("liger", "liger-kernel", "Liger's Triton kernel", torches.liger,
             (*TRITON, "liger_kernel.ops")),
        Peer("quack", "quack-kernels", "QuACK's kernel, written with CuTe's Python DSL",
             torches.quack, ("torch", "quack")),
    )
}  # fmt: skip


def get(name: str) -> Peer:
    """The peer called `name`. Raises ValueError listing the names there are."""
    try:
        return PEERS[name]
    except KeyError:
        raise ValueError(f"no peer called {name!r}; choose from {', '.join(PEERS)}") from None


def array(result):
    """A launch's result as a CuPy array over the same memory."""
    return result if isinstance(result, device.cp.ndarray) else torches.array(result)


def release() -> None:
    """Give back the device memory that nothing uses any more, and forget what was compiled for one
    shape: PyTorch's compiler would refuse a ninth."""
    gc.collect()
    if torch := sys.modules.get("torch"):
        torch.compiler.reset()
        torch.cuda.empty_cache()
    if device.on_gpu():
        device.cp.get_default_memory_pool().free_all_blocks()
