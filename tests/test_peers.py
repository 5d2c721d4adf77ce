"""Other libraries' softmaxes: optional, imported only when asked for, called as they should be."""

import ctypes
import subprocess
import sys
import types
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from helpers import device, ondevice, peers, reference
from helpers.peers import cudnn, cupies, torches

LIBRARIES = ("torch", "triton", "liger_kernel", "quack", "cupyx", "cupy")


def test_the_names_that_records_use():
    """Every peer has a name, an idea, a package and a bound for each type it takes."""
    assert list(peers.PEERS) == [
        "torch.softmax", "torch.compile", "torch five operations", "triton fused", "cudnn",
        "cupyx.softmax", "cupy five operations", "liger", "quack",
    ]  # fmt: skip
    for name, peer in peers.PEERS.items():
        assert peer.name == name
        assert peer.idea and peer.package  # noqa: PT018
        assert "float32" in peer.dtypes
        assert all(0 < bound < 0.05 for bound in peer.tolerance.values())
    with pytest.raises(ValueError, match="no peer called 'jax'; choose from torch.softmax, torch"):
        peers.get("jax")


def test_importing_the_peers_imports_no_library():
    """A machine that has them all still starts at once."""
    code = f"import sys, helpers.peers; print([m for m in {LIBRARIES!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(device.on_gpu(), reason="about machines without a GPU")
@pytest.mark.parametrize("peer", peers.PEERS.values(), ids=lambda peer: peer.name)
def test_without_a_gpu_all_are_missing(peer):
    """One line, no import, no exception."""
    assert "needs a GPU" in peer.missing()
    assert "\n" not in peer.missing()


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU and none of the libraries."""
    monkeypatch.setattr(device, "on_gpu", lambda: True)
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    return monkeypatch


def test_what_is_not_installed_says_how_to_install_it(gpu):
    """The module that is missing, and the package that brings the peer."""
    assert peers.get("torch.softmax").missing() == "torch is not installed; pip install torch"
    gpu.setitem(sys.modules, "torch", fake_torch())
    assert peers.get("torch.softmax").missing() is None
    assert peers.get("quack").missing() == "quack is not installed; pip install quack-kernels"
    assert peers.get("triton fused").missing() == "triton is not installed; pip install triton"
    assert peers.get("cupy five operations").missing() is None


def test_a_pytorch_for_the_cpu_is_no_peer(gpu):
    """Installed, but it sees no GPU: said, with the way out."""
    torch = fake_torch()
    torch.cuda.is_available = lambda: False
    gpu.setitem(sys.modules, "torch", torch)
    assert "sees no GPU; install its build for CUDA" in peers.get("torch.softmax").missing()


def test_a_library_that_does_not_load_says_why(gpu, tmp_path):
    """In one line, whatever its import raises."""
    (tmp_path / "quack.py").write_text("raise OSError('libcuda.so: no such file\\nand more')")
    gpu.setitem(sys.modules, "torch", fake_torch())
    gpu.delitem(sys.modules, "quack")
    gpu.syspath_prepend(tmp_path)
    assert peers.get("quack").missing() == "quack does not load: libcuda.so: no such file"


class Tensor(np.ndarray):
    """NumPy's array under the names of PyTorch's."""

    def view(self, dtype):
        return np.ndarray.view(self, dtype) if dtype is Tensor else self.as_type(dtype)

    def as_type(self, dtype):
        return np.ndarray.view(np.ndarray.view(self, np.ndarray).view(dtype), Tensor)

    def element_size(self):
        return self.itemsize

    def amax(self, dim, keepdim):
        return self.max(axis=dim, keepdims=keepdim)

    def sum(self, dim=None, keepdim=False, **more):
        return np.ndarray.sum(self, axis=dim, keepdims=keepdim, **more)


def fake_torch():
    """A module with what the peers use of PyTorch, over NumPy, and a log of the rest."""
    torch = types.ModuleType("torch")

    def from_dlpack(x):
        assert x.dtype.name != "bfloat16", "CuPy hands out no bfloat16"
        return np.ndarray.view(np.asarray(x), Tensor)

    def softmax(x, dim, out=None):
        assert dim == -1
        result = np.ndarray.view(reference.softmax(np.asarray(x)).astype(x.dtype), Tensor)
        if out is None:
            return result
        out[...] = result
        return out

    torch.log = []
    torch.from_dlpack, torch.softmax, torch.exp = from_dlpack, softmax, np.exp
    torch.div = lambda a, b, out: np.divide(a, b, out=out)
    torch.float16, torch.bfloat16, torch.int16 = np.float16, ml_dtypes.bfloat16, np.int16
    torch.compile = lambda function, fullgraph, dynamic: function
    torch.compiler = SimpleNamespace(reset=lambda: torch.log.append("reset"))
    torch.cuda = SimpleNamespace(
        is_available=lambda: True, empty_cache=lambda: torch.log.append("empty_cache")
    )
    return torch


@pytest.fixture
def torch(monkeypatch):
    fake = fake_torch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    cp = SimpleNamespace(from_dlpack=lambda t: np.asarray(t), ndarray=np.ndarray, exp=np.exp,
                         divide=np.divide, isnan=np.isnan, isfinite=np.isfinite, where=np.where,
                         abs=np.abs, inf=np.inf, ascontiguousarray=np.ascontiguousarray)
    monkeypatch.setitem(vars(device), "cp", cp)
    torches._compiled.cache_clear()
    yield fake
    torches._compiled.cache_clear()


def rows(dtype, shape=(5, 33)):
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def result(build, x):
    y = np.zeros_like(x)
    out = build(x, y)()
    return torches.array(out) if isinstance(out, Tensor) else out, y


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["torch.softmax", "torch.compile", "torch five operations"])
def test_pytorch_gets_the_same_memory(name, dtype, torch):
    """No copy on the way in or out, bfloat16 included; the result is within the peer's bound."""
    x, peer = rows(dtype), peers.get(name)
    got, y = result(peer.make, x)
    assert got.dtype == x.dtype
    assert ondevice.compare(got, x).within(peer.tolerance[dtype])
    assert np.shares_memory(got, y) == (name != "torch.compile")  # which allocates its result


