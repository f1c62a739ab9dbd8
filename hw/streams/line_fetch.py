# cython: infer_types=True
"""Memory in the loop: a buffer beside a block, whose lines a loop keeps or lets go."""

from __future__ import annotations

from typing import TypeAlias

from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER, NO_LINE
from fiberscope.hw.streams.tokens import STOP

Lines: TypeAlias = set[int]


class LineFetch(Fetch):
    """Holds each reference of a stream back until the line that it names is in the buffer beside.

    Interface, timing, counts: as of ``Fetch``; reference r names the entry in line ``lines[r]``, ``NO_LINE``
    if in none, then nothing is asked for. A line that the buffer has, or that is on its way, is not asked for
    again. A stop of the level ``lets_go`` or above empties the buffer; with ``EACH`` every element does.
    Without a buffer the line asked for last is kept, as of ``Fetch``.

    Source: the buffets of TeAAL (MICRO 2023) and of Pellauer et al. (ASPLOS 2019), as far as a loop tells how
    long they keep a line; that they never overflow is a choice of this model.

    Args:
        name: instance name.
        base: byte address of line 0, the tensor's number in its upper bits.
        lines: of each reference the line.
        line_bytes: of a request.
        kept: whether there is a buffer, which keeps lines.
        lets_go: level of the stops that empty it.
        window: tokens held.
        outstanding: lines on their way.
        port: as of ``Fetch``.

    Raises:
        ValueError, SimulationError: as of ``Fetch``.
    """

    def __init__(
        self,
        name: str,
        base: int,
        lines: memoryview[int],
        *,
        line_bytes: int = 64,
        kept: bool = False,
        lets_go: int = NEVER,
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
        self.first_line = base // line_bytes
        self.kept = kept
        self.lets_go = lets_go
        self.buffer: Lines = set()

    def _look(self) -> None:
        line = self.table[self.in_ref.coordinate()]
        if self.lets_go == EACH:
            self._let_go()
        self._next = self._last = self.first_line + line
        if line == NO_LINE or self._next == self.line or (self.kept and line in self.buffer):
            self._next += 1
            self.reused += 1
        elif self.kept:
            self.buffer.add(line)

    def _hold(self, needs: int) -> None:
        if self.in_ref.control() == STOP and self.in_ref.coordinate() >= self.lets_go:
            self._let_go()
        Fetch._hold(self, needs)

    def _let_go(self) -> None:
        self.buffer.clear()
        self.line = NO_LINE
