# cython: infer_types=True
"""Reads lines of an array in the order in which they are wanted, one wanted twice in a row once."""

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
    """Brings lines at any addresses, in order.

    Interface: ``wanted`` names lines, with what is wanted of them; they leave on ``here`` once they have
    come. Stops are passed on in their place; behind one every line is read anew.

    Timing: in a cycle one is asked for, if a buffer is free, one comes and one leaves.

    Counts: ``lines`` asked for, ``served`` of what was wanted.

    Args:
        name: instance name.
        base: byte address of line 0.
        line_bytes: of a line.
        lines: buffers.
        waiting: of what is wanted, taken and not served, at the most.
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
        self.controls = array("q", bytes(8 * waiting))  # ring of what waits
        self.numbers = array("q", bytes(8 * waiting))
        self.references = array("q", bytes(8 * waiting))
        self.targets = array("q", bytes(8 * waiting))  # lines that must have come for it
        self.first = 0
        self.held = 0
        self.freed = 0  # lines whose buffers are free again
        self.line = NO_LINE  # asked for last
        self.lines = self.served = 0

    def tick(self, now: int) -> int:
        """Serve one, take a line that comes, ask for one."""
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
        """Return whether what waits first needs the line of the one before."""
        return self.held > 0 and self.controls[place] != STOP and self.targets[place] == target

    def _take(self) -> bool:
        """Take what is wanted next, and ask for its line if that is another."""
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
