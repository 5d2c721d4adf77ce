"""The quizzes: whole, explained, true to catalogue, data sheets and records, and usable by all."""

import dataclasses
import json
import re
import string
from html.parser import HTMLParser
from importlib.resources import files

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from helpers import launch, learner, quiz, recorded, specs, versions
from helpers.quiz import page as quiz_page
from helpers.quiz import plain
from helpers.widgets import overflow

LESSONS = sorted({version.lesson for version in versions.VERSIONS.values()})
BANK = {q["id"]: q for lesson in LESSONS for q in quiz.load(lesson).questions}
IN_FILE = {q["id"]: q for path in quiz.FOLDER.glob("*.json") for q in json.loads(path.read_text())}
CHOICES = {name: q for name, q in BANK.items() if q["type"] != "numeric"}
NUMBERS = {name: q for name, q in BANK.items() if q["type"] == "numeric"}
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
DRAM = "dram__bytes_read.sum"
EXECUTED = "smsp__inst_executed.sum"


# ---------------------------------------------------------------------------- the bank as a whole
def test_every_lesson_has_a_quiz_of_six_or_more():
    """One file a lesson, no file without one."""
    assert quiz.lessons() == LESSONS
    assert [one for one in LESSONS if len(quiz.load(one).questions) < 6] == []


def test_ids_are_unique_and_tell_the_lesson():
    """No id twice in all files; it begins with the number of its lesson."""
    ids = [q["id"] for lesson in LESSONS for q in quiz.load(lesson).questions]
    assert len(set(ids)) == len(ids)
    for lesson in LESSONS:
        for question in quiz.load(lesson).questions:
            assert re.fullmatch(rf"{lesson[:2]}-[a-z0-9-]+", question["id"])


def test_every_line_of_the_self_check_list_is_asked_thrice():
    """1 to 10, each by three questions or more."""
    asked = [line for question in BANK.values() for line in question["self_check"]]
    assert set(asked) == set(range(1, 11))
    assert {line: asked.count(line) for line in set(asked) if asked.count(line) < 3} == {}


def test_fields_are_those_that_jupyterquiz_reads():
    """Its types, its field names; and of our own only the two that it passes over."""
    scripts = "".join(f.read_text() for f in files("jupyterquiz").joinpath("js").iterdir())
    types = set(re.findall(r"Question\.register\('(\w+)'", scripts))
    for name, question in BANK.items():
        assert set(question) - {"code"} == {"id", "self_check", "type", "question", "answers"}, name
        assert question["type"] in types
        kinds = {frozenset(answer) - {"type"} for answer in question["answers"]}
        wanted = {"answer", "correct", "feedback"}
        if question["type"] == "numeric":
            assert kinds <= {frozenset({what, "correct", "feedback"}) for what in ("value", "range")
                             } | {frozenset({"feedback"})}, name  # fmt: skip
        else:
            assert kinds == {frozenset(wanted)}, name


@pytest.mark.parametrize("name", CHOICES)
def test_options_are_different_and_of_the_right_number(name):
    """One right option, or several where several are asked for; enough to choose from."""
    options = CHOICES[name]["answers"]
    texts = [plain(option["answer"]) for option in options]
    right = sum(option["correct"] for option in options)
    assert len(set(texts)) == len(texts) >= 4
    several = CHOICES[name]["type"] == "many_choice"
    assert (2 <= right < len(options)) if several else right == 1


@pytest.mark.parametrize("name", BANK)
def test_every_answer_has_an_explanation_of_its_own(name):
    """No option, number or default without feedback, and no feedback twice."""
    said = [plain(answer["feedback"]) for answer in BANK[name]["answers"]]
    assert all(re.search(r"\w+ .*\w+", text) for text in said), said
    assert len(set(said)) == len(said)


def test_wrong_options_are_no_giveaway():
    """The right option is not, as a rule, the longest, nor always in one place."""
    ones = [q["answers"] for q in CHOICES.values() if q["type"] == "multiple_choice"]
    longest = [max(options, key=lambda o: len(plain(o["answer"])))["correct"] for options in ones]
    places = [[o["correct"] for o in options].index(True) for options in ones]
    assert sum(longest) / len(ones) < 0.5
    assert max(places.count(k) for k in range(4)) / len(ones) < 0.4


