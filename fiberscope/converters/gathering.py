# cython: infer_types=True
"""The stage that gathers the blocks of BSR."""

from __future__ import annotations

from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output


class Blocks(LaneStage):
    """Gathers the blocks of a row of blocks, and gives them by rising column when the next row begins.

    An item's word is its block's number on the grid, its reference the place within. While the blocks of one
    row leave, a word a step, those of the next are gathered. The numbers of blocks in each row are told,
    behind a 0.

    Args:
        name, lanes: as of a ``LaneStage``.
        grid: rows and columns of blocks.
        places: of a block.
        first_seen: give blocks in the order in which they were first met instead.
    """

    PORTS = (
        Input("items", ITEM),
        Output("results", ITEM),
        Output("columns", ITEM),
        Output("counts", ITEM),
    )
    COUNTERS = ("taken", "beats", "blocks")

    columns: Channel
    counts: Channel

    def __init__(
        self, name: str, lanes: int, grid: tuple[int, int], places: int, first_seen: bool = False
    ) -> None:
        super().__init__(name, lanes, lanes)
        self.rows, self.across = grid  # C: across=long, rows=long
        self.places = places
        self.first_seen = first_seen
        self.row = -1  # of blocks, which is gathered; before the first a 0 is told
        self.gathered: dict[int, list[float]] = {}  # by column
        self.leaving: list[tuple[int, list[float]]] = []  # the last first
        self.place = 0  # of the block that leaves
        self.blocks = 0

    def _pending(self) -> bool:
        return bool(self.leaving) or self.items.can_pop()

    def _step(self) -> bool:
        if self.leaving:
            self._leave()
        elif self.items.can_pop() and self.row < self._head():
            self._turn()
        else:
            return False
        return True

    def _head(self) -> int:
        """The row of blocks of the head of the items."""
        return self.rows if self.items.control() == STOP else self.items.coordinate() // self.across

    def _turn(self) -> None:
        """All of a row has been gathered: let it leave."""
        self.counts.push(DATA, len(self.gathered))
        blocks = list(self.gathered.items())
        self.leaving = (blocks if self.first_seen else sorted(blocks))[::-1]
        self.blocks += len(blocks)
        self.gathered = {}
        self.row += 1

    def _leave(self) -> None:
        column, values = self.leaving[len(self.leaving) - 1]  # C: values=list, column=long
        if self.place == 0:
            self.columns.push(DATA, column)
        self.results.push(DATA, 0, 0, values[self.place])
        self.place += 1
        if self.place == self.places:
            self.place = 0
            self.leaving.pop()

    def _ready(self) -> bool:
        if self.items.control() == STOP:
            return self.row == self.rows and not self.leaving
        return self.row == self._head()

    def _take(self) -> bool:
        column = self.items.coordinate() % self.across  # C: long
        if column not in self.gathered:
            self.gathered[column] = [0.0] * self.places
        self.gathered[column][self.items.reference()] = self.items.value()
        return True
