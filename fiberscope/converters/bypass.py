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


class Passage(Component):
    """Lets rows through, a cycle each; of every item part comes, or goes, on ``rests``.

    Args:
        name: instance name.
        width: lanes.
    """

    COUNTERS = ("rows",)

    lanes: list[Channel]
    rests: Channel

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name)
        self.width = width
        self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, those by which rows leave among them."""
        super().elaborate()
        (leaving,) = (port.name for port in self.PORTS if port.array and isinstance(port, Output))
        self.passed = self.channels(leaving)  # C: list

    def tick(self, now: int) -> int:
        """Take a row."""
        if rows.first_missing(self.lanes) >= 0:
            return self.idle()
        full = rows.first_full(self.passed)
        if full >= 0:
            return self.wait_output(self.passed[full])
        if not self._has_room():
            return self.wait_output(self.rests)
        for lane in range(self.width):
            source, sink = self.lanes[lane], self.passed[lane]  # C: source=Channel, sink=Channel
            if source.control() == DATA:
                self._pass_on(source, sink)
            else:
                sink.push(source.control())
            source.pop()
        self.rows += 1
        return self.busy(now + 1)

    def _has_room(self) -> bool:
        """Return whether a row's rests may leave, if they do."""
        return True

    def _pass_on(self, source: Channel, sink: Channel) -> None:
        """Let an item through."""


class Peel(Passage):
    """Keeps what of an item is not to be divided further: its reference, which goes to ``rests``."""

    PORTS = (Input("lanes", STREAM, array=True), Output("parted", STREAM, array=True), Output("rests", ITEM))

    parted: list[Channel]

    def _has_room(self) -> bool:
        if self.rests.space() >= self.width:
            return True
        self.rests.want(self.width)
        return False

    def _pass_on(self, source: Channel, sink: Channel) -> None:
        sink.push(DATA, source.coordinate(), 0, source.value())
        self.rests.push(DATA, source.reference())


class Join(Passage):
    """Brings the next coordinate of an item, which came on ``rests`` before, to what was multiplied of it."""

    PORTS = (Input("lanes", STREAM, array=True), Input("rests", ITEM), Output("joined", STREAM, array=True))

    joined: list[Channel]

    def _pass_on(self, source: Channel, sink: Channel) -> None:
        sink.push(DATA, source.coordinate(), self.rests.coordinate(), source.value())
        self.rests.pop()
