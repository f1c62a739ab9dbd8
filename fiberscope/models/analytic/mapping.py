"""Mappings: a single mapping, its display and its YAML; and batches of mappings as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.arrays import Booleans, Integers
from fiberscope.models.analytic.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Mappings:
    """Mappings of one problem on one machine that keep the same tensors.

    Levels are outermost first, dimensions and tensors as in the problem.

    Args:
        temporal, spatial: bounds of the loops: mappings x levels x dimensions.
        order: of the temporal loops, indices of dimensions, innermost first: mappings x levels x dimensions.
        keep: whether a level keeps a tensor: levels x tensors; the outermost level keeps all.
        spatial_order: as ``order``; None: any order.
        on_y: whether a spatial loop uses the Y axis of the mesh, not X; as ``spatial``. None: no axes are
            chosen, and only the number of instances limits the spatial loops.
        reads_first: whether an output is read before its first update, too: levels x tensors. None: never.
    """

    temporal: Integers
    spatial: Integers
    order: Integers
    keep: Booleans
    spatial_order: Integers | None = None
    on_y: Booleans | None = None
    reads_first: Booleans | None = None

    def __len__(self) -> int:
        """Return the number of mappings."""
        return len(self.temporal)

    def select(self, rows: Integers | range) -> Mappings:
        """Return the mappings at these indices, in this order; ``keep`` and ``reads_first`` are shared."""
        return Mappings(
            self.temporal[rows],
            self.spatial[rows],
            self.order[rows],
            self.keep,
            None if self.spatial_order is None else self.spatial_order[rows],
            None if self.on_y is None else self.on_y[rows],
            self.reads_first,
        )

    def chain(self, tensor: int) -> list[int]:
        """Return the levels that keep a tensor, outermost first."""
        return [level for level in range(self.keep.shape[0]) if self.keep[level, tensor]]


class Nest:
    """The loops of mappings by slot, innermost first.

    A slot is the place of one loop. Each level has a slot for the spatial loop over each dimension, and
    outside of these slots a slot for each temporal loop. Loops of one iteration keep their slots, so that all
    mappings have the same slots.

    Attributes:
        bound: mappings x slots.
        dimension: index of the dimension: mappings x slots.
        box: extents that a slot and the slots inside cover: mappings x slots x dimensions.
        spatial, level: of each slot, the same in all mappings.
        iterates: whether a loop has several iterations: mappings x slots.
    """

    def __init__(self, mappings: Mappings) -> None:
        _count, levels, dimensions = mappings.temporal.shape
        self.levels, self.dimensions = int(levels), int(dimensions)
        order = mappings.order
        default_order = np.broadcast_to(np.arange(dimensions), order.shape)
        spatial_order = default_order if mappings.spatial_order is None else mappings.spatial_order
        self.dimension = _interleave_slots(spatial_order, order)
        self.bound = _interleave_slots(
            np.take_along_axis(mappings.spatial, spatial_order, axis=2),
            np.take_along_axis(mappings.temporal, order, axis=2),
        )
        self.spatial = np.tile(np.repeat([True, False], dimensions), levels)
        self.level = np.repeat(np.arange(levels)[::-1], 2 * dimensions)  # a spatial and a temporal loop each
        self.iterates = self.bound > 1
        steps = np.where(
            self.dimension[:, :, None] == np.arange(dimensions), self.bound[:, :, None], np.int64(1)
        )
        self.box = np.cumprod(steps, axis=1)  # slots are innermost first: a slot includes the slots inside

    def end(self, level: int) -> int:
        """Return the number of slots at or inside a level, which are the first slots."""
        return (self.levels - level) * 2 * self.dimensions

    def tile(self, level: int) -> Integers:
        """Return the extents that the loops at or inside a level cover: mappings x dimensions."""
        return np.asarray(self.box[:, self.end(level) - 1])

    def temporal_outside(self, level: int) -> Integers:
        """Return the slots of the temporal loops outside a level, innermost first."""
        return self._outside[level]

    @cached_property
    def _outside(self) -> list[Integers]:
        slots = np.flatnonzero(~self.spatial)
        return [slots[slots >= self.end(level)] for level in range(self.levels)]

    def spatial_between(self, outer: int, inner: int) -> Integers:
        """Return the slots of the spatial loops from level ``outer`` to the level outside of ``inner``.

        These loops fan out from an instance of ``outer``. For compute, ``inner`` is the number of levels.
        """
        is_between = (self.level >= outer) & (self.level < inner) & self.spatial
        return np.flatnonzero(is_between)


def _interleave_slots(spatial: Integers, temporal: Integers) -> Integers:
    """Return slots, innermost level first, spatial loops inside temporal loops: mappings x slots."""
    # the levels are outermost first in both arrays, and each level's loops are innermost first already
    slots = np.concatenate([spatial, temporal], axis=2)[:, ::-1]
    return np.ascontiguousarray(slots.reshape(len(slots), -1))


@dataclass(frozen=True)
class Mapping:
    """Loops of one mapping; levels are outermost first, orders innermost first.

    Args:
        temporal, spatial: bounds: levels x dimensions.
        order, spatial_order: indices of dimensions, of the temporal and of the spatial loops: levels x
            dimensions.
        on_y: whether a spatial loop uses the mesh's Y axis: levels x dimensions.
        keep: levels x tensors.
        reads_first: as of ``Mappings``.
    """

    temporal: Integers
    spatial: Integers
    order: Integers
    spatial_order: Integers
    on_y: Booleans
    keep: Booleans
    reads_first: Booleans | None = None

    def batch(self) -> Mappings:
        """Return a batch with this mapping alone."""
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
        """Return one mapping of a batch; without axes in the batch, all spatial loops are along X."""
        default_order = np.broadcast_to(np.arange(mappings.order.shape[2]), mappings.order[number].shape)
        spatial_order = default_order if mappings.spatial_order is None else mappings.spatial_order[number]
        # a ``Mapping`` always has axes and orders; a batch may leave them open
        on_y = np.zeros(default_order.shape, np.bool_) if mappings.on_y is None else mappings.on_y[number]
        return cls(
            mappings.temporal[number],
            mappings.spatial[number],
            mappings.order[number],
            spatial_order,
            on_y,
            mappings.keep,
            mappings.reads_first,
        )

    def nest(self, architecture: Architecture, problem: Problem, tiles: Sequence[str]) -> str:
        """Return the loop nest as text: a heading a level, then a line a loop, outermost first.

        Loops of one iteration are left out. A loop is indented below all loops outside of it.

        Args:
            architecture: names the levels.
            problem: names the dimensions.
            tiles: text in the heading of each level, such as the sizes of its tiles.
        """
        lines: list[str] = []
        depth = 0
        for number, level in enumerate(architecture.levels):
            lines += (
                ["", f"{level.name} [ {tiles[number]} ]"] if lines else [f"{level.name} [ {tiles[number]} ]"]
            )
            for line in self._list_loops(number, problem):
                lines.append(f"{'  ' * depth}| {line}")
                depth += 1
        return "\n".join(lines)

    def _list_loops(self, level: int, problem: Problem) -> Iterator[str]:
        """Yield the loops of a level that iterate, outermost first: temporal, then spatial."""
        for dimension in self.order[level][::-1]:
            if self.temporal[level, dimension] > 1:
                yield f"for {problem.dimensions[dimension]} in [0:{self.temporal[level, dimension]})"
        for dimension in self.spatial_order[level][::-1]:
            if self.spatial[level, dimension] > 1:
                axis = "Y" if self.on_y[level, dimension] else "X"
                name = problem.dimensions[dimension]
                yield f"for {name} in [0:{self.spatial[level, dimension]}) (Spatial-{axis})"

    def as_yaml(self, architecture: Architecture, problem: Problem) -> str:
        """Return the section ``mapping``, which ``fiberscope analyze`` reads back.

        In each level, spatial loops along X come before those along Y.
        """
        lines = ["mapping:"]
        for number, level in enumerate(architecture.levels):
            lines += self._build_directive(
                level.name, "temporal", self.temporal[number], self.order[number], problem
            )
            if (self.spatial[number] > 1).any():
                order, on_y = self.spatial_order[number], self.on_y[number]
                # ``split`` is a place in the permutation: the loops before it are along X
                axis_order = np.concatenate([order[~on_y[order]], order[on_y[order]]])
                lines += self._build_directive(
                    level.name, "spatial", self.spatial[number], axis_order, problem
                )
                lines[-1] += f", split: {int((~on_y).sum())}}}"
            # ``_build_directive`` leaves the brace open, for ``split``
            lines = [line if line.endswith((":", "}")) else f"{line}}}" for line in lines]
            data = {}
            if not self.keep[number].all():
                data = {"keep": self.keep[number], "bypass": ~self.keep[number]}
            if self.reads_first is not None and self.reads_first[number].any():
                data["rmw_first_update"] = self.reads_first[number]
            if data:
                names = (f"{key}: [{_list_names(problem, tensors)}]" for key, tensors in data.items())
                lines.append(f"  - {{target: {level.name}, type: dataspace, {', '.join(names)}}}")
        return "\n".join([*lines, ""])

    def _build_directive(
        self, name: str, kind: str, bounds: Integers, order: Integers, problem: Problem
    ) -> list[str]:
        """Return the line of a directive without its closing brace; the permutation is innermost first."""
        factors = ", ".join(
            f"{problem.dimensions[dimension]}={bounds[dimension]}" for dimension in range(len(bounds))
        )
        permutation = ", ".join(problem.dimensions[dimension] for dimension in order)
        return [f"  - {{target: {name}, type: {kind}, factors: [{factors}], permutation: [{permutation}]"]


def _list_names(problem: Problem, is_listed: Booleans) -> str:
    """Return the names of the listed tensors as a list in YAML."""
    return ", ".join(tensor.name for index, tensor in enumerate(problem.tensors) if is_listed[index])
