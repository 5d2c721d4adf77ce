"""The exceptions: facts as attributes, one clear message, safe to send between processes."""

import json
import pickle

import pytest

from helpers.simt import errors

DEFECT = errors.Defect(
    "out of bounds",
    "4 bytes past the end of `x` (16384 B)",
    kernel="softmax_v3",
    file="kernel.cu",
    line=42,
    source="    float4 v = x4[col];",
    block=(3, 0, 0),
    thread=(17, 0, 0),
    array="x",
)
EXAMPLES = [
    DEFECT,
    errors.LaunchError("too many columns", kernel="softmax_v4"),
    errors.CompileError("kernel.cu: expected ;", file="kernel.cu", line=3, text="x", log="a\nb"),
    errors.PtxError("no such directive", file="PTX", line=9, source=".nonsense"),
    errors.UnsupportedInstruction("no wgmma here", mnemonic="wgmma", line=7),
    errors.BudgetExceeded("does this loop end?", budget=10, kernel="k"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_survives_pickling(error):
    """A worker process can hand an error back whole."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_is_a_simulator_error_with_json(error):
    """Everything derives from SimulatorError and can be written as JSON with its kind."""
    assert isinstance(error, errors.SimulatorError)
    assert json.loads(json.dumps(error.to_json()))["message"] == error.message
    assert error.to_json()["kind"]


def test_message_of_a_defect_says_what_and_where():
    """A defect prints kind, kernel, block, thread and the source line."""
    assert str(DEFECT).splitlines() == [
        "out of bounds: 4 bytes past the end of `x` (16384 B)",
        "  in kernel softmax_v3, block (3, 0, 0), thread (17, 0, 0)",
        "  kernel.cu:42: float4 v = x4[col];",
    ]


def test_thread_zero_is_named():
    """Block 0 and thread 0 are places like any other."""
    assert "block 0, thread 0" in str(errors.Defect("race", "two writes", block=0, thread=0))


def test_compile_error_shows_line_and_log():
    """A compile error quotes the source line and all that the compiler said."""
    error = errors.CompileError("bad", file="v1.cu", line=3, text="int x", log="one\ntwo\n")
    assert (error.text, error.log) == ("int x", "one\ntwo\n")
    assert str(error).splitlines() == [
        "bad",
        "  v1.cu:3: int x",
        "  the compiler says:",
        "    one",
        "    two",
    ]


def test_launch_error_is_a_value_error():
    """Code that guards a call with ValueError catches a refused launch."""
    assert isinstance(errors.LaunchError("no"), ValueError)


def test_name_file_replaces_only_the_nameless_source():
    """A text compiled without a name gets the file's; an error in a header keeps the header's."""
    error = errors.CompileError("kernel.cu: bad", file="kernel.cu", line=1, log="kernel.cu(1): bad")
    error.name_file("v1.cu")
    assert (error.file, error.message, error.log) == ("v1.cu", "v1.cu: bad", "v1.cu(1): bad")
    header = errors.CompileError("half.h: bad", file="half.h", line=1)
    header.name_file("v1.cu")
    assert header.file == "half.h"
