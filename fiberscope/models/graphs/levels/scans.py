"""Formats with the blocks that scan and write their levels, and the estimates of the scanners."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from fiberscope.models.graphs.levels.level import LevelFormat

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk


class ScannedFormat(LevelFormat):
    """A format of levels that blocks scan and write."""

    @abstractmethod
    def scanner(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        """Build the scanner of a tensor's level.

        Raises:
            InputError: the tensor is stored in another format.
        """

    def writer(self, name: str, quirks: int) -> StreamBlock:
        """Build the writer of a level; the kernel must add the block.

        Args:
            name: name of the block.
            quirks: quirks of the public simulator, as a bit mask.
        """
        from fiberscope.hw.streams.writers import CompressedWriter

        return CompressedWriter(name, quirks=quirks)

    @abstractmethod
    def estimate(
        self, walk: CostWalk, node: Node, references: ExpectedStream
    ) -> tuple[ExpectedStream, ExpectedStream]:
        """Estimate the coordinate stream and the reference stream of a scanner.

        Args:
            walk: the estimate; a format of bit vectors also sets ``bits`` of the node.
            node: the scanner.
            references: references into the scanner.
        """


def find_scanned_format(node: Node) -> ScannedFormat:
    """Return the format of the level that a node scans or writes."""
    form = node.level
    assert isinstance(form, ScannedFormat)
    return form
