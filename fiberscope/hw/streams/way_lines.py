# cython: infer_types=True
"""Prefetch of the lines of an array for the ways of a merger."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, TAG_MASK, refuse_reply
from fiberscope.sim.channel import Channel


class ArrayLines:
    """Layout of the elements of fibers in an array in memory.

    A line consists of ``rows`` rows, each of which has space for ``a_row`` elements.

    Args:
        base: byte address of the first line, with the number of the tensor in its upper bits.
        line_bytes: bytes of a line, and so of a request.
        first: for each fiber, the number of the row in which it starts; each fiber starts a new row.
        a_row: number of elements in a row.
        rows: number of rows in a line.
        port: number of this requester's port at its memory network, see ``PORT_SHIFT``.
    """

    def __init__(
        self, base: int, line_bytes: int, first: memoryview[int], a_row: int, rows: int, port: int = 0
    ) -> None:
        self.base, self.line_bytes, self.a_row, self.rows = base, line_bytes, a_row, rows
        self.tag_base = port << PORT_SHIFT
        self.first = integers_of(first)  # C: long[::1]


class WayLines:  # C: final
    """Requests the lines of an array for several ways, and tracks which elements have arrived.

    Each way has up to ``ahead`` lines in flight. A call of ``request_line`` requests at most one line,
    for the ways in round-robin order.

    Args:
        layout: layout of the array.
        ways: number of ways.
        ahead: largest number of lines in flight for a way.
    """

    def __init__(self, layout: ArrayLines, ways: int, ahead: int) -> None:
        self.layout, self.ways, self.ahead = layout, ways, ahead
        self.row = array("q", bytes(8 * ways))  # for each way, the row of the next element to request
        self.next_request = array("q", bytes(8 * ways))  # for each way, the first element not yet requested
        self.fiber_end = array(
            "q", bytes(8 * ways)
        )  # for each way, the element after the last one of its fiber
        self.arrived_end = array("q", bytes(8 * ways))  # for each way, the first element that has not arrived
        self.oldest = array("q", bytes(8 * ways))  # for each way, the slot of its oldest line in flight
        self.flying = array("q", bytes(8 * ways))  # for each way, the number of lines in flight
        self.line_ends = array("q", bytes(8 * ways * ahead))  # for each slot, the element after its line
        self.has_arrived = bytearray(ways * ahead)  # for each slot, whether its line has arrived
        self.turn = 0  # way to serve first, counted from the first way of a call of ``request_line``
        self.unfinished_ways = 0  # number of ways with lines not yet requested
        self.lines = self.waiting = 0  # number of lines requested so far, and in flight

    def assign(self, way: int, fiber: int, element: int, end: int) -> None:
        """Assign a fiber to a way.

        Args:
            way: number of the way, without lines in flight.
            fiber: number of the fiber.
            element: first element of the fiber.
            end: element after the last one of the fiber.
        """
        self.row[way] = self.layout.first[fiber]
        self.next_request[way] = self.arrived_end[way] = element
        self.fiber_end[way] = end
        self.unfinished_ways += element < end

    def request_line(self, requests: Channel, first: int, ways: int) -> bool:
        """Request the next line of one way, and return whether a request was sent.

        Args:
            requests: channel to memory.
            first: first way to consider.
            ways: number of consecutive ways to consider.
        """
        if not requests.can_push():
            return False
        for step in range(ways):
            way = first + (self.turn + step) % ways
            if self.next_request[way] < self.fiber_end[way] and self.flying[way] < self.ahead:
                self._request(requests, way)
                self.turn = way + 1 - first
                return True
        return False

    def _request(self, requests: Channel, way: int) -> None:
        """Request the line of a way's next element; the way then continues in the first row of the next."""
        layout = self.layout
        line = self.row[way] // layout.rows
        row = (line + 1) * layout.rows
        # A fiber may begin in the middle of a line, so that the line has only its further rows for the fiber.
        line_end = min(self.next_request[way] + (row - self.row[way]) * layout.a_row, self.fiber_end[way])
        slot = way * self.ahead + (self.oldest[way] + self.flying[way]) % self.ahead
        self.line_ends[slot] = line_end
        requests.push(READ, layout.tag_base | slot, layout.base + line * layout.line_bytes)
        self.row[way] = row
        self.next_request[way] = line_end
        self.flying[way] += 1
        self.unfinished_ways -= line_end == self.fiber_end[way]
        self.lines += 1
        self.waiting += 1

    def receive(self, replies: Channel) -> bool:
        """Receive a line, if one has arrived; return whether there was one.

        The elements of a way become available in their order: a line waits for all older lines of its way.

        Raises:
            SimulationError: if the line was not requested.
        """
        if not replies.can_pop():
            return False
        slot = replies.coordinate() & TAG_MASK
        way = slot // self.ahead
        if way >= self.ways:
            refuse_reply(slot)
        # Lines in flight are those from the oldest on; other slots of the way's ring wait for no line.
        age = slot - way * self.ahead - self.oldest[way]
        if (age if age >= 0 else age + self.ahead) >= self.flying[way] or self.has_arrived[slot]:
            refuse_reply(slot)
        replies.pop()
        self.has_arrived[slot] = 1
        self.waiting -= 1
        oldest = way * self.ahead + self.oldest[way]
        while self.has_arrived[oldest]:  # ends at a line in flight or a free slot, whose flag is 0
            self.has_arrived[oldest] = 0
            self.arrived_end[way] = self.line_ends[oldest]
            self.flying[way] -= 1
            self.oldest[way] = self.oldest[way] + 1 if self.oldest[way] + 1 < self.ahead else 0
            oldest = way * self.ahead + self.oldest[way]
        return True
