"""cuDNN's softmax, called in its own library by ctypes: one function needs no further package.

Constants are those of cudnn_ops.h.
"""

import ctypes
import importlib.util
import os
from functools import cache

from .. import device

__all__ = ["problem", "softmax", "version"]

ACCURATE, INSTANCE, NCHW = 1, 0, 0  # INSTANCE: over all of C, H and W
TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}
WAY_OUT = "it comes with PyTorch; alone: pip install nvidia-cudnn-cu13, for CUDA 12 -cu12"


class CudnnError(RuntimeError):
    """What cuDNN answers when it will not."""


@cache
def library():
    """The library: the wheel's, which PyTorch loads too, else the system's. OSError without."""
    name = "cudnn64_9.dll" if os.name == "nt" else "libcudnn.so.9"
    if importlib.util.find_spec("torch"):
        import torch  # noqa: F401 - it loads its own cuDNN, and there can be only one
    wheel = importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.cudnn")
    folders = wheel.submodule_search_locations or () if wheel else ()
    files = [os.path.join(folder, "bin" if os.name == "nt" else "lib", name) for folder in folders]
    loaded = ctypes.CDLL(next(filter(os.path.exists, files), name))
    loaded.cudnnGetErrorString.restype = ctypes.c_char_p
    loaded.cudnnGetVersion.restype = ctypes.c_size_t
    return loaded


def problem() -> str | None:
    """Why cuDNN cannot be used here, with the way out; None when it can."""
    try:
        library()
    except OSError as error:
        return f"its library does not load ({device.first_line(error)}); {WAY_OUT}"
    return None


def version() -> str:
    """cuDNN's version, as 9.19.0."""
    number = library().cudnnGetVersion()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def softmax(x, y):
    """A function that queues softmax over the rows of x into y. CudnnError says cuDNN's reason."""
    shape, kind = x.shape, TYPES[x.dtype.name]
    descriptor = _descriptor(kind, *shape)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    source, target = ctypes.c_void_p(x.data.ptr), ctypes.c_void_p(y.data.ptr)

    def launch():
        stream = device.cp.cuda.get_current_stream().ptr
        _call("cudnnSetStream", _handle(), ctypes.c_void_p(stream))
        _call("cudnnSoftmaxForward", _handle(), ACCURATE, INSTANCE, ctypes.byref(one), descriptor,
              source, ctypes.byref(zero), descriptor, target)
        return y

    return launch


@cache
def _handle():
    handle = ctypes.c_void_p()
    _call("cudnnCreate", ctypes.byref(handle))
    return handle


@cache
def _descriptor(kind: int, rows: int, cols: int):
    """rows images of cols channels of one pixel; kept, for it is some bytes."""
    descriptor = ctypes.c_void_p()
    _call("cudnnCreateTensorDescriptor", ctypes.byref(descriptor))
    _call("cudnnSetTensor4dDescriptor", descriptor, NCHW, kind, rows, cols, 1, 1)
    return descriptor


def _call(function: str, *arguments) -> None:
    status = getattr(library(), function)(*arguments)
    if status:
        reason = library().cudnnGetErrorString(status).decode()
        raise CudnnError(f"{function}: {reason}")
