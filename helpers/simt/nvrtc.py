"""CUDA C++ to PTX with NVRTC, which needs no GPU and no driver; results are kept on disk.

The PTX carries line information (`-lineinfo`), so that everything the simulator says can name a
line of the `.cu` file. Where NVRTC cannot be installed (macOS), the PTX of the project's own
kernels, shipped in `shipped/`, is used instead.
"""

import hashlib
import os
import re
import sys
import tempfile
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from .errors import CompileError

__all__ = [
    "SHIPPED_ARCH",
    "available",
    "cache_dir",
    "compile_ptx",
    "ship",
    "shipped_path",
    "version",
]

SHIPPED = Path(__file__).parent / "shipped"
SHIPPED_ARCH = 90
LANGUAGE = ("--std=c++17",)
FLAGS = ("-lineinfo", "-default-device", *LANGUAGE)
# `prog.cu(3): error: message` or `prog.cu(3): catastrophic error: message`
LOG_LINE = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error\s*(?:#\d+(?:-D)?)?: (.*)$", re.M)
LOG_END = re.compile(r"^At end of source: (?:catastrophic )?error\s*(?:#\d+(?:-D)?)?: (.*)$", re.M)
FOLDER = re.compile(r'^(\s*\.file\s+\d+\s+")[^"]*[/\\]', re.M)


@lru_cache
def version() -> tuple[int, int] | None:
    """(major, minor) of the NVRTC that is installed, None when there is none."""
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    except Exception:  # no wheel, no shared library, or one this Python cannot load
        return None
    return (major, minor) if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else None


def available() -> bool:
    """True when a reader's own kernel can be compiled on this machine."""
    return version() is not None


@lru_cache
def include_dirs() -> tuple[str, ...]:
    """Folders of the installed wheels that hold `cuda_fp16.h` and its relatives."""
    found = {}
    wheels = [f"nvidia-cuda-{part}" for part in ("runtime", "cccl", "crt")]
    for name in (*wheels, *(f"{wheel}-cu12" for wheel in wheels)):  # CUDA 12 has its own names
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            parts = file.parts
            if "include" in parts and file.suffix in (".h", ".hpp", ""):
                root = Path(*parts[: parts.index("include") + 1])
                found[str(file.locate().parents[len(parts) - len(root.parts) - 1])] = None
                break
    nested = [str(folder) for root in found if (folder := Path(root) / "cccl").is_dir()]
    return (*found, *nested)


def cache_dir() -> Path:
    """The folder of compiled PTX: `SOFTMAX_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("SOFTMAX_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # no HOME and no user entry, as in bare containers
        home = Path(tempfile.gettempdir())
    base = {"win32": os.environ.get("LOCALAPPDATA"), "darwin": str(home / "Library/Caches")}
    return Path(base.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or home / ".cache") / (
        "softmax-lessons"
    )


def shipped_path(source: str) -> Path:
    """Where the shipped PTX of a source text would lie; line-end style does not matter."""
    content = source.replace("\r\n", "\n").encode()
    return SHIPPED / f"{hashlib.sha256(content).hexdigest()[:16]}.ptx"


def ship(sources, file: str) -> list[Path]:
    """Compile sources into `shipped/`, which then holds these and nothing else."""
    SHIPPED.mkdir(exist_ok=True)
    written = []
    for source in sources:
        shipped_path(source).write_text(run_nvrtc(source, (), SHIPPED_ARCH, file))
        written.append(shipped_path(source))
    for path in set(SHIPPED.glob("*.ptx")) - set(written):
        path.unlink()
    return written


def compile_ptx(source: str, options=(), *, arch: int = 90, file: str = "kernel.cu") -> str:
    """PTX of a CUDA C++ source.

    `arch` is the compute capability without its dot, `options` further NVRTC options as CuPy
    takes them. Raises CompileError with the compiler's message, its line and the source line.
    """
    options = tuple(options)
    if not available():
        return shipped_ptx(source, file)
    key = hashlib.sha256(
        "\0".join([source, *options, *FLAGS, str(arch), str(version()), file]).encode()
    ).hexdigest()
    path = cache_dir() / f"{key[:32]}.ptx"
    if (ptx := cached(path)) is None:
        ptx = run_nvrtc(source, options, arch, file)
        keep(path, f"{stamp(ptx)}\n{ptx}".encode())
    return ptx


def stamp(ptx: str) -> str:
    """The first line of a cache entry: a comment that only this PTX fits."""
    return f"// {hashlib.sha256(ptx.encode()).hexdigest()}"


def cached(path: Path) -> str | None:
    """The PTX of a cache entry; None when there is none, or not the one that was written."""
    try:
        first, _, ptx = path.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return ptx if first == stamp(ptx) else None


def shipped_ptx(source: str, file: str) -> str:
    path = shipped_path(source)
    if path.is_file():
        return path.read_text()
    raise CompileError(
        f"{file} cannot be compiled here: NVRTC, NVIDIA's run-time compiler, is not installed. "
        "The project's own kernels run from the PTX that is shipped with them; a kernel of your "
        "own, or an edited one, needs the packages cuda-bindings and nvidia-cuda-nvrtc (Linux and "
        "Windows have them, macOS does not).",
        file=file,
    )


def keep(path: Path, content: bytes) -> bool:
    """Write a cache entry whole or not at all; False on a full or read-only disk, which costs
    only time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.replace(temporary, path)
        return True
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        return False


def run_nvrtc(source: str, options, arch: int, file: str) -> str:
    from cuda.bindings import nvrtc

    def checked(result):
        status, *values = result
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(f"NVRTC failed on {file}: {status.name}", file=file)
        return values[0] if values else None

    def text(size_of, fetch) -> str:
        buffer = bytes(checked(size_of(program)))
        checked(fetch(program, buffer))
        return buffer.rstrip(b"\0").decode(errors="replace")

    flags = [f"--gpu-architecture=compute_{arch}", *FLAGS, *options]
    flags += [f"-I{folder}" for folder in include_dirs()]
    program = checked(nvrtc.nvrtcCreateProgram(source.encode(), file.encode(), 0, [], []))
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise compile_error(log or status.name, source, file)
        ptx = text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        return FOLDER.sub(r"\1", ptx)  # the same text wherever it was compiled
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_error(log: str, source: str, file: str) -> CompileError:
    """The first error of a compiler log, with its line of the source."""
    found, lines = LOG_LINE.search(log), source.splitlines()
    if found:
        where, line, message = found.group(1), int(found.group(2)), found.group(3)
    elif found := LOG_END.search(log):  # a brace that is never closed, say
        where, line, message = file, len(lines), found.group(1)
    else:
        return CompileError(f"{file} does not compile: {log.strip()}", file=file, log=log)
    text = lines[line - 1].strip() if where == file and line <= len(lines) else ""
    return CompileError(
        f"{where} does not compile: {message}", file=where, line=line, text=text, log=log
    )
