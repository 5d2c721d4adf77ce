"""start.py: what it decides, what it says when something is missing, and that it can be re-run."""

import ast
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import start

ROOT = Path(start.ROOT)
SOURCE = (ROOT / "start.py").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """start.py pointed at an empty project of its own, on a machine without a driver."""
    (tmp_path / "pyproject.toml").write_text(
        "[build-system]\n[project]\nname = 'x'\n[tool.setuptools]\n[tool.ruff]\nline-length = 1\n"
    )
    (tmp_path / "constraints.txt").write_text("a==1\n")
    venv = tmp_path / ".venv"
    paths = {"ROOT": tmp_path, "VENV": venv, "STAMP": venv / "start.json"}
    for name, path in {**paths, "LOCK": tmp_path / ".start.lock"}.items():
        monkeypatch.setattr(start, name, str(path))
    monkeypatch.setattr(start, "driver", lambda: None)
    return tmp_path


@pytest.fixture
def fake_run(monkeypatch):
    """In place of `venv` and `pip`: notes the commands, makes a .venv that looks whole."""
    commands = []

    def run(command, what):
        commands.append(command)
        if "venv" in command:
            python = Path(start.venv_python())
            python.parent.mkdir(parents=True)
            python.touch()
            Path(start.VENV, "pyvenv.cfg").touch()

    monkeypatch.setattr(start, "run_shown", run)
    monkeypatch.setattr(start, "usable", lambda: Path(start.venv_python()).exists())
    return commands


# ---------------------------------------------------------------------------------- this machine


def test_old_pythons_can_read_it_and_are_turned_away():
    """start.py parses as Python 3.6, imports only what 3.6 has, and says what is needed."""
    tree = ast.parse(SOURCE, feature_version=(3, 6))
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    imported = {alias.name for node in imports for alias in node.names}
    assert not imported & {"tomllib", "dataclasses", "zoneinfo", "contextvars"}
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names
    with pytest.raises(start.Failure) as failure:
        start.check_python((3, 8, 10))
    assert "3.8" in failure.value.cause
    assert "3.11" in failure.value.cause
    assert "newer Python" in failure.value.cure
    start.check_python((3, 11, 0))


