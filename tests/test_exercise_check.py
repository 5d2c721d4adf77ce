"""The check of an answer: its stages, its patterns, and what no answer may do to it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers import exercise, simt
from helpers.__main__ import main
from helpers.exercise import definition, difference, expression, inputs, judge, references
from helpers.exercise.definition import Case
from helpers.exercise.refusals import refusal
from helpers.exercise.verdict import SCORES, STEPS, Verdict, score

NAME = "v1/block_max"
TASK = exercise.load(NAME)
ENTRY = TASK.entry
HEAD = f'extern "C" __global__ void {ENTRY}(const float* x, float* y, int rows, int cols)'


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The command line sets the device in the environment; here it is put back."""
    monkeypatch.setenv("SOFTMAX_DEVICE", "sim")


def check(body, head=HEAD, before=""):
    """The verdict on a kernel of this body."""
    return exercise.check(TASK, f"{before}\n{head} {{ {body} }}\n")


# ------------------------------------------------------------------------ what an answer may be
NO_ANSWERS = {
    "nothing": "",
    "blanks": " \n\t\n",
    "only a comment": "// nothing here",
    "prose": "I could not solve this, sorry.",
    "Python": "def f(x):\n    return max(x)\n",
    "another name": HEAD.replace(ENTRY, "mine") + " {}",
    "no kernel": "__device__ float f() { return 1.0f; }",
    "mangled": HEAD.replace('extern "C" ', "") + " {}",
    "fewer parameters": f'extern "C" __global__ void {ENTRY}(const float* x, float* y) {{}}',
    "another type": HEAD.replace("const float* x", "const double* x") + " {}",
    "x not const": HEAD.replace("const float* x", "float* x") + " {}",
    "values for arrays": HEAD.replace("float* y", "float y") + " {}",
    "long rows": HEAD.replace("int rows", "long long rows") + " {}",
    "300 KB shared": HEAD + " { __shared__ float s[75000]; s[threadIdx.x] = x[0]; y[0] = s[0]; }",
    "an unclosed brace": HEAD + " {",
    "a local file": '#include "mine.h"\n' + HEAD + " {}",
    "a file by its path": "#include </etc/hostname>\n" + HEAD + " {}",
    "a file further up": "#include <../secret.h>\n" + HEAD + " {}",
    "a hidden include": "%:/**/include </etc/hostname>\n" + HEAD + " {}",
    "a continued include": '#inc\\\nlude "/etc/hostname"\n' + HEAD + " {}",
    "an include by macro": '#define F "/etc/hostname"\n#include F\n' + HEAD + " {}",
    "an include in a raw string": 'const char* s = R"(\n/*)";\n/**//**/ #include "/etc/x"\n',
    "an include behind a trigraph": '??=include "/etc/hostname"\n' + HEAD + " {}",
    "an include behind a literal": "char a = '/*';\n#include </etc/x>\n// */\n" + HEAD + " {}",
    "an include behind a blank": '// \\ \n#include "/etc/x"\n' + HEAD + " {}",
    "an include of the next file": "#include_next <math.h>\n" + HEAD + " {}",
    "a look for a file": '#if __has_include("/etc/hostname")\n#endif\n' + HEAD + " {}",
    "a header nobody has": "#include <nobody_has_this.h>\n" + HEAD + " {}",
    "a NUL": HEAD + " {\0}",
    "half a character": HEAD + " { /* \ud800 */ }",
    "a megabyte": "// x\n" * 300_000 + HEAD + " {}",
    "no text": None,
}


@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_what_is_no_answer_ends_at_compiling(answer):
    """Nothing raises: each gets a sentence that says what to do, and no credit."""
    verdict = exercise.check(TASK, NO_ANSWERS[answer])
    assert (verdict.passed, verdict.stage, verdict.score) == (False, "compile", 0.0)
    assert 20 < len(verdict.message) < 500
    assert "Traceback" not in str(verdict)


@pytest.mark.parametrize("answer", [name for name in NO_ANSWERS if "include" in name
                                    or "file" in name or "header" in name])  # fmt: skip
def test_files_are_refused_in_one_sentence_that_shows_nothing_of_them(answer):
    """A path in an include must not bring a file of the grading machine into a message."""
    verdict = exercise.check(TASK, NO_ANSWERS[answer])
    assert "refused" in verdict.message or "can be included" in verdict.message
    for secret in (Path("/etc/hostname"),):
        if secret.is_file() and len(text := secret.read_text().strip()) > 3:
            assert text not in str(verdict)


