"""Which device runs the kernels, and the two modules that `cp` can be."""

import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from helpers import device, specs
from helpers.checked import checked
from helpers.simt.errors import CompileError, LaunchError

SOURCE = 'extern "C" __global__ void twice(float* x, int n) {\n  x[threadIdx.x] *= 2.0f;\n}'
H200 = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 132,
    "l2CacheSize": 62914560,
    "sharedMemPerMultiprocessor": 233472,
    "sharedMemPerBlock": 49152,
    "sharedMemPerBlockOptin": 232448,
    "maxThreadsPerMultiProcessor": 2048,
    "regsPerMultiprocessor": 65536,
}
GPU_PROBLEM = device.gpu_problem()
needs_gpu = pytest.mark.skipif(GPU_PROBLEM is not None, reason=f"no GPU: {GPU_PROBLEM}")


class CompileException(Exception):
    """As CuPy's: the log as message, the name the compiler knew the text by."""

    def __init__(self, log, name):
        super().__init__(log)
        self.name = name


class FakeRawKernel:
    """Records launches; like CuPy's it is made of a source or of a compiled file."""

    max_dynamic_shared_size_bytes = 49152

    def __init__(self, code, name, options=(), backend="nvrtc"):
        self.code, self.name, self.options, self.backend = code, name, options, backend
        self.file_path, self.launches = None, []

    def __call__(self, grid, block, args, *, shared_mem=0):
        assert self.kernel == "the function"
        self.launches.append((grid, block, args, shared_mem))

    @property
    def kernel(self):
        assert self.code is None, "CuPy would compile this source itself, with -ftz=true"
        assert Path(self.file_path).read_bytes() == b"binary"
        return "the function"

    @property
    def attributes(self):
        assert self.kernel
        return {"shared_size_bytes": 0}

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)


class FakeRawModule:
    name_expressions = None
    backend = "nvrtc"

    def __init__(self, *, code=None, path=None, options=()):
        self.code, self.path, self.options = code, path, options


def compile_using_nvrtc(source, options=(), filename="kern.cu"):
    """CuPy's compiler: refuses a source that says `broken`, and notes the options it got."""
    if "broken" in source:
        name = f"/tmp/x/{filename}"
        raise CompileException(f"{name}(2): error: bad declaration\n", name)
    compile_using_nvrtc.options = options
    return b"binary", None


def fake_cupy(driver=13000, runtime=13020, count=1, answers=True):
    """A module as CuPy's on a machine with `count` GPUs and these CUDA versions."""

    def count_devices():
        if driver < runtime - runtime % 1000:
            raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return count

    class Device:
        id = 0
        compute_capability = "90"
        attributes = {"MemoryClockRate": 3201000, "GlobalMemoryBusWidth": 6144}

        def synchronize(self):
            if not answers:
                raise RuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is busy")

    cuda = types.SimpleNamespace(
        Device=Device,
        compiler=types.SimpleNamespace(compile_using_nvrtc=compile_using_nvrtc),
        nvrtc=types.SimpleNamespace(getVersion=lambda: (13, 0)),
        get_cuda_path=lambda: None,
        runtime=types.SimpleNamespace(
            driverGetVersion=lambda: driver,
            runtimeGetVersion=lambda: runtime,
            getDeviceCount=count_devices,
            getDeviceProperties=lambda _: H200,
        ),
    )
    module = types.ModuleType("cupy")
    module.__dict__.update(
        cuda=cuda, RawKernel=FakeRawKernel, RawModule=FakeRawModule, __version__="14.2.0"
    )
    return module


@pytest.fixture
def machine(monkeypatch):
    """A function that makes this machine have (or lack) a CuPy, with nothing remembered."""

    def forget():
        device._resolve.cache_clear()
        device._module.cache_clear()

    def have(cupy, wanted=""):
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setenv("SOFTMAX_DEVICE", wanted)  # set even when empty, so that it is restored
        forget()

    monkeypatch.delenv("SOFTMAX_SIM_SPEC", raising=False)
    yield have
    forget()


