"""Serializers: blocks that join the streams of several ways, such as copies of a block, into one stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.parallel import check_ways
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, REF, STOP, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

NO_WAY = -1


class WayJoiner(StreamBlock):
    """Base of blocks that pop elements from one way at a time, and stops from all ways in the same cycle.

    Args:
        ways: number of ways, at least 1.
        array: name of the array of input ports, one for each way.
        carries: protocol of these ports.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if ``ways`` is less than 1.
        SimulationError: when built, if the number of connected inputs is not ``ways``.
    """

    def __init__(self, name: str, ways: int, array: str, carries: Protocol, quirks: int) -> None:
        super().__init__(name, quirks)
        check_ways(name, ways, 1, 0)  # a joiner has neither blocks nor spans: 1 and 0 pass the check
        self.ways, self.array, self.carries = ways, array, carries
        self.sources: list[Channel] = []
        self.ports: tuple[Port, ...] = ()

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports of the block."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if the number of connected inputs is not ``ways``.
        """
        super().elaborate()
        self.sources = getattr(self, self.array)
        if len(self.sources) != self.ways:
            raise SimulationError(f"{self.name} has {self.ways} ways, but {len(self.sources)} {self.array}")

    def pop_all(self, ways: Iterable[int], kind: int, level: int, now: int) -> None:
        """Pop a stop or done from several ways.

        Args:
            ways: numbers of the ways.
            kind: ``STOP`` or ``DONE``.
            level: level of the stop; 0 for done.
            now: current cycle.

        Raises:
            SimulationError: if the head of one of the ways is another token.
        """
        for way in ways:
            source = self.sources[way]
            if source.control() != kind or source.coordinate() != level:
                self.refuse(way, str(format_token(kind, level, 0.0, CRD)), now)
            source.pop()

    def refuse(self, way: int, expected: str, now: int) -> NoReturn:
        """Report that the head of a way is not the token that must come next.

        Args:
            way: number of the way.
            expected: description of the token that must come next.
            now: current cycle.

        Raises:
            SimulationError: always.
        """
        source = self.sources[way]
        token_text = format_token(source.control(), source.coordinate(), source.value(), self.carries)
        raise SimulationError(
            f"cycle {now}, {self.name}: {token_text} on {self.array}[{way}] instead of {expected}"
        )


class Merge(WayJoiner):
    """Merges the sorted coordinates of several ways into one stream, and sends the way of each coordinate.

    Interface: way i sends coordinates on ``in_crd[i]``. The streams of all ways have the same stops, and no
    coordinate of a fiber appears in two ways, which the block does not check. The coordinates of all ways
    leave, sorted, on ``out_crd``. For each coordinate, the number of its way leaves on ``out_ref``.

    Timing: one token a cycle, in the cycles in which all ways show a token.

    Source: the merge of n sorted streams in the public simulator's branch ``reorder_block``
    (weiya711/sam).

    Args:
        ways: number of streams to merge.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: during the run, if the ways have different stops; the message has the cycle and the
            token.
    """

    in_crd: list[Channel]
    out_crd: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, ways: int, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, ways, "in_crd", CRD, quirks)
        inputs = (Input("in_crd", CRD, array=True),)
        self.ports = (*inputs, output_stream("out_crd", CRD), output_stream("out_ref", REF))

    def update(self, now: int) -> int:
        """Send the smallest coordinate, or the common stop of all ways."""
        for source in self.sources:
            if not source.can_pop():
                return self.wait_input(source)
        way = self._smallest_way()
        # Without a coordinate, the head of way 0 is the common stop or done; ``pop_all`` compares the others
        source = self.sources[max(way, 0)]
        kind, payload = source.control(), source.coordinate()
        self.out_crd.push(kind, payload)
        self.out_ref.push(kind, payload if way == NO_WAY else way)
        if way == NO_WAY:
            self.pop_all(range(self.ways), kind, payload, now)
        else:
            source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _smallest_way(self) -> int:
        """Return the way with the smallest coordinate; ``NO_WAY`` if no head is a coordinate."""
        smallest_coordinate, smallest_way = 0, NO_WAY
        for way in range(self.ways):
            source = self.sources[way]
            if source.control() == DATA and (
                smallest_way == NO_WAY or source.coordinate() < smallest_coordinate
            ):
                smallest_coordinate, smallest_way = source.coordinate(), way
        return smallest_way


