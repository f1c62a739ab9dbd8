"""The simple memory: exact latency and bandwidth, in odd ratios too."""

import math
from fractions import Fraction

import pytest

from fiberscope.hw.dram import SimpleMemory, SimpleSpecification
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource, reads_of
from fiberscope.hw.memory.protocol import FETCH, READ, WRITE
from fiberscope.sim import ComponentStatistics, Kernel, SimulationError

Outcome = tuple[tuple[tuple[int, int], ...], ComponentStatistics, int]


def run(
    trace: list[Request], specification: SimpleSpecification, *, sleep: bool = True, room: int = 64
) -> Outcome:
    kernel = Kernel(sleep=sleep)
    kernel.clock("core", specification.clock_hertz)
    source = kernel.add(TraceSource("source", trace, 4))
    memory = kernel.add(SimpleMemory("memory", specification))
    sink = kernel.add(ReplySink("sink", reads_of(trace)))
    kernel.connect(source, "requests", memory, "requests", capacity=8)
    kernel.connect(memory, "replies", sink, "replies", capacity=room)
    cycles = kernel.run().cycles
    return sink.completions(), kernel.statistics()["memory"], cycles


def test_one_read_takes_its_latency_and_its_transfer() -> None:
    specification = SimpleSpecification(bytes_per_second=16 * 10**9, latency=50)
    completions, statistics, _cycles = run([(10, READ, 128)], specification)
    assert completions == ((0, 10 + 1 + 4 + 50),)  # seen one cycle after it was made
    assert statistics.counters["read_latency"] == 1 + 4 + 50


@pytest.mark.parametrize("bandwidth", [10**9, 7 * 10**9, 68256 * 2**30 // 1000, 128 * 2**30, 300 * 10**9])
def test_a_stream_gets_the_whole_bandwidth_and_no_more(bandwidth: int) -> None:
    specification = SimpleSpecification(bytes_per_second=bandwidth, latency=20, queue=512)
    count = 3000
    completions, statistics, _cycles = run([(0, READ, place * 64) for place in range(count)], specification)
    transfers = completions[-1][1] - 1 - 20
    least = Fraction(count * 64 * 10**9, bandwidth)
    made = Fraction(count, 4)  # cycles in which the source makes them
    assert max(least, made) <= transfers + 1
    assert transfers <= max(least, made) + 2
    assert statistics.counters["data_bus_busy_0"] == math.ceil(least)


@pytest.mark.parametrize("bandwidth", [10**9, 7 * 10**9, 68256 * 2**30 // 1000, 128 * 2**30])
def test_a_read_is_answered_in_the_first_cycle_behind_its_transfer_and_the_latency(bandwidth: int) -> None:
    """Of reads without a pause, whose transfers end exactly: a multiple of one, however odd."""
    specification = SimpleSpecification(bytes_per_second=bandwidth, latency=20, queue=512)
    completions, statistics, _cycles = run([(0, READ, place * 64) for place in range(300)], specification)
    transfer = Fraction(64 * 10**9, bandwidth)
    assert completions == tuple((place, 1 + math.ceil((place + 1) * transfer) + 20) for place in range(300))
    assert statistics.counters["reads"] == 300


@pytest.mark.parametrize("queue", [1, 3, 13, 14, 40])
def test_as_many_reads_are_on_their_way_as_the_queue_holds(queue: int) -> None:
    """Of reads without a pause, one begins in the cycle after the reply of the one ``queue`` before it."""
    specification = SimpleSpecification(bytes_per_second=16 * 10**9, latency=50, queue=queue)
    completions, _statistics, _cycles = run([(0, READ, place * 64) for place in range(150)], specification)
    cycles = [cycle for _tag, cycle in completions]
    round_trip = max(1 + 4 + 50, 4 * queue)  # or the transfers of those between, if they take longer
    steps = {later - sooner for sooner, later in zip(cycles, cycles[queue:], strict=False)}
    assert steps == {round_trip}


@pytest.mark.parametrize("room", [1, 64])
def test_sleeping_changes_nothing(room: int) -> None:
    trace = [(place * 7 % 90 + place, WRITE if place % 3 == 0 else READ, place * 64) for place in range(200)]
    trace.sort(key=lambda request: request[0])
    specification = SimpleSpecification(bytes_per_second=7 * 10**9, latency=33, queue=5)
    assert run(trace, specification, room=room) == run(trace, specification, room=room, sleep=False)


def test_a_latency_in_nanoseconds_is_rounded_up_to_cycles() -> None:
    assert SimpleSpecification.cycles(100, 10**9) == 100
    assert SimpleSpecification.cycles(33, 512 * 2**20) == 18


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes_per_second must be above 0, not 0"):
        SimpleSpecification(bytes_per_second=0)
    for operation, name in ((FETCH, "fetch"), (8, "operation 8"), (-1, "operation -1")):
        with pytest.raises(SimulationError, match=f"memory: {name} is no operation of memory"):
            run([(0, operation, 0)], SimpleSpecification(bytes_per_second=10**9))
    with pytest.raises(SimulationError, match="memory: address 0x90000000000 names tensor 9"):
        run([(0, READ, 9 << 40)], SimpleSpecification(bytes_per_second=10**9))
