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
        name: instance name.
        base: byte address of line 0.
        line_bytes: bytes of a line.
        lines: number of line buffers.
        waiting: largest number of tokens taken and not yet served.
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

    def __init__(self, name: str, base: int, *, line_bytes: int, lines: int, waiting: int) -> None:
        super().__init__(name)
        self.base = base
        self.line_bytes = line_bytes
        self.buffers = lines
        self.window = ReorderWindow(lines)
        self.room = waiting
        self.controls = array("q", bytes(8 * waiting))  # ring of the waiting tokens, one array per field
        self.numbers = array("q", bytes(8 * waiting))
        self.references = array("q", bytes(8 * waiting))
        self.targets = array("q", bytes(8 * waiting))  # number of lines that must have arrived for the token
        self.first = 0
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
        place = self.first
        if self.held == 0 or self.targets[place] > self.window.arrived or not self.here.can_push():
            return False
        self.here.push(self.controls[place], self.numbers[place], self.references[place])
        self.served += self.controls[place] != STOP
        self.first = place + 1 if place + 1 < self.room else 0
        self.held -= 1
        self.freed = self.targets[place] - (1 if self._needs(self.first, self.targets[place]) else 0)
        return True

    def _needs(self, place: int, target: int) -> bool:  # C: noexcept
        """Return whether the token at ``place``, the oldest, needs the same line as the token before it."""
        return self.held > 0 and self.controls[place] != STOP and self.targets[place] == target

    def _take(self) -> bool:
        """Take the next token, and request its line unless a buffer holds or awaits that line."""
        if not self.wanted.can_pop() or self.held == self.room:
            return False
        line = self.wanted.coordinate()
        if self.wanted.control() == STOP:
            line = NO_LINE
        elif line != self.line or self.freed == self.window.sent:
            if self.window.sent - self.freed == self.buffers or not self.requests.can_push():
                return False
            slot = self.window.send()
            self.requests.push(READ, slot, self.base + line * self.line_bytes)
            self.lines += 1
        self.line = line
        self._keep()
        return True

    def _keep(self) -> None:
        place = self.first + self.held
        if place >= self.room:
            place -= self.room
        self.controls[place] = self.wanted.control()
        self.numbers[place] = self.wanted.coordinate()
        self.references[place] = self.wanted.reference()
        self.targets[place] = self.window.sent
        self.held += 1
        self.wanted.pop()
