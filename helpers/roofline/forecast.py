"""What the time model predicts beside what was recorded, with the miss in per cent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from .. import versions
from ..recorded import Figure, Record, RecordError
from ..theme import Theme, mark, theme
from .drawing import HATCH, SMALL, axes, halo, heading, say
from .origins import DEVICE, Run, older, run, title

__all__ = ["Forecast", "Predicted", "predicted", "predicted_content"]

_HALF = 0.36  # height of a bar, in rows
_ROOM = 1.75  # the axis over the longest bar, for the words at its end


@dataclass(frozen=True)
class Forecast:
    """A version's predicted time and bandwidth, and the recorded ones, None where there are none.

    us in microseconds, gbps in 10^9 bytes/s of effective bandwidth; why: the model's own words.
    """

    name: str
    us: float
    gbps: float
    recorded_us: float | None
    recorded_gbps: float | None
    why: str = ""

    @property
    def miss(self) -> float | None:
        """How much longer the prediction is than the record, as a share of the record."""
        return self.us / self.recorded_us - 1 if self.recorded_us else None

    def __str__(self) -> str:
        if self.miss is None:
            return f"predicted {self.us:.1f} µs, nothing recorded"
        miss = f"{self.miss:+.0%}".replace("-", "−")
        return f"predicted {self.us:.1f} µs, was {self.recorded_us:.1f} µs: {miss}"


@dataclass(frozen=True)
class Predicted:
    """All that the picture says: versions in the order given, both origins, notes."""

    title: str
    rows: tuple[Forecast, ...]
    forecast: str
    origin: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"Bar chart: {self.title}, in GB/s."]
        for row in self.rows:
            was = "" if row.recorded_gbps is None else f" against {row.recorded_gbps:.0f}"
            because = f" ({row.why.rstrip('.')})" if row.why else ""
            said.append(f"{title(row.name)}: {row.gbps:.0f} GB/s{was}; {row}{because}.")
        said += [f"{note}." for note in (self.forecast, self.origin, *self.notes)]
        return " ".join(said)


def predicted(
    predictions: Iterable | None = None,
    rows: int = 4096,
    cols: int = 4096,
    ax: Axes | None = None,
    *,
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
    dark: bool = False,
) -> Axes:
    """Draw predicted bandwidth, hatched, beside the recorded one, with the miss; returns its axes.

    predictions: objects with name, rows, cols, us, gbps and device (its full name or its data
    sheet's), by default `helpers.model`'s for every rung that fits on `device`. Times to compare
    with: `live` ones of that device, else its newest record. ValueError for predictions of another
    size or device only.
    """
    look, said = theme(dark), predicted_content(predictions, rows, cols, live, device)
    with look.applied():
        ax = axes(ax, look, max(3.0, 1.7 + 0.45 * len(said.rows)))
        _bars(ax, said, look)
        key = [Patch(facecolor=look.paper, edgecolor=look.ink, hatch=HATCH["predicted"],
                     label=said.forecast),
               Patch(facecolor=look.ink, label=said.origin)]
        heading(ax, said.title, key if said.rows else [], said.notes)
    say(ax, str(said))
    return ax


def predicted_content(
    predictions: Iterable | None = None,
    rows: int = 4096,
    cols: int = 4096,
    live: Record | Iterable[Figure] = (),
    device: str = DEVICE,
) -> Predicted:
    """Pair predictions with the figures of one run, for float32 at rows × cols."""
    source = run(device, live, (rows, cols, "float32"))
    device = source.device
    made, notes = (_model(source, rows, cols) if predictions is None else (predictions, []))
    made = tuple(made)
    here = [one for one in made if (one.rows, one.cols) == (rows, cols)
            and one.device in (device, source.short)]  # a data sheet has the short name
    if made and not here:
        others = sorted({f"{one.rows}×{one.cols} on {one.device}" for one in made})
        raise ValueError(f"expected predictions for {rows}×{cols} on {device}, got "
                         f"{', '.join(others)}; pass rows=, cols= and device= to match")
    times, forecasts = source.by_name, []
    for one in here:
        was = times.get(one.name)
        forecasts.append(Forecast(one.name, one.us, one.gbps, was and was.us, was and was.gbps,
                                  getattr(one, "why", "")))
    notes += older(times[row.name] for row in forecasts if row.name in times)
    headline = f"Effective bandwidth, predicted and measured, softmax of {rows} × {cols} float32"
    return Predicted(headline, tuple(forecasts),
                     f"predicted, {device}: from counters and data sheet", source.label,
                     tuple(notes))


def _model(source: Run, rows: int, cols: int) -> tuple[list, list[str]]:
    """The time model's predictions for every rung that takes rows that long, or why there are none.
    """
    from .. import model  # not at import: it runs the simulator

    spec = source.spec
    if spec is None:
        return [], [f"{source.device}: no data sheet in helpers/specs.py, so no prediction"]
    fit = [v.name for v in versions.ladder() if not v.limits(cols, v.dtype, spec)]
    try:
        return [model.predict(name, rows, cols, spec) for name in fit], []
    except RecordError as error:  # the model's own constants have not been recorded
        return [], [f"no prediction: {error}"]


def _bars(ax: Axes, said: Predicted, look: Theme) -> None:
    both = [gbps for row in said.rows for gbps in (row.gbps, row.recorded_gbps) if gbps]
    longest = max(both, default=1)
    for place, row in enumerate(said.rows):
        colour = mark(row.name, look).colour
        ax.barh(place - _HALF / 2, row.gbps, _HALF, facecolor=look.paper, edgecolor=colour,
                hatch=HATCH["predicted"], zorder=2)
        if row.recorded_gbps:
            ax.barh(place + _HALF / 2, row.recorded_gbps, _HALF, facecolor=colour,
                    edgecolor=colour, zorder=2)
        ax.annotate(str(row), (max(row.gbps, row.recorded_gbps or 0), place), (5, 0),
                    textcoords="offset points", va="center", fontsize=9, color=look.ink, zorder=3,
                    path_effects=halo(look))
    ax.set_yticks(range(len(said.rows)), [title(row.name) for row in said.rows],
                  fontsize=SMALL + 1.5, fontweight="bold")
    ax.set_ylim(max(len(said.rows), 3) - 0.4, -0.6)
    ax.set_xlim(0, longest * _ROOM)
    ax.set_xticks([at for at in ax.get_xticks() if at <= longest * 1.1])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("effective bandwidth (GB/s)")
    ax.grid(axis="x", zorder=0)
    ax.set_axisbelow(True)