def test_headers_of_the_compiler_may_be_included():
    """What NVRTC brings is no file of the learner's."""
    verdict = exercise.check(TASK, "#include <cuda_fp16.h>\n" + TASK.solution)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "text",
    ['// no #include "mine.h" is needed\n', "/* don't\n#include \"mine.h\"\n#import x\n*/\n",
     'const char* const said = "#include \\"mine.h\\"";\n', "// __has_include\n"],
)  # fmt: skip
def test_what_is_said_of_an_include_is_not_refused(text):
    """A comment or a string is no directive."""
    assert refusal(text + TASK.solution) is None


def test_a_line_without_its_text_has_no_colon():
    """The clock knows the line alone."""
    assert judge._place(simt.BudgetExceeded("too long", line=9)) == ["line 9"]
    assert judge._place(simt.BudgetExceeded("x", line=9, source="a;")) == ["line 9: a;"]


def test_a_compile_error_names_the_line():
    """Counted in the learner's own text, with what stands there and what the compiler says."""
    verdict = check("\n  int a = nothing;\n")
    assert (verdict.stage, verdict.line, verdict.source) == ("compile", 3, "int a = nothing;")
    assert "nothing" in verdict.message
    assert "line 3: int a = nothing;" in str(verdict)


def test_an_endless_loop_ends():
    """Within the budget of instructions, with the line."""
    verdict = check("volatile int spin = 0;\n while (true) spin += 1;")
    assert (verdict.stage, verdict.score) == ("endless", 0.0)
    assert verdict.line == 3
    assert verdict.seconds < 3


def test_endless_barriers_and_waits_end():
    """Loops that meet at barriers, or wait for what nobody does."""
    verdict = check("while (true) __syncthreads();")
    assert verdict.stage == "endless"
    body = "volatile float* v = y; if (threadIdx.x) y[blockIdx.x] = 1; else while (v[0] != 7) {}"
    assert check(body).stage in ("endless", "defect")


def test_a_flood_of_printf_is_cut(capsys):
    """The verdict has the beginning of it, and nothing reaches the screen meanwhile."""
    verdict = check('for (int k = 0; k < 40; ++k) printf("%d says something\\n", threadIdx.x);')
    assert "says something" in verdict.said
    assert len(verdict.said) < 3000
    assert verdict.said.endswith("(and more)")
    assert capsys.readouterr().out == ""


def test_a_flood_without_end_ends():
    """Both at once."""
    verdict = check('while (true) printf("again\\n");')
    assert verdict.stage == "endless"
    assert verdict.seconds < 10


def test_a_kernel_that_writes_its_input_is_found():
    """Casting const away does not help."""
    verdict = check("((float*)x)[threadIdx.x] = 0;")
    assert (verdict.stage, verdict.kind) == ("defect", "write to read-only memory")
    assert verdict.line


def test_unsupported_code_is_said_to_be():
    """An instruction that the simulator does not know ends the check with its line."""
    verdict = check('unsigned r; asm volatile("mov.u32 %0, %%clock;" : "=r"(r)); y[0] = r;')
    assert (verdict.stage, verdict.kind) == ("compile", "unsupported")
    assert verdict.line


# ------------------------------------------------------------------------------- the stages
BODY = """const int tid = threadIdx.x; __shared__ float s[256]; float m = -3e38f;
for (int c = tid; c < cols; c += 256) m = fmaxf(m, x[(size_t)blockIdx.x * cols + c]);
s[tid] = m; {between}
if (tid == 0) {{ for (int k = 0; k < 256; ++k) m = fmaxf(m, s[k]); y[blockIdx.x] = m; }}"""


def test_right_by_luck_is_told_from_wrong():
    """Right numbers with a race are lucky; two lines are named."""
    verdict = check(BODY.format(between=""))
    assert verdict.stage in ("lucky", "defect")
    assert verdict.kind.startswith("race")
    assert check(BODY.format(between="__syncwarp();")).kind.startswith("race")


def test_a_result_by_schedule_is_lucky():
    """Blocks that write one place in turn: the last one to run decides."""
    verdict = check("if (threadIdx.x == 0) y[0] = x[(size_t)blockIdx.x * cols];")
    assert verdict.stage in ("wrong", "defect")
    assert verdict.row is not None


