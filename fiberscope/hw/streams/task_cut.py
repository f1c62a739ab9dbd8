# cython: infer_types=True
"""Cut of a machine's loops: what lies behind runs as tasks, on instances side by side."""

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
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY, Protocol

ENDED = Protocol("task ended", control="kind")
NO_INSTANCE = -1


class TaskCounts:  # C: final
    """Number of tasks of each instance, and the instance with the fewest; of several the first.

    A tournament: a node of a binary tree holds the better of its children, so a change costs a step a level.

    Args:
        instances: whose tasks are counted, at least 1.
    """

    def __init__(self, instances: int) -> None:
        self.leaves = 1 << (instances - 1).bit_length()
        self.tasks = array("q", [0] * instances + [MAX_TIME] * (self.leaves - instances))
        self.best = array("q", bytes(8 * self.leaves) + array("q", range(self.leaves)).tobytes())
        for node in range(self.leaves - 1, 0, -1):
            self.best[node] = self.best[2 * node]

    def add(self, instance: int, change: int) -> None:  # C: noexcept
        """Add to the number of tasks of an instance."""
        self.tasks[instance] += change
        node = (self.leaves + instance) >> 1
        while node > 0:
            first, second = self.best[2 * node], self.best[2 * node + 1]
            self.best[node] = second if self.tasks[second] < self.tasks[first] else first
            node >>= 1

    def fewest(self) -> int:  # C: noexcept
        """Return the instance with the fewest tasks."""
        return self.best[1]


