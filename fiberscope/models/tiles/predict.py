"""The paper's model: the traffic that tiles of a shape cause, from the statistics of the base tiling.

Of any kernel of products and sums, in any order of its loops. Sizes, P_tile and PrTileIdx are taken to be
those of the base tiling whatever the shape; operands are taken as independent.

Source: D2T2 (MICRO 2025), Sections 4.2 and 5.1, equations 7, 8 and 13 to 20.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fiberscope.models.tiles.base import Prediction, Shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.output import expected_nonzeros, expected_size, kept_over
from fiberscope.models.tiles.probability import Known, nonzero, partial_sum, rest, tile_corrs

__all__ = ["extents_of", "iterations_of", "predict"]


def predict(kernel: Kernel, statistics: Known, shape: Shape, options: Options = DEFAULTS) -> Prediction:
    """Return the expected traffic of a shape of tiles.

    Args:
        kernel: what is computed, and the order of its loops.
        statistics: the statistics of each operand, by name.
        shape: the shape of tiles, at most the extents.
        options: the readings; ``model`` is not looked at: this is the printed one.
    """
    blocks = {index: extent / shape[index] for index, extent in extents_of(kernel, statistics).items()}
    repeats = {name: _repeats(kernel, statistics, shape, name, options) for name in kernel.inputs}
    inputs = {
        name: repeats[name] * _once(kernel, statistics, blocks, name, options) for name in kernel.inputs
    }
    visits = _visits(kernel, statistics, blocks, options)
    nonzeros = expected_nonzeros(kernel, statistics, shape, options)
    metric = statistics[kernel.inputs[0]].metric
    size = expected_size([shape[index] for index in kernel.stored(kernel.result)], nonzeros, metric)
    times = 2 if options.merge == "read" else 1
    return Prediction(inputs, repeats, times * visits * size, visits, nonzeros)


def extents_of(kernel: Kernel, statistics: Known) -> dict[str, int]:
    """The extent of every index, in the order of the loops."""
    extents = {
        index: extent
        for name in kernel.inputs
        for index, extent in zip(statistics[name].indices, statistics[name].extents, strict=True)
    }
    return {index: extents[index] for index in kernel.order}


def iterations_of(kernel: Kernel, statistics: Known, shape: Shape) -> int:
    """Return the number of iterations of the outer loops, with empty ones."""
    return math.prod(-(-extent // shape[index]) for index, extent in extents_of(kernel, statistics).items())


def _once(
    kernel: Kernel, statistics: Known, blocks: Mapping[str, float], name: str, options: Options
) -> float:
    """Return the traffic of a tensor if every needed tile is loaded once."""
    own, depth = statistics[name], kernel.depth(name)
    bound = kernel.order[: depth + 1]
    tiles = own.p_tile * math.prod(blocks[index] for index in own.indices)
    needed = rest(kernel.expression, name, bound, statistics, options.union)
    if options.loads == "common":
        needed *= _in_common(kernel, statistics, blocks, name)
    return own.size_tile * tiles * needed


def _in_common(kernel: Kernel, statistics: Known, blocks: Mapping[str, float], name: str) -> float:
    """Return the probability that the others share a coordinate of each index that is not bound yet."""
    share = 1.0
    for index in kernel.order[kernel.depth(name) + 1 :]:
        others = [statistics[other] for other in kernel.carriers(index)]
        if len(others) > 1:
            both = math.prod(carrier.pr_tile_index[carrier.indices.index(index)] for carrier in others)
            share *= 1.0 - (1.0 - both) ** blocks[index]
    return share


def _repeats(kernel: Kernel, statistics: Known, shape: Shape, name: str, options: Options) -> float:
    """Return how often a tensor's tiles are read: the iterations of outer loops over other indices."""
    around = (index for index in kernel.order[: kernel.depth(name)] if index not in kernel.indices[name])
    return math.prod(_passes(kernel, statistics, shape, index, options) for index in around)


def _passes(kernel: Kernel, statistics: Known, shape: Shape, index: str, options: Options) -> float:
    """E|y'|: iterations of an outer loop; tiles that grow over empty neighbours save none."""
    carrier = statistics[kernel.carriers(index)[0]]
    rank = carrier.indices.index(index)
    extent, base = carrier.extents[rank], carrier.tile[rank]
    if shape[index] <= base:
        return extent / shape[index]
    return extent / base / partial_sum(tile_corrs(carrier, index, options.tilecorrs), shape[index] / base)


def _visits(kernel: Kernel, statistics: Known, blocks: Mapping[str, float], options: Options) -> float:
    """Return how often a partial result is written."""
    stored = nonzero(kernel.expression, lambda name: statistics[name].p_tile, options.union)
    kept = kept_over(kernel, options)
    places = math.prod(size for index, size in blocks.items() if index not in kept)
    if not kept:
        return places * stored
    return places * (1.0 - (1.0 - stored) ** math.prod(blocks[index] for index in kept))
