"""The report of a launch: totals, lines, arrays, the annotated source, and the command line."""

import json
import re

import numpy as np
import pytest
from simt_runs import kernel, needs_nvrtc

from helpers import simt
from helpers.__main__ import main
from helpers.simt import listing, written
from helpers.simt.observers import Counters
from helpers.simt.observers.coalescing import touch
from helpers.simt.observers.names import GLOBAL, NAMES, SECTORS

pytestmark = needs_nvrtc

SOURCE = """// A <b>comment</b> & more
__global__ f(const float* x, float* y, int* n) {
    int t = threadIdx.x;
    float v = x[8 * t];
    if (t < 8)
        v += __shfl_xor_sync(0xff, v, 1);
    __syncthreads();
    y[64 * blockIdx.x + t] = v + x[t];
    atomicAdd(n, t);
}"""


def report(**changes):
    x, y, n = np.ones(512, np.float32), np.zeros(192, np.float32), np.zeros(1, np.int32)
    return simt.profile(kernel(SOURCE), (3,), (64,), (x, y, n), **changes)


def test_totals_lines_and_arrays_agree():
    """Totals are the sum of the lines, and of the arrays where each access meets one array."""
    seen = report()
    for name in NAMES:
        assert seen.counters[name] == sum(line[name] for line in seen.lines.values()), name
        assert seen.counters[name] == sum(array[name] for array in seen.arrays.values()), name
    assert sorted(seen.arrays) == ["n", "x", "y"]
    for name, total in seen.ptx.items():
        assert total == sum(line.get(name, 0) for line in seen.ptx_lines.values()), name


def test_what_each_line_costs():
    """Requests, sectors, the ideal and the efficiency, per line and in all."""
    seen = report()
    assert seen.lines[4][GLOBAL["requests", "ld"]] == 3 * 2
    assert seen.lines[4][SECTORS] == 3 * 2 * 32
    assert seen.lines[4][f"{SECTORS}_ideal"] == 3 * 2 * 4
    assert seen.sectors_a_request("ld", 4) == 32
    assert seen.sectors_a_request("st") == 4
    assert seen.sectors_a_request("atom") is None
    assert seen.sectors_a_request("ld", 99) is None
    sectors, ideal = 6 * (32 + 4 + 4 + 1), 6 * (4 + 4 + 4 + 1)
    assert seen.efficiency == pytest.approx(ideal / sectors)
    assert seen.shared_efficiency is None
    assert seen.counters["smsp__inst_executed_op_global_red.sum"] == 6
    with pytest.raises(ValueError, match="ld, st, red or atom"):
        seen.sectors_a_request("load")


def test_the_mix_of_the_ptx():
    """Warps that execute, that part at a branch, that shuffle, that arrive at a barrier."""
    seen = report()
    assert seen.ptx["barriers"] == seen.ptx_lines[7]["barriers"] == 6
    assert seen.ptx["shuffles"] == 3
    assert seen.ptx["divergent branches"] == 3
    assert seen.ptx["instructions"] == sum(
        value for name, value in seen.ptx.items() if name.endswith(" instructions")
        and name != "thread instructions"
    )  # fmt: skip
    assert seen.ptx["thread instructions"] <= 32 * seen.ptx["instructions"]
    assert not any(name in NAMES for name in seen.ptx)


@pytest.mark.parametrize("schedule", ["highest", 3])
def test_the_order_of_execution_counts_the_same(schedule):
    """Lines, arrays and unique sectors do not hang on the schedule."""
    seen, other = report(), report(schedule=schedule)
    assert (other.lines, other.arrays, other.unique) == (seen.lines, seen.arrays, seen.unique)


def test_unique_sectors():
    """Each sector once, whoever touches it, also where two arguments share an allocation."""
    seen = report()
    assert seen.unique == {"read": 64 + 1, "written": 24 + 1}
    both = np.zeros(128, np.float32)
    source = "__global__ f(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    seen = simt.profile(kernel(source), (5,), (64,), (both[:64], both[64:]))
    assert seen.unique == {"read": 8, "written": 8}
    seen = simt.profile(kernel(source), (5,), (64,), (both[:64], both[:64]))
    assert seen.unique == {"read": 8, "written": 8}


def test_a_request_that_meets_two_arrays():
    """It is one request, and counts for both arrays."""
    source = """__global__ f(const float* a, const float* b, float* y) {
        const float* p = threadIdx.x % 2 ? a : b;
        y[threadIdx.x] = p[threadIdx.x];
    }"""
    a, b, y = (np.zeros(32, np.float32) for _ in range(3))
    seen = simt.profile(kernel(source), (1,), (32,), (a, b, y))
    assert seen.lines[3][GLOBAL["requests", "ld"]] == 1
    assert seen.lines[3][GLOBAL["sectors", "ld"]] == 8
    for name in "ab":
        assert seen.arrays[name][GLOBAL["requests", "ld"]] == 1
        assert seen.arrays[name][GLOBAL["sectors", "ld"]] == 4


