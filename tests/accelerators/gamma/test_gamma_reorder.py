"""The affinity order of A's rows, against the plainest program for it, and products in that order."""

import time

import numpy as np
import pytest
from gamma_bench import configured, csr, stored
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.accelerators.gamma import Gamma
from fiberscope.accelerators.gamma.reorder import affinity_order, window_rows
from fiberscope.sim import import_mode
from fiberscope.workloads import load

MATRICES = st.lists(st.sets(st.integers(0, 9), max_size=6), min_size=1, max_size=24)


def matrix(rows, columns=10):
    return csr([dict.fromkeys(sorted(row), 1.0) for row in rows], columns)


def is_greedy(rows, order, window):
    """Whether each row shares as many columns with the last ``window`` rows as any that is left."""
    for place in range(1, len(order)):
        recent = order[max(0, place - window) : place]
        affinity = {row: sum(len(rows[row] & rows[other]) for other in recent) for row in order[place:]}
        if affinity[order[place]] < max(affinity.values()):
            return False
    return True


@given(rows=MATRICES, window=st.integers(1, 30))
def test_every_choice_is_one_of_the_best(rows, window):
    order = affinity_order(stored(matrix(rows)), 10, window).tolist()
    assert sorted(order) == list(range(len(rows)))
    assert is_greedy(rows, order, window)


def test_a_planted_wrong_order_is_found():
    assert is_greedy([{0}, {1}, {0}], [0, 2, 1], 1)
    assert not is_greedy([{0}, {1}, {0}], [0, 1, 2], 1)


def test_rows_that_share_columns_come_together():
    rows = [{0, 1}, {5, 6}, {1, 2}, {6, 7}, {0, 2}, {5, 7}]
    assert affinity_order(stored(matrix(rows)), 10, 2).tolist() == [0, 2, 4, 1, 3, 5]


def test_rows_that_share_nothing_keep_their_order():
    rows = [{row} for row in range(6)]
    assert affinity_order(stored(matrix(rows)), 10, 3).tolist() == list(range(6))


def test_a_matrix_without_rows_has_the_empty_order():
    assert affinity_order(stored(csr([], 10)), 10, 3).tolist() == []


def test_the_window_is_the_rows_whose_fibers_fit_the_cache():
    """Rows of 4 nonzeros that select fibers of 2: a cache of 240 bytes holds 10 fibers, of 2.5 rows."""
    a, b = matrix([{0, 1, 2, 3}] * 6), matrix([{0, 1}] * 10)
    assert window_rows(stored(a), stored(b), 240, 12) == 2
    assert window_rows(stored(a), stored(b), 12, 12) == 1
    assert window_rows(stored(matrix([set()])), stored(b), 240, 12) == 1
    assert window_rows(stored(matrix([{0}])), stored(matrix([set()])), 240, 12) == 1


def test_the_window_counts_the_fibers_that_are_selected():
    """All rows select the one fiber of 10 elements, 120 bytes: two fit, however short the others are."""
    a, b = matrix([{0}] * 6), matrix([set(range(10)), *({0} for _ in range(9))])
    assert window_rows(stored(a), stored(b), 240, 12) == 2


@settings(max_examples=15)
@given(rows=MATRICES)
def test_a_reordered_product_is_the_same(rows):
    a, b = matrix(rows), matrix([{n % 7, n % 5} for n in range(10)], 7)
    machine = Gamma(configured(reorder="affinity", **{"pe.count": 2, "pe.radix": 3}), a, b)
    assert machine.kernel.run().complete
    difference = abs(machine.result() - a @ b)
    assert difference.nnz == 0 or difference.max() < 1e-12


@pytest.mark.skipif(not import_mode.compiled(), reason="a million nonzeros take minutes uncompiled")
def test_a_million_nonzeros_take_seconds():
    a = stored(load("uniform:rows=200000,cols=200000,nonzeros=1000000").matrix)
    begin = time.process_time()
    order = affinity_order(a, 200_000, 5_000)
    assert time.process_time() - begin < 10
    assert np.array_equal(np.sort(order), np.arange(200_000))
