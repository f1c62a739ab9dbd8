# cython: infer_types=True
"""Writes a list to memory a full line at a time: the active list of the next iteration."""

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

    Interface: ``entries`` brings elements, of which each has a place in the list, and a stop behind the last;
    ``requests`` writes lines; ``ends`` tells how many entries a list has once its last line is sent. The next
    list begins where this one did.

    Timing: an entry a cycle; the request of a line leaves in the cycle of the entry that fills it, or of the
    stop.

    Counts: ``entries_taken``; ``lines`` written.

    Source: Graphicionado (MICRO 2016), the active lists that its apply phase writes, in bursts of 64 bytes.

    Args:
        name: instance name.
        base: byte address of a list.
        entry_bytes: of an entry, up to a line.
        port: number of its port at the network to memory.
        line_bytes: of a line.

    Raises:
        ValueError: if an entry is larger than a line.
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
        self.listed = 0  # entries of the present list
        self.entries_taken = self.lines = 0

    def tick(self, now: int) -> int:
        """Take an entry or a stop, and write the line that it fills or ends."""
        if not self.entries.can_pop():
            return self.idle()
        stops = self.entries.control() == STOP
        writes = self.packer.begun() if stops else self.packer.fills()
        if writes and not self.requests.can_push():
            return self.wait_output(self.requests)
        if stops and not self.ends.can_push():
            return self.wait_output(self.ends)
        if writes:
            self.requests.push(WRITE, self.tag, self.base + self.packer.line())
            self.lines += 1
        self._finish() if stops else self._add()
        self.entries.pop()
        return self.busy(now + 1)

    def _add(self) -> None:
        self.packer.add()
        self.listed += 1
        self.entries_taken += 1

    def _finish(self) -> None:
        self.ends.push(0, 0, self.listed)
        self.packer.begin()
        self.listed = 0
