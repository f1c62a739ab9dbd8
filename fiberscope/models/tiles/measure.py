"""The meter: what a tiled kernel moves, counted by walking its outer loops with the real tiles.

It is the judge of every prediction and every scheme. Words have 4 bytes: a value, a coordinate, or an entry
of a segment array each. Rules: ``docs/d2t2.md``, *The meter*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Literal

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import cut, pack_all
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.walk import Fetched, Overflow, walk
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.packed import Packed
from fiberscope.workloads.tiles.tiling import Tiled

__all__ = ["MeasuredTraffic", "OutputRule", "OutputTraffic", "Points", "join", "level_counts", "measure"]

PRODUCTS = 1 << 24  # of patterns that are multiplied at once
MOST = 1 << 62  # that one number tells apart

# Nonzeros, or places where several operands have one: for each index a coordinate of every one of them.
Points = dict[str, Integers]
_POINT: Points = {"": np.zeros(1, np.int64)}  # one, without coordinates
OutputRule = Literal["auto", "streamed", "stationary"]


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


def _count(points: Points) -> int:
    return len(next(iter(points.values())))


def join(left: Points, right: Points) -> Points:
    """Return all pairs of points that agree in their common indices."""
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


@dataclass(frozen=True)
class OutputTraffic:
    """Written output: partial tiles (visits), words of 4 bytes, nonzeros."""

    visits: int
    words: int
    nonzeros: int


@dataclass(frozen=True)
class MeasuredTraffic:
    """Measured traffic of a tiled kernel.

    Args:
        inputs: the inputs by operand.
        output: partial tiles, each written once a visit.
        iterations: the iterations of the outer loops, in which all operands have a tile.
    """

    inputs: Mapping[str, Fetched]
    output: OutputTraffic
    iterations: int

    @property
    def total(self) -> int:
        """Words of all inputs and of the output."""
        return sum(each.words for each in self.inputs.values()) + self.output.words

    def words(self) -> dict[str, int]:
        """Words by operand, of the output as ``O``, and in all."""
        inputs = {name: each.words for name, each in self.inputs.items()}
        return {**inputs, "O": self.output.words, "total": self.total}


def measure(
    kernel: Kernel,
    tensors: Mapping[str, SparseTensor],
    shape: Mapping[str, int],
    *,
    output: OutputRule = "auto",
    overflow: Overflow | None = None,
    base: Mapping[str, int] | None = None,
) -> MeasuredTraffic:
    """Walk the outer loops with the real tiles, and count.

    Args:
        kernel: a product, with the order of its loops.
        tensors: operands by name, their ranks as the kernel is written; every entry counts as a nonzero.
        shape: sides of a tile by index.
        output: ``streamed``: a partial result is written at each iteration; ``stationary``, which is ``auto``
            too: it stays while loops inside of its own run.
        overflow: the overflow of inputs that may exceed their buffers, what happens then; none by default.
        base: of inputs whose tiles are packed, the shape of the tiles in them; all are cut anew by default.

    Raises:
        InputError: the kernel is no single product.
    """
    if not kernel.is_product:
        raise InputError(f"{kernel}: only a product of tensors can be measured; measure its terms")
    tiled: Mapping[str, Tiled | Packed] = (
        cut(kernel, tensors, shape) if base is None else pack_all(kernel, tensors, shape, base)
    )
    operands = {name: (kernel.indices[name], tiles) for name, tiles in tiled.items()}
    fetched, iterations = walk(kernel.order, operands, overflow)
    return MeasuredTraffic(fetched, _written(kernel, tensors, shape, output), iterations)


def _written(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Mapping[str, int], output: OutputRule
) -> OutputTraffic:
    loops = None if output == "streamed" else kernel.depth(kernel.result)
    outside = [index for index in kernel.order[:loops] if index in kernel.contracted]
    operands = [(kernel.indices[name], tensors[name]) for name in kernel.inputs]
    ranks = kernel.indices[kernel.result]
    counts = level_counts(operands, ranks, outside, shape)
    visits, nonzeros = counts[0], counts[-1]
    words = 2 * sum(counts[1:]) + (len(ranks) + 1) * visits if ranks else visits  # csf_words, over all visits
    return OutputTraffic(visits, words, nonzeros)
