"""Mergers, intersectors of pairs, and blocks that they feed, ahead of the clock: as if each block ticked."""

import pytest
from drawn_specifications import paired
from drawn_storage import stored_merging
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mapped_runs import built
from scripted import Stuck

from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.streams.merge_lists import Lists
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merger_lookahead import FiberWayLookahead
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.testing import TimedSource, with_gaps
from fiberscope.hw.streams.tokens import CRD, DATA, REF
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.models.from_spec.lookahead import add_lookaheads
from fiberscope.sim import DeadlockError, Kernel
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.sim.testing import StreamSink

ANYHOW = settings(suppress_health_check=list(HealthCheck))
LIMITS = st.lists(st.integers(1, 2000), max_size=4).map(sorted)
TIMINGS = st.fixed_dictionaries(
    {
        "memory": st.sampled_from(("modelled", "ideal")),
        "depth": st.sampled_from((0, 1, 2, 3, 16)),
        "way": st.integers(1, 5),
        "stages": st.integers(1, 6),
        "tasks": st.integers(1, 4),
        "walk": st.integers(1, 2),
        "ahead": st.integers(1, 3),
        "queue": st.sampled_from((2, 4)),
        "window": st.sampled_from((1, 4, 16)),
    }
)


def outcome(program, timing, limits, kernel=None):
    """What a machine has done at each of these cycles and at the end, and what it wrote."""
    machine = built(program, kernel, **timing)
    seen = []
    for limit in (*limits, None):
        ended = machine.kernel.run(cycle_limit=limit)
        seen.append((ended, machine.kernel.statistics(), machine.operations(), machine.traffic()))
    (made,) = machine.result().outputs.values()
    return seen, [column.tolist() for column in made.columns()], made.values.tolist()


@ANYHOW
@given(stored_merging(), TIMINGS, LIMITS)
def test_a_machine_worked_out_ahead_does_what_its_blocks_would(program, timing, limits):
    assert outcome(program, timing, limits) == outcome(program, timing, limits, Kernel())


PARTIALS = st.sampled_from((1, 2, 5, 4096))
DEPTHS = st.sampled_from(
    (0, 4, 5, 16)
)  # tokens of a channel; with fewer, pairs and their sums block each other


@ANYHOW
@given(paired(), TIMINGS, DEPTHS, PARTIALS, LIMITS, st.sampled_from((None, 1, 2, 3)))
def test_fibers_intersected_in_pairs_ahead_of_the_clock_do_what_the_blocks_would(
    program, timing, depth, partials, limits, order
):
    timing = {**timing, "depth": depth, "partials": partials}
    kernel = LookaheadKernel(order_seed=order)
    assert outcome(program, timing, limits, kernel) == outcome(program, timing, limits, Kernel())


def connected(kernel, tasks, pause, radix=2, stages=1):
    """Ways, a merger and who adds up behind it; gives the sinks of coordinates and of sums.

    Each task is a list of fibers. Channels hold two tokens, those to the sinks, which pause after each, one.
    """
    kernel.clock("core", 10**9)
    fibers = [fiber for task in tasks for fiber in task]
    segments = [sum(map(len, fibers[:count])) for count in range(len(fibers) + 1)]
    coordinates = [coordinate for fiber in fibers for coordinate in fiber]
    values = [2.0**place for place in range(len(coordinates))]
    lists, add, connect = Lists(0), kernel.add, kernel.connect
    ways = add(FiberWays("ways", radix, segments, coordinates, values, lists))
    merger = add(HighRadixMerger("merger", radix, stages))
    points, sums = add(MergedPoints("points", lists)), add(RunSum("sums"))
    numbers = iter(range(len(fibers)))
    task = with_gaps(
        [token for task in tasks for token in (*(next(numbers) for _fiber in task), "S0")] + ["D"]
    )
    for port, carries in (("in_crd", CRD), ("in_ref", REF)):
        connect(add(TimedSource(port, carries, task)), "out", ways, port, capacity=None)
    connect(ways, "tasks", merger, "tasks", capacity=2)
    connect(ways, "groups", points, "groups", capacity=2)
    connect(points, "partials", ways, "partials", capacity=None)
    for way in range(radix):
        connect(ways, f"ways[{way}]", merger, f"ways[{way}]", capacity=2)
    connect(merger, "merged", points, "merged", capacity=2)
    connect(points, "out_outer[0]", sums, "in_crd", capacity=2)
    connect(points, "out_val[0]", sums, "in_val", capacity=2)
    sinks = [add(StreamSink(port, [pause])) for port in ("out_crd", "out_val")]
    for sink in sinks:
        connect(sums, f"{sink.name}[0]", sink, "in", capacity=1)
    if isinstance(kernel, LookaheadKernel):
        add_lookaheads(kernel, [(ways, merger, points)])
    return sinks


def summed(kernel, fibers, pause):
    """What comes of a task's fibers, with its cycles, and what ways and merger did in theirs."""
    sinks = connected(kernel, [fibers], pause)
    kernel.run()
    crd, val = (sink.received for sink in sinks)
    assert [cycle for cycle, _token in crd] == [cycle for cycle, _token in val]
    pairs = zip(crd, val, strict=True)
    found = [(at, one[1], other[3]) for (at, one), (_cycle, other) in pairs if one[0] == DATA]
    return found, [at for at, one in crd if one[0] != DATA], kernel.statistics()


