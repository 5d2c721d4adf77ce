"""Measure the calibration kernels and the ladder under Nsight Compute, once, and keep the counters.

    python tests/calibration/run.py                    needs a GPU, CuPy, ncu, nvcc and nvdisasm
    python tests/calibration/run.py --compact FOLDER   redo the tables from what --keep kept
    python tests/calibration/run.py --report           simulate every case and compare; no GPU

Writes measurements/ncu_<device>_<date>/: counters.csv (a row a launch: hardware counters),
source.csv (a row a memory instruction of a launch: Nsight Compute's source page, with the `.cu`
line), kernels.ptx and meta.json. One process launches every case of cases.py under one ncu.
"""

import argparse
import csv
import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import CASES, HERE

__all__ = ["main"]

ROOT = HERE.parent.parent
LAUNCHING = 240  # seconds after which the launching process stops, so that ncu can finish
METRICS = """
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
smsp__inst_executed_op_global_ld.sum smsp__inst_executed_op_global_st.sum
smsp__inst_executed_op_global_red.sum smsp__inst_executed_op_global_atom.sum
smsp__inst_executed_op_generic_atom_dot_alu.sum smsp__inst_executed_op_generic_atom_dot_cas.sum
smsp__inst_executed_op_shared_ld.sum smsp__inst_executed_op_shared_st.sum
smsp__inst_executed_op_shared_atom.sum smsp__inst_executed_op_shared_atom_dot_alu.sum
smsp__inst_executed_op_shared_atom_dot_cas.sum smsp__inst_executed_op_ldgsts.sum
smsp__inst_executed_op_branch.sum smsp__inst_executed.sum smsp__thread_inst_executed.sum
smsp__sass_branch_targets.sum smsp__sass_branch_targets_threads_divergent.sum
smsp__warps_launched.sum sm__ctas_launched.sum
dram__bytes_read.sum dram__bytes_write.sum
lts__t_sectors_srcunit_tex_op_read.sum lts__t_sectors_srcunit_tex_op_write.sum
""".split()
CORE = [m for m in METRICS if m.startswith("l1tex") or m.endswith("launched.sum")]
SOURCE_TOTALS = [
    f"memory_{what}{ideal}"
    for what in ("l1_wavefronts_shared", "l2_theoretical_sectors_global")
    for ideal in ("", "_ideal")
]
# The source page's column -> ours.
COLUMNS = {
    "Instructions Executed": "executed",
    "Thread Instructions Executed": "threads",
    "Predicated-On Thread Instructions Executed": "threads_on",
    "L1 Tag Requests Global": "requests",
    "L2 Theoretical Sectors Global": "sectors",
    "L2 Theoretical Sectors Global Ideal": "sectors_ideal",
    "L1 Wavefronts Shared": "wavefronts",
    "L1 Wavefronts Shared Ideal": "wavefronts_ideal",
}
MEMORY = re.compile(r"(?:@!?U?P[T\d]+\s+)?(?:LD[GSL]?|ST[GSL]?|LDGSTS|ATOM\w?|REDG?)[.\s]")


# ---------------------------------------------------------------------------- the launches
def launch(folder: Path) -> None:
    """The process under ncu: every case once, from the cubins in `folder`."""
    import cupy

    started, modules, done = time.monotonic(), {}, []
    for case in CASES.values():
        if time.monotonic() - started > LAUNCHING:
            print(f"stopped launching after {LAUNCHING} s, before {case.name}", flush=True)
            break
        if case.path not in modules:
            modules[case.path] = cupy.RawModule(path=str(cubin(folder, case.path)))
        kernel = modules[case.path].get_function(case.entry)
        if case.shared:
            kernel.max_dynamic_shared_size_bytes = case.shared
        args = [on_device(cupy, value) for value in case.arguments()]
        kernel(case.grid, case.block, tuple(args), shared_mem=case.shared)
        cupy.cuda.runtime.deviceSynchronize()
        done.append({"case": case.name, "entry": case.entry})
        del args
    (folder / "launched.json").write_text(json.dumps(done))


