"""What there is to see of a matrix, against scipy and counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.workloads import from_scipy
from fiberscope.workloads.character import HEIGHT, SHADES, WIDTH, character, draw_picture

BANDED = sparse.diags_array([np.ones(4), np.full(3, 2.5)], offsets=[0, 1])  # 4 x 4


def test_a_band_counted_by_hand():
    seen = character(from_scipy(BANDED))
    assert (seen.shape, seen.nonzeros, seen.density, seen.diagonal) == ((4, 4), 7, 7 / 16, 4)
    assert (seen.whole, seen.symmetric) == (False, False)
    assert (seen.rows.empty, seen.rows.mean, seen.rows.median, seen.rows.most) == (0, 1.75, 2.0, 2)
    assert seen.multiplies == 1 * 2 + 2 * 2 + 2 * 2 + 2 * 1  # nonzeros of column k, times those of row k
    assert draw_picture(BANDED.tocsr()) == ["██  ", " ██ ", "  ██", "   █"]


def test_a_matrix_without_nonzeros():
    seen = character(from_scipy(sparse.csr_array((3, 2))))
    assert (seen.nonzeros, seen.density, seen.diagonal, seen.multiplies) == (0, 0.0, 0, None)
    assert (seen.rows.empty, seen.columns.empty) == (3, 2)
    assert draw_picture(sparse.csr_array((3, 2))) == ["  "] * 3


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 90)), draw(st.integers(1, 90))
    seed, density = draw(st.integers(0, 999)), draw(st.sampled_from([0.0, 0.01, 0.2, 1.0]))
    return sparse.random_array((rows, columns), density=density, rng=np.random.default_rng(seed)).tocsr()


@given(matrices())
def test_counts_are_those_of_the_dense_matrix(matrix):
    seen, filled = character(from_scipy(matrix)), (matrix.toarray() != 0).astype(int)
    assert seen.diagonal == np.trace(filled)
    for degrees, axis in ((seen.rows, 1), (seen.columns, 0)):
        counts = filled.sum(axis)
        assert (degrees.empty, degrees.most) == ((counts == 0).sum(), counts.max())
        assert (degrees.mean, degrees.median) == (pytest.approx(counts.mean()), np.median(counts))
    if matrix.shape[0] == matrix.shape[1]:
        assert seen.multiplies == (filled @ filled).sum()
        assert seen.symmetric == np.array_equal(filled, filled.T)


@given(matrices())
def test_a_block_is_blank_where_no_nonzero_lies_and_darkest_where_most_do(matrix):
    lines = draw_picture(matrix)
    height, width = len(lines), len(lines[0])
    assert height <= HEIGHT
    assert width <= WIDTH
    counts = np.zeros((height, width), int)
    for row, column in zip(*matrix.nonzero(), strict=True):
        counts[row * height // matrix.shape[0], column * width // matrix.shape[1]] += 1
    shades = np.array([[SHADES.index(shade) for shade in line] for line in lines])
    assert np.array_equal(shades > 0, counts > 0)
    order = np.argsort(counts, axis=None, kind="stable")
    assert (np.diff(shades.ravel()[order]) >= 0).all()
    assert not counts.any() or shades.max() == len(SHADES) - 1


def test_shades_go_by_the_logarithm():
    row = np.zeros((1, WIDTH * 16))
    for block, count in enumerate((0, 1, 3, 7, 15)):  # one more: powers of two
        row[0, block * 16 : block * 16 + count] = 1.0
    assert draw_picture(sparse.csr_array(row)) == [SHADES + " " * (WIDTH - len(SHADES))]
