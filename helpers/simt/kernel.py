"""RawKernel and RawModule with CuPy's signature, over NumPy arrays and the simulated machine."""

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from .. import progress, specs
from . import machine, nvrtc, ptx
from .arguments import check_dimensions, convert
from .decode import Program, decode
from .errors import NAMELESS, LaunchError
from .memory import GlobalMemory
from .source import parameters

__all__ = ["Limits", "RawKernel", "RawModule", "current_spec", "from_ptx", "launch", "limits"]

DEFAULT_SPEC = "h200"


@dataclass(frozen=True)
class Limits:
    """How launches run: `budget` (instructions a chunk of blocks may execute, None: by the size
    of the arrays), `schedule` ("lowest", "highest" or a seed), `observers` added to each launch."""

    budget: int | None = None
    schedule: object = "lowest"
    observers: tuple = ()


LIMITS: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 (frozen)
BUDGET = 1_000_000  # instructions, and for every element of the largest array:
BUDGET_AN_ELEMENT = 100


@contextmanager
def limits(**changes):
    """`with limits(budget=…, schedule=…, observers=…):` for the launches inside."""
    token = LIMITS.set(replace(LIMITS.get(), **changes))
    try:
        yield
    finally:
        LIMITS.reset(token)


def current_spec() -> specs.Spec:
    """The simulated device: `SOFTMAX_SIM_SPEC` names a data sheet, an H200 otherwise."""
    return specs.get(os.environ.get("SOFTMAX_SIM_SPEC") or DEFAULT_SPEC)


@lru_cache(maxsize=64)
def _module(code: str, options: tuple, arch: int) -> ptx.Module:
    return ptx.parse(nvrtc.compile_ptx(code, options, arch=arch, file=NAMELESS))


@lru_cache(maxsize=256)
def _program(code: str, options: tuple, arch: int, name: str) -> Program:
    return decode(_module(code, options, arch), name)


class RawKernel:
    """A kernel of CUDA C++ source; compiled when it is first needed, as CuPy's is.

    Call it as `kernel(grid, block, args, shared_mem=0)`. Arrays are NumPy's, C-contiguous, of the
    parameters' types. Raises CompileError, LaunchError before anything runs, and Defect at the
    first mistake of the kernel.
    """

    def __init__(self, code, name, options=(), backend="nvrtc", **others):
        self.code, self.name, self.options = code, name, tuple(options)
        self.backend = backend
        self.kernel = SimpleNamespace(ptr=0)
        self._dynamic = None
        del others  # CuPy's translate_cucomplex, jitify, …: nothing to do for them here

    def __repr__(self):
        return f"<RawKernel {self.name} on the simulator>"

    # -- what is known of the kernel
    def _arch(self) -> int:
        major, minor = current_spec().compute_capability
        return 10 * major + minor

    def _parameters(self):
        return parameters(self.code, self.name)

    def _compiled(self) -> Program:
        self._parameters()  # a missing entry is said first, and better, from the source
        return _program(self.code, self.options, self._arch(), self.name)

    def compile(self, log_stream=None) -> None:
        """Compile now rather than at the first launch."""
        self._compiled()

    @property
    def attributes(self) -> dict:
        """CuPy's attributes, as far as PTX tells them (registers are the assembler's business)."""
        program = self._compiled()
        return {
            "max_threads_per_block": program.max_threads or 1024,
            "shared_size_bytes": program.shared,
            "const_size_bytes": 0,
            "local_size_bytes": program.local,
            "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes,
            "preferred_shared_memory_carveout": -1,
            "ptx_version": self._arch(),
            "binary_version": self._arch(),
        }

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory in bytes."""
        return self._compiled().shared

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory a launch may ask for, in bytes; set it to opt in to more than the
        default, up to what the device has."""
        if self._dynamic is None:
            return current_spec().shared_default - self._compiled().shared
        return self._dynamic

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        spec, static = current_spec(), self._compiled().shared
        most = spec.shared_optin - static
        if not 0 <= size <= most:
            raise LaunchError(
                f"{self.name} asks for {size} bytes of dynamic shared memory; on {spec.name} a "
                f"block gets at most {most} ({spec.shared_optin} less {static} static ones)",
                kernel=self.name,
            )
        self._dynamic = int(size)

    # -- launching
    def __call__(
        self, grid, block, args, *, shared_mem=0, stream=None, enable_cooperative_groups=False
    ):
        del stream, enable_cooperative_groups  # one launch after another, each one alone
        launch(self, grid, block, args, shared_mem, limits=LIMITS.get(), defects=None)


class PtxKernel(RawKernel):
    """A kernel given as PTX text: no C++ source, so no names or element types of arguments."""

    def __init__(self, text: str, name: str | None = None):
        self._parsed = ptx.parse(text)
        entries = self._parsed.entries()
        if name is None and len(entries) == 1:
            (name,) = entries
        if name not in entries:
            raise LaunchError(
                f"no kernel called {name!r} in this PTX, which has {', '.join(entries) or 'none'}"
            )
        super().__init__(text, name)
        self._decoded = None

    def _parameters(self):
        return None

    def _compiled(self) -> Program:
        if self._decoded is None:
            self._decoded = decode(self._parsed, self.name)
        return self._decoded