BROKEN_MACHINES = {
    "CuPy is not installed": None,
    "there is no NVIDIA driver": fake_cupy(driver=0),
    "the NVIDIA driver is too old: it supports CUDA 12.4, this CuPy needs 13.2": fake_cupy(12040),
    "the driver sees 0 devices": fake_cupy(count=0),
    "the GPU does not answer (cudaErrorDevicesUnavailable": fake_cupy(answers=False),
}


@pytest.mark.parametrize("reason", BROKEN_MACHINES)
def test_gpu_asked_for_in_vain_is_an_error(machine, reason):
    """SOFTMAX_DEVICE=gpu never falls back: the error says why and what to do."""
    machine(BROKEN_MACHINES[reason], "gpu")
    for use in (device.on_gpu, device.name, device.spec, lambda: device.cp):
        with pytest.raises(device.DeviceError) as caught:
            use()
        assert reason in str(caught.value)
        assert "SOFTMAX_DEVICE=sim" in str(caught.value)


@pytest.mark.parametrize("reason", BROKEN_MACHINES)
def test_without_a_wish_the_simulator_steps_in(machine, reason):
    """A machine without a usable GPU runs everything on the simulator."""
    machine(BROKEN_MACHINES[reason])
    assert not device.on_gpu()
    assert device.name() == "simulator (H200 specification)"
    assert device.cp.cuda.runtime.getDeviceCount() == 0


def test_cupy_that_does_not_load(machine, monkeypatch):
    """Half an installation is reported with its own error, not as a missing one."""

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "cupy":
                raise ImportError("libcudart.so.13: cannot open shared object file")

    machine(None, "gpu")
    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(device.DeviceError, match="does not load .libcudart"):
        device.on_gpu()


def test_a_gpu_that_answers_is_used(machine):
    """Without a wish the GPU comes first, under its own name and with its own sizes."""
    machine(fake_cupy())
    assert device.on_gpu()
    assert device.name() == "NVIDIA H200"
    assert device.driver() == "13.0"
    spec = device.spec()
    assert (spec.name, spec.bandwidth) == ("H200", specs.get("h200").bandwidth)
    assert (spec.shared_optin, spec.sms) == (232448, 132)


def test_sim_overrides_a_gpu(machine):
    """SOFTMAX_DEVICE=sim uses the simulator although there is a GPU."""
    machine(fake_cupy(), "sim")
    assert not device.on_gpu()


def test_select_switches_and_refuses_without_changing(machine):
    """--device gpu without one leaves the process as it was."""
    machine(None)
    device.select("sim")
    with pytest.raises(device.DeviceError, match="CuPy is not installed"):
        device.select("gpu")
    assert not device.on_gpu()


@pytest.mark.parametrize("wanted", ["cuda", "0", "gpus"])
def test_unknown_device_is_an_error(machine, wanted):
    """A misspelt SOFTMAX_DEVICE is not ignored."""
    machine(None, wanted)
    with pytest.raises(device.DeviceError, match="choose gpu or sim"):
        device.on_gpu()


def test_simulated_card_is_a_choice(machine, monkeypatch):
    """SOFTMAX_SIM_SPEC picks the card, and a card that is none is an error listing them."""
    machine(None)
    monkeypatch.setenv("SOFTMAX_SIM_SPEC", "A100")
    assert device.name() == "simulator (A100 specification)"
    assert device.spec().shared_optin == specs.get("a100").shared_optin
    assert device.cp.cuda.Device(0).compute_capability == "80"
    monkeypatch.setenv("SOFTMAX_SIM_SPEC", "voodoo2")
    with pytest.raises(device.DeviceError, match="SOFTMAX_SIM_SPEC.*h200"):
        device.spec()


@pytest.mark.parametrize(
    ("name", "peak", "expected"),
    [
        ("NVIDIA H200", 4.917e12, "H200"),
        ("NVIDIA A100-SXM4-80GB", 2.039e12, "A100"),
        ("NVIDIA A100-SXM4-40GB", 1.555e12, None),
        ("NVIDIA GH200 480GB", 4.0e12, None),
        ("NVIDIA H100 PCIe", 2.04e12, None),
        ("Tesla T4", float("nan"), "T4"),
        ("NVIDIA GeForce RTX 4070 Laptop GPU", 256e9, "RTX 4070 Laptop GPU"),
    ],
)
def test_data_sheet_only_for_the_very_card(name, peak, expected):
    """A namesake with another memory gets no data sheet: its roof would be wrong."""
    sheet = device._data_sheet(name, peak)
    assert (sheet.name if sheet else None) == expected