def test_feedback_comes_in_the_promised_order():
    """compiles, right, free of defects, within the budget: True until one is False, then None."""
    passed = exercise.check(TASK, TASK.solution)
    assert passed.steps() == [(step, True) for step in STEPS]
    wrong = check("if (threadIdx.x == 0) y[blockIdx.x] = 0;")
    assert wrong.stage == "wrong"
    assert [ok for _, ok in wrong.steps()] == [True, False, None, None]
    slow = Verdict("a/b", False, "slow", "", 0.8)
    assert [ok for _, ok in slow.steps()] == [True, True, True, False]


def test_visible_cases_alone():
    """hidden=False tries what the learner is shown, and no more."""
    first = next(case for case in TASK.cases if not case.hidden)
    shown = {case.cols for case in TASK.cases if not case.hidden}
    assert TASK.cases[0] == first
    cols = " || ".join(f"cols == {size}" for size in shown)
    code = TASK.solution.replace("= blockIdx.x;", f"= ({cols}) ? blockIdx.x : 0;")
    assert code != TASK.solution
    assert exercise.check(TASK, code, hidden=False).passed
    verdict = exercise.check(TASK, code)
    assert verdict.case.hidden
    assert "hidden" in str(verdict)


def test_scores_rise_with_the_stage():
    """Partial credit: nothing for what does not compile, all for what passes."""
    assert [score(stage) for stage in ("compile", "wrong", "lucky", "slow", "passed")] == sorted(
        SCORES[stage] for stage in ("compile", "wrong", "lucky", "slow", "passed")
    )
    assert score("wrong", 0.5) == SCORES["wrong"] / 2
    assert score("slow", 0.5) == SCORES["slow"]


# ------------------------------------------------------------------------------ how it is told
def test_json_has_the_facts_and_no_nan():
    """A verdict survives strict JSON, with NaN by its name."""
    verdict = check("if (threadIdx.x == 0 && blockIdx.x) y[blockIdx.x] = 0;")
    told = json.loads(verdict.to_json(), parse_constant=pytest.fail)
    assert told["got"] == "nan"
    assert {"passed", "stage", "kind", "message", "line", "case", "row", "score"} <= set(told)
    assert told["case"]["rows"] == verdict.case.rows


def test_html_escapes_and_speaks():
    """What the kernel prints cannot become markup; the steps are words for a screen reader."""
    verdict = check('printf("<script>alert(1)</script>");')
    page = verdict._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'role="status"' in page
    assert 'aria-label="right: no"' in page


