"""RawKernel and RawModule with CuPy's signature, over NumPy arrays and the simulated machine."""

import os
import sys
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
from .memory import ADDRESSES, GlobalMemory
from .observers.barriers import Barriers
from .observers.initialised import Initialised
from .observers.races import Races
from .source import parameters
from .variables import addresses, used_globals

__all__ = ["Limits", "RawKernel", "RawModule", "current_spec", "from_ptx", "launch", "limits"]

DEFAULT_SPEC = "h200"


@dataclass(frozen=True)
class Limits:
    """How launches run: `budget` (instructions a chunk of blocks may execute, None: by the size
    of the arrays), `schedule` ("lowest", "highest" or a seed), `observers` added to each launch.

    The counters that lessons quote and that agree with hardware are those of "lowest". Under
    another schedule, warps whose lanes have parted meet again later and make more requests; what
    kernels compute stays the same, and that is what other schedules are there to try.

    `races` says whether to look for data races and for values that nobody wrote, which takes up to
    three times as long; None: in launches of at most 262144 threads on 16 MiB. Bounds, alignment,
    barriers and shuffles are always checked."""

    budget: int | None = None
    schedule: object = "lowest"
    observers: tuple = ()
    races: bool | None = None

    def checkers(self, grid, block, memory: GlobalMemory) -> tuple:
        """Fresh observers that find the mistakes of a launch."""
        races = self.races
        if races is None:
            threads = int(np.prod(grid)) * int(np.prod(block))
            races = threads <= SMALL and sum(s.size for s in memory.segments) <= SMALL_BYTES
        return (Barriers(), Races(), Initialised()) if races else (Barriers(),)


LIMITS: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 (frozen)
SMALL, SMALL_BYTES = 1 << 18, 1 << 24  # threads, and bytes of all arrays
MOST_LOCAL = 512 * 1024  # bytes a thread: CUDA C++ Programming Guide, technical specifications
BUDGET = 200_000  # instructions, and for every element of the largest array:
BUDGET_AN_ELEMENT = 100
BUDGET_A_TURN = 200  # of each lane, where they go one by one


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
    first mistake of the kernel. With `enable_cooperative_groups` the blocks may meet at a barrier
    of the grid, and must all fit on the device at once.
    """

    def __init__(
        self, code, name, options=(), backend="nvrtc", *, enable_cooperative_groups=False, **others
    ):
        self.code, self.name, self.options = code, name, tuple(options)
        self.backend, self.enable_cooperative_groups = backend, enable_cooperative_groups
        self.kernel = SimpleNamespace(ptr=0)
        self._dynamic = None
        self._variables = {}  # __device__ and __constant__ ones: name -> bytes
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
            "const_size_bytes": sum(len(v.initial) for v in program.globals if v.constant),
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
    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        del stream  # one launch after another, each one alone
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

    def __init__(
        self,
        *,
        code=None,
        path=None,
        options=(),
        backend="nvrtc",
        enable_cooperative_groups=False,
        name_expressions=None,
        **others,
    ):
        if name_expressions:
            raise LaunchError(
                f"RawModule(name_expressions={list(name_expressions)!r}): the simulator does not "
                'instantiate templates by name. Give each instance a kernel of its own, extern "C" '
                "__global__, that calls the template as a __device__ function"
            )
        if code is None:
            raise LaunchError(
                f"the simulator needs CUDA C++ source: RawModule(code=…); path={path!r} names a "
                "compiled file, which only a GPU can run"
            )
        self.code, self.options, self.backend = code, tuple(options), backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self._variables = {}
        del others

    def compile(self, log_stream=None) -> None:
        """Compile now rather than at the first use."""
        self._parsed()

    def _parsed(self) -> ptx.Module:
        major, minor = current_spec().compute_capability
        return _module(self.code, self.options, 10 * major + minor)

    def get_function(self, name: str) -> RawKernel:
        """The kernel called `name`; LaunchError lists those there are when it is missing."""
        kernel = RawKernel(self.code, name, self.options, self.backend)
        kernel._parameters()
        kernel.enable_cooperative_groups = self.enable_cooperative_groups
        kernel._variables = self._variables
        return kernel

    def get_global(self, name: str) -> np.ndarray:
        """The bytes of a __device__ or __constant__ variable: read and write them, or see them as
        an array with `ndarray(shape, dtype, module.get_global(name))`."""
        module = self._parsed()
        places = addresses(module)
        if name not in places:
            named = [n for n in places if not n.startswith(("$", "_Z"))]
            raise LaunchError(
                f"no variable called {name!r} in this source, which has "
                f"{', '.join(named) or 'none'}"
            )
        initial = {v.name: v.initial for v in used_globals(module, places, [name])}
        return storage(self._variables, name, initial[name])


def storage(variables: dict, name: str, initial: bytes) -> np.ndarray:
    """The memory of a module's variable, which outlives a launch."""
    if name not in variables:
        variables[name] = np.frombuffer(bytearray(initial), np.uint8)
    return variables[name]


