"""Nsight Compute: exports of every kind are read, the command is the right one, errors say why."""

import dataclasses
import json
import os
import re
import stat
import sys

import pytest

import start
from helpers import device, launch, nsight, recorded, versions
from helpers.__main__ import main
from helpers.nsight import drive, export, ladder, report
from helpers.nsight.export import ExportError

LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
FIXED = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",'
FIXED += '"Block Size","Grid Size","Device","CC"'
WHERE = '"{id}","669","python3","127.0.0.1","{kernel}","1","7","(256, 1, 1)","(4096, 1, 1)",'
WHERE += '"0","9.0"'
LONG = f'{FIXED},"Section Name","Metric Name","Metric Unit","Metric Value"'


def at(kernel="softmax_v1", id=0):
    return WHERE.format(kernel=kernel, id=id)


def long(*rows, header=LONG):
    """An export with a metric a row: (where, name, unit, value)."""
    lines = [f'{where},"Section","{name}","{unit}","{value}"' for where, name, unit, value in rows]
    return "\n".join([header, *lines]) + "\n"


def wide(metrics, *launches):
    """An export with a launch a row: {name: unit}, then (where, values)."""
    units = ",".join(['""'] * 11 + [f'"{unit}"' for unit in metrics.values()])
    lines = [",".join([where, *(f'"{v}"' for v in values)]) for where, values in launches]
    return "\n".join([f"{FIXED}," + ",".join(f'"{m}"' for m in metrics), units, *lines]) + "\n"


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "mine.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return nsight.read(path)


RAW = wide({LD: "", "dram__bytes_read.sum": "Mbyte", "gpu__time_duration.sum": "us"},
           (at(), ["1,572,864", "67.20", "71.49"]))  # fmt: skip
