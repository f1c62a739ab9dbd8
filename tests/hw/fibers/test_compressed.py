"""Compressed rows: what is taken as it is, and what is copied."""

import numpy as np
import pytest

from fiberscope.hw.fibers.compressed import CompressedRows

POINTERS = np.array([0, 2, 2, 3])
COORDINATES = np.array([1, 5, 2], np.int32)
VALUES = np.array([0.5, 1.5, 2.5])


def test_arrays_of_the_right_width_are_taken_without_a_copy():
    rows = CompressedRows(POINTERS, COORDINATES, VALUES)
    assert rows.rows == 3
    for taken, given in ((rows.pointers, POINTERS), (rows.coordinates, COORDINATES), (rows.values, VALUES)):
        assert np.shares_memory(np.asarray(taken), given)


@pytest.mark.parametrize("width", [np.int8, np.int32, np.int64, np.uint16])
def test_integers_of_any_width_are_stored_alike(width):
    rows = CompressedRows(POINTERS.astype(width), COORDINATES.astype(width), VALUES.astype(np.float32))
    assert np.asarray(rows.pointers).tolist() == [0, 2, 2, 3]
    assert np.asarray(rows.coordinates).tolist() == [1, 5, 2]
    assert np.asarray(rows.values).tolist() == [0.5, 1.5, 2.5]
    assert type(rows.pointers[1]) is int  # uncompiled arithmetic on it does not overflow


def test_what_may_not_be_written_or_has_gaps_is_copied():
    frozen = VALUES.copy()
    frozen.flags.writeable = False
    rows = CompressedRows(np.repeat(POINTERS, 2)[::2], COORDINATES, frozen)
    assert np.asarray(rows.pointers).tolist() == [0, 2, 2, 3]
    assert not np.shares_memory(np.asarray(rows.values), frozen)
