# cython: infer_types=True
"""The list writer: writes a list, such as the active list of the next iteration, to memory in full lines."""

from __future__ import annotations

from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.memory.protocol import PORT_SHIFT, REQUEST, WRITE
from fiberscope.hw.stream import STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.protocol import Protocol

LISTED = Protocol("list entry", control="kind", coordinate="id")
LIST_END = Protocol("list end", reference="entries")


class ListWriter(Component):
    """Packs the entries of a list into lines and writes each line when it is full.

    Interface: ``entries`` delivers the entries of a list, and a stop after the last entry. Write requests for
    lines leave on ``requests``. When the request of the last line is sent, a token on ``ends`` gives the
    number of entries of the list. The next list is written to the same address. An empty list writes no line.

    Timing: one entry per cycle. The request of a line leaves in the cycle in which the entry that fills the
    line is taken, or the stop.

    Accounting: busy while a token is taken; waiting for ``requests`` if the token completes a line that
    cannot leave; waiting for ``ends`` if a stop cannot; idle without a token.

    Counters: ``entries_taken`` counts entries; ``lines`` counts lines written.

    Source: Graphicionado (MICRO 2016), the active lists that its apply phase writes, in bursts of 64 bytes.

    Args:
        base: byte address of a list.
        entry_bytes: bytes of an entry, at most ``line_bytes``.
        port: number of this writer's port at the network to memory.

    Raises:
        ValueError: if ``entry_bytes`` is not from 1 to ``line_bytes``.
    """

    PORTS = (Input("entries", LISTED), Output("requests", REQUEST), Output("ends", LIST_END))
    COUNTERS = ("entries_taken", "lines")
    SIGNALS = (Signal("entries_taken", 48), Signal("lines", 48))

    entries: Channel
    requests: Channel
    ends: Channel

    def __init__(
        self, name: str, base: int, entry_bytes: int, *, port: int = 0, line_bytes: int = 64
    ) -> None:
        super().__init__(name)
        self.base = base
        self.tag = port << PORT_SHIFT
        self.packer = LinePacker(line_bytes, entry_bytes)
        self.entry_count = 0  # number of entries of the current list
        self.entries_taken = self.lines = 0

    def tick(self, now: int) -> int:
        """Take an entry or a stop, and write the line that the token fills or ends."""
        if not self.entries.can_pop():
            return self.idle()
        is_stop = self.entries.control() == STOP
        completes_line = self.packer.has_partial_line() if is_stop else self.packer.completes_line()
        if completes_line and not self.requests.can_push():
            return self.wait_output(self.requests)
        if is_stop and not self.ends.can_push():
            return self.wait_output(self.ends)
        if completes_line:
            self.requests.push(WRITE, self.tag, self.base + self.packer.line_offset())
            self.lines += 1
        self._finish() if is_stop else self._add()
        self.entries.pop()
        return self.busy(now + 1)

    def _add(self) -> None:
        self.packer.add()
        self.entry_count += 1
        self.entries_taken += 1

    def _finish(self) -> None:
        self.ends.push(0, 0, self.entry_count)
        self.packer.reset()
        self.entry_count = 0
