# cython: infer_types=True
"""Between two dividers, or two multipliers: what of an item is not to be divided further goes its own way.

As of ``fiberscope.converters.rows``, units of ``fiberscope.hw.lanes`` stand between, a channel a lane.
"""

from __future__ import annotations

from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes import channels as rows
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class Peel(Component):
    """Keeps what of an item is not to be divided further: its reference, which goes to ``rests``.

    Args:
        name: instance name.
        width: lanes.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("parted", STREAM, array=True), Output("rests", ITEM))
    COUNTERS = ("rows",)

    lanes: list[Channel]
    parted: list[Channel]
    rests: Channel

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name)
        self.width = width
        self.rows = 0

    def tick(self, now: int) -> int:
        """Take a row."""
        if rows.first_missing(self.lanes) >= 0:
            return self.idle()
        full = rows.first_full(self.parted)
        if full >= 0:
            return self.wait_output(self.parted[full])
        if self.rests.space() < self.width:
            self.rests.want(self.width)
            return self.wait_output(self.rests)
        for lane in range(self.width):
            self._pass_on(lane)
        self.rows += 1
        return self.busy(now + 1)

    def _pass_on(self, lane: int) -> None:
        source, sink = self.lanes[lane], self.parted[lane]
        if source.control() == DATA:
            sink.push(DATA, source.coordinate(), 0, source.value())
            self.rests.push(DATA, source.reference())
        else:
            sink.push(source.control())
        source.pop()


class Join(Component):
    """Brings the next coordinate of an item, which comes on ``rests``, to what has been multiplied of it.

    Args:
        name: instance name.
        width: lanes.
    """

    PORTS = (Input("lanes", STREAM, array=True), Input("rests", ITEM), Output("joined", STREAM, array=True))
    COUNTERS = ("rows",)

    lanes: list[Channel]
    rests: Channel
    joined: list[Channel]

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name)
        self.width = width
        self.rows = 0

    def tick(self, now: int) -> int:
        """Take a row; what it lacks has come before it."""
        if rows.first_missing(self.lanes) >= 0:
            return self.idle()
        full = rows.first_full(self.joined)
        if full >= 0:
            return self.wait_output(self.joined[full])
        for lane in range(self.width):
            self._pass_on(lane)
        self.rows += 1
        return self.busy(now + 1)

    def _pass_on(self, lane: int) -> None:
        source, sink = self.lanes[lane], self.joined[lane]
        if source.control() == DATA:
            sink.push(DATA, source.coordinate(), self.rests.coordinate(), source.value())
            self.rests.pop()
        else:
            sink.push(source.control())
        source.pop()
