"""A clock's schedule: wheel and heap together keep every wake."""

import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope.sim import Clock, SimulationError
from fiberscope.sim.constants import MAX_TIME

COMPONENTS = 70  # more than two words of the wheel

distances = st.one_of(
    st.integers(1, 8), st.sampled_from([254, 255, 256, 257, 511, 512, 513]), st.integers(1, 2000)
)
wakes = st.lists(st.tuples(st.integers(0, COMPONENTS - 1), distances), max_size=12)


def new_clock():
    clock = Clock("core", Fraction(10**9))
    clock.size_for(COMPONENTS)
    return clock


def woken(clock):
    """The components that wake in the clock's current cycle."""
    found = []
    while (index := clock.pop()) >= 0:
        found.append(index)
    return found


def check_schedule(batches, clock):
    """Raises AssertionError unless the clock gives every wake at its cycle, once, in order, and nothing else.

    ``batches``: the wakes to ask for at the beginning and then in each cycle that comes up, by distance.
    """
    pending = {}
    coming = iter(batches)
    while True:
        for index, distance in next(coming, ()):
            cycle = clock.cycle + distance
            clock.wake(index, cycle)
            pending.setdefault(cycle, set()).add(index)
        if not pending:
            break
        cycle = min(pending)
        assert clock.next_cycle() == cycle
        clock.advance(cycle)
        assert woken(clock) == sorted(pending.pop(cycle))
    assert clock.next_cycle() == MAX_TIME


@given(st.lists(wakes, max_size=12))
@example([[(3, 1), (3, 1), (3, 300)]])
@example([[(0, 300)], [], [(0, 5), (1, 255), (1, 256)]])
def test_every_wake_is_kept_and_comes_in_its_cycle(batches):
    check_schedule(batches, new_clock())


def test_an_earlier_and_a_later_wake_of_one_component_both_come():
    clock = new_clock()
    for cycle in (300, 10, 1000, 20):
        clock.wake(5, cycle)
    came = []
    while clock.next_cycle() < MAX_TIME:
        clock.advance(clock.next_cycle())
        came += [(clock.cycle, index) for index in woken(clock)]
    assert came == [(10, 5), (20, 5), (300, 5), (1000, 5)]


@pytest.mark.parametrize("distance", [1, 255, 256, 257, 512])
def test_a_wake_asked_for_within_a_cycle_does_not_come_in_that_cycle(distance):
    clock = new_clock()
    clock.wake(0, 5)
    clock.advance(5)
    assert clock.pop() == 0
    clock.wake(0, 5 + distance)
    assert clock.pop() == -1
    assert clock.next_cycle() == 5 + distance


def test_a_wake_beyond_the_end_of_time_is_refused():
    clock = new_clock()
    clock.period = 3
    with pytest.raises(
        SimulationError, match=r"^clock core: cycle 384307168202282326 is beyond the end of time$"
    ):
        clock.wake(0, MAX_TIME // 3 + 1)


class ForgetfulClock:
    """Keeps one wake a component, the earliest, as some kernels do."""

    def __init__(self):
        self.clock, self.kept = new_clock(), {}

    cycle = property(lambda self: self.clock.cycle)

    def wake(self, index, cycle):
        self.kept[index] = min(cycle, self.kept.get(index, MAX_TIME))

    def next_cycle(self):
        return min(self.kept.values(), default=MAX_TIME)

    def advance(self, cycle):
        due = [index for index, wake in self.kept.items() if wake == cycle]
        for index in due:
            self.clock.wake(index, cycle)
            del self.kept[index]
        self.clock.advance(cycle)

    def pop(self):
        return self.clock.pop()


def test_planted_a_clock_that_keeps_one_wake_a_component_is_found():
    check_schedule([[(3, 1), (4, 300)]], ForgetfulClock())
    with pytest.raises(AssertionError):
        check_schedule([[(3, 300), (3, 1)]], ForgetfulClock())


def test_clocks_that_ignore_wakes_share_the_memory_for_them_and_wake_no_component():
    domain, clocks = Clock("core", Fraction(10**9)), 200
    domain.size_for(100_000)
    tracemalloc.start()
    own = []
    for _ in range(clocks):
        own.append(Clock("own", Fraction(1)))
        own[-1].ignore_wakes(domain.unread())
        own[-1].wake(99_999, 5)
        own[-1].wake(99_999, 5000)
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < clocks * 10_000
    assert domain.next_cycle() == MAX_TIME
