"""Flex-DPEs made of units: cycles, accounting, counters and sums of those that are not, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_case import cases
from sigma_bench import EXAMPLES, TINY, built, makes, operands, ran
from whole_machines import outcome

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.sigma import Sigma
from fiberscope.accelerators.sigma.units import CHANNELS
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.networks.benes import BenesNetwork
from fiberscope.workloads import draw

UNITS = ("benes", "multipliers", "adder_network", "collector")
ROOM = {"reduce.levels_outside_dpe": CHANNELS + 1}


def common(machine: Sigma) -> dict[str, Any]:
    """All that a run leaves behind, but what units say of themselves."""
    found = outcome(machine)
    found["statistics"] = {
        name: part for name, part in found["statistics"].items() if not name.endswith(UNITS)
    }
    return found


@settings(max_examples=EXAMPLES, deadline=None)
@given(operands(), makes(), st.integers(CHANNELS + 1, CHANNELS + 3))
def test_units_give_what_the_quick_way_does(given_operands, make, outside):
    make["reduce.levels_outside_dpe"] = outside
    units, quick = (ran(given_operands, make | {"step": step}) for step in ("unit", "column"))
    assert common(units) == outcome(quick)
    networks, adders = (
        [part.counters() for part in units.kernel.components if isinstance(part, kind)]
        for kind in (BenesNetwork, AdderNetwork)
    )
    assert sum(found["add"] for found in adders) == units.operations()["add"]
    if not units.parameters.unlimited:
        assert [found["vectors"] for found in networks] == [found["vectors"] for found in adders]
        assert sum(found["settings"] for found in networks) == sum(part.settings for part in units.dpes)


@settings(max_examples=EXAMPLES // 5, deadline=None)
@given(st.integers(0, 5), st.sampled_from([0, 4]))
def test_units_round_sums_as_the_quick_way_does(seed, words):
    both = [one.matrix for one in draw(f"gemm:m=13,n=9,k=17,a=0.6,b=0.7,values=bf16,seed={seed}")]
    for one in both:
        one.data *= np.pi  # no longer exact
    make = TINY | ROOM | {"dpe.multipliers": 8, "slice.k": 8, "input.words_per_cycle": words}
    units, quick = (ran(both, make | {"step": step}) for step in ("unit", "column"))
    assert common(units) == outcome(quick)


def test_a_part_that_stands_in_for_a_unit_runs():
    made = []

    class Own(AdderNetwork):
        def __init__(self, name, leaves):
            super().__init__(name, leaves)
            made.append(self)

    machine = ran(cases()["sigma"].operands(), TINY | ROOM, parts={"adder_network": Own})
    assert [part.name for part in made] == [f"sigma.dpe{i}.adder_network" for i in range(3)]
    assert sum(part.add for part in made) == machine.operations()["add"] > 0


def test_planted_a_network_that_is_set_wrong_gives_a_wrong_product():
    class Crossed(BenesNetwork):
        def elaborate(self):
            super().elaborate()
            self.settings = self.settings[::-1]

    operands = cases()["sigma"].operands()
    right, wrong = (ran(operands, TINY | ROOM, parts={"benes": kind}) for kind in (BenesNetwork, Crossed))
    assert np.array_equal(right.result(), (operands[0] @ operands[1]).toarray())
    assert not np.array_equal(right.result(), wrong.result())


def test_units_that_cannot_keep_the_time_are_refused():
    make = TINY | {"step": "unit", "reduce.levels_outside_dpe": CHANNELS}
    with pytest.raises(ConfigurationError, match="it should be at least 5"):
        built(cases()["sigma"].operands(), make)
