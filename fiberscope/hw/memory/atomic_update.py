# cython: infer_types=True
"""Atomic updates of the destinations of edges: read, reduce, write, each destination one by one."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TypeAlias

from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

UPDATE = Protocol("update", control="kind", coordinate="destination", value="value")
TOUCHED = Protocol("touched", control="kind", coordinate="destination")
DESTINATION = Protocol("destination", coordinate="destination")
TEMPORARY = Protocol("temporary", coordinate="destination", value="value")

STALL = "stall"
FORWARD = "forward"
MODES = (STALL, FORWARD)

MIN = "min"
ADD = "add"
OPERATIONS = (MIN, ADD)
LEAST, SUM, OWN = range(3)  # how a value is reduced

Operation: TypeAlias = str | Callable[[float, float], float]

NOTHING, FIRST, END, READING = range(4)  # what leaves; of an update nothing, or that it was the first


class AtomicUpdate(Component):
    """Reduces each value into the temporary property of its destination: P6 to P9 of Graphicionado.

    Interface: ``updates`` brings destinations and values. The temporary property of a destination is read,
    reduced with the value and written. ``touched`` tells of a destination whose property was still neutral
    when it was read, once that is written, and passes on stops behind all updates before them. The apply
    phase may read by ``reads``: the property leaves on ``temporaries`` and is neutral again.

    Timing: an update or a read a cycle, updates first. What is accepted in cycle t is written, and leaves, in
    t + window, the sum of the three latencies; until then it is in flight. While what leaves finds no space,
    all stand.

    - ``stall``: what finds its destination in flight waits until that is written.
    - ``forward``: an update takes the reduced value of the youngest update of its destination in flight
      instead of the property read, and waits only while that is not reduced: never, where reducing takes a
      cycle.

    A read waits for its destination in both, and an update for a read.

    Accounting: busy while anything is in flight, or accepted; waiting for output while all stand.

    Counts: updates ``accepted``; ``stalls``, the cycles that one waited for its destination; ``forwarded``.

    Source: Graphicionado (MICRO 2016), its control of atomic updates; forwarding: GraphDynS (MICRO 2019).
    What a reduction of several cycles forwards, and when the apply phase reads, are choices of this model.

    Args:
        name: instance name.
        temporary: the properties by destination, as doubles; shared with the apply phase, not copied.
        operation: ``"min"``, ``"add"`` or a function of the property and the value.
        neutral: the property of a destination that nothing has reached.
        mode: ``"stall"`` or ``"forward"``.
        read_latency, reduce_latency, write_latency: in cycles, each at least 1.
        values: the type of all values, by its name in ``TYPES``.

    Raises:
        ValueError: for another mode or operation, or a latency below 1.
        SimulationError: in the run, if there is no such destination.
    """

    PORTS = (
        Input("updates", UPDATE),
        Input("reads", DESTINATION, optional=True),
        Output("touched", TOUCHED, optional=True),
        Output("temporaries", TEMPORARY, optional=True),
    )
    COUNTERS = ("accepted", "stalls", "forwarded")
    SIGNALS = (Signal("destination", 48, "integer"), Signal("accepted", 48), Signal("stalls", 48))

    updates: Channel
    reads: Channel | None
    touched: Channel | None
    temporaries: Channel | None

    def __init__(
        self,
        name: str,
        temporary: array[float],
        operation: Operation = MIN,
        *,
        neutral: float,
        mode: str = STALL,
        read_latency: int = 2,
        reduce_latency: int = 1,
        write_latency: int = 1,
        values: str = AUTO,
    ) -> None:
        super().__init__(name)
        if mode not in MODES:
            raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, not {mode}")
        if min(read_latency, reduce_latency, write_latency) < 1:
            raise ValueError(f"{name}: latencies must be at least 1")
        self.temporary = temporary  # C: double[::1]
        self.destinations = len(temporary)
        self.operation = operation
        self.way = _way(name, operation)
        self.neutral = neutral
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.forwards = mode == FORWARD
        self.reduce_latency = reduce_latency
        self.window = read_latency + reduce_latency + write_latency
        self.kinds = array("q", bytes(8 * self.window))  # by slot of a ring of what is in flight, as these:
        self.places = array("q", bytes(8 * self.window))
        self.values = array("d", bytes(8 * self.window))
        self.due = array("q", bytes(8 * self.window))  # its end, by a clock that stops while all stand
        self.oldest = 0
        self.filled = 0
        self.leaving = 0  # of these, those of which something leaves
        self.left = -1  # the cycle in which something left last
        self.lag = 0  # cycles for which all stood
        self.waiting_since = -1  # by that clock: when the update that shows was first found to wait,
        self.waiting_until = 0  # and when it may enter
        self.destination = -1  # of the last update
        self.accepted = self.stalls = self.forwarded = 0

    def tick(self, now: int) -> int:
        """Let what is at its end leave, and accept an update or a read."""
        if not self._leave(now):
            return self.wait_output(self._sink())
        if self.updates.can_pop():
            if self._accepts(now):
                self._accept(now)
                return self.busy(now + 1 if self._shows() else self._next())
            return self.busy(min(self._next(), self.waiting_until + self.lag))
        if self.reads is not None and self.reads.can_pop():
            if self._youngest(self.reads.coordinate()) < 0:
                self._read(now)
            return self.busy(now + 1)
        if self.filled > 0:
            return self.busy(self._next())
        return self.busy(now + 1) if self.left == now else self.idle()

    def _shows(self) -> bool:  # C: noexcept
        """Return whether more is to be accepted."""
        return self.updates.can_pop() or (self.reads is not None and self.reads.can_pop())

    def _leave(self, now: int) -> bool:
        """Return whether all that is at its end has left; else nothing moves."""
        while self.filled > 0 and now >= self.due[self.oldest] + self.lag:
            if self.kinds[self.oldest] != NOTHING:
                if not self._sink().can_push():
                    return False
                self._send()
                self.lag = now - self.due[self.oldest]
                self.leaving -= 1
                self.left = now
            self.oldest = self.oldest + 1 if self.oldest + 1 < self.window else 0
            self.filled -= 1
        return True

    def _sink(self) -> Channel:
        """Return the channel through which the oldest leaves."""
        sink = self.temporaries if self.kinds[self.oldest] == READING else self.touched
        assert sink is not None
        return sink

    def _send(self) -> None:
        slot = self.oldest
        if self.kinds[slot] == READING:
            self._sink().push(0, self.places[slot], 0, self.values[slot])
        elif self.kinds[slot] == END:
            self._sink().push(STOP)
        else:
            self._sink().push(DATA, self.places[slot])

    def _accepts(self, now: int) -> bool:  # C: noexcept
        """Return whether the update at the input may enter; count the cycles of its wait, and forwarding."""
        if self.updates.control() == STOP:
            return True
        clock = now - self.lag
        match = self._youngest(self.updates.coordinate())
        if match >= 0:
            self.waiting_until = self._end_of_wait(match)
            if clock < self.waiting_until:
                if self.waiting_since < 0:
                    self.waiting_since = clock
                return False
            self.forwarded += 1
        if self.waiting_since >= 0:
            self.stalls += clock - self.waiting_since
            self.waiting_since = -1
        return True

    def _end_of_wait(self, match: int) -> int:  # C: noexcept
        """By the clock of all: when an update may enter behind this one of its destination."""
        if self.forwards and self.kinds[match] != READING:
            return self.due[match] - self.window + self.reduce_latency
        return self.due[match]

    def _youngest(self, place: int) -> int:  # C: noexcept
        """The slot of the youngest in flight of this destination; -1 if there is none."""
        for behind in range(self.filled - 1, -1, -1):
            slot = self.oldest + behind  # C: long
            if slot >= self.window:
                slot -= self.window
            if self.places[slot] == place:
                return slot
        return -1

    def _accept(self, now: int) -> None:
        """The update that shows is done at once: nobody reads the property before it is written."""
        if self.updates.control() == STOP:
            self._enter(now, NOTHING if self.touched is None else END, -1, 0.0)
        else:
            place = self.updates.coordinate()
            self._check(place)
            before = self.temporary[place]  # C: double
            self.temporary[place] = self._reduced(before, self.updates.value())
            first = before == self.neutral and self.touched is not None
            self._enter(now, FIRST if first else NOTHING, place, 0.0)
            self.destination = place
            self.accepted += 1
        self.updates.pop()

    def _read(self, now: int) -> None:
        assert self.reads is not None
        place = self.reads.coordinate()
        self._check(place)
        self._enter(now, READING, place, self.temporary[place])
        self.temporary[place] = self.neutral
        self.reads.pop()

    def _reduced(self, before: float, value: float) -> float:
        """A property and a value, reduced."""
        if self.way == LEAST:
            return min(value, before)
        if self.way == SUM:
            return self.value_type.add(before, value)
        return self.operation(before, value)  # type: ignore[operator]  # a function where it is no known name

    def _enter(self, now: int, kind: int, place: int, value: float) -> None:  # C: noexcept
        slot = self.oldest + self.filled  # C: long
        if slot >= self.window:
            slot -= self.window
        self.kinds[slot] = kind
        self.places[slot] = place
        self.values[slot] = value
        self.due[slot] = now - self.lag + self.window
        self.filled += 1
        if kind != NOTHING:
            self.leaving += 1

    def _next(self) -> int:  # C: noexcept
        """The cycle in which something is to leave, or all is written."""
        slot = self.oldest  # C: long
        if self.leaving > 0:
            while self.kinds[slot] == NOTHING:
                slot = slot + 1 if slot + 1 < self.window else 0
        else:
            slot += self.filled - 1
            if slot >= self.window:
                slot -= self.window
        return self.due[slot] + self.lag

    def _check(self, place: int) -> None:
        if place < 0 or place >= self.destinations:
            raise SimulationError(
                f"{self.name}: there is no destination {place}; they are from 0 to {self.destinations - 1}"
            )


def _way(name: str, operation: Operation) -> int:
    """Return the number of the reduction for this operation."""
    if callable(operation):
        return OWN
    if operation not in OPERATIONS:
        raise ValueError(
            f"{name}: operation must be a function or one of {', '.join(OPERATIONS)}, not {operation}"
        )
    return OPERATIONS.index(operation)
