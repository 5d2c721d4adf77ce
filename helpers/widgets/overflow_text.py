"""The sentences and the table of the overflow lesson: all that its plots say, in words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .overflow_model import Outcome, Result

__all__ = [
    "diagnose", "headline", "message", "number", "power_of_ten", "readout", "safe_message",
    "summary", "table", "total",
]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 5) -> str:
    """A number for reading: 65504, 3.4028e38, inf, NaN."""
    if np.isnan(value):
        return "NaN"
    mantissa, e, exponent = f"{value:.{digits}g}".partition("e")
    return (mantissa + e + (str(int(exponent)) if e else "")).replace("-", "−")


def total(value: float) -> str:
    """A row sum to four digits."""
    return number(value, 4)


def power_of_ten(exponent: int) -> str:
    """10⁵ in plain characters, which draw faster than a formula."""
    return "1" if exponent == 0 else "10" + str(exponent).translate(_SUPERSCRIPTS)


def elements(mask: np.ndarray) -> str:
    """Where `mask` (n,) is true: `element 6`, `elements 2 and 5`, `all 10 elements`."""
    where = np.flatnonzero(mask)
    if len(where) == 1:
        return f"element {where[0]}"
    if len(where) == len(mask) > 2:
        return f"all {len(mask)} elements"
    if len(where) > 4:
        return f"{len(where)} elements, the first of them element {where[0]}"
    return f"elements {', '.join(map(str, where[:-1]))} and {where[-1]}"


def _are(mask: np.ndarray) -> str:
    """Those elements with their verb: `element 6 is`, `7 elements, the first of them …, are`."""
    where = elements(mask)
    comma = "," if "," in where and "first" in where else ""
    return f"{where}{comma} {'is' if mask.sum() == 1 else 'are'}"


def _logits_are(mask: np.ndarray) -> str:
    """`the logit of element 6 is`, `the logits of elements 2 and 5 are`."""
    return f"the logit{'' if mask.sum() == 1 else 's'} of {_are(mask)}"


def message(outcome: Outcome) -> str:
    """One sentence: what became of the naive form in this type, and where."""
    _, cause = diagnose(outcome)
    return f"{outcome.format.name}: {cause}; {_effect(outcome)}."


def diagnose(outcome: Outcome) -> tuple[str, str]:
    """The verdict in a few words and its cause, the first of these that applies."""
    for examine in (_bad_inputs, _overflow, _underflow, _lost_terms):
        if found := examine(outcome):
            return found
    top = int(np.argmax(outcome.exponentials))
    largest = number(float(outcome.exponentials[top]))
    if not outcome.naive_holds:
        return "is inaccurate", f"the outputs are up to {number(outcome.gap, 2)} off"
    where = "is in range"
    if float(outcome.exponentials[top]) < outcome.format.smallest_normal:
        where = f"is subnormal (below {number(outcome.format.smallest_normal)}) but not 0"
    return "holds", f"the largest e^x, {largest} at element {top}, {where}"


def _bad_inputs(outcome: Outcome) -> tuple[str, str] | None:
    """NaN and +inf among the logits, as given or as stored; a row with nothing but -inf."""
    x, wanted, largest = outcome.inputs.astype(np.float64), outcome.wanted, outcome.format.largest
    shifted = np.isposinf(wanted) & np.isfinite(outcome.logits)
    stored = np.isposinf(x) & np.isfinite(wanted)
    if np.isnan(x).any():
        return "takes in a NaN", f"{_logits_are(np.isnan(x))} NaN already"
    if shifted.any():
        return "cannot hold x + c", f"x + c overflows even float64 at {elements(shifted)}"
    if stored.any():
        return f"cannot hold the logit{'' if stored.sum() == 1 else 's'}", (
            f"{_logits_are(stored)} beyond {number(largest)} and stored as inf"
        )
    if np.isposinf(x).any():
        return "takes in an inf", f"{_are(np.isposinf(x))} +inf, and e^inf is inf"
    if np.isneginf(x).all():
        return _nothing_but_minus_inf(outcome)
    return None


def _nothing_but_minus_inf(outcome: Outcome) -> tuple[str, str]:
    """A row of -inf, and a row that only became one: by adding c, or in the type."""
    given, wanted = np.isneginf(outcome.logits), np.isneginf(outcome.wanted)
    consequence = "every e^x is 0 and so is the denominator"
    if given.all():
        return "has a row of −inf", f"every logit is −inf, {consequence}"
    stored = "every logit"
    if given.any():
        stored += " that is not −inf already"
    beyond = f"the type's lowest number, {number(-outcome.format.largest)},"
    if wanted.all():
        beyond = "even float64's lowest number once c is added"
    return "stores every logit as −inf", (
        f"{stored} is beyond {beyond} and is stored as −inf; {consequence}"
    )


def _overflow(outcome: Outcome) -> tuple[str, str] | None:
    """An exponential beyond the largest finite number, or a sum of finite ones beyond it."""
    infinite = np.isinf(outcome.exponentials.astype(np.float64))
    if infinite.any():
        first = int(np.argmax(infinite))
        x, edge = float(outcome.inputs[first]), outcome.format.overflows_above
        return f"overflows at {elements(infinite)}", (
            f"e^x overflows at {elements(infinite)} (x = {number(x, 7)} > {edge:.2f}); "
            "the denominator is inf"
        )
    if np.isinf(outcome.denominator):
        first = int(np.argmax(np.isinf(outcome.running.astype(np.float64))))
        return "overflows in the sum", (
            f"each e^x is finite, but their sum passes {number(outcome.format.largest)} at "
            f"element {first}; the denominator is inf"
        )
    return None


def _underflow(outcome: Outcome) -> tuple[str, str] | None:
    """Exponentials that all round to 0, or that are too small to have enough digits left."""
    largest = float(outcome.exponentials.max())
    if largest == 0:
        return "underflows", (
            f"every e^x rounds to 0 (the largest x is {number(float(outcome.inputs.max()), 7)} < "
            f"{number(outcome.format.vanishes_below)}) and the denominator is 0"
        )
    steps = largest / outcome.format.smallest
    if not outcome.naive_holds and steps * outcome.format.unit < 1:
        grid = f"{steps:.0f} times the smallest number of the type, too few steps"
        if round(steps) == 1:
            grid = "the smallest number of the type, with nothing between it and 0"
        return "runs out of small numbers", (
            f"the largest e^x, {number(largest)}, is {grid}: "
            f"outputs are up to {number(outcome.gap, 2)} off"
        )
    return None


def _lost_terms(outcome: Outcome) -> tuple[str, str] | None:
    """A sum that stops growing, or that drifts, because each addition rounds."""
    reached, true = number(outcome.denominator), number(outcome.true_denominator)
    if outcome.stuck_from is not None:
        left = len(outcome.running) - outcome.stuck_from
        rest = "the last term changes" if left == 1 else f"the last {left} terms change"
        return f"sticks at {reached}", (
            f"the sum sticks at {reached} from element {outcome.stuck_from} on: "
            f"{rest} nothing, and float64 gets {true}"
        )
    if abs(outcome.lost_share) > outcome.tolerance:
        return "loses part of the sum", f"the sum ends at {reached} where float64 gets {true}"
    return None


def _effect(outcome: Outcome) -> str:
    """What the naive kernel returned."""
    y = outcome.naive.astype(np.float64)
    nan, quotient = np.isnan(y), "0/0" if outcome.denominator == 0 else "inf/inf"
    if np.isnan(outcome.denominator):
        quotient = "NaN/NaN"
    if nan.all():
        return "every output is NaN" if len(y) > 1 else f"the output is {quotient} = NaN"
    if nan.any() and (y[~nan] == 0).all():
        return f"{_are(nan)} {quotient} = NaN and every other element becomes 0"
    if (y == 0).all():
        return "every output is 0"
    return f"the naive outputs add up to {total(outcome.naive_sum)}"


def safe_message(outcome: Outcome) -> str:
    """One sentence: what became of the form that subtracts the maximum."""
    if np.isnan(outcome.safe.astype(np.float64)).any():
        return "Safe: NaN too; no maximum can be subtracted from such a row."
    off = number(outcome.safe_error, 2)
    distance = f"within {off} of" if outcome.safe_error else "equal to"
    row_sum = total(outcome.safe_sum)
    return f"Safe: row sum {row_sum}, {distance} the exact softmax before any shift."


def headline(result: Result) -> str:
    """The row in one line: its largest logit, and each type's verdict."""
    groups: dict[str, list[str]] = {}
    for outcome in result.outcomes:
        groups.setdefault(diagnose(outcome)[0], []).append(outcome.format.name)
    parts = []
    for verdict, names in groups.items():
        subject = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        parts.append(f"{subject} {_plural(verdict) if names[1:] else verdict}")
    largest = float(np.max(result.outcomes[0].wanted))
    return f"Largest logit {number(largest, 7)}: {'; '.join(parts)}."


