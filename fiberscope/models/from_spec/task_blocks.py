"""Blocks of a stage that the compiler of graphs has otherwise: joiners, and what an instance writes."""

from __future__ import annotations

from collections.abc import Sequence

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

__all__ = ["TaskBlocks", "TaskSum", "WrittenResult"]

PAIR = 2  # fibers that an intersector which skips reads


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

    def __init__(self, access: Access, format: Format, nest: Sequence[str]) -> None:
        super().__init__(access, format, nest)
        if self.accumulates:
            self.of_empty = "mark"


class TaskSum(WrittenResult):
    """Sum of the tasks' results for the same points: no instance writes."""

    of_empty = "mark"

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """None: where points leave an instance, those without a value go with their coordinates."""
        return set()

    def _write(self, blocks: Blocks, coordinates: dict[str, Wire], values: Wire) -> None:
        levels = self._levels
        inputs: dict[str, Wire | None] = {
            f"crd[{place}]": self._held(blocks, coordinates, levels[place:]) for place in range(len(levels))
        }
        blocks.add("tasksum", {**inputs, "val": values}, tensor=self._access.tensor)
