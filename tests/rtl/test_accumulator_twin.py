"""The twins of accumulators where they have too few places, and how many the component says they need."""

import pytest

from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.streams.accumulators_rtl import SPARSE, TENSOR, SparseAccumulatorParameters
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import run_block

POINTS = [(0, 4, 1.0), (0, 2, 2.0), (0, 4, 4.0), (0, 3, 8.0), (1, 3, 16.0), (1, 9, 32.0)]
SUMS = ["out_crd_outer[0]", "out_crd_inner[0]", "out_val[0]"]


def streams(points):
    """The three streams of points."""
    done = (DONE, 0, 0, 0.0)
    return {
        "in_crd_outer": [*((DATA, outer, 0, 0.0) for outer, _inner, _value in points), done],
        "in_crd_inner": [*((DATA, inner, 0, 0.0) for _outer, inner, _value in points), done],
        "in_val": [*((DATA, 0, 0, value) for *_crds, value in points), done],
    }


def run(places, outputs, order=1):
    given = SparseAccumulatorParameters(places, 8, 16, 16, order)
    twin = SPARSE.adapter("unit", SPARSE.interface(given), PyrtlBackend(SPARSE.twin(given)))
    return run_block(twin, streams(POINTS), outputs, capacity=16)


def values(outcome, port):
    return [token[3] for token in outcome.tokens(port) if token[0] == DATA]


def test_with_places_enough_no_point_leaves_at_overflow():
    outcome = run(3, [*SUMS, "overflow"])
    assert values(outcome, "out_val[0]") == [2.0, 8.0, 5.0, 16.0, 32.0]
    assert outcome.tokens("overflow") == []


def test_a_point_without_a_place_leaves_at_overflow_with_its_value():
    outcome = run(2, [*SUMS, "overflow"], order=2)
    assert values(outcome, "out_val[0]") == [2.0, 5.0]
    assert values(outcome, "overflow") == [8.0, 16.0, 32.0]


def test_where_nobody_takes_it_it_waits():
    with pytest.raises(SimulationError, match="deadlock"):
        run(2, SUMS, order=2)


@pytest.mark.parametrize(("order", "needed"), [(1, 3), (2, 5)])
def test_the_component_tells_how_many_places_are_needed(order, needed):
    """A row's sums leave while those of the next come in."""
    component = SPARSE.component("unit", SparseAccumulatorParameters(order=order))
    outcome = run_block(component, streams(POINTS), SUMS, capacity=16)
    assert outcome.statistics["unit"].counters["most_held"] == needed
    assert run(needed, [*SUMS, "overflow"], order).tokens("overflow") == []
    assert run(needed - 1, [*SUMS, "overflow"], order).tokens("overflow") != []


def test_fewer_coordinates_are_sorted_than_there_are():
    with pytest.raises(ValueError, match="tensor_accumulator: kept must be from 0 to 1, not 2"):
        TENSOR.parameters(kept=2)
    with pytest.raises(ValueError, match="accumulator: sum_bits must be from 32 to 53, not 8"):
        TENSOR.parameters(sum_bits=8)
