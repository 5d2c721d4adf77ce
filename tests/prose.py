"""What a lesson's prose states in numbers, and what the project knows to hold them against.

A number counts as a stated figure when it has a unit, a decimal point, a thousands separator or at
least four digits; code spans, links, folded hints' markup and file names do not count. It is held
when a known number of the same kind rounds to it at the precision it was written with.
"""

import re
from dataclasses import dataclass

import numpy as np

__all__ = ["Stated", "held", "numbers", "stated", "worked"]

UNITS = {
    "GB/s": "bandwidth",
    "TB/s": "bandwidth",
    "µs": "time",
    "ms": "time",
    "MB": "bytes",
    "GB": "bytes",
    "MiB": "bytes",
    "KiB": "bytes",
    "KB": "bytes",
    "bytes": "bytes",
    "cycles": "cycles",
    "%": "share",
    "times": "ratio",
}
SCALE = {"TB/s": 1e3, "ms": 1e3, "GB": 1e9, "MB": 1e6, "MiB": 2**20, "KiB": 2**10, "KB": 2**10}
NUMBER = r"(?:[−-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?)"
WORDS = "|".join(re.escape(unit) for unit in UNITS if unit != "%")
FIGURE = re.compile(rf"(?<![\w.,^])({NUMBER})(?:[\u202f\u00a0 ]?(?:({WORDS})\b|(%))|(?![\w^]))")
NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[^>]*>|\bV\d|A100 \d+ ?GB|https?://\S+", re.DOTALL
)
WORKED = re.compile(rf"({NUMBER}(?: ?[-+−·×*/] ?{NUMBER})+) (?:=|is|are) ({NUMBER})")


@dataclass(frozen=True)
class Stated:
    """A number of the prose: as written, its value, the half step of its last digit, its kind."""

    text: str
    value: float
    slack: float
    kind: str
    sentence: str


def stated(prose: str) -> list[Stated]:
    """The figures of a markdown text, in reading order."""
    plain = NOT_PROSE.sub(" ", prose)
    found = []
    for match in FIGURE.finditer(plain):
        written, unit, percent = match.groups()
        unit = "%" if percent else unit
        bare = written.replace(",", "").replace("−", "-")
        if not unit and not re.search(r"[.,e]|\d{4}", written):
            continue
        scale = SCALE.get(unit, 1.0)
        decimals = len(bare.partition(".")[2])
        around = plain[max(0, match.start() - 60) : match.end() + 30].replace("\n", " ")
        slack = 0.5 * scale * 10.0**-decimals * (1 + 1e-9)
        if "e" in bare:
            slack = abs(float(bare)) / 10
        kind = UNITS.get(unit, "count")
        found.append(Stated(match.group().strip(), float(bare) * scale, slack, kind, around))
    return found


def worked(prose: str) -> list[float]:
    """The results of the sums that a text writes out, worked out again."""
    return [reckon(sum_) for sum_, _ in WORKED.findall(NOT_PROSE.sub(" ", prose))]


def reckon(text: str) -> float:
    """A sum of numbers with + - · × /, by Python's rules; only digits and signs get here."""
    return float(eval(text.translate(str.maketrans({"−": "-", "·": "*", "×": "*", ",": None}))))


def numbers(text: str) -> list[float]:
    """Every number of an output, separators taken out."""
    return [float(n.replace(",", "").replace("−", "-")) for n in re.findall(NUMBER, text)]


def held(figure: Stated, known: dict[str, np.ndarray]) -> bool:
    """Does a known number of this figure's kind (or one that the lesson prints) round to it?"""
    kinds = known if figure.kind == "count" else (figure.kind, "printed", "given")
    pools = [known.get(kind, ()) for kind in kinds]
    values = np.concatenate([np.asarray(pool, float) for pool in pools])
    scaled = values * SCALE.get(re.sub(r"[\d.,\s−-]", "", figure.text), 1.0)
    near = np.minimum(abs(values - figure.value), abs(scaled - figure.value))
    return bool((near <= figure.slack).any())
