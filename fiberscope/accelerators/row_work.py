"""The work of the rows of A, and the order in time of rows that are dealt over processing elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fiberscope.accelerators.windows import FloatArray
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse

PRODUCTS = 1 << 24  # products whose coordinates are counted at the same time, to limit memory


class Work:
    """The work of the rows of A in A times B, counted from the operands.

    Args:
        a, b: the operands, CSR with sorted and distinct coordinates.

    Attributes:
        products, outputs, nonzeros: by row of A: multiplications, elements of Z (also sums of 0), nonzeros.
    """

    def __init__(self, a: CsrArray, b: CsrArray) -> None:
        # Prefix sums, over the nonzeros of A, of the lengths of the rows of B that they select
        products = np.concatenate([[0], np.cumsum(np.diff(b.indptr).astype(np.int64)[a.indices])])
        self.products: Integers = np.diff(products[a.indptr])
        self.nonzeros: Integers = np.diff(a.indptr).astype(np.int64)
        # Parts of about ``PRODUCTS`` products; a row with more products is not divided.
        steps = np.arange(PRODUCTS, products[-1], PRODUCTS)
        bounds = np.unique([0, *np.searchsorted(products[a.indptr], steps), a.shape[0]]).tolist()
        # Sums of booleans do not cancel: the result has an entry for each sum of Z, also for a sum of 0.
        left, right = (sparse.csr_array((np.ones(m.nnz, bool), m.indices, m.indptr), m.shape) for m in (a, b))
        outputs = [np.diff((left[bounds[i] : bounds[i + 1]] @ right).indptr) for i in range(len(bounds) - 1)]
        self.outputs: Integers = np.concatenate([np.zeros(0, np.int64), *outputs])


def order_rows(efforts: FloatArray, shares: int) -> tuple[Integers, FloatArray, float]:
    """Return the rows in the order in which a machine begins them, and the time that each of them takes.

    Processing elements are taken to be equally fast. At a time, all of them that still have rows have then
    done the same effort. Of n such elements, each takes one n-th of the time for itself.

    Args:
        efforts: effort of each row.
        shares: number of processing elements; row r is a row of element r modulo ``shares``.

    Returns:
        Numbers of the rows, their times in the same order, and the time of the *tail*: the end of the run,
        in which some elements have no rows left. The times of all rows add up to ``shares`` times the effort
        of the longest share.
    """
    ends = np.zeros(len(efforts))
    for share in range(shares):
        ends[share::shares] = np.cumsum(efforts[share::shares])
    loads = np.sort([efforts[share::shares].sum() for share in range(shares)])
    bounds = np.concatenate([[0], loads])  # between two bounds, the number of elements with rows is the same
    # While n elements have rows, each of them is given an n-th of ``shares`` times the effort.
    times = np.concatenate([[0], np.cumsum(np.diff(bounds) * shares / np.arange(shares, 0, -1))])
    begins = ends - efforts
    order = np.argsort(begins, kind="stable")
    taken = np.interp(ends, bounds, times) - np.interp(begins, bounds, times)
    return order, taken[order], shares * float(loads[-1] - loads[0])


def share_disagreement(kinds: Sequence[Integers], shares: int) -> float:
    """Return by how much kinds of work disagree about the longest share, relative to its length.

    Args:
        kinds: work of each row by kind.
        shares: as of ``order_rows``.
    """
    # The last row of ``work`` is the sum of all kinds, which decides which share is the longest.
    work = np.stack([*kinds, np.sum(kinds, axis=0)])
    loads = np.stack([work[:, share::shares].sum(axis=1) for share in range(shares)], axis=1)
    # Load of this share by kind, relative to the mean load of all shares
    lengths = (loads * shares / np.maximum(1, loads.sum(axis=1))[:, np.newaxis])[:, loads[-1].argmax()]
    return float(np.abs(lengths[:-1] - lengths[-1]).max() / max(1.0, lengths[-1]))


def deal_rows(a: CsrArray, numbers: Integers, shares: int) -> CsrArray:
    """Return the matrix of some rows in which each of them goes to the same processing element as in ``a``.

    Args:
        a: the matrix.
        numbers: numbers of the rows; those of a processing element in the order in which it takes them.
        shares: as of ``order_rows``. Elements with fewer rows than others get empty rows at the end.
    """
    places = np.zeros(len(numbers), np.int64)
    for share in range(shares):
        is_own = numbers % shares == share
        # The machine gives every ``shares``-th row, from row ``share`` on, to this element.
        places[is_own] = np.arange(share, share + shares * is_own.sum(), shares)
    rows = a[numbers[np.argsort(places)]]
    lengths = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    lengths[np.sort(places)] = np.diff(rows.indptr)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((rows.data, rows.indices, pointers), shape=(len(lengths), a.shape[1]))
