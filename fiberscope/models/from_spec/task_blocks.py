"""Lowering of stages where it differs from the graph compiler: joins, look-ups, and results of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fiberscope.models.from_spec.projections import Projection
from fiberscope.models.graphs.compiler.blocks import Blocks, JoinedStreams
from fiberscope.models.graphs.compiler.results import LoweredLoop, Result
from fiberscope.models.graphs.compiler.terms import Iteration, Join, Operand, Scan, Wire, is_full
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.primitives.tasks import SKIP_AHEAD
from fiberscope.workloads.expressions.expression import Access

PAIR = 2  # number of fibers that a skip-ahead intersector reads


def project_coordinates(blocks: Blocks, projection: Projection, coordinates: Sequence[Wire]) -> Wire:
    """Return the stream of a computed coordinate, and add the unit that computes it if necessary.

    Args:
        blocks: the graph's blocks, to which the unit is added.
        projection: the coordinate.
        coordinates: coordinates of the loop of each term, repeated for each iteration of the innermost loop.
    """
    if projection.plain_loop:
        return coordinates[0]
    terms = " ".join(f"{term.factor} {term.divisor} {term.size}" for term in projection.terms)
    inputs: dict[str, Wire | None] = {f"crd[{number}]": wire for number, wire in enumerate(coordinates)}
    loop = projection.terms[-1].loop
    return Wire(blocks.add("project", inputs, index=loop, terms=terms, constant=projection.constant), "crd")


class TaskBlocks(Blocks):
    """Graph blocks with look-ups in dense operands and with skip-ahead intersectors.

    Set ``skips`` after construction, and before the first loop is added.
    """

    skips: frozenset[str] = frozenset()  # loops whose intersector skips ahead

    def add_iteration(self, iteration: Iteration, variable: str, outer: Wire | None) -> JoinedStreams:
        """Add the blocks of an iteration as ``Blocks.add_iteration`` does, except for two intersections.

        A dense operand is looked up at the coordinates of the other operands. Two compressed operands in a
        loop of ``skips`` enter a skip-ahead intersector.

        Args:
            iteration, variable, outer: the arguments of ``Blocks.add_iteration``.
        """
        if not isinstance(iteration, Join) or iteration.kind != "intersect":
            return super().add_iteration(iteration, variable, outer)
        # An input may be a join itself; only operands that are scanned directly are treated apart
        operands = [scan.operand for scan in iteration.inputs if isinstance(scan, Scan)]
        listed = [operand for operand in operands if operand.level(variable).loads_coordinates]
        if variable in self.skips and len(listed) == len(iteration.inputs) == PAIR:
            return self._add_skip_intersecter(listed, variable)
        dense = [scan for scan in iteration.inputs if isinstance(scan, Scan) and is_full(scan, variable)]
        remaining = tuple(scan for scan in iteration.inputs if scan not in dense)
        # If all operands are dense, no other operand supplies coordinates to look up
        if not dense or not remaining:
            return super().add_iteration(iteration, variable, outer)
        crd, references = super().add_iteration(
            remaining[0] if len(remaining) == 1 else Join("intersect", remaining), variable, outer
        )
        for scan in dense:
            references[scan.operand] = self._locate_operand(scan.operand, variable, crd)
        return crd, references

    def _add_skip_intersecter(self, operands: Sequence[Operand], variable: str) -> JoinedStreams:
        """Add a skip-ahead intersector, which reads the fibers of both operands itself."""
        inputs: dict[str, Wire | None] = {}
        levels: dict[str, object] = {}
        for number, operand in enumerate(operands):
            # At its first level, an operand has no references yet: the root is the only fiber
            inputs[f"ref[{number}]"] = operand.references or Wire(self.add("rootref", {}), "ref")
            levels |= {f"tensor{number}": operand.access.tensor, f"mode{number}": operand.dimension(variable)}
        node = self.add(SKIP_AHEAD, inputs, index=variable, **levels)
        return Wire(node, "crd"), {
            operand: Wire(node, f"ref[{number}]") for number, operand in enumerate(operands)
        }

    def seek(self, operand: Operand, rank: str, crd: Wire, streams: Sequence[Wire]) -> list[Wire]:
        """Add a look-up of coordinates in a rank of an operand, which drops coordinates without a match.

        Args:
            operand: the operand; its references, one per coordinate, point to the fibers to search.
            crd: the coordinates.
            streams: further streams of the same shape, from which the same elements are dropped.

        Returns:
            The ``streams`` after the look-up, in the same order.
        """
        inputs = {"crd": crd, "base": operand.references}
        inputs |= {f"carried[{number}]": wire for number, wire in enumerate(streams)}
        tensor, mode = operand.access.tensor, operand.dimension(rank)
        node = self.add("seek", inputs, index=rank, tensor=tensor, mode=mode)
        operand.references = Wire(node, "located")
        return [Wire(node, f"carried[{number}]") for number in range(len(streams))]

    def _locate_operand(self, operand: Operand, variable: str, crd: Wire) -> Wire:
        """Add the look-up of ``crd`` in a dense level of an operand, and return the located references."""
        base = None
        # Below the root, each coordinate is looked up in its own fiber, whose reference is repeated for it
        if operand.format.level_of(operand.dimension(variable)) > 0:
            signal = Wire(self.add("repsiggen", {"crd": crd}, index=variable), "repsig")
            inputs = {"ref": operand.references, "repsig": signal}
            base = Wire(self.add("repeat", inputs, index=variable, tensor=operand.access.tensor), "ref")
        inputs = {"crd": crd, "ref": crd, "base": base}
        tensor, mode = operand.access.tensor, operand.dimension(variable)
        return Wire(self.add("locate", inputs, index=variable, tensor=tensor, mode=mode), "located")


class WrittenResult(Result):
    """The output that an instance writes; an empty fiber contributes nothing to a sum.

    Args:
        access: the output, indexed by its loops after the cut.
        format: format of the output's levels after the cut.
        nest: the loops after the cut, outermost first.
        projections: for each coordinate of the output that is a part of a flattened rank, how it is computed.
    """

    omits_inner_empty = True

    def __init__(
        self, access: Access, format: Format, nest: Sequence[str], projections: Mapping[str, Projection]
    ) -> None:
        super().__init__(
            access, format, nest, {name: projection.terms[0].loop for name, projection in projections.items()}
        )
        self._projections = projections
        if self.accumulates:  # an accumulator has no use for explicit zeros of empty fibers
            self.empty_result = "mark"

    def _list_coordinates(self, blocks: Blocks, loops: Sequence[LoweredLoop]) -> dict[str, Wire]:
        """Return the coordinates of each loop, and of the parts of flattened ranks."""
        coordinates = super()._list_coordinates(blocks, loops)
        for name, projection in self._projections.items():
            coordinates[name] = project_coordinates(
                blocks, projection, [coordinates[projection.terms[0].loop]]
            )
        return coordinates


class TaskSum(WrittenResult):
    """The sum over tasks of their results at the same points; the instances write nothing."""

    empty_result = "mark"

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """Drop nothing: a later block drops points without a value when they leave the instance."""
        return set()

    def _write(self, blocks: Blocks, coordinates: dict[str, Wire], values: Wire) -> None:
        levels = self._levels
        inputs: dict[str, Wire | None] = {
            f"crd[{number}]": self._repeat_coordinates(blocks, coordinates, level, levels[number + 1 :])
            for number, level in enumerate(levels)
        }
        blocks.add("tasksum", {**inputs, "val": values}, tensor=self._access.tensor)
