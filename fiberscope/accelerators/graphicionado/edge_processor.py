# cython: infer_types=True
"""P4 and P5: makes a message of each edge that comes to a destination stream."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.graphicionado.protocols import EDGE
from fiberscope.hw.memory.atomic_update import UPDATE
from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
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
        values: str = AUTO,
    ) -> None:
        super().__init__(name)
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.function = function
        self.way = WAYS.index(function) if isinstance(function, str) else OWN  # C: long
        self.weights = weights  # C: double[::1]
        self.weighted = len(weights) > 0
        self.streams = streams
        self.through = 0  # streams that have ended
        self.edges = 0

    def tick(self, now: int) -> int:
        """Pass on an edge or the last stop."""
        if not self.source.can_pop():
            return self.idle()
        stops = self.source.control() == STOP
        if (self._ends() or not stops) and not self.updates.can_push():
            return self.wait_output(self.updates)
        if not stops:
            self.updates.push(DATA, self._place(), 0, self._message())
            self.edges += 1
        elif self._end():
            self.updates.push(STOP)
        self.source.pop()
        return self.busy(now + 1)

    def _ends(self) -> bool:  # C: noexcept
        """Return whether one stop is missing."""
        return self.through + 1 == self.streams

    def _end(self) -> bool:  # C: noexcept
        """Count a stop; whether it is the last."""
        last = self._ends()
        self.through = 0 if last else self.through + 1
        return last

    def _place(self) -> int:
        """The place of the first edge's destination among the stream's vertices."""
        return self.source.coordinate() // self.streams

    def _message(self) -> float:
        """``process_edge`` of the first edge."""
        value = self.source.value()
        if self.way == HOP:
            return self.value_type.add(value, 1.0)
        if self.way == COPY:
            return value
        weight = self.weights[self.source.reference()] if self.weighted else 1.0  # C: double
        if self.way == WEIGH:
            return self.value_type.add(value, weight)
        return self.function(value, weight)  # type: ignore[operator]  # a function where it has no known name
