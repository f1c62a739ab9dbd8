"""The paper's model: the traffic of a shape of tiles, from the statistics of the base tiling.

The model applies to products and sums of tensors, in any loop order. SizeTile, P_tile and PrTileIdx (in
``Statistics``: ``size_tile``, ``p_tile`` and ``pr_tile_index``) are those of the base tiling for every shape.
Operands are taken as independent.

Source: D2T2 (MICRO 2025), Sections 4.2 and 5.1, equations 7, 8 and 13 to 20.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fiberscope.models.tiles.base import Prediction, Shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.output import expect_nonzeros, expect_size, list_stationary_indices
from fiberscope.models.tiles.probability import (
    StatisticsByName,
    compute_nonzero_probability,
    compute_partner_probability,
    sum_first_terms,
    tile_corrs,
)


def predict(
    kernel: Kernel, statistics: StatisticsByName, shape: Shape, options: Options = DEFAULTS
) -> Prediction:
    """Return the expected traffic of a shape of tiles.

    Args:
        kernel: the expression and the order of its loops.
        statistics: the statistics of each operand, by name.
        shape: the shape of tiles, at most the extents.
        options: variants of the model; ``model`` is ignored, as this is the printed model.

    Returns:
        The traffic, in the unit of the statistics' metric.
    """
    # tiles along each index: a real number, in which a tile at the edge counts in part; ``count_iterations``
    # counts it as a whole
    blocks = {index: extent / shape[index] for index, extent in determine_extents(kernel, statistics).items()}
    repeats = {name: _predict_repeats(kernel, statistics, shape, name, options) for name in kernel.inputs}
    inputs = {
        name: repeats[name] * _predict_single_load_traffic(kernel, statistics, blocks, name, options)
        for name in kernel.inputs
    }
    visits = _predict_visits(kernel, statistics, blocks, options)
    nonzeros = expect_nonzeros(kernel, statistics, shape, options)
    metric = statistics[kernel.inputs[0]].metric
    size = expect_size(
        [shape[index] for index in kernel.list_stored_indices(kernel.result)], nonzeros, metric
    )
    passes = 2 if options.merge == "read" else 1  # partial results are written, and read to be merged
    return Prediction(inputs, repeats, passes * visits * size, visits, nonzeros)


def determine_extents(kernel: Kernel, statistics: StatisticsByName) -> dict[str, int]:
    """Return the extent of every index in loop order; operands with an index agree on its extent."""
    extents = {
        index: extent
        for name in kernel.inputs
        for index, extent in zip(statistics[name].indices, statistics[name].extents, strict=True)
    }
    return {index: extents[index] for index in kernel.order}


def count_iterations(kernel: Kernel, statistics: StatisticsByName, shape: Shape) -> int:
    """Return the number of iterations of the outer loops, with empty iterations.

    Args:
        kernel: the order of the loops.
        statistics: statistics of each operand, which have the extents of the indices.
        shape: the shape of tiles, by index; a tile at the edge counts as a whole iteration.
    """
    return math.prod(
        -(-extent // shape[index]) for index, extent in determine_extents(kernel, statistics).items()
    )


def _predict_single_load_traffic(
    kernel: Kernel, statistics: StatisticsByName, blocks: Mapping[str, float], name: str, options: Options
) -> float:
    """Return the traffic of a tensor if every needed tile is loaded once."""
    operand, depth = statistics[name], kernel.depth(name)
    bound = kernel.order[: depth + 1]  # indices that are known when the tile is loaded
    # p_tile is of the base tiling, the grid of the new shape
    tiles = operand.p_tile * math.prod(blocks[index] for index in operand.indices)
    needed = compute_partner_probability(kernel.expression, name, bound, statistics, options.union)
    if options.loads == "common":
        needed *= _share_in_common(kernel, statistics, blocks, name)
    return operand.size_tile * tiles * needed


def _share_in_common(
    kernel: Kernel, statistics: StatisticsByName, blocks: Mapping[str, float], name: str
) -> float:
    """Return the probability that the operands have tiles at a common coordinate of each inner index.

    Inner indices are those of the loops inside of the tensor's last loop. An index of a single operand does
    not count.
    """
    share = 1.0
    for index in kernel.order[kernel.depth(name) + 1 :]:
        carriers = [statistics[carrier] for carrier in kernel.list_carriers(index)]
        if len(carriers) > 1:
            joint_share = math.prod(tensor.pr_tile_index[tensor.indices.index(index)] for tensor in carriers)
            # one common coordinate among the tiles of the inner loop is enough
            share *= 1.0 - (1.0 - joint_share) ** blocks[index]
    return share


def _predict_repeats(
    kernel: Kernel, statistics: StatisticsByName, shape: Shape, name: str, options: Options
) -> float:
    """Return how often each tile of a tensor is read.

    This is the number of iterations of the loops over other indices outside of the tensor's last loop.
    """
    outer_indices = (index for index in kernel.list_loops_outside(name) if index not in kernel.indices[name])
    return math.prod(
        _predict_iterations(kernel, statistics, shape, index, options) for index in outer_indices
    )


def _predict_iterations(
    kernel: Kernel, statistics: StatisticsByName, shape: Shape, index: str, options: Options
) -> float:
    """Return E|y'|, the expected iterations of an outer loop.

    A tile longer than the base tile saves iterations only as far as neighbours of base tiles are nonempty.
    """
    # the first operand with the index stands for all
    carrier = statistics[kernel.list_carriers(index)[0]]
    rank = carrier.indices.index(index)
    extent, base = carrier.extents[rank], carrier.tile[rank]
    if shape[index] <= base:
        return extent / shape[index]
    return extent / base / sum_first_terms(tile_corrs(carrier, index, options.tilecorrs), shape[index] / base)


def _predict_visits(
    kernel: Kernel, statistics: StatisticsByName, blocks: Mapping[str, float], options: Options
) -> float:
    """Return the number of writes of partial results."""
    share = compute_nonzero_probability(
        kernel.expression, lambda name: statistics[name].p_tile, options.union
    )
    stationary = list_stationary_indices(kernel, options)
    positions = math.prod(size for index, size in blocks.items() if index not in stationary)
    if not stationary:
        return positions * share
    # a result tile is written once if any iteration of the stationary loops has a product
    return positions * (1.0 - (1.0 - share) ** math.prod(blocks[index] for index in stationary))
