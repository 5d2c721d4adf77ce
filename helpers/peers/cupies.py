"""Peers written in CuPy's array operations: every operation is a kernel, every result an array."""

from .. import device

__all__ = ["five_operations", "softmax"]


def softmax(x, y):
    from cupyx.scipy import special

    return lambda: special.softmax(x, axis=-1)


def five_operations(x, y):
    cp = device.cp

    def launch():
        exponentials = cp.exp(x - x.max(axis=-1, keepdims=True))
        return cp.divide(exponentials, exponentials.sum(axis=-1, keepdims=True), out=y)

    return launch
