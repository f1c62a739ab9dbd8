# cython: infer_types=True
"""The lines of one array that the ways of a merger read ahead."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, TAG_MASK
from fiberscope.sim.channel import Channel


class ArrayLines:
    """Layout of the elements of fibers in an array.

    Args:
        base: byte address of the first line, the tensor's number in its upper bits.
        line_bytes: of a request.
        first: of each fiber the row in which it begins.
        a_row: elements in a row, which the array is made of; each fiber begins one.
        rows: in a line.
        port: number at the network of who brings the lines, of those who ask for this array.
    """

    def __init__(
        self, base: int, line_bytes: int, first: memoryview[int], a_row: int, rows: int, port: int = 0
    ) -> None:
        self.base, self.line_bytes, self.a_row, self.rows = base, line_bytes, a_row, rows
        self.tag_base = port << PORT_SHIFT
        self.first = integers_of(first)  # C: long[::1]


class WayLines:  # C: final
    """Asks for the lines of an array ahead of the ways that hand its elements on, and knows which came.

    A way has up to ``ahead`` lines that are asked for and not handed on; in each call of ``ask`` one is asked
    for, of the ways in turn.

    Args:
        where: the array.
        ways: as many as there are.
        ahead: lines.
    """

    def __init__(self, where: ArrayLines, ways: int, ahead: int) -> None:
        self.where, self.ways, self.ahead = where, ways, ahead
        self.row = array("q", bytes(8 * ways))  # of a way's next element to ask for
        self.asked = array("q", bytes(8 * ways))  # the element behind those that are asked for
        self.end = array("q", bytes(8 * ways))  # the element behind the last
        self.come = array("q", bytes(8 * ways))  # the element behind those that are here
        self.oldest = array("q", bytes(8 * ways))  # place of the first line in flight, of ``ahead``
        self.flying = array("q", bytes(8 * ways))
        self.line_ends = array("q", bytes(8 * ways * ahead))  # the element behind each line
        self.here = bytearray(ways * ahead)
        self.turn = 0
        self.left = 0  # ways that have lines to ask for
        self.lines = self.waiting = 0  # asked for in all, and on their way

    def begin(self, way: int, fiber: int, element: int, end: int) -> None:
        """Give a way a fiber: its elements from one up to another."""
        self.row[way] = self.where.first[fiber]
        self.asked[way] = self.come[way] = element
        self.end[way] = end
        self.left += element < end

    def ask(self, requests: Channel, first: int, ways: int) -> bool:
        """Ask for the next line of one of so many ways from the first on; whether any was to be had."""
        if not requests.can_push():
            return False
        for step in range(ways):
            way = first + (self.turn + step) % ways
            if self.asked[way] < self.end[way] and self.flying[way] < self.ahead:
                self._ask(requests, way)
                self.turn = way + 1 - first
                return True
        return False

    def _ask(self, requests: Channel, way: int) -> None:
        where = self.where
        line = self.row[way] // where.rows
        row = (line + 1) * where.rows
        behind = min(self.asked[way] + (row - self.row[way]) * where.a_row, self.end[way])
        place = way * self.ahead + (self.oldest[way] + self.flying[way]) % self.ahead
        self.line_ends[place] = behind
        requests.push(READ, where.tag_base | place, where.base + line * where.line_bytes)
        self.row[way] = row
        self.asked[way] = behind
        self.flying[way] += 1
        self.left -= behind == self.end[way]
        self.lines += 1
        self.waiting += 1

    def receive(self, replies: Channel) -> bool:
        """Take a line, if one has come; the elements of a way's lines are here in their order."""
        if not replies.can_pop():
            return False
        place = replies.coordinate() & TAG_MASK
        replies.pop()
        self.here[place] = 1
        self.waiting -= 1
        way = place // self.ahead
        oldest = way * self.ahead + self.oldest[way]
        while self.here[oldest]:
            self.here[oldest] = 0
            self.come[way] = self.line_ends[oldest]
            self.flying[way] -= 1
            self.oldest[way] = self.oldest[way] + 1 if self.oldest[way] + 1 < self.ahead else 0
            oldest = way * self.ahead + self.oldest[way]
        return True
