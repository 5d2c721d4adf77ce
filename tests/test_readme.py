"""The README says what catalogue and records say, and points at what exists."""

import re
from pathlib import Path

from helpers import readme, versions

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_table_is_the_catalogue_s():
    """`python -m helpers.readme` would change nothing."""
    assert readme.updated(TEXT) == TEXT
    for version in versions.VERSIONS.values():
        assert f"[{version.name}](kernels_cu/{version.file})" in TEXT


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
