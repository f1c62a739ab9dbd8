# cython: infer_types=True
"""Line writers, which write the elements of a stream to memory, one full line at a time."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, WRITE
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port, Signal
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.protocol import ANY


class LineWriter(StreamBlock):
    """Writes an entry for each element of a stream to memory, a full line at a time.

    It consumes the same stream as the block that stores the elements, and models only the writes to memory.
    It stalls the stream if memory does not keep up.

    Interface: elements arrive on ``in_stream``. ``requests`` writes lines, which a cache acknowledges on
    ``replies``. An entry is written for each element, N included, or, with ``of_stops``, for each stop from
    ``level`` on, as for segments. Done writes the last, partly filled line. If lines consist of rows
    and entries are for elements, a stop from ``level`` on ends the current row: the next entry begins a new
    row.

    Timing: one token per cycle. The request for a line leaves in the cycle of the token that fills the
    line, of the stop that ends its last row, or of done. Acknowledgements are accepted even after done, one
    per cycle, and nothing waits for them. A cycle before done in which one is accepted counts as busy.

    Counts: ``entries`` and ``lines``.

    Source: a choice of this model.

    Args:
        base: byte address of the first entry, with the number of the tensor in its upper bits
            (``fiberscope.hw.memory.protocol``).
        entry_bytes: bytes of an entry, at most ``line_bytes``; ignored if ``row`` is not 0.
        line_bytes: bytes of a request, the line size of the memory.
        of_stops: whether entries are written for stops, not for elements.
        level: lowest level of a stop that has an entry, or that ends the current row; ``NEVER`` for no stop.
        row: number of entries in a row, if a line consists of ``rows`` rows; 0 if a line consists of bytes.
        rows: number of rows in a line.
        page_lines: number of consecutive lines in a page; the pages of several writers are interleaved.
        pages: number of writers whose pages are interleaved.
        port: port number of the block at the network to the memory.

    Raises:
        ValueError: if ``row`` is 0 and ``entry_bytes`` is not from 1 to ``line_bytes``, or if ``row`` is not
            0 and ``row * rows`` is below 1.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("in_stream", ANY),
        Input("replies", REPLY, optional=True),
        Output("requests", REQUEST),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("entries", "lines")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("entries", 48), Signal("lines", 48))
    TAKES_ONLY = True

    in_stream: Channel
    replies: Channel | None
    requests: Channel

    def __init__(
        self,
        name: str,
        base: int,
        entry_bytes: int,
        *,
        line_bytes: int = 64,
        of_stops: bool = False,
        level: int = 0,
        row: int = 0,
        rows: int = 1,
        page_lines: int = 1,
        pages: int = 1,
        port: int = 0,
    ) -> None:
        super().__init__(name)
        self.base = base
        # With rows, the packer counts entries instead of bytes
        self.packer = LinePacker(row * rows, 1) if row else LinePacker(line_bytes, entry_bytes)
        self.line_bytes = line_bytes
        self.of_stops, self.level = of_stops, level
        self.row = row or 1  # padding to 1 does nothing, for lines of bytes
        self.page_lines, self.pages = page_lines, pages
        self.tag = port << PORT_SHIFT
        self.entries = self.lines = 0

    def tick(self, now: int) -> int:
        """Accept an acknowledgement, and make one update."""
        if self.replies is not None and self.replies.can_pop():
            self.replies.pop()
            if self.done:
                return self.idle()
            # No output can stall this update: the block has no output streams, only memory requests
            self.update(now)
            return self.busy(now + 1)
        return StreamBlock.tick(self, now)

    def quiet(self) -> int:  # C: noexcept
        """Return the number of elements before the one that fills a line."""
        return MAX_TIME if self.of_stops else self.packer.elements_before(0)

    def update(self, now: int) -> int:
        """Pop a token, and write the line that it fills or ends."""
        if not self.in_stream.can_pop():
            return self.wait_input(self.in_stream)
        kind = self.in_stream.control()
        if self._completes_line(kind):
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            # The entry is added below: the packer is still at the line that the entry fills
            self.requests.push(WRITE, self.tag, self._address(self.packer.line_number()))
            self.lines += 1
        if self._has_entry(kind):
            self.packer.add()
            self.entries += 1
        if self._ends_row(kind):
            self.packer.pad(self.row)
        self.in_stream.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _address(self, line: int) -> int:  # C: noexcept
        """Return the address of a line, numbered among the lines of this writer; pages are interleaved."""
        page = line // self.page_lines
        line_number = page * self.page_lines * self.pages + line % self.page_lines
        return self.base + line_number * self.line_bytes

    def _has_entry(self, kind: int) -> bool:  # C: noexcept
        """Return whether an entry is written for the head of ``in_stream``, a token of this kind."""
        return self._is_counted_stop(kind) if self.of_stops else kind in (DATA, EMPTY)

    def _ends_row(self, kind: int) -> bool:  # C: noexcept
        """Return whether the head of ``in_stream``, a token of this kind, ends the current row."""
        return not self.of_stops and self._is_counted_stop(kind)

    def _is_counted_stop(self, kind: int) -> bool:  # C: noexcept
        """Return whether the head of ``in_stream``, a token of this kind, is a stop from ``level`` on."""
        return kind == STOP and self.in_stream.coordinate() >= self.level

    def _completes_line(self, kind: int) -> bool:  # C: noexcept
        """Return whether the next token fills a line or ends the last one."""
        if kind == DONE:
            return self.packer.has_partial_line()
        if self._ends_row(kind):
            return self.packer.pads(self.row)
        return self._has_entry(kind) and self.packer.completes_line()


