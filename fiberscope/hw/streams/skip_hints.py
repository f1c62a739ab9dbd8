# cython: infer_types=True
"""Hints of a joiner to a scanner about elements to skip, and their validity."""

from __future__ import annotations

from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.quirks import Q7
from fiberscope.hw.streams.tokens import DATA, STOP
from fiberscope.sim.channel import Channel


class Skips:  # C: final
    """The skip port of a scanner: what waits there, and the one skip that is to be applied next.

    A skip speaks of the fiber whose number is that of the stops that came on the port before it. A coordinate
    says that nothing below it is wanted of that fiber, a stop that nothing is any more. A stop makes void the
    coordinates that wait; without Q7 a coordinate does so too, so that a register holds what waits.

    Timing: of those that wait one is taken in each cycle, unless one is pending. A skip of a fiber whose stop
    has been sent is void, and so is a coordinate below the one sent last.

    Quirk Q7: the coordinate sent last is kept from fiber to fiber; and a stop that comes when the last
    element has been sent is applied to the next fiber.

    Counts: ``stops`` taken; skips ``applied``, ``late`` for what the fiber had passed already, ``overtaken``
    of fibers that had ended; ``longest_queue``.

    Source: the public simulator's compressed scanner (weiya711/sam at 6e477d1).

    Args:
        quirks: see ``StreamBlock``.
    """

    def __init__(self, quirks: int) -> None:
        self.public = bool(quirks & Q7)
        self.pending = False
        self.kind = DATA  # of the pending skip, and its coordinate
        self.coordinate = 0
        self.fiber = 0  # number of the fiber that it speaks of
        self.last = 0 if self.public else -1  # the coordinate sent last
        self.stops_waiting = 0  # they stand before the coordinates that wait
        self.waiting = Growing(8)
        self.next = 0  # place of the first that waits
        self.sent_stops = 0
        self.stops = self.applied = self.late = self.overtaken = self.longest_queue = 0

    def hear(self, port: Channel) -> None:
        """Take in what comes in this cycle, and see what is to be applied."""
        if port.can_pop():
            self._queue(port.control(), port.coordinate())
            port.pop()
        if self.queued() > 0 and not self.pending:
            self._take()

    def queued(self) -> int:  # C: noexcept
        """Skips that wait to be taken."""
        return self.stops_waiting + self.waiting.count - self.next

    def can_take(self) -> bool:  # C: noexcept
        """Return whether one is taken in the next cycle even if none comes."""
        return self.queued() > 0 and not self.pending

    def _queue(self, kind: int, coordinate: int) -> None:
        """Put a skip behind those that wait."""
        if kind == STOP or not self.public:
            self.waiting.clear()
            self.next = 0
        if kind == STOP:
            self.stops_waiting += 1
        else:
            self.waiting.append(coordinate)
        self._supersede()
        self.longest_queue = max(self.longest_queue, self.queued())

    def _supersede(self) -> None:  # C: noexcept
        """A coordinate that is pending gives way to what says more; not in the public simulator."""
        if self.pending and self.kind == DATA and not self.public:
            self.pending = False

    def _take(self) -> None:
        """Take the first of those that wait; it is pending unless it is void."""
        stop = self.stops_waiting > 0
        self.kind = STOP if stop else DATA
        if stop:
            self.stops_waiting -= 1
        else:
            self.coordinate = self.waiting.integer(self.next)
            self.next += 1
        self.fiber = self.stops
        self.pending = self._applies(stop)
        if stop:
            self.stops += 1

    def sent(self, coordinate: int) -> None:
        """The scanner has sent an element."""
        self.last = coordinate

    def sent_stop(self) -> None:
        """The scanner has sent a stop; what is pending of the fiber that has ended is void."""
        self.sent_stops += 1
        speaks_of = self.stops if self.public else self.fiber
        if self.pending and speaks_of < self.sent_stops:
            self.pending = False
            self.overtaken += 1
        if not self.public:
            self.last = -1

    def apply(self) -> bool:
        """The pending skip is applied now; whether it changes anything."""
        self.pending = False
        if self.kind == DATA and self.coordinate <= self.last:
            self.late += 1
            return False
        self.applied += 1
        return True

    def _applies(self, stop: bool) -> bool:  # C: noexcept
        if self.stops < self.sent_stops:
            self.overtaken += 1
            return False
        if self.stops == self.sent_stops and not stop and self.coordinate < self.last:
            self.late += 1
            return False
        return True
