"""Intersection over arrays against the blocks that intersect streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.testing import run_block

TO_THE_MATCH = 1 << 62  # steps

fibers = st.one_of(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 5000), max_size=40)).map(sorted)


def block(*, skip):
    """The block that makes the same steps: windows that hold any fiber here, or two fingers."""
    return SkipAheadIntersector("block", 64) if skip else TwoFingerIntersector("block")


def by_block(pairs, *, skip):
    """Steps and matches of all pairs of fibers, as the block counts them."""
    streams = {
        port: [
            token for fibers in sides for token in (*((DATA, c, 0, 0.0) for c in fibers), (STOP, 0, 0, 0.0))
        ]
        for port, sides in zip(("a", "b"), zip(*pairs, strict=True), strict=True)
    }
    outcome = run_block(block(skip=skip), streams, ["matches_a", "matches_b"])
    matches = [token[1] for token in outcome.tokens("matches_a") if token[0] == DATA]
    return outcome.statistics["block"].counters["intersect"], matches


def by_arrays(pairs, *, skip, most):
    """The same over arrays, with at most so many steps at a time."""
    a, b = ([c for pair in pairs for c in pair[side]] for side in (0, 1))
    both = FiberIntersection(integers_of(a), integers_of(b), skip=skip)
    matches = []
    first_a = first_b = 0
    for fiber_a, fiber_b in pairs:
        both.begin(first_a, first_a + len(fiber_a), first_b, first_b + len(fiber_b))
        while not both.ended():
            if both.run(most):
                assert a[both.a] == b[both.b]
                matches.append(a[both.a])
                both.take()
        first_a, first_b = first_a + len(fiber_a), first_b + len(fiber_b)
    return both.steps, matches


@settings(max_examples=80, deadline=None)
@given(
    pairs=st.lists(st.tuples(fibers, fibers), min_size=1, max_size=5),
    skip=st.booleans(),
    most=st.sampled_from([1, 2, 7, TO_THE_MATCH]),
)
def test_makes_the_steps_of_the_blocks(pairs, skip, most):
    assert by_arrays(pairs, skip=skip, most=most) == by_block(pairs, skip=skip)


@settings(max_examples=80, deadline=None)
@given(a=fibers, of_b=st.lists(fibers, max_size=5), skip=st.booleans())
def test_adds_up_the_products_of_values_that_meet(a, of_b, skip):
    b = [c for fiber in of_b for c in fiber]
    coordinates, values = (integers_of(a), integers_of(b)), (values_of(a), values_of([2 * c for c in b]))
    begins = np.cumsum([0, *map(len, of_b)])
    both = FiberIntersection(*coordinates, *values, integers_of(begins), skip=skip)
    found, fiber = {}, both.meet(0, len(a), 0, len(of_b))
    while fiber < len(of_b):
        found[fiber] = both.matches, both.total
        fiber = both.meet(0, len(a), fiber + 1, len(of_b))
    common = [set(a) & set(fiber) for fiber in of_b]
    assert found == {n: (len(met), sum(2.0 * c * c for c in met)) for n, met in enumerate(common) if met}
    assert both.steps == sum(by_arrays([(a, fiber)], skip=skip, most=TO_THE_MATCH)[0] for fiber in of_b)


def test_stops_at_the_match_and_at_the_last_step():
    both = FiberIntersection(integers_of([1, 2, 3, 9]), integers_of([3, 8, 9]))
    both.begin(0, 4, 0, 3)
    assert not both.run(1)
    assert (both.a, both.b, both.steps) == (2, 0, 1)
    assert both.run(TO_THE_MATCH)
    assert (both.a, both.b, both.steps) == (2, 0, 2)
    both.take()
    assert both.run(TO_THE_MATCH)
    assert (both.a, both.b, both.steps, both.ended()) == (3, 2, 4, False)
    both.take()
    assert both.ended()
    assert not both.run(TO_THE_MATCH)


def test_planted_a_finger_that_skips_is_found():
    pairs = [(list(range(10)), [9])]
    with pytest.raises(AssertionError):
        assert by_arrays(pairs, skip=True, most=1) == by_block(pairs, skip=False)
