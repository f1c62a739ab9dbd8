"""Memory in the loop: streams wait for their lines, none is lost, and what is written is counted."""

from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_stub import STRAYS, StrayMemory
from shuffled_memory import Shuffler, lines_of
from stream_checks import gaps, reference_streams, seeds

from fiberscope.hw.dram import SimpleMemory, SimpleSpecification
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.entry_exchange import EntryExchange
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER, NO_LINE
from fiberscope.hw.streams.line_fetch import BufferRoom, LineFetch
from fiberscope.hw.streams.line_writer import LineWriter, ReadBackWriter
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.subtree_fetch import SubtreeFetch
from fiberscope.hw.streams.testing import TimedSource, tokens_of, with_gaps, written
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.hw.streams.writers import ValuesWriter
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, check_accounting, random_stalls

LATENCY = 20


def fetched(tokens, memory, *, fetch=None, coordinates=None, capacity=None, seed=None, law=None):
    """The streams behind a fetch, and the fetch."""
    kernel = Kernel(**(law or {}))
    kernel.clock("core", 10**9)
    block = kernel.add(fetch or Fetch("fetch", 0, 8))
    kernel.add(memory)
    kernel.connect(block, "requests", memory, "requests", capacity=4)
    kernel.connect(memory, "replies", block, "replies", capacity=4)
    given_streams = {"in_ref": (REF, tokens)} | ({"in_crd": (CRD, coordinates)} if coordinates else {})
    sinks = {}
    for number, (port, (carries, stream)) in enumerate(given_streams.items()):
        source = kernel.add(TimedSource(f"source.{port}", carries, stream))
        kernel.connect(source, "out", block, port, capacity=capacity)
        out = port.replace("in", "out")
        sinks[out] = kernel.add(
            StreamSink(f"sink.{out}", () if seed is None else random_stalls(seed + number))
        )
        kernel.connect(block, f"{out}[0]", sinks[out], "in", capacity=capacity)
    kernel.run(cycle_limit=100_000)
    check_accounting(kernel.statistics())
    return {out: written(sink, REF) for out, sink in sinks.items()}, block


def simple(latency=LATENCY, line_bytes=64, bytes_a_cycle=64):
    given_numbers = SimpleSpecification(bytes_a_cycle * 10**9, latency=latency, request_bytes=line_bytes)
    return SimpleMemory("memory", given_numbers)


def test_a_reference_waits_for_its_line_and_those_of_the_same_line_follow_at_once():
    streams, block = fetched(with_gaps([0, 1, 7, 8, "S0", "D"]), simple())
    cycles = [cycle for cycle, _token in streams["out_ref"]]
    assert tokens_of(streams["out_ref"]) == [0, 1, 7, 8, "S0", "D"]
    # Asked for in 0, seen by memory in 1, which moves it for a cycle and answers 20 later; seen here in 23.
    assert cycles == [23, 24, 25, 26, 27, 28]
    assert (block.lines, block.reused) == (2, 2)


@pytest.mark.parametrize("strays", STRAYS.values(), ids=STRAYS)
@pytest.mark.parametrize("kind", [Fetch, EntryExchange])
def test_a_reply_without_a_request_is_refused(kind, strays):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(Fetch("block", 0, 8) if kind is Fetch else EntryExchange("block", 0, entries=8))
    memory = kernel.add(StrayMemory("memory", strays))
    source = kernel.add(TimedSource("source", REF, with_gaps([3, "S0", "D"])))
    kernel.connect(source, "out", block, "in_ref" if kind is Fetch else "in_stream", capacity=2)
    kernel.connect(block, "requests", memory, "requests", capacity=4)
    kernel.connect(memory, "replies", block, "replies", capacity=4)
    with pytest.raises(SimulationError, match=r"^a reply for slot \d+, which has no open request"):
        kernel.run(cycle_limit=1000)


def test_lines_are_asked_for_while_others_are_on_their_way():
    far = [64 * place for place in range(8)]
    streams, _ = fetched(with_gaps([*far, "S0", "D"]), simple())
    assert [cycle for cycle, _ in streams["out_ref"]] == list(range(23, 33))


