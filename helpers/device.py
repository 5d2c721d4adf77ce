"""Which machine this is: `cp`, CuPy on a GPU and the simulator's stand-in elsewhere; `doctor()`.

    from helpers.device import cp

SOFTMAX_DEVICE=gpu or =sim decides; without it a GPU that answers is used, else the simulator.
Asking for a GPU that is not there is a DeviceError with cause and cure, never a silent fall-back.
"""

import dataclasses
import html
import os
import platform
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from . import specs

__all__ = [
    "Check",
    "DeviceError",
    "Report",
    "cp",  # noqa: F822 - by __getattr__: it may have to load CuPy
    "doctor",
    "driver",
    "name",
    "on_gpu",
    "select",
    "simulated_spec",
    "spec",
]

CHOICES = ("gpu", "sim")
REINSTALL = "python3 start.py venv"
ROOT = Path(__file__).resolve().parent.parent
LEFT = 'style="text-align: left"'  # JupyterLab puts the cells of a table on the right
PROBE = """extern "C" __global__ void probe(float* x) { x[threadIdx.x] += 1.0f; }"""


class DeviceError(RuntimeError):
    """The device asked for is not there; the message says why and what to do."""


def __getattr__(attribute):
    if attribute == "cp":
        return _module(on_gpu())
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


def on_gpu() -> bool:
    """True when kernels run on a GPU. Raises DeviceError when SOFTMAX_DEVICE asks in vain."""
    return _resolve(os.environ.get("SOFTMAX_DEVICE", "")) == "gpu"


def select(which: str) -> None:
    """Use "gpu" or "sim" from here on, as if SOFTMAX_DEVICE were set to it.

    A `cp` that was imported before stays what it is. Raises DeviceError; then nothing changes.
    """
    _resolve(which)
    os.environ["SOFTMAX_DEVICE"] = which


def name() -> str:
    """The device as figures cite it: "NVIDIA H200" or "simulator (H200 specification)"."""
    if on_gpu():
        return _properties()["name"].decode()
    return f"simulator ({simulated_spec().name} specification)"


def spec() -> specs.Spec:
    """What the active device offers a kernel.

    On a GPU sizes are what its driver reports; bandwidth and arithmetic rate are the data sheet's.
    For a card that `specs` does not know the bandwidth is that of memory clock and bus width and
    the rate NaN. Elsewhere the simulated card.
    """
    return _gpu_spec(_properties(), _memory_peak()) if on_gpu() else simulated_spec()


def simulated_spec() -> specs.Spec:
    """The card the simulator plays. Raises DeviceError when SOFTMAX_SIM_SPEC names none."""
    from .simt import current_spec

    try:
        return current_spec()
    except ValueError as error:
        raise DeviceError(f"SOFTMAX_SIM_SPEC: {error}") from None


def driver() -> str | None:
    """The newest CUDA version the GPU's driver supports ("13.0"), None without a driver."""
    try:
        import cupy

        return _cuda_version(cupy.cuda.runtime.driverGetVersion())
    except Exception:  # no CuPy, or one that cannot load
        return None


@cache
def _resolve(wanted: str) -> str:
    wanted = wanted.strip().lower()
    if wanted not in ("", *CHOICES):
        raise DeviceError(f"device {wanted!r}: choose gpu or sim (SOFTMAX_DEVICE or --device)")
    if wanted == "sim":
        return "sim"
    problem = gpu_problem()
    if problem and wanted == "gpu":
        raise DeviceError(
            f"a GPU was asked for, but there is none to use: {problem}. "
            "Or let the kernels run on the simulator: SOFTMAX_DEVICE=sim or --device sim"
        )
    return "sim" if problem else "gpu"


@cache
def _module(gpu: bool):
    if gpu:
        import cupy

        from .checked import checked

        return checked(cupy)
    from . import standin

    return standin