class ReadBackWriter(LineWriter):
    """Writes as a ``LineWriter``, and reads entries back on request.

    Interface: that of ``LineWriter``. In addition, ``in_again`` names entries to read, by their number in
    the order of arrival, from 0 on. The lines of these entries are read, except the line that was read last,
    and a line that is not full and so has not been written. Nothing waits for the data on ``replies``. Done
    is popped from both inputs in the same cycle. ``in_stream`` must have no stop before its last entry, since
    a stop can shift the entries behind it. The class checks neither its stops nor ``row``.

    Timing: one token per cycle; entries to write go before entries to read.

    Counts: those of ``LineWriter``, and ``lines_read``.

    Source: see ``LineWriter``.

    Args:
        name, base, entry_bytes, rows: see ``LineWriter``.
        options: the other keyword arguments of ``LineWriter``. ``row`` must be given, because a line is taken
            to hold ``row * rows`` entries.

    Raises:
        ValueError: see ``LineWriter``.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (*LineWriter.PORTS, Input("in_again", CRD))
    COUNTERS: ClassVar[tuple[str, ...]] = (*LineWriter.COUNTERS, "lines_read")

    in_again: Channel

    def __init__(
        self, name: str, base: int, entry_bytes: int, *, rows: int = 1, **options: int | bool
    ) -> None:
        super().__init__(name, base, entry_bytes, rows=rows, **options)  # type: ignore[arg-type] # by name
        self.line_entries = self.row * rows  # number of entries in a line
        self.last_line = -1  # the line read last
        self.lines_read = 0

    def update(self, now: int) -> int:
        """Pop an entry, or the number of an entry to read; at the end, pop done of both streams."""
        read_requests = self.in_again
        # Writes go first: only a line whose entries have all been written can be read
        if self.in_stream.can_pop() and self.in_stream.control() != DONE:
            return LineWriter.update(self, now)
        if not read_requests.can_pop():
            return self.wait_input(read_requests)
        if read_requests.control() == DONE:
            return self._finish(now)
        return self._read_line(now)

    def _finish(self, now: int) -> int:
        """Write the last, partly filled line, and pop done of both streams."""
        # ``in_stream`` shows done or nothing here: this update ends it, or waits
        wake = LineWriter.update(self, now)
        if self.done:
            self.in_again.pop()
        return wake

    def _read_line(self, now: int) -> int:
        """Read the line of the next requested entry, unless it was read last or is not written yet."""
        read_requests = self.in_again
        line = read_requests.coordinate() // self.line_entries
        if line < self.lines and line != self.last_line:
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            self.requests.push(READ, self.tag, self._address(line))
            self.last_line = line
            self.lines_read += 1
        read_requests.pop()
        return self.busy(now + 1)
