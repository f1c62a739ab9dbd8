# cython: infer_types=True
"""Atomic read-reduce-write updates of the destinations of edges, serialized for each destination."""

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
MINIMUM, SUM, CUSTOM = range(3)  # reductions: minimum, sum, or a function of the caller

Operation: TypeAlias = str | Callable[[float, float], float]

# Kinds of an operation in flight, by what it sends when it completes: nothing (an update of a property that
# was not neutral), the destination (an update of a neutral property), a stop, or the property (a read).
NOTHING, FIRST, END, READING = range(4)


class AtomicUpdate(Component):
    """A pipeline that reduces values into temporary properties of vertices: P6 to P9 of Graphicionado.

    Interface: a token on ``updates`` holds a destination and a value. The unit reads the temporary property
    of the destination, reduces it with the value and writes the result. If the property was neutral before
    the update, the unit sends the destination on ``touched`` once the result is written. A stop on
    ``updates`` is passed on to ``touched`` after all earlier updates. A token on ``reads`` is a request of
    the apply phase: the unit sends the property of the destination on ``temporaries`` and resets the property
    to neutral. If ``reads`` is connected, ``temporaries`` must be too, which is not checked. Without a
    channel at ``touched``, the unit sends no destinations and drops stops.

    Timing: the unit accepts one update or one read a cycle; updates have priority. An operation accepted in
    cycle t completes in cycle t + window, where window is the sum of the three latencies. It is in flight
    until then, and its result is written and its token sent in that cycle. If the output for that token is
    full, the whole pipeline stalls. The mode decides about an update whose destination is in flight:

    - ``stall``: the update waits until the operation in flight is written.
    - ``forward``: the update uses the reduced value of the youngest update of this destination in flight. It
      waits only until this value is reduced. It therefore never waits if ``reduce_latency`` is 1.

    In both modes, a read waits while its destination is in flight or an update is visible, and an update
    waits for a read of its destination.

    Accounting: busy while an operation is in flight or accepted; waiting for output while the pipeline
    stalls.

    Counts: ``accepted``, the updates accepted; ``stalls``, the cycles in which an update waited for its
    destination, without those in which the whole pipeline stalled, counted when the update is accepted;
    ``forwarded``, the updates accepted while their destination was in flight.

    Source: Graphicionado (MICRO 2016) for the control of atomic updates, GraphDynS (MICRO 2019) for
    forwarding. The cycle in which a reduction of several cycles is forwarded, and the priority of updates
    over reads, are choices of this model.

    Args:
        temporary: the temporary property of each destination, as doubles; shared with the apply phase, not
            copied.
        operation: reduction: ``"min"``, ``"add"``, or a function of the property and the value that returns
            the new property.
        neutral: property of a destination without an update.
        mode: ``"stall"`` or ``"forward"``.
        read_latency, reduce_latency, write_latency: latencies of the three steps in cycles, each at least 1.
        values: type of all values, by its name in ``TYPES``; it defines the addition of ``"add"``.

    Raises:
        ValueError: if the mode or the operation is unknown, or a latency is below 1.
        KeyError: if ``TYPES`` has no type ``values``.
        SimulationError: during the run, if a token names a destination that does not exist.
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
        least = min(read_latency, reduce_latency, write_latency)
        if least < 1:
            raise ValueError(f"{name}: latencies must be at least 1, not {least}")
        self.temporary = temporary  # C: double[::1]
        self.destinations = len(temporary)
        self.operation = operation
        self.reduction = _reduction(name, operation)
        self.neutral = neutral
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.forwards = mode == FORWARD
        self.reduce_latency = reduce_latency
        self.window = read_latency + reduce_latency + write_latency
        # A ring of the operations in flight, one slot for each: kind, destination (-1 for a stop), property
        # (of a read), and pipeline cycle of completion. The pipeline cycle is the cycle minus ``lag``.
        self.kinds = array("q", bytes(8 * self.window))
        self.slot_destinations = array("q", bytes(8 * self.window))
        self.values = array("d", bytes(8 * self.window))
        self.completion_cycles = array("q", bytes(8 * self.window))
        self.oldest = 0  # slot of the oldest operation
        self.filled = 0  # operations in flight
        self.leaving = 0  # operations in flight that send a token when they complete
        self.last_sent = -1  # last cycle in which a token was sent
        self.lag = 0  # cycles for which the pipeline has stalled so far
        self.waiting_since = -1  # pipeline cycle from which the head of ``updates`` waits; -1 if it does not
        self.waiting_until = 0  # pipeline cycle in which the head of ``updates`` can be accepted
        self.destination = -1  # destination of the last update
        self.accepted = self.stalls = self.forwarded = 0

    def tick(self, now: int) -> int:
        """Complete the operations that are due, and accept an update or a read."""
        if not self._leave(now):
            return self.wait_output(self._sink())
        if self.updates.can_pop():
            if self._accepts(now):
                self._accept(now)
                return self.busy(now + 1 if self._has_input() else self._next_event())
            return self.busy(min(self._next_event(), self.waiting_until + self.lag))
        if self.reads is not None and self.reads.can_pop():
            if self._youngest(self.reads.coordinate()) < 0:
                self._accept_read(now)
            return self.busy(now + 1)
        if self.filled > 0:
            return self.busy(self._next_event())
        return self.busy(now + 1) if self.last_sent == now else self.idle()

    def _has_input(self) -> bool:  # C: noexcept
        """Return whether an update or a read waits at an input."""
        return self.updates.can_pop() or (self.reads is not None and self.reads.can_pop())

    def _leave(self, now: int) -> bool:
        """Complete the operations that are due; return whether none of them is blocked by a full output."""
        while self.filled > 0 and now >= self.completion_cycles[self.oldest] + self.lag:
            # An operation that sends nothing may leave in a tick after the cycle in which it is due: nobody
            # can observe it, so the unit need not wake for it.
            if self.kinds[self.oldest] != NOTHING:
                if not self._sink().can_push():
                    return False
                self._send()
                self.lag = now - self.completion_cycles[self.oldest]
                self.leaving -= 1
                self.last_sent = now
            self.oldest = self.oldest + 1 if self.oldest + 1 < self.window else 0
            self.filled -= 1
        return True

    def _sink(self) -> Channel:
        """Return the output to which the oldest operation sends its token."""
        sink = self.temporaries if self.kinds[self.oldest] == READING else self.touched
        assert sink is not None
        return sink

    def _send(self) -> None:
        """Send the token of the oldest operation: a property, a stop or a destination."""
        slot = self.oldest
        if self.kinds[slot] == READING:
            self._sink().push(0, self.slot_destinations[slot], 0, self.values[slot])
        elif self.kinds[slot] == END:
            self._sink().push(STOP)
        else:
            self._sink().push(DATA, self.slot_destinations[slot])

    def _accepts(self, now: int) -> bool:  # C: noexcept
        """Return whether the head of ``updates`` can be accepted; count its waiting cycles and forwarding."""
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
        """Return the pipeline cycle from which an update can follow the operation in slot ``match``."""
        if self.forwards and self.kinds[match] != READING:
            return self.completion_cycles[match] - self.window + self.reduce_latency
        return self.completion_cycles[match]

    def _youngest(self, destination: int) -> int:  # C: noexcept
        """Return the slot of the youngest operation in flight for this destination, -1 if there is none."""
        for age in range(self.filled - 1, -1, -1):
            slot = self.oldest + age  # C: long
            if slot >= self.window:
                slot -= self.window
            if self.slot_destinations[slot] == destination:
                return slot
        return -1

    def _accept(self, now: int) -> None:
        """Accept the head of ``updates``; change the property now, as no read sees it before the write."""
        if self.updates.control() == STOP:
            self._enter(now, NOTHING if self.touched is None else END, -1, 0.0)
        else:
            destination = self.updates.coordinate()
            self._check(destination)
            previous = self.temporary[destination]  # C: double
            self.temporary[destination] = self._reduced(previous, self.updates.value())
            is_first = previous == self.neutral and self.touched is not None
            self._enter(now, FIRST if is_first else NOTHING, destination, 0.0)
            self.destination = destination
            self.accepted += 1
        self.updates.pop()

    def _accept_read(self, now: int) -> None:
        """Accept the head of ``reads``; reset the property now, as no update can follow before the end."""
        assert self.reads is not None
        destination = self.reads.coordinate()
        self._check(destination)
        self._enter(now, READING, destination, self.temporary[destination])
        self.temporary[destination] = self.neutral
        self.reads.pop()

    def _reduced(self, previous: float, value: float) -> float:
        """Return the property ``previous`` reduced with the value."""
        if self.reduction == MINIMUM:
            return min(value, previous)
        if self.reduction == SUM:
            return self.value_type.add(previous, value)
        return self.operation(previous, value)  # type: ignore[operator]  # a function

    def _enter(self, now: int, kind: int, destination: int, value: float) -> None:  # C: noexcept
        """Put an operation into the free slot after the youngest one; it completes ``window`` cycles later.

        A slot is free, because at most one operation enters per cycle, and the due operations have left.
        """
        slot = self.oldest + self.filled  # C: long
        if slot >= self.window:
            slot -= self.window
        self.kinds[slot] = kind
        self.slot_destinations[slot] = destination
        self.values[slot] = value
        self.completion_cycles[slot] = now - self.lag + self.window
        self.filled += 1
        if kind != NOTHING:
            self.leaving += 1

    def _next_event(self) -> int:  # C: noexcept
        """Return the cycle of the next token to send; if there is none, that of the last completion."""
        slot = self.oldest  # C: long
        if self.leaving > 0:
            while self.kinds[slot] == NOTHING:
                slot = slot + 1 if slot + 1 < self.window else 0
        else:
            slot += self.filled - 1
            if slot >= self.window:
                slot -= self.window
        return self.completion_cycles[slot] + self.lag

    def _check(self, destination: int) -> None:
        """Raise ``SimulationError`` if there is no such destination."""
        if destination < 0 or destination >= self.destinations:
            raise SimulationError(
                f"{self.name}: there is no destination {destination}; "
                f"they are from 0 to {self.destinations - 1}"
            )


def _reduction(name: str, operation: Operation) -> int:
    """Return the reduction of an operation: ``MINIMUM``, ``SUM`` or ``CUSTOM``.

    Raises:
        ValueError: if the operation is unknown.
    """
    if callable(operation):
        return CUSTOM
    if operation not in OPERATIONS:
        raise ValueError(
            f"{name}: operation must be a function or one of {', '.join(OPERATIONS)}, not {operation}"
        )
    return OPERATIONS.index(operation)
