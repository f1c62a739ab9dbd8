# cython: infer_types=True
"""A lookahead model of a chain: a block, and the blocks that only this block feeds."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.process import LogicalProcess, Progress, apart
from fiberscope.sim import inline
from fiberscope.sim.component import clock_of
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.lookahead import LookaheadModel
from fiberscope.sim.wiring import Link

__all__ = ["ChainLookahead"]

NEAR = 255  # cycles within which all wakes are on the wheel of a clock (``fiberscope.sim.clock``)


class ChainLookahead(LookaheadModel):
    """Stands in for blocks of which the first alone reads what others send; each runs in a time of its own.

    The first block must need no input unless its tick ends with ``wait_input``. The chain can then run
    ahead until the first block needs the next tokens of other components.

    Args:
        blocks: the blocks that the model replaces, producers before consumers, all in one clock domain.
        links: the links of all channels of these blocks; a channel between two clocks must be unbounded.
    """

    def __init__(self, blocks: Sequence[StreamBlock], links: Sequence[Link]) -> None:
        super().__init__(blocks[0].name, blocks)
        self.blocks, self.links = list(blocks), list(links)
        self.sources = list(blocks[0].inputs)
        self.processes: list[LogicalProcess] = []
        self.world = Progress()  # shared by the components that tick in step
        self.own_clock = clock_of(blocks[0])
        self.settled_cycle = 0

    def engage(self) -> None:
        """Take over from the blocks: from now on this model runs them."""
        self.engaged = True
        self.sources = self.blocks[0].inputs
        self.processes = apart(self.blocks, self.links, self.world, self.blocks[0].name)
        self._listen()

    def tick(self, now: int) -> int:
        """Run all blocks up to the horizon, as far as their inputs are known."""
        self.world.next = now
        self._run(min(self.horizon, now + NEAR), now + 1)
        return self.idle()

    def _run(self, until: int, wake: int) -> None:
        """Run all blocks up to a cycle, then sleep until the next event, at least until cycle ``wake``."""
        first: LogicalProcess = self.processes[0]
        for place in range(len(self.sources)):
            inline.channel(self.sources[place])._reader_clock = first.clock
        while self._sweep(until):
            pass
        due = MAX_TIME
        for place in range(len(self.processes)):
            process: LogicalProcess = self.processes[place]
            due = min(due, wake if process.full >= 0 else process.due())
        if due < MAX_TIME:
            self.wake_at(max(due, wake))
        self._listen()

    def _sweep(self, until: int) -> bool:
        """Run each block once as far as possible; return whether any block ran."""
        ran = False
        for place in range(len(self.processes)):
            process: LogicalProcess = self.processes[place]
            ran = process.run(until) or ran
        return ran

    def _listen(self) -> None:
        """Make the next token on each empty input channel wake this model."""
        for place in range(len(self.sources)):
            if inline.empty(self.sources, place):
                inline.channel(self.sources[place])._reader_clock = self.own_clock

    def last(self) -> int:
        """Return the last cycle in which any block is known to have acted."""
        return max([process.last for process in self.processes])

    def settle(self, cycle: int) -> None:
        """Run the blocks and update the statistics up to this cycle; all earlier events have happened."""
        if cycle > self.settled_cycle:
            self.world.next = cycle
            self._run(cycle, cycle)
            self.worked = max([process.worked for process in self.processes])
            self.settled_cycle = cycle
