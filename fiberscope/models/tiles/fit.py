"""Check that tiles fit: cut the tensors anew, since statistics of other tiles bound no fullest tile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from fiberscope.models.tiles.base import Shape, cut_one, pack_one
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.reorder import grown
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric

__all__ = ["Fitter"]

_ROUNDS = 8  # of a tile factor that is still too large


class Fitter:
    """Cuts the operands of a kernel and compares their fullest tile with the buffer.

    Args:
        kernel: names the operands.
        tensors: the tensors by name.
        capacity: the capacity of the buffer of each operand, in the metric's unit.
        metric: the metric of sizes.
        packed: the shape of base tiles that others are packed of, in words; they are cut anew without it.
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

    def fullest(self, shape: Shape) -> int:
        """Return the space of the fullest tile of any operand in a buffer."""
        key = tuple(shape[index] for index in self.kernel.order)
        if key not in self._cache:
            held = [self._held(name, shape) for name in self.kernel.inputs]
            self._cache[key] = max(int(occupancy.max(initial=0)) for occupancy in held)
        return self._cache[key]

    def _held(self, name: str, shape: Shape) -> Integers:
        tensor = self._tensors[name]
        if self._packed is None:
            return cut_one(self.kernel, name, tensor, shape).held(self._metric)
        return pack_one(self.kernel, name, tensor, shape, self._packed).words

    def rounded(self, sizes: Mapping[str, float], extents: Mapping[str, int]) -> dict[str, int]:
        """A shape cut to the extents, and down to whole numbers, or whole base tiles if these are packed."""
        units = dict.fromkeys(sizes, 1) if self._packed is None else self._packed
        whole = {
            index: max(1, math.floor(size / units[index])) * units[index] for index, size in sizes.items()
        }
        return {
            index: extents[index] if sizes[index] >= extents[index] else min(extents[index], size)
            for index, size in whole.items()
        }

    def fits(self, shape: Shape) -> bool:
        """Return whether every tile fits."""
        return self.fullest(shape) <= self.capacity

    def enlarged(
        self, shape: Mapping[str, float], factor: float, extents: Mapping[str, int], every: bool
    ) -> tuple[dict[str, int], float] | None:
        """A shape times the largest factor, coming down from one, with which all tiles fit.

        Args:
            shape: before it is rounded down.
            factor: TileFactor.
            extents: that shapes are cut to.
            every: whether all indices grow, by the root of the factor, or those of the result, by all of it.

        Returns:
            The shape and the factor; None where none above 1 was found in eight rounds.
        """
        growing = self.kernel.order if every else grown(self.kernel)
        for _round in range(_ROUNDS):
            if factor <= 1.0:
                return None
            by = math.sqrt(factor) if every else factor
            sizes = {index: size * by if index in growing else size for index, size in shape.items()}
            enlarged_sizes = self.rounded(sizes, extents)
            if self.fits(enlarged_sizes):
                return enlarged_sizes, factor
            factor *= self.capacity / self.fullest(enlarged_sizes)
        return None

    def grown_in_sums(self, shape: Shape, extents: Mapping[str, int]) -> dict[str, int]:
        """A shape that covers the tensors but for the summed indices, doubled in these as often as it fits.

        Doubled tiles are pairs of whole ones, so that no row is cut anew.
        """
        sizes = dict(shape)
        for index in self.kernel.contracted:
            steps = list(_doublings(sizes[index], extents[index]))
            low, high = 0, len(steps)
            while high - low > 1:
                middle = (low + high) // 2
                fits = self.fits({**sizes, index: steps[middle]})
                low, high = (middle, high) if fits else (low, middle)
            sizes[index] = steps[low]
        return sizes


def _doublings(size: int, extent: int) -> Iterator[int]:
    while size < extent:
        yield size
        size *= 2
    yield min(size, extent)
