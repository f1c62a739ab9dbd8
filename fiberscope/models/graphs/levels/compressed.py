"""Compressed levels: the coordinates of fibers behind one another, and where each fiber begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.models.graphs.levels.level import Level, WrittenFormat, positions_of
from fiberscope.models.graphs.levels.scans import ScannedFormat

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk
    from fiberscope.models.graphs.settings import ScratchpadParameters
    from fiberscope.workloads.canonical import Integers

__all__ = ["MADE", "CompressedLevel", "from_zero"]


@dataclass(frozen=True)
class CompressedLevel:
    """Fibers behind one another: where each begins (one more than there are), and all coordinates."""

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
        """Return the number of fibers, or values, below it."""
        return len(self.coordinates)

    def expanded(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """See ``Level``."""
        import numpy as np

        counts = self.counts[parents]
        owners = np.repeat(np.arange(len(parents)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        positions = np.repeat(self.segments[:-1][parents], counts) + within
        return owners, self.coordinates[positions], positions


class _Compressed(WrittenFormat, ScannedFormat):
    name = "compressed"
    letters = "suc"  # u and c are TACO's
    meaning = "compressed"
    lists = True

    def stored(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        import numpy as np

        first, positions = positions_of(parents, column)
        return CompressedLevel(
            from_zero(np.bincount(parents[first], minlength=fibers)), column[first]
        ), positions

    def scanner(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.compressed import CompressedScanner
        from fiberscope.hw.streams.skipping_scanner import SkippingScanner

        if context.registered:
            from fiberscope.hw.streams.registered_memory import RegisteredScanner

            return RegisteredScanner(name, context.fibers_of(node))
        skips = context.graph.feeding(node, "skip") is not None
        kind = SkippingScanner if skips else CompressedScanner
        return kind(name, context.fibers_of(node), context.quirks)

    def written(self, block: StreamBlock, segments: Integers, size: int) -> Level:
        import numpy as np

        return CompressedLevel(segments, np.array(block.coordinates, np.int64))  # type: ignore[attr-defined]

    def estimate(
        self, walk: CostWalk, node: Node, references: ExpectedStream
    ) -> tuple[ExpectedStream, ExpectedStream]:
        from fiberscope.models.graphs.cost.scans import scan_fibers

        coordinates = scan_fibers(walk, node, references)
        return coordinates, coordinates

    def fetched(self, block: StreamBlock, sizes: ScratchpadParameters) -> tuple[str, int, int] | None:
        """Return the reads of the begin and the end of a fiber."""
        return "segments", sizes.coordinate_bytes, 2


def from_zero(counts: Integers) -> Integers:
    """Return where fibers of so many elements begin, and the end of the last."""
    import numpy as np

    return np.append(0, np.cumsum(counts)).astype(np.int64)


MADE = _Compressed()
