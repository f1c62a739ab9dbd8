"""The reader of rows: elements in their order, every line asked for, as many in flight as there is room."""

from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_stub import LINE, MemoryStub
from scipy import sparse

from fiberscope.accelerators.testing import random_operands
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.fibers.row_reader import RowReader
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Component, Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, check_accounting, random_stalls

GIGAHERTZ = 10**9


class RowsOfA(Component):
    """Has each row of A at once, and keeps how many bytes were asked for, and when."""

    PORTS = (Input("jobs", JOB), Output("done", DONE))

    def __init__(self, name):
        super().__init__(name)
        self.asked, self.asked_at = [], []

    def tick(self, now):
        if not self.jobs.can_pop():
            return self.idle()
        if not self.done.can_push():
            return self.wait_output(self.done)
        self.asked.append(self.jobs.coordinate())
        self.asked_at.append(now)
        self.jobs.pop()
        self.done.push(0)
        return self.busy(now + 1)


def bench(a, b, rows, starts, element, lines, *, latencies, stalls=(), rows_ahead=4, **options):
    kernel = Kernel(**options)
    kernel.clock("core", GIGAHERTZ)
    operands = (CompressedRows(one.indptr, one.indices, one.data) for one in (a, b))
    sizes = {"starts": starts, "line_bytes": LINE, "element_bytes": element, "lines": lines}
    sizes["rows_ahead"] = rows_ahead
    reader = kernel.add(RowReader("reader", *operands, rows, 0, **sizes))
    parts = RowsOfA("a"), StreamSink("sink", stalls), MemoryStub("memory", latencies)
    stream, sink, memory = map(kernel.add, parts)
    kernel.connect(reader, "a_jobs", stream, "jobs", capacity=2)
    kernel.connect(stream, "done", reader, "a_done", capacity=2)
    kernel.connect(reader, "requests", memory, "requests", capacity=2)
    kernel.connect(memory, "replies", reader, "replies", capacity=2)
    kernel.connect(reader, "elements", sink, "in", capacity=2)
    kernel.build()
    assert kernel.run(cycle_limit=200_000).complete
    check_accounting(kernel.statistics())
    return reader, stream, sink, memory


def expected(a, b, rows, starts, element):
    """Tokens, and the addresses of the lines of each row of B that is named."""
    tokens, lines = [], []
    for row in rows:
        for place in range(a.indptr[row], a.indptr[row + 1]):
            k = a.indices[place]
            elements = range(b.indptr[k], b.indptr[k + 1])
            tokens += [(DATA, int(b.indices[e]), place, b.data[e]) for e in elements]
            end = starts[k] + len(elements) * element
            lines += range(starts[k] // LINE * LINE, end, LINE) if elements else []
        tokens.append((STOP, 0, 0, 0.0))
    return tokens, lines


@given(
    st.integers(0, 60),
    st.sampled_from([1, 8, 12, 64]),
    st.integers(2, 9),
    st.integers(1, 6),
    st.integers(0, 10**6),
    st.sampled_from([{}, {"sleep": False}, {"order_seed": 1}]),
)
def test_every_element_leaves_in_its_order(nonzeros, element, lines, rows_ahead, seed, options):
    a, b = random_operands(9, 8, 12, nonzeros, seed)
    rows = np.random.default_rng(seed).permutation(9)[:5].tolist()
    starts = (np.asarray(b.indptr) * element + 1024).tolist()
    latencies = [latency + 1 for latency in random_stalls(seed, longest=30)]
    stalls = {"latencies": latencies, "stalls": random_stalls(seed + 1)}
    options = {**options, "rows_ahead": rows_ahead}
    reader, stream, sink, memory = bench(a, b, rows, starts, element, lines, **stalls, **options)
    tokens, addresses = expected(a, b, rows, starts, element)
    assert [token for _cycle, token in sink.received] == tokens
    assert [reference for _cycle, (_control, _tag, reference, _value) in memory.received] == addresses
    assert stream.asked == [int(a.indptr[row + 1] - a.indptr[row]) * element for row in rows]
    assert reader.lines_read == len(addresses)
    stops = [cycle for cycle, (control, *_) in sink.received if control == STOP]
    for row, cycle in enumerate(stream.asked_at):
        assert row - bisect_right(stops, cycle) < rows_ahead + 3  # stops in the channel before the sink


@pytest.mark.parametrize("lines", [2, 8, 64])
def test_as_many_lines_are_in_flight_as_there_is_room(lines):
    """Of 64 lines of an element each, behind a latency of 30, all that there is room for come together."""
    a, _b = random_operands(1, 1, 1, 1)
    b = sparse.csr_array((np.ones(64), np.arange(64), [0, 64]), shape=(1, 64))
    _reader, _stream, sink, _memory = bench(a, b, [0], [0], LINE, lines, latencies=[30])
    cycles = sink.received[-1][0] - sink.received[0][0]
    assert 64 // lines * 30 - 30 <= cycles <= 64 // lines * 40 + 64


def test_room_for_less_than_an_element_is_refused():
    a, b = random_operands(1, 1, 1, 1)
    with pytest.raises(ValueError, match="an element of 100 bytes may touch 3 lines, not 2"):
        bench(a, b, [0], [0], 100, 2, latencies=[1])


@pytest.mark.parametrize("rows_ahead", [1, 3, 8])
def test_as_many_rows_of_a_are_read_ahead_as_there_is_room(rows_ahead):
    """Behind a sink that takes a token in 50 cycles, no more rows of A come than there is room for."""
    a, b = (sparse.csr_array(np.eye(40)) for _ in range(2))
    starts = (np.arange(40) * LINE).tolist()
    stalls = {"latencies": [3], "stalls": [50], "rows_ahead": rows_ahead}
    _reader, stream, sink, _memory = bench(a, b, range(40), starts, LINE, 8, **stalls)
    stops = [cycle for cycle, (control, *_) in sink.received if control == STOP]
    ahead = [bisect_right(stream.asked_at, cycle) - row for row, cycle in enumerate(stops[:30])]
    assert set(ahead[2:]) <= {rows_ahead, rows_ahead + 1}  # a stop in the channel before the sink has left


def test_a_reader_without_room_for_a_row_of_a_is_refused():
    a, b = random_operands(1, 1, 1, 1)
    with pytest.raises(ValueError, match="rows_ahead=0: it should be 1 or more"):
        bench(a, b, [0], [0], 1, 2, latencies=[1], rows_ahead=0)


def test_lines_that_were_not_sent_on_take_room():
    """Behind a sink that takes an element in 50 cycles, no more lines come than there is room for."""
    a, _b = random_operands(1, 1, 1, 1)
    b = sparse.csr_array((np.ones(64), np.arange(64), [0, 64]), shape=(1, 64))
    _reader, _stream, sink, memory = bench(a, b, [0], [0], LINE, 8, latencies=[3], stalls=[50])
    asked = [cycle for cycle, _token in memory.received]
    ahead = [bisect_right(asked, cycle) - n for n, (cycle, _token) in enumerate(sink.received[:50])]
    assert set(ahead[1:]) <= set(range(8, 8 + 4))  # those in the channel before the sink have been sent on