def test_no_more_are_on_their_way_than_may_be():
    far = [64 * place for place in range(8)]
    one_at_a_time = Fetch("fetch", 0, 8, outstanding=1)
    streams, _ = fetched(with_gaps([*far, "S0", "D"]), simple(), fetch=one_at_a_time)
    cycles = [cycle for cycle, _ in streams["out_ref"]][:8]
    assert [later - earlier for earlier, later in pairwise(cycles)] == [23] * 7


def test_segments_that_lie_in_two_lines_need_both():
    memory = Shuffler("memory", (5,))
    streams, block = fetched(with_gaps([7, 6, 15, "D"]), memory, fetch=Fetch("fetch", 0, 8, entries=2))
    assert memory.asked == [0, 64, 0, 64, 128]
    assert tokens_of(streams["out_ref"]) == [7, 6, 15, "D"]
    assert block.lines == 5


@given(
    tokens=reference_streams(elements=st.integers(0, 60) | st.just("N")),
    gap=gaps,
    seed=seeds,
    latencies=st.lists(st.integers(1, 30), max_size=7),
    numbers=st.fixed_dictionaries(
        {"entries": st.integers(1, 3), "window": st.integers(1, 5), "outstanding": st.integers(1, 5)}
    ),
    capacity=st.none() | st.integers(1, 3),
    paired=st.booleans(),
)
def test_no_token_is_lost_however_memory_answers(tokens, gap, seed, latencies, numbers, capacity, paired):
    coordinates = with_gaps(tokens, seed) if paired else None
    found = []
    for law in (None, {"order_seed": 1}, {"sleep": False}):
        memory = Shuffler("memory", latencies)
        streams, block = fetched(
            with_gaps(tokens, gap),
            memory,
            fetch=Fetch("fetch", 0, 8, line_bytes=16, **numbers),
            coordinates=coordinates,
            capacity=capacity,
            seed=seed,
            law=law,
        )
        for stream in streams.values():
            assert tokens_of(stream) == tokens
        assert block.lines == len(memory.asked)
        found.append((streams, block.counters(), memory.asked))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("what", "number"), [("entry_bytes", 0), ("window", 0), ("outstanding", -1)])
def test_numbers_below_one_are_refused(what, number):
    given_numbers = {"entry_bytes": 8} | {what: number}
    with pytest.raises(ValueError, match=f"fetch: {what} must be at least 1, not {number}"):
        Fetch("fetch", 0, **given_numbers)


def identity_with_memory(latency):
    """A vector through scanner, array and writer, with all arrays in one memory: cycles and traffic."""
    size = 100
    kernel = Kernel()
    kernel.clock("core", 10**9)
    root = kernel.add(Root("root"))
    scanner = kernel.add(CompressedScanner("scanner", Level([0, size], range(size))))
    array = kernel.add(ArrayLoad("array", [float(place) for place in range(size)]))
    writer = kernel.add(ValuesWriter("writer"))
    segments = kernel.add(Fetch("segments", 0, 4, entries=2))
    coordinates = kernel.add(Fetch("coordinates", 1 << 20, 4))
    values = kernel.add(Fetch("values", 1 << 21, 8))
    written = kernel.add(LineWriter("written", 1 << 22, 8))
    port, memory = kernel.add(Concentrator("port", 0)), kernel.add(simple(latency))
    for producer, output, consumer, input_ in (
        (root, "out_ref[0]", segments, "in_ref"),
        (segments, "out_ref[0]", scanner, "in_ref"),
        (scanner, "out_ref[0]", coordinates, "in_ref"),
        (scanner, "out_crd[0]", coordinates, "in_crd"),
        (coordinates, "out_ref[0]", values, "in_ref"),
        (values, "out_ref[0]", array, "in_ref"),
        (array, "out_val[0]", writer, "in_val"),
        (array, "out_val[1]", written, "in_stream"),
        (port, "requests", memory, "requests"),
        (memory, "replies", port, "replies"),
    ):
        kernel.connect(producer, output, consumer, input_, capacity=4)
    for number, requester in enumerate((segments, coordinates, values, written)):
        kernel.connect(requester, "requests", port, f"inputs[{number}]", capacity=4)
        if requester is not written:
            kernel.connect(port, f"outputs[{number}]", requester, "replies", capacity=4)
    run = kernel.run(cycle_limit=100_000)
    assert run.complete
    assert list(writer.values) == [float(place) for place in range(size)]
    return run.cycles, memory.read_bytes(0), memory.write_bytes(0)


