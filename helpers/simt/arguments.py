"""Checks a kernel call against the kernel's own parameters, and converts its Python scalars.

CUDA passes arguments as bare bytes: a float64 array where the kernel says `float*`, or a Python
float (8 bytes) where it says `float` (4), gives wrong numbers and no message. Here it is an error
before the launch.
"""

import operator

import numpy as np

from .errors import LaunchError

__all__ = ["check_dimensions", "convert"]

GRID_LIMITS = (2**31 - 1, 65535, 65535)
BLOCK_LIMITS = (1024, 1024, 64)
BLOCK_THREADS = 1024
WAY_OUT = {
    "grid": "An empty matrix needs no launch; a larger one needs another shape of grid.",
    "block": "256 threads suit most kernels.",
}


def convert(parameters, args, entry, on_gpu=False) -> tuple:
    """The arguments of one launch, checked, with scalars in the parameters' own types.

    Arrays (NumPy's or CuPy's; on_gpu=True refuses NumPy's) come back as they are: they must be
    C-contiguous and of the type pointed to. A number must have the parameter's kind (an int also
    suits a float parameter) and fit its range. A parameter of unknown type is not checked further.
    Raises LaunchError naming the argument, what was expected, what was got and the way out.
    """
    if not isinstance(args, tuple | list):
        raise LaunchError(
            f"the arguments of {entry} must be one tuple, got {describe(args)}. "
            "Write (x, y, rows, cols); a single argument needs a comma: (x,)",
            kernel=entry,
        )
    if len(args) != len(parameters):
        got = ", ".join(map(describe, args)) or "nothing"
        raise LaunchError(
            f"{entry} takes {len(parameters)} arguments ({', '.join(map(str, parameters))}), "
            f"got {len(args)}: {got}. Pass one for each parameter, in this order.",
            kernel=entry,
        )
    return tuple(
        pointer(parameter, value, f"argument {number} of {entry}, `{parameter}`", on_gpu)
        if parameter.pointer
        else scalar(parameter, value, f"argument {number} of {entry}, `{parameter}`")
        for number, (parameter, value) in enumerate(zip(parameters, args, strict=True), start=1)
    )


def check_dimensions(grid, block, entry) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block as three ints each; LaunchError when CUDA has no such launch.

    Limits: CUDA C++ Programming Guide, technical specifications, the same from compute capability
    5.0 on. A zero is refused here because CuPy would silently launch 1 in its place.
    """
    grid = three(grid, "grid", GRID_LIMITS, entry)
    block = three(block, "block", BLOCK_LIMITS, entry)
    threads = block[0] * block[1] * block[2]
    if threads > BLOCK_THREADS:
        raise LaunchError(
            f"the block of {entry} has {threads} threads {block}; a block holds at most "
            f"{BLOCK_THREADS}. Launch more blocks of fewer threads.",
            kernel=entry,
        )
    return grid, block


def three(size, what, limits, entry):
    """A launch dimension, an int or up to three of them, filled up with ones."""
    parts = size if isinstance(size, tuple | list) else (size,)
    try:
        parts = tuple(map(operator.index, parts))
    except TypeError:
        parts = ()
    if not 1 <= len(parts) <= 3:
        raise LaunchError(
            f"the {what} of {entry} must be one to three integers such as (256,), got {size!r}. "
            "Use // for whole-number division.",
            kernel=entry,
        )
    parts = (*parts, 1, 1)[:3]
    for axis, part, limit in zip("xyz", parts, limits, strict=True):
        if not 1 <= part <= limit:
            raise LaunchError(
                f"{what}.{axis} of {entry} is {part}; it must be from 1 to {limit}. "
                f"{WAY_OUT[what]}",
                kernel=entry,
            )
    return parts


def pointer(parameter, value, what, on_gpu):
    if not is_array(value):
        refuse(what, "an array", value, "Pass the array itself, not its address or a list.")
    if on_gpu and isinstance(value, np.ndarray):
        refuse(what, "an array on the GPU", value, "Move it: cp.asarray(…).", "in host memory")
    if parameter.dtype is not None and value.dtype != parameter.dtype:
        way_out = f'Convert it: .astype("{parameter.dtype}"), or use a kernel for {value.dtype}.'
        refuse(what, f"an array of {parameter.dtype}", value, way_out)
    if not value.flags.c_contiguous:
        way_out = "A kernel sees bare memory and no strides; copy it: cp.ascontiguousarray(…)."
        refuse(what, "a C-contiguous array", value, way_out, f"with strides {value.strides}")
    if not parameter.const and not getattr(value.flags, "writeable", True):
        refuse(what, "an array to write to", value, "Pass a copy: .copy().", "that is read-only")
    return value


def scalar(parameter, value, what):
    dtype = parameter.dtype
    if dtype is None:  # a struct, an enum, a template parameter: bytes that only the caller knows
        if isinstance(value, int | float):
            way_out = "Say how many bytes it has: np.int32(…), or np.void of a struct."
            refuse(what, "a NumPy scalar of its size", value, way_out)
        return value
    if is_array(value):
        refuse(what, "a number", value, "Take the number out: int(…) or float(…).")
    kinds = {"b": (bool, np.bool_), "i": (int, np.integer), "u": (int, np.integer)}
    wanted = kinds.get(dtype.kind, (int, np.integer, float, np.floating, dtype.type))
    if not isinstance(value, wanted) or (dtype.kind != "b" and isinstance(value, bool | np.bool_)):
        names = {"b": "a bool", "i": "an integer", "u": "an integer"}
        way_out = "Convert it: bool(…)." if dtype.kind == "b" else "Convert it: int(…) or float(…)."
        refuse(what, names.get(dtype.kind, "a number"), value, way_out)
    return fitted(value, dtype, what)


def fitted(value, dtype, what):
    """The number in the parameter's type; LaunchError when it is outside the type's range."""
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not low <= int(value) <= high:
            refuse(what, f"a number from {low} to {high}", value, "Use a wider parameter type.")
        return dtype.type(int(value))
    try:
        with np.errstate(over="ignore"):
            number = dtype.type(value)
    except OverflowError:  # a Python int beyond every float
        number = dtype.type("inf")
    if dtype.kind != "b" and np.isinf(number) and value not in (float("inf"), float("-inf")):
        refuse(what, f"a number that {dtype} can hold", value, "Use a wider parameter type.")
    return number


def is_array(value) -> bool:
    """True of NumPy's and CuPy's arrays, false of NumPy's scalars."""
    return not isinstance(value, np.generic) and all(
        hasattr(value, name) for name in ("dtype", "shape", "flags", "strides")
    )


def describe(value) -> str:
    """What an argument is, in the words of an error message."""
    if is_array(value):
        return f"an array of {value.dtype} {tuple(value.shape)}"
    return "None" if value is None else f"{type(value).__name__} {value!s:.40}"


def refuse(what, expected, value, way_out, detail=""):
    got = f"{describe(value)} {detail}".rstrip()
    raise LaunchError(f"{what}: expected {expected}, got {got}. {way_out}")
