"""Predictions: committing, reading numbers, revealing with and without a guess, and fallbacks."""

import asyncio
import html
import math

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from helpers import launch, recorded
from helpers.widgets import predict

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
COUNTED = "counted by the simulator"


def status(guess):
    return html.unescape(guess.status.value)


@pytest.mark.parametrize(("text", "value"), [
    ("1572864", 1572864), ("1,572,864", 1572864), (" 1 572 864 ", 1572864), ("1_572_864", 1572864),
    ("1.5M", 1.5e6), ("1.5 m", 1.5e6), ("12k", 12e3), ("3G", 3e9), ("1e6", 1e6),
    ("1E+6", 1e6), ("-3", -3), ("−3", -3), ("+.5", 0.5), ("2.", 2), ("0", 0),
])
def test_numbers_are_read_as_people_write_them(text, value):
    """With separators, exponents, and letters for thousands and millions."""
    assert predict.parsed(text) == value


@pytest.mark.parametrize("text", ["", "many", "1,57", "1,5728,64", "1.2.3", "e6", "-", ".", "nan",
                                  "inf", "1 M B", "3 B", "12%", "0x10", "1e999"])
def test_nonsense_is_a_sentence(text):
    """Never a traceback of float()."""
    with pytest.raises(ValueError, match=r"is no number; type one such as|too large"):
        predict.parsed(text)


def test_a_number_is_committed_by_the_button_and_locked():
    """Nonsense and an empty field say so and lose nothing; afterwards the control is closed."""
    guess = predict.number("How many?", "requests", low=1)
    guess.button.click()
    assert status(guess) == '<span role="status">type a number first.</span>'
    guess.field.value = "lots"
    guess.button.click()
    assert "“lots” is no number" in status(guess)
    assert (guess.value, guess.field.value, guess.field.disabled) == (None, "lots", False)
    guess.field.value = "-4"
    guess.button.click()
    assert "expected at least 1, got −4" in status(guess)
    guess.field.value = "1.5M"
    guess.button.click()
    assert guess.value == 1.5e6
    assert "Committed: <b>1,500,000 requests</b>" in status(guess)
    assert guess.field.disabled
    assert guess.button.disabled
    guess.field.value = "7"
    guess.button.click()
    assert guess.value == 1.5e6
    with pytest.raises(ValueError, match="closed: committed to 1,500,000 requests"):
        guess.commit(3)


def test_enter_commits_the_text_that_arrives_just_after_it():
    """The browser reports the key before the text: the text counts, not what was there before."""
    async def press(guess):
        guess._entered(None, {"event": "submit"}, None)
        guess.field.value = "42"
        assert guess.value is None
        await asyncio.sleep(0.3)

    guess = predict.number("How many?")
    guess.field.value = "4"
    asyncio.run(press(guess))
    assert guess.value == 42
    other = predict.number("How many?")
    other.field.value = "5"
    other._entered(None, {"event": "something else"}, None)
    assert other.value is None
    other._entered(None, {"event": "submit"}, None)  # no loop: nothing more can come
    assert other.value == 5


def test_a_choice_is_committed_and_locked():
    """Without a choice it asks for one."""
    guess = predict.choice("Which?", ["V1", "V2"])
    guess.button.click()
    assert "choose an answer first" in status(guess)
    guess.field.value = "V2"
    guess.button.click()
    assert (guess.value, guess.field.disabled) == ("V2", True)
    with pytest.raises(ValueError, match="choose one of: V1; V2"):
        predict.choice("Which?", ["V1", "V2"]).commit("V3")


@pytest.mark.parametrize(("value", "answer", "verdict"), [
    (100, 100, "right: exactly"), (109, 100, "right: 9 % too high"),
    (95, 100, "right: 5 % too low"), (89, 100, "not so: 11 % too low"),
    (400, 100, "not so: 4 times too high"), (25, 100, "not so: 4 times too low"),
    (0, 5, "not so: 5 too low"), (3, 0, "not so: 3 too high"), (0, 0, "right: exactly"),
    (-4, 4, "not so: 8 too low"), (-8, -2, "not so: 4 times too low"),
])
def test_how_far_off_a_number_was(value, answer, verdict):
    """A ratio where there is one, else the difference."""
    guess = predict.number("How many?")
    guess.commit(value)
    assert verdict in str(guess.reveal(answer, source=COUNTED))


def test_a_wrong_guess_gets_the_reason_a_right_one_finds_it_folded():
    """The reason is there either way."""
    for value, folded in (("V1", False), ("V2", True)):
        guess = predict.choice("Which?", ["V1", "V2"])
        guess.commit(value)
        shown = guess.reveal("V2", why="No barrier <inside> a warp.", source=COUNTED)
        markup = shown._repr_html_()
        assert ("<details>" in markup) == folded
        assert "No barrier &lt;inside&gt; a warp." in markup
        assert "why: No barrier <inside> a warp." in str(shown)
        assert ("✓ right" if folded else "✗ not so") in str(shown)
        assert f"V2 ({COUNTED})" in str(shown)


