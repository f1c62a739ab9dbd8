# cython: infer_types=True
"""A fetch unit that transfers the whole subtree below a reference when the reference arrives."""

from __future__ import annotations

from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import NO_LINE


class SubtreeFetch(Fetch):
    """Holds each reference of a stream back until memory has returned the whole subtree below it.

    Interface and timing: as in ``Fetch``. A subtree occupies one interval of lines in each of several arrays.
    The lines are requested array by array. If two consecutive references are equal, the subtree is fetched
    only once. Other than in ``Fetch``, a line that two consecutive subtrees share is requested twice. Lines
    of waiting references are prefetched as far as ``window`` and ``outstanding`` allow.

    Counts: ``lines`` requested, and ``reused``, the number of references that are equal to the one before.

    Source: ``style: eager`` of TeAAL (MICRO 2023). That a transfer starts when the reference arrives is a
    choice of this model.

    Args:
        first_lines, last_lines: numbers of the first and the last line, at index ``reference * arrays +
            array``. The number of a line is its byte address, with the number of the tensor in the upper
            bits, divided by ``line_bytes``. The last is less than the first if the subtree has no line in
            the array.
        arrays: number of arrays.
        line_bytes: bytes of a request.
        window: largest number of tokens held.
        outstanding: largest number of lines in flight.
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
        self.subtree = NO_LINE  # reference of the last subtree
        self.place = 0  # index of the next interval of the subtree
        self.end = 0  # index after the last interval of the subtree

    def _find_lines(self) -> None:
        """Find the first line of the subtree of the head, unless it is the last subtree fetched."""
        reference = self.in_ref.coordinate()
        self._next_line, self._last_line = 0, NO_LINE
        self.reused += reference == self.subtree
        if reference != self.subtree:
            self.subtree = reference
            self.place = reference * self.arrays
            self.end = self.place + self.arrays
            self._go_on()

    def _go_on(self) -> None:
        """Go to the next interval with a line, if all lines of the current one are requested."""
        while self._next_line > self._last_line and self.place < self.end:
            self._next_line, self._last_line = self.first_lines[self.place], self.last_lines[self.place]
            self.place += 1

    def _request_line(self) -> bool:
        if not Fetch._request_line(self):
            return False
        self._go_on()
        return True