def _plural(verdict: str) -> str:
    """`overflows at element 6` → `overflow at element 6`."""
    verb, *rest = verdict.split(" ", 1)
    verb = {"is": "are", "has": "have"}.get(verb, verb.removesuffix("s"))
    return " ".join([verb, *rest])


def summary(sentence: str) -> str:
    """HTML: the one sentence that stands above everything and is announced when it changes."""
    return (
        '<p role="status" style="margin:.3em 0;line-height:1.45;font-weight:600">'
        f"{escape(sentence)}</p>"
    )


def readout(result: Result) -> str:
    """HTML: for each type a sentence on the naive form and one on the safe form."""
    items = "".join(
        f"<li>{escape(message(outcome))} {escape(safe_message(outcome))}</li>"
        for outcome in result.outcomes
    )
    return f'<ul style="margin:.3em 0;padding-left:1.2em;line-height:1.45">{items}</ul>'


def table(result: Result, limit: int = 24) -> str:
    """HTML: input, e^x and both outputs of the first `limit` elements in each type."""
    names = [outcome.format.name for outcome in result.outcomes]
    group = '<th colspan="4" scope="colgroup" style="text-align:center">{}</th>'
    groups = "".join(map(group.format, names))
    heads = '<th scope="col">x</th><th scope="col">e^x</th>'
    heads = len(names) * (heads + '<th scope="col">naive</th><th scope="col">safe</th>')
    rows = "".join(
        f'<tr><th scope="row">{i}</th>'
        + "".join(
            f"<td>{number(float(column[i]), digits)}</td>"
            for o in result.outcomes
            for column, digits in ((o.inputs, 7), (o.exponentials, 4), (o.naive, 4), (o.safe, 4))
        )
        + "</tr>"
        for i in range(min(len(result), limit))
    )
    more = f"<p>The first {limit} of {len(result)} elements.</p>" if len(result) > limit else ""
    return (
        # Without a width of its own the box scrolls instead of widening the page.
        '<div tabindex="0" style="width:0;min-width:100%;overflow-x:auto">'
        '<table style="font-size:.92em;text-align:right;line-height:1.5;'
        'border-collapse:separate;border-spacing:.6em .1em">'
        '<caption style="text-align:left">Each element of the row in each type</caption>'
        f'<thead><tr><th rowspan="2" scope="col">element</th>{groups}</tr><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>"
    )