class Tags(HTMLParser):
    """Opens and closes; anything but these tags is a mistake."""

    allowed = {"sup", "sub", "code", "em", "b"}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        self.close()
        assert self.open == [], text

    def handle_starttag(self, tag, attrs):
        assert tag in self.allowed, tag
        assert not attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", BANK)
def test_markup_is_small_and_closed(name):
    """A few tags without attributes; no $ (MathJax), no [text](link), both read by jupyterquiz."""
    question = BANK[name]
    texts = [question["question"], *(a.get("answer", "") for a in question["answers"])]
    for text in texts + [answer["feedback"] for answer in question["answers"]]:
        Tags(text)
        assert "$" not in text
        assert not re.search(r"\]\(|<http", text)


# ---------------------------------------------------------------------------- numbers recomputed
def tree_without(threads):
    """How many of `threads` values a tree of halved strides leaves behind, by doing it."""
    slots, stride = np.ones(threads, int), threads // 2
    while stride:
        slots[:stride] += slots[stride : 2 * stride]
        stride //= 2
    return threads - slots[0]


def after_shuffle_down(offset):
    """Each lane's number plus that of the lane `offset` on, or its own where there is none."""
    lanes = np.arange(32)
    return lanes + np.where(lanes + offset < 32, lanes + offset, lanes)


def counted(name, rows, cols, per_row_of=16, counter=LOADS):
    """A counter of a whole launch, from a part of its rows: all of them do the same."""
    return launch.profile(name, per_row_of, cols).counters[counter] * rows // per_row_of


