"""The paper's model with a correction of its outputs: products of a sample of tiles are computed.

Two ratios describe the correlation of the operands: computed over predicted nonempty results, and computed
over predicted nonzeros of a result. The ratios of the base tiling scale the predictions of every shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import Prediction, Shape, cut_all
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import Points, join, level_counts
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.output import expect_size
from fiberscope.models.tiles.predict import predict
from fiberscope.models.tiles.probability import StatisticsByName
from fiberscope.models.tiles.statistics import MIN_SAMPLED_TILES
from fiberscope.models.tiles.walk import walk
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.tiling import TiledTensor

_LEAF = "leaf"  # additional index: number of a product of tiles; its name is longer than those of kernels


class Joint:
    """The model of any product of tensors.

    Args:
        kernel: a product.
        tensors: operands of the kernel, by name.
        statistics: statistics of the operands, by name.
        base: shape of the base tiles of the statistics.
        options: variants of the prediction, the share of sampled tiles, and the seed.

    Raises:
        InputError: the kernel is a sum.
    """

    def __init__(
        self,
        kernel: Kernel,
        tensors: Mapping[str, SparseTensor],
        statistics: StatisticsByName,
        base: Shape,
        options: Options,
    ) -> None:
        if not kernel.is_product:
            raise InputError(f"model joint multiplies tiles; {kernel} is a sum; take printed")
        self._kernel, self._statistics, self._options = kernel, statistics, options
        self.visit_ratio, self.nonzero_ratio = self._compute_ratios(tensors, base)

    def predict(self, shape: Shape) -> Prediction:
        """Return the traffic of a shape: inputs of the paper's model, outputs scaled."""
        printed = predict(self._kernel, self._statistics, shape, self._options)
        extents = [shape[index] for index in self._kernel.list_stored_indices(self._kernel.result)]
        nonzeros = min(float(math.prod(extents)), printed.nonzeros * self.nonzero_ratio)
        visits = printed.visits * self.visit_ratio
        metric = self._statistics[self._kernel.inputs[0]].metric
        passes = 2 if self._options.merge == "read" else 1  # partial results are written, and read to merge
        size = expect_size(extents, nonzeros, metric)
        return replace(printed, output=passes * visits * size, visits=visits, nonzeros=nonzeros)

    def _compute_ratios(self, tensors: Mapping[str, SparseTensor], base: Shape) -> tuple[float, float]:
        """Return two ratios of computed to predicted numbers for the base tiling.

        The first is of nonempty partial results, the second of the nonzeros of each. Both are 1 if the sample
        has no product of tiles or the prediction no result, and 0 if all sampled products are empty. Each
        product of tiles counts as a partial result. The sample determines shares; a walk over all tiles
        counts the products of tiles.
        """
        kernel = self._kernel
        tiled = cut_all(kernel, tensors, base)
        leaves = _sample_leaves(kernel, tiled, self._options)
        leaf_count = len(leaves[_format_column(kernel.inputs[0])])
        # ``streamed``: the prediction must count each product of tiles as a partial result, too
        expected = predict(
            kernel, self._statistics, base, self._options.model_copy(update={"output": "streamed"})
        )
        if leaf_count == 0 or expected.output_nonzeros == 0:
            return 1.0, 1.0
        operands = [
            ((_LEAF, *kernel.indices[name]), _repeat_tiles(tiled[name], leaves[_format_column(name)]))
            for name in kernel.inputs
        ]
        # the leaf's number is a summed index with tiles of one coordinate: each leaf is a visit of its own
        counts = level_counts(operands, kernel.indices[kernel.result], [_LEAF], {**base, _LEAF: 1})
        visits, nonzeros = counts[0], counts[-1]
        operand_tiles = {name: (kernel.indices[name], tensor_tiles) for name, tensor_tiles in tiled.items()}
        _fetched, iterations = walk(kernel.order, operand_tiles)
        nonzeros_per_visit = nonzeros / max(1, visits)
        # share of nonempty leaves in the sample, times all leaves
        return visits / leaf_count * iterations / expected.visits, nonzeros_per_visit / expected.nonzeros


def _format_column(name: str) -> str:
    return f"tile of {name}"


def _sample_leaves(kernel: Kernel, tiled: Mapping[str, TiledTensor], options: Options) -> Points:
    """Return the products of tiles (leaves) in which a sample of the first operand's tiles takes part.

    A leaf is an iteration of the outer loops in which each operand has a tile.

    Returns:
        The coordinates of the tiles by index, and for each operand the number of its tile
        (``_format_column``).
    """
    sampled: Points = {"": np.zeros(1, np.int64)}  # one point without coordinates, neutral for ``join``
    for number, name in enumerate(kernel.inputs):
        tiles = tiled[name]
        selection = np.arange(len(tiles))
        if number == 0:
            count = min(len(tiles), max(MIN_SAMPLED_TILES, math.ceil(options.leaves * len(tiles))))
            selection = np.sort(np.random.default_rng(options.seed).choice(len(tiles), count, replace=False))
        ids = {index: ids[selection] for index, ids in zip(kernel.indices[name], tiles.ids, strict=True)}
        sampled = join(sampled, {**ids, _format_column(name): selection})
    return sampled


def _repeat_tiles(tiled: TiledTensor, tiles: Integers) -> SparseTensor:
    """Return the elements of tiles as a tensor of ones, with one rank more than the operand.

    The first rank is the position in ``tiles``, which may list a tile several times. The other coordinates
    are those in the operand.
    """
    counts = tiled.nonzeros[tiles]
    leaf = np.repeat(np.arange(len(tiles)), counts)
    # the entries of a tile are consecutive from ``starts``; the difference shifts each tile's run to them
    entries = np.arange(len(leaf)) + np.repeat(tiled.starts[tiles] - (np.cumsum(counts) - counts), counts)
    columns = [
        ids[tiles][leaf] * size + inner[entries]
        for ids, size, inner in zip(tiled.ids, tiled.shape, tiled.inner(), strict=True)
    ]
    return SparseTensor((len(tiles), *tiled.extents), (leaf, *columns), np.ones(len(leaf)))
