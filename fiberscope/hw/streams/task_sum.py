# cython: infer_types=True
"""Sum of the tasks' results for the same points of an output, where their instances meet."""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.kept import EACH
from fiberscope.hw.streams.operations import BINARY
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.point_table import PointTable
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, VAL
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

TURN = Protocol("turn", control="kind", coordinate="instance")


class TaskPoints(StreamBlock):  # C: open; as many streams as points have coordinates
    """Leaves of what an instance makes its points: no value N, and no stop but those that end a task.

    Interface: coordinates on ``in_0`` and so on, values on ``in_val``, all of one shape; what is left leaves
    on ``out_0`` and so on, and ``out_val``. With ``EACH`` as level each element is a task, and all
    of them are left.

    Timing: a token a cycle.

    Counts: ``dropped`` tokens.

    Source: a choice of this model.

    Args:
        name: instance name.
        ways: coordinates of a point.
        level: of the stop behind a task.

    Raises:
        SimulationError: in the run, if the streams differ in shape.
    """

    COUNTERS = ("dropped",)

    in_val: Channel
    out_val: OutputStream

    def __init__(self, name: str, ways: int, level: int) -> None:
        super().__init__(name)
        self.ways, self.level = ways, level
        self.dropped = 0
        names = (*(str(way) for way in range(ways)), "val")
        self.ports: tuple[Port, ...] = (
            *(Input(f"in_{part}", VAL if part == "val" else CRD) for part in names),
            *(output_stream(f"out_{part}", VAL if part == "val" else CRD) for part in names),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, as many as a point has coordinates."""
        return self.ports

    def update(self, now: int) -> int:
        """Pass or drop a token of each stream."""
        for place in range(self.ways + 1):
            if not inline.shows(self.inputs, place):
                return self.wait_input(inline.channel(self.inputs[place]))
        kind, level = self.in_val.control(), self.in_val.coordinate()
        _check_shape(self.inputs, 0, 1, kind, now, self.name)
        within = kind == EMPTY or (kind == STOP and level < self.level)
        if within and self.level != EACH:
            self.dropped += 1
        else:
            self._pass()
        for place in range(self.ways + 1):
            inline.pop(self.inputs, place)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _pass(self) -> None:
        for place in range(self.ways + 1):
            head: Channel = self.inputs[place]
            stream: OutputStream = self.streams[place]
            stream.push(head.control(), head.coordinate(), head.value())


class TaskSum(StreamBlock):  # C: open; as many outputs as there are who write
    """Adds up what the tasks of all instances give, as they were dealt, one by one or side by side.

    Interface: instance i brings points on ``in_0[i]`` and so on, their coordinates, and ``in_val[i]``, all of
    one shape; a stop ends a task, or each element, N among them, is a task (``of_elements``). ``turns`` tells
    which instance has each task, and at last done. To a point's coordinates belong those that its task has
    (``outer``). Points that are met for the first time leave on ``out_element0`` and so on, for who writes
    them, the points of instance i on that of i modulo their number. When all is added up, ``out_over`` tells.

    Where the sums are held only for a while (``rounds``), a point that an earlier one left is read back when
    it is met again, and is written once more; nothing waits for it. Which of those that left on
    ``out_element0`` it is, by their order, leaves on ``out_again0``, and so on. With ``groups`` all points of
    a group come back as soon as there is a task of it.

    Timing: of each of the first ``at_once`` tasks a token a cycle, an addition among it; of those that one
    instance has one behind the other. With fewer outputs than instances, a task waits while its output is
    full.

    Counts: ``additions``; ``elements``: different points; ``again``: those read back.

    Source: a choice of this model; TeAAL (MICRO 2023) counts these additions, and has no unit for them.

    Args:
        name: instance name.
        instances: that bring points.
        ways: coordinates that they bring.
        outer: of each coordinate of a task those of all tasks, in their order.
        at_once: tasks that are added up side by side.
        rounds: of each loop whose coordinates tell a while from the next, those of all tasks.
        groups: of each loop whose coordinates tell a group of points from the next, those of all tasks.
        operation: an operation of ``Alu`` that makes one value of two, in the place of a sum.
        of_elements: whether each element is a task.

    Raises:
        SimulationError: in the run, if the streams of an instance differ in shape.
    """

    COUNTERS = ("additions", "elements", "again")

    turns: Channel
    in_val: list[Channel]
    out_over: OutputStream

    def __init__(
        self,
        name: str,
        instances: int,
        ways: int,
        outer: list[Growing],
        *,
        at_once: int = 1,
        rounds: list[Growing] | None = None,
        groups: list[Growing] | None = None,
        operation: str = "add",
        of_elements: bool = False,
    ) -> None:
        super().__init__(name)
        self.code = BINARY[operation]  # C: long
        self.instances, self.ways, self.outer, self.at_once = instances, ways, outer, at_once
        self.writers, self.of_elements = min(at_once, instances), of_elements
        self.waiting = [Queue() for _ in range(instances)]  # of each its tasks that are added up
        self.begun = [False] * instances  # whether the first of these is
        self.under_way = self.tasks = 0
        self.sums = PointTable(len(outer) + ways)
        self.rounds, self.groups = rounds or [], groups or []
        self.numbers = Growing()  # of each task the while in which it is, if these are told apart
        self.present: tuple[int, ...] = ()  # where the present one began
        self.together = PointTable(len(self.groups)) if self.groups else self.sums  # points or groups
        self.last: list[int] = []  # of each by its number, in which while it was met,
        self.places: list[list[int]] = []  # and where its points were written
        self.written = [0] * self.writers
        self.group = [0] * instances  # the number of the group of the task of each instance
        self.seen: array[int] = array("q")  # the cycle from which the value of each instance is seen
        self.additions = self.elements = self.again = 0
        self.ports: tuple[Port, ...] = (
            Input("turns", TURN),
            output_stream("out_over", TURN),
            *(output_stream(f"out_element{place}", CRD) for place in range(self.writers)),
            *(output_stream(f"out_again{place}", CRD) for place in range(self.writers)),
            *(Input(f"in_{way}", CRD, array=True) for way in range(ways)),
            Input("in_val", VAL, array=True),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, as many as there are instances."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the channels, and watch those of values."""
        super().elaborate()
        self.seen = seen_from(self.in_val)

    def update(self, now: int) -> int:
        """Take a token of each task that may be added up; those of an instance's streams come in step."""
        self._assign()
        if self.under_way == 0:
            return self._end(now) if self.turns.can_pop() else self.wait_input(self.turns)
        moved = False
        for instance in range(self.instances):
            if self.seen[instance] <= now:
                waiting: Queue = self.waiting[instance]
                if waiting.count > 0 and self._has_space(instance):
                    self._take(instance, now)
                    moved = True
        return self.busy(now + 1) if moved else self.wait_any_input(self.in_val)

    def _has_space(self, instance: int) -> bool:
        """Return whether a point of an instance can leave: instances may share an output in a cycle."""
        element: OutputStream = self.streams[1 + instance % self.writers]
        return element.first_full() is None

    def _assign(self) -> None:
        """Hear which instances have the next tasks."""
        while self.under_way < self.at_once and self.turns.can_pop() and self.turns.control() == DATA:
            waiting: Queue = self.waiting[self.turns.coordinate()]
            waiting.put(self.tasks)
            if self.rounds:
                self._number()
            self.tasks += 1
            self.under_way += 1
            self.turns.pop()

    def _number(self) -> None:
        """Tell the while of the next task."""
        present = tuple([column.integer(self.tasks) for column in self.rounds])
        number = self.numbers.integer(self.tasks - 1) if self.tasks > 0 else 0
        self.numbers.append(number + (present != self.present))
        self.present = present

    def _end(self, now: int) -> int:
        """Take done, which all instances send."""
        for channel in self.inputs:
            if not channel.can_pop():
                return self.wait_input(channel)
        for channel in self.inputs:
            channel.pop()
        self.send_control(DONE, 0)
        return self.finish(now)

    def _take(self, instance: int, now: int) -> None:
        val = inline.channel(self.in_val[instance])
        kind = val.control()
        _check_shape(self.inputs, 1 + instance, self.instances, kind, now, self.name)
        if not self.begun[instance]:
            self._begin(instance)
        if kind == DATA:
            self._add(instance, val.value())
        if self.of_elements or kind != DATA:
            waiting: Queue = self.waiting[instance]
            waiting.drop(1)
            self.begun[instance] = False
            self.under_way -= 1
        for way in range(self.ways + 1):
            inline.pop(self.inputs, self._place(way, instance))

    def _place(self, way: int, instance: int) -> int:  # C: noexcept
        """Return the place of a channel of an instance among all inputs."""
        return 1 + way * self.instances + instance  # behind that of turns

    def _begin(self, instance: int) -> None:
        """Begin a task of an instance: what is held of its coordinates is there, or comes back."""
        self.begun[instance] = True
        if self.rounds and self.groups:
            waiting: Queue = self.waiting[instance]
            _set_point(self.together, self.groups, waiting.integer(0))
            group = self.together.find()
            self.group[instance] = group
            self._meet(group, instance)

    def _meet(self, what: int, instance: int) -> None:
        """A point or a group is wanted: what an earlier while left comes back, and is written once more."""
        waiting: Queue = self.waiting[instance]
        number = self.numbers.integer(waiting.integer(0))
        if what == len(self.last):
            self.last.append(number)
            self.places.append([])
        if self.last[what] >= number:
            return
        self.last[what] = number
        left = self.places[what]
        self.places[what] = []
        for place in left:
            back: OutputStream = self.streams[1 + self.writers + place % self.writers]
            back.push(DATA, place // self.writers)
            self._write(what, instance)
        self.again += len(left)

    def _add(self, instance: int, value: float) -> None:
        waiting: Queue = self.waiting[instance]
        outer, sums = len(self.outer), self.sums
        _set_point(sums, self.outer, waiting.integer(0))
        for way in range(self.ways):
            sums.set(outer + way, inline.coordinate(self.inputs, self._place(way, instance)))
        before = sums.count
        point = sums.find()
        if self.rounds and not self.groups:
            self._meet(point, instance)
        if point < before:
            self.additions += 1
            sums.set_value(point, operate(self.code, sums.value(point), value, self.value_type))
        else:
            self.elements += 1
            sums.set_value(point, value)
            self._write(self.group[instance] if self.groups else point, instance)

    def _write(self, what: int, instance: int) -> None:
        """Send a point, alone or of a group, and note where it goes if it may be wanted again."""
        writer = instance % self.writers
        element: OutputStream = self.streams[1 + writer]
        element.push(DATA)
        if self.rounds:
            self.places[what].append(self.written[writer] * self.writers + writer)
            self.written[writer] += 1


def _set_point(table: PointTable, columns: list[Growing], task: int) -> None:  # C: cdef
    """Set the first coordinates of a point: those of a task."""
    for place in range(len(columns)):
        column: Growing = columns[place]
        table.set(place, column.integer(task))


def _check_shape(
    channels: list[Channel], first: int, step: int, kind: int, now: int, name: str
) -> None:  # C: cdef
    """Check that every step-th channel from the first shows a token of this kind, or of an element."""
    for number in range((len(channels) - first + step - 1) // step):
        other = inline.control(channels, first + number * step)
        if other != kind and not (other in (DATA, EMPTY) and kind in (DATA, EMPTY)):
            raise SimulationError(f"cycle {now}, {name}: the streams must have the same shape")
