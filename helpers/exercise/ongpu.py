"""The child of `gpu`: launches one kernel on each case in a folder, and writes what came out.

`python -m helpers.exercise.ongpu FOLDER`: request.json says what to do, x0.npy and y0.npy are the
arrays of the first case; out0.npy is what y became, ready says that the launches begin, and
error.json why one failed. A fault of the kernel ends this process and no other.
"""

import json
import sys
from pathlib import Path

import numpy as np

from .. import device
from .inputs import ALIGN

__all__ = ["main"]


def main(folder: Path) -> int:
    """Launch the cases one after another; 1 when one of them fails."""
    try:
        request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        kernel = device.cp.RawKernel(request["code"], request["entry"])
        kernel.compile()
        if (most := max(case["shared"] for case in request["cases"])) > (
            kernel.max_dynamic_shared_size_bytes
        ):
            kernel.max_dynamic_shared_size_bytes = most
        (folder / "ready").touch()
        for k, case in enumerate(request["cases"]):
            y = launched(kernel, case, np.load(folder / f"x{k}.npy"), np.load(folder / f"y{k}.npy"))
            whole(folder / f"out{k}.npy", lambda path, y=y: np.save(path, y))
    except Exception as error:  # whatever CUDA, CuPy or the compiler raise is the parent's to tell
        told = {"kind": type(error).__name__, "message": str(error)}
        whole(folder / "error.json", lambda path: path.write_text(json.dumps(told), "utf-8"))
        return 1
    return 0


def whole(path: Path, write) -> None:
    """Write a file that is there either whole or not at all: the parent may end this process."""
    part = path.with_name(f"part-{path.name}")
    write(part)
    part.replace(path)


def launched(kernel, case: dict, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What y is after the launch; arrays start off 16 bytes as the case has it."""
    x, y = placed(x, case["offset"]), placed(y, case["y_offset"])
    shared = {"shared_mem": case["shared"]}
    kernel((case["grid"],), (case["block"],), (x, y, case["rows"], case["cols"]), **shared)
    return np.asarray(y.get())  # waits for the kernel, and raises if it failed


def placed(array: np.ndarray, elements: int):
    """The array on the device, so many elements behind an address that is well aligned."""
    memory = device.cp.empty(elements + array.size + ALIGN, array.dtype)
    view = memory[elements : elements + array.size].reshape(array.shape)
    view[...] = device.cp.asarray(array)
    return view


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
