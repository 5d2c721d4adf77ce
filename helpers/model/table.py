"""Predictions beside the times that were measured."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np

from .. import recorded, specs, versions
from ..columns import aligned
from ..latency import Latencies
from ..recorded import Figure
from ..specs import Spec
from .times import Prediction, predict

__all__ = ["Miss", "Misses", "known", "misses"]


@dataclass(frozen=True)
class Miss:
    """A prediction beside a figure, recorded or the article's."""

    predicted: Prediction
    recorded: Figure

    @property
    def us(self) -> float:
        """The recorded time; where only a bandwidth was published, what it comes to."""
        size = self.recorded.rows * self.recorded.cols * np.dtype(self.recorded.dtype).itemsize
        return self.recorded.us or 2 * size / (self.recorded.gbps * 1e3)

    @property
    def miss(self) -> float:
        """(predicted - recorded) / recorded: above 0 the model says slower than it is."""
        return self.predicted.us / self.us - 1


@dataclass(frozen=True, repr=False)
class Misses:
    """A table of misses, text and HTML; `.rows` has them, `.worst` the largest."""

    rows: tuple[Miss, ...]

    @property
    def worst(self) -> Miss:
        return max(self.rows, key=lambda row: abs(row.miss))

    def cells(self) -> list[tuple[str, ...]]:
        return [
            (m.recorded.name + " (older kernel)" * m.recorded.stale,
             f"{m.recorded.rows}×{m.recorded.cols}", f"{m.predicted.us:.1f}", f"{m.us:.1f}",
             f"{m.miss:+.0%}", m.predicted.why)
            for m in self.rows
        ]  # fmt: skip

    def caption(self) -> str:
        labels = dict.fromkeys(text for m in self.rows for text in
                               (m.predicted.label(), m.recorded.label()))
        return f"Times: {'; '.join(labels)}. A miss above 0 says slower than it is."

    def __str__(self) -> str:
        return "\n".join([self.caption(), *aligned([HEAD, *self.cells()])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def line(cells, tag):
            style = 'style="text-align:left"'
            inner = "".join(f"<{tag} {style}>{html.escape(c)}</{tag}>" for c in cells)
            return f"<tr>{inner}</tr>"

        body = "".join(line(row, "td") for row in self.cells())
        head = f"<thead>{line(HEAD, 'th')}</thead>"
        caption = f'<caption style="text-align:left">{html.escape(self.caption())}</caption>'
        return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


HEAD = ("version", "size", "predicted µs", "recorded µs", "miss", "what decides")


def misses(figures=None, spec: Spec | str = "h200", latencies: Latencies | None = None) -> Misses:
    """Every prediction beside its recorded time.

    figures: a Record or an iterable of Figure, by default all that is recorded of an H200; give the
    spec with those of another card, as in misses(recorded.article(), "a100"). Peers and memcpy are
    left out: their instructions are not known. ValueError when nothing is left, and for a figure of
    another card than the spec's.
    """
    spec = specs.get(spec) if isinstance(spec, str) else spec
    found = recorded.newest("NVIDIA H200") if figures is None else getattr(figures, "rows", figures)
    rows = []
    for figure in found:
        version = recorded.version_of(figure.name)
        if version and figure.dtype == version.dtype:
            _same_card(figure, spec)
            said = predict(version, figure.rows, figure.cols, spec, latencies)
            rows.append(Miss(said, figure))
    if not rows:
        raise ValueError("misses() needs figures of the catalogue's versions, got none; "
                         "recorded.newest() has those of the H200")
    return Misses(tuple(rows))


def _same_card(figure: Figure, spec: Spec) -> None:
    """ValueError for another card than the spec's; a card without a sheet here takes the reader's
    own."""
    sheet = specs.of_device(figure.device)
    if sheet != spec and (sheet or spec in specs.SPECS.values()):
        raise ValueError(f"expected figures of the {spec.name}, got one of {figure.device}; pass "
                         'the data sheet of that card, as in misses(recorded.article(), "a100")')


def known(name: str, rows: int, cols: int) -> Miss | None:
    """One version at one size on the H200; None where no time of it is recorded."""
    version = versions.VERSIONS.get(name)
    if version is None:  # one that the catalogue has not, or not so
        return None
    wanted = recorded.row_name(name), rows, cols, version.dtype
    for figure in recorded.newest("NVIDIA H200"):
        if (figure.name, figure.rows, figure.cols, figure.dtype) == wanted:
            return Miss(predict(version, rows, cols), figure)
    return None