@pytest.mark.parametrize(
    ("name", "module"), [("liger", "liger_kernel.ops"), ("quack", "quack")]
)
def test_other_packages_get_a_tensor(name, module, torch, monkeypatch):
    """Liger and QuACK are called with x alone, and allocate their result."""
    fake = types.ModuleType(module)
    apply = lambda tensor: torch.softmax(tensor, dim=-1)  # noqa: E731
    fake.softmax, fake.LigerSoftmaxFunction = apply, SimpleNamespace(apply=apply)
    monkeypatch.setitem(sys.modules, module.partition(".")[0], fake)
    monkeypatch.setitem(sys.modules, module, fake)
    x = rows("float32")
    assert ondevice.compare(result(peers.get(name).make, x)[0], x).within(5e-6)


@pytest.fixture
def triton(torch, monkeypatch):
    """Triton's decorator and a log of launches; its kernels themselves need a GPU."""
    launches = []

    class Kernel:
        def __getitem__(self, grid):
            return lambda x, y, cols, **constants: launches.append((grid, cols, constants))

    fake, language = types.ModuleType("triton"), types.ModuleType("triton.language")
    fake.jit, fake.language = lambda function: Kernel(), language
    fake.next_power_of_2 = lambda n: 1 << (n - 1).bit_length()
    language.constexpr = None
    monkeypatch.setitem(sys.modules, "triton", fake)
    monkeypatch.setitem(sys.modules, "triton.language", language)
    forget_fused()
    yield launches
    forget_fused()


def forget_fused():
    """Whatever Triton it was decorated by."""
    sys.modules.pop("helpers.peers.fused", None)
    vars(peers).pop("fused", None)


@pytest.mark.parametrize(
    ("cols", "block", "warps"),
    [(1, 1, 1), (128, 128, 1), (1000, 1024, 2), (4096, 4096, 8), (50257, 65536, 32)],
)
def test_a_triton_program_holds_a_row(cols, block, warps, triton):
    """A power of two that holds it, one program a row, 16 elements a thread while warps last."""
    x = rows("float32", (3, cols))
    torches.triton_fused(x, np.zeros_like(x))()
    assert triton == [((3,), cols, {"BLOCK": block, "num_warps": warps})]


def test_a_row_too_long_for_triton_is_refused(triton):
    """Before anything is compiled, with the limit."""
    x = rows("float32", (1, 131073))
    with pytest.raises(ValueError, match="a row of 131073 does not fit .*131072"):
        torches.triton_fused(x, x)


@pytest.mark.parametrize("build", [cupies.five_operations, cupies.softmax])
def test_cupys_operations(build, torch, monkeypatch):
    """Its own function, and the five written out, which write their last result to y."""
    special = SimpleNamespace(softmax=lambda x, axis: torch.softmax(x, dim=axis))
    monkeypatch.setitem(sys.modules, "cupyx", types.ModuleType("cupyx"))
    monkeypatch.setitem(sys.modules, "cupyx.scipy", SimpleNamespace(special=special))
    x = rows("float32")
    got, y = result(build, x)
    assert ondevice.compare(np.asarray(got), x).within(5e-6)
    assert np.shares_memory(got, y) == (build is cupies.five_operations)


