"""The annotated source: a `.cu` listing with what each line cost, as text and as HTML."""

import html
from dataclasses import dataclass

from .observers.names import GLOBAL, SECTORS, WAVEFRONTS

__all__ = ["MEASURES", "Listing", "Measure", "annotate"]


@dataclass(frozen=True)
class Measure:
    """One column: its short label, where the number comes from in words (a tooltip), and a function
    of a line's hardware counters and PTX counts."""

    label: str
    meaning: str
    of: object

    def value(self, counts: dict, ptx: dict) -> int:
        return self.of(counts, ptx)


def hardware(*names):
    return lambda counts, ptx: sum(counts.get(name, 0) for name in names)


def only_ptx(name):
    return lambda counts, ptx: ptx.get(name, 0)


REQUESTS = [name for (what, _), name in GLOBAL.items() if what == "requests"]
MEASURES = {
    m.label: m
    for m in (
        Measure("requests", "l1tex__t_requests_pipe_lsu_mem_global", hardware(*REQUESTS)),
        Measure("sectors", SECTORS, hardware(SECTORS)),
        Measure(
            "excess sectors",
            f"{SECTORS} over its ideal",
            lambda counts, ptx: counts.get(SECTORS, 0) - counts.get(f"{SECTORS}_ideal", 0),
        ),
        Measure("wavefronts", f"{WAVEFRONTS}, joined as the assembler does", hardware(WAVEFRONTS)),
        Measure(
            "excess wavefronts",
            f"{WAVEFRONTS} over its ideal: bank conflicts",
            lambda counts, ptx: counts.get(WAVEFRONTS, 0) - counts.get(f"{WAVEFRONTS}_ideal", 0),
        ),
        Measure("PTX wavefronts", "as the PTX has the accesses", only_ptx("shared wavefronts")),
        Measure("PTX instructions", "warp instructions of the PTX", only_ptx("instructions")),
        Measure("PTX divergence", "branches that part a warp", only_ptx("divergent branches")),
        Measure("PTX barriers", "warps that arrive at a barrier", only_ptx("barriers")),
        Measure("PTX shuffles", "warp shuffles", only_ptx("shuffles")),
    )
}
BAR = 8  # characters of a bar in text


