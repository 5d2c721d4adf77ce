"""The stepper's HTML before its script has filled it in: controls, listing, lanes, cells, rows."""

from __future__ import annotations

import re
from html import escape

from ..simt.trace import Trace
from ..views.code import highlight

__all__ = ["skeleton"]

WARP = 32
OPERANDS, RECENT = 5, 5  # rows of registers: those of the instruction, and the last ones written
SPEEDS = (
    ("1 step", "step", 1), ("4 steps", "step", 4), ("12 steps", "step", 12),
    ("1 line", "line", 1), ("2 lines", "line", 2), ("4 lines", "line", 4),
)  # fmt: skip
# Triangles and bars, drawn so that no font is needed.
ICONS = {
    "first": "M3 3h2v10H3zM13 3v10L6 8z", "last": "M11 3h2v10h-2zM3 3v10l7-5z",
    "back": "M11 3v10L4 8z", "step": "M5 3v10l7-5z", "play": "M4 2v12l9-6z",
    "pause": "M4 3h3v10H4zM9 3h3v10H9z", "barrier": "M3 3v10l6-5zM10 3h3v10h-3z",
}  # fmt: skip
KEYS = (
    ("← →", "one step"), ("Shift ← →", "one line"), ("B", "next barrier"),
    ("Shift B", "barrier before"), ("Space", "play or pause"), ("Home End", "first and last step"),
    ("↑ ↓ Enter", "in the listing: choose a line, run to it"),
)  # fmt: skip
STATES = (
    ("a", "active"), ("p", "predicated off"), ("w", "waiting"), (".", "idle"), ("x", "exited"),
)  # fmt: skip


def skeleton(trace: Trace, data: dict, note: str | None) -> str:
    """Everything inside the shadow root, for the model `data` of a trace."""
    label = (
        f"Step through {trace.kernel}. Arrow keys move a step, with Shift a line; B goes to the "
        "next barrier, Space plays."
    )
    caption = f'<p class="note">{escape(note)}</p>' if note else ""
    side = lanes(data) + cells(data) + thread(data)
    return (
        f'<section class="stepper" role="group" tabindex="0" aria-label="{escape(label)}">'
        f'<p class="title">{title(data["title"])}</p>{caption}'
        f"{controls(data)}{mistakes(data)}"
        '<div class="said"><p class="deed"><b></b> <span></span></p><p class="access"></p></div>'
        f'<div class="body">{listing(trace, data)}<div class="side">{side}</div></div>'
        f'<details class="keys"><summary>Keys</summary><p>{keys()}</p></details>'
        '<p class="live" role="status" aria-live="polite"></p></section>'
    )


def title(text: str) -> str:
    name, _, rest = text.partition(" · ")
    return f"<b>{escape(name)}</b> · {escape(rest)}"


def keys() -> str:
    return " ".join(f"<span><kbd>{key}</kbd> {escape(what)}</span>" for key, what in KEYS)


# ---------------------------------------------------------------------------- controls
def button(name: str, text: str, label: str, icon: str = "", after: bool = False) -> str:
    """A button of the toolbar; `icon` before its text, or after it."""
    drawn = f'<svg viewBox="0 0 16 16" aria-hidden="true"><path d="{ICONS[icon]}"/></svg>'
    drawn = drawn if icon else ""
    said = f"<span>{text}</span>" if text else ""
    inside = said + drawn if after else drawn + said
    said = f'aria-label="{label}" title="{label}"'
    return f'<button type="button" data-do="{name}" {said}>{inside}</button>'


def controls(data: dict) -> str:
    last, threads = len(data["pc"]) - 1, data["threads"] - 1
    speeds = "".join(
        f'<option value="{unit} {rate}"{" selected" if rate == 4 and unit == "step" else ""}>'
        f"{text} a second</option>"
        for text, unit, rate in SPEEDS
    )
    buttons = (
        button("first", "", "First step (Home)", "first"),
        button("line-back", "line", "Line before (Shift and left arrow)", "back"),
        button("back", "step", "Step back (left arrow)", "back"),
        button("step", "step", "Step forward (right arrow)", "step", after=True),
        button("line", "line", "Next line (Shift and right arrow)", "step", after=True),
        button("barrier", "to barrier", "Run to the next barrier (B)", "barrier", after=True)
        if data["barriers"] else "",
        button("last", "", "Last step (End)", "last"),
    )  # fmt: skip
    play = (
        f'<button type="button" data-do="play" class="play" aria-pressed="false" title="Play or '
        f'pause (Space)"><svg viewBox="0 0 16 16" aria-hidden="true"><path class="on" '
        f'd="{ICONS["play"]}"/><path class="off" d="{ICONS["pause"]}"/></svg>'
        "<span>play</span></button>"
        f'<select aria-label="Speed of playing" class="speed">{speeds}</select>'
    )
    return (
        f'<div class="bar" role="toolbar" aria-label="Steps"><span class="set">{"".join(buttons)}'
        f'</span><span class="set">{play}</span>'
        f'<span class="set wide"><input type="range" class="slide" min="0" max="{last}" value="0" '
        'aria-label="Step"><label>step <input type="number" class="where" min="0" '
        f'max="{last}" value="0"></label><span>of {last}</span></span>'
        f'<label class="set follow">follow thread <input type="number" class="who" min="0" '
        f'max="{threads}" value="0"></label></div>'
    )