def test_unknown_gpu_still_has_sizes():
    """A card that `specs` lacks has what the driver says, and the bandwidth of its memory."""
    spec = device._gpu_spec({**H200, "name": b"NVIDIA B999"}, 9e12)
    assert (spec.name, spec.bandwidth, spec.sms) == ("NVIDIA B999", 9e12, 132)
    assert np.isnan(spec.fp32_flops)


class TestCheckedCuPy:
    """CuPy's module, with kernels that check their call."""

    cp = checked(fake_cupy())

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOFTMAX_CACHE", str(tmp_path))
        return tmp_path

    def test_other_names_are_cupys(self):
        """Only RawKernel and RawModule differ."""
        assert self.cp.__version__ == "14.2.0"
        assert self.cp.cuda.runtime.getDeviceCount() == 1
        assert issubclass(self.cp.RawKernel, FakeRawKernel)
        assert {"RawKernel", "cuda"} <= set(dir(self.cp))
        with pytest.raises(AttributeError):
            self.cp.no_such_name  # noqa: B018

    def test_launch_gets_typed_arguments(self):
        """A good call arrives with full dimensions and the parameters' own types."""
        x = types.SimpleNamespace(
            dtype=np.dtype("f4"),
            shape=(4,),
            strides=(4,),
            flags=types.SimpleNamespace(c_contiguous=True),
        )
        kernel = self.cp.RawKernel(SOURCE, "twice")
        kernel((1,), (4,), (x, 4), shared_mem=8)
        ((grid, block, args, shared_mem),) = kernel.launches
        assert (grid, block, shared_mem) == ((1, 1, 1), (4, 1, 1), 8)
        assert args[0] is x
        assert type(args[1]) is np.int32

    @pytest.mark.parametrize(
        ("grid", "args", "shared_mem", "message"),
        [
            ((1,), (np.zeros(4, "f4"), 4), 0, "in host memory"),
            ((1,), (4,), 0, "takes 2 arguments"),
            ((0,), (), 0, "grid.x of twice is 0"),
        ],
    )
    def test_wrong_launch_never_reaches_cupy(self, grid, args, shared_mem, message):
        """A refused call is not launched."""
        kernel = self.cp.RawKernel(SOURCE, "twice")
        with pytest.raises(LaunchError, match=message):
            kernel(grid, (4,), args, shared_mem=shared_mem)
        assert kernel.launches == []

    def test_too_much_shared_memory(self):
        """The limit and the way to raise it are named."""
        kernel = self.cp.RawKernel('extern "C" __global__ void f() {}', "f")
        with pytest.raises(LaunchError, match="have 49152.*max_dynamic_shared_size_bytes"):
            kernel((1,), (1,), (), shared_mem=50000)

    @pytest.mark.parametrize("use", [lambda k: k.compile(), lambda k: k.attributes])
    def test_compile_error_shows_the_line(self, use):
        """The compiler's log becomes the project's error with the line of the source."""
        kernel = self.cp.RawKernel('extern "C" __global__ void f() {\nbroken\n}', "f")
        with pytest.raises(CompileError, match="bad declaration") as caught:
            use(kernel)
        assert (caught.value.line, caught.value.text) == (2, "broken")

    @pytest.mark.parametrize("use", [lambda k: k.compile(), lambda k: k.attributes])
    def test_missing_entry_is_named(self, use):
        """Not the driver's CUDA_ERROR_NOT_FOUND, but the names there are."""
        with pytest.raises(LaunchError, match="which has twice"):
            use(self.cp.RawKernel(SOURCE, "thrice"))

    def test_compiles_as_nvcc_does(self, cache):
        """Subnormals stay unless the kernel asks otherwise, and the binary is kept on disk."""
        self.cp.RawKernel(SOURCE, "twice").compile()
        assert not any("ftz" in option for option in compile_using_nvrtc.options)
        self.cp.RawKernel(SOURCE, "twice", options=("-ftz=true",)).compile()
        assert "-ftz=true" in compile_using_nvrtc.options
        assert len(list(cache.glob("*.bin"))) == 2

    def test_no_cache_folder_costs_only_time(self, cache, monkeypatch):
        """A file in the folder's place: the kernel compiles and runs all the same."""
        (cache / "file").write_text("in the way")
        monkeypatch.setenv("SOFTMAX_CACHE", str(cache / "file" / "folder"))
        assert self.cp.RawKernel(SOURCE, "twice").attributes == {"shared_size_bytes": 0}

    def test_functions_of_a_module_check_as_well(self):
        """RawModule.get_function gives the checking kernel."""
        module = self.cp.RawModule(code=SOURCE)
        kernel = module.get_function("twice")
        assert isinstance(kernel, self.cp.RawKernel)
        with pytest.raises(LaunchError, match="takes 2 arguments"):
            kernel((1,), (1,), ())
        with pytest.raises(LaunchError, match="which has twice"):
            module.get_function("thrice")


