"""Statistics of tensors: all that an estimate knows of their contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.workloads.canonical import Integers, Values

__all__ = ["LevelStatistics", "TensorStatistics", "statistics_of"]


@dataclass(frozen=True)
class LevelStatistics:
    """A level of a tensor in numbers.

    Args:
        size: coordinates of its dimension.
        elements: how many it has.
        fibers: how many of its fibers have any.
        spread: of its own dimension and of each one above, how many of its elements lie at each coordinate.
    """

    size: int
    elements: float
    fibers: float
    spread: Mapping[int, Values]


@dataclass(frozen=True)
class TensorStatistics:
    """A tensor in numbers: its levels, outermost first."""

    format: Format
    levels: tuple[LevelStatistics, ...]

    def level(self, dimension: int) -> LevelStatistics:
        """The level that stores a dimension."""
        return self.levels[self.format.level_of(dimension)]

    def above(self, dimension: int) -> LevelStatistics | None:
        """The level above that one; None above the outermost."""
        level = self.format.level_of(dimension)
        return self.levels[level - 1] if level else None


def statistics_of(tensor: StoredTensor) -> TensorStatistics:
    """Count what lies where: once through each level."""
    levels: list[LevelStatistics] = []
    columns: list[Integers] = []
    parents = 1
    for dimension, level in zip(tensor.format.order, tensor.levels, strict=True):
        owners, coordinates, _positions = level.expanded(np.arange(parents))
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
