"""python -m helpers: what it prints, its exit codes, and its errors without a traceback."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import bench, device, launch, recorded, versions
from helpers.__main__ import main

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """--device sets the environment; here it is put back."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")


@pytest.fixture
def no_cupy(monkeypatch):
    """As on a machine where CuPy is not installed."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    device._resolve.cache_clear()
    yield
    device._resolve.cache_clear()


@pytest.fixture
def cli(capsys):
    """Runs a command in this process: (exit code, stdout, stderr)."""

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def test_run_prints_json_with_exactly_these_keys(cli):
    """The names that other tools rely on, and the counters of that launch."""
    code, out, err = cli("run", "v1", "--rows", "3", "--cols", "5", "--json")
    told = json.loads(out)
    assert code == 0
    assert err == ""
    assert list(told) == ["version", "rows", "cols", "dtype", "device", "rel_error", "counters"]
    assert (told["version"], told["rows"], told["cols"], told["dtype"]) == ("v1", 3, 5, "float32")
    assert told["device"] == device.name()
    assert 0 <= told["rel_error"] <= 1e-6
    assert told["counters"] == dict(launch.profile("v1", 3, 5).counters)


@pytest.mark.parametrize("name", versions.VERSIONS)
def test_run_takes_every_version(cli, name):
    """Whatever `list` shows can be run, with its own type given or not."""
    dtype = versions.get(name).dtype
    code, out, _ = cli("run", name, "--rows", "2", "--cols", "33", "--dtype", dtype)
    assert code == 0
    assert f"{name} at 2×33 {dtype}" in out
    assert "right" in out
    assert "lobal_op_ld" in out


def test_seed_changes_the_numbers(cli):
    """Two seeds are two inputs, one seed is one."""
    errors = [
        json.loads(cli("run", "v0", "--rows", "4", "--cols", "99", "--seed", seed, "--json")[1])
        for seed in ("1", "1", "2")
    ]
    assert errors[0]["rel_error"] == errors[1]["rel_error"] != errors[2]["rel_error"]


def test_wrong_result_is_exit_code_1(cli, monkeypatch, tmp_path):
    """A kernel whose numbers are wrong, NaN included, does not pass, and its JSON is JSON."""
    version = versions.get("copy")
    nan = "__int_as_float(0x7fc00000)"
    source = 'extern "C" __global__ void copy_kernel(const float* x, float* y, int rows, int cols)'
    (tmp_path / version.file).write_text(f"{source} {{ y[threadIdx.x % cols] = {nan}; }}")
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    code, out, _ = cli("run", "copy", "--rows", "1", "--cols", "8")
    assert code == 1
    assert "WRONG" in out
    code, out, _ = cli("run", "copy", "--rows", "1", "--cols", "8", "--json")
    assert code == 1
    assert json.loads(out)["rel_error"] is None
    assert "NaN" not in out


BAD_LINES = {
    "run v99": ("ValueError", "no version called 'v99'"),
    "run v1 --rows 0": ("LaunchError", "rows=0"),
    "run v1 --cols 0": ("LaunchError", "cols=0"),
    "run v1 --rows -3": ("LaunchError", "rows=-3"),
    "run v4 --rows 1 --cols 100000": ("LaunchError", "v4 takes at most"),
    "run v1 --cols 3000000000": ("LaunchError", "cols=3000000000"),
    "run v1 --dtype float16": ("LaunchError", "for float16 there are: naive_f16"),
    "run v1 --dtype complex64": ("LaunchError", "no version takes complex64"),
    "run v1 --seed -1": ("UsageError", "a seed is 0 or more"),
    "run v1 --rows many": ("UsageError", "invalid int value: 'many'"),
    "run v1 --device tpu": ("UsageError", "invalid choice: 'tpu'"),
    "run": ("UsageError", "version"),
    "run v1 --colour": ("UsageError", "--colour"),
    "dance": ("UsageError", "dance"),
    "bench v99": ("ValueError", "no version called 'v99'"),
    "bench": ("BenchError", "no clock"),
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_input_is_one_clear_error(cli, line):
    """Exit code 2, plain words on stderr; with --json the same as an object on stdout."""
    kind, message = BAD_LINES[line]
    code, _, err = cli(*line.split())
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    code, out, err = cli(*line.split(), "--json")
    assert code == 2
    assert message in err
    error = json.loads(out)["error"]
    assert list(error) == ["kind", "message"]
    assert error["kind"] == kind
    assert message in error["message"]


@pytest.mark.parametrize("words", [("run", "v1"), ("doctor",), ("bench",)])
def test_gpu_without_a_gpu(cli, no_cupy, words):
    """--device gpu is never met by the simulator: cause and cure on stderr, exit code 2."""
    code, out, err = cli(*words, "--device", "gpu")
    assert code == 2
    assert out == ""
    assert "CuPy is not installed" in err
    assert "--device sim" in err
    code, out, _ = cli(*words, "--device", "gpu", "--json")
    assert code == 2
    assert json.loads(out)["error"]["kind"] == "DeviceError"


def test_missing_file(cli, monkeypatch, tmp_path):
    """A version whose .cu is gone is named with the way to get it back."""
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    code, _, err = cli("run", "v1", "--rows", "1", "--cols", "1")
    assert code == 2
    assert "v1_block_shared.cu" in err
    assert "git checkout" in err


def test_source_that_does_not_compile(cli, monkeypatch, tmp_path):
    """The compiler's message, with file, line and text of the line."""
    source = versions.get("v1").source + "\nint main( {"
    (tmp_path / "v1_block_shared.cu").write_text(source)
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    code, _, err = cli("run", "v1", "--rows", "1", "--cols", "1")
    assert code == 2
    assert f"v1_block_shared.cu:{len(source.splitlines())}: int main( {{" in err


