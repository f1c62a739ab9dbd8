# cython: infer_types=True
"""Blocks that convert sorted points, pairs of coordinates, to two streams of fibers."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import Q18
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class FiberMaker:  # C: final
    """Sends sorted points as fibers, one inner token for each call.

    The stop of a fiber is sent when the first point of the next fiber, or done, is offered.

    Args:
        outer: output of the outer coordinates.
        inner: output of the inner coordinates.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, outer: OutputStream, inner: OutputStream, quirks: int) -> None:
        self.outer_stream = outer
        self.inner_stream = inner
        self.in_fiber = False  # whether a fiber has started and not ended
        self.outer = 0  # outer coordinate of this fiber
        self.can_send_done = bool(quirks & Q18)  # whether no stops must precede done: they were sent, or Q18

    def offer(self, kind: int, outer: int, inner: int) -> int:  # C: cdef
        """Send a point or done, or a stop that must precede it.

        Args:
            kind: ``DATA`` or ``DONE``.
            outer: outer coordinate of the point.
            inner: inner coordinate of the point.

        Returns:
            The kind of the token sent. If it is ``STOP``, the caller must offer the same point or done again.
        """
        if kind == DONE:
            return self._end_list()
        if self.in_fiber and outer != self.outer:
            self.in_fiber = False
            self.inner_stream.push(STOP, 0)
            return STOP
        if not self.in_fiber:
            self.outer_stream.push(DATA, outer)
            self.in_fiber, self.outer, self.can_send_done = True, outer, False
        self.inner_stream.push(DATA, inner)
        return DATA

    def _end_list(self) -> int:
        """Send the last stops, which end the fiber and the list of fibers, or done after them."""
        if self.can_send_done:
            self.outer_stream.push(DONE)
            self.inner_stream.push(DONE)
            return DONE
        self.in_fiber, self.can_send_done = False, True
        self.outer_stream.push(STOP, 0)
        self.inner_stream.push(STOP, 1)
        return STOP


class PointToFiber(StreamBlock):
    """Converts sorted points to fibers.

    Interface: ``in_outer`` and ``in_inner`` carry the coordinates of points, sorted, without stops. A stream
    of depth 0 leaves on ``out_outer``, and a stream of depth 1 on ``out_inner``. Without any point, the block
    sends an empty fiber.

    Timing: a point takes a cycle. If its outer coordinate differs from the last one, the inner stop takes a
    cycle before the point. At the end the last stops take a cycle, and done takes another.

    Quirks: Q18, without any point the block sends only done.

    Source: the public simulator (weiya711/sam at 6e477d1), in its accumulators.

    Raises:
        SimulationError: during the run, if the heads are neither two coordinates nor both done.
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
        """Look up the streams, and create the maker of the output fibers."""
        super().elaborate()
        self.maker = FiberMaker(self.out_outer, self.out_inner, self.quirks)

    def update(self, now: int) -> int:
        """Send the next point, done, or a stop that must precede it."""
        outer, inner = self.in_outer, self.in_inner
        if not outer.can_pop():
            return self.wait_input(outer)
        if not inner.can_pop():
            return self.wait_input(inner)
        kind = outer.control()
        if kind != inner.control() or kind not in (DATA, DONE):
            self._refuse(now)
        sent_kind = self.maker.offer(kind, outer.coordinate(), inner.coordinate())
        if sent_kind != STOP:
            outer.pop()
            inner.pop()
        return self.finish(now) if sent_kind == DONE else self.busy(now + 1)

    def _refuse(self, now: int) -> None:
        tokens = [
            format_token(channel.control(), channel.coordinate(), 0.0, CRD)
            for channel in (self.in_outer, self.in_inner)
        ]
        raise SimulationError(
            f"cycle {now}, {self.name}: {tokens[0]} on in_outer and {tokens[1]} on in_inner are no point"
        )
