# cython: infer_types=True
"""Blocks between two dividers or two multipliers, with a bypass for coordinates that are finished.

A position in a tensor of three or more ranks needs a chain of divisions to obtain its coordinates, or of
multiplications in the other direction. Coordinates that the next unit does not need bypass it on channels
that are called ``rests``. As in ``fiberscope.converters.rows``, rows have one channel per lane.
"""

from __future__ import annotations

from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes import channels as rows
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class Passage(Component):
    """A block that passes rows on, one per cycle, while a part of each item enters or leaves on ``rests``.

    A subclass declares the ports ``lanes`` (input), ``rests``, and one output array for the rows.

    Args:
        name: instance name.
        width: number of lanes.
    """

    COUNTERS = ("rows",)

    lanes: list[Channel]
    rests: Channel

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name)
        self.width = width
        self.rows = 0

    def elaborate(self) -> None:
        """Collect the channels of the output port for rows."""
        super().elaborate()
        (leaving,) = (port.name for port in self.PORTS if port.array and isinstance(port, Output))
        self.passed = self.channels(leaving)  # C: list

    def tick(self, now: int) -> int:
        """Pass a row on once all its lanes have a token and all outputs have a free slot."""
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
        """Return whether ``rests`` has a free slot for each lane; true if the block pushes no rests."""
        return True

    def _pass_on(self, source: Channel, sink: Channel) -> None:
        """Pass an item on from a lane to the output of that lane."""


class Peel(Passage):
    """A block that removes the reference of each item, which needs no more division, to ``rests``."""

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
    """A block that gives each product a reference: the next coordinate of its item, from ``rests``."""

    PORTS = (Input("lanes", STREAM, array=True), Input("rests", ITEM), Output("joined", STREAM, array=True))

    joined: list[Channel]

    def _pass_on(self, source: Channel, sink: Channel) -> None:
        sink.push(DATA, source.coordinate(), self.rests.coordinate(), source.value())
        self.rests.pop()
