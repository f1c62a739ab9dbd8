"""The unit that intersects fibers in pairs: worked examples, and what it meets in any lists."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.skip_intersector import SkipAhead
from fiberscope.hw.streams.testing import run_streams

OUTPUTS = ["out_outer", "out_inner", "out_ref0", "out_ref1"]


def now(*tokens):
    """A token in every cycle."""
    return list(enumerate(tokens))


def level(*fibers):
    """A level of these fibers."""
    return Level([0, *accumulate(map(len, fibers))], [one for fiber in fibers for one in fiber])


def tokens(stream):
    return [token for _cycle, token in stream]


def test_a_pair_without_a_match_leaves_nothing_and_costs_its_steps():
    """Two rows and a column: (0, 2, 5) misses (1, 6) in four steps, (1, 6) meets it in two; then the stop."""
    block = FiberPairs("pairs", level([3, 8]), level([0, 2, 5], [1, 6]), level([4]), level([1, 6]))
    inputs = {"in_ref0": now(0, "S0", "D"), "in_ref1": now(0, "S0", "D")}
    found = run_streams(block, inputs, OUTPUTS, checked=False)
    assert found["out_outer"] == [(3, 8), (5, "S1"), (6, "D")]
    assert found["out_inner"] == [(3, 4), (5, "S1"), (6, "D")]
    assert found["out_ref0"] == [(3, 3), (4, 4), (5, "S2"), (6, "D")]
    assert found["out_ref1"] == [(3, 0), (4, 1), (5, "S2"), (6, "D")]
    assert (block.steps, block.matches, block.pairs) == (5, 2, 1)


def test_between_the_matches_of_two_pairs_a_cycle_sends_the_stop():
    block = FiberPairs("pairs", level([0]), level([7]), level([0, 1]), level([7], [7]))
    inputs = {"in_ref0": now(0, "S0", "D"), "in_ref1": now(0, "S0", "D")}
    found = run_streams(block, inputs, OUTPUTS, checked=False)
    assert found["out_inner"] == [(0, 0), (2, 1), (3, "S1"), (4, "D")]
    assert found["out_ref1"] == [(0, 0), (1, "S0"), (2, 1), (3, "S2"), (4, "D")]


FIBER = st.sets(st.integers(0, 9), min_size=1, max_size=6).map(sorted)
LISTS = st.lists(st.lists(FIBER, min_size=1, max_size=3), min_size=1, max_size=3)


def levels(lists):
    """The level of the lists, each fiber's coordinate its place, and that of the fibers."""
    return level(*(range(len(fibers)) for fibers in lists)), level(
        *(one for fibers in lists for one in fibers)
    )


@given(LISTS, LISTS, st.booleans(), st.integers(0, 2))
def test_it_meets_what_all_pairs_have_in_the_steps_of_skipping(rows, columns, bounded, gap):
    tasks = list(zip(rows, columns, strict=False))
    block = FiberPairs("pairs", *levels(rows), *levels(columns))
    written = [token for task in range(len(tasks)) for token in (task, "S0")]
    stream = [((gap + 1) * cycle, token) for cycle, token in enumerate([*written, "D"])]
    inputs = {"in_ref0": stream, "in_ref1": stream}
    found = run_streams(block, inputs, OUTPUTS, capacity=2 if bounded else None, checked=False)
    met = [
        [(i, j, sorted(set(a) & set(b))) for i, a in enumerate(task[0]) for j, b in enumerate(task[1])]
        for task in tasks
    ]
    met = [[pair for pair in pairs if pair[2]] for pairs in met]
    assert tokens(found["out_outer"]) == [
        token for pairs in met for token in (*(i for i, _j, _both in pairs), "S1")
    ] + ["D"]
    assert tokens(found["out_inner"]) == [
        token for pairs in met for token in (*(j for _i, j, _both in pairs), "S1")
    ] + ["D"]
    for port, fibers in (("out_ref0", block.row_fibers), ("out_ref1", block.column_fibers)):
        coordinates = [
            fibers.coordinate(token) if isinstance(token, int) else token for token in tokens(found[port])
        ]
        assert coordinates == [token for pairs in met for token in fibers_and_stops(pairs)] + ["D"]
    assert block.steps == sum(steps(a, b) for task in tasks for a in task[0] for b in task[1])
    assert block.pairs == sum(map(len, met))


def fibers_and_stops(pairs):
    """The matches of each pair, a stop between two pairs, and that of the task."""
    for place, (_i, _j, both) in enumerate(pairs):
        yield from both
        if place + 1 < len(pairs):
            yield "S0"
    yield "S2"


def steps(one, other):
    """Those of the unit that intersects two fibers."""
    block = SkipAhead("skip", level(one), level(other))
    run_streams(block, {"in_ref0": now(0, "D"), "in_ref1": now(0, "D")}, [], checked=False)
    return block.counters()["steps"]
