"""The stream prefetcher: against ranges under any memory, lines by arithmetic, small runs by the cycle."""

import pytest
from fibers import STOP_TOKEN
from hypothesis import given
from hypothesis import strategies as st
from memory_stub import MemoryStub

from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.prefetch_protocol import OPEN
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Component, Input, Kernel, Output, SimulationError
from fiberscope.sim.protocol import ANY
from fiberscope.sim.testing import StreamSink, StreamSource, check_accounting, random_stalls


class Stopper(Component):
    """Takes elements; sends a stop when it sees the last that it wants of an open job."""

    PORTS = (Input("elements", ANY), Output("stops", ANY))

    def __init__(self, name, wanted):
        super().__init__(name)
        self.wanted = list(wanted)  # by job, the number of its elements; -1 for one that ends by itself
        self.received = []
        self.taken = 0

    def tick(self, now):
        if not self.elements.can_pop():
            return self.idle()
        token = (self.elements.control(), self.elements.coordinate(), 0, 0.0)
        self.received.append((now, token))
        if token[0] == STOP:
            self.taken = 0
            self.wanted.pop(0)
        else:
            self.taken += 1
            if self.taken == self.wanted[0]:
                self.stops.push(0)
        self.elements.pop()
        return self.busy(now + 1)


def run(block, jobs, latencies=(10,), *, wanted=None, capacity=2, seed=None, **options):
    """A prefetcher between a source of jobs, a memory and who takes the elements; and the kernel."""
    kernel = Kernel(**options)
    kernel.clock("core", 10**9)
    kernel.add(block)
    stalls = () if seed is None else random_stalls(seed)
    source = kernel.add(StreamSource("source", [(0, *job, 0.0) for job in jobs], stalls))
    memory = kernel.add(MemoryStub("memory", latencies))
    kernel.connect(source, "out", block, "jobs", capacity=capacity)
    kernel.connect(block, "requests", memory, "requests", capacity=capacity)
    kernel.connect(memory, "replies", block, "replies", capacity=capacity)
    if wanted is None:
        sink = kernel.add(StreamSink("sink", () if seed is None else random_stalls(seed + 1)))
        kernel.connect(block, "elements", sink, "in", capacity=capacity)
    else:
        sink = kernel.add(Stopper("sink", wanted))
        kernel.connect(block, "elements", sink, "elements", capacity=capacity)
        kernel.connect(sink, "stops", block, "stops", capacity=len(wanted) + 1)
    kernel.run(cycle_limit=100_000)
    check_accounting(kernel.statistics())
    return sink.received, memory.log, kernel


def tokens(received):
    return [token for _, token in received]


def elements_of(jobs):
    found = []
    for first, end in jobs:
        found += [(DATA, element, 0, 0.0) for element in range(first, end)] + [STOP_TOKEN]
    return found


def lines_of(jobs, size):
    return [
        line for first, end in jobs if end > first
        for line in range(first * size // 64, (end * size - 1) // 64 + 1)
    ]  # fmt: skip


jobs_of = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 5, 12, 40])).map(lambda job: (job[0], sum(job))),
    max_size=10,
)
memories = st.sampled_from([(1,), (10,), (3, 25, 1, 9)])


@given(
    jobs=jobs_of, size=st.sampled_from([4, 8, 12, 24, 64]), lines=st.integers(1, 5), latencies=memories,
    capacity=st.integers(1, 4), seed=st.none() | st.integers(0, 99),
)  # fmt: skip
def test_elements_come_in_order_and_each_line_once_a_job(jobs, size, lines, latencies, capacity, seed):
    def ran(**options):
        block = StreamPrefetcher("block", 1 << 40, size, port=3, lines=lines)
        received, log, kernel = run(block, jobs, latencies, capacity=capacity, seed=seed, **options)
        return received, log, kernel.statistics()

    found = ran()
    received, log, statistics = found
    assert tokens(received) == elements_of(jobs)
    asked = lines_of(jobs, size)
    assert [(kind, line - (1 << 34)) for _, kind, line, _ in log] == [(READ, line) for line in asked]
    assert {tag >> PORT_SHIFT for *_, tag in log} <= {3}
    assert statistics["block"].counters == {
        "lines": len(asked),
        "fetched_bytes": 64 * len(asked),
        "used_bytes": size * sum(end - first for first, end in jobs),
    }
    assert ran(sleep=False) == ran(order_seed=1) == found