def on_device(cupy, value):
    """An array on the GPU by a plain copy: no kernel but the measured one runs."""
    if not value.ndim:
        return value
    device = cupy.empty(value.shape, value.view("u2").dtype if value.itemsize == 2 else value.dtype)
    device.data.copy_from_host(value.ctypes.data, value.nbytes)
    return device


def cubin(folder: Path, source: Path) -> Path:
    return folder / f"{source.stem}.cubin"


# ---------------------------------------------------------------------------- measuring
def measure(work: Path) -> None:
    """Compile, launch under ncu, and export what it found; everything stays in `work`."""
    tools = {name: find(name) for name in ("ncu", "nvcc", "nvdisasm")}
    compile_all(work, tools)
    report = work / "report.ncu-rep"
    for metrics in (available(tools["ncu"], work), CORE):
        started = time.monotonic()
        profile(tools["ncu"], metrics, work, report)
        print(f"ncu took {time.monotonic() - started:.0f} s", flush=True)
        if report.exists():
            break
        print("ncu wrote no report; again with fewer metrics. It said:", flush=True)
        print("\n".join((work / "ncu.log").read_text().splitlines()[-8:]), flush=True)
    pages = {"raw": ["raw"], "sass": ["source", "--print-source", "sass"]}
    for name, page in pages.items():
        command = [tools["ncu"], "--import", str(report), "--csv", "--print-units", "base"]
        with (work / f"{name}.csv").open("w") as out:
            subprocess.run([*command, "--page", *page], stdout=out, check=True)
    about = {"date": datetime.date.today().isoformat(), "device": smi("name")}
    about |= {"driver": smi("driver_version"), "ncu": version(tools["ncu"])}
    about |= {"nvcc": version(tools["nvcc"])}
    (work / "about.json").write_text(json.dumps(about))


def profile(ncu: str, metrics, work: Path, report: Path) -> None:
    options = ["--clock-control", "none", "--cache-control", "all", "--section", "SourceCounters"]
    options += ["--metrics", ",".join(metrics), "--force-overwrite", "--export", str(report)]
    target = [sys.executable, str(HERE / "run.py"), "--launch", str(work)]
    with (work / "ncu.log").open("w") as log:
        subprocess.run([ncu, *options, *target], stdout=log, stderr=subprocess.STDOUT, check=False)


def find(tool: str) -> str:
    places = [shutil.which(tool), f"/usr/local/cuda/bin/{tool}", f"/opt/cuda/bin/{tool}"]
    places += [str(p) for p in sorted(Path("/opt/nvidia/nsight-compute").glob(f"*/{tool}"))]
    for place in places:
        if place and Path(place).exists():
            return place
    sys.exit(f"{tool} was not found: it is part of the CUDA toolkit; put it on the PATH")


def compile_all(work: Path, tools) -> None:
    """A cubin for this GPU, its PTX and its listing with source lines, a source file."""
    arch = "sm_" + smi("compute_cap").replace(".", "")

    def translate(source: Path) -> None:
        flags = [tools["nvcc"], "-std=c++17", "-lineinfo", f"-arch={arch}", str(source)]
        target = cubin(work, source)
        subprocess.run([*flags, "-cubin", "-o", str(target)], check=True)
        subprocess.run([*flags, "-ptx", "-o", str(target.with_suffix(".ptx"))], check=True)
        with target.with_suffix(".lst").open("w") as listing:
            subprocess.run([tools["nvdisasm"], "-gi", "-c", target], stdout=listing, check=True)

    with ThreadPoolExecutor() as pool:
        list(pool.map(translate, sorted({case.path for case in CASES.values()})))


def available(ncu: str, work: Path) -> list[str]:
    """The metrics that this ncu knows for this GPU; it refuses to start for any other."""
    asked = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, check=False)
    (work / "metrics.txt").write_text(asked.stdout)
    names = set(re.findall(r"^\s*(\w+__\w+)", asked.stdout, re.M))
    chosen = [m for m in METRICS if m.split(".")[0] in names]
    missing = sorted(set(METRICS) - set(chosen))
    print("metrics this ncu does not know:", ", ".join(missing) or "none", flush=True)
    return chosen if len(chosen) >= len(CORE) else CORE


