"""Requests of a single burst: half the bus time of a line of two, counted by what they move."""

from itertools import pairwise

import pytest

from fiberscope.hw.dram import DramSpecification, SimpleMemory, SimpleSpecification, replay
from fiberscope.hw.dram.trace import ReplySink, TraceSource
from fiberscope.hw.memory.protocol import READ, READ_BURST, WRITE, WRITE_BURST
from fiberscope.sim import Kernel

LINE, BURST = 64, 32
SPECIFICATION = DramSpecification("HBM2_2000", refresh="off", request_bytes=LINE, interleave_bytes=LINE)
STRIDE = SPECIFICATION.channels * LINE


def simple(operations, **options):
    """Cycles in which replies are sent, and what the memory counted."""
    specification = SimpleSpecification(8 * 10**9, latency=20, **options)
    kernel = Kernel()
    kernel.clock("core", 10**9)
    trace = [(0, operation, place * LINE) for place, operation in enumerate(operations)]
    source = kernel.add(TraceSource("source", trace, 1))
    memory = kernel.add(SimpleMemory("memory", specification))
    sink = kernel.add(ReplySink("sink", len(operations)))
    kernel.connect(source, "requests", memory, "requests", capacity=64)
    kernel.connect(memory, "replies", sink, "replies", capacity=64)
    kernel.run()
    return [cycle for _tag, cycle in sink.completions()], kernel.statistics()["memory"].counters


def test_the_simple_memory_moves_a_burst_in_its_share_of_the_time():
    cycles, counters = simple([READ_BURST, READ, READ_BURST, READ_BURST], burst_bytes=BURST)
    steps = [later - sooner for sooner, later in pairwise(cycles)]
    assert steps == [8, 4, 4]  # 64 and 32 bytes at 8 bytes a cycle
    assert (counters["read_bytes_0"], counters["data_bus_busy_0"]) == (LINE + 3 * BURST, 20)


def test_the_simple_memory_without_bursts_moves_lines():
    assert simple([READ_BURST] * 3)[0] == simple([READ] * 3)[0]


def test_writes_of_bursts_are_counted_by_what_they_move():
    _cycles, counters = simple([WRITE_BURST, WRITE], burst_bytes=BURST)
    assert (counters["writes"], counters["write_bytes_0"]) == (2, LINE + BURST)


def test_a_burst_out_of_range_is_refused():
    with pytest.raises(ValueError, match="burst_bytes must be from 0 to 64, not 65"):
        SimpleSpecification(10**9, burst_bytes=65)


@pytest.mark.parametrize("offset", [0, BURST, BURST + 12])
def test_a_channel_reads_the_burst_that_holds_the_address(offset):
    result = replay([(0, READ_BURST, offset)], SPECIFICATION)
    whole = replay([(0, READ, 0)], SPECIFICATION)
    counters = result.statistics.counters
    assert (counters["read_bytes_0"], counters["row_misses"], counters["row_hits"]) == (BURST, 1, 0)
    assert result.completions[0][1] < whole.completions[0][1]


def test_the_bandwidth_of_a_replay_is_that_of_the_bytes_that_move():
    for operation, size in ((READ, LINE), (WRITE, LINE), (READ_BURST, BURST), (WRITE_BURST, BURST)):
        result = replay([(0, operation, place * STRIDE) for place in range(20)], SPECIFICATION)
        seconds = result.last_completion_cycle / SPECIFICATION.clock_hertz
        assert result.bytes_per_second == pytest.approx(float(20 * size / seconds))


def test_a_channel_serves_twice_as_many_bursts_as_lines():
    def served(operation):
        trace = [(0, operation, place * STRIDE) for place in range(600)]
        return replay(trace, SPECIFICATION).last_completion_cycle

    assert served(READ_BURST) < 0.6 * served(READ)


def test_a_burst_that_was_written_is_read_from_the_queue():
    result = replay([(0, WRITE_BURST, BURST), (0, READ_BURST, BURST + 4)], SPECIFICATION, 2)
    assert result.statistics.counters["forwarded"] == 1
    assert result.statistics.counters["write_bytes_0"] == BURST


def test_a_line_written_by_bursts_is_that_of_two():
    result = replay([(0, WRITE_BURST, 0), (0, WRITE_BURST, BURST), (0, READ, 0)], SPECIFICATION, 3)
    assert result.statistics.counters["forwarded"] == 2
