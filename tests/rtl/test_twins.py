"""Every twin: cycle by cycle its component, for many parameters, streams and stalls."""

import pytest
from coverage import BINS, empty, reached
from extremes import by_default, extremes, unreached, unstated
from pairs import check_pair
from scenarios import ALIKE, LARGE, LARGE_SEEDS, SCENARIOS, SEEDS, SOME_LARGE_SEEDS, SOME_SEEDS, cases

from fiberscope.hw.rtl.catalogue import BLOCKS

SOME_ALIKE = ("compressed_scanner", "fiber_intersect", "compressed_writer", "sorting_network")
UNMOVED = [
    pytest.param(block, marks=pytest.mark.slow if block in ALIKE and block not in SOME_ALIKE else ())
    for block in SCENARIOS
]


def test_every_block_is_tried():
    assert SCENARIOS.keys() == LARGE.keys() == BINS.keys() == BLOCKS.keys()


@pytest.mark.parametrize(("block", "seed"), cases(SEEDS, SOME_SEEDS))
def test_the_twin_is_the_component(block, seed):
    assert check_pair(SCENARIOS[block].pair(seed)) > 60


@pytest.mark.parametrize(("block", "seed"), cases(LARGE_SEEDS, SOME_LARGE_SEEDS))
def test_the_twin_is_the_component_at_large_sizes(block, seed):
    assert check_pair(LARGE[block].pair(seed)) > 60


EXTREMES = [extreme for block in SCENARIOS for extreme in extremes(block)]


@pytest.mark.parametrize("extreme", EXTREMES, ids=str)
def test_the_twin_is_the_component_at_the_ends_of_what_is_stated(extreme):
    assert all(getattr(extreme.parameters, name) == value for name, value in extreme.ends)
    assert check_pair(extreme.pair()) > 4  # one token may be all that there is room for


# Two tokens come to a channel in one cycle only where it stands behind a bank's two lanes.
STATED_ELSEWHERE = {"channel": ["lanes"]}


@pytest.mark.parametrize("block", SCENARIOS)
def test_every_end_of_every_stated_range_has_a_pair_in_the_default_run(block):
    given = [*by_default(block), *(extreme.parameters for extreme in extremes(block))]
    assert unstated(BLOCKS[block].parameters) == STATED_ELSEWHERE.get(block, [])
    assert unreached(block, given) == []


def test_planted_an_end_that_no_pair_has_is_named():
    given = [pair for pair in by_default("islip") if pair.depth < 64]
    assert unreached("islip", given)[-1] == ("depth", 64)


@pytest.mark.parametrize("block", SCENARIOS)
def test_the_seeds_fill_every_bin(block):
    runs = [
        reached(scenario.pair(seed), scenario.drawn(seed))
        for scenario, seeds in ((SCENARIOS[block], SEEDS), (LARGE[block], LARGE_SEEDS))
        for seed in seeds
    ]
    assert empty(BINS[block], runs) == []


def test_planted_a_bin_that_no_seed_fills_is_named():
    scenario = SCENARIOS["channel"]
    runs = [reached(scenario.pair(seed), scenario.drawn(seed)) for seed in SEEDS]
    assert empty(BINS["channel"], runs) == ["more than 16 tokens in it", "33 slots or more, all full"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 20))
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_twin_is_the_component_for_many_seeds(block, first):
    for seed in range(first, first + 20):
        assert check_pair(SCENARIOS[block].pair(seed)) > 60


@pytest.mark.parametrize("block", UNMOVED)
def test_neither_sleep_nor_order_changes_anything(block):
    scenario = SCENARIOS[block]
    assert check_pair(scenario.pair(3, sleep=False, order_seed=1)) == check_pair(scenario.pair(3))
