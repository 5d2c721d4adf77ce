"""CuPy whose kernels check their call before the GPU sees it.

`checked(cupy)` stands in for the module: `RawKernel` and `RawModule` are subclasses that refuse
wrong arguments and turn a compiler's log into one clear error; every other name is CuPy's own.

They also compile as nvcc does, and as the simulator does. CuPy by itself appends `-ftz=true`, which
turns every subnormal number into zero; here that happens only to a kernel that asks for it with
options=("-ftz=true",), so that a kernel means the same on a GPU, in the simulator and in a C++
program.
"""

import contextlib
import hashlib
import tempfile
import types
from pathlib import Path

from .simt import nvrtc
from .simt.arguments import check_dimensions, convert
from .simt.errors import NAMELESS, LaunchError
from .simt.source import parameters

__all__ = ["checked"]


class CheckedCuPy(types.ModuleType):
    """The module `cp` on a GPU."""

    def __init__(self, cupy):
        super().__init__("cp", "CuPy with checked kernel launches.")
        self._cupy = cupy
        self.RawKernel, self.RawModule = kernel_classes(cupy)

    def __getattr__(self, name):
        return getattr(self._cupy, name)

    def __dir__(self):
        return sorted({*dir(self._cupy), "RawKernel", "RawModule"})


def checked(cupy) -> CheckedCuPy:
    """The proxy of an imported `cupy`."""
    return CheckedCuPy(cupy)


def kernel_classes(cupy):
    """RawKernel and RawModule derived from CuPy's, which must be imported first."""

    class RawKernel(cupy.RawKernel):
        """`cupy.RawKernel` that refuses a wrong call and explains a source that is wrong."""

        def __init__(self, code, name, options=(), backend="nvrtc", **more):
            super().__init__(code, name, tuple(options), backend, **more)
            self.source = code
            self._own = backend == "nvrtc" and not any(more.values())

        def __call__(self, grid, block, args, *, shared_mem=0, **more):
            wanted = parameters(self.source, self.name)
            grid, block = check_dimensions(grid, block, self.name)
            args = convert(wanted, args, self.name, on_gpu=True)
            self._ready()
            if shared_mem:
                self._check_shared(shared_mem)
            super().__call__(grid, block, args, shared_mem=shared_mem, **more)

        def _check_shared(self, wanted):
            most = self.max_dynamic_shared_size_bytes
            if wanted > most:
                raise LaunchError(
                    f"{self.name} is launched with {wanted} bytes of dynamic shared memory; it may "
                    f"have {most}. Ask for less, or raise the limit as far as the card allows: "
                    "kernel.max_dynamic_shared_size_bytes = …",
                    kernel=self.name,
                )

        def _ready(self):
            """Compile at the first use, and hand CuPy the binary in the source's place."""
            parameters(self.source, self.name)  # a missing entry: clearer than the driver's error
            with plain_errors(self.source):
                if self._own and self.code is not None:
                    path = binary(cupy, self.source, self.options)
                    state = {**self.__getstate__(), "code": None, "file_path": str(path)}
                    self.__setstate__(state)  # CuPy's own way to change what a kernel is made of
                return super().kernel

        @property
        def kernel(self):
            return self._ready()

        def compile(self, log_stream=None):
            self._ready()

    class RawModule(cupy.RawModule):
        """`cupy.RawModule` whose functions check their calls."""

        def get_function(self, name):
            if self.code is None or name in (self.name_expressions or ()):
                return super().get_function(name)  # a binary or a template: nothing to check with
            parameters(self.code, name)
            return RawKernel(self.code, name, self.options, self.backend)

    return RawKernel, RawModule


def binary(cupy, source, options) -> Path:
    """The file of a source compiled for the current GPU, made when it is not there yet."""
    compiler = cupy.cuda.compiler
    folders = nvrtc.include_dirs()
    if not folders and (root := cupy.cuda.get_cuda_path()):
        folders = (str(Path(root) / "include"),)
    options = (*options, *nvrtc.LANGUAGE, *(f"-I{folder}" for folder in folders))
    card = cupy.cuda.Device().compute_capability
    parts = (source, *options, card, cupy.__version__, str(cupy.cuda.nvrtc.getVersion()))
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + ".bin"
    path = nvrtc.cache_dir() / name
    if not path.is_file():
        made, _ = compiler.compile_using_nvrtc(source, options, filename=NAMELESS)
        made = made if isinstance(made, bytes) else made.encode()
        if not nvrtc.keep(path, made):
            path = Path(tempfile.mkdtemp()) / name  # no cache folder: a place for this process
            path.write_bytes(made)
    return path


@contextlib.contextmanager
def plain_errors(source):
    """Turns CuPy's compile error into the project's, with the line of the source."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "CompileException":
            raise
        log = str(error).replace(error.name or "default_program", NAMELESS)
        raise nvrtc.compile_error(log, source, NAMELESS) from None
