"""The merger's twin: its largest size, and what it refuses."""

import random
from dataclasses import replace

import pytest
from fiber_streams import merge_inputs
from pairs import check_pair
from scenarios import SCENARIOS

from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.rtl.kit import smallest
from fiberscope.sim import SimulationError

SCENARIO = SCENARIOS["merger"]


def test_radix_64():
    inputs = merge_inputs(random.Random(64), 64, 10, 20, 32, 64)
    assert check_pair(replace(SCENARIO.pair(64, MergerParameters()), inputs=inputs)) > 500


def test_planted_a_twin_that_breaks_ties_backwards_is_found_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    smaller = smallest._smaller
    monkeypatch.setattr(smallest, "_smaller", lambda left, right, name: smaller(right, left, name))
    message = r"merger, seed 3: .* differs: .*both are in the waveform .*merger-3\.vcd"
    with pytest.raises(AssertionError, match=message):
        check_pair(SCENARIO.pair(3))
    shown = (tmp_path / "merger-3.vcd").read_text()
    assert "$scope module event" in shown
    assert "$scope module rtl" in shown


def pair_with(inputs, **parameters):
    return replace(SCENARIO.pair(0, MergerParameters(**parameters)), inputs=inputs)


def test_a_token_that_does_not_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    inputs = {"tasks": [(0, 1, 0, 0.0)], "ways[0]": [(0, 16, 0, 0.0), (1, 0, 0, 0.0)], "ways[1]": []}
    with pytest.raises(AssertionError, match="ways_0_coordinate: 16 does not fit its 4 bits"):
        check_pair(pair_with(inputs, radix=2, coordinate_bits=4))


@pytest.mark.parametrize(
    ("radix", "message"),
    [
        (4, r"the module has ways\[3\], which is not connected"),
        (2, "5 channels are connected, but the module has 4 streams"),
    ],
)
def test_the_ways_connected_are_those_of_the_module(radix, message):
    given = pair_with({"tasks": [], "ways[0]": [], "ways[1]": [], "ways[2]": []}, radix=radix)
    with pytest.raises(SimulationError, match=message):
        check_pair(replace(given, event=given.rtl))