class Serializer(WayJoiner):
    """Joins the elements of several ways into one stream, in the order that a ``Merge`` gives.

    Interface: ``in_ref`` carries the number of the way of each element. Way i sends its elements on
    ``in_stream[i]``, a stream that is ``depth`` levels deeper than ``in_ref``. With depth 0 an element is a
    token, otherwise it is the fiber or list up to its stop. The elements leave on ``out_stream``, with the
    stops that a single stream of all elements has.

    Timing: one token a cycle. The stop of an element leaves once the next token of ``in_ref`` is known,
    because that token decides whether the stop also ends a list.

    Args:
        ways: number of streams to join.
        depth: number of loops within an element; 0 if an element is a token.
        carries: protocol of the streams.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if ``ways`` is less than 1, or ``depth`` less than 0.
        SimulationError: during the run, if the way of the next element shows another token, or a way lacks
            the stop of the list; the message has the cycle and the token.
    """

    in_ref: Channel
    in_stream: list[Channel]
    out_stream: OutputStream

    def __init__(
        self, name: str, ways: int, depth: int = 0, carries: Protocol = CRD, quirks: int = NO_QUIRKS
    ) -> None:
        super().__init__(name, ways, "in_stream", carries, quirks)
        if depth < 0:
            raise ValueError(f"{name}: a depth must be at least 0, not {depth}")
        self.depth = depth
        self.way = NO_WAY  # way of the current element
        self.owes_stop = False  # whether the stop of the last element has not been sent
        self.has_ended_list = [False] * ways  # whether each way has ended the current list of elements
        inputs = (Input("in_ref", REF), Input("in_stream", carries, array=True))
        self.ports = (*inputs, output_stream("out_stream", carries))

    def update(self, now: int) -> int:
        """Send the next token of the current element, or the stop of the last element."""
        if self.way == NO_WAY and not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        if self.way == NO_WAY and self.in_ref.control() != DATA:
            return self._end_list(now)
        if self.way == NO_WAY:
            self._start_element()
            # Another element follows in the list: the last element ends alone
            if self.owes_stop:
                self.owes_stop = False
                self.out_stream.push(STOP, self.depth - 1)
                return self.busy(now + 1)
        source = self.sources[self.way]
        if not source.can_pop():
            return self.wait_input(source)
        self._forward(source, now)
        return self.busy(now + 1)

    def _start_element(self) -> None:
        self.way = self.in_ref.coordinate()
        self.in_ref.pop()

    def _forward(self, source: Channel, now: int) -> None:
        """Move a token of the current element to the output."""
        kind, level = source.control(), source.coordinate()
        if kind == DONE or self.has_ended_list[self.way] or (kind == STOP and not self.depth):
            self.refuse(self.way, "an element", now)
        elif kind != STOP:
            self.out_stream.forward(source)
            # Without a loop, each token is a whole element
            if not self.depth:
                self.way = NO_WAY
        else:
            self._take_stop(level)
        source.pop()

    def _take_stop(self, level: int) -> None:
        """Send a stop within the current element, or end the element and hold its stop back."""
        if level < self.depth - 1:
            self.out_stream.push(STOP, level)
        else:
            # A higher level ends the list too. It is not compared with the level of the stop on in_ref.
            self.has_ended_list[self.way] = level >= self.depth
            self.way, self.owes_stop = NO_WAY, True

    def _end_list(self, now: int) -> int:
        """Send the stop of the list, or done, once all ways that have not ended the list show it."""
        kind, level = self.in_ref.control(), self.in_ref.coordinate()
        # The output has the ``depth`` loops of an element below the list
        level += self.depth if kind == STOP else 0
        open_ways = [way for way in range(self.ways) if not self.has_ended_list[way]]
        for way in open_ways:
            source = self.sources[way]
            if not source.can_pop():
                return self.wait_input(source)
        self.pop_all(open_ways, kind, level, now)
        self.out_stream.push(kind, level)
        self.in_ref.pop()
        # The stop of the list also ends the last element, whose own stop is therefore not sent
        self.has_ended_list, self.owes_stop = [False] * self.ways, False
        return self.finish(now) if kind == DONE else self.busy(now + 1)
