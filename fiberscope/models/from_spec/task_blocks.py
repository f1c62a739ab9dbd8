"""Blocks of a stage that the compiler of graphs has otherwise: joiners, and what an instance writes."""

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

PAIR = 2  # fibers that an intersector which skips reads


def projected(blocks: Blocks, projection: Projection, coordinates: Sequence[Wire]) -> Wire:
    """A computed coordinate.

    Args:
        blocks: to which the unit is added.
        projection: the coordinate.
        coordinates: of the loops of its terms, as often as those of the innermost.
    """
    if projection.plain:
        return coordinates[0]
    terms = " ".join(f"{term.factor} {term.divisor} {term.size}" for term in projection.terms)
    inputs: dict[str, Wire | None] = {f"crd[{place}]": wire for place, wire in enumerate(coordinates)}
    loop = projection.terms[-1].loop
    return Wire(blocks.add("project", inputs, index=loop, terms=terms, constant=projection.constant), "crd")


class TaskBlocks(Blocks):
    """Blocks that look operands up in which every coordinate has its place, and skip where they may."""

    skips: frozenset[str] = frozenset()  # the loops whose intersector skips ahead

    def joined(self, iteration: Iteration, variable: str, before: Wire | None) -> Joined:
        """See ``Blocks``; of an intersection the dense operands are looked up for what the others have."""
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
            references[part.operand] = self._located(part.operand, variable, crd)
        return crd, references

    def _skipping(self, operands: Sequence[Operand], variable: str) -> Joined:
        """One unit that reads the fibers of both."""
        inputs: dict[str, Wire | None] = {}
        levels: dict[str, object] = {}
        for way, operand in enumerate(operands):
            inputs[f"ref[{way}]"] = operand.references or Wire(self.add("rootref", {}), "ref")
            levels |= {f"tensor{way}": operand.access.tensor, f"mode{way}": operand.dimension(variable)}
        node = self.add(SKIP_AHEAD, inputs, index=variable, **levels)
        return Wire(node, "crd"), {operand: Wire(node, f"ref[{way}]") for way, operand in enumerate(operands)}

    def seek(self, operand: Operand, rank: str, crd: Wire, along: Sequence[Wire]) -> list[Wire]:
        """Look coordinates up in a rank of an operand; what it lacks is dropped.

        Args:
            operand: its references, one for each coordinate, name the fibers to look in.
            rank: the rank.
            crd: the coordinates.
            along: streams of the same shape, of which those that leave are returned.
        """
        inputs = {"crd": crd, "base": operand.references}
        inputs |= {f"carried[{place}]": wire for place, wire in enumerate(along)}
        tensor, mode = operand.access.tensor, operand.dimension(rank)
        node = self.add("seek", inputs, index=rank, tensor=tensor, mode=mode)
        operand.references = Wire(node, "located")
        return [Wire(node, f"carried[{place}]") for place in range(len(along))]

    def _located(self, operand: Operand, variable: str, crd: Wire) -> Wire:
        base = None
        if operand.format.level_of(operand.dimension(variable)) > 0:
            signal = Wire(self.add("repsiggen", {"crd": crd}, index=variable), "repsig")
            inputs = {"ref": operand.references, "repsig": signal}
            base = Wire(self.add("repeat", inputs, index=variable, tensor=operand.access.tensor), "ref")
        asked = {"crd": crd, "ref": crd, "base": base}
        tensor, mode = operand.access.tensor, operand.dimension(variable)
        return Wire(self.add("locate", asked, index=variable, tensor=tensor, mode=mode), "located")


class WrittenResult(Result):
    """Output of an instance; an empty one adds nothing to a sum."""

    passes_over = True

    def __init__(
        self, access: Access, format: Format, nest: Sequence[str], parts: Mapping[str, Projection]
    ) -> None:
        super().__init__(access, format, nest, {part: whole.terms[0].loop for part, whole in parts.items()})
        self._parts = parts
        if self.accumulates:
            self.of_empty = "mark"

    def _coordinates(self, blocks: Blocks, loops: Sequence[LoweredLoop]) -> dict[str, Wire]:
        """Return the coordinates of each loop, and of parts of flattened ranks, which are ``parts``."""
        coordinates = super()._coordinates(blocks, loops)
        for part, projection in self._parts.items():
            coordinates[part] = projected(blocks, projection, [coordinates[projection.terms[0].loop]])
        return coordinates


class TaskSum(WrittenResult):
    """Sum of the tasks' results for the same points: no instance writes."""

    of_empty = "mark"

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """None: where points leave an instance, those without a value go with their coordinates."""
        return set()

    def _write(self, blocks: Blocks, coordinates: dict[str, Wire], values: Wire) -> None:
        levels = self._levels
        inputs: dict[str, Wire | None] = {
            f"crd[{place}]": self._held(blocks, coordinates, level, levels[place + 1 :])
            for place, level in enumerate(levels)
        }
        blocks.add("tasksum", {**inputs, "val": values}, tensor=self._access.tensor)
