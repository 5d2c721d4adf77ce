"""python -m helpers: examine this machine, run, profile and check kernels, time the ladder.

Exit codes: 0 all well, 1 a result is wrong or the doctor found something to mend, 2 the request
cannot be met; then the reason is on stderr, and with --json as {"error": …} on stdout too.
"""

import argparse
import dataclasses
import json
import math
import os
import re
import sys
import textwrap

__all__ = ["main"]


class Refused(Exception):
    """A request that cannot be met; `kind` names the sort of error, `extra` joins the JSON."""

    def __init__(self, kind, message, **extra):
        super().__init__(message)
        self.kind = kind
        self.extra = extra


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line as every other error is reported."""

    def error(self, message):
        raise Refused("UsageError", f"{message}. See: {self.prog} --help")


def main(argv=None) -> int:
    """Run one command and return its exit code; argv as in sys.argv[1:]."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        options = parser().parse_args(argv)
        if not hasattr(options, "command"):
            parser().print_help()
            return 0
        return obey(options)
    except Refused as refused:
        return report(refused, "--json" in argv)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our pipe, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> Parser:
    """The command line's words and options."""
    top = Parser(
        prog="python -m helpers",
        description="Softmax kernels on a GPU, or on a simulator where there is none.",
    )
    words = top.add_subparsers(title="commands", metavar="command")

    def word(name, command, help):
        sub = words.add_parser(name, help=help, description=help)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print JSON instead of text")
        return sub

    def on_device(sub):
        sub.add_argument("--device", choices=("gpu", "sim"), help="default: a GPU if there is one")

    def sized(sub):
        sub.add_argument("--rows", type=int, default=4096, help="default 4096")
        sub.add_argument("--cols", type=int, default=4096, help="default 4096")

    on_device(word("doctor", doctor, "what runs the kernels here, and what is missing"))
    word("list", catalogue, "the versions there are")
    run = word("run", run_version, "run a version, compare it with float64, count on the simulator")
    run.add_argument("version", help="a name that `list` shows")
    sized(run)
    run.add_argument("--dtype", help="element type; must be the version's own")
    run.add_argument("--seed", type=int, default=0, help="of the standard-normal rows; default 0")
    on_device(run)
    answer = word("check", check_answer, "check an answer to an exercise; exit code 1: not passed")
    answer.add_argument("exercise", help="such as v1/block_max; another word lists them")
    answer.add_argument("file", metavar="FILE.cu", help="the answer; - reads standard input")
    answer.add_argument("--device", choices=("gpu", "sim"), default="sim",
                        help="gpu: once the simulator has passed it, also on a GPU")  # fmt: skip
    profile_options(word("profile", profile_file, "count what each line of any .cu file costs"))
    bench = word("bench", time_versions, "time versions on a GPU, beside copies")
    bench.add_argument("versions", nargs="*", help="names that `list` shows; default v0, v1, …")
    sized(bench)
    bench.add_argument("--repeats", type=int, default=50, help="launches of each; default 50")
    bench.add_argument("--peers", action="store_true", help="also other libraries' softmaxes")
    bench.add_argument("--sweep", action="store_true", help="many sizes and types, peers too")
    bench.add_argument("--out", metavar="FILE", help="write the record; a sweep's default: a file "
                       "of its device and date in measurements/")  # fmt: skip
    on_device(bench)
    gpu = word("profile-gpu", profile_gpu, "count on a GPU with Nsight Compute, version by version")
    gpu.add_argument("versions", nargs="*", help="names that `list` shows; default all")
    gpu.add_argument("--size", action="append", default=[], metavar="ROWSxCOLS",
                     help="one of the sizes; default 4096x1024 to 4096x262144")  # fmt: skip
    gpu.add_argument("--out", metavar="DIR", help="default measurements/nsight")
    on_device(gpu)
    return top


ARGUMENTS = """\
arguments, one --arg each, in the kernel's order:
  TYPE[SHAPE]         an array of zeros: float32[4096], int32[64,64]
  TYPE[SHAPE]:FILL    the same filled with zeros, ones, arange, normal (standard-normal numbers of
                      --seed) or a number: float32[4096]:normal, int32[64]:-1
  int:4096 float:0.5  a number; it becomes the parameter's own type
types: bool, float16, bfloat16, float32, float64, int8 … int64, uint8 … uint64
Quote brackets where the shell gives them a meaning of its own.

example:
  python -m helpers profile kernels_cu/v1_block_shared.cu --grid 8 --block 256 \\
      --arg 'float32[8,4096]:normal' --arg 'float32[8,4096]' --arg int:8 --arg int:4096
"""


