"""The stepper: what its page looks up at a step is what the trace itself says of that step."""

import base64
import dataclasses
import json
import re
import tomllib
from bisect import bisect_right
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from faulty.corpus import cases
from simt_runs import kernel, needs_nvrtc

from helpers import launch, simt, versions
from helpers.simt import errors
from helpers.simt.steps import lanes_of
from helpers.widgets import stepper, stepper_access, stepper_model, stepper_text

ROOT = Path(__file__).parent.parent
LETTERS = {"active": "ap", "waiting": "w", "idle": ".", "exited": "x"}
SIZES = {
    "v0": (5, 6, 32), "v1": (1, 64, 64), "v1 ragged": (1, 100, 64), "v2": (1, 64, 64),
    "v3": (1, 100, 64), "v4": (1, 40, 64), "naive_f16": (3, 5, 32),
}  # fmt: skip
SHUFFLES = """
    __global__ f(const float* x, float* y) {
        __shared__ int votes[32];
        const int t = threadIdx.x;
        float v = x[t];
        if (t % 2) v = __shfl_xor_sync(0xaaaaaaaa, v, 2); else v += 1.0f;
        if (t < 40) atomicAdd(&votes[0], t);   // nobody has set it to 0: a defect
        __syncthreads();
        y[t] = v + votes[0];
    }"""


def traced(name: str):
    rows, cols, block = SIZES[name]
    return launch.trace(name.split()[0], rows, cols, block=block)


def faulty(name: str):
    """The trace of a kernel of the corpora."""
    (case,) = [c for c in cases("faulty") + cases("correct") if c.name == name]
    found = simt.RawKernel(case.source, "kernel")
    return simt.trace(found, case.grid, case.block, tuple(case.arguments()), case.shared)


def shuffled():
    x = np.arange(64, dtype=np.float32)
    return simt.trace(kernel(SHUFFLES), (1,), (64,), (x, np.zeros_like(x)))


SUBJECTS = {name: (lambda name=name: traced(name)) for name in SIZES}
SUBJECTS |= {name: (lambda name=name: faulty(name)) for name in (
    "barrier_behind_a_return", "async_copy", "neighbouring_halves", "warp_halves_apart")}
SUBJECTS["shuffles"] = shuffled


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request):
    """(trace, its model as a page reads it)."""
    trace = SUBJECTS[request.param]()
    return trace, json.loads(json.dumps(stepper.model(trace), allow_nan=False))


@pytest.fixture(scope="module")
def v1():
    trace = traced("v1")
    return trace, stepper.model(trace)


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed[1]), packed[0])


def threads_of(data, mask: int) -> list:
    return lanes_of(int(data["masks"][mask], 16)).tolist()


def picked(data, values, mask, thread):
    values = unpack(values)
    return values[threads_of(data, mask).index(thread) if len(values) > 1 else 0].item()


def same(a, b) -> bool:
    """Equal, NaN to itself, a 16-bit float to its float32."""
    return a == b or (a != a and b != b)


def steps_with(trace, text: str):
    return [s.index for s in trace.steps if text in trace.program[s.pc].ptx]


def line_of(trace, text: str) -> int:
    return next(k for k, line in enumerate(trace.source, 1) if text in line)


# ---------------------------------------------------------------------------- against the trace
def test_lanes_are_those_of_the_trace(subject):
    """Every thread at every step: its status, and the line it is at."""
    trace, data = subject
    where = stepper_model.whereabouts(trace)
    for k in range(len(trace)):
        state = trace.at(k)
        letters, groups = data["lanes"][data["shown"][k]]
        assert len(letters) == trace.threads
        for lane in state.lanes:
            assert letters[lane.thread] in LETTERS[lane.status], (k, lane)
            assert where.line[k, lane.thread] == (lane.line or 0), (k, lane)
        off = [t for t, letter in enumerate(letters) if letter == "p"]
        assert off == lanes_of(state.step.lanes & ~state.step.acting).tolist()
        assert [sum(n for *_, n in warp) for warp in groups] == [
            len(letters[s : s + 32]) for s in range(0, trace.threads, 32)
        ]


