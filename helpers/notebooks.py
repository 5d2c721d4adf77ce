"""Keep the notebooks clean, and run them headless: what `start.py lint` and `lessons` do.

`python -m helpers.notebooks check [--fix]` and `python -m helpers.notebooks run [NAME ...]`.
"""

import argparse
import copy
import math
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .progress import bar

__all__ = ["Run", "check", "execute", "find", "main", "report", "strip"]

ROOT = Path(__file__).parent.parent
FOLDERS = (ROOT / "notebooks", ROOT / "exercises")  # lessons, and what belongs to them
LIMIT_S = 60.0  # a lesson's own rule: top to bottom in under a minute
SLOW_SHARE = 0.5  # of the limit; from there on a notebook is listed as slow

# Left behind by running or looking at a notebook; no part of the lesson.
TRACES = (
    "metadata.widgets",
    "metadata.signature",
    "cell.metadata.execution",
    "cell.metadata.ExecuteTime",
    "cell.metadata.collapsed",
    "cell.metadata.scrolled",
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Run:
    """One notebook's execution: its name, the seconds it took, and what went wrong (or None)."""

    name: str
    seconds: float
    error: str | None = None


def find(names=(), folder=None) -> list[Path]:
    """The lessons in reading order and the exercises, or those of one `folder`; of these the ones
    that `names` begin.

    ValueError, listing the notebooks there are, when a name (or the folder) has none.
    """
    folders = (folder,) if folder else FOLDERS
    there = [path for one in folders for path in sorted(one.glob("*.ipynb"))]
    if not there:
        raise ValueError(f"no notebooks in {folders[0]}")
    starts = [Path(name).stem for name in names]
    for start in starts:
        if not any(path.stem.startswith(start) for path in there):
            listed = ", ".join(path.stem for path in there)
            raise ValueError(f"no notebook named {start!r}; there are {listed}")
    return [path for path in there if not starts or path.stem.startswith(tuple(starts))]


def strip(notebook):
    """A copy of an nbformat notebook without outputs, counts and traces of having been run."""
    from nbstripout import strip_output

    return strip_output(
        copy.deepcopy(notebook),
        keep_output=False,
        keep_count=False,
        keep_id=True,
        extra_keys=list(TRACES),
        strip_init_cells=True,
    )


def check(path: Path, fix: bool = False) -> str | None:
    """What is wrong with the notebook at `path`, as one sentence, or None.

    With `fix` it is stripped in place first; what stripping cannot mend is still reported.
    """
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except (ValueError, nbformat.ValidationError) as error:
        return f"{path.name}: not a valid notebook: {str(error).splitlines()[0]}"
    clean = strip(notebook)
    if fix and clean != notebook:
        nbformat.write(clean, path)
        notebook = clean
    kept = [number for number, cell in enumerate(clean.cells, 1) if cell.get("outputs")]
    if kept:
        return f"{path.name}: cell {kept[0]} is marked to keep its output; take the mark out"
    if clean != notebook:
        return f"{path.name}: carries outputs or counts; clear them with: start.py lint --fix"
    return None


def execute(path: Path, limit: float = LIMIT_S) -> Run:
    """Run one notebook in a kernel process of its own, from its own folder, without a browser.

    A cell that raises, a dead kernel, or more than `limit` seconds in all end it: `Run.error`.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    reached = 0
    began = time.monotonic()

    def entered(cell, cell_index):
        nonlocal reached
        reached = cell_index
        progress.update(1)

    client = NotebookClient(
        notebook,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # it warns of its own transport
        resources={"metadata": {"path": str(path.parent)}},
        timeout_func=lambda cell: max(1, math.ceil(limit - (time.monotonic() - began))),
        on_cell_start=entered,
    )
    error = None
    with bar(len(notebook.cells), path.stem) as progress:
        try:
            client.execute(env=os.environ | {"SOFTMAX_PROGRESS": "off"})  # nobody reads it here
        except CellTimeoutError:
            error = "did not end"
        except (CellExecutionError, DeadKernelError) as raised:
            error = ANSI.sub("", str(raised)).strip()
    seconds = time.monotonic() - began
    if error:
        return Run(path.stem, seconds, f"cell {reached + 1}, after {seconds:.0f} s: {error}")
    if seconds > limit:
        return Run(path.stem, seconds, f"took {seconds:.1f} s, and the limit is {limit:g} s")
    return Run(path.stem, seconds)


def report(runs, limit: float = LIMIT_S) -> str:
    """The slow notebooks, what failed and why, and the count of both."""
    failed = [run for run in runs if run.error]
    lines = [f"\n{run.name}: {run.error}" for run in failed]
    slow = [f"{run.name} {run.seconds:.1f} s" for run in runs if run.seconds > SLOW_SHARE * limit]
    if slow:
        lines.append(f"Slow (over {SLOW_SHARE * limit:g} s): {', '.join(slow)}")
    return "\n".join([*lines, f"{len(runs) - len(failed)} passed, {len(failed)} failed"])


def run_all(paths, limit) -> int:
    runs = []
    for path in paths:
        runs.append(execute(path, limit))
        state = "FAILED" if runs[-1].error else "ok"
        print(f"{path.stem:<32}{runs[-1].seconds:6.1f} s  {state}", flush=True)
    print(report(runs, limit))
    return int(any(run.error for run in runs))


def check_all(paths, fix) -> int:
    problems = [problem for path in paths if (problem := check(path, fix))]
    print("\n".join(problems) or f"{len(paths)} notebooks are clean.")
    return int(bool(problems))


def main(argv=None) -> int:
    """The command line; returns its exit code: 0 fine, 1 something failed, 2 nothing to do."""
    parser = argparse.ArgumentParser(prog="python -m helpers.notebooks")
    words = parser.add_subparsers(dest="word", required=True)
    checking = words.add_parser("check", help="do notebooks carry outputs or counts?")
    checking.add_argument("--fix", action="store_true", help="clear them")
    running = words.add_parser("run", help="execute notebooks and report each one's time")
    running.add_argument("names", nargs="*", help="the start of a notebook's name; none: all")
    running.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for one notebook")
    options = parser.parse_args(argv)
    try:
        paths = find(getattr(options, "names", ()))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.word == "check":
        return check_all(paths, options.fix)
    return run_all(paths, options.limit)


if __name__ == "__main__":
    sys.exit(main())
