# cython: infer_types=True
"""Fetch blocks with a line buffer, which is emptied as a loop proceeds."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER, NO_LINE
from fiberscope.hw.streams.tokens import STOP

Lines: TypeAlias = set[int]
NO_GROUP = -1


class BufferRoom:  # C: final
    """The free lines of a buffer. All blocks that fetch into the buffer share them, first come, first served.

    Args:
        lines: capacity of the buffer in lines.
    """

    def __init__(self, lines: int) -> None:
        self.free = lines  # C: public long


class LineFetch(Fetch):
    """Holds each reference of a stream back until the line that it names is in the buffer.

    Interface, timing and counts: as in ``Fetch``, with these differences. Reference r names the entry in
    line ``lines[r]``. For ``NO_LINE``, nothing is requested. A line takes its place in the buffer when it is
    requested, and is not requested again while it is there. A line for which the buffer has no free line is
    not kept; ``overflows`` counts such lines. The line that was requested last is kept in any case, until the
    buffer is emptied; without a buffer, only this line is kept, as in ``Fetch``.

    These events empty the buffer:

    - a stop of level ``lets_go`` or above; with ``EACH`` as the level, every element;
    - with ``groups``, an entry of another group than the entry before, for a loop whose iterations no stop
      separates.

    With ``lingers``, a line stays until the buffer is emptied a second time. If the line is used again in
    between, it counts as new. With ``segments``, a reference names a fiber and waits for the lines of all
    its entries, which are consecutive.

    Source: the buffets of TeAAL (MICRO 2023) and of Pellauer et al. (ASPLOS 2019), as far as a loop
    determines how long they keep a line. That a line without space is not kept is a choice of this model.

    Args:
        base: byte address of line 0, with the number of the tensor in its upper bits.
        lines: line number of each entry, counted from ``base``; ``NO_LINE`` if the entry is in no line.
        segments: first entry of each fiber, and then the number of entries; without it, a reference names an
            entry.
        line_bytes: bytes of a request.
        kept: whether there is a buffer, which keeps lines.
        lets_go: lowest level of the stops that empty the buffer.
        groups: group of each entry; not together with ``segments``.
        lingers: whether lines stay until the buffer is emptied a second time.
        room: free lines of the buffer; without it, the buffer has no capacity limit.
        window: largest number of tokens held.
        outstanding: largest number of lines in flight.
        port: see ``Fetch``.

    Raises:
        ValueError, SimulationError: see ``Fetch``.
    """

    COUNTERS: ClassVar[tuple[str, ...]] = (*Fetch.COUNTERS, "overflows")

    def __init__(
        self,
        name: str,
        base: int,
        lines: memoryview[int],
        *,
        segments: memoryview[int] | None = None,
        line_bytes: int = 64,
        kept: bool = False,
        lets_go: int = NEVER,
        groups: memoryview[int] | None = None,
        lingers: bool = False,
        room: BufferRoom | None = None,
        window: int = 16,
        outstanding: int = 8,
        port: int = 0,
    ) -> None:
        super().__init__(
            name, base, line_bytes, line_bytes=line_bytes, window=window, outstanding=outstanding, port=port
        )
        self.table = lines  # C: long[::1]
        self.of_fibers = segments is not None
        # ``lines`` stands for an array that is not given, whose entries are then never read
        self.segments = lines if segments is None else segments  # C: long[::1]
        self.first_line = base // line_bytes
        self.kept = kept
        self.lets_go = lets_go
        self.grouped = groups is not None
        self.groups = lines if groups is None else groups  # C: long[::1]
        self.group = NO_GROUP
        self.buffer: Lines = set()
        self.lingers = lingers
        self.lingering: Lines = set()  # lines that linger since the buffer was last emptied
        self.room = room
        self.overflows = 0

    def _find_lines(self) -> None:
        """Empty the buffer if the next reference requires it, and find the lines that the reference needs."""
        first_entry = last_entry = self.in_ref.coordinate()
        if self.of_fibers:
            first_entry, last_entry = self.segments[first_entry], self.segments[first_entry + 1] - 1
        if self.lets_go == EACH:
            self._empty_buffer()
        if self.grouped and self.groups[first_entry] != self.group:
            self._empty_buffer()
            self.group = self.groups[first_entry]
        if last_entry < first_entry or self.table[first_entry] == NO_LINE:
            self._next_line, self._last_line = 0, NO_LINE  # an empty range: there is no line to request
        else:
            self._next_line = self.first_line + self.table[first_entry]
            # Consecutive entries lie in consecutive lines: all lines from the first to the last are needed
            self._last_line = self.first_line + self.table[last_entry]
            self._skip_held_lines()
        self.reused += self._next_line > self._last_line

    def _skip_held_lines(self) -> None:
        """Advance to the next needed line that the buffer does not hold."""
        while self._next_line <= self._last_line and self._holds(self._next_line):
            self._next_line += 1

    def _holds(self, line: int) -> bool:
        """Return whether a line is in the buffer; a lingering line counts as new from now on."""
        if line in self.lingering:
            self.buffer.add(line)
        return line == self.line or line in self.buffer

    def _request_line(self) -> bool:
        """Request the next line, and keep it if there is a buffer; return whether it was requested."""
        # ``Fetch._request_line`` advances to the next line
        line = self._next_line
        if not Fetch._request_line(self):
            return False
        if self.kept:
            self._store(line)
        self._skip_held_lines()
        return True

    def _store(self, line: int) -> None:
        """Put a line into the buffer, if it has a free line."""
        if self.room is not None:
            if self.room.free == 0:
                self.overflows += 1
                return
            self.room.free -= 1
        self.buffer.add(line)

    def _enqueue(self, needs: int) -> None:
        if self.in_ref.control() == STOP and self.in_ref.coordinate() >= self.lets_go:
            self._empty_buffer()
        Fetch._enqueue(self, needs)

    def _empty_buffer(self) -> None:
        """Empty the buffer; with ``lingers``, its lines stay until the next call, and older lines leave."""
        if self.room is not None:  # a lingering line that was used again is in both sets, and stays
            self.room.free += len(self.lingering - self.buffer if self.lingers else self.buffer)
        if self.lingers:
            self.lingering = self.buffer
            self.buffer = set()
        else:
            self.buffer.clear()
        # Emptying also forgets the line requested last, which ``_holds`` treats as held
        self.line = NO_LINE
