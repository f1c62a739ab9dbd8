"""Streams of packed arrays: items leave when all their bits are here, and every line is written once."""

import random
from array import array
from collections import Counter

import pytest
from array_bench import lanes_of, ports
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_stub import LINE, MemoryStub

from hw.fibers.stream_reader import StreamReader
from hw.fibers.stream_writer import StreamWriter
from hw.fibers.streams import AddressGenerator, PackedArray
from hw.memory import WRITE
from hw.stream import DATA
from sim import Kernel
from sim.errors import SimulationError
from sim.testing import StreamSink, StreamSource, check_accounting, check_laws, random_stalls, run_block

widths = st.lists(st.sampled_from([1, 4, 14, 32, 36, 512, 700]), min_size=1, max_size=3)
stalls = st.none() | st.integers(0, 1000)


def packed(bits):
    """Arrays of items of so many bits, far apart."""
    return [PackedArray(number << 20, width) for number, width in enumerate(bits)]


def lines_of(bits, first, end):
    """Which lines of which array hold these items: the reference, bit by bit."""
    return {
        (number, bit // (8 * LINE))
        for number, width in enumerate(bits)
        for bit in range(first * width, end * width)
    }


def numbered(addresses):
    return [(address >> 20, (address & (1 << 20) - 1) // LINE) for address in addresses]


def pauses(seed, number):
    return () if seed is None else random_stalls(1000 * seed + number)


def items_at(port, lanes, first, end):
    return lanes_of(port, lanes, [[(100 + item, -item, item / 2) for item in range(first, end)]])


def parts(count):
    """Coordinates, references and values of so many items."""
    return {
        "coordinates": array("q", range(100, 100 + count)),
        "references": array("q", range(0, -count, -1)),
        "values": array("d", [item / 2 for item in range(count)]),
    }


def read(bits, count, lanes, spans=None, *, seed=None, latencies=(20,), lines=8, **mode):
    """Run a reader of ``count`` items in front of a memory; gives memory, sinks by port, statistics."""
    kernel = Kernel(**mode)
    kernel.clock("core", 10**9)
    reader = kernel.add(StreamReader("reader", packed(bits), count, **parts(count), lanes=lanes, lines=lines))
    memory = kernel.add(MemoryStub("memory", latencies))
    kernel.connect(reader, "requests", memory, "requests", capacity=4)
    kernel.connect(memory, "replies", reader, "replies", capacity=4)
    if spans is not None:
        jobs = [(0, first, end - first, 0.0) for first, end in spans]
        source = kernel.add(StreamSource("jobs", jobs, pauses(seed, 99)))
        kernel.connect(source, "out", reader, "jobs", capacity=2)
    sinks = {}
    for lane, port in enumerate(ports("items", lanes)):
        sinks[port] = kernel.add(StreamSink(port, pauses(seed, lane)))
        kernel.connect(reader, port, sinks[port], "in", capacity=2)
    assert kernel.run(cycle_limit=100_000).complete
    return memory, {port: sink.received for port, sink in sinks.items()}, kernel.statistics()


class TestReader:
    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), bits=widths, lanes=st.sampled_from([1, 4, 16]), seed=stalls)
    def test_items_leave_when_all_their_lines_are_here(self, data, bits, lanes, seed):
        count = data.draw(st.integers(0, 80))
        spans = data.draw(
            st.lists(st.tuples(st.integers(0, count), st.integers(0, count)).map(sorted), max_size=3)
        )
        latencies = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=5))
        memory, received, statistics = read(bits, count, lanes, spans, seed=seed, latencies=latencies)
        expected = {port: [] for port in ports("items", lanes)}
        for first, end in spans:
            for port, tokens in items_at("items", lanes, first, end).items():
                expected[port] += tokens
        assert {port: [token for _, token in tokens] for port, tokens in received.items()} == expected
        asked = Counter(numbered(token[2] for _, token in memory.received))
        assert asked == sum((Counter(lines_of(bits, *span)) for span in spans), Counter())
        check_accounting(statistics)

    @settings(max_examples=30, deadline=None)
    @given(bits=widths, count=st.integers(0, 60), seed=st.integers(0, 99))
    def test_neither_sleeping_nor_the_order_of_ticks_shows(self, bits, count, seed):
        def outcome(**mode):
            memory, received, statistics = read(bits, count, 4, seed=seed, latencies=(9, 30, 2), **mode)
            return memory.received, received, statistics

        expected = outcome()
        for mode in ({"sleep": False}, {"order_seed": 1}, {"order_seed": 2}):
            assert outcome(**mode) == expected

    def test_no_item_leaves_before_its_last_bit(self):
        """Items of 36 bits, 14 whole ones in the first line; the memory answers late and out of order."""
        random_latencies = random.Random(3).choices(range(1, 90), k=13)
        memory, received, _ = read([36, 5], 200, 4, latencies=random_latencies)
        here = {}
        replied = sorted(
            (cycle + random_latencies[number % 13] + 1, token[2])
            for number, (cycle, token) in enumerate(memory.received)
        )
        for cycle, address in replied:
            here[numbered([address])[0]] = cycle
        for row, (cycle, token) in enumerate(received["items[0]"][:-1]):
            assert token[0] == DATA
            end = min(200, 4 * row + 4)
            assert cycle > max(here[line] for line in lines_of([36, 5], 4 * row, end))

    def test_a_line_and_a_row_a_cycle(self):
        """16 items of 32 bits are a line: behind the latency there is a row in every cycle."""
        _, received, statistics = read([32], 16 * 50, 16, latencies=(20,), lines=64)
        cycles = [cycle for cycle, _ in received["items[0]"]]
        # Asked for at 0, taken at 1, answered at 21, seen and let out at 22, seen by the sink at 23.
        assert cycles == list(range(23, 23 + 51))
        assert statistics["reader"].counters == {"items": 800, "rows": 51, "lines": 50}
        assert statistics["reader"].input_stall == {}

    def test_on_chip_it_begins_in_the_first_cycle(self):
        outcome = run_block(StreamReader("reader", [], 6, **parts(6), lanes=4), {}, ports("items", 4))
        assert {port: outcome.tokens(port) for port in ports("items", 4)} == items_at("items", 4, 0, 6)
        assert [cycle for cycle, _ in outcome.received["items[3]"]] == [1, 2]

    def test_on_chip_spans_by_the_laws(self):
        jobs = [(0, first, count, 0.0) for first, count in ((0, 9), (3, 0), (2, 4))]
        check_laws(
            lambda: StreamReader("reader", [], 9, **parts(9), lanes=2), {"jobs": jobs}, ports("items", 2)
        )

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"lanes": 0}, "reader: lanes must be from 1 to 256, not 0"),
            ({"count": 9}, "reader: 9 items, of which only 6 are given"),
            ({"arrays": [PackedArray(0, 0)]}, "an item has from 1 to 1048576 bits, not 0"),
            ({"arrays": [PackedArray(32, 4)]}, "an array begins on a line of 64 bytes, not at 32"),
        ],
    )
    def test_what_cannot_be_built_is_refused(self, changes, message):
        with pytest.raises(ValueError, match=message):
            StreamReader("reader", **{"arrays": [], "count": 6, **parts(6), **changes})

    def test_a_span_beyond_the_arrays_is_refused(self):
        with pytest.raises(SimulationError, match="reader: there are no items 4 to 6 of 6"):
            run_block(StreamReader("reader", [], 6, lanes=1), {"jobs": [(0, 4, 3, 0.0)]}, ports("items", 1))

    def test_requests_without_replies_are_refused(self):
        with pytest.raises(SimulationError, match="reader: connect both requests and replies, or neither"):
            run_block(StreamReader("reader", [], 0, lanes=1), {}, ["items[0]", "requests"])


