"""The Benes networks' twins with the routers' settings driven in: permutations, multicasts, their sizes."""

from dataclasses import replace
from itertools import islice, permutations, product

import numpy as np
import pyrtl
import pytest
from pairs import check_pair
from parallel import values
from rows_scenario import by_lane
from scenarios import SCENARIOS

from fiberscope.hw.networks.benes import (
    DOUBLE,
    MINIMAL,
    count_columns,
    count_setting_bits,
    count_setting_rows,
    route_permutation,
)
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.benes_rtl import BLOCK, BenesParameters

SCENARIO = SCENARIOS["benes"]
LANES = 8


def routed(form, settings):
    """Which input each output of the twin takes, for many settings (a row each); by its logic alone."""
    lanes = LANES if form == MINIMAL else settings.shape[1]
    block = BLOCK.twin(BenesParameters(form, lanes, coordinate_bits=3)).block
    wires = {wire.name: wire for wire in block.wirevector_set}
    given = {f"settings_{row:03}": settings[:, row].astype(np.uint64) for row in range(settings.shape[1])}
    given["inputs_coordinate"] = np.uint64(sum(lane << 3 * lane for lane in range(lanes)))
    given |= {"inputs_mask": np.uint64((1 << lanes) - 1), "move": np.uint64(1)}
    sources, _ = block.net_connections()
    behind = [sources[wires[f"last_lane{lane:02}_coordinate"]].args[0] for lane in range(lanes)]
    found = values(block, behind, given)
    return np.stack([np.broadcast_to(found[wire.name], len(settings)) for wire in behind], axis=1)


def check_routes(form, patterns, route):
    settings = np.array([route(pattern) for pattern in patterns], dtype=np.uint64)
    assert (routed(form, settings) == np.array(patterns, dtype=np.uint64)).all()


def test_every_permutation_of_8_lanes():
    """All 40,320."""
    check_routes(MINIMAL, list(permutations(range(LANES))), route_permutation)


def test_every_multicast_of_4_lanes():
    check_routes(DOUBLE, list(product(range(4), repeat=4)), MulticastRouter(4).route)


def test_one_in_a_thousand_multicasts_of_8_lanes():
    patterns = list(islice(product(range(LANES), repeat=LANES), 0, None, 1009))
    check_routes(DOUBLE, patterns, MulticastRouter(LANES).route)


@pytest.mark.slow
@pytest.mark.parametrize("first", list(product(range(LANES), repeat=2)))
def test_every_multicast_of_8_lanes(first):
    """All 16,777,216, those of two first sources at a time."""
    patterns = [(*first, *rest) for rest in product(range(LANES), repeat=LANES - 2)]
    check_routes(DOUBLE, patterns, MulticastRouter(LANES).route)


def test_planted_settings_that_the_router_did_not_give():
    patterns = list(permutations(range(LANES)))[:100]
    with pytest.raises(AssertionError):
        check_routes(MINIMAL, patterns, lambda pattern: [row ^ 4 for row in route_permutation(pattern)])


@pytest.mark.parametrize(("form", "stages"), [(MINIMAL, 0), (MINIMAL, 3), (DOUBLE, 0), (DOUBLE, 4)])
def test_permutations_cycle_by_cycle(form, stages):
    given = BenesParameters(form, 4, stages)
    route = route_permutation if form == MINIMAL else MulticastRouter(4).route
    patterns = list(permutations(range(4))) if form == MINIMAL else list(product(range(4), repeat=4))
    settings = [[(0, bits, 0, 0.0) for bits in route(pattern)] for pattern in patterns]
    vectors = [[(0, 100 * lane + number, 0, 0.0) for lane in range(4)] for number in range(len(patterns))]
    inputs = (
        {"tasks": [(0, 1, 0, 0.0)] * len(patterns)}
        | by_lane("settings", [settings])
        | by_lane("inputs", [vectors])
    )
    assert check_pair(replace(SCENARIO.pair(3, given), inputs=inputs)) > len(patterns)


@pytest.mark.parametrize(("form", "lanes"), [(MINIMAL, 8), (MINIMAL, 64), (DOUBLE, 8), (DOUBLE, 64)])
def test_it_has_the_multiplexers_and_settings_of_its_form(form, lanes):
    given = BenesParameters(form, lanes)
    block = BLOCK.twin(given).block
    registers = {wire.name: len(wire) for wire in block.wirevector_subset(pyrtl.Register)}
    held = sum(bits for name, bits in registers.items() if name.startswith("settings_"))
    assert held == count_setting_rows(form, lanes) * count_setting_bits(form, lanes)
    word = 1 + given.coordinate_bits
    muxes = sum(net.op == "x" and len(net.dests[0]) == word for net in block.logic)
    expected = {
        MINIMAL: lanes * count_columns(form, lanes),
        DOUBLE: lanes * (2 * count_columns(DOUBLE, lanes) - 1),
    }
    assert muxes == expected[form]


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="benes: stages must be from 0 to 5, not 6"):
        BenesParameters(MINIMAL, 8, 6)
