"""Division of matrix A into beats, the transfers that the bus makes in one cycle each.

A beat holds elements of A in the format in which the array computes (*ACF*, algorithm compression format),
and the ids that these elements share. Each word of a beat is a value or an id, a row or column number.
Source: MINT (IPDPS 2021), Section IV-B and Figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Beat:
    """The nonzeros of A in one beat of the bus.

    The zeros of a dense row occupy words of the bus, but this record does not list them.

    Args:
        rows, columns: row and column id of each nonzero.
        values: value of each nonzero.
        distinct_ids: number of distinct column ids. A processing element looks up each in its column of B.
    """

    rows: Ids
    columns: Ids
    values: NDArray[np.float64]
    distinct_ids: int


def elements_per_beat(acf: str, words: int) -> int:
    """Return the number of elements of A that fit in one beat.

    A beat of a dense row holds one row id and values. A beat of CSR holds one row id, and a column id for
    each value; a beat of CSC holds one column id, and a row id for each value. A beat of COO holds both ids
    for each value.

    Args:
        acf: format of A: ``dense``, ``csr``, ``csc`` or ``coo``.
        words: number of words in a beat: at least 2 for ``dense``, otherwise at least 3.
    """
    return {"dense": words - 1, "csr": (words - 1) // 2, "csc": (words - 1) // 2, "coo": words // 3}[acf]


def beats(acf: str, a: CsrArray, words: int) -> Iterator[Beat]:
    """Yield the beats that transfer a matrix: row by row, or column by column for CSC.

    Args:
        acf: format in which the matrix is transferred, as of ``elements_per_beat``.
        a: the matrix, with sorted and distinct coordinates.
        words: number of words in a beat.
    """
    elements = elements_per_beat(acf, words)
    if acf == "dense":
        return _cut_dense(a, elements)
    entries = _Entries(a, by_columns=acf == "csc")
    # Beats of COO go on from one row into the next; any other beat ends with its row or column.
    bounds = np.array([0, a.nnz]) if acf == "coo" else entries.bounds
    return entries.cut(bounds, elements)


class _Entries:
    """The nonzeros of a matrix in the order in which the bus streams them."""

    def __init__(self, a: CsrArray, *, by_columns: bool) -> None:
        ordered = sparse.csc_array(a) if by_columns else a
        self.bounds = ordered.indptr.astype(np.int64)
        outer = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        inner = ordered.indices.astype(np.int64)
        self.rows, self.columns = (inner, outer) if by_columns else (outer, inner)
        self.values = ordered.data

    def cut(self, bounds: Ids, elements: int) -> Iterator[Beat]:
        """Yield beats of at most ``elements`` nonzeros, none of which crosses one of the ``bounds``."""
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            for begin in range(first, last, elements):
                yield self.beat(begin, min(begin + elements, last))

    def beat(self, begin: int, end: int) -> Beat:
        """Return the beat of the nonzeros numbered ``begin`` to ``end`` - 1."""
        columns = self.columns[begin:end]
        return Beat(self.rows[begin:end], columns, self.values[begin:end], len(np.unique(columns)))


def _cut_dense(a: CsrArray, elements: int) -> Iterator[Beat]:
    """Yield a beat for each ``elements`` columns of each row, including columns without nonzeros."""
    entries = _Entries(a, by_columns=False)
    for row in range(a.shape[0]):
        first, last = int(entries.bounds[row]), int(entries.bounds[row + 1])
        # The last bound is at or after the end of the row.
        column_bounds = np.arange(0, a.shape[1] + elements, elements)
        bounds = first + np.searchsorted(entries.columns[first:last], column_bounds)
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            yield entries.beat(begin, end)