DETAILS = long(
    (at(), LD, "", "1,572,864"), (at(), "dram__bytes_read.sum", "Mbyte", "67.20"),
    (at(), "gpu__time_duration.sum", "us", "71.49"),
)  # fmt: skip
EXPORTS = {
    "raw": RAW,
    "details": DETAILS,
    "older unit names": DETAILS.replace('"us"', '"usecond"'),
    "ncu's own lines": "==PROF== Connected to process 669\n" + RAW + "==PROF== Disconnected\n",
    "a program's output": 'v1: "right, 1, 2, 3\n\n' + DETAILS + 'done, in 3, 4, or 5 "steps\n',
    "a full signature": RAW.replace(
        '"softmax_v1"', '"void softmax_v1<float>(const float *, float *, int, int)"'
    ),
    "decimal commas": RAW.replace("1,572,864", "1.572.864").replace("67.20", "67,20")
    .replace("71.49", "71,49"),
    "semicolons": RAW.replace('","', '";"').replace("67.20", "67,20").replace("71.49", "71,49")
    .replace("1,572,864", "1.572.864"),
    "spaces in numbers": RAW.replace("1,572,864", "1\u202f572\u202f864"),
    "Swiss numbers": RAW.replace("1,572,864", "1\u2019572\u2019864")
    .replace('"us"', '"\u00b5s"'),
    "a Greek unit": RAW.replace('"us"', '"\u03bcs"'),
    "a short unit": RAW.replace('"Mbyte"', '"MB"'),
    "another spelling": RAW.replace('"us"', '"usec"'),
    "a namespace without a name": RAW.replace(
        '"softmax_v1"', '"void at::(anonymous namespace)::softmax_v1<int, (bool)1>(T1 *, a<b>)"'
    ),
    "only the whole count decides": RAW.replace("1,572,864", "1.572.864").replace("67.20", "67,200")
    .replace("71.49", "71,490"),
    "titles before names": DETAILS.replace(LD, f"Load Requests ({LD})"),
    "the header twice": DETAILS + LONG + "\n",
    "only the columns that matter": "\n".join(
        ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
        + [f'"0","softmax_v1","{m}","{u}","{v}"' for m, u, v in (
            (LD, "", "1572864"), ("dram__bytes_read.sum", "Kbyte", "67200"),
            ("gpu__time_duration.sum", "ms", "0.07149"))]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXPORTS)
def test_every_kind_of_export_says_the_same(tmp_path, kind):
    """Layout, noise, language and units of an export change nothing of what is read."""
    (report,) = read(tmp_path, EXPORTS[kind])
    assert report.kernel == "softmax_v1"
    assert report.version is versions.get("v1")
    assert report.counters[LD] == 1572864
    assert report.counters["dram__bytes_read.sum"] == 67_200_000
    assert report.counters["gpu__time_duration.sum"] == pytest.approx(71490)
    assert report.origin == "your file mine.csv"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding_of_a_redirected_export_is_read(tmp_path, encoding):
    """PowerShell writes UTF-16 with a mark, a spreadsheet UTF-8 with one or Windows' own."""
    (report,) = read(tmp_path, RAW.replace("python3", "pythön").replace('"us"', '"µs"'), encoding)
    assert report.counters[LD] == 1572864
    assert report.counters["gpu__time_duration.sum"] == pytest.approx(71490)


@pytest.mark.parametrize("cell", ["nan", "-nan(ind)", "inf", "(!) n/a", "(!) nan", "no data", ""])
def test_a_metric_without_a_value_is_left_out(tmp_path, cell):
    """ncu has several ways to say so; the others of the launch are read all the same."""
    text = long((at(), LD, "", "12"), (at(), "sm__throughput.avg", "%", cell))
    (report,) = read(tmp_path, text)
    assert report.counters[LD] == 12
    assert "sm__throughput.avg" not in report.counters


@pytest.mark.parametrize(
    ("kernel", "name"),
    [("void at::native::(anonymous namespace)::k<int, (bool)1>(float *, int)", "k"),
     ("(anonymous namespace)::k", "k"), ("void <unnamed>::k<int>(int)", "k"),
     ("void foo<(lambda at a.cu:12:3)>(int)", "foo"), ("void a<b>::c<d, e<f>>(e)", "c"),
     ("void foo<main::{lambda()#1}>(T1)", "foo"), ("void f(void (*)(int))", "f"),
     ("void v<(int)4, g(T &)::[lambda(float) (instance 1)], array<char *, 2ul>>(int, T2)", "v"),
     ("softmax_v1", "softmax_v1"), ("(?)", "(?)")],
)  # fmt: skip
def test_a_kernels_short_name(kernel, name):
    """Without what C++ puts around it; never empty."""
    assert export.short(kernel) == name


def test_a_whole_count_tells_the_language(tmp_path):
    """393.216 requests can only be 393,216; then 67,109 Mbyte are 67 MB, and not 67 GB."""
    text = long((at(), LD, "", "393.216"), (at(), "dram__bytes_read.sum", "Mbyte", "67,109"))
    (report,) = read(tmp_path, text)
    assert (report.counters[LD], report.counters["dram__bytes_read.sum"]) == (393216, 67109000)
    english = text.replace("393.216", "393,216").replace("67,109", "67.109")
    (report,) = read(tmp_path, english)
    assert (report.counters[LD], report.counters["dram__bytes_read.sum"]) == (393216, 67109000)


def test_launch_sizes_and_device_are_read_where_they_are(tmp_path):
    """Grid and block from their columns; the device's name where the export has it."""
    (report,) = read(tmp_path, RAW)
    assert report.counters["launch__grid_size"] == 4096
    assert report.counters["launch__block_size"] == 256
    assert report.device == "compute capability 9.0"
    named = long((at(), LD, "", "3"), (at(), "device__attribute_display_name", "", "NVIDIA T4"))
    assert read(tmp_path, named)[0].device == "NVIDIA T4"


def test_titles_of_the_details_page_become_metric_names(tmp_path):
    """Where the page gives a title, the metric behind it is known; rules have none."""
    text = long((at(), "Duration", "us", "1,234.50"), (at(), "Registers Per Thread", "", "20"),
                (at(), "Made Up", "%", "3.5"), (at(), "", "", ""),
                (at(), LD, "", "n/a"))  # fmt: skip
    (report,) = read(tmp_path, text)
    found = {k: v for k, v in report.counters.items() if not k.endswith("_size")}
    assert found == {"gpu__time_duration.sum": 1234500, "launch__registers_per_thread": 20,
                     "Made Up": 3.5}  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("byte", 1), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12), ("", 1),
     ("nsecond", 1), ("ns", 1), ("usecond", 1e3), ("msecond", 1e6), ("second", 1e9), ("s", 1e9),
     ("Ghz", 1e9), ("hz", 1), ("Gbyte/s", 1e9), ("Kbyte/block", 1e3), ("byte/nsecond", 1e9),
     ("Tbyte/second", 1e12), ("%", 1), ("inst/cycle", 1), ("register/thread", 1), ("Kinst", 1e3),
     ("sector/request", 1), ("KB", 1e3), ("MB", 1e6), ("GB/s", 1e9), ("KiB", 2**10),
     ("MiB", 2**20), ("GiB", 2**30), ("B", 1), ("µs", 1e3), ("μs", 1e3), ("sec", 1e9),
     ("furlong", None), ("Mb", None), ("minute", None), ("byte/furlong", None)],
)  # fmt: skip
def test_units_are_brought_to_their_base(unit, factor):
    """Bytes, nanoseconds, hertz, a second; what is not known is called so."""
    assert export.scale(unit) == (factor and pytest.approx(factor))


