# cython: infer_types=True
"""The order of A's rows: affinity-based preprocessing, part of Gamma's software.

Greedy: the next row is the one that shares the most columns with the last W rows, counted over each of them,
so that it finds the fibers of B which it selects in the FiberCache. W is the number of rows whose fibers fit
the cache: the fibers that fit, divided by the mean length of A's rows. Source: Gamma (ASPLOS 2021),
Algorithm 1. Of which fibers is not said; here it is those that A selects, each as often as it does: hubs,
which many rows select, are long.
"""

from __future__ import annotations

from array import array

import numpy as np

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers

NOBODY = -1


def window_rows(a: CompressedRows, b: CompressedRows, cache_bytes: int, element_bytes: int) -> int:
    """W: rows of A whose fibers of B fit the cache, at the mean length of the selected ones; at least 1."""
    selected = int(np.diff(np.asarray(b.pointers))[np.asarray(a.coordinates)].sum())  # elements, of all rows
    return max(1, cache_bytes * a.rows // (selected * element_bytes)) if selected else 1


def affinity_order(a: CompressedRows, columns: int, window: int) -> Integers:
    """The rows of A in the order in which they should run.

    Begins with the first row. Rows of equal affinity: the one whose affinity changed last; rows that never
    had any come in their own order. Takes time in proportion to the squares of the columns' lengths.

    Args:
        a: the matrix.
        columns: its number of columns.
        window: rows that a row's affinity counts, W.
    """
    rows_of_entries = np.repeat(np.arange(a.rows), np.diff(np.asarray(a.pointers)))
    entries = np.asarray(a.coordinates)
    by_column = rows_of_entries[np.argsort(entries, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(entries, minlength=columns))])
    walk = AffinityWalk(a, CompressedRows(starts, by_column, np.zeros(0)), window)
    walk.run()
    return np.asarray(walk.order)


class AffinityWalk:
    """Chooses row after row; the rows still to choose stand in lists, one for each affinity.

    Args:
        a: the matrix.
        transposed: for each column the rows that have it.
        window: rows that a row's affinity counts.
    """

    def __init__(self, a: CompressedRows, transposed: CompressedRows, window: int) -> None:
        self.a = a
        self.transposed = transposed
        self.window = window
        self.order = array("q", [NOBODY]) * a.rows
        self.affinity = array("q", bytes(8 * a.rows))
        self.chosen = array("q", bytes(8 * a.rows))
        self.following = array("q", [*range(1, a.rows), NOBODY]) if a.rows else array("q")
        self.before = array("q", range(-1, a.rows - 1))
        self.heads = array("q", [NOBODY]) * (_highest(a, transposed) + 1)
        self.heads[0] = 0
        self.best = 0  # no row has a higher affinity

    def run(self) -> None:
        """Choose all rows."""
        for place in range(self.a.rows):
            if place > self.window:
                self._shift(self.order[place - self.window - 1], -1)
            row = self._choose()
            self.order[place] = row
            self._shift(row, 1)

    def _choose(self) -> int:
        while self.heads[self.best] == NOBODY:
            self.best -= 1
        row = self.heads[self.best]
        self._take_out(row)
        self.chosen[row] = 1
        return row

    def _shift(self, row: int, step: int) -> None:
        """A row enters or leaves the window: raise or lower all rows for each column they share with it."""
        for i in range(self.a.pointers[row], self.a.pointers[row + 1]):
            column = self.a.coordinates[i]
            for j in range(self.transposed.pointers[column], self.transposed.pointers[column + 1]):
                other = self.transposed.coordinates[j]
                if not self.chosen[other]:
                    self._take_out(other)
                    self.affinity[other] += step
                    self._put_in(other)

    def _take_out(self, row: int) -> None:
        """Out of the list of its affinity."""
        before = self.before[row]
        after = self.following[row]
        if before == NOBODY:
            self.heads[self.affinity[row]] = after
        else:
            self.following[before] = after
        if after != NOBODY:
            self.before[after] = before

    def _put_in(self, row: int) -> None:
        """At the head of the list of its affinity."""
        affinity = self.affinity[row]
        head = self.heads[affinity]
        self.before[row] = NOBODY
        self.following[row] = head
        if head != NOBODY:
            self.before[head] = row
        self.heads[affinity] = row
        self.best = max(self.best, affinity)


def _highest(a: CompressedRows, transposed: CompressedRows) -> int:
    """The affinity that no row can exceed: the rows that have one of its columns, over its columns."""
    lengths = np.diff(np.asarray(transposed.pointers))
    sums = np.concatenate([[0], np.cumsum(lengths[np.asarray(a.coordinates)])])
    return int(np.diff(sums[np.asarray(a.pointers)]).max(initial=0))
