"""Traffic model of a matrix product that counts tiles with common coordinates, in time linear in nonzeros.

Both operands are partitioned with the shape. Tiles of the two operands meet in the summed index: for each of
its outer coordinates, the model counts the tiles of either operand and their size. The traffic of the inputs
and the number of products of nonzeros are therefore exact. The number of products that add up to one result
is estimated from the Corrs of both operands, and the number of empty results as if results were distributed
uniformly.

This model is our own. It covers cases that the paper's model misses: operands with hubs in common, or a
matrix times its transpose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import Prediction, Shape, cut_one
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.output import list_stationary_indices
from fiberscope.models.tiles.overlaps import Numbers, sort_with_last
from fiberscope.models.tiles.probability import StatisticsByName, compute_corrs
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import find_metric
from fiberscope.workloads.tiles.tiling import TiledTensor, mark_changes


@dataclass(frozen=True)
class _Side:
    """One operand's tiles. Arrays are over outer coordinates of the summed index.

    Args:
        tiled: the tiles.
        tiles: number of nonempty tiles.
        fetched: traffic of one fetch of each tile, in the metric's unit.
        rows: number of nonempty coordinates of the other index in a tile, summed over the tiles.
        fullest: size of the fullest tile in a buffer.
    """

    tiled: TiledTensor
    tiles: Numbers
    fetched: Numbers
    rows: Numbers
    fullest: int


class CountedModel:
    """The model of one product of two matrices.

    Args:
        kernel: ``C[i,j] = A[i,k] * B[k,j]`` in any order, with any names.
        tensors: operands of the kernel, by name.
        statistics: statistics of the operands, by name, for Corrs and the metric.
        options: variants of the prediction, see ``Options``.

    Raises:
        InputError: the kernel is not a product of two matrices.
    """

    def __init__(
        self,
        kernel: Kernel,
        tensors: Mapping[str, SparseTensor],
        statistics: StatisticsByName,
        options: Options,
    ) -> None:
        if not _is_matrix_product(kernel):
            raise InputError(f"model counted is for a product of two matrices, not {kernel}; take joint")
        self._kernel, self._tensors, self._statistics, self._options = kernel, tensors, statistics, options
        (self._summed,) = kernel.contracted
        self._metric = find_metric(statistics[kernel.inputs[0]].metric)
        self._products = self._count_products()
        self._sides: dict[tuple[str, int, int], _Side] = {}

    def find_fullest_size(self, shape: Shape) -> int:
        """Return the size of the fullest tile in a buffer; exact."""
        return max(self._build_side(name, shape).fullest for name in self._kernel.inputs)

    def predict(self, shape: Shape) -> Prediction:
        """Return the traffic of a shape: exact for inputs (partitioned anew), estimated for outputs.

        The traffic of inputs is exact only if no tile overflows its buffer, and for cut, not packed, tiles.
        The tiles of each operand are kept for further shapes with the same sides.
        """
        sides = {name: self._build_side(name, shape) for name in self._kernel.inputs}
        inputs, repeats = {}, {}
        for name, partner in (self._kernel.inputs, self._kernel.inputs[::-1]):
            is_refetched = self._is_refetched(name, partner)
            # a tile is fetched for each partner in its place of the summed index, or once if there is any
            partners = sides[partner].tiles if is_refetched else np.minimum(1.0, sides[partner].tiles)
            inputs[name] = float(sides[name].fetched @ partners)
            repeats[name] = inputs[name] / max(1.0, float(sides[name].fetched.sum()))  # 0 without nonzeros
        visits, nonzeros, rows = self._count_output(shape, sides)
        size = visits * float(
            self._metric.fetched(
                np.asarray(nonzeros), np.asarray(rows), len(self._kernel.indices[self._kernel.result])
            )
        )
        passes = 2 if self._options.merge == "read" else 1  # partial results are written, and read to merge
        return Prediction(inputs, repeats, passes * size, visits, nonzeros)

    def _is_refetched(self, name: str, partner: str) -> bool:
        """Return whether the loop over the index that only the partner has repeats the fetches of a tile."""
        partner_index = next(index for index in self._kernel.indices[partner] if index != self._summed)
        return self._kernel.order.index(partner_index) < self._kernel.depth(name)

    def _count_output(self, shape: Shape, sides: Mapping[str, _Side]) -> tuple[float, float, float]:
        """Return the number of visits (writes of partial results), and the mean nonzeros and rows of each.

        Rows are nonempty rows of the partial result. All three are 0 without products.
        """
        row_index = self._kernel.list_stored_indices(self._kernel.result)[0]
        (by_row,) = self._kernel.list_carriers(row_index)
        (by_column,) = (name for name in self._kernel.inputs if name != by_row)
        # a leaf is a pair of tiles with the same outer coordinate of the summed index
        leaves = float(sides[by_row].tiles @ sides[by_column].tiles)
        if leaves == 0 or self._products == 0:
            return 0.0, 0.0, 0.0
        results = self._products / self._compute_mean_overlap(shape[self._summed])
        # mean nonempty rows of the row operand's tile in a leaf: only these rows can have results
        candidates = float(sides[by_row].rows @ sides[by_column].tiles) / leaves
        if list_stationary_indices(self._kernel, self._options):
            leaves, results = self._merge_results(shape, sides, by_row, by_column, results)
        # results fall into leaves, and into rows of a leaf, uniformly; empty ones are not written
        # n results in m places leave about m exp(-n / m) places empty
        visits = leaves * -math.expm1(-results / leaves)
        rows = leaves * candidates * (1.0 - (1.0 - 1.0 / candidates) ** (results / leaves))
        # with one candidate row, each visit has this row; the formula would count empty leaves too
        return visits, results / visits, (visits if candidates == 1.0 else rows) / visits

    def _merge_results(
        self, shape: Shape, sides: Mapping[str, _Side], by_row: str, by_column: str, results: float
    ) -> tuple[float, float]:
        """Return the number of result tiles with a pair of operand tiles, and the nonzeros of all sums.

        Partial results of one result tile add up in the buffer; those at the same position count once.
        """
        maps = [_tile_map(sides[name].tiled, self._rank(name)) for name in (by_row, by_column)]
        nonempty_tiles = float((maps[0].T @ maps[1]).nnz)
        positions = nonempty_tiles * math.prod(
            shape[index] for index in self._kernel.indices[self._kernel.result]
        )
        return nonempty_tiles, positions * -math.expm1(-results / positions)

    def _compute_mean_overlap(self, extent: int) -> float:
        """Return the mean number of products at a position with a product, within a tile."""
        # given a product, both operands (taken as independent) have a nonzero at distance s with the product
        # of their shares; distance 0 is the product itself. Corrs end at the base tile: the rest adds nothing
        shares = [
            compute_corrs(self._statistics[name], self._summed, self._options.corrs)[:extent]
            for name in self._kernel.inputs
        ]
        return float(shares[0] @ shares[1])

    def _count_products(self) -> float:
        """Return the number of products of two nonzeros; exact."""
        counts = []
        for name in self._kernel.inputs:
            tensor, rank = self._tensors[name], self._rank(name)
            counts.append(np.bincount(tensor.coordinates[rank], minlength=tensor.shape[rank]))
        return float(counts[0] @ counts[1])

    def _rank(self, name: str) -> int:
        """Return the number of an operand's rank with the summed index, from 0."""
        return self._kernel.indices[name].index(self._summed)

    def _build_side(self, name: str, shape: Shape) -> _Side:
        first, second = (shape[index] for index in self._kernel.indices[name])
        key = (name, first, second)
        if key not in self._sides:
            self._sides[key] = self._count_side(name, shape)
        return self._sides[key]

    def _count_side(self, name: str, shape: Shape) -> _Side:
        tiled = cut_one(self._kernel, name, self._tensors[name], shape)
        rank = self._rank(name)
        ids, extent = tiled.ids[rank], tiled.grid[rank]
        return _Side(
            tiled,
            tiles=np.bincount(ids, minlength=extent).astype(np.float64),
            fetched=np.bincount(ids, tiled.fetched_sizes(self._metric), extent).astype(np.float64),
            rows=np.bincount(ids, _count_coordinates(tiled, 1 - rank), extent).astype(np.float64),
            fullest=int(tiled.buffered_sizes(self._metric).max(initial=0)),
        )


