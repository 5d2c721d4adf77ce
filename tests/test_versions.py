"""The catalogue against the files it lists, and the headers that learners read."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from helpers import specs, versions
from helpers.simt import nvrtc
from helpers.simt.source import parameters

ROOT = Path(__file__).parent.parent
EVERY = pytest.mark.parametrize("version", versions.VERSIONS.values(), ids=versions.VERSIONS)
LABELS = ["Parallel", "Change", "Launch", "Input", "Traffic", "Stops at"]
H200 = specs.get("h200")


def header(version) -> dict[str, str]:
    """The comment a file starts with: its title under "", then label -> text."""
    lines = re.match(r"(?://.*\n)+", version.source)[0].splitlines()
    assert len(lines) <= 15
    found, label = {"": lines[0][3:]}, ""
    for line in lines[2:]:
        field = re.match(r"// ([A-Z][a-z]+(?: at)?): +(\S.*)", line)
        label, text = field.groups() if field else (label, line[2:].strip())
        found[label] = f"{found.get(label, '')} {text}".strip()
    assert lines[1] == "//"
    return found


@EVERY
def test_every_version_has_its_notebook(version):
    """Adding a version = one .cu, one record, one notebook."""
    assert (ROOT / "notebooks" / f"{version.lesson}.ipynb").is_file()


def test_every_kernel_file_is_in_the_catalogue():
    """A .cu that no record lists is a kernel that nothing tests."""
    files = {path.name for path in (ROOT / "kernels_cu").glob("*.cu")}
    assert files == {version.file for version in versions.VERSIONS.values()}
    assert len({version.entry for version in versions.VERSIONS.values()}) == len(files)


@EVERY
def test_the_header_says_all_in_order_and_agrees_with_the_catalogue(version):
    """At most 15 lines: parallel over, change, launch, input, traffic, where it stops."""
    text = header(version)
    assert list(text) == ["", *LABELS]
    assert text[""].lower().startswith(version.name + ":")
    launch = text["Launch"]
    grid = {
        "thread a row": f"grid ceil(rows / {version.block}),",
        "block a row": "grid rows,",
        "thread a float4": f"grid ceil(rows * cols / {4 * version.block}),",
    }
    assert launch.startswith(grid[version.work])
    assert f"block {version.block}" in launch
    assert ("power of two" in launch) == version.power_of_two
    shared = f"{version.staged} * cols" if version.staged else "0"
    assert launch.endswith(f"dynamic shared {shared} bytes.")
    assert text["Input"].startswith(version.dtype)
    assert text["Traffic"] == f"reads of x: {version.reads}, writes of y: 1."


@EVERY
def test_the_signature_is_the_common_one(version):
    """(const T* x, T* y, int rows, int cols) throughout; only the element type differs."""
    x, y, rows, cols = parameters(version.source, version.entry)
    assert [p.name for p in (x, y, rows, cols)] == ["x", "y", "rows", "cols"]
    assert x.dtype == y.dtype == version.np_dtype
    assert (x.pointer, x.const, y.pointer, y.const) == (True, True, True, False)
    assert rows.dtype == cols.dtype == np.int32


@EVERY
def test_comments_and_names_keep_the_house_rules(version):
    """Offsets in 64 bits, x only, lines that fit, and a reason at every barrier."""
    source = version.source
    code = re.sub(r"//.*", "", source)
    assert re.search(r"const size_t (row|count) = ", code)
    assert not re.search(r"Idx\.[yz]|Dim\.[yz]|INFINITY|FLT_MAX|<c?float(\.h)?>", code)
    assert max(map(len, source.splitlines())) <= 100
    for line in source.splitlines():
        if "__syncthreads();" in line:
            assert re.search(r"__syncthreads\(\);  // separates .* from ", line)


@EVERY
@pytest.mark.parametrize("arch", [75, 80, 90])
def test_every_kernel_compiles_for_old_and_new_cards(version, arch):
    """NVRTC alone, without a GPU, for compute capability 7.5, 8.0 and 9.0."""
    if not nvrtc.available():
        pytest.skip("NVRTC is not installed on this machine")
    ptx = nvrtc.compile_ptx(version.source, arch=arch, file=version.file)
    assert f".target sm_{arch}" in ptx
    assert f".entry {version.entry}(" in ptx


def test_a_row_offset_is_a_64_bit_product():
    """At rows * cols >= 2^31 a 32-bit product would wrap: the PTX must not hold one."""
    if not nvrtc.available():
        pytest.skip("NVRTC is not installed on this machine")
    for version in versions.VERSIONS.values():
        ptx = nvrtc.compile_ptx(version.source, file=version.file)
        assert re.search(r"mul\.(lo\.s64|wide\.[su]32)", ptx), version.name
        assert "mul.lo.s32" not in ptx, version.name


@pytest.mark.parametrize(
    ("name", "rows", "cols", "grid", "shared"),
    [
        ("naive_f16", 4096, 4096, 16, 0),
        ("v0", 257, 3, 2, 0),
        ("v1", 70000, 3, 70000, 0),
        ("v4", 5, 4099, 5, 16396),
        ("copy", 4096, 4096, 16384, 0),
        ("copy", 1, 1025, 2, 0),
        ("copy", 2**20, 2**12, 2**22, 0),
    ],
)
def test_grid_and_shared_memory(name, rows, cols, grid, shared):
    """Grids cover the matrix in x alone; only V4 asks for dynamic shared memory."""
    version = versions.get(name)
    assert version.grid(rows, cols) == (grid,)
    assert version.shared(cols) == shared


@pytest.mark.parametrize("card", specs.SPECS)
def test_v4_goes_as_far_as_shared_memory_reaches(card):
    """cols <= (shared memory a block may opt in to - the kernel's static bytes) / 4."""
    v4, spec = versions.get("v4"), specs.get(card)
    static = versions.static_shared(v4.source, v4.entry)
    most = v4.max_cols(spec)
    assert 0 < static < 1024
    assert most == (spec.shared_optin - static) // 4
    assert v4.limits(most, "float32", spec) is None
    sentence = v4.limits(most + 1, "float32", spec)
    for part in ("v4", spec.name, str(most), str(most + 1), "v0 or v1 or v2 or v3"):
        assert part in sentence
    for name in ("v0", "v1", "v2", "v3"):
        assert versions.get(name).limits(most + 1, "float32", spec) is None


@EVERY
def test_limits_are_sentences_about_the_thing_asked_for(version):
    """Wrong type, no columns, more columns than an int can count."""
    assert version.limits(1, version.dtype, H200) is None
    other = "float16" if version.dtype == "float32" else "float32"
    assert f"got {other}; convert" in version.limits(4, other, H200)
    assert "at least 1 element, got 0" in version.limits(0, version.np_dtype, H200)
    sentence = version.limits(2**31 - 1, version.dtype, H200)
    assert f"{version.name} takes at most " in sentence
    assert "for 2147483647 split the rows" in sentence


@pytest.mark.parametrize(
    ("name", "block", "rule"),
    [("v1", 192, "power of two"), ("v1", 512, "at most 256"), ("v1", 0, "power of two")]
    + [("v2", 48, "multiple of 32"), ("v3", 0, "multiple of 32"), ("v4", 1056, "at most 1024")],
)
def test_a_block_that_would_give_wrong_results_is_refused(name, block, rule):
    """V1's tree needs a power of two, V2 to V4 whole warps; the message says so."""
    with pytest.raises(ValueError, match=rf"{name} needs .*{rule}.* got {block};"):
        dataclasses.replace(versions.get(name), block=block)
    assert dataclasses.replace(versions.get(name), block=128).block == 128


def test_get_lists_the_choices():
    """A wrong name is answered with the right ones."""
    with pytest.raises(ValueError, match=r"'v77'.*naive_f32, .*v0, .*copy"):
        versions.get("v77")


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    """The error names the version, the path and how to get the file back."""
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"v1 should be in .*v1_block_shared\.cu.*git"):
        _ = versions.get("v1").source


