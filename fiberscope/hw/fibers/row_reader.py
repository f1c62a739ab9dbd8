# cython: infer_types=True
"""The row reader: reads the rows of B that the elements of A select, directly from memory."""

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

END = -1  # in place of the index of an element of A: the end of a row of A


class RowReader(Component):
    """Reads rows of A, and for each element of A the row of B that its coordinate selects, in order.

    Interface: ``a_jobs`` requests the bytes of a row of A from a ``MemoryStream``, and ``a_done`` reports
    that they have arrived. Requests for lines of B leave on ``requests``, and the lines arrive on
    ``replies``, in any order. The elements of B leave on ``elements``; the reference of each is the index of
    the element of A that scales it. A stop follows the last element of each row of A.

    Timing: in each cycle, the reader requests a row of A, receives a row of A, receives a line of B, and
    sends an element or a stop. In the same cycle it requests a line of B or passes over the end of a row of
    A. It requests lines of B only for rows of A that have arrived. An element that straddles several lines
    leaves once the last of them has arrived.

    Accounting: busy while any of these happens; else waiting for the first of these that applies: a free slot
    in ``elements``, a line in flight, a free slot in ``requests``, a row of A.

    Counts: ``lines_read``, the lines of B that were received. Two rows of B that share a line read it twice.
    Empty rows of B are skipped. No done follows the last stop.

    Args:
        a, b: the operands.
        rows: numbers of the rows of A that this reader reads, in order.
        port: number of this reader's port at the network to memory.
        starts: byte address of the first element of each row of B.
        line_bytes, element_bytes: bytes of a line, and of an element.
        lines: capacity of the line buffer. A line of B occupies the buffer from its request until the last
            of its elements that are needed has left.
        rows_ahead: largest number of rows of A that are requested and whose stop has not left.

    Raises:
        ValueError: if ``lines`` is less than the number of lines that one element may touch, or
            ``rows_ahead`` is less than 1.
        SimulationError: in the run, if a reply has no request.
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
        rows_ahead: int,
    ) -> None:
        super().__init__(name)
        if rows_ahead < 1:
            raise ValueError(f"{name}: rows_ahead={rows_ahead}: it should be 1 or more")
        max_lines = (element_bytes - 2) // line_bytes + 2  # most lines: it starts at a line's last byte
        if lines < max_lines:
            raise ValueError(
                f"{name}: an element of {element_bytes} bytes may touch {max_lines} lines, not {lines}"
            )
        self.b = b
        self.rows = len(rows)
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = line_bytes
        self.element_bytes = element_bytes
        self.lines = lines
        self.rows_ahead = rows_ahead
        self.lengths = array("q", [a.pointers[row + 1] - a.pointers[row] for row in rows])
        work = [piece for row in rows for piece in _pieces(a, b, row)]
        # A piece is a nonempty row of B, or the end of a row of A (``END``). By piece: the index of the
        # element of A, the first element of B and the one after the last, and the address of the first.
        self.a_elements = array("q", [place for place, _k in work])
        self.firsts = array("q", [b.pointers[k] if k >= 0 else 0 for _place, k in work])
        self.lasts = array("q", [b.pointers[k + 1] if k >= 0 else 0 for _place, k in work])
        self.addresses = array("q", [starts[k] if k >= 0 else 0 for _place, k in work])
        self.lines_before = array("q", bytes(8 * (len(work) + 1)))  # by piece: lines requested before it
        # By row of A: number of pieces up to and including its end
        self.row_ends = array("q", [i + 1 for i, (place, _k) in enumerate(work) if place == END])
        self.window = ReorderWindow(lines)
        self.rows_requested = 0  # number of rows of A requested
        self.rows_arrived = 0  # number of rows of A that have arrived
        self.rows_sent = 0  # number of rows of A whose stop has left
        self.piece = 0  # piece whose lines are requested
        self.line = 0  # line of this piece to request next
        self.sending = 0  # piece whose elements leave
        self.element = 0  # element of this piece to leave next
        self.used = 0  # number of the oldest lines that are not needed any more
        self.lines_read = 0

    def tick(self, now: int) -> int:
        """Request rows and lines, receive rows and lines, and send an element or a stop."""
        progress = self._request_row()
        if self._receive_a():
            progress = True
        if self._receive():
            progress = True
        if self._request_line():
            progress = True
        if self._send():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _wait(self) -> int:
        """Return the wait state of a cycle without progress."""
        if self._is_ready():
            return self.wait_output(self.elements)
        if self.window.in_flight() > 0:
            return self.wait_input(self.replies)
        if self._is_begun():
            return self.wait_output(self.requests)
        return self.wait_input(self.a_done) if self.rows_arrived < self.rows else self.idle()

    def _request_row(self) -> bool:
        """Request the next row of A; return whether it was requested."""
        if self.rows_requested == self.rows or self.rows_requested - self.rows_sent == self.rows_ahead:
            return False
        if not self.a_jobs.can_push():
            return False
        self.a_jobs.push(0, self.lengths[self.rows_requested] * self.element_bytes)
        self.rows_requested += 1
        return True

    def _receive_a(self) -> bool:
        """Take the report that a row of A has arrived; return whether there was one."""
        if not self.a_done.can_pop():
            return False
        self.a_done.pop()
        self.rows_arrived += 1
        return True

    def _receive(self) -> bool:
        """Receive a line of B; return whether one has arrived."""
        if not self.replies.can_pop():
            return False
        self.window.receive(self.replies.coordinate() & TAG_MASK)
        self.replies.pop()
        self.lines_read += 1
        return True

    def _is_begun(self) -> bool:
        """Return whether a row of A that has arrived still has a piece to request or to pass over."""
        return self.rows_arrived > 0 and self.piece < self.row_ends[self.rows_arrived - 1]

    def _request_line(self) -> bool:
        """Request a line of B, or pass over the end of a row of A; return whether either was done."""
        if not self._is_begun():
            return False
        if self.a_elements[self.piece] != END:
            if self.window.sent - self.used == self.lines or not self.requests.can_push():
                return False
            address = (self.addresses[self.piece] // self.line_bytes + self.line) * self.line_bytes
            self.requests.push(READ, self.tag_base | self.window.send(), address)
            self.line += 1
            if self.line < self._lines_to(self.piece, self.lasts[self.piece]):
                return True
        self.piece += 1
        self.line = 0
        self.lines_before[self.piece] = self.window.sent
        return True

    def _lines_to(self, piece: int, element: int) -> int:
        """Return the number of lines of a piece that hold the elements before ``element``."""
        first = self.addresses[piece]
        end = first + (element - self.firsts[piece]) * self.element_bytes
        return (end + self.line_bytes - 1) // self.line_bytes - first // self.line_bytes

    def _is_ready(self) -> bool:
        """Return whether the next element has arrived, or all pieces before the next stop are requested."""
        if self.sending == len(self.a_elements):
            return False
        if self.a_elements[self.sending] == END:
            return self.sending < self.piece
        if self.sending > self.piece:
            return False
        needed = self._lines_to(self.sending, self.firsts[self.sending] + self.element + 1)
        return self.window.arrived >= self.lines_before[self.sending] + needed

    def _send(self) -> bool:
        """Send the next element or stop; return whether it was sent."""
        if not self._is_ready() or not self.elements.can_push():
            return False
        a_element = self.a_elements[self.sending]
        if a_element == END:
            self.elements.push(STOP, 0, 0, 0.0)
            self.rows_sent += 1
            self._next_piece()
            return True
        element = self.firsts[self.sending] + self.element
        self.elements.push(DATA, self.b.coordinates[element], a_element, self.b.values[element])
        self.element += 1
        if element + 1 == self.lasts[self.sending]:
            self.used = self.lines_before[self.sending] + self._lines_to(self.sending, element + 1)
            self._next_piece()
        else:  # keep the line that holds the next element's first byte
            end = self.addresses[self.sending] + self.element * self.element_bytes
            passed_lines = end // self.line_bytes - self.addresses[self.sending] // self.line_bytes
            self.used = self.lines_before[self.sending] + passed_lines
        return True

    def _next_piece(self) -> None:
        """Go to the next piece to send."""
        self.sending += 1
        self.element = 0


def _pieces(a: CompressedRows, b: CompressedRows, row: int) -> list[tuple[int, int]]:
    """Return the pieces of a row of A: pairs (element of A, nonempty row of B), then (``END``, ``END``)."""
    elements = range(a.pointers[row], a.pointers[row + 1])
    selected = [(element, a.coordinates[element]) for element in elements]
    return [*((element, k) for element, k in selected if b.pointers[k] < b.pointers[k + 1]), (END, END)]