def test_a_launch_without_a_profile_counts_nothing():
    """Counters cost nothing when they are off: a plain launch has none that would listen."""
    heard = []

    class Curious:
        def on_chunk(self, m):
            heard.append(any(isinstance(o, Counters) for o in m.observers))

    x, y, n = np.ones(512, np.float32), np.zeros(64, np.float32), np.zeros(1, np.int32)
    with simt.limits(observers=(Curious(),)):
        kernel(SOURCE)((1,), (64,), (x, y, n))
        simt.profile(kernel(SOURCE), (1,), (64,), (x, y, n))
    assert heard == [False, True]


def test_the_patterns_of_global_memory():
    """The quick ways of counting give what sorting gives."""
    rng = np.random.default_rng(0)
    for width in (1, 2, 4, 8, 16):
        for lanes in (
            np.arange(64) * width, np.arange(64) * width + 512 - width, np.zeros(64, int),
            np.arange(64)[::-1] * width, rng.integers(0, 500, 64) * width,
            np.arange(64) * 3 * width,
        ):  # fmt: skip
            address = np.asarray(lanes, np.int64)[None]
            found = touch(address, None, width, 2)
            masked = touch(address, np.ones((1, 64), bool), width, 2)
            each = [len(set(half >> 5)) for half in lanes.reshape(2, 32)]
            assert (found.requests, found.sectors) == (2, sum(each))
            assert found.ideal == sum(min(n, width) for n in each)
            assert set(found.touched) == set(lanes >> 5)
            assert (masked.requests, masked.sectors) == (2, sum(each))


# ---------------------------------------------------------------------------- annotated source
def test_the_listing_as_text():
    """Every line of the source, with the numbers of its line before it; a bar for one measure."""
    seen = report()
    text = str(seen.annotated("sectors"))
    rows = [line for line in text.splitlines() if re.search(r"\s4 ", line) and "float v" in line]
    assert rows == [f"     192     4 {'█' * 8}     float v = x[8 * t];"]
    assert "requests" in str(seen.annotated())
    assert len(str(seen.annotated()).splitlines()) == len(SOURCE.splitlines()) + 2


def test_only_what_is_not_zero_has_a_column():
    """A kernel without shared memory gets no wavefronts, unless they are asked for."""
    seen = report()
    assert "wavefronts" not in seen.annotated().labels
    assert seen.annotated("wavefronts").labels == ("wavefronts",)
    with pytest.raises(ValueError, match="choose from requests, sectors"):
        seen.annotated("secters")


def test_the_listing_as_html():
    """Escaped, with a bar a number, in the page's colours, and without any script."""
    markup = report().annotated()._repr_html_()
    assert "&lt;b&gt;comment&lt;/b&gt; &amp; more" in markup
    assert "<b>comment" not in markup
    assert "<script" not in markup
    assert "var(--jp-" in markup
    assert 'style="width:100.0%"' in markup
    assert markup.count("<tr>") == len(SOURCE.splitlines()) + 1
    assert f'title="{SECTORS}"' in markup
    page = report().annotated().page()
    assert page.startswith("<!DOCTYPE html>")
    assert "color-scheme: light dark" in page
    assert report()._repr_html_() == markup


def test_mistakes_stand_at_their_line():
    """A defect is a note under the line that made it, in text and in HTML."""
    source = "__global__ f(float* y) {\n    y[threadIdx.x + 8] = 1;\n}"
    seen = simt.profile(kernel(source), (1,), (32,), (np.zeros(32, np.float32),))
    lines = str(seen.annotated()).splitlines()
    at = next(k for k, line in enumerate(lines) if "y[threadIdx.x + 8]" in line)
    assert "! out of bounds" in lines[at + 1]
    assert 'class="note">out of bounds' in seen.annotated()._repr_html_()
    assert "defect: out of bounds" in seen.table()


def test_as_json():
    """Everything as plain values."""
    facts = json.loads(report().to_json())
    assert facts["unique"] == {"read": 65, "written": 25}
    assert facts["lines"]["4"][SECTORS] == 192
    assert facts["ptx"]["barriers"] == 6
    assert facts["arrays"]["y"][GLOBAL["requests", "st"]] == 6
    assert facts["source"][3].strip() == "float v = x[8 * t];"
    one = report().annotated("sectors").to_json()
    assert one["columns"] == ["sectors"]
    assert one["lines"][3] == {
        "line": 4, "source": "    float v = x[8 * t];", "values": [192], "notes": [],
    }  # fmt: skip


