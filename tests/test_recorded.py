"""Recorded results: provenance with every figure, files that are whole or refused."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from helpers import recorded, specs, versions
from helpers.recorded import Figure, Record, RecordError

FIGURE = Figure("v1", 4096, 4096, "float32", 70.5, 70.0, 71.25, 50, 1903.8, 0.51, "recorded",
                "NVIDIA H200", "2026-11-30", "580.1")
FILES = sorted(recorded.MEASUREMENTS.glob("*.json"))


def record(*rows, date="2026-11-30", device="NVIDIA H200", **more):
    """A record of the given rows, which are dated and placed as the record is."""
    rows = tuple(dataclasses.replace(row, date=date, device=device) for row in rows or (FIGURE,))
    base = {"driver": "580.1", "method": "by hand", "libraries": {"cupy": "14.0"},
            "kernels": {"v1": versions.get("v1").source_hash}, **more}
    rows = tuple(dataclasses.replace(r, kernel=base["kernels"].get(r.name)) for r in rows)
    return Record(device=device, date=date, rows=rows, **base)


def test_the_article_holds_the_five_published_figures_and_no_invented_value():
    """V0 to V4 at 4096 × 4096 on the A100: published bandwidths, and nothing nobody published."""
    rows = recorded.article()
    assert [row.name for row in rows] == ["v0", "v1", "v2", "v3", "v4"]
    for row in rows:
        assert (row.rows, row.cols, row.dtype) == (4096, 4096, "float32")
        assert row.label() == "article, NVIDIA A100 80GB SXM4, as published"
        unknown = (row.us, row.us_q1, row.us_q3, row.repeats, row.copy_share, row.driver, row.date)
        assert unknown == (None,) * 7


def test_the_article_agrees_with_itself():
    """Percentages are of the A100's data sheet, speed-ups are ratios to V0: a typo breaks one."""
    rows = recorded.article()
    peak = specs.get("a100").bandwidth / 1e9
    for row in rows:
        assert round(100 * row.gbps / peak) == row.percent, row.name
        assert round(row.gbps / rows[0].gbps, 1) == row.speedup, row.name


def test_published_figures_are_written_in_one_file_only():
    """No module of the package repeats a figure of article.json."""
    figures = "|".join(f"{row.gbps:g}" for row in recorded.article() if row.gbps > 999)
    package = Path(recorded.__file__).parent
    repeats = [path for path in package.rglob("*.py") if re.search(rf"\b({figures})\b",
                                                                   path.read_text("utf-8"))]
    assert repeats == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_of_measurements_is_consistent(path):
    """Bandwidth follows from the time, quartiles enclose the median, the copies are there."""
    found = recorded.load(path)
    for row in found.rows:
        assert row.origin == ("article" if path.name == recorded.ARTICLE else "recorded")
        if row.origin == "article":
            continue
        itemsize = 2 if "16" in row.dtype else 4
        gbps = specs.effective_bandwidth(row.rows, row.cols, itemsize, row.us * 1e-6) / 1e9
        assert row.gbps == pytest.approx(gbps, rel=1e-3)
        assert row.us_q1 <= row.us <= row.us_q3
        assert row.repeats > 0
        assert {"memcpy"} <= {f.name for f in found.at(row.rows, row.cols, row.dtype)}
        assert recorded.version_of(row.name) is None or row.name in found.kernels


def test_a_record_survives_the_file(tmp_path):
    """What is saved is what is loaded, under the keys that other tools read."""
    path = recorded.save(record(), tmp_path / "h200.json")
    assert recorded.load(path) == record()
    raw = json.loads(path.read_text("utf-8"))
    assert list(raw) == ["device", "driver", "date", "method", "libraries", "kernels", "rows"]
    assert list(raw["rows"][0]) == ["name", "rows", "cols", "dtype", "us", "us_q1", "us_q3",
                                    "repeats", "gbps", "copy_share", "origin"]


