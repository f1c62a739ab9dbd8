# cython: infer_types=True
"""Memory in the loop: all that lies below a reference is transferred when the reference comes."""

from __future__ import annotations

from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import NO_LINE


class SubtreeFetch(Fetch):
    """Holds each reference of a stream back until memory has brought the whole subtree below it.

    Interface, timing, counts: as of ``Fetch``. A subtree lies in several arrays, one interval of lines in
    each, which are asked for array by array. If a reference comes again right behind itself, its subtree is
    there. References that wait in front are asked for as far ahead as ``window`` and ``outstanding`` allow.

    Source: ``style: eager`` of TeAAL (MICRO 2023); that a transfer begins when the reference comes is a
    choice of this model.

    Args:
        name: instance name.
        first_lines, last_lines: of each reference, array behind array, the numbers of the first and the last
            line; the last is before the first where an array has nothing.
        arrays: number of arrays.
        line_bytes: of a request.
        window: tokens held.
        outstanding: lines on their way.
        port: as of ``Fetch``.

    Raises:
        ValueError, SimulationError: as of ``Fetch``.
    """

    def __init__(
        self,
        name: str,
        first_lines: memoryview[int],
        last_lines: memoryview[int],
        arrays: int,
        *,
        line_bytes: int = 64,
        window: int = 16,
        outstanding: int = 8,
        port: int = 0,
    ) -> None:
        super().__init__(
            name, 0, line_bytes, line_bytes=line_bytes, window=window, outstanding=outstanding, port=port
        )
        self.first_lines = first_lines  # C: long[::1]
        self.last_lines = last_lines  # C: long[::1]
        self.arrays = arrays
        self.subtree = NO_LINE  # the reference whose subtree came last
        self.place = 0  # of the next interval, and behind the last of the subtree
        self.end = 0

    def _look(self) -> None:
        """Find the first line of a subtree, unless it has come already."""
        reference = self.in_ref.coordinate()
        self._next, self._last = 0, NO_LINE
        self.reused += reference == self.subtree
        if reference != self.subtree:
            self.subtree = reference
            self.place = reference * self.arrays
            self.end = self.place + self.arrays
            self._go_on()

    def _go_on(self) -> None:
        """Turn to the next interval that has a line, if all of this one is asked for."""
        while self._next > self._last and self.place < self.end:
            self._next, self._last = self.first_lines[self.place], self.last_lines[self.place]
            self.place += 1

    def _ask(self) -> bool:
        if not Fetch._ask(self):
            return False
        self._go_on()
        return True