@pytest.mark.parametrize(("which", "code"), [("solution", 0), ("skeleton", 1)])
def test_the_command_line_tells_by_its_exit_code(which, code, capsys):
    """0 passed, 1 not passed."""
    path = TASK.folder / f"{which}.cu"
    assert main(["check", NAME, str(path), "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is (code == 0)
    assert main(["check", NAME, str(path)]) == code
    assert "compiles" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [("v1/nothing", "x.cu"), ("v1/block_max", "no_such_file.cu"), ("../v1", "x.cu"), ("x",)],
)
def test_the_command_line_refuses_in_a_sentence(words, capsys):
    """2 for an exercise or a file that is not there; the exercises are listed."""
    assert main(["check", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_an_unknown_exercise_lists_those_there_are():
    with pytest.raises(exercise.DefinitionError, match=NAME):
        exercise.load("v1/nothing")


# -------------------------------------------------------------------------------- patterns
def pattern(want, got, rows=4, cols=70, offset=0, reference="softmax", x=None):
    """The patterns of a result `got(want)` of an exercise like this one."""
    task = definition.Exercise(**{**vars(TASK), "reference": reference, "tolerance": 1e-6})
    case = Case(rows, cols, offset=offset)
    x = inputs.make("normal", rows, cols, "float32") if x is None else x
    want = difference.expected(task, x)
    y = got(want.copy(), x).astype(np.float32)
    return difference.compare(task, case, x, y, want)


def changed(where, value):
    def change(y, x):
        y[where] = value if not callable(value) else value(y[where])
        return y

    return change


EVERYTHING = (slice(None), slice(None))
PATTERNS = {
    "tail": changed((slice(None), slice(68, None)), 7),
    "nan": changed((slice(1, 3), slice(2, 9)), np.nan),
    "zero": changed((slice(1, 3), slice(2, 9)), 0),
    "lane0_only": lambda y, x: np.where(np.arange(70) % 32 == 0, y, 3.0),
    "first_warp": lambda y, x: np.where(np.arange(70) < 32, y, 3.0),
    "scaled": lambda y, x: y * np.array([[1.0], [1.5], [2.0], [0.5]]),
    "first_row": changed((slice(1, None), slice(None)), lambda y: y[:, ::-1] + 1),
    "rounding": lambda y, x: y * (1 + 1e-3 * np.cos(np.arange(70))),
    "all": lambda y, x: y[:, ::-1] + np.arange(70),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_seen(name):
    """Each pattern, made on purpose, comes first in the list of those that hold."""
    found = pattern(None, PATTERNS[name])
    assert found.patterns[0] == name, found.patterns
    assert found.pattern() in definition.PATTERNS[name].format(width=found.width)


def test_misaligned_rows_are_seen():
    """Rows of 70 floats start at a multiple of 16 bytes every other time."""
    found = pattern(None, changed((slice(1, None, 2), slice(3, 5)), 9))
    assert found.patterns[0] == "rows_misaligned"
    shifted = pattern(None, changed((slice(0, None, 2), slice(3, 5)), 9), offset=2)
    assert shifted.patterns[0] == "rows_misaligned"


def test_a_row_result_without_its_tail_is_seen():
    """Where a row has one number, the pattern is in what went into it."""
    found = pattern(None, lambda y, x: x[:, :68].sum(1), reference="row_sum")
    assert (found.patterns[0], found.width, found.col) == ("tail", 4, None)
    found = pattern(None, lambda y, x: x[:, :64].sum(1), reference="row_sum")
    assert (found.patterns[0], found.width) == ("tail", 32)
    found = pattern(None, lambda y, x: x[:, :32].sum(1), reference="row_sum")
    assert "first_warp" in found.patterns


def test_what_was_never_written_is_told_from_a_nan():
    """The output starts as a NaN that no arithmetic makes."""
    x = inputs.make("normal", 4, 70, "float32")
    want = difference.expected(TASK, x)
    y = difference.unwritten(want.shape, "float32")
    found = difference.compare(TASK, Case(4, 70), x, y, want)
    assert found.patterns[0] == "unwritten"
    assert "never written" in str(found)
    y[...] = np.nan
    assert difference.compare(TASK, Case(4, 70), x, y, want).patterns[0] == "nan"


def test_a_nan_is_right_only_where_the_reference_has_one():
    task = definition.Exercise(**{**vars(TASK), "reference": "masked_softmax"})
    x = inputs.make("nan", 5, 9, "float32")
    want = difference.expected(task, x)
    assert np.isnan(want).any()
    assert (want[~np.isnan(want).any(1)].sum(1) < 1.5).all()
    y = want.astype(np.float32)
    assert difference.compare(task, Case(5, 9), x, y, want) is None
    y[np.isnan(y)] = 0
    assert difference.compare(task, Case(5, 9), x, y, want) is not None


@pytest.mark.parametrize("seed", range(5))
def test_right_results_have_no_difference(seed):
    """The comparison does not find fault with rounding."""
    rng = np.random.default_rng(seed)
    found = pattern(None, lambda y, x: y * (1 + 1e-8 * rng.standard_normal(y.shape)))
    assert found is None


# --------------------------------------------------------------------------- inputs, references
@pytest.mark.parametrize("name", inputs.INPUTS)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (5, 70)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_inputs_are_the_same_each_time(name, rows, cols, dtype):
    """Drawn from their own name and size; of the shape and type asked for."""
    x = inputs.make(name, rows, cols, dtype)
    assert (x.shape, x.dtype) == ((rows, cols), np.dtype(dtype))
    assert x.tobytes() == inputs.make(name, rows, cols, dtype).tobytes()
    if name == "neginf":
        assert np.isfinite(x).any(1).all()
    if name == "masked":
        assert np.isneginf(x[-1]).all()


@pytest.mark.parametrize("elements", range(5))
def test_arrays_start_where_a_case_says(elements):
    placed = inputs.offset(np.arange(6, dtype=np.float32).reshape(2, 3), elements)
    assert placed.ctypes.data % 16 == elements * 4 % 16
    assert placed.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert placed.flags.c_contiguous


@pytest.mark.parametrize("name", references.REFERENCES)
def test_references_agree_with_plain_loops(name):
    """Each reference against the formula written out for one row."""
    x = inputs.make("neginf", 3, 7, "float32").astype(np.float64)
    x[2] = -np.inf if name in ("masked_softmax", "max_and_denominator") else x[1]
    got = references.REFERENCES[name](x)
    for row, values in enumerate(x.tolist()):
        m = max(values)
        e = [0.0 if m == -np.inf else float(np.exp(v - m)) for v in values]
        want = {
            "row_max": lambda m=m: m,
            "row_sum": lambda values=values: sum(values),
            "row_max_everywhere": lambda m=m, values=values: [m] * len(values),
            "softmax": lambda e=e: [v / sum(e) for v in e],
            "masked_softmax": lambda e=e: [v / (sum(e) or 1) for v in e],
            "max_and_denominator": lambda m=m, e=e: [m, sum(e)],
            "transpose": lambda values=values: values,
        }[name]()
        mine = got[:, row] if name == "transpose" else got[row]
        np.testing.assert_allclose(mine, want, rtol=1e-12)


# ------------------------------------------------------------------------------ definitions
@pytest.fixture
def folder(tmp_path):
    """A copy of one exercise, to be spoilt: (folder of exercises, its exercise.toml)."""
    shutil.copytree(TASK.folder, tmp_path / NAME)
    return tmp_path, tmp_path / NAME / "exercise.toml"


SPOILT = {
    "title": ('title = ', 'titel = ', "title is missing"),
    "unknown": ('title = ', 'colour = 1\ntitle = ', "colour is no field there"),
    "syntax": ("title = ", "title == ", "not valid TOML"),
    "hole": ("hole = ", 'hole = "two" #', "hole: expected a whole number"),
    "reference": ("reference = ", 'reference = "nothing" #', "reference: expected one of row_max"),
    "dtype": ("title = ", 'dtype = "float8"\ntitle = ', "dtype"),
    "hints": ("hints = [", 'hints = ["one"]\n[other]\nx = [', "hints: expected a list of 2"),
    "tolerance": ("tolerance = ", "tolerance = 2 #", "tolerance: expected a number between"),
    "case": ("[[cases]]", "[[cases]]\nrow = 1", "cases[1].row is no field there"),
    "input": ("[[cases]]", '[[cases]]\ninput = "odd"', "cases[1].input"),
    "grid": ("[launch]", "[launch]\n", None),
}


@pytest.mark.parametrize("name", [name for name in SPOILT if name != "grid"])
def test_a_mistake_in_a_file_is_one_sentence_with_its_place(name, folder):
    """File and field, what was expected and what is there."""
    root, path = folder
    old, new, said = SPOILT[name]
    text = path.read_text()
    assert old in text
    if name == "dtype":
        text = "\n".join(line for line in text.splitlines() if not line.startswith("dtype"))
    if name == "input":
        head, _, tail = text.partition("[[cases]]")
        first, mark, rest = tail.partition("[[")
        first = "\n".join(li for li in first.splitlines() if not li.startswith("input"))
        text = f"{head}[[cases]]{first}\n{mark}{rest}"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(exercise.DefinitionError) as raised:
        exercise.load(NAME, root)
    message = str(raised.value)
    assert str(path) in message
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["rows / 2", "rows * x", "__import__('os')", "rows // 0", "1.5",
                                  "rows if cols else 1", "", "ceil_div(1)", "(1).bit_length()",
                                  "True", "rows ** 9"])  # fmt: skip
def test_expressions_are_arithmetic_and_nothing_else(text):
    with pytest.raises(expression.ExpressionError, match="expected whole numbers"):
        expression.value(text, 3, 5, 32)


def test_expressions_have_their_value():
    text = "ceil_div(rows, block // 32) + min(cols, 3) * 2 - max(1, 2) % 2"
    assert expression.value(text, 9, 5, 64) == 5 + 6 - 0


def test_a_missing_file_is_named(folder):
    root, path = folder
    (path.parent / "solution.cu").unlink()
    with pytest.raises(exercise.DefinitionError, match="solution.cu: the file is missing"):
        _ = exercise.load(NAME, root).solution
