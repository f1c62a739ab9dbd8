"""Prefix sum, channels and divider as one module: MINT's way from run lengths to rows and columns, in RTL."""

import random

import pytest
from composed_scenario import components_of
from divider_scenario import SCENARIO as DIVIDER
from pairs import Pair, check_pair
from prefix_sum_scenario import SCENARIO as PREFIX_SUM
from prefix_sum_scenario import prefix_sum_inputs

from fiberscope.hw.lanes import divider_rtl as divider
from fiberscope.hw.lanes import prefix_sum_rtl as prefix_sum
from fiberscope.hw.lanes.divider import DIVISOR
from fiberscope.hw.lanes.divider_rtl import DividerParameters
from fiberscope.hw.lanes.prefix_sum import FORMS
from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import PendingStandIn
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, flat, hierarchical
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Input, Output

LANES = 3
COMPONENTS = {"prefix_sum": PREFIX_SUM, "divider": DIVIDER}


class PositionsStandIn(PendingStandIn):
    PORTS = (
        Input("lanes", STREAM, array=True),
        Input("divisors", DIVISOR),
        Output("results", STREAM, array=True),
    )


def positions(form):
    """The composition for a form."""
    return Composition(
        "positions",
        {
            "prefix_sum": Part(prefix_sum.BLOCK, PrefixSumParameters(form, LANES, 20, value_bits=32)),
            "divider": Part(divider.BLOCK, DividerParameters(LANES, 20, 3, value_bits=32)),
        },
        (Link("prefix_sum.sums", "divider.dividends", capacity=2, latency=1),),
        {"lanes": "prefix_sum.lanes", "divisors": "divider.divisors", "results": "divider.results"},
    )


def pair_of(form, seed):
    composition = positions(form)
    generator = random.Random(seed)
    inputs = prefix_sum_inputs(generator, composition.parts["prefix_sum"].parameters)
    arrays = sum(token[0] for token in inputs[f"lanes[{LANES - 1}]"])
    inputs["divisors"] = [(0, generator.randrange(100), 0, 0.0) for _ in range(arrays)]
    interface = composition.interface()
    twin = build(interface, lambda between: flat(composition, between))
    return Pair(
        "positions",
        None,
        lambda name: PositionsStandIn(name, interface, PyrtlBackend(twin)),
        inputs,
        [f"results[{i}]" for i in range(LANES)],
        seed,
        composed=components_of(
            composition, lambda block, name, given: COMPONENTS[block].component(name, given)
        ),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMS)
def test_the_module_is_prefix_sum_channels_and_divider(form, seed):
    assert check_pair(pair_of(form, seed)) > 60


def test_its_verilog_has_every_module_once():
    text = hierarchical(positions("serial"), "positions")
    assert text.count("\nmodule positions_") + text.startswith("module positions(") == 1 + 3