def barriers(name, block):
    """Barriers that each warp of a block meets for one row."""
    version = dataclasses.replace(versions.get(name), block=block)
    return launch.profile(version, 1, block).ptx["barriers"] / (block // 32)


def a_request_of(name):
    return launch.profile(name, 32, 128).sectors_a_request("ld")


def rows_on_a_line(cols, rows=8):
    return sum(4 * row * cols % 16 == 0 for row in range(rows))


def longest(card, bytes_=None):
    """V4's longest row where a block has so many bytes; by default what the card gives on request.
    """
    v4 = versions.get("v4")
    static = versions.static_shared(v4.source, v4.entry)
    return ((bytes_ or specs.get(card).shared_optin) - static) // v4.staged


def v4_blocks(cols):
    v4 = versions.get("v4")
    static = versions.static_shared(v4.source, v4.entry)
    return min(specs.get("h200").room(v4.block, v4.shared(cols) + static).values())


A100, H200 = specs.get("a100"), specs.get("h200")
MOVED = 2 * 4096 * 4096 * 4
V0_BLOCKS = versions.get("v0").grid(4096, 4096)[0]
ANSWERS = {
    "00-bandwidth-of-three-reads": lambda: specs.effective_bandwidth(4096, 4096, 4, 60e-6) / 1e9,
    "00-not-before": lambda: MOVED / A100.bandwidth * 1e6,
    "00-sectors-of-a-warp": lambda: a_request_of("v1"),
    "01-fp16-edge": lambda: overflow.FORMATS[1].overflows_above,
    "01-ones-in-fp16": lambda: float(np.add.accumulate(np.ones(4096, np.float16))[-1]),
    "02-blocks": lambda: V0_BLOCKS,
    "02-sectors": lambda: a_request_of("v0"),
    "02-useful-share": lambda: 100 * 32 * 4 / (32 * a_request_of("v0")),
    "02-busy-sms": lambda: 100 * V0_BLOCKS / H200.sms,
    "02-exponentials": lambda: versions.get("v0").source.count("expf(x_row"),
    "03-rounds": lambda: np.log2(128),
    "03-barriers-of-64": lambda: barriers("v1", 64),
    "03-192-threads": lambda: tree_without(192),
    "03-requests": lambda: counted("v1", 1024, 1024),
    "04-shuffle-rounds": lambda: np.log2(32),
    "04-lane-20": lambda: after_shuffle_down(16)[20],
    "04-partials": lambda: 512 // 32,
    "04-barriers": lambda: barriers("v2", 1024),
    "05-rows-on-a-line": lambda: rows_on_a_line(4098),
    "05-row-3-of-781": lambda: 3 * 781 * 4 % 16,
    "05-head": lambda: (16 - 4) // 4,
    "05-requests": lambda: counted("v3", 4096, 4096),
    "06-longest-on-a100": lambda: longest("a100"),
    "06-longest-on-t4": lambda: longest("t4"),
    "06-without-opt-in": lambda: longest("t4", specs.get("t4").shared_default),
    "06-blocks-of-16384": lambda: v4_blocks(16384),
    "06-promised-gain": lambda: (versions.get("v3").reads + 1) / (versions.get("v4").reads + 1),
}


def test_every_number_is_recomputed():
    """The table above and the bank have the same questions."""
    assert ANSWERS.keys() == NUMBERS.keys()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_number_is_right_and_its_neighbours_are_not(name):
    """The recomputed number is judged right; a tenth more or less, or one more or less, wrong."""
    value = float(ANSWERS[name]())
    assert quiz.answer(name, value).right, value
    step = 1 if value.is_integer() else value / 10
    assert not quiz.answer(name, value + step).right
    assert not quiz.answer(name, value - step).right


@pytest.mark.parametrize("name", NUMBERS)
def test_typical_wrong_numbers_get_their_own_word(name):
    """Two at least, no two overlapping, none that the right answer hides; the default comes last.
    """
    *answers, default = NUMBERS[name]["answers"]
    assert default["type"] == "default"
    assert [answer["correct"] for answer in answers] == [True] + [False] * (len(answers) - 1)
    assert len(answers) >= 3
    spans = sorted(answer.get("range") or [answer["value"]] * 2 for answer in answers)
    assert all(a[1] < b[0] for a, b in zip(spans, spans[1:], strict=False)), spans


# ---------------------------------------------------------------------------- facts behind choices
def test_what_options_quote_is_recorded():
    """Figures in options and feedback are those of the records and data sheets today."""
    v3, v4 = (recorded.ncu(name).counters for name in ("v3", "v4"))
    quoted = [plain(a["answer"]) for a in IN_FILE["06-evidence-against-instructions"]["answers"]]
    assert quoted == [
        f"Load requests: {v4[LOADS]:,} against {v3[LOADS]:,}",
        f"Store requests: {v4[STORES]:,} against {v3[STORES]:,}",
        f"Load sectors: {v4[SECTORS]:,} against {v3[SECTORS]:,}",
        f"Bytes read from memory: {v4[DRAM] / 1e6:.0f} MB and {v3[DRAM] / 1e6:.0f} MB",
    ]
    fits = IN_FILE["06-row-of-32768"]["answers"][1]["feedback"]
    assert f"{4 * 32768:,} bytes, and a block may ask for {H200.shared_optin:,}" in fits
    assert f"{longest('h200'):,}" in IN_FILE["06-pick-for-70000"]["answers"][1]["feedback"]
    assert v4_blocks(32768) == 1
    assert v4_blocks(4096) == 8
    room = next(a for a in IN_FILE["06-blocks-of-16384"]["answers"] if a.get("value") == 13)
    assert 228 * 1024 // (4 * 4096 + 128 + 1024) == room["value"]
    assert "room for 13, but by threads no more than 8" in room["feedback"]


def test_what_choices_call_true_is_so_in_the_records():
    """V4 and V3 on both cards, shuffle and shared load, V2's instructions, V3's gain."""
    article, h200 = ({f.name: f for f in figures} for figures in
                     (recorded.article(), recorded.figures()))  # fmt: skip
    assert article["v4"].gbps > article["v3"].gbps
    assert h200["v4"].gbps < h200["v3"].gbps
    assert h200["v0"].gbps < article["v0"].gbps
    cycles = recorded.latency().cycles
    assert cycles["shuffle_down"] == pytest.approx(cycles["shared_load"], rel=0.1)
    v1, v2, v3 = (recorded.ncu(name).counters for name in ("v1", "v2", "v3"))
    assert v2[EXECUTED] < 0.95 * v1[EXECUTED]
    assert (v2[LOADS], v2[SECTORS]) == (v1[LOADS], v1[SECTORS])
    assert (4 * v3[LOADS], v3[SECTORS]) == (v2[LOADS], v2[SECTORS])
    gain = h200["v2"].us / h200["v3"].us
    assert gain == pytest.approx(v2[EXECUTED] / v3[EXECUTED], rel=0.1)


def test_what_choices_say_of_arithmetic_is_so():
    """Overflowing rows, masked rows, shifts and 16-bit sums, by the kernels themselves."""
    inf = np.inf
    spoilt = launch.run("naive_f32", np.array([[0, 1, 100]], np.float32))
    assert np.array_equal(spoilt, [[0, 0, np.nan]], equal_nan=True)
    assert np.isnan(launch.run("v1", np.full((1, 3), -inf, np.float32))).all()
    rows = launch.run("v1", np.array([(1, 2, 3), (11, 12, 13)], np.float32))
    assert np.array_equal(*rows)
    terms = np.full(4096, 16, np.float16)
    with np.errstate(over="ignore"):
        while len(terms) > 1:
            terms = terms[::2] + terms[1::2]
    assert terms[0] == inf
    assert float(overflow.FORMATS[2].dtype.type(88.72284)) == 88.5


# ---------------------------------------------------------------------------- as text
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_text_gives_no_answer_away(lesson):
    """Every question and option is there; no feedback, no verdict; numbers are not stated."""
    text = str(quiz.load(lesson))
    for question in quiz.load(lesson).questions:
        assert plain(question["question"]) in text
        for option in question["answers"]:
            assert plain(option["feedback"]) not in text
            assert plain(option.get("answer", "")) in text
    assert not re.search(r"correct|feedback|✓|✗|True|False|</?\w", text)
    assert str(quiz.load(lesson)) == text


def test_show_prints_where_there_is_no_notebook(capsys):
    """Outside IPython the text is printed."""
    quiz.show(LESSONS[0])
    assert capsys.readouterr().out == f"{quiz.load(LESSONS[0])}\n"


def letters(question, correct=True):
    pairs = zip(string.ascii_lowercase, question["answers"], strict=False)
    return [letter for letter, option in pairs if option["correct"] == correct]


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_judged_with_its_own_word(name):
    """All right letters together pass, each wrong one fails, and each is told why."""
    question = CHOICES[name]
    assert quiz.answer(name, "".join(letters(question)).upper()).right
    for letter in letters(question, False):
        reply = quiz.answer(name, letter)
        option = question["answers"][string.ascii_lowercase.index(letter)]
        assert not reply.right
        assert plain(option["feedback"]) in str(reply)


def test_a_part_of_the_right_options_is_not_all():
    """One of two right options is answered with the count."""
    name = "00-who-needs-the-maximum"
    first, second = letters(CHOICES[name])
    assert "1 of 2" in str(quiz.answer(name, [first]))
    assert quiz.answer(name, f"{second}, {first}").right


def test_a_reply_is_noted(tmp_path, monkeypatch):
    """Right once is right; the learner's own file says so."""
    monkeypatch.setenv("SOFTMAX_PROGRESS", str(tmp_path / "mine.json"))
    assert not quiz.answer("03-rounds", 127).right
    assert quiz.answer("03-rounds", "7").right
    entry = json.loads((tmp_path / "mine.json").read_text())["quiz"]["03-rounds"]
    assert (entry["passed"], entry["tries"]) == (True, 2)
    line = next(line for line in learner.summary().lines if line.lesson.startswith("03"))
    assert line.quiz[0] == 1


@pytest.mark.parametrize(
    ("name", "reply", "text"),
    [("03-nothing", "a", "no question '03-nothing'; quiz.load"),
     ("03-rounds", "many", "expected a number, got 'many'"),
     ("03-rounds", "1,33", "a number such as 1,024 or 1.33, got '1,33'"),
     ("01-one-overflow", 3, "letters from a to d, got 3"),
     ("01-one-overflow", None, "letters from a to d, got None"),
     ("03-early-return", "e", "letters from a to d, got 'e'"),
     ("03-early-return", "", "letters from a to d, got ''"),
     ("03-early-return", "ab", "one of the options is right, got 2")],
)  # fmt: skip
def test_a_reply_that_cannot_be(name, reply, text):
    """Unknown questions, letters that no option has, several where one is right, no number."""
    with pytest.raises(ValueError, match=re.escape(text)):
        quiz.answer(name, reply)


@pytest.mark.parametrize("damage", ["", "{", '[{"type": "numeric"}, {}]', "[3]"])
def test_a_damaged_bank_says_how_to_mend_it(tmp_path, monkeypatch, damage):
    """Which file, and the way out."""
    monkeypatch.setattr(quiz, "FOLDER", tmp_path)
    (tmp_path / "07_x.json").write_text(damage)
    with pytest.raises(ValueError, match=r"git checkout -- quizzes/07_x\.json"):
        quiz.load("07_x")
    with pytest.raises(ValueError, match="no quiz for '08'; there are 07_x"):
        quiz.load("08")


# ---------------------------------------------------------------------------- on a page
def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return np.dot(linear, (0.2126, 0.7152, 0.0722))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(scope="module")
def shown():
    """The HTML that a notebook gets for each quiz, by executing one; and its fallback texts."""
    cells = [nbformat.v4.new_code_cell(f'from helpers import quiz\nquiz.show("{lesson}")')
             for lesson in LESSONS]  # fmt: skip
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", timeout=60,
                   extra_arguments=["--IPKernelApp.log_level=ERROR"]).execute()  # fmt: skip
    return [cell.outputs[-1].data for cell in notebook.cells]


