# cython: infer_types=True
"""The parallelizer: a block that distributes the elements of a stream to several ways."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.protocol import Protocol


def check_ways(name: str, ways: int, block: int, span: int) -> None:
    """Check the arguments of a parallelizer or serializer.

    Args:
        name: instance name, for the message.
        ways: number of ways, at least 1.
        block: number of consecutive elements of a way, at least 1.
        span: number of coordinates of a way, at least 0.

    Raises:
        ValueError: if a number is out of its range; the message has the number.
    """
    for quantity, number, minimum in (("ways", ways, 1), ("a block", block, 1), ("a span", span, 0)):
        if number < minimum:
            raise ValueError(f"{name}: {quantity} must be at least {minimum}, not {number}")


class Scatter(StreamBlock):
    """Distributes the elements of each fiber to several ways.

    Interface: ``in_crd`` carries a stream, ``in_ref``, if connected, a second stream of the same shape. The
    elements for way w leave on ``out_crd<w>`` and ``out_ref<w>``. All ways get all stops, and done.

    - With ``span`` 0, elements are distributed by count: in each fiber the first way gets ``block`` elements,
      then the second, and so on in turn. The stream on ``in_crd`` can then carry any kind of token.
    - With another ``span``, elements are distributed by coordinate: way w gets the coordinates from w *
      ``span`` to (w + 1) * ``span`` - 1. The last way also gets all larger coordinates, and way 0 gets N.

    Timing: one token a cycle. The block stalls while any output is full, whatever the way of its token.

    Source: SAM (ASPLOS 2023), Section 4.4; the scatter of comal (stanford-ppl), which has blocks of one
    element.

    Args:
        ways: number of ways, at least 1.
        block: number of consecutive elements of a way, at least 1.
        span: number of coordinates of a way; 0 to distribute by count.
        carries: protocol of the stream on ``in_crd``.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: during the run, if the streams differ in shape; the message has the cycle and both
            tokens.
    """

    in_crd: Channel
    in_ref: Channel | None

    def __init__(
        self,
        name: str,
        ways: int,
        block: int = 1,
        span: int = 0,
        carries: Protocol = CRD,
        quirks: int = NO_QUIRKS,
    ) -> None:
        super().__init__(name, quirks)
        check_ways(name, ways, block, span)
        self.ways, self.block, self.span = ways, block, span
        self.element_count = 0  # number of elements of the current fiber so far
        inputs = (Input("in_crd", carries), Input("in_ref", REF, optional=True))
        self.ports: tuple[Port, ...] = inputs
        for way in range(ways):
            self.ports += (output_stream(f"out_crd{way}", carries), output_stream(f"out_ref{way}", REF))

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, whose number depends on the number of ways."""
        return self.ports

    def update(self, now: int) -> int:
        """Send an element to its way, or a stop or done to all ways."""
        crd, ref = self.in_crd, self.in_ref
        if not crd.can_pop():
            return self.wait_input(crd)
        if ref is not None:
            if not ref.can_pop():
                return self.wait_input(ref)
            self.check_shape(self.inputs, now)
        kind = crd.control()
        # The coordinate word of an N is 0, so that with a span an N goes to way 0.
        if kind in (DATA, EMPTY):
            self._send(self._way(crd.coordinate()))
            self.element_count += 1
        else:
            for way in range(self.ways):
                self._send(way)
            self.element_count = 0
        crd.pop()
        if ref is not None:
            ref.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _way(self, coordinate: int) -> int:
        """Return the way of the next element, by coordinate or by count."""
        if self.span:
            return min(coordinate // self.span, self.ways - 1)
        return self.element_count // self.block % self.ways

    def _send(self, way: int) -> None:
        """Send the heads of the inputs to a way."""
        # The ports declare the two outputs of a way after each other, way by way.
        stream: OutputStream = self.streams[2 * way]
        stream.forward(self.in_crd)
        if self.in_ref is not None:
            stream = self.streams[2 * way + 1]
            stream.forward(self.in_ref)
