"""Check that tiles fit and enlarge them, by partitioning: statistics of base tiles bound no larger tile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from fiberscope.models.tiles.base import Shape, cut_one, pack_one
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.reorder import list_growing_indices
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric

_ROUNDS = 8  # attempts to reduce a tile factor that is too large


class Fitter:
    """Partitioning of a kernel's operands, for a comparison of their fullest tile with the buffer.

    All methods except ``round_shape`` raise the ``WorkloadError`` of ``find_fullest_size``.

    Args:
        kernel: names the operands.
        tensors: the tensors by name.
        capacity: the capacity of the buffer of each operand, in the metric's unit.
        metric: the metric of sizes.
        packed: the shape of the base tiles of which tiles consist; sizes and capacity are then in words, and
            ``metric`` is not used. None: tensors are partitioned anew.
    """

    def __init__(
        self,
        kernel: Kernel,
        tensors: Mapping[str, SparseTensor],
        capacity: int,
        metric: Metric,
        packed: Shape | None = None,
    ) -> None:
        self.kernel, self.capacity = kernel, capacity
        self._tensors, self._metric, self._packed = tensors, metric, packed
        self._cache: dict[tuple[int, ...], int] = {}

    def find_fullest_size(self, shape: Shape) -> int:
        """Return the size of the fullest tile of any operand in a buffer; 0 if all are empty.

        The size is in the metric's unit, or in words for packed tiles. The result is kept for each shape.

        Raises:
            WorkloadError: the shape or an operand cannot be partitioned, see ``cut_all`` and ``pack_all``.
        """
        # a partition is the most expensive step of a search, and several steps ask for the same shape
        key = tuple(shape[index] for index in self.kernel.order)
        if key not in self._cache:
            sizes = [self._tile_sizes(name, shape) for name in self.kernel.inputs]
            self._cache[key] = max(int(occupancy.max(initial=0)) for occupancy in sizes)
        return self._cache[key]

    def _tile_sizes(self, name: str, shape: Shape) -> Integers:
        tensor = self._tensors[name]
        if self._packed is None:
            return cut_one(self.kernel, name, tensor, shape).buffered_sizes(self._metric)
        return pack_one(self.kernel, name, tensor, shape, self._packed).words

    def round_shape(self, sizes: Mapping[str, float], extents: Mapping[str, int]) -> dict[str, int]:
        """Return a shape rounded down to integers or whole base tiles, at least one, at most the extents.

        Args:
            sizes: real sizes of tiles, by index.
            extents: limits of the shape. A side at its limit need not be a multiple of the base tile.
        """
        units = dict.fromkeys(sizes, 1) if self._packed is None else self._packed
        multiples = {
            index: max(1, math.floor(size / units[index])) * units[index] for index, size in sizes.items()
        }
        return {
            # at the extent, a single tile covers the index: rounding down would leave a second, ragged tile
            index: extents[index] if sizes[index] >= extents[index] else min(extents[index], size)
            for index, size in multiples.items()
        }

    def fits(self, shape: Shape) -> bool:
        """Return whether every tile of every operand fits the buffer, see ``find_fullest_size``."""
        return self.find_fullest_size(shape) <= self.capacity

    def enlarge(
        self, shape: Mapping[str, float], factor: float, extents: Mapping[str, int], every: bool
    ) -> tuple[dict[str, int], float] | None:
        """Return a shape times a factor with which all tiles fit.

        An attempt that does not fit multiplies the factor by the capacity over the size of the fullest tile.
        The result is not always the largest factor that fits.

        Args:
            shape: by index, before rounding.
            factor: TileFactor, with which the search begins.
            extents: limits of the shape.
            every: True to multiply all indices by the square root of the factor, False to multiply the
                indices of the result by the factor.

        Returns:
            The rounded shape, and the factor before rounding; None if the first factor is at most 1, or if
            none of at most eight factors above 1 fits.
        """
        # in a matrix product, one index of each operand grows, and its tile by the factor; if both indices
        # grow, each takes the square root. For other kernels this is an estimate, which the attempts correct.
        scaled_indices = self.kernel.order if every else list_growing_indices(self.kernel)
        for _round in range(_ROUNDS):
            if factor <= 1.0:
                return None
            scale = math.sqrt(factor) if every else factor
            sizes = {
                index: size * scale if index in scaled_indices else size for index, size in shape.items()
            }
            candidate = self.round_shape(sizes, extents)
            if self.fits(candidate):
                return candidate, factor
            # sizes grow about in proportion to the factor, so that a tile of the new factor would just fit
            factor *= self.capacity / self.find_fullest_size(candidate)
        return None

    def grow_summed_indices(self, shape: Shape, extents: Mapping[str, int]) -> dict[str, int]:
        """Double a shape in each of its summed indices as often as its tiles fit, up to the extent.

        The shape must fit. Tiles begin at multiples of their side, so a doubled tile is a pair of whole
        tiles: the fullest one does not shrink with a step, and a binary search finds the last that fits. The
        indices grow one after another in loop order: the first takes as much of the buffer as it can.
        """
        sizes = dict(shape)
        for index in self.kernel.contracted:
            steps = list(_iterate_doublings(sizes[index], extents[index]))
            low, high = 0, len(steps)  # the step ``low`` fits, the step ``high`` does not or does not exist
            while high - low > 1:
                middle = (low + high) // 2
                fits = self.fits({**sizes, index: steps[middle]})
                low, high = (middle, high) if fits else (low, middle)
            sizes[index] = steps[low]
        return sizes


def _iterate_doublings(size: int, extent: int) -> Iterator[int]:
    """Yield a size and its doubles below the extent, then the extent."""
    while size < extent:
        yield size
        size *= 2
    yield min(size, extent)