def launch(
    kernel, grid, block, args, shared_mem, *, limits: Limits, defects, cooperative=False
) -> machine.Launch:
    """Check a call and run it. `defects` collects the kernel's mistakes; None raises the first.
    What the kernel prints is written to the standard output at the end."""
    grid, block = check_dimensions(grid, block, kernel.name)
    wanted = kernel._parameters()
    program = kernel._compiled()
    if wanted is not None:
        args = convert(wanted, args, kernel.name)
    check_resources(kernel, program, block, shared_mem)
    memory, packed = pack(kernel, program, wanted, args)
    at_once = resident(program, block, shared_mem)
    cooperative = cooperative or kernel.enable_cooperative_groups
    if cooperative and int(np.prod(grid)) > at_once:
        raise LaunchError(
            f"a cooperative launch of {int(np.prod(grid))} blocks: all of them must be on the "
            f"device at once, and {current_spec().name} holds at most {at_once} of {kernel.name}",
            kernel=kernel.name,
        )
    workspace = 0
    if cooperative and program.cooperative:
        workspace = memory.add(np.zeros(64, np.uint32), "the grid's barrier")
    budget = limits.budget or enough(program, memory)
    blocks = int(np.prod(grid))
    with progress.bar(blocks, f"simulating {kernel.name}, {blocks} blocks") as bar:
        job = machine.Launch(
            program,
            grid,
            block,
            memory,
            packed,
            int(shared_mem),
            (*limits.observers, *limits.checkers(grid, block, memory)),
            defects,
            budget,
            limits.schedule,
            tuple(kernel.code.splitlines()) if wanted is not None else (),
            NAMELESS,
            bar.update,
            at_once,
            workspace,
        )
        try:
            machine.run(job)
        finally:
            said = sorted(job.printed, key=lambda entry: entry[:2])
            sys.stdout.write("".join(text for _, _, text in said))
    return job


def enough(program: Program, memory: GlobalMemory) -> int:
    """A budget of instructions that only a launch without end exceeds."""
    elements = max((s.size // 4 for s in memory.segments), default=0)
    turns = machine.SERIAL_LANES if program.serial else 0
    return BUDGET + BUDGET_AN_ELEMENT * elements + BUDGET_A_TURN * turns


def resident(program: Program, block, shared_mem: int) -> int:
    """How many blocks the device holds at once, as far as threads and shared memory decide (the
    registers are the assembler's business, and may allow fewer)."""
    spec = current_spec()
    shared = program.dynamic + shared_mem if shared_mem else program.shared
    return max(1, min(spec.room(int(np.prod(block)), shared).values())) * spec.sms


def check_resources(kernel, program: Program, block, shared_mem) -> None:
    threads = int(np.prod(block))
    if program.max_threads and threads > program.max_threads:
        raise LaunchError(
            f"{kernel.name} is compiled for blocks of at most {program.max_threads} threads "
            f"(__launch_bounds__), got {threads}",
            kernel=kernel.name,
        )
    if program.local > MOST_LOCAL:
        raise LaunchError(
            f"the local arrays of {kernel.name} take {program.local} bytes a thread; CUDA allows "
            f"{MOST_LOCAL}",
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
    most = kernel.max_dynamic_shared_size_bytes
    if not 0 <= shared_mem <= most or shared_mem != int(shared_mem):
        raise LaunchError(
            f"{kernel.name} is launched with {shared_mem} bytes of dynamic shared memory; it may "
            f"have {most}. Set kernel.max_dynamic_shared_size_bytes first: {spec.name} allows "
            f"{spec.shared_optin - program.shared}",
            kernel=kernel.name,
        )


def pack(kernel, program: Program, wanted, args) -> tuple[GlobalMemory, bytes]:
    """Arrays get addresses, and all arguments their place in the parameter block."""
    slots = program.parameters
    if not isinstance(args, tuple | list) or len(args) != len(slots):
        got = len(args) if isinstance(args, tuple | list) else type(args).__name__
        raise LaunchError(
            f"{kernel.name} takes a tuple of {len(slots)} arguments, got {got}", kernel=kernel.name
        )
    memory = GlobalMemory()
    block = bytearray(max((p.offset + p.size for p in slots), default=0))
    for k, (slot, value) in enumerate(zip(slots, args, strict=True)):
        name = wanted[k].name if wanted is not None else f"argument {k + 1}"
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous or value.dtype.hasobject:
                raise LaunchError(
                    f"argument {k + 1} of {kernel.name}, `{name}`: a kernel sees bare memory; "
                    f"expected a C-contiguous array of numbers, got one of {value.dtype} with "
                    f"strides {value.strides}",
                    kernel=kernel.name,
                )
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
    for v in program.globals:
        data = storage(kernel._variables, v.name, v.initial)
        locked = "a __constant__ variable" if v.constant else ""
        memory.place(data, v.name, v.address, v.dtype, locked)
    if program.argument_memory:
        data = np.frombuffer(block, np.uint8)
        memory.place(data, "arguments", ADDRESSES["param"][0], locked="the kernel's arguments")
    return memory, bytes(block)


def scalar_bytes(value, slot) -> bytes:
    """A number in the parameter's own PTX type, or the bytes of a NumPy scalar as they are."""
    bits = 8 * slot.size
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, int | float) and slot.type in ("f32", "f64"):
        return np.array(value, f"f{slot.size}").tobytes()
    whole = isinstance(value, int) and slot.size == ptx.SIZES[slot.type]  # no struct
    if whole and -(1 << bits - 1) <= value < 1 << bits:
        return (value % (1 << bits)).to_bytes(slot.size, "little")
    raise LaunchError(
        f"cannot pass the {type(value).__name__} {value!r:.60} as the .{slot.type} `{slot.name}`"
    )
