"""Counters in banks: against a plain list, their cycles by bank, and MINT's matrix from ids to slots."""

from collections import Counter
from itertools import accumulate, groupby

import pytest
from array_bench import lanes_of, ports, sizes, stall_seeds
from fibers import EMPTY_TOKEN, check_accounting_of
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.counter_protocol import COMMANDS, COUNT, FETCH, READ, SCAN
from fiberscope.hw.lanes.prefix_sum import PARALLEL, PrefixSum
from fiberscope.hw.lanes.sorting_network import SortingNetwork
from fiberscope.hw.stream import DATA
from fiberscope.sim import Kernel
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

COUNTERS = 12


def command(kind, count=0):
    return (kind, count, 0, 0.0)


def rows_with_ranks(lanes, indices):
    """Elements with the ranks that a cluster counter gives to neighbours within a row."""
    elements = []
    for first in range(0, len(indices), lanes):
        for index, cluster in groupby(indices[first : first + lanes]):
            elements += [(index, rank, float(first + rank)) for rank, _ in enumerate(cluster)]
    return elements


class Plain:
    """Counters as a list: the reference."""

    def __init__(self, banks):
        self.banks = banks
        self.contents = [0] * COUNTERS
        self.expected = {"slots": [], "stored": []}
        self.counts = Counter(reads=0, writes=0, conflicts=0)

    def update(self, elements, lanes, fetches):
        slots = []
        for index, _, value in elements:
            slots.append((self.contents[index], index, value))
            self.contents[index] += 1
        if fetches:
            self.expected["slots"].append(slots)
        for first in range(0, len(elements), lanes):
            begun = [index for index, rank, _ in elements[first : first + lanes] if rank == 0]
            fullest = max(Counter(index % self.banks for index in begun).values())
            self.counts += Counter(reads=len(begun), writes=len(begun), conflicts=fullest - 1)

    def read(self, count):
        self.expected["stored"].append(
            [(number, place, 0.0) for place, number in enumerate(self.contents[:count])]
        )
        self.contents[:count] = [0] * count
        self.counts += Counter(reads=count, writes=count)


@st.composite
def programs(draw):
    """Lanes, commands, the arrays that they take, and what a plain model makes of them."""
    lanes, sweep_lanes = draw(st.sampled_from([1, 2, 4, 5])), draw(st.sampled_from([1, 3, 8]))
    fetch_lanes, banks = draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([0, 1, 3, 8]))
    plain = Plain(banks or lanes)
    commands, arrays = [], {"updates": [], "fetches": []}
    for kind in draw(st.lists(st.sampled_from([COUNT, FETCH, READ]), max_size=5)):
        count = draw(st.integers(0, COUNTERS))
        commands.append(command(kind, count))
        if kind == READ:
            plain.read(count)
        else:
            port = "fetches" if kind == FETCH and fetch_lanes else "updates"
            width = fetch_lanes if port == "fetches" else lanes
            indices = draw(st.lists(st.integers(0, COUNTERS - 1), max_size=3 * width))
            elements = rows_with_ranks(width, sorted(indices) if draw(st.booleans()) else indices)
            plain.update(elements, width, kind == FETCH)
            arrays[port].append(elements)
    inputs = {"commands": commands} | lanes_of("updates", lanes, arrays["updates"])
    inputs |= lanes_of("fetches", fetch_lanes, arrays["fetches"])
    expected = lanes_of("slots", fetch_lanes or lanes, plain.expected["slots"])
    expected |= lanes_of("stored", sweep_lanes, plain.expected["stored"])
    return (lanes, sweep_lanes, fetch_lanes, banks), inputs, expected, plain


@given(program=programs(), size=sizes, seed=stall_seeds)
def test_any_commands(program, size, seed):
    lanes, inputs, expected, plain = program

    def make():
        return CounterBanks("banks", COUNTERS, *lanes)

    block = make()
    outcome = run_block(block, inputs, list(expected), seed=seed, **size)
    assert {port: outcome.tokens(port) for port in expected} == expected
    assert list(block.contents) == plain.contents
    assert outcome.statistics["banks"].counters == {"reads": 0, "writes": 0, "conflicts": 0} | plain.counts
    check_laws(make, inputs, list(expected), seeds=[seed], **size)