def mistakes(data: dict) -> str:
    """A strip for each thing the simulator found, with a button that goes there."""
    found = []
    for number, defect in enumerate(data["defects"]):
        kind = "Note" if defect["note"] else "Mistake"
        lines = ", ".join(map(str, sorted(defect["lines"])))
        place = f", line{'s' if len(defect['lines']) > 1 else ''} {lines}" if lines else ""
        text = f"<b>{kind}: {escape(defect['kind'])}{place}.</b> {quoted(defect['message'])}"
        go = "" if defect["step"] is None else (
            f'<button type="button" data-defect="{number}">go there</button>')  # fmt: skip
        look = "hint" if defect["note"] else "wrong"
        found.append(f'<p class="{look}"><span>{text}</span>{go}</p>')
    return "".join(found)


def quoted(message: str) -> str:
    """A message as HTML, what it has between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(message))


# ---------------------------------------------------------------------------- the listing
def listing(trace: Trace, data: dict) -> str:
    """The source, a focusable line each; lines with a mistake are marked."""
    wrong = {line for d in data["defects"] for line in d["lines"] if not d["note"]}
    ever = {code[0] for code in data["program"]}
    rows = []
    for number, code in enumerate(highlight("\n".join(trace.source)), 1):
        marks = ("wrong " if number in wrong else "") + ("" if number in ever else "silent")
        rows.append(
            f'<div class="row {marks}" role="option" data-line="{number}" tabindex="-1" '
            f'aria-selected="false"><b class="at"></b><b class="n">{number}</b>'
            f'<pre>{code or " "}</pre><b class="count"></b></div>'
        )
    return (
        '<div class="panel listing"><h4>Source <small>click a line to run to it; '
        "right: how often threads have executed it</small></h4>"
        '<div class="scroll" role="listbox" aria-label="Source lines; Enter runs to a line">'
        f"<div>{''.join(rows)}</div></div></div>"
    )


# ---------------------------------------------------------------------------- the state
def lanes(data: dict) -> str:
    """A row a warp, a square a lane, its place said at the right; a slot for shuffles below."""
    threads, rows = data["threads"], []
    seen = {letter for letters, _ in data["lanes"] for letter in letters}
    for warp in range(-(-threads // WARP)):
        members = range(WARP * warp, min(WARP * (warp + 1), threads))
        squares = "".join(f'<i data-t="{t}"></i>' for t in members)
        rows.append(
            f'<b>warp {warp}</b><div class="lanes" data-warp="{warp}">{squares}</div><span></span>'
        )
    legend = " ".join(
        f'<span><i data-s="{letter}"></i>{word}</span>' for letter, word in STATES if letter in seen
    )
    longest = max(len(data["texts"][number]) for number in data["waits"])
    ruler = "".join(f"<span>{k if k % 8 == 0 or k == 31 else ''}</span>" for k in range(WARP))
    arrows = "" if not data["sources"] else (
        '<div class="shuffle"><b></b><svg viewBox="0 0 320 34" preserveAspectRatio="none" '
        'aria-hidden="true"></svg><span></span></div>')  # fmt: skip
    return (
        f'<div class="panel lanespanel"><h4>Lanes <small class="legend">{legend} <span><i '
        'class="mine"></i>followed</span></small></h4>'
        '<div class="warps"><b></b><div class="ruler" aria-hidden="true">'
        f"{ruler}</div><span></span>{''.join(rows)}</div>{arrows}"
        f'<p class="waits" style="--rows:{1 if longest <= 70 else 2}"></p></div>'
    )


def cells(data: dict) -> str:
    """Shared memory: 16 cells a row, fewer where a cell holds two values."""
    if not data["cells"]:
        return (
            '<div class="panel cellspanel none"><h4>Shared memory <small>this kernel uses none'
            "</small></h4></div>"
        )
    across = 8 if any(put[3] > 1 for put in data["puts"]) else 16
    warps = range(min(-(-data["threads"] // WARP), 8))
    legend = " ".join(f'<span><i data-w="{w}">{w}</i></span>' for w in warps)
    parts = []
    for name, first, shown, total in data["cells"]:
        size = f"{escape(name)}[{total}]"
        more = f" <small>the first {shown} are used</small>" if total > shown else ""
        squares = []
        for k in range(shown):
            squares += [f'<b>{k}</b>'] if k % across == 0 else []
            squares.append(f'<i data-c="{first + k}"></i>')
        parts.append(
            f'<p class="name">{size}{more}</p>'
            f'<div class="cells" style="--across:{across}">{"".join(squares)}</div>'
        )
    return (
        '<div class="panel cellspanel"><h4>Shared memory <small class="legend">last written by '
        f'warp {legend} <span><i class="r"></i>read now</span> <span><i class="w"></i>written now'
        f'</span></small></h4><div class="store" tabindex="0" role="group" '
        f'aria-label="Shared memory">{"".join(parts)}</div><p class="change"></p></div>'
    )


def thread(data: dict) -> str:
    """The registers of the followed thread: those of the instruction, and the last ones written."""
    def table(name: str, caption: str, count: int) -> str:
        row = "<tr><th></th><td></td><td></td></tr>"
        body = f"<caption>{caption}</caption><tbody>{row * count}</tbody>"
        return f'<table class="{name}">{body}</table>'

    return (
        '<div class="panel threadpanel"><h4>Thread <span class="me">0</span> <small '
        'class="doing"></small></h4><p class="ptx"></p><div class="tables">'
        f'{table("now", "registers of this instruction", OPERANDS)}'
        f'{table("recent", "written last", RECENT)}</div></div>'
    )