def test_a_comma_alone_is_read_as_the_rest_of_the_file_says(tmp_path):
    """12,345 is twelve thousand, unless another number shows that commas are decimal."""
    thousands = long((at(), LD, "", "12,345"))
    assert read(tmp_path, thousands)[0].counters[LD] == 12345
    decimals = long((at(), "dram__throughput.x", "%", "12,345"), (at(), LD, "", "9,00"))
    assert read(tmp_path, decimals)[0].counters["dram__throughput.x"] == 12.345


BROKEN = {
    "": "no line is a header",
    "a,b\n1,2\n": "no line is a header",
    "==ERROR== Failed to load\n": "in it ncu says: ==ERROR== Failed to load",
    LONG + "\n": "line 1 is a header, and no launch follows it",
    DETAILS.rsplit(",", 1)[0]: "line 4 has 14 cells where the header in line 1 has 15",
    RAW.rsplit(",", 1)[0]: "line 3 has 13 cells where the header in line 1 has 14",
    DETAILS.replace("67.20", "a lot"): "line 3: dram__bytes_read.sum is 'a lot'",
    DETAILS.rsplit(".49", 1)[0]: "line 4 has 15 cells, the last without its end, where",
    RAW.rsplit(".49", 1)[0]: "line 3 has 14 cells, the last without its end, where",
    RAW + '"1': "line 4 has 1 cells, the last without its end, where",
    RAW.replace('"us"', '"fortnight"'): "gpu__time_duration.sum is in 'fortnight', which is no",
    RAW.replace("Mbyte", "Ebyte"): "dram__bytes_read.sum is in 'Ebyte', which is no known unit",
    RAW.replace("1,572,864", "1_572_864*"): f"line 3: {LD} is '1_572_864*', which is no number",
    RAW.replace("67.20", "67,2"): "line 3 has a decimal point and line 3 a decimal comma",
    LONG.replace('"Metric Value"', '"Value"') + "\n": "none called Metric Value",
    DETAILS + RAW: "line 5 begins a second table",
    b"\x00\x01NVR": "is a report of Nsight Compute, not a CSV file",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_file_that_is_no_export_is_one_clear_error(tmp_path, text):
    """The message names the file, the line, the cause."""
    with pytest.raises(ExportError, match=re.escape(BROKEN[text])) as caught:
        read(tmp_path, text)
    assert "mine.csv" in str(caught.value)


def test_paths_that_are_no_file(tmp_path):
    """A folder and a missing file are told apart."""
    with pytest.raises(FileNotFoundError):
        nsight.read(tmp_path / "none.csv")
    with pytest.raises(ExportError, match="is a folder"):
        nsight.read(tmp_path)


def test_one_launch_is_chosen_from_a_file_of_several(tmp_path):
    """By version, part of a name, or ID; alike launches need no choice, others list themselves."""
    path = tmp_path / "mine.csv"
    rows = [(at("softmax_v1", 0), "1"), (at("softmax_v1", 1), "2"), (at("softmax_v3", 2), "3")]
    rows.append((at("softmax_v3", 3).replace("(4096, 1, 1)", "(8, 1, 1)"), "4"))
    path.write_text(long(*((where, LD, "", value) for where, value in rows)))

    def chosen(**how):
        return recorded.ncu_file(path, **how).counters[LD]

    assert chosen(kernel="v1") == chosen(kernel="softmax_v1") == 2
    assert chosen(kernel="max_v1", launch=0) == 1
    assert chosen(launch=3) == 4
    for how in ({}, {"kernel": "v3"}, {"kernel": "softmax"}):
        with pytest.raises(ExportError, match=r"softmax_v3 \(launch 2\).*kernel= or launch="):
            chosen(**how)
    with pytest.raises(ExportError, match="no v2; it has softmax_v1"):
        chosen(kernel="v2")
    with pytest.raises(ExportError, match="no v1 launch 7"):
        chosen(kernel="v1", launch=7)


# ------------------------------------------------------------------------- beside the simulator
def test_recorded_counters_beside_the_simulator():
    """What both count is equal and marked; what only the hardware knows is there and says so."""
    beside = recorded.ncu("v3").beside()
    assert set(export_names()) <= set(beside.equal)
    lines = {metric: (ours, said) for metric, ours, _, said in beside.lines()}
    for metric in ("dram__bytes_read.sum", "gpu__time_duration.sum"):
        assert lines[metric] == (None, "Nsight only")
    text, page = str(beside), beside._repr_html_()
    for shows in (text, page):
        assert "= equal" in shows
        assert "the rows alone: 67,108,864 B" in shows
        assert "Nsight Compute, recorded, NVIDIA H200" in shows
        assert "counted by the H200 specification simulator, on 1/256 of the" in shows
    assert "under the profiler, no benchmark time" in page


def export_names():
    ops = [(what, op) for what in ("requests", "sectors") for op in ("ld", "st")]
    return [f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what, op in ops]


@pytest.mark.parametrize("cols", [1024, 16384, 65536])
def test_the_simulator_counts_as_the_hardware_at_every_recorded_size(cols):
    """Requests and sectors of the global memory, blocks and warps: equal to the last digit."""
    for name in ("v2", "v3"):
        beside = recorded.ncu(name, 4096, cols).beside()
        assert {*export_names(), "sm__ctas_launched.sum"} <= set(beside.equal)


def test_a_difference_is_not_called_equal():
    """A measured count that is off by one is shown with how much it is off."""
    report = recorded.ncu("v1")
    off = dataclasses.replace(report, counters={**report.counters, LD: report.counters[LD] + 1})
    beside = off.beside()
    assert LD not in beside.equal
    assert "+0.0%" in next(said for metric, *_, said in beside.lines() if metric == LD)


def test_beside_needs_the_kernel_that_was_measured():
    """A profile of another kernel, or a kernel nobody knows, cannot stand beside."""
    report = recorded.ncu("v1")
    with pytest.raises(ValueError, match="a profile of softmax_v3, and Nsight Compute measured"):
        report.beside(recorded.ncu("v3").beside().profile)
    with pytest.raises(ValueError, match="give beside\\(\\) a profile of it"):
        nsight.Report("mine", {LD: 1}).beside()
    with pytest.raises(ValueError, match="give beside\\(\\) a profile of it"):
        dataclasses.replace(report, rows=None).beside()


def test_beside_needs_the_size_that_was_measured():
    """Blocks that do not divide, other blocks, other rows, blocks that nobody knows."""
    report = recorded.ncu("v1")
    v1 = versions.get("v1")
    small = launch.profile(dataclasses.replace(v1, block=128), 4, 4096)
    for profile, says in (
        (launch.profile(v1, 3, 64), "3 blocks with 24 warps, and measured were 4,096 with 32,768"),
        (launch.profile(v1, 4, 64), "rows of another length than the 4096"),
        (small, "4 blocks with 16 warps"),
    ):
        with pytest.raises(ValueError, match=says):
            report.beside(profile)
    mine = {"launch__grid_size": 4096, "launch__block_size": 256}  # as the export's columns say
    with pytest.raises(ValueError, match="4 blocks with 16 warps.*4,096 with 32,768"):
        nsight.Report(v1.entry, mine).beside(small)
    alone = dataclasses.replace(report, counters={LD: report.counters[LD]})
    with pytest.raises(ValueError, match="does not know how many blocks of softmax_v1"):
        alone.beside(launch.profile("v1", 4, 4096))


def test_beside_shows_some_metrics():
    """Those asked for by name, and their simulated counts as in the whole table."""
    report = recorded.ncu("v1")
    found = report.beside(metrics=[LD, "dram__bytes_read.sum"])
    assert [line[0] for line in found.lines()] == [LD, "dram__bytes_read.sum"]
    assert found.lines()[0] == next(line for line in report.beside().lines() if line[0] == LD)
    with pytest.raises(ValueError, match=r"not measured: nonsense; there are .*dram__bytes"):
        report.beside(metrics=["nonsense"])


def test_the_newest_record_that_has_the_size_is_taken():
    """The run over all sizes has what the calibration has not; both know their device and date."""
    assert recorded.ncu("v1", 4096, 1024).label() == recorded.ncu("v1").label()
    assert len(recorded.ncu("v1").counters) > 35  # not the calibration's, which is as new
    with pytest.raises(recorded.RecordError, match="it has 4096×1024, 4096×4096"):
        recorded.ncu("v4", 4096, 262144)
    with pytest.raises(recorded.RecordError, match="it has nothing"):
        recorded.ncu("v1", device="NVIDIA T4")


def test_the_calibration_serves_where_there_is_no_other_record(tmp_path):
    """Its counters of the catalogue's versions are at 4096 × 4096."""
    folder = next(recorded.MEASUREMENTS.glob("ncu_*"))
    (tmp_path / folder.name).symlink_to(folder)
    assert recorded.ncu("v1", folder=tmp_path).counters[LD] == 1572864
    (tmp_path / "nsight").mkdir()
    (tmp_path / "nsight" / "x.csv").write_text("version,rows,cols\nv1,1,1\n")
    with pytest.warns(UserWarning, match=r"x\.csv is left out: no x\.json.*ncu_file"):
        assert recorded.ncu("v1", folder=tmp_path).counters[LD] == 1572864


ABOUT = {"device": "NVIDIA H200", "date": "2027-01-01", "kernels": {"v1": "0"}}
TABLE = f"version,rows,cols,{LD}\nv1,2,3,4\nv2,2,3,5\n"
DAMAGED = {
    "a text": (TABLE.replace(",4", ",many"), ABOUT, "line 2 has l1tex.*'many'"),
    "not finite": (TABLE.replace(",4", ",nan"), ABOUT, "line 2 has l1tex.*'nan'"),
    "no size": (TABLE.replace("v1,2", "v1,x"), ABOUT, "line 2 has rows 'x'"),
    "half a row": (TABLE.replace(",4", ",4.5").replace("v1,2", "v1,2.5"), ABOUT, "rows '2.5'"),
    "cut off": (TABLE[:-3], ABOUT, "line 3 has 3 cells of 4"),
    "cut in a number": (TABLE[:-1], ABOUT, "line 3 has 4 cells of 4, or no end"),
    "kernels": (TABLE, {**ABOUT, "kernels": ["v1"]}, r"x\.json: .*kernels \['v1'\]"),
    "date": (TABLE, {**ABOUT, "date": None}, r"x\.json: .*date None"),
    "device": (TABLE, {"date": "2027-01-01"}, r"x\.json: .*missing: device, kernels"),
    "no object": (TABLE, [], r"x\.json: .*should be an object"),
    "empty": ("", ABOUT, r"x\.csv: .*no header"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_record_of_counters_is_one_clear_error(tmp_path, damage):
    """An ExportError, which every chart takes as a record that is not there."""
    table, about, says = DAMAGED[damage]
    (tmp_path / "nsight").mkdir()
    (tmp_path / "nsight" / "x.csv").write_text(table)
    (tmp_path / "nsight" / "x.json").write_text(json.dumps(about))
    with pytest.raises(ExportError, match=says) as caught:
        recorded.ncu("v1", 2, 3, folder=tmp_path)
    assert isinstance(caught.value, recorded.RecordError)


def test_counters_of_an_older_kernel_say_so(tmp_path):
    """The hash beside the counters decides."""
    folder = tmp_path / "nsight"
    folder.mkdir()
    (folder / "x.csv").write_text(f"version,rows,cols,{LD}\nv1,2,3,4\nv99,1,1,1\n")
    about = {"device": "NVIDIA H200", "date": "2027-01-01", "kernels": {"v1": "0"}}
    (folder / "x.json").write_text(json.dumps(about))
    report = recorded.ncu("v1", 2, 3, folder=tmp_path)
    assert report.label().startswith("Nsight Compute, recorded with an older kernel, NVIDIA H200")


# ------------------------------------------------------------------------- running ncu
FAKE = """#!{python}
import json, sys
words = sys.argv[1:]
if "--version" in words: print("Version 2025.3.1.0"); sys.exit()
if "--query-metrics" in words: print("dram__bytes_read   Counter\\n{metric}  Counter"); sys.exit()
json.dump(words, open({command!r}, "w"))
log, launched = words[words.index("--log-file") + 1], words[words.index("helpers.nsight.drive") + 1]
open(log, "w").write({text!r})
json.dump({launched}, open(launched, "w"))
sys.exit({code})
"""


@pytest.fixture
def fake_ncu(tmp_path, monkeypatch):
    """Pretends that there is a GPU, and an ncu that writes what it is told to."""
    monkeypatch.setattr(ladder.device, "on_gpu", lambda: True)
    monkeypatch.setattr(ladder.device, "name", lambda: "NVIDIA Test 5")
    monkeypatch.setattr(ladder.device, "spec", device.simulated_spec)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def make(text, launched, code=0):
        path = tmp_path / "ncu"
        path.write_text(FAKE.format(python=sys.executable, metric=LD.split(".")[0], text=text,
                                    command=str(tmp_path / "command.json"), launched=launched,
                                    code=code))  # fmt: skip
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "out"

    return make


def test_a_run_is_stored_with_its_provenance(fake_ncu, tmp_path, monkeypatch):
    """CSV and JSON: what was measured, on what, by what method, and what was left out and why."""
    text = "==PROF== go\n" + wide({LD: "", "dram__bytes_read.sum": "byte"},
                                  (at("softmax_v1", 0), ["10", "320"]),
                                  (at("softmax_v0", 1), ["11", "n/a"]),
                                  (at("softmax_v4", 2), ["12", "321"]))  # fmt: skip
    launched = [["v1", 64, 128, None], ["v0", 64, 128, "wrong result"], ["v4", 64, 128, None]]
    out = fake_ncu(text, launched)
    path = nsight.run(["v1", "v0", "v4"], [(64, 128), (64, 100000)], out)
    assert path == out / f"nvidia_test_5_{path.stem[-10:]}.csv"
    assert path.read_text().splitlines() == [
        f"version,rows,cols,{LD},dram__bytes_read.sum", "v1,64,128,10,320", "v4,64,128,12,321"
    ]  # fmt: skip
    about = json.loads(path.with_suffix(".json").read_text())
    assert list(about) == ["device", "driver", "date", "ncu", "method", "kernels", "left_out"]
    assert (about["device"], about["ncu"]) == ("NVIDIA Test 5", "2025.3.1.0")
    assert "no benchmark time" in about["method"]
    assert about["kernels"]["v1"] == versions.get("v1").source_hash
    left = about["left_out"]
    assert left["v0 at 64×128"] == "wrong result"
    assert "one thread a row" in left["v0 at 64×100000"]
    assert "v4 takes at most" in left["v4 at 64×100000"]
    assert "not reached" in left["v1 at 64×100000"]
    words = json.loads((tmp_path / "command.json").read_text())
    given = dict(zip(words, words[1:], strict=False))
    assert given["--clock-control"] == "none"
    assert given["--cache-control"] == "all"
    assert given["--kernel-name"] == "regex:^(softmax_v1|softmax_v0|softmax_v4)$"
    known = given["--metrics"].split(",")  # those of the launch, and what this ncu has
    assert {m for m in known if not m.startswith("launch__")} == {LD, "dram__bytes_read.sum"}
    assert words[-4:] == ["v1:64x128", "v0:64x128", "v4:64x128", "v1:64x100000"]


FAILURES = {
    "==ERROR== ERR_NVGPUCTRPERM - no permission\n": "NVreg_RestrictProfilingToAdminUsers=0",
    "==ERROR== Failed to initialize: LibraryNotLoaded\n": "It said: ==ERROR== Failed to initialize",
    wide({LD: ""}, (at("softmax_v3", 0), ["1"])): "measured softmax_v3 where v1 was launched",
}


@pytest.mark.parametrize("text", FAILURES, ids=["permission", "error", "order"])
def test_an_ncu_that_fails_is_explained(fake_ncu, text):
    """Forbidden counters come with the cure, other errors with ncu's own words."""
    out = fake_ncu(text, [["v1", 64, 128, None]], code=1)
    with pytest.raises(nsight.NsightError, match=re.escape(FAILURES[text])):
        nsight.run(["v1"], [(64, 128)], out)


def test_half_a_file_is_never_left(fake_ncu, monkeypatch):
    """A full disk while the counters are written: nothing looks like a record."""
    out = fake_ncu(wide({LD: ""}, (at(), ["1"])), [["v1", 64, 128, None]])

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(ladder.files.os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        nsight.run(["v1"], [(64, 128)], out)
    assert list(out.iterdir()) == []


def test_only_wrong_results_are_no_measurement(fake_ncu):
    """Counters of a kernel that computes something else are not stored."""
    out = fake_ncu(wide({LD: ""}, (at(), ["1"])), [["v1", 64, 128, "wrong result"]])
    with pytest.raises(nsight.NsightError, match="no launch came out right"):
        nsight.run(["v1"], [(64, 128)], out)
    assert list(out.iterdir()) == []


def test_without_gpu_or_ncu(monkeypatch):
    """Each is one error, which names the way to recorded counters."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    with pytest.raises(nsight.NsightError, match=r"no GPU to profile.*recorded\.ncu"):
        nsight.run(["v1"])
    monkeypatch.setattr(ladder.shutil, "which", lambda name: None)
    monkeypatch.setattr(ladder, "Path", lambda place: type("P", (), {"exists": lambda self: 0})())
    with pytest.raises(nsight.NsightError, match=r"ncu, Nsight Compute's command, was not found"):
        ladder.find()


def test_the_command_line_passes_it_on(fake_ncu, tmp_path, capsys, monkeypatch):
    """python -m helpers profile-gpu: paths on success, exit code 2 and the reason otherwise."""
    out = fake_ncu(wide({LD: ""}, (at(), ["1"])), [["v1", 64, 128, None]])
    assert main(["profile-gpu", "v1", "--size", "64x128", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["csv", "json", "left_out"]
    assert main(["profile-gpu", "v1", "--size", "64"]) == 2
    assert "expected ROWSxCOLS" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    assert main(["profile-gpu", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "NsightError"


def test_the_two_commands_know_the_word(monkeypatch):
    """python3 start.py profile-gpu hands its words on to python -m helpers."""
    calls = []
    monkeypatch.setattr(start, "become", lambda *words: calls.append(words))
    start.WORDS["profile-gpu"](None, ["v1", "--out", "x"])
    assert calls == [("-m", "helpers", "profile-gpu", "v1", "--out", "x")]


def test_the_launching_process_checks_what_it_launches(tmp_path, monkeypatch, capsys):
    """Every launch in order, with its verdict; a wrong kernel is noted, not hidden."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")
    path = tmp_path / "launched.json"
    assert drive.main([str(path), "v1:8x64", "copy:8x64", "naive_f16:8x64"]) == 0
    assert json.loads(path.read_text()) == [
        ["v1", 8, 64, None], ["copy", 8, 64, None], ["naive_f16", 8, 64, None]
    ]  # fmt: skip
    monkeypatch.setattr(drive.launch, "expected", lambda version, x: 2 * x)
    drive.main([str(path), "copy:8x64"])
    assert "wrong result" in json.loads(path.read_text())[0][3]
    monkeypatch.setattr(drive, "PATIENCE", -1)
    drive.main([str(path), "v1:8x64"])
    assert "stopped after -1 s, before v1:8x64" in capsys.readouterr().out


def test_metrics_are_named_once():
    """The fixed list has no metric twice, the four of the global memory are in it, and all but
    those whose name says it are explained in words."""
    plain = {m for m in nsight.METRICS if m not in report.MEANINGS}
    assert plain == {"launch__registers_per_thread", "launch__shared_mem_per_block_static",
                     "launch__shared_mem_per_block_dynamic"}  # fmt: skip
    assert set(report.MEANINGS) <= set(nsight.METRICS)
    assert len(set(nsight.METRICS)) == len(nsight.METRICS)
    assert set(export_names()) <= set(nsight.METRICS)