def test_an_old_python_is_told_before_anything_else_happens(monkeypatch, capsys):
    """The message reaches the reader as cause and way out, with exit code 1."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    monkeypatch.setattr(start, "set_up", lambda option: pytest.fail("went on"))
    assert start.main(["test"]) == 1
    said = capsys.readouterr().err
    assert "this is Python 3.9" in said
    assert "Way out:" in said


@pytest.mark.parametrize("lacking", ["venv", "ensurepip"])
def test_a_python_without_venv_names_the_module_and_the_package(lacking):
    """Debian splits these modules off: the cure names its package."""
    with pytest.raises(start.Failure) as failure:
        start.check_modules(lambda name: None if name == lacking else object())
    assert lacking in failure.value.cause
    assert f"python3.{sys.version_info[1]}-venv" in failure.value.cure
    start.check_modules(lambda name: object())


@pytest.mark.parametrize(
    ("found", "choice", "says"),
    [
        (None, "none", "simulator"),
        ((11080, (8, 0)), "none", "CUDA 11.8"),
        ((12020, (8, 0)), "12", "CUDA 12.2"),
        ((12090, (6, 1)), "12", "CUDA 12.9"),
        ((13000, (9, 0)), "13", "CUDA 13.0"),
        ((13000, (7, 5)), "13", "CUDA 13.0"),
        ((13000, (6, 1)), "12", "older"),  # the driver still knows Pascal, CUDA 13 does not
        ((14010, (10, 0)), "13", "CUDA 14.1"),  # drivers run what older toolkits made
    ],
)
def test_the_driver_decides_which_cupy(found, choice, says):
    """Driver version and the oldest card choose the wheel, and a sentence says why."""
    assert start.cupy_for(found)[0] == choice
    assert says in start.cupy_for(found)[1]


@pytest.mark.parametrize(
    ("option", "stamp", "found", "expected"),
    [
        (None, None, None, ("none", False)),
        (None, None, (12040, (8, 6)), ("12", False)),
        ("13", None, None, ("13", True)),
        ("none", None, (13000, (9, 0)), ("none", True)),
        (None, {"cuda": "none", "asked": True}, (13000, (9, 0)), ("none", True)),
        ("auto", {"cuda": "none", "asked": True}, (13000, (9, 0)), ("13", False)),
        (None, {"cuda": "12", "asked": False}, None, ("12", False)),
        (None, {"cuda": "12", "asked": False}, (13000, (9, 0)), ("13", False)),
        (None, {"building": True}, None, ("none", False)),
    ],
)
def test_the_option_wins_and_is_remembered(option, stamp, found, expected):
    """Option, then the remembered option, then the driver; CuPy stays while no driver is seen."""
    assert start.choose_cuda(option, stamp, lambda: found)[:2] == expected


class FakeDriver:
    """libcuda with one attribute table a device; `status` is what cuInit answers."""

    def __init__(self, version, devices, status=0):
        self.version, self.devices, self.status = version, devices, status

    def cuInit(self, flags):
        return self.status

    def cuDriverGetVersion(self, out):
        out._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, out):
        out._obj.value = len(self.devices)
        return 0

    def cuDeviceGetAttribute(self, out, attribute, device):
        out._obj.value = self.devices[device][attribute - 75]
        return 0


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (FakeDriver(13000, [(9, 0)]), (13000, (9, 0))),
        (FakeDriver(12080, [(9, 0), (7, 0)]), (12080, (7, 0))),
        (FakeDriver(13000, []), None),
        (FakeDriver(13000, [(9, 0)], status=100), None),
    ],
)
def test_the_drivers_library_is_asked(library, expected, monkeypatch):
    """Version and the lowest compute capability; no device or a failing cuInit is no driver."""
    monkeypatch.setattr(start.ctypes, "CDLL", lambda name: library)
    assert start.driver() == expected


@pytest.mark.parametrize(
    ("output", "code", "expected"),
    [
        (b"| Driver Version: 550.54   CUDA Version: 12.4  |", 0, (12040, (9, 9))),
        (b"| KMD Version: 595.1   CUDA UMD Version: 13.2  |", 0, (13020, (9, 9))),
        (b"NVIDIA-SMI has failed: couldn't communicate", 9, None),
        (b"CUDA Version: N/A", 0, None),
    ],
)
def test_nvidia_smi_is_read_where_the_library_is_not_found(output, code, expected, monkeypatch):
    """Both forms of its header are understood, and its failures are no driver."""

    def missing(name):
        raise OSError(name)

    done = SimpleNamespace(stdout=output, returncode=code)
    assert start.driver_by_command(lambda *_, **__: done) == expected
    monkeypatch.setattr(start.ctypes, "CDLL", missing)
    monkeypatch.setattr(start, "driver_by_command", lambda: "asked")
    assert start.driver() == "asked"


# ---------------------------------------------------------------------------------- .venv's state


WANT = {"python": "3.11", "root": "/p", "cuda": "13", "asked": False, "pins": "b"}


@pytest.mark.parametrize(
    ("stamp", "usable", "expected"),
    [
        (WANT, True, "ready"),
        (None, False, "rebuild"),
        (None, True, "update"),  # somebody's own environment: install into it, delete nothing
        ({"building": True}, True, "rebuild"),
        ({**WANT, "pins": "a"}, True, "update"),
        ({**WANT, "pins": "a"}, False, "rebuild"),
        ({**WANT, "python": "3.12"}, True, "rebuild"),
        ({**WANT, "root": "/elsewhere"}, True, "rebuild"),
        ({**WANT, "cuda": "none"}, True, "update"),
        ({**WANT, "cuda": "12"}, True, "rebuild"),
    ],
)
def test_what_an_environment_needs(stamp, usable, expected):
    """Half-made, moved, another Python or another CuPy: anew; changed pins: an update."""
    assert start.plan(stamp, WANT, lambda: usable) == expected


def test_the_second_run_calls_nothing(project, fake_run):
    """First venv and pip, then nothing at all, until the pins change; lint options are no pins."""
    start.set_up()
    assert [("venv" in command, "pip" in command) for command in fake_run] == [
        (True, False),
        (False, True),
    ]
    assert ".[dev]" in fake_run[1]
    assert "constraints.txt" in fake_run[1]
    start.set_up()
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace("line-length = 1", "line-length = 2"))
    start.set_up()
    assert len(fake_run) == 2
    (project / "constraints.txt").write_text("a==2\n")
    start.set_up()
    assert len(fake_run) == 3
    assert "pip" in fake_run[2]


def test_an_extra_is_installed_once_for_each_state_of_the_pins(project, fake_run):
    """What a classroom needs comes beside the rest, and again when the pins have changed."""
    start.set_up()
    for _ in range(2):
        start.add_extra("classroom")
    assert len(fake_run) == 3
    assert ".[classroom]" in fake_run[2]
    assert "constraints.txt" in fake_run[2]
    (project / "constraints.txt").write_text("a==2\n")
    start.set_up()
    start.add_extra("classroom")
    assert [command[-3] for command in fake_run[3:]] == [".[dev]", ".[classroom]"]


def test_a_driver_adds_its_cupy(project, fake_run):
    """The extra of the CUDA version goes to pip, and lands in the stamp."""
    start.set_up("12")
    assert ".[dev,cuda12]" in fake_run[-1]
    assert start.read_stamp()["cuda"] == "12"


def test_a_broken_off_installation_is_made_anew(project, fake_run, monkeypatch):
    """Whatever ends pip from outside leaves `building`, and the next run starts from nothing."""
    real = start.run_shown

    def interrupted(command, what):
        if "pip" in command:
            raise KeyboardInterrupt
        real(command, what)

    monkeypatch.setattr(start, "run_shown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start.set_up()
    assert start.read_stamp() == {"building": True}
    (Path(start.VENV) / "half").write_text("a package")
    monkeypatch.setattr(start, "run_shown", real)
    start.set_up()
    assert not (Path(start.VENV) / "half").exists()
    assert start.read_stamp()["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_a_failed_update_keeps_what_worked(project, fake_run, monkeypatch):
    """pip ends by itself (no network): the stamp of the last good state is back."""
    start.set_up()
    before = start.read_stamp()
    (project / "constraints.txt").write_text("a==2\n")

    def fails(command, what):
        raise start.Failure("no network", "connect")

    monkeypatch.setattr(start, "run_shown", fails)
    with pytest.raises(start.Failure):
        start.set_up()
    assert start.read_stamp() == before


def test_a_stamp_is_written_whole_or_not_at_all(project, monkeypatch):
    """A crash while writing leaves the old stamp; a damaged one counts as none."""
    Path(start.VENV).mkdir()
    start.write_stamp({"cuda": "12"})

    def crash(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(start.json, "dump", crash)
    with pytest.raises(OSError, match="No space"):
        start.write_stamp({"cuda": "13"})
    assert start.read_stamp() == {"cuda": "12"}
    Path(start.STAMP).write_text("{")
    assert start.read_stamp() is None


def test_a_foreign_folder_is_not_deleted(project, fake_run):
    """A .venv that is no virtual environment is refused, and so is a file of that name."""
    Path(start.VENV).mkdir()
    precious = Path(start.VENV, "precious")
    precious.touch()
    with pytest.raises(start.Failure, match=r"no virtual environment"):
        start.set_up()
    assert precious.exists()
    precious.unlink()
    Path(start.VENV).rmdir()
    Path(start.VENV).touch()
    with pytest.raises(start.Failure, match=r"file \.venv"):
        start.set_up()


def test_emptying_does_not_follow_links(tmp_path):
    """What a link inside .venv points to stays; .venv itself, perhaps a mount, stays too."""
    kept, venv = tmp_path / "kept", tmp_path / "venv"
    (kept / "deep").mkdir(parents=True)
    (venv / "lib").mkdir(parents=True)
    try:
        (venv / "lib64").symlink_to(kept, target_is_directory=True)
    except OSError:
        assert start.WINDOWS  # the only system that may forbid links
    start.empty(venv)
    assert (kept / "deep").is_dir()
    assert list(venv.iterdir()) == []


def test_the_python_inside_the_environment_cannot_replace_it(project, monkeypatch):
    """Deleting the interpreter that runs is refused with a way out."""
    monkeypatch.setattr(sys, "prefix", start.VENV)
    with pytest.raises(start.Failure) as failure:
        start.clear_venv()
    assert "deactivate" in failure.value.cure


def test_two_installations_at_once_are_refused(project):
    """The second start.py stops while the first holds the folder, and may go on afterwards."""
    with start.alone():
        with pytest.raises(start.Failure, match="another start.py"), start.alone():
            pytest.fail("both got in")
    with start.alone():
        pass


def test_no_disk_space_is_found_out_before_installing(project, fake_run, monkeypatch):
    """Free and needed space are named, and pip is not even tried."""
    monkeypatch.setattr(start.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1e8))
    with pytest.raises(start.Failure, match=r"0\.1 GB are free in .* up to 1\.5 GB"):
        start.set_up()
    assert fake_run == []
    monkeypatch.setattr(start.os, "stat", lambda folder: SimpleNamespace(st_dev=folder))
    with pytest.raises(start.Failure, match=r"up to 1\.1 GB"):
        start.check_room("none")


def test_a_folder_that_cannot_be_written_is_explained(project, fake_run, monkeypatch):
    """The operating system's error becomes cause and way out."""

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system", start.VENV)

    monkeypatch.setattr(start.os, "makedirs", read_only)
    with pytest.raises(start.Failure, match="cannot be written"):
        start.set_up()


