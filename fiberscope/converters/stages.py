# cython: infer_types=True
"""Stages of a conversion that process several items per cycle, one in each lane.

A *lane* is one of several parallel pieces of hardware, each of which processes one item per cycle. An *item*
is an element of an array of a format, or several elements with the same position, for example a coordinate
and a value. One channel connects a stage to the next stage. A stage pushes up to one token per lane and cycle
into this channel, and the latency of the channel is the latency of the stage. A stop follows the last item in
the same cycle.
"""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal
from fiberscope.sim.protocol import Protocol

# The coordinate is a run, a position, or a tuple of coordinates packed into one word. The reference is a
# second word, or the number of the array to which the item belongs. The value is the bit pattern of a tensor
# value, as a number.
ITEM = Protocol("item", control="kind", coordinate="word", reference="second", value="value")


class LaneStage(Component):
    """A stage that processes up to ``lanes`` items per cycle; a cycle of work is called a beat.

    Subclasses override these methods, of which only ``_take`` has no default:

    - ``_take`` processes the head of ``items`` in one lane and returns whether the item is finished. An item
      may thus use several lanes;
    - ``_step`` does work that needs no lane, for example takes a pointer or sends a count. It returns whether
      it did anything. It is called before each item until it returns False or ``steps`` are done in the beat;
    - ``_is_head_ready`` returns whether all steps that the head needs are done. The head is taken only then;
    - ``_has_remaining_output`` returns whether output remains after the last item, and ``_send_remaining``
      sends one lane of it;
    - ``_send_stop`` passes on the stop, which needs no lane, and ends the beat;
    - ``_wait_for_input`` returns the result of a tick in which nothing moved.

    Accounting: busy while items move; waiting for output while an output has too few free slots for a beat;
    the result of ``_wait_for_input`` while the head item lacks other input; else idle.

    Args:
        lanes: largest number of items per cycle.
        steps: largest number of steps per cycle.
        burst: largest number of tokens that an output gets for one item or step.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("items", ITEM), Output("results", ITEM))
    COUNTERS: ClassVar[tuple[str, ...]] = ("taken", "beats")
    SIGNALS: ClassVar[tuple[Signal, ...]] = (Signal("taken", 48), Signal("beats", 48))

    items: Channel
    results: Channel

    def __init__(self, name: str, lanes: int, steps: int = 0, burst: int = 1) -> None:
        super().__init__(name)
        self.lanes = lanes
        self.steps = steps
        self.beat_tokens = (lanes + steps) * burst + 1  # free slots needed for a beat, including the stop
        self.taken = self.beats = 0
        self.outputs: list[Channel] = []

    def elaborate(self) -> None:
        """Collect the connected output channels."""
        super().elaborate()
        ports = [port.name for port in self.PORTS if isinstance(port, Output)]
        self.outputs = [channel for port in ports for channel in self.channels(port)]

    def tick(self, now: int) -> int:
        """Process a beat: up to one item per lane, and the stop if it follows."""
        if not self._has_work():
            return self.idle()
        for output in self.outputs:
            if output.space() < self.beat_tokens:
                output.want(self.beat_tokens)
                return self.wait_output(output)
        if not self._beat():
            return self._wait_for_input()
        self.beats += 1
        return self.busy(now + 1)

    def _beat(self) -> bool:
        """Use the lanes for items and do steps; return whether anything moved."""
        free_lanes, free_steps = self.lanes, self.steps  # C: free_steps=long, free_lanes=long
        while self._has_work():
            while free_steps > 0 and self._step():
                free_steps -= 1
            if not self.items.can_pop() or not self._is_head_ready():
                break
            if self.items.control() == STOP and not self._has_remaining_output():
                self.items.pop()
                self._send_stop()
                return True
            if free_lanes == 0:
                break
            self._use_lane()
            free_lanes -= 1
        return free_lanes < self.lanes or free_steps < self.steps

    def _use_lane(self) -> None:
        if self.items.control() == STOP:
            self._send_remaining()
        elif self._take():
            self.items.pop()
            self.taken += 1

    def _has_work(self) -> bool:
        """Return whether there is anything to do."""
        return self.items.can_pop()

    def _step(self) -> bool:
        """Do one step, work that the head needs outside of its lane; return whether a step was done."""
        return False

    def _is_head_ready(self) -> bool:
        """Return whether all steps that the head needs are done."""
        return True

    def _take(self) -> bool:
        """Process the head of the items in one lane; return whether the item is finished."""
        raise NotImplementedError(f"{type(self).__name__} does not define _take")

    def _has_remaining_output(self) -> bool:
        """Return whether output remains after the last item."""
        return False

    def _send_remaining(self) -> None:
        """Send one lane of the output that remains after the last item."""

    def _send_stop(self) -> None:
        """Pass on the stop to all outputs."""
        for output in self.outputs:
            output.push(STOP)

    def _wait_for_input(self) -> int:
        """Return the result of a tick in which the head item lacks other input; override this method."""
        return self.idle()


class BlockDivide(LaneStage):
    """A stage of dividers that turns row and column into the number of a block and a position in the block.

    The word of a result is the number of the block, row by row. The reference is the position in the block.

    Args:
        name, lanes: as of a ``LaneStage``.
        size: number of rows, and of columns, of a block.
        blocks_per_row: number of blocks in a block row.
        shift: shift of the row in an item's word; the column has the bits below.
    """

    COUNTERS = ("taken", "beats", "divisions")

    @property
    def divisions(self) -> int:
        """Return the number of divisions, of the row and of the column."""
        return 2 * self.taken

    def __init__(self, name: str, lanes: int, size: int, blocks_per_row: int, shift: int) -> None:
        super().__init__(name, lanes)
        self.size, self.blocks_per_row, self.shift = size, blocks_per_row, shift
        self.mask = (1 << shift) - 1

    def _take(self) -> bool:
        word, size = self.items.coordinate(), self.size
        row, column = word >> self.shift, word & self.mask
        block_number = row // size * self.blocks_per_row + column // size
        self.results.push(DATA, block_number, row % size * size + column % size, self.items.value())
        return True
