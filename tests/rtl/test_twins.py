"""Every twin: cycle by cycle its component, for many parameters, streams and stalls."""

import pytest
from coverage import BINS, empty, reached
from pairs import check_pair
from scenarios import ALIKE, LARGE, LARGE_SEEDS, SCENARIOS, SEEDS, cases

from hw.rtl.catalogue import BLOCKS

SOME_ALIKE = ("compressed_scanner", "fiber_intersect", "compressed_writer", "sorting_network")
UNMOVED = [
    pytest.param(block, marks=pytest.mark.slow if block in ALIKE and block not in SOME_ALIKE else ())
    for block in SCENARIOS
]


def test_every_block_is_tried():
    assert SCENARIOS.keys() == LARGE.keys() == BINS.keys() == BLOCKS.keys()


@pytest.mark.parametrize(("block", "seed"), cases(SEEDS, SEEDS[:6]))
def test_the_twin_is_the_component(block, seed):
    assert check_pair(SCENARIOS[block].pair(seed)) > 60


@pytest.mark.parametrize(("block", "seed"), cases(LARGE_SEEDS, LARGE_SEEDS[-2:]))
def test_the_twin_is_the_component_at_large_sizes(block, seed):
    assert check_pair(LARGE[block].pair(seed)) > 60


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
@pytest.mark.parametrize("seed", range(1000, 1200))
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_twin_is_the_component_for_many_seeds(block, seed):
    check_pair(SCENARIOS[block].pair(seed))


@pytest.mark.parametrize("block", SCENARIOS)
def test_the_seeds_reach_thousands_of_cycles_and_many_parameters(block):
    pairs = [SCENARIOS[block].pair(seed) for seed in SEEDS]
    assert sum(len(tokens) for pair in pairs for tokens in pair.inputs.values()) > 5000
    assert len({SCENARIOS[block].drawn(seed) for seed in SEEDS}) > len(SEEDS) // 2


@pytest.mark.parametrize("options", [{"sleep": False}, {"order_seed": 1}, {"sleep": False, "order_seed": 2}])
@pytest.mark.parametrize("block", UNMOVED)
def test_neither_sleep_nor_order_changes_anything(block, options):
    scenario = SCENARIOS[block]
    assert check_pair(scenario.pair(3)) == check_pair(scenario.pair(3, **options))
