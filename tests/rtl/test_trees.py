"""Logic without a carry says what that with one does."""

from itertools import product

import pyrtl
import pytest

from fiberscope.hw.rtl.kit.trees import count_of, follows


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_number_follows_that_which_is_one_less(width):
    pyrtl.reset_working_block()
    one, other = pyrtl.Input(width, "one"), pyrtl.Input(width, "other")
    pyrtl.Output(1, "follows").__ilshift__(follows(one, other))
    simulation, numbers = pyrtl.Simulation(tracer=None), range(1 << width)
    for first, second in product(numbers, numbers):
        simulation.step({"one": first, "other": second})
        assert simulation.inspect("follows") == (first == (second + 1) % len(numbers))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_flags_without_a_gap_are_counted(width):
    pyrtl.reset_working_block()
    flags = pyrtl.Input(width, "flags")
    pyrtl.Output(width.bit_length(), "count").__ilshift__(count_of(list(flags)))
    simulation = pyrtl.Simulation(tracer=None)
    for count in range(width + 1):
        simulation.step({"flags": (1 << count) - 1})
        assert simulation.inspect("count") == count
