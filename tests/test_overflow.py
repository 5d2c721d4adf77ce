"""The overflow lesson's numbers, sentences, pictures and panel.

What a number format does is tested on the kernels; drawing and the panel on a NumPy stand-in for
them, which a test holds to the kernels' own results.
"""

import gc
import html
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import ml_dtypes
import numpy as np
import pytest
from matplotlib.text import Text

from helpers import reference
from helpers.widgets import overflow, overflow_card, overflow_text
from helpers.widgets.overflow_model import launch_kernel

INF, NAN = float("inf"), float("nan")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FORMATS = {format.name: format for format in overflow.FORMATS}
SHORT_PRESETS = [p for p in overflow.PRESETS if len(p.logits) <= overflow_card.SHORT]
LONG_PRESETS = [p for p in overflow.PRESETS if len(p.logits) > overflow_card.SHORT]
NAMED = {"ids": lambda value: getattr(value, "name", None)}

# type, last input whose exponential is finite, the next number of the type
OVERFLOW_EDGES = [
    ("FP32", 88.72283172607422, 88.72283935546875),
    ("FP16", 11.0859375, 11.09375),
    ("BF16", 88.5, 89.0),
]
# type, an input whose exponential is still above 0, one whose exponential is 0
UNDERFLOW_EDGES = [
    ("FP32", -103.9, -104.0),
    ("FP16", -17.328125, -17.34375),
    ("BF16", -92.5, -93.0),
]


def stand_in(version, x):
    """The kernels in NumPy: V1 in float32, the naive ones rounding where they round."""
    with np.errstate(all="ignore"):
        if version == "v1":
            e = np.exp(x.astype(np.float64) - np.fmax.reduce(x, axis=1, keepdims=True))
            return (e / e.sum(axis=1, keepdims=True)).astype(np.float32)
        return reference.rounded_softmax(x, x.dtype)


def next_up(value, dtype):
    """The next number of a 16- or 32-bit type above a positive one."""
    bits = np.array(value, dtype).view(f"u{dtype.itemsize}")
    return float((bits + 1).astype(bits.dtype).view(dtype))


def evaluate(logits, shift=0.0):
    return overflow.evaluate(logits, shift, stand_in)


def messages(result):
    return [outcome.message for outcome in result.outcomes]


@pytest.mark.parametrize(("name", "last", "beyond"), OVERFLOW_EDGES)
def test_the_kernel_fails_one_step_beyond_the_last_logit_that_fits(name, last, beyond):
    """At the last input the row is finite; at the next number of the type it is [0, NaN]."""
    dtype = FORMATS[name].dtype
    assert next_up(last, dtype) == beyond
    rows = np.array([[0.0, last], [0.0, beyond]]).astype(dtype)
    fits, fails = launch_kernel(FORMATS[name].kernel, rows).astype(np.float64)
    assert np.isfinite(fits).all()
    assert fits[1] == 1
    assert fails[0] == 0
    assert np.isnan(fails[1])


@pytest.mark.parametrize(("name", "last", "beyond"), OVERFLOW_EDGES)
def test_the_model_overflows_where_the_kernel_does(name, last, beyond):
    """`overflows_above` lies between the two inputs, and the exponentials say so."""
    assert last <= FORMATS[name].overflows_above < beyond
    assert np.isfinite(float(evaluate([0, last])[name].exponentials[1]))
    assert np.isposinf(float(evaluate([0, beyond])[name].exponentials[1]))


@pytest.mark.parametrize(("name", "last", "beyond"), UNDERFLOW_EDGES)
def test_a_row_below_the_smallest_exponential_is_nan(name, last, beyond):
    """Two equal logits give 1/2 as long as e^x is above 0, and 0/0 = NaN after that."""
    assert beyond < FORMATS[name].vanishes_below < last
    rows = np.array([[last] * 2, [beyond] * 2]).astype(FORMATS[name].dtype)
    survives, fails = launch_kernel(FORMATS[name].kernel, rows).astype(np.float64)
    assert survives.tolist() == [0.5, 0.5]
    assert np.isnan(fails).all()


