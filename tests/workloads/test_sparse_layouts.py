"""Coordinates and pointers out of range, in each layout of sparse arrays: no library reads them."""

import io

import numpy as np
import pytest

from fiberscope.workloads.binary import read_binary
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse_layouts import decode

# Matrices of 4 x 6: CSC has a pointer a column, BSR blocks of 2 x 3, so 2 x 2 of them.
SHAPE = (4, 6)
VALUES = np.array([1.0, 2.0, 3.0])
COMPRESSED = {
    "csr": {"data": VALUES, "indices": np.array([0, 5, 2]), "indptr": np.array([0, 2, 2, 3, 3])},
    "csc": {"data": VALUES, "indices": np.array([0, 3, 2]), "indptr": np.array([0, 2, 2, 2, 3, 3, 3])},
    "bsr": {"data": np.ones((3, 2, 3)), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 2, 3])},
    "gcxs": {
        "data": VALUES,
        "indices": np.array([0, 5, 2]),
        "indptr": np.array([0, 2, 2, 3, 3]),
        "compressed_axes": np.array([0]),
    },
}
SIZES = {"csr": 6, "csc": 4, "bsr": 2, "gcxs": 6}  # of what the coordinates count
COO = {"data": VALUES, "row": np.array([0, 3, 1]), "col": np.array([5, 0, 2])}
DIA = {"data": np.ones((2, 6)), "offsets": np.array([-3, 5])}


def refused(layout, arrays, message):
    """Whether a layout's arrays are refused from memory and from a file, in the same words."""
    with pytest.raises(WorkloadError, match=message):
        decode(layout, {"shape": np.array(SHAPE), **arrays}, "x.npz")
    file = io.BytesIO()
    np.savez(file, format=np.array(layout.encode()), shape=np.array(SHAPE), **arrays)
    file.seek(0)
    with pytest.raises(WorkloadError, match=message):
        read_binary(file, ".npz", "x.npz")


def changed(arrays, name, place, number):
    array = arrays[name].copy()
    array[place] = number
    return {**arrays, name: array}


@pytest.mark.parametrize(
    ("layout", "arrays"), [*COMPRESSED.items(), ("coo", COO), ("dia", DIA)], ids=[*COMPRESSED, "coo", "dia"]
)
def test_what_reaches_to_the_ends_of_its_ranges_is_read(layout, arrays):
    matrix = decode(layout, {"shape": np.array(SHAPE), **arrays}, "x.npz")
    entries = {"bsr": 18, "dia": 2}.get(layout, 3)
    assert (matrix.shape, matrix.nnz) == (SHAPE, entries)


@pytest.mark.parametrize("layout", COMPRESSED)
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
def test_a_coordinate_out_of_range_is_refused(layout, place):
    size = SIZES[layout]
    for number in (-1, size):
        arrays = changed(COMPRESSED[layout], "indices", place, number)
        refused(layout, arrays, rf"the coordinate( of a block)? {number} is outside 0 to {size - 1}")


@pytest.mark.parametrize("layout", COMPRESSED)
def test_pointers_that_are_none_are_refused(layout):
    arrays = COMPRESSED[layout]
    wrong = "the pointers do not rise from 0 to the 3 entries"
    refused(layout, changed(arrays, "indptr", -1, 4), wrong)  # beyond the entries
    refused(layout, changed(arrays, "indptr", 0, 1), wrong)
    refused(layout, changed(arrays, "indptr", 1, 4), wrong)  # falls behind it
    refused(layout, changed(arrays, "indptr", 1, -1), wrong)
    short = {**arrays, "indptr": arrays["indptr"][:-1]}
    count = len(arrays["indptr"])
    refused(layout, short, f"{count - 1} pointers for {count - 1} rows or columns; there must be {count}")


@pytest.mark.parametrize(("name", "size"), [("row", 4), ("col", 6)])
def test_a_coordinate_of_coo_out_of_range_is_refused(name, size):
    for number in (-1, size):
        refused("coo", changed(COO, name, 1, number), str(number))


@pytest.mark.parametrize("offset", [-4, 6])
def test_a_diagonal_out_of_range_is_refused(offset):
    refused("dia", changed(DIA, "offsets", 1, offset), f"the diagonal {offset} is outside -3 to 5")
    refused("dia", changed(DIA, "offsets", 1, -3), "an offset appears twice")
