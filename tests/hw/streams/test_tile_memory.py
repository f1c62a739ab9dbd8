"""The memory of tiles: references wait for their tiles, in order; loads, space and evictions are counted."""

from array import array
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stream_checks import seeds

from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps
from fiberscope.hw.streams.tile_memory import TileMemory
from fiberscope.sim import SimulationError

CAPACITY = TileMemory.OUTPUT_CAPACITY


def memory(sizes, *, capacity=10**6, bandwidth=Fraction(0), latency=0, ahead=4):
    return TileMemory("tiles", memoryview(array("q", sizes)), capacity, bandwidth, latency, ahead)


def behind(block, tokens, **options):
    """The references behind a memory that gets a token in every cycle."""
    inputs = {"in_ref": with_gaps(tokens)}
    return run_streams(block, inputs, ["out_ref"], capacity=CAPACITY, **options)["out_ref"]


@pytest.mark.parametrize(
    ("ahead", "cycles"),
    [
        # tile 0: 8 bytes in cycles 0 and 1, and 3 cycles; tile 1 begins when it is popped, or behind tile 0
        (1, [5, 6 + 5 + 3, 15, 16]),
        (2, [5, 2 + 5 + 3, 11, 12]),
    ],
)
def test_a_tile_arrives_after_the_transfers_before_it_and_the_latency(ahead, cycles):
    block = memory([8, 20], bandwidth=Fraction(4), latency=3, ahead=ahead)
    assert behind(block, [0, 1, "S0", "D"]) == list(zip(cycles, [0, 1, "S0", "D"], strict=True))
    assert block.counters() | {"loads": 2, "read_bytes": 28, "reused": 0, "evicted": 0} == block.counters()
    assert block.late_cycles == 5 + cycles[1] - 6
    assert block.distinct_bytes == 28


def test_fractions_of_a_cycle_add_up():
    """Six tiles of 14 bytes at 68.256 bytes a cycle take 1.23 cycles together, and two cycles apart."""
    arrivals = behind(memory([14] * 6, bandwidth=Fraction("68.256"), ahead=6), [0, 1, 2, 3, 4, 5, "S0", "D"])
    assert [cycle for cycle, _token in arrivals[:6]] == [1, 2, 3, 4, 5, 6]
    block = memory([14] * 6, bandwidth=Fraction(14, 3), ahead=6)
    stream = behind(block, [0, 1, 2, 3, 4, 5, "S0", "D"])
    assert [cycle for cycle, _token in stream[:6]] == list(range(3, 19, 3))


def test_without_a_limit_no_cycle_is_lost():
    tokens = [0, 2, 1, "S0", "N", 1, "S1", "D"]
    block = memory([5, 6, 7])
    assert behind(block, tokens) == list(enumerate(tokens))
    assert (block.loads, block.reused, block.late_cycles) == (3, 1, 0)


def test_the_tile_with_the_oldest_reference_is_evicted():
    block = memory([10, 10, 10], capacity=20, ahead=1)
    assert tokens_of(behind(block, [0, 1, 0, 2, 0, 1, "S0", "D"])) == [0, 1, 0, 2, 0, 1, "S0", "D"]
    assert (block.loads, block.reused, block.evicted, block.read_bytes) == (4, 2, 2, 40)
    assert block.distinct_bytes == 30
    assert list(block.arrival_by_tile) == [0, 1]


def test_a_load_waits_until_the_tiles_that_are_needed_leave_space():
    """The third tile has no space while the first is in use, and the second waits in the channel."""
    free = behind(memory([10, 10, 10], capacity=30), [0, 1, 2, "S0", "D"])
    tight = behind(memory([10, 10, 10], capacity=20), [0, 1, 2, "S0", "D"])
    assert [cycle for cycle, _token in free] == [0, 1, 2, 3, 4]
    assert [cycle for cycle, _token in tight] == [0, 1, 3, 4, 5]


MACHINES = {
    "sizes": st.lists(st.integers(0, 40), min_size=1, max_size=6),
    "draws": st.lists(st.integers(0, 99), max_size=30),
    "space": st.integers(0, 60),
    "bandwidth": st.sampled_from([Fraction(0), Fraction(1), Fraction("2.5"), Fraction(64)]),
    "latency": st.integers(0, 9),
    "ahead": st.integers(1, 5),
    "seed": seeds,
}


@pytest.mark.parametrize("reference", [2, 1 << 40])
def test_a_reference_to_no_tile_is_refused(reference):
    with pytest.raises(SimulationError, match=f"reference {reference} lies outside an array of 2 values"):
        behind(memory([10, 10]), [0, reference, "S0", "D"])


@given(**MACHINES)
def test_references_keep_their_order_and_every_load_is_counted(
    sizes, draws, space, bandwidth, latency, ahead, seed
):
    references = [draw % len(sizes) for draw in draws]
    capacity = sum(sorted(sizes)[-2:]) + space
    block = memory(sizes, capacity=capacity, bandwidth=bandwidth, latency=latency, ahead=ahead)
    stream = behind(block, [*references, "S0", "D"], seed=seed, order_seed=seed)
    assert tokens_of(stream) == [*references, "S0", "D"]
    assert block.loads + block.reused == len(references)
    assert block.distinct_bytes == sum(sizes[tile] for tile in set(references)) <= block.read_bytes
    assert block.used_bytes == sum(sizes[tile] for tile in block.arrival_by_tile) <= capacity
    assert block.loads - block.evicted == len(block.arrival_by_tile)
    if sum(sizes) <= capacity:
        assert (block.loads, block.evicted) == (len(set(references)), 0)
    least = sum(Fraction(sizes[tile]) for tile in set(references)) / bandwidth if bandwidth else 0
    assert stream[-1][0] >= (latency + least if references else 0)


@given(**MACHINES | {"latency": st.integers(20, 60), "draws": st.lists(st.integers(0, 99), min_size=9)})
@example([8] * 4, [0, 1, 2, 3] * 4, 8, Fraction(0), 60, 5, 0)
def test_sleeping_changes_nothing(sizes, draws, space, bandwidth, latency, ahead, seed):
    """A load that had no space begins in the cycle in which the graph takes a token, whatever else loads."""
    capacity = sum(sorted(sizes)[-2:]) + space
    tokens = [*(draw % len(sizes) for draw in draws), "S0", "D"]
    runs = []
    for sleep in (True, False):
        block = memory(sizes, capacity=capacity, bandwidth=bandwidth, latency=latency, ahead=ahead)
        runs.append((behind(block, tokens, seed=seed, sleep=sleep), block.counters()))
    assert runs[0] == runs[1]