def smi(what: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def version(tool: str) -> str:
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(?:Version|V)\s?(\d+\.[\d.]+)", said)
    return found[-1] if found else said.strip()[-40:]


# ---------------------------------------------------------------------------- the tables
def compact(work: Path, out: Path | None) -> Path:
    """The exported pages in `work` as a few small files in `out` (default measurements/ncu_…)."""
    about = json.loads((work / "about.json").read_text())
    launched = json.loads((work / "launched.json").read_text())
    slug = re.sub(r"\W+", "_", about["device"].lower())
    out = out or ROOT / "measurements" / f"ncu_{slug}_{about['date']}"
    out.mkdir(parents=True, exist_ok=True)
    write_counters(out, read_raw(work / "raw.csv"), launched)
    write_source(out, read_sass(work / "sass.csv"), launched, work)
    sources = sorted({CASES[row["case"]].path for row in launched})
    with (out / "kernels.ptx").open("w", encoding="utf-8") as all_ptx:
        for source in sources:
            text = cubin(work, source).with_suffix(".ptx").read_text()
            text = re.sub(r'(\.file\s+\d+\s+")[^"]*/', r"\1", text.split("\t.section")[0])
            all_ptx.write(f"// {source.relative_to(ROOT)}\n{text}\n")
    about["method"] = (
        "every case of tests/calibration/cases.py once, under one ncu with --clock-control none "
        "--cache-control all --section SourceCounters; kernels by nvcc -lineinfo"
    )
    about["kernels"] = {
        source.relative_to(ROOT).as_posix(): hashlib.sha256(source.read_text().encode()).hexdigest()
        for source in sources
    }
    (out / "meta.json").write_text(json.dumps(about, indent=1) + "\n")
    return out


def number(text: str) -> float | int | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if value.is_integer() else value


def check_order(names: list[str], launched, what: str) -> None:
    expected = [row["entry"] for row in launched]
    if names != expected:
        same = [a == b for a, b in zip(names, expected, strict=False)]
        bad = (*same, False).index(False)
        sys.exit(
            f"{what} has {len(names)} kernels where {len(expected)} were launched; number {bad} is "
            f"{names[bad : bad + 1]}, expected {expected[bad : bad + 1]}"
        )


def read_raw(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    start = next(k for k, row in enumerate(rows) if row[0] == "ID")
    header = rows[start]
    body = [row for row in rows[start + 1 :] if row[0].isdigit()]
    return [dict(zip(header, row, strict=False)) for row in body]


def write_counters(out: Path, rows: list[dict], launched) -> None:
    check_order([row["Kernel Name"].split("(")[0] for row in rows], launched, "the raw page")
    metrics = [m for m in (*METRICS, *SOURCE_TOTALS) if m in rows[0]]
    with (out / "counters.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", *metrics])
        for row, done in zip(rows, launched, strict=True):
            values = [number(row[m]) for m in metrics]
            table.writerow([done["case"], *("" if v is None else v for v in values)])


def read_sass(path: Path) -> list[tuple[str, list[dict]]]:
    """(kernel, its instructions) of each launch, as the source page prints them."""
    found, header = [], None
    with path.open(newline="") as file:
        for row in csv.reader(file):
            if row and row[0] == "Kernel Name":
                found.append((row[1].split("(")[0], []))
                header = None
            elif found and header is None and "Source" in row:
                header = row
            elif header and len(row) == len(header):
                # of columns that occur twice the first counts
                found[-1][1].append(dict(zip(reversed(header), reversed(row), strict=True)))
    return found


def without_repeats(kernels: list, launched, lines) -> list:
    """The page prints a launch twice when its module has several kernels."""
    kept, at = [], 0
    for row in launched:
        kept += kernels[at : at + 1]
        several = len(lines[CASES[row["case"]].path]) > 1
        at += 1 + (several and kernels[at : at + 1] == kernels[at + 1 : at + 2])
    return kept + kernels[at:]


def write_source(out: Path, kernels, launched, work: Path) -> None:
    lines = {path: line_table(work, path) for path in {CASES[r["case"]].path for r in launched}}
    kernels = without_repeats(kernels, launched, lines)
    check_order([name for name, _ in kernels], launched, "the source page")
    with (out / "source.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", "line", "offset", *COLUMNS.values(), "sass"])
        for (entry, rows), done in zip(kernels, launched, strict=True):
            known = lines[CASES[done["case"]].path][entry]
            for k, row in enumerate(rows):
                sass = re.sub(r"\s+", " ", row["Source"]).strip(" ;")
                values = [number(row.get(column, "")) or 0 for column in COLUMNS]
                if MEMORY.match(sass) and values[0]:
                    table.writerow([done["case"], known.get(16 * k, 0), 16 * k, *values, sass])


