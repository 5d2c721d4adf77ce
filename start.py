#!/usr/bin/env python3
"""Set the project up in .venv and do one thing with it. Nothing has to be installed before.

    python3 start.py                 open the lessons in JupyterLab (the word `lab` may be left out)
    python3 start.py test ...        run the tests; what follows goes to pytest
    python3 start.py lessons ...     run every notebook, or those named, without a browser
    python3 start.py lint [--fix]    check the code's style and that notebooks carry no outputs
    python3 start.py bench ...       time the versions on a GPU; --peers, --sweep, version names
    python3 start.py profile-gpu ... count with Nsight Compute on a GPU; version names, --out DIR
    python3 start.py bench-sim ...   how fast the simulator is here; --rows, --cols, version names
    python3 start.py course [FOLDER] write a course for nbgrader; --only EXERCISE ..., --device gpu
    python3 start.py test-classroom  nbgrader and JupyterHub from end to end; some minutes
    python3 start.py venv            only set up

Options, after the word:
    --cuda 12|13|none|auto   the CuPy to install; without it the NVIDIA driver decides. The choice
                             is remembered, `auto` forgets it
    --no-browser             print JupyterLab's address instead of opening it
    -h, --help               this text

The first call installs (some minutes, with a network connection); later ones start at once and
need no network. Standard library only, and old Pythons must be able to read it to be turned away.
"""

import argparse
import collections
import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.realpath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "start.json")
LOCK = os.path.join(ROOT, ".start.lock")
FIRST_LESSON = "notebooks/00_start_here.ipynb"
OLDEST = (3, 11)
WINDOWS = os.name == "nt"

# Bytes, a little over those seen on Linux: what a fresh .venv holds in the end, and what pip needs
# in the folder of temporary files meanwhile.
ROOM = {"none": (1.1e9, 0.4e9), "12": (4e9, 2.4e9), "13": (3e9, 1.7e9)}


class Failure(Exception):
    """A reason to stop that the reader can act on: the cause and the way out."""

    def __init__(self, cause, cure):
        super().__init__(cause)
        self.cause, self.cure = cause, cure


# ------------------------------------------------------------------------ what this machine offers


def check_python(version):
    """Raise Failure for a Python too old for the lessons."""
    if tuple(version[:2]) < OLDEST:
        raise Failure(
            "this is Python %d.%d, and the lessons need %d.%d or newer" % (*version[:2], *OLDEST),
            "install a newer Python and call it by name, for example: python3.12 start.py",
        )


def check_modules(find=importlib.util.find_spec):
    """Raise Failure for a Python that cannot make a virtual environment with pip in it."""
    missing = [name for name in ("venv", "ensurepip") if find(name) is None]
    if missing:
        raise Failure(
            "this Python lacks its module %s, so it cannot make .venv" % " and ".join(missing),
            "on Debian or Ubuntu: apt install python%d.%d-venv; elsewhere install Python with pip "
            "and venv included" % sys.version_info[:2],
        )


def driver():
    """(CUDA version as 1000 * major + 10 * minor, lowest compute capability), or None.

    Asks the driver's own library, since CuPy needs that very library; where it cannot be loaded,
    nvidia-smi. None without a driver or without a device that answers.
    """
    try:
        library = ctypes.CDLL("nvcuda.dll" if WINDOWS else "libcuda.so.1")
    except OSError:
        return driver_by_command()
    version, count, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if library.cuInit(0) or library.cuDriverGetVersion(ctypes.byref(version)):
        return None
    library.cuDeviceGetCount(ctypes.byref(count))
    capabilities = []
    for device in range(count.value):
        pair = []
        for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            library.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            pair.append(number.value)
        capabilities.append(tuple(pair))
    return (version.value, min(capabilities)) if capabilities else None