def test_the_hash_follows_the_text_not_the_line_endings(monkeypatch, tmp_path):
    """A checkout with Windows line ends has the same kernels; an edited one has not."""
    v1 = versions.get("v1")
    original, source = v1.source_hash, v1.source
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    v1.path.write_bytes(source.replace("\n", "\r\n").encode())
    assert v1.source_hash == original
    v1.path.write_text(source + "\n", encoding="utf-8")
    assert v1.source_hash != original


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no such file"),
        (..., "cannot be read"),
        ("// é".encode("latin-1"), "not UTF-8 (byte 3)"),
        (b"// \0", "NUL"),
    ],
)
def test_an_unreadable_source_is_one_clear_error(tmp_path, monkeypatch, content, why):
    """It names the version, the path, the reason and the cure."""
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    path = tmp_path / "v1_block_shared.cu"
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(versions.SourceError) as caught:
        versions.get("v1").source  # noqa: B018
    assert str(path) in str(caught.value)
    assert why in str(caught.value)
    assert "git checkout" in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_source(tmp_path, monkeypatch):
    """Some editors put one in front; the compiler would stumble over it."""
    monkeypatch.setattr(versions, "KERNELS", tmp_path)
    (tmp_path / "v1_block_shared.cu").write_bytes(b"\xef\xbb\xbf// V1")
    assert versions.get("v1").source == "// V1"