@dataclass(frozen=True, repr=False)
class Listing:
    """Lines of source with columns of numbers: `rows` are (line, text, numbers, notes)."""

    title: str
    labels: tuple[str, ...]
    rows: tuple

    def __str__(self) -> str:
        most = self.most()
        widths = [max(len(label), *(len(f"{m:,}"), BAR)) for label, m in self.columns(most)]
        head = "  ".join(
            label.rjust(width) for label, width in zip(self.labels, widths, strict=True)
        )
        lines = [self.title, f"{head}  line"]
        for number, text, values, notes in self.rows:
            cells = (
                (f"{value:,}" if value else "").rjust(width)
                for value, width in zip(values, widths, strict=True)
            )
            share = max((v / m for v, m in zip(values, most, strict=True) if m), default=0)
            bar = ("█" * round(share * BAR)).ljust(BAR) if len(self.labels) == 1 else ""
            lines.append(f"{'  '.join(cells)}  {number:4} {bar}{' ' * bool(bar)}{text}".rstrip())
            lines += [f"{' ' * len(head)}     ! {note}" for note in notes]
        return "\n".join(lines)

    __repr__ = __str__

    def most(self) -> list[int]:
        """The largest number of each column."""
        columns = range(len(self.labels))
        return [max((values[k] for _, _, values, _ in self.rows), default=0) for k in columns]

    def columns(self, most):
        return zip(self.labels, most, strict=True)

    def to_json(self) -> dict:
        return {
            "title": self.title,
            "columns": list(self.labels),
            "lines": [
                {"line": number, "source": text, "values": list(values), "notes": list(notes)}
                for number, text, values, notes in self.rows
            ],
        }

    def _repr_html_(self) -> str:
        most = self.most()
        heads = "".join(
            f'<th scope="col" title="{html.escape(MEASURES[label].meaning)}">'
            f"{html.escape(label)}</th>"
            for label in self.labels
        )
        body = "".join(self.html_row(row, most) for row in self.rows)
        return (
            f'{STYLE}<div class="simt-listing"><table><caption>{html.escape(self.title)}</caption>'
            f'<thead><tr>{heads}<th scope="col">line</th><th scope="col">source</th></tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def html_row(self, row, most) -> str:
        number, text, values, notes = row
        cells = "".join(
            f'<td><i style="width:{100 * value / top:.1f}%"></i><span>{value:,}</span></td>'
            if value > 0
            else "<td></td>"
            for value, top in zip(values, most, strict=True)
        )
        said = "".join(f'<div class="note">{html.escape(note)}</div>' for note in notes)
        code = html.escape(text, quote=False)
        return f'<tr>{cells}<th scope="row">{number}</th><td class="code">{code}{said}</td></tr>'

    def page(self) -> str:
        """A document of its own, which follows the reader's light or dark theme."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title>"
            "<style>:root { color-scheme: light dark; } body { font-family: sans-serif; }</style>"
            f"</head><body>{self._repr_html_()}</body></html>\n"
        )


def annotate(profile, labels=()) -> Listing:
    """The listing of a Profile with the measures that `labels` names; without any, with all that
    are not zero throughout. ValueError for an unknown one."""
    unknown = [label for label in labels if label not in MEASURES]
    if unknown:
        raise ValueError(f"no measure called {unknown[0]!r}; choose from {', '.join(MEASURES)}")
    empty: dict = {}
    count = len(profile.source) or max((*profile.lines, *profile.ptx_lines), default=0)
    numbers = range(1, count + 1)
    columns = {
        label: [
            MEASURES[label].value(profile.lines.get(n, empty), profile.ptx_lines.get(n, empty))
            for n in numbers
        ]
        for label in labels or MEASURES
    }
    if not labels:
        columns = {label: values for label, values in columns.items() if any(values)}
        if columns.get("PTX wavefronts") == columns.get("wavefronts"):
            columns.pop("PTX wavefronts", None)  # nothing was joined
    notes: dict[int, list[str]] = {}
    for found in (*profile.defects, *profile.notes):
        remark = "note: " if found.severity == "note" else ""
        notes.setdefault(found.line or 0, []).append(f"{remark}{found.kind}: {found.message}")
    rows = tuple(
        (
            n,
            profile.source[n - 1] if profile.source else "",
            tuple(values[n - 1] for values in columns.values()),
            tuple(notes.get(n, ())),
        )
        for n in numbers
    )
    size = " × ".join("×".join(map(str, trimmed(s))) for s in (profile.grid, profile.block))
    title = f"{profile.kernel}, grid × block {size}, simulator ({profile.device})"
    return Listing(title, tuple(columns), rows)


def trimmed(shape) -> tuple:
    """A launch dimension without its trailing ones."""
    shape = tuple(shape)
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


# Text keeps the page's colour; the code's font and the accent are JupyterLab's where it has them.
STYLE = """<style>
.simt-listing { overflow-x: auto; margin: .6em 0; }
.simt-listing table { border-collapse: collapse; margin: 0; color: inherit;
  font-variant-numeric: tabular-nums; font-size: .85em; }
.simt-listing caption { text-align: left; font-weight: 600; padding: .2em 0; }
.simt-listing thead th { font-weight: 600; text-align: right; padding: .1em .5em;
  border-bottom: 1px solid currentColor; vertical-align: bottom; max-width: 6em; }
.simt-listing thead th:last-child { text-align: left; }
.simt-listing tbody tr { background: none; }
.simt-listing td { position: relative; text-align: right; padding: 0 .5em; white-space: nowrap; }
.simt-listing td i { position: absolute; inset: 1px auto 1px 1px; opacity: .28;
  max-width: calc(100% - 2px); background: var(--jp-warn-color1, #d55e00); }
.simt-listing td span { position: relative; }
.simt-listing tbody th { font-weight: 400; opacity: .6; text-align: right; padding: 0 .6em;
  user-select: none; }
.simt-listing td.code { text-align: left; white-space: pre; line-height: 1.5;
  font-family: var(--jp-code-font-family, monospace); }
.simt-listing .note { white-space: normal; border-left: 3px solid var(--jp-error-color1, #d55e00);
  padding-left: .5em; }
</style>
"""