# ----------------------------------------------------------------------------- pip and its failures

OFFLINE = """WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(
<urllib3.connection.HTTPSConnection>: Failed to establish a new connection: [Errno -3] Temporary
failure in name resolution')': /numpy/
ERROR: Could not find a version that satisfies the requirement numpy (from versions: none)
ERROR: No matching distribution found for numpy"""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (OFFLINE, "no network"),
        ("ProxyError('Cannot connect to proxy.', RemoteDisconnected())", "no network"),
        ("ReadTimeoutError: Read timed out.", "no network"),
        ("Max retries exceeded: SSLError(CERTIFICATE_VERIFY_FAILED)", "certificate"),
        (OFFLINE + "\nERROR: [Errno 28] No space left on device", "no disk space"),
        ("OSError: [WinError 112] There is not enough space on the disk", "no disk space"),
        ("[Errno 13] Permission denied: '/p/.venv'", "cannot be written"),
        ("[WinError 5] Zugriff verweigert", "cannot be written"),
        ("ERROR: ResolutionImpossible: for help visit", "contradict"),
        ("HINT: This error might have occurred since Long Path support", "too long"),
        ("ERROR: No matching distribution found for numpy==2.4.6", "no version for this Python"),
        ("error: Microsoft Visual C++ 14.0 or greater is required", "compiled"),
        ("line one\nsomething unheard of\n", "Installing failed: something unheard of"),
        ("", "Installing failed: it said nothing"),
    ],
)
def test_pips_failures_are_told_apart(said, cause):
    """Each known failure has its cause and a cure; an unknown one is quoted, never hidden."""
    found = start.explain(said, "Installing failed")
    assert cause in found[0]
    assert len(found[1]) > 20