def test_counts_are_those_of_the_trace(subject):
    """How often each line has been executed, at every step."""
    trace, data = subject
    for k in range(len(trace)):
        found = {}
        for line, (steps, counts) in data["counts"].items():
            if at := bisect_right(steps, k):
                found[int(line)] = counts[at - 1]
        assert found == trace.at(k).counts, k


def test_shared_memory_is_that_of_the_trace(subject):
    """Every cell at every step: value, value before, writer, read or written now."""
    trace, data = subject
    shown = [cell for _, first, count, _ in data["cells"] for cell in range(first, first + count)]
    history = {}
    for step, cells, values, each, threads in data["puts"]:
        values = unpack(values).reshape(-1, each).tolist()
        for entry in zip(unpack(cells).tolist(), values, unpack(threads).tolist(), strict=True):
            history.setdefault(entry[0], []).append((step, *entry[1:]))
    for k in range(len(trace)):
        state = trace.at(k)
        read = {cell for touch in data["touches"] if touch[0] == k for cell in touch[7]}
        for cell in shown:
            wanted = state.cell(cell)
            past = [entry for entry in history.get(cell, []) if entry[0] <= k]
            assert (cell in read) == wanted.read
            assert bool(past and past[-1][0] == k) == wanted.written
            if not past:
                assert wanted.value is None
                continue
            step, value, thread = past[-1]
            value = tuple(value) if len(value) > 1 else value[0]
            assert (step, None if thread == -1 else thread) == (wanted.step, wanted.thread)
            assert same(value, wanted.value)
            if wanted.before is not None:
                assert same(past[-2][1][0], np.ravel(wanted.before)[0])


def test_cells_shown_are_all_that_are_used(subject):
    """Each cell that a step reads or writes is among those shown, under the trace's name for it."""
    trace, data = subject
    named = {
        first + k: f"{name}[{k}]" for name, first, count, _ in data["cells"] for k in range(count)
    }
    used = {cell for touch in data["touches"] for cell in touch[7]}
    used |= {cell for put in data["puts"] for cell in unpack(put[1]).tolist()}
    assert used <= set(named)
    last = trace.at(len(trace) - 1)
    assert all(last.cell(cell).name == name for cell, name in named.items())


def test_registers_are_those_of_the_trace(subject):
    """What a thread holds at every step, where it is from, what it was before."""
    trace, data = subject
    thread = 3
    mine = [w for w in data["writes"] if thread in threads_of(data, w[2])]
    for k in range(0, len(trace), 7):
        held = {}
        for step, register, mask, values in mine:
            if step <= k:
                old = held.pop(register, (None, None))[1]
                held[register] = step, picked(data, values, mask, thread), old
        wanted = trace.at(k).registers(thread)
        assert len(wanted) == len(held)
        for (register, (step, value, old)), want in zip(
            reversed(held.items()), wanted, strict=True
        ):
            name, kind = data["registers"][register]
            assert (name, step) == (want.register, want.step)
            assert data["program"][data["pc"][step]][0] == want.line
            if kind == "b32":  # a float's bits, in a register of no type
                value = int(np.float32(value).view(np.uint32))
                old = None if old is None else int(np.float32(old).view(np.uint32))
            assert same(value, want.value)
            assert want.before is None or same(old, want.before)
            assert origin(data, step, thread) == want.origin


def origin(data, step, thread):
    """As the page finds it: a shuffle's source, a loaded element, or what the program says."""
    for at, mask, threads in data["sources"]:
        if at == step and thread in threads_of(data, mask):
            return f"thread {picked(data, threads, mask, thread)}"
    for at, _, kind, name, mask, first, count, *_ in data["touches"]:
        if at == step and kind == "load" and thread in threads_of(data, mask):
            k = picked(data, first, mask, thread)
            return f"{name}[{k}{f'..{k + count - 1}' if count > 1 else ''}]"
    return data["program"][data["pc"][step]][2]


def test_who_waits_is_said(subject):
    """The sentence names exactly the threads that the trace has waiting, and those missing."""
    trace, data = subject
    for k in range(len(trace)):
        said, state = data["texts"][data["waits"][k]], trace.at(k)
        assert (said == "Nobody waits.") == (not state.waiting)
        lines = {lane.line for lane in state.lanes if lane.status == "waiting"}
        assert lines == {int(n) for n in re.findall(r"at line (\d+)", said)}
        if len(lines) == 1 and state.missing and "of the warp" not in said:
            assert said.lower() == (
                f"{stepper_text.people(state.waiting)} "
                f"{'waits' if not stepper_text.more(state.waiting) else 'wait'} at line "
                f"{lines.pop()}, for {stepper_text.people(state.missing)}."
            )


