"""Lowering of stages where it differs from the graph compiler: joins, look-ups, and results of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fiberscope.models.from_spec.projections import Projection
from fiberscope.models.graphs.compiler.blocks import Blocks, Joined
from fiberscope.models.graphs.compiler.results import LoweredLoop, Result
from fiberscope.models.graphs.compiler.terms import (
    Iteration,
    Join,
    Operand,
    Scan,
    Wire,
    is_full,
)
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.primitives.tasks import SKIP_AHEAD
from fiberscope.workloads.expressions.expression import Access

__all__ = ["TaskBlocks", "TaskSum", "WrittenResult", "projected"]

PAIR = 2  # number of fibers that a skip-ahead intersector reads


def projected(blocks: Blocks, projection: Projection, coordinates: Sequence[Wire]) -> Wire:
    """Return the stream of a computed coordinate, and add the unit that computes it if necessary.

    Args:
        blocks: the graph's blocks, to which the unit is added.
        projection: the coordinate.
        coordinates: coordinates of the loop of each term, repeated for each iteration of the innermost loop.
    """
    if projection.plain:
        return coordinates[0]
    terms = " ".join(f"{term.factor} {term.divisor} {term.size}" for term in projection.terms)
    inputs: dict[str, Wire | None] = {f"crd[{place}]": wire for place, wire in enumerate(coordinates)}
    loop = projection.terms[-1].loop
    return Wire(blocks.add("project", inputs, index=loop, terms=terms, constant=projection.constant), "crd")


class TaskBlocks(Blocks):
    """Graph blocks with look-ups in dense operands and with skip-ahead intersectors."""

    skips: frozenset[str] = frozenset()  # loops whose intersector skips ahead

    def joined(self, iteration: Iteration, variable: str, before: Wire | None) -> Joined:
        """See ``Blocks``. An intersection looks up dense operands at the coordinates of the others."""
        if not isinstance(iteration, Join) or iteration.kind != "intersect":
            return super().joined(iteration, variable, before)
        operands = [part.operand for part in iteration.parts if isinstance(part, Scan)]
        listed = [operand for operand in operands if operand.level(variable).lists]
        if variable in self.skips and len(listed) == len(iteration.parts) == PAIR:
            return self._skipping(listed, variable)
        sought = [part for part in iteration.parts if isinstance(part, Scan) and is_full(part, variable)]
        others = tuple(part for part in iteration.parts if part not in sought)
        if not sought or not others:
            return super().joined(iteration, variable, before)
        crd, references = super().joined(
            others[0] if len(others) == 1 else Join("intersect", others), variable, before
        )
        for part in sought:
            references[part.operand] = self._locate_operand(part.operand, variable, crd)
        return crd, references

    def _skipping(self, operands: Sequence[Operand], variable: str) -> Joined:
        """Add a skip-ahead intersector, which reads the fibers of both operands itself."""
        inputs: dict[str, Wire | None] = {}
        levels: dict[str, object] = {}
        for way, operand in enumerate(operands):
            inputs[f"ref[{way}]"] = operand.references or Wire(self.add("rootref", {}), "ref")
            levels |= {f"tensor{way}": operand.access.tensor, f"mode{way}": operand.dimension(variable)}
        node = self.add(SKIP_AHEAD, inputs, index=variable, **levels)
        return Wire(node, "crd"), {operand: Wire(node, f"ref[{way}]") for way, operand in enumerate(operands)}

    def seek(self, operand: Operand, rank: str, crd: Wire, along: Sequence[Wire]) -> list[Wire]:
        """Add a look-up of coordinates in a rank of an operand, which drops coordinates without a match.

        Args:
            operand: the operand; its references, one per coordinate, point to the fibers to search.
            rank: the rank.
            crd: the coordinates.
            along: further streams of the same shape, from which the same elements are dropped.

        Returns:
            The streams of ``along`` after the look-up.
        """
        inputs = {"crd": crd, "base": operand.references}
        inputs |= {f"carried[{place}]": wire for place, wire in enumerate(along)}
        tensor, mode = operand.access.tensor, operand.dimension(rank)
        node = self.add("seek", inputs, index=rank, tensor=tensor, mode=mode)
        operand.references = Wire(node, "located")
        return [Wire(node, f"carried[{place}]") for place in range(len(along))]

    def _locate_operand(self, operand: Operand, variable: str, crd: Wire) -> Wire:
        base = None
        if operand.format.level_of(operand.dimension(variable)) > 0:
            signal = Wire(self.add("repsiggen", {"crd": crd}, index=variable), "repsig")
            inputs = {"ref": operand.references, "repsig": signal}
            base = Wire(self.add("repeat", inputs, index=variable, tensor=operand.access.tensor), "ref")
        asked = {"crd": crd, "ref": crd, "base": base}
        tensor, mode = operand.access.tensor, operand.dimension(variable)
        return Wire(self.add("locate", asked, index=variable, tensor=tensor, mode=mode), "located")


class WrittenResult(Result):
    """The output that an instance writes; an empty fiber contributes nothing to a sum."""

    passes_over = True

    def __init__(
        self, access: Access, format: Format, nest: Sequence[str], parts: Mapping[str, Projection]
    ) -> None:
        super().__init__(access, format, nest, {part: whole.terms[0].loop for part, whole in parts.items()})
        self._parts = parts
        if self.accumulates:
            self.of_empty = "mark"

    def _coordinates(self, blocks: Blocks, loops: Sequence[LoweredLoop]) -> dict[str, Wire]:
        """Return the coordinates of each loop, and of the parts of flattened ranks."""
        coordinates = super()._coordinates(blocks, loops)
        for part, projection in self._parts.items():
            coordinates[part] = projected(blocks, projection, [coordinates[projection.terms[0].loop]])
        return coordinates


class TaskSum(WrittenResult):
    """The sum over tasks of their results at the same points; the instances write nothing."""

    of_empty = "mark"

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """Drop nothing: a later block drops points without a value when they leave the instance."""
        return set()

    def _write(self, blocks: Blocks, coordinates: dict[str, Wire], values: Wire) -> None:
        levels = self._levels
        inputs: dict[str, Wire | None] = {
            f"crd[{place}]": self._held(blocks, coordinates, level, levels[place + 1 :])
            for place, level in enumerate(levels)
        }
        blocks.add("tasksum", {**inputs, "val": values}, tensor=self._access.tensor)
