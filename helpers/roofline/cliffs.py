"""Where a version's bandwidth must fall as rows grow longer, from its launch and a data sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .. import versions
from ..model.work import resident
from ..specs import Spec
from ..versions import Version
from .origins import title

__all__ = ["Cliff", "cliffs"]


@dataclass(frozen=True)
class Cliff:
    """`cols` is the longest row before the cliff; `what` happens to `names` beyond it."""

    names: tuple[str, ...]
    cols: int
    what: str

    def __str__(self) -> str:
        return f"{_listed(self.names)}: {self.what} above N = {self.cols}"


def cliffs(names: Iterable[str], spec: Spec, rows: int = 4096) -> tuple[Cliff, ...]:
    """Every cliff of the named versions on `spec`, by rising N; versions that share one, together.

    A row that is kept in shared memory leaves room for one block an SM only, and then for none. A
    row that is read again comes from L1, then from L2, then from memory, as the rows that all
    resident blocks work on outgrow each. L1 is taken as large as the shared memory an SM can have.
    """
    found: dict[tuple[int, str], list[str]] = {}
    for version in map(versions.get, names):
        for cols, what in _of(version, spec, rows):
            found.setdefault((cols, what), []).append(version.name)
    return tuple(Cliff(tuple(names), cols, what) for (cols, what), names in sorted(found.items()))


def _of(version: Version, spec: Spec, rows: int) -> list[tuple[int, str]]:
    if version.work != "block a row" or version.reads < 2:
        return []
    if version.staged:
        most = version.max_cols(spec)
        two = _last(lambda n: resident(version, n, spec) > 1, most)
        return [(two, "one block an SM"), (most, "refused, no shared memory left")]
    blocks = resident(version, 1, spec)
    size = version.np_dtype.itemsize
    each = size * min(blocks, -(-rows // spec.sms))  # bytes a column of an SM's rows in flight
    every = size * min(blocks * spec.sms, rows)
    return [(spec.shared_per_sm // each, "rows in flight outgrow L1"),
            (spec.l2 // every, "rows in flight outgrow L2")]


def _last(holds: Callable[[int], bool], most: int) -> int:
    """The largest N up to `most` for which a condition that ends once still holds, 0 for none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _listed(names: tuple[str, ...]) -> str:
    """V1–V3 for neighbours of the ladder, else V1, V3."""
    rungs = [version.name for version in versions.ladder()]
    places = [rungs.index(name) for name in names if name in rungs]
    run = places == list(range(places[0], places[0] + len(names))) if places else False
    if run and len(names) > 2:
        return f"{title(names[0])}–{title(names[-1])}"
    return ", ".join(map(title, names))
