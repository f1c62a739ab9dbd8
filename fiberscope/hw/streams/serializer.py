"""The way back from several copies of blocks to one stream: whose turn it is, and its elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.parallel import check_ways
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

NO_WAY = -1


class Dealt(StreamBlock):
    """Takes elements of its ways one by one, and the ends of their fibers together.

    Args:
        name: instance name.
        ways: how many.
        array: the name of its inputs from them.
        carries: what these carry.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there are none.
    """

    def __init__(self, name: str, ways: int, array: str, carries: Protocol, quirks: int) -> None:
        super().__init__(name, quirks)
        check_ways(name, ways, 1, 0)
        self.ways, self.array, self.carries = ways, array, carries
        self.sources: list[Channel] = []
        self.ports: tuple[Port, ...] = ()

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports of the block."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if ways are missing.
        """
        super().elaborate()
        self.sources = getattr(self, self.array)
        if len(self.sources) != self.ways:
            raise SimulationError(f"{self.name} has {self.ways} ways, but {len(self.sources)} {self.array}")

    def pop_all(self, ways: Iterable[int], kind: int, level: int, now: int) -> None:
        """Take this stop, or done, of these ways.

        Raises:
            SimulationError: if one shows another token.
        """
        for way in ways:
            source = self.sources[way]
            if source.control() != kind or source.coordinate() != level:
                self.refuse(way, str(text(kind, level, 0.0, CRD)), now)
            source.pop()

    def refuse(self, way: int, wanted: str, now: int) -> NoReturn:
        """Refuse the token of a way.

        Raises:
            SimulationError: always.
        """
        end = self.sources[way]
        token_text = text(end.control(), end.coordinate(), end.value(), self.carries)
        raise SimulationError(
            f"cycle {now}, {self.name}: {token_text} on {self.array}[{way}] instead of {wanted}"
        )


class Merge(Dealt):
    """Sorts coordinates that were dealt to several ways, and says of which way each is.

    Interface: a stream a way on ``in_crd[i]``, with the same stops, each fiber of which has coordinates of
    its own; those of all leave, sorted, on ``out_crd``, and beside each on ``out_ref`` the number of its way.

    Timing: a token a cycle, in which one of each way is seen.

    Source: the merge of n sorted streams in the public simulator's branch ``reorder_block``
    (weiya711/sam).

    Args:
        name: instance name.
        ways: streams that are merged.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if the ways do not end together, naming the cycle and the token.
    """

    in_crd: list[Channel]
    out_crd: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, ways: int, quirks: int = CLEAN) -> None:
        super().__init__(name, ways, "in_crd", CRD, quirks)
        inputs = (Input("in_crd", CRD, array=True),)
        self.ports = (*inputs, output_stream("out_crd", CRD), output_stream("out_ref", REF))

    def update(self, now: int) -> int:
        """Send the least coordinate, or the stop of all."""
        for source in self.sources:
            if not source.can_pop():
                return self.wait_input(source)
        least = self._least()
        source = self.sources[max(least, 0)]
        kind, payload = source.control(), source.coordinate()
        self.out_crd.push(kind, payload)
        self.out_ref.push(kind, payload if least == NO_WAY else least)
        if least == NO_WAY:
            self.pop_all(range(self.ways), kind, payload, now)
        else:
            source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _least(self) -> int:
        """The way of the least coordinate; none if no way has one."""
        least, least_way = 0, NO_WAY
        for way in range(self.ways):
            source = self.sources[way]
            if source.control() == DATA and (least_way == NO_WAY or source.coordinate() < least):
                least, least_way = source.coordinate(), way
        return least_way


class Serializer(Dealt):
    """Puts the elements of several ways one behind the other, as a ``Merge`` says.

    Interface: the numbers of ways on ``in_ref``, and a stream a way on ``in_stream[i]``, of as many loops
    more as ``depth`` says: an element is a token, or with a depth the fiber or list up to its stop. They
    leave on ``out_stream`` with the stops that they have in one stream.

    Timing: a token a cycle. The stop of an element leaves when it is known whether it is the last one.

    Args:
        name: instance name.
        ways: streams that are taken back.
        depth: loops within an element.
        carries: what the streams carry.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: in the run, if a way has not the element that is asked of it, naming the cycle and
            its token.
    """

    in_ref: Channel
    in_stream: list[Channel]
    out_stream: OutputStream

    def __init__(
        self,
        name: str,
        ways: int,
        depth: int = 0,
        carries: Protocol = CRD,
        quirks: int = CLEAN,
    ) -> None:
        super().__init__(name, ways, "in_stream", carries, quirks)
        if depth < 0:
            raise ValueError(f"{name}: a depth must be at least 0, not {depth}")
        self.depth = depth
        self.way = NO_WAY  # whose element is being sent
        self.owes = False  # its stop, once it is known how much ends
        self.ended = [False] * ways  # whether it has ended the fiber of its elements
        inputs = (Input("in_ref", REF), Input("in_stream", carries, array=True))
        self.ports = (*inputs, output_stream("out_stream", carries))

    def update(self, now: int) -> int:
        """Send the next token of the element, or the stop behind it."""
        if self.way == NO_WAY and not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        if self.way == NO_WAY and self.in_ref.control() != DATA:
            return self._end(now)
        if self.way == NO_WAY:
            self._turn()
            if self.owes:
                self.owes = False
                self.out_stream.push(STOP, self.depth - 1)
                return self.busy(now + 1)
        source = self.sources[self.way]
        if not source.can_pop():
            return self.wait_input(source)
        self._take(source, now)
        return self.busy(now + 1)

    def _turn(self) -> None:
        self.way = self.in_ref.coordinate()
        self.in_ref.pop()

    def _take(self, source: Channel, now: int) -> None:
        """Take a token of the element."""
        kind, level = source.control(), source.coordinate()
        if kind in (DATA, EMPTY):
            self.out_stream.push(kind, level, source.value())
            if not self.depth:
                self.way = NO_WAY
        elif kind == DONE or not self.depth or self.ended[self.way]:
            self.refuse(self.way, "an element", now)
        else:
            self._stop(level)
        source.pop()

    def _stop(self, level: int) -> None:
        """A stop within the element, or its last one."""
        if level < self.depth - 1:
            self.out_stream.push(STOP, level)
        else:
            self.ended[self.way] = level >= self.depth
            self.way, self.owes = NO_WAY, True

    def _end(self, now: int) -> int:
        """Send the stop of all elements, or done, once all ways that have no element left show theirs."""
        kind, level = self.in_ref.control(), self.in_ref.coordinate()
        level += self.depth if kind == STOP else 0
        left = [way for way in range(self.ways) if not self.ended[way]]
        for way in left:
            source = self.sources[way]
            if not source.can_pop():
                return self.wait_input(source)
        self.pop_all(left, kind, level, now)
        self.out_stream.push(kind, level)
        self.in_ref.pop()
        self.ended, self.owes = [False] * self.ways, False
        return self.finish(now) if kind == DONE else self.busy(now + 1)