def line_table(work: Path, source: Path) -> dict[str, dict[int, int]]:
    """{kernel: {offset: line of the .cu}} from nvdisasm's listing. Code inlined from a header
    counts for the line that called it, as the simulator has it."""
    tables, lines, line, fresh = {}, None, 0, True
    for text in cubin(work, source).with_suffix(".lst").read_text().splitlines():
        if found := re.match(r"\.text\.(\w+):", text):
            lines = tables.setdefault(found[1], {})
        elif found := re.match(r'\s*//## File "([^"]*)", line (\d+)', text):
            if fresh and Path(found[1]).name == source.name:  # the innermost frame of this file
                line, fresh = int(found[2]), False
        elif (found := re.match(r"\s*/\*([0-9a-f]{4,})\*/", text)) and lines is not None:
            lines[int(found[1], 16)] = line
            fresh = True
    return tables


# ---------------------------------------------------------------------------- comparing
def report(picture: Path | None) -> int:
    """Run every measured case whole on the simulator; exit code 1 for an unexplained difference."""
    from helpers import correlation, simt

    measured, pairs = correlation.load(), []
    for case in CASES.values():
        if case.name in measured.counters:
            kernel = simt.RawKernel(case.path.read_text(encoding="utf-8"), case.entry)
            if case.shared:
                kernel.max_dynamic_shared_size_bytes = case.shared
            seen = simt.profile(kernel, case.grid, case.block, case.arguments(), case.shared)
            pairs += measured.pairs(case.name, seen.counters, seen.lines)
    found = correlation.Correlation(tuple(pairs), str(measured))
    print(found)
    if picture:
        correlation.plot(pairs, title=str(measured)).figure.savefig(picture)
    for pair in found.wrong():
        print(
            f"NOT EXPLAINED: {pair.case}: {pair.metric}: {pair.simulated} against {pair.measured}"
        )
    return 1 if found.wrong() else 0


# ---------------------------------------------------------------------------- command line
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="default measurements/ncu_<device>_<date>")
    parser.add_argument("--keep", type=Path, help="keep ncu's report and pages here")
    parser.add_argument("--compact", type=Path, help="make the tables from such a folder")
    parser.add_argument("--report", action="store_true", help="simulate, and compare; no GPU")
    parser.add_argument("--picture", type=Path, help="with --report: where to draw them")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch:
        return launch(options.launch)
    if options.report:
        sys.exit(report(options.picture))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        try:
            if options.compact:
                unpack(options.compact, work)
            else:
                measure(work)
        finally:
            if options.keep:
                pack(work, options.keep)
        print("wrote", compact(work, options.out))


KEPT = {
    "pages.tar.gz": ("*.csv", "*.json", "*.txt", "*.log", "*.lst", "*.ptx"),
    "report.tar.gz": ("*.ncu-rep",),
}


def pack(work: Path, kept: Path) -> None:
    """Everything that the tables are made from, and ncu's own report."""
    kept.mkdir(parents=True, exist_ok=True)
    for name, patterns in KEPT.items():
        with tarfile.open(kept / name, "w:gz") as archive:
            for path in sorted(p for pattern in patterns for p in work.glob(pattern)):
                archive.add(path, path.name)


def unpack(kept: Path, work: Path) -> None:
    with tarfile.open(kept / "pages.tar.gz") as archive:
        archive.extractall(work, filter="data")


if __name__ == "__main__":
    main()
