"""Density models: the occupancy of a tile, and the probability that a tile is empty.

Source: Sparseloop (MICRO 2022), Section 5.3.2, "statistical density models".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.arrays import Integers, Numbers

Tile = Sequence[
    ArrayLike
]  # the extent of a tile in each rank; arrays of the same shape are the extents of several tiles

_MOST = 1 << 53  # elements; a double counts them exactly
_ROUNDING = 1e-9  # relative error of a product of a density and a size: 0.07 * 100 is 7
_FEW = 32  # tiles up to which the search for equal tiles would cost more than it saves


def count_elements(tile: Tile) -> Integers:
    """Return the number of elements of a tile; 1 for a tile without ranks."""
    elements = np.ones((), np.int64)
    for extent in tile:
        elements = elements * np.asarray(extent, np.int64)
    return np.asarray(elements)


def count_tiles(parent: Tile, tile: Tile) -> Integers:
    """Return the number of tiles in a parent; tiles at its far edges count as whole tiles."""
    pairs = (
        (np.asarray(parents, np.int64), np.asarray(other, np.int64))
        for parents, other in zip(parent, tile, strict=True)
    )
    return count_elements([-(-outer // inner) for outer, inner in pairs])


def find_distinct_rows(rows: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows of an array, in lexicographic order, and the index of each row among them.

    Args:
        rows: rows x columns, at least one column, with numbers from 0 up.
    """
    extents = [int(extent) for extent in rows.max(axis=0, initial=0) + 1]
    if prod(extents) >= 1 << 63:  # the keys of rows overflow
        distinct_rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        return distinct_rows, inverse.reshape(-1)
    keys = np.ravel_multi_index(tuple(rows.T), extents)
    keys, inverse = np.unique(keys, return_inverse=True)
    return np.stack(np.unravel_index(keys, extents), axis=1), inverse


def round_products(numbers: ArrayLike) -> Numbers:
    """Round numbers that differ from integers only by the rounding error of a product."""
    exact = np.asarray(numbers, np.float64)
    near = np.rint(exact)
    return np.where(np.abs(exact - near) <= _ROUNDING * np.maximum(np.abs(near), 1.0), near, exact)


class Density(ABC):
    """A model of a tensor's density, or (the result of ``inside``) of the density in a tile.

    A tile is a sequence of extents, one a rank. Extents may be arrays, for several tiles in one query; the
    result then has their shape. An occupancy is a number of nonzeros.

    Args:
        shape: the shape of the tensor, or of the tile of ``inside``.
        density: the specified share of nonzeros; the model's may differ by rounding (``exact``).

    Raises:
        ValueError: the tensor has more than 2^53 elements.
    """

    def __init__(self, shape: Sequence[int], density: float) -> None:
        self.shape = tuple(int(extent) for extent in shape)
        self.density = density
        self.elements = prod(self.shape)
        if self.elements > _MOST:
            raise ValueError(f"a tensor has at most {_MOST} elements, not {self.elements}")

    @property
    @abstractmethod
    def exact(self) -> float:
        """Return the share of nonzeros in this model."""

    @abstractmethod
    def expected(self, tile: Tile) -> Numbers:
        """Return the mean occupancy of a tile."""

    @abstractmethod
    def probability_empty(self, tile: Tile) -> Numbers:
        """Return the probability that a tile is empty."""

    @abstractmethod
    def minimum(self, tile: Tile) -> Integers:
        """Return the smallest occupancy of a tile."""

    @abstractmethod
    def maximum(self, tile: Tile) -> Integers:
        """Return the largest occupancy of a tile."""

    @abstractmethod
    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Integers:
        """Return the largest number of nonempty tiles in a parent tile."""

    @abstractmethod
    def distribution(self, tile: Sequence[int]) -> tuple[Integers, Numbers]:
        """Return the possible occupancies of a tile in increasing order, and their probabilities."""

    @abstractmethod
    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """Return the density within a tile of known occupancy.

        Args:
            parent: its extents.
            occupancy: a number, or an array for ``expected`` and ``probability_empty``, whose results are
                then by occupancy.
        """

    def quantile(self, tile: Sequence[int], confidence: float) -> int:
        """Return the smallest occupancy that a share ``confidence`` of the tiles do not exceed.

        Args:
            tile: extents of a single tile.
            confidence: from 0 to 1; with 1, the result is the largest occupancy, however improbable it is.

        Raises:
            ValueError: the confidence is not from 0 to 1.
        """
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence is from 0 to 1, not {confidence}")
        if confidence == 1.0:
            return int(self.maximum(tile))
        occupancies, probabilities = self.distribution(tile)
        # a sum of rounded probabilities may lie just below an exact confidence
        index = np.searchsorted(np.cumsum(probabilities), confidence * (1.0 - 1e-12))
        return int(occupancies[min(int(index), len(occupancies) - 1)])

    def expected_blocks(self, tile: Sequence[int], block: int) -> float:
        """Return the mean number of accesses of ``block`` words to all nonzeros of a tile."""
        occupancies, probabilities = self.distribution(tile)
        # the last access to a tile may have fewer nonzeros than words
        return float(np.dot(-(-occupancies // block), probabilities))


def evaluate_for_tiles(question: Callable[[list[Any]], Any], extents: Sequence[Integers]) -> Numbers:
    """Evaluate a statistic for tiles; for many tiles, once for each distinct tile.

    Args:
        question: takes by rank the extent of one tile, or an array of the extents of several tiles.
        extents: the extents by rank, at least one.

    Returns:
        The statistic, in the shape of the extents.
    """
    shape = extents[0].shape if extents else ()
    if extents and extents[0].size == 1:  # plain integers permit a cached answer
        answer = question([int(extent.flat[0]) for extent in extents])
        return np.full(shape, np.asarray(answer, np.float64).reshape(-1)[0])
    if extents[0].size <= _FEW:
        return np.asarray(question(list(extents)), np.float64)
    rows = np.stack([extent.reshape(-1) for extent in extents], axis=1)
    keys, inverse = find_distinct_rows(rows)
    return np.asarray(np.asarray(question(list(keys.T)), np.float64)[inverse].reshape(shape))


def compute_empty_share(density: Density, extents: Sequence[Integers]) -> Numbers:
    """Return the share of empty tiles, for tiles with these extents by rank."""
    return evaluate_for_tiles(density.probability_empty, extents)


def compute_mean_occupancy(density: Density, extents: Sequence[Integers]) -> Numbers:
    """Return the mean number of nonzeros of tiles with these extents by rank."""
    return evaluate_for_tiles(density.expected, extents)
