# cython: infer_types=True
"""Affinity-based ordering of the rows of A, part of Gamma's preprocessing software.

The order is greedy. The next row is the row with the highest affinity: the number of columns that it shares
with each of the last W rows, summed over these rows. Such a row finds many of the fibers of B that it selects
in the FiberCache. W is the number of rows whose fibers fit the cache: the number of fibers that fit, divided
by the mean number of nonzeros of A's rows. Source: Gamma (ASPLOS 2021), Algorithm 1. The paper does not
define the mean fiber that gives the number of fibers that fit. This module averages over the selected fibers
and weights each fiber with the number of rows that select it, because fibers that many rows select are long.
"""

from __future__ import annotations

from array import array

import numpy as np

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers

NOBODY = -1  # end of a linked list of rows


def window_rows(a: CompressedRows, b: CompressedRows, cache_bytes: int, element_bytes: int) -> int:
    """Return W, the number of rows of A whose fibers of B fit the cache on average; at least 1.

    Args:
        a, b: the operands.
        cache_bytes: size of the FiberCache in bytes.
        element_bytes: bytes of an element of B.
    """
    selected = int(np.diff(np.asarray(b.pointers))[np.asarray(a.coordinates)].sum())  # elements of all fibers
    # The number of fibers that fit is cache_bytes / (selected / nonzeros * element_bytes). It is divided by
    # nonzeros / a.rows, so that the nonzeros cancel out.
    return max(1, cache_bytes * a.rows // (selected * element_bytes)) if selected else 1


def affinity_order(a: CompressedRows, columns: int, window: int) -> Integers:
    """Return the rows of A in the order in which they should run.

    The order begins with row 0. Among rows of equal affinity, the row whose affinity changed last comes
    first. Rows whose affinity never changed keep their order. The run time is proportional to the sum of the
    squares of the columns' lengths.

    Args:
        a: the matrix.
        columns: number of columns of A.
        window: W, the number of preceding rows that an affinity counts.
    """
    rows_of_entries = np.repeat(np.arange(a.rows), np.diff(np.asarray(a.pointers)))
    entries = np.asarray(a.coordinates)
    by_column = rows_of_entries[np.argsort(entries, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(entries, minlength=columns))])
    # The walk needs no values.
    walk = AffinityWalk(a, CompressedRows(starts, by_column, np.zeros(0)), window)
    walk.run()
    return np.asarray(walk.order)


class AffinityWalk:
    """A greedy walk over the rows of A, which keeps the remaining rows in one linked list for each affinity.

    Args:
        a: the matrix.
        transposed: the transposed matrix, the rows of each column.
        window: number of preceding rows that an affinity counts.

    Attributes:
        order: for each position, the row that was chosen.
    """

    def __init__(self, a: CompressedRows, transposed: CompressedRows, window: int) -> None:
        self.a = a
        self.transposed = transposed
        self.window = window
        self.order = array("q", [NOBODY]) * a.rows
        self.affinity = array("q", bytes(8 * a.rows))
        self.is_ordered = array("q", bytes(8 * a.rows))
        # All rows begin in the list of affinity 0, in ascending order.
        self.following = array("q", [*range(1, a.rows), NOBODY]) if a.rows else array("q")
        self.preceding = array("q", range(-1, a.rows - 1))
        self.heads = array("q", [NOBODY]) * (_highest(a, transposed) + 1)
        self.heads[0] = 0
        self.best = 0  # upper bound of the affinity of the remaining rows

    def run(self) -> None:
        """Choose all rows."""
        for place in range(self.a.rows):
            # Before the window would hold more than W rows, its oldest row leaves.
            if place > self.window:
                self._shift(self.order[place - self.window - 1], -1)
            row = self._choose()
            self.order[place] = row
            self._shift(row, 1)

    def _choose(self) -> int:
        """Take the first row of the highest affinity; ``best`` falls only here, and rises in ``_put_in``."""
        while self.heads[self.best] == NOBODY:
            self.best -= 1
        row = self.heads[self.best]
        self._take_out(row)
        self.is_ordered[row] = 1
        return row

    def _shift(self, row: int, step: int) -> None:
        """Update affinities when a row enters the window (``step`` 1) or leaves the window (``step`` -1).

        The affinity of every remaining row changes by ``step`` for each column that it shares with ``row``.
        """
        for i in range(self.a.pointers[row], self.a.pointers[row + 1]):
            column = self.a.coordinates[i]
            for j in range(self.transposed.pointers[column], self.transposed.pointers[column + 1]):
                other = self.transposed.coordinates[j]
                if not self.is_ordered[other]:
                    self._take_out(other)
                    self.affinity[other] += step
                    self._put_in(other)

    def _take_out(self, row: int) -> None:
        """Remove a row from the list of its affinity."""
        predecessor = self.preceding[row]
        after = self.following[row]
        if predecessor == NOBODY:
            self.heads[self.affinity[row]] = after
        else:
            self.following[predecessor] = after
        if after != NOBODY:
            self.preceding[after] = predecessor

    def _put_in(self, row: int) -> None:
        """Insert a row at the head of the list of its affinity."""
        affinity = self.affinity[row]
        head = self.heads[affinity]
        self.preceding[row] = NOBODY
        self.following[row] = head
        if head != NOBODY:
            self.preceding[head] = row
        self.heads[affinity] = row
        self.best = max(self.best, affinity)


def _highest(a: CompressedRows, transposed: CompressedRows) -> int:
    """Return an upper bound of any row's affinity: the largest sum of the lengths of a row's columns."""
    lengths = np.diff(np.asarray(transposed.pointers))
    # Differences of prefix sums, since ``reduceat`` would be wrong for empty rows
    sums = np.concatenate([[0], np.cumsum(lengths[np.asarray(a.coordinates)])])
    return int(np.diff(sums[np.asarray(a.pointers)]).max(initial=0))
