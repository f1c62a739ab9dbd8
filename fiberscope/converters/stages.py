# cython: infer_types=True
"""The stages of a conversion that take lanes of items and give lanes of items.

A stage and the next are joined by one channel, into which a stage pushes as many tokens a cycle as it has
lanes; the latency of the stage is that of the channel. A stop follows the last item, in the same cycle.
"""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal
from fiberscope.sim.protocol import Protocol

# The coordinate is a run, a position or a tuple of coordinates side by side in one word; the reference is a
# second word, or tells which array an item is for; the value is the bit pattern of one, as a number.
ITEM = Protocol("item", control="kind", coordinate="word", reference="second", value="value")


class LaneStage(Component):
    """Takes up to ``lanes`` items a cycle and gives results for them.

    Subclasses say what becomes of an item: ``_take`` looks at the head of ``items`` and says whether it is
    done with it, so that an item may take several lanes. What goes beside the lanes, as a pointer or a count
    does, is a ``_step``; ``_ready`` says whether all steps that the head needs are done. ``_flush`` ends a
    beat. Behind the last item, ``_left`` says whether there is more to give, and ``_give`` gives it, a lane
    each time; ``_close`` passes on the stop.

    Accounting: busy while items move; waiting for output while one has no room for a beat; waiting for input
    while something beside an item is missing; else idle.

    Args:
        name: instance name.
        lanes: items a cycle.
        steps: what goes beside them in a cycle, at the most.
        burst: tokens that an output may get for an item or a step.
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
        self.room = (lanes + steps) * burst + 1  # with the stop
        self.taken = self.beats = 0
        self.until = 0  # the cycle up to which a beat takes that has conflicts
        self.outputs: list[Channel] = []

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        ports = [port for port in self.PORTS if isinstance(port, Output)]
        self.outputs = [channel for port in ports for channel in self._connected.get(port.name, [])]

    def tick(self, now: int) -> int:
        """Take a beat: as many items as there are lanes, and the stop behind them."""
        if now < self.until:
            return self.busy(self.until)
        if not self._pending():
            return self.idle()
        for output in self.outputs:
            if output.space() < self.room:
                output.want(self.room)
                return self.wait_output(output)
        if not self._beat():
            return self._lack()
        self.beats += 1
        self.until = now + self._flush()
        return self.busy(self.until)

    def _beat(self) -> bool:
        """Use the lanes; whether anything moved."""
        free, steps = self.lanes, self.steps  # C: steps=long, free=long
        while self._pending():
            while steps > 0 and self._step():
                steps -= 1
            if not self.items.can_pop() or not self._ready():
                break
            if self.items.control() == STOP and not self._left():
                self.items.pop()
                self._close()
                return True
            if free == 0:
                break
            self._use_lane()
            free -= 1
        return free < self.lanes or steps < self.steps

    def _use_lane(self) -> None:
        if self.items.control() == STOP:
            self._give()
        elif self._take():
            self.items.pop()
            self.taken += 1

    def _pending(self) -> bool:
        """Return whether there is anything to do."""
        return self.items.can_pop()

    def _step(self) -> bool:
        """Do something that the head needs beside its lane; whether there was anything."""
        return False

    def _ready(self) -> bool:
        """Return whether all is there that the head needs."""
        return True

    def _take(self) -> bool:
        """Handle the head of the items; whether that is done."""
        raise NotImplementedError(f"{type(self).__name__} does not define _take")

    def _left(self) -> bool:
        """Return whether there is more to give behind the last item."""
        return False

    def _give(self) -> None:
        """Give a lane's share of what is left."""

    def _flush(self) -> int:
        """End the beat; how many cycles it takes."""
        return 1

    def _close(self) -> None:
        """Pass on the stop."""
        for output in self.outputs:
            output.push(STOP)

    def _lack(self) -> int:
        """Wait for what an item needs beside it."""
        return self.idle()


class BlockDivide(LaneStage):
    """The dividers of blocks: row and column become a block's number on the grid and a place in the block.

    Args:
        name, lanes: as of a ``LaneStage``.
        block: rows and columns of a block.
        across: blocks side by side.
        shift: where the row lies in a tuple.
    """

    COUNTERS = ("taken", "beats", "divisions")

    @property
    def divisions(self) -> int:
        """Return the number of divisions, of the row and of the column."""
        return 2 * self.taken

    def __init__(self, name: str, lanes: int, block: int, across: int, shift: int) -> None:
        super().__init__(name, lanes)
        self.block, self.across, self.shift = block, across, shift
        self.mask = (1 << shift) - 1

    def _take(self) -> bool:
        word, block = self.items.coordinate(), self.block
        row, column = word >> self.shift, word & self.mask
        number = row // block * self.across + column // block
        self.results.push(DATA, number, row % block * block + column % block, self.items.value())
        return True
