"""What is refused before a compiler sees it, each with one sentence.

A check also runs where others' texts are graded, so a source may only include headers by name: a
path could show a file of the grading machine in an error message.
"""

import re

from ..simt.source import clean

__all__ = ["LARGEST", "refusal"]

LARGEST = 64_000  # characters; the longest solution has about 3000
INCLUDE = re.compile(r"(?:#|%:|\?\?=)\s*(include\w*|import|embed)\b[ \t]*([^\n]*)")
HEADER = re.compile(r"<[A-Za-z_][\w.]*(?:/[A-Za-z_][\w.]*)*>")
HAS = re.compile(r"__has_(?:include|embed)\w*")


def refusal(code: str) -> tuple[str, int | None] | None:
    """Why a text is not even compiled, and the line; None when it may be."""
    if not isinstance(code, str):
        return f"expected the kernel as text, got {type(code).__name__}", None
    if not clean(code).strip():
        return "there is no code: write the kernel, starting from the skeleton", None
    if len(code) > LARGEST:
        return f"the text has {len(code)} characters; at most {LARGEST} are compiled", None
    if "\0" in code or any(0xD800 <= ord(letter) <= 0xDFFF for letter in code):
        return "the text has characters that no source file can have", None
    return _include(code)


def _include(code: str) -> tuple[str, int | None] | None:
    joined = code.replace("\r\n", "\n").replace("\\\n", "")
    for text in (joined, clean(code)):  # a comment may hide what a compiler sees, and the reverse
        for found in INCLUDE.finditer(text):
            wanted = found[2].split("//")[0].split("/*")[0].strip()
            if found[1] != "include" or not HEADER.fullmatch(wanted) or ".." in wanted:
                said = f" {wanted}" if wanted else ""
                return (
                    f"#{found[1]}{said} is refused: an answer is one text, without files of its "
                    "own. Copy what you need into the cell",
                    _line(code, found[1]),
                )
    if found := HAS.search(joined):
        return f"{found[0]} is refused: an answer is one text", _line(code, found[0])
    return None


def _line(code: str, word: str) -> int | None:
    lines = code.splitlines()
    return next((k for k, line in enumerate(lines, 1) if word in line), None)
