"""Z as memory holds it: tile by tile, each a sorted list of elements."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from workloads.canonical import CsrArray, Integers, Values


class StoredProduct:
    """The elements of Z that were written so far, by row M1 of microtiles and N2, and key (``OutputRow``).

    Args:
        shape: of Z.
        microtile: coordinates of a microtile.
        columns: microtiles of an output tile in N.
    """

    def __init__(self, shape: tuple[int, int], microtile: int, columns: int) -> None:
        self.shape = shape
        self.microtile = microtile
        self.columns = columns
        self.rows: dict[tuple[int, int], tuple[Integers, Values]] = {}
        self.nonzeros = 0
        self.additions = 0

    def merge(
        self, place: tuple[int, int], keys: Integers, values: Values, visited: Integers
    ) -> tuple[int, int]:
        """Merge a row of an output tile into memory.

        Args:
            place: its M1 and N2, counted from 0.
            keys: of its elements, sorted.
            values: of those.
            visited: its microtiles that were worked on.

        Returns:
            Elements that memory held in the visited microtiles, and those that it did not hold.
        """
        held, old = self.rows.get(place, (np.zeros(0, np.int64), np.zeros(0)))
        merged = np.concatenate([held, keys[~_among(keys, held)]])
        merged.sort(kind="stable")  # merges the two
        sums = np.zeros(len(merged))
        sums[np.searchsorted(merged, held)] = old
        sums[np.searchsorted(merged, keys)] += values
        self.rows[place] = merged, sums
        new = len(merged) - len(held)
        self.nonzeros += new
        self.additions += len(keys) - new
        return int(np.isin(held // self.microtile**2, visited).sum()), new

    def gather(self) -> CsrArray:
        """The matrix; its entries are those written, be they zero."""
        points = [self._points(place, keys) for place, (keys, _values) in self.rows.items()]
        rows, columns = np.concatenate([np.zeros((2, 0), np.int64), *points], axis=1)
        values = np.concatenate([np.zeros(0), *(values for _keys, values in self.rows.values())])
        order = np.argsort(rows * max(1, self.shape[1]) + columns)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.shape[0]))])
        return sparse.csr_array((values[order], columns[order], pointers), shape=self.shape)

    def _points(self, place: tuple[int, int], keys: Integers) -> Integers:
        """Rows and columns of the elements of a row of microtiles."""
        side = self.microtile
        column, inside = keys // side**2, keys % side**2
        rows = place[0] * side + inside // side
        return np.stack([rows, (place[1] * self.columns + column) * side + inside % side])


def _among(keys: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Which keys are among others; both are sorted."""
    if len(others) == 0:
        return np.zeros(len(keys), dtype=bool)
    places = np.searchsorted(others, keys)
    found: npt.NDArray[np.bool_] = others.take(places, mode="clip") == keys
    return found