def test_all_arrays_of_a_graph_may_lie_in_one_memory():
    cycles, read, written = identity_with_memory(LATENCY)
    # 2 segments of 4 bytes, 100 coordinates of 4, 100 values of 8; lines of 64 bytes.
    assert (read, written) == (64 * (1 + 7 + 13), 64 * 13)
    longer, *traffic = identity_with_memory(LATENCY + 100)
    assert traffic == [read, written]
    assert longer >= cycles + 300  # segments, coordinates and values wait for one another's first line


class TestLineWriter:
    @staticmethod
    def lines_of(tokens, **options):
        kernel = Kernel()
        kernel.clock("core", 10**9)
        source = kernel.add(TimedSource("source", CRD, with_gaps(tokens)))
        block = kernel.add(LineWriter("writer", 1 << 20, **options))
        sink = kernel.add(StreamSink("sink"))
        kernel.connect(source, "out", block, "in_stream", capacity=2)
        kernel.connect(block, "requests", sink, "in", capacity=2)
        kernel.run()
        return [address - (1 << 20) for _cycle, (_op, _tag, address, _) in sink.received], block

    def test_full_lines_and_what_is_left(self):
        tokens = [*range(9), "S0", *range(2), "S1", "D"]
        addresses, block = self.lines_of(tokens, entry_bytes=8, line_bytes=32)
        assert addresses == [0, 32, 64]
        assert (block.entries, block.lines) == (11, 3)

    def test_segments(self):
        tokens = [1, "S0", 2, "S0", 3, 4, "S1", "D"]
        addresses, block = self.lines_of(tokens, entry_bytes=4, line_bytes=8, of_stops=True)
        assert addresses == [0, 8]
        assert block.entries == 3

    def test_an_entry_larger_than_a_line_is_refused(self):
        with pytest.raises(ValueError, match="an element of 8 bytes should fit a line of 4 bytes"):
            LineWriter("writer", 0, 8, line_bytes=4)


def test_a_buffer_keeps_lines_until_a_stop_of_its_level():
    """References 0 to 3 lie in lines 0, 0, 1 and 5; one of level 1 or 2 empties the buffer."""
    memory = Shuffler("memory", (3,))
    fetch = LineFetch("fetch", 128, lines_of(0, 0, 1, 5), kept=True, lets_go=1)
    tokens = [0, 2, 1, "S0", 3, 2, "S1", 2, 3, "S2", 2, "D"]
    streams, block = fetched(with_gaps(tokens), memory, fetch=fetch)
    assert tokens_of(streams["out_ref"]) == tokens
    assert memory.asked == [128, 192, 448, 192, 448, 192]
    assert (block.lines, block.reused) == (6, 2)


def test_without_a_buffer_the_line_asked_for_last_is_kept():
    memory = Shuffler("memory", (3,))
    fetch = LineFetch("fetch", 0, lines_of(0, 0, 1), line_bytes=8)
    fetched(with_gaps([0, 1, 2, 1, "D"]), memory, fetch=fetch)
    assert memory.asked == [0, 8, 0]


def test_what_is_known_to_be_absent_is_not_asked_for_and_a_buffer_may_keep_nothing():
    memory = Shuffler("memory", (3,))
    fetch = LineFetch("fetch", 0, lines_of(0, NO_LINE, 0), line_bytes=8, kept=True, lets_go=EACH)
    streams, block = fetched(with_gaps([0, 1, 2, "D"]), memory, fetch=fetch)
    assert tokens_of(streams["out_ref"]) == [0, 1, 2, "D"]
    assert memory.asked == [0, 0]
    assert block.reused == 1


