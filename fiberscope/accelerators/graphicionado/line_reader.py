# cython: infer_types=True
"""A reader that fetches lines of an array on demand and delivers them in the order of the requests."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.graphicionado.protocols import LINE
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.stream import STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_LINE = -1


class LineReader(Component):
    """A reader of lines at any addresses, which delivers the lines in the order of their requests.

    Interface: ``wanted`` brings the number of a line, with a reference to the data wanted in it. The same
    token leaves on ``here`` once the line has arrived. If consecutive tokens want the same line, the line is
    fetched once. Stops are passed on in order; after a stop, every line is fetched again.

    Timing: in each cycle, a line is requested if a buffer is free, a line arrives, and a token leaves.

    Counts: ``lines`` requested; tokens ``served``, without stops.

    Args:
        base: byte address of line 0.
        lines: number of line buffers.
        max_waiting: largest number of tokens taken and not yet served.
    """

    PORTS = (
        Input("wanted", LINE),
        Output("here", LINE),
        Output("requests", REQUEST),
        Input("replies", REPLY),
    )
    COUNTERS = ("lines", "served")
    SIGNALS = (Signal("lines", 48), Signal("held", 16))

    wanted: Channel
    here: Channel
    requests: Channel
    replies: Channel

    def __init__(self, name: str, base: int, *, line_bytes: int, lines: int, max_waiting: int) -> None:
        super().__init__(name)
        self.base = base
        self.line_bytes = line_bytes
        self.buffers = lines
        self.window = ReorderWindow(lines)
        self.max_waiting = max_waiting
        self.controls = array("q", bytes(8 * max_waiting))  # ring of the waiting tokens, one array per field
        self.numbers = array("q", bytes(8 * max_waiting))
        self.references = array("q", bytes(8 * max_waiting))
        # number of lines that must have arrived for the token
        self.targets = array("q", bytes(8 * max_waiting))
        self.first = 0  # slot of the oldest token
        self.held = 0
        self.freed = 0  # number of lines whose buffers have been freed
        self.line = NO_LINE  # line of the latest token
        self.lines = self.served = 0

    def tick(self, now: int) -> int:
        """Serve a token, take a line that arrives, and request a line for the next token."""
        progress = self._serve()
        if self.replies.can_pop():
            self.window.receive(self.replies.coordinate())
            self.replies.pop()
            progress = True
        if self._take():
            progress = True
        if progress:
            return self.busy(now + 1)
        if self.held == 0:
            return self.wait_output(self.requests) if self.wanted.can_pop() else self.idle()
        arrived = self.targets[self.first] <= self.window.arrived
        return self.wait_output(self.here) if arrived else self.wait_input(self.replies)

    def _serve(self) -> bool:
        """Send the oldest token if its line has arrived; return whether it was sent.

        The buffer of the line is freed unless the next token needs the same line.
        """
        slot = self.first
        if self.held == 0 or self.targets[slot] > self.window.arrived or not self.here.can_push():
            return False
        self.here.push(self.controls[slot], self.numbers[slot], self.references[slot])
        self.served += self.controls[slot] != STOP
        self.first = slot + 1 if slot + 1 < self.max_waiting else 0
        self.held -= 1
        self.freed = self.targets[slot] - (1 if self._needs_same_line(self.first, self.targets[slot]) else 0)
        return True

    def _needs_same_line(self, slot: int, target: int) -> bool:  # C: noexcept
        """Return whether the oldest token, in ``slot``, needs the same line as the token served before it."""
        return self.held > 0 and self.controls[slot] != STOP and self.targets[slot] == target

    def _take(self) -> bool:
        """Take the next token, and request its line unless a buffer holds or awaits that line.

        Return whether a token was taken. A token whose line cannot be requested yet stays in its channel.
        """
        if not self.wanted.can_pop() or self.held == self.max_waiting:
            return False
        line = self.wanted.coordinate()
        if self.wanted.control() == STOP:
            line = NO_LINE
        elif line != self.line or self.freed == self.window.sent:
            if self.window.sent - self.freed == self.buffers or not self.requests.can_push():
                return False
            tag = self.window.send()
            self.requests.push(READ, tag, self.base + line * self.line_bytes)
            self.lines += 1
        self.line = line
        self._store_token()
        return True

    def _store_token(self) -> None:
        slot = self.first + self.held
        if slot >= self.max_waiting:
            slot -= self.max_waiting
        self.controls[slot] = self.wanted.control()
        self.numbers[slot] = self.wanted.coordinate()
        self.references[slot] = self.wanted.reference()
        self.targets[slot] = self.window.sent
        self.held += 1
        self.wanted.pop()
