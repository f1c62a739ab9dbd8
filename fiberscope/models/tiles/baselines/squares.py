"""Square tiles: the largest that fit (Prescient), or that overflow seldom (Tailors).

Whether squares fit does not follow their size: a larger one may cut the tensors more luckily. The binary
search may therefore miss the largest; a scan tries every side.

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

__all__ = ["OVERFLOWING", "Square", "Squares", "square", "swiftiles"]

OVERFLOWING = 0.1  # of the nonempty tiles, at the most: Tailors' y

_Accepts: TypeAlias = Callable[["Square"], bool]
SHARE = 0.1  # of the tiles that are sampled
LEAST = 32  # of these, however few tiles there are


@dataclass(frozen=True)
class Square:
    """Square tiles of the inputs of a kernel.

    Args:
        shape: the shape by index; the side, at most the extent.
        fullest: what the fullest tile takes of a buffer.
        overflowing: share of the nonempty tiles of all inputs that exceed the capacity.
    """

    shape: Mapping[str, int]
    fullest: int
    overflowing: float


@dataclass(frozen=True)
class Squares:
    """The square tiles of a kernel's inputs, by side.

    Args:
        kernel: whose inputs they are.
        tensors: by name, ranks as the kernel writes them.
        capacity: of each operand's buffer, in the metric's unit.
        metric: the metric of tiles.
        step: of which sides that are searched are multiples.
    """

    kernel: Kernel
    tensors: Mapping[str, SparseTensor]
    capacity: int
    metric: Metric
    step: int = 1

    @property
    def extents(self) -> dict[str, int]:
        """Return the extent of every index."""
        return self.kernel.extents({name: tensor.shape for name, tensor in self.tensors.items()})

    def held(self, side: int) -> list[Integers]:
        """Return the words of the nonempty tiles of each input in a buffer."""
        shape = square(self.extents, side)
        tiles = [cut_one(self.kernel, name, self.tensors[name], shape) for name in self.kernel.inputs]
        return [each.held(self.metric) for each in tiles]

    def square_of(self, held: Sequence[Integers], side: int) -> Square:
        """The tiles of a side, told by what they take."""
        sizes = np.concatenate(held)
        over = float(np.mean(sizes > self.capacity)) if len(sizes) else 0.0
        return Square(square(self.extents, side), int(sizes.max(initial=0)), over)

    def prescient(self, least: int, *, scan: bool = False) -> Square:
        """The largest squares of which every tile fits.

        Args:
            least: a side that fits.
            scan: try every side from the largest down.
        """
        return self._largest(least, lambda candidate: candidate.overflowing == 0, scan)

    def tailors(self, least: int, *, scan: bool = False) -> Square:
        """The largest squares of which few overflow: at most ``OVERFLOWING`` of all inputs' tiles."""
        return self._largest(least, lambda candidate: candidate.overflowing <= OVERFLOWING, scan)

    def _largest(self, least: int, accepts: _Accepts, scan: bool) -> Square:
        low, high = (-(-side // self.step) for side in (least, max(least, *self.extents.values())))
        return self._scanned(low, high, accepts) if scan else self._halved(low, high, accepts)

    def _halved(self, low: int, high: int, accepts: _Accepts) -> Square:
        """Search by halving, in steps; return the largest edge that was accepted."""
        best = self._tried(low)
        while low < high:
            middle = (low + high + 1) // 2
            candidate = self._tried(middle)
            if accepts(candidate):
                low, best = middle, candidate
            else:
                high = middle - 1
        return best

    def _scanned(self, low: int, high: int, accepts: _Accepts) -> Square:
        """Search by trying all; a rank that is not accepted even with one fiber a tile is not cut."""
        for steps in range(high, low, -1):
            side = steps * self.step
            if accepts(self.square_of(self._at_least(side), side)):
                candidate = self._tried(steps)
                if accepts(candidate):
                    return candidate
        return self._tried(low)

    def _tried(self, steps: int) -> Square:
        side = steps * self.step
        return self.square_of(self.held(side), side)

    def _at_least(self, side: int) -> list[Integers]:
        """Return lower bounds of the space of each input's nonempty tiles, from their nonzeros."""
        bounds = []
        for name in self.kernel.inputs:
            nonzeros = _occupancies(self.tensors[name], side)
            ranks = len(self.kernel.indices[name])
            bounds.append(self.metric.held(nonzeros, np.full_like(nonzeros, ranks - 1), ranks))
        return bounds


def square(extents: Mapping[str, int], side: int) -> dict[str, int]:
    """Tiles of a side, at most the extents."""
    return {index: min(side, extent) for index, extent in extents.items()}


def _occupancies(tensor: SparseTensor, side: int) -> Integers:
    """Nonzeros of the nonempty tiles, in no order."""
    places = np.zeros(tensor.nonzeros, np.int64)
    for extent, column in zip(tensor.shape, tensor.coordinates, strict=True):
        places *= -(-extent // side)
        places += column // side
    if places.max(initial=0) > 4 * tensor.nonzeros:
        return np.unique(places, return_counts=True)[1]
    counts = np.bincount(places)
    return counts[counts > 0]


def swiftiles(squares: Squares, least: int) -> Square:
    """Squares by one scaling; whether they keep the share that may overflow is not looked at.

    Args:
        squares: those of the kernel.
        least: side, at the least.
    """
    most = max(least, *squares.extents.values())
    side = min(most, max(least, _spread_evenly(squares)))
    held = np.concatenate(squares.held(side))
    sample_size = min(len(held), max(LEAST, math.ceil(SHARE * len(held))))
    sample = np.random.default_rng(0).choice(held, sample_size, replace=False)
    quantile = float(np.quantile(sample, 1 - OVERFLOWING)) if sample_size else 1.0
    ranks = max(len(squares.kernel.indices[name]) for name in squares.kernel.inputs)
    scaled = min(most, max(least, math.floor(side * (squares.capacity / quantile) ** (1 / ranks))))
    return squares.square_of(squares.held(scaled), scaled)


def _spread_evenly(squares: Squares) -> int:
    """The side whose tiles would just fit, were a tensor's nonzeros spread evenly, two words each."""
    sides: list[float] = [
        (squares.capacity / 2 * math.prod(tensor.shape) / max(1, tensor.nonzeros)) ** (1 / tensor.order)
        for tensor in squares.tensors.values()
    ]
    return math.floor(min(sides))