def test_the_formats_are_the_published_ones():
    """Largest finite numbers and thresholds as the lesson quotes them."""
    quoted = {"FP32": (3.4028e38, 88.7228), "FP16": (65504, 11.0899), "BF16": (3.3895e38, 88.7189)}
    for name, (largest, edge) in quoted.items():
        assert FORMATS[name].largest == pytest.approx(largest, rel=1e-5)
        assert FORMATS[name].overflows_above == pytest.approx(edge, abs=5e-5)


@pytest.mark.parametrize("preset", SHORT_PRESETS, **NAMED)
def test_evaluate_runs_the_kernels(preset):
    """The kernels and their NumPy stand-in agree: same sentences, same NaN, values to 1 ulp."""
    kernels, model = overflow.evaluate(preset.logits), evaluate(preset.logits)
    assert messages(kernels) == messages(model)
    for got, expected in zip(kernels.outcomes, model.outcomes, strict=True):
        for ours, theirs in ((got.naive, expected.naive), (got.safe, expected.safe)):
            assert ours.dtype == got.format.dtype
            bad = np.isnan(theirs.astype(np.float64))
            assert np.array_equal(np.isnan(ours.astype(np.float64)), bad)
            if not bad.all():
                loose = 4 if got.format.name == "FP32" else 1
                assert reference.compare(ours[~bad], theirs[~bad]).max_ulp <= loose


def test_an_fp16_kernel_counts_to_2048_and_no_further():
    """2100 ones: the kernel's sum is 2048, each output 1/2048, and they add up to 2100/2048."""
    y = launch_kernel("naive_f16", np.zeros((1, 2100), np.float16)).astype(np.float64)
    assert np.unique(y).tolist() == [1 / 2048]
    assert y.sum() == 2100 / 2048


def test_sums_stick_where_the_lesson_says():
    """FP16 at 2048 and BF16 at 256 for ones, FP16 at 32768 for terms just below 16."""
    ones = evaluate(np.zeros(4096))
    assert [outcome.denominator for outcome in ones.outcomes] == [4096, 2048, 256]
    assert [outcome.stuck_from for outcome in ones.outcomes] == [None, 2048, 256]
    assert [outcome.naive_sum for outcome in ones.outcomes] == [1, 2, 16]
    assert evaluate(np.full(4096, 2.771484375))["FP16"].denominator == 32768
    assert np.add.accumulate(np.full(4096, 16, np.float16))[-1] == 32768


def test_the_order_of_a_sum_matters():
    """FP16 loses eleven ones after a 2048 and keeps them before it; so does the kernel."""
    first = overflow.evaluate([7.625] + [0.0] * 11)["FP16"]
    last = overflow.evaluate([0.0] * 11 + [7.625])["FP16"]
    assert (first.denominator, last.denominator) == (2048, 2060)
    assert float(first.naive[0]) == 1
    assert float(last.naive[-1]) == pytest.approx(2048 / 2060, rel=2**-10)
    assert first.naive_sum > 1.005 > last.naive_sum