def profile_options(sub) -> None:
    sub.formatter_class = argparse.RawDescriptionHelpFormatter
    sub.description = """Run a kernel of any .cu file once on the simulator and show its lines with
what they cost, under Nsight Compute's names, and the mistakes it makes."""
    sub.epilog = ARGUMENTS
    sub.add_argument("file", metavar="FILE.cu")
    sub.add_argument("--entry", help="the kernel; may be left out when the file has only one")
    sub.add_argument("--grid", required=True, help="blocks: 4096, or 16,16")
    sub.add_argument("--block", required=True, help="threads a block: 256, or 32,8")
    sub.add_argument("--shared", type=int, default=0, metavar="BYTES", help="dynamic; default 0")
    sub.add_argument("--arg", action="append", default=[], help="an argument, see below")
    sub.add_argument("--seed", type=int, default=0, help="of arrays of random numbers; default 0")
    sub.add_argument("--measure", action="append", default=[], help="show only this column")
    sub.add_argument("--html", metavar="PATH", help="also write the listing as a web page")


def obey(options) -> int:
    """Carry out the command; every error a reader can cause becomes a Refused."""
    from .device import DeviceError, select
    from .simt.errors import SimulatorError

    expected = (DeviceError, SimulatorError, ValueError, FileNotFoundError, MemoryError)
    try:
        if getattr(options, "device", None):
            select(options.device)
        return options.command(options)
    except expected as error:
        if isinstance(error, MemoryError):  # CuPy's out-of-memory is one as well
            error = f"not enough memory: {error}. Use fewer rows or columns"
            raise Refused("MemoryError", error) from None
        raise Refused(type(error).__name__, str(error)) from error


def report(refused, as_json) -> int:
    if as_json:
        error = {"kind": refused.kind, "message": str(refused)}
        print(json.dumps({"error": error, **refused.extra}))
    print(f"error: {refused}", file=sys.stderr)
    return 2


def show(options, data, text) -> None:
    print(json.dumps(data, indent=2, allow_nan=False) if options.json else text, flush=True)


def doctor(options) -> int:
    from . import device

    found = device.doctor()
    show(options, found.to_json(), str(found))
    return 0 if found.ok else 1


def catalogue(options) -> int:
    from .versions import VERSIONS

    keys = ("name", "dtype", "entry", "file", "block", "lesson", "idea")
    data = [{key: getattr(version, key) for key in keys} for version in VERSIONS.values()]
    width = max(map(len, VERSIONS))
    text = [f"{v.name:{width}}  {v.dtype:8}  {v.idea}" for v in VERSIONS.values()]
    show(options, data, "\n".join(text))
    return 0


def run_version(options) -> int:
    from . import launch, versions

    version = versions.get(options.version)
    if options.dtype and options.dtype != version.dtype:
        takers = [v.name for v in versions.VERSIONS.values() if v.dtype == options.dtype]
        way_out = (
            f"for {options.dtype} there are: {', '.join(takers)}"
            if takers
            else (f"no version takes {options.dtype}")
        )
        raise Refused(
            "LaunchError", f"{version.name} takes {version.dtype}, not {options.dtype}; {way_out}"
        )
    if options.seed < 0:
        raise Refused("UsageError", f"--seed {options.seed}: a seed is 0 or more")
    result = launch.examine(version, options.rows, options.cols, options.seed)
    show(options, as_data(result, version), as_text(result, version))
    return 0 if result.ok else 1


def as_data(result, version) -> dict:
    error = result.comparison.rel_error
    return {
        "version": result.version,
        "rows": result.rows,
        "cols": result.cols,
        "dtype": version.dtype,
        "device": result.device,
        "rel_error": error if math.isfinite(error) else None,  # JSON has no NaN
        "counters": result.counters,
    }


def as_text(result, version) -> str:
    verdict = "right" if result.ok else "WRONG"
    lines = [
        f"{result.version} at {result.rows}×{result.cols} {version.dtype} on {result.device}",
        f"{verdict} (bound {version.allowed(result.cols):.0e}): {result.comparison!r}",
    ]
    if result.counters is None:
        lines.append("no counters: a launch on a GPU counts nothing, --device sim does")
    else:
        lines += [f"{value:>12,}  {name}" for name, value in result.counters.items() if value]
    return "\n".join(lines)


