"""Results of a statement: they are filtered, summed and sorted behind its loops, and written.

1.  A dropper for each pair of loops, one right within the other, with a variable of the result outside and
    an intersection inside, from the innermost on: coordinates without any inner one go. Not where the outer
    one is a dense level of the result, or stands outside one; inside, also where fibers may be empty from
    the start. Not in front of an accumulator, to which what is empty does not come anyhow.
2.  A reducer for each innermost loop that is summed over; it drops the sum of an empty fiber where a
    dropper drops its coordinate, else it is an explicit 0.
3.  What is then nested as the result is stored is written. Else an accumulator adds up and sorts: over all
    loops that are still summed over, once. Its order is the number of the result's levels, but for the
    outermost that the loops begin with too: for each coordinate of those it begins anew. Coordinates come
    to it as often as values, by a hold for each loop within theirs.
4.  A writer for each level, in front of which coordinates become words where it is a bit vector; one for
    the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.terms import Wire
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import Access

__all__ = ["LoweredLoop", "Result"]

PAIR = 2  # coordinates of the accumulators that the paper has


@dataclass
class LoweredLoop:
    """One loop that has been lowered.

    Args:
        variable: that it goes through.
        coordinates: that it has.
        intersects: whether an intersection chooses them.
        filled: whether its fibers are sure to have one.
    """

    variable: str
    coordinates: Wire
    intersects: bool
    filled: bool


class Result:
    """Writes what a statement computes.

    Args:
        access: the left side.
        format: how it is stored.
        nest: the loops around its values, outermost first; all but those of the result are summed over.
        loops_of: of variables of the result that are no loops the loop that their coordinates come from.

    Attributes: ``passes_over``: whether the sum of an empty fiber within one that is summed over as well is
    left out, as it adds nothing; ``of_empty``: what another one gives, as of ``Blocks.summed``.
    """

    passes_over = False
    of_empty = "keep"

    def __init__(
        self,
        access: Access,
        format: Format,
        nest: Sequence[str],
        loops_of: Mapping[str, str] | None = None,
    ) -> None:
        self._access, self._format, self._nest = access, format, nest
        self._levels = [access.variables[dimension] for dimension in format.order]
        self._loops_of = {variable: variable for variable in self._levels} | dict(loops_of or {})
        self._kept = set(self._loops_of.values())

    @property
    def accumulates(self) -> bool:
        """Return whether its values do not come as they are stored."""
        return self._summed_from() != self._levels

    def is_dense(self, variable: str) -> bool:
        """Return whether its loop must have all coordinates."""
        if variable not in self._levels or self.accumulates:
            return False
        return self._format.levels[self._levels.index(variable)].full

    def write(self, blocks: Blocks, loops: Sequence[LoweredLoop], values: Wire) -> None:
        """Add the blocks from the loops and the values within them to the writers."""
        coordinates = self._coordinates(blocks, loops)
        dropped = self._drop(blocks, loops, coordinates)
        left = list(self._nest)
        while left and left[-1] not in self._kept:
            loop, inner = left.pop(), bool(left) and left[-1] not in self._kept
            if loop in dropped or (self.passes_over and inner and left[-1] not in dropped):
                values = Wire(blocks.add("reduce", {"val": values}, empty="drop"), "val")
            else:
                around = loops[len(left) - 1].coordinates if left else None
                values = blocks.summed(
                    values, around, "mark" if self.passes_over and inner else self.of_empty
                )
        if self.accumulates:
            coordinates, values = self._accumulate(blocks, coordinates, left, values)
        self._write(blocks, coordinates, values)

    def _coordinates(self, blocks: Blocks, loops: Sequence[LoweredLoop]) -> dict[str, Wire]:
        """Return the coordinates of each loop, and of what else the result has."""
        return {loop.variable: loop.coordinates for loop in loops}

    def _summed_from(self) -> list[str]:
        """The loops without the innermost that are summed over."""
        nest = list(self._nest)
        while nest and nest[-1] not in self._kept:
            nest.pop()
        return nest

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """Add the droppers; gives the variables whose empty fibers are dropped."""
        places = [place for place, loop in enumerate(loops) if loop.variable in self._levels]
        if not places or self.accumulates:
            return set()
        dense = [place for place in places if self.is_dense(loops[place].variable)]
        first = max([places[0] + 1, *(place + 2 for place in dense)])
        last = max((place for place, loop in enumerate(loops) if loop.intersects), default=0)
        if first <= last < places[-1]:
            last = max([last, *(place for place in places if not loops[place].filled)])
        for place in range(last, first - 1, -1):
            outer, inner = loops[place - 1].variable, loops[place].variable
            inputs: dict[str, Wire | None] = {"outer": coordinates[outer], "inner": coordinates[inner]}
            node = blocks.add("crddrop", inputs, outer=outer, inner=inner)
            coordinates[outer], coordinates[inner] = Wire(node, "outer"), Wire(node, "inner")
        return {loops[place].variable for place in range(first, last + 1)}

    def _accumulate(
        self, blocks: Blocks, coordinates: dict[str, Wire], nest: Sequence[str], values: Wire
    ) -> tuple[dict[str, Wire], Wire]:
        kept = len(list(takewhile(lambda both: both[0] == both[1], zip(self._levels, nest, strict=False))))
        points = [
            self._held(blocks, coordinates, v, nest[nest.index(self._loops_of[v]) + 1 :])
            for v in self._levels
        ]
        named = {f"in{number}": variable for number, variable in enumerate(reversed(self._levels))}
        paired = len(self._levels) == PAIR
        ports = ["crd_outer", "crd_inner"] if paired else [f"crd[{place}]" for place in range(len(points))]
        node = blocks.add(
            "spaccumulator" if paired else "accumulate",
            {**dict(zip(ports, points, strict=True)), "val": values},
            order=len(self._levels) - kept,
            **named,
        )
        levels = {variable: Wire(node, port) for variable, port in zip(self._levels, ports, strict=True)}
        return levels, Wire(node, "val")

    def _held(self, blocks: Blocks, coordinates: dict[str, Wire], outer: str, nest: Sequence[str]) -> Wire:
        """The coordinates of a variable, one for each value within the last of the loops inside of it."""
        wire = coordinates[outer]
        for inner in nest:
            inputs: dict[str, Wire | None] = {"outer": wire, "inner": coordinates[inner]}
            wire = Wire(blocks.add("crdhold", inputs, outer=outer, inner=inner), "outer")
        return wire

    def _write(self, blocks: Blocks, coordinates: dict[str, Wire], values: Wire) -> None:
        tensor = self._access.tensor
        for level, dimension in zip(self._format.levels, self._format.order, strict=True):
            variable = self._access.variables[dimension]
            inputs: dict[str, Wire | None] = {"crd": coordinates[variable]}
            if level.of_words:
                inputs = {"bv": Wire(blocks.add("bitvector", inputs, index=variable), "bv")}
            blocks.add("fiberwrite", inputs, index=variable, tensor=tensor, mode=dimension, format=level.name)
        blocks.add("fiberwrite", {"val": values}, tensor=tensor, mode="vals")