def test_a_fiber_waits_for_all_of_its_lines_that_are_not_there():
    """Fibers of lines 0 to 2, of none, of 2 and 3; the last again when the buffer has been emptied."""
    memory = Shuffler("memory", (3,))
    lines, segments = lines_of(0, 1, 1, 2, 2, 3), lines_of(0, 4, 4, 6)
    fetch = LineFetch("fetch", 0, lines, segments=segments, line_bytes=8, kept=True, lets_go=1)
    streams, block = fetched(with_gaps([0, 1, 2, "S1", 2, "D"]), memory, fetch=fetch)
    assert tokens_of(streams["out_ref"]) == [0, 1, 2, "S1", 2, "D"]
    assert memory.asked == [0, 8, 16, 24, 16, 24]
    assert (block.lines, block.reused) == (6, 1)


def test_a_keeper_reads_the_lines_that_have_left():
    """Lines of two entries: of entries 1, 0, 3 and 4 the last is in a line that is not full."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    stream = kernel.add(TimedSource("stream", CRD, with_gaps([7, 7, 7, 7, 7, "D"])))
    again = kernel.add(TimedSource("again", CRD, [(30, 1), (31, 0), (32, 3), (33, 4), (34, "D")]))
    keeper = kernel.add(ReadBackWriter("keeper", 1 << 20, 1, line_bytes=8, row=1, rows=2))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(stream, "out", keeper, "in_stream", capacity=None)
    kernel.connect(again, "out", keeper, "in_again", capacity=None)
    kernel.connect(keeper, "requests", sink, "in", capacity=2)
    kernel.run()
    asked = [(operation, address - (1 << 20)) for _cycle, (operation, _tag, address, _) in sink.received]
    assert asked == [(WRITE, 0), (WRITE, 8), (READ, 0), (READ, 8), (WRITE, 16)]
    assert (keeper.lines, keeper.lines_read) == (3, 2)


@given(
    tokens=reference_streams(elements=st.integers(0, 9)),
    table=st.lists(st.integers(0, 5) | st.just(NO_LINE), min_size=10, max_size=10),
    level=st.sampled_from([0, 1, EACH, NEVER]),
    latencies=st.lists(st.integers(1, 30), max_size=7),
    room=st.none() | st.integers(0, 4),
)
def test_lines_are_those_of_a_plain_buffer(tokens, table, level, latencies, room):
    """One that holds so many lines; what was asked for last is there too, until the buffer is emptied."""
    asked, kept, last, overflows = [], set(), None, 0
    for token in tokens:
        if isinstance(token, int):
            kept, last = (set(), None) if level == EACH else (kept, last)
            if table[token] not in (NO_LINE, last, *kept):
                last = table[token]
                asked.append(16 * last)
                if room is None or len(kept) < room:
                    kept.add(last)
                else:
                    overflows += 1
        elif token[0] == "S" and level != EACH and int(token[1:]) >= level:
            kept, last = set(), None
    memory, options = Shuffler("memory", latencies), {"line_bytes": 16, "lets_go": level, "outstanding": 3}
    shared = None if room is None else BufferRoom(room)
    fetch = LineFetch("fetch", 0, lines_of(*table), kept=True, room=shared, **options)
    streams, block = fetched(with_gaps(tokens), memory, fetch=fetch)
    assert tokens_of(streams["out_ref"]) == tokens
    assert (memory.asked, block.overflows) == (asked, overflows)


def test_who_fetches_into_a_buffer_shares_its_room_until_lines_are_let_go():
    """Room for two: the second fetch finds one place, and two when the first's lines have gone."""
    room = BufferRoom(2)
    first, second = (
        LineFetch(name, 0, lines_of(0, 1, 2), line_bytes=8, kept=True, lets_go=1, room=room)
        for name in ("first", "second")
    )
    _streams, block = fetched(with_gaps([0, "D"]), Shuffler("memory", (3,)), fetch=first)
    memory = Shuffler("memory", (3,))
    _streams, other = fetched(with_gaps([0, 1, 2, 1, 0, "S1", 0, 1, 0, "D"]), memory, fetch=second)
    assert memory.asked == [0, 8, 16, 8, 0, 8]
    assert (block.overflows, other.overflows, room.free) == (0, 4, 0)


def test_what_lingers_has_room_until_it_goes():
    """Line 0 lingers behind the first stop, is met again behind it, and keeps line 2 out until then."""
    room = BufferRoom(2)
    options = {"kept": True, "lets_go": 0, "lingers": True, "room": room}
    fetch = LineFetch("fetch", 0, lines_of(0, 1, 2), line_bytes=8, **options)
    memory = Shuffler("memory", (3,))
    fetched(with_gaps([0, 1, "S0", 0, 2, "S0", 2, "S0", 1, "S0", "S1", "D"]), memory, fetch=fetch)
    assert memory.asked == [0, 8, 16, 16, 8]
    assert (fetch.overflows, room.free) == (1, 2)


