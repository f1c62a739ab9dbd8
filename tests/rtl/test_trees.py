"""Logic without a carry says what that with one does."""

from itertools import product

import pyrtl
import pytest

from fiberscope.hw.rtl.kit.trees import follows


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_number_follows_that_which_is_one_less(width):
    pyrtl.reset_working_block()
    one, other = pyrtl.Input(width, "one"), pyrtl.Input(width, "other")
    pyrtl.Output(1, "follows").__ilshift__(follows(one, other))
    simulation, numbers = pyrtl.Simulation(tracer=None), range(1 << width)
    for first, second in product(numbers, numbers):
        simulation.step({"one": first, "other": second})
        assert simulation.inspect("follows") == (first == (second + 1) % len(numbers))
