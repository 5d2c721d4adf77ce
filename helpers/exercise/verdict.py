"""What a check found, for a person (text, HTML) and for a program (JSON)."""

import json
import math
from dataclasses import asdict, dataclass
from html import escape

from .definition import Case

__all__ = ["SCORES", "STEPS", "Verdict", "score"]

# Partial credit. A kernel that computes something wrong gets the share of the cases it had right.
SCORES = {
    "compile": 0.0,
    "endless": 0.0,
    "wrong": 0.25,
    "defect": 0.25,
    "lucky": 0.6,
    "slow": 0.8,
    "passed": 1.0,
}
STEPS = ("compiles", "right", "free of defects", "within the budget")
REACHED = {"compile": 0, "wrong": 1, "endless": 1, "defect": 2, "lucky": 2, "slow": 3, "passed": 4}
PLAIN = {
    "compile": "it does not compile, or cannot be launched",
    "wrong": "the result is wrong",
    "endless": "the kernel does not end",
    "defect": "the kernel does something that it must not do",
    "lucky": "right by luck: the same kernel may be wrong the next time",
    "slow": "right, but over the budget",
    "passed": "passed",
}
CLIPPED, SHOWN = 2000, 20  # characters and lines of what a kernel prints


def score(stage: str, share: float = 1.0) -> float:
    """The credit for ending at `stage`, with this share of the cases right before that."""
    return round(SCORES[stage] * (share if stage in ("wrong", "defect") else 1.0), 4)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    `stage` is where it ended: compile, wrong, endless, defect, lucky (right only by the order in
    which things happened to run), slow (over the budget) or passed. `kind` is the kind of defect as
    the simulator names it, or the counter of the budget. `message` says what is wrong, `mistake`
    the typical mistake it was known by, `evidence` what was seen, `line` a line of the learner's
    text (from 1) and `source` what stands there. `pattern` is what the wrong elements have in
    common; `row` and `col` (of the output), `got` and `expected` are of the first one, `case` the
    trial it happened in. `score` is the credit from 0 to 1, `said` what the kernel printed.
    """

    name: str
    passed: bool
    stage: str
    message: str
    score: float
    kind: str | None = None
    line: int | None = None
    source: str | None = None
    pattern: str | None = None
    case: Case | None = None
    row: int | None = None
    col: int | None = None
    got: float | None = None
    expected: float | None = None
    mistake: str | None = None
    evidence: tuple[str, ...] = ()
    seconds: float = 0.0
    device: str = ""
    said: str = ""

    def steps(self) -> list[tuple[str, bool | None]]:
        """The four questions in their order: True, False, or None for one not come to."""
        reached = REACHED[self.stage]
        found = [True if k < reached else False if k == reached else None for k in range(4)]
        if self.stage == "defect" and self.row is not None:
            found[1] = False
        return list(zip(STEPS, found, strict=True))

    def __str__(self) -> str:
        head = " · ".join(f"{SIGNS[ok]} {step}" for step, ok in self.steps())
        lines = [f"{self.name}: {PLAIN[self.stage]}", head]
        if self.message:
            lines += ["", self.message]
        if self.evidence:
            lines += ["", *(f"  {line}" for line in self.evidence)]
        if self.said:
            lines += ["", "the kernel printed:", *(f"  {s}" for s in self.said.splitlines())]
        return "\n".join([*lines, "", f"checked on {self.device} in {self.seconds:.1f} s"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        steps = " · ".join(
            f'<span aria-label="{step}: {WORDS[ok]}">{SIGNS[ok]} {step}</span>'
            for step, ok in self.steps()
        )
        colour = "#009E73" if self.passed else "#D55E00"
        parts = [f"<figcaption><b>{escape(self.name)}: {PLAIN[self.stage]}</b></figcaption>",
                 f"<p>{steps}</p>"]  # fmt: skip
        if self.message:
            parts.append(f'<p style="max-width:46em">{escape(self.message)}</p>')
        if self.evidence:
            parts.append(f"<pre>{escape(chr(10).join(self.evidence))}</pre>")
        if self.said:
            parts.append("<details><summary>what the kernel printed</summary>"
                         f"<pre>{escape(self.said)}</pre></details>")  # fmt: skip
        parts.append(f"<p><small>checked on {escape(self.device)} in {self.seconds:.1f} s"
                     "</small></p>")  # fmt: skip
        return (
            f'<figure class="verdict" role="status" style="border-left:4px solid {colour};'
            f'padding:.2em 1em;margin:.5em 0">{"".join(parts)}</figure>'
        )

    def to_dict(self) -> dict:
        """Plain values; a number that JSON does not have is its name, such as "nan"."""
        data = asdict(self)
        for key in ("got", "expected"):
            if isinstance(data[key], float) and not math.isfinite(data[key]):
                data[key] = str(data[key])
        return data

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)


SIGNS = {True: "✓", False: "✗", None: "–"}
WORDS = {True: "yes", False: "no", None: "not looked at"}