@given(
    indices=st.lists(st.integers(0, 99), max_size=60),
    counters=st.integers(0, 100),
    sweep_lanes=st.sampled_from([1, 7, 32]),
    seed=stall_seeds,
)
def test_a_scan_through_a_prefix_sum_makes_exclusive_sums(indices, counters, sweep_lanes, seed):
    commands = [command(COUNT), command(SCAN, counters)]
    block = run_scan(commands, rows_with_ranks(4, sorted(indices)), sweep_lanes, seed)
    counts = Counter(indices)
    sums = [0, *accumulate(counts[index] for index in range(100))]
    assert list(block.contents) == [
        sums[index] if index < counters else counts[index] for index in range(100)
    ]


def run_scan(commands, elements, sweep_lanes, seed):
    """Run 100 counters in four banks, with a prefix sum between counts and starts."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(CounterBanks("banks", 100, 4, sweep_lanes))
    scan = kernel.add(PrefixSum("scan", PARALLEL, sweep_lanes, registered=False))
    for number, (port, tokens) in enumerate(
        ({"commands": commands} | lanes_of("updates", 4, [elements])).items()
    ):
        source = kernel.add(StreamSource(port, tokens, () if seed is None else (seed + number) % 3 * (1,)))
        kernel.connect(source, "out", block, port, capacity=2)
    for lane in range(sweep_lanes):
        kernel.connect(block, f"counts[{lane}]", scan, f"lanes[{lane}]", capacity=2)
        kernel.connect(scan, f"sums[{lane}]", block, f"starts[{lane}]", capacity=2)
    assert kernel.run(cycle_limit=10_000).complete
    return block


class TestTiming:
    def slots_at(self, elements, lanes, **sizes):
        inputs = {"commands": [command(FETCH)]} | lanes_of("updates", lanes, [elements])
        outcome = run_block(CounterBanks("banks", 64, lanes, **sizes), inputs, ports("slots", lanes))
        return [cycle for cycle, _ in outcome.received["slots[0]"]], outcome

    def test_a_row_is_seen_two_cycles_behind_and_one_comes_a_cycle(self):
        elements = [(index, 0, 0.0) for index in range(4)] * 3
        cycles, outcome = self.slots_at(elements, 4)
        assert cycles == [3, 4, 5, 6]  # seen at 1
        assert outcome.statistics["banks"].counters["conflicts"] == 0

    def test_a_counter_that_comes_in_every_row_is_forwarded(self):
        cycles, outcome = self.slots_at([(5, 0, 0.0)] * 6, 1)
        assert cycles == [3, 4, 5, 6, 7, 8, 9]
        assert [token[1] for token in outcome.tokens("slots[0]")][:6] == [0, 1, 2, 3, 4, 5]

    def test_a_row_takes_the_cycles_of_its_fullest_bank(self):
        one_bank = [(index, 0, 0.0) for index in (0, 4, 8, 12)]
        other_banks = [(index, 0, 0.0) for index in (0, 4, 1, 5)]
        cycles, outcome = self.slots_at(one_bank + other_banks, 4)
        assert cycles == [1 + 4 + 1, 6 + 2, 9]
        assert outcome.statistics["banks"].counters["conflicts"] == 3 + 1

    def test_one_cluster_has_one_access(self):
        elements = [(8, rank, 0.0) for rank in range(4)]
        cycles, outcome = self.slots_at(elements, 4)
        assert cycles == [3, 4]
        assert outcome.statistics["banks"].counters == {"reads": 1, "writes": 1, "conflicts": 0}

    def test_a_command_begins_when_all_is_written(self):
        inputs = {"commands": [command(COUNT), command(READ, 2)]} | lanes_of("updates", 1, [[(1, 0, 0.0)]])
        outcome = run_block(CounterBanks("banks", 2, 1, 2), inputs, ports("stored", 2))
        # The item is taken at 1 and the stop at 2, whose cycles end with 3; READ begins at 4.
        assert [cycle for cycle, _ in outcome.received["stored[1]"]] == [5, 6]
        check_accounting_of(outcome, "banks", busy=5, input_stall={}, output_stall={})


def test_the_matrix_of_mint():
    """Section 7 of its specification: column ids to slots in cycles 0 to 23, by the blocks themselves."""
    items = [[(index, 0, 0.0) for index in (2, 0, 2, 1, 3, 0)]]
    kernel = Kernel()
    kernel.clock("core", 10**9)
    sorter, clusters = kernel.add(SortingNetwork("sorter", 4)), kernel.add(ClusterCounter("clusters", 4))
    banks = kernel.add(CounterBanks("banks", 4, 4, 32, fetch_lanes=1))
    scan = kernel.add(PrefixSum("scan", PARALLEL, 32, registered=False))
    commands = [command(COUNT), command(SCAN, 4), command(FETCH)]
    program, slots = kernel.add(StreamSource("program", commands)), kernel.add(StreamSink("slots"))
    kernel.connect(program, "out", banks, "commands", capacity=4)
    sources = lanes_of("lanes", 4, items) | lanes_of("fetches", 1, items)
    for port, tokens in sources.items():
        block = banks if port == "fetches[0]" else sorter
        kernel.connect(kernel.add(StreamSource(f"source of {port}", tokens)), "out", block, port, capacity=2)
    kernel.connect(banks, "slots[0]", slots, "in", capacity=2)
    for lane in range(4):
        kernel.connect(sorter, f"sorted[{lane}]", clusters, f"sorted[{lane}]", capacity=2)
        kernel.connect(clusters, f"clusters[{lane}]", banks, f"updates[{lane}]", capacity=2)
    for lane in range(32):
        kernel.connect(banks, f"counts[{lane}]", scan, f"lanes[{lane}]", capacity=2)
        kernel.connect(scan, f"sums[{lane}]", banks, f"starts[{lane}]", capacity=2)
    kernel.run()
    issued = [(cycle - 2, token[1], token[2]) for cycle, token in slots.received if token[0] == DATA]
    assert issued == [(16, 3, 2), (17, 0, 0), (18, 4, 2), (19, 2, 1), (20, 5, 3), (21, 1, 0)]
    assert list(banks.contents) == [2, 3, 5, 6]
    assert banks.counters() == {"reads": 5 + 4 + 6, "writes": 5 + 4 + 6, "conflicts": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "banks: counters must be at least 1, not 0"),
        ((4, 0), "banks: lanes must be from 1 to 256, not 0"),
        ((4, 4, 257), "banks: sweep_lanes must be from 1 to 256, not 257"),
        ((4, 4, 4, -1), "banks: fetch_lanes must be from 0 to 256, not -1"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CounterBanks("banks", *arguments)


@pytest.mark.parametrize(
    ("commands", "element", "message"),
    [
        ([command(len(COMMANDS))], None, "banks: there is no command 4"),
        ([command(FETCH)], None, "banks: fetch needs slots, not connected"),
        ([command(SCAN, 2)], None, "banks: scan needs counts, not connected"),
        ([command(READ, 5)], None, "banks: read of 5 counters; there are 4"),
        ([command(COUNT)], (4, 0, 0.0), "banks: there is no counter 4; they are from 0 to 3"),
        ([command(COUNT)], (2, 1, 0.0), "banks: an item of counter 2 has rank 1, behind one of counter -1"),
    ],
)
def test_what_is_no_command_or_item_is_refused(commands, element, message):
    inputs = {"commands": commands} | lanes_of("updates", 1, [[element] if element else []])
    with pytest.raises(SimulationError, match=message):
        run_block(CounterBanks("banks", 4, 1, 1), inputs, ["stored[0]"])


@pytest.mark.parametrize("fetch_lanes", [1, 2, 4])
def test_slots_have_as_many_lanes_as_the_rows_that_a_fetch_takes(fetch_lanes):
    """``FETCH`` takes rows of updates if ``fetches`` is not connected, whatever ``fetch_lanes`` is."""
    elements = [(index, 0, 0.0) for index in (1, 0, 1, 1)]
    inputs = {"commands": [command(FETCH)]} | lanes_of("updates", 2, [elements])
    block = CounterBanks("banks", 4, 2, 1, fetch_lanes=fetch_lanes)
    outcome = run_block(block, inputs, ports("slots", 2))
    rows = zip(outcome.tokens("slots[0]"), outcome.tokens("slots[1]"), strict=True)
    slots = [token[1:3] for row in rows for token in row if token[0] == DATA]
    assert slots == [(0, 1), (0, 0), (1, 1), (2, 1)]


def test_empty_lanes_are_passed_on():
    inputs = {"commands": [command(FETCH)]} | lanes_of(
        "updates", 2, [[(1, 0, 0.0), (1, 0, 0.0), (1, 0, 0.0)]]
    )
    inputs["updates[0]"][0] = EMPTY_TOKEN
    outcome = run_block(CounterBanks("banks", 4, 2, 1), inputs, ports("slots", 2))
    assert outcome.tokens("slots[0]") == [EMPTY_TOKEN, (DATA, 1, 1, 0.0)]
    assert outcome.tokens("slots[1]")[0] == (DATA, 0, 1, 0.0)
