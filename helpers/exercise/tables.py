"""Reads a TOML file field by field, so that each mistake in it is one sentence with its place."""

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["DefinitionError", "Table", "read", "read_text"]


class DefinitionError(ValueError):
    """An exercise that is not there, or whose files are not as they should be."""


def read_text(path: Path) -> str:
    """The text of a file. DefinitionError when it is missing or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DefinitionError(f"{path}: the file is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: cannot be read: {error}") from None


def read(path: Path, text: str) -> "Table":
    """The table that a file's text is."""
    try:
        return Table(path, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError(f"{path}: not valid TOML: {error}") from None


MISSING = object()


class Table:
    """A table of a TOML file. Its fields are taken one by one; what is left at `end` is unknown."""

    def __init__(self, path: Path, data: Any, prefix: str = ""):
        self.path, self.prefix = path, prefix
        if not isinstance(data, dict):
            raise DefinitionError(f"{path}: {prefix.rstrip('.')}: expected a table, got {data!r}")
        self.data, self.taken = data, set()

    def wrong(self, key: str, expected: str, got: object) -> DefinitionError:
        return DefinitionError(f"{self.path}: {self.prefix}{key}: expected {expected}, got {got}")

    def take(self, key: str, default: object = MISSING) -> Any:
        self.taken.add(key)
        found = self.data.get(key, default)
        if found is MISSING:
            raise DefinitionError(f"{self.path}: {self.prefix}{key} is missing")
        return found

    def end(self) -> None:
        if unknown := sorted(set(self.data) - self.taken):
            raise DefinitionError(
                f"{self.path}: {self.prefix}{unknown[0]} is no field there; "
                f"the fields are {', '.join(sorted(self.taken))}"
            )

    def text(self, key: str, default: object = MISSING) -> str:
        found = self.take(key, default)
        if not isinstance(found, str) or not found.strip():
            raise self.wrong(key, "a text", repr(found))
        return found.strip()

    def count(self, key: str, least: int, default: object = MISSING) -> int:
        found = self.take(key, default)
        if type(found) is not int or found < least:
            raise self.wrong(key, f"a whole number of at least {least}", repr(found))
        return found

    def number(self, key: str) -> float:
        found = self.take(key)
        if type(found) not in (int, float) or not 0 < found < 1:
            raise self.wrong(key, "a number between 0 and 1", repr(found))
        return float(found)

    def flag(self, key: str) -> bool:
        found = self.take(key, False)
        if type(found) is not bool:
            raise self.wrong(key, "true or false", repr(found))
        return found

    def choice(self, key: str, choices: tuple[str, ...], default: object = MISSING) -> str:
        found = self.take(key, default)
        if found not in choices:
            raise self.wrong(key, f"one of {', '.join(choices)}", repr(found))
        return found

    def items(self, key: str, kind: type, length: int | None = None) -> tuple:
        found = self.take(key)
        right = isinstance(found, list) and all(type(item) is kind for item in found)
        if not right or (length is not None and len(found) != length):
            many = "a list" if length is None else f"a list of {length}"
            raise self.wrong(key, f"{many} of {kind.__name__}", repr(found))
        return tuple(found)

    def words(self, key: str, choices: tuple[str, ...] | None) -> tuple[str, ...]:
        """One text or a list of texts, any of which will do."""
        found = self.take(key)
        found = [found] if isinstance(found, str) else found
        if not isinstance(found, list) or not found or not all(isinstance(f, str) for f in found):
            raise self.wrong(key, "a text or a list of texts", repr(found))
        if choices and (unknown := [word for word in found if word not in choices]):
            raise self.wrong(key, f"of {', '.join(choices)}", repr(unknown[0]))
        return tuple(found)

    def table(self, key: str) -> "Table":
        return Table(self.path, self.take(key), f"{self.prefix}{key}.")

    def tables(self, key: str) -> list["Table"]:
        found = self.take(key)
        if not isinstance(found, list) or not found:
            raise self.wrong(key, "one or more tables", repr(found))
        return [Table(self.path, part, f"{key}[{k}].") for k, part in enumerate(found, 1)]

    def named(self, key: str) -> list[tuple[str, "Table"]]:
        whole = self.table(key)
        return [(name, whole.table(name)) for name in whole.data]
