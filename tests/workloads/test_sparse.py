"""Matrices of arrays that stay where they are."""

import numpy as np

from fiberscope.workloads.sparse import csr_in_place


def test_a_matrix_takes_the_beginning_of_longer_arrays_as_it_is():
    values, coordinates = np.arange(100.0), np.arange(100, dtype=np.int32)
    matrix = csr_in_place(values[:3], coordinates[:3], np.array([0, 2, 3], np.int32), (2, 4))
    assert matrix.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 2, 0]]
    assert np.shares_memory(matrix.data, values)
    assert np.shares_memory(matrix.indices, coordinates)