def gpu_problem(ask: bool = True) -> str | None:
    """Why no GPU can be used, with the cure; None when one answers.

    ask: False only counts the GPUs, and takes no memory of any.
    """
    try:
        import cupy
    except ModuleNotFoundError:
        return (
            "CuPy is not installed. On a machine with an NVIDIA driver, "
            f"{REINSTALL} installs the right one"
        )
    except Exception as error:  # a CuPy of another CUDA version can fail in many ways
        return f"CuPy does not load ({first_line(error)}). Install it anew: {REINSTALL}"
    try:
        runtime = cupy.cuda.runtime
        has, needs = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    except Exception as error:
        return f"CuPy's CUDA does not load ({first_line(error)}). Install it anew: {REINSTALL}"
    if has == 0:
        return "there is no NVIDIA driver (does nvidia-smi list a GPU?). Install NVIDIA's driver"
    try:
        count = runtime.getDeviceCount()
        if count and ask:
            cupy.cuda.Device().synchronize()  # a device that is listed may still not answer
    except Exception as error:
        if has // 1000 < needs // 1000:
            return (
                f"the NVIDIA driver is too old: it supports CUDA {_cuda_version(has)}, this CuPy "
                f"needs {_cuda_version(needs)}. Update the driver, or install the CuPy for CUDA "
                f"{has // 1000}: {REINSTALL}"
            )
        return f"the GPU does not answer ({first_line(error)}). See what nvidia-smi says"
    if count == 0:
        return "the driver sees 0 devices. Check CUDA_VISIBLE_DEVICES and nvidia-smi"
    return None


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _cuda_version(number):
    """CUDA's 13050 as "13.5"; None for the 0 that means no driver."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def _properties():
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)


def _memory_peak():
    """Bytes/s that memory clock (kHz) and bus width (bits) allow; NaN where they are not told."""
    import cupy

    told = cupy.cuda.Device().attributes
    peak = 2 * 1e3 * told.get("MemoryClockRate", 0) * told.get("GlobalMemoryBusWidth", 0) / 8
    return peak or float("nan")


def _gpu_spec(properties, peak) -> specs.Spec:
    full_name = properties["name"].decode()
    sheet = _data_sheet(full_name, peak)
    return specs.Spec(
        name=sheet.name if sheet else full_name,
        compute_capability=(properties["major"], properties["minor"]),
        bandwidth=sheet.bandwidth if sheet else peak,
        sms=properties["multiProcessorCount"],
        l2=properties["l2CacheSize"],
        shared_per_sm=properties["sharedMemPerMultiprocessor"],
        shared_default=properties["sharedMemPerBlock"],
        shared_optin=properties["sharedMemPerBlockOptin"],
        threads_per_sm=properties["maxThreadsPerMultiProcessor"],
        registers_per_sm=properties["regsPerMultiprocessor"],
        fp32_flops=sheet.fp32_flops if sheet else float("nan"),
        source="the driver's device properties" + (f"; {sheet.source}" if sheet else ""),
    )


def _data_sheet(full_name, peak):
    """The data sheet of a card of this name and memory: cards of one name differ in their memory
    (an A100 has 40 or 80 GB), and the sheet of another one would set a wrong roof."""
    named = [s for s in specs.SPECS.values() if re.search(rf"\b{re.escape(s.name)}\b", full_name)]
    return next((s for s in named if not abs(s.bandwidth / peak - 1) > 0.1), None)


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report; `cure` is None where `ok`."""

    name: str
    ok: bool
    found: str
    cure: str | None = None


