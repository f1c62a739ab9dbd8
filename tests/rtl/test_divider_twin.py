"""The divider's twin: its subtractors, all of a small width, what it refuses."""

from dataclasses import replace

import pyrtl
import pytest
from fiber_streams import STOP_TOKEN
from pairs import check_pair
from scenarios import SCENARIOS

from fiberscope.hw.lanes.divider import depth
from fiberscope.hw.lanes.divider_rtl import BLOCK, DividerParameters

SCENARIO = SCENARIOS["divider"]


@pytest.mark.parametrize(
    ("lanes", "width", "bits_per_stage"),
    [(1, 1, 1), (2, 4, 1), (1, 4, 3), (3, 8, 8), (8, 32, 1), (1, 32, 4), (2, 62, 7)],
)
def test_it_has_a_subtractor_for_each_bit_and_its_stages(lanes, width, bits_per_stage):
    block = BLOCK.twin(DividerParameters(lanes, width, bits_per_stage)).block
    assert sum(net.op == "-" for net in block.logic) == lanes * width
    assert not [net for net in block.logic if net.op in "+*<>"]
    names = {wire.name for wire in block.wirevector_subset(pyrtl.Register)}
    assert sum(name.startswith("full_") for name in names) == depth(width, bits_per_stage)
    assert sum(name.endswith("_reference") for name in names) == depth(width, bits_per_stage) * lanes


@pytest.mark.parametrize("bits_per_stage", [1, 3, 4])
def test_all_of_a_small_width(bits_per_stage):
    given = DividerParameters(lanes=2, width=4, bits_per_stage=bits_per_stage)
    inputs = {"divisors": [(0, divisor, 0, 0.0) for divisor in range(16)]}
    for lane in range(2):
        dividends = [(0, dividend, 0, 0.0) for dividend in range(lane, 16, 2)]
        inputs[f"dividends[{lane}]"] = [*dividends, STOP_TOKEN] * 16
    assert check_pair(replace(SCENARIO.pair(2, given), inputs=inputs)) > 16 * 9


def test_more_bits_a_stage_than_there_are_are_refused():
    with pytest.raises(ValueError, match="divider: bits_per_stage must be from 1 to 8, not 9"):
        DividerParameters(width=8, bits_per_stage=9)


def test_parameters_that_suit_a_component_have_the_value():
    assert BLOCK.matching() == DividerParameters(1, 32, 1, 64)
    assert BLOCK.matching(8, 16, 4) == DividerParameters(8, 16, 4, 64)
