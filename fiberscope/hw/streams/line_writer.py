# cython: infer_types=True
"""Memory in the loop: what a writer stores, on its way to memory."""

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

    It is one more consumer of the stream that a writer takes, and stalls it where memory does not keep up.

    Interface: ``in_stream``; ``requests`` writes lines, which a cache acknowledges on ``replies``. An entry
    is written for each element (N is one), or for each stop from a level on, as for segments; done writes
    what is left of a line. Behind a stop the next entry begins a row, if lines are made of rows.

    Timing: a token a cycle; the request of a line leaves in the cycle of the token that fills it, or of done.

    Counts: ``entries`` and ``lines``.

    Source: a choice of this model.

    Args:
        name: instance name.
        base: byte address of the first entry, the tensor's number in its upper bits
            (``fiberscope.hw.memory.protocol``).
        entry_bytes: of an entry, up to a line.
        line_bytes: of a request, the memory's.
        of_stops: whether stops have entries, not elements,
        level: and which, the lowest.
        row: entries of a row, if a line is made of ``rows`` of these and not of bytes; 0: it is not.
        rows: of a line.
        page_lines: lines behind one another in a page; those of several who write lie in turn.
        pages: as many as write so.
        port: its number at the network of who acknowledges.

    Raises:
        ValueError: if an entry is larger than a line.
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
        self.packer = LinePacker(row * rows, 1) if row else LinePacker(line_bytes, entry_bytes)
        self.line_bytes = line_bytes
        self.of_stops, self.level = of_stops, level
        self.row = row or 1
        self.page_lines, self.pages = page_lines, pages
        self.tag = port << PORT_SHIFT
        self.entries = self.lines = 0

    def tick(self, now: int) -> int:
        """Hear what is acknowledged, and take a token."""
        if self.replies is not None and self.replies.can_pop():
            self.replies.pop()
            if self.done:
                return self.idle()
            self.update(now)
            return self.busy(now + 1)
        return StreamBlock.tick(self, now)

    def quiet(self) -> int:  # C: noexcept
        """Those before the one that fills a line."""
        return MAX_TIME if self.of_stops else self.packer.elements_before(0)

    def update(self, now: int) -> int:
        """Take a token, and write the line that it fills or ends."""
        if not self.in_stream.can_pop():
            return self.wait_input(self.in_stream)
        kind = self.in_stream.control()
        if self._writes(kind):
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            self.requests.push(WRITE, self.tag, self._address(self.packer.number()))
            self.lines += 1
        if self._has_entry(kind):
            self.packer.add()
            self.entries += 1
        if kind == STOP and not self.of_stops:
            self.packer.pad(self.row)
        self.in_stream.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _address(self, line: int) -> int:  # C: noexcept
        page = line // self.page_lines
        place = page * self.page_lines * self.pages + line % self.page_lines
        return self.base + place * self.line_bytes

    def _has_entry(self, kind: int) -> bool:  # C: noexcept
        if self.of_stops:
            return kind == STOP and self.in_stream.coordinate() >= self.level
        return kind in (DATA, EMPTY)

    def _writes(self, kind: int) -> bool:  # C: noexcept
        """Return whether a line is full with this token, or is the last."""
        if kind == DONE:
            return self.packer.begun()
        if kind == STOP and not self.of_stops:
            return self.packer.pads(self.row)
        return self._has_entry(kind) and self.packer.fills()


class LineKeeper(LineWriter):
    """Writes as a ``LineWriter``, and reads back what of it is asked for.

    Interface: that of one; ``in_again`` names entries by their number, from 0 on in the order in which they
    came. The lines in which they lie are read, but for those that are not full and so have not left. Nobody
    waits for what comes on ``replies``.

    Timing: a token a cycle, those that are written first.

    Counts: those of one, and ``lines_read``.

    Source, arguments: of one.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (*LineWriter.PORTS, Input("in_again", CRD))
    COUNTERS: ClassVar[tuple[str, ...]] = (*LineWriter.COUNTERS, "lines_read")

    in_again: Channel

    def __init__(
        self, name: str, base: int, entry_bytes: int, *, rows: int = 1, **options: int | bool
    ) -> None:
        super().__init__(name, base, entry_bytes, rows=rows, **options)  # type: ignore[arg-type] # by name
        self.each = self.row * rows  # entries of a line
        self.last = -1  # the line read last
        self.lines_read = 0

    def update(self, now: int) -> int:
        """Take an entry, or the number of one; in the end done of both."""
        again = self.in_again
        if self.in_stream.can_pop() and self.in_stream.control() != DONE:
            return LineWriter.update(self, now)
        if not again.can_pop():
            return self.wait_input(again)
        if again.control() == DONE:
            return self._end(now)
        return self._read(now)

    def _end(self, now: int) -> int:
        """Write what is left of a line, and take done of both streams."""
        wake = LineWriter.update(self, now)
        if self.done:
            self.in_again.pop()
        return wake

    def _read(self, now: int) -> int:
        """Read the line of the next entry that is asked for, unless it is here."""
        again = self.in_again
        line = again.coordinate() // self.each
        if line < self.lines and line != self.last:
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            self.requests.push(READ, self.tag, self._address(line))
            self.last = line
            self.lines_read += 1
        again.pop()
        return self.busy(now + 1)
