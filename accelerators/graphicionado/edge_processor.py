# cython: infer_types=True
"""P4 and P5: makes a message of each edge that comes to a destination stream."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.graphicionado.protocols import EDGE
from fiberscope.hw.memory.atomic_update import UPDATE
from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

WAYS = ("hop", "weigh", "copy")  # property + 1, property + weight, property
HOP, WEIGH, COPY, OWN = range(4)


class EdgeProcessor(Component):
    """Computes ``process_edge`` of an edge a cycle; its latency is that of ``updates``.

    Interface: ``source`` brings edges to this stream's vertices, and a stop from each source stream. A
    message for each edge leaves on ``updates``, and behind the last of these stops one.

    Counts: ``edges``, the updates of this stream.

    Args:
        name: instance name.
        function: one of ``WAYS``, or a function of property and weight.
        weights: of all edges; empty where they are not used.
        streams: those that edges come from.
        temporary: what the updates go to, of which the host fetches the places ahead of them.
        values: the type of all values, by its name in ``TYPES``.
    """

    PORTS = (Input("source", EDGE), Output("updates", UPDATE))
    COUNTERS = ("edges",)
    SIGNALS = (Signal("edges", 48),)

    source: Channel
    updates: Channel

    def __init__(
        self,
        name: str,
        function: str | Callable[[float, float], float],
        weights: memoryview[float],
        streams: int,
        temporary: memoryview[float],
        values: str = AUTO,
    ) -> None:
        super().__init__(name)
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.function = function
        self.way = WAYS.index(function) if isinstance(function, str) else OWN  # C: long
        self.weights = weights  # C: double[::1]
        self.weighted = len(weights) > 0
        self.streams = streams
        self.temporary = temporary  # C: double[::1]
        self.through = 0  # streams that have ended
        self.edges = 0

    def tick(self, now: int) -> int:
        """Pass on an edge or the last stop."""
        if not self.source.can_pop():
            return self.idle()
        last = self.through + 1 == self.streams
        stops = self.source.control() == STOP
        if (last or not stops) and not self.updates.can_push():
            return self.wait_output(self.updates)
        if stops:
            self._end(last)
        else:
            place = self.source.coordinate() // self.streams
            inline.fetch(self.temporary[place])
            self.updates.push(DATA, place, 0, self._message())
            self.edges += 1
        self.source.pop()
        return self.busy(now + 1)

    def _end(self, last: bool) -> None:
        self.through = 0 if last else self.through + 1
        if last:
            self.updates.push(STOP)

    def _message(self) -> float:
        value = self.source.value()
        if self.way == HOP:
            return self.value_type.add(value, 1.0)
        if self.way == COPY:
            return value
        weight = self.weights[self.source.reference()] if self.weighted else 1.0  # C: double
        if self.way == WEIGH:
            return self.value_type.add(value, weight)
        return self.function(value, weight)  # type: ignore[operator]  # a function where it has no known name
