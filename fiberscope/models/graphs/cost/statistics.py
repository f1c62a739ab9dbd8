"""Statistics of stored tensors, the input of an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.workloads.canonical import Integers, Values


@dataclass(frozen=True)
class LevelStatistics:
    """Statistics of a level of a tensor.

    An element is a coordinate with a position in the level. A dense level has an element at every coordinate.

    Args:
        size: size of its dimension.
        elements: number of elements over all fibers; a float, as estimates divide it.
        fibers: number of fibers that are not empty.
        spread: number of elements at each coordinate, by dimension, for its own and all outer dimensions.
    """

    size: int
    elements: float
    fibers: float
    spread: Mapping[int, Values]


@dataclass(frozen=True)
class TensorStatistics:
    """Statistics of a tensor.

    Args:
        format: format of the tensor.
        levels: statistics of its levels, outermost first.
    """

    format: Format
    levels: tuple[LevelStatistics, ...]

    def level(self, dimension: int) -> LevelStatistics:
        """Return the level that stores a dimension."""
        return self.levels[self.format.level_of(dimension)]

    def find_parent_level(self, dimension: int) -> LevelStatistics | None:
        """Return the level above that of a dimension; None for the outermost level."""
        level = self.format.level_of(dimension)
        return self.levels[level - 1] if level else None


def statistics_of(tensor: StoredTensor) -> TensorStatistics:
    """Count the elements of each level of a tensor, by coordinate; the time is linear in the elements."""
    levels: list[LevelStatistics] = []
    columns: list[Integers] = []
    parents = 1  # the outermost level is a single fiber
    for dimension, level in zip(tensor.format.order, tensor.levels, strict=True):
        owners, coordinates, _positions = level.expand(np.arange(parents))
        # repeat the outer coordinates for each element; ``owners``: the number of the element's fiber
        columns = [*(column[owners] for column in columns), coordinates]
        dimensions = tensor.format.order[: len(columns)]
        spread = {
            d: np.bincount(column, minlength=tensor.shape[d]).astype(np.float64)
            for d, column in zip(dimensions, columns, strict=True)
        }
        filled = np.count_nonzero(level.counts)
        levels.append(
            LevelStatistics(tensor.shape[dimension], float(len(coordinates)), float(filled), spread)
        )
        parents = level.children
    return TensorStatistics(tensor.format, tuple(levels))