@pytest.mark.parametrize("kernel", [Kernel, LookaheadKernel])
def test_two_fibers_are_added_up_in_the_cycles_that_their_blocks_take(kernel):
    """Lists come in cycles 1 and 2, the task's stop in 3, in which the merge begins.

    Ways are handed elements from 4 on; the merger passes on 1, 1, 2, 4 and the stop in 5 to 9, what follows
    it in 6 to 10. The first sum leaves in 9, with the second coordinate; then there is room every two cycles.
    """
    found, ends, _statistics = summed(kernel(), [[1, 4], [1, 2]], 0)
    assert found == [(10, 1, 1 + 4), (12, 2, 8), (14, 4, 2)]
    assert ends == [16, 18]


@pytest.mark.parametrize("kernel", [Kernel, LookaheadKernel])
def test_who_takes_the_sums_late_holds_up_the_ways_through_all_the_rest(kernel):
    """A sum is taken every ten cycles, from 8 on; token k = 0, 1, ... needs the slot of the one before last.

    So sums are begun in 6, 7, 9, 19, 29, ...; what follows the merger takes k in 10 (k - 3) from k = 4 on,
    the merger passes it on in 10 (k - 5) + 1 from k = 6 on, and its way is handed it in 10 (k - 7) + 2 from
    k = 8 on, after 3 to 10. Ways wait in 11, 13 to 21 and 23 to 31; the merger in 10, then four times nine.
    """
    found, ends, statistics = summed(kernel(), [list(range(10))], 9)
    assert found == [(8 + 10 * k, k, 2**k) for k in range(10)]
    assert ends == [108, 118]
    assert statistics["ways"].output_stall == {"ways": 19}
    assert statistics["merger"].output_stall == {"merged": 37}


WAITS = {
    "a short fiber": ([[[0, 3, 5, 6, 8, 9], [1]]], 3),
    "an empty fiber": ([[[], [2, 4, 7]], [[1], []]], 2),
    "only empty fibers": ([[[], []], [[]], [[3]]], 0),
    "tasks one behind the other": ([[[1, 2], [1]], [[0, 5], [2, 5, 6]], [[4], [4]]], 0),
    "a task of one fiber": ([[[1, 4, 6]], [[2], [3]]], 1),
    "a leaf that ends after the others": (
        [[[1], [2], list(range(3, 9)), [9]], [[1, 2], [3], [4], [5]]],
        9,
        4,
        2,
    ),
    "a leaf that ends before the others": (
        [[list(range(3, 9)), [9], [1], [2]], [[1, 2], [3], [4], [5]]],
        9,
        4,
        2,
    ),
    "nobody takes the sums for long": ([[list(range(9)), [4, 6]], [[5], [1, 2]]], 9),
}


@pytest.mark.parametrize("case", WAITS.values(), ids=WAITS)
def test_a_look_in_the_midst_of_a_wait_finds_what_the_blocks_count(case):
    """In every cycle: the machine is looked at again and again, and once in each cycle alone."""
    seen, received = [], []
    for kind in (Kernel, LookaheadKernel):
        kernel = kind()
        sinks = connected(kernel, *case)
        seen.append([(kernel.run(cycle_limit=limit).cycles, kernel.statistics()) for limit in range(1, 120)])
        received.append([sink.received for sink in sinks])
    assert seen[0] == seen[1]
    assert received[0] == received[1]
    for limit in range(1, 120, 7):
        alone = LookaheadKernel()
        connected(alone, *case)
        alone.run(cycle_limit=limit)
        assert alone.statistics() == seen[0][limit - 1][1]


def test_a_deadlock_does_not_call_ways_empty_whose_tokens_it_does_not_know(monkeypatch):
    monkeypatch.setitem(globals(), "StreamSink", lambda port, _pauses: Stuck(port))
    kernel = LookaheadKernel()
    connected(kernel, [[list(range(20)), list(range(0, 40, 2))]], 0)
    with pytest.raises(DeadlockError) as caught:
        kernel.run()
    assert list(caught.value.blocked[:2]) == [
        "ways waits for space at any of ways: simulated ahead by merger, whose tokens are not shown here "
        "(a run with --vcd shows them)",
        "merger waits for space at merged: channel points.merged holds 2 of 2 tokens, the first: "
        "kind 0, coordinate 3, reference 0, value 8",
    ]


def test_planted_a_way_with_room_for_one_more_is_found(monkeypatch):
    class Roomy(FiberWayLookahead):
        def engage(self):
            super().engage()
            self.capacity += 1

    monkeypatch.setattr("fiberscope.models.from_spec.lookahead.FiberWayLookahead", Roomy)
    _found, _ends, statistics = summed(LookaheadKernel(), [list(range(10))], 9)
    assert statistics["ways"].output_stall != {"ways": 19}


def test_fewer_ticks_are_taken_for_it():
    """Of two long fibers, which keep all parts busy."""
    ticks = []
    for kernel in (Kernel(), LookaheadKernel()):
        summed(kernel, [list(range(500)), list(range(0, 1000, 2))], 0)
        ticks.append(kernel.ticks)
    assert ticks[1] < 0.5 * ticks[0]


@settings(suppress_health_check=list(HealthCheck), max_examples=10)
@given(paired())
def test_fewer_ticks_are_taken_for_pairs_of_fibers(program):
    ticks = []
    for kernel in (Kernel(), LookaheadKernel()):
        machine = built(program, kernel)
        machine.kernel.run()
        ticks.append(kernel.ticks)
    assert ticks[1] < ticks[0]