def write(bits, count, lanes, words, *, seed=None, **mode):
    """Run a writer of ``count`` items; gives what it kept, and the outcome."""
    kept = {"coordinates": array("q", bytes(8 * count)), "references": array("q", bytes(8 * count))}
    kept["values"] = array("d", bytes(8 * count))
    writer = StreamWriter("writer", packed(bits), count, **kept, words=words, lanes=lanes, lines=4)
    outcome = run_block(writer, items_at("items", lanes, 0, count), ["requests", "done"], seed=seed, **mode)
    return kept, outcome


class TestWriter:
    @settings(max_examples=100, deadline=None)
    @given(
        bits=widths,
        count=st.integers(0, 120),
        lanes=st.sampled_from([1, 4, 16]),
        words=st.integers(1, 3),
        seed=stalls,
    )
    def test_every_line_is_written_once_and_then_it_is_done(self, bits, count, lanes, words, seed):
        kept, outcome = write(bits, count, lanes, words, seed=seed)
        assert kept == parts(count)
        written = Counter(numbered(token[2] for token in outcome.tokens("requests")))
        assert written == Counter(lines_of(bits, 0, count))
        assert {token[0] for token in outcome.tokens("requests")} <= {WRITE}
        ((done, _),) = outcome.received["done"]
        assert all(done > cycle - 20 for cycle, _ in outcome.received["requests"])
        check_laws(
            lambda: StreamWriter("writer", packed(bits), count, words=words, lanes=lanes, lines=4),
            items_at("items", lanes, 0, count),
            ["requests", "done"],
            seeds=[seed],
        )

    @pytest.mark.parametrize(("words", "cycles"), [(1, 10), (2, 20), (3, 30)])
    def test_sixteen_words_go_out_in_a_cycle(self, words, cycles):
        _, outcome = write([], 160, 16, words)
        # From 1 on words go out; the row of stops is taken behind them, and done told and seen behind that.
        assert outcome.received["done"][0][0] == 1 + cycles + 2
        assert outcome.statistics["writer"].counters == {"items": 160, "words": 160 * words, "lines": 0}

    def test_coo_leaves_five_and_a_third_nonzeros_a_cycle(self):
        _, outcome = write([], 8 * 200, 8, 3)
        cycles = outcome.received["done"][0][0] - 2
        assert 1600 / cycles == pytest.approx(16 / 3, rel=0.01)

    def test_a_slow_memory_holds_the_rows_up(self):
        _, outcome = write([512], 40, 16, 1, seed=5)
        assert "requests" in outcome.statistics["writer"].output_stall

    def test_more_items_than_there_may_be_are_refused(self):
        with pytest.raises(SimulationError, match="writer: more than 3 items"):
            run_block(StreamWriter("writer", [], 3, lanes=4), items_at("items", 4, 0, 4), ["done"])


@settings(max_examples=200, deadline=None)
@given(bits=widths, span=st.tuples(st.integers(0, 300), st.integers(0, 300)).map(sorted))
def test_addresses_come_in_the_order_in_which_items_need_them(bits, span):
    first, end = span
    generator = AddressGenerator(packed(bits), LINE)
    generator.want(first, end)
    order, needed_by = [], []
    while (number := generator.next_array()) >= 0:
        order.append(generator.address(number))
        generator.pass_line(number)
        line = numbered(order[-1:])[0][1]
        needed_by.append(max(first, -(-(line * 8 * LINE + 1) // bits[number]) - 1))
        assert generator.whole_items(end) <= end
    assert Counter(numbered(order)) == Counter(lines_of(bits, first, end))
    assert needed_by == sorted(needed_by)
    assert generator.left() == 0
