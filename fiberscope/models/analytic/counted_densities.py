"""Densities that are counted: of a tensor that is there, exactly, or of one whose pattern is known.

Nothing is assumed of how nonzeros are distributed. Questions are answered over all tiles of the grid that
begins at the origin, those at the far edges cut off by the tensor. What was counted for a shape is kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.density import Counts, Density, Numbers, Tile, distinct

__all__ = ["Actual", "Banded", "CountedDensity", "Pieces"]

Extents = tuple[int, ...]


@dataclass(frozen=True)
class Pieces:
    """The tiles with nonzeros among those that parent tiles are cut into.

    Args:
        parents: the place of each one's parent in the grid of parents: pieces x ranks.
        places: the place of each within its parent, in tiles: pieces x ranks.
        occupancies: nonzeros of each.
    """

    parents: Counts
    places: Counts
    occupancies: Counts


@dataclass(frozen=True)
class Histogram:
    """Number of tiles by occupancy; the occupancies increase."""

    occupancies: Counts
    tiles: Counts

    @property
    def mean(self) -> float:
        """Nonzeros a tile."""
        return float(np.dot(self.occupancies, self.tiles)) / int(self.tiles.sum())

    @property
    def empty(self) -> float:
        """The share of tiles without a nonzero."""
        return float(self.tiles[self.occupancies == 0].sum()) / int(self.tiles.sum())

    @property
    def shares(self) -> Numbers:
        """Return the shares of tiles, by occupancy."""
        return np.asarray(self.tiles / self.tiles.sum())


def _cut(extents: Counts | Extents, tile: Extents) -> Counts:
    """Into how many tiles, by rank."""
    return -(-np.asarray(extents, np.int64) // np.asarray(tile, np.int64))


class CountedDensity(Density):
    """Base of counted densities: histograms, of all tiles and of those inside certain parents."""

    def __init__(self, shape: Sequence[int], nonzeros: int) -> None:
        super().__init__(shape, nonzeros / max(prod(shape), 1))
        self.nonzeros = nonzeros
        self._families: dict[tuple[Extents, Extents], Families] = {}

    @abstractmethod
    def pieces(self, parent: Extents, tile: Extents) -> Pieces:
        """The tiles with nonzeros, of those that tiles of ``parent``'s extents are cut into."""

    @property
    def exact(self) -> float:
        """Nonzeros over elements."""
        return self.density

    def families(self, parent: Tile, tile: Tile) -> Families:
        """The tiles of each parent, counted once for each two shapes."""
        shapes = _extents(parent), _extents(tile)
        if shapes not in self._families:
            self._families[shapes] = Families(self.shape, *shapes, self.pieces(*shapes))
        return self._families[shapes]

    def histogram(self, tile: Tile) -> Histogram:
        """Return the histogram of all tiles of a shape."""
        return self.families(self.shape, tile).histogram(self.nonzeros)

    def expected(self, tile: Tile) -> Numbers:
        """The mean over all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).mean, tile)

    def probability_empty(self, tile: Tile) -> Numbers:
        """The share of tiles without a nonzero."""
        return self._by_shape(lambda shape: self.histogram(shape).empty, tile)

    def minimum(self, tile: Tile) -> Counts:
        """The least of all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).occupancies[0], tile).astype(np.int64)

    def maximum(self, tile: Tile) -> Counts:
        """The largest of all tiles."""
        return self._by_shape(lambda shape: self.histogram(shape).occupancies[-1], tile).astype(np.int64)

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """Over all parents."""
        ranks = len(self.shape)
        return self._by_shape(
            lambda shapes: self.families(shapes[:ranks], shapes[ranks:]).most, (*parent, *tile)
        ).astype(np.int64)

    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """The occupancies that occur, and the share of tiles that have each."""
        histogram = self.histogram(tile)
        return histogram.occupancies, histogram.shares

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """Over the tiles of those parents that have this occupancy."""
        return _Inside(self, _extents(parent), np.asarray(occupancy, np.int64))

    @staticmethod
    def _by_shape(question: Callable[[Extents], float], tile: Tile) -> Numbers:
        """The answer for each of as many shapes as there are in the arrays of extents."""
        extents = np.broadcast_arrays(*(np.asarray(extent, np.int64) for extent in tile))
        shapes, which = distinct(np.stack([extent.reshape(-1) for extent in extents], axis=1))
        answers = np.array([question(_extents(shape)) for shape in shapes], np.float64)
        return answers[which].reshape(extents[0].shape)


