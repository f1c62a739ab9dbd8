"""Beats of the bus in a cycle: elements of A in its format, and their common ids.

A word is a value or an id. Source: MINT (IPDPS 2021), Section IV-B and Figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse

__all__ = ["Beat", "beats", "capacity", "count_beats"]

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Beat:
    """The nonzeros in one beat; zeros of a dense row take their place on the bus and are left out here.

    Args:
        rows, columns: the rows and columns of each.
        values: the values of each.
        ids: how many different column ids are to be matched.
    """

    rows: Ids
    columns: Ids
    values: NDArray[np.float64]
    ids: int


def capacity(acf: str, words: int) -> int:
    """Elements of A in a beat of so many words.

    A dense row needs its row id, CSR a column id a value and the row id, CSC the same by columns, COO two
    ids a value.
    """
    return {"dense": words - 1, "csr": (words - 1) // 2, "csc": (words - 1) // 2, "coo": words // 3}[acf]


def count_beats(acf: str, a: CsrArray, words: int) -> int:
    """Count the beats that transfer a matrix.

    Args:
        acf: its format.
        a: the matrix.
        words: the words of a beat.
    """
    elements = capacity(acf, words)
    if acf == "coo":
        return int(-(-a.nnz // elements))
    if acf == "dense":
        return int(a.shape[0] * -(-a.shape[1] // elements))
    lengths = np.diff(a.indptr) if acf == "csr" else np.bincount(a.indices, minlength=a.shape[1])
    return int((-(-lengths // elements)).sum())


def beats(acf: str, a: CsrArray, words: int) -> Iterator[Beat]:
    """The beats that bring a matrix, in their order: row by row, CSC column by column."""
    elements = capacity(acf, words)
    if acf == "dense":
        return _dense(a, elements)
    entries = _Entries(a, by_columns=acf == "csc")
    bounds = np.array([0, a.nnz]) if acf == "coo" else entries.bounds
    return entries.cut(bounds, elements)


class _Entries:
    """The nonzeros of a matrix in the order in which they are streamed."""

    def __init__(self, a: CsrArray, *, by_columns: bool) -> None:
        ordered = sparse.csc_array(a) if by_columns else a
        self.bounds = ordered.indptr.astype(np.int64)
        outer = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        inner = ordered.indices.astype(np.int64)
        self.rows, self.columns = (inner, outer) if by_columns else (outer, inner)
        self.values = ordered.data

    def cut(self, bounds: Ids, elements: int) -> Iterator[Beat]:
        """Beats that end where a row or column does."""
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            for begin in range(first, last, elements):
                yield self.beat(begin, min(begin + elements, last))

    def beat(self, begin: int, end: int) -> Beat:
        """Return the entries that lie side by side in a beat."""
        columns = self.columns[begin:end]
        return Beat(self.rows[begin:end], columns, self.values[begin:end], len(np.unique(columns)))


def _dense(a: CsrArray, elements: int) -> Iterator[Beat]:
    """A beat for so many columns of a row, empty ones too."""
    entries = _Entries(a, by_columns=False)
    for row in range(a.shape[0]):
        first, last = int(entries.bounds[row]), int(entries.bounds[row + 1])
        edges = np.arange(0, a.shape[1] + elements, elements)[: -(-a.shape[1] // elements) + 1]
        places = first + np.searchsorted(entries.columns[first:last], edges)
        for begin, end in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
            yield entries.beat(begin, end)
