"""Flex-DPEs made of units: cycles, accounting, counters and sums of those that are not, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_case import cases
from scipy import sparse
from sigma_bench import TINY, built, makes, operands, ran

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.sigma.units import CHANNELS
from fiberscope.accelerators.testing import outcome
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.prefix_sum import PrefixPopcount
from fiberscope.hw.networks.benes import BenesNetwork
from fiberscope.sim import SimulationError
from fiberscope.workloads import draw

UNITS = ("benes", "multipliers", "adder_network", "collector", "regor", "prefix_popcount", "tables")
ROOM = {"reduce.levels_outside_dpe": CHANNELS + 1}
COUNTED = {"controller.first_fold": "counted"}
# Settings and parts by which units run: all, or those of one kind, the others being as quick as ever.
WAYS = {
    "all": ({"step": "unit"} | COUNTED, {}),
    "networks": ({"step": "column"}, {"benes": BenesNetwork}),
    "scanners": ({"step": "column"} | COUNTED, {"regor": Regor}),
}


@pytest.mark.parametrize("way", WAYS)
@given(operands(), makes(), st.integers(CHANNELS + 1, CHANNELS + 3), st.sampled_from([1, 7, 40, 200]))
def test_units_give_what_the_quick_way_does(way, given_operands, make, outside, bits):
    given_settings, parts = WAYS[way]
    make |= {"reduce.levels_outside_dpe": outside, "controller.bits_per_cycle": bits} | given_settings
    units, quick = ran(given_operands, make, parts=parts), ran(given_operands, make | {"step": "column"})
    assert outcome(units, UNITS) == outcome(quick)
    networks, adders, filters, counts = (
        [part.counters() for part in units.kernel.components if isinstance(part, kind)]
        for kind in (BenesNetwork, AdderNetwork, Regor, PrefixPopcount)
    )
    if way != "scanners":
        assert sum(found["add"] for found in adders) == units.operations()["add"]
        if not units.parameters.gathered:
            assert [found["vectors"] for found in networks] == [found["vectors"] for found in adders]
            assert sum(found["settings"] for found in networks) == sum(part.settings for part in units.dpes)
    if way != "networks":
        held = quick.operations()["multiply"] // quick.plan.columns  # in multipliers, each once
        assert [found["kept"] for found in filters] == [held]
        rows = filters[0]["rows"]  # and one of stops behind them
        assert [found["rows"] for found in counts] == [rows + (rows > 0)]


@settings(max_examples=8)
@given(st.integers(0, 5), st.sampled_from([0, 4]))
def test_units_round_sums_as_the_quick_way_does(seed, words):
    both = [one.matrix for one in draw(f"gemm:m=13,n=9,k=17,a=0.6,b=0.7,values=bf16,seed={seed}")]
    for one in both:
        one.data *= np.pi  # no longer exact
    make = TINY | ROOM | COUNTED | {"dpe.multipliers": 8, "slice.k": 8, "input.words_per_cycle": words}
    units, quick = (ran(both, make | {"step": step}) for step in ("unit", "column"))
    assert outcome(units, UNITS) == outcome(quick)


def test_a_part_that_stands_in_for_a_unit_runs():
    made = []

    class Own(AdderNetwork):
        def __init__(self, name, leaves):
            super().__init__(name, leaves)
            made.append(self)

    machine = ran(cases()["sigma"].operands(), TINY | ROOM, parts={"adder_network": Own})
    assert [part.name for part in made] == [f"sigma.dpe{i:02}.adder_network" for i in range(3)]
    assert sum(part.add for part in made) == machine.operations()["add"] > 0


class Crossed(BenesNetwork):
    def elaborate(self):
        super().elaborate()
        self.settings = self.settings[::-1]


class Blind(Regor):
    """Which keeps all."""

    def tick(self, now):
        if not self.inputs[0].can_pop():
            return self.idle()
        for source, sink in zip(self.inputs, self.outputs, strict=True):
            sink.push(source.control(), source.coordinate(), source.reference())
            source.pop()
        return self.busy(now + 1)


@pytest.mark.parametrize(
    ("part", "right", "wrong"), [("benes", BenesNetwork, Crossed), ("regor", Regor, Blind)]
)
def test_planted_a_unit_that_goes_wrong_gives_a_wrong_product(part, right, wrong):
    a, b = (one.toarray() for one in cases()["sigma"].operands())
    b[::3] = 0
    both = tuple(map(sparse.csr_array, (a, b)))
    found, lost = (ran(both, TINY | ROOM | COUNTED, parts={part: kind}) for kind in (right, wrong))
    assert np.array_equal(found.result(), a @ b)
    assert not np.array_equal(found.result(), lost.result())


def test_planted_counts_that_are_too_narrow_are_found():
    def narrow(name, form, lanes, width, _bits, registers):
        return PrefixPopcount(name, form, lanes, width, 1, registers)

    with pytest.raises(SimulationError, match=r"tables: in the bitmaps of slice 0 were found \d+ nonzeros"):
        ran(cases()["sigma"].operands(), TINY | COUNTED, parts={"prefix_popcount": narrow})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reduce.levels_outside_dpe": CHANNELS}, "it should be at least 5"),
        (
            {"controller.first_fold": "hidden"},
            "it should be counted, because these units scan within the run",
        ),
        ({"controller.bits_per_cycle": 513}, "at most 512: 256 slices of 2 bits"),
    ],
)
def test_units_that_cannot_keep_the_time_are_refused(change, said):
    with pytest.raises(ConfigurationError, match=said):
        built(cases()["sigma"].operands(), TINY | ROOM | COUNTED | {"step": "unit"} | change)
