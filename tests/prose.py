"""What a lesson's prose states in numbers, and what the project knows to hold them against.

A number counts as a stated figure when it has a unit, a decimal point, a thousands separator or at
least four digits; code spans, links, folded hints' markup and file names do not count. It is held
when a known number of the same kind rounds to it at the precision it was written with.
"""

import ast
import re
from dataclasses import dataclass

import numpy as np

__all__ = ["Stated", "held", "numbers", "questions", "shown", "sizes", "stated", "worked"]

ASKING = ("number", "choice")  # of helpers.widgets.predict: what they say is a premise
SHOWING = (*ASKING, "reveal", "print")

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
NUMBER = r"(?:[−-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[−-]?\d+(?:\.\d+)?(?:e[+−-]?\d+)?)"
WORDS = "|".join(re.escape(unit) for unit in UNITS if unit != "%")
FIGURE = re.compile(rf"(?<![\w.,^])({NUMBER})(?:[\u202f\u00a0 ]?(?:({WORDS})\b|(%))|(?![\w^]))")
NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[^>]*>|\bV\d|A100 \d+ ?GB|https?://\S+", re.DOTALL
)
POWER = re.compile(r"(?<=\d) ?[·×] ?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
WORKED = re.compile(rf"({NUMBER}(?: ?[-+−·×*/] ?{NUMBER})+) (?:=|is|are) ({NUMBER})")


@dataclass(frozen=True)
class Stated:
    """A number of the prose: as written, its value, the half step of its last digit, its kind."""

    text: str
    value: float
    slack: float
    kind: str
    sentence: str


def stated(prose: str, every: bool = False) -> list[Stated]:
    """The figures of a markdown text, in reading order; with `every`, small whole numbers, too."""
    plain = POWER.sub(lambda power: "e" + power[1].translate(RAISED), NOT_PROSE.sub(" ", prose))
    found = []
    for match in FIGURE.finditer(plain):
        written, unit, percent = match.groups()
        unit = "%" if percent else unit
        bare = written.replace(",", "").replace("−", "-")
        if not (every or unit or re.search(r"[.,e]|\d{4}", written)):
            continue
        scale = SCALE.get(unit, 1.0)
        decimals = len(bare.partition(".")[2])
        around = plain[max(0, match.start() - 60) : match.end() + 30].replace("\n", " ")
        slack = 0.5 * scale * 10.0**-decimals * (1 + 1e-9)
        if "e" in bare:  # half a step of the mantissa's last digit
            mantissa, _, power = bare.partition("e")
            slack = 0.5 * 10.0 ** (int(power) - len(mantissa.partition(".")[2])) * (1 + 1e-9)
        kind = UNITS.get(unit, "count")
        found.append(Stated(match.group().strip(), float(bare) * scale, slack, kind, around))
    return found


def questions(code: str) -> list[str]:
    """What a cell's predictions ask, and the answers they offer: all but what code fills in."""
    return _literals(code, ASKING)


def shown(code: str) -> list[str]:
    """What a cell shows word for word: questions, reasons, what is printed."""
    return _literals(code, SHOWING)


def _literals(code: str, functions: tuple[str, ...]) -> list[str]:
    tree = ast.parse(code)
    named = {target.id: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)
             for target in node.targets if isinstance(target, ast.Name)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)
             and getattr(node.func, "attr", getattr(node.func, "id", "")) in functions]
    found, said = [], [[*call.args, *(k.value for k in call.keywords)] for call in calls]
    for given in (part for parts in said for part in parts):
        parts = [given, *(named[n.id] for n in ast.walk(given)
                          if isinstance(n, ast.Name) and n.id in named)]
        formats = {id(leaf) for part in parts for node in ast.walk(part)
                   if isinstance(node, ast.FormattedValue) and node.format_spec
                   for leaf in ast.walk(node.format_spec)}
        found += [leaf.value for part in parts for leaf in ast.walk(part) if id(leaf) not in formats
                  and isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]
    return list(dict.fromkeys(found))


def sizes(code: str) -> list[float]:
    """The numbers that a cell chooses: arguments of calls, defaults, what is assigned or gone
    through, alone or in a list; none out of a string or a sum."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            found += [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Assign):
            found.append(node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            found.append(node.iter)
        elif isinstance(node, ast.arguments):
            found += [*node.defaults, *filter(None, node.kw_defaults)]
    return [number for one in found for number in _plain(one)]


def _plain(node: ast.AST) -> list[float]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [number for one in node.elts for number in _plain(one)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [-number for number in _plain(node.operand)]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return [float(node.value)]
    return []


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