class Cut(StreamBlock):  # C: open; as many outputs as there are instances
    """Deals the elements of streams, which come in step, to the instances of a level as tasks.

    Interface: streams of one shape on ``in_stream[0]`` and so on; what is ``carried`` leaves for instance i
    as ``out_0_i`` and so on. A task is an element of each stream, and behind it a stop of the task's own, one
    level below those of the fibers within it: who meets it needs not wait for the next task. Tasks that hold
    nothing but their element have no stop (``of_elements``). Stops of the loops around go no further.

    Each instance tells on ``ended[i]`` when one of its tasks has ended. Done goes to all. Who puts together
    what they give is told on ``turns`` which instance has each task, and done. When all tasks have ended,
    ``out_over`` tells.

    Timing: an element a cycle. A task goes to the instance that has the fewest, of several to the first; with
    ``static`` in turn. Where it has ``tasks`` already, the cut waits. With ``near`` those with one element of
    the first stream have one instance, whose number is that of the element, modulo their number; if it has
    ``tasks`` already, the next that has fewer. With ``coordinates`` a task has the instance of its element in
    that stream, modulo their number, and waits for it. A task whose element names an empty
    fiber of a level in ``required`` has nothing to do: it is passed over, in a cycle.

    Counts: ``dealt`` tasks, and those passed over as ``empty``.

    Source: a choice of this model; TeAAL (MICRO 2023) says which loops run in space, not how they are dealt.

    Args:
        name: instance name.
        instances: to which tasks are dealt.
        carried: what each of the streams carries.
        tasks: that an instance has at the most, at least 1.
        required: by stream where the fibers of the level below begin, where an empty one leaves nothing to
            do; None of other streams.
        static: whether tasks are dealt in turn.
        near: whether they are dealt by the first stream's elements.
        coordinates: number of the stream whose elements say the instance; ``NO_STREAM`` if none does.
        of_elements: whether a task is its element alone, without a stop.

    Raises:
        ValueError: if there is no instance or no task.
        SimulationError: in the run, if the streams differ in shape.
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
        for what, number in (("instances", instances), ("tasks", tasks)):
            if number < 1:
                raise ValueError(f"{name}: {what} must be at least 1, not {number}")
        self.instances, self.tasks, self.static, self.near = instances, tasks, static, near
        self.required, self.of_elements = list(required), of_elements
        self.coordinates = coordinates
        self.turn = 0
        self.holds = TaskCounts(instances)
        self.under_way = self.dealt = self.empty = 0
        self.closing = False  # done has been sent
        self.owner = Growing()  # of each task its instance, and, of each stream, its element
        self.elements = [Growing() for _ in carried]
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
        """Return the ports, as many as there are instances."""
        return self.ports

    def elaborate(self) -> None:
        """Keep the arrivals of the ends of tasks side by side."""
        super().elaborate()
        self.seen_from = seen_from(self.ended)  # C: long[::1]

    def update(self, now: int) -> int:
        """Hear which tasks have ended, and deal one."""
        self._hear(now)
        if self.closing:
            return self._end(now) if self.under_way == 0 else self.wait_any_input(self.ended)
        for channel in self.in_stream:
            if not channel.can_pop():
                return self.wait_input(channel)
        kind = self._kind(now)
        if kind in (DATA, EMPTY):
            if self._has_nothing_to_do():
                self.empty += 1
            else:
                instance = self._choose()
                if instance == NO_INSTANCE:
                    return self.wait_any_input(self.ended)
                self._deal(instance)
        elif kind == DONE:
            self._close()
        for channel in self.in_stream:
            channel.pop()
        return self.busy(now + 1)

    def _end(self, now: int) -> int:
        """All tasks have ended."""
        self.out_over.push(DONE)
        return self.finish(now)

    def _hear(self, now: int) -> None:
        """Take what instances tell of the tasks that have ended."""
        for instance in range(self.instances):
            while self.seen_from[instance] <= now:
                channel: Channel = self.ended[instance]
                channel.pop()
                self.holds.add(instance, -1)
                self.under_way -= 1

    def _kind(self, now: int) -> int:
        """Return the kind of the heads; elements with and without a reference are alike."""
        first: Channel = self.in_stream[0]
        kind = first.control()
        for channel in self.in_stream:
            other = channel.control()
            elements = kind in (DATA, EMPTY) and other in (DATA, EMPTY)
            if not elements and (other != kind or channel.coordinate() != first.coordinate()):
                raise SimulationError(f"cycle {now}, {self.name}: the streams must have the same shape")
        return kind

    def _has_nothing_to_do(self) -> bool:
        for stream, segments in enumerate(self.required):
            if segments is not None:
                head: Channel = self.in_stream[stream]
                fiber = head.coordinate()
                if head.control() == EMPTY or segments[fiber] == segments[fiber + 1]:
                    return True
        return False

    def _choose(self) -> int:
        """The instance whose turn it is, that has the coordinate, or the fewest tasks; none if it is full."""
        if self.near:
            return self._choose_near()
        chosen = self.turn if self.static else self.holds.fewest()
        if self.coordinates != NO_STREAM:
            head: Channel = self.in_stream[self.coordinates]
            chosen = head.coordinate() % self.instances
        return chosen if self.holds.tasks[chosen] < self.tasks else NO_INSTANCE

    def _choose_near(self) -> int:
        """The instance of the first stream's element, or the next that may have one more task."""
        first: Channel = self.in_stream[0]
        for place in range(self.instances):
            instance = (first.coordinate() + place) % self.instances
            if self.holds.tasks[instance] < self.tasks:
                return instance
        return NO_INSTANCE

    def _deal(self, instance: int) -> None:
        self.holds.add(instance, 1)
        self.under_way += 1
        self.dealt += 1
        self.turn = (instance + 1) % self.instances
        self.owner.append(instance)
        if self.turns is not None:
            self.turns.push(DATA, instance)
        for place in range(len(self.in_stream)):
            head: Channel = self.in_stream[place]
            out: OutputStream = self.streams[1 + place * self.instances + instance]
            elements: Growing = self.elements[place]
            elements.append(head.coordinate())
            out.push(head.control(), head.coordinate())
            if not self.of_elements:
                out.push(STOP, 0)

    def _close(self) -> None:
        for place in range(1, len(self.streams)):  # behind ``out_over``
            out: OutputStream = self.streams[place]
            out.push(DONE)
        if self.turns is not None:
            self.turns.push(DONE)
        self.closing = True


class TaskEnd(StreamBlock):
    """Sees the tasks of an instance end, on a stream of what they make.

    Interface: the stream on ``in_stream``; for each stop of the task's ``level``, or higher, a token leaves
    on ``ended``. With ``EACH`` as level each element is a task, and stops are none.

    Timing: a token a cycle.

    Args:
        name: instance name.
        level: of the stop that ends a task in this stream.
    """

    PORTS = (
        Input("in_stream", ANY),
        Output("ended", ENDED),
    )
    TAKES_ONLY = True

    in_stream: Channel
    ended: Channel

    def __init__(self, name: str, level: int) -> None:
        super().__init__(name)
        self.level = level

    def quiet(self) -> int:  # C: noexcept
        """All, if only stops end a task."""
        return 0 if self.level == EACH else MAX_TIME

    def update(self, now: int) -> int:
        """Take a token."""
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
