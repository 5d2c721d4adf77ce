"""Launches a version of the catalogue, after checking everything that can be checked before.

Data, reference and comparison of a version are here too, so that lessons, tests, the command line
and the benchmark all check a kernel in one way.
"""

import contextlib
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from . import device, reference, simt, versions
from .simt.arguments import check_dimensions, is_array
from .simt.errors import LaunchError, SimulatorError
from .versions import Version

__all__ = [
    "Config",
    "Result",
    "check",
    "config",
    "examine",
    "expected",
    "kernel",
    "normal",
    "profile",
    "run",
    "trace",
]

INT_MAX = 2**31 - 1  # rows and cols are ints in every kernel


@dataclass(frozen=True)
class Config:
    """How a version is launched: grid and block in threads, shared_mem in dynamic bytes a block."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_mem: int


@dataclass(frozen=True)
class Result:
    """A version checked at one size: the comparison with its reference, and on the simulator the
    counters of that same launch (None on a GPU, where a launch counts nothing)."""

    version: str
    rows: int
    cols: int
    device: str
    comparison: reference.Comparison
    counters: dict[str, int] | None
    ok: bool


def config(version: Version | str, rows: int, cols: int) -> Config:
    """Grid, block and shared memory of `version` at rows × cols on the active device.

    Raises LaunchError for a size that the version, the device or CUDA cannot take.
    """
    return _config(_version(version), rows, cols, device.spec())


def kernel(version: Version | str):
    """The compiled `cp.RawKernel` of a version, with all the shared memory a block can opt in to.

    Compiled once for each source text and device, so an edited `.cu` file takes effect. Raises
    CompileError with the compiler's message and the line, FileNotFoundError for a missing file.
    """
    version = _version(version)
    optin = device.spec().shared_optin if version.staged else 0
    return _compiled(device.cp.RawKernel, version.source, version.entry, version.file, optin)


def run(version: Version | str, x, out=None):
    """y = version(x) on the active device.

    x: 2-D C-contiguous `cp` array of the version's type, at least 1 × 1. out: an array like x to
    write to (x itself is allowed), else a new one; returned. Raises LaunchError for anything else,
    before the launch.
    """
    version = _version(version)
    _check_matrix(version, x, "x")
    rows, cols = x.shape
    launch = config(version, rows, cols)
    if out is not None:
        _check_out(version, x, out)
    compiled = kernel(version)
    y = device.cp.empty_like(x) if out is None else out
    with _in_file(version.file):
        compiled(launch.grid, launch.block, (x, y, rows, cols), shared_mem=launch.shared_mem)
    return y


def profile(version: Version | str, rows: int, cols: int, seed: int = 0):
    """The simulator's profile of one launch on standard-normal rows, whatever the active device.

    Mistakes of the kernel are in `.defects`. Raises LaunchError for a size it cannot take.
    """
    return _profiled(_version(version), rows, cols, seed)[0]


def trace(
    version: Version | str,
    rows: int = 1,
    cols: int = 64,
    block: int | None = None,
    block_index: int = 0,
    x=None,
    seed: int = 0,
) -> simt.Trace:
    """One block of a launch on the simulator, step by step, whatever the active device.

    block: threads a block in place of the catalogue's (ValueError where the version cannot run with
    that many). x: a C-contiguous matrix of the version's type in place of rows x cols standard
    normals. Mistakes of the kernel are in `.defects`. Raises LaunchError for a matrix or a block
    index that the launch has not.
    """
    version = _version(version)
    if block is not None:
        version = replace(version, block=block)
    if x is not None:
        x = reference.host(x)
        _check_layout(version, x, "x")
        rows, cols = x.shape
    call = _simulated(version, rows, cols)
    x = _normal_host(rows, cols, version.np_dtype, seed) if x is None else x
    args = (x, np.empty_like(x), rows, cols)
    with _in_file(version.file):
        found = simt.trace(*call[:3], args, call[3], block_index)
    for defect in found.defects:
        defect.name_file(version.file)
    return found


def check(version: Version | str, rows: int, cols: int, seed: int = 0) -> reference.Comparison:
    """Run a version on standard-normal rows and compare with the reference it names.

    The rows are NumPy's and so the same on a GPU and on the simulator.
    """
    version = _version(version)
    config(version, rows, cols)  # before anything is allocated
    x = normal(rows, cols, version.np_dtype, seed)
    return reference.compare(run(version, x), expected(version, x))


def examine(version: Version | str, rows: int, cols: int, seed: int = 0) -> Result:
    """Check a version and count: `check`, and on the simulator the counters of that launch.

    Raises the first Defect the simulator sees.
    """
    version = _version(version)
    counters = None
    if device.on_gpu():
        comparison = check(version, rows, cols, seed)
    else:
        seen, x, y = _profiled(version, rows, cols, seed)
        if seen.defects:
            raise seen.defects[0]
        comparison, counters = reference.compare(y, expected(version, x)), dict(seen.counters)
    ok = comparison.within(version.allowed(cols))
    return Result(version.name, rows, cols, device.name(), comparison, counters, ok)


def normal(rows: int, cols: int, dtype="float32", seed: int = 0):
    """A `cp` array rows × cols of standard-normal numbers, drawn by NumPy in float32."""
    return device.cp.asarray(_normal_host(rows, cols, dtype, seed))


def expected(version: Version | str, x) -> np.ndarray:
    """What a version should make of x, by the reference it names, as a NumPy array."""
    version = _version(version)
    host = reference.host(x)
    make = {
        "softmax": reference.softmax,
        "rounded": lambda rows: reference.rounded_softmax(rows, version.np_dtype),
        "copy": lambda rows: rows,
    }
    return make[version.reference](host)


def _version(version) -> Version:
    return version if isinstance(version, Version) else versions.get(version)


def _config(version, rows, cols, spec) -> Config:
    for name, value in (("rows", rows), ("cols", cols)):
        if not 1 <= value <= INT_MAX:
            raise LaunchError(
                f"{version.name} got {name}={value}; it takes from 1 to {INT_MAX}. "
                "An empty matrix has no softmax: skip the call."
            )
    if problem := version.limits(cols, version.np_dtype, spec):
        raise LaunchError(problem)
    grid, block = check_dimensions(version.grid(rows, cols), version.block, version.entry)
    return Config(grid, block, version.shared(cols))


@lru_cache(maxsize=64)
def _compiled(raw_kernel, source, entry, file, optin):
    compiled = raw_kernel(source, entry)
    with _in_file(file):
        static = compiled.attributes["shared_size_bytes"]
        if optin:
            compiled.max_dynamic_shared_size_bytes = optin - static
    return compiled


def _profiled(version, rows, cols, seed):
    """(profile, x, y) of one launch on the simulator, over NumPy arrays."""
    call = _simulated(version, rows, cols)
    x = _normal_host(rows, cols, version.np_dtype, seed)
    y = np.empty_like(x)
    with _in_file(version.file):
        seen = simt.profile(*call[:3], (x, y, rows, cols), call[3])
    for defect in seen.defects:
        defect.name_file(version.file)
    return seen, x, y


def _simulated(version, rows, cols):
    """(compiled kernel, grid, block, dynamic bytes) of a launch on the simulator."""
    spec = device.simulated_spec()
    launch = _config(version, rows, cols, spec)
    optin = spec.shared_optin if version.staged else 0
    compiled = _compiled(simt.RawKernel, version.source, version.entry, version.file, optin)
    return compiled, launch.grid, launch.block, launch.shared_mem


@contextlib.contextmanager
def _in_file(file):
    """Errors name the `.cu` file; the compiler and the simulator only saw its text."""
    try:
        yield
    except SimulatorError as error:
        error.name_file(file)
        raise


def _check_matrix(version, x, name):
    """x is what `version` can read: on the device, 2-D, of its type and C-contiguous."""
    cp = device.cp
    if not is_array(x) or (device.on_gpu() and not isinstance(x, cp.ndarray)):
        kind = "a NumPy array in host memory" if is_array(x) else type(x).__name__
        raise LaunchError(
            f"{version.name} needs {name} as an array on the device ({device.name()}), got {kind}. "
            f"Move it there: cp.asarray({name})"
        )
    _check_layout(version, x, name)


def _check_layout(version, x, name):
    """x has two dimensions, the version's type, and its rows one after another."""
    if x.ndim != 2:
        raise LaunchError(
            f"{version.name} needs {name} with 2 dimensions (rows, cols), got shape {x.shape}. "
            f"Give it that shape: {name}.reshape(-1, {name}.shape[-1])"
        )
    if x.dtype != version.np_dtype:
        raise LaunchError(
            f"{version.name} needs {name} of {version.dtype}, got {x.dtype}. "
            f'Convert it: {name}.astype("{version.dtype}"){_takers(x.dtype)}'
        )
    if not x.flags.c_contiguous:
        raise LaunchError(
            f"{version.name} needs {name} C-contiguous, row after row without gaps; got strides "
            f"{x.strides} for shape {x.shape} (a slice or a transpose?). "
            f"Copy it: cp.ascontiguousarray({name})"
        )


def _takers(dtype):
    names = [version.name for version in versions.VERSIONS.values() if version.np_dtype == dtype]
    return f", or use a version for {dtype}: {', '.join(names)}" if names else ""


def _check_out(version, x, out):
    """out is like x, and either x itself or apart from it."""
    _check_matrix(version, out, "out")
    if out.shape != x.shape:
        raise LaunchError(
            f"{version.name} needs out of shape {x.shape}, as x has, got {out.shape}. "
            "Make one: cp.empty_like(x)"
        )
    apart = abs(_address(x) - _address(out))
    if 0 < apart < x.nbytes:
        raise LaunchError(
            f"{version.name} got an out that overlaps x, {apart} bytes apart: rows would be "
            "overwritten before they are read. Pass x itself, or an array of its own: "
            "cp.empty_like(x)"
        )


def _address(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def _normal_host(rows, cols, dtype, seed):
    numbers = np.random.default_rng(seed).standard_normal((rows, cols), dtype=np.float32)
    return numbers.astype(dtype, copy=False)
