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
        name: instance name.
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
            name,
            base,
            line_bytes,
            line_bytes=line_bytes,
            window=window,
            outstanding=outstanding,
            port=port,
        )
        self.table = lines  # C: long[::1]
        self.of_fibers = segments is not None
        self.segments = lines if segments is None else segments  # C: long[::1]
        self.first_line = base // line_bytes
        self.kept = kept
        self.lets_go = lets_go
        self.grouped = groups is not None
        self.groups = lines if groups is None else groups  # C: long[::1]
        self.group = NO_GROUP
        self.buffer: Lines = set()
        self.lingers = lingers
        self.left: Lines = set()  # lines that linger since the buffer was last emptied
        self.room = room
        self.overflows = 0

    def _look(self) -> None:
        """Empty the buffer if the next reference requires it, and find the lines that the reference needs."""
        first = last = self.in_ref.coordinate()
        if self.of_fibers:
            first, last = self.segments[first], self.segments[first + 1] - 1
        if self.lets_go == EACH:
            self._let_go()
        if self.grouped and self.groups[first] != self.group:
            self._let_go()
            self.group = self.groups[first]
        if last < first or self.table[first] == NO_LINE:
            self._next, self._last = 0, NO_LINE
        else:
            self._next = self.first_line + self.table[first]
            self._last = self.first_line + self.table[last]
            self._pass_over()
        self.reused += self._next > self._last

    def _pass_over(self) -> None:
        """Advance to the next needed line that the buffer does not hold."""
        while self._next <= self._last and self._has(self._next):
            self._next += 1

    def _has(self, line: int) -> bool:
        """Return whether a line is in the buffer; a lingering line counts as new from now on."""
        if line in self.left:
            self.buffer.add(line)
        return line == self.line or line in self.buffer

    def _ask(self) -> bool:
        """Request the next line, and keep it if there is a buffer; return whether it was requested."""
        line = self._next
        if not Fetch._ask(self):
            return False
        if self.kept:
            self._keep(line)
        self._pass_over()
        return True

    def _keep(self, line: int) -> None:
        """Put a line into the buffer, if it has a free line."""
        if self.room is not None:
            if self.room.free == 0:
                self.overflows += 1
                return
            self.room.free -= 1
        self.buffer.add(line)

    def _hold(self, needs: int) -> None:
        if self.in_ref.control() == STOP and self.in_ref.coordinate() >= self.lets_go:
            self._let_go()
        Fetch._hold(self, needs)

    def _let_go(self) -> None:
        """Empty the buffer; with ``lingers``, its lines stay until the next call, and older lines leave."""
        if self.room is not None:
            self.room.free += len(self.left - self.buffer if self.lingers else self.buffer)
        if self.lingers:
            self.left = self.buffer
            self.buffer = set()
        else:
            self.buffer.clear()
        self.line = NO_LINE