class TestStandIn:
    """CuPy's names over NumPy and the simulator."""

    @pytest.fixture
    def cp(self, machine):
        machine(None)
        return device.cp

    def test_arrays_are_cupy_like(self, cp):
        """Everything made or computed has .get(), which gives a plain NumPy copy."""
        made = [cp.asarray([[1.0, 2.0]]), cp.empty((2, 3)), cp.full(3, 7), cp.arange(4)]
        made += [cp.zeros_like(made[0]), cp.ones(2, dtype=cp.float32), cp.array(3)]
        for array in [*made, made[0] + 1, made[0].sum(), cp.exp(made[0]), made[0].T]:
            assert type(array.get()) is np.ndarray
            assert type(cp.asnumpy(array)) is np.ndarray
            assert cp.get_array_module(array) is cp
        assert cp.get_array_module(np.zeros(1)) is np

    def test_an_element_is_an_array_in_the_same_memory(self, cp):
        """As on a GPU: it has .get(), and writing to it writes to its array."""
        x = cp.arange(6, dtype=cp.float32).reshape(2, 3)
        for one in (x[0, 1], next(iter(x[0][1:])), x[..., 0][1], x[0][cp.array(2)]):
            assert one.shape == ()
            assert type(one.get()) is np.ndarray
        assert f"{x[0, 1]:.1f} {float(x[1, 2])}" == "1.0 5.0"
        x[0, 1][...] = 7
        assert x.get().tolist() == [[0, 7, 2], [3, 4, 5]]

    def test_asarray_copies_to_the_device(self, cp):
        """As on a GPU, the array on the device is another one than the host's."""
        host = np.zeros(3, "f4")
        there = cp.asarray(host)
        there += 1
        assert host.sum() == 0
        assert there.get().sum() == 3
        back = there.get()
        back += 1
        assert there.get().sum() == 3
        assert cp.asarray(there) is there
        assert cp.asarray(there, dtype=cp.float64) is not there

    def test_kernels_run(self, cp):
        """RawKernel and RawModule take the same lines as on a GPU."""
        for kernel in (
            cp.RawKernel(device.PROBE, "probe"),
            cp.RawModule(code=device.PROBE).get_function("probe"),
        ):
            x = cp.arange(32, dtype=cp.float32)
            kernel((1,), (32,), (x,))
            assert x.get().tolist() == [i + 1.0 for i in range(32)]

    def test_random_numbers_repeat(self, cp):
        """A seed gives the same numbers again, by both of CuPy's doors."""
        one, two = (cp.random.default_rng(1).standard_normal((2, 3), cp.float32) for _ in "ab")
        assert one.dtype == np.float32
        assert (one == two).all()
        cp.random.seed(1)
        one = cp.random.standard_normal(5)
        cp.random.seed(1)
        assert (one == cp.random.randn(5)).all()

    def test_no_clock(self, cp):
        """Events and streams exist, and refuse to tell a time."""
        start, end = cp.cuda.Event(), cp.cuda.Event(disable_timing=True)
        assert len({start, end}) == 2
        with cp.cuda.Stream() as stream, cp.cuda.Device(0) as card:
            start.record(stream)
            end.record()
            end.synchronize()
            card.synchronize()
        cp.cuda.Stream.null.synchronize()
        with pytest.raises(RuntimeError, match="the simulator has no clock"):
            cp.cuda.get_elapsed_time(start, end)

    def test_unknown_name_says_so(self, cp):
        """A name the stand-in lacks is an error with a way out, not NumPy by chance."""
        with pytest.raises(AttributeError, match=r"cp\.fft.*asnumpy"):
            cp.fft  # noqa: B018

    @pytest.mark.parametrize(
        "path", ["random.normal", "cuda.graph", "cuda.Event().query", "cuda.runtime.memcpy",
                 "random.default_rng(0).normal", "zeros(3).data.ptr", "cuda.Stream.null.graph"]
    )  # fmt: skip
    def test_unknown_name_further_down_says_so(self, cp, path):
        """The same below cp.random, cp.cuda, a stream, an event and an array's memory."""
        with pytest.raises(AttributeError, match=r"stand-in for CuPy has only.*asnumpy") as caught:
            eval(f"cp.{path}", {"cp": cp})
        assert path.rpartition(".")[2] in str(caught.value)

    def test_no_gpu_is_claimed(self, cp):
        """The stand-in counts no devices."""
        assert cp.cuda.runtime.getDeviceCount() == 0
        assert not cp.cuda.is_available()
        with pytest.raises(RuntimeError, match="no GPU"):
            cp.cuda.runtime.getDeviceProperties(0)


