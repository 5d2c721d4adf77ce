"""A progress line for work that may take long: silent for two seconds, gone when the work is done.

On a terminal one line on stderr is rewritten; in a notebook one output is updated; where neither
is there (a log file) a whole line appears now and then.
"""

import contextlib
import sys
import time

__all__ = ["Bar", "bar"]

QUIET_S = 2.0  # work shorter than this shows nothing
REDRAW_S = 0.2
LOG_S = 10.0


def bar(total: int, label: str) -> "Bar":
    """A progress line of `total` steps: `.update(n)` after every n of them, `.close()` at last."""
    return Bar(total, label)


class Bar:
    """Progress of `total` steps; `update(n)` adds n, `close()` clears the line; a context manager.

    `stream` (stderr) and `clock` (seconds) are replaceable for tests.
    """

    def __init__(self, total, label, stream=None, clock=time.monotonic):
        self.total = max(1, total)
        self.label = label
        self.done = 0
        self._clock = clock
        self._start = clock()
        self._next = self._start + QUIET_S
        self._stream = stream if stream is not None else sys.stderr
        self._line = None  # chosen at the first draw: most bars never draw

    def update(self, n=1):
        """Count n more steps as done; update(0) only keeps the line alive during a long step."""
        self.done += n
        now = self._clock()
        if now >= self._next:
            self._line = self._line or line_for(self._stream)
            self._line.draw(self._text(now - self._start))
            self._next = now + self._line.every

    def close(self):
        """Remove the line, or in a log say how long the work took."""
        if self._line:
            self._line.clear(f"{self.label}: {self._clock() - self._start:.0f} s in all")
            self._line = None

    def _text(self, elapsed):
        share = min(1.0, self.done / self.total)
        left = f", about {elapsed * (1 - share) / share:.0f} s left" if share else ""
        return f"{self.label}: {share:.0%} after {elapsed:.0f} s{left}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def line_for(stream):
    """The kind of line that suits where `stream` ends up."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if hasattr(shell, "kernel"):
        return NotebookLine()
    tty = getattr(stream, "isatty", None)
    return TerminalLine(stream) if tty and tty() else LogLine(stream)


class TerminalLine:
    """One line, rewritten in place with carriage returns."""

    every = REDRAW_S

    def __init__(self, stream):
        self._stream = stream
        self._width = 0

    def draw(self, text):
        self._write("\r" + text.ljust(self._width))
        self._width = len(text)

    def clear(self, _):
        self._write("\r" + " " * self._width + "\r")

    def _write(self, text):
        with contextlib.suppress(OSError, ValueError):  # a closed stderr must not end the work
            self._stream.write(text)
            self._stream.flush()


class LogLine(TerminalLine):
    """Whole lines, seldom: for files and pipes."""

    every = LOG_S

    def draw(self, text):
        self._write(text + "\n")

    clear = draw


class NotebookLine:
    """One output of the running cell, updated in place."""

    every = REDRAW_S

    def __init__(self):
        self._output = None

    def draw(self, text):
        from IPython.display import display

        data = {"text/plain": text}
        if self._output is None:
            self._output = display(data, raw=True, display_id=True)
        else:
            self._output.update(data, raw=True)

    def clear(self, _):
        self._output.update({"text/plain": ""}, raw=True)
