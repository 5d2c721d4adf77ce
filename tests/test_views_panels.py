"""The panels of the memory views: controls, sentence, picture, readout; no browser needed."""

import gc
import re
import threading

import matplotlib.pyplot as plt
import pytest

from helpers.widgets import alignment, banks, coalescing, controls

PANELS = {"alignment": alignment, "banks": banks, "coalescing": coalescing}
WHOLE = [("alignment", "cols"), ("banks", "pitch"), ("coalescing", "stride")]


@pytest.fixture(params=PANELS)
def panel(request):
    return PANELS[request.param].panel()


def sentence(panel):
    return re.sub("<[^>]+>", "", panel.summary.value)


def numbers(panel):
    return [c for c in panel.controls.values() if isinstance(c, controls.Whole)]


def test_a_new_panel_shows_what_its_controls_say(panel):
    """Sentence, picture with alternative text, and readout are there from the start."""
    said, view = panel._look(**{name: c.value for name, c in panel.controls.items()})
    assert sentence(panel).replace("&gt;", ">") == said
    assert 'role="img"' in panel.image.value
    assert panel.readout.value == view.readout()
    assert "simulator" in panel.readout.value


def test_the_picture_takes_the_panel_s_width_and_no_more(panel):
    """JupyterLab adds a widget's margin to its 100 %, and the panel would cut that off."""
    for part in (panel.image, panel.readout):
        assert (part.layout.width, part.layout.margin) == ("100%", "0")


@pytest.mark.parametrize(("name", "control"), WHOLE)
def test_box_and_slider_hold_one_number(name, control):
    """The box moves the slider, the slider the box; the box goes on where the slider ends."""
    panel = PANELS[name].panel()
    number, first = panel.controls[control], panel.image.value
    number.box.value = 5
    assert number.slider.value == 5
    assert panel.image.value != first
    number.slider.value = 8
    assert (number.value, number.box.value) == (8, 8)
    number.box.value = number.most
    assert (number.value, number.slider.value) == (number.most, number.high)
    number.slider.value = number.high  # what the browser sends back
    assert number.value == number.most


def test_a_number_out_of_range_gives_one_sentence_and_leaves_the_picture(panel):
    """The sentence names the control and its range; a good number brings all back."""
    good = sentence(panel)
    for number in numbers(panel):
        for bad in (number.low - 1, number.most + 1):
            before, picture = number.value, panel.image.value
            number.box.value = bad
            assert sentence(panel) == (
                f"{number.label}: expected a whole number from {number.low} to {number.most}, "
                f"got {bad}. The picture still shows what was there before.")
            assert panel.image.value == picture
            number.box.value = before
            assert sentence(panel) == good


def test_every_choice_redraws(panel):
    """Each entry of each dropdown gives a picture or a sentence about it."""
    for control in panel.controls.values():
        if isinstance(control, controls.Choice):
            for _, value in control.dropdown.options:
                control.dropdown.value = value
                assert "expected" not in sentence(panel)


def test_a_fault_becomes_the_sentence():
    """What a GPU would stop at is said, and the picture before it stays."""
    panel = coalescing.panel()
    panel.controls["width"].dropdown.value = 16
    picture = panel.image.value
    panel.controls["offset"].box.value = 1
    assert "misaligned address" in sentence(panel)
    assert panel.image.value == picture
    panel.controls["offset"].box.value = 8
    assert "16 sectors" in sentence(panel)


def test_many_changes_leave_nothing_behind():
    """No figure stays open and no object is kept a redraw."""
    others = plt.get_fignums()
    for name, control in WHOLE:
        panel = PANELS[name].panel()
        number = panel.controls[control].box

        def change(times, number=number):
            for k in range(times):
                number.value = 1 + k % 5
            gc.collect()
            return len(gc.get_objects())

        few = change(5)
        assert change(15) < few + 200  # the artists of one kept picture are more than that
    assert plt.get_fignums() == others


def test_the_latest_change_wins_while_a_slow_one_still_runs():
    """Two threads, as JupyterLab may use: the slow one's result comes too late to be shown."""
    entered, released = threading.Event(), threading.Event()

    def look(number):
        if number == 7:
            entered.set()
            assert released.wait(60)
        return f"number {number}", banks.look(number)[1]

    panel = controls.Panel(look, {"number": controls.Whole("number", 1, 0, 9)})
    slow = threading.Thread(target=setattr, args=(panel.controls["number"].box, "value", 7))
    slow.start()
    assert entered.wait(60)
    panel.controls["number"].box.value = 3
    picture = panel.image.value
    released.set()
    slow.join(60)
    assert sentence(panel) == "number 3"
    assert panel.image.value == picture


def test_every_control_has_a_name(panel):
    """A slider is labelled, its box says what it takes; a dropdown is labelled."""
    for control in panel.controls.values():
        shown = control.slider if isinstance(control, controls.Whole) else control.dropdown
        assert shown.description == control.label
        if isinstance(control, controls.Whole):
            assert control.label in control.box.tooltip
