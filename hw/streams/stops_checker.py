"""Checkers of streams that meet in a block: whether their lists end together."""

from __future__ import annotations

from hw.streams.tokens import DATA, DONE, EMPTY, STOP
from sim.channel import Channel
from sim.component import Component, Input
from sim.errors import SimulationError
from sim.protocol import ANY


class StopsChecker(Component):
    """Checks that streams have the same stops, whatever lies between them.

    Interface: each of ``in_stream[i]`` is one more consumer of a stream that a joiner or an ALU takes.

    Source: the specification of the public simulator's streams, rule 7 (docs/graph.md).

    Args:
        name: instance name, which names the block in messages.

    Raises:
        SimulationError: in the run, naming the cycle, the block, and the stops.
    """

    PORTS = (Input("in_stream", ANY, array=True),)
    RULE = "streams that meet must have the same stops"

    in_stream: list[Channel]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.waiting: list[list[str]] = []  # ends that the other streams have not come to yet

    def elaborate(self) -> None:
        """Fetch the streams."""
        super().elaborate()
        self.waiting = [[] for _ in self.in_stream]

    def tick(self, now: int) -> int:
        """Take all tokens that are seen, and compare what ends with them."""
        moved = False
        for place, channel in enumerate(self.in_stream):
            while channel.can_pop():
                self.waiting[place] += self.ends(place, channel.control(), channel.coordinate())
                channel.pop()
                moved = True
        while all(self.waiting):
            ends = [waiting.pop(0) for waiting in self.waiting]
            if len(set(ends)) > 1:
                raise SimulationError(f"cycle {now - 1}, {self.name}: {', '.join(ends)} meet: {self.RULE}")
        return self.busy(now + 1) if moved else self.idle()

    def ends(self, place: int, kind: int, level: int) -> list[str]:
        """What ends with this token of a stream, as text."""
        return [f"S{level}"] if kind == STOP else ["D"] if kind == DONE else []


class NestingChecker(StopsChecker):
    """Checks that an inner stream has a fiber for each element of an outer one, and the same lists above.

    Interface: ``in_stream[0]`` is the outer stream and ``in_stream[1]`` the inner one, as a dropper, a hold
    or a repeater takes them. What the outer stream asks for stands first in messages: S0 between two
    elements, for a stop one that is a level higher.

    Source: the specification of the public simulator's streams, rule 8 (docs/graph.md).

    Args:
        name: instance name, which names the block in messages.

    Raises:
        SimulationError: in the run, naming the cycle, the block, and both stops.
    """

    RULE = "each element of the outer stream must have a fiber of the inner"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.within = False  # an element has come since the last stop of the outer stream

    def ends(self, place: int, kind: int, level: int) -> list[str]:
        """What ends in the inner stream with this token, if it is the outer's; else with it."""
        if place == 1:
            return super().ends(place, kind, level)
        between = self.within and kind in (DATA, EMPTY)
        self.within = kind in (DATA, EMPTY)
        return ["S0"] if between else super().ends(place, kind, level + 1)