def test_ways_through_are_those_of_the_trace(subject):
    """Next and previous line, and the next barrier, from every step."""
    trace, data = subject
    lines = [data["program"][pc][0] for pc in data["pc"]]
    assert lines == [trace.line(k) for k in range(len(trace))]
    for k in range(len(trace)):
        ways = [j for j in data["entries"] if lines[j] != lines[k]]
        assert next((j for j in ways if j > k), None) == trace.next(k)
        assert next((j for j in reversed(ways) if j < k), None) == trace.previous(k)
        assert next((j for j in data["barriers"] if j > k), None) == trace.next_barrier(k)


# ---------------------------------------------------------------------------- accesses
@pytest.mark.parametrize("name", ["v0", "v1", "v1 ragged", "v2", "v3", "v4"])
def test_accesses_add_up_to_the_counters(name):
    """Requests, sectors and wavefronts of all steps are those that a profile of the launch has."""
    rows, cols, block = SIZES[name]
    trace = launch.trace(name.split()[0], rows, cols, block=block)
    found = dict.fromkeys(("requests", "sectors", "wavefronts", "conflicts"), 0)
    for step in trace.steps:
        for touch in step.touches:
            seen = stepper_access.traffic(trace, touch)
            for key in found:
                found[key] += getattr(seen, key) or 0
    version = dataclasses.replace(versions.get(name.split()[0]), block=block)
    counted = launch.profile(version, rows, cols).counters
    for key in ("requests", "sectors"):
        metric = f"l1tex__t_{key}_pipe_lsu_mem_global_op_"
        assert found[key] == counted[f"{metric}ld.sum"] + counted[f"{metric}st.sum"]
    metric = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
    assert found["wavefronts"] == counted[f"{metric}ld.sum"] + counted[f"{metric}st.sum"]
    metric = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
    assert found["conflicts"] == counted[f"{metric}ld.sum"] + counted[f"{metric}st.sum"]


def test_v0_reads_a_sector_a_lane():
    """Rows of 64 floats: 5 lanes, 5 sectors, where one would hold the 20 bytes."""
    trace = launch.trace("v0", 5, 64, block=32)
    (touch,) = trace.steps[steps_with(trace, "ld.global")[0]].touches
    assert stepper_access.traffic(trace, touch).text == (
        "reads x[0], x[64], … x[256]: 5 sectors of 32 bytes in 1 request (1 would do)"
    )


@needs_nvrtc
def test_bank_conflicts_are_said():
    """Lanes 32 words apart share a bank: 32 wavefronts, 31 of them conflicts."""
    source = """__global__ f(const float* x, float* y) {
        __shared__ float s[1024];
        s[32 * threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = s[32 * (threadIdx.x ^ 1)];
    }"""
    x = np.ones(32, np.float32)
    trace = simt.trace(kernel(source), (1,), (32,), (x, np.zeros_like(x)))
    (touch,) = trace.steps[steps_with(trace, "st.shared")[0]].touches
    found = stepper_access.traffic(trace, touch)
    assert (found.wavefronts, found.ideal, found.conflicts) == (32, 1, 31)
    assert "s[0], s[32], … s[992]: 32 wavefronts (1 would do), 31 bank conflicts" in found.text


# ---------------------------------------------------------------------------- sentences
def said(data, k: int) -> str:
    return f"{data['texts'][data['deeds'][k]]} {data['texts'][data['places'][k]]}"


def test_a_round_of_the_tree_in_words(v1):
    """Stride 16: who works, who sits out, who waits."""
    trace, data = v1
    line = line_of(trace, "scratch[tid] = fmaxf")
    k = [k for k in steps_with(trace, "st.shared") if trace.line(k) == line][1]
    assert said(data, k) == (
        "scratch[0..15] in shared memory is written by 16 lanes. Warp 0: 16 of 32 lanes active on "
        f"line {line}, 16 sitting out until line {line + 1}; warp 1 waits at line {line + 1}."
    )
    assert data["texts"][data["waits"][k]] == f"Warp 1 waits at line {line + 1}, for warp 0."


