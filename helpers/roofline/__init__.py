"""Charts of bandwidth and traffic, every figure with its origin, device and date.

Effective bandwidth is 2·rows·cols·itemsize / time, nothing else. Figures come from
`helpers.recorded`, from the caller's own measurements, from the simulator's counters or from
`helpers.model`; none is written here. Each chart is a `…_content` function, which chooses all
figures and words, and a function that draws them and returns the axes; the picture's alternative
text says every number.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt

from .. import versions
from ..recorded import Figure, Record
from ..theme import theme
from .forecast import predicted, predicted_content
from .intensities import intensity_content
from .intensity_plane import intensity
from .ladder_bars import ladder
from .ladder_model import Content, Roof, Series, content
from .movement import traffic, traffic_content
from .sizes import sweep, sweep_content
from .standings import peers, peers_content

__all__ = [
    "Content",
    "Roof",
    "Series",
    "content",
    "describe",
    "intensity",
    "intensity_content",
    "ladder",
    "peers",
    "peers_content",
    "predicted",
    "predicted_content",
    "readme_picture",
    "sweep",
    "sweep_content",
    "theme",
    "traffic",
    "traffic_content",
]


def describe(
    upto: str = "v4",
    live: Record | Iterable[Figure] = (),
    rows: int = 4096,
    cols: int = 4096,
    predicted: Iterable = (),
) -> str:
    """What `ladder` shows, in words: every bar and every line with its number."""
    return str(content(upto, live, rows, cols, predicted))


def readme_picture(path: str | os.PathLike, dark: bool = False) -> Path:
    """Draw the whole ladder, published and recorded, as a PNG of 1440 × 720 pixels."""
    last = versions.ladder()[-1].name
    figure = ladder(last, dark=dark).figure
    figure.savefig(path, dpi=160)
    plt.close(figure)
    return Path(path)
