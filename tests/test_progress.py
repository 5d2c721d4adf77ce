"""The progress line: silent at first, one line, gone at the end."""

import io
import sys
import types

import pytest

from helpers import progress


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def no_notebook(monkeypatch):
    """As in a plain Python, also when the tests run inside IPython."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)


def worked(stream, seconds, steps=10):
    """A bar over `steps` steps of `seconds` each."""
    clock = Clock()
    with progress.Bar(steps, "softmax_v1", stream, clock) as bar:
        for _ in range(steps):
            clock.now += seconds
            bar.update()
    return stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_short_work_shows_nothing(no_notebook, stream):
    """Under two seconds nothing is written at all."""
    assert worked(stream(), 0.19) == ""


def test_terminal_line_is_rewritten_and_removed(no_notebook):
    """On a terminal there is one line, and in the end none."""
    text = worked(Terminal(), 1.0)
    assert "softmax_v1: 50% after 5 s, about 5 s left" in text
    assert "\n" not in text
    last = text.rstrip("\r").rsplit("\r", 1)[1]
    assert text.endswith("\r")
    assert last.strip() == ""
    assert len(last) >= max(len(part) for part in text.split("\r"))


def test_log_gets_few_whole_lines(no_notebook):
    """In a file a line comes every ten seconds, and the last one says how long it took."""
    lines = worked(io.StringIO(), 1.0, steps=30).splitlines()
    assert lines[0] == "softmax_v1: 7% after 2 s, about 28 s left"
    assert len(lines) == 4
    assert lines[-1] == "softmax_v1: 30 s in all"


def test_closed_stream_does_not_end_the_work(no_notebook):
    """A bar whose stderr is gone is a bar nobody sees, no error."""
    stream = Terminal()
    clock = Clock()
    bar = progress.Bar(2, "x", stream, clock)
    stream.close()
    clock.now = 5.0
    bar.update()
    bar.close()


def test_line_lives_through_a_long_step(no_notebook):
    """update(0) shows that work goes on before the first step is done."""
    clock, stream = Clock(), Terminal()
    bar = progress.Bar(16, "softmax_v0", stream, clock)
    clock.now = 3.0
    bar.update(0)
    assert stream.getvalue() == "\rsoftmax_v0: 0% after 3 s"


def test_more_steps_than_promised_stay_at_all_of_them(no_notebook):
    """A total that was too small never reads 150 %."""
    clock, stream = Clock(), Terminal()
    bar = progress.Bar(0, "x", stream, clock)
    clock.now = 5.0
    bar.update(3)
    assert "100%" in stream.getvalue()


def test_notebook_updates_one_output(monkeypatch):
    """In a notebook one output is created, updated in place and emptied."""
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(("update", data["text/plain"]))

    def display(data, raw, display_id):
        shown.append(("display", data["text/plain"]))
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    stream = io.StringIO()
    assert worked(stream, 1.0) == ""
    assert [kind for kind, _ in shown] == ["display"] + ["update"] * (len(shown) - 1)
    assert len(shown) > 2
    assert shown[-1] == ("update", "")


def test_bar_is_the_door():
    """`bar(total, label)` is what long work calls."""
    bar = progress.bar(3, "x")
    bar.update(3)
    bar.close()
    assert bar.done == 3
