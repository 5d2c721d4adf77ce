"""Files written whole; files of measurements read key by key, or refused by name."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from reprlib import repr as brief

__all__ = ["RecordError", "expect", "of_device", "read", "write"]


class RecordError(ValueError):
    """A measurements file that is not what it should be; the message names the file and the key."""


def _number(value: object) -> bool:
    """Is it one that a float can hold? Not so NaN, infinity, and integers of 400 digits."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


KINDS = {
    "a text": lambda v: isinstance(v, str) and v != "",
    "a date like 2026-11-30": lambda v: isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", v),
    "a list": lambda v: isinstance(v, list),
    "an object": lambda v: isinstance(v, dict),
    "an object of texts": lambda v: isinstance(v, dict) and all(map(KINDS["a text"], v.values())),
    "a number, a list or an object": lambda v: _number(v) or isinstance(v, list | dict),
    "a positive whole number": lambda v: _number(v) and isinstance(v, int) and 0 < v < 2**63,
    "a positive number": lambda v: _number(v) and v > 0,
    "0 or more": lambda v: _number(v) and v >= 0,
    "recorded": lambda v: v == "recorded",
    "recorded or article": lambda v: v in ("recorded", "article"),
}


def expect(
    path: Path | str,
    where: str,
    raw: object,
    kinds: Mapping[str, str],
    optional: Iterable[str] = (),
) -> None:
    """RecordError unless `raw` is an object with just these keys, each of its kind (of KINDS).

    optional: keys that may be null. where: the part of the file, for the message.
    """
    if not isinstance(raw, dict):
        raise RecordError(f"{path}: {where} should be an object, got {type(raw).__name__}")
    if set(raw) != set(kinds):
        missing = ", ".join(k for k in kinds if k not in raw) or "none"
        unknown = ", ".join(sorted(map(str, set(raw) - set(kinds)))) or "none"
        raise RecordError(f"{path}: {where} needs the keys {', '.join(kinds)}; missing: {missing}; "
                          f"unknown: {unknown}")
    for key, kind in kinds.items():
        value = raw[key]
        if not (value is None and key in optional) and not KINDS[kind](value):
            raise RecordError(f"{path}: {where} has {key} {brief(value)}; expected {kind}")


def read(path: Path | str) -> object:
    """What a JSON file holds; RecordError for none, or one that is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: no such file; recorded results lie in measurements/") from None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); expected a file of "
                          "measurements") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path}: not JSON ({error}); restore the file or record again") from None


def of_device(paths: Iterable[Path], device: str) -> Iterator[tuple[Path, object]]:
    """(path, what it holds) of the JSON files of one device, by name.

    Those of others are not looked at; one that names no device is left out with a warning.
    """
    for path in sorted(paths):
        raw = read(path)
        named = raw.get("device") if isinstance(raw, dict) else device  # refused by whoever asked
        if named == device:
            yield path, raw
        elif not isinstance(named, str):
            warnings.warn(f"{path} names no device, so it is no record; left out", stacklevel=2)


def write(path: Path | str, text: str, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old one or the whole new one, never half of it.

    mode: who may read it; for a file of one's own 0o600.
    """
    path = Path(path)
    handle, half = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(half, mode)  # mkstemp's own would hide a shared file from other readers
        os.replace(half, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(half)
        raise
