"""What a test of a chart needs: its words, where they lie, and that none is in another's way."""

import itertools

from matplotlib.text import Text

__all__ = ["apart", "boxes"]


def boxes(figure):
    """(text, box) of every word that the figure shows, in pixels."""
    figure.canvas.draw()
    renderer, found = figure.canvas.get_renderer(), [*figure.texts]
    legends = [*figure.legends]
    for ax in figure.axes:
        legends += [legend for legend in [ax.get_legend()] if legend]
        found += [*ax.texts, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    for legend in legends:
        found += [legend.get_title(), *legend.get_texts()]
    shown = [text for text in found if text.get_text().strip()]
    return [(text.get_text(), Text.get_window_extent(text, renderer)) for text in shown]


def apart(figure):
    """Assert that every word lies inside the figure and over no other word."""
    found = boxes(figure)
    assert found
    for text, box in found:
        cut = min(box.x0, box.y0, figure.bbox.x1 - box.x1, figure.bbox.y1 - box.y1) < 0
        assert not cut, f"cut off: {text}"
    for (one, a), (other, b) in itertools.combinations(found, 2):
        assert not a.overlaps(b), (one, other)
