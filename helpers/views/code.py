"""Listings, diffs and counter tables for notebooks: HTML in the page's own theme, and text."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import launch, versions
from ..simt.profile import Profile

__all__ = ["COUNTERS", "View", "counters", "diff", "header", "highlight", "source", "table"]

# Nsight Compute's name -> what a reader calls it. Loads first, then stores.
COUNTERS = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "load requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "load sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "store requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "store sectors",
}
_CONTEXT = 4  # unchanged lines kept in sight around a change; longer runs fold


@dataclass(frozen=True, repr=False)
class View:
    """Something to look at: `text` for a terminal, HTML where a notebook can show it."""

    text: str
    markup: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _STYLE + self.markup


def source(version: versions.Version | str, entry_only: bool = False) -> View:
    """The listing of a version's .cu file, its header folded; or only the kernel entry itself.

    Line numbers are the file's. ValueError for a name that is not in the catalogue.
    """
    version = _version(version)
    lines, marked = version.source.splitlines(), highlight(version.source)
    start, stop = _entry(lines, version.entry) if entry_only else (0, len(lines))
    numbered = list(zip(range(start + 1, stop + 1), lines[start:stop], strict=True))
    rows = [_line((number,), "", marked[number - 1]) for number, _ in numbered]
    head = 0 if entry_only else header(lines)
    name = f"{version.path.name}, {version.entry}" if entry_only else version.path.name
    text = "\n".join(f"{number:4} {line}".rstrip() for number, line in numbered)
    return View(text, _listing(name, _fold(rows[:head], "header") + _shown(rows[head:])))


def diff(a: versions.Version | str, b: versions.Version | str) -> View:
    """What changes from version a to version b: one listing with both files' line numbers.

    Headers and long unchanged runs are folded, lines that left carry "-", new ones "+".
    """
    a, b = _version(a), _version(b)
    old, new = a.source.splitlines(), b.source.splitlines()
    heads = header(old), header(new)
    marked = highlight(a.source), highlight(b.source)
    head = _diff_rows(old[: heads[0]], new[: heads[1]], marked, (0, 0))
    body = _diff_rows(old[heads[0] :], new[heads[1] :], marked, heads)
    names = a.path.name, b.path.name
    text = "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))
    signs = [sign for sign, _ in body]
    title = f"{names[0]} → {names[1]}"
    note = f"{signs.count('-')} lines out, {signs.count('+')} in, headers aside"
    parts = _fold([row for _, row in head], "headers") + _folded_runs(body)
    return View(text or f"{title}: no difference", _listing(title, parts, note))


def counters(
    *subjects: versions.Version | str | Profile, rows: int = 4096, cols: int = 4096
) -> View:
    """The four global-memory counters of versions, profiled at rows × cols, or of given profiles.

    A request is one load or store instruction of one warp, a sector 32 bytes; the counts are exact
    and come from the simulator, on a GPU too. No time is in this table.
    """
    if not subjects:
        raise ValueError('counters() needs a version or a profile, as in counters("v0", "v1")')
    columns = [_column(subject, rows, cols) for subject in subjects]
    names = ["counter", *(name for name, _ in columns)]
    every = [profile.counters for _, profile in columns]
    body = [[label, *(f"{counts[key]:,}" for counts in every)] for key, label in COUNTERS.items()]
    for kind in ("load", "store"):
        requests, sectors = (key for key, label in COUNTERS.items() if label.startswith(kind))
        ratios = (_ratio(counts[sectors], counts[requests]) for counts in every)
        body.append([f"sectors per {kind} request", *ratios])
    cards = ", ".join(dict.fromkeys(profile.device for _, profile in columns))
    given = any(isinstance(subject, Profile) for subject in subjects)
    size = "" if given else f"{rows}×{cols}, "  # a profile does not know its matrix
    wrong = [f"{name} made mistakes: see its profile" for name, one in columns if one.defects]
    return table(names, body, "; ".join([f"{size}counted by the simulator, {cards}", *wrong]))


def _version(which: versions.Version | str) -> versions.Version:
    return which if isinstance(which, versions.Version) else versions.get(which)


def _column(
    subject: versions.Version | str | Profile, rows: int, cols: int
) -> tuple[str, Profile]:
    """A column's heading and its profile; a given profile is headed by its kernel's name."""
    if isinstance(subject, Profile):
        return subject.kernel, subject
    version = _version(subject)
    return version.name, launch.profile(version, rows, cols)


def _ratio(sectors: int, requests: int) -> str:
    return f"{sectors / requests:.1f}" if requests else "–"


def header(lines: Sequence[str]) -> int:
    """How many lines the leading comment takes, the blank line after it included."""
    comment = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/[^\n]*\n", "\n".join(lines) + "\n", re.DOTALL)
    count = comment.group().count("\n") if comment else 0
    return count + (0 < count < len(lines) and not lines[count].strip())


def _entry(lines: Sequence[str], entry: str) -> tuple[int, int]:
    """First and last-but-one line of the kernel: from its extern "C" to its closing brace."""
    named = re.compile(rf"__global__\b.*\b{re.escape(entry)}\s*\(")
    start = next((i for i, line in enumerate(lines) if named.search(line)), None)
    if start is None:
        raise ValueError(f"no kernel {entry} in this source; expected a line with "
                         f'extern "C" __global__ void {entry}(')
    stop = next((i for i in range(start, len(lines)) if lines[i].rstrip() == "}"), len(lines) - 1)
    return start, stop + 1


_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<directive>^[ \t]*\#[^\n]*)
      | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)[fFuUlL]*)
      | (?P<cuda>\b(?:__\w+__|__\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize)\b)
      | (?P<keyword>\b(?:bool|break|const|continue|double|else|extern|false|float[24]?|for|if|inline
            |int|return|size_t|static|struct|template|true|typename|unsigned|void|while)\b)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def highlight(code: str) -> list[str]:
    """One piece of HTML a source line; a comment over several lines is closed and reopened."""
    parts, done = [], 0
    for token in _TOKEN.finditer(code):
        parts.append(html.escape(code[done : token.start()], quote=False))
        for number, piece in enumerate(token.group().split("\n")):
            parts.append("\n" if number else "")
            parts.append(f'<i class="{token.lastgroup}">{html.escape(piece, quote=False)}</i>')
        done = token.end()
    parts.append(html.escape(code[done:], quote=False))
    return "".join(parts).splitlines()


def _diff_rows(old, new, marked, offsets) -> list[tuple[str, str]]:
    """(sign, HTML line) in reading order; offsets are the lines of each file that came before."""
    rows = []
    before, after = offsets
    match = difflib.SequenceMatcher(_anchors_nothing, old, new, autojunk=False)
    for kind, a0, a1, b0, b1 in match.get_opcodes():
        if kind == "equal":
            pairs = zip(range(before + a0, before + a1), range(after + b0, after + b1), strict=True)
            rows += [("", _line((i + 1, j + 1), "", marked[1][j])) for i, j in pairs]
            continue
        out, into = range(before + a0, before + a1), range(after + b0, after + b1)
        rows += [("-", _line((i + 1, ""), "-", marked[0][i])) for i in out]
        rows += [("+", _line(("", j + 1), "+", marked[1][j])) for j in into]
    return rows


def _anchors_nothing(line: str) -> bool:
    """Blank lines and lone braces are everywhere: pairing them would shred a new function."""
    return line.strip() in ("", "}")


def _folded_runs(rows: Sequence[tuple[str, str]]) -> str:
    """The rows, unchanged runs folded where more than a few lines from any change."""
    changed = [index for index, (sign, _) in enumerate(rows) if sign]
    near = {i + step for i in changed for step in range(-_CONTEXT, _CONTEXT + 1)}
    parts, index = [], 0
    while index < len(rows):
        stop, seen = index, index in near
        while stop < len(rows) and (stop in near) == seen:
            stop += 1
        run = [row for _, row in rows[index:stop]]
        parts.append(_shown(run) if seen or len(run) < 6 else _fold(run, "unchanged"))
        index = stop
    return "".join(parts)


def _line(numbers: Iterable[object], sign: str, code: str) -> str:
    kind = {"-": " old", "+": " new"}.get(sign, "")
    gutter = "".join(f'<b data-n="{number}"></b>' for number in numbers)
    mark = f"<b>{sign or ' '}</b>"
    return f'<span class="row{kind}">{gutter}{mark}<span class="code">{code}</span>\n</span>'


def _shown(rows: Sequence[str]) -> str:
    return f'<pre>{"".join(rows)}</pre>' if rows else ""


def _fold(rows: Sequence[str], what: str) -> str:
    if not rows:
        return ""
    summary = f"{what}: {len(rows)} line{'s' if len(rows) > 1 else ''}"
    return f"<details><summary>{summary}</summary>{_shown(rows)}</details>"


def _listing(title: str, parts: str, note: str = "") -> str:
    caption = f"{html.escape(title)} <small>{html.escape(note)}</small>"
    return f'<figure class="cu-view"><figcaption>{caption}</figcaption>{parts}</figure>'


def table(names: Sequence[str], body: Sequence[Sequence[str]], caption: str) -> View:
    widths = [max(map(len, column)) for column in zip(names, *body, strict=True)]
    lines = []
    for first, *others in (names, *body):
        numbers = (cell.rjust(w) for cell, w in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *numbers]))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row"{_metric(row[0])}>{html.escape(row[0])}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in body
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    below = f"<figcaption>{html.escape(caption)}</figcaption>"
    markup = f'<figure class="cu-view">{table}{below}</figure>'
    return View("\n".join([*lines, f"({caption})"]), markup)


def _metric(label: str) -> str:
    """Nsight Compute's own name, as a tooltip on the counter's label."""
    key = next((key for key, name in COUNTERS.items() if name == label), None)
    return f' title="{key}"' if key else ""


# Text keeps the page's colour, code takes JupyterLab's colours where it offers them.
_STYLE = """<style>
.cu-view { margin: .6em 0; }
.cu-view figcaption { font-weight: 600; margin: .2em 0; }
.cu-view small, .cu-view summary { font-weight: 400; opacity: .75; }
.cu-view summary { cursor: pointer; font-size: .85em; padding: .1em .5em; }
.cu-view pre { margin: 0; padding: 0; color: inherit; background: none;
  font-family: var(--jp-code-font-family, monospace); font-size: var(--jp-code-font-size, 13px); }
