# cython: infer_types=True
"""The reader of row pointers, which requests the lines of pointers that locate rows."""

from __future__ import annotations

from fiberscope.hw.memory.protocol import READ, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim.channel import Channel

NO_LINE = -1


class RowPointerReader:  # C: final
    """Requests the lines that hold the pointers of a sequence of rows, each line once; part of a component.

    The pointers of a row have arrived once ``window.arrived`` reaches the value that ``window.sent`` had when
    ``locate`` returned True.

    Args:
        base: byte address of the pointer of row 0.
        tag_base: tag of the requests without a slot: the port's number, shifted by ``PORT_SHIFT``.
        pointer_bytes: bytes of a pointer, at most ``line_bytes``, so that the two pointers of a row are in at
            most two lines; 0 if rows are located without pointers.
        lines: greatest number of lines in flight.

    Raises:
        ValueError: if ``lines`` is below 1.
    """

    def __init__(self, base: int, tag_base: int, *, line_bytes: int, pointer_bytes: int, lines: int) -> None:
        self.base = base
        self.tag_base = tag_base
        self.line_bytes = line_bytes
        self.pointer_bytes = pointer_bytes
        self.window = ReorderWindow(lines)
        self.line = NO_LINE  # line requested last

    def forget(self) -> None:
        """Start a new sequence of rows, which need not follow the last sequence."""
        self.line = NO_LINE

    def locate(self, row: int, requests: Channel) -> bool:
        """Return whether both pointers of a row are requested; if not, request the next of their lines.

        The rows of a sequence must increase, so that only the line requested last can hold further pointers.
        Call this again, in a later cycle, until it returns True.

        Args:
            row: number of the row; its pointers are the entries ``row`` and ``row`` + 1.
            requests: channel to memory. The channel and ``window`` must have a free slot.

        Raises:
            SimulationError: if ``window`` has no free slot.
        """
        if self.pointer_bytes == 0:
            return True
        first = row * self.pointer_bytes // self.line_bytes
        last = ((row + 2) * self.pointer_bytes - 1) // self.line_bytes
        if self.line == last:
            return True
        self.line = last if self.line == first else first
        tag = self.tag_base | self.window.send()
        requests.push(READ, tag, self.base + self.line * self.line_bytes)
        return False

    def receive(self, replies: Channel) -> None:
        """Receive the line at the head of a channel, which must have a token.

        Raises:
            SimulationError: if the line was not requested.
        """
        self.window.receive(replies.coordinate() & TAG_MASK)
        replies.pop()
