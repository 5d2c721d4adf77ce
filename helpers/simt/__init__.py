"""A SIMT simulator of NVRTC's PTX in NumPy: a kernel's numbers, its hardware counters and its
mistakes, on a machine without a GPU. It knows nothing of softmax, and never tells a time."""

from .difference import Difference, diff
from .errors import (
    BudgetExceeded,
    CompileError,
    Defect,
    LaunchError,
    PtxError,
    SimulatorError,
    UnsupportedInstruction,
)
from .kernel import RawKernel, RawModule, current_spec, from_ptx, limits
from .profile import Profile, profile
from .trace import Trace, trace

__all__ = [
    "BudgetExceeded",
    "CompileError",
    "Defect",
    "Difference",
    "LaunchError",
    "Profile",
    "PtxError",
    "RawKernel",
    "RawModule",
    "SimulatorError",
    "Trace",
    "UnsupportedInstruction",
    "current_spec",
    "diff",
    "from_ptx",
    "limits",
    "profile",
    "trace",
]
