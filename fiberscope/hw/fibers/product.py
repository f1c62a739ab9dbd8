# cython: infer_types=True
"""The store of the rows of a product, which are written in any order and gathered into a matrix."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.compressed import CompressedRows

Rows: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], npt.NDArray[np.integer]]
ELEMENTS_A_BLOCK = 1 << 16  # C: object; moved at once when the rows are brought together


class ProductRows:  # C: final
    """A store for the rows of A times B, each with space for its greatest possible length.

    Pages that are never written take no memory. Rows are numbered in the order in which they are computed;
    row number r is written from element ``starts[r]`` on.

    Args:
        a, b: the operands.
        columns: number of columns of B, below 2**31, as coordinates have 32 bits.
        order: for each number, the row of the product, a permutation of all rows; by default the rows are
            computed in ascending order.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"coordinates": "writer", "values": "writer"}

    def __init__(
        self, a: CompressedRows, b: CompressedRows, columns: int, order: npt.NDArray[np.int64] | None = None
    ) -> None:
        self.order = np.arange(a.rows) if order is None else order
        # A row of the product has at most one element for each multiplication, and for each column
        longest = np.minimum(_products_per_row(a, b), columns)
        starts, capacity = np.cumsum(longest) - longest, int(longest.sum())
        self.starts = np.append(starts[self.order], capacity)  # C: public long[::1]
        self.coordinate_pages = _pages(4 * capacity)
        self.value_pages = _pages(8 * capacity)
        self.coordinates = np.frombuffer(self.coordinate_pages, np.int32, capacity)  # C: public
        self.values = np.frombuffer(self.value_pages, np.float64, capacity)  # C: public
        self.gathered: Rows | None = None

    def gather(self, lengths: npt.NDArray[np.int64]) -> Rows:
        """Return the values, coordinates and row pointers of the product.

        The first call moves the rows to consecutive elements; no row may be written afterwards. Later calls
        return the same arrays.

        Args:
            lengths: number of elements of each row, by number; at most the row's space, which is not checked.
                Later calls ignore it.

        Returns:
            Values, coordinates and row pointers, in the order of the product's rows. Values and coordinates
            are views of the store. The pointers have 32 bits if the number of elements fits.
        """
        if self.gathered is None:
            self.gathered = self._gather(lengths)
        return self.gathered

    def _gather(self, lengths: npt.NDArray[np.int64]) -> Rows:
        """Move the rows to consecutive elements in place, and free the pages that become empty.

        A row moves only towards the front. Blocks of rows in ascending order therefore do not overwrite rows
        that have not moved.
        """
        # ``starts`` and ``written`` are in the order of the product's rows, ``self.starts`` and ``lengths``
        # in that of the computation
        written = np.zeros(len(lengths), np.int64)
        starts = np.full(len(lengths) + 1, self.starts[len(lengths)])
        starts[self.order], written[self.order] = np.asarray(self.starts)[:-1], lengths
        pointers = np.concatenate([[0], np.cumsum(written)])
        coordinates, values = np.asarray(self.coordinates), np.asarray(self.values)
        first_row = 0
        while first_row < len(lengths):
            last_row = (
                int(np.searchsorted(pointers, pointers[first_row] + ELEMENTS_A_BLOCK, side="right")) - 1
            )
            last_row = max(last_row, first_row + 1)  # a row longer than a block is a block of its own
            block = slice(pointers[first_row], pointers[last_row])
            # The source of an element: its target, plus the distance that its row moves
            sources = np.arange(block.start, block.stop)
            sources += np.repeat(
                starts[first_row:last_row] - pointers[first_row:last_row], written[first_row:last_row]
            )
            # An index by an array copies first, so that sources and targets may overlap
            coordinates[block] = coordinates[sources]
            values[block] = values[sources]
            # The space of these rows is free now, but for the part that moved rows fill
            first_free = max(int(starts[first_row]), block.stop)
            _free_pages(self.coordinate_pages, 4 * first_free, 4 * int(starts[last_row]))
            _free_pages(self.value_pages, 8 * first_free, 8 * int(starts[last_row]))
            first_row = last_row
        count = int(pointers[len(lengths)])
        if count < 2**31:  # scipy copies pointers that are wider than the coordinates
            pointers = pointers.astype(np.int32)
        return values[:count], coordinates[:count], pointers


def _pages(size: int) -> mmap.mmap:
    """Return memory of ``size`` bytes whose pages, small ones, are allocated at the first write.

    The memory is private: after a fork, neither process sees the writes of the other.
    """
    pages = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _free_pages(pages: mmap.mmap, start: int, end: int) -> None:
    """Free the pages that lie completely between the bytes ``start`` and ``end``, where the system can."""
    start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    end -= end % mmap.PAGESIZE
    if hasattr(mmap, "MADV_DONTNEED") and start < end:
        pages.madvise(mmap.MADV_DONTNEED, start, end - start)


def _products_per_row(a: CompressedRows, b: CompressedRows) -> npt.NDArray[np.int64]:
    """Return the number of multiplications for each row of A times B."""
    lengths = np.diff(np.asarray(b.pointers))
    # Differences of prefix sums at the row pointers, which are 0 for an empty row, unlike ``np.add.reduceat``
    sums_before = np.concatenate([[0], np.cumsum(lengths[np.asarray(a.coordinates)])])
    products: npt.NDArray[np.int64] = np.diff(sums_before[np.asarray(a.pointers)])
    return products