def _is_matrix_product(kernel: Kernel) -> bool:
    return (
        kernel.is_product
        and len(kernel.inputs) == 2
        and all(len(indices) == 2 for indices in kernel.indices.values())
        and len(kernel.contracted) == 1
        and len(kernel.list_carriers(kernel.contracted[0])) == 2
    )


def _count_coordinates(tiled: TiledTensor, rank: int) -> Integers:
    """Return the number of nonempty coordinates of a rank in each tile of a matrix."""
    if rank == 0:
        return tiled.fibers[0]
    # with the row as the last digit, the entries of a column of a tile are adjacent
    members = sort_with_last(tiled.positions, tiled.shape, 0)
    columns = members // tiled.shape[0]
    distinct = columns[mark_changes(columns)]
    return np.bincount(np.searchsorted(tiled.tiles, distinct // tiled.shape[1]), minlength=len(tiled))


def _tile_map(tiled: TiledTensor, summed: int) -> sparse.csr_array:
    """Return a matrix with a one at every nonempty tile, with the summed index as rows."""
    ids = (tiled.ids[summed], tiled.ids[1 - summed])
    shape = (tiled.grid[summed], tiled.grid[1 - summed])
    return sparse.csr_array((np.ones(len(tiled), np.int64), ids), shape=shape)
