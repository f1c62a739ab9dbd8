"""The product Z in memory: for each row of an output tile, a sorted list of elements."""

from __future__ import annotations

from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.extensor.merging import count_in_blocks, merge_elements
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.sparse import sparse

ShortIntegers: TypeAlias = npt.NDArray[np.uint16]


class StoredProduct:
    """The elements of Z written so far, by row M1 of microtiles, N2 and key (see ``OutputRow``).

    Args:
        shape: rows and columns of Z.
        microtile: side of a microtile, in coordinates.
        columns: microtiles of an output tile in N.
        value_type: type in which values are added.

    Attributes:
        nonzeros: number of elements.
        additions: additions to elements that memory held.
        rows: keys and values of each row of an output tile, by its M1 and N2; empty after ``gather``.
    """

    def __init__(
        self, shape: tuple[int, int], microtile: int, columns: int, value_type: ValueType = DOUBLE
    ) -> None:
        self.value_type = value_type
        self.shape = shape
        self.microtile = microtile
        self.columns = columns
        # Keys are below columns * microtile**2 (``OutputRow``); short keys save memory.
        self.key_type = np.int32 if columns * microtile**2 < 2**31 else np.int64
        self.rows: dict[tuple[int, int], tuple[Integers, Values]] = {}
        self.nonzeros = 0
        self.additions = 0
        self.matrix: CsrArray | None = None  # result of ``gather``

    def merge(
        self, row: tuple[int, int], keys: Integers, values: Values, visited: Integers
    ) -> tuple[int, int]:
        """Merge a row of an output tile into memory; not after ``gather``, which frees the rows.

        Args:
            row: M1 and N2 of the row, counted from 0.
            keys: keys of the row's elements, sorted.
            values: values of these elements. They may be kept without a copy: do not change them later.
            visited: indices of the visited microtiles of the row, sorted.

        Returns:
            The number of elements that memory held in the visited microtiles, and the number of new elements.
        """
        entries = self.rows.get(row)
        old_keys, old = (
            (keys[:0], values[:0]) if entries is None else (entries[0].astype(np.int64), entries[1])
        )
        merged_keys, sums = (
            merge_elements(old_keys, old, keys, values, self.value_type) if len(old_keys) else (keys, values)
        )
        self.rows[row] = merged_keys.astype(self.key_type), sums
        new = len(merged_keys) - len(old_keys)
        self.nonzeros += new
        self.additions += len(keys) - new
        return count_in_blocks(old_keys, visited, self.microtile**2), new

    def gather(self) -> CsrArray:
        """Return Z; its entries are the elements written, zeros included.

        The first call frees the rows on the way. Later calls return the same matrix.
        """
        if self.matrix is None:
            self.matrix = self._gather()
        return self.matrix

    def _gather(self) -> CsrArray:
        """Build the CSR matrix, one row M1 of microtiles at a time, which limits the memory of the sort."""
        columns = np.empty(self.nonzeros, np.int32 if self.shape[1] < 2**31 else np.int64)
        values = np.empty(self.nonzeros)
        lengths = np.zeros(self.shape[0], np.int64)
        start = 0
        for m1, numbers in groupby(sorted(self.rows), key=lambda numbers: numbers[0]):
            rows, row_columns, entries = self._points(list(numbers))
            order = np.argsort(rows, kind="stable")  # keeps the order by N2 and column within a row
            span = slice(start, start + len(rows))
            columns[span], values[span] = row_columns[order], entries[order]
            first_row = m1 * self.microtile
            counts = np.bincount(rows, minlength=1)
            lengths[first_row : first_row + len(counts)] = counts
            start = span.stop
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        if self.nonzeros < 2**31:  # as wide as the coordinates, or scipy copies them
            pointers = pointers.astype(columns.dtype)
        return sparse.csr_array((values, columns, pointers), shape=self.shape)

    def _points(self, numbers: list[tuple[int, int]]) -> tuple[ShortIntegers, Integers, Values]:
        """Return row within M1, column and value of each element of the rows with these M1 and N2.

        The elements are removed from ``rows``. Row numbers have 16 bits, for which numpy uses a radix sort.
        """
        side = self.microtile
        points = []
        for m1, n2 in numbers:
            keys, values = self.rows.pop((m1, n2))
            # A key is (index of the microtile * side + row in it) * side + column in it, see ``OutputRow``.
            column, offset = np.divmod(keys, side**2)
            rows = (offset // side).astype(np.uint16)
            points.append((rows, (n2 * self.columns + column) * side + offset % side, values))
        rows, columns, values = (np.concatenate(arrays) for arrays in zip(*points, strict=True))
        return rows, columns, values
