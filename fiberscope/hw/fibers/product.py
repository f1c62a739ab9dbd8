# cython: infer_types=True
"""The rows of a product as they are written, in any order, and the matrix that they make up."""

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
    """Room for every row of A times B at its longest; what is never written takes no memory. A store.

    The row that is made as number r is written from element ``starts[r]`` on.

    Args:
        a, b: the operands.
        columns: columns of B.
        order: by number, which row of the product it is, where they are made in an order of their own.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"coordinates": "writer", "values": "writer"}

    def __init__(
        self, a: CompressedRows, b: CompressedRows, columns: int, order: npt.NDArray[np.int64] | None = None
    ) -> None:
        self.order = np.arange(a.rows) if order is None else order
        longest = np.minimum(_products_a_row(a, b), columns)
        starts, room = np.cumsum(longest) - longest, int(longest.sum())
        self.starts = np.append(starts[self.order], room)  # C: public long[::1]
        self.coordinate_pages = _pages(4 * room)
        self.value_pages = _pages(8 * room)
        self.coordinates = np.frombuffer(self.coordinate_pages, np.int32, room)  # C: public
        self.values = np.frombuffer(self.value_pages, np.float64, room)  # C: public
        self.together: Rows | None = None

    def gather(self, lengths: npt.NDArray[np.int64]) -> Rows:
        """Values, coordinates and row pointers, given the elements of each row by number.

        The first call moves the rows together, so that nothing is written from then on; later ones give the
        same again.
        """
        if self.together is None:
            self.together = self._gather(lengths)
        return self.together

    def _gather(self, lengths: npt.NDArray[np.int64]) -> Rows:
        """Move the rows together in place, and give back the pages that they leave.

        A row only ever moves towards the front, so blocks of rows in order do not overtake one another.
        """
        written = np.zeros(len(lengths), np.int64)
        starts = np.full(len(lengths) + 1, self.starts[len(lengths)])
        starts[self.order], written[self.order] = np.asarray(self.starts)[:-1], lengths
        pointers = np.concatenate([[0], np.cumsum(written)])
        coordinates, values = np.asarray(self.coordinates), np.asarray(self.values)
        first = 0
        while first < len(lengths):
            last = int(np.searchsorted(pointers, pointers[first] + ELEMENTS_A_BLOCK, side="right")) - 1
            last = max(last, first + 1)
            here = slice(pointers[first], pointers[last])
            places = np.arange(here.start, here.stop)
            places += np.repeat(starts[first:last] - pointers[first:last], written[first:last])
            coordinates[here] = coordinates[places]
            values[here] = values[places]
            left = max(int(starts[first]), here.stop)
            _forget(self.coordinate_pages, 4 * left, 4 * int(starts[last]))
            _forget(self.value_pages, 8 * left, 8 * int(starts[last]))
            first = last
        count = int(pointers[len(lengths)])
        if count < 2**31:  # as wide as the coordinates, or scipy copies them
            pointers = pointers.astype(np.int32)
        return values[:count], coordinates[:count], pointers


def _pages(size: int) -> mmap.mmap:
    """Return memory whose pages are allocated when written to, a small page at a time.

    The memory is private: after a fork neither process sees what the other one writes.
    """
    pages = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


def _forget(pages: mmap.mmap, first: int, last: int) -> None:
    """Give back the pages within these bytes."""
    first = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
    last -= last % mmap.PAGESIZE
    if hasattr(mmap, "MADV_DONTNEED") and first < last:
        pages.madvise(mmap.MADV_DONTNEED, first, last - first)


def _products_a_row(a: CompressedRows, b: CompressedRows) -> npt.NDArray[np.int64]:
    """Multiplies that each row of A times B takes."""
    lengths = np.diff(np.asarray(b.pointers))
    before = np.concatenate([[0], np.cumsum(lengths[np.asarray(a.coordinates)])])
    products: npt.NDArray[np.int64] = np.diff(before[np.asarray(a.pointers)])
    return products
