"""The `.cu` listing with what each line cost: counters as numbers and bars beside the code."""

from __future__ import annotations

from html import escape

from .. import launch, versions
from ..simt import Profile
from ..simt.listing import MEASURES, Listing
from .code import View, header, highlight

__all__ = ["DEFAULT", "annotated", "compact"]

# Long words of the measures' names, with soft hyphens.
_LONG = {"wavefronts": "wave&shy;fronts", "instructions": "instruc&shy;tions",
         "divergence": "diver&shy;gence"}
DEFAULT = ("requests", "sectors", "wavefronts")


def annotated(
    subject: versions.Version | str | Profile, *measures: str, rows: int = 4096, cols: int = 4096
) -> View:
    """The listing of a version, or of a profile's kernel, with counters a line as bars.

    `measures` are names of simt.listing.MEASURES (requests, sectors and wavefronts where none is
    given, without those that are 0 throughout); bars are relative to a column's largest number. A
    version is profiled at rows × cols. Counted by the simulator; no time is in it. ValueError for
    an unknown measure or version.
    """
    profile, name = subject, ""
    if not isinstance(subject, Profile):
        version = versions.get(subject) if isinstance(subject, str) else subject
        _known(measures)
        profile, name = launch.profile(version, rows, cols), f"{version.path.name}, {rows}×{cols}, "
    listing = profile.annotated(*(measures or _counted(profile)))
    heading = f"{name}counted by the simulator ({profile.device})"
    return View(f"{heading}\n{listing}", _markup(listing, heading))


def compact(value: int) -> str:
    """A count in few characters, exact below a million: 393,216, 1.57 M, 50.3 M."""
    if value < 1_000_000:
        return f"{value:,}"
    size, letter = (1e9, "G") if value >= 999.5e6 else (1e6, "M")
    return f"{value / size:.3g} {letter}"


def _known(measures) -> None:
    """Said before a long launch, not after it."""
    for label in measures:
        if label not in MEASURES:
            raise ValueError(f"no measure called {label!r}; choose from {', '.join(MEASURES)}")


def _counted(profile: Profile) -> tuple[str, ...]:
    """The default measures, without those that no line has."""
    every = profile.annotated(*DEFAULT)
    some = tuple(m for m, most in zip(DEFAULT, every.most(), strict=True) if most)
    return some or DEFAULT[:1]


def _markup(listing: Listing, heading: str) -> str:
    code = highlight("\n".join(text for _, text, _, _ in listing.rows))
    code += [""] * (len(listing.rows) - len(code))
    head = header([text for _, text, _, _ in listing.rows])
    most = listing.most()
    body = "".join(
        _row(row, marked, most)
        for row, marked in zip(listing.rows[head:], code[head:], strict=True)
    )
    names = "".join(
        f'<th scope="col" title="{escape(MEASURES[label].meaning)}">{_broken(label)}</th>'
        for label in listing.labels
    )
    total = "".join(
        f'<td title="{sum(values):,}">{compact(sum(values))}</td>'
        for values in zip(*(values for _, _, values, _ in listing.rows), strict=True)
    )
    fold = "\n".join(code[:head])
    details = f"<details><summary>header: {head} lines</summary><pre>{fold}</pre></details>"
    return (
        f'<figure class="cu-view cu-cost">{_STYLE}<figcaption>{escape(heading)}</figcaption>'
        f'{details if head else ""}<table><thead><tr>{names}<th scope="col">line</th>'
        f'<th scope="col">source</th></tr></thead><tbody>{body}</tbody>'
        f'<tfoot><tr>{total}<th scope="row" colspan="2">in all</th></tr></tfoot></table></figure>'
    )


def _broken(label: str) -> str:
    """A heading that may break within its long words, so that its column can be narrow."""
    for word, parts in _LONG.items():
        label = label.replace(word, parts)
    return label


def _row(row: tuple, marked: str, most: list[int]) -> str:
    number, _, values, notes = row
    cells = "".join(
        f'<td title="{value:,}"><u style="width:{100 * value / top:.0f}%"></u>'
        f"<span>{compact(value)}</span></td>" if value > 0 else "<td></td>"
        for value, top in zip(values, most, strict=True)
    )
    said = "".join(f'<div class="note">{escape(note)}</div>' for note in notes)
    return f'<tr>{cells}<th scope="row">{number}</th><td class="code">{marked}{said}</td></tr>'


# On top of what all listings share. Bars lie behind their numbers, which say the same. Selectors
# are longer than JupyterLab's own for tables, which would win otherwise.
_STYLE = """<style>
.cu-view.cu-cost table { width: 100%; table-layout: auto; font-size: .86em; margin: 0; }
.cu-view.cu-cost thead th { white-space: normal; padding: .1em .25em; font-weight: 600;
  vertical-align: bottom; text-align: right; font-size: .92em; line-height: 1.2; }
.cu-view.cu-cost thead th:last-child, .cu-view.cu-cost tfoot th { text-align: left; }
.cu-view.cu-cost tbody tr:nth-child(n) { background: none; }
.cu-view.cu-cost tbody tr:nth-child(n):hover { background: rgba(128, 128, 128, .12); }
.cu-view.cu-cost td, .cu-view.cu-cost tbody th { padding: 0 .25em; line-height: 1.5;
  text-align: right; white-space: nowrap; vertical-align: top; position: relative; }
.cu-view.cu-cost td:not(.code) { width: 4.2em; min-width: 4.2em; }
.cu-cost td u { position: absolute; inset: 1px auto auto 0; height: 1.35em; max-width: 100%;
  opacity: .38; background: #e69f00; border-right: 2px solid #d55e00; }
.cu-cost td span { position: relative; }
.cu-view.cu-cost tbody th { opacity: .6; user-select: none; width: 2em; font-weight: 400; }
.cu-view.cu-cost td.code { white-space: pre-wrap; text-align: left; padding-left: 2.5ch;
  text-indent: -2ch; overflow-wrap: break-word;
  font-family: var(--jp-code-font-family, monospace); }
.cu-cost td.code .note { text-indent: 0; border-left: 3px solid #d55e00; padding-left: .5em;
  font-family: var(--jp-ui-font-family, sans-serif); white-space: normal; }
.cu-view.cu-cost tfoot td, .cu-view.cu-cost tfoot th { border-top: 1px solid currentColor;
  font-weight: 600; }
</style>"""
