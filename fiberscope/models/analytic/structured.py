"""Nonzeros in a fixed share of every tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fiberscope.models.analytic.density import Counts, Density, Numbers, Tile, elements_of, tiles_of, whole

__all__ = ["FixedStructured"]


class FixedStructured(Density):
    """Every tile of n elements has n x density nonzeros, or one of the two whole numbers around that.

    Source: Sparseloop (MICRO 2022), Section 5.3.2, "fixed-structured".

    Args:
        shape: of the tensor.
        density: share of nonzeros of every tile, from 0 to 1; an array stands for as many tensors.
    """

    def __init__(self, shape: Sequence[int], density: ArrayLike) -> None:
        self._share = np.asarray(density, np.float64)
        super().__init__(shape, float(np.mean(self._share)))

    @property
    def exact(self) -> float:
        """The density as given."""
        return self.density

    def expected(self, tile: Tile) -> Numbers:
        """n d."""
        return whole(elements_of(tile) * self._share)

    def probability_empty(self, tile: Tile) -> Numbers:
        """1 - n d if a tile has less than one nonzero, else 0."""
        return np.maximum(0.0, 1.0 - self.expected(tile))

    def minimum(self, tile: Tile) -> Counts:
        """n d, rounded down."""
        return np.floor(self.expected(tile)).astype(np.int64)

    def maximum(self, tile: Tile) -> Counts:
        """n d, rounded up."""
        return np.ceil(self.expected(tile)).astype(np.int64)

    def maximum_nonempty(self, parent: Tile, tile: Tile) -> Counts:
        """All, if each has a nonzero; else a nonzero each for as many as the parent has."""
        return np.minimum(tiles_of(parent, tile), self.maximum(parent))

    def distribution(self, tile: Sequence[int]) -> tuple[Counts, Numbers]:
        """One or two neighbouring occupancies."""
        expected = float(self.expected(tile))
        least = int(np.floor(expected))
        above = expected - least
        if above == 0.0:
            return np.array([least]), np.ones(1)
        return np.array([least, least + 1]), np.array([1.0 - above, above])

    def inside(self, parent: Tile, occupancy: ArrayLike) -> FixedStructured:
        """The parent's nonzeros in fixed shares of its tiles."""
        extents = [int(np.asarray(extent)) for extent in parent]
        return FixedStructured(extents, np.asarray(occupancy) / int(elements_of(extents)))
