"""What can go wrong between a `.cu` file and its results, each as one plain exception.

Every class holds its facts as attributes, survives pickling, and prints as one message of a few
lines: what happened, where (kernel, block, thread), and the source line when it is known.
"""

__all__ = [
    "BudgetExceeded",
    "CompileError",
    "Defect",
    "LaunchError",
    "PtxError",
    "SimulatorError",
    "UnsupportedInstruction",
]

NAMELESS = "kernel.cu"  # what the compiler calls a source that was passed as text


class SimulatorError(RuntimeError):
    """The base of everything the simulator raises; `message` is the sentence without its place.

    `kernel` is the entry's name, `file` and `line` (counted from 1) a place in the source and
    `source` the text of that line; what is unknown is None.
    """

    def __init__(self, message, *, kernel=None, file=None, line=None, source=None):
        super().__init__(message)
        self.message = message
        self.kernel = kernel
        self.file = file
        self.line = line
        self.source = source

    def __str__(self):
        return "\n".join(self._report())

    def _report(self):
        """The lines of the printed message, most important first."""
        return [self.message, *self._where(), *self._listing()]

    def _where(self):
        named = not self.kernel or self.kernel in self.message
        return [] if named else [f"  in kernel {self.kernel}"]

    def _listing(self):
        if self.line is None:
            return [f"  {self.file}"] if self.file else []
        place = f"  {self.file or 'line'}:{self.line}"
        return [f"{place}: {self.source.strip()}" if self.source else place]

    def name_file(self, file):
        """Say `file` where the source was compiled as a nameless text, and return the error."""
        if self.file in (None, NAMELESS):
            self.file = file
            for name, value in vars(self).items():
                if isinstance(value, str):
                    setattr(self, name, value.replace(NAMELESS, file))
        return self

    def to_json(self):
        """The facts as a dictionary of plain values, `kind` first; unknown ones are None."""
        return {"kind": type(self).__name__, **vars(self)}


class CompileError(SimulatorError):
    """The source does not compile; `text` is the offending line, `log` all the compiler said."""

    def __init__(self, message, *, file=None, line=None, text=None, log=None):
        super().__init__(message, file=file, line=line, source=text)
        self.log = log

    @property
    def text(self):
        return self.source

    def _report(self):
        said = [f"    {entry}" for entry in (self.log or "").strip().splitlines()]
        return [*super()._report(), *(["  the compiler says:", *said] if said else [])]


class PtxError(SimulatorError):
    """PTX that cannot be read; `file`, `line` and `source` are the PTX text's, not the `.cu`'s."""


class UnsupportedInstruction(SimulatorError):
    """An instruction outside the simulator's tables: `mnemonic`, and the `.cu` line it is from."""

    def __init__(self, message, *, mnemonic=None, kernel=None, file=None, line=None, source=None):
        super().__init__(message, kernel=kernel, file=file, line=line, source=source)
        self.mnemonic = mnemonic


class LaunchError(SimulatorError, ValueError):
    """A launch refused before it starts: arguments, shapes, limits, grid or block."""


class BudgetExceeded(SimulatorError):
    """A launch ran past its instruction `budget` (instructions a chunk of blocks): an endless loop,
    most likely at the line given. Of one that waits in vain, `block` and `thread` are the first
    that do. `before` has the defects that a profile had found by then."""

    before = ()

    def __init__(self, message, *, budget=None, block=None, thread=None, **place):
        super().__init__(message, **place)
        self.budget = budget
        self.block = block
        self.thread = thread

    def _where(self):
        return who(self)

    def _report(self):
        found = [f"  before that, line {d.line}: {d.kind}: {d.message}" for d in self.before]
        return [*super()._report(), *found]

    def to_json(self):
        return super().to_json() | {"before": [d.to_json() for d in self.before]}


class Defect(SimulatorError):
    """A mistake of the kernel's author that the simulator saw happen.

    `kind` names the class of mistake ("out of bounds", "misaligned", …), `block` and `thread` are
    CUDA indices (an int or an (x, y, z) tuple), `array` the argument's name in the kernel. A
    mistake that takes two places has both `lines`. What does no harm by itself has `severity`
    "note" instead of "error": it is collected, and never raised.
    """

    def __init__(
        self,
        kind,
        message,
        *,
        kernel=None,
        file=None,
        line=None,
        source=None,
        block=None,
        thread=None,
        array=None,
        lines=None,
        severity="error",
    ):
        super().__init__(message, kernel=kernel, file=file, line=line, source=source)
        self.args = (kind, message)  # what pickle hands back to __init__
        self.kind = kind
        self.block = block
        self.thread = thread
        self.array = array
        self.lines = lines or (line,)
        self.severity = severity

    @property
    def key(self):
        """What makes two reports one: the kind of mistake, the lines and the array."""
        return self.kind, tuple(sorted(line or 0 for line in self.lines)), self.array

    def _report(self):
        return [f"{self.kind}: {self.message}", *self._where(), *self._listing()]

    def _where(self):
        return who(self)


def who(error):
    """The line that names kernel, block and thread, as far as they are known."""
    known = {name: getattr(error, name) for name in ("kernel", "block", "thread")}
    parts = [f"{name} {value}" for name, value in known.items() if value is not None]
    return ["  in " + ", ".join(parts)] if parts else []
