"""The root of a graph: the block that starts the streams of an operand."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import DATA, DONE, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY


class Root(StreamBlock):
    """Sends the reference 0, which names the only outermost fiber of a tensor, and then done.

    Interface: ``out_ref`` carries a stream of depth -1: ``0, D``. If the optional input ``after`` is
    connected, the root pops one token there, of any kind, and sends the reference in the same cycle.

    Timing: without ``after``, the root sends the reference in cycle 0 and done in cycle 1. The next blocks
    see their first token in the kernel's cycle 1, which corresponds to cycle 0 of the public simulator.
    """

    PORTS = (Input("after", ANY, optional=True), output_stream("out_ref", REF))

    after: Channel | None
    out_ref: OutputStream

    def update(self, now: int) -> int:
        """Send the reference, or done."""
        if self.out_ref.tokens[DATA] == 0:
            if self.after is not None:
                if not self.after.can_pop():
                    return self.wait_input(self.after)
                self.after.pop()
            self.out_ref.push(DATA, 0)
            return self.busy(now + 1)
        self.out_ref.push(DONE)
        return self.finish(now)