def test_branches_between_warps_and_inside_one(v1):
    """At stride 32 the warps part, at stride 16 warp 0 is divided."""
    trace, data = v1
    line = line_of(trace, "scratch[tid] = fmaxf")
    first, second = [k for k in steps_with(trace, "bra") if trace.line(k) == line][:2]
    assert said(data, first).startswith(
        f"The branch parts the warps: warp 1 jumps to line {line + 1}, warp 0 goes on."
    )
    assert said(data, second).startswith("The branch divides a warp: 48 lanes jump to line")


def test_barriers_and_arguments(v1):
    """A barrier that all reach at once, a kernel's argument, a constant, an exit."""
    trace, data = v1
    texts = {said(data, k).partition(". ")[0] for k in range(len(trace))}
    assert {
        "The whole block is at the barrier, and goes on",
        "The argument cols goes to a register, in 64 lanes",
        "threadIdx.x goes to a register, in 64 lanes",
        "A constant goes to a register, in 64 lanes",
        "x[0..63] is read by 64 lanes",
        "64 lanes have left the kernel",
    } <= texts


def test_shuffles_in_words():
    """Down by 16 … 1: each lane reads one above it."""
    trace = traced("v2")
    data = stepper.model(trace)
    texts = [said(data, k).partition(".")[0] for k in steps_with(trace, "shfl")[:5]]
    end = "; those at the end read their own"
    assert texts == [
        f"Shuffle: each lane reads the lane {n} above it{end}" for n in (16, 8, 4, 2, 1)
    ]
    values = [w for w in data["writes"] if w[0] == steps_with(trace, "shfl")[0]]
    kinds = [data["registers"][w[1]][1] for w in values]
    assert kinds == ["b32", "pred"]


def test_who_comes_late_to_a_barrier():
    """One warp at the barrier, the other gone another way: it waits in vain, and that is said."""
    trace = faulty("barrier_for_one_warp")
    data = stepper.model(trace)
    assert any("in vain" in text or "for warp" in text for text in data["texts"])
    (barrier,) = [d for d in data["defects"] if d["kind"] == "divergent barrier"]
    assert trace.kind(barrier["step"]) == "barrier"


@pytest.mark.parametrize(
    ("mask", "name"),
    [(0xFFFFFFFF, "warp 0"), (0xFFFFFFFF << 32, "warp 1"), ((1 << 96) - 1, "warps 0–2"),
     (1 << 7, "thread 7"), (0xF << 40 | 1, "threads 0, 40–43")],
)  # fmt: skip
def test_threads_by_name(mask, name):
    """Whole warps as warps, others as ranges of threads."""
    assert stepper_text.people(mask) == name


# ---------------------------------------------------------------------------- mistakes
@pytest.mark.parametrize(
    ("name", "kind", "opcode"),
    [("race_scratch_used_twice", "race between warps", "st.shared"),
     ("shuffle_in_branch", "shuffle from an inactive lane", "shfl"),
     ("uninitialised_tail", "uninitialised", "ld.shared")],
)  # fmt: skip
def test_a_mistake_is_shown_where_it_happens(name, kind, opcode):
    """The model leads to an access of the line that the simulator names, and the page marks it."""
    trace = faulty(name)
    data = stepper.model(trace)
    (found,) = [d for d in data["defects"] if d["kind"] == kind]
    (defect,) = [d for d in trace.defects if d.kind == kind]
    assert trace.line(found["step"]) == defect.line
    assert opcode in trace.program[trace.steps[found["step"]].pc].ptx
    markup = inside(stepper.panel(trace))["html"]
    assert f'class="row wrong " role="option" data-line="{defect.line}"' in markup
    assert f"Mistake: {kind}, line" in markup


def test_a_mistake_of_another_block_has_no_step_here():
    """Block 1 fails, block 0 is shown: the mistake is listed without a way to it."""
    trace = faulty("bounds_off_by_one")
    (found,) = stepper.model(trace)["defects"]
    assert found["step"] is None
    assert "data-defect" not in inside(stepper.panel(trace))["html"]


