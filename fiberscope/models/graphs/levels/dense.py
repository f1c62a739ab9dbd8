"""Dense levels: all coordinates; only the size is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.levels.scans import ScannedFormat

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk
    from fiberscope.workloads.canonical import Integers

MOST_DENSE = 2**28  # largest number of positions of a dense level, to limit the host's memory


@dataclass(frozen=True)
class DenseLevel:
    """Level whose fibers have all coordinates.

    Args:
        size: number of coordinates of a fiber.
        fibers: number of fibers.
    """

    size: int
    fibers: int

    @property
    def coordinates(self) -> Integers:
        """Return the coordinates of all fibers, one fiber after the other."""
        import numpy as np

        return np.tile(np.arange(self.size), self.fibers)

    @property
    def counts(self) -> Integers:
        """Return the number of children of each fiber."""
        import numpy as np

        return np.full(self.fibers, self.size)

    @property
    def children(self) -> int:
        """Return the number of positions."""
        return self.size * self.fibers

    def expand(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Return all elements of some fibers, see ``Level``; position = fiber * size + coordinate."""
        import numpy as np

        owners = np.repeat(np.arange(len(parents)), self.size)
        coordinates = np.tile(np.arange(self.size), len(parents))
        return owners, coordinates, np.repeat(parents, self.size) * self.size + coordinates


class _Dense(ScannedFormat):
    name = "dense"
    letters = "d"
    meaning = "dense"
    has_all_coordinates = True

    def store(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        if fibers * size > MOST_DENSE:
            raise InputError(
                f"a dense level of {fibers * size:,} positions; at most {MOST_DENSE:,} are stored"
            )
        return DenseLevel(size, fibers), parents * size + column

    def scanner(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        """Build the scanner, which needs only the size of the dimension."""
        from fiberscope.hw.streams.dense import DenseScanner

        return DenseScanner(name, context.tensors[node["tensor"]].shape[int(node["mode"])], context.quirks)

    def estimate(
        self, walk: CostWalk, node: Node, references: ExpectedStream
    ) -> tuple[ExpectedStream, ExpectedStream]:
        from fiberscope.models.graphs.cost.scans import scan_all

        coordinates = scan_all(walk, node, references)
        return coordinates, coordinates  # every coordinate has a position, so references are as many


FORMAT = _Dense()