def test_without_a_guess_answer_and_reason_are_shown_and_the_question_closes():
    """As in a notebook that runs by itself."""
    guess = predict.number("How many?", "requests")
    shown = guess.reveal(1572864, why="3 passes.", source=COUNTED)
    assert "your prediction: none" in str(shown)
    assert f"answer: 1,572,864 requests ({COUNTED})" in str(shown)
    assert "✓" not in str(shown)
    assert "✗" not in str(shown)
    assert "<b>Why:</b> 3 passes." in shown._repr_html_()
    assert "No prediction was committed" in status(guess)
    with pytest.raises(ValueError, match="the answer is out"):
        guess.commit(4)
    assert "answer: 1,572,864" in str(guess.reveal(1572864, source=COUNTED))  # cell run again


def test_figures_and_profiles_say_themselves_where_they_come_from():
    """A recorded figure by the question's unit, a profile by the counter's name."""
    (figure,) = [row for row in recorded.figures() if row.name == "v1"]
    for unit, value in (("GB/s", figure.gbps), ("µs", figure.us)):
        shown = str(predict.number("How fast?", unit).reveal(figure))
        assert f"{predict.said(value)} {unit} ({figure.label()})" in shown
    profile = launch.profile("v1", 2, 256)
    shown = str(predict.number("How many?").reveal(profile, counter=REQUESTS))
    assert f"{profile.counters[REQUESTS]:,} (counted by the simulator (H200" in shown
    with pytest.raises(ValueError, match="got counter=None; choose from l1tex"):
        predict.number("How many?").reveal(profile)
    with pytest.raises(ValueError, match="GB/s or µs; this question is in requests"):
        predict.number("How many?", "requests").reveal(figure)


@pytest.mark.parametrize("answer", [math.nan, np.float32("inf"), None, "12", True, [1], 1j])
def test_an_answer_that_is_no_number_is_one_error(answer):
    """NaN can be no answer."""
    with pytest.raises(ValueError, match="expected a finite number, got"):
        predict.number("How many?").reveal(answer, source=COUNTED)


def test_an_answer_needs_its_source_and_must_be_an_option():
    """Every number shown says where it comes from."""
    with pytest.raises(ValueError, match="where its answer comes from"):
        predict.number("How many?").reveal(np.int64(3))
    with pytest.raises(ValueError, match="one of 'a', 'b', got 'c'"):
        predict.choice("Which?", ["a", "b"]).reveal("c", source=COUNTED)


@pytest.mark.parametrize("make", [
    lambda: predict.choice("Which?", ["only"]), lambda: predict.choice("Which?", ["a", "a", "b"]),
    lambda: predict.choice("Which?", "ab"), lambda: predict.number("?", low=3, high=2),
    lambda: predict.number("?", tolerance=-1), lambda: predict.number("?", tolerance=math.nan),
])
def test_a_question_that_makes_no_sense_is_refused(make):
    """When it is asked, not when it is answered."""
    with pytest.raises(ValueError, match="must|needs"):
        make()


def test_in_a_notebook_it_is_shown_once_and_has_a_text_for_where_widgets_are_not():
    """Also as the cell's last expression; again when asked for in a later cell."""
    cells = [
        'from helpers.widgets import predict\ng = predict.number("How many?", "requests")',
        'predict.choice("Which?", ["V1", "V2"])', "g",
        f'g.reveal(3, why="Because.", source="{COUNTED}")',
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    NotebookClient(notebook, timeout=60).execute()
    first, second, again, answer = ([o for o in cell.outputs if "data" in o]
                                    for cell in notebook.cells)
    assert [len(outputs) for outputs in (first, second, again, answer)] == [1, 1, 1, 1]
    for outputs in (first, second, again):
        assert "application/vnd.jupyter.widget-view+json" in outputs[0].data
    assert first[0].data["text/plain"] == "Predict: How many? (not committed)"
    assert "(V1 / V2)" in second[0].data["text/html"]
    assert "answer: 3 requests" in answer[0].data["text/plain"]


def test_a_number_too_large_for_a_float_is_refused_in_words():
    """10**400 is a whole number of Python's, as a guess and as an answer; nothing is lost."""
    guess = predict.number("How many?")
    with pytest.raises(ValueError, match="expected a finite number"):
        guess.commit(10**400)
    guess.commit(3)
    with pytest.raises(ValueError, match="expected a finite number"):
        guess.reveal(10**400, source=COUNTED)
    assert "3" in str(guess.reveal(3, source=COUNTED))