class FakeCudnn:
    """The functions of libcudnn that are used, with a log; `status` is what they answer."""

    def __init__(self):
        self.calls, self.status = [], 0

    def __getattr__(self, name):
        def function(*arguments):
            self.calls.append((name, [getattr(a, "value", a) for a in arguments]))
            return self.status

        return function

    def cudnnGetErrorString(self, status):
        return b"CUDNN_STATUS_NOT_SUPPORTED"

    def cudnnGetVersion(self):
        return 91900


@pytest.fixture
def library(monkeypatch):
    fake = FakeCudnn()
    stream = SimpleNamespace(ptr=77)
    cp = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
    monkeypatch.setattr(cudnn, "library", lambda: fake)
    monkeypatch.setitem(vars(device), "cp", cp)
    cudnn._handle.cache_clear()
    cudnn._descriptor.cache_clear()
    yield fake
    cudnn._handle.cache_clear()
    cudnn._descriptor.cache_clear()


@pytest.mark.parametrize(("dtype", "number"), [("float32", 0), ("float16", 2), ("bfloat16", 9)])
def test_cudnn_is_called_with_rows_as_images(dtype, number, library):
    """rows images of cols channels, the accurate algorithm, on the stream that is current."""
    x, y = (SimpleNamespace(shape=(3, 8), dtype=rows(dtype).dtype, data=SimpleNamespace(ptr=at))
            for at in (1024, 2048))  # fmt: skip
    launch = cudnn.softmax(x, y)
    name, shape = library.calls[-1]
    assert (name, shape[1:]) == ("cudnnSetTensor4dDescriptor", [0, number, 3, 8, 1, 1])
    assert launch() is y
    (stream, (_, on)), (forward, arguments) = library.calls[-2:]
    assert (stream, on) == ("cudnnSetStream", 77)
    assert (forward, arguments[1:3]) == ("cudnnSoftmaxForward", [1, 0])
    assert (arguments[5], arguments[8]) == (1024, 2048)
    scales = [ctypes.cast(arguments[i], ctypes.POINTER(ctypes.c_float))[0] for i in (3, 6)]
    assert scales == [1.0, 0.0]


def test_cudnn_gives_its_reason(library):
    """A status that is not 0 is an error with the function and cuDNN's own word."""
    library.status = 9
    x = SimpleNamespace(shape=(3, 8), dtype=np.dtype("float32"), data=SimpleNamespace(ptr=1))
    with pytest.raises(cudnn.CudnnError, match="^cudnn[A-Za-z0-9]+: CUDNN_STATUS_NOT_SUPPORTED$"):
        cudnn.softmax(x, x)


def test_versions_are_recorded_as_the_libraries_tell_them(library, monkeypatch):
    """cuDNN by its number, CuPy by its own, packages by their metadata."""
    device.cp.__version__ = "14.2.0"
    monkeypatch.setattr(peers.metadata, "version", lambda package: f"of {package}")
    versions = {peer.package: peer.version() for peer in peers.PEERS.values()}
    assert versions == {"cudnn": "9.19.0", "cupy": "14.2.0", **{
        name: f"of {name}" for name in ("torch", "triton", "liger-kernel", "quack-kernels")}}


def test_cudnn_that_is_not_there_is_a_sentence(monkeypatch):
    """Why it does not load, and where it comes from."""
    def missing():
        raise OSError("libcudnn.so.9: cannot open shared object file")

    monkeypatch.setattr(cudnn, "library", missing)
    assert "cannot open shared object file); it comes with PyTorch" in cudnn.problem()


def test_memory_is_given_back_and_compiled_shapes_forgotten(torch, monkeypatch):
    """Between two sizes: PyTorch's compiler refuses the ninth shape of a function."""
    monkeypatch.setattr(device, "on_gpu", lambda: False)
    peers.release()
    assert torch.log == ["reset", "empty_cache"]


@pytest.mark.skipif(not device.on_gpu(), reason="the libraries themselves need a GPU")
@pytest.mark.parametrize("peer", peers.PEERS.values(), ids=lambda peer: peer.name)
def test_on_a_gpu_every_peer_is_right(peer):
    """In every type it takes; a library that is not installed is skipped by name."""
    if reason := peer.missing():
        pytest.skip(reason)
    for dtype in peer.dtypes:
        x = ondevice.normal(64, 1024, dtype)
        y = device.cp.empty_like(x)
        got = peers.array(peer.make(x, y)())
        assert ondevice.compare(got, x).within(peer.tolerance[dtype])