class TestDoctor:
    """A report with a cure for each thing that is wrong."""

    def test_reports_this_machine(self, machine):
        """On a machine without a GPU the simulator really runs, and nothing else is demanded."""
        machine(None)
        report = device.doctor()
        found = {check.name: check for check in report.checks}
        assert found["simulator"].ok, found["simulator"]
        assert found["cupy"].ok
        assert found["driver"].ok
        assert found["device"].ok
        assert "no GPU: CuPy is not installed" in found["device"].found
        assert "gpu" not in found

    def test_gpu_asked_for_in_vain_is_reported_not_raised(self, machine):
        """The doctor speaks when everything else refuses."""
        machine(None, "gpu")
        report = device.doctor()
        found = {check.name: check for check in report.checks}
        assert not report.ok
        assert not found["device"].ok
        assert "CuPy is not installed" in found["device"].found
        assert found["device"].cure

    def test_unknown_card_is_reported(self, machine, monkeypatch):
        """A misspelt SOFTMAX_SIM_SPEC has its cure."""
        machine(None, "sim")
        monkeypatch.setenv("SOFTMAX_SIM_SPEC", "voodoo2")
        found = {check.name: check for check in device.doctor().checks}
        assert not found["simulator"].ok
        assert "h200" in found["simulator"].cure

    def test_missing_package_is_named(self, machine, monkeypatch):
        """A dependency that is not there is named with the cure."""
        machine(None)

        def version(name):
            if name == "jupyterlab":
                raise device.metadata.PackageNotFoundError(name)
            return "999"

        monkeypatch.setattr(device.metadata, "version", version)
        check = device._check_packages()
        assert not check.ok
        assert "jupyterlab missing" in check.found
        assert "start.py" in check.cure

    def test_three_forms(self):
        """Text, HTML and JSON tell the same, and markup in a message stays text."""
        report = device.Report(
            (device.Check("cupy", False, "<b> broke", "mend it"), device.Check("python", True, "3"))
        )
        assert "NOT  cupy" in str(report)
        assert "cure: mend it" in str(report)
        assert "to mend: cupy" in str(report)
        assert "&lt;b&gt; broke" in report._repr_html_()
        assert "<b>" not in report._repr_html_()
        told = json.loads(json.dumps(report.to_json()))
        assert told["ok"] is False
        assert told["checks"][0]["cure"] == "mend it"


