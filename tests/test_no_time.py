"""The simulator returns a time nowhere: its types refuse, and no name in it speaks of one.

bench_sim and the progress line measure how long the simulator itself takes, outside of it.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from helpers import launch, standin

HELPERS = Path(__file__).resolve().parent.parent / "helpers"
SIMULATOR = sorted([*(HELPERS / "simt").rglob("*.py"), HELPERS / "standin.py"])
CLOCKS = {"time", "timeit", "datetime", "calendar", "sched", "cProfile", "profile", "pstats"}
TIMES = re.compile(
    r"time|timer|timing|perf|monotonic|elapsed|duration|latency|clocks?|ms|us|ns|µs"
    r"|milliseconds|microseconds|nanoseconds|gbps|bandwidth",
)

# File -> names of it that only look like a time, each with what it is.
ALLOWED = {
    "standin.py": {
        "get_elapsed_time": "CuPy's function, which here refuses",
        "disable_timing": "an argument of CuPy's Event, taken and ignored",
    },
    "observers/report.py": {
        "TIME": "the bits of a code that number an access: the order of accesses, not a duration",
    },
    "observers/races.py": {
        "TIME": "as in report.py",
        "time": "the number of an access",
        "clock": "counts accesses: itertools.count",
    },
    "observers/order.py": {
        "time": "the number of an access",
        "clock": "counts accesses; a vector clock in the sense of who knows of whom",
    },
    "special.py": {
        "CLOCK": "the sentence by which %clock and its like are refused",
    },
}


def names_in(tree) -> set[str]:
    """Every name that the code binds, reads, imports, or passes by keyword."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found |= {name, *name.split(".")}
    return found


def speaks_of_time(name: str) -> bool:
    """One of its words, as divided by _ or by capitals, is a time's."""
    words = re.split(r"_+|(?<=[a-z])(?=[A-Z])", name)
    return any(TIMES.fullmatch(word.lower()) for word in words)


@pytest.mark.parametrize("path", SIMULATOR, ids=lambda path: str(path.relative_to(HELPERS)))
def test_no_name_in_the_simulator_is_a_times(path):
    """Exceptions are listed by name, with what they are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = str(path.relative_to(HELPERS)).removeprefix("simt/")
    found = {name for name in names_in(tree) if speaks_of_time(name)}
    assert found <= set(ALLOWED.get(where, ())), f"times, or names to allow with a reason: {where}"


def test_no_exception_is_listed_in_vain():
    """A name that has gone leaves the list, too."""
    for where, allowed in ALLOWED.items():
        path = HELPERS / where if where == "standin.py" else HELPERS / "simt" / where
        assert set(allowed) <= names_in(ast.parse(path.read_text(encoding="utf-8"))), where


def test_the_simulator_imports_no_clock():
    """Without exception."""
    for path in SIMULATOR:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in getattr(node, "names", ())
                       if isinstance(node, ast.Import)]
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules.append(node.module)
            assert not CLOCKS & {module.partition(".")[0] for module in modules}, path


@pytest.mark.parametrize("name", ["time", "perf_counter", "elapsed_us", "startTime", "us", "gbps"])
def test_the_search_finds_what_it_is_for(name):
    """Names as a stopwatch has them; and words that only contain one are none."""
    assert speaks_of_time(name)
    code = f"import {name}\ndef f({name}): return g({name}=1).{name}"
    assert names_in(ast.parse(code)) >= {name}
    assert not any(map(speaks_of_time, ("bus", "runtime", "sometimes", "status")))


def test_an_event_refuses_to_tell_a_time():
    """Recorded and waited for, but there is no duration to be had from two of them."""
    start, end = standin.cuda.Event(), standin.cuda.Event()
    start.record()
    end.record()
    end.synchronize()
    with pytest.raises(RuntimeError, match="no clock"):
        standin.cuda.get_elapsed_time(start, end)
    assert not [name for name in dir(start) if speaks_of_time(name)]


def test_what_a_profile_reports_is_counted():
    """No counter, no field and no key of the JSON is a time; every count is a whole number."""
    seen = launch.profile("v1", 2, 64)
    assert all(isinstance(count, int) for count in seen.counters.values())
    told = {*keys_in(json.loads(seen.to_json())), *(n for n in dir(seen) if n[0] != "_")}
    assert told > {*seen.counters, "defects"}
    assert not [name for name in told if any(map(speaks_of_time, re.split(r"\W+", name)))]


def keys_in(value) -> set[str]:
    """Every key of nested JSON."""
    if isinstance(value, dict):
        return {*value, *(key for inner in value.values() for key in keys_in(inner))}
    return {key for inner in value for key in keys_in(inner)} if isinstance(value, list) else set()
