# cython: infer_types=True
"""Blocks between two dividers or two multipliers, with a bypass for coordinates that are finished.

A divider splits a position in a tensor into a quotient and a remainder. A tensor of three or more ranks
needs a chain of dividers. Each remainder is a finished coordinate, and bypasses the later dividers on a
channel that is called ``rests``. In the other direction, coordinates bypass the multipliers that do not need
them yet. A row has one channel per lane, as in ``fiberscope.converters.rows``.
"""

from __future__ import annotations

from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes import channels
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class BypassBlock(Component):
    """Base class of the blocks that move one coordinate of each item between a row and ``rests``.

    A subclass declares the ports ``lanes`` (input), ``rests``, and one output array for the rows. It
    overrides ``_forward_item``, and ``_has_free_slots`` if it pushes on ``rests``.

    Timing: one row per cycle.

    Accounting: busy while a row moves; waiting for the first output without a free slot, or for slots of
    ``rests``; idle while a lane lacks its token, even if other lanes have one.

    Counts: ``rows``, the number of rows that were passed on.

    Args:
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
        (output_port,) = (port.name for port in self.PORTS if port.array and isinstance(port, Output))
        self.row_outputs = self.channels(output_port)  # C: list

    def tick(self, now: int) -> int:
        """Pass a row on once all its lanes have a token and all outputs have a free slot."""
        if channels.first_missing(self.lanes) >= 0:
            return self.idle()
        blocked = channels.first_full(self.row_outputs)
        if blocked >= 0:
            return self.wait_output(self.row_outputs[blocked])
        if not self._has_free_slots():
            return self.wait_output(self.rests)
        for number in range(self.width):
            lane, output = self.lanes[number], self.row_outputs[number]  # C: lane=Channel, output=Channel
            if lane.control() == DATA:
                self._forward_item(lane, output)
            else:
                # A stop, or an empty lane: nothing moves to or from ``rests``.
                output.push(lane.control())
            lane.pop()
        self.rows += 1
        return self.busy(now + 1)

    def _has_free_slots(self) -> bool:
        """Return whether ``rests`` has a free slot for each lane, even if some lanes have no item.

        If not, ``rests`` wakes the block when it has. A block that pops ``rests`` needs no slots.
        """
        return True

    def _forward_item(self, lane: Channel, output: Channel) -> None:
        """Pass an item on from a lane to the output of that lane; override this method."""
        raise NotImplementedError(f"{type(self).__name__} does not define _forward_item")


class RemainderSplit(BypassBlock):
    """A block that moves the remainder of each division, which needs no more division, to ``rests``.

    Interface: items on ``lanes`` have the quotient as coordinate and the remainder as reference. ``parted``
    sends the rows with reference 0. ``rests`` sends the remainders as coordinates, in the order of the lanes.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("parted", STREAM, array=True), Output("rests", ITEM))

    parted: list[Channel]

    def _has_free_slots(self) -> bool:
        if self.rests.space() >= self.width:
            return True
        self.rests.want(self.width)  # ``space`` asked for a wake at one more free slot
        return False

    def _forward_item(self, lane: Channel, output: Channel) -> None:
        output.push(DATA, lane.coordinate(), 0, lane.value())
        self.rests.push(DATA, lane.reference())


class OffsetJoin(BypassBlock):
    """A block that sets the reference of each product: the next coordinate of its item, from ``rests``.

    Interface: rows of products on ``lanes``, and a token on ``rests`` for each product, in the order of the
    lanes. ``joined`` sends the rows. The block waits only for ``lanes``: the tokens on ``rests`` must be
    visible when their row is.
    """

    PORTS = (Input("lanes", STREAM, array=True), Input("rests", ITEM), Output("joined", STREAM, array=True))

    joined: list[Channel]

    def _forward_item(self, lane: Channel, output: Channel) -> None:
        output.push(DATA, lane.coordinate(), self.rests.coordinate(), lane.value())
        self.rests.pop()
