"""A quiz on a page: what jupyterquiz displays, without a network and mended for the keyboard.

jupyterquiz draws and judges the questions. Around it stands a thin layer, page.js and page.css:
options become buttons that Tab and Enter reach, fields get their labels, feedback is announced
and says right or wrong in signs, and the page's own text colour holds in light and dark.
"""

from __future__ import annotations

import html
import string
import uuid
from pathlib import Path

import ipywidgets as widgets
from IPython.utils.capture import capture_output

from .. import learner
from . import ASKS, Quiz, plain

__all__ = ["COLOURS", "listener", "markup"]

HERE = Path(__file__).parent
# Okabe and Ito's blue, green and vermillion. White on the blue has a contrast of 5.2, and the dark
# ink that page.css puts on the other two at least 5.3.
COLOURS = {
    "--jq-multiple-choice-bg": "#0072B2",
    "--jq-many-choice-bg": "#0072B2",
    "--jq-numeric-bg": "#0072B2",
    "--jq-text-color": "#ffffff",
    "--jq-mc-button-bg": "#ffffff",
    "--jq-mc-button-border": "#767676",
    "--jq-numeric-input-bg": "#ffffff",
    "--jq-numeric-input-label": "currentColor",
    "--jq-correct-color": "#009E73",
    "--jq-incorrect-color": "#D55E00",
}
_OWN = ("id", "self_check")


def listener(quiz: Quiz) -> widgets.Text:
    """A hidden field in which page.js writes what was answered, so that progress can be noted."""
    field = widgets.Text(continuous_update=False, layout=widgets.Layout(display="none"))
    field.add_class(f"cu-quiz-{uuid.uuid4().hex}")

    def heard(change):
        number, _, verdict = change.new.partition(" ")
        learner.note("quiz", quiz.questions[int(number)]["id"], verdict == "right")

    field.observe(heard, "value")
    return field


def markup(quiz: Quiz, told: str = "") -> str:
    """The quiz as one piece of HTML; where scripts do not run its questions can be read.

    told: the CSS class of a listener. Needs a running IPython, whose display jupyterquiz writes to.
    """
    from jupyterquiz import display_quiz

    with capture_output() as caught:
        display_quiz(_numbered(quiz), shuffle_answers=False, max_width=760, border_radius=6,
                     colors=COLOURS)  # fmt: skip
    body = "".join(out.data.get("text/html", "") for out in caught.outputs)
    script = "".join(out.data.get("application/javascript", "") for out in caught.outputs)
    # It leaves its <div> open, which would swallow what follows on the page.
    body += "</div>" * (body.count("<div") - body.count("</div"))
    return (
        f'<div class="cu-quiz" data-told="{told}" data-lm-suppress-shortcuts="true">'
        f"<style>{_layer('page.css')}</style>{body}"
        f'<ol class="cu-quiz-text">{"".join(map(_item, quiz.questions))}</ol></div>'
        f"<script>{_script(script)}</script>"
    )


def _script(drawing: str) -> str:
    """jupyterquiz's script and the layer's. It fetches MathJax from the network when it meets a
    part of MathJax on the page, so there is none in its sight; no question needs it."""
    both = f"(function (MathJax) {{\n{drawing}\n}})();\n{_layer('page.js')}"
    return both.replace("</script", "<\\/script")


def _layer(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _numbered(quiz: Quiz) -> list[dict]:
    """The questions for jupyterquiz: numbered, and saying where several options are right."""
    shown = []
    for number, question in enumerate(quiz.questions, 1):
        fields = {key: value for key, value in question.items() if key not in _OWN}
        several = f" ({ASKS['many_choice']})" if question["type"] == "many_choice" else ""
        fields["question"] = f"<b>{number}.</b> {question['question']}{several}"
        shown.append(fields)
    return shown


def _item(question: dict) -> str:
    """A question for pages without scripts: no answer is given away."""
    options = () if question["type"] == "numeric" else question["answers"]
    lettered = zip(string.ascii_lowercase, options, strict=False)
    lines = [question["question"], *(f"{a}) {option['answer']}" for a, option in lettered)]
    return f"<li>{'<br>'.join(html.escape(plain(line)) for line in lines)}</li>"