def from_ptx(text: str, name: str | None = None) -> PtxKernel:
    """A kernel from PTX text, say of `nvcc -ptx`. PtxError when it cannot be read."""
    return PtxKernel(text, name)


class RawModule:
    """Several kernels of one source; `get_function(name)` is a RawKernel."""

    def __init__(self, *, code=None, path=None, options=(), backend="nvrtc", **others):
        if code is None:
            raise LaunchError(
                f"the simulator needs CUDA C++ source: RawModule(code=…); path={path!r} names a "
                "compiled file, which only a GPU can run"
            )
        self.code, self.options, self.backend = code, tuple(options), backend
        del others

    def compile(self, log_stream=None) -> None:
        """Compile now rather than at the first use."""
        spec = current_spec()
        _module(
            self.code, self.options, 10 * spec.compute_capability[0] + spec.compute_capability[1]
        )

    def get_function(self, name: str) -> RawKernel:
        """The kernel called `name`; LaunchError lists those there are when it is missing."""
        kernel = RawKernel(self.code, name, self.options, self.backend)
        kernel._parameters()
        return kernel


def launch(kernel, grid, block, args, shared_mem, *, limits: Limits, defects) -> machine.Launch:
    """Check a call and run it. `defects` collects the kernel's mistakes; None raises the first."""
    grid, block = check_dimensions(grid, block, kernel.name)
    wanted = kernel._parameters()
    program = kernel._compiled()
    if wanted is not None:
        args = convert(wanted, args, kernel.name)
    check_resources(kernel, program, block, shared_mem)
    memory, packed = pack(kernel, program, wanted, args)
    budget = limits.budget or BUDGET + BUDGET_AN_ELEMENT * max(
        (s.size // 4 for s in memory.segments), default=0
    )
    blocks = int(np.prod(grid))
    with progress.bar(blocks, f"simulating {kernel.name}, {blocks} blocks") as bar:
        job = machine.Launch(
            program,
            grid,
            block,
            memory,
            packed,
            int(shared_mem),
            limits.observers,
            defects,
            budget,
            limits.schedule,
            tuple(kernel.code.splitlines()) if wanted is not None else (),
            NAMELESS,
            bar.update,
        )
        machine.run(job)
    return job


def check_resources(kernel, program: Program, block, shared_mem) -> None:
    threads = int(np.prod(block))
    if program.max_threads and threads > program.max_threads:
        raise LaunchError(
            f"{kernel.name} is compiled for blocks of at most {program.max_threads} threads "
            f"(__launch_bounds__), got {threads}",
            kernel=kernel.name,
        )
    spec = current_spec()
    if program.shared > spec.shared_default:
        raise LaunchError(
            f"{kernel.name} declares {program.shared} bytes of static shared memory; a block has "
            f"at most {spec.shared_default}. Declare it `extern __shared__` and pass its size as "
            "shared_mem",
            kernel=kernel.name,
        )
    if not 0 <= shared_mem <= (most := kernel.max_dynamic_shared_size_bytes):
        raise LaunchError(
            f"{kernel.name} is launched with {shared_mem} bytes of dynamic shared memory; it may "
            f"have {most}. Set kernel.max_dynamic_shared_size_bytes first: {spec.name} allows "
            f"{spec.shared_optin - program.shared}",
            kernel=kernel.name,
        )


def pack(kernel, program: Program, wanted, args) -> tuple[GlobalMemory, bytes]:
    """Arrays get addresses, and all arguments their place in the parameter block."""
    slots = program.parameters
    if len(args) != len(slots):
        raise LaunchError(
            f"{kernel.name} takes {len(slots)} arguments, got {len(args)}", kernel=kernel.name
        )
    memory = GlobalMemory()
    block = bytearray(max((p.offset + p.size for p in slots), default=0))
    for k, (slot, value) in enumerate(zip(slots, args, strict=True)):
        name = wanted[k].name if wanted is not None else f"argument {k + 1}"
        if isinstance(value, np.ndarray) and value.ndim >= 0 and not isinstance(value, np.generic):
            data = memory.add(value, name).to_bytes(8, "little")
        else:
            data = scalar_bytes(value, slot)
        if len(data) != slot.size:
            raise LaunchError(
                f"argument {k + 1} of {kernel.name}, `{name}`: expected {slot.size} bytes, got "
                f"{len(data)} ({type(value).__name__})",
                kernel=kernel.name,
            )
        block[slot.offset : slot.offset + slot.size] = data
    return memory, bytes(block)


def scalar_bytes(value, slot) -> bytes:
    """A number in the parameter's own PTX type, or the bytes of a NumPy scalar as they are."""
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, int):
        return (value % (1 << 8 * slot.size)).to_bytes(slot.size, "little")
    if isinstance(value, float) and slot.size in (4, 8):
        return np.array(value, f"f{slot.size}").tobytes()
    raise LaunchError(f"cannot pass a {type(value).__name__} to a kernel: {value!r:.60}")
