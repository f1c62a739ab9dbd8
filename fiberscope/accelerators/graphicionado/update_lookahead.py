# cython: infer_types=True
"""The destination pipe of a stream, in time stamps."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.graphicionado.edge_processor import EdgeProcessor
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, IDLE
from fiberscope.sim.lookahead import StandIn

__all__ = ["UpdatesAhead"]

# An update, or the stop behind those of an iteration, at the update unit:
ACCEPTED = 0  # in which cycle,
ENDED = 1  # the one from which on it keeps nothing busy,
PLACE = 2  # its destination, NOWHERE of a stop,
WAITED = 3  # cycles for its destination,
FORWARDED = 4  # and whether it took what another left
RECORD = 5
NOWHERE = -1


class UpdatesAhead(StandIn):
    """Stands in for an ``EdgeProcessor`` and the ``AtomicUpdate`` behind it, whose reads are not connected.

    It takes an edge in the cycle in which the processor would, and knows then when its update is accepted: in
    the first cycle behind that of the one before in which it is there and does not wait for its destination.

    Who reads ``touched`` takes everything as it comes, and two slots there are enough for that.

    Args:
        processor, update: in whose place it ticks.
    """

    def __init__(self, processor: EdgeProcessor, update: AtomicUpdate) -> None:
        super().__init__(processor.name, (processor, update))
        self.source: Channel
        self.touched: Channel
        self.processor = processor
        self.update = update
        self.taken = 0  # edges and stops
        self.taken_at = -1  # the last
        self.blocked = 0  # cycles that they waited for room
        self.blocked_until = -1
        self.entered = 0  # updates and stops that the update unit accepts, of them
        self.accepted = self.stalls = self.forwarded = 0  # updates, as the unit counts them
        self.busy_cycles = 0  # of the unit

    def engage(self) -> None:
        """Take over from the components."""
        assert self.update.touched is not None
        self.source = self.processor.source
        self.touched = self.update.touched
        updates = self.update.updates  # C: Channel
        self.latency = updates.latency
        self.room = updates.capacity
        self.window = self.update.window
        self.temporary = self.update.temporary  # C: double[::1]
        updates_under_way = (
            self.room + self.window + self.touched.latency + 4
        )  # at the unit, or not yet seen behind it
        self.mask = (1 << updates_under_way.bit_length()) - 1
        self.records = array("q", bytes(8 * RECORD * (self.mask + 1)))
        self.touched.widen(self.mask + 1)
        self.engaged = True

    def tick(self, now: int) -> int:
        """Take an edge or a stop."""
        if now >= self.blocked_until and self.source.can_pop():
            room = self._room()
            if room > now:
                self.blocked += room - now
                self.blocked_until = room
                self.wake_at(room)
            else:
                self._take(now)
                if self.source.can_pop():
                    self.wake_at(now + 1)
        return self.idle()

    def _room(self) -> int:  # C: noexcept, inline
        """From when on there is room for the update of the edge that shows, or for its stop."""
        if self.entered < self.room:
            return 0
        if self.source.control() == STOP and not self.processor.ends():
            return 0
        return self.records[self._place(self.entered - self.room) + ACCEPTED] + 1

    def _place(self, number: int) -> int:  # C: noexcept, inline
        return RECORD * (number & self.mask)

    def _take(self, now: int) -> None:  # C: inline
        if self.source.control() != STOP:
            place = self.processor.place()
            self._update(now + self.latency, place, self.processor.message())
            self.processor.edges += 1
        elif self.processor.end():
            cycle = self._next(now + self.latency)
            self._enter(cycle, NOWHERE, 0, False, True)
        self.source.pop()
        self.taken += 1
        self.taken_at = now

    def _next(self, seen: int) -> int:  # C: noexcept, inline
        """When what is seen from a cycle on is the one to be accepted next."""
        if self.entered == 0:
            return seen
        return max(seen, self.records[self._place(self.entered - 1) + ACCEPTED] + 1)

    def _update(self, seen: int, place: int, value: float) -> None:  # C: inline
        """An update is seen by the unit from a cycle on."""
        first = self._next(seen)
        cycle = first
        match = self._youngest(place, first)
        forwarded = match >= 0 and self.update.forwards
        if forwarded:
            cycle = max(first, self.records[match + ACCEPTED] + self.update.reduce_latency)
        elif match >= 0:
            cycle = self.records[match + ACCEPTED] + self.window
        before = self.temporary[place]  # C: double
        self.temporary[place] = self.update.reduced(before, value)
        self.accepted += 1
        self.stalls += cycle - first
        self.forwarded += forwarded
        self._enter(cycle, place, cycle - first, forwarded, before == self.update.neutral)

    def _youngest(self, place: int, cycle: int) -> int:  # C: noexcept, inline
        """The record of the youngest update of a destination in flight in a cycle; -1 if there is none."""
        number = self.entered - 1
        while number >= 0:
            record = self._place(number)
            if self.records[record + ACCEPTED] + self.window <= cycle:
                return -1
            if self.records[record + PLACE] == place:
                return record
            number -= 1
        return -1

    def _enter(self, cycle: int, place: int, waited: int, forwarded: bool, leaves: bool) -> None:  # C: inline
        """One is accepted in a cycle; what it tells of leaves when it is written."""
        written = cycle + self.window
        record = self._place(self.entered)
        self.records[record + ACCEPTED] = cycle
        self.records[record + ENDED] = written + leaves
        self.records[record + PLACE] = place
        self.records[record + WAITED] = waited
        self.records[record + FORWARDED] = forwarded
        self.busy_cycles += written + leaves - self._begin(self.entered)
        self.entered += 1
        if leaves:
            self.touched.push_at(written, STOP if place == NOWHERE else DATA, max(place, 0), 0, 0.0)

    def _begin(self, number: int) -> int:  # C: noexcept, inline
        """From when on one keeps the unit busy that those before it do not."""
        cycle = self.records[self._place(number) + ACCEPTED]
        return cycle if number == 0 else max(cycle, self.records[self._place(number - 1) + ENDED])

    def last(self) -> int:
        """The last cycle in which anything is known to have happened."""
        if self.entered == 0:
            return self.taken_at
        return max(self.taken_at, self.records[self._place(self.entered - 1) + ENDED] - 1)

    def settle(self, cycle: int) -> None:
        """Bring the components' accounts up to this cycle, before which all has happened that will."""
        self._settle_processor(cycle)
        self._settle_update(cycle)

    def _settle_processor(self, cycle: int) -> None:
        stall = self.processor.updates.writer_state
        blocked = self.blocked - max(0, self.blocked_until - cycle)
        state = BUSY if self.taken_at == cycle - 1 else IDLE
        if self.blocked_until >= cycle:
            state = stall
        _set(self.processor, cycle, state, self.taken)
        self.processor._cycles[stall] = blocked
        self.processor._cycles[IDLE] -= blocked

    def _settle_update(self, cycle: int) -> None:
        """Leave out what is known of later cycles."""
        accepted, stalls, forwarded, busy = self.accepted, self.stalls, self.forwarded, self.busy_cycles
        works = False
        number = self.entered - 1
        while number >= 0 and self.records[self._place(number) + ENDED] >= cycle:
            record = self._place(number)
            busy -= self.records[record + ENDED] - max(cycle, self._begin(number))
            if self.records[record + ACCEPTED] < cycle:
                works = True
            else:
                accepted -= self.records[record + PLACE] != NOWHERE
                stalls -= self.records[record + WAITED]
                forwarded -= self.records[record + FORWARDED]
            number -= 1
        self.update.accepted, self.update.stalls, self.update.forwarded = accepted, stalls, forwarded
        _set(self.update, cycle, BUSY if works else IDLE, busy)


def _set(part: Component, cycle: int, state: int, busy: int) -> None:  # C: cdef, state=int
    """Account for all cycles up to one: so many were busy, the others idle."""
    part._cycles[BUSY] = busy
    part._cycles[IDLE] = cycle - busy
    part._state = state
    part._since = cycle