def opened(browser, tmp_path, bodies, **how):
    """A page with these quizzes, MathJax's name taken; it keeps errors and requests in `wrong`."""
    path = tmp_path / "page.html"
    taken = "<script>window.MathJax = { version: '3.2.2' };</script>"
    text = f"<!doctype html><meta charset=utf-8>{taken}{''.join(bodies)}<p id=after>after</p>"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(**how)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda request: page.wrong.append(request.url))
    page.goto(path.as_uri())
    return page


ANSWER_ALL = """() => [...document.querySelectorAll('.Quiz')].map(box => {
  const said = box.querySelector('.Feedback'), field = box.querySelector('.Input-text');
  const heard = () => [said.textContent, said.classList.contains('correct')];
  if (!field) return [...box.querySelectorAll('.MCButton')].map(option => {
    option.click(); return heard(); });
  return JSON.parse(field.dataset.answers).map(answer => {
    field.value = answer.range ? answer.range[0] : answer.value ?? -12345;
    box.querySelector('.cu-quiz-check').click(); return heard(); });
})"""


def test_jupyterquiz_asks_and_judges_every_question(shown, browser, tmp_path):
    """In Chromium: each option and number gets its own feedback and verdict; no network, no error.
    """
    page = opened(browser, tmp_path, [data["text/html"] for data in shown])
    heard = page.evaluate(ANSWER_ALL)
    assert len(heard) == len(BANK)
    for question, replies in zip(BANK.values(), heard, strict=True):
        for answer, (said, right) in zip(question["answers"], replies, strict=True):
            text = re.sub(r" \[\d/\d\]$", "", said)
            wanted = page.evaluate("h => { const e = document.createElement('i'); "
                                   "e.innerHTML = h; return e.textContent; }", answer["feedback"])
            assert (text, right) == (wanted, answer.get("correct", False)), question["id"]
    page.wait_for_timeout(700)  # jupyterquiz looks for MathJax half a second later
    assert [url for url in page.wrong if not url.startswith("file:")] == []
    assert page.locator(".cu-quiz-text").count() == 0
    assert page.locator("#after").evaluate("e => e.closest('.cu-quiz')") is None


