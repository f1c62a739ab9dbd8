"""The partial output tiles that a tiled kernel writes, counted exactly from the operands' nonzeros.

At each visit the tiles of all operands are multiplied. A nonzero that is written is known by its coordinates
and by the tiles of the summed indices at whose every tile a partial result is written. Distinct ones are
counted by products of patterns, in scipy's compiled code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise

import numpy as np
from scipy import sparse

from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.tensor import SparseTensor

__all__ = ["Points", "join", "level_counts"]

PRODUCTS = 1 << 24  # of patterns that are multiplied at once
MOST = 1 << 62  # that one number tells apart

# Nonzeros, or places where several operands have one: for each index a coordinate of every one of them.
Points = dict[str, Integers]


def level_counts(
    operands: Sequence[tuple[Sequence[str], SparseTensor]],
    output: Sequence[str],
    outside: Sequence[str],
    shape: Mapping[str, int],
) -> list[int]:
    """Over all visits the fibers of the partial tiles at each level: visits first, nonzeros last.

    Args:
        operands: each with the indices of its ranks.
        output: indices of the output as it is stored.
        outside: summed indices at whose every tile a partial result is written.
        shape: sides of a tile by index.
    """
    points = [dict(zip(indices, tensor.coordinates, strict=True)) for indices, tensor in operands]
    left, right = reduce(join, points[:-1], _POINT), points[-1]
    tiles = {index: shape[index] for index in (*output, *outside)}
    steps = [tiles | dict.fromkeys(output[:depth], 1) for depth in range(len(output) + 1)]
    return [_distinct(left, right, each) for each in steps]


_POINT: Points = {"": np.zeros(1, np.int64)}  # one, without coordinates


def _count(points: Points) -> int:
    return len(next(iter(points.values())))


def join(left: Points, right: Points) -> Points:
    """All pairs of points that agree where they have the same indices."""
    ours, theirs, many = _meeting(left, right)
    order = np.argsort(theirs, kind="stable")
    counts = np.bincount(theirs, minlength=many)
    repeated = np.repeat(np.arange(len(ours)), counts[ours])
    places = np.arange(len(repeated)) - np.repeat(np.cumsum(counts[ours]) - counts[ours], counts[ours])
    partners = order[(np.cumsum(counts) - counts)[ours[repeated]] + places]
    kept = {index: column[repeated] for index, column in left.items()}
    return kept | {index: column[partners] for index, column in right.items() if index not in left}


def _distinct(left: Points, right: Points, steps: Mapping[str, int]) -> int:
    """Distinct coordinates, in steps, of where both have a point; indices without a step do not count."""
    rows, height = _numbered(
        [left[index] // step for index, step in steps.items() if index in left], _count(left)
    )
    own = [right[index] // step for index, step in steps.items() if index in right and index not in left]
    columns, width = _numbered(own, _count(right))
    ours, theirs, many = _meeting(left, right)
    return _nonzeros(_pattern(rows, ours, (height, many)), _pattern(theirs, columns, (many, width)))


def _meeting(left: Points, right: Points) -> tuple[Integers, Integers, int]:
    """Numbers of the points of both, equal where they agree, and what these numbers are below."""
    shared = [np.concatenate([left[index], right[index]]) for index in right if index in left]
    numbers, many = _numbered(shared, _count(left) + _count(right))
    return numbers[: _count(left)], numbers[_count(left) :], many


def _numbered(columns: Iterable[Integers], count: int) -> tuple[Integers, int]:
    """Numbers of points, equal where all columns are, and what they are below: not far above their count."""
    numbers, below = np.zeros(count, np.int64), 1
    for column in columns:
        extent = int(column.max(initial=0)) + 1
        if below * extent > MOST:
            numbers, below = _dense(numbers)
        numbers, below = numbers * extent + column, below * extent
    return (numbers, below) if below <= 4 * count else _dense(numbers)


def _dense(numbers: Integers) -> tuple[Integers, int]:
    distinct, places = np.unique(numbers, return_inverse=True)
    return places, max(1, len(distinct))


def _pattern(rows: Integers, columns: Integers, shape: tuple[int, int]) -> CsrArray:
    ones = np.ones(len(rows), np.bool_)
    return sparse.csr_array((ones, (rows, columns)), shape=shape)


def _nonzeros(left: CsrArray, right: CsrArray) -> int:
    """Nonzeros of a product of patterns, in portions of rows whose products are not many."""
    products = np.cumsum(left.astype(np.int64) @ np.diff(right.indptr).astype(np.int64)) // PRODUCTS
    starts = np.flatnonzero(np.diff(products, prepend=-1))
    portions = pairwise([*starts, left.shape[0]])
    return sum(int((left[first:last] @ right).nnz) for first, last in portions)
