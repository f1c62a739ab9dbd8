# cython: infer_types=True
"""Reads row pointers, a line at a time, to find where rows lie."""

from __future__ import annotations

from fiberscope.hw.memory.protocol import READ, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim.channel import Channel

NO_LINE = -1


class RowPointerReader:  # C: final
    """Asks for the lines of row pointers that hold a sequence of rows, each line once; a part of a component.

    A row is found once ``window.arrived`` has come to what ``window.sent`` was when it was located.

    Args:
        base: address of the first row's pointer.
        tag_base: of the requests: the port's number, in its place.
        line_bytes, pointer_bytes: bytes of a line and of a pointer; of rows that are found without, 0.
        lines: in flight at once.
    """

    def __init__(self, base: int, tag_base: int, *, line_bytes: int, pointer_bytes: int, lines: int) -> None:
        self.base = base
        self.tag_base = tag_base
        self.line_bytes = line_bytes
        self.pointer_bytes = pointer_bytes
        self.window = ReorderWindow(lines)
        self.line = NO_LINE  # asked for last

    def forget(self) -> None:
        """A new sequence of rows begins, which need not follow the last one."""
        self.line = NO_LINE

    def locate(self, row: int, requests: Channel) -> bool:
        """Return whether the row's two pointers, if any, were requested; if not, request a line of them.

        The rows of a sequence come in increasing order, so only the line asked for last can serve again.
        Only when the window and the channel have room.
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
        """Take the line at the head of a channel."""
        self.window.receive(replies.coordinate() & TAG_MASK)
        replies.pop()
