"""The steps of mergers against a plain model, and trees brought into any order."""

from bisect import insort
from itertools import accumulate, chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.models.trace.model import count_swap_steps, list_exchanges
from fiberscope.models.trace.sorted_heads import merge_steps, sort_steps
from fiberscope.models.trace.specification import Component
from fiberscope.workloads.fibertree import FiberTree

LIST = st.lists(st.integers(0, 30), min_size=1, max_size=8).map(sorted)
MERGES = st.lists(st.lists(LIST, max_size=12), max_size=6)
RADIX = st.one_of(st.none(), st.integers(2, 5))


def inserted(lists):
    """Steps of sorting by a list of heads, and what comes out."""
    steps, heads, out, rest = 0, [], [], [iter(each) for each in lists]

    def push(index):
        nonlocal steps
        if (coordinate := next(rest[index], None)) is not None:
            insort(heads, (coordinate, -index))
            steps += 1 + heads.index((coordinate, -index))

    for index in range(len(lists)):
        push(index)
    while heads:
        coordinate, index = heads.pop(0)
        out.append(coordinate)
        push(-index)
    return steps, out


def taken(lists):
    """Steps of taking an element a step, and what comes out."""
    return len(lists) + sum(map(len, lists)), sorted(chain(*lists))


def rounds(merges, radix, group_steps, *, sums=False):
    """Steps of all merges, in rounds until each has one list, whose coordinates may be made distinct."""
    if not (several := [lists for lists in merges if len(lists) > 1]):
        return 0
    steps, left = 0, []
    for lists in several:
        size = min(radix or len(lists), len(lists))
        groups = [group_steps(lists[at : at + size]) for at in range(0, len(lists), size)]
        steps += sum(each for each, _ in groups)
        left.append([sorted(set(merged)) if sums else merged for _, merged in groups])
    return steps + rounds(left, radix, group_steps, sums=sums)


def laid_out(merges):
    """Where merges begin, where lists begin, and the coordinates."""
    lists = list(chain(*merges))
    segments = [0, *accumulate(map(len, merges))]
    starts = [0, *accumulate(map(len, lists))]
    return np.array(segments), np.array(starts), np.array(list(chain(*lists)), np.int64)


@given(MERGES, RADIX, st.booleans())
def test_a_merger_takes_an_element_a_step_and_a_step_a_list(merges, radix, sums):
    segments, starts, coordinates = laid_out(merges)
    steps = merge_steps(segments, starts, radix, coordinates if sums else None)
    assert steps == rounds(merges, radix, taken, sums=sums)


@given(MERGES, RADIX, st.booleans())
def test_sorted_heads_take_a_step_for_each_head_that_leaves_before(merges, radix, sums):
    assert sort_steps(*laid_out(merges), radix, sums=sums) == rounds(merges, radix, inserted, sums=sums)


def test_what_is_added_up_is_one_element_in_the_next_round():
    # Of three lists two are merged first, into 4 and 5 or into 4, 4 and 5; then these and the third.
    worked = laid_out([[[4], [4, 5], [4]]])
    segments, starts, coordinates = worked
    assert merge_steps(segments, starts, 2) == (2 + 3) + (1 + 1) + (2 + 4)
    assert merge_steps(segments, starts, 2, coordinates) == (2 + 3) + (1 + 1) + (2 + 3)
    # The third list is the heads' last: its 4 leaves first.
    assert sort_steps(*worked, 2) == (1 + 1 + 2) + 1 + (1 + 1 + 1 + 1)
    assert sort_steps(*worked, 2, sums=True) == (1 + 1 + 2) + 1 + (1 + 1 + 1)


def test_of_equal_coordinates_the_later_list_leaves_first():
    # 4 of the first, 4 of the second before it, and 5, which both leave before: its list gave up its 4.
    assert sort_steps(*laid_out([[[4], [4, 5]]]), None) == 1 + 1 + 2


def test_planted_the_other_order_of_equals_is_found():
    assert sort_steps(*laid_out([[[4, 5], [4]]]), None) != sort_steps(*laid_out([[[4], [4, 5]]]), None)


@given(st.permutations("MKNP"), st.permutations("MKNP"))
def test_exchanges_of_neighbours_lead_to_any_order(initial, final):
    names = list(initial)
    for depth in list_exchanges(initial, final):
        names[depth], names[depth + 1] = names[depth + 1], names[depth]
    assert names == final


@pytest.mark.parametrize("inputs", [9, None])
def test_ranks_that_are_no_neighbours_change_places_in_turn(inputs):
    points = [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 2)]
    tree = FiberTree.from_coo({"M": 2, "K": 2, "N": 3}, np.array(points).T, np.ones(4))
    merger = Component("Merger", "Merger", ("Chip", "Merger"), 1, 1, inputs=inputs)
    first = count_swap_steps(tree, ("M", "N", "K"), merger)
    then = count_swap_steps(tree.swizzle(("M", "N", "K")), ("N", "M", "K"), merger)
    assert count_swap_steps(tree, ("N", "M", "K"), merger) == first + then
    assert (first, then) == ((5, 5) if inputs else (3, 5))
