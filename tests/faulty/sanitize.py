"""Runs the faulty and the correct kernels under compute-sanitizer, and records what it finds.

    python3 tests/faulty/sanitize.py [--out FOLDER] [--jobs 14]

Needs a GPU, CuPy and compute-sanitizer. Each kernel runs once under each of memcheck, racecheck,
synccheck and initcheck, in a process of its own, since a fault ends the context of its process.
Writes FOLDER/<device>_<date>.json (FOLDER: measurements/sanitizer/): device, driver, date, method,
versions, and for each kernel the hash of its source and, for each tool, the findings.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from corpus import HERE, Case, cases

__all__ = ["TOOLS", "main"]

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SECONDS = 60  # for one kernel under one tool: most take five
NOISE = ("COMPUTE-", "Program hit", "Target application returned")
SKIPPED = ("hangs", "does not compile", "does not launch")


def launch(path: str) -> None:
    """Compile and launch one kernel on the GPU, and wait for it (the child's part)."""
    import cupy

    (found,) = [c for folder in ("faulty", "correct") for c in cases(folder) if str(c.path) == path]
    cupy.cuda.set_allocator(None)  # each array its own allocation, so that its ends are known
    toolkit = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").resolve().parent.parent
    options = ("-lineinfo", "-default-device", "--std=c++17")
    options += tuple(f"-I{d}" for d in (toolkit / "include", toolkit / "include/cccl"))
    kernel = cupy.RawKernel(
        found.source, "kernel", options=options, enable_cooperative_groups=found.cooperative
    )
    args = found.arguments()
    args = tuple(cupy.asarray(a) if getattr(a, "ndim", 0) else a for a in args)
    if found.shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = found.shared
    kernel(found.grid, found.block, args, shared_mem=found.shared)
    cupy.cuda.runtime.deviceSynchronize()
    print("launched")


def run(sanitizer: str, case: Case, tool: str, more: list[str]) -> dict:
    """One kernel under one tool: {status, findings}."""
    command = [sanitizer, "--tool", tool, "--print-level", "info", "--print-limit", "1000", *more]
    command += ["--show-backtrace", "no", sys.executable, __file__, "--launch", str(case.path)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        said = child.communicate(timeout=SECONDS)[0]
        status = "ok" if "launched" in said else f"exit {child.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        said, status = child.communicate()[0], "timeout"
    result = {"status": status, "findings": findings(said)}
    if not result["findings"] and status != "ok":
        result["said"] = said.strip().splitlines()[-3:]
    return result


def findings(said: str) -> list[dict]:
    """The tool's reports in its own words, one each for equal ones: message, lines, count."""
    report = [line[9:].strip() for line in said.splitlines() if line.startswith("=========")]
    blocks, found = "\n".join(report).split("\n\n"), {}
    for block in blocks:
        block = re.sub(r"^COMPUTE-SANITIZER\n", "", block.strip())
        first, _, rest = block.partition("\n")
        if not first or "SUMMARY" in first or first.startswith(NOISE):
            continue
        message = re.sub(r" at .*", "", first)
        lines = sorted({int(n) for n in re.findall(r"\.cu[^:\s]*:(\d+)", block)})
        lines = lines or sorted({int(n) for n in re.findall(r" in \S+:(\d+)", block)})
        entry = found.setdefault((message, *lines), {"message": message, "lines": lines})
        entry["count"] = entry.get("count", 0) + 1
        entry.setdefault("first", " ".join([first, *rest.splitlines()[:4]]))
    return list(found.values())


def described(sanitizer: str) -> dict:
    """Device, driver and versions of this machine."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.check_output(query, text=True).splitlines()[0].split(", ")
    version = subprocess.check_output([sanitizer, "--version"], text=True)
    return {
        "device": device,
        "driver": driver,
        "date": datetime.date.today().isoformat(),
        "method": "each kernel once under each tool of compute-sanitizer, compiled by NVRTC "
        "through CuPy with -lineinfo, every array an allocation of its own",
        "sanitizer": re.search(r"[Vv]ersion\s+(\S+)", version)[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE.parent / "measurements" / "sanitizer")
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--only", default="", help="kernels whose names contain this")
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.launch:
        launch(asked.launch)
        return
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    usage = subprocess.run([sanitizer, "--help"], capture_output=True, text=True).stdout
    wide = ["--initcheck-address-space", "all"] if "initcheck-address-space" in usage else []
    chosen = [c for folder in ("faulty", "correct") for c in cases(folder)]
    chosen = [c for c in chosen if asked.only in c.name]
    record = described(sanitizer) | {"options": " ".join(wide), "kernels": {}}
    with ThreadPoolExecutor(asked.jobs) as pool:
        jobs = {
            (c, tool): pool.submit(run, sanitizer, c, tool, wide if tool == "initcheck" else [])
            for c in chosen
            if not c.gpu.startswith(SKIPPED)
            for tool in TOOLS
        }
        for c in chosen:
            entry = {"source": hashlib.sha256(c.source.encode()).hexdigest()[:16]}
            for tool in TOOLS:
                job = jobs.get((c, tool))
                entry[tool] = job.result() if job else {"status": "not run", "findings": []}
            record["kernels"][c.name] = entry
            said = {t: [f["message"] for f in entry[t]["findings"]][:2] for t in TOOLS}
            print(c.name, [entry[t]["status"] for t in TOOLS], said, flush=True)
    name = re.sub(r"\W+", "_", record["device"].removeprefix("NVIDIA ")).lower()
    path = asked.out / f"{name}_{record['date']}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
