# cython: infer_types=True
"""Memory in the loop: what a writer stores, on its way to memory."""

from __future__ import annotations

from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.memory.protocol import REQUEST, WRITE
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.protocol import ANY


class LineWriter(StreamBlock):
    """Writes an entry for each element of a stream to memory, a full line at a time.

    It is one more consumer of the stream that a writer takes, and stalls it where memory does not keep up.

    Interface: ``in_stream``; ``requests`` writes lines. An entry is written for each element (N is one), or
    for each stop, as for segments; done writes what is left of a line.

    Timing: a token a cycle; the request of a line leaves in the cycle of the token that fills it, or of done.

    Counts: ``entries`` and ``lines``.

    Source: a choice of this model.

    Args:
        name: instance name.
        base: byte address of the first entry, the tensor's number in its upper bits
            (``fiberscope.hw.memory.protocol``).
        entry_bytes: of an entry, up to a line.
        line_bytes: of a request, the memory's.
        of_stops: whether stops have entries, not elements.

    Raises:
        ValueError: if an entry is larger than a line.
    """

    PORTS = (Input("in_stream", ANY), Output("requests", REQUEST))
    COUNTERS = ("entries", "lines")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("entries", 48), Signal("lines", 48))

    in_stream: Channel
    requests: Channel

    def __init__(
        self, name: str, base: int, entry_bytes: int, *, line_bytes: int = 64, of_stops: bool = False
    ) -> None:
        super().__init__(name)
        self.base = base
        self.packer = LinePacker(line_bytes, entry_bytes)
        self.of_stops = of_stops
        self.entries = self.lines = 0

    def update(self, now: int) -> int:
        """Take a token, and write the line that it fills or ends."""
        if not self.in_stream.can_pop():
            return self.wait_input(self.in_stream)
        kind = self.in_stream.control()
        if self._writes(kind):
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            self.requests.push(WRITE, 0, self.base + self.packer.line())
            self.lines += 1
        if self._has_entry(kind):
            self.packer.add()
            self.entries += 1
        self.in_stream.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _has_entry(self, kind: int) -> bool:  # C: noexcept
        return kind == STOP if self.of_stops else kind in (DATA, EMPTY)

    def _writes(self, kind: int) -> bool:  # C: noexcept
        """Whether a line is full with this token, or is the last."""
        return self.packer.begun() if kind == DONE else self._has_entry(kind) and self.packer.fills()
