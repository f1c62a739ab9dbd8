"""The rows of Z as the writers store them, and the matrix that they make up."""

from __future__ import annotations

import mmap

import numpy as np
from scipy import sparse

from accelerators.gamma.tasks import CompressedRows, Integers
from accelerators.machine import CsrArray

ELEMENTS_A_BLOCK = 1 << 16  # moved at once when the rows are brought together


class ProductRows:
    """Room for every row of Z at its longest; what is never written takes no memory.

    Row r is stored from element ``starts[r]`` on.

    Args:
        a, b: the operands.
        columns: columns of B.
    """

    def __init__(self, a: CompressedRows, b: CompressedRows, columns: int) -> None:
        self.columns = columns
        longest = np.minimum(_products_a_row(a, b), columns)
        starts = np.concatenate([[0], np.cumsum(longest)])
        self.starts = starts
        self.coordinate_pages = _pages(4 * int(starts[-1]))
        self.value_pages = _pages(8 * int(starts[-1]))
        self.coordinates = np.frombuffer(self.coordinate_pages, np.int32, starts[-1])
        self.values = np.frombuffer(self.value_pages, np.float64, starts[-1])

    def gather(self, lengths: Integers) -> CsrArray:
        """The matrix, given how many elements each row has; moves the rows together in place.

        A row only ever moves towards the front, so blocks of rows in order do not overtake one another.
        """
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        coordinates, values = np.asarray(self.coordinates), np.asarray(self.values)
        starts = np.asarray(self.starts)
        first = 0
        while first < len(lengths):
            last = int(np.searchsorted(pointers, pointers[first] + ELEMENTS_A_BLOCK, side="right")) - 1
            last = max(last, first + 1)
            here = slice(pointers[first], pointers[last])
            places = np.arange(here.start, here.stop)
            places += np.repeat(starts[first:last] - pointers[first:last], lengths[first:last])
            coordinates[here] = coordinates[places]
            values[here] = values[places]
            first = last
        count = int(pointers[-1])
        _forget(self.coordinate_pages, 4 * count)
        _forget(self.value_pages, 8 * count)
        if count < 2**31:  # as wide as the coordinates, or scipy copies them
            pointers = pointers.astype(np.int32)
        shape = (len(lengths), self.columns)
        return sparse.csr_array((values[:count], coordinates[:count], pointers), shape=shape)


def _pages(size: int) -> mmap.mmap:
    """Memory whose pages come into being when written to, a small page at a time."""
    pages = mmap.mmap(-1, max(1, size))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _forget(pages: mmap.mmap, used: int) -> None:
    """Give back the pages behind the first ``used`` bytes."""
    start = -(-used // mmap.PAGESIZE) * mmap.PAGESIZE
    if hasattr(mmap, "MADV_DONTNEED") and start < len(pages):
        pages.madvise(mmap.MADV_DONTNEED, start, len(pages) - start)


def _products_a_row(a: CompressedRows, b: CompressedRows) -> Integers:
    """Multiplies that each row of Z takes."""
    lengths = np.diff(np.asarray(b.pointers))
    before = np.concatenate([[0], np.cumsum(lengths[np.asarray(a.coordinates)])])
    products: Integers = np.diff(before[np.asarray(a.pointers)])
    return products
