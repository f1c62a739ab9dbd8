# cython: infer_types=True
"""Memory in the loop: a buffer beside a block, whose lines a loop keeps or lets go."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER, NO_LINE
from fiberscope.hw.streams.tokens import STOP

Lines: TypeAlias = set[int]
NO_GROUP = -1


class BufferRoom:  # C: final
    """The lines for which a buffer has room left: all who fetch into it share it, first come, first served.

    Args:
        lines: that it holds.
    """

    def __init__(self, lines: int) -> None:
        self.free = lines  # C: public long


class LineFetch(Fetch):
    """Holds each reference of a stream back until the line that it names is in the buffer beside.

    Interface, timing, counts: as of ``Fetch``; reference r names the entry in line ``lines[r]``, ``NO_LINE``
    if in none, then nothing is asked for. A line that the buffer has, or that is on its way, is not asked for
    again; one that finds no room there is not kept, which ``overflows`` counts. A stop of the level
    ``lets_go`` or above empties the buffer; with ``EACH`` every element does. What ``lingers`` is there until
    the next one: so long it may be met again, and then stays.
    Without a buffer the line asked for last is kept, as of ``Fetch``. With ``segments`` a reference names
    a fiber, and waits for the lines of all its entries, which follow one another. With ``groups`` an entry of
    another group than the entry before empties the buffer: a loop that no stop tells has moved on.

    Source: the buffets of TeAAL (MICRO 2023) and of Pellauer et al. (ASPLOS 2019), as far as a loop tells how
    long they keep a line; that what finds no room is not kept is a choice of this model.

    Args:
        name: instance name.
        base: byte address of line 0, the tensor's number in its upper bits.
        lines: of each entry the line.
        segments: where the entries of each fiber begin; without them a reference names an entry.
        line_bytes: of a request.
        kept: whether there is a buffer, which keeps lines.
        lets_go: level of the stops that empty it.
        groups: of each entry its group.
        lingers: whether they leave what came since the one before.
        room: of the buffer; without it there is room for all.
        window: tokens held.
        outstanding: lines on their way.
        port: as of ``Fetch``.

    Raises:
        ValueError, SimulationError: as of ``Fetch``.
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
        self.left: Lines = set()  # what lingers
        self.room = room
        self.overflows = 0

    def _look(self) -> None:
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
        """Go on to the next line that is not there."""
        while self._next <= self._last and self._has(self._next):
            self._next += 1

    def _has(self, line: int) -> bool:
        """Return whether a line is there; one that lingered stays then."""
        if line in self.left:
            self.buffer.add(line)
        return line == self.line or line in self.buffer

    def _ask(self) -> bool:
        line = self._next
        if not Fetch._ask(self):
            return False
        if self.kept:
            self._keep(line)
        self._pass_over()
        return True

    def _keep(self, line: int) -> None:
        """Have a line in the buffer, if there is room."""
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
        if self.room is not None:
            self.room.free += len(self.left - self.buffer if self.lingers else self.buffer)
        if self.lingers:
            self.left = self.buffer
            self.buffer = set()
        else:
            self.buffer.clear()
        self.line = NO_LINE