def driver_by_command(run=subprocess.run):
    """The same from nvidia-smi, which says nothing here of the compute capability: (9, 9)."""
    try:
        done = run(["nvidia-smi"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"CUDA (?:\w+ )?Version\s*:\s*(\d+)\.(\d+)", done.stdout)
    if done.returncode or not found:
        return None
    return 1000 * int(found.group(1)) + 10 * int(found.group(2)), (9, 9)


def cupy_for(found):
    """("12", "13" or "none", a sentence on why) for what `driver` found."""
    if found is None:
        return "none", "No NVIDIA driver found: no CuPy, the kernels run on the simulator."
    version, capability = found
    name = "CUDA %d.%d" % (version // 1000, version % 1000 // 10)
    if version < 12000:
        return "none", "The NVIDIA driver stops at %s and CuPy needs 12.0: no CuPy." % name
    if version < 13000:
        return "12", "NVIDIA driver for %s found: installing CuPy for CUDA 12." % name
    if capability < (7, 5):
        return "12", "A GPU older than CUDA 13 supports found: installing CuPy for CUDA 12."
    return "13", "NVIDIA driver for %s found: installing CuPy for CUDA 13." % name


def choose_cuda(option, stamp, find):
    """(choice, was it asked for, sentence): the option, else the remembered one, else the driver.

    CuPy that is installed stays while no driver is seen: it harms nothing, and drivers come back.
    """
    stamp = stamp or {}
    if option in ("12", "13", "none"):
        return option, True, "CuPy as asked for: %s." % option
    if stamp.get("asked") and option != "auto":
        return stamp["cuda"], True, "CuPy as asked for before: %s." % stamp["cuda"]
    found = find()
    if found is None and stamp.get("cuda", "none") != "none":
        return stamp["cuda"], False, "No NVIDIA driver found: CuPy stays installed."
    choice, why = cupy_for(found)
    return choice, False, why


# --------------------------------------------------------------------------- the state of .venv


def venv_python(windows=WINDOWS):
    return os.path.join(VENV, *(("Scripts", "python.exe") if windows else ("bin", "python")))


def read_stamp():
    """What the last installation left; {"building": True} when it never ended; None for none."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) else None


def write_stamp(stamp):
    """Whole or not at all: the old stamp stays until the new one is on the disk."""
    with open(STAMP + ".new", "w", encoding="utf-8") as file:
        json.dump(stamp, file, indent=1)
    os.replace(STAMP + ".new", STAMP)


def wanted(cuda, asked):
    """The stamp that says everything is as it should be."""
    import tomllib  # not at the top: old Pythons lack it, and must come as far as their error

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)
    asks = [project["build-system"], project["project"], project["tool"]["setuptools"]]
    pins = hashlib.sha256(json.dumps(asks, sort_keys=True).encode())
    with open(os.path.join(ROOT, "constraints.txt"), "rb") as file:
        pins.update(file.read().replace(b"\r\n", b"\n"))
    return {
        "python": "%d.%d" % sys.version_info[:2],
        "root": ROOT,
        "cuda": cuda,
        "asked": asked,
        "pins": pins.hexdigest(),
    }


def plan(stamp, want, usable):
    """What .venv needs: "ready", "update" or "rebuild"; `usable()` as below.

    A folder that moved or another Python breaks a virtual environment, and two CuPys in one
    environment break each other; changed pins and a first CuPy are an update.
    """
    if stamp == want:
        return "ready"
    stamp = stamp or {}
    broken = stamp.get("building") or any(
        key in stamp and stamp[key] != want[key] for key in ("python", "root")
    )
    other_cupy = stamp.get("cuda", "none") not in ("none", want["cuda"])
    return "rebuild" if broken or other_cupy or not usable() else "update"


def usable():
    """True when .venv has a Python of this very version, and pip."""
    probe = "import pip, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        said = subprocess.check_output([venv_python(), "-I", "-c", probe], stderr=subprocess.PIPE)
    except (OSError, subprocess.CalledProcessError):
        return False
    return said.decode().strip() == "%d.%d" % sys.version_info[:2]


def empty(folder):
    """Delete what `folder` holds but not itself: it may be a link or a mount."""
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def clear_venv():
    """Make .venv an empty folder; refuse to delete what is no virtual environment."""
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        raise Failure(
            ".venv has to be made anew, and the Python that runs start.py is the one inside it",
            "leave the environment (deactivate) and run start.py with another Python",
        )
    if os.path.isdir(VENV):
        ours = any(os.path.exists(path) for path in (os.path.join(VENV, "pyvenv.cfg"), STAMP))
        if os.listdir(VENV) and not ours:
            raise Failure(
                "there is a folder .venv that is no virtual environment", "move it out of the way"
            )
        if os.listdir(VENV):
            print("Replacing .venv: it is half-made, moved or for another Python or CUDA.")
        empty(VENV)
    elif os.path.lexists(VENV):
        raise Failure("there is a file .venv where a folder has to be", "move it out of the way")
    os.makedirs(VENV, exist_ok=True)


def check_room(cuda):
    """Raise Failure when the disk, or that of temporary files, cannot hold an installation."""
    room, meanwhile = ROOM[cuda]
    needed = {ROOT: room, tempfile.gettempdir(): meanwhile}
    if len({os.stat(folder).st_dev for folder in needed}) == 1:
        needed = {ROOT: room + meanwhile}
    for folder, most in needed.items():
        free = shutil.disk_usage(folder).free
        if free < most:
            raise Failure(
                "no disk space: %.1f GB are free in %s, and installing takes up to %.1f GB there"
                % (free / 1e9, folder, most / 1e9),
                "free some space, or move the project (TMPDIR moves temporary files) to a larger "
                "disk",
            )


@contextlib.contextmanager
def alone():
    """Hold the lock of this folder, so that two start.py never install into one .venv."""
    with open(LOCK, "a") as file:
        try:
            lock(file)
        except (BlockingIOError, PermissionError):
            raise Failure(
                "another start.py is installing in this folder",
                "wait until it has finished, then run this one again",
            ) from None
        except OSError:
            pass  # a file system without locks: carry on unprotected
        yield


def lock(file):
    """Take the file's lock or raise at once; the system frees it when the process ends."""
    if WINDOWS:
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def set_up(option=None):
    """Make .venv what pyproject.toml, constraints.txt and the driver ask for; fast when it is."""
    stamp = read_stamp()
    cuda, asked, why = choose_cuda(option, stamp, driver)
    want = wanted(cuda, asked)
    if stamp == want and os.path.exists(venv_python()):
        return
    try:
        with alone():
            install(read_stamp(), want, why)
    except OSError as error:
        raise Failure(*explain(str(error), "setting up .venv failed")) from error


def install(stamp, want, why):
    """Create or update .venv; the stamp is written last, so a broken-off run starts afresh."""
    todo = plan(stamp, want, usable)
    if todo == "ready" and os.path.exists(venv_python()):
        return  # another start.py has just done it
    print(why)
    if todo == "update":
        write_stamp({"building": True})
    else:
        check_modules()
        clear_venv()
        check_room(want["cuda"])
        write_stamp({"building": True})
        run_shown([sys.executable, "-m", "venv", VENV], "Creating .venv")
    try:
        pip_install("dev" if want["cuda"] == "none" else "dev,cuda" + want["cuda"], "Installing")
    except Failure:
        if todo == "update":  # pip ended by itself: what was installed before still works
            write_stamp(stamp or {})
        raise
    no_news()
    write_stamp(want)


def pip_install(extras, what):
    pip = [venv_python(), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    run_shown([*pip, "-e", ".[%s]" % extras, "-c", "constraints.txt"], what)


def add_extra(name):
    """Install an extra into .venv as well, once for each state of the pins."""
    mark = os.path.join(VENV, name + ".extra")
    pins = read_stamp()["pins"]
    with alone():
        if os.path.exists(mark):
            with open(mark, encoding="utf-8") as file:
                if file.read() == pins:
                    return
        pip_install(name, "Installing what a %s needs" % name)
        with open(mark, "w", encoding="utf-8") as file:
            file.write(pins)


def no_news():
    """Keep JupyterLab's question about news, and its request to the network, out of the lessons."""
    folder = os.path.join(VENV, "share", "jupyter", "lab", "settings")
    os.makedirs(folder, exist_ok=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    with open(os.path.join(folder, "overrides.json"), "w", encoding="utf-8") as file:
        json.dump({"@jupyterlab/apputils-extension:notification": quiet}, file)


# ------------------------------------------------------------------- running pip, and its failures

# What pip or the system says, why, and the way out. The first that is found counts: a network
# failure is followed by "no matching distribution", and a full disk can follow a network hiccup.
CAUSES = (
    (
        r"No space left|Errno (28|122)\b|Disk quota|not enough space|WinError 112\b",
        "no disk space",
        "free some space, or move the project (TMPDIR moves temporary files) to a larger disk",
    ),
    (
        r"enable-long-paths|Long Path",
        "a path is too long for Windows",
        "switch long paths on in Windows, or move the project to a short path such as C:\\softmax",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerification",
        "the package index's certificate was not accepted (a proxy that opens connections?)",
        "point pip to your network's certificates: set PIP_CERT to their file",
    ),
    (
        r"ResolutionImpossible|conflicting dependencies",
        "the pinned versions contradict each other or your own pip configuration",
        "compare `pip config list` with constraints.txt, or run with PIP_CONFIG_FILE=%s"
        % os.devnull,
    ),
    (
        r"NewConnectionError|ConnectionError|Temporary failure in name resolution|getaddrinfo"
        r"|Name or service not known|nodename nor servname|Network is unreachable"
        r"|Connection refused|Connection reset|Max retries|ConnectTimeout|ReadTimeout|timed out"
        r"|Connection broken|ProxyError|NameResolutionError",
        "no network: the package index cannot be reached",
        "connect to the network (or set HTTPS_PROXY) and run this again; it is needed only once",
    ),
    (
        r"Read-only file system|Permission denied|Access is denied|Errno (13|30)\b|WinError 5\b",
        "the project's folder cannot be written, or a program still uses its .venv",
        "close JupyterLab if it runs from there, or copy the project to a folder of your own",
    ),
    (
        r"requires a different Python|No matching distribution found|is not a supported wheel",
        "a package has no version for this Python on this machine",
        "use a Python from 3.11 to 3.13, 64 bit",
    ),
    (
        r"Failed building wheel|Microsoft Visual C\+\+|error: command '.*' failed|Failed to build",
        "a package had to be compiled here and that failed: it has no wheel for this Python",
        "use a Python from 3.11 to 3.13, 64 bit",
    ),
)


def explain(text, otherwise):
    """(cause, cure) for what pip or the operating system said."""
    for pattern, cause, cure in CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return cause, cure
    last = text.strip().splitlines()[-1:] or ["it said nothing"]
    return "%s: %s" % (otherwise, last[0].strip()), "run this again; the lines above say more"


def run_shown(command, what):
    """Run a command of the installation under a moving line; Failure with cause and cure."""
    env = dict(child_environment(), PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    lines = []
    with Progress(what) as progress:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            for line in process.stdout:
                lines.append(line.decode("utf-8", "replace").rstrip())
                progress.see(lines[-1])
            code = process.wait()
            progress.end = "failed" if code else "done"
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code:
        kept = [line[:200] for line in lines if "WARNING" not in line][-15:]
        print("\n".join("    " + line for line in kept), file=sys.stderr)
        raise Failure(*explain("\n".join(lines), "%s failed" % what))


class Progress:
    """A line that keeps moving while pip works: redrawn on a terminal, now and then elsewhere."""

    SIZE = re.compile(r"(?:Downloading|Using cached) \S+\.(?:whl|gz) \(([\d.]+) (kB|MB|GB)\)")
    UNIT = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}

    def __init__(self, what, stream=None, clock=time.monotonic):
        self.what, self.clock = what, clock
        self.stream = stream or sys.stdout
        self.redraws = self.stream.isatty()
        self.every = 0.2 if self.redraws else 10
        self.packages, self.megabytes, self.unpacking = 0, 0.0, 0
        self.stop, self.end = threading.Event(), "stopped"

    def see(self, line):
        """Read one line of pip's."""
        size = self.SIZE.search(line)
        if line.startswith("Collecting "):
            self.packages += 1
        elif size:
            self.megabytes += float(size.group(1)) * self.UNIT[size.group(2)]
        elif line.startswith("Installing collected packages:"):
            self.unpacking = line.count(",") + 1

    def text(self):
        state = ""
        if self.unpacking:
            state = ": unpacking %d packages" % self.unpacking
        elif self.packages:
            state = ": %d packages found, %.0f MB fetched" % (self.packages, self.megabytes)
        return "%s%s (%.0f s)" % (self.what, state, self.clock() - self.start)

    def draw(self, turn=0):
        self.put("%s %s" % ("|/-\\"[turn % 4], self.text()) if self.redraws else self.text())

    def put(self, text, end=""):
        """One line: over the last one on a terminal, below it elsewhere."""
        if self.redraws:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + text[:width].ljust(width), end=end, file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)

    def keep_moving(self):
        turn = 0
        while not self.stop.wait(self.every):
            self.draw(turn)
            turn += 1

    def __enter__(self):
        self.start = self.clock()
        self.put(self.what + " ...")
        self.thread = threading.Thread(target=self.keep_moving, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.put("%s: %s" % (self.text(), self.end), end="\n")


# --------------------------------------------------------------------------------------- the words


def child_environment(environ=None, windows=WINDOWS):
    """The environment for programs in .venv: its programs first, no modules from elsewhere."""
    env = dict(os.environ if environ is None else environ)
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    env["VIRTUAL_ENV"] = VENV
    env["PATH"] = os.path.dirname(venv_python(windows)) + os.pathsep + env.get("PATH", os.defpath)
    env["JUPYTER_PREFER_ENV_PATH"] = "1"  # else a kernel in the user's home may take our place
    env["PYTHONUTF8"] = "1"
    return env


def call(*arguments):
    """Run Python of .venv with these arguments in the project's folder; its exit code."""
    process = subprocess.Popen([venv_python(), *arguments], cwd=ROOT, env=child_environment())
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # the program has it too, and decides (JupyterLab asks before it stops)


def become(*arguments):
    """Like `call`, but where that exists the program takes our place, signals included."""
    if WINDOWS:
        return call(*arguments)
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execve(venv_python(), [venv_python(), *arguments], child_environment())


def has_display(environ=None, platform=sys.platform):
    """Can a browser window appear here? Only Unix desktops say so in their environment."""
    env = os.environ if environ is None else environ
    if platform in ("win32", "darwin"):
        return True
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def jupyter_arguments(browser, as_root):
    """JupyterLab on the first lesson: this machine only, with its token, on the next free port."""
    arguments = [
        "-m",
        "jupyterlab",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.root_dir=" + ROOT,
        "--LabApp.default_url=/lab/tree/" + FIRST_LESSON,
    ]
    if as_root:
        arguments.append("--allow-root")
    if not browser:
        arguments.append("--no-browser")
    return arguments


def lab(options, rest):
    browser = has_display() and not options.no_browser
    where = "in your browser" if browser else "at the address that JupyterLab prints below"
    print("Opening %s %s. Ctrl-C stops it." % (FIRST_LESSON, where))
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return become(*jupyter_arguments(browser, as_root), *rest)


def test(options, rest):
    return become("-m", "pytest", *rest)


def test_classroom(options, rest):
    add_extra("classroom")
    return become("-m", "pytest", "-s", "classroom/tests", *rest)


def course(options, rest):
    add_extra("classroom")
    return become("-m", "helpers.course", "build", *rest)


def lessons(options, rest):
    return become("-m", "helpers.notebooks", "run", *rest)


def lint(options, rest):
    return call("-m", "ruff", "check", *rest) | call("-m", "helpers.notebooks", "check", *rest)


def bench(options, rest):
    return become("-m", "helpers", "bench", *rest)


def bench_sim(options, rest):
    return become("-m", "helpers.bench_sim", *rest)


def profile_gpu(options, rest):
    return become("-m", "helpers", "profile-gpu", *rest)


def venv(options, rest):
    if rest:
        raise Failure("venv takes no %s" % " ".join(rest), "see python3 start.py --help")
    script = os.path.join(os.path.dirname(venv_python()), "activate")
    print("Ready. To work in it yourself: %s%s" % ("" if WINDOWS else "source ", script))
    return 0


WORDS = collections.OrderedDict(
    (f.__name__.replace("_", "-"), f)
    for f in (
        lab, venv, test, lessons, lint, bench, bench_sim, profile_gpu, course, test_classroom
    )  # fmt: skip
)


def parse(argv):
    """(word, options, the rest): the word comes first and may be missing."""
    argv = list(argv)
    word = argv.pop(0) if argv and not argv[0].startswith("-") else "lab"
    if word not in WORDS:
        raise Failure("there is no word %r" % word, "one of: " + ", ".join(WORDS))
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--cuda", choices=("12", "13", "none", "auto"))
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    options, rest = parser.parse_known_args(argv)
    if word == "lab" and set(rest) & set(WORDS):
        raise Failure("the word comes first", "for example: python3 start.py test --cuda none")
    return word, options, [value for value in rest if value != "--"]


def main(argv):
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a narrow console must not end the work
    try:
        check_python(sys.version_info)
        word, options, rest = parse(argv)
        if options.help:
            print(__doc__)
            return 0
        set_up(options.cuda)
        return WORDS[word](options, rest)
    except Failure as failure:
        print("\nstart.py: %s.\nWay out: %s." % (failure.cause, failure.cure), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run the same command again to carry on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
