"""Lower the result of a statement: drop, reduce, accumulate and write after its loops.

1.  A dropper for each pair of adjacent loops, from the innermost, with a result variable outside and an
    intersection inside, removes coordinates without inner coordinates. There is none if the outer loop is a
    dense level of the result or encloses one, and none before an accumulator, which ignores empty fibers.
    Fibers that may be empty in storage also need a dropper.
2.  A reducer for each innermost loop that is summed over drops the sum of an empty fiber if a dropper drops
    the coordinate; otherwise the sum is an explicit 0.
3.  If the remaining loops differ from the levels of the result, an accumulator adds and sorts the points of
    all remaining loops. Its order is the number of levels without the outermost levels that are also the
    outermost loops: for each of their coordinates, the accumulator starts again. A hold per loop inside a
    coordinate repeats the coordinate per value.
4.  A writer for each level, after a packer of words for a bit vector, and a writer for the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.terms import Wire
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import Access

PAIR = 2  # most coordinates of an accumulator in the SAM paper


@dataclass
class LoweredLoop:
    """A loop whose blocks exist.

    Args:
        variable: index variable of the loop.
        coordinates: output with its coordinates.
        intersects: whether an intersecter determines the coordinates.
        filled: whether no fiber of the loop is empty in storage.
    """

    variable: str
    coordinates: Wire
    intersects: bool
    filled: bool


class Result:
    """Builder of the blocks between the loops of a statement and the writers.

    Args:
        access: the left side.
        format: format of the result.
        nest: loops around the values, outermost first; loops without a result variable are summed over.
        loops_of: loop that supplies the coordinates of a result variable that is no loop.

    Attributes:
        omits_inner_empty: whether a reducer omits the sum of an empty fiber inside another summed loop.
        empty_result: result of any other empty fiber, see ``empty`` of ``Blocks.add_reducer``.
    """

    omits_inner_empty = False
    empty_result = "keep"

    def __init__(
        self, access: Access, format: Format, nest: Sequence[str], loops_of: Mapping[str, str] | None = None
    ) -> None:
        self._access, self._format, self._nest = access, format, nest
        self._levels = [access.variables[dimension] for dimension in format.order]
        self._loops_of = {variable: variable for variable in self._levels} | dict(loops_of or {})
        self._result_loops = set(self._loops_of.values())

    @property
    def accumulates(self) -> bool:
        """Return whether the values need an accumulator, as their loops differ from the levels."""
        return self._list_outer_loops() != self._levels

    def is_dense(self, variable: str) -> bool:
        """Return whether the loop of a variable must have all coordinates."""
        if variable not in self._levels or self.accumulates:
            return False
        return self._format.levels[self._levels.index(variable)].has_all_coordinates

    def write(self, blocks: Blocks, loops: Sequence[LoweredLoop], values: Wire) -> None:
        """Add the blocks from the coordinates and values of the loops to the writers.

        Args:
            blocks: builder of the graph's blocks.
            loops: the loops of the statement, outermost first.
            values: values of the right side, inside the innermost loop.
        """
        coordinates = self._list_coordinates(blocks, loops)
        dropped = self._drop(blocks, loops, coordinates)
        remaining = list(self._nest)
        # only summed loops inside all result loops have a reducer; an accumulator sums over the others
        while remaining and remaining[-1] not in self._result_loops:
            loop, inner = remaining.pop(), bool(remaining) and remaining[-1] not in self._result_loops
            if loop in dropped or (self.omits_inner_empty and inner and remaining[-1] not in dropped):
                values = Wire(blocks.add("reduce", {"val": values}, empty="drop"), "val")
            else:
                outer = loops[len(remaining) - 1].coordinates if remaining else None
                values = blocks.add_reducer(
                    values, outer, "mark" if self.omits_inner_empty and inner else self.empty_result
                )
        if self.accumulates:
            coordinates, values = self._accumulate(blocks, coordinates, remaining, values)
        self._write(blocks, coordinates, values)

    def _list_coordinates(self, blocks: Blocks, loops: Sequence[LoweredLoop]) -> dict[str, Wire]:
        """Return the coordinates of each loop, and of further variables of the result."""
        return {loop.variable: loop.coordinates for loop in loops}

    def _list_outer_loops(self) -> list[str]:
        """Return the loops without the innermost loops that are summed over."""
        nest = list(self._nest)
        while nest and nest[-1] not in self._result_loops:
            nest.pop()
        return nest

    def _drop(self, blocks: Blocks, loops: Sequence[LoweredLoop], coordinates: dict[str, Wire]) -> set[str]:
        """Add the droppers, and return the variables whose empty fibers they drop."""
        levels = [depth for depth, loop in enumerate(loops) if loop.variable in self._levels]
        if not levels or self.accumulates:
            return set()
        dense = [depth for depth in levels if self.is_dense(loops[depth].variable)]
        # ``depth`` is the inner loop of a dropper: rule 1 allows the depths from ``first`` to ``last``
        # the outer loop, at ``depth - 1``, must lie inside all dense levels, hence the 2
        first = max([levels[0] + 1, *(depth + 2 for depth in dense)])
        last = max((depth for depth, loop in enumerate(loops) if loop.intersects), default=0)
        if first <= last < levels[-1]:
            last = max([last, *(depth for depth in levels if not loops[depth].filled)])
        # from the innermost: coordinates that an inner dropper drops can empty the fibers of the next dropper
        for depth in range(last, first - 1, -1):
            outer, inner = loops[depth - 1].variable, loops[depth].variable
            inputs: dict[str, Wire | None] = {"outer": coordinates[outer], "inner": coordinates[inner]}
            node = blocks.add("crddrop", inputs, outer=outer, inner=inner)
            coordinates[outer], coordinates[inner] = Wire(node, "outer"), Wire(node, "inner")
        return {loops[depth].variable for depth in range(first, last + 1)}

    def _accumulate(
        self, blocks: Blocks, coordinates: dict[str, Wire], nest: Sequence[str], values: Wire
    ) -> tuple[dict[str, Wire], Wire]:
        """Add an accumulator, which sums equal points; return the coordinates and values that leave it."""
        # the outermost levels that are also the outermost loops: their points arrive sorted
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(self._levels, nest, strict=False))))
        points = [
            self._repeat_coordinates(blocks, coordinates, v, nest[nest.index(self._loops_of[v]) + 1 :])
            for v in self._levels
        ]
        variables = {f"in{number}": variable for number, variable in enumerate(reversed(self._levels))}
        # the accumulator of SAM has named ports for two coordinates; ``accumulate`` takes any number
        is_pair = len(self._levels) == PAIR
        ports = ["crd_outer", "crd_inner"] if is_pair else [f"crd[{number}]" for number in range(len(points))]
        node = blocks.add(
            "spaccumulator" if is_pair else "accumulate",
            {**dict(zip(ports, points, strict=True)), "val": values},
            order=len(self._levels) - common,
            **variables,
        )
        levels = {variable: Wire(node, port) for variable, port in zip(self._levels, ports, strict=True)}
        return levels, Wire(node, "val")

    def _repeat_coordinates(
        self, blocks: Blocks, coordinates: dict[str, Wire], outer: str, nest: Sequence[str]
    ) -> Wire:
        """Return the coordinates of a variable, repeated for each coordinate of the loops inside it."""
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
            if level.is_bit_vector:
                inputs = {"bv": Wire(blocks.add("bitvector", inputs, index=variable), "bv")}
            blocks.add("fiberwrite", inputs, index=variable, tensor=tensor, mode=dimension, format=level.name)
        blocks.add("fiberwrite", {"val": values}, tensor=tensor, mode="vals")
