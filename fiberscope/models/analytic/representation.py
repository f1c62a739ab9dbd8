"""How tensors are stored: the share of a tile that is there, and the metadata that tells which.

Source: Sparseloop (MICRO 2022), Section 5.3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.asking import ask, empty, expected
from fiberscope.models.analytic.dataflow import Dense, Traffic
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.formats import Units, exact_units, largest_units, most_units, rough_units
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.ranks import RankAssignment
from fiberscope.models.analytic.safs import SparseFeatures
from fiberscope.models.analytic.uniform import Uniform

__all__ = ["Representation", "Stored"]


@dataclass(frozen=True)
class Stored:
    """One tensor at one level; by mapping.

    Args:
        density: the mean share of nonzeros of the tiles that come here.
        arriving: the share of tiles that come here: those that are not known to be empty.
        units: the mean units of a tile by rank; None without a format.
        words: of data that a tile may take.
        largest: the most units that a tile may take.
        short: where the format has too few ranks for the loops.
    """

    density: Numbers
    arriving: Numbers
    units: Units | None
    words: Numbers
    largest: Units | None
    short: NDArray[np.bool_]


class Representation:
    """Finds what is stored of each tensor at each level."""

    def __init__(
        self, problem: Problem, traffic: Traffic, features: SparseFeatures, options: Options
    ) -> None:
        self._problem, self._traffic, self._features = problem, traffic, features
        self._options = options
        self._ranks = RankAssignment(problem, traffic, features)

    def stored(self, level: int, tensor: int) -> Stored:
        """What is stored of a tensor at a level that keeps it."""
        problem, density = self._problem, self._problem.densities[tensor]
        extents = problem.extents(tensor, self._traffic.nest.tile(level))
        dense = self._traffic.dense[level, tensor]
        known = self._known_outside(level, tensor)
        mean, arriving = expected(density, extents) / dense.tile, np.ones(len(dense.tile))
        if known:
            mean, arriving = self._nonempty(tensor, dense, extents, mean)
        kind = self._features.formats.get((level, tensor))
        if kind is None:
            short = np.zeros(len(dense.tile), np.bool_)
            return Stored(mean, arriving, None, dense.tile.astype(np.float64), None, short)
        return self._formatted(level, tensor, known, mean, arriving)

    def _known_outside(self, level: int, tensor: int) -> bool:
        """Whether the outer level knows which tiles are empty, and does not send them."""
        parent = self._traffic.parent(level, tensor)
        return parent is not None and (parent, tensor) in self._features.formats

    def _nonempty(
        self, tensor: int, dense: Dense, extents: Sequence[NDArray[np.int64]], mean: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Mean density and share of the tiles that are not empty."""
        density = self._problem.densities[tensor]
        if self._options.timeloop and isinstance(density, Uniform):
            return _without_least(density, dense, mean)
        arriving = 1.0 - empty(density, extents)
        return np.divide(mean, arriving, out=np.zeros_like(mean), where=arriving > 0), arriving

    def _formatted(self, level: int, tensor: int, known: bool, mean: Numbers, arriving: Numbers) -> Stored:
        problem, kind = self._problem, self._features.formats[level, tensor]
        fibers = self._ranks.fibers(level, tensor)
        dense, density = self._traffic.dense[level, tensor], problem.densities[tensor]
        words = dense.tile.astype(np.float64)
        if kind.compressed:
            extents = problem.extents(tensor, self._traffic.nest.tile(level))
            words = ask(density.maximum, extents)
        if self._options.exact_formats:
            units = exact_units(problem, tensor, kind, fibers, known, self._options.rle_split_runs)
            return Stored(
                mean, arriving, units, words, most_units(problem, tensor, kind, fibers), fibers.short
            )
        rows = range(len(dense.tile))
        rough = [rough_units(problem, tensor, kind, fibers, row, known) for row in rows]
        largest = [largest_units(problem, tensor, kind, fibers, row) for row in rows]
        return Stored(mean, arriving, _stacked(rough), words, _stacked(largest), fibers.short)


def _stacked(units: list[Units]) -> Units:
    return Units(
        np.concatenate([one.metadata for one in units]), np.concatenate([one.payload for one in units])
    )


def _without_least(density: Uniform, dense: Dense, mean: Numbers) -> tuple[Numbers, Numbers]:
    """As the public tool has it, which takes the least possible occupancy to be the empty tile.

    A tile that cannot be empty loses the least that it can hold; where that is all it can hold, nothing is
    left (a density of 1, or a tile that is the whole tensor).
    """
    density_left, arriving = np.zeros_like(mean), np.zeros_like(mean)
    for row, size in enumerate(dense.tile):
        occupancies, probabilities = density.distribution([int(size)])
        arriving[row] = 1.0 - probabilities[0]
        if arriving[row] > 0:
            left = mean[row] * size - occupancies[0] * probabilities[0]
            density_left[row] = left / arriving[row] / size
    return density_left, arriving
