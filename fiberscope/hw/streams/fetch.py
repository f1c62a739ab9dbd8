# cython: infer_types=True
"""Fetch blocks, which hold each reference of a stream until memory has delivered its entries."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.kept import NO_LINE
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.protocol import ANY


class Fetch(StreamBlock):
    """Holds each reference of a stream back until memory has brought the entries that it names.

    A block reads its array as if the array were local. A ``Fetch`` next to the block models the memory in
    which the array lies. Before an array of values, each reference waits for its value. Before a scanner,
    it waits for the two segments that tell where its fiber begins and ends. After a scanner, it waits for
    its coordinate.

    Interface: references on ``in_ref`` leave on ``out_ref`` in the same order. Stops, done and N need no
    line, and wait only for the tokens before them. If ``in_crd`` is connected, its stream has the shape of
    the references and leaves on ``out_crd`` in step with them. ``requests`` reads lines; their ``replies``
    can arrive in any order. Reference r names the ``entries`` entries from byte ``base + r * entry_bytes``
    on. The line that was requested last is kept, and is not requested again.

    Timing: in each cycle the block can pop one token, request one line, accept one reply and send one
    token. A token whose entries lie in two new lines is popped when the second line is requested. A token
    leaves when all of its lines have arrived, at the earliest in the cycle after the one in which it was
    popped. Up to ``window`` tokens are held, and up to ``outstanding`` lines are in flight. A line that
    arrives before an earlier line counts as in flight until the earlier line has arrived. Requests and
    replies continue while the outputs have no free slot.

    Counts: ``lines`` requested, and ``reused``, the number of references that needed no request.

    Source: a choice of this model; SAM (ASPLOS 2023) does not define the memory.

    Args:
        base: byte address of entry 0, with the number of the tensor in its upper bits
            (``fiberscope.hw.memory.protocol``).
        line_bytes: bytes of a request, the line size of the memory.
        entries: number of entries that each reference names, 2 for segments.
        window: largest number of tokens held.
        outstanding: largest number of lines in flight, see above.
        port: port number of the block at the network to the memory.

    Raises:
        ValueError: if ``entry_bytes``, ``line_bytes``, ``entries``, ``window`` or ``outstanding`` is below
            1.
        SimulationError: during the run, if the two streams differ in shape, or at a reply without a request.
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
        for quantity, number in (numbers | {"window": window, "outstanding": outstanding}).items():
            if number < 1:
                raise ValueError(f"{name}: {quantity} must be at least 1, not {number}")
        self.base = base
        self.entry_bytes = entry_bytes
        self.line_bytes = line_bytes
        self.entries = entries
        self.window = window
        self.tag_base = port << PORT_SHIFT
        self.line = NO_LINE  # the line that was requested last
        self.line_window = ReorderWindow(outstanding)  # the lines requested, without their data
        self.lines = self.reused = 0
        self.held = self._head = 0
        self._pair: list[Channel] = []  # in_ref and in_crd, if both are connected
        self._next_line = NO_LINE  # next line that the input's head needs, ``NO_LINE`` if not yet computed
        self._last_line = NO_LINE  # last line that the input's head needs
        self._kinds, self._references, self._coordinates, self._needed_lines = (
            array("q", bytes(8 * window)) for _ in range(4)
        )

    def elaborate(self) -> None:
        """Look up the channels of the ports."""
        super().elaborate()
        if self.in_crd is not None:
            self._pair = [self.in_ref, self.in_crd]

    def tick(self, now: int) -> int:
        """Accept a reply, send a token, and pop a token or request a line."""
        if self.done:
            return self.idle()
        if self.first_input < 0:
            self._look_for_input(now)
        has_moved = self._receive()
        full_channel = self._first_full() if self._is_ready() else None  # C: Channel
        if self._is_ready() and full_channel is None:
            if self._send() == DONE:
                return self.finish(now)
            has_moved = True
        if self._accept(now) or has_moved:
            return self.busy(now + 1)
        return self._wait(full_channel)

    def _is_ready(self) -> bool:  # C: noexcept
        """Return whether all lines of the oldest token have arrived."""
        return self.held > 0 and self._needed_lines[self._head] <= self.line_window.arrived

    def _receive(self) -> bool:
        """Accept a reply; return whether there was one."""
        if not self.replies.can_pop():
            return False
        self.line_window.receive(self.replies.coordinate() & TAG_MASK)
        self.replies.pop()
        return True

    def _send(self) -> int:
        """Send the oldest token; return its kind."""
        slot = self._head
        kind = self._kinds[slot]
        self.out_ref.push(kind, self._references[slot])
        self.out_crd.push(kind, self._coordinates[slot])
        self.held -= 1
        self._head = slot + 1 if slot + 1 < self.window else 0
        return kind

    def _accept(self, now: int) -> bool:
        """Request a line that the next token needs, or pop the token; return whether either was done."""
        if self.held == self.window or not self._is_visible():
            return False
        if self.in_crd is not None:
            self.check_shape(self._pair, now)
        if self.in_ref.control() != DATA:
            self._enqueue(0)
            return True
        if self._next_line == NO_LINE:
            self._find_lines()
        if self._next_line <= self._last_line and not self._request_line():
            return False
        if self._next_line > self._last_line:
            self._enqueue(self.lines)  # a kept line may be in flight, and is one of these lines
            self._next_line = NO_LINE
        return True

    def _find_lines(self) -> None:
        """Compute the lines that the next reference needs, without the line that is kept."""
        address = self.base + self.in_ref.coordinate() * self.entry_bytes
        self._next_line = address // self.line_bytes
        self._last_line = (address + self.entries * self.entry_bytes - 1) // self.line_bytes
        if self._next_line == self.line:
            self._next_line += 1
        self.reused += self._next_line > self._last_line

    def _is_visible(self) -> bool:
        """Return whether the next token is visible, on both inputs if both are connected."""
        return self.in_ref.can_pop() and (self.in_crd is None or self.in_crd.can_pop())

    def _request_line(self) -> bool:
        """Request the next line if one more may be in flight; return whether it was requested."""
        if not self.line_window.has_free_slot() or not self.requests.can_push():
            return False
        tag = self.tag_base | self.line_window.send()
        self.requests.push(READ, tag, self._next_line * self.line_bytes)
        self.line = self._next_line
        self.lines += 1
        self._next_line += 1
        return True

    def _enqueue(self, needed_lines: int) -> None:
        """Pop the token into the window; it can leave after the first ``needed_lines`` lines have arrived."""
        slot = (self._head + self.held) % self.window
        self._kinds[slot] = self.in_ref.control()
        self._references[slot] = self.in_ref.coordinate()
        self._needed_lines[slot] = needed_lines
        self.in_ref.pop()
        if self.in_crd is not None:
            self._coordinates[slot] = self.in_crd.coordinate()
            self.in_crd.pop()
        self.held += 1

    def _wait(self, full_channel: Channel | None) -> int:
        """Return the wait state of a cycle without movement; ``full_channel`` is a full output or None."""
        if full_channel is not None:
            return self.wait_output(full_channel)
        if self.line_window.in_flight() > 0:
            return self.wait_input(self.replies)
        if self._is_visible():
            return self.wait_output(self.requests)
        if self.in_crd is not None and self.in_ref.can_pop():
            return self.wait_input(self.in_crd)
        return self.wait_input(self.in_ref)
