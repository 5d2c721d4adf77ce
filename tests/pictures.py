"""What every picture of a view must hold: its words inside it, and large enough to read."""

from matplotlib.text import Text

__all__ = ["drawn", "fits", "words"]


def drawn(view, dark=False):
    """The view's picture, laid out."""
    figure = view.picture(dark)
    figure.draw_without_rendering()
    return figure


def fits(figure):
    """Every word inside the figure, none under 8.5 points when it is 900 pixels wide."""
    page = figure.bbox
    for text in figure.findobj(lambda a: isinstance(a, Text) and a.get_text() != ""):
        box = text.get_window_extent()
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1, text
        assert text.get_fontsize() * 900 / (100 * figure.get_figwidth()) >= 8.5


def words(figure):
    """All there is to read in a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]
