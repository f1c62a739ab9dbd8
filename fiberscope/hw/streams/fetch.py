# cython: infer_types=True
"""Memory in the loop: a stream waits until what it names has come from memory."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.kept import NO_LINE
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY


class Fetch(StreamBlock):
    """Holds each reference of a stream back until memory has brought the entries that it names.

    Beside a block that reads an array as if it were its own, this is the memory that the array lies in: in
    front of an array of values, each reference waits for its value; in front of a scanner, for the two
    segments that say where its fiber begins and ends; behind a scanner, for its coordinate.

    Interface: references on ``in_ref`` leave on ``out_ref`` in their order; where ``in_crd`` is connected, it
    has the shape of the references and leaves on ``out_crd`` in step with them. ``requests`` reads lines,
    whose ``replies`` may come in any order. Reference r names the ``entries`` entries
    from byte ``base + r * entry_bytes`` on. The line asked for last is kept, and is not asked for again.

    Timing: in each cycle one token is taken, a line asked for, a reply taken and a token sent; a token whose
    entries lie in two new lines is taken when the second is asked for. A token leaves at the earliest in the
    cycle after the one in which it was taken, and when all of its lines have come. Up to ``window`` tokens
    are held, and up to ``outstanding`` lines are on their way. Where the outputs have no space, lines come
    and are asked for all the same.

    Counts: ``lines`` asked for, ``reused`` tokens that asked for none.

    Source: a choice of this model; of SAM (ASPLOS 2023) the memory is left to whoever builds the machine.

    Args:
        name: instance name.
        base: byte address of entry 0, the tensor's number in its upper bits
            (``fiberscope.hw.memory.protocol``).
        entry_bytes: of an entry.
        line_bytes: of a request, the memory's.
        entries: that each reference names; 2 for segments.
        window: tokens held.
        outstanding: lines on their way.
        port: its number at the network of who brings them.

    Raises:
        ValueError: if one of the numbers is below 1.
        SimulationError: in the run, if the two streams differ in shape.
    """

    PORTS = (
        Input("in_ref", ANY),
        Input("in_crd", ANY, optional=True),
        Input("replies", REPLY),
        Output("requests", REQUEST),
        output_stream("out_ref", ANY),
        output_stream("out_crd", ANY),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("lines", "reused")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("held", 16), Signal("lines", 48))

    in_ref: Channel
    in_crd: Channel | None
    replies: Channel
    requests: Channel
    out_ref: OutputStream
    out_crd: OutputStream

    def __init__(
        self,
        name: str,
        base: int,
        entry_bytes: int,
        *,
        line_bytes: int = 64,
        entries: int = 1,
        window: int = 16,
        outstanding: int = 8,
        port: int = 0,
    ) -> None:
        super().__init__(name)
        numbers = {"entry_bytes": entry_bytes, "line_bytes": line_bytes, "entries": entries}
        for what, number in (numbers | {"window": window, "outstanding": outstanding}).items():
            if number < 1:
                raise ValueError(f"{name}: {what} must be at least 1, not {number}")
        self.base = base
        self.entry_bytes = entry_bytes
        self.line_bytes = line_bytes
        self.entries = entries
        self.window = window
        self.outstanding = outstanding
        self.tag_base = port << PORT_SHIFT
        self.line = NO_LINE  # asked for last
        self.lines = self.come = self.reused = 0  # lines asked for; those before which all have come
        self.held = self._head = 0
        self._next = NO_LINE  # that the head of the input needs, if it has been looked at
        self._last = NO_LINE
        self._kinds, self._references, self._coordinates, self._needs = (
            array("q", bytes(8 * window)) for _ in range(4)
        )
        self._arrived = bytearray(outstanding)  # by line, modulo

    def tick(self, now: int) -> int:
        """Take a reply, send a token, take one."""
        if self.done:
            return self.idle()
        if self.first_input < 0:
            self._look_for_input(now)
        moved = self._receive()
        full = self._full() if self._ready() else None  # C: Channel
        if self._ready() and full is None:
            if self._send() == DONE:
                return self.finish(now)
            moved = True
        if self._take() or moved:
            return self.busy(now + 1)
        return self._wait(full)

    def _ready(self) -> bool:  # C: noexcept
        """Return whether the oldest token may leave."""
        return self.held > 0 and self._needs[self._head] <= self.come

    def _receive(self) -> bool:
        """Take a reply."""
        if not self.replies.can_pop():
            return False
        self._arrived[self.replies.coordinate() & TAG_MASK] = 1
        self.replies.pop()
        while self.come < self.lines and self._arrived[self.come % self.outstanding]:
            self._arrived[self.come % self.outstanding] = 0
            self.come += 1
        return True

    def _send(self) -> int:
        """Send the oldest token; gives its kind."""
        place = self._head
        kind = self._kinds[place]
        self.out_ref.push(kind, self._references[place])
        self.out_crd.push(kind, self._coordinates[place])
        self.held -= 1
        self._head = place + 1 if place + 1 < self.window else 0
        return kind

    def _take(self) -> bool:
        """Ask for a line that the next token needs, or take the token; whether either was done."""
        if self.held == self.window or not self._seen():
            return False
        if self.in_ref.control() != DATA:
            self._hold(0)
            return True
        if self._next == NO_LINE:
            self._look()
        if self._next <= self._last and not self._ask():
            return False
        if self._next > self._last:
            self._hold(self.lines)
            self._next = NO_LINE
        return True

    def _look(self) -> None:
        """Find the lines in which the entries of the next reference lie, but for the one that is kept."""
        address = self.base + self.in_ref.coordinate() * self.entry_bytes
        self._next = address // self.line_bytes
        self._last = (address + self.entries * self.entry_bytes - 1) // self.line_bytes
        if self._next == self.line:
            self._next += 1
        self.reused += self._next > self._last

    def _seen(self) -> bool:
        """Return whether the next token is seen, on both inputs if there are two."""
        if self.in_crd is None:
            return self.in_ref.can_pop()
        if not (self.in_ref.can_pop() and self.in_crd.can_pop()):
            return False
        if self.in_ref.control() != self.in_crd.control():
            raise SimulationError(f"{self.name}: in_ref and in_crd must have the same shape")
        return True

    def _ask(self) -> bool:
        """Ask for the next line, if there may be one more on its way."""
        if self.lines - self.come >= self.outstanding or not self.requests.can_push():
            return False
        tag = self.tag_base | self.lines % self.outstanding
        self.requests.push(READ, tag, self._next * self.line_bytes)
        self.line = self._next
        self.lines += 1
        self._next += 1
        return True

    def _hold(self, needs: int) -> None:
        """Take the token, which needs so many of the lines to have come."""
        place = (self._head + self.held) % self.window
        self._kinds[place] = self.in_ref.control()
        self._references[place] = self.in_ref.coordinate()
        self._needs[place] = needs
        self.in_ref.pop()
        if self.in_crd is not None:
            self._coordinates[place] = self.in_crd.coordinate()
            self.in_crd.pop()
        self.held += 1

    def _wait(self, full: Channel | None) -> int:
        """Nothing moved: say for what it waits."""
        if full is not None:
            return self.wait_output(full)
        if self.come < self.lines:
            return self.wait_input(self.replies)
        if self._seen():
            return self.wait_output(self.requests)
        if self.in_crd is not None and self.in_ref.can_pop():
            return self.wait_input(self.in_crd)
        return self.wait_input(self.in_ref)