def check_answer(options) -> int:
    """Check an answer to an exercise; exit code 1 when it has not passed."""
    from . import exercise

    task = exercise.load(options.exercise)
    text = sys.stdin.read() if options.file == "-" else read_source(options.file)
    verdict = exercise.check(task, text, options.device)
    show(options, verdict.to_dict(), str(verdict))
    return 0 if verdict.passed else 1


def profile_file(options) -> int:
    """Profile a kernel of a .cu file on the simulator; exit code 1 when it has made mistakes."""
    from . import simt
    from .simt import source, written

    text = read_source(options.file)
    entry = options.entry or only_entry(source.entries(text), options.file)
    grid, block = written.size(options.grid, "grid"), written.size(options.block, "block")
    arguments = tuple(written.argument(one, options.seed) for one in options.arg)
    try:
        kernel = simt.RawKernel(text, entry)
        if options.shared > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = options.shared
        seen = simt.profile(kernel, grid, block, arguments, options.shared)
    except simt.SimulatorError as error:
        raise error.name_file(options.file) from None
    for found in (*seen.defects, *seen.notes):
        found.name_file(options.file)
    listing = seen.annotated(*options.measure)
    if options.html:
        write_page(options.html, listing.page())
    parts = [str(listing), str(seen), *map(str, seen.advice())]
    show(options, json.loads(seen.to_json()), "\n\n".join(parts))
    return 1 if seen.defects else 0


def read_source(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as text:
            return text.read()
    except OSError as error:
        raise Refused(type(error).__name__, f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused("SourceError", f"{file} is no UTF-8 text, so no CUDA C++ source") from None


def write_page(path: str, page: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as out:
            out.write(page)
    except OSError as error:
        raise Refused(type(error).__name__, f"cannot write {path}: {error.strerror}") from None


def only_entry(entries, file: str) -> str:
    if len(entries) != 1:
        choice = ", ".join(entries) or "none: no function in it is __global__"
        raise Refused("UsageError", f"--entry is needed; {file} has {choice}")
    return entries[0]


def time_versions(options) -> int:
    """Time on a GPU and print the table; without one the recorded table, and exit code 2."""
    from . import bench, recorded

    if options.sweep and options.versions:
        raise Refused("UsageError", "--sweep times every version; leave the names out")
    out = bench.writable(options.out) if options.out else None
    try:
        if options.sweep:
            path = out or bench.writable(bench.default_file())
            measured = bench.sweep(path=path, repeats=options.repeats)
        else:
            names = options.versions or None
            measured = bench.ladder(options.rows, options.cols, names, options.repeats,
                                    peers=options.peers)  # fmt: skip
    except bench.BenchError as error:
        size = {"rows": options.rows, "cols": options.cols}
        known = recorded.newest() if options.sweep else recorded.figures(**size)
        if known and not options.json:
            print(recorded.table(known))
            if old := ", ".join(dict.fromkeys(figure.name for figure in known if figure.stale)):
                print(f"recorded with an older kernel: {old}")
        told = [dataclasses.asdict(figure) for figure in known]
        raise Refused("BenchError", str(error), recorded=told) from error
    if out and not options.sweep:  # a sweep has written it
        recorded.save(measured, out)
    text = f"{measured}\n\n{textwrap.fill(measured.method, 100)}"
    show(options, json.loads(measured.to_json()), text)
    return 0


def profile_gpu(options) -> int:
    """Run Nsight Compute over versions and sizes; where the CSV lies, and what was left out."""
    from . import nsight

    sizes = [matrix_size(text) for text in options.size] or nsight.SIZES
    try:
        path = nsight.run(options.versions or None, sizes, options.out)
    except nsight.NsightError as error:
        raise Refused("NsightError", str(error)) from error
    about = path.with_suffix(".json")
    left_out = json.loads(about.read_text(encoding="utf-8"))["left_out"]
    text = [f"wrote {path}", f"wrote {about}", *(f"left out {k}: {v}" for k, v in left_out.items())]
    show(options, {"csv": str(path), "json": str(about), "left_out": left_out}, "\n".join(text))
    return 0


def matrix_size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.strip().lower())
    if not found:
        raise Refused("UsageError", f"--size {text}: expected ROWSxCOLS, as in 4096x1024")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a console without × is no reason to fail
    sys.exit(main())
