"""The worked examples: a matrix of 16 x 16, tensors of order 3, and their kernels, as computed by hand."""

from collections.abc import Sequence

import numpy as np

from fiberscope.workloads.tensor import SparseTensor

SQUARE = "C[i,j] = A[i,k] * B[k,j]"
TTM = "X[i,j,k] = C[i,j,l] * B[l,k]"
MTTKRP = "D[i,j] = A[i,k,l] * B[k,j] * C[l,j]"

_ROWS = (
    "0 1|1 2|2 3|3 4|4 5|5 6 13|6 7|7 8|2 8|2 9 14|2 10|2 11|12 13 14 15|13|3 14|15"  # columns of each row
)


def of_points(points: Sequence[Sequence[int]], shape: tuple[int, ...]) -> SparseTensor:
    """A tensor with ones at some places."""
    columns = np.array(points, dtype=np.int64).reshape(-1, len(shape)).T
    return SparseTensor.from_coordinates(shape, list(columns), np.ones(len(points)))


def matrix() -> SparseTensor:
    """A of 16 x 16, 34 nonzeros."""
    rows = enumerate(_ROWS.split("|"))
    return of_points([(row, int(column)) for row, text in rows for column in text.split()], (16, 16))


def squared() -> dict[str, SparseTensor]:
    """A and its transpose as B."""
    return {"A": matrix(), "B": matrix().transposed((1, 0))}


def ttm() -> dict[str, SparseTensor]:
    """C (i, j, l) and B (l, k)."""
    return {"C": _cube(), "B": _digits("00 01 11 12 23 33")}


def mttkrp() -> dict[str, SparseTensor]:
    """A (i, k, l), B (k, j) and C (l, j)."""
    return {"A": _cube(), "B": _digits("00 02 11 21 33"), "C": _digits("00 11 12 22 33")}


def _cube() -> SparseTensor:
    return _digits("000 001 011 110 123 202 233 322 333 330")


def _digits(text: str) -> SparseTensor:
    """A tensor of extents 4, its coordinates a digit each."""
    points = [[int(digit) for digit in word] for word in text.split()]
    return of_points(points, (4,) * len(points[0]))