# row, type, what its kernel did
MESSAGES = [
    (
        overflow.largest_logit_row(11.6),
        "FP16",
        "FP16: e^x overflows at element 6 (x = 11.60156 > 11.09); the denominator is inf; element "
        "6 is inf/inf = NaN and every other element becomes 0.",
    ),
    (
        overflow.largest_logit_row(11.0),
        "FP16",
        "FP16: each e^x is finite, but their sum passes 65504 at element 6; the denominator is "
        "inf; every output is 0.",
    ),
    (
        [-104] * 10,
        "FP32",
        "FP32: every e^x rounds to 0 (the largest x is −104 < −103.97) and the denominator is 0; "
        "every output is NaN.",
    ),
    (
        [-100] * 10,
        "FP32",
        "FP32: the largest e^x, 3.7835e−44 at element 0, is subnormal (below 1.1755e−38) but not "
        "0; the naive outputs add up to 1.",
    ),
    (
        [7.625] + [0] * 11,
        "FP16",
        "FP16: the sum sticks at 2048 from element 1 on: the last 11 terms change nothing, and "
        "float64 gets 2059; the naive outputs add up to 1.005.",
    ),
    (
        [0, INF, 1],
        "FP32",
        "FP32: element 1 is +inf, and e^inf is inf; element 1 is inf/inf = NaN and every other "
        "element becomes 0.",
    ),
    (
        [INF, 100, 0],
        "FP32",
        "FP32: element 0 is +inf, and e^inf is inf; elements 0 and 1 are inf/inf = NaN and every "
        "other element becomes 0.",
    ),
    (
        [INF] * 5 + [0],
        "BF16",
        "BF16: 5 elements, the first of them element 0, are +inf, and e^inf is inf; 5 elements, "
        "the first of them element 0, are inf/inf = NaN and every other element becomes 0.",
    ),
    (
        [-INF] * 3,
        "BF16",
        "BF16: every logit is −inf, every e^x is 0 and so is the denominator; every output is NaN.",
    ),
    (
        [-1e30],
        "FP16",
        "FP16: every logit is beyond the type's lowest number, −65504, and is stored as −inf; "
        "every e^x is 0 and so is the denominator; the output is 0/0 = NaN.",
    ),
    (
        [-1e300] * 3,
        "FP32",
        "FP32: every logit is beyond the type's lowest number, −3.4028e38, and is stored as −inf; "
        "every e^x is 0 and so is the denominator; every output is NaN.",
    ),
    (
        [-INF, -1e6],
        "FP16",
        "FP16: every logit that is not −inf already is beyond the type's lowest number, −65504, "
        "and is stored as −inf; every e^x is 0 and so is the denominator; every output is NaN.",
    ),
    ([0, NAN], "FP16", "FP16: the logit of element 1 is NaN already; every output is NaN."),
    (
        [NAN, NAN, 0],
        "FP16",
        "FP16: the logits of elements 0 and 1 are NaN already; every output is NaN.",
    ),
    (
        [0, 1e30],
        "FP16",
        "FP16: the logit of element 1 is beyond 65504 and stored as inf; element 1 is inf/inf = "
        "NaN and every other element becomes 0.",
    ),
    (
        [-16.6, -18],
        "FP16",
        "FP16: the largest e^x, 5.9605e−8, is the smallest number of the type, with nothing "
        "between it and 0: outputs are up to 0.2 off; the naive outputs add up to 1.",
    ),
    (
        [-16, -17, -18],
        "FP16",
        "FP16: the largest e^x, 1.1921e−7, is 2 times the smallest number of the type, too few "
        "steps: outputs are up to 0.09 off; the naive outputs add up to 0.9998.",
    ),
    (
        [1, 2, 3],
        "FP32",
        "FP32: the largest e^x, 20.086 at element 2, is in range; the naive outputs add up to 1.",
    ),
]


@pytest.mark.parametrize(("logits", "name", "sentence"), MESSAGES)
def test_a_message_says_what_the_kernel_did_and_where(logits, name, sentence):
    """One sentence for each way to fail, from the real kernels' outputs."""
    assert overflow.evaluate(logits)[name].message == sentence


def test_the_headline_names_each_type_once():
    """FP32 breaks at 88.72284 and BF16 does not, because it rounded the logit down."""
    assert overflow.evaluate([0, 88.72284]).headline == (
        "Largest logit 88.72284: FP32 and FP16 overflow at element 1; BF16 holds."
    )


