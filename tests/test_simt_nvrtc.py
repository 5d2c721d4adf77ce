"""From CUDA C++ to PTX: the compiler's errors, the cache on disk, and life without a compiler."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from simt_runs import needs_nvrtc

from helpers import simt, versions
from helpers.simt import nvrtc

SOURCE = """extern "C" __global__ void f(float* y) {
    y[threadIdx.x] = 1.0f;
}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of its own."""
    monkeypatch.setenv("SOFTMAX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def runs(monkeypatch):
    """How often the compiler is called, as a list that grows."""
    calls, compiler = [], nvrtc.run_nvrtc

    def counted(*arguments):
        calls.append(arguments)
        return compiler(*arguments)

    monkeypatch.setattr(nvrtc, "run_nvrtc", counted)
    return calls


def entries(cache) -> list[Path]:
    return sorted(cache.iterdir()) if cache.is_dir() else []


# ---------------------------------------------------------------------------- errors
@needs_nvrtc
def test_a_compile_error_shows_the_source_line(cache):
    """Message, file, line and the text of that line; all the compiler said is kept."""
    source = SOURCE.replace("1.0f;", "one;\n    y[0] = two;")
    with pytest.raises(simt.CompileError) as caught:
        nvrtc.compile_ptx(source, file="lesson.cu")
    error = caught.value
    assert (error.file, error.line, error.text) == ("lesson.cu", 2, "y[threadIdx.x] = one;")
    assert 'identifier "one" is undefined' in str(error).splitlines()[0]
    assert "lesson.cu:2: y[threadIdx.x] = one;" in str(error)
    assert '"two" is undefined' in error.log
    assert entries(cache) == []


@needs_nvrtc
@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ('#include "missing.h"\n' + SOURCE, 1, "missing.h"),
        (SOURCE + "#error nothing works\n", 4, "nothing works"),
        (SOURCE[:-3], 2, "expected"),
        ("\n\n__global__ void f(float* y) { y = 1.5; }", 3, "double"),
        (SOURCE.replace("float* y", "float* y, __half h"), 1, "__half"),
    ],
)
def test_other_compile_errors(cache, source, line, said):
    """A missing header, an #error, an open brace, a wrong type: each with its line."""
    with pytest.raises(simt.CompileError) as caught:
        nvrtc.compile_ptx(source)
    assert said in str(caught.value)
    assert caught.value.line == line


@needs_nvrtc
def test_an_unknown_option_is_an_error(cache):
    """An option that NVRTC does not know is named, and nothing is cached."""
    with pytest.raises(simt.CompileError, match="nonsense"):
        nvrtc.compile_ptx(SOURCE, ("--nonsense",))
    assert entries(cache) == []


@needs_nvrtc
def test_a_warning_is_no_error(cache):
    """A kernel with an unused variable compiles."""
    assert ".entry f(" in nvrtc.compile_ptx(SOURCE.replace("y[", "int unused = 3; y["))


@needs_nvrtc
def test_a_broken_kernel_leaves_python_usable(cache):
    """The error comes at the call; the next kernel runs."""
    y = np.zeros(4, np.float32)
    broken = simt.RawKernel(SOURCE.replace("1.0f", "1.0g"), "f")
    for _ in range(2):
        with pytest.raises(simt.CompileError):
            broken((1,), (4,), (y,))
    simt.RawKernel(SOURCE, "f")((1,), (4,), (y,))
    assert y.tolist() == [1.0] * 4


# ---------------------------------------------------------------------------- what it brings
@needs_nvrtc
def test_ptx_carries_lines_and_no_folders(cache):
    """Every instruction can be told its line; the text does not depend on the machine."""
    ptx = nvrtc.compile_ptx("#include <cuda_fp16.h>\n" + SOURCE, file="lesson.cu")
    assert ".loc\t1 3" in ptx
    assert '.file\t1 "lesson.cu"' in ptx
    files = [line for line in ptx.splitlines() if line.lstrip().startswith(".file")]
    assert not any("/" in line or "\\" in line for line in files)


@needs_nvrtc
@pytest.mark.parametrize(
    "header", ["cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h", "cuda/std/limits"]
)
def test_headers_are_found(header, cache):
    """The headers that lessons use come with the wheels."""
    assert ".entry f(" in nvrtc.compile_ptx(f"#include <{header}>\n{SOURCE}")


@needs_nvrtc
def test_options_reach_the_compiler(cache):
    """-D and --use_fast_math change the code, and the architecture its target."""
    plain = nvrtc.compile_ptx(SOURCE)
    assert str(0x40400000) in nvrtc.compile_ptx(SOURCE.replace("1.0f", "N"), ("-DN=3.0f",))
    root = SOURCE.replace("1.0f", "sqrtf(y[5])")
    assert "sqrt.approx" in nvrtc.compile_ptx(root, ("--use_fast_math",))
    assert "sqrt.rn" in nvrtc.compile_ptx(root)
    assert ".target sm_90" in plain
    assert ".target sm_80" in nvrtc.compile_ptx(SOURCE, arch=80)


# ---------------------------------------------------------------------------- the cache
@needs_nvrtc
def test_the_second_time_comes_from_disk(cache, runs):
    """One compilation a content; another source, option, architecture or name is another one."""
    first = nvrtc.compile_ptx(SOURCE)
    assert nvrtc.compile_ptx(SOURCE) == first
    assert len(runs) == len(entries(cache)) == 1
    nvrtc.compile_ptx(SOURCE + "\n")
    nvrtc.compile_ptx(SOURCE, ("-DN=1",))
    nvrtc.compile_ptx(SOURCE, arch=80)
    nvrtc.compile_ptx(SOURCE, file="other.cu")
    assert len(runs) == len(entries(cache)) == 5


