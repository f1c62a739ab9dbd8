"""The adder network's twin: every segmentation, its adders."""

import random
from dataclasses import replace
from itertools import islice

import pyrtl
import pytest
from adder_tree import segmentations
from pairs import check_pair
from rows_scenario import by_lane
from scenarios import SCENARIOS

from fiberscope.hw.lanes.adder_network import depth
from fiberscope.hw.lanes.adder_network_rtl import BLOCK, LEAVES, AdderNetworkParameters

SCENARIO = SCENARIOS["adder_network"]


def check_all(leaves, part=0, parts=1):
    """One of some parts of all segmentations."""
    given = AdderNetworkParameters(leaves, id_bits=4, operand_bits=12)
    generator = random.Random(leaves)
    rows = [
        [(0, neuron, 0, float(generator.randrange(-2048, 2048))) for neuron in ids]
        for ids in islice(segmentations(leaves), part, None, parts)
    ]
    inputs = by_lane("leaves", [rows])
    assert check_pair(replace(SCENARIO.pair(2, given), inputs=inputs)) > len(rows)


@pytest.mark.parametrize("leaves", LEAVES[:3])
def test_every_segmentation(leaves):
    check_all(leaves)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_every_segmentation_of_16_leaves(part, monkeypatch):
    monkeypatch.setattr("pairs.CYCLE_LIMIT", 400_000)
    check_all(16, part, 16)


@pytest.mark.parametrize("leaves", LEAVES)
def test_it_has_an_adder_between_any_two_leaves_and_a_stage_a_level(leaves):
    block = BLOCK.twin(AdderNetworkParameters(leaves)).block
    assert sum(net.op == "+" for net in block.logic) == leaves - 1
    names = {wire.name for wire in block.wirevector_subset(pyrtl.Register)}
    assert sum(name.startswith("full_") for name in names) == depth(leaves)
