"""One mapping, by name: how it is shown, written as YAML, and made one of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.loops import Mappings
from fiberscope.models.analytic.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mapping"]

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


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
        """This mapping as the only one of a batch."""
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
    def of(cls, mappings: Mappings, number: int) -> Mapping:
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
                kept = [tensor.name for at, tensor in enumerate(problem.tensors) if self.keep[number, at]]
                lines.append(
                    f"  - {{target: {level.name}, type: dataspace, keep: [{', '.join(kept)}], "
                    f"bypass: [{', '.join(bypassed)}]}}"
                )
        return "\n".join([*lines, ""])

    def _directive(self, name: str, kind: str, bounds: Whole, order: Whole, problem: Problem) -> list[str]:
        factors = ", ".join(f"{problem.dimensions[at]}={bounds[at]}" for at in range(len(bounds)))
        permutation = ", ".join(problem.dimensions[at] for at in order)
        return [f"  - {{target: {name}, type: {kind}, factors: [{factors}], permutation: [{permutation}]"]