def test_a_failing_command_becomes_a_failure_with_its_last_lines(capfd):
    """Exit code and output of a real process: the tail is shown, the cause is named."""
    code = "import sys; print('Collecting numpy'); print('[Errno 28] full'); sys.exit(3)"
    with pytest.raises(start.Failure, match="no disk space"):
        start.run_shown([sys.executable, "-c", code], "Installing")
    said = capfd.readouterr()
    assert "[Errno 28] full" in said.err
    assert ": failed" in said.out
    start.run_shown([sys.executable, "-c", ""], "Installing")
    assert ": done" in capfd.readouterr().out


PIP = [
    "Collecting numpy==2.4.6 (from -c constraints.txt)",
    "  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl.metadata (6.6 kB)",
    "  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl (16.5 MB)",
    "Collecting six",
    "  Using cached six-1.17.0-py2.py3-none-any.whl (500 kB)",
]


def test_progress_counts_what_pip_says():
    """Packages and megabytes while pip fetches, then how many it unpacks, with the time so far."""
    times = iter([0.0, 12.0, 30.0])
    progress = start.Progress("Installing", io.StringIO(), lambda: next(times))
    progress.start = next(times)
    for line in PIP:
        progress.see(line)
    assert progress.text() == "Installing: 2 packages found, 17 MB fetched (12 s)"
    progress.see("Installing collected packages: six, numpy")
    assert progress.text() == "Installing: unpacking 2 packages (30 s)"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_moves_with_and_without_a_terminal(terminal):
    """One line redrawn in place on a terminal; whole lines, without control codes, in a log."""
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    progress = start.Progress("Installing", stream)
    progress.every = 0.01
    with progress:
        deadline = time.monotonic() + 10
        while stream.getvalue().count("Installing") < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stream.getvalue().count("Installing") >= 4
    assert ("\r" in stream.getvalue()) == terminal
    assert stream.getvalue().count("\n") == 1 or not terminal
    assert "stopped" in stream.getvalue()  # nobody said that it ended well


# --------------------------------------------------------------------------------------- the words


