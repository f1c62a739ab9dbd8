"""Sorting points and finding them among others, against Python's sort and dictionaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.workloads import sorting
from fiberscope.workloads.sorting import lexical_order, rows_in

WIDE = [3, 1 << 20, 1 << 40, 1 << 62]  # sizes whose products fit one number, or not


@st.composite
def points(draw, most=40):
    """Sizes of one to four ranks, and points with many equals, some at the far end."""
    sizes = draw(st.lists(st.sampled_from(WIDE), min_size=1, max_size=4))
    coordinate = [st.one_of(st.integers(0, 2), st.just(size - 1)) for size in sizes]
    return sizes, draw(st.lists(st.tuples(*coordinate), max_size=most))


def columns_of(rows, ranks):
    return list(np.array(rows, dtype=np.int64).reshape(len(rows), ranks).T)


@given(points())
def test_any_points_are_sorted_and_equal_ones_stay_as_they_were(given_points):
    sizes, rows = given_points
    order = lexical_order(columns_of(rows, len(sizes)), sizes)
    expected = sorted(range(len(rows)), key=rows.__getitem__)
    assert (list(range(len(rows))) if order is None else order.tolist()) == expected


@given(st.lists(st.integers(0, 999), min_size=2, max_size=60), st.integers(8, 20))
def test_what_does_not_fit_a_word_is_put_right(word_keys, word):
    keys = np.array(word_keys, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "INTEGER_BITS", word)  # leaves out up to all ten bits of a key
        order = lexical_order([keys], [1000])
    expected = np.argsort(keys, kind="stable")
    assert np.array_equal(np.arange(len(keys)) if order is None else order, expected)


def test_no_order_is_given_for_what_is_sorted():
    assert lexical_order([np.array([0, 0, 1]), np.array([5, 5, 0])], [2, 6]) is None
    assert lexical_order([], []) is None


@given(points(), points())
def test_points_are_found_among_others(some, others):
    ranks = min(len(some[0]), len(others[0]))
    among = sorted({row[:ranks] for row in some[1]})
    wanted = [row[:ranks] for row in others[1]]
    found = rows_in(*(np.array(rows, dtype=np.int64).reshape(len(rows), ranks) for rows in (wanted, among)))
    assert found.tolist() == [among.index(row) if row in among else -1 for row in wanted]


def test_the_point_without_coordinates_is_the_root():
    one, none = np.zeros((1, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    assert rows_in(one, one).tolist() == [0]
    assert rows_in(one, none).tolist() == [-1]
