"""The README says what catalogue and records say, and points at what exists."""

import dataclasses
import re
from pathlib import Path

from helpers import readme, recorded, versions

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_table_is_the_catalogue_s():
    """`python -m helpers.readme` would change nothing."""
    assert readme.updated(TEXT) == TEXT
    for version in versions.VERSIONS.values():
        assert f"[{version.name}](kernels_cu/{version.file})" in TEXT


def test_a_figure_of_an_older_kernel_is_marked(monkeypatch):
    """With a dagger, and a line that says what it means; without one there is no such line."""
    assert readme.OLDER not in readme.table()
    found = [dataclasses.replace(row, kernel="0") if row.name == "v2" else row
             for row in recorded.figures()]  # fmt: skip
    monkeypatch.setattr(recorded, "figures", lambda: found)
    marked = [line for line in readme.table().splitlines() if readme.OLDER in line]
    assert [line.split("]")[0] for line in marked[:-1]] == ["| [v2"]
    assert marked[-1] == "† Recorded with an older kernel than the file of today."


def test_links_and_folders_exist():
    """Every relative link, and every folder of the map."""
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
    for folder in re.findall(r"^\| `([\w/.]+)` \|", TEXT, re.M):
        assert (ROOT / folder).exists(), folder


def test_the_example_runs():
    """The Python block of the README, as it stands, on the active device."""
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    sums = names["cp"].asnumpy(names["y"]).sum(axis=1)
    assert abs(sums - 1).max() < 1e-5


def test_every_command_is_one():
    """The words after `start.py` and `-m helpers` are those that the two know."""
    start = (ROOT / "start.py").read_text(encoding="utf-8")
    known = {"start.py": re.findall(r"^    python3 start\.py ([\w-]+)", start, re.M),
             "-m helpers": re.findall(r"\bword\(\"([\w-]+)\"",
                                      (ROOT / "helpers" / "__main__.py").read_text("utf-8"))}
    shown = re.findall(r"^python3? (start\.py|-m helpers) ([\w-]+)", TEXT, re.M)
    assert {"bench", "profile-gpu", "doctor"} <= {word for _, word in shown}
    assert all(word in known[program] for program, word in shown)
