# cython: infer_types=True
"""Sums of the results of tasks: a filter for the points of an instance, and an adder for all instances."""

from __future__ import annotations

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.kept import EACH
from fiberscope.hw.streams.operations import operation_code
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.point_table import PointTable
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, VAL
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Input, Port
from fiberscope.sim.protocol import Protocol

TURN = Protocol("turn", control="kind", coordinate="instance")  # of each task, in dispatch order


class TaskPoints(StreamBlock):
    """Filters the results of an instance: drops tokens N, and stops that do not end a task.

    Interface: ``in_0``, ``in_1`` and so on carry the coordinates of points, ``in_val`` their values, in
    streams of the same shape. The tokens that are not dropped leave on ``out_0``, ``out_1`` and so on, and
    ``out_val``. If the level is ``EACH``, each element is a task, and no token is dropped.

    Timing: one token a cycle.

    Counts: ``dropped`` tokens.

    Source: a choice of this model.

    Args:
        ways: number of coordinates of a point.
        level: lowest level of a stop that ends a task, or ``EACH``.

    Raises:
        SimulationError: during the run, if the streams differ in shape.
    """

    COUNTERS = ("dropped",)

    in_val: Channel
    out_val: OutputStream

    def __init__(self, name: str, ways: int, level: int) -> None:
        super().__init__(name)
        self.ways, self.level = ways, level
        self.dropped = 0
        stream_names = (*(str(way) for way in range(ways)), "val")
        self.ports: tuple[Port, ...] = (
            *(
                Input(f"in_{stream_name}", VAL if stream_name == "val" else CRD)
                for stream_name in stream_names
            ),
            *(
                output_stream(f"out_{stream_name}", VAL if stream_name == "val" else CRD)
                for stream_name in stream_names
            ),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports; their number depends on the number of coordinates of a point."""
        return self.ports

    def update(self, now: int) -> int:
        """Pass or drop a token of each stream."""
        for index in range(self.ways + 1):
            if not inline.can_pop(self.inputs, index):
                return self.wait_input(inline.channel(self.inputs[index]))
        kind, level = self.in_val.control(), self.in_val.coordinate()
        self.check_shape(self.inputs, now)
        ends_no_task = kind == EMPTY or (kind == STOP and level < self.level)
        if ends_no_task and self.level != EACH:
            self.dropped += 1
        else:
            self._pass()
        for index in range(self.ways + 1):
            inline.pop(self.inputs, index)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _pass(self) -> None:
        """Send the heads of all inputs."""
        for index in range(self.ways + 1):
            head: Channel = self.inputs[index]
            stream: OutputStream = self.streams[index]
            stream.forward(head)


class TaskSum(StreamBlock):
    """Adds up the results of the tasks of all instances, ``at_once`` tasks in parallel, in dispatch order.

    Interface: instance i sends the coordinates of its points on ``in_0[i]``, ``in_1[i]`` and so on, and their
    values on ``in_val[i]``, in streams of the same shape. A stop ends a task; with ``of_elements`` each
    element, including N, is a task. ``turns`` carries the instance of each task, and at last done. The full
    coordinates of a point are those of its task (``outer``), then those that the instance sends. When a point
    occurs for the first time, a token leaves for the block that writes the point. There are W outputs
    ``out_element0``, ``out_element1`` and so on for these tokens, with W = min(``at_once``, ``instances``);
    instance i uses output i modulo W. After the last addition, done leaves on all outputs. ``out_over``
    carries only done.

    With ``rounds``, sums are held only for the duration of a round. If a point of an earlier round occurs
    again, it is read back and written again; the additions do not wait for this transfer. The read-back of
    token number n of ``out_element0`` leaves as n on ``out_again0``, and so on. With ``groups``, all points
    of a group are read back when a task of the group starts.

    Timing: one token a cycle, with an addition if needed, of each of the first ``at_once`` unfinished tasks.
    Tasks of the same instance run one after the other. If there are fewer outputs than instances, a task
    waits while its output is full.

    Counts: ``additions``; ``elements``, the number of different points; ``again``, the number of points that
    were read back.

    Source: a choice of this model. TeAAL (MICRO 2023) counts these additions, but has no unit for them.

    Args:
        instances: number of instances.
        ways: number of coordinates that an instance sends for a point.
        outer: for each outer coordinate of a point, its value in all tasks, in their order.
        at_once: number of tasks that are added up in parallel.
        rounds: for each loop whose coordinates delimit the rounds, its coordinate in all tasks.
        groups: for each loop whose coordinates identify a group of points, its coordinate in all tasks.
        operation: name of the binary operation of ``Alu`` that replaces the addition.
        of_elements: whether each element is a task.

    Raises:
        ValueError: if there is no such operation.
        SimulationError: during the run, if the streams of an instance differ in shape.
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
        self.code = operation_code(name, operation)  # C: long
        self.instances, self.ways, self.outer, self.at_once = instances, ways, outer, at_once
        self.writers, self.of_elements = min(at_once, instances), of_elements
        self.waiting = [Queue() for _ in range(instances)]  # for each instance, its unfinished tasks
        self.has_started = [False] * instances  # whether an instance's first unfinished task has started
        self.under_way = self.tasks = 0  # number of unfinished tasks, and of all tasks so far
        self.sums = PointTable(len(outer) + ways)
        self.rounds, self.groups = rounds or [], groups or []
        self.numbers = Growing()  # with ``rounds``: for each task, the number of its round
        self.present: tuple[int, ...] = ()  # coordinates of the loops in ``rounds`` in the current round
        self.groups_table = (
            PointTable(len(self.groups)) if self.groups else self.sums
        )  # numbers of the groups, or of the points
        self.last_rounds: list[int] = []  # for each point or group, the last round in which it occurred
        self.positions: list[list[int]] = []  # for each point or group, where its points were written
        self.written_counts = [0] * self.writers  # with ``rounds``: number of points sent on each output
        self.group = [0] * instances  # for each instance, the group of its current task
        self.additions = self.elements = self.again = 0
        self.ports: tuple[Port, ...] = (
            Input("turns", TURN),
            output_stream("out_over", TURN),
            *(output_stream(f"out_element{writer}", CRD) for writer in range(self.writers)),
            *(output_stream(f"out_again{writer}", CRD) for writer in range(self.writers)),
            *(Input(f"in_{way}", CRD, array=True) for way in range(ways)),
            Input("in_val", VAL, array=True),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports; their number depends on ``ways``, ``at_once`` and ``instances``."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the channels, and gather the arrival cycles of the values in one array."""
        super().elaborate()
        self.seen_from = seen_from(self.in_val)  # C: long[::1]; by instance, of its value
        # input 0 is ``turns``; then for each coordinate, and for the value, the channels of all instances
        self.heads = [self.inputs[1 + instance :: self.instances] for instance in range(self.instances)]

    def update(self, now: int) -> int:
        """Take a token of the first unfinished task of each instance whose value has arrived.

        Only the arrival of the value is tested: its coordinates must arrive in the same cycle.
        """
        self._assign()
        if self.under_way == 0:
            return self._finish(now) if self.turns.can_pop() else self.wait_input(self.turns)
        has_moved = False
        for instance in range(self.instances):
            if self.seen_from[instance] <= now:
                tasks: Queue = self.waiting[instance]
                if tasks.count > 0 and self._has_space(instance):
                    self._accept(instance, now)
                    has_moved = True
        return self.busy(now + 1) if has_moved else self.wait_any_input(self.in_val)

    def _has_space(self, instance: int) -> bool:
        """Return whether an instance can send a point; several instances may share its output in a cycle."""
        element: OutputStream = self.streams[1 + instance % self.writers]
        return element.first_full() is None

    def _assign(self) -> None:
        """Pop the instances of the next tasks from ``turns``, up to ``at_once`` unfinished tasks."""
        while self.under_way < self.at_once and self.turns.can_pop() and self.turns.control() == DATA:
            task_queue: Queue = self.waiting[self.turns.coordinate()]
            task_queue.put(self.tasks)
            if self.rounds:
                self._append_round()
            self.tasks += 1
            self.under_way += 1
            self.turns.pop()

    def _append_round(self) -> None:
        """Append the round number of the next task to ``numbers``."""
        present = tuple([column.integer(self.tasks) for column in self.rounds])
        number = self.numbers.integer(self.tasks - 1) if self.tasks > 0 else 0
        self.numbers.append(number + (present != self.present))
        self.present = present

    def _finish(self, now: int) -> int:
        """Pop done from all inputs, and send done on all outputs, once every instance has sent it."""
        for channel in self.inputs:
            if not channel.can_pop():
                return self.wait_input(channel)
        for channel in self.inputs:
            channel.pop()
        self.send_control(DONE, 0)
        return self.finish(now)

    def _accept(self, instance: int, now: int) -> None:
        """Take a token of the first unfinished task of an instance: add its point, or end the task."""
        val = inline.channel(self.in_val[instance])
        kind = val.control()
        heads: list[Channel] = self.heads[instance]
        self.check_shape(heads, now)
        if not self.has_started[instance]:
            self._start_task(instance)
        if kind == DATA:
            self._add(instance, val.value())
        if self.of_elements or kind != DATA:
            task_queue: Queue = self.waiting[instance]
            task_queue.drop(1)
            self.has_started[instance] = False
            self.under_way -= 1
        for way in range(self.ways + 1):
            inline.pop(heads, way)

    def _start_task(self, instance: int) -> None:
        """Start a task of an instance; with ``groups``, read back the points of its group if necessary."""
        self.has_started[instance] = True
        if self.rounds and self.groups:
            task_queue: Queue = self.waiting[instance]
            _set_point(self.groups_table, self.groups, task_queue.integer(0))
            group = self.groups_table.find()
            self.group[instance] = group
            self._read_back(group, instance)

    def _read_back(self, key: int, instance: int) -> None:
        """Read back and write again the points of a point or group that last occurred in an earlier round.

        Args:
            key: number of the point; with ``groups``, of the group.
            instance: the instance whose current task it occurs in.
        """
        task_queue: Queue = self.waiting[instance]
        number = self.numbers.integer(task_queue.integer(0))
        if key == len(self.last_rounds):  # its first occurrence, so that there is nothing to read back
            self.last_rounds.append(number)
            self.positions.append([])
        if self.last_rounds[key] >= number:
            return
        self.last_rounds[key] = number
        positions = self.positions[key]
        self.positions[key] = []
        for position in positions:
            stream: OutputStream = self.streams[1 + self.writers + position % self.writers]
            stream.push(DATA, position // self.writers)
            self._write(key, instance)
        self.again += len(positions)

    def _add(self, instance: int, value: float) -> None:
        """Add a value to its point; a new point is sent to its writer, an old one read back if necessary."""
        task_queue: Queue = self.waiting[instance]
        outer, sums = len(self.outer), self.sums
        heads: list[Channel] = self.heads[instance]
        _set_point(sums, self.outer, task_queue.integer(0))
        for way in range(self.ways):
            sums.set_coordinate(outer + way, inline.coordinate(heads, way))
        earlier_count = sums.count
        point = sums.find()
        if self.rounds and not self.groups:
            self._read_back(point, instance)
        if point < earlier_count:
            self.additions += 1
            sums.set_value(point, operate(self.code, sums.value(point), value, self.value_type))
        else:
            self.elements += 1
            sums.set_value(point, value)
            self._write(self.group[instance] if self.groups else point, instance)

    def _write(self, key: int, instance: int) -> None:
        """Send a point to its writer. With ``rounds``, note its position for a read-back."""
        writer = instance % self.writers
        element: OutputStream = self.streams[1 + writer]
        element.push(DATA)
        if self.rounds:
            # token number n of output w has the position n * W + w
            self.positions[key].append(self.written_counts[writer] * self.writers + writer)
            self.written_counts[writer] += 1


def _set_point(table: PointTable, columns: list[Growing], task: int) -> None:  # C: cdef
    """Copy the coordinates of a task from ``columns`` to the first coordinates that ``table`` looks up."""
    for index in range(len(columns)):
        column: Growing = columns[index]
        table.set_coordinate(index, column.integer(task))