def test_every_measure_has_a_meaning():
    """Labels are unique, and what only the PTX tells says so."""
    for label, measure in listing.MEASURES.items():
        assert measure.meaning
        assert label.startswith("PTX") == (
            "memory_" not in measure.meaning and "l1tex" not in measure.meaning
        )


# ---------------------------------------------------------------------------- the command line
@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE.replace("__global__", 'extern "C" __global__ void'))
    return str(path)


WELL = "--grid 3 --block 64 --arg float32[512]:ones --arg float32[192] --arg int32[1]".split()


def test_profile_a_file(file, capsys, tmp_path):
    """Listing, counters and advice as text, the listing as a page, everything as JSON."""
    page = tmp_path / "page.html"
    assert main(["profile", file, *WELL, "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "float v = x[8 * t];" in out
    assert SECTORS in out
    assert "</html>" in page.read_text(encoding="utf-8")
    assert main(["profile", file, *WELL, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["counters"] == report().counters
    assert main(["profile", file, *WELL, "--measure", "sectors"]) == 0
    assert "requests" not in capsys.readouterr().out.split("simulator")[1].splitlines()[1]


def test_mistakes_are_exit_code_1(file, capsys):
    """A kernel that goes wrong is reported whole, with the name of its file."""
    short = [*WELL[:-4], "--arg", "float32[8]", "--arg", "int32[1]"]
    assert main(["profile", file, *short]) == 1
    out = capsys.readouterr().out
    assert "out of bounds" in out
    assert "mine.cu:8" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--grid 0 --block 64", "grid.x of f is 0"),
        ("--grid 1 --block 2000", "from 1 to 1024"),
        ("--grid 1,1,1,1 --block 64", "one to three whole numbers"),
        ("--grid 1 --block 6x6x6x6", "one to three whole numbers"),
        ("--grid 1 --block 64", "takes 3 arguments"),
        ("--grid 1 --block 64 --entry g", "no kernel called 'g'"),
        ("--grid 1 --block 64 --arg float32", "cannot read the argument 'float32'"),
        ("--grid 1 --block 64 --arg float32[]", "cannot read the argument"),
        ("--grid 1 --block 64 --arg float31[4]", "no type 'float31'"),
        ("--grid 1 --block 64 --arg float32[4]:many", "cannot fill with 'many'"),
        ("--grid 1 --block 64 --arg float32[0]", "at least one"),
        ("--grid 1 --block 64 --arg float32[99999999999]", "at most"),
        ("--grid 1 --block 64 --arg int:x", "'x' is no int"),
        ("--grid 1 --block 64 --shared 9999999", "dynamic shared memory"),
        ("--grid 1 --block 64 --arg int:1 --arg int:2 --arg int:3", "expected an array"),
        ("--block 64", "--grid"),
    ],
)
def test_bad_calls(file, capsys, words, message):
    """Plain words and exit code 2; with --json the same as an object."""
    assert main(["profile", file, *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert main(["profile", file, *words.split(), "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]["message"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"\xff\xfe\x00\x01", "no UTF-8 text"),
        (b"int main() {}", "no function in it is __global__"),
        (b"__global__ void f() {} __global__ void g() {}", "--entry is needed"),
        (b'extern "C" __global__ void f(float* x) { x[0] = y; }', "mine.cu does not compile"),
        (b"__global__ void f(float* x) { x[0] = 1; }", 'extern "C"'),
    ],
)
def test_bad_files(tmp_path, capsys, content, message):
    """A file that cannot be profiled: what is wrong with it, exit code 2."""
    path = tmp_path / "mine.cu"
    if content is not None:
        path.write_bytes(content)
    assert main(["profile", str(path), "--grid", "1", "--block", "32", "--arg", "float32[4]"]) == 2
    assert message in capsys.readouterr().err


def test_arguments_as_text():
    """Types, shapes and fills; scalars as Python's own."""
    assert written.argument("float32[2,3]").tolist() == [[0, 0, 0], [0, 0, 0]]
    assert written.argument("int32[3]:arange").tolist() == [0, 1, 2]
    assert written.argument("int64[2]:-7").tolist() == [-7, -7]
    assert written.argument("bfloat16[1]:1.5").dtype.name == "bfloat16"
    assert written.argument("float16[4]:normal", 1).tolist() != written.argument(
        "float16[4]:normal", 2
    ).tolist()  # fmt: skip
    assert written.argument("int:0x10") == 16
    assert written.argument("float:-inf") == float("-inf")
    assert written.argument("bool:true") is True
    assert written.size("8x4", "block") == written.size("8,4", "block") == (8, 4)
