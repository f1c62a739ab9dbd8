"""Long rows of A in subrows: where they are cut, the tasks they make, and products in any order of them."""

from fractions import Fraction
from itertools import pairwise

import gamma_model as model
import numpy as np
import pytest
from gamma_bench import configured, csr, operands, run_gamma, stored, tiny
from gamma_checks import check_all, check_bounds, check_product
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.layout import NO_PARENT
from fiberscope.accelerators.gamma.preprocessing import preprocess
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.gamma.tiling import subrows
from fiberscope.sim.testing import check_accounting

ELEMENT = 12
TILES = st.integers(1, 400)  # bytes


def cut(a, b, tile):
    """The nonzeros of each row and subrow, and the row of each."""
    pointers, rows = subrows(stored(a), stored(b), tile, ELEMENT)
    pieces = [list(range(*ends)) for ends in pairwise(pointers)]
    return pieces, rows.tolist()


@given(operands(), TILES)
def test_rows_are_cut_as_in_the_plain_model(pair, tile):
    a, b = pair
    expected = [
        (row, piece)
        for row in range(a.shape[0])
        for piece in model.subrows(a, b, row, Fraction(tile, ELEMENT)) or [[]]
    ]
    pieces, rows = cut(a, b, tile)
    assert list(zip(rows, pieces, strict=True)) == expected


@given(operands(), TILES)
def test_the_fibers_of_a_subrow_fit_a_tile_and_the_row_that_begins_last(pair, tile):
    a, b = pair
    lengths = np.diff(b.indptr) * ELEMENT
    for piece, _row in zip(*cut(a, b, tile), strict=True):
        fibers = lengths[a.indices[piece]]
        assert fibers[:-1].sum() <= tile


def test_an_example():
    """Rows of B of 24 bytes, two in a tile of 48: four of them are cut in two, and two are not."""
    a = csr([dict.fromkeys(range(4), 1.0), {}, {1: 1.0, 2: 1.0}], 4)
    b = csr([{0: 1.0, 1: 1.0}] * 4, 2)
    assert cut(a, b, 48) == ([[0, 1], [2, 3], [], [4, 5]], [0, 0, 1, 2])
    assert cut(a, b, 96) == ([[0, 1, 2, 3], [], [4, 5]], [0, 1, 2])


@st.composite
def interleaved(draw):
    """Lengths of rows and subrows, and the row of each, in any order; rows are numbered as they end."""
    pieces = draw(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), max_size=6))
    order = draw(st.permutations([row for row, lengths in enumerate(pieces) for _ in lengths]))
    lengths = [pieces[row][order[:place].count(row)] for place, row in enumerate(order)]
    ends = sorted(set(order), key=lambda row: len(order) - order[::-1].index(row))
    return lengths, [ends.index(row) for row in order]


@given(interleaved(), st.integers(2, 5))
def test_the_tasks_of_subrows_in_any_order(pieces, radix):
    """Every nonzero is in one task of its row, every partial fiber in its parent, and a row has one root."""
    lengths, rows = pieces
    table = TaskTable(np.cumsum([0, *lengths]), radix, np.array(rows, np.int64))
    owners = np.repeat(rows, lengths).tolist()
    taken = []
    for task in range(table.count):
        inputs = list(table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]])
        assert 1 <= len(inputs) <= radix
        assert inputs == [i for i in inputs if i >= 0] + [i for i in inputs if i < 0]
        for source in inputs:
            assert table.rows[task] == (owners[source] if source >= 0 else table.rows[-1 - source])
            assert source >= 0 or (-1 - source < task and table.parents[-1 - source] == task)
        taken += inputs
    partial = [-1 - task for task in range(table.count) if table.parents[task] != NO_PARENT]
    assert sorted(taken) == sorted([*partial, *range(len(owners))])
    roots = [table.rows[task] for task in range(table.count) if table.parents[task] == NO_PARENT]
    assert sorted(roots) == sorted(set(rows))
    assert len(table.row_lengths) == len(set(rows))


@given(operands(), TILES, st.integers(2, 5))
def test_every_tiling_makes_the_same_product(pair, tile, radix):
    check_all(run_gamma(tiny(tiling="selective", tile=tile, pe__radix=radix), *pair), *pair)


@given(operands(), TILES, st.integers(2, 5), st.sampled_from(["memory", "cache"]))
def test_so_it_does_in_affinity_order(pair, tile, radix, output):
    """The order in which the subrows of a row are merged, and so what is merged, depends on theirs."""
    parameters = tiny(
        tiling="selective", tile=tile, reorder="affinity", pe__radix=radix, scheduler__output=output
    )
    machine = run_gamma(parameters, *pair)
    check_product(machine, *pair)
    check_bounds(machine)
    check_accounting(machine.kernel.statistics())
    assert machine.operations()["multiply"] == model.multiplies(*pair)
    assert machine.traffic()["A"].read_bytes >= 12 * pair[0].nnz


def test_without_long_rows_nothing_changes():
    a, b = csr([{0: 1.0, 1: 2.0}, {1: 1.0}], 2), csr([{0: 1.0}, {1: 1.0}], 2)
    found = preprocess(stored(a), stored(b), configured(tiling="selective"), ELEMENT)
    assert (found.a.rows, found.product_rows.tolist(), found.product_order.tolist()) == (2, [0, 1], [0, 1])


def test_rows_are_numbered_in_the_order_in_which_they_end():
    """Row 0 is cut, and row 1 shares columns with its first half: it runs, and ends, between the two."""
    a = csr([{0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, {0: 1.0, 1: 1.0}], 4)
    b = csr([{0: 1.0, 1: 1.0}] * 4, 2)
    found = preprocess(
        stored(a), stored(b), configured(tiling="selective", tile=48, reorder="affinity"), ELEMENT
    )
    assert list(found.a.pointers) == [0, 2, 4, 6]
    assert list(found.a.coordinates) == [0, 1, 0, 1, 2, 3]
    assert (found.product_rows.tolist(), found.product_order.tolist()) == ([1, 0, 1], [1, 0])


@pytest.mark.parametrize("reorder", ["none", "affinity"])
def test_subrows_that_fill_the_cache_with_partial_fibers_end(reorder):
    """Each row waits for leaves of all tiles, and the cache holds no more than one line of them."""
    a = csr([dict.fromkeys(range(24), 1.0)] * 12, 24)
    b = csr([dict.fromkeys(range(row, row + 8), 1.0) for row in range(24)], 32)
    machine = run_gamma(tiny(tiling="selective", tile=200, reorder=reorder, fibercache__size=128), a, b)
    check_product(machine, a, b)
