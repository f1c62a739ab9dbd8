"""Cores with a unit that intersects: cycles, accounting, counters and sums of those without, to the bit."""

import numpy as np
import pytest
from extensor_bench import configurations, operands, random_matrix, run_extensor, small_operands, tiny
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.extensor import ExTensor, ExTensorConfiguration
from fiberscope.accelerators.testing import outcome
from fiberscope.hw.fibers.intersection import MaskIntersector
from fiberscope.sim import SimulationError

UNITS = (".intersector",)


def with_units(parameters: ExTensorConfiguration) -> ExTensorConfiguration:
    """The same machine, with units."""
    return parameters.model_copy(update={"step": "unit"})


def units_of(machine: ExTensor) -> list[MaskIntersector]:
    """Its intersectors."""
    return [part for part in machine.kernel.components if isinstance(part, MaskIntersector)]


@given(operands(), configurations("skip", "two_finger"), st.sampled_from([None, 40]))
def test_units_give_what_the_quick_way_does(given_operands, parameters, tile):
    """Where ``tile`` says so with masks of two words."""
    if tile:
        parameters = parameters.model_copy(update={"pe": parameters.pe.model_copy(update={"tile": tile})})
    units, quick = (run_extensor(make, *given_operands) for make in (with_units(parameters), parameters))
    assert outcome(units, UNITS) == outcome(quick)
    for unit, core in zip(units_of(units), quick.cores, strict=True):
        assert unit.counters() == {
            "intersect": core.intersect_k0,
            "matches": core.multiply,
            "fibers": core.fiber_pairs,
        }


def test_no_unit_scans():
    message = "no unit intersects as scanners do; set intersection to skip or two_finger, or step to product"
    for options, parts in (({"step": "unit"}, None), ({}, {"intersector": MaskIntersector})):
        with pytest.raises(ConfigurationError, match=message):
            ExTensor(tiny(intersection="scanners", **options), *small_operands(), parts=parts)


def test_units_round_sums_as_the_quick_way_does():
    a, b = small_operands()
    for one in (a, b):
        one.data *= np.pi  # no longer exact
    units, quick = (run_extensor(make, a, b) for make in (with_units(tiny()), tiny()))
    assert outcome(units, UNITS) == outcome(quick)


def test_units_wait_for_slots_as_the_quick_way_does():
    """Products of few steps, and slots for one of them on its way: the core waits more than it works."""
    parameters = tiny(pe__slots=3, pe__tile=2, llb__port=64, pe__task_queue=4, network__pe_latency=4)
    units, quick = (run_extensor(make, *small_operands()) for make in (with_units(parameters), parameters))
    assert outcome(units, UNITS) == outcome(quick)
    stalls = [quick.kernel.statistics()[core.name].output_stall["partials"] for core in quick.cores]
    assert min(stalls) > 100


def test_a_part_that_stands_in_for_the_unit_runs():
    made = []

    def own(*arguments):
        made.append(MaskIntersector(*arguments))
        return made[-1]

    machine = run_extensor(tiny(), *small_operands(), parts={"intersector": own})
    assert [part.name for part in made] == [f"extensor.pe{i:02}.intersector" for i in range(3)]
    assert sum(part.matches for part in made) == machine.operations()["multiply"] > 0


class Crossed(MaskIntersector):
    """Whose words of B are interchanged."""

    def elaborate(self):
        super().elaborate()
        self.masks_b = self.masks_b[::-1]


def test_planted_a_unit_that_tells_what_is_not_there_is_found():
    both = random_matrix(20, 64, 300), random_matrix(64, 20, 300, seed=1)
    with pytest.raises(
        SimulationError, match=r"pe\d\d.core: received coordinate \d+, which fiber \d+ does not have"
    ):
        run_extensor(tiny(pe__tile=64), *both, parts={"intersector": Crossed})
