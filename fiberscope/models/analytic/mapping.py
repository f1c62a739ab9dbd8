"""Mappings: one by name, how it is shown and written as YAML; many at once, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mapping", "Mappings", "Nest"]

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
        """Return the number of mappings."""
        return len(self.temporal)

    def only(self, rows: Whole | range) -> Mappings:
        """Return a selection of the mappings."""
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
        """Return the number of slots at or inside a level."""
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


@dataclass(frozen=True)
class Mapping:
    """Loops of one mapping; levels outer to inner, orders inner to outer.

    Args:
        temporal, spatial: bounds: levels x dimensions.
        order, spatial_order: numbers of dimensions: levels x dimensions.
        on_y: spatial loops along the mesh's Y: levels x dimensions.
        keep: levels x tensors.
        reads_first: as of ``Mappings``.
    """

    temporal: Whole
    spatial: Whole
    order: Whole
    spatial_order: Whole
    on_y: Truth
    keep: Truth
    reads_first: Truth | None = None

    def batch(self) -> Mappings:
        """Return this mapping as a batch of one."""
        return Mappings(
            self.temporal[None],
            self.spatial[None],
            self.order[None],
            self.keep,
            self.spatial_order[None],
            self.on_y[None],
            self.reads_first,
        )

    @classmethod
    def from_batch(cls, mappings: Mappings, number: int) -> Mapping:
        """One mapping of a batch."""
        plain = np.broadcast_to(np.arange(mappings.order.shape[2]), mappings.order[number].shape)
        across = plain if mappings.spatial_order is None else mappings.spatial_order[number]
        on_y = np.zeros(plain.shape, np.bool_) if mappings.on_y is None else mappings.on_y[number]
        return cls(
            mappings.temporal[number],
            mappings.spatial[number],
            mappings.order[number],
            across,
            on_y,
            mappings.keep,
            mappings.reads_first,
        )

    def nest(self, architecture: Architecture, problem: Problem, tiles: Sequence[str]) -> str:
        """The loop nest, a line a loop, outer to inner; ``tiles`` is said of each level beside its name."""
        lines: list[str] = []
        depth = 0
        for number, level in enumerate(architecture.levels):
            lines += (
                ["", f"{level.name} [ {tiles[number]} ]"] if lines else [f"{level.name} [ {tiles[number]} ]"]
            )
            for words in self._loops(number, problem):
                lines.append(f"{'  ' * depth}| {words}")
                depth += 1
        return "\n".join(lines)

    def _loops(self, level: int, problem: Problem) -> Iterator[str]:
        """The loops of a level that iterate, outer to inner: in time, then across."""
        for dimension in self.order[level][::-1]:
            if self.temporal[level, dimension] > 1:
                yield f"for {problem.dimensions[dimension]} in [0:{self.temporal[level, dimension]})"
        for dimension in self.spatial_order[level][::-1]:
            if self.spatial[level, dimension] > 1:
                axis = "Y" if self.on_y[level, dimension] else "X"
                name = problem.dimensions[dimension]
                yield f"for {name} in [0:{self.spatial[level, dimension]}) (Spatial-{axis})"

    def as_yaml(self, architecture: Architecture, problem: Problem) -> str:
        """The section ``mapping``, that ``fiberscope analyze`` reads back unchanged."""
        lines = ["mapping:"]
        for number, level in enumerate(architecture.levels):
            lines += self._directive(
                level.name, "temporal", self.temporal[number], self.order[number], problem
            )
            if (self.spatial[number] > 1).any():
                order, on_y = self.spatial_order[number], self.on_y[number]
                turned = np.concatenate([order[~on_y[order]], order[on_y[order]]])
                lines += self._directive(level.name, "spatial", self.spatial[number], turned, problem)
                lines[-1] += f", split: {int((~on_y).sum())}}}"
            lines = [line if line.endswith((":", "}")) else f"{line}}}" for line in lines]
            bypassed = [tensor.name for at, tensor in enumerate(problem.tensors) if not self.keep[number, at]]
            if bypassed:
                stored = [tensor.name for at, tensor in enumerate(problem.tensors) if self.keep[number, at]]
                lines.append(
                    f"  - {{target: {level.name}, type: dataspace, keep: [{', '.join(stored)}], "
                    f"bypass: [{', '.join(bypassed)}]}}"
                )
        return "\n".join([*lines, ""])

    def _directive(self, name: str, kind: str, bounds: Whole, order: Whole, problem: Problem) -> list[str]:
        factors = ", ".join(f"{problem.dimensions[at]}={bounds[at]}" for at in range(len(bounds)))
        permutation = ", ".join(problem.dimensions[at] for at in order)
        return [f"  - {{target: {name}, type: {kind}, factors: [{factors}], permutation: [{permutation}]"]