# ---------------------------------------------------------------------------- the page
class Tags(HTMLParser):
    """The tags of a page, with their attributes; and its texts outside scripts."""

    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def inside(view) -> dict:
    """What the page's JSON holds: its html and the model."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', view.markup)[1])


def test_the_page_is_complete_in_itself(v1):
    """No address, no import, no id that could clash; a lane a thread, a cell a float, all lines."""
    trace, _ = v1
    view = stepper.panel(trace)
    assert not re.findall(r"https?:|@import|url\(|\bsrc=|\bid=", view.page())
    tags = Tags(inside(view)["html"]).tags
    assert sum("data-t" in attrs for _, attrs in tags) == 64
    assert sum("data-c" in attrs for _, attrs in tags) == 64
    assert sum("data-line" in attrs for _, attrs in tags) == len(trace.source)
    named = [a for tag, a in tags if tag in ("button", "input", "select")]
    assert all({"aria-label", "title", "class", "data-do"} & set(a) for a in named)
    assert view.page().startswith("<!doctype html>")
    assert view._repr_html_() == view.markup


@needs_nvrtc
def test_source_text_cannot_leave_its_place():
    """A comment with tags in it is shown as text, in the listing and in the JSON."""
    source = """__global__ f(const float* x, float* y) {
        y[threadIdx.x] = x[threadIdx.x];  // </script></template><img src=x onerror=alert(1)> <!--
    }"""
    x = np.ones(32, np.float32)
    trace = simt.trace(kernel(source), (1,), (32,), (x, np.zeros_like(x)))
    view = stepper.panel(trace, note="</script><b onclick=evil()>")
    assert [tag for tag, _ in Tags(view.markup).tags] == ["div", "pre", "script", "script"]
    assert (view.markup.count("</script>"), view.markup.count("<!--")) == (2, 0)
    tags = Tags(inside(view)["html"]).tags
    assert not [tag for tag, attrs in tags if tag in ("img", "script") or "onclick" in attrs]
    assert "&lt;/script&gt;&lt;/template&gt;&lt;img" in inside(view)["html"]


def test_files_of_the_page_ship_with_the_package():
    """pyproject.toml names every script and style that panels read."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]["helpers.widgets"]
    folder = ROOT / "helpers" / "widgets"
    wanted = {path for path in folder.iterdir() if path.suffix in (".js", ".css")}
    assert wanted
    assert wanted <= {path for pattern in shipped for path in folder.glob(pattern)}
    for path in wanted:
        assert not re.search(r"</(script|style|template)|<!--", path.read_text(encoding="utf-8"))


def test_in_words_for_a_terminal(v1):
    """What was traced, and how to go on without a browser."""
    text = str(stepper.panel(v1[0], note="Who waits?"))
    assert text.startswith("Who waits?\nsoftmax_v1, block 0: ")
    assert f"trace.at(k) is the state at step k (0 to {len(v1[0]) - 1})" in text
    assert "race between warps at line 12" in str(stepper.panel(faulty("race_scratch_used_twice")))


def test_a_page_stays_small(v1):
    """64 threads at 64 columns: under 150 kB; over LIMIT one error that says what to reduce."""
    assert len(stepper.panel(v1[0]).markup) < 150_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepper, "LIMIT", 50_000)
        with pytest.raises(ValueError, match=r"softmax_v1 .*248 steps.*fewer columns \(cols=64\)"):
            stepper.panel(v1[0])
        patch.setattr(stepper_model, "LANE_STEPS", 1000)
        with pytest.raises(ValueError, match="248 steps of 64 threads, too much for a page"):
            stepper.model(v1[0])


def test_a_first_step_that_is_not_there(v1):
    """`start` is a step of the trace."""
    with pytest.raises(ValueError, match="start: expected a step from 0 to 247, got 248"):
        stepper.panel(v1[0], start=248)


# ---------------------------------------------------------------------------- launch.trace
def test_trace_of_a_version():
    """One block of the launch that the catalogue describes, or with other threads."""
    assert launch.trace("v1").threads == 256
    trace = launch.trace("v4", 3, 40, block=64, block_index=2)
    assert (trace.kernel, trace.threads, trace.block_index) == ("softmax_v4", 64, 2)
    assert trace.grid[0] == 3
    assert [step.threads for step in trace.steps] != []


