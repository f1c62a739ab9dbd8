"""Mappings as arrays, many at once: the loops of a nest in one row of slots, from the innermost outwards.

Each level has a slot for the spatial loop and one for the temporal loop over each dimension, spatial ones
inside. A loop that a mapping does not have is one of a single iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mappings", "Nest"]

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Mappings:
    """Mappings of one problem on one machine that bypass the same levels.

    Levels are outer to inner, dimensions and tensors as in the problem.

    Args:
        temporal, spatial: bounds of the loops: mappings x levels x dimensions.
        order: of the temporal loops, numbers of dimensions inner to outer: mappings x levels x dimensions.
        keep: which level keeps which tensor: levels x tensors; the outermost keeps all.
        spatial_order: as ``order``; any where it is None.
        on_y: spatial loops along the Y of the mesh, the others are along its X; as ``spatial``.
        reads_first: where an output is read before its first update too: levels x tensors.
    """

    temporal: Whole
    spatial: Whole
    order: Whole
    keep: Truth
    spatial_order: Whole | None = None
    on_y: Truth | None = None
    reads_first: Truth | None = None

    def __len__(self) -> int:
        """How many mappings there are."""
        return len(self.temporal)

    def only(self, rows: Whole | range) -> Mappings:
        """Some of them."""
        return Mappings(
            self.temporal[rows],
            self.spatial[rows],
            self.order[rows],
            self.keep,
            None if self.spatial_order is None else self.spatial_order[rows],
            None if self.on_y is None else self.on_y[rows],
        )

    def chain(self, tensor: int) -> list[int]:
        """The levels that keep a tensor, outer to inner."""
        return [level for level in range(self.keep.shape[0]) if self.keep[level, tensor]]


class Nest:
    """The loops of mappings by slot, innermost first.

    Attributes:
        bound: mappings x slots.
        dimension: number of the dimension: mappings x slots.
        box: what the loops up to a slot, itself among them, cover: mappings x slots x dimensions.
        spatial, level: of each slot, the same in all mappings.
    """

    def __init__(self, mappings: Mappings) -> None:
        _count, levels, dimensions = mappings.temporal.shape
        self.levels, self.dimensions = int(levels), int(dimensions)
        order = mappings.order
        plain = np.broadcast_to(np.arange(dimensions), order.shape)
        across = plain if mappings.spatial_order is None else mappings.spatial_order
        self.dimension = _slots(across, order)
        self.bound = _slots(
            np.take_along_axis(mappings.spatial, across, axis=2),
            np.take_along_axis(mappings.temporal, order, axis=2),
        )
        self.spatial = np.tile(np.repeat([True, False], dimensions), levels)
        self.level = np.repeat(np.arange(levels)[::-1], 2 * dimensions)
        self.more = self.bound > 1
        steps = np.where(
            self.dimension[:, :, None] == np.arange(dimensions), self.bound[:, :, None], np.int64(1)
        )
        self.box = np.cumprod(steps, axis=1)

    def end(self, level: int) -> int:
        """How many slots are at or inside a level."""
        return (self.levels - level) * 2 * self.dimensions

    def tile(self, level: int) -> Whole:
        """The box of the loops at or inside a level: mappings x dimensions."""
        return np.asarray(self.box[:, self.end(level) - 1])

    def temporal_outside(self, level: int) -> Whole:
        """The slots of the temporal loops outside a level."""
        return self._outside[level]

    @cached_property
    def _outside(self) -> list[Whole]:
        slots = np.flatnonzero(~self.spatial)
        return [slots[slots >= self.end(level)] for level in range(self.levels)]

    def spatial_between(self, outer: int, inner: int) -> Whole:
        """The slots of the spatial loops at the levels from ``outer`` to what is outside of ``inner``."""
        at = (self.level >= outer) & (self.level < inner) & self.spatial
        return np.flatnonzero(at)


def _slots(spatial: Whole, temporal: Whole) -> Whole:
    """Spatial inside temporal, levels turned so that the innermost is first: mappings x slots."""
    both = np.concatenate([spatial, temporal], axis=2)[:, ::-1]
    return np.ascontiguousarray(both.reshape(len(both), -1))
