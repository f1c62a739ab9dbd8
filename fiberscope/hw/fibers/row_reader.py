# cython: infer_types=True
"""Reads the rows of one matrix that the elements of another name, straight from memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

END = -1  # in the place of an element of A: a row of A ends


class RowReader(Component):
    """Reads rows of A, and for each of their elements the row of B that it names, one after another.

    Interface: ``a_jobs`` asks for the bytes of a row of A, ``a_done`` tells that they are here, as of a
    ``MemoryStream``; lines of B are asked for on ``requests`` and come on ``replies``, in any order. Their
    elements leave on ``elements``, each with the place of the element of A that scales it as reference, and
    behind those of a row of A a stop.

    Timing: a cycle asks for a row of A and for a line of B, or goes over the end of a row; it takes one of
    each, and sends an element, or a stop. An element that straddles two lines leaves behind the second.

    Args:
        name: instance name.
        a, b: the operands.
        rows: of A that are this reader's, in their order.
        port: number of its port at the network to memory.
        starts: address of the first element of each row of B.
        line_bytes, element_bytes: of a request, and of an element.
        lines: room for lines of B that are in flight, or not sent on yet.

    Raises:
        ValueError: the room is less than the lines that one element may touch.
    """

    PORTS = (
        Output("a_jobs", JOB),
        Input("a_done", DONE),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("elements", STREAM),
    )
    COUNTERS = ("lines_read",)

    a_jobs: Channel
    a_done: Channel
    requests: Channel
    replies: Channel
    elements: Channel

    def __init__(
        self,
        name: str,
        a: CompressedRows,
        b: CompressedRows,
        rows: Sequence[int],
        port: int,
        *,
        starts: Sequence[int],
        line_bytes: int,
        element_bytes: int,
        lines: int,
    ) -> None:
        super().__init__(name)
        touched = (element_bytes - 2) // line_bytes + 2
        if lines < touched:
            raise ValueError(
                f"{name}: an element of {element_bytes} bytes may touch {touched} lines, not {lines}"
            )
        self.b = b
        self.rows = len(rows)
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = line_bytes
        self.element_bytes = element_bytes
        self.lines = lines
        self.lengths = array("q", [a.pointers[row + 1] - a.pointers[row] for row in rows])
        work = [piece for row in rows for piece in _pieces(a, b, row)]
        # Of each piece of work, a row of B or the end of one of A: the element of A, first and last element.
        self.places = array("q", [place for place, _k in work])
        self.firsts = array("q", [b.pointers[k] if k >= 0 else 0 for _place, k in work])
        self.lasts = array("q", [b.pointers[k + 1] if k >= 0 else 0 for _place, k in work])
        self.addresses = array("q", [starts[k] if k >= 0 else 0 for _place, k in work])
        self.before = array("q", bytes(8 * (len(work) + 1)))  # lines asked for ahead of it
        self.ends = array("q", [i + 1 for i, (place, _k) in enumerate(work) if place == END])  # by row of A
        self.window = ReorderWindow(lines)
        self.asked = 0  # rows of A,
        self.here = 0  # and those that came
        self.piece = 0  # that lines are asked for,
        self.line = 0  # of these the next
        self.sending = 0  # the piece whose elements leave,
        self.element = 0  # of these the next
        self.used = 0  # lines that were sent on
        self.lines_read = 0

    def tick(self, now: int) -> int:
        """Ask, take and send what can be."""
        progress = self._ask_a()
        if self._take_a():
            progress = True
        if self._receive():
            progress = True
        if self._ask():
            progress = True
        if self._send():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _wait(self) -> int:
        if self._is_ready():
            return self.wait_output(self.elements)
        if self.window.in_flight() > 0:
            return self.wait_input(self.replies)
        if self._is_begun():
            return self.wait_output(self.requests)
        return self.wait_input(self.a_done) if self.here < self.rows else self.idle()

    def _ask_a(self) -> bool:
        if self.asked == self.rows or not self.a_jobs.can_push():
            return False
        self.a_jobs.push(0, self.lengths[self.asked] * self.element_bytes)
        self.asked += 1
        return True

    def _take_a(self) -> bool:
        if not self.a_done.can_pop():
            return False
        self.a_done.pop()
        self.here += 1
        return True

    def _receive(self) -> bool:
        if not self.replies.can_pop():
            return False
        self.window.receive(self.replies.coordinate() & TAG_MASK)
        self.replies.pop()
        self.lines_read += 1
        return True

    def _is_begun(self) -> bool:
        """Return whether there is something to ask for, of a row of A that is here."""
        return self.here > 0 and self.piece < self.ends[self.here - 1]

    def _ask(self) -> bool:
        """Ask for a line, or go over the end of a row."""
        if not self._is_begun():
            return False
        if self.places[self.piece] != END:
            if self.window.sent - self.used == self.lines or not self.requests.can_push():
                return False
            address = (self.addresses[self.piece] // self.line_bytes + self.line) * self.line_bytes
            self.requests.push(READ, self.tag_base | self.window.send(), address)
            self.line += 1
            if self.line < self._lines_to(self.piece, self.lasts[self.piece]):
                return True
        self.piece += 1
        self.line = 0
        self.before[self.piece] = self.window.sent
        return True

    def _lines_to(self, piece: int, element: int) -> int:
        """The lines of a piece that hold the elements before this one."""
        first = self.addresses[piece]
        end = first + (element - self.firsts[piece]) * self.element_bytes
        return (end + self.line_bytes - 1) // self.line_bytes - first // self.line_bytes

    def _is_ready(self) -> bool:
        """Return whether the next element, or stop, can leave."""
        if self.sending == len(self.places):
            return False
        if self.places[self.sending] == END:
            return self.sending < self.piece
        if self.sending > self.piece:
            return False
        needed = self._lines_to(self.sending, self.firsts[self.sending] + self.element + 1)
        return self.window.arrived >= self.before[self.sending] + needed

    def _send(self) -> bool:
        if not self._is_ready() or not self.elements.can_push():
            return False
        place = self.places[self.sending]
        if place == END:
            self.elements.push(STOP, 0, 0, 0.0)
            self._turn()
            return True
        element = self.firsts[self.sending] + self.element
        self.elements.push(DATA, self.b.coordinates[element], place, self.b.values[element])
        self.element += 1
        if element + 1 == self.lasts[self.sending]:
            self.used = self.before[self.sending] + self._lines_to(self.sending, element + 1)
            self._turn()
        else:  # the line of which the next element has a byte stays
            end = self.addresses[self.sending] + self.element * self.element_bytes
            passed = end // self.line_bytes - self.addresses[self.sending] // self.line_bytes
            self.used = self.before[self.sending] + passed
        return True

    def _turn(self) -> None:
        self.sending += 1
        self.element = 0


def _pieces(a: CompressedRows, b: CompressedRows, row: int) -> list[tuple[int, int]]:
    """The elements of a row of A whose row of B is not empty, as place and that row; then its end."""
    places = range(a.pointers[row], a.pointers[row + 1])
    named = [(place, a.coordinates[place]) for place in places]
    return [*((place, k) for place, k in named if b.pointers[k] < b.pointers[k + 1]), (END, END)]
