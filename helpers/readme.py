"""`python -m helpers.readme`: redraw the README's table and picture from catalogue and records."""

import re
from pathlib import Path

from . import recorded, roofline, versions

__all__ = ["main", "table", "updated"]

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "ladder.png"
OLDER = "†"
BETWEEN = re.compile(r"(<!-- ladder -->\n).*?(<!-- /ladder -->)", re.S)


def table() -> str:
    """The ladder as Markdown: every version, with published and recorded GB/s at 4096 × 4096."""
    published = {figure.name: figure for figure in recorded.article()}
    measured = {figure.name: figure for figure in recorded.figures()}
    when = next((f" ({figure.device}, {figure.date})" for figure in measured.values()), "")
    lines = [
        "| version | idea | reads of x | A100, article: GB/s | H200, recorded: GB/s | lesson |",
        "|---|---|---|---|---|---|",
    ]
    for version in versions.VERSIONS.values():
        name = recorded.row_name(version.name)
        figures = [
            f"{figure.gbps:.0f}{OLDER * figure.stale}" if (figure := source.get(name)) else "–"
            for source in (published, measured)
        ]
        cells = [
            f"[{version.name}](kernels_cu/{version.file})",
            version.idea,
            str(version.reads),
            *figures,
            f"[{version.lesson}](notebooks/{version.lesson}.ipynb)",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    lines.append(
        "Effective bandwidth, 2·M·N·itemsize / time, at 4096 × 4096 in the version's own type. "
        f"Article: an A100 80GB SXM4, as published. Recorded: this project's kernels{when}."
    )
    if any(OLDER in line for line in lines):
        lines.append(f"{OLDER} Recorded with an older kernel than the file of today.")
    return "\n".join(lines) + "\n"


def updated(text: str) -> str:
    """A README's text with the table as it is now between its two markers."""
    return BETWEEN.sub(lambda found: found[1] + table() + found[2], text)


def main() -> None:
    """Rewrite the README's table and its picture."""
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    roofline.readme_picture(PICTURE)
    print(f"{README.name} and {PICTURE.relative_to(ROOT)} are up to date")


if __name__ == "__main__":
    main()
