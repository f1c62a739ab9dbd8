"""The reorder window against a plain list of answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim import SimulationError


@given(size=st.integers(1, 9), choices=st.lists(st.integers(0, 20), max_size=120))
def test_counts_answers_in_any_order_without_a_gap(size, choices):
    """A choice sends a request, or answers the one of those waiting that it names."""
    window = ReorderWindow(size)
    slots, waiting, answered = [], [], set()
    for choice in choices:
        if choice % 2 == 0 and window.has_free_slot():
            waiting.append(len(slots))
            slots.append(window.send())
        elif waiting:
            number = waiting.pop(choice % len(waiting))
            answered.add(number)
            before = window.arrived
            assert window.receive(slots[number]) == window.arrived - before
        expected = next(number for number in range(len(slots) + 1) if number not in answered)
        assert (window.sent, window.arrived) == (len(slots), expected)
        assert window.in_flight() == len(slots) - expected
        assert window.has_free_slot() == (window.in_flight() < size)
    in_flight = slots[window.arrived :]
    assert len(set(in_flight)) == len(in_flight)


def test_one_request_too_many_is_refused():
    window = ReorderWindow(2)
    assert [window.send(), window.send()] == [0, 1]
    window.receive(1)  # waits for slot 0
    with pytest.raises(SimulationError, match="a window of 2 has no room for another request"):
        window.send()
    assert window.receive(0) == 2
    assert window.send() == 0


@pytest.mark.parametrize("slot", [-1, 0, 2, 3, 1 << 40])
def test_an_answer_that_no_request_waits_for_is_refused(slot):
    window = ReorderWindow(3)
    for _ in range(2):
        window.send()
    window.receive(0)
    with pytest.raises(SimulationError, match=f"a reply for slot {slot}, which has no open request"):
        window.receive(slot)


def test_an_answer_that_comes_twice_is_refused():
    window = ReorderWindow(3)
    for _ in range(3):
        window.send()
    window.receive(1)
    with pytest.raises(SimulationError, match="slot 1"):
        window.receive(1)


@pytest.mark.parametrize("size", [0, -4])
def test_a_window_without_room_is_refused(size):
    with pytest.raises(ValueError, match=f"a window must have a size of at least 1, not {size}"):
        ReorderWindow(size)