def lines_written(stream, **options):
    """Addresses of the lines that a writer asks to write, and the cycle in which it is done."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source = kernel.add(TimedSource("source", CRD, with_gaps(stream)))
    writer = kernel.add(LineWriter("writer", 64, 1, line_bytes=8, **options))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(source, "out", writer, "in_stream", capacity=None)
    kernel.connect(writer, "requests", sink, "in", capacity=None)
    kernel.run()
    return [reference for _cycle, (_control, _tag, reference, _value) in sink.received]


def test_each_fiber_begins_a_row_and_a_row_that_is_begun_can_end_a_line():
    """Rows of two entries, two in a line: of fibers of 3, 1 and 2 the first fills a line by its last row."""
    assert lines_written([1, 2, 3, "S0", 4, "S0", 5, 6, "S1", "D"], row=2, rows=2) == [64, 72]
    assert lines_written([1, 2, 3, "S0", 4, "S0", 5, "S1", "D"], row=2, rows=2) == [64, 72]
    assert lines_written([1, "S0", 4, "S0", 5, "S1", "D"], row=2, rows=2) == [64, 72]


@pytest.mark.parametrize(("level", "lines"), [(0, [64, 72]), (1, [64]), (NEVER, [64])])
def test_only_stops_of_a_level_end_a_row(level, lines):
    """Three entries, each before a stop of level 0, in rows of two entries, two in a line."""
    assert lines_written([1, "S0", 2, "S0", 3, "S0", "D"], row=2, rows=2, level=level) == lines


def test_stops_of_a_level_have_entries_and_pages_of_several_lie_in_turn():
    assert lines_written([1, "S0", "S1", "S0", "S1", "D"], of_stops=True, level=1, row=1, rows=1) == [64, 72]
    stream = [1, 2, 3, 4, 5, "S0", "D"]
    assert lines_written(stream, row=1, rows=1, page_lines=2, pages=3) == [64, 72, 112, 120, 160]


def subtrees(window=4):
    """Three subtrees in two arrays: lines 0 to 1 and 8, then line 2 alone, then none."""
    numbers = [(0, 1), (8, 8), (2, 2), (9, NO_LINE), (3, NO_LINE), (9, NO_LINE)]
    first, last = ((memoryview(array("q", column))) for column in zip(*numbers, strict=True))
    return SubtreeFetch("fetch", first, last, 2, window=window)


def test_a_reference_waits_for_all_lines_of_its_subtree_in_every_array():
    memory = Shuffler("memory", (5,))
    streams, block = fetched(with_gaps([0, "S0", 1, "S0", 2, "S0", "D"]), memory, fetch=subtrees())
    assert memory.asked == [0, 64, 8 * 64, 2 * 64]
    assert tokens_of(streams["out_ref"]) == [0, "S0", 1, "S0", 2, "S0", "D"]
    assert (block.lines, block.reused) == (4, 0)


def test_a_subtree_that_came_last_is_not_asked_for_again():
    memory = Shuffler("memory", (5,))
    streams, block = fetched(with_gaps([1, "S0", 1, "S0", 0, "S0", 1, "D"]), memory, fetch=subtrees())
    assert memory.asked == [2 * 64, 0, 64, 8 * 64, 2 * 64]
    assert tokens_of(streams["out_ref"]) == [1, "S0", 1, "S0", 0, "S0", 1, "D"]
    assert (block.lines, block.reused) == (5, 1)


def test_subtrees_are_asked_for_as_far_ahead_as_references_wait():
    """The reply to a line comes 20 cycles after it; four references in a window of four wait side by side."""
    stream = with_gaps([0, 1, 0, 1, "D"])
    cycles = [fetched(stream, simple(), fetch=subtrees(window))[0]["out_ref"][3][0] for window in (1, 4)]
    assert cycles[0] > 4 * LATENCY > 2 * LATENCY > cycles[1]
