"""Where an entry of a rank that is stored whole lies: at its coordinate."""

import numpy as np
import pytest
from scipy import sparse

import fiberscope


@pytest.mark.parametrize(("last", "lines"), [(1, 0), (2, 1), (39, 1)])
def test_a_pointer_that_is_looked_up_lies_at_its_coordinate(last, lines):
    """Two pointers to a line of the cache: those of rows 0 and 1 share one, of no other two rows.

    Among the rows that are present they are neighbours, as the public tool has it.
    """
    columns = np.array([0, last])
    a = sparse.csr_array((np.ones(2), (np.zeros(2, int), columns)), shape=(1, 40))
    b = sparse.csr_array((np.ones(2), (columns, np.zeros(2, int))), shape=(40, 1))
    public, placed = (
        fiberscope.model("gamma", a, b, settings={"places": places}).traffic["B"].read_bytes
        for places in (False, True)
    )
    assert placed - public == 8 * lines
