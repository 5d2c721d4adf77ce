"""What a figure needs beside it to be judged or repeated: device, driver, date, libraries."""

from __future__ import annotations

import datetime
import re
import subprocess
from pathlib import Path

import numpy as np

from . import device

__all__ = ["clocks", "driver", "libraries", "where"]


def where() -> dict[str, str | None]:
    """Device, driver and date, gathered once a run."""
    return {"device": device.name(), "driver": driver(), "date": f"{datetime.date.today()}"}


def driver() -> str | None:
    """The driver's own number, as 580.159.04; None where neither /proc nor nvidia-smi tells."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        text = _nvidia_smi("driver_version")
    found = re.search(r"\b\d{3,}\.\d+(?:\.\d+)?\b", text)
    return found.group() if found else None


def clocks() -> str:
    """Clocks and temperature as they are now; empty where nvidia-smi does not tell."""
    values = [value.strip() for value in
              _nvidia_smi("clocks.sm,clocks.mem,temperature.gpu").partition("\n")[0].split(",")]
    if len(values) != 3:
        return ""
    return f"SM clock {values[0]}, memory clock {values[1]}, {values[2]} °C"


def _nvidia_smi(query: str) -> str:
    """nvidia-smi's answer, one line a GPU; empty without the program: it is no part of CuPy."""
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def libraries() -> dict[str, str]:
    """Name -> version of what every figure rests on."""
    cp = device.cp
    return {
        "cupy": cp.__version__,
        "numpy": np.__version__,
        "CUDA runtime": _cuda(cp.cuda.runtime.runtimeGetVersion()),
        "CUDA of the driver": _cuda(cp.cuda.runtime.driverGetVersion()),
    }


def _cuda(number: int) -> str:
    """CUDA's 13050 as 13.5."""
    return f"{number // 1000}.{number % 1000 // 10}"
