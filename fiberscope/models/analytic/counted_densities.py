"""Densities that are counted exactly: of actual data, and of banded matrices.

Statistics are over all tiles of the grid that begins at the origin; tiles at the far edges are cut off by
the tensor. Counts are cached by shape.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.arrays import Integers, Numbers
from fiberscope.models.analytic.density import Density, Tile, find_distinct_rows

Extents = tuple[int, ...]


@dataclass(frozen=True)
class TileCounts:
    """Nonempty tiles of the parent tiles that contain them.

    Args:
        parents: coordinates of each tile's parent in the grid of parents: nonempty tiles x ranks.
        positions: coordinates of each tile in its parent, in tiles: nonempty tiles x ranks.
        occupancies: number of nonzeros of each tile, at least 1.
    """

    parents: Integers
    positions: Integers
    occupancies: Integers


@dataclass(frozen=True)
class Histogram:
    """Number of tiles by occupancy; occupancies are in increasing order, and there is at least one tile."""

    occupancies: Integers
    tiles: Integers

    @property
    def mean(self) -> float:
        """Return the mean occupancy of a tile."""
        return float(np.dot(self.occupancies, self.tiles)) / int(self.tiles.sum())

    @property
    def empty(self) -> float:
        """Return the share of empty tiles."""
        return float(self.tiles[self.occupancies == 0].sum()) / int(self.tiles.sum())

    @property
    def shares(self) -> Numbers:
        """Return the share of tiles of each occupancy."""
        return np.asarray(self.tiles / self.tiles.sum())


def _count_grid_tiles(extents: Integers | Extents, tile: Extents) -> Integers:
    """Return the number of tiles along each rank."""
    return -(-np.asarray(extents, np.int64) // np.asarray(tile, np.int64))


class CountedDensity(Density):
    """Base class of counted densities, with histograms of all tiles and of the tiles in given parents.

    Args:
        shape: the shape of the tensor.
        nonzeros: its number of nonzeros.
    """

    def __init__(self, shape: Sequence[int], nonzeros: int) -> None:
        super().__init__(shape, nonzeros / max(prod(shape), 1))
        self.nonzeros = nonzeros
        self._families: dict[tuple[Extents, Extents], Families] = {}

    @abstractmethod
    def nonempty_tiles(self, parent: Extents, tile: Extents) -> TileCounts:
        """Return the nonempty tiles with extents ``tile``, in parent tiles with extents ``parent``."""

    @property
    def exact(self) -> float:
        """Return the share of nonzeros."""
        return self.density

    def families(self, parent: Tile, tile: Tile) -> Families:
        """Return the tiles of each parent; counted once for each pair of shapes."""
        shapes = _normalize_extents(parent), _normalize_extents(tile)
        if shapes not in self._families:
            self._families[shapes] = Families(self.shape, *shapes, self.nonempty_tiles(*shapes))
        return self._families[shapes]

    def histogram(self, tile: Tile) -> Histogram:
        """Return the histogram of all tiles of a shape."""
        # the whole tensor is the only parent, and its occupancy is the number of nonzeros
        return self.families(self.shape, tile).histogram(self.nonzeros)

    def expected(self, tile: Tile) -> Numbers:
        """Return the mean occupancy over all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).mean, tile)

    def probability_empty(self, tile: Tile) -> Numbers:
        """Return the share of empty tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).empty, tile)

    def minimum(self, tile: Tile) -> Integers:
        """Return the smallest occupancy of all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).occupancies[0], tile).astype(np.int64)

    def maximum(self, tile: Tile) -> Integers:
        """Return the largest occupancy of all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).occupancies[-1], tile).astype(np.int64)

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Integers:
        """Return the largest number of nonempty tiles over all parents."""
        ranks = len(self.shape)
        # a query is for a pair of shapes: both are passed as one sequence of extents
        return self._by_shape(
            lambda shapes: self.families(shapes[:ranks], shapes[ranks:]).maximum_nonempty, (*parent, *tile)
        ).astype(np.int64)

    def distribution(self, tile: Sequence[int]) -> tuple[Integers, Numbers]:
        """Return the occupancies of tiles, and the share of tiles of each."""
        histogram = self.histogram(tile)
        return histogram.occupancies, histogram.shares

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """Return the density in parents with a given occupancy; the parent's extents are single numbers.

        ``minimum``, ``maximum`` and ``distribution`` of the result need a single occupancy, not an array.
        """
        return _ParentDensity(self, _normalize_extents(parent), np.asarray(occupancy, np.int64))

    @staticmethod
    def _by_shape(statistic: Callable[[Extents], float], tile: Tile) -> Numbers:
        """Evaluate a statistic for each distinct shape in arrays of extents."""
        extents = np.broadcast_arrays(*(np.asarray(extent, np.int64) for extent in tile))
        shapes, inverse = find_distinct_rows(np.stack([extent.reshape(-1) for extent in extents], axis=1))
        values = np.array([statistic(_normalize_extents(shape)) for shape in shapes], np.float64)
        return values[inverse].reshape(extents[0].shape)


def _normalize_extents(tile: Tile) -> Extents:
    return tuple(int(np.asarray(extent)) for extent in tile)


class Families:
    """Tiles of nonempty parents, by occupancy of the parent.

    Args:
        shape: the shape of the tensor.
        parent, tile: extents of parents and of tiles.
        nonempty_tiles: the nonempty tiles; empty tiles follow from the sizes of the grids.
    """

    def __init__(self, shape: Extents, parent: Extents, tile: Extents, nonempty_tiles: TileCounts) -> None:
        parents, family = find_distinct_rows(nonempty_tiles.parents)
        self.maximum_nonempty = int(
            np.bincount(family).max(initial=0)
        )  # most tiles with nonzeros in a parent
        self._occupancies = nonempty_tiles.occupancies
        # occupancy of each nonempty parent; the weights make floats, which are exact up to 2^53
        by_parent = np.bincount(family, nonempty_tiles.occupancies, len(parents)).astype(np.int64)
        self._parent = by_parent[family]  # by nonempty tile: the occupancy of its parent
        # tiles of each nonempty parent; parents at the far edges are cut off by the tensor
        self._tiles = np.prod(
            _count_grid_tiles(np.minimum(parent, np.array(shape) - parents * np.array(parent)), tile), axis=1
        )
        self._by_parent = by_parent
        self._empty_parent = int(np.prod(_count_grid_tiles(np.minimum(parent, shape), tile)))

    def tiles(self, occupancy: Integers) -> Integers:
        """Count the tiles of the parents with an occupancy, empty tiles too."""
        return self._sum(self._by_parent, self._tiles, occupancy)

    def nonempty(self, occupancy: Integers) -> Integers:
        """Count the nonempty tiles of the parents with an occupancy."""
        return self._sum(self._parent, np.ones_like(self._parent), occupancy)

    def nonzeros(self, occupancy: Integers) -> Integers:
        """Count the nonzeros of the parents with an occupancy."""
        return self._sum(self._by_parent, self._by_parent, occupancy)

    def histogram(self, occupancy: int) -> Histogram:
        """Return the histogram of the tiles of the parents with an occupancy.

        If no parent with a nonzero has the occupancy, the histogram is that of one empty parent of full size.
        """
        occupancies, counts = np.unique(self._occupancies[self._parent == occupancy], return_counts=True)
        tiles = int(self.tiles(np.array(occupancy))) if len(occupancies) else self._empty_parent
        if tiles > counts.sum():  # the other tiles are empty; 0 is the smallest occupancy, so it comes first
            occupancies, counts = (
                np.concatenate([[0], occupancies]),
                np.concatenate([[tiles - counts.sum()], counts]),
            )
        return Histogram(occupancies.astype(np.int64), counts.astype(np.int64))

    @staticmethod
    def _sum(keys: Integers, numbers: Integers, key: Integers) -> Integers:
        """Sum the numbers whose keys equal ``key``, for each element of ``key``; 0 if no key is equal."""
        distinct_keys, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, numbers, len(distinct_keys)).astype(np.int64)
        if not len(distinct_keys):  # there are no nonempty parents, and no last key for the search below
            return np.zeros_like(key)
        index = np.minimum(np.searchsorted(distinct_keys, key), len(distinct_keys) - 1)
        return np.where(distinct_keys[index] == key, sums[index], 0)


class _ParentDensity(Density):
    """Density in the parents with an occupancy; for a parent in a parent, only the inner parent counts.

    An occupancy without parents has only empty tiles.
    """

    def __init__(self, density: CountedDensity, parent: Extents, occupancy: Integers) -> None:
        super().__init__(parent, float(np.mean(occupancy)) / prod(parent))
        self._tensor_density = density
        self._occupancy = occupancy

    @property
    def exact(self) -> float:
        """Return the share of nonzeros of a parent."""
        return self.density

    def expected(self, tile: Tile) -> Numbers:
        """Return the mean occupancy of the tiles of these parents, by occupancy of the parent."""
        families = self._tensor_density.families(self.shape, tile)
        return np.asarray(families.nonzeros(self._occupancy) / np.maximum(families.tiles(self._occupancy), 1))

    def probability_empty(self, tile: Tile) -> Numbers:
        """Return the share of empty tiles of these parents, by occupancy of the parent."""
        families = self._tensor_density.families(self.shape, tile)
        return 1.0 - families.nonempty(self._occupancy) / np.maximum(families.tiles(self._occupancy), 1)

    def minimum(self, tile: Tile) -> Integers:
        """Return the smallest occupancy of the tiles of these parents."""
        return np.asarray(self._histogram(tile).occupancies[0])

    def maximum(self, tile: Tile) -> Integers:
        """Return the largest occupancy of the tiles of these parents."""
        return np.asarray(self._histogram(tile).occupancies[-1])

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Integers:
        """Return the largest number of nonempty tiles over all inner parents, which may lie in any parent."""
        return self._tensor_density.maximum_nonempty(parent, tile)

    def distribution(self, tile: Sequence[int]) -> tuple[Integers, Numbers]:
        """Return the occupancies of the tiles of these parents, and the share of tiles of each."""
        histogram = self._histogram(tile)
        return histogram.occupancies, histogram.shares

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """Return the density in inner parents, which may lie in any outer parent."""
        return self._tensor_density.inside(parent, occupancy)

    def _histogram(self, tile: Tile) -> Histogram:
        return self._tensor_density.families(self.shape, tile).histogram(int(self._occupancy))


class Actual(CountedDensity):
    """Density of actual data.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "actual data", which no release of its tool has.

    Args:
        shape: the shape of the tensor.
        coordinates: coordinates of its nonzeros: nonzeros x ranks, in any order, without duplicates.

    Raises:
        ValueError: a coordinate is outside of the tensor, or a duplicate.
    """

    def __init__(self, shape: Sequence[int], coordinates: ArrayLike) -> None:
        self.coordinates: Integers = np.asarray(coordinates, np.int64).reshape(-1, len(shape))
        super().__init__(shape, len(self.coordinates))
        if self.nonzeros and (
            self.coordinates.min() < 0 or (self.coordinates.max(axis=0) >= np.array(shape)).any()
        ):
            raise ValueError(f"a coordinate is outside of the tensor's {' x '.join(map(str, shape))}")
        if len(find_distinct_rows(self.coordinates)[0]) != self.nonzeros:
            raise ValueError("a coordinate appears twice")

    def nonempty_tiles(self, parent: Extents, tile: Extents) -> TileCounts:
        """Count nonzeros by tile; see ``CountedDensity``."""
        parents, offsets = np.divmod(self.coordinates, parent)
        tiles, row_of = find_distinct_rows(np.concatenate([parents, offsets // tile], axis=1))
        ranks = len(self.shape)
        return TileCounts(tiles[:, :ranks], tiles[:, ranks:], np.bincount(row_of))


class Banded(CountedDensity):
    """A square matrix whose element (i, j) is a nonzero where |i - j| is at most the half width of the band.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "banded".

    Args:
        shape: the shape of the matrix: two equal sides.
        half_width: the half width of the band; 0: the diagonal.

    Raises:
        ValueError: the matrix is not square, or the width is negative; in a query, tiles do not divide their
            parents or the matrix.
    """

    def __init__(self, shape: Sequence[int], half_width: int) -> None:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"a banded tensor is a square matrix, not {' x '.join(map(str, shape))}")
        if half_width < 0:
            raise ValueError(f"a band's half width is at least 0, not {half_width}")
        side, reach = shape[0], min(half_width, shape[0] - 1)
        # diagonal d has side - |d| elements, for d from -reach to reach
        super().__init__(shape, side * (2 * reach + 1) - reach * (reach + 1))
        self.half_width = half_width

    def nonempty_tiles(self, parent: Extents, tile: Extents) -> TileCounts:
        """Return the tiles that intersect the band: a run of tiles in each row of tiles."""
        if (np.array(self.shape) % parent).any() or (np.array(parent) % tile).any():
            sizes = " in ".join("x".join(map(str, shape)) for shape in (tile, parent, self.shape))
            raise ValueError(f"tiles of a banded matrix must divide it and each other: {sizes} do not")
        rows, columns = self._tiles_on_band(tile)
        occupancies = self._count_band(rows * tile[0], columns * tile[1], tile)
        parents, positions = np.divmod(np.stack([rows, columns], axis=1), np.array(parent) // tile)
        return TileCounts(parents, positions, occupancies)

    def _tiles_on_band(self, tile: Extents) -> tuple[Integers, Integers]:
        """Return the coordinates of the tiles that intersect the band."""
        side, (height, width) = self.shape[0], tile
        top = np.arange(0, side, height)
        first_columns = np.maximum(top - self.half_width, 0) // width
        last_columns = np.minimum(top + height - 1 + self.half_width, side - 1) // width
        runs = last_columns - first_columns + 1  # at least 1: each row of tiles meets the diagonal
        run_starts = np.cumsum(runs) - runs
        rows = np.repeat(np.arange(len(top)), runs)
        return rows, np.arange(runs.sum()) - run_starts[rows] + first_columns[rows]

    def _count_band(self, top: Integers, left: Integers, tile: Extents) -> Integers:
        """Count the elements of the band in tiles with these corners."""
        distance = left - top
        # element (a, b) of the tile has j - i = distance + b - a, so that |j - i| <= half width bounds a - b
        return _count_at_most(distance + self.half_width, tile) - _count_at_most(
            distance - self.half_width - 1, tile
        )


def _count_at_most(difference: Integers, tile: Extents) -> Integers:
    """Count the elements (a, b) of a tile with a - b at most ``difference``, as a sum of triangles."""
    height, width = tile
    # with b counted from the right edge, the elements are a triangle of side ``reach``; what exceeds the tile
    # below and at the left is taken off, and the corner that is taken off twice is added
    reach = difference + width
    return (
        _build_triangle(reach)
        - _build_triangle(reach - height)
        - _build_triangle(reach - width)
        + _build_triangle(reach - height - width)
    )


def _build_triangle(side: Integers) -> Integers:
    """Return the number of elements of triangles: 1 + 2 + ... + side; 0 for a negative side."""
    return np.where(side > 0, side * (side + 1) // 2, 0)
