"""The steps of mergers against a plain model, and trees brought into any order."""

from __future__ import annotations

from bisect import insort
from itertools import accumulate, chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.models.trace.model import exchanges, swaps
from fiberscope.models.trace.sorted_heads import merge_steps, sort_steps
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


def rounds(merges, radix, group_steps):
    """Steps of all merges, in rounds until each has one list."""
    if not (several := [lists for lists in merges if len(lists) > 1]):
        return 0
    steps, left = 0, []
    for lists in several:
        size = min(radix or len(lists), len(lists))
        groups = [group_steps(lists[at : at + size]) for at in range(0, len(lists), size)]
        steps += sum(each for each, _ in groups)
        left.append([merged for _, merged in groups])
    return steps + rounds(left, radix, group_steps)


def laid_out(merges):
    """Where merges begin, where lists begin, and the coordinates."""
    lists = list(chain(*merges))
    segments = [0, *accumulate(map(len, merges))]
    starts = [0, *accumulate(map(len, lists))]
    return np.array(segments), np.array(starts), np.array(list(chain(*lists)), np.int64)


@given(MERGES, RADIX)
def test_a_merger_takes_an_element_a_step_and_a_step_a_list(merges, radix):
    segments, starts, _coordinates = laid_out(merges)
    assert merge_steps(segments, starts, radix) == rounds(merges, radix, taken)


@given(MERGES, RADIX)
def test_sorted_heads_take_a_step_for_each_head_that_leaves_before(merges, radix):
    assert sort_steps(*laid_out(merges), radix) == rounds(merges, radix, inserted)


def test_of_equal_coordinates_the_later_list_leaves_first():
    # 4 of the first, 4 of the second before it, and 5, which both leave before: its list gave up its 4.
    assert sort_steps(*laid_out([[[4], [4, 5]]]), None) == 1 + 1 + 2


def test_planted_the_other_order_of_equals_is_found():
    assert sort_steps(*laid_out([[[4, 5], [4]]]), None) != sort_steps(*laid_out([[[4], [4, 5]]]), None)


@given(st.permutations("MKNP"), st.permutations("MKNP"))
def test_exchanges_of_neighbours_lead_to_any_order(initial, final):
    names = list(initial)
    for depth in exchanges(initial, final):
        names[depth], names[depth + 1] = names[depth + 1], names[depth]
    assert names == final


@pytest.mark.parametrize("finite_inputs", [True, False])
def test_ranks_that_are_no_neighbours_change_places_in_turn(finite_inputs):
    points = [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 2)]
    tree = FiberTree.from_coo({"M": 2, "K": 2, "N": 3}, np.array(points).T, np.ones(4))
    first = swaps(tree, ("M", "N", "K"), None, finite_inputs)
    then = swaps(tree.swizzle(("M", "N", "K")), ("N", "M", "K"), None, finite_inputs)
    assert swaps(tree, ("N", "M", "K"), None, finite_inputs) == first + then
    assert (first, then) == ((5, 5) if finite_inputs else (3, 5))
