"""Fibers of tasks into the ways of a merger: each whole, with its lines from memory once, in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_stub import STRAYS, StrayMemory
from shuffled_memory import Shuffler, lines_of

from fiberscope.hw.memory.protocol import REQUEST
from fiberscope.hw.streams.fiber_heads import FiberHeads
from fiberscope.hw.streams.merge_lists import PARTIAL, Lists
from fiberscope.hw.streams.testing import TimedSource, with_gaps
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, REF, STOP
from fiberscope.hw.streams.way_lines import ArrayLines, WayLines
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, check_accounting, random_stalls, run_block

RADIX = 4
LINE = 16  # bytes: two rows of two entries


def rows_of(lengths):
    """The row in which each fiber begins: two entries to a row."""
    return lines_of(*np.append(0, np.cumsum(-(-np.array(lengths) // 2))))


def handed(lengths, tasks, *, memories=0, latencies=(), seed=None, ahead=2, law=None, strays=()):
    """What comes on each way, the ways of each merge, and the lines asked for of each array."""
    segments = np.append(0, np.cumsum(lengths))
    elements = np.arange(segments[-1])
    arrays = [ArrayLines(place << 20, LINE, rows_of(lengths), 2, 2) for place in range(memories)]
    kernel = Kernel(**(law or {}))
    kernel.clock("core", 10**9)
    args = (segments, elements, elements * 0.5, Lists(0), arrays)
    ways = kernel.add(FiberWays("ways", RADIX, *args, ahead=ahead))
    references = [token for task in tasks for token in (*task, "S0")]
    for port, carries in (("in_crd", CRD), ("in_ref", REF)):
        source = kernel.add(TimedSource(f"source.{port}", carries, with_gaps([*references, "D"])))
        kernel.connect(source, "out", ways, port, capacity=None)
    partials = kernel.add(TimedSource("source.partials", PARTIAL, []))
    kernel.connect(partials, "out", ways, "partials", capacity=None)
    stalls = () if seed is None else random_stalls(seed)
    sinks = {port: kernel.add(StreamSink(f"sink.{port}", stalls)) for port in ("tasks", "groups")}
    sinks |= {f"ways[{way}]": kernel.add(StreamSink(f"sink.way{way}", stalls)) for way in range(RADIX)}
    for port, sink in sinks.items():
        kernel.connect(ways, port, sink, "in", capacity=2)
    asked = []
    for place in range(memories):
        name = f"memory{place}"
        memory = kernel.add(StrayMemory(name, strays) if strays else Shuffler(name, latencies))
        asked.append(getattr(memory, "asked", []))
        kernel.connect(ways, f"requests[{place}]", memory, "requests", capacity=2)
        kernel.connect(memory, "replies", ways, f"replies[{place}]", capacity=2)
    kernel.run(cycle_limit=100_000)
    check_accounting(kernel.statistics())
    assert ways.done
    fan_in = [token[1] for _cycle, token in sinks["tasks"].received]
    return [handed_by(sinks[f"ways[{way}]"]) for way in range(RADIX)], fan_in, asked, ways


def handed_by(sink):
    """The fibers that a way handed on, by the numbers of their elements."""
    fibers, fiber = [], []
    for _cycle, (control, coordinate, _reference, value) in sink.received:
        if control == DATA:
            assert value == coordinate / 2
            fiber.append(coordinate)
        else:
            fibers.append(fiber)
            fiber = []
    assert fiber == []
    return fibers


@pytest.mark.parametrize("strays", STRAYS.values(), ids=STRAYS)
def test_a_reply_without_a_request_is_refused(strays):
    with pytest.raises(SimulationError, match=r"^a reply for slot \d+, which has no open request"):
        handed([3], [[0]], memories=1, strays=strays)


def test_a_second_reply_before_that_of_an_older_line_is_refused():
    """Two lines, of which the second one's reply comes twice first."""
    with pytest.raises(SimulationError, match=r"^a reply for slot 1, which has no open request"):
        handed([5], [[0]], memories=1, strays=(1, 1))


