"""Requested traffic against DRAM traffic: what kernels ask for, and what memory really moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .. import specs, versions
from ..theme import COLOURS, Theme, picture, theme
from .counted import count
from .drawing import HATCH, SMALL, halo, heading, say
from .intensities import counters_of, moved, report
from .origins import DEVICE, chosen, title

__all__ = ["Bytes", "Traffic", "traffic", "traffic_content"]

_ASKED, _MOVED = COLOURS["sky"], COLOURS["blue"]
_ARTICLE = {"color": COLOURS["orange"], "linewidth": 3, "solid_capstyle": "butt"}
_ROOM = {False: 1.28, True: 1.45}  # the axis over DRAM's tallest bar; small panels need more


@dataclass(frozen=True)
class Bytes:
    """One version and size: bytes asked for, of DRAM (None where not recorded), the article's.

    Each as (read, written). The article's account is passes × matrix, its reads and one write.
    """

    name: str
    cols: int
    asked: tuple[int, int]
    moved: tuple[int, int] | None
    account: tuple[int, int]
    older: bool = False

    def passes(self, matrix: Mapping[int, int]) -> float:
        """The most passes over the matrix that DRAM made or the article counts."""
        return max(*self.account, *(self.moved or ())) / matrix[self.cols]


@dataclass(frozen=True)
class Traffic:
    """All that the picture says; matrix is cols -> bytes of one read of the whole, the minimum."""

    title: str
    matrix: dict[int, int]
    bars: tuple[Bytes, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"Bar chart: {self.title}, in MB read and written."]
        for cols, least in self.matrix.items():
            said.append(f"N = {cols}, at least {least / 1e6:.0f} and {least / 1e6:.0f}.")
            said += [f"{_told(bar)}." for bar in self.bars if bar.cols == cols]
        return " ".join([*said, *(f"{note}." for note in self.notes)])


def traffic(
    names: Sequence[str] | None = None,
    rows: int = 4096,
    cols: int | Iterable[int] = 4096,
    *,
    device: str = DEVICE,
    dark: bool = False,
) -> Axes:
    """Draw bytes asked for beside bytes that DRAM moved; returns the first panel's axes.

    One N: reads and writes. Several N: reads, a panel each. names: rungs of the ladder, None for
    all; bytes asked for are sectors × 32 as the simulator counts them, DRAM's are Nsight Compute's
    recorded ones of `device`. Lines: one pass over the matrix, the minimum; marks: the article's
    account. ValueError for a name that is no rung, for no N and for more than four.
    """
    look, said = theme(dark), traffic_content(names, rows, cols, device)
    sizes = list(said.matrix)
    panels = [(sizes[0], 0), (sizes[0], 1)] if len(sizes) == 1 else [(n, 0) for n in sizes]
    top = max([bar.passes(said.matrix) for bar in said.bars], default=1)
    with look.applied():
        figure = picture(9, 4.8, look)
        panes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        panes[0].set_ylim(0, top * _ROOM[len(sizes) > 1])
        panes[0].set_ylabel("passes over the matrix")
        for ax, (size, way) in zip(panes, panels, strict=True):
            _panel(ax, said, size, way, look, top)
        heading(figure, said.title, _key(said, look), said.notes)
    say(panes[0], str(said))
    return panes[0]


def traffic_content(
    names: Sequence[str] | None = None,
    rows: int = 4096,
    cols: int | Iterable[int] = 4096,
    device: str = DEVICE,
) -> Traffic:
    """Choose sizes, bars and notes, for float32 at rows × each of cols."""
    sizes = tuple(cols) if isinstance(cols, Iterable) else (cols,)
    if bad := [n for n in (rows, *sizes) if not (isinstance(n, Integral) and n >= 1)]:
        raise ValueError(f"rows and cols: expected whole numbers from 1 on, got {bad[0]}")
    sizes, rows = tuple(map(int, sizes)), int(rows)  # NumPy's would overflow
    if not 1 <= len(sizes) <= 4:
        raise ValueError(f"expected one to four N in cols, got {len(sizes)}; draw more in parts")
    names = chosen(names, [version.name for version in versions.ladder()])
    bars = [_bytes(name, rows, size, device) for size in sizes for name in names]
    each = {size: 4 * rows * size for size in sizes}
    where = f"{rows} × {sizes[0] if len(sizes) == 1 else 'N'} float32"
    notes = _notes(bars, names, rows, sizes, device)
    return Traffic(f"Bytes asked for and bytes that DRAM moved, {where}", each,
                   tuple(bar for bar in bars if bar), tuple(notes))


def _bytes(name: str, rows: int, cols: int, device: str) -> Bytes | None:
    """None where the version cannot take rows that long on that device."""
    version, spec = versions.get(name), specs.of_device(device)
    if spec and version.limits(cols, version.dtype, spec):
        return None
    counted, seen = count(version, rows, cols), report(name, rows, cols, device)
    matrix = rows * cols * version.np_dtype.itemsize
    return Bytes(name, cols, (counted.read, counted.written), moved(name, rows, cols, device),
                 (version.reads * matrix, matrix), bool(seen and seen.stale))


def _notes(bars: Sequence[Bytes | None], names: Sequence[str], rows: int, sizes: Sequence[int],
           device: str) -> list[str]:
    def listed(holds: Callable[[Bytes | None], bool]) -> str:
        pairs = zip(bars, ((name, n) for n in sizes for name in names), strict=True)
        found = [(name, n) for bar, (name, n) in pairs if holds(bar)]
        one = len(sizes) == 1
        return ", ".join(title(name) if one else f"{title(name)} at {n}" for name, n in found)

    seen = (report(name, rows, n, device) for n in sizes for name in names)
    notes = counters_of(seen)
    if len(sizes) == 1 and any(bar and bar.moved and bar.moved[1] < bar.account[1] for bar in bars):
        notes.append("DRAM wrote less than was written: the rest lay in L2 when the kernel ended")
    if none := listed(lambda bar: bar is not None and bar.moved is None):
        notes.append(f"DRAM of {device} not recorded: {none}")
    if refused := listed(lambda bar: bar is None):
        notes.append(f"rows too long for {refused}")
    if older := listed(lambda bar: bar is not None and bar.older):
        notes.append(f"recorded with an older kernel: {older}")
    return notes


def _told(bar: Bytes) -> str:
    def pair(two: tuple[int, int] | None) -> str:
        return "not recorded" if two is None else f"{two[0] / 1e6:.0f} and {two[1] / 1e6:.0f}"

    return (f"{title(bar.name)} asks for {pair(bar.asked)}, DRAM {pair(bar.moved)}, "
            f"the article's account {pair(bar.account)}")


def _panel(ax: Axes, said: Traffic, size: int, way: int, look: Theme, top: float) -> None:
    """Bars of one N, read (way 0) or written (1); those much higher than `top` are cut off."""
    bars, unit = [bar for bar in said.bars if bar.cols == size], said.matrix[size]
    slots, one = list(dict.fromkeys(bar.name for bar in said.bars)), len(said.matrix) == 1
    for bar in bars:
        place = slots.index(bar.name)
        fills = [(bar.asked, {"facecolor": look.paper, "edgecolor": _ASKED,
                              "hatch": HATCH["requested"]})]
        fills += [(bar.moved, {"color": _MOVED})] if bar.moved else []
        for side, (both, fill) in enumerate(fills):
            x, height = place + 0.42 * side - 0.21, both[way] / unit
            drawn = min(height, 1.07 * top)
            ax.bar(x, drawn, 0.38, zorder=2, **fill)
            number = f"{both[way] / 1e6:.0f}" if one else f"{height:.1f}"
            ax.annotate(
                f"{number}{'↑' if height > drawn else ''}", (x, drawn), (0, 2),
                textcoords="offset points", ha="center", va="bottom", fontsize=SMALL,
                rotation=0 if one else 90, color=look.ink, zorder=5, path_effects=halo(look),
            )
        ax.plot((place - 0.45, place + 0.45), (bar.account[way] / unit,) * 2, zorder=4, **_ARTICLE)
    ax.axhline(1, color=look.ink, linewidth=1.4, linestyle=(0, (3, 2)), zorder=3)
    ax.set_title(("read", "written")[way] + (" (MB on the bars)" if one else f", N = {size}"),
                 fontsize=10)
    ax.set_xlim(-0.6, max(len(slots), 3) - 0.4)
    ax.set_xticks(range(len(slots)), [title(name) for name in slots], fontsize=9)
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y", zorder=0)
    ax.set_axisbelow(True)


def _key(said: Traffic, look: Theme) -> list:
    size = next(iter(said.matrix))
    least = f" ({said.matrix[size] / 1e6:.0f} MB)" if len(said.matrix) == 1 else ""
    return [
        Patch(facecolor=look.paper, edgecolor=_ASKED, hatch=HATCH["requested"],
              label="asked for: sectors × 32 bytes, counted by the simulator"),
        Patch(color=_MOVED, label="moved by DRAM"),
        Line2D([], [], label="the article's account: reads of the code × matrix, one write",
               **_ARTICLE),
        Line2D([], [], color=look.ink, linewidth=1.4, linestyle=(0, (3, 2)),
               label=f"the minimum: one pass{least}"),
    ]
