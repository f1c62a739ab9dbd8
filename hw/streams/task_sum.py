# cython: infer_types=True
"""What tasks give to the same points of an output, added up where their instances meet."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing import Growing
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

TURN = Protocol("turn", control="kind", coordinate="instance")


class TaskSum(StreamBlock):  # C: open; as many inputs as there are instances
    """Adds up what the tasks of all instances give, task by task, in the order in which they were dealt.

    Interface: instance i brings points on ``in_0_i`` and so on, their coordinates, and ``in_val_i``, all of
    one shape; a stop of the task's level, or higher, ends a task. ``turns`` tells which instance has each
    task, and at last done. A value N is none. To a point's coordinates belong those that its task has
    (``outer``). Points that are new leave on ``out_element``, for who writes them. When all is added up,
    ``out_over`` tells.

    Timing: a token a cycle, an addition among it.

    Counts: ``additions``; ``elements``: different points.

    Source: a choice of this model; TeAAL (MICRO 2023) counts these additions, and has no unit for them.

    Args:
        name: instance name.
        instances: that bring points.
        ways: coordinates that they bring.
        level: of the stop behind a task.
        outer: of each coordinate of a task those of all tasks, in their order.

    Raises:
        SimulationError: in the run, if the streams of an instance differ in shape.
    """

    COUNTERS = ("additions", "elements")

    turns: Channel
    out_over: OutputStream
    out_element: OutputStream

    def __init__(self, name: str, instances: int, ways: int, level: int, outer: list[Growing]) -> None:
        super().__init__(name)
        self.ways, self.level, self.outer = ways, level, outer
        self.sums: dict[tuple[int, ...], float] = {}
        self.task = 0  # the number of the present one
        self.base: tuple[int, ...] = ()  # its own coordinates
        self.started = False
        self.additions = self.elements = 0
        self.ports: tuple[Port, ...] = (
            Input("turns", TURN),
            output_stream("out_over", TURN),
            output_stream("out_element", CRD),
        )
        for instance in range(instances):
            self.ports += tuple(Input(f"in_{way}_{instance}", CRD) for way in range(ways))
            self.ports += (Input(f"in_val_{instance}", VAL),)

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """As many as instances bring."""
        return self.ports

    def update(self, now: int) -> int:
        """Take a token of the task whose turn it is."""
        if not self.turns.can_pop():
            return self.wait_input(self.turns)
        if self.turns.control() == DONE:
            return self._end(now)
        first = 1 + self.turns.coordinate() * (self.ways + 1)  # behind the channel of turns
        heads: list[Channel] = self.inputs[first : first + self.ways + 1]
        for channel in heads:
            if not channel.can_pop():
                return self.wait_input(channel)
        self._take(heads, now)
        return self.busy(now + 1)

    def _end(self, now: int) -> int:
        """Take done, which all instances send."""
        for channel in self.inputs:
            if not channel.can_pop():
                return self.wait_input(channel)
        for channel in self.inputs:
            channel.pop()
        self.out_over.push(DONE)
        self.out_element.push(DONE)
        return self.finish(now)

    def _take(self, heads: list[Channel], now: int) -> None:
        val: Channel = heads[self.ways]
        kind, level = val.control(), val.coordinate()
        if not self.started:
            self.started = True
            self.base = tuple([column.integer(self.task) for column in self.outer])
        for channel in heads:
            other = channel.control()
            if (other in (DATA, EMPTY)) != (kind in (DATA, EMPTY)) or (kind == STOP and other != STOP):
                raise SimulationError(f"cycle {now}, {self.name}: the streams must have the same shape")
        if kind == DATA:
            self._add(heads, val.value())
        for channel in heads:
            channel.pop()
        if kind == STOP and level >= self.level:
            self.turns.pop()
            self.task += 1
            self.started = False

    def _add(self, heads: list[Channel], value: float) -> None:
        inner = [channel.coordinate() for channel in heads[: self.ways]]
        point = (*self.base, *inner)
        if point in self.sums:
            self.additions += 1
            self.sums[point] += value
        else:
            self.elements += 1
            self.out_element.push(DATA, inner[self.ways - 1] if self.ways > 0 else 0)
            self.sums[point] = value
