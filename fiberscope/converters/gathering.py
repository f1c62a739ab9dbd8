# cython: infer_types=True
"""A stage that assembles the blocks of the format BSR."""

from __future__ import annotations

from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output


class Blocks(LaneStage):
    """A stage that assembles the blocks of each block row, and sends them when the next block row begins.

    The format BSR stores the nonzero blocks of a matrix as dense blocks, and the positions of these blocks as
    in CSR. The word of an item is the number of its block in the grid of blocks, row by row; the reference is
    the position in the block. Items must be sorted by block row. ``results`` gets the values of blocks, zeros
    included, one per step, and ``columns`` the block column of each block. ``counts`` gets a 0, then the
    number of blocks in each block row. Items of the next block row are taken while blocks leave, but the end
    of this row waits until all of these blocks have left.

    Args:
        name, lanes: as of a ``LaneStage``.
        grid: number of block rows and of block columns.
        block_elements: number of elements of a block.
        first_seen: whether the blocks of a block row leave in the order of their first items, not of columns.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("columns", ITEM), Output("counts", ITEM))
    COUNTERS = ("taken", "beats", "blocks")

    columns: Channel
    counts: Channel

    def __init__(
        self, name: str, lanes: int, grid: tuple[int, int], block_elements: int, first_seen: bool = False
    ) -> None:
        super().__init__(name, lanes, lanes)
        self.rows, self.blocks_per_row = grid  # C: blocks_per_row=long, rows=long
        self.block_elements = block_elements
        self.first_seen = first_seen
        self.row = -1  # current block row; the count of row -1 is the leading 0 of ``counts``
        self.row_blocks: dict[int, list[float]] = {}  # values of the current row's blocks, by block column
        self.outgoing: list[tuple[int, list[float]]] = []  # blocks to send, the next block last
        self.position = 0  # position in the block that is sent
        self.blocks = 0

    def _has_work(self) -> bool:
        return bool(self.outgoing) or self.items.can_pop()

    def _step(self) -> bool:
        if self.outgoing:
            self._send_value()
        elif self.items.can_pop() and self.row < self._head():
            self._end_block_row()
        else:
            return False
        return True

    def _head(self) -> int:
        """Return the block row of the head item; the number of block rows for a stop."""
        return self.rows if self.items.control() == STOP else self.items.coordinate() // self.blocks_per_row

    def _end_block_row(self) -> None:
        """Send the number of blocks in the current block row, and queue the blocks."""
        self.counts.push(DATA, len(self.row_blocks))
        blocks = list(self.row_blocks.items())
        # Reversed, so that the next block is popped from the end of the list
        self.outgoing = (blocks if self.first_seen else sorted(blocks))[::-1]
        self.blocks += len(blocks)
        self.row_blocks = {}
        self.row += 1

    def _send_value(self) -> None:
        # An index of -1 is not possible: compiled code has no wraparound
        column, values = self.outgoing[len(self.outgoing) - 1]  # C: values=list, column=long
        if self.position == 0:
            self.columns.push(DATA, column)
        self.results.push(DATA, 0, 0, values[self.position])
        self.position += 1
        if self.position == self.block_elements:
            self.position = 0
            self.outgoing.pop()

    def _is_head_ready(self) -> bool:
        if self.items.control() == STOP:
            return self.row == self.rows and not self.outgoing
        return self.row == self._head()

    def _take(self) -> bool:
        column = self.items.coordinate() % self.blocks_per_row  # C: long
        if column not in self.row_blocks:
            self.row_blocks[column] = [0.0] * self.block_elements
        self.row_blocks[column][self.items.reference()] = self.items.value()
        return True
