"""The process that ncu watches: launches versions one after the other, and checks each.

    python -m helpers.nsight.drive LAUNCHED.json v1:4096x4096 v2:4096x4096 …

LAUNCHED.json is the list of [version, rows, cols, problem] launched so far, in order; problem says
how a result was wrong, None when it was right. Kernels of CuPy's own run too; ncu is told to watch
those of the catalogue only.
"""

import json
import sys
import time

from .. import device, launch, reference, versions

__all__ = ["main"]

PATIENCE = 360  # seconds after which no further launch is begun, so that ncu can finish
CHECKED = 8  # rows at each end of the matrix that are compared with the reference
DRAWN = 64  # rows of random numbers; a matrix repeats them


def main(argv: list[str]) -> int:
    path, *words = argv
    started, done, size, x = time.monotonic(), [], None, None
    for word in words:
        name, rows, cols = parse(word)
        version = versions.get(name)
        if time.monotonic() - started > PATIENCE:
            print(f"stopped after {PATIENCE} s, before {word}", flush=True)
            break
        if (rows, cols, version.dtype) != size:
            x = y = None  # the old ones go first
            if device.on_gpu():
                device.cp.get_default_memory_pool().free_all_blocks()
            size, x = (rows, cols, version.dtype), matrix(rows, cols, version.np_dtype)
            y = device.cp.empty_like(x)
        launch.run(version, x, out=y)
        done.append([name, rows, cols, problem(version, x, y)])
        with open(path, "w", encoding="utf-8") as out:
            json.dump(done, out)
        print(f"{word}: {done[-1][-1] or 'right'}, {time.monotonic() - started:.0f} s", flush=True)
    return 0


def parse(word: str) -> tuple[str, int, int]:
    name, _, size = word.partition(":")
    rows, cols = map(int, size.split("x"))
    return name, rows, cols


def matrix(rows: int, cols: int, dtype):
    """Standard-normal rows. A few are drawn and repeated: what a kernel asks of memory does not
    depend on the numbers, and a billion of them would take the host longer than all the rest."""
    drawn = launch.normal(min(rows, DRAWN), cols, dtype)
    if rows <= DRAWN:
        return drawn
    x = device.cp.empty((rows, cols), drawn.dtype)
    for first in range(0, rows, DRAWN):
        part = x[first : first + DRAWN]
        part.data.copy_from_device(drawn.data, part.nbytes)
    return x


def problem(version, x, y) -> str | None:
    """How the first or the last rows differ from the reference; None when they are right."""
    for part in (slice(None, CHECKED), slice(-CHECKED, None)):
        found = reference.compare(y[part], launch.expected(version, x[part]))
        if not found.within(version.allowed(x.shape[1])):
            return f"wrong result, so its counters are worth nothing: {found}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
