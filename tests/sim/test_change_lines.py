"""Lines of value changes in a VCD file, against Python's own formatting, and marks of changed channels."""

from array import array
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope.sim import Kernel
from fiberscope.sim.change_lines import ChangeLines
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.probe import Changes
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens

NUMBERS = st.integers(1, 64).flatmap(
    lambda bits: st.tuples(st.just(bits), st.integers(-(1 << (bits - 1)), (1 << min(bits, 63)) - 1))
)


def misfit(position, _value):
    return IndexError(position)


def changes_to(values):
    changes = Changes(len(values), {})
    for position, value in enumerate(values):
        changes.values[position] = value
    return changes


def appended(lines, changes):
    lines.append(changes, changes.all(), 7)
    assert lines.size > len("#7\n")
    stamp, _end, text = lines.take().partition(b"\n")
    assert (stamp, lines.size, lines.take()) == (b"#7", 0, b"")
    return text


@given(st.lists(NUMBERS, min_size=1))
def test_a_number_is_written_as_python_writes_its_twos_complement(numbers):
    lines = ChangeLines([(bits, [f" {i}\n"]) for i, (bits, _value) in enumerate(numbers)], misfit)
    changes = changes_to([value for _bits, value in numbers])
    expected = [f"b{value & (1 << bits) - 1:b} {i}\n" for i, (bits, value) in enumerate(numbers)]
    assert appended(lines, changes).decode() == "".join(expected)


@given(st.lists(st.integers(0, 2), min_size=1))
def test_a_value_of_a_table_is_its_line(values):
    texts = ("", "a", "long")
    lines = ChangeLines([(0, [f"{text} {i}\n" for text in texts]) for i in range(len(values))], misfit)
    changes = changes_to(values)
    expected = [f"{('', 'a', 'long')[value]} {i}\n" for i, value in enumerate(values)]
    assert appended(lines, changes).decode() == "".join(expected)


@pytest.mark.parametrize(
    ("bits", "value"),
    [(0, -1), (0, 2), (2, 4), (2, -3), (8, 256), (8, -129), (62, 1 << 62), (63, -(1 << 62) - 1)],
)
def test_a_value_that_does_not_fit_is_refused_by_its_position(bits, value):
    lines = ChangeLines([(8, [" a\n"]), (bits, [" b\n"] if bits else ["0b\n", "1b\n"])], misfit)
    changes = changes_to([3, value])
    with pytest.raises(IndexError) as error:
        appended(lines, changes)
    assert error.value.args == (1,)


SCALES = st.fractions(min_value=Fraction(1, 10**20), max_value=10**30)


@given(SCALES, st.lists(st.integers(0, MAX_TIME), min_size=2).map(sorted))
@example(Fraction(1), [0, 9, 10, 99, 100, 10**18 - 1, 10**18, MAX_TIME])
@example(Fraction(10**18 - 1, 7), [0, 7, 8, 10**6, 10**12])
@example(Fraction(1, 3), [2, 3, 4, 5, 6, 3 * 10**17])
def test_times_are_scaled_exactly_and_written_once(scale, times):
    lines = ChangeLines([(8, [" a\n"])], misfit, scale, times[0])
    changes = changes_to([1])
    for time in times[1:]:
        lines.append(changes, changes.all(), time)
    stamps = [int(time * scale) for time in times]
    expected = [f"#{now}\nb1 a\n" if now > last else "b1 a\n" for last, now in pairwise(stamps)]
    assert (lines.take().decode(), lines.time) == ("".join(expected), times[-1])


def test_a_marked_channel_sets_its_byte_at_every_push_and_pop():
    kernel, marks = Kernel(), array("q", [0, 0])
    kernel.clock("core", 10**9)
    source, sink = kernel.add(StreamSource("source", data_tokens(range(3)))), kernel.add(StreamSink("sink"))
    channel = kernel.connect(source, "out", sink, "in", capacity=1)
    kernel.build()
    moved = 0
    channel.mark_in(marks, 9)
    while kernel.step():
        moves = channel.pushes + channel.pops - moved
        assert memoryview(marks).cast("B").tolist() == [0] * 9 + [int(moves > 0)] + [0] * 6
        moved, marks[1] = moved + moves, 0
    assert moved == 6
