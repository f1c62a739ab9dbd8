"""Densities of tensors: the nonzeros in a tile, and the probability that it holds none.

Source: Sparseloop (MICRO 2022), Section 5.3.2, "statistical density models".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Counts",
    "Density",
    "Numbers",
    "Tile",
    "ask",
    "distinct",
    "elements_of",
    "empty",
    "expected",
    "tiles_of",
    "whole",
]

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]
Tile = Sequence[
    ArrayLike
]  # the extent in each rank of the tensor; arrays (of one shape) ask of many tiles at once

_MOST = 1 << 53  # elements that are counted exactly as a double
_ROUNDING = 1e-9  # of a product of a density and a size, relative: 0.07 * 100 is 7
Whole = NDArray[np.int64]
_FEW = 32  # tiles that are asked of as they are: finding out which are alike would take longer


def elements_of(tile: Tile) -> Counts:
    """Return the number of elements of a tile."""
    elements = np.ones((), np.int64)
    for extent in tile:
        elements = elements * np.asarray(extent, np.int64)
    return np.asarray(elements)


def tiles_of(parent: Tile, tile: Tile) -> Counts:
    """Return the number of tiles that a parent is cut into, those at its far edges counted whole."""
    pairs = (
        (np.asarray(parents, np.int64), np.asarray(other, np.int64))
        for parents, other in zip(parent, tile, strict=True)
    )
    return elements_of([-(-outer // inner) for outer, inner in pairs])


def distinct(rows: Counts) -> tuple[Counts, Counts]:
    """The distinct rows of an array, and which of them each row is."""
    extents = [int(extent) for extent in rows.max(axis=0, initial=0) + 1]
    if prod(extents) >= 1 << 63:  # no number can tell a row
        distinct_rows, which = np.unique(rows, axis=0, return_inverse=True)
        return distinct_rows, which.reshape(-1)
    keys = np.ravel_multi_index(tuple(rows.T), extents)
    keys, which = np.unique(keys, return_inverse=True)
    return np.stack(np.unravel_index(keys, extents), axis=1), which


def whole(numbers: ArrayLike) -> Numbers:
    """Numbers that are whole but for the rounding of the products they came from, whole."""
    exact = np.asarray(numbers, np.float64)
    near = np.rint(exact)
    return np.where(np.abs(exact - near) <= _ROUNDING * np.maximum(np.abs(near), 1.0), near, exact)


class Density(ABC):
    """A model of a tensor's density, and after ``inside`` of that of its tiles of some occupancy.

    A tile is its extent in each rank. Extents may be arrays, which ask of as many tiles at once; what is
    returned has their shape. Occupancies are numbers of nonzeros.

    Args:
        shape: the shape of the tensor, or of the tile that is looked into.
        density: the share of nonzeros as it was given; what is stored may differ by rounding (``exact``).

    Raises:
        ValueError: if the tensor has more than 2^53 elements.
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
        """The share of elements that are not zero, as this model has it."""

    @abstractmethod
    def expected(self, tile: Tile) -> Numbers:
        """The mean occupancy of a tile."""

    @abstractmethod
    def probability_empty(self, tile: Tile) -> Numbers:
        """The share of tiles that have no nonzero."""

    @abstractmethod
    def minimum(self, tile: Tile) -> Counts:
        """The least occupancy of a tile."""

    @abstractmethod
    def maximum(self, tile: Tile) -> Counts:
        """The largest occupancy of a tile."""

    @abstractmethod
    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """Return the largest number of tiles with nonzeros among those that a parent tile is cut into."""

    @abstractmethod
    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """The occupancies that a tile of plain extents may have, increasing, and the probability of each."""

    @abstractmethod
    def inside(self, parent: Tile, occupancy: ArrayLike) -> Density:
        """The same questions within a tile of which the occupancy is known.

        Args:
            parent: its extents.
            occupancy: one, or an array: the answers of ``expected`` and ``probability_empty`` are then by
                occupancy. The other questions take one.
        """

    def quantile(self, tile: Sequence[int], confidence: float) -> int:
        """The least occupancy that a share of ``confidence`` of the tiles do not exceed; at 1 the largest.

        Raises:
            ValueError: if the confidence is not from 0 to 1.
        """
        if not 0.0 <= confidence <= 1.0:
            raise ValueError(f"a confidence is from 0 to 1, not {confidence}")
        if confidence == 1.0:
            return int(self.maximum(tile))
        occupancies, probabilities = self.distribution(tile)
        reached = np.searchsorted(np.cumsum(probabilities), confidence * (1.0 - 1e-12))
        return int(occupancies[min(int(reached), len(occupancies) - 1)])

    def expected_blocks(self, tile: Sequence[int], block: int) -> float:
        """The mean number of accesses of ``block`` words that take all nonzeros of a tile."""
        occupancies, probabilities = self.distribution(tile)
        return float(np.dot(-(-occupancies // block), probabilities))


def ask(question: Callable[[list[Any]], Any], extents: Sequence[Whole]) -> Numbers:
    """The answers for tiles given by extents, in their shape.

    Args:
        question: takes the extents of one tile, or arrays of them.
        extents: the extents by rank.
    """
    shape = extents[0].shape if extents else ()
    if extents and extents[0].size == 1:
        answer = question([int(extent.flat[0]) for extent in extents])
        return np.full(shape, np.asarray(answer, np.float64).reshape(-1)[0])
    if extents[0].size <= _FEW:
        return np.asarray(question(list(extents)), np.float64)
    rows = np.stack([extent.reshape(-1) for extent in extents], axis=1)
    keys, which = distinct(rows)
    return np.asarray(np.asarray(question(list(keys.T)), np.float64)[which].reshape(shape))


def empty(density: Density, extents: Sequence[Whole]) -> Numbers:
    """The share of tiles without a nonzero."""
    return ask(density.probability_empty, extents)


def expected(density: Density, extents: Sequence[Whole]) -> Numbers:
    """The mean occupancy."""
    return ask(density.expected, extents)
