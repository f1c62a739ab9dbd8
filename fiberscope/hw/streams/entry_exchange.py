# cython: infer_types=True
"""A block that replaces entries of an array in memory: it reads each entry, then writes it."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST, TAG_MASK, WRITE
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.protocol import ANY


class EntryExchange(StreamBlock):
    """Replaces the entry that each coordinate of a stream names, as the head of a list when a node is added.

    Interface: coordinates arrive on ``in_stream``; stops and N are popped, and nothing is exchanged for them.
    ``requests`` reads the line of an entry, and writes the line after its reply on ``replies``.

    Timing: one request per cycle; writes go before reads, in the order of the reads. Up to ``outstanding``
    exchanges are in flight. Done is popped after the last write.

    Counts: ``exchanges``.

    Source: a choice of this model, after the linked lists of OuterSPACE (HPCA 2018), Section 4. That several
    blocks may exchange one entry at the same time, without a lock, is a simplification.

    Args:
        base: byte address of the entry of coordinate 0, with the number of the tensor in its upper bits.
        entries: number of entries in a line.
        line_bytes: bytes of a request.
        outstanding: largest number of exchanges in flight.

    Raises:
        SimulationError: during the run, at a reply without a request.
    """

    PORTS = (Input("in_stream", ANY), Input("replies", REPLY), Output("requests", REQUEST))
    COUNTERS: ClassVar[tuple[str, ...]] = ("exchanges",)
    SIGNALS = (*StreamBlock.SIGNALS, Signal("exchanges", 48))

    in_stream: Channel
    replies: Channel
    requests: Channel

    def __init__(
        self, name: str, base: int, *, entries: int, line_bytes: int = 64, outstanding: int = 8
    ) -> None:
        super().__init__(name)
        self.base, self.entries, self.line_bytes = base, entries, line_bytes
        self.outstanding = outstanding
        self.window = ReorderWindow(outstanding)  # the lines requested; an exchange has the slot of its line
        self.exchanges = 0  # number of exchanges whose line was written
        self.addresses = array("q", bytes(8 * outstanding))  # by slot, the address of its line

    def tick(self, now: int) -> int:
        """Accept a reply, and send a request or pop a token."""
        if self.done:
            return self.idle()
        if self.first_input < 0:
            self._look_for_input(now)
        has_moved = self.replies.can_pop()
        if has_moved:
            self.window.receive(self.replies.coordinate() & TAG_MASK)
            self.replies.pop()
        if self._can_write() and self.requests.can_push():
            self._write()
            return self.busy(now + 1)
        if self.in_stream.can_pop():
            kind = self.in_stream.control()
            if kind == DONE and self.window.sent == self.exchanges:
                self.in_stream.pop()
                return self.finish(now)
            if self._accept(kind):
                return self.busy(now + 1)
        return self.busy(now + 1) if has_moved else self._wait()

    def _is_full(self) -> bool:  # C: noexcept
        """Return whether no further exchange may begin before the oldest is written."""
        return self.window.sent - self.exchanges == self.outstanding

    def _can_write(self) -> bool:  # C: noexcept
        """Return whether the line of the oldest exchange has arrived."""
        return self.exchanges < self.window.arrived

    def _write(self) -> None:
        """Write the line of the oldest exchange."""
        slot = self.exchanges % self.outstanding
        self.requests.push(WRITE, slot, self.addresses[slot])
        self.exchanges += 1

    def _accept(self, kind: int) -> bool:
        """Pop a token, and read the line of its entry if it is a coordinate; return whether it was popped."""
        if kind == DONE:
            return False
        if kind == DATA:
            if self._is_full() or not self.requests.can_push():
                return False
            slot = self.window.send()
            self.addresses[slot] = self.base + self.in_stream.coordinate() // self.entries * self.line_bytes
            self.requests.push(READ, slot, self.addresses[slot])
        self.in_stream.pop()
        return True

    def _wait(self) -> int:
        """Return the wait state of a cycle without movement."""
        asks = self.in_stream.can_pop() and self.in_stream.control() == DATA and not self._is_full()
        if self._can_write() or asks:
            return self.wait_output(self.requests)
        return self.wait_input(self.replies if self.exchanges < self.window.sent else self.in_stream)
