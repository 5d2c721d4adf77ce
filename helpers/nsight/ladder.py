"""One command measures the ladder under Nsight Compute and keeps the counters.

Every launch is of a version of the catalogue, at its own block size, and its result is checked: the
counters of a kernel that computes something else would be worth nothing.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path

from .. import device, files, launch, versions
from ..provenance import where
from .export import ExportError, read

__all__ = ["METRICS", "SIZES", "NsightError", "find", "run"]

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = tuple((4096, cols) for cols in (1024, 4096, 16384, 65536, 262144))
SERIAL_COLS = 16384  # one thread a row: longer rows take many milliseconds, in each of many passes
METRICS = """
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
lts__t_sectors_srcunit_tex_op_read.sum lts__t_sectors_srcunit_tex_op_write.sum
lts__t_sectors_srcunit_tex_lookup_hit.sum lts__t_sectors_srcunit_tex_lookup_miss.sum
dram__bytes_read.sum dram__bytes_write.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
smsp__inst_executed.sum smsp__inst_executed_pipe_xu.sum
smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
sm__ctas_launched.sum smsp__warps_launched.sum
sm__warps_active.avg.pct_of_peak_sustained_active
smsp__issue_active.avg.pct_of_peak_sustained_active
dram__throughput.avg.pct_of_peak_sustained_elapsed
lts__throughput.avg.pct_of_peak_sustained_elapsed
sm__throughput.avg.pct_of_peak_sustained_elapsed
smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio
smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
smsp__average_warps_issue_stalled_wait_per_issue_active.ratio
smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio
smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio
launch__registers_per_thread launch__shared_mem_per_block_static
launch__shared_mem_per_block_dynamic launch__occupancy_limit_blocks
launch__occupancy_limit_registers launch__occupancy_limit_shared_mem launch__occupancy_limit_warps
gpu__time_duration.sum
""".split()
# Clocks stay as they are (changing them needs rights and disturbs others); caches are emptied
# before every pass, so that a launch meets memory as a timed one does.
OPTIONS = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
           "--cache-control", "all", "--kernel-name-base", "function")  # fmt: skip
METHOD = (
    f"every launch once under ncu {' '.join(OPTIONS[5:9])}, its passes replayed by ncu with "
    "emptied caches; standard-normal input, some rows of each result compared with the reference. "
    "gpu__time_duration.sum is the duration under the profiler, in ns, and no benchmark time."
)
FORBIDDEN = "ERR_NVGPUCTRPERM"
PERMISSION = (
    f"the driver keeps the GPU's counters for administrators ({FORBIDDEN}). Run the command as "
    "root (sudo), or open them to everybody: write `options nvidia "
    "NVreg_RestrictProfilingToAdminUsers=0` to /etc/modprobe.d/nsight.conf and restart; on "
    "Windows in NVIDIA's control panel, Developer, Manage GPU Performance Counters"
)


class NsightError(RuntimeError):
    """Nsight Compute cannot run here, or did not; the message says why and what to do."""


def run(
    names: Iterable[str] | None = None,
    sizes: Sequence[tuple[int, int]] = SIZES,
    out: Path | str | None = None,
) -> Path:
    """Measure versions (all of the catalogue when None) at (rows, cols) sizes; the CSV it wrote.

    Beside it lies a JSON file with device, driver, date, method, kernel hashes, and what was left
    out, with the reason. out is a folder, by default measurements/nsight. Takes minutes. Raises
    NsightError without GPU or ncu, or where the driver forbids counters; ValueError for a version
    that is not in the catalogue.
    """
    picked = [versions.get(name) for name in names or versions.VERSIONS]
    if not device.on_gpu():
        raise NsightError(
            f"no GPU to profile: the active device is the {device.name()}. Recorded counters: "
            'print(helpers.recorded.ncu("v1"))'
        )
    ncu = find()
    wanted, left_out = plan(picked, sizes)
    folder = Path(out) if out else ROOT / "measurements" / "nsight"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        log, launched = Path(work, "ncu.csv"), Path(work, "launched.json")
        metrics = known(ncu)
        entries = "|".join(dict.fromkeys(version.entry for version in picked))
        target = [sys.executable, "-m", "helpers.nsight.drive", str(launched)]
        target += [f"{name}:{rows}x{cols}" for name, rows, cols in wanted]
        command = [ncu, *OPTIONS, "--kernel-name", f"regex:^({entries})$", "--metrics",
                   ",".join(metrics), "--log-file", str(log), *target]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, check=False)
        rows, wrong = collect(log, launched, done.returncode)
    left_out |= wrong
    for name, height, width in wanted[len(rows) + len(wrong) :]:
        left_out[f"{name} at {height}×{width}"] = "not reached; the run said why"
    return write(folder, rows, metrics, about(ncu, picked, left_out))


def find() -> str:
    """The ncu of this machine. NsightError when there is none."""
    places = [shutil.which("ncu"), "/usr/local/cuda/bin/ncu", "/opt/cuda/bin/ncu"]
    for pattern in (
        "/opt/nvidia/nsight-compute/*/ncu",
        "C:/Program Files/NVIDIA Corporation/Nsight Compute*/ncu.bat",
    ):
        places += sorted(glob(pattern), reverse=True)  # the newest first
    for place in places:
        if place and Path(place).exists():
            return place
    raise NsightError(
        "ncu, Nsight Compute's command, was not found. It comes with the CUDA toolkit, or alone "
        "from developer.nvidia.com/nsight-compute; put it on the PATH. Recorded counters need "
        "neither: helpers.recorded.ncu"
    )


def plan(picked, sizes) -> tuple[list[tuple[str, int, int]], dict[str, str]]:
    """What to launch, small sizes first, and what not, with the reason."""
    wanted, left_out = [], {}
    for rows, cols in sizes:
        for version in picked:
            reason = refusal(version, rows, cols)
            if reason:
                left_out[f"{version.name} at {rows}×{cols}"] = reason
            else:
                wanted.append((version.name, rows, cols))
    if not wanted:
        raise NsightError(f"nothing to measure: {'; '.join(left_out.values())}")
    return wanted, left_out


def refusal(version, rows: int, cols: int) -> str | None:
    """Why a version is not measured at a size; None when it is."""
    if version.work == "thread a row" and cols > SERIAL_COLS:
        return f"one thread a row: too slow beyond {SERIAL_COLS} columns"
    try:
        launch.config(version, rows, cols)
    except launch.LaunchError as error:
        return str(error)
    return None


def known(ncu: str) -> list[str]:
    """The metrics that this ncu has for this GPU: it refuses to start for any other."""
    asked = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, check=False)
    names = set(re.findall(r"^\s*(\w+__\w+)", asked.stdout, re.M))
    if not names:  # it cannot tell; the run itself will say why
        return METRICS
    # those of the launch are not in that list, and exist everywhere
    return [m for m in METRICS if m.startswith("launch__") or m.split(".")[0] in names]


def collect(log: Path, launched: Path, code: int) -> tuple[list[dict], dict[str, str]]:
    """A row a right launch (version, rows, cols, counters), and what was wrong with the others.
    NsightError when no launch was measured."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if FORBIDDEN in text:
        raise NsightError(PERMISSION)
    done = json.loads(launched.read_text()) if launched.exists() else []
    try:
        reports = read(log)
    except (ExportError, FileNotFoundError):
        said = [line for line in text.splitlines() if line.startswith("==ERROR==")] or [text[-400:]]
        raise NsightError(
            f"ncu ended with code {code} and measured nothing. It said: {' '.join(said[-4:])}"
        ) from None
    rows, wrong = [], {}
    for report, (name, height, width, problem) in zip(reports, done, strict=False):
        if report.kernel != versions.get(name).entry:
            raise NsightError(f"ncu measured {report.kernel} where {name} was launched")
        if problem:
            wrong[f"{name} at {height}×{width}"] = problem
        else:
            rows.append({"version": name, "rows": height, "cols": width, **report.counters})
    if not rows:
        raise NsightError(f"ncu ended with code {code}, and no launch came out right; see above")
    return rows, wrong


def about(ncu: str, picked, left_out: dict[str, str]) -> dict:
    said = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"[Vv]ersion\s+(\d+\.[\d.]+)", said)
    return {
        **where(),
        "ncu": found[-1] if found else said.strip()[-40:],
        "method": METHOD,
        "kernels": {version.name: version.source_hash for version in picked},
        "left_out": left_out,
    }


def write(folder: Path, rows: list[dict], metrics: Sequence[str], facts: dict) -> Path:
    """<device>_<date>.csv, a row a launch, and the JSON beside it."""
    slug = re.sub(r"\W+", "_", facts["device"].lower()).strip("_")
    path = folder / f"{slug}_{facts['date']}.csv"
    columns = ["version", "rows", "cols", *(m for m in metrics if any(m in row for row in rows))]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    files.write(path, text.getvalue())
    files.write(path.with_suffix(".json"), json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return path
