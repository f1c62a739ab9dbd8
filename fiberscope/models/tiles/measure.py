"""Measurement of a tiled kernel's traffic, by walking its outer loops with the real tiles.

Predictions and schemes are judged by this measurement. A word has 4 bytes: a value, a coordinate, or an
entry of a segment array. Rules: ``docs/d2t2.md``, *The meter*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Literal

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import cut_all, pack_all
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.walk import Fetched, Overflow, walk
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.packed import PackedTiles
from fiberscope.workloads.tiles.tiling import TiledTensor

MAX_PRODUCTS = 1 << 24  # about the largest number of products in a portion of rows, which limits memory
MAX_POINTS = 1 << 62  # bound of the numbers of points, which have 64 bits

# Nonzeros, or points at which several operands have nonzeros: by index, the coordinates of all points.
Points = dict[str, Integers]
_POINT: Points = {"": np.zeros(1, np.int64)}  # a point without coordinates
OutputRule = Literal["auto", "streamed", "stationary"]


def level_counts(
    operands: Sequence[tuple[Sequence[str], SparseTensor]],
    output: Sequence[str],
    outside: Sequence[str],
    shape: Mapping[str, int],
) -> list[int]:
    """Return the fibers of partial tiles at each level, over all visits: visits first, nonzeros last.

    Args:
        operands: the factors of a product, each with the indices of its ranks.
        output: indices of the output in storage order.
        outside: summed indices whose loops are outside of the partial result: each iteration over their tiles
            writes a partial result.
        shape: sides of a tile by index.

    Returns:
        One number more than ``output`` has indices. For a scalar output there is only the number of visits.
    """
    points = [dict(zip(indices, tensor.coordinates, strict=True)) for indices, tensor in operands]
    # the last join is not carried out: ``_count_distinct`` counts its results as nonzeros of a product of
    # patterns
    left, right = reduce(join, points[:-1], _POINT), points[-1]
    # at depth d, distinct points differ in their tile or in the coordinates of the first d output indices; a
    # coordinate determines its tile, so that the step 1 replaces the side of the tile
    tiles = {index: shape[index] for index in (*output, *outside)}
    steps = [tiles | dict.fromkeys(output[:depth], 1) for depth in range(len(output) + 1)]
    return [_count_distinct(left, right, level_steps) for level_steps in steps]


def _count(points: Points) -> int:
    return len(next(iter(points.values())))


def join(left: Points, right: Points) -> Points:
    """Return all pairs of points that agree in their common indices, with the coordinates of both.

    Without a common index, every point is paired with every other. The pairs are in the order of ``left``.
    """
    left_numbers, right_numbers, bound = _number_shared(left, right)
    # a sort-merge join: the partners of a left point are a run of equal numbers in the sorted right points
    order = np.argsort(right_numbers, kind="stable")
    counts = np.bincount(right_numbers, minlength=bound)
    repeated = np.repeat(np.arange(len(left_numbers)), counts[left_numbers])
    positions = np.arange(len(repeated)) - np.repeat(
        np.cumsum(counts[left_numbers]) - counts[left_numbers], counts[left_numbers]
    )
    partners = order[(np.cumsum(counts) - counts)[left_numbers[repeated]] + positions]
    columns = {index: column[repeated] for index, column in left.items()}
    return columns | {index: column[partners] for index, column in right.items() if index not in left}


def _count_distinct(left: Points, right: Points, steps: Mapping[str, int]) -> int:
    """Return the number of distinct coordinates of the joined points, by index in units of its step."""
    # a nonzero of the product of two patterns is a pair (row, column) with a common number between them: the
    # row has the coordinates of the left points, the column those that only the right points have
    rows, height = _number_points(
        [left[index] // step for index, step in steps.items() if index in left], _count(left)
    )
    right_columns = [
        right[index] // step for index, step in steps.items() if index in right and index not in left
    ]
    columns, width = _number_points(right_columns, _count(right))
    left_numbers, right_numbers, bound = _number_shared(left, right)
    return _count_product_nonzeros(
        _build_csr_pattern(rows, left_numbers, (height, bound)),
        _build_csr_pattern(right_numbers, columns, (bound, width)),
    )


def _number_shared(left: Points, right: Points) -> tuple[Integers, Integers, int]:
    """Return numbers of the points of both sides, equal where they agree, and a bound of the numbers."""
    shared = [np.concatenate([left[index], right[index]]) for index in right if index in left]
    numbers, bound = _number_points(shared, _count(left) + _count(right))
    return numbers[: _count(left)], numbers[_count(left) :], bound


def _number_points(columns: Iterable[Integers], count: int) -> tuple[Integers, int]:
    """Number points, equally where all columns are equal; return the numbers and their bound.

    Without columns, all points have the number 0.
    """
    numbers, bound = np.zeros(count, np.int64), 1
    for column in columns:
        extent = int(column.max(initial=0)) + 1
        if bound * extent > MAX_POINTS:  # the product would overflow: close the gaps of the numbers so far
            numbers, bound = _renumber(numbers)
        numbers, bound = numbers * extent + column, bound * extent
    # callers allocate arrays of ``bound`` entries, which must not be much longer than the points
    return (numbers, bound) if bound <= 4 * count else _renumber(numbers)


def _renumber(numbers: Integers) -> tuple[Integers, int]:
    """Renumber equal numbers from 0 without gaps; return the new numbers and their bound."""
    distinct, new_numbers = np.unique(numbers, return_inverse=True)
    return new_numbers, max(1, len(distinct))


def _build_csr_pattern(rows: Integers, columns: Integers, shape: tuple[int, int]) -> CsrArray:
    ones = np.ones(len(rows), np.bool_)  # sums of booleans stay true, while integers could wrap to 0
    return sparse.csr_array((ones, (rows, columns)), shape=shape)


def _count_product_nonzeros(left: CsrArray, right: CsrArray) -> int:
    """Return the nonzeros of a product of patterns, computed in portions of rows.

    A portion has about ``MAX_PRODUCTS`` products, as a row is never divided.
    """
    products = np.cumsum(left.astype(np.int64) @ np.diff(right.indptr).astype(np.int64)) // MAX_PRODUCTS
    starts = np.flatnonzero(np.diff(products, prepend=-1))  # -1: the first row begins a portion
    portions = pairwise([*starts, left.shape[0]])
    return sum(int((left[start:end] @ right).nnz) for start, end in portions)


@dataclass(frozen=True)
class OutputTraffic:
    """Traffic of the output.

    Args:
        visits: number of partial results that are written; each is a tile of the result. An iteration whose
            tiles have no product of two nonzeros writes none.
        words: size of all partial results in words of 4 bytes; one word each for a scalar.
        nonzeros: nonzeros of all partial results. Sums that cancel to 0 count, as values are not computed.
    """

    visits: int
    words: int
    nonzeros: int


@dataclass(frozen=True)
class MeasuredTraffic:
    """Measured traffic of a tiled kernel.

    Args:
        inputs: traffic by operand.
        output: traffic of the partial results, each written once and not read.
        iterations: iterations of the outer loops in which all operands have a tile.
    """

    inputs: Mapping[str, Fetched]
    output: OutputTraffic
    iterations: int

    @property
    def total(self) -> int:
        """Return the words of all inputs and of the output."""
        return sum(traffic.words for traffic in self.inputs.values()) + self.output.words

    def count_words_by_operand(self) -> dict[str, int]:
        """Return the words by operand, of the output as ``O``, and in total."""
        inputs = {name: traffic.words for name, traffic in self.inputs.items()}
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
    """Walk the outer loops with the real tiles, and count the traffic.

    Args:
        kernel: a product, with the order of its loops.
        tensors: operands by name, with their ranks as the kernel writes them; every element is a nonzero.
        shape: sides of a tile by index.
        output: ``streamed``: each iteration writes a partial result; ``stationary`` or ``auto``, which are
            the same: a partial result stays in its buffer during the loops inside of the result's own loops.
        overflow: the handling of tiles that exceed their buffers; None: tiles do not overflow.
        base: the shape of the base tiles of packed inputs; None: tensors are partitioned anew.

    Raises:
        InputError: the kernel is not a single product.
        WorkloadError: a side of a tile is below 1, an operand has no rank or another number of ranks than the
            kernel, or 63 bits cannot number the positions of an operand.
    """
    if not kernel.is_product:
        raise InputError(f"{kernel}: only a product of tensors can be measured; measure its terms")
    tiled: Mapping[str, TiledTensor | PackedTiles] = (
        cut_all(kernel, tensors, shape) if base is None else pack_all(kernel, tensors, shape, base)
    )
    operands = {name: (kernel.indices[name], tiles) for name, tiles in tiled.items()}
    fetched, iterations = walk(kernel.order, operands, overflow)
    return MeasuredTraffic(fetched, _measure_output_traffic(kernel, tensors, shape, output), iterations)


def _measure_output_traffic(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Mapping[str, int], output: OutputRule
) -> OutputTraffic:
    """Return the traffic of the partial results under an output rule."""
    loops = kernel.order if output == "streamed" else kernel.list_loops_outside(kernel.result)
    outside = [index for index in loops if index in kernel.contracted]
    operands = [(kernel.indices[name], tensors[name]) for name in kernel.inputs]
    ranks = kernel.indices[kernel.result]
    counts = level_counts(operands, ranks, outside, shape)
    visits, nonzeros = counts[0], counts[-1]
    # the sum of ``count_csf_words`` over all visits
    words = 2 * sum(counts[1:]) + (len(ranks) + 1) * visits if ranks else visits
    return OutputTraffic(visits, words, nonzeros)
