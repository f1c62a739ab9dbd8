"""The unit that reads two fibers and skips: a worked example, cycle by cycle, and what its steps are."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.skip_intersector import SkipAhead
from fiberscope.hw.streams.testing import run_streams
from fiberscope.sim import SimulationError

OUTPUTS = ["out_crd", "out_ref0", "out_ref1"]


def now(*tokens):
    """A token in every cycle."""
    return list(enumerate(tokens))


def level(*fibers):
    """A level of these fibers."""
    return Level([0, *accumulate(map(len, fibers))], [one for fiber in fibers for one in fiber])


def test_a_step_goes_to_the_first_that_is_not_below_the_other_head():
    """From 0 to 7, which is equal; 9 is behind 20, which ends it: three steps, the stop with the last."""
    block = SkipAhead("skip", level([0, 1, 2, 7, 9], [4]), level([7, 20], [3]))
    inputs = {"in_ref0": now(0, 1, "S0", "D"), "in_ref1": now(0, 1, "S0", "D")}
    found = run_streams(block, inputs, OUTPUTS, checked=False)
    assert found["out_crd"] == [(1, 7), (2, "S0"), (3, "S1"), (4, "D")]
    assert found["out_ref0"] == [(1, 3), (2, "S0"), (3, "S1"), (4, "D")]
    assert found["out_ref1"] == [(1, 0), (2, "S0"), (3, "S1"), (4, "D")]
    assert (block.counters()["steps"], block.counters()["matches"]) == (4, 1)


def test_a_fiber_that_ends_with_a_match_has_its_stop_a_cycle_later():
    block = SkipAhead("skip", level([5]), level([5]))
    inputs = {"in_ref0": now(0, "N", "D"), "in_ref1": now(0, 0, "D")}
    found = run_streams(block, inputs, ["out_crd"], checked=False)
    assert found["out_crd"] == [(0, 5), (1, "S0"), (2, "S0"), (3, "D")]


def test_streams_must_have_one_shape():
    block = SkipAhead("skip", level([5]), level([5]))
    with pytest.raises(SimulationError, match=r"cycle 1, skip: .* the streams must have the same shape"):
        run_streams(block, {"in_ref0": now("S0", "D"), "in_ref1": now(0, "D")}, [], checked=False)


def steps_of(one, other):
    """Comparisons of heads, of which the one behind skips to the first that is not below the other."""
    steps, here, there = 0, sorted(one), sorted(other)
    while here and there:
        steps += 1
        low = max(here[0], there[0])
        equal = here[0] == there[0]
        here = [at for at in here if at > low or (at == low and not equal)]
        there = [at for at in there if at > low or (at == low and not equal)]
    return steps


FIBERS = st.sets(st.integers(0, 12), max_size=8)


@given(st.lists(st.tuples(FIBERS, FIBERS), max_size=6))
def test_it_meets_what_both_have_in_steps_of_skipping(pairs):
    one, other = level(*(sorted(a) for a, _b in pairs)), level(*(sorted(b) for _a, b in pairs))
    block = SkipAhead("skip", one, other)
    references = now(*range(len(pairs)), "D")
    found = run_streams(block, {"in_ref0": references, "in_ref1": references}, OUTPUTS, checked=False)
    wanted = [token for a, b in pairs for token in (*sorted(a & b), "S0")]
    assert [token for _cycle, token in found["out_crd"]] == [*wanted, "D"]
    assert [one.coordinate(at) for _cycle, at in found["out_ref0"] if isinstance(at, int)] == [
        token for token in wanted if token != "S0"
    ]
    assert [other.coordinate(at) for _cycle, at in found["out_ref1"] if isinstance(at, int)] == [
        token for token in wanted if token != "S0"
    ]
    assert block.counters()["steps"] == sum(steps_of(a, b) for a, b in pairs)