@dataclass(frozen=True)
class Report:
    """What the doctor found; prints as a table, in notebooks as an HTML one."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """True when every check passed."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict:
        """{"ok": bool, "checks": [{"name", "ok", "found", "cure"}, …]}"""
        return {"ok": self.ok, "checks": [dataclasses.asdict(check) for check in self.checks]}

    def __str__(self):
        width = max(len(check.name) for check in self.checks)
        lines = []
        for check in self.checks:
            lines.append(f"{'ok ' if check.ok else 'NOT'}  {check.name:{width}}  {check.found}")
            if check.cure:
                lines.append(f"     {'':{width}}  cure: {check.cure}")
        return "\n".join([*lines, "", self._verdict()])

    def _verdict(self):
        wrong = [check.name for check in self.checks if not check.ok]
        return f"to mend: {', '.join(wrong)}" if wrong else "all is well"

    def _repr_html_(self):
        cells = (
            (check.name, "ok" if check.ok else "not ok", check.found, check.cure or "")
            for check in self.checks
        )
        rows = "".join(
            "<tr>" + "".join(f"<td {LEFT}>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in cells
        )
        names = ("what", "state", "found", "cure")
        head = "<tr>" + "".join(f"<th {LEFT}>{name}</th>" for name in names) + "</tr>"
        return f"<table>{head}{rows}</table><p>{html.escape(self._verdict())}</p>"


def doctor() -> Report:
    """Examine this machine: what runs the kernels here, and what is missing, with the cure.

    Never raises; a small kernel really runs on the simulator and, where there is one, on the GPU.
    """
    checks = [_check_python(), _check_packages(), _check_nvrtc(), _check_simulator()]
    checks += [_check_driver(), _check_cupy(), _check_device()]
    return Report((*checks, _check_kernel("gpu", _module(True))) if _has_gpu() else tuple(checks))


def _check_python():
    found = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    return Check("python", True, found)  # an older one cannot even import this module


def _check_packages():
    """The dependencies that pyproject.toml asks for on this platform, with their versions."""
    try:
        from packaging.requirements import Requirement  # comes with JupyterLab
    except ModuleNotFoundError:
        return Check("packages", False, "JupyterLab and what it needs are missing", REINSTALL)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, wrong = [], []
    for wanted in map(Requirement, project["dependencies"]):
        if wanted.marker and not wanted.marker.evaluate():
            continue
        try:
            version = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            version = None
        fits = version and wanted.specifier.contains(version, prereleases=True)
        (found if fits else wrong).append(f"{wanted.name} {version or 'missing'}")
    if wrong:
        return Check("packages", False, f"not as needed: {', '.join(wrong)}", REINSTALL)
    return Check("packages", True, ", ".join(found))


def _check_nvrtc():
    from .simt import nvrtc

    if found := nvrtc.version():
        return Check("nvrtc", True, ".".join(map(str, found)))
    without = "the project's own kernels run from shipped PTX, others cannot be compiled"
    if sys.platform == "darwin":
        return Check("nvrtc", True, f"NVIDIA has none for macOS: {without}")
    return Check("nvrtc", False, f"not installed: {without}", REINSTALL)


def _check_simulator():
    try:
        return _check_kernel("simulator", _module(False), f", as {simulated_spec().name}")
    except DeviceError as error:
        return Check("simulator", False, str(error), "SOFTMAX_SIM_SPEC=h200, or leave it unset")


def _check_kernel(what, cp, how=""):
    """One kernel compiled and run by `cp`, whose result is known."""
    x = cp.arange(32, dtype=cp.float32)
    try:
        cp.RawKernel(PROBE, "probe")((1,), (32,), (x,))
        right = x.get().tolist() == [i + 1.0 for i in range(32)]
    except Exception as error:  # whatever it is, it belongs into the report
        return Check(what, False, f"a small kernel does not run: {error}", REINSTALL)
    if right:
        return Check(what, True, f"a small kernel runs{how}")
    return Check(what, False, f"a small kernel gives wrong numbers: {x}", REINSTALL)


def _check_driver():
    found = driver()
    return Check("driver", True, f"CUDA {found}" if found else "none found; only a GPU needs one")


def _check_cupy():
    try:
        import cupy
    except ModuleNotFoundError:
        return Check("cupy", True, "not installed; only a GPU needs it")
    except Exception as error:
        return Check("cupy", False, f"does not load: {first_line(error)}", REINSTALL)
    return Check("cupy", True, cupy.__version__)


def _check_device():
    try:
        found = name()
        if not on_gpu() and not os.environ.get("SOFTMAX_DEVICE"):
            found += f"; no GPU: {gpu_problem()}"
        return Check("device", True, found)
    except DeviceError as error:
        return Check("device", False, str(error), "SOFTMAX_DEVICE=sim, or leave it unset")


def _has_gpu():
    try:
        return on_gpu()
    except DeviceError:
        return False  # said under "device"
