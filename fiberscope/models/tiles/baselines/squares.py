"""Square tiles: the largest that fit (Prescient), or that seldom overflow (Tailors).

Whether squares fit is not monotonic in their size: a larger square may partition the tensors more
favourably. The binary search may therefore miss the largest; a scan tries every side.

Sources: D2T2 (MICRO 2025), Section 5, for Prescient; Tailors (Xue et al., MICRO 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fiberscope.models.tiles.base import cut_one
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric

MAX_OVERFLOWING = 0.1  # largest share of nonempty tiles that overflow: y in the paper of Tailors

_Accepts: TypeAlias = Callable[["Square"], bool]
SAMPLED_SHARE = 0.1  # share of the tiles that Swiftiles samples
MIN_SAMPLE = 32  # smallest size of a sample, in tiles


@dataclass(frozen=True)
class Square:
    """Square tiles of the inputs of a kernel.

    Args:
        shape: the extent by index: the side, at most the extent of the tensor.
        fullest: size of the fullest tile in a buffer.
        overflowing: share of the nonempty tiles of all inputs that exceed the capacity.
    """

    shape: Mapping[str, int]
    fullest: int
    overflowing: float


@dataclass(frozen=True)
class Squares:
    """The square tiles of a kernel's inputs, by side.

    Args:
        tensors: by name, with their ranks as the kernel writes them.
        capacity: of each operand's buffer, in the metric's unit.
        metric: the metric of the size of tiles.
        step: divisor of the sides in a search.
    """

    kernel: Kernel
    tensors: Mapping[str, SparseTensor]
    capacity: int
    metric: Metric
    step: int = 1

    @property
    def extents(self) -> dict[str, int]:
        """Return the extent of every index."""
        return self.kernel.determine_extents({name: tensor.shape for name, tensor in self.tensors.items()})

    def tile_sizes(self, side: int) -> list[Integers]:
        """Return the sizes of the nonempty tiles of each input in a buffer, in the metric's unit."""
        shape = limit_square(self.extents, side)
        tiles = [cut_one(self.kernel, name, self.tensors[name], shape) for name in self.kernel.inputs]
        return [statistics.buffered_sizes(self.metric) for statistics in tiles]

    def measure_square(self, sizes_by_input: Sequence[Integers], side: int) -> Square:
        """Return the square tiles of a side, from the sizes that ``tile_sizes`` returned for it."""
        all_sizes = np.concatenate(sizes_by_input)
        overflowing = float(np.mean(all_sizes > self.capacity)) if len(all_sizes) else 0.0
        return Square(limit_square(self.extents, side), int(all_sizes.max(initial=0)), overflowing)

    def prescient(self, min_side: int, *, scan: bool = False) -> Square:
        """Return the largest squares without an overflow.

        Args:
            min_side: a side that fits. The smallest side that is tried is ``min_side``, or the next multiple
                of ``step``; it is returned if no larger side fits, without a check that it fits.
            scan: try every side from the largest down, in place of a binary search.
        """
        return self._search(min_side, lambda candidate: candidate.overflowing == 0, scan)

    def tailors(self, min_side: int, *, scan: bool = False) -> Square:
        """Return the largest squares with which at most a share ``MAX_OVERFLOWING`` of all tiles overflows.

        Args:
            min_side, scan: as for ``prescient``; a side that fits is one with few enough overflows.
        """
        return self._search(min_side, lambda candidate: candidate.overflowing <= MAX_OVERFLOWING, scan)

    def _search(self, min_side: int, accepts: _Accepts, scan: bool) -> Square:
        low, high = (-(-side // self.step) for side in (min_side, max(min_side, *self.extents.values())))
        return self._scan(low, high, accepts) if scan else self._bisect_side(low, high, accepts)

    def _bisect_side(self, low: int, high: int, accepts: _Accepts) -> Square:
        """Return the squares of the largest side that a binary search accepts, else of the lowest side."""
        best = self._evaluate(low)
        while low < high:
            middle = (low + high + 1) // 2
            candidate = self._evaluate(middle)
            if accepts(candidate):
                low, best = middle, candidate
            else:
                high = middle - 1
        return best

    def _scan(self, low: int, high: int, accepts: _Accepts) -> Square:
        """Return the squares of the largest accepted side, else of the lowest side.

        The tensors are partitioned only for sides whose lower bounds are accepted.
        """
        for steps in range(high, low, -1):
            side = steps * self.step
            if accepts(self.measure_square(self._lower_bounds(side), side)):
                candidate = self._evaluate(steps)
                if accepts(candidate):
                    return candidate
        return self._evaluate(low)

    def _evaluate(self, steps: int) -> Square:
        side = steps * self.step
        return self.measure_square(self.tile_sizes(side), side)

    def _lower_bounds(self, side: int) -> list[Integers]:
        """Return lower bounds of the size of each input's nonempty tiles, from their nonzeros."""
        bounds = []
        for name in self.kernel.inputs:
            nonzeros = _count_occupancies(self.tensors[name], side)
            ranks = len(self.kernel.indices[name])
            # a nonempty tile has at least one fiber in each rank below the root
            bounds.append(self.metric.buffered(nonzeros, np.full_like(nonzeros, ranks - 1), ranks))
        return bounds


def limit_square(extents: Mapping[str, int], side: int) -> dict[str, int]:
    """Return tiles of a side, at most the extents."""
    return {index: min(side, extent) for index, extent in extents.items()}


def _count_occupancies(tensor: SparseTensor, side: int) -> Integers:
    """Return the occupancies of nonempty tiles, in no order."""
    tile_numbers = np.zeros(tensor.nonzeros, np.int64)
    for extent, column in zip(tensor.shape, tensor.coordinates, strict=True):
        tile_numbers *= -(-extent // side)
        tile_numbers += column // side
    if tile_numbers.max(initial=0) > 4 * tensor.nonzeros:
        return np.unique(tile_numbers, return_counts=True)[1]
    counts = np.bincount(tile_numbers)
    return counts[counts > 0]


def choose_swiftiles(squares: Squares, min_side: int) -> Square:
    """Return squares from one scaling of a sample; the share of overflowing tiles is not checked.

    Args:
        squares: the squares of the kernel.
        min_side: smallest side.
    """
    largest = max(min_side, *squares.extents.values())
    side = min(largest, max(min_side, _estimate_even_side(squares)))
    tile_sizes = np.concatenate(squares.tile_sizes(side))
    sample_size = min(len(tile_sizes), max(MIN_SAMPLE, math.ceil(SAMPLED_SHARE * len(tile_sizes))))
    sample = np.random.default_rng(0).choice(tile_sizes, sample_size, replace=False)
    quantile = float(np.quantile(sample, 1 - MAX_OVERFLOWING)) if sample_size else 1.0
    ranks = max(len(squares.kernel.indices[name]) for name in squares.kernel.inputs)
    scaled = min(largest, max(min_side, math.floor(side * (squares.capacity / quantile) ** (1 / ranks))))
    return squares.measure_square(squares.tile_sizes(scaled), scaled)


def _estimate_even_side(squares: Squares) -> int:
    """Return the side whose tiles would fit if nonzeros were spread evenly, at two words each."""
    sides: list[float] = [
        (squares.capacity / 2 * math.prod(tensor.shape) / max(1, tensor.nonzeros)) ** (1 / tensor.order)
        for tensor in squares.tensors.values()
    ]
    return math.floor(min(sides))
