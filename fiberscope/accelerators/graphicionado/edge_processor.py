# cython: infer_types=True
"""Pipeline stages P4 and P5: an edge processor that turns each edge into a message to its destination."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.graphicionado.protocols import EDGE
from fiberscope.hw.memory.atomic_update import UPDATE
from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

FUNCTIONS = ("hop", "weigh", "copy")  # property + 1, property + weight, property
HOP, WEIGH, COPY, CUSTOM = range(4)


class EdgeProcessor(Component):
    """An edge processor that computes ``process_edge`` for one edge per cycle.

    Interface: ``source`` brings edges to this stream's vertices, and one stop from each source stream. A
    message for each edge leaves on ``updates``. After the last of the stops, one stop follows.

    Timing: one edge or stop per cycle; the latency is the latency of ``updates``.

    Counts: ``edges``, the updates of this stream.

    Args:
        function: one of ``FUNCTIONS``, or a function of property and weight.
        weights: weights of all edges; empty if the program does not use them.
        streams: number of source streams.
        values: name of the type of all values in ``TYPES``.
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
        self.function_number = FUNCTIONS.index(function) if isinstance(function, str) else CUSTOM  # C: long
        self.weights = weights  # C: double[::1]
        self.has_weights = len(weights) > 0
        self.streams = streams
        self.ended_streams = 0  # number of source streams that have sent their stop
        self.edges = 0

    def tick(self, now: int) -> int:
        """Send the message of an edge, or count a stop and pass on the last stop."""
        if not self.source.can_pop():
            return self.idle()
        is_stop = self.source.control() == STOP
        if (self._is_last_stop() or not is_stop) and not self.updates.can_push():
            return self.wait_output(self.updates)
        if not is_stop:
            self.updates.push(DATA, self._destination(), 0, self._message())
            self.edges += 1
        elif self._count_stop():
            self.updates.push(STOP)
        self.source.pop()
        return self.busy(now + 1)

    def _is_last_stop(self) -> bool:  # C: noexcept
        """Return whether the next stop is the last."""
        return self.ended_streams + 1 == self.streams

    def _count_stop(self) -> bool:  # C: noexcept
        """Count a stop; return whether it is the last."""
        is_last = self._is_last_stop()
        self.ended_streams = 0 if is_last else self.ended_streams + 1
        return is_last

    def _destination(self) -> int:
        """Return the number of the head edge's destination within the stream."""
        return self.source.coordinate() // self.streams

    def _message(self) -> float:
        """Return ``process_edge`` of the head edge."""
        value = self.source.value()
        if self.function_number == HOP:
            return self.value_type.add(value, 1.0)
        if self.function_number == COPY:
            return value
        weight = self.weights[self.source.reference()] if self.has_weights else 1.0  # C: double
        if self.function_number == WEIGH:
            return self.value_type.add(value, weight)
        return self.function(value, weight)  # type: ignore[operator]  # a function where it has no known name
