"""What `cp` is on a machine without a GPU: CuPy's names over NumPy arrays and the simulator.

Only what lessons use, and no time: an Event that is asked for one refuses. A name that is not
here is an AttributeError that says so. Random numbers are NumPy's, not the GPU generator's.
"""

import functools
import sys

import numpy as np

from .simt import RawKernel, RawModule, current_spec
from .simt.memory import unwritten

__all__ = [
    "RawKernel",
    "RawModule",
    "arange",
    "array",
    "asarray",
    "ascontiguousarray",
    "asnumpy",
    "concatenate",
    "cuda",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "get_array_module",
    "linspace",
    "ndarray",
    "ones",
    "ones_like",
    "random",
    "zeros",
    "zeros_like",
]

# Names that mean the same in NumPy and in CuPy.
FROM_NUMPY = frozenset(
    """
    bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128 dtype inf nan pi newaxis abs all allclose any argmax array_equal exp isfinite isinf
    isnan log max maximum mean min minimum sqrt sum where
    """.split()
)


def __getattr__(name):
    if name in FROM_NUMPY:
        return getattr(np, name)
    raise lacking(f"cp.{name}")


def lacking(name):
    return AttributeError(
        f"{name}: the simulator's stand-in for CuPy has only what the lessons use. "
        "Use NumPy's on cp.asnumpy(…), or a machine with a GPU."
    )


class Part:
    """Names of CuPy's one level down, such as `cp.cuda`; one that is not here says so."""

    path = "cp.cuda"

    def __init__(self, **names):
        vars(self).update(names)

    def __getattr__(self, name):
        raise lacking(f"{self.path}.{name}")


class Memory(Part):
    """`x.data`: on a GPU the memory of an array and its address, which nothing here has."""

    path = "x.data"


class ndarray(np.ndarray):
    """A NumPy array with what CuPy's has besides: `.get()`, and elements and reductions that stay
    arrays."""

    data = Memory()

    def get(self):
        """A copy as a plain NumPy array."""
        return np.array(self)

    def __getitem__(self, key):
        found = super().__getitem__(key)  # an element stays in the array's memory, as on a GPU
        if isinstance(found, np.ndarray) or self.dtype.names:
            return found
        return super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array).view(ndarray)

    def __repr__(self):
        return repr(self.get())


def made_by(function):
    """NumPy's constructor, returning the stand-in's array."""

    @functools.wraps(function)
    def make(*args, **kwargs):
        return function(*args, **kwargs).view(ndarray)

    return make


def made_empty(function):
    """`made_by` of a constructor that leaves memory as it finds it: here it gets a pattern, so that
    the simulator knows what nobody has written."""
    make = made_by(function)

    @functools.wraps(function)
    def marked(*args, **kwargs):
        made = make(*args, **kwargs)
        return unwritten(made) if made.flags.c_contiguous and not made.dtype.hasobject else made

    return marked


arange, array, full, linspace, ones, zeros = map(
    made_by, (np.arange, np.array, np.full, np.linspace, np.ones, np.zeros)
)
ascontiguousarray, concatenate, full_like, ones_like, zeros_like = map(
    made_by, (np.ascontiguousarray, np.concatenate, np.full_like, np.ones_like, np.zeros_like)
)
empty, empty_like = map(made_empty, (np.empty, np.empty_like))


def asarray(a, dtype=None):
    """A device array: `a` itself if it is one already, else a copy, as to a GPU."""
    same = isinstance(a, ndarray) and (dtype is None or a.dtype == dtype)
    return a if same else array(a, dtype=dtype)


def asnumpy(a):
    """A plain NumPy copy of any array."""
    return np.array(a, subok=False)


def get_array_module(*args):
    """This module when an argument is one of its arrays, else NumPy."""
    return sys.modules[__name__] if any(isinstance(a, ndarray) for a in args) else np


class Generator(Part):
    """`cupy.random.Generator`'s methods as far as lessons use them."""

    path = "cp.random.default_rng()"

    def __init__(self, seed=None):
        self._rng = np.random.default_rng(seed)

    def standard_normal(self, size=None, dtype=np.float64):
        return array(self._rng.standard_normal(size, dtype=np.dtype(dtype)))

    def random(self, size=None, dtype=np.float64):
        return array(self._rng.random(size, dtype=np.dtype(dtype)))

    def integers(self, low, high=None, size=None, dtype=np.int64):
        return array(self._rng.integers(low, high, size, dtype=dtype))


class GlobalRandom(Part):
    """`cupy.random`: generators, and the functions that share one."""

    path = "cp.random"

    def __init__(self):
        self.seed()

    def seed(self, seed=None):
        self._shared = Generator(seed)

    def default_rng(self, seed=None):
        return Generator(seed)

    def standard_normal(self, size=None, dtype=np.float64):
        return self._shared.standard_normal(size, dtype)

    def randn(self, *size, dtype=np.float64):
        return self._shared.standard_normal(size, dtype)

    def rand(self, *size, dtype=np.float64):
        return self._shared.random(size, dtype)


class InOrder(Part):
    """Device, Stream and Event where every launch is finished when its call returns."""

    def synchronize(self):
        pass

    def use(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Device(InOrder):
    """The simulated card: compute capability as CuPy writes it ("90")."""

    path = "cp.cuda.Device()"

    def __init__(self, device=0):
        self.id = device

    @property
    def compute_capability(self):
        return "".join(map(str, current_spec().compute_capability))


class Event(InOrder):
    """An event that can be recorded and waited for, but tells no time."""

    path = "cp.cuda.Event()"
    done = True

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        pass

    def record(self, stream=None):
        pass


class Stream(InOrder):
    """A stream; all work is in order, as on the default stream."""

    path = "cp.cuda.Stream()"

    def __init__(self, null=False, non_blocking=False, ptds=False):
        pass

    def record(self, event=None):
        return event or Event()


Stream.null = Stream()


def get_elapsed_time(start_event, end_event):
    """Refuses: the simulator counts memory requests and instructions, but has no clock."""
    raise RuntimeError(
        "the simulator has no clock: it can say what a kernel does, not how long that takes. "
        "Times come from a GPU, live or recorded: python -m helpers bench"
    )


def no_properties(device=0):
    raise RuntimeError("there is no GPU here; the simulated card is helpers.device.spec()")


class Runtime(Part):
    path = "cp.cuda.runtime"


cuda = Part(
    Device=Device,
    Event=Event,
    Stream=Stream,
    get_current_stream=lambda: Stream.null,
    get_elapsed_time=get_elapsed_time,
    is_available=lambda: False,
    runtime=Runtime(
        getDeviceCount=lambda: 0, driverGetVersion=lambda: 0, getDeviceProperties=no_properties
    ),
)
random = GlobalRandom()
