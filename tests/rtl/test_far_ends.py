"""Twins where no seed leads: every lane, bit and place of what the ends of their parameters give them."""

from dataclasses import replace
from itertools import cycle

import bitmap_scenario
import divider_scenario
import items_scenario
import pairs
import prefix_sum_scenario
import pytest
from fiber_streams import STOP_TOKEN
from memory_stub import MemoryStub
from nested import number, stream
from pairs import check_pair
from scenarios import LARGE, SCENARIOS

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.lanes.comparator_bank import TESTS
from fiberscope.hw.memory.cache_parameters_rtl import NO_ARRAY, BankParameters
from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.channel import CAPACITY, ChannelParameters
from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.rtl.kit.parameters import BOUNDS, NUMBERS
from fiberscope.hw.streams.scanner_rtl import CompressedScannerParameters

SEED = 3
ITEM_BLOCKS = ("sorting_network", "cluster_counter", "comparator_bank", "position_multiplier", "packer")
ROW_BLOCKS = (*ITEM_BLOCKS, "divider", "prefix_sum", "prefix_popcount")


def most(block, *names):
    """The end of the range of each of these parameters that a block has."""
    known = BLOCKS[block].parameters.__dataclass_fields__
    ranges = {name: {**known[name].metadata} for name in names if name in known}
    return {name: stated.get(BOUNDS, stated.get(NUMBERS))[-1] for name, stated in ranges.items()}


def arrays_of_each_length(generator, lanes, _rows, element):
    """Arrays of a row: one that ends in each lane, in any order."""
    lengths = generator.sample(range(lanes), lanes)
    return [[[element() for _ in range(length)] + [STOP_TOKEN] * (lanes - length)] for length in lengths]


@pytest.mark.parametrize("block", ROW_BLOCKS)
def test_arrays_end_in_every_lane_of_the_most(block, monkeypatch):
    for module in (bitmap_scenario, divider_scenario, items_scenario, prefix_sum_scenario):
        monkeypatch.setattr(module, "random_arrays", arrays_of_each_length)
    given = replace(LARGE[block].drawn(SEED), **most(block, "lanes"))
    assert check_pair(LARGE[block].pair(SEED, given)) > 60


def one_bit_apart(_generator, given):
    """What draws an item: its coordinate is that before but for one bit, its word has one, or none."""
    coordinate, places = 0, 0

    def lone(bits):
        place = places % bits
        return -(1 << place) if place == bits - 1 else 1 << place

    def element():
        nonlocal coordinate, places
        coordinate ^= 1 << places % given.width
        token = (0, coordinate, lone(given.reference_bits), float(lone(given.word_bits) * (places % 3 > 0)))
        places += 1
        return token

    return element


@pytest.mark.parametrize(
    ("block", "test"),
    [(block, None) for block in ITEM_BLOCKS if block != "comparator_bank"]
    + [("comparator_bank", test) for test in TESTS],
)
def test_items_that_differ_in_any_one_bit_are_told_apart(block, test, monkeypatch):
    monkeypatch.setattr(items_scenario, "items", one_bit_apart)
    widths = most(block, "width", "reference_bits", "word_bits")
    given = replace(SCENARIOS[block].drawn(SEED), **widths, **({"test": test} if test else {}))
    assert check_pair(SCENARIOS[block].pair(SEED, given)) > 60


def test_a_scanner_reads_at_the_last_positions_of_its_level():
    """Two fibers, about the half of all positions and at their end, the only ones that are filled."""
    given = CompressedScannerParameters(fibers=8, **most("compressed_scanner", "elements"))
    half, end = given.elements // 2, given.elements
    segments = [0, half - 9, half + 9, end - 9, end]
    level = Level(segments, range(end))
    loads = [Load(0, place, word, 0.0) for place, word in enumerate(segments)]
    read = [place for fiber in (1, 3) for place in range(segments[fiber], segments[fiber + 1])]
    scenario = replace(
        SCENARIOS["compressed_scanner"],
        contents=lambda _generator, _given: level,
        loads=lambda _level: loads + [Load(1, place, place, 0.0) for place in read],
        inputs=lambda _generator, _given: {"in_ref": stream([number(fiber) for fiber in (1, 3, 1, 3)], 0)},
    )
    assert check_pair(scenario.pair(SEED - 1, given)) > 60


def test_a_channel_is_filled_to_its_last_place(monkeypatch):
    """The sink rests behind its first token for as long as the channel takes to fill."""
    given = ChannelParameters(capacity=CAPACITY[1], latency=2)
    rests = (given.capacity + 100, *[0] * given.capacity)
    by_turns = cycle([(0,), rests])  # of the source and the sink of each side
    monkeypatch.setattr(pairs, "_stalls", lambda _generator: next(by_turns))
    monkeypatch.setattr("channel_scenario.TOKENS", 2 * given.capacity)
    assert check_pair(SCENARIOS["channel"].pair(SEED, given)) > 3 * given.capacity


def test_a_bank_has_all_its_miss_registers_and_targets_in_use():
    """A memory that answers late: first each miss is another line, then others wait for the same."""
    given = BankParameters(
        banks=1, sets=16, ways=8, data=NO_ARRAY, stages=1, **most("bank", "misses", "targets")
    )
    lines = [*range(given.misses + 4)] * 2
    lines += [*range(100, 100 + given.misses)] + [
        100 + place % given.misses for place in range(given.targets)
    ]
    requests = [(READ, tag, line * given.line_bytes, 0.0) for tag, line in enumerate(lines)]
    memories = []

    def around(kernel, scope, end, _generator):
        memory = kernel.add(MemoryStub(f"{scope}.memory", [250, 320, 290]))
        kernel.connect(*end("memory_requests"), memory, "requests", capacity=4)
        kernel.connect(memory, "replies", *end("memory_replies"), capacity=4)
        memories.append(memory)
        return (memory,)

    scenario = replace(SCENARIOS["bank"], around=around, inputs=lambda *_: {"requests": requests})
    assert check_pair(scenario.pair(SEED, given)) > len(requests)
    asked = [time for time, _token in memories[0].received]
    assert asked[given.misses - 1] - asked[0] < 250  # all of them, before any was answered
