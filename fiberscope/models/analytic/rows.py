"""Rows of an array that compressed tiles take: the last row of each tile may be half empty.

The mean of ceil(k / b) over the occupancies k of a tile is more than its mean over b, most for small tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Level
from fiberscope.models.analytic.asking import ask
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures
from fiberscope.models.analytic.sparse import Sparse

__all__ = ["row_ratio"]

# Tiles of so many rows or more are not looked into by the public tool, by words of a row and density
# (0.1, 0.2 ... 1). Source: timeloop, include/model/buffer.hpp, VectorWidthCoefficientTable.
_TOOL_LIMITS = {
    2: (251, 125, 84, 63, 51, 42, 36, 32, 28, 1),
    4: (375, 188, 125, 94, 75, 63, 54, 47, 42, 1),
    8: (438, 219, 146, 110, 88, 73, 63, 55, 49, 1),
    16: (469, 235, 157, 118, 94, 79, 67, 59, 52, 1),
    32: (485, 243, 162, 122, 97, 81, 70, 61, 52, 1),
}


def row_ratio(
    problem: Problem,
    features: SparseFeatures,
    traffic: Traffic,
    counts: Sparse,
    place: tuple[int, int],
    level: Level,
    options: Options,
) -> Numbers:
    """Rows that the tiles of a tensor at a level take, over those were their nonzeros packed."""
    density, tile = counts.stored[place].density, traffic.dense[place].tile
    if level.block == 1 or not features.compressed(*place):
        return np.ones(1)
    tensor = place[1]
    extents = problem.extents(tensor, traffic.nest.tile(place[0]))
    model = problem.densities[tensor]
    rows = ask(partial(_each, model.expected_blocks, level.block), extents)
    if options.timeloop:
        packed = density * tile / level.block
        ratio = np.divide(rows, packed, out=np.ones_like(rows), where=packed > 0)
        return np.where(_looked_into(level.block, density, tile), ratio, 1.0)
    mean = ask(model.expected, extents) / level.block
    return np.divide(rows, mean, out=np.ones_like(rows), where=mean > 0)


def _each(
    question: Callable[[list[int], int], float], block: int, extents: Sequence[NDArray[np.int64]]
) -> Numbers:
    """The answers for tiles that are asked of one by one."""
    tiles = zip(*(np.atleast_1d(extent) for extent in extents), strict=True)
    return np.array([question([int(one) for one in tile], block) for tile in tiles])


def _looked_into(block: int, density: Numbers, tile: NDArray[np.int64]) -> NDArray[np.bool_]:
    limits = np.array(_TOOL_LIMITS.get(block, (0,) * 10))
    column = np.where(density >= 0.1, np.floor(density / 0.1) - 1, 0).astype(np.int64)
    return (limits[np.clip(column, 0, 9)] > tile // block) & (density < 1.0)