.cu-view .row { display: flex; font-size: .88em; line-height: 1.5; }
.cu-view .row b { flex: none; font-weight: 400; opacity: .6; user-select: none; }
.cu-view .row b[data-n] { width: 2.2em; padding-right: .6em; text-align: right; }
.cu-view .row b[data-n]::before { content: attr(data-n); }
.cu-view .row b:not([data-n]) { width: 1.4em; opacity: 1; }
.cu-view .code { flex: 1; min-width: 0; white-space: pre-wrap; word-break: normal;
  padding-left: 8ch; text-indent: -8ch; }
.cu-view .old { background: rgba(213, 94, 0, .18); }
.cu-view .new { background: rgba(0, 158, 115, .20); }
.cu-view i { font-style: normal; }
.cu-view .comment { color: var(--jp-mirror-editor-comment-color, #777); font-style: italic; }
.cu-view .keyword, .cu-view .directive {
  color: var(--jp-mirror-editor-keyword-color, #1b8040); font-weight: 600; }
.cu-view .cuda { color: var(--jp-mirror-editor-builtin-color, #0a7fa8); }
.cu-view .number { color: var(--jp-mirror-editor-number-color, #2a8a5a); }
.cu-view .string { color: var(--jp-mirror-editor-string-color, #b5502a); }
.cu-view table { border-collapse: collapse; margin: 0; font-variant-numeric: tabular-nums; }
.cu-view td, .cu-view th { padding: .2em .8em; text-align: right; font-weight: 400; }
.cu-view th[scope=row] { text-align: left; }
.cu-view thead th { font-weight: 600; border-bottom: 1px solid currentColor; }
.cu-view thead th:first-child { text-align: left; }
.cu-view table + figcaption { font-weight: 400; font-size: .9em; opacity: .8; }
</style>
"""
