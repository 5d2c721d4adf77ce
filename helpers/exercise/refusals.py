"""What is refused before a compiler sees it, each with one sentence.

A check also runs where others' texts are graded, so a source may only include headers by name: a
path could show a file of the grading machine in an error message.
"""

import re

from ..simt.source import clean

__all__ = ["LARGEST", "refusal"]

LARGEST = 64_000  # characters; the longest solution has about 3000
# A directive begins a line or follows a comment; nobody needs a comment behind its #.
INCLUDE = re.compile(
    r"(?:^|\*/)[^\S\n]*(?:#|%:|\?\?=)[^\S\n]*(include\w*|import\b|embed\b|/\*)([^\n]*)", re.M
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
QUOTE = re.compile("[\"']")
EXTERN = re.compile(r'\bextern\s+"C"')
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
    lines = code.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "??/\n" in lines:
        return "a line that ends with ??/ is refused: end it with a backslash", _line(code, "??/")
    for blanks in ("", r"[ \t\f\v]*"):  # compilers differ in what they take for a continued line
        text = _bare(re.sub(rf"\\{blanks}\n", "", lines))
        for found in INCLUDE.finditer(text):
            wanted = found[2].split("//")[0].split("/*")[0].strip()
            if found[1] != "include" or not HEADER.fullmatch(wanted) or ".." in wanted:
                said = f" {wanted}" if wanted else ""
                return (
                    f"#{found[1]}{said} is refused: an answer is one text, without files of its "
                    "own. Copy what you need into the cell",
                    _line(code, found[0].strip()) or _line(code, found[1]),
                )
        if found := HAS.search(text):
            return f"{found[0]} is refused: an answer is one text", _line(code, found[0])
    return None


def _bare(text: str) -> str:
    """The text without comments, where it is certain what a comment is: not so with quotes in the
    code, since a string may hold what looks like the beginning of one."""
    bare = COMMENT.sub(" ", text)
    return text if QUOTE.search(EXTERN.sub("", bare)) else bare


def _line(code: str, word: str) -> int | None:
    lines = code.splitlines()
    return next((k for k, line in enumerate(lines, 1) if word in line), None)
