"""The files that say what is installed agree with each other and with the code."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import start

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*")


def requirements(*extras):
    """Those of the core and of the extras, by canonical name."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_constraints_are_names_and_versions_only():
    """One `name==version` a line, sorted, no name twice: no URL, hash, marker or range."""
    assert [line for line in pins() if not PIN.fullmatch(line)] == []
    names = [line.split("==")[0] for line in pins()]
    assert len(set(names)) == len(names)
    assert pins() == sorted(pins())


@pytest.mark.parametrize("extra", ["dev", "classroom", "cuda12", "cuda13"])
def test_every_dependency_is_pinned_within_its_bounds(extra):
    """What start.py installs has a pin that its requirement allows; cuda-toolkit is its own pin."""
    pinned = dict(line.split("==") for line in pins())
    for name, requirement in requirements(extra).items():
        if name == "cuda-toolkit":
            assert str(requirement.specifier).startswith("==") or not extra.startswith("cuda")
        else:
            assert requirement.specifier.contains(pinned[name]), f"{requirement}: {pinned[name]}"


def test_what_dependencies_bring_is_pinned_too():
    """Everything below the core, dev and classroom dependencies that is here has its pin."""
    pinned = {line.split("==")[0] for line in pins()} | {"cuda-toolkit"}
    asked = requirements("dev") | requirements("classroom")
    todo = [(requirement, {""}) for requirement in asked.values()]
    seen = set()
    while todo:
        requirement, extras = todo.pop()
        name = canonicalize_name(requirement.name)
        here = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        )
        if not here or (name, *requirement.extras) in seen:
            continue
        seen.add((name, *requirement.extras))
        assert name in pinned, f"{name} has no line in constraints.txt"
        try:
            below = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # an environment of another making, such as conda's, may lack it
        todo += [(Requirement(line), {"", *requirement.extras}) for line in below]
    assert len(seen) > 50


def test_both_cuda_extras_fit_the_core():
    """One cuda-toolkit serves simulator and CuPy: each extra's version lies in the core's range."""
    core = requirements()["cuda-toolkit"]
    for extra in ("cuda12", "cuda13"):
        chosen = requirements(extra)["cuda-toolkit"]
        version = str(chosen.specifier).removeprefix("==")
        assert core.specifier.contains(version)
        assert version.startswith(extra[-2:])
        assert core.extras == chosen.extras
        assert extra[-2:] in start.ROOM


def test_environment_yml_is_in_step():
    """conda users get the same core and dev dependencies with the same bounds and markers."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    assert environment["channels"] == ["conda-forge"]
    assert "Not solved on a conda machine yet" in text
    *conda, last = environment["dependencies"]
    assert last["pip"].pop() == "-e ."
    lines = map(Requirement, conda + last["pip"])
    listed = {canonicalize_name(requirement.name): requirement for requirement in lines}
    assert str(listed.pop("python").specifier) == PROJECT["requires-python"]
    listed.pop("pip")
    assert listed == requirements("dev")


def test_the_oldest_python_is_said_once():
    """start.py turns away exactly what pyproject.toml does."""
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, start.OLDEST))


def test_every_folder_of_helpers_is_a_package():
    """setuptools leaves out a folder without __init__.py, silently."""
    folders = {path.parent for path in (ROOT / "helpers").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_importing_helpers_is_cheap():
    """A bare `import helpers` loads no array library, no plots and no part of itself."""
    code = "import helpers, sys; print(*sys.modules, sep='\\n')"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert "helpers" in loaded
    heavy = re.compile(r"(numpy|matplotlib|cupy|cuda|IPython|helpers\.\w+)")
    assert [name for name in loaded if heavy.match(name)] == []


def test_make_knows_the_words_of_start_py():
    """The Makefile only passes each word on."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^(\w[\w -]*):$", text, re.M) == [" ".join(start.WORDS)]
    assert re.findall(r"^\t(.*)$", text, re.M) == ["@$(PYTHON) start.py $@"]


def test_ci_runs_the_four_checks():
    """.ci/run is a valid script that stops at the first failure and calls start.py's words."""
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    words = ("test", "lessons", "lint", "test-classroom")
    assert lines[-4:] == [f"python3 start.py {word}" for word in words]


@pytest.mark.parametrize(
    "name",
    ["pyproject.toml", "constraints.txt", "environment.yml", "Makefile", ".ci/run", "start.py"],
)
def test_no_package_index_is_named(name):
    """Where packages come from is the reader's own configuration: no address in these files."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"https?://\S+|index-url|\bpypi\b", text) == []


def test_the_licence_is_mit():
    """pyproject.toml and LICENSE say the same."""
    assert PROJECT["license"] == "MIT"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("MIT License")
    assert "The project's authors" in text