def test_not_enough_memory(cli, monkeypatch):
    """A matrix that does not fit is an error in words, not a traceback."""

    def full(*_):
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr(launch, "examine", full)
    code, _, err = cli("run", "v1")
    assert code == 2
    assert "not enough memory: Unable to allocate 8.00 TiB" in err


def test_interrupt_is_quiet(cli, monkeypatch):
    """Ctrl-C ends a long run without a traceback."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "examine", stop)
    assert cli("run", "v1")[0] == 130


def test_no_word_prints_help(cli):
    """python -m helpers alone shows what there is."""
    code, out, _ = cli()
    assert code == 0
    assert all(word in out for word in ("doctor", "run", "bench", "list"))


def test_list_is_the_catalogue(cli):
    """Every version in reading order, as text and as JSON."""
    code, out, _ = cli("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(versions.VERSIONS)
    told = json.loads(cli("list", "--json")[1])
    assert [version["name"] for version in told] == list(versions.VERSIONS)


def test_doctor_reports(cli):
    """Text and JSON say the same; the exit code is 0 only if all is well."""
    code, out, _ = cli("doctor")
    assert "simulator" in out
    assert "python" in out
    told = json.loads(cli("doctor", "--json")[1])
    assert (code == 0) == told["ok"]
    assert {"python", "packages", "nvrtc", "simulator", "device"} <= {
        check["name"] for check in told["checks"]
    }


def figure(name="v1", us=70.0):
    return recorded.Figure(
        name, 4096, 4096, "float32", us, us, us, 50, 1917.0, 0.5, "recorded", "NVIDIA H200",
        "2026-11-30", "580.159.04",
    )  # fmt: skip


@pytest.fixture
def known(monkeypatch):
    """A record with one figure at the default size, and one of a long row."""
    mine = dataclasses.replace(figure(), kernel=versions.get("v1").source_hash)
    rows = (mine, dataclasses.replace(mine, cols=65536, us=99.0))
    record = recorded.Record("NVIDIA H200", "580", "2026-11-30", "a method", {},
                             {"v1": mine.kernel}, rows)  # fmt: skip
    monkeypatch.setattr(recorded, "_records", lambda *_: [record])
    return record


def test_bench_on_the_simulator_shows_the_recorded_table(cli, known):
    """No time is made up: the recorded figures are shown with their device and date."""
    code, out, err = cli("bench")
    assert code == 2
    assert "no clock" in err
    assert "recorded, NVIDIA H200, 2026-11-30" in out
    assert "older kernel" not in out
    assert "99.0" not in out
    told = json.loads(cli("bench", "--json")[1])
    assert told["error"]["kind"] == "BenchError"
    assert [(row["name"], row["us"]) for row in told["recorded"]] == [("v1", 70.0)]


def test_a_sweep_on_the_simulator_shows_every_recorded_size(cli, known):
    """The whole table, where the ladder's is that of one size."""
    code, out, err = cli("bench", "--sweep")
    assert code == 2
    assert "no clock" in err
    assert all(us in out for us in ("70.0", "99.0"))


