"""Fibers as masks against the same as lists: which meet, and the steps of those that do not."""

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.hw.fibers.masks import SIDE, FiberMasks, masks_of, worth_masks
from fiberscope.sim import raw_words

fibers = st.sets(st.integers(0, SIDE - 1), min_size=1, max_size=40).map(sorted)
rows = st.lists(fibers, min_size=1, max_size=6)


def segments_of(fibers):
    return np.cumsum([0, *map(len, fibers)])


def masks(fibers, microtile=SIDE, first=0):
    """Those of fibers within the microtile that begins at a coordinate."""
    return masks_of(segments_of(fibers), first + np.concatenate(fibers), microtile)


def by_lists(of_a, of_b):
    """Steps of the pairs that do not meet, and the pairs that do."""
    ends = segments_of(of_b)
    ones = values_of(np.ones(len(of_a))), values_of(np.ones(int(ends[-1])))
    both = FiberIntersection(integers_of(of_a), integers_of(np.concatenate(of_b)), *ones, integers_of(ends))
    steps, met = 0, []
    for fiber in range(len(of_b)):
        before = both.steps
        if both.find_match(0, len(of_a), fiber, fiber + 1) == fiber:
            met.append(fiber)
        else:
            steps += both.steps - before
    return steps, met


def by_masks(of_a, of_b, first=0):
    both = FiberMasks(masks([of_a], first=first), masks(of_b, first=first))
    met, fiber = [], both.next_met(0, 0, len(of_b))
    while fiber < len(of_b):
        met.append(fiber)
        fiber = both.next_met(0, fiber + 1, len(of_b))
    return both.steps, met


@given(of_a=fibers, of_b=rows, tile=st.integers(0, 3))
@example([0, 127], [[63], [64], [63, 64], [126], [1, 2, 3]], 0)
@example([63], [[64], [62, 64], [0, 127]], 1)
@example(list(range(0, 128, 2)), [list(range(1, 128, 2))], 0)
def test_masks_say_what_lists_do(of_a, of_b, tile):
    assert by_masks(of_a, of_b, SIDE * tile) == by_lists(of_a, of_b)


@given(of_a=fibers, of_b=fibers)
@example([0, 127], [63, 64])
@example([5, 64], [6, 63, 65])
def test_what_is_uncompiled_says_what_lists_do(of_a, of_b):
    assume(not set(of_a) & set(of_b))
    assert raw_words.turns(*masks([of_a]), *masks([of_b])) == by_lists(of_a, [of_b])[0]


def test_each_step_leaps_up_to_the_next_coordinate_of_the_other():
    # By hand: 1 2 3 up to 10, 10 up to 20, 20 21 up to 70, 70 up to 127; then A has ended.
    assert by_masks([1, 2, 3, 20, 21, 127], [[10, 70]]) == (4, [])


def test_each_fiber_has_its_own_mask():
    found = np.asarray(masks([[0, 64], [63], [1, 127]]))
    assert [int(word) for word in found.view(np.uint64)] == [1, 1, 1 << 63, 0, 2, 1 << 63]
    assert list(masks([[4, 7], [0]], microtile=8)) == [0b10010000, 0, 1, 0]


def test_masks_are_for_fibers_of_two_elements_or_more_in_microtiles_that_fit():
    assert worth_masks(segments_of([[1, 2], [1], [1, 2, 3]]), 128)
    assert not worth_masks(segments_of([[1, 2], [1]]), 128)
    assert not worth_masks(segments_of([[1, 2], [3, 4]]), 256)