@given(
    jobs=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40), st.booleans()), max_size=8),
    size=st.sampled_from([4, 12, 64]), lines=st.integers(1, 5), latencies=memories,
    capacity=st.integers(1, 4),
)  # fmt: skip
def test_open_jobs_are_stopped_and_what_was_read_ahead_is_dropped(jobs, size, lines, latencies, capacity):
    given_jobs = [(first, OPEN if is_open else first + count) for first, count, is_open in jobs]
    wanted = [count if is_open else -1 for _, count, is_open in jobs]
    block = StreamPrefetcher("block", 0, size, lines=lines)
    received, log, _ = run(block, given_jobs, latencies, wanted=wanted, capacity=capacity)
    left = tokens(received)
    for first, count, is_open in jobs:
        end = left.index(STOP_TOKEN)
        assert [token[1] for token in left[:end]] == [*range(first, first + end)]
        assert end >= count if is_open else end == count
        left = left[end + 1 :]
    assert left == []
    assert block.fetched_bytes == 64 * len(log)
    assert block.used_bytes == size * (len(received) - len(jobs))


def test_lines_are_asked_for_while_a_buffer_is_free():
    """16 elements a line, memory of 10 cycles, four buffers: one is asked for when one is used up."""
    received, log, _ = run(StreamPrefetcher("block", 0, 4), [(0, 96)], capacity=8)
    # The job is taken in 1. A request of 2 is at memory in 3, answered in 13, here in 14, used from 15 on.
    assert [cycle for cycle, *_ in log] == [3, 4, 5, 6, 32, 48]
    assert [cycle for cycle, _ in received] == [*range(16, 113)]


def test_a_restart_costs_one_latency():
    received, log, _ = run(StreamPrefetcher("block", 0, 64, lines=2), [(0, OPEN), (50, 51)], wanted=[1, -1])
    # Element 0 is seen in 16; the stop it asks for is taken in 17, when its line and the next are here.
    assert received[0] == (16, (DATA, 0, 0, 0.0))
    stop = next(cycle for cycle, token in received if token == STOP_TOKEN)
    asked = next(cycle for cycle, _, line, _ in log if line == 50)
    assert (asked - stop, received[-2][0] - asked) == (2, 13)


def test_jobs_that_follow_are_read_ahead_of():
    jobs = [(16 * job, 16 * job + 2) for job in range(8)]
    together, _, _ = run(StreamPrefetcher("block", 0, 4), jobs, capacity=8)
    alone, _, _ = run(StreamPrefetcher("block", 0, 4, lines=1), jobs, capacity=8)
    assert tokens(together) == tokens(alone) == elements_of(jobs)
    assert 2.5 * together[-1][0] < alone[-1][0]


def test_prefetching_is_worth_as_much_as_lines_are_in_flight():
    times = {
        lines: run(StreamPrefetcher("block", 0, 16, lines=lines), [(0, 400)], (30,))[0][-1][0]
        for lines in (1, 2, 4)
    }
    assert times[1] > 1.9 * times[2] > 3.5 * times[4]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="block: an element of 65 bytes should fit a line of 64 bytes"):
        StreamPrefetcher("block", 0, 65)
    with pytest.raises(ValueError, match="block: base must be a multiple of 64, not 32"):
        StreamPrefetcher("block", 32, 4)
    with pytest.raises(ValueError, match="block: lines must be at least 1, not 0"):
        StreamPrefetcher("block", 0, 4, lines=0)
    with pytest.raises(SimulationError, match="block: there is no job from element 5 to 4"):
        run(StreamPrefetcher("block", 0, 4), [(5, 4)])


def test_planted_a_prefetcher_that_loses_a_job_is_found():
    class Loses(StreamPrefetcher):
        def tick(self, now):
            if self.job_count == 1 and self.jobs.can_pop():
                self.jobs.pop()
                return self.busy(now + 1)
            return super().tick(now)

    jobs = [(0, 64), (3, 9)]
    assert tokens(run(Loses("block", 0, 4), jobs)[0]) != elements_of(jobs)
