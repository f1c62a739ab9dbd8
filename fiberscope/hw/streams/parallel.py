# cython: infer_types=True
"""Parallelizer and serializer: a stream dealt to several, and taken back in its order."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol


def check_ways(name: str, ways: int, block: int, span: int) -> None:
    """Refuse numbers out of their range.

    Raises:
        ValueError: naming the number.
    """
    for quantity, number, least in (("ways", ways, 1), ("a block", block, 1), ("a span", span, 0)):
        if number < least:
            raise ValueError(f"{name}: {quantity} must be at least {least}, not {number}")


class Scatter(StreamBlock):  # C: open; as many outputs as there are ways
    """Deals the elements of each fiber to several streams.

    Interface: a stream on ``in_crd``, which may be of any kind where it is dealt by count, and if connected
    one of the same shape on ``in_ref``. They leave, dealt alike, on ``out_crd0``, ``out_ref0`` and so on.
    Each way gets all stops, and done. Dealt by count, a way gets ``block`` elements, then the next one does,
    from the first way on in each fiber; dealt by coordinate, way w gets those of w times ``span`` on, the
    last way all others.

    Timing: a token a cycle.

    Source: SAM (ASPLOS 2023), Section 4.4; the scatter of comal (stanford-ppl), which deals one element by
    one.

    Args:
        name: instance name.
        ways: streams that it is dealt to.
        block: elements that a way gets in turn.
        span: coordinates of a way; 0: it is dealt by count.
        carries: what the stream on ``in_crd`` carries.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: in the run, if the streams have not the same shape, naming the cycle and both tokens.
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
        quirks: int = CLEAN,
    ) -> None:
        super().__init__(name, quirks)
        check_ways(name, ways, block, span)
        self.ways, self.block, self.span = ways, block, span
        self.dealt = 0  # elements of the fiber so far
        inputs = (Input("in_crd", carries), Input("in_ref", REF, optional=True))
        self.ports: tuple[Port, ...] = inputs
        for way in range(ways):
            self.ports += (output_stream(f"out_crd{way}", carries), output_stream(f"out_ref{way}", REF))

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, as many as there are ways."""
        return self.ports

    def update(self, now: int) -> int:
        """Deal one token."""
        crd, ref = self.in_crd, self.in_ref
        if not crd.can_pop():
            return self.wait_input(crd)
        if ref is not None:
            if not ref.can_pop():
                return self.wait_input(ref)
            self._check(crd, ref, now)
        kind = crd.control()
        if kind in (DATA, EMPTY):
            self._send(self._way(crd.coordinate()))
            self.dealt += 1
        else:
            for way in range(self.ways):
                self._send(way)
            self.dealt = 0
        crd.pop()
        if ref is not None:
            ref.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _way(self, coordinate: int) -> int:
        """Whose turn it is, or whose coordinate."""
        if self.span:
            return min(coordinate // self.span, self.ways - 1)
        return self.dealt // self.block % self.ways

    def _send(self, way: int) -> None:
        """Send the heads to one way."""
        stream: OutputStream = self.streams[2 * way]
        stream.push(self.in_crd.control(), self.in_crd.coordinate(), self.in_crd.value())
        if self.in_ref is not None:
            stream = self.streams[2 * way + 1]
            stream.push(self.in_ref.control(), self.in_ref.coordinate())

    def _check(self, crd: Channel, ref: Channel, now: int) -> None:
        ends = crd.control() in (STOP, DONE) or ref.control() in (STOP, DONE)
        if ends and (crd.control() != ref.control() or crd.coordinate() != ref.coordinate()):
            tokens = [text(end.control(), end.coordinate(), end.value(), CRD) for end in (crd, ref)]
            raise SimulationError(
                f"cycle {now}, {self.name}: {tokens[0]} on in_crd and {tokens[1]} on in_ref in the same "
                "place: the streams must have the same shape"
            )