def _extents(tile: Tile) -> Extents:
    return tuple(int(np.asarray(extent)) for extent in tile)


class Families:
    """The tiles that occupied parents are cut into, by how many nonzeros the parent has.

    Args:
        shape: the shape of the tensor.
        parent, tile: the two shapes of tiles.
        pieces: the tiles with nonzeros.
    """

    def __init__(self, shape: Extents, parent: Extents, tile: Extents, pieces: Pieces) -> None:
        parents, family = distinct(pieces.parents)
        self.most = int(np.bincount(family).max(initial=0))  # most tiles with nonzeros in a parent
        self._occupancies = pieces.occupancies
        by_parent = np.bincount(family, pieces.occupancies, len(parents)).astype(np.int64)
        self._parent = by_parent[family]
        self._tiles = np.prod(
            _cut(np.minimum(parent, np.array(shape) - parents * np.array(parent)), tile), axis=1
        )
        self._by_parent = by_parent
        self._empty_parent = int(np.prod(_cut(np.minimum(parent, shape), tile)))

    def tiles(self, occupancy: Counts) -> Counts:
        """Count the tiles that the parents with an occupancy are cut into, empty ones among them."""
        return self._sum(self._by_parent, self._tiles, occupancy)

    def occupied(self, occupancy: Counts) -> Counts:
        """Count those of these tiles that have a nonzero."""
        return self._sum(self._parent, np.ones_like(self._parent), occupancy)

    def nonzeros(self, occupancy: Counts) -> Counts:
        """Count the nonzeros of these tiles."""
        return self._sum(self._by_parent, self._by_parent, occupancy)

    def histogram(self, occupancy: int) -> Histogram:
        """The occupancies of the tiles of parents with an occupancy."""
        occupancies, counts = np.unique(self._occupancies[self._parent == occupancy], return_counts=True)
        tiles = int(self.tiles(np.array(occupancy))) if len(occupancies) else self._empty_parent
        if tiles > counts.sum():
            occupancies, counts = (
                np.concatenate([[0], occupancies]),
                np.concatenate([[tiles - counts.sum()], counts]),
            )
        return Histogram(occupancies.astype(np.int64), counts.astype(np.int64))

    @staticmethod
    def _sum(keys: Counts, numbers: Counts, key: Counts) -> Counts:
        """Sum the numbers with a key."""
        distinct_keys, which = np.unique(keys, return_inverse=True)
        sums = np.bincount(which, numbers, len(distinct_keys)).astype(np.int64)
        if not len(distinct_keys):
            return np.zeros_like(key)
        place = np.minimum(np.searchsorted(distinct_keys, key), len(distinct_keys) - 1)
        return np.where(distinct_keys[place] == key, sums[place], 0)


class _Inside(Density):
    """The tiles of those parents that have an occupancy; of a parent in a parent, the inner one counts.

    An occupancy that no parent has has no tiles: they are said to be empty.
    """

    def __init__(self, counted: CountedDensity, parent: Extents, occupancy: Counts) -> None:
        super().__init__(parent, float(np.mean(occupancy)) / prod(parent))
        self._counted = counted
        self._occupancy = occupancy

    @property
    def exact(self) -> float:
        """Nonzeros of the parent over its elements."""
        return self.density

    def expected(self, tile: Tile) -> Numbers:
        """Return the mean over all tiles of such parents, by occupancy."""
        families = self._counted.families(self.shape, tile)
        return np.asarray(families.nonzeros(self._occupancy) / np.maximum(families.tiles(self._occupancy), 1))

    def probability_empty(self, tile: Tile) -> Numbers:
        """Return the share of empty tiles of such parents, by occupancy."""
        families = self._counted.families(self.shape, tile)
        return 1.0 - families.occupied(self._occupancy) / np.maximum(families.tiles(self._occupancy), 1)

    def minimum(self, tile: Tile) -> Counts:
        """The least of all tiles of such parents."""
        return np.asarray(self._histogram(tile).occupancies[0])

    def maximum(self, tile: Tile) -> Counts:
        """The largest of all tiles of such parents."""
        return np.asarray(self._histogram(tile).occupancies[-1])

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """Over all parents of the inner kind."""
        return self._counted.maximum_nonempty(parent, tile)

    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """The occupancies that occur in such parents, and the share of tiles that have each."""
        histogram = self._histogram(tile)
        return histogram.occupancies, histogram.shares

    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """Return the density inside the inner parents, wherever they lie."""
        return self._counted.inside(parent, occupancy)

    def _histogram(self, tile: Tile) -> Histogram:
        return self._counted.families(self.shape, tile).histogram(int(self._occupancy))


