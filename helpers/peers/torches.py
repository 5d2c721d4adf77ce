"""Peers that take PyTorch's tensors: PyTorch itself, Triton, Liger, QuACK.

PyTorch is imported by the functions, since most machines of the lessons have none.
"""

from functools import cache

from .. import device

__all__ = [
    "array",
    "compiled",
    "five_operations",
    "liger",
    "quack",
    "softmax",
    "tensor",
    "triton_fused",
]


def tensor(x):
    """A CuPy array as a tensor over the same memory, by DLPack; bfloat16, which CuPy does not hand
    out, as 16-bit integers that PyTorch reads anew."""
    import torch

    if x.dtype.itemsize != 2:
        return torch.from_dlpack(x)
    return torch.from_dlpack(x.view("int16")).view(getattr(torch, x.dtype.name))


def array(result):
    """The way back: a tensor as a CuPy array."""
    import ml_dtypes
    import torch

    if result.element_size() != 2:
        return device.cp.from_dlpack(result)
    dtype = ml_dtypes.bfloat16 if result.dtype == torch.bfloat16 else "float16"
    return device.cp.from_dlpack(result.view(torch.int16)).view(dtype)


def softmax(x, y):
    import torch

    source, target = tensor(x), tensor(y)
    return lambda: torch.softmax(source, dim=-1, out=target)


def compiled(x, y):
    source, fused = tensor(x), _compiled()
    return lambda: fused(source)


@cache
def _compiled():
    import torch

    # fullgraph: more shapes than it keeps are an error, not a silent return to plain PyTorch
    return torch.compile(lambda x: torch.softmax(x, dim=-1), fullgraph=True, dynamic=False)


def five_operations(x, y):
    import torch

    source, target = tensor(x), tensor(y)

    def launch():
        exponentials = torch.exp(source - source.amax(dim=-1, keepdim=True))
        return torch.div(exponentials, exponentials.sum(dim=-1, keepdim=True), out=target)

    return launch


def triton_fused(x, y):
    from . import fused

    source, target = tensor(x), tensor(y)
    fused.block_for(x.shape[1])  # a row that is too long is refused here
    return lambda: fused.softmax(source, target)


def liger(x, y):
    from liger_kernel.ops import LigerSoftmaxFunction

    source = tensor(x)
    return lambda: LigerSoftmaxFunction.apply(source)


def quack(x, y):
    from quack import softmax

    source = tensor(x)
    return lambda: softmax(source)
