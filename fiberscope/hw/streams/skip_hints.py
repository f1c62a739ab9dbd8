# cython: infer_types=True
"""Hints of a joiner to a scanner about elements to skip, and their validity."""

from __future__ import annotations

from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.quirks import Q7
from fiberscope.hw.streams.tokens import DATA, STOP
from fiberscope.sim.channel import Channel


class Skips:  # C: final
    """The skip port of a scanner: the skips (hints) that wait there, and the pending skip to apply next.

    A skip refers to a fiber; the number of the fiber is the number of stops that came on the port before the
    skip. A coordinate means that elements of the fiber below the coordinate are not needed. A stop means that
    no further elements of the fiber are needed. A stop cancels the waiting coordinates. Without Q7 a new
    coordinate cancels them as well, so that one register can hold the waiting coordinate.

    The scanner calls ``receive`` once per cycle, ``note_sent`` and ``sent_stop`` for each token that it
    sends, and ``apply`` when it can use a pending skip.

    Timing: in each cycle one waiting skip is taken, unless one is pending. A skip is dropped if the stop of
    its fiber was already sent, or if it is a coordinate below the last coordinate sent. When it is applied, a
    coordinate equal to the last coordinate sent has no effect either.

    Quirk Q7: the last coordinate sent is kept from fiber to fiber. A stop that comes after the last element
    was sent is applied to the next fiber.

    Counts: ``stops`` taken; ``applied`` skips; ``late`` skips, to a coordinate that the scanner had passed;
    ``overtaken`` skips, of fibers that had ended; ``longest_queue``, the largest number of waiting skips.

    Source: the public simulator's compressed scanner (weiya711/sam at 6e477d1).

    Args:
        quirks: see ``StreamBlock``.
    """

    def __init__(self, quirks: int) -> None:
        self.public = bool(quirks & Q7)
        self.pending = False  # whether a skip is pending
        self.kind = DATA  # kind of the pending skip
        self.coordinate = 0  # coordinate of the pending skip
        self.fiber = 0  # number of the fiber of the pending skip
        self.last_coordinate = 0 if self.public else -1  # the last coordinate sent
        self.stops_waiting = 0  # number of waiting stops, which precede the waiting coordinates
        self.coordinates = Growing(8)  # coordinates; those from ``next_index`` on wait
        self.next_index = 0
        self.sent_stops = 0  # number of stops that the scanner has sent
        self.stops = self.applied = self.late = self.overtaken = self.longest_queue = 0

    def receive(self, port: Channel) -> None:
        """Receive a skip that arrives in this cycle, and take the next waiting skip if none is pending."""
        if port.can_pop():
            self._queue(port.control(), port.coordinate())
            port.pop()
        if self.queued() > 0 and not self.pending:
            self._take_next()

    def queued(self) -> int:  # C: noexcept
        """Return the number of waiting skips."""
        return self.stops_waiting + self.coordinates.count - self.next_index

    def can_take(self) -> bool:  # C: noexcept
        """Return whether a waiting skip can be taken in the next cycle."""
        return self.queued() > 0 and not self.pending

    def _queue(self, kind: int, coordinate: int) -> None:
        """Append a skip to the waiting skips, and drop the skips that it cancels."""
        if kind == STOP or not self.public:
            self.coordinates.clear()
            self.next_index = 0
        if kind == STOP:
            self.stops_waiting += 1
        else:
            self.coordinates.append(coordinate)
        self._supersede()
        self.longest_queue = max(self.longest_queue, self.queued())

    def _supersede(self) -> None:  # C: noexcept
        """Drop a pending coordinate, because a newer skip replaces it; not with Q7. No counter records it."""
        if self.pending and self.kind == DATA and not self.public:
            self.pending = False

    def _take_next(self) -> None:
        """Take the first waiting skip; it becomes pending unless it has no effect."""
        is_stop = self.stops_waiting > 0  # a stop cancels earlier coordinates, so stops wait in front
        self.kind = STOP if is_stop else DATA
        if is_stop:
            self.stops_waiting -= 1
        else:
            self.coordinate = self.coordinates.integer(self.next_index)
            self.next_index += 1
        self.fiber = self.stops
        self.pending = self._applies(is_stop)
        if is_stop:
            self.stops += 1

    def note_sent(self, coordinate: int) -> None:
        """Note that the scanner has sent an element with this coordinate."""
        self.last_coordinate = coordinate

    def sent_stop(self) -> None:
        """Note that the scanner has sent a stop, and drop a pending skip of the fiber that has ended."""
        self.sent_stops += 1
        # With Q7 the number of a pending stop is one too high, so that it survives the end of its fiber.
        skip_fiber = self.stops if self.public else self.fiber
        if self.pending and skip_fiber < self.sent_stops:
            self.pending = False
            self.overtaken += 1
        if not self.public:
            self.last_coordinate = -1

    def apply(self) -> bool:
        """Apply the pending skip, and return whether it has an effect; if not, count it as late.

        A skip has an effect if it is a stop, or a coordinate above the last coordinate sent.
        """
        self.pending = False
        if self.kind == DATA and self.coordinate <= self.last_coordinate:
            self.late += 1
            return False
        self.applied += 1
        return True

    def _applies(self, is_stop: bool) -> bool:  # C: noexcept
        """Return whether the skip that is taken can have an effect; if not, count it as overtaken or late."""
        if self.stops < self.sent_stops:
            self.overtaken += 1
            return False
        if self.stops == self.sent_stops and not is_stop and self.coordinate < self.last_coordinate:
            self.late += 1
            return False
        return True