@needs_gpu
class TestRealGpu:
    """The same on a real card: what the fakes above claim of CuPy holds."""

    @pytest.fixture
    def cp(self, monkeypatch):
        monkeypatch.setenv("SOFTMAX_DEVICE", "gpu")
        return device.cp

    def test_kernel_runs(self, cp):
        """A checked kernel launches, with a Python int for its int."""
        x = cp.arange(32, dtype=cp.float32)
        kernel = cp.RawKernel(SOURCE, "twice")
        kernel((1,), (32,), (x, 32))
        assert x.get().tolist() == [2.0 * i for i in range(32)]
        assert kernel.attributes["shared_size_bytes"] == 0

    def test_scalars_arrive_in_every_type(self, cp):
        """Python numbers reach float, half, 64-bit and small parameters whole."""
        source = """#include <cuda_fp16.h>
        extern "C" __global__ void f(double* out, float a, __half h, long long n, unsigned char c) {
            out[0] = a; out[1] = (double)(float)h; out[2] = (double)n; out[3] = c;
        }"""
        out = cp.zeros(4, dtype=cp.float64)
        cp.RawKernel(source, "f")((1,), (1,), (out, 0.5, 1.5, 2**40, 200))
        assert out.get().tolist() == [0.5, 1.5, 2.0**40, 200.0]

    def test_bfloat16_arrays(self, cp):
        """A bfloat16 array goes to the card, through a kernel and back."""
        import ml_dtypes

        source = """#include <cuda_bf16.h>
        extern "C" __global__ void f(const __nv_bfloat16* x, __nv_bfloat16* y) {
            y[threadIdx.x] = x[threadIdx.x];
        }"""
        x = cp.asarray(np.arange(32).astype(ml_dtypes.bfloat16))
        y = cp.empty_like(x)
        cp.RawKernel(source, "f")((1,), (32,), (x, y))
        assert y.get().astype("f4").tolist() == list(range(32))

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (lambda cp: (np.zeros(4, "f4"), 4), "in host memory"),
            (lambda cp: (cp.zeros(4, "f8"), 4), "array of float32"),
            (lambda cp: (cp.zeros((4, 4), "f4").T, 4), "C-contiguous"),
            (lambda cp: (cp.zeros(4, "f4"), cp.zeros(())), "expected a number, got an array"),
        ],
    )
    def test_wrong_calls(self, cp, args, message):
        """CuPy's own arrays are checked, and the card is unharmed."""
        with pytest.raises(LaunchError, match=message):
            cp.RawKernel(SOURCE, "twice")((1,), (4,), args(cp))
        self.test_kernel_runs(cp)

    @pytest.mark.parametrize("use", [lambda k: k.compile(), lambda k: k((1,), (1,), ())])
    def test_compile_error(self, cp, use):
        """CuPy's compile error arrives with line and text."""
        kernel = cp.RawKernel('extern "C" __global__ void f() {\n  int x = ;\n}', "f")
        with pytest.raises(CompileError, match="expected an expression") as caught:
            use(kernel)
        assert (caught.value.line, caught.value.text) == (2, "int x = ;")

    def test_shared_memory_limit(self, cp):
        """Too much shared memory is refused until the limit is raised."""
        source = 'extern "C" __global__ void f() { extern __shared__ float s[]; s[0] = 1; }'
        kernel = cp.RawKernel(source, "f")
        with pytest.raises(LaunchError, match="max_dynamic_shared_size_bytes"):
            kernel((1,), (1,), (), shared_mem=60000)
        kernel.max_dynamic_shared_size_bytes = 60000
        kernel((1,), (1,), (), shared_mem=60000)
        cp.cuda.Device().synchronize()

    def test_module_functions(self, cp):
        """A function of a RawModule checks, and launches."""
        kernel = cp.RawModule(code=SOURCE).get_function("twice")
        with pytest.raises(LaunchError):
            kernel((1,), (32,), (1,))
        x = cp.ones(32, dtype=cp.float32)
        kernel((1,), (32,), (x, 32))
        assert x.get().tolist() == [2.0] * 32

    def test_device_tells_its_name_and_sizes(self, cp):
        """Name, specification and doctor agree on the card."""
        assert device.name() == cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
        assert device.spec().shared_optin >= 64 * 1024
        assert device.spec().bandwidth > 1e10
        found = {check.name: check for check in device.doctor().checks}
        assert found["gpu"].ok
        assert found["device"].found == device.name()
