# cython: infer_types=True
"""Stop droppers: filters that remove all stops, or the stops of empty fibers."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q18
from fiberscope.hw.streams.tokens import CRD, DONE, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.protocol import Protocol

NO_STOP = -1  # level if there is no stop


class Dropper(StreamBlock):
    """Filter that lets some tokens of a stream pass.

    Interface: a stream of any protocol arrives on ``in_stream`` and leaves on ``out_stream``.

    Args:
        carries: protocol of the stream.
        quirks: see ``StreamBlock``.
    """

    in_stream: Channel
    out_stream: OutputStream

    def __init__(self, name: str, carries: Protocol = CRD, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.ports = (Input("in_stream", carries), output_stream("out_stream", carries))  # C: tuple

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the input and the output of the stream."""
        return self.ports

    def pass_head(self) -> None:  # C: cdef
        """Pass on the head of the input."""
        self.out_stream.forward(self.in_stream)
        self.in_stream.pop()


class StopDropper(Dropper):
    """Drops stops, so that a stream of fibers becomes a stream of points.

    Interface: that of ``Dropper``.

    Timing: one token per cycle.

    Counts: ``dropped`` stops.

    Source: the public simulator (weiya711/sam at 6e477d1), before its accumulators. The option ``kept`` is
    an addition of this model.

    Args:
        name, carries, quirks: see ``Dropper``.
        kept: lowest level of the stops that pass, such as those that end a task; by default no stop passes.
    """

    COUNTERS = ("dropped",)

    def __init__(
        self, name: str, carries: Protocol = CRD, quirks: int = NO_QUIRKS, kept: int = NO_STOP
    ) -> None:
        super().__init__(name, carries, quirks)
        self.kept = kept
        self.dropped = 0

    def update(self, now: int) -> int:
        """Pass on or drop a token."""
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
    """Sends a stream without the stops of empty fibers: of successive stops only the highest is sent.

    Stops before the first other token are not sent, unless that token is done and Q18 is not set.

    ``dropped`` is the number of stops that are not sent, or not sent yet.

    Args:
        stream: the stream to send on.
        quirks: see ``EmptyFiberDropper``.
    """

    def __init__(self, stream: OutputStream, quirks: int) -> None:
        self.stream = stream
        self.quirks = quirks
        self.has_passed_token = False  # whether a token other than a stop has been passed on
        self.level = NO_STOP  # highest level of the stops since that token
        self.dropped = 0

    def offer(self, kind: int, payload: int, reference: int, value: float) -> bool:  # C: cdef
        """Accept the next token of the stream, or send the stop that must precede it.

        Args:
            kind: kind of the token.
            payload: coordinate, reference, word or stop level of the token.
            reference: reference word of the token.
            value: value of the token.

        Returns:
            Whether the token was accepted. If not, a stop was sent; the caller must offer the token again.
        """
        if kind == STOP:
            self.dropped += 1
            self.level = max(self.level, payload)
            return True
        # A held stop leaves before the next token, which the caller offers again in the next cycle
        if self.level != NO_STOP and (self.has_passed_token or (kind == DONE and not self.quirks & Q18)):
            self.stream.push(STOP, self.level)
            self.dropped -= 1
            self.level = NO_STOP
            return False
        # A level that is still held here belongs to stops at the start of the stream: they are dropped
        self.has_passed_token, self.level = True, NO_STOP
        self.stream.push_words(kind, payload, reference, value)
        return True


class EmptyFiberDropper(Dropper):
    """Drops the stops of empty fibers: of successive stops only the highest leaves.

    Interface: that of ``Dropper``. Stops at the start of the stream are dropped. A stream that has only
    empty fibers is reduced to its highest stop and done.

    Timing: a stop takes a cycle in which nothing leaves. In the cycle in which the next token other than a
    stop is visible, the stop leaves; in the cycle after it, that token. Any other token takes one cycle.

    Quirks: Q18: a stream that has only empty fibers is reduced to done.

    Counts: ``dropped`` stops.

    Source: the public simulator (weiya711/sam at 6e477d1).
    """

    merger: StopMerger  # C: hidden; once elaborated

    def elaborate(self) -> None:
        """Look up the streams of the ports, and create the merger of stops."""
        super().elaborate()
        self.merger = StopMerger(self.out_stream, self.quirks)

    def update(self, now: int) -> int:
        """Take a stop, send the stop that is due, or pass on a token."""
        source = self.in_stream
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        # Only an accepted token is popped; a stop that was sent instead leaves the head in place
        if self.merger.offer(kind, source.coordinate(), source.reference(), source.value()):
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)

    def counters(self) -> dict[str, int]:
        """Return the number of dropped stops, and the tokens by kind."""
        return {"dropped": self.merger.dropped, **super().counters()}