@pytest.mark.parametrize(
    ("argv", "word", "rest", "cuda"),
    [
        ([], "lab", [], None),
        (["--cuda", "12"], "lab", [], "12"),
        (["lab", "--port", "9999"], "lab", ["--port", "9999"], None),
        (["test", "-k", "a and b", "x.py"], "test", ["-k", "a and b", "x.py"], None),
        (["test", "--cuda", "none", "-q"], "test", ["-q"], "none"),
        (["lessons", "00", "01"], "lessons", ["00", "01"], None),
        (["lint", "--fix"], "lint", ["--fix"], None),
    ],
)
def test_words_and_options(argv, word, rest, cuda):
    """The word comes first and may be missing; what start.py does not know goes on to the tool."""
    found, options, others = start.parse(argv)
    assert (found, others, options.cuda) == (word, rest, cuda)


@pytest.mark.parametrize("argv", [["tset"], ["--cuda", "12", "test"]])
def test_a_wrong_word_lists_the_right_ones(argv, capsys):
    """A slip ends in one sentence with a way out, before anything is installed."""
    assert start.main(argv) == 1
    assert "Way out:" in capsys.readouterr().err


def test_jupyterlab_listens_on_this_machine_only_and_keeps_its_token():
    """Loopback, the first lesson, no word about tokens or ports; root and no display said so."""
    plain = start.jupyter_arguments(browser=True, as_root=False)
    assert "--ServerApp.ip=127.0.0.1" in plain
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in plain
    assert not any(
        word in " ".join(plain) for word in ("token", "password", "port", "--allow-root")
    )
    bare = start.jupyter_arguments(browser=False, as_root=True)
    assert set(bare) - set(plain) == {"--allow-root", "--no-browser"}
    assert (ROOT / start.FIRST_LESSON).is_file()


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_where_a_browser_can_open(environ, platform, expected):
    """A Unix desktop shows itself in the environment; Windows and macOS always have one."""
    assert start.has_display(environ, platform) is expected


@pytest.mark.parametrize(("windows", "folder"), [(True, "Scripts"), (False, "bin")])
def test_programs_of_the_environment_come_first(windows, folder):
    """Their folder leads PATH; modules from elsewhere cannot leak in."""
    env = start.child_environment({"PATH": "/usr/bin", "PYTHONPATH": "/ros"}, windows)
    assert env["PATH"].split(os.pathsep) == [os.path.join(start.VENV, folder), "/usr/bin"]
    assert "PYTHONPATH" not in env
    assert env["JUPYTER_PREFER_ENV_PATH"] == "1"


def test_each_word_starts_its_tool(monkeypatch):
    """Test, lessons and lint hand what follows to pytest, the notebook runner and both checkers."""
    calls = []

    def note(*arguments):
        calls.append(arguments)
        return len(calls) == 3  # the first checker of lint fails

    monkeypatch.setattr(start, "become", note)
    monkeypatch.setattr(start, "call", note)
    start.test(None, ["-x"])
    start.lessons(None, ["00"])
    assert start.lint(None, ["--fix"]) == 1
    assert calls == [
        ("-m", "pytest", "-x"),
        ("-m", "helpers.notebooks", "run", "00"),
        ("-m", "ruff", "check", "--fix"),
        ("-m", "helpers.notebooks", "check", "--fix"),
    ]


def test_help_installs_nothing(tmp_path):
    """A real run of a copy: the words are listed, and the folder stays as it was."""
    (tmp_path / "start.py").write_text(SOURCE, encoding="utf-8")
    said = subprocess.run(
        [sys.executable, "start.py", "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert said.returncode == 0
    for word in start.WORDS:
        assert word in said.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["start.py"]


@pytest.mark.skipif(start.WINDOWS, reason="Windows has no such signal for one process")
def test_ctrl_c_stops_a_real_installation_without_a_finished_stamp(tmp_path):
    """A real run, stopped while it makes .venv: exit code 130, what to do next, no stamp."""
    (tmp_path / "start.py").write_text(SOURCE, encoding="utf-8")
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    running = subprocess.Popen(
        [sys.executable, "start.py", "venv", "--cuda", "none"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    stamp, deadline = tmp_path / ".venv" / "start.json", time.monotonic() + 30
    while not stamp.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    try:
        said, _ = running.communicate(timeout=30)
    finally:
        with contextlib.suppress(OSError):
            running.kill()
    assert running.returncode == 130
    assert "Run the same command again" in said
    assert '"building"' in stamp.read_text()