def test_more_lists_than_heads_that_fit_are_refused():
    """Two heads: a task of three lists fits if one is empty, else it does not."""
    segments = [0, 1, 1, 2, 3]
    heads = FiberHeads("heads", 2, segments, [0, 1, 2], [1.0, 2.0, 3.0], Lists(0))
    lists = [(DATA, fiber, 0, 0.0) for fiber in (0, 1, 2)], [(DATA, fiber, 0, 0.0) for fiber in (0, 2, 3)]
    ends, over = (STOP, 0, 0, 0.0), (DONE, 0, 0, 0.0)
    tokens = [*lists[0], ends, *lists[1], ends, over]
    next_heads = [(DATA, 0, way, 0.0) for way in (0, 1)]
    inputs = {"in_crd": tokens, "in_ref": tokens, "successors": next_heads}
    with pytest.raises(SimulationError, match="heads: a task has 3 lists, but at most 2 can be merged"):
        run_block(heads, inputs, ["tasks", "groups", "elements"])


def test_tasks_without_a_list_are_merges_of_no_way():
    """Fiber 0 is empty: of four tasks one has something to merge, and none holds up another."""
    for memories in (0, 2):
        ways, fan_in, asked, block = handed([0, 2], [[0], [0], [1], [0]], memories=memories, latencies=(3,))
        assert ways == [[[0, 1]], [], [], []]
        assert fan_in == [0, 0, 1, 0]
        assert asked == [[place << 20] for place in range(memories)]
        assert (block.lists, block.merges, block.lines) == (1, 4, memories)


@given(
    lengths=st.lists(st.integers(0, 11), min_size=1, max_size=6),
    drawn=st.lists(st.lists(st.integers(0, 5), max_size=RADIX), max_size=6),
    memories=st.integers(0, 2),
    latencies=st.lists(st.integers(1, 30), max_size=5),
    ahead=st.integers(1, 3),
    seed=st.none() | st.integers(0, 99),
)
def test_each_fiber_is_handed_on_whole_however_memory_answers(
    lengths, drawn, memories, latencies, ahead, seed
):
    tasks = [[fiber % len(lengths) for fiber in task] for task in drawn]
    begins, rows = np.append(0, np.cumsum(lengths)), rows_of(lengths)
    wanted, lines = [[] for _ in range(RADIX)], []
    for task in tasks:
        for way, fiber in enumerate([fiber for fiber in task if lengths[fiber]]):
            wanted[way].append(list(range(begins[fiber], begins[fiber + 1])))
            last = rows[fiber] + (lengths[fiber] - 1) // 2
            lines += range(rows[fiber] // 2, last // 2 + 1)
    given_options = {"memories": memories, "latencies": latencies, "ahead": ahead, "seed": seed}
    for law in (None, {"order_seed": 1}, {"sleep": False}):
        ways, _fan_in, asked, _block = handed(lengths, tasks, law=law, **given_options)
        assert ways == wanted
        for place, addresses in enumerate(asked):
            assert sorted(addresses) == sorted((place << 20) + LINE * line for line in lines)


LINES = (2, 2, 2, 1)  # of a merge of four ways: the turn is the last way's then, which has none left


def lines_after(looks):
    """The ways of a merge of three whose lines are asked for one after the other, behind a merge of four.

    So many looks find nothing between the two.
    """
    kernel = Kernel()
    kernel.clock("core", 10**9)
    asks, sink = kernel.add(TimedSource("asks", REQUEST, [])), kernel.add(StreamSink("sink"))
    requests = kernel.connect(asks, "out", sink, "in", capacity=None)
    kernel.build()
    lines = WayLines(ArrayLines(0, 8, lines_of(*range(0, 14, 2)), 1, 1), ways=2 * RADIX, ahead=2)
    for way, count in enumerate(LINES):
        lines.assign(way, way, 2 * way, 2 * way + count)
    assert [lines.request_line(requests, 0, RADIX) for _ in range(8)] == [True] * 7 + [False]
    for _ in range(looks):
        assert not lines.request_line(requests, RADIX, 3)
    for way in range(3):
        lines.assign(RADIX + way, 4 + way, 2 * way, 2 * way + 2)
    while lines.request_line(requests, RADIX, 3):
        pass
    tokens = [requests.token(place) for place in range(7, requests.occupancy)]
    return [coordinate // lines.ahead - RADIX for _control, coordinate, *_rest in tokens]


def test_each_way_has_its_turn_behind_a_merge_of_more_ways():
    assert lines_after(0) == [0, 1, 2, 0, 1, 2]


def test_a_look_for_lines_that_finds_none_changes_nothing():
    assert lines_after(1) == lines_after(2) == lines_after(0)