def test_trace_of_given_rows():
    """x sets rows and columns; the stores hold its softmax."""
    x = np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)
    trace = launch.trace("v1", x=x, block=32)
    k = steps_with(trace, "st.global")[-1]
    (touch,) = trace.steps[k].touches
    assert touch.index.tolist() == [0, 1, 2, 3]
    assert np.allclose(touch.values[0], launch.expected("v1", x)[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [({"block": 48}, ValueError, "v1 needs a power of two"),
     ({"x": np.zeros((1, 4))}, errors.LaunchError, "v1 needs x of float32"),
     ({"x": np.zeros(4, np.float32)}, errors.LaunchError, "2 dimensions"),
     ({"cols": 0}, errors.LaunchError, "got cols=0"),
     ({"block_index": 1}, errors.LaunchError, "blocks are counted from 0")],
)  # fmt: skip
def test_a_trace_that_cannot_be(how, error, text):
    """Blocks, matrices and block numbers that the launch has not."""
    with pytest.raises(error, match=text):
        launch.trace("v1", **how)


# ---------------------------------------------------------------------------- in a browser
def opened(browser, tmp_path, *views, **how):
    """A page with steppers; any error of their scripts fails the test that asks for them."""
    path = tmp_path / "page.html"
    body = "".join(view.markup for view in views)
    path.write_text(f"<!doctype html><meta charset=utf-8>{body}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **how)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.goto(path.as_uri())
    return page


SHOWN = """host => { const r = host.shadowRoot, text = s => r.querySelector(s).textContent;
  return { step: Number(r.querySelector(".where").value), deed: text(".deed b"),
    place: text(".deed span"), waits: text(".waits"),
    lanes: [...r.querySelectorAll(".lanes i")].map(n => n.dataset.s).join(""),
    line: Number(r.querySelector(".row.now").dataset.line),
    counts: Object.fromEntries([...r.querySelectorAll(".row")].map(n =>
      [n.dataset.line, n.querySelector(".count").textContent]).filter(e => e[1])),
    cells: [...r.querySelectorAll(".cells i")].map(n => n.textContent),
    marks: [...r.querySelectorAll(".cells i")].map(n => n.className),
    fresh: [...r.querySelectorAll("tr.fresh")].map(n => n.title),
    height: r.querySelector(".stepper").offsetHeight }; }"""


def shown(page, nth: int = 0) -> dict:
    return page.locator(".cu-stepper").nth(nth).evaluate(SHOWN)


def test_the_page_shows_the_model(browser, tmp_path, v1):
    """At steps all over the trace: sentence, lanes, counts, cells and their marks, registers."""
    trace, data = v1
    page = opened(browser, tmp_path, stepper.panel(trace, start=52))
    where = page.locator(".where")
    heights = set()
    for k in (52, 0, 18, 26, 38, 40, 53, 139, 149, 243, 247):
        where.fill(str(k))
        where.press("Enter")
        found, state = shown(page), trace.at(k)
        heights.add(found["height"])
        assert (found["step"], found["line"]) == (k, state.line)
        assert f"{found['deed']} {found['place']}" == said(data, k)
        assert found["lanes"] == data["lanes"][data["shown"][k]][0]
        assert found["counts"] == {str(n): f"{count}×" for n, count in state.counts.items()}
        cells = state.cells("scratch")[:64]
        for text, marks, cell in zip(found["cells"], found["marks"], cells, strict=True):
            assert (text == "") == (cell.value is None)
            assert not text or float(text) == pytest.approx(cell.value, rel=0.06, abs=0.006)
            assert ("w" in marks.split(), "r" in marks.split()) == (cell.written, cell.read)
        held = [h for h in state.registers(0) if h.step == k]
        assert sorted(t.split(" ")[0] for t in found["fresh"]) == sorted(h.register for h in held)
    assert len(heights) == 1
    assert not page.wrong


def test_keys_and_controls(browser, tmp_path, v1):
    """Arrows, lines, ends, barrier, play, run to line, follow; a second stepper stays put."""
    trace, data = v1
    page = opened(browser, tmp_path, stepper.panel(trace), stepper.panel(trace, start=40))
    region = page.locator(".stepper").first
    region.focus()
    place, barrier = 0, trace.next_barrier(1)
    for key, wanted in (
        ("ArrowRight", 1), ("ArrowLeft", 0), ("Shift+ArrowRight", trace.next(0)),
        ("Shift+ArrowLeft", trace.previous(trace.next(0))), ("b", trace.next_barrier(0)),
        ("b", trace.next_barrier(barrier)), ("Shift+B", barrier), ("End", len(trace) - 1),
        ("Home", 0),
    ):  # fmt: skip
        page.keyboard.press(key)
        place = shown(page)["step"]
        assert place == wanted, key
    line = line_of(trace, "scratch[tid] = fmaxf")
    page.locator(".cu-stepper").first.locator(f".row[data-line='{line}']").click()
    assert shown(page)["step"] == trace.next(0, line)
    page.keyboard.press("ArrowRight")
    first = page.locator(".cu-stepper").first
    first.locator(".lanes i[data-t='40']").click()
    assert first.locator(".me").inner_text() == "40"
    first.locator(".speed").select_option("step 12")
    region.focus()
    place = shown(page)["step"]
    page.keyboard.press("Space")
    page.wait_for_function(
        f"document.querySelector('.cu-stepper').shadowRoot.querySelector('.where').value > {place}"
    )
    page.keyboard.press("Space")
    assert shown(page, 1)["step"] == 40
    assert page.evaluate("scrollY") == 0
    page.wait_for_timeout(400)
    spoken = first.locator(".live").inner_text()
    assert spoken.startswith(f"Step {shown(page)['step']} of {len(trace) - 1}. ")
    assert not page.wrong


def test_a_step_is_quick_and_leaves_nothing_behind(browser, tmp_path):
    """200 changes of a block of 256 threads: 100 ms each at most, and no element more."""
    page = opened(browser, tmp_path, stepper.panel(launch.trace("v1", cols=1024)))
    times, before, after = page.locator(".cu-stepper").evaluate(
        """async host => { const r = host.shadowRoot, n = () => r.querySelectorAll("*").length;
        const region = r.querySelector(".stepper"), slide = r.querySelector(".slide"), times = [];
        const first = n();
        for (let i = 0; i < 200; i++) { const t = performance.now();
          slide.value = (i * 37) % Number(slide.max);
          slide.dispatchEvent(new Event("input", { bubbles: true })); region.offsetHeight;
          times.push(performance.now() - t); }
        slide.value = 0; slide.dispatchEvent(new Event("input", { bubbles: true }));
        return [times.sort((a, b) => a - b), first, n()]; }"""
    )
    assert times[190] < 100  # the rest are pauses of a shared machine
    assert before == after
    assert not page.wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(browser, tmp_path, v1, scheme):
    """Sentence, listing and quiet text have 4.5 : 1 on their background, light and dark."""
    path = tmp_path / "page.html"
    path.write_text(stepper.panel(v1[0], start=52).page(), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto(path.as_uri())
    ratios = page.locator(".cu-stepper").evaluate(
        """host => { const r = host.shadowRoot, box = document.createElement("canvas");
        const pen = box.getContext("2d", { willReadFrequently: true });
        const rgb = (...layers) => { layers.forEach(c => { pen.fillStyle = c;
          pen.fillRect(0, 0, 1, 1); }); return [...pen.getImageData(0, 0, 1, 1).data]; };
        const light = c => { const [a, b, d] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ?
          v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * a + .7152 * b + .0722 * d; };
        const style = s => getComputedStyle(r.querySelector(s));
        const paper = style(".stepper").backgroundColor;
        return Object.fromEntries([[".deed b", ".said"], [".access", ".said"],
          [".title", ".stepper"], [".waits", ".stepper"], ["pre .comment", ".stepper"],
          ["pre .keyword", ".stepper"], ["pre .cuda", ".stepper"], ["pre .number", ".stepper"],
          [".row.now pre", ".row.now"],
          [".count", ".stepper"], [".me", ".stepper"]].map(([ink, back]) => {
          const a = light(rgb(paper, style(back).backgroundColor));
          const b = light(rgb(paper, style(ink).color));
          return [ink, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)]; })); }"""
    )
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
