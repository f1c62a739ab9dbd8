# cython: infer_types=True
"""A cut of a machine's loop nest: the loops inside the cut run as tasks on parallel instances.

An instance is one of several copies of the blocks for the loops inside the cut. A task is the work of these
loops for one iteration of the innermost loop outside the cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.kept import EACH, NO_STREAM
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.task_sum import TURN
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Input, Output, Port, Signal
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.protocol import ANY, Protocol

ENDED = Protocol("task ended", control="kind")
NO_INSTANCE = -1


class TaskCounts:  # C: final
    """Number of tasks of each instance, and the first instance with the fewest tasks.

    The counts form a tournament tree: each node of a binary tree holds the instance of its children with
    fewer tasks. A change therefore takes one step for each level of the tree.

    Args:
        instances: number of instances, at least 1.
    """

    def __init__(self, instances: int) -> None:
        self.leaves = 1 << (instances - 1).bit_length()
        self.tasks = array("q", [0] * instances + [MAX_TIME] * (self.leaves - instances))
        self.best = array("q", bytes(8 * self.leaves) + array("q", range(self.leaves)).tobytes())
        for node in range(self.leaves - 1, 0, -1):
            self.best[node] = self.best[2 * node]

    def add(self, instance: int, change: int) -> None:  # C: noexcept
        """Add ``change`` (1 or -1) to the number of tasks of an instance, and update the tree."""
        self.tasks[instance] += change
        node = (self.leaves + instance) >> 1
        while node > 0:
            first, second = self.best[2 * node], self.best[2 * node + 1]
            self.best[node] = second if self.tasks[second] < self.tasks[first] else first
            node >>= 1

    def fewest(self) -> int:  # C: noexcept
        """Return the instance with the fewest tasks."""
        return self.best[1]


class Cut(StreamBlock):
    """Dispatches the elements of several streams, as tasks, to the instances inside a cut.

    Interface: ``in_stream[0]``, ``in_stream[1]`` and so on carry streams of the same shape. A task is one
    element of each stream. The elements of a task for instance i leave on ``out_0_i``, ``out_1_i`` and so on,
    each followed by a stop of level 0. This stop ends the task, so that the blocks of an instance need not
    wait for the next task. With ``of_elements`` the stop is omitted. Stops of the input streams are dropped.
    The element and its stop leave in one cycle, so that these outputs and ``turns`` must have no bound.

    Instance i sends a token on ``ended[i]`` for each task that has ended. Done goes to all instances. The
    cut sends the instance of each task on ``turns``, and at last done; a ``TaskSum`` reads this. When all
    tasks have ended, done leaves on ``out_over``.

    Timing: one element a cycle. The choice of the instance depends on the arguments:

    - By default, a task goes to the instance with the fewest tasks, the first of several.
    - With ``static``, tasks go to the instances in turn.
    - With ``coordinates``, a task goes to the instance whose number is the task's element in that stream,
      modulo the number of instances.
    - With ``near``, the same rule applies to the first stream. If that instance is full, the task goes to the
      next instance that is not.

    The cut waits while the chosen instance holds ``tasks`` tasks, or with ``near`` while all instances do.
    A task is skipped, in one cycle, if its element of a stream with ``required`` segments is N or refers to
    an empty fiber.

    Counts: ``dealt``, tasks that were dispatched; ``empty``, tasks that were skipped.

    Source: a choice of this model. TeAAL (MICRO 2023) specifies which loops run in space, but not how their
    iterations are dispatched.

    Args:
        instances: number of instances, at least 1.
        carried: protocol of each stream.
        tasks: number of tasks that an instance can hold, at least 1.
        required: for each stream, the segments of the level that its references refer to, if an empty fiber
            there means an empty task; None for other streams.
        static: whether tasks go to the instances in turn.
        near: whether the elements of the first stream select the instance, if it is not full.
        coordinates: number of the stream whose elements select the instance; ``NO_STREAM`` for none.
        of_elements: whether a task is only its elements, without a stop.

    Raises:
        ValueError: if ``instances`` or ``tasks`` is less than 1.
        SimulationError: during the run, if the streams differ in shape.
    """

    COUNTERS = ("dealt", "empty")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("dealt", 48), Signal("under_way", 32))

    in_stream: list[Channel]
    ended: list[Channel]
    turns: Channel | None
    out_over: OutputStream

    def __init__(
        self,
        name: str,
        instances: int,
        carried: Sequence[Protocol],
        *,
        tasks: int = 4,
        required: Sequence[memoryview[int] | None] = (),
        static: bool = False,
        near: bool = False,
        coordinates: int = NO_STREAM,
        of_elements: bool = False,
    ) -> None:
        super().__init__(name)
        for quantity, number in (("instances", instances), ("tasks", tasks)):
            if number < 1:
                raise ValueError(f"{name}: {quantity} must be at least 1, not {number}")
        self.instances, self.tasks, self.static, self.near = instances, tasks, static, near
        self.required, self.of_elements = list(required), of_elements
        self.coordinates = coordinates
        self.turn = 0  # with ``static``, instance that gets the next task
        self.task_counts = TaskCounts(instances)  # tasks of each instance that have not ended
        self.under_way = self.dealt = self.empty = 0  # tasks that have not ended, were dispatched, skipped
        self.closing = False  # whether done has been sent to the instances
        self.owner = Growing()  # for each task, its instance
        self.elements = [Growing() for _ in carried]  # for each stream, the elements of all tasks
        self.ports: tuple[Port, ...] = (
            Input("in_stream", ANY, array=True),
            Input("ended", ENDED, array=True),
            Output("turns", TURN, optional=True),
            output_stream("out_over", ENDED),
        )
        for stream, carries in enumerate(carried):
            for instance in range(instances):
                self.ports += (output_stream(f"out_{stream}_{instance}", carries),)

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, whose number depends on the numbers of instances and of streams."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the channels, and gather the arrival cycles of the heads of ``ended`` in one array."""
        super().elaborate()
        self.seen_from = seen_from(self.ended)  # C: long[::1]

    def update(self, now: int) -> int:
        """Count the tasks that have ended, and dispatch the next task."""
        self._receive_ends(now)
        if self.closing:
            return self._finish(now) if self.under_way == 0 else self.wait_any_input(self.ended)
        for channel in self.in_stream:
            if not channel.can_pop():
                return self.wait_input(channel)
        self.check_shape(self.in_stream, now)
        first_stream: Channel = self.in_stream[0]
        kind = first_stream.control()
        if kind in (DATA, EMPTY):
            if self._is_empty_task():
                self.empty += 1
            else:
                instance = self._choose()
                if instance == NO_INSTANCE:
                    return self.wait_any_input(self.ended)
                self._dispatch(instance)
        elif kind == DONE:
            self._close()
        for channel in self.in_stream:
            channel.pop()
        return self.busy(now + 1)

    def _finish(self, now: int) -> int:
        """Send done on ``out_over``, because all tasks have ended."""
        self.out_over.push(DONE)
        return self.finish(now)

    def _receive_ends(self, now: int) -> None:
        """Pop the visible tokens of ``ended``, and subtract their tasks from the counts."""
        for instance in range(self.instances):
            while self.seen_from[instance] <= now:
                channel: Channel = self.ended[instance]
                channel.pop()
                self.task_counts.add(instance, -1)
                self.under_way -= 1

    def _is_empty_task(self) -> bool:
        """Return whether the next task is empty: an element of a ``required`` stream has an empty fiber."""
        for stream, segments in enumerate(self.required):
            if segments is not None:
                head: Channel = self.in_stream[stream]
                fiber = head.coordinate()
                if head.control() == EMPTY or segments[fiber] == segments[fiber + 1]:
                    return True
        return False

    def _choose(self) -> int:
        """Return the instance that gets the next task; ``NO_INSTANCE`` if the task must wait."""
        if self.near:
            return self._choose_near()
        instance = self.turn if self.static else self.task_counts.fewest()
        if self.coordinates != NO_STREAM:
            head: Channel = self.in_stream[self.coordinates]
            instance = head.coordinate() % self.instances
        return instance if self.task_counts.tasks[instance] < self.tasks else NO_INSTANCE

    def _choose_near(self) -> int:
        """Return the first instance that is not full, from the one that the first stream selects on."""
        first_stream: Channel = self.in_stream[0]
        for step in range(self.instances):
            instance = (first_stream.coordinate() + step) % self.instances
            if self.task_counts.tasks[instance] < self.tasks:
                return instance
        return NO_INSTANCE

    def _dispatch(self, instance: int) -> None:
        """Dispatch the task at the heads of the inputs to an instance."""
        self.task_counts.add(instance, 1)
        self.under_way += 1
        self.dealt += 1
        self.turn = (instance + 1) % self.instances
        self.owner.append(instance)
        if self.turns is not None:
            self.turns.push(DATA, instance)
        for stream in range(len(self.in_stream)):
            head: Channel = self.in_stream[stream]
            sink: OutputStream = self.streams[1 + stream * self.instances + instance]
            elements: Growing = self.elements[stream]
            elements.append(head.coordinate())
            sink.push(head.control(), head.coordinate())
            if not self.of_elements:
                sink.push(STOP, 0)

    def _close(self) -> None:
        """Send done to all instances and on ``turns``; ``out_over`` waits until all tasks have ended."""
        for index in range(1, len(self.streams)):  # all outputs except ``out_over``
            sink: OutputStream = self.streams[index]
            sink.push(DONE)
        if self.turns is not None:
            self.turns.push(DONE)
        self.closing = True


class TaskEnd(StreamBlock):
    """Detects the ends of the tasks of an instance in a stream of their results.

    Interface: ``in_stream`` carries the results of the tasks. For each stop of this ``level`` or a higher
    one, a token leaves on ``ended``. If the level is ``EACH``, each element ends a task, and stops end none.

    Timing: one token a cycle.

    Source: a choice of this model.

    Args:
        level: lowest level of a stop that ends a task in this stream, or ``EACH``.
    """

    PORTS = (Input("in_stream", ANY), Output("ended", ENDED))
    TAKES_ONLY = True

    in_stream: Channel
    ended: Channel

    def __init__(self, name: str, level: int) -> None:
        super().__init__(name)
        self.level = level

    def quiet(self) -> int:  # C: noexcept
        """Return ``MAX_TIME`` if only stops end a task, since elements then send no token; else 0."""
        return 0 if self.level == EACH else MAX_TIME

    def update(self, now: int) -> int:
        """Take a token, and report the end of a task."""
        source = self.in_stream
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if self.level == EACH:
            if kind in (DATA, EMPTY):
                self.ended.push(DATA)
        elif kind == STOP and source.coordinate() >= self.level:
            self.ended.push(DATA)
        source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)
