"""Each entry that a stream names is read and then written, in the order of the stream."""

from hypothesis import given
from hypothesis import strategies as st
from shuffled_memory import Shuffler
from stream_checks import gaps, reference_streams

from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.streams.entry_exchange import EntryExchange
from fiberscope.hw.streams.testing import TimedSource, with_gaps
from fiberscope.hw.streams.tokens import CRD
from fiberscope.sim import Kernel
from fiberscope.sim.testing import check_accounting

BASE = 1 << 20


class ReadMemory(Shuffler):
    """A memory that answers reads in any order, and notes all requests with their cycles."""

    def __init__(self, name, latencies):
        super().__init__(name, latencies)
        self.requested = []

    def tick(self, now):
        while self.requests.can_pop():
            operation, slot, address = (
                self.requests.control(),
                self.requests.coordinate(),
                self.requests.reference(),
            )
            self.requested.append((now, operation, address - BASE))
            if operation == READ:
                latency = self.latencies[len(self.requested) % len(self.latencies)]
                self.waiting.append((now + latency, slot, address))
            self.requests.pop()
        return super().tick(now)


def exchanged(tokens, latencies, law=None, **options):
    """The requests of a block for this stream, with their cycles, and the block."""
    kernel = Kernel(**(law or {}))
    kernel.clock("core", 10**9)
    source = kernel.add(TimedSource("source", CRD, tokens))
    block = kernel.add(EntryExchange("block", BASE, line_bytes=16, **options))
    memory = kernel.add(ReadMemory("memory", latencies))
    kernel.connect(source, "out", block, "in_stream", capacity=2)
    kernel.connect(block, "requests", memory, "requests", capacity=2)
    kernel.connect(memory, "replies", block, "replies", capacity=2)
    kernel.run(cycle_limit=100_000)
    check_accounting(kernel.statistics())
    assert block.done
    return memory.requested, block


def test_the_line_of_an_entry_is_read_and_written():
    """Of four entries in a line, 5 and 6 share line 1. A write leaves 5 cycles after its read."""
    requested, block = exchanged(with_gaps([5, "S0", 6, "N", "S1", "D"]), (3,), entries=4, outstanding=1)
    assert [(operation, address) for _now, operation, address in requested] == [(READ, 16), (WRITE, 16)] * 2
    assert [now for now, _operation, _address in requested] == [2, 7, 8, 13]
    assert block.counters() == {"exchanges": 2}


@given(
    tokens=reference_streams(elements=st.integers(0, 60) | st.just("N")),
    gap=gaps,
    latencies=st.lists(st.integers(1, 30), max_size=7),
    outstanding=st.integers(1, 5),
)
def test_each_entry_is_read_once_and_then_written(tokens, gap, latencies, outstanding):
    found = []
    for law in (None, {"order_seed": 1}, {"sleep": False}):
        options = {"entries": 3, "outstanding": outstanding}
        requested, block = exchanged(with_gaps(tokens, gap), latencies, law, **options)
        lines = [16 * (token // 3) for token in tokens if isinstance(token, int)]
        reads, writes = (
            [(now, line) for now, operation, line in requested if operation == wanted]
            for wanted in (READ, WRITE)
        )
        assert [line for _now, line in reads] == [line for _now, line in writes] == lines
        assert all(read[0] < write[0] for read, write in zip(reads, writes, strict=True))
        begun = 0
        for _now, operation, _line in requested:
            begun += 1 if operation == READ else -1
            assert 0 <= begun <= outstanding
        found.append((requested, block.counters()))
    assert found[0] == found[1] == found[2]
