"""The alignment view: faults of a kernel that runs into them, cuts of V3's recorded accesses."""

import pytest
from pictures import drawn, fits, words

from helpers import versions, views
from helpers.views import aligned, aligned_picture
from helpers.widgets import alignment as panels

OFFSETS = [(0, 0), (1, 1), (2, 3), (0, 2)]


@pytest.mark.parametrize("cols", [1, 2, 3, 4, 5, 7, 8, 30, 31, 32, 33, 130])
@pytest.mark.parametrize(("x_offset", "y_offset"), OFFSETS)
def test_v3_loads_every_column_once_on_its_lines(cols, x_offset, y_offset):
    """The pieces tile the row; a float4 begins on 16 bytes; only head and tail are scalar."""
    view = views.alignment(cols, 5, x_offset, y_offset)
    for row in view.rows:
        start = x_offset + row.number * cols
        assert row.x_phase == start % 4
        assert row.y_phase == (y_offset + row.number * cols) % 4
        for pieces, phase in ((row.loads, row.x_phase), (row.stores, row.y_phase)):
            columns = [c for first, floats in pieces for c in range(first, first + floats)]
            assert columns == list(range(cols))
            assert all((phase + first) % 4 == 0 for first, floats in pieces if floats == 4)
        head = min(cols, -start % 4)
        assert row.parts == (head, (cols - head) // 4, (cols - head) % 4)
        quads = sum(floats == 4 for _, floats in row.stores)
        assert quads == (row.parts[1] if row.x_phase == row.y_phase else 0)


@pytest.mark.parametrize("cols", [1, 3, 4, 5, 6, 8, 30, 31])
@pytest.mark.parametrize(("x_offset", "y_offset"), OFFSETS)
def test_a_float4_kernel_faults_where_a_row_is_off_its_line(cols, x_offset, y_offset):
    """By the address of each row in x and in y, when the row has a float4 at all."""
    view = views.alignment(cols, 6, x_offset, y_offset)
    for row in view.rows:
        expected = [
            array for array, offset in (("x", x_offset), ("y", y_offset))
            if cols >= 4 and (offset + row.number * cols) % 4
        ]
        assert sorted(fault.array for fault in row.faults) == expected
    assert view.faulty == tuple(row.number for row in view.rows if row.faults)


def test_a_fault_has_the_simulators_message_and_the_probes_line():
    """The line is where the float4s are copied."""
    view = views.alignment(30)
    assert view.faulty == (1, 3, 5, 7)
    load, store = view.rows[1].faults
    assert "Invalid __global__ read of size 16 bytes at `x`" in load.message
    assert "misaligned, 8 bytes off a 16-byte boundary" in load.message
    assert "Invalid __global__ write of size 16 bytes at `y`" in store.message
    line = versions.probe("float4_tail").splitlines()[load.line - 1]
    assert "y_quads[quad] = x_quads[quad]" in line
    assert f"float4_tail.cu line {load.line}" in view.first


@pytest.mark.parametrize(("cols", "said"), [
    (3, "N = 3, N % 4 = 3: no row is long enough for a float4"),
    (32, "N = 32, N % 4 = 0: every row begins on a 16-byte line, float4 needs no scalar head"),
    (30, "N = 30, N % 4 = 2: without a head, float4 faults on 4 of 8 rows"),
    (781, "N = 781, N % 4 = 1: without a head, float4 faults on 6 of 8 rows"),
])
def test_the_headline(cols, said):
    """What is to be seen, in one sentence."""
    assert views.alignment(cols).headline == said


@pytest.mark.parametrize(("args", "error"), [
    ((0,), "cols: expected a whole number from 1 to 1024, got 0"),
    ((4.5,), "cols: expected a whole number from 1 to 1024, got 4.5"),
    ((8, 17), "rows: expected a whole number from 1 to 16, got 17"),
    ((8, 8, 4), "x_offset: expected a whole number from 0 to 3, got 4"),
    ((8, 8, 0, -1), "y_offset: expected a whole number from 0 to 3, got -1"),
])
def test_numbers_out_of_range_are_refused(args, error):
    """Before anything is launched."""
    with pytest.raises(ValueError, match=error):
        views.alignment(*args)


@pytest.mark.parametrize("cols", [1, 3, 5, 28, 29, 64, 127, 1024])
@pytest.mark.parametrize(("x_offset", "y_offset"), [(0, 0), (1, 3)])
def test_every_word_of_the_picture_fits(cols, x_offset, y_offset):
    """Long rows are folded; 16 rows have room, too."""
    rows = 16 if cols == 3 else 4
    fits(drawn(panels.look(cols, rows, x_offset, y_offset)[1], dark=bool(x_offset)))


@pytest.mark.parametrize("cols", [781, 1024])
def test_the_words_for_folded_lines_keep_off_the_boxes(cols):
    """At least three pixels on either side."""
    figure = drawn(views.alignment(cols, 2))
    (ax,), inch = figure.axes, figure.dpi
    shown = list(aligned_picture._shown(cols // 4).values())
    middle = aligned_picture._LINES // 2
    left = (shown[middle - 1] + aligned_picture.LINE * aligned_picture._FLOAT) * inch
    right = shown[middle] * inch
    folded = [t.get_window_extent() for t in ax.texts if t.get_text().startswith("+")]
    assert len(folded) == 2
    assert all(left + 3 <= box.x0 and box.x1 <= right - 3 for box in folded)


def test_the_picture_says_in_words_what_it_shows():
    """Verdicts are words with a sign; the alternative text has every row."""
    figure = drawn(views.alignment(30, 3))
    said = words(figure)
    assert [w for w in said if w[0] in "✓✗"] == ["✓ runs", "✗ faults", "✓ runs"]
    assert figure.alt.count("V3 loads") == 3
    apart = words(drawn(views.alignment(8, 1, 0, 1)))
    assert {"✓ load is fine", "✗ store faults"} <= set(apart)
    page = views.alignment(30, 2)._repr_html_()
    assert "run on the simulator, H200 specification" in page
    assert str(views.alignment(30, 2)).count("V3 loads 0 + 7 float4 + 2") == 1


def test_a_rows_parts_without_a_float4():
    """All its columns are scalars: those before the first line are its head."""
    row = aligned.Row(0, 3, 3, ((0, 1), (1, 1)), ((0, 1), (1, 1)), ())
    assert row.parts == (1, 0, 1)
