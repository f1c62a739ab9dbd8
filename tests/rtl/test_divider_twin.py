"""The divider's twin: its subtractors, all of a small width, twins broken on purpose, what it refuses."""

from dataclasses import replace

import pyrtl
import pytest
from fiber_streams import STOP_TOKEN
from pairs import check_pair
from scenarios import SCENARIOS

from hw.divider import depth, subtractors
from hw.rtl import divider
from hw.rtl.divider import BLOCK, DividerParameters

SCENARIO = SCENARIOS["divider"]
GIVEN = DividerParameters(width=8, bits_per_stage=2)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)


@pytest.mark.parametrize(
    ("width", "bits_per_stage"), [(1, 1), (4, 1), (4, 3), (8, 8), (32, 1), (32, 4), (62, 7)]
)
def test_it_has_a_subtractor_for_each_bit_and_its_stages(width, bits_per_stage):
    block = BLOCK.twin(DividerParameters(width, bits_per_stage)).block
    assert sum(net.op == "-" for net in block.logic) == subtractors(width)
    assert not [net for net in block.logic if net.op in "+*<>"]
    names = {wire.name for wire in block.wirevector_subset(pyrtl.Register)}
    assert sum(name.startswith("full_") for name in names) == depth(width, bits_per_stage)
    assert sum(name.endswith("_remainder") for name in names) == depth(width, bits_per_stage) - 1


@pytest.mark.parametrize("bits_per_stage", [1, 3, 4])
def test_all_of_a_small_width(bits_per_stage):
    given = DividerParameters(width=4, bits_per_stage=bits_per_stage)
    inputs = {"divisors": [(0, divisor, 0, 0.0) for divisor in range(16)], "dividends": []}
    for _ in range(16):
        inputs["dividends"] += [(0, dividend, 0, 0.0) for dividend in range(16)] + [STOP_TOKEN]
    assert check_pair(replace(SCENARIO.pair(2, given), inputs=inputs)) > 16 * 17


def test_planted_a_twin_that_subtracts_too_often_is_found(monkeypatch):
    check_pair(SCENARIO.pair(3, GIVEN))
    named = divider.named

    def without_borrow(name, wire):
        return named(name, pyrtl.Const(0, 1) if name == "stage01_bit01_borrow" else wire)

    monkeypatch.setattr(divider, "named", without_borrow)
    with pytest.raises(AssertionError, match=r"divider, seed 3: tokens at sink_results differs"):
        check_pair(SCENARIO.pair(3, GIVEN))


def test_planted_a_twin_whose_divisor_does_not_stay_with_its_dividend_is_found(monkeypatch):
    """The divisor of the newest fiber in all stages: right only while the pipeline holds but one fiber."""
    staged, newest = divider._staged, {}

    def shared(stages, name, division):
        if name == "stage00":
            newest["divisor"] = division.divisor
        return replace(staged(stages, name, division), divisor=newest["divisor"])

    monkeypatch.setattr(divider, "_staged", shared)
    with pytest.raises(AssertionError, match=r"divider, seed 3: tokens at sink_results differs"):
        check_pair(SCENARIO.pair(3, DividerParameters()))


def test_planted_a_twin_of_another_depth_is_found():
    slower = replace(GIVEN, bits_per_stage=1)
    with pytest.raises(AssertionError, match=r"divider, seed 3: .* differs"):
        check_pair(replace(SCENARIO.pair(3, GIVEN), rtl=SCENARIO.pair(3, slower).rtl))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 63}, "divider: width must be from 1 to 62, not 63"),
        ({"width": 8, "bits_per_stage": 9}, "divider: bits_per_stage must be from 1 to 8, not 9"),
        ({"value_bits": 8}, "divider: value_bits must be 0, 32 or 64, not 8"),
    ],
)
def test_what_cannot_be_built_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        DividerParameters(**parameters)


def test_parameters_that_suit_a_component_have_the_value():
    assert BLOCK.matching() == DividerParameters(32, 1, 64)
    assert BLOCK.matching(16, 4) == DividerParameters(16, 4, 64)