def test_bench_names_recorded_kernels_that_have_changed_since(cli, known, monkeypatch):
    """Their figures are shown, but not as if they were of today's source."""
    old = [dataclasses.replace(row, kernel="another source") for row in known.rows]
    monkeypatch.setattr(recorded, "figures", lambda **size: old)
    assert "recorded with an older kernel: v1" in cli("bench")[1]


def test_bench_prints_what_was_measured(cli, known, monkeypatch, tmp_path):
    """On a GPU the record is printed and written; the command line's words reach the bench."""
    asked = []

    def ladder(*args, **more):
        asked.append((*args, more))
        return known

    monkeypatch.setattr(bench, "ladder", ladder)
    words = ("bench", "v1", "v3", "--rows", "64", "--cols", "128", "--repeats", "7")
    code, out, _ = cli(*words)
    assert code == 0
    assert "70.0" in out and "a method" in out  # noqa: PT018
    assert asked == [(64, 128, ["v1", "v3"], 7, {"peers": False})]
    assert json.loads(cli(*words, "--json")[1])["rows"][0]["name"] == "v1"
    cli("bench", "--peers", "--out", str(tmp_path / "mine.json"))
    assert asked[-1] == (4096, 4096, None, 50, {"peers": True})
    assert recorded.load(tmp_path / "mine.json").kernels == known.kernels


def test_a_sweep_is_written_to_the_file_named_or_to_the_default(cli, known, monkeypatch, tmp_path):
    """The sweep writes as it goes; the default is a file of the device and day."""
    asked = []
    monkeypatch.setattr(bench, "sweep", lambda **more: asked.append(more) or known)
    monkeypatch.setattr(bench, "default_file", lambda: tmp_path / "default.json")
    assert cli("bench", "--sweep")[0] == 0
    assert cli("bench", "--sweep", "--out", str(tmp_path / "a.json"), "--repeats", "9")[0] == 0
    assert asked == [{"path": tmp_path / "default.json", "repeats": 50},
                     {"path": tmp_path / "a.json", "repeats": 9}]  # fmt: skip


def test_bench_refuses_before_it_measures(cli, known, tmp_path):
    """A folder that is not there, or names for a sweep that times everything."""
    code, _, err = cli("bench", "--out", str(tmp_path / "nowhere" / "a.json"))
    assert (code, "there is no folder" in err) == (2, True)
    code, _, err = cli("bench", "v1", "--sweep")
    assert (code, "--sweep times every version" in err) == (2, True)


def test_reader_that_stops_reading():
    """`python -m helpers list | head -1` ends without a traceback."""
    command = [sys.executable, "-m", "helpers", "list"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def test_from_the_shell():
    """The module runs as a program, and its error leaves stdout to the JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "helpers", "run", "v1", "--rows", "0", "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "LaunchError"
    assert done.stderr.startswith("error: v1 got rows=0")