def test_keys_and_names(shown, browser, tmp_path):
    """Tab reaches every control, Enter and Space press it; groups, fields and feedback are named.
    """
    lesson = LESSONS.index("03_v1_block_shared")
    page = opened(browser, tmp_path, [shown[lesson]["text/html"]])
    box = page.get_by_role("group").nth(0)
    field = box.get_by_role("textbox", name="Your number:")
    page.keyboard.press("Tab")
    page.keyboard.type("127")
    page.keyboard.press("Enter")
    assert box.get_by_role("status").inner_text().startswith("So many additions")
    assert field.input_value() == "127"
    assert field.evaluate("e => e === document.activeElement")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert field.input_value() == "127"  # coming back empties nothing
    choice = page.get_by_role("group").nth(2)
    options = choice.get_by_role("button")
    options.nth(0).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    states = [options.nth(k).get_attribute("aria-pressed") for k in range(4)]
    assert states == ["false", "false", "true", "false"]
    wanted = quiz.load(LESSONS[lesson]).questions[2]
    assert choice.get_by_role("status").inner_text() == plain(wanted["answers"][2]["feedback"])
    name = choice.evaluate("e => document.getElementById(e.getAttribute('aria-labelledby'))"
                           ".textContent")  # fmt: skip
    assert name == f"3. {plain(wanted['question'])}"
    assert options.nth(2).evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_colours_hold_in_light_and_dark(shown, browser, tmp_path):
    """4.5 to 1 for text, 3 to 1 for frames, on white and on dark paper; signs beside colours."""
    colours = quiz_page.COLOURS
    blue, green, red = (colours[f"--jq-{name}"] for name in
                        ("numeric-bg", "correct-color", "incorrect-color"))  # fmt: skip
    assert contrast(colours["--jq-text-color"], blue) >= 4.5
    assert min(contrast("#111111", one) for one in (green, red)) >= 4.5
    papers = ("#ffffff", "#111111")
    assert min(contrast(one, paper) for one in (green, red) for paper in papers) >= 3
    assert contrast(colours["--jq-mc-button-border"], "#ffffff") >= 3
    inks = "body { background: #111111; color: #eeeeee; }"
    page = opened(browser, tmp_path, [f"<style>{inks}</style>", shown[3]["text/html"]])
    page.locator(".MCButton").first.click()
    style = page.locator(".Feedback").nth(2)
    assert style.evaluate("e => getComputedStyle(e).color") == "rgb(238, 238, 238)"
    assert style.evaluate("e => getComputedStyle(e, '::before').content") in ('"✓ "', '"✗ "')
    assert page.locator(".InpLabel").first.evaluate(
        "e => getComputedStyle(e).color") == "rgb(238, 238, 238)"  # fmt: skip
    assert page.locator(".MCButton").nth(1).evaluate(
        "e => getComputedStyle(e).color") == "rgb(27, 27, 29)"  # fmt: skip


def test_without_scripts_the_questions_can_be_read(shown, browser, tmp_path):
    """A page that runs none shows questions and options, and no answers."""
    page = opened(browser, tmp_path, [shown[1]["text/html"]], java_script_enabled=False)
    text = page.locator(".cu-quiz-text").inner_text()
    for question in quiz.load(LESSONS[1]).questions:
        assert plain(question["question"]) in text
        assert plain(question["answers"][0]["feedback"]) not in text
    assert shown[1]["text/plain"] == str(quiz.load(LESSONS[1]))


def test_the_page_tells_the_kernel():
    """What the hidden field hears is noted for the question of that number."""
    asked = []
    one = quiz.load(LESSONS[3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner, "note", lambda *args: asked.append(args))
        ear = quiz_page.listener(one)
        ear.value = "0 wrong"
        ear.value = "2 right"
    ids = [question["id"] for question in one.questions]
    assert asked == [("quiz", ids[0], False), ("quiz", ids[2], True)]
