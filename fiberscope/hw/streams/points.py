# cython: infer_types=True
"""Points into fibers: pairs of coordinates, sorted, as two streams with stops."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import Q18
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class FiberMaker:  # C: final
    """Sends points as fibers, a token a cycle: the stop of a fiber comes with the first point of the next.

    Args:
        outer: where outer coordinates are sent.
        inner: where inner coordinates are sent.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, outer: OutputStream, inner: OutputStream, quirks: int) -> None:
        self.outer_stream = outer
        self.inner_stream = inner
        self.open = False  # a fiber has begun and not ended
        self.outer = 0  # its coordinate
        self.ends_all = bool(quirks & Q18)  # nothing more is to be sent before done

    def offer(self, kind: int, outer: int, inner: int) -> int:  # C: cdef
        """Send the next token of a point or of done; its kind, a stop if the point is still to come."""
        if kind == DONE:
            return self._end()
        if self.open and outer != self.outer:
            self.open = False
            self.inner_stream.push(STOP, 0)
            return STOP
        if not self.open:
            self.outer_stream.push(DATA, outer)
            self.open, self.outer, self.ends_all = True, outer, False
        self.inner_stream.push(DATA, inner)
        return DATA

    def _end(self) -> int:
        if self.ends_all:
            self.outer_stream.push(DONE)
            self.inner_stream.push(DONE)
            return DONE
        self.open, self.ends_all = False, True
        self.outer_stream.push(STOP, 0)
        self.inner_stream.push(STOP, 1)
        return STOP


class PointToFiber(StreamBlock):
    """Makes fibers of points.

    Interface: the coordinates of points, sorted, on ``in_outer`` and ``in_inner``, without stops; an outer
    fiber of depth 0 leaves on ``out_outer``, one of depth 1 on ``out_inner``. No point at all gives an empty
    fiber.

    Timing: a point takes a cycle; in front of one with another outer coordinate a cycle sends the inner stop.
    At the end a cycle sends the last stops, and one more done.

    Quirks: Q18, no point at all gives done alone.

    Source: the public simulator (weiya711/sam at 6e477d1), within its accumulators.

    Raises:
        SimulationError: in the run, if there is a stop among the points.
    """

    PORTS = (
        Input("in_outer", CRD),
        Input("in_inner", CRD),
        output_stream("out_outer", CRD),
        output_stream("out_inner", CRD),
    )

    in_outer: Channel
    in_inner: Channel
    out_outer: OutputStream
    out_inner: OutputStream
    maker: FiberMaker  # C: hidden

    def elaborate(self) -> None:
        """Fetch the streams."""
        super().elaborate()
        self.maker = FiberMaker(self.out_outer, self.out_inner, self.quirks)

    def update(self, now: int) -> int:
        """Send the next token of a point."""
        outer, inner = self.in_outer, self.in_inner
        if not outer.can_pop():
            return self.wait_input(outer)
        if not inner.can_pop():
            return self.wait_input(inner)
        kind = outer.control()
        if kind != inner.control() or kind not in (DATA, DONE):
            self._refuse(now)
        sent = self.maker.offer(kind, outer.coordinate(), inner.coordinate())
        if sent != STOP:
            outer.pop()
            inner.pop()
        return self.finish(now) if sent == DONE else self.busy(now + 1)

    def _refuse(self, now: int) -> None:
        written = [text(end.control(), end.coordinate(), 0.0, CRD) for end in (self.in_outer, self.in_inner)]
        raise SimulationError(
            f"cycle {now}, {self.name}: {written[0]} on in_outer and {written[1]} on in_inner are no point"
        )
