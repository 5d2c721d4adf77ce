"""What is timed, as `timing` wants it: versions, copies and peers on given arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from . import device, launch, ondevice, peers, recorded, reference, versions

__all__ = ["ArraySubject", "copy_kernel", "memcpy", "of_peer", "of_version"]


@dataclass
class ArraySubject:
    """A launch from x to y or to an array of its own.

    make(x, y): a function that queues the launch and returns where its result will be. judge(got,
    x): how far a result is from what it should be.
    """

    name: str
    make: Callable
    x: object
    y: object
    tolerance: float
    judge: Callable[..., reference.Comparison]

    def __post_init__(self):
        self._launch, self._result = self.make(self.x, self.y), self.y

    def launch(self) -> None:
        """Queue it once."""
        self._result = self._launch()

    def spoil(self) -> None:
        """Fill the result with NaN, so that what an earlier launch left cannot pass for a later's
        work."""
        got = peers.array(self._result)
        got.view(device.cp.uint8)[...] = 0xFF  # all bits set is a NaN in every floating type

    def compare(self) -> reference.Comparison:
        """What the last launch left, against its reference."""
        return self.judge(peers.array(self._result), self.x)

    def on(self, x, y) -> ArraySubject:
        """The same on other arrays of the same shape."""
        return dataclasses.replace(self, x=x, y=y)


def of_version(version: versions.Version, x, y) -> ArraySubject:
    """A version of the catalogue; LaunchError for a size it cannot take."""
    config, kernel = launch.config(version, *x.shape), launch.kernel(version)

    def judge(got, x):
        if version.reference == "softmax":
            return ondevice.compare(got, x)
        return reference.compare(got, launch.expected(version, x))

    tolerance = version.allowed(x.shape[1])
    make = _launcher(kernel, config, x.shape)
    return ArraySubject(recorded.row_name(version.name), make, x, y, tolerance, judge)


def _launcher(kernel, config: launch.Config, shape) -> Callable:
    def make(x, y):
        def queue():
            kernel(config.grid, config.block, (x, y, *shape), shared_mem=config.shared_mem)
            return y

        return queue

    return make


def of_peer(peer: peers.Peer, x, y) -> ArraySubject:
    """Another library's softmax."""
    tolerance = peer.tolerance[x.dtype.name]
    return ArraySubject(peer.name, peer.make, x, y, tolerance, ondevice.compare)


def memcpy(x, y) -> ArraySubject:
    """cudaMemcpyAsync from device to device."""
    return ArraySubject("memcpy", lambda x, y: lambda: _memcpy(x, y), x, y, 0.0, _compare_copies)


def _memcpy(x, y):
    y.data.copy_from_device_async(x.data, x.nbytes)
    return y


def copy_kernel(x, y) -> ArraySubject:
    """The catalogue's copy over the same bytes, which it takes for float32 whatever they are."""
    version = versions.get("copy")
    own = x.dtype == version.np_dtype
    shape = x.shape if own else (1, x.nbytes // version.np_dtype.itemsize)
    inner = _launcher(launch.kernel(version), launch.config(version, *shape), shape)

    def make(x, y):
        queue = inner(*(array.reshape(-1).view(version.np_dtype) for array in (x, y)))

        def queue_and_name():
            queue()
            return y

        return queue_and_name

    return ArraySubject(recorded.row_name("copy"), make, x, y, 0.0, _compare_copies)


def _compare_copies(got, x) -> reference.Comparison:
    return ondevice.compare(got, x, ondevice.copied)
