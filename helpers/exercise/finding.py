"""What one stage of a check hands on when it ends the check, and how a mistake is known by it."""

import re
from dataclasses import dataclass

from ..simt.source import clean
from .definition import Case, Exercise, Mistake

__all__ = ["Finding", "mistake"]


@dataclass(frozen=True)
class Finding:
    """Where a check ended and what was seen; as in Verdict, but with every pattern that holds."""

    stage: str
    message: str
    kind: str | None = None
    line: int | None = None
    source: str | None = None
    patterns: tuple[str, ...] = ()
    case: Case | None = None
    row: int | None = None
    col: int | None = None
    got: float | None = None
    expected: float | None = None
    evidence: tuple[str, ...] = ()
    share: float = 1.0  # of the cases that were right


def mistake(exercise: Exercise, found: Finding, code: str) -> Mistake | None:
    """The first typical mistake of the exercise whose every condition holds."""
    text = clean(code)
    return next((m for m in exercise.mistakes if _holds(m, found, text)), None)


def _holds(one: Mistake, found: Finding, text: str) -> bool:
    tests = {
        "stage": lambda words: found.stage in words,
        "kind": lambda words: (found.kind or "").startswith(words),
        "pattern": lambda words: any(word in found.patterns for word in words),
        "input": lambda words: found.case is not None and found.case.input in words,
        "source": lambda pattern: re.search(pattern, text) is not None,
    }
    return all(tests[key](wanted) for key, wanted in one.when.items())