@pytest.mark.parametrize(
    ("logits", "shift", "verdict", "cause"),
    [
        ([1e308], 1e308, "cannot hold x + c", "x + c overflows even float64 at element 0"),
        ([1, 1e308, 1e308], 1e308, "cannot hold x + c", "at elements 1 and 2"),
        ([-1e308], -1e308, "store every logit as −inf", "float64's lowest number once c is added"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_shift_that_overflows_is_named_as_the_cause(logits, shift, verdict, cause):
    """The logits were finite: x + c was not, in any type, and NumPy's warning is not shown."""
    result = evaluate(logits, shift)
    assert result.headline.endswith(f"FP32, FP16 and BF16 {verdict}.")
    assert all(cause in message for message in messages(result))


def test_all_types_that_lose_the_same_terms_are_said_to_stick():
    """2048, then ones: FP16 and BF16 reach the same sum and are described alike."""
    assert overflow.evaluate([7.625] + [0] * 11).headline == (
        "Largest logit 7.625: FP32 holds; FP16 and BF16 stick at 2048."
    )


def test_rounding_alone_is_not_called_stuck():
    """No row of the sliders sticks: what its last terms lose is within the earlier roundings."""
    rows = [overflow.largest_logit_row(x) for x in np.arange(-10, 100, 0.5)]
    rows += [overflow.attention_row(2**n, scaled) for n in range(14) for scaled in (False, True)]
    for row in rows:
        assert [outcome.stuck_from for outcome in evaluate(row).outcomes] == [None] * 3


def test_a_sum_that_only_drifts_is_not_called_stuck():
    """A row of 4096 random logits loses a seventh of its FP16 sum, a bit at each addition."""
    outcome = evaluate(np.random.default_rng(0).standard_normal(4096))["FP16"]
    assert outcome.stuck_from is None
    assert overflow_text.diagnose(outcome)[0] == "loses part of the sum"
    assert not outcome.naive_holds


@pytest.mark.parametrize("shift", [-60.0, 50.0, 80.0, 1000.0])
def test_the_safe_output_does_not_move_with_the_shift(shift):
    """FP32: at most by what rounding x + c moves a logit; the naive form is gone at 1000."""
    row = overflow.attention_row(64, scaled=True)
    outcome = overflow.evaluate(row, shift)["FP32"]
    spacing = float(np.spacing(np.float32(abs(shift) + 2)))
    assert outcome.safe_error <= 2 * spacing
    assert outcome.naive_holds == (shift < 85)


def test_minus_the_maximum_makes_the_naive_form_safe():
    """Shifted by its maximum, a row that overflows everywhere holds in every type."""
    row = overflow.largest_logit_row(100)
    assert not any(outcome.naive_holds for outcome in overflow.evaluate(row).outcomes)
    assert all(outcome.naive_holds for outcome in overflow.evaluate(row, -100).outcomes)


def test_attention_scores_are_divided_by_the_root_of_d_k():
    """The scaled row is the other one over √d_k, and its spread does not grow with d_k."""
    for d_k in (64, 4096):
        raw, scaled = (overflow.attention_row(d_k, scaled) for scaled in (False, True))
        assert np.allclose(scaled * d_k**0.5, raw)
        assert 0.5 < scaled.std() < 2


@pytest.mark.parametrize("d_k", [0, -3, 8193, 64.7])
def test_a_head_size_out_of_range_is_refused(d_k):
    """The error says what is allowed and what was given."""
    with pytest.raises(ValueError, match=f"d_k: expected a whole number from 1 to 8192, got {d_k}"):
        overflow.attention_row(d_k, scaled=True)


@pytest.mark.parametrize(
    ("logits", "shift", "error"),
    [
        ([], 0, "at least one element, got shape"),
        ([[1, 2]], 0, "expected one row"),
        ([1.0], NAN, "shift: expected a finite number, got nan"),
        ([1.0], INF, "shift: expected a finite number, got inf"),
        ([1.0], "a", "shift: expected a finite number, got 'a'"),
        ([1.0], None, "shift: expected a finite number, got None"),
        (["1", "2"], 0, r"logits: expected one row of real numbers, got \['1', '2'\]"),
        ([1, "x"], 0, "logits: expected one row of real numbers, got"),
        ([[1], [1, 2]], 0, "logits: expected one row of real numbers, got"),
        ([1j], 0, "logits: expected one row of real numbers, got"),
    ],
)
def test_evaluate_refuses_what_is_no_row(logits, shift, error):
    """Before any kernel is launched, with the way out."""
    with pytest.raises(ValueError, match=error):
        overflow.evaluate(logits, shift, run=None)


# -- pictures ------------------------------------------------------------------------------------


ROWS = [
    overflow.largest_logit_row(11.6),
    overflow.attention_row(128, scaled=False),
    [3.0],
    [0, NAN],
    [-INF, 0],
    [12.0] * 12,
    [9.0] * 13,
    np.zeros(4096),
    np.full(4096, 2.7734375),
    np.full(30, INF),
    np.full(300, -104.0),
    np.array([7.5] + [0.0] * 511),
    np.random.default_rng(0).standard_normal(4096),
]


@pytest.mark.parametrize("logits", ROWS, ids=range(len(ROWS)))
def test_every_word_of_a_picture_fits_in_it(logits):
    """No text leaves its figure, and none is under 9 points where the page is narrow."""
    cards = overflow.draw(evaluate(logits))
    shrunk = overflow_card._NARROWEST / overflow_card._SIZE[0]
    for figure in cards.figures:
        figure.draw_without_rendering()
        page = figure.bbox
        for text in figure.findobj(lambda a: isinstance(a, Text) and a.get_text() != ""):
            if text.get_visible():
                box = text.get_window_extent()
                assert page.x0 <= box.x0 <= box.x1 <= page.x1, text
                assert page.y0 <= box.y0 <= box.y1 <= page.y1, text
                assert text.get_fontsize() * shrunk >= 9


@pytest.mark.parametrize("preset", LONG_PRESETS, **NAMED)
def test_the_words_on_a_sum_that_sticks_do_not_lie_on_its_curve(preset):
    """No point of the running sum is inside the box of `sticks at …`."""
    result, found = evaluate(preset.logits), 0
    for figure, outcome in zip(overflow.draw(result).figures, result.outcomes, strict=True):
        figure.draw_without_rendering()
        axes = figure.axes[0]
        curve = axes.transData.transform(
            np.stack([np.arange(len(result)), outcome.running.astype(np.float64)], axis=1)
        )
        for text in axes.texts:
            if text.get_text().startswith("sticks at"):
                box, found = text.get_window_extent(), found + 1
                assert not any(box.contains(x, y) for x, y in curve)
    assert found


def test_a_picture_writes_out_inf_0_and_nan():
    """Colour is not the only carrier: the overflowed, the lost and the NaN are words."""
    fp16 = overflow.draw(evaluate(overflow.largest_logit_row(11.6))).figures[1]
    words = [text.get_text() for text in fp16.findobj(Text)]
    assert words.count("inf") == 1
    assert words.count("NaN") == 1
    assert words.count("0") >= 2
    assert "– – largest 65504 (x = 11.09)" in words


def test_a_picture_says_in_words_what_it_shows():
    """Each card's alternative text is its type's sentence; text-only notebooks show all three."""
    result = evaluate([-104] * 10)
    cards = overflow.draw(result)
    assert [figure.alt for figure in cards.figures] == messages(result)
    assert repr(cards).splitlines() == messages(result)
    assert cards._repr_html_().count('role="img"') == 3


def test_redrawing_keeps_figures_axes_and_artists():
    """After 200 redraws a card has as many artists, objects and open figures as before."""
    cards = overflow.Cards()
    card = cards._cards[1]
    rows = [*(overflow.largest_logit_row(x) for x in (10.0, 11.6, 89.0)), [-104.0], np.zeros(100)]
    outcomes = [evaluate(row)["FP16"] for row in rows]

    def living(redraws):
        for n in range(redraws):
            card.show(outcomes[n % len(outcomes)])
        card.figure._repr_html_()
        gc.collect()
        return len(card.figure.findobj()), len(gc.get_objects())

    artists, objects = living(10)
    artists_after, objects_after = living(200)
    assert artists_after == artists
    assert objects_after < objects + 200  # one kept artist a redraw would be thousands
    assert plt.get_fignums() == []


# -- the panel -----------------------------------------------------------------------------------


@pytest.fixture
def panel():
    return overflow.panel(stand_in)


def headline(panel):
    return re.sub("<[^>]+>", "", panel.summary.value)


def test_the_box_moves_the_slider_and_the_slider_the_box(panel):
    """Both show one value; the row is evaluated for it."""
    panel.logit.box.value = 11.09375
    assert panel.logit.slider.value == 11.09375
    assert headline(panel).startswith("Largest logit 11.09375:")
    panel.logit.slider.value = 50.2
    assert panel.logit.box.value == 50.2
    assert headline(panel).startswith("Largest logit 50.2:")


def test_the_browsers_rounding_of_the_slider_does_not_reach_the_box(panel):
    """The browser puts the slider on its own step and reports it; the typed number stays."""
    panel.logit.box.value = 11.09375
    panel.logit.slider.value = 11.1  # what the browser sends back
    assert panel.logit.box.value == 11.09375
    panel.logit.box.value = 1e30
    assert (panel.logit.slider.value, panel.logit.box.value) == (100, 1e30)
    assert "FP16 cannot hold the logit" in headline(panel)


def test_attention_and_presets_have_their_own_controls(panel):
    """Only the controls of the chosen kind of row are shown, and they decide the row."""
    panel.source.value = "attention"
    shown = [name for name, view in panel._sources.items() if view.layout.display != "none"]
    assert shown == ["attention"]
    assert headline(panel).endswith("FP32, FP16 and BF16 hold.")
    panel.d_k.slider.value = 7
    assert panel.d_k.value == 128
    assert "FP16 overflows" in headline(panel)
    panel.scaled.value = True
    assert headline(panel).endswith("FP32, FP16 and BF16 hold.")
    panel.source.value = "preset"
    panel.preset.value = 1
    assert overflow.PRESETS[1].note in panel.note.value
    assert headline(panel).startswith("Largest logit 11.09375")


def test_the_shift_reaches_every_row(panel):
    """c is added to each logit, and the button puts the largest logit at 0."""
    panel.logit.box.value = 20
    panel.shift.box.value = 70
    assert headline(panel).startswith("Largest logit 90: FP32 and BF16 overflow at element 6;")
    panel.centre.click()
    assert panel.shift.value == -20
    assert headline(panel) == "Largest logit 0: FP32, FP16 and BF16 hold."
    panel.source.value = "preset"
    panel.preset.value = len(overflow.PRESETS) - 1
    panel.centre.click()  # no finite maximum to subtract: nothing happens
    assert panel.shift.value == -20


def test_a_head_size_that_is_not_whole_gives_one_sentence(panel):
    """64.7 is neither computed as 64 in silence nor drawn."""
    panel.source.value = "attention"
    panel.d_k.box.value = 64.7
    assert "d_k: expected a whole number from 1 to 8192, got 64.7" in headline(panel)
    panel.d_k.box.value = 65
    assert headline(panel).startswith("Largest logit")


@pytest.mark.parametrize("number", ["logit", "shift", "d_k"])
@pytest.mark.parametrize("value", [NAN, INF])
def test_a_number_that_is_none_gives_one_sentence_and_breaks_nothing(panel, number, value):
    """The sentence names the control and the pictures stay; a good number brings all back."""
    panel.source.value = "attention" if number == "d_k" else "logit"
    before, pictures = headline(panel), panel.pictures.value
    good = getattr(panel, number).value
    getattr(panel, number).box.value = value
    if number != "shift":
        panel.centre.click()  # there is no row to centre, and no reason to fail
    assert "expected a finite number, got" in headline(panel)
    assert headline(panel).endswith("The pictures still show the row before.")
    assert panel.pictures.value == pictures
    getattr(panel, number).box.value = good
    assert headline(panel) == before


def test_a_kernel_that_fails_is_reported_in_the_panel():
    """An error of the launch becomes the sentence; the panel lives on."""
    broken = []

    def run(version, x):
        if broken:
            raise RuntimeError("the device went away.")
        return stand_in(version, x)

    panel = overflow.panel(run)
    broken.append(True)
    panel.logit.box.value = 12
    assert headline(panel).startswith("the device went away. The pictures")
    broken.clear()
    panel.logit.box.value = 13
    assert headline(panel).startswith("Largest logit 13")


@pytest.mark.parametrize("preset", overflow.PRESETS, **NAMED)
def test_the_readout_says_all_that_the_pictures_say(preset):
    """A sentence and the safe row sum for each type, and every number of a short row."""
    result = evaluate(preset.logits)
    said, numbers = overflow_text.readout(result), overflow_text.table(result)
    for outcome in result.outcomes:
        assert html.escape(outcome.message) in said
        if np.isnan(outcome.safe_sum):
            assert "Safe: NaN too" in said
        else:
            assert f"Safe: row sum {overflow_text.total(outcome.safe_sum)}" in said
    assert numbers.count("<td") == min(len(result), 24) * 12
    assert f">{overflow_text.number(float(result['FP16'].exponentials[0]), 4)}<" in numbers


def test_the_table_is_shown_on_demand(panel):
    """It appears and goes with its tick, and follows the row."""
    assert panel.numbers.value == ""
    panel.show_numbers.value = True
    assert "2.203e4" in panel.numbers.value
    panel.logit.box.value = 11.09375
    assert ">inf<" in panel.numbers.value
    panel.show_numbers.value = False
    assert panel.numbers.value == ""


def test_the_latest_change_wins_while_a_slow_one_still_runs():
    """Two threads, as JupyterLab may use: the slow row's result comes too late to be shown."""
    entered, released = threading.Event(), threading.Event()

    def run(version, x):
        if x.max() == 50:
            entered.set()
            assert released.wait(60)
        return stand_in(version, x)

    panel = overflow.panel(run)
    slow = threading.Thread(target=setattr, args=(panel.logit.box, "value", 50))
    slow.start()
    assert entered.wait(60)
    panel.logit.box.value = 11.6
    assert headline(panel).startswith("Largest logit 11.6:")
    pictures = panel.pictures.value
    released.set()
    slow.join(60)
    assert headline(panel).startswith("Largest logit 11.6:")
    assert panel.pictures.value == pictures


def test_kernels_run_side_by_side():
    """Rows evaluated on several threads come out as they do one after another."""
    rows = [overflow.largest_logit_row(x) for x in (9.0, 11.6, 89.0, 20.0)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(overflow.evaluate, rows))
    for result, row in zip(together, rows, strict=True):
        alone = overflow.evaluate(row)
        for ours, theirs in zip(result.outcomes, alone.outcomes, strict=True):
            for a, b in ((ours.naive, theirs.naive), (ours.safe, theirs.safe)):
                assert np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True)


def test_a_row_is_evaluated_once():
    """Going back to a row, or showing its numbers, launches nothing."""
    calls = []

    def run(version, x):
        calls.append(version)
        return stand_in(version, x)

    panel = overflow.panel(run)
    assert sorted(calls) == ["naive_bf16", "naive_f16", "naive_f32", "v1"]
    panel.show_numbers.value = True
    panel.shift.box.value = 3
    panel.shift.box.value = 0
    assert len(calls) == 8


# -- the notebook --------------------------------------------------------------------------------


def test_what_the_notebook_asks_the_reader_to_find_is_there():
    """The answers to its tasks, from the kernels: 11.0 fails by its sum, the exercise has 85.5."""
    fp16 = [overflow.evaluate(overflow.largest_logit_row(x))["FP16"] for x in (10.9, 11.0)]
    assert fp16[0].naive_holds
    assert "their sum passes 65504" in fp16[1].message
    below = overflow.evaluate(overflow.largest_logit_row(20), -40)
    assert [outcome.naive_holds for outcome in below.outcomes] == [True, False, True]
    row = overflow.attention_row(64, scaled=True)
    holds = [overflow.evaluate(row, c)["FP32"].naive_holds for c in (85.5, 86)]
    assert holds == [True, False]


def test_the_notebooks_recap_states_the_formats():
    """The thresholds in its last table are those of the types."""
    notebook = json.loads(Path("notebooks/01_overflow.ipynb").read_text(encoding="utf-8"))
    recap = "".join(notebook["cells"][-1]["source"])
    for label, value in (
        ("overflows above", lambda f: f"{f.overflows_above:.2f}"),
        ("is 0 below", lambda f: f"−{-f.vanishes_below:.2f}"),
    ):
        line = next(line for line in recap.splitlines() if label in line)
        assert [cell.strip() for cell in line.split("|")[2:5]] == list(map(value, overflow.FORMATS))
