"""Z as memory holds it: rows of output tiles merged in any order, and the matrix that they make up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.extensor.product import StoredProduct

SIDE, COLUMNS = 4, 2  # of a microtile, and microtiles of a tile
ROWS, WIDTH = 3, 2  # rows of microtiles, and tiles beside one another
SHAPE = (ROWS * SIDE, WIDTH * COLUMNS * SIDE)


def key_of(row, column, side, columns):
    """Microtile, row and column within, as one number."""
    within = column % (columns * side)
    return (within // side) * side**2 + (row % side) * side + within % side


@given(
    st.lists(st.dictionaries(st.tuples(*map(st.integers, (0, 0), (11, 15))), st.integers(-3, 3)), max_size=5)
)
def test_what_is_merged_adds_up(parts):
    product = StoredProduct(SHAPE, SIDE, COLUMNS)
    expected, entries = np.zeros(SHAPE), set()
    for part in parts:
        for place in {(row // SIDE, column // (COLUMNS * SIDE)) for row, column in part}:
            inside = {
                key_of(row, column, SIDE, COLUMNS): value
                for (row, column), value in part.items()
                if (row // SIDE, column // (COLUMNS * SIDE)) == place
            }
            keys = np.array(sorted(inside))
            product.merge(place, keys, np.array([inside[key] for key in keys], float), np.unique(keys // 16))
        entries |= part.keys()
        for place, value in part.items():
            expected[place] += value
    matrix = product.gather()
    assert product.nonzeros == matrix.nnz == len(entries)
    assert np.array_equal(matrix.toarray(), expected)


@pytest.mark.parametrize(("side", "width"), [(1 << 15, np.int32), (1 << 16, np.int64)])
def test_keys_are_as_wide_as_they_have_to_be(side, width):
    product = StoredProduct((side, side), side, 1)
    last = side**2 - 1
    product.merge((0, 0), np.array([last]), np.array([2.0]), np.array([0]))
    assert product.rows[0, 0][0].dtype == width
    matrix = product.gather()
    assert (matrix[side - 1, side - 1], matrix.nnz) == (2.0, 1)
