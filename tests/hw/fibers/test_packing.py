"""Packing elements into lines, against a list of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.packing import LinePacker


@given(line=st.integers(1, 64), element=st.integers(1, 64), count=st.integers(0, 40))
def test_every_byte_goes_out_once_in_a_line_of_its_own_place(line, element, count):
    if element > line:
        with pytest.raises(ValueError, match=f"{element} bytes should fit a line of {line}"):
            LinePacker(line, element)
        return
    packer = LinePacker(line, element)
    sent = []
    for _ in range(count):
        if packer.completes_line():
            sent.append(packer.line_offset())
        packer.add()
    if packer.has_partial_line():
        sent.append(packer.line_offset())
    assert sent == [*range(0, count * element, line)]
    packer.reset()
    assert (packer.bytes, packer.line_offset(), packer.has_partial_line()) == (0, 0, False)


@given(data=st.data(), line=st.integers(1, 64), count=st.integers(0, 40), lines=st.integers(0, 6))
def test_elements_before_a_line_are_those_that_come_until_it_is_filled(data, line, count, lines):
    packer = LinePacker(line, data.draw(st.integers(1, line)))
    for _ in range(count):
        packer.add()
    foretold, came = packer.elements_before(lines), 0
    while lines > 0 or not packer.completes_line():
        lines -= packer.completes_line()
        packer.add()
        came += 1
    assert foretold == came
