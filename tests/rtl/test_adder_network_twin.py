"""The adder network's twin: every segmentation, its adders, twins broken on purpose."""

import random
from dataclasses import replace
from itertools import islice

import pyrtl
import pytest
from adder_tree import segmentations
from pairs import check_pair
from rows_scenario import by_lane
from scenarios import SCENARIOS

from fiberscope.hw.lanes import adder_network_rtl as adder_network
from fiberscope.hw.lanes.adder_network import depth
from fiberscope.hw.lanes.adder_network_rtl import BLOCK, LEAVES, AdderNetworkParameters

SCENARIO = SCENARIOS["adder_network"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)


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


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("_is_lane", lambda flags, lane: ~flags[lane]),
        ("_operand", lambda row, leaf, adders: row[leaf]["value"]),
    ],
)
def test_planted_lanes_and_operands_that_are_wrong_are_found(name, broken, monkeypatch):
    given = AdderNetworkParameters(8)
    check_pair(SCENARIO.pair(3, given))
    monkeypatch.setattr(adder_network, name, broken)
    with pytest.raises(AssertionError, match=r"adder_network, seed 3: .* differs"):
        check_pair(SCENARIO.pair(3, given))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"leaves": 12}, "adder_network: leaves must be 2, 4, 8, 16, 32, 64 or 128, not 12"),
        ({"operand_bits": 33}, "adder_network: operand_bits must be from 1 to 32, not 33"),
    ],
)
def test_what_cannot_be_built_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        AdderNetworkParameters(**parameters)
