"""The reader of lines: what is wanted leaves in order; a line whose buffer is free again is read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_stub import MemoryStub

from fiberscope.accelerators.graphicionado.line_reader import LineReader
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource, check_accounting

LINE_BYTES = 64


def bench(wanted, gaps=(), latencies=(3,), buffers=2, waiting=4, slow=()):
    """A reader between who wants lines, ``gaps`` cycles apart, a memory, and who takes them."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    reader = kernel.add(LineReader("reader", 0, line_bytes=LINE_BYTES, lines=buffers, max_waiting=waiting))
    source = kernel.add(StreamSource("source", wanted, gaps))
    memory = kernel.add(MemoryStub("memory", latencies))
    sink = kernel.add(StreamSink("sink", slow))
    kernel.connect(source, "out", reader, "wanted", capacity=2)
    kernel.connect(reader, "requests", memory, "requests", capacity=2)
    kernel.connect(memory, "replies", reader, "replies", capacity=2)
    kernel.connect(reader, "here", sink, "in", capacity=2)
    return kernel, reader, memory, sink


def run(*arguments, **options):
    kernel, reader, memory, sink = bench(*arguments, **options)
    assert kernel.run(cycle_limit=100_000).complete
    check_accounting(kernel.statistics())
    return reader, memory, sink


def want(line, what=0):
    return (DATA, line, what, 0.0)


@pytest.mark.parametrize(
    ("gap", "lines"),
    [pytest.param(0, 1, id="while it is held"), pytest.param(40, 2, id="when its buffer is free again")],
)
def test_a_line_that_is_wanted_twice_is_read_once_while_it_is_held(gap: int, lines: int) -> None:
    reader, memory, sink = run([want(5, 1), want(5, 2)], gaps=(gap,))
    assert [token[1:3] for _cycle, token in sink.received] == [(5, 1), (5, 2)]
    assert [entry[2] for entry in memory.log] == [5] * lines
    assert (reader.lines, reader.served) == (lines, 2)


def test_behind_a_stop_a_line_that_is_held_is_read_anew() -> None:
    reader, memory, _sink = run([want(5), (STOP, 0, 0, 0.0), want(5)], latencies=(20,))
    assert [entry[2] for entry in memory.log] == [5, 5]
    assert (reader.lines, reader.served) == (2, 2)


BENCHES = given(
    lines=st.lists(st.integers(0, 3) | st.none(), max_size=30),
    gaps=st.lists(st.integers(0, 12), min_size=1, max_size=7),
    latencies=st.lists(st.integers(1, 15), min_size=1, max_size=5),
    buffers=st.integers(1, 4),
    waiting=st.integers(1, 6),
    slow=st.lists(st.integers(0, 6), min_size=1, max_size=5),
)


def tokens_of(lines):
    return [(STOP, 0, 0, 0.0) if line is None else want(line, at) for at, line in enumerate(lines)]


@BENCHES
def test_what_is_wanted_leaves_in_order_behind_its_line(
    lines, gaps, latencies, buffers, waiting, slow
) -> None:
    """A line is asked for once or more for wants of it in a row, and at most once for each."""
    wanted = tokens_of(lines)
    reader, memory, sink = run(wanted, gaps, latencies, buffers, waiting, slow)
    assert [token for _cycle, token in sink.received] == wanted
    asked = [entry[2] for entry in memory.log]
    runs = [line for before, line in zip([None, *lines], lines, strict=False) if line not in (None, before)]
    assert set(asked) == set(runs)
    assert len(runs) <= len(asked) == reader.lines <= reader.served == sum(line is not None for line in lines)


@BENCHES
def test_a_token_waits_only_while_every_buffer_has_a_line_that_is_needed(
    lines, gaps, latencies, buffers, waiting, slow
) -> None:
    """A line is needed until the last of the tokens that want it has left, whatever follows that token."""
    kernel, reader, _memory, _sink = bench(tokens_of(lines), gaps, latencies, buffers, waiting, slow)
    kernel.build()
    wanted, here, requests = (reader.channel(port) for port in ("wanted", "here", "requests"))
    line_numbers = []  # by token taken: number of lines requested up to it, None for a stop
    while kernel.step():
        taken = wanted.pops > len(line_numbers)
        if taken:
            line_numbers.append(None if lines[len(line_numbers)] is None else reader.lines)
        waits = not taken and wanted.occupancy > 0 and wanted.arrival(0) <= kernel.cycle
        if waits and reader.held < waiting and requests.free() > 0:
            needed = set(line_numbers[here.pushes :]) - {None}
            assert len(needed) == buffers
    assert len(line_numbers) == len(lines)
