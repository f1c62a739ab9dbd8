# cython: infer_types=True
"""Droppers of stops: of all of them, or of those of empty fibers."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q18
from fiberscope.hw.streams.tokens import CRD, DONE, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.protocol import Protocol

NO_STOP = -1


class Dropper(StreamBlock):
    """Filter that lets some tokens of a stream pass.

    Interface: a stream of any kind comes in on ``in_stream`` and leaves on ``out_stream``.

    Args:
        name: instance name.
        carries: what the stream carries.
        quirks: see ``StreamBlock``.
    """

    in_stream: Channel
    out_stream: OutputStream

    def __init__(self, name: str, carries: Protocol = CRD, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.ports = (Input("in_stream", carries), output_stream("out_stream", carries))  # C: tuple

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Those of the stream."""
        return self.ports

    def pass_head(self) -> None:  # C: cdef
        """Let the head through."""
        source = self.in_stream
        self.out_stream.push(source.control(), source.coordinate(), source.value())
        source.pop()


class StopDropper(Dropper):
    """Drops stops: of fibers only their points are left.

    Interface: that of ``Dropper``. Timing: one token a cycle. Counts: ``dropped`` stops.

    Source: the public simulator (weiya711/sam at 6e477d1), in front of its accumulators; that some stay is
    ours.

    Args:
        name, carries, quirks: as of ``Dropper``.
        kept: the level from which on stops stay, as those do that end a task; without it all go.
    """

    COUNTERS = ("dropped",)

    def __init__(self, name: str, carries: Protocol = CRD, quirks: int = CLEAN, kept: int = NO_STOP) -> None:
        super().__init__(name, carries, quirks)
        self.kept = kept
        self.dropped = 0

    def update(self, now: int) -> int:
        """Pass or drop a token."""
        source = self.in_stream
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if kind == STOP and (self.kept == NO_STOP or source.coordinate() < self.kept):
            self.dropped += 1
            source.pop()
        else:
            self.pass_head()
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class StopMerger:  # C: final
    """Sends a stream without the stops of empty fibers: of stops behind one another the highest is left.

    Args:
        stream: where it is sent.
        quirks: see ``EmptyFiberDropper``.
    """

    def __init__(self, stream: OutputStream, quirks: int) -> None:
        self.stream = stream
        self.quirks = quirks
        self.begun = False  # anything but a stop has come
        self.level = NO_STOP  # the highest of the stops since
        self.dropped = 0

    def offer(self, kind: int, payload: int, value: float) -> bool:  # C: cdef
        """Take a token, or send the stop that belongs in front of it: then it is still to be offered."""
        if kind == STOP:
            self.dropped += 1
            self.level = max(self.level, payload)
            return True
        if self.level != NO_STOP and (self.begun or (kind == DONE and not self.quirks & Q18)):
            self.stream.push(STOP, self.level)
            self.dropped -= 1
            self.level = NO_STOP
            return False
        self.begun, self.level = True, NO_STOP
        self.stream.push(kind, payload, value)
        return True


class EmptyFiberDropper(Dropper):
    """Drops the stops of empty fibers: of several stops behind one another the highest is left.

    Interface: that of ``Dropper``. Stops at the start of the stream are dropped. A stream of empty fibers
    only leaves as its highest stop.

    Timing: a stop takes a cycle in which nothing leaves. When the next token is seen that is none, the stop
    leaves, and in the next cycle that token. Any other token takes one cycle.

    Quirks: Q18, of a stream of empty fibers only done is left.

    Counts: ``dropped`` stops.

    Source: the public simulator (weiya711/sam at 6e477d1).
    """

    merger: StopMerger  # C: hidden; once elaborated

    def elaborate(self) -> None:
        """Fetch the streams."""
        super().elaborate()
        self.merger = StopMerger(self.out_stream, self.quirks)

    def update(self, now: int) -> int:
        """Take a stop, let it go, or let through what is behind it."""
        source = self.in_stream
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if self.merger.offer(kind, source.coordinate(), source.value()):
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)

    def counters(self) -> dict[str, int]:
        """Stops that have been dropped, and tokens by kind."""
        return {"dropped": self.merger.dropped, **super().counters()}
