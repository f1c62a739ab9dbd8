"""Every twin: cycle by cycle its component, for many parameters, streams and stalls."""

from dataclasses import replace

import pytest
from coverage import BINS, empty, reached
from extremes import by_default, extremes, unreached, unstated
from halves import DIRECTED, FAR, SMALL, SWIFT, Halves
from pairs import check_pair, event_side
from scenarios import ALIKE, LARGE, LARGE_SEEDS, SCENARIOS, scenarios_by_default

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.channel import ChannelParameters

SOME_ALIKE = ("compressed_scanner", "fiber_intersect", "compressed_writer", "sorting_network")
UNMOVED = SCENARIOS.keys() - ALIKE.difference(SOME_ALIKE)


def noted(halves, scenario, seed, given):
    """A pair whose twin's counters are noted."""
    twin = BLOCKS[scenario.block].twin(given)
    return scenario.pair(seed, given, lambda: halves.backend(twin, seed))


def test_every_block_is_tried():
    assert SCENARIOS.keys() == LARGE.keys() == BINS.keys() == BLOCKS.keys()


@pytest.mark.parametrize(
    "block",
    [pytest.param(name, marks=pytest.mark.slow) if name == "counter_banks" else name for name in SCENARIOS],
)  # its many counters take 18 seconds
def test_the_twin_is_the_component_and_every_counter_passes_its_half(block):
    halves = Halves()
    for scenario, seed in scenarios_by_default(block):
        assert check_pair(noted(halves, scenario, seed, scenario.drawn(seed))) > 60
    if block in SMALL:
        check_pair(noted(halves, SCENARIOS[block], 1, SMALL[block]))
    if block in DIRECTED:
        given, inputs = DIRECTED[block]
        check_pair(noted(halves, replace(SCENARIOS[block], inputs=lambda *_: inputs), SWIFT, given))
    assert halves.unpassed() == FAR.get(block, set())


def test_planted_counters_that_no_run_brings_to_their_half_are_named(monkeypatch):
    monkeypatch.setattr("channel_scenario.TOKENS", 3)
    halves = Halves()
    check_pair(noted(halves, SCENARIOS["channel"], 0, ChannelParameters(capacity=8, latency=2)))
    assert halves.unpassed() == {"head", "tail", "held", "shown"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", LARGE_SEEDS)
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_twin_is_the_component_at_large_sizes(block, seed):
    assert check_pair(LARGE[block].pair(seed)) > 60


# Modules that take seconds to build; the default run has the large draws of the same blocks.
LARGEST = {
    "bank-sets=2048",
    "bank-ways=32",
    "benes-stages=14",
    "compressed_scanner-fibers=65536",
    "counter_banks-counters=2048",
    "crossbar-inputs=128",
    "packer-inputs=64",
    "skip_ahead-window=32",
    "sorted_head-entries=256",
    "sorting_network-reference_bits=64-lanes=64",
}
EXTREMES = [
    pytest.param(extreme, marks=pytest.mark.slow if str(extreme) in LARGEST else (), id=str(extreme))
    for block in SCENARIOS
    for extreme in extremes(block)
]


@pytest.mark.parametrize("extreme", EXTREMES)
def test_the_twin_is_the_component_at_the_ends_of_what_is_stated(extreme):
    assert all(getattr(extreme.parameters, name) == value for name, value in extreme.ends)
    assert check_pair(extreme.pair()) > 4  # one token may be all that there is room for


# Two tokens come to a channel in one cycle only where it stands behind a bank's two lanes.
STATED_ELSEWHERE = {"channel": ["lanes"]}


@pytest.mark.parametrize("block", SCENARIOS)
def test_every_end_of_every_stated_range_has_a_pair(block):
    given = [*by_default(block), *(extreme.parameters for extreme in extremes(block))]
    assert unstated(BLOCKS[block].parameters) == STATED_ELSEWHERE.get(block, [])
    assert unreached(block, given) == []


def test_every_largest_module_is_a_pair():
    assert {extreme.id for extreme in EXTREMES} >= LARGEST


def test_planted_an_end_that_no_pair_has_is_named():
    given = [pair for pair in by_default("islip") if pair.depth < 64]
    assert ("depth", 64) in unreached("islip", given)


@pytest.mark.parametrize("block", SCENARIOS)
def test_the_seeds_fill_every_bin(block):
    runs = [reached(one.pair(seed), one.drawn(seed)) for one, seed in scenarios_by_default(block)]
    assert empty(BINS[block], runs) == []


def test_planted_a_bin_that_no_seed_fills_is_named():
    scenario = SCENARIOS["channel"]
    runs = [reached(scenario.pair(seed), scenario.drawn(seed)) for seed in range(4)]
    assert empty(BINS["channel"], runs) == ["more than 16 tokens in it", "33 slots or more, all full"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 20))
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_twin_is_the_component_for_many_seeds(block, first):
    for seed in range(first, first + 20):
        assert check_pair(SCENARIOS[block].pair(seed)) > 60


@pytest.mark.parametrize("block", sorted(UNMOVED))
def test_neither_sleep_nor_order_changes_anything(block):
    """Nor with the component alone, of which the twin takes no longer by that seed's pair above."""
    alone = event_side(SCENARIOS[block].pair(3))
    alone.run()
    assert check_pair(SCENARIOS[block].pair(3, sleep=False, order_seed=1)) == alone.length(alone.clocks[0])