@needs_nvrtc
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: b"\xff\xfe\0garbage",
        lambda content: content.replace(b"st.global", b"ld.global"),
        lambda content: content.partition(b"\n")[2],
    ],
)
def test_a_damaged_entry_is_made_again(cache, runs, damage):
    """A half-written, empty, binary, altered or foreign entry is compiled afresh and replaced."""
    first = nvrtc.compile_ptx(SOURCE)
    (path,) = entries(cache)
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert nvrtc.compile_ptx(SOURCE) == first
    assert len(runs) == 2
    assert path.read_bytes() == content
    assert nvrtc.compile_ptx(SOURCE) == first
    assert len(runs) == 2


@needs_nvrtc
@pytest.mark.parametrize("where", ["the folder", "a folder above it", "the entry"])
def test_a_cache_that_cannot_be_written(cache, runs, where):
    """A file or a folder in the way costs time, nothing else."""
    if where == "the folder":
        cache.write_text("in the way")
    elif where == "a folder above it":
        os.environ["SOFTMAX_CACHE"] = str(cache / "deeper")  # the fixture puts it back
        cache.write_text("in the way")
    else:
        nvrtc.compile_ptx(SOURCE)
        (path,) = entries(cache)
        path.unlink()
        path.mkdir()
    before = len(runs)
    assert nvrtc.compile_ptx(SOURCE) == nvrtc.compile_ptx(SOURCE)
    assert len(runs) == before + 2
    leftovers = [p for p in entries(cache) if p.suffix == ".tmp"]
    assert leftovers == []


@needs_nvrtc
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_read_only_cache(cache, runs):
    """A folder without write permission is read, and otherwise left alone."""
    cache.mkdir()
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    nvrtc.compile_ptx(SOURCE)
    assert (len(runs), entries(cache)) == (1, [])
    cache.chmod(stat.S_IRWXU)


def test_where_the_cache_lies(monkeypatch, tmp_path):
    """SOFTMAX_CACHE, else XDG_CACHE_HOME, else the home folder's, else a temporary one."""
    monkeypatch.setattr(nvrtc.sys, "platform", "linux")
    monkeypatch.setenv("SOFTMAX_CACHE", str(tmp_path / "mine"))
    assert nvrtc.cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("SOFTMAX_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert nvrtc.cache_dir() == tmp_path / "xdg" / "softmax-lessons"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert nvrtc.cache_dir() == tmp_path / ".cache" / "softmax-lessons"


@needs_nvrtc
def test_without_a_home(monkeypatch, tmp_path, runs):
    """No HOME and no user entry, as in bare containers: the temporary folder serves."""

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SOFTMAX_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(nvrtc.Path, "home", nobody)
    monkeypatch.setattr(nvrtc.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(nvrtc.sys, "platform", "linux")
    assert nvrtc.compile_ptx(SOURCE) == nvrtc.compile_ptx(SOURCE)
    assert len(runs) == len(list(tmp_path.rglob("*.ptx"))) == 1


# ---------------------------------------------------------------------------- without NVRTC
@pytest.fixture
def no_nvrtc(monkeypatch, cache, runs):
    """A machine on which NVRTC cannot be installed; fails when the compiler is called."""
    monkeypatch.setattr(nvrtc, "version", lambda: None)
    simt.kernel._module.cache_clear()
    simt.kernel._program.cache_clear()
    yield
    simt.kernel._module.cache_clear()
    simt.kernel._program.cache_clear()
    assert runs == []


@pytest.mark.parametrize("version", versions.VERSIONS.values(), ids=lambda v: v.name)
def test_the_projects_kernels_run_from_shipped_ptx(version, no_nvrtc):
    """Every kernel of the catalogue has its PTX with it, also when git wrote CRLF line ends."""
    assert not nvrtc.available()
    for source in (version.source, version.source.replace("\n", "\r\n")):
        kernel = simt.RawKernel(source, version.entry)
        x = np.full((2, 8), 0.5, version.np_dtype)
        y = np.zeros_like(x)
        arguments = (x, y, np.int32(2), np.int32(8))
        kernel(version.grid(2, 8), (version.block,), arguments, shared_mem=version.shared(8))
        expected = 0.5 if version.reference == "copy" else 0.125
        assert np.allclose(y.astype(float), expected, rtol=0.01)


def test_a_readers_own_kernel_needs_nvrtc(no_nvrtc):
    """Without the compiler a kernel of one's own, or an edited one, gets one clear sentence."""
    edited = versions.get("v0").source + "// mine"
    for source, name in ((SOURCE, "f"), (edited, "softmax_v0")):
        with pytest.raises(simt.CompileError, match="NVRTC.*not installed") as caught:
            simt.RawKernel(source, name).compile()
        assert "nvidia-cuda-nvrtc" in str(caught.value)


def test_a_broken_installation_counts_as_none(monkeypatch):
    """cuda-bindings that cannot load its library is no NVRTC, and no traceback."""
    import sys

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    nvrtc.version.cache_clear()
    try:
        assert nvrtc.version() is None
    finally:
        nvrtc.version.cache_clear()
