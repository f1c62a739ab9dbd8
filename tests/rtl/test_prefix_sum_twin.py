"""The prefix sum's twin: its adders and registers, MINT's size, what it refuses."""

import random
from dataclasses import replace

import pyrtl
import pytest
from pairs import check_pair
from prefix_sum_scenario import prefix_sum_inputs
from scenarios import SCENARIOS

from fiberscope.hw.lanes.prefix_sum import FORMS, adders, depth
from fiberscope.hw.lanes.prefix_sum_rtl import BLOCK, PrefixSumParameters

SCENARIO = SCENARIOS["prefix_sum"]


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 6, 8, 13, 32])
@pytest.mark.parametrize("form", FORMS)
def test_it_has_the_adders_and_stages_of_its_form(form, lanes):
    block = BLOCK.twin(PrefixSumParameters(form=form, lanes=lanes)).block
    assert sum(net.op == "+" for net in block.logic) == adders(form, lanes)
    assert not [net for net in block.logic if net.op in "-*"]
    registers = block.wirevector_subset(pyrtl.Register)
    assert sum(map(len, registers)) == depth(form, lanes) * (33 * lanes + 1) + 32  # rows, valid bits, offset


@pytest.mark.parametrize(("form", "bits"), list(zip(FORMS, (34_913, 10_602, 6_374), strict=True)))
def test_the_32_lanes_of_mint(form, bits):
    given = PrefixSumParameters(form=form)
    assert sum(map(len, BLOCK.twin(given).block.wirevector_subset(pyrtl.Register))) == bits
    inputs = prefix_sum_inputs(random.Random(form), given, 25)
    assert check_pair(replace(SCENARIO.pair(1, given), inputs=inputs)) > 25


def test_parameters_that_suit_a_component_have_all_that_a_token_has():
    assert BLOCK.matching("serial", 4) == PrefixSumParameters("serial", 4, 32, 64, 64)
    assert BLOCK.matching("serial", 4, 10).width == 10
