"""Compressed levels: the coordinates of all fibers, and the segments that delimit the fibers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.models.graphs.levels.level import Level, WrittenFormat, find_positions
from fiberscope.models.graphs.levels.scans import ScannedFormat

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk
    from fiberscope.models.graphs.settings import ScratchpadParameters, TileParameters
    from fiberscope.workloads.canonical import Integers


@dataclass(frozen=True)
class CompressedLevel:
    """Compressed level.

    Args:
        segments: index of the first element of each fiber, then the number of elements.
        coordinates: coordinates of all fibers, one fiber after the other.
    """

    segments: Integers
    coordinates: Integers

    @property
    def fibers(self) -> int:
        """Return the number of fibers."""
        return len(self.segments) - 1

    @property
    def counts(self) -> Integers:
        """Return the number of children of each fiber."""
        import numpy as np

        return np.diff(self.segments)

    @property
    def children(self) -> int:
        """Return the number of positions."""
        return len(self.coordinates)

    def expand(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Return all elements of some fibers, see ``Level``."""
        import numpy as np

        counts = self.counts[parents]
        owners = np.repeat(np.arange(len(parents)), counts)
        # index of each element within its fiber: the fiber's first element has index cumsum - count
        offsets = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        positions = np.repeat(self.segments[:-1][parents], counts) + offsets
        return owners, self.coordinates[positions], positions


class _Compressed(WrittenFormat, ScannedFormat):
    """Format of a level that stores the coordinates of each fiber in order, and where the fiber begins."""

    name = "compressed"
    letters = "suc"  # u and c are letters of TACO
    meaning = "compressed"
    loads_coordinates = True

    def store(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        import numpy as np

        first, positions = find_positions(parents, column)
        # ``minlength`` also gives the empty fibers after the last entry a segment
        return CompressedLevel(
            build_segments(np.bincount(parents[first], minlength=fibers)), column[first]
        ), positions

    def scanner(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.compressed import CompressedScanner
        from fiberscope.hw.streams.skipping_scanner import SkippingScanner

        if context.registered:
            from fiberscope.hw.streams.registered_memory import RegisteredScanner

            return RegisteredScanner(name, context.read_fibers_of(node))
        skips = context.graph.stream_into(node, "skip") is not None
        kind = SkippingScanner if skips else CompressedScanner
        return kind(name, context.read_fibers_of(node), context.quirks)

    def read_writer(self, block: StreamBlock, segments: Integers, size: int) -> Level:
        import numpy as np

        return CompressedLevel(segments, np.array(block.coordinates, np.int64))  # type: ignore[attr-defined]

    def estimate(
        self, walk: CostWalk, node: Node, references: ExpectedStream
    ) -> tuple[ExpectedStream, ExpectedStream]:
        from fiberscope.models.graphs.cost.scans import scan_fibers

        coordinates = scan_fibers(walk, node, references)
        # each coordinate has one reference
        return coordinates, coordinates

    def memory_reads(self, block: StreamBlock, sizes: ScratchpadParameters) -> tuple[str, int, int] | None:
        """Return the reads of the two segments that delimit a fiber."""
        return "segments", sizes.coordinate_bytes, 2

    def count_stored_bytes(
        self, level: Level, fibers: Integers, children: Integers, sizes: TileParameters
    ) -> Integers:
        """Return the bytes of the segments, one more than fibers, and of the coordinates."""
        return (fibers + 1 + children) * sizes.coordinate_bytes


def build_segments(counts: Integers) -> Integers:
    """Return the segments of fibers with these numbers of elements."""
    import numpy as np

    return np.append(0, np.cumsum(counts)).astype(np.int64)


FORMAT = _Compressed()