class Actual(CountedDensity):
    """A tensor that is there.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "actual data", which no release of its tool has.

    Args:
        shape: the shape of the tensor.
        coordinates: the coordinates of its nonzeros: nonzeros x ranks, in any order, each once.

    Raises:
        ValueError: if a coordinate is outside of the tensor, or stands twice.
    """

    def __init__(self, shape: Sequence[int], coordinates: ArrayLike) -> None:
        self.coordinates: Counts = np.asarray(coordinates, np.int64).reshape(-1, len(shape))
        super().__init__(shape, len(self.coordinates))
        if self.nonzeros and (
            self.coordinates.min() < 0 or (self.coordinates.max(axis=0) >= np.array(shape)).any()
        ):
            raise ValueError(f"a coordinate is outside of the tensor's {' x '.join(map(str, shape))}")
        if len(distinct(self.coordinates)[0]) != self.nonzeros:
            raise ValueError("a coordinate stands twice")

    def pieces(self, parent: Extents, tile: Extents) -> Pieces:
        """Counted by where each nonzero lies."""
        parents, within = np.divmod(self.coordinates, parent)
        tiles, which = distinct(np.concatenate([parents, within // tile], axis=1))
        ranks = len(self.shape)
        return Pieces(tiles[:, :ranks], tiles[:, ranks:], np.bincount(which))


class Banded(CountedDensity):
    """A square matrix whose element (i, j) is a nonzero where |i - j| is at most the band's half width.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "banded".

    Args:
        shape: the shape of the matrix: two equal sides.
        half_width: the half width of the band; 0: the diagonal.

    Raises:
        ValueError: if the matrix is not square or the width is negative; in a question, if the tiles do not
            divide what they are cut from.
    """

    def __init__(self, shape: Sequence[int], half_width: int) -> None:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"a banded tensor is a square matrix, not {' x '.join(map(str, shape))}")
        if half_width < 0:
            raise ValueError(f"a band's half width is at least 0, not {half_width}")
        side, reach = shape[0], min(half_width, shape[0] - 1)
        super().__init__(shape, side * (2 * reach + 1) - reach * (reach + 1))
        self.half_width = half_width

    def pieces(self, parent: Extents, tile: Extents) -> Pieces:
        """The tiles along the diagonal that the band crosses: in each row of tiles a run of them."""
        if (np.array(self.shape) % parent).any() or (np.array(parent) % tile).any():
            sizes = " in ".join("x".join(map(str, shape)) for shape in (tile, parent, self.shape))
            raise ValueError(f"tiles of a banded matrix must divide it and each other: {sizes} do not")
        rows, columns = self._crossed(tile)
        occupancies = self._crossing(rows * tile[0], columns * tile[1], tile)
        parents, places = np.divmod(np.stack([rows, columns], axis=1), np.array(parent) // tile)
        return Pieces(parents, places, occupancies)

    def _crossed(self, tile: Extents) -> tuple[Counts, Counts]:
        """The places of the tiles that hold some of the band."""
        side, (height, width) = self.shape[0], tile
        top = np.arange(0, side, height)
        first = np.maximum(top - self.half_width, 0) // width
        last = np.minimum(top + height - 1 + self.half_width, side - 1) // width
        runs = last - first + 1
        begin = np.cumsum(runs) - runs
        rows = np.repeat(np.arange(len(top)), runs)
        return rows, np.arange(runs.sum()) - begin[rows] + first[rows]

    def _crossing(self, top: Counts, left: Counts, tile: Extents) -> Counts:
        """Count the elements of the band in tiles with these corners."""
        apart = left - top
        return _at_most(apart + self.half_width, tile) - _at_most(apart - self.half_width - 1, tile)


def _at_most(difference: Counts, tile: Extents) -> Counts:
    """Count the elements (a, b) of a tile with a - b at most this number: triangles, cut off by the tile."""
    height, width = tile
    reach = difference + width
    return (
        _triangle(reach)
        - _triangle(reach - height)
        - _triangle(reach - width)
        + _triangle(reach - height - width)
    )


def _triangle(side: Counts) -> Counts:
    return np.where(side > 0, side * (side + 1) // 2, 0)