def test_a_live_figure_is_stored_as_recorded(tmp_path):
    """Nothing read back from a file can pass for measured just now."""
    live = record(dataclasses.replace(FIGURE, origin="live"))
    assert [row.origin for row in recorded.load(recorded.save(live, tmp_path / "a.json")).rows] == [
        "recorded"
    ]


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    """A full disk in the middle of saving destroys no earlier record."""
    path = recorded.save(record(), tmp_path / "a.json")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(recorded.os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        recorded.save(record(date="2027-01-01"), path)
    assert recorded.load(path).date == "2026-11-30"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def broken(**changes):
    """The JSON of a good file with some keys of its only row changed; ... removes one."""
    raw = json.loads(record().to_json())
    raw["rows"][0] |= changes
    raw["rows"][0] = {key: value for key, value in raw["rows"][0].items() if value is not ...}
    return json.dumps(raw)


def run_with(**changes):
    """The JSON of a good file with other keys of the run."""
    return json.dumps(json.loads(record().to_json()) | changes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "should be an object, got list"),
        ('{"device": "NVIDIA H200"}', "missing: driver, date, method"),
        (record().to_json().replace('"rows": [', '"rows": {}, "old": ['), "unknown: old"),
        (json.dumps({**json.loads(record().to_json()), "rows": {}}), "expected a list"),
        (json.dumps({**json.loads(record().to_json()), "rows": [3]}), "row 0 should be an object"),
        (broken(us=...), "missing: us"),
        (broken(speed=1), "unknown: speed"),
        (broken(origin="live"), "origin 'live'"),
        (broken(origin="guessed"), "origin 'guessed'"),
        (broken(us="abc"), "us 'abc'; expected a positive number"),
        (broken(us_q3=None), "us_q3 None; expected a positive number"),
        (broken(copy_share="a"), "copy_share 'a'"),
        (broken(rows="4096"), "rows '4096'; expected a positive whole number"),
        (broken(repeats=2.5), "repeats 2.5"),
        (broken(dtype=3), "dtype 3; expected a text"),
        (broken(gbps=float("nan")), "gbps nan"),
        (broken(gbps=0), "gbps 0"),
        (broken(gbps=None), "gbps None"),
        (broken(gbps="fast"), "gbps 'fast'"),
        (broken(gbps=True), "gbps True"),
        (broken(us=10**400), "us 1000"),
        (broken(name=""), "name ''; expected a text"),
        (broken(origin=["recorded"]), "origin ['recorded']"),
        (run_with(kernels=[]), "kernels []; expected an object of texts"),
        (run_with(kernels=None), "kernels None"),
        (run_with(kernels={"v1": 3}), "kernels {'v1': 3}"),
        (run_with(kernels={}), "row 0 (v1) has no hash under kernels"),
        (run_with(libraries=None), "libraries None"),
        (run_with(date=20261130), "date 20261130; expected a date like 2026-11-30"),
        (run_with(date="yesterday"), "date 'yesterday'"),
        (run_with(driver=580), "driver 580; expected a text"),
        (run_with(method=None), "method None"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=range(34),
)
def test_a_broken_file_is_refused_by_name(tmp_path, text, says):
    """The message names the file and what is wrong with it; the folder is not read around it."""
    path = tmp_path / "h200.json"
    path.write_text(text, "utf-8")
    with pytest.raises(RecordError, match=re.escape(says)) as caught:
        recorded.load(path)
    assert str(path) in str(caught.value)
    with pytest.raises(RecordError):
        recorded.figures(folder=tmp_path)


def test_what_load_would_refuse_is_not_written(tmp_path):
    """Neither a row nor what stands over all rows."""
    for bad in (record(device=None), record(kernels={"v1": ""}), record(date="soon"),
                record(dataclasses.replace(FIGURE, us=10**400))):  # fmt: skip
        with pytest.raises(RecordError):
            recorded.save(bad, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_foreign_files_are_left_alone(tmp_path):
    """Another device's file may be broken; one that names no device is left out with a warning."""
    recorded.save(record(), tmp_path / "a.json")
    (tmp_path / "t4.json").write_text('{"device": "Tesla T4", "rows": 3}')
    (tmp_path / "zz.json").write_text('{"hello": 1}')
    with pytest.warns(UserWarning, match=r"zz\.json names no device"):
        assert recorded.latest(folder=tmp_path) == record()
    with pytest.raises(RecordError, match=r"t4\.json"):
        recorded.latest("Tesla T4", tmp_path)


def test_a_folder_is_no_record(tmp_path):
    """One clear error, not the system's."""
    with pytest.raises(RecordError, match="cannot be read"):
        recorded.load(tmp_path)


def test_a_missing_file_says_where_records_lie(tmp_path):
    """The way out of a wrong path is the folder of the right ones."""
    with pytest.raises(RecordError, match="measurements"):
        recorded.load(tmp_path / "none.json")


def test_figures_come_from_the_newest_record_of_the_device(tmp_path):
    """Older records and other devices do not mix in; without a record the list is empty."""
    assert recorded.figures(folder=tmp_path) == []
    recorded.save(record(date="2026-12-24"), tmp_path / "a.json")
    recorded.save(record(), tmp_path / "b.json")
    recorded.save(record(device="NVIDIA H100", date="2027-01-01"), tmp_path / "c.json")
    assert [row.date for row in recorded.figures(folder=tmp_path)] == ["2026-12-24"]
    assert recorded.figures(cols=2048, folder=tmp_path) == []
    assert recorded.figures(dtype="float16", folder=tmp_path) == []


def test_of_two_records_of_one_day_the_larger_is_the_latest(tmp_path):
    """A sweep beside a ladder: `latest` is the sweep, and no date loses to size."""
    sweep = record(FIGURE, dataclasses.replace(FIGURE, cols=128))
    recorded.save(record(), tmp_path / "a.json")
    recorded.save(sweep, tmp_path / "b.json")
    assert len(recorded.latest(folder=tmp_path).rows) == 2
    recorded.save(record(date="2026-12-24"), tmp_path / "c.json")
    assert recorded.latest(folder=tmp_path).date == "2026-12-24"


def test_figures_of_a_size_come_from_the_newest_file_that_has_it(tmp_path):
    """One run a size, with its own copies; `newest` gathers each row from where it is newest."""
    wide = dataclasses.replace(FIGURE, cols=128)
    copy = dataclasses.replace(FIGURE, name="memcpy")
    recorded.save(record(FIGURE, wide, copy), tmp_path / "sweep.json")
    recorded.save(record(date="2026-12-24"), tmp_path / "ladder.json")
    assert [row.date for row in recorded.figures(cols=128, folder=tmp_path)] == ["2026-11-30"]
    assert [row.name for row in recorded.figures(folder=tmp_path)] == ["v1"]
    gathered = {(r.name, r.cols): r.date for r in recorded.newest(folder=tmp_path)}
    assert gathered == {
        ("v1", 4096): "2026-12-24", ("v1", 128): "2026-11-30", ("memcpy", 4096): "2026-11-30"
    }
    assert recorded.newest("NVIDIA T4", tmp_path) == []


def test_a_row_knows_whether_its_own_kernel_is_old(tmp_path):
    """Rows of files with different kernels do not borrow each other's state."""
    now = versions.get("v1").source_hash
    wide = dataclasses.replace(FIGURE, cols=128)
    recorded.save(record(wide, kernels={"v1": "0123"}), tmp_path / "old.json")
    recorded.save(record(date="2026-12-24", kernels={"v1": now}), tmp_path / "new.json")
    assert {r.cols: r.stale for r in recorded.newest(folder=tmp_path)} == {4096: False, 128: True}
    assert not any(row.stale for row in recorded.article())
    assert not dataclasses.replace(FIGURE, name="memcpy", kernel="0").stale


def test_an_older_kernel_is_told_wherever_the_figure_is(tmp_path):
    """In the label, the table and the page of a record; charts ask for the label without it."""
    path = recorded.save(record(kernels={"v1": "0123"}), tmp_path / "a.json")
    old = recorded.load(path)
    for text in (str(old), repr(old), old._repr_html_(), old.rows[0].label()):
        assert "recorded with an older kernel, NVIDIA H200, 2026-11-30" in text
    assert old.rows[0].where() == "recorded, NVIDIA H200, 2026-11-30"
    assert "older" not in str(record())
    assert dataclasses.replace(FIGURE, date=None).label() == "recorded, NVIDIA H200, no date"


@pytest.mark.parametrize(
    ("device", "share"),
    [("NVIDIA H200", 1903.8 / 4800), ("NVIDIA A100 80GB SXM4", 1903.8 / 2039),
     ("NVIDIA A100-SXM4-80GB", 1903.8 / 2039), ("NVIDIA H100 80GB HBM3", 1903.8 / 3350),
     ("Tesla T4", 1903.8 / 320), ("NVIDIA A100-SXM4-40GB", None), ("NVIDIA H100 PCIe", None),
     ("NVIDIA A100 80GB PCIe", None), ("NVIDIA GH200 480GB", None), ("another", None)],
)
def test_share_of_the_data_sheet(device, share):
    """Of the very card's bandwidth; None where only the name is the same, or nothing."""
    found = dataclasses.replace(FIGURE, device=device).peak_share
    assert found == (share if share is None else pytest.approx(share))


def test_claims_are_the_articles_and_name_their_device():
    """Each has a value, a unit and what was claimed; none can be taken for measured."""
    found = recorded.claims()
    assert {"shuffle_cycles", "shared_cycles", "v4_max_cols", "v4_no_fit", "traffic_three_reads",
            "traffic_two_reads", "intensity_scalar", "intensity_vectorised"} <= set(found)
    for one in found.values():
        assert one.unit
        assert one.what
        assert one.label().startswith("article, ")
    matrix = 4096 * 4096 * 4 / 2**20
    assert recorded.claim("traffic_three_reads").value == 3 * matrix
    assert recorded.claim("traffic_two_reads").value == 2 * matrix
    chart = recorded.claim("triton_chart")
    assert {len(series) for series in chart.value.values()} == {
        len(recorded.claim("triton_columns").value)
    }
    assert chart.label() == "article, device not named, as published"
    with pytest.raises(RecordError, match=r"no claim called 'speed'; article\.json has shuffle"):
        recorded.claim("speed")


def test_the_promised_and_the_measured_gain_fit_the_figures():
    """V4 over V3 as claimed is what the article's own bandwidths give."""
    gbps = {row.name: row.gbps for row in recorded.article()}
    assert recorded.claim("v4_gain_measured").value == round(gbps["v4"] / gbps["v3"], 2)
    assert recorded.claim("v4_gain_promised").value == 3 / 2


@pytest.mark.parametrize(
    ("claims", "says"),
    [(..., "expected an object under claims, got NoneType"), ([], "got list"),
     ({"x": 3}, "claim x should be an object"), ({"x": {"value": 3}}, "missing: unit, what"),
     ({"x": {"value": "3", "unit": "s", "what": "w", "device": None}}, "claim x has value '3'")],
)
def test_broken_claims_are_refused(tmp_path, claims, says):
    """The message names the file and the claim."""
    raw = json.loads((recorded.MEASUREMENTS / recorded.ARTICLE).read_text("utf-8"))
    raw = {key: value for key, value in raw.items() if key != "claims"}
    path = tmp_path / recorded.ARTICLE
    path.write_text(json.dumps(raw if claims is ... else {**raw, "claims": claims}), "utf-8")
    with pytest.raises(RecordError, match=re.escape(says)) as caught:
        recorded.claim("x", tmp_path)
    assert str(path) in str(caught.value)


def test_a_figure_is_stale_when_its_source_is_no_longer_the_catalogues():
    """An edited kernel is stale, memcpy never is, copy_kernel is the version copy; the record says
    the same as its rows."""
    now = {"v1": versions.get("v1").source_hash, "copy_kernel": versions.get("copy").source_hash}
    rows = [dataclasses.replace(FIGURE, name=name) for name in ("v1", "copy_kernel", "memcpy")]
    for kernels, stale in ((now, []), ({**now, "v1": "0"}, ["v1"]),
                           ({"v1": "0", "copy_kernel": "0"}, ["v1", "copy_kernel"])):
        one = record(*rows, kernels=kernels)
        assert [row.name for row in one.rows if row.stale] == stale
        assert [row.name for row in rows if one.stale(row.name)] == stale


def test_a_figure_that_is_not_there_is_named_with_those_that_are():
    """Asking a record for another version or size lists what it has."""
    assert record().figure("v1") is not None
    with pytest.raises(RecordError, match="no figure for v9 at 4096×4096; it has v1 at 4096×4096"):
        record().figure("v9")


def test_tables_carry_origin_device_and_date():
    """The text and the HTML table say of each row where it comes from; unknowns are dashes."""
    text = str(record(dataclasses.replace(FIGURE, us=None, us_q1=None, copy_share=None)))
    assert text.splitlines()[0].split() == ["name", "size", "dtype", "µs", "quartiles", "GB/s",
                                            "of", "copy", "of", "peak", "origin"]
    assert text.splitlines()[1].split() == [
        "v1", "4096×4096", "float32", "–", "–", "1904", "–", "40%", "recorded,", "NVIDIA", "H200,",
        "2026-11-30",
    ]
    assert "<td>70.0–71.2 of 50</td>" in record()._repr_html_()
    assert "&lt;b&gt;" in record(device="<b>")._repr_html_()
