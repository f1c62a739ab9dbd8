# cython: infer_types=True
# C compiler: -O2
"""A multiplier and the accumulator behind a merger, in time stamps."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.lookahead import ENDED
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.way_lookahead import WayLookahead
from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import ValueType
from fiberscope.sim import raw_words
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, IDLE, MAX_TIME
from fiberscope.sim.lookahead import Consumer

__all__ = ["SumLookahead"]

# An element or a stop between merger and accumulator.
COORDINATE = 0  # twice that, and one more if the element is scaled; ENDED of a stop
VALUE = 1
TIME = 2  # from when on the multiplier sees it; once it has taken it, when
ADDED = 3
PRODUCT = 4
FORESEEN = 48  # sums, at the most, from the last that was taken on


class SumLookahead(WayLookahead):
    """Stands in for a ``HighRadixMerger``, its ways, and the ``Multiplier`` and ``Accumulator`` behind it.

    Elements are counted from where they are passed on; each is multiplied, added and, as a sum, sent in the
    first cycle that lies behind that of the one before, in which it is there and has room.

    Args:
        operand, partials, reader: as of ``WayLookahead``.
        merger, multiplier, accumulator: in whose place it ticks.
        consumer: takes the sums.
    """

    in_flight: array[int]  # C: hidden long*
    values: memoryview[float]  # C: hidden double*
    came_at: array[int]  # C: hidden long*
    taken_at: array[int]  # C: hidden long*
    merged: int  # elements and stops so far
    multiplied: int
    added: int
    product_mask: int
    operands_room: int
    products_room: int
    operands_latency: int
    products_latency: int
    multiplying: int  # the cycles behind those of the last tokens
    adding: int
    starved: int  # cycles not yet accounted for in which the multiplier had no token, and no room
    held: int
    unneeded: int  # and the accumulator no token and nothing to add it to, no token, and no room
    waited: int
    full: int
    holding: bool  # whether there is a sum
    coordinate: int
    sum: float
    sent: int  # sums and stops
    foreseen: int  # of those, so many were taken, or are known to be,
    promised: int  # and so many will be as they come, but for stops
    sums_room: int
    sums_ring: int
    scaled: int
    additions: int
    emitted: int
    multiplied_settled: int
    added_settled: int

    def __init__(
        self,
        operand: CompressedRows,
        partials: PartialStore,
        reader: Component,
        merger: HighRadixMerger,
        multiplier: Multiplier,
        accumulator: Accumulator,
        consumer: Consumer,
    ) -> None:
        super().__init__(operand, partials, reader, merger, (merger, multiplier, accumulator))
        self.multiplier = multiplier
        self.accumulator = accumulator
        self.consumer = consumer
        self.value_type: ValueType = accumulator.value_type  # C: readonly ValueType; the multiplier's too

    def engage(self) -> None:
        """Take over from the components."""
        WayLookahead.engage(self)
        self.operands = self.multiplier.operands
        self.products = self.accumulator.products
        self.sums = self.accumulator.sums
        self.operands_room, self.products_room = self.operands.capacity, self.products.capacity
        self.operands_latency, self.products_latency = self.operands.latency, self.products.latency
        self.product_mask = (1 << (self.operands_room + self.products_room).bit_length()) - 1
        memory = self._keep(array("q", bytes(8 * PRODUCT * (self.product_mask + 1))))
        self.in_flight, self.values = raw_words.longs(memory), raw_words.doubles(memory)
        self.sums_room = self.sums.capacity
        self.sums_ring = 1 << (self.sums_room + FORESEEN).bit_length()
        self.came_at = raw_words.longs(self._keep(array("q", bytes(8 * self.sums_ring))))
        self.taken_at = raw_words.longs(self._keep(array("q", bytes(8 * self.sums_ring))))
        self.sums.widen(self.sums_ring)
        self.merged = self.multiplied = self.added = self.multiplied_settled = self.added_settled = 0
        self.multiplying = self.adding = self.scaled = self.additions = self.emitted = 0
        self.starved = self.held = self.unneeded = self.waited = self.full = 0
        self.sent = self.foreseen = self.coordinate = 0
        self.holding, self.sum = False, 0.0

    def _look(self, now: int) -> None:
        """Learn how many sums the consumer takes as they come, and what has room then."""
        self.promised = self.sums.pops + min(self.consumer.takes(), FORESEEN)
        self._flow()

    def _pass_stop(self, cycle: int) -> None:
        """A stop sets out to the multiplier."""
        self._pass_to_multiplier(cycle, ENDED, 0.0)

    def _pass_element(self, cycle: int, coordinate: int, element: int, source: int) -> None:
        """An element does, scaled unless it is of a partial fiber."""
        if source < 0:
            self._pass_to_multiplier(cycle, 2 * coordinate, self.partials.values[element])
        else:
            value = self.value_type.multiply(self.operand.values[element], self.multiplier.scales[source])
            self._pass_to_multiplier(cycle, 2 * coordinate + 1, value)

    def _pass_to_multiplier(self, cycle: int, coordinate: int, value: float) -> None:
        """An element with a coordinate as in flight, its value scaled, or a stop sets out in this cycle."""
        place = PRODUCT * (self.merged & self.product_mask)
        self.in_flight[place + TIME] = cycle + self.operands_latency
        self.in_flight[place + COORDINATE] = coordinate
        self.values[place + VALUE] = value
        self.merged += 1
        self._flow()

    def _room(self) -> int:
        """From when on there is room for the next one to set out; ``MAX_TIME`` if that is not known."""
        return self._room_behind(self.merged - self.operands_room, self.multiplied, TIME)

    def _room_behind(self, before: int, gone: int, when: int) -> int:  # C: noexcept, inline
        """When the element is gone whose slot is needed, if so many are and the word says when."""
        if before < 0:
            return 0
        if before >= gone:
            return MAX_TIME
        return self.in_flight[PRODUCT * (before & self.product_mask) + when] + 1

    def _flow(self) -> None:
        """Let all be multiplied and added that is known to."""
        while self._multiply() or self._add():
            pass

    def _happens(self, cycle: int) -> bool:  # C: noexcept, inline
        """Return whether a cycle is known, and before the horizon."""
        if cycle < self.horizon:
            return True
        self.parked = min(self.parked, cycle)
        return False

    def _multiply(self) -> bool:  # C: inline
        if self.multiplied == self.merged:
            return False
        place = PRODUCT * (self.multiplied & self.product_mask)
        ready = max(self.in_flight[place + TIME], self.multiplying)
        cycle = max(ready, self._room_behind(self.multiplied - self.products_room, self.added, ADDED))
        if not self._happens(cycle):
            return False
        self.starved += ready - self.multiplying
        self.held += cycle - ready
        self.multiplying = cycle + 1
        self.scaled += self.in_flight[place + COORDINATE] & 1
        self.in_flight[place + TIME] = cycle
        self.multiplied += 1
        return True

    def _add(self) -> bool:  # C: inline
        if self.added == self.multiplied:
            return False
        place = PRODUCT * (self.added & self.product_mask)
        coordinate = self.in_flight[place + COORDINATE] >> 1
        ready = max(self.in_flight[place + TIME] + self.products_latency, self.adding)
        joins = self.holding and coordinate == self.coordinate
        cycle = ready if joins else max(ready, self._sums_room(coordinate))
        if not self._happens(cycle):
            return False
        self._wait_for_product(ready)
        self.full += cycle - ready
        self.adding = cycle + 1
        self.in_flight[place + ADDED] = cycle
        self.added += 1
        if joins:
            self.sum = self.value_type.add(self.sum, self.values[place + VALUE])
            self.additions += 1
        else:
            self._sum_up(cycle, coordinate, self.values[place + VALUE])
        return True

    def _wait_for_product(self, ready: int) -> None:  # C: noexcept, inline
        """Account for the cycles in which the accumulator has none."""
        if self.holding:
            self.waited += ready - self.adding
        else:
            self.unneeded += ready - self.adding

    def _sums_room(self, coordinate: int) -> int:  # C: inline
        """From when on what leaves with this coordinate has room; ``MAX_TIME`` if that is not known."""
        slots = 2 if self.holding and coordinate == ENDED >> 1 else 1
        needed = self.sent + slots - self.sums_room
        if needed <= 0:
            return 0
        if needed > self.foreseen:
            self._foresee(self.own_clock.cycle)
        if needed <= self.foreseen:
            return self.taken_at[(needed - 1) & (self.sums_ring - 1)] + 1
        self.sums.want(self.sums_ring - self.sums_room + slots)
        return MAX_TIME

    def _foresee(self, now: int) -> None:  # C: noexcept
        """Learn when sums were taken, and when those will be that the consumer is bound to take."""
        while self.foreseen < self.sums.pops:
            self.taken_at[self.foreseen & (self.sums_ring - 1)] = now - 1
            self.foreseen += 1
            if self.foreseen == self.sums.pops and self.sums.popped_now():
                self.taken_at[(self.foreseen - 1) & (self.sums_ring - 1)] = now
        while self.foreseen < min(self.sent, self.promised):
            came = self.came_at[self.foreseen & (self.sums_ring - 1)]
            if came == MAX_TIME:
                return
            before = self.taken_at[(self.foreseen - 1) & (self.sums_ring - 1)]
            self.taken_at[self.foreseen & (self.sums_ring - 1)] = max(came, before + 1, now)
            self.foreseen += 1

    def _sum_up(self, cycle: int, coordinate: int, value: float) -> None:  # C: inline
        """Send the sum that is held, if one is, and begin another or, at a stop, send it on."""
        if self.holding:
            self._send(cycle, DATA, self.coordinate, self.sum)
            self.emitted += 1
        self.holding = coordinate != ENDED >> 1
        self.coordinate = coordinate
        self.sum = value
        if not self.holding:
            self._send(cycle, STOP, 0, 0.0)

    def _send(self, cycle: int, control: int, coordinate: int, value: float) -> None:  # C: inline
        self.sums.push_at(cycle, control, coordinate, 0, value)
        self.came_at[self.sent & (self.sums_ring - 1)] = (
            MAX_TIME if control == STOP else cycle + self.sums.latency
        )
        self.sent += 1

    def last(self) -> int:
        """The last cycle in which anything is known to have happened."""
        return max(WayLookahead.last(self), self.adding - 1, self.multiplying - 1)

    def _settle_others(self, cycle: int) -> None:
        """Bring the accounts of ways, multiplier and accumulator up to this cycle."""
        WayLookahead._settle_others(self, cycle)
        self._settle_multiplier(cycle)
        self._settle_accumulator(cycle)

    def _settle_multiplier(self, cycle: int) -> None:  # C: noexcept
        part, stall = self.multiplier, self.products.writer_state
        ready = cycle
        if self.multiplied < self.merged:
            ready = self.in_flight[PRODUCT * (self.multiplied & self.product_mask) + TIME]
        part._cycles[IDLE] += self.starved
        part._cycles[stall] += self.held
        part._cycles[BUSY] += self.multiplied - self.multiplied_settled
        _settle(part, self.multiplying, ready, IDLE, stall, cycle)
        part.multiply = self.scaled
        self.multiplying, self.multiplied_settled = cycle, self.multiplied
        self.starved = self.held = 0

    def _settle_accumulator(self, cycle: int) -> None:  # C: noexcept
        part, wait, stall = self.accumulator, self.products.reader_state, self.sums.writer_state
        ready = cycle
        if self.added < self.multiplied:
            place = PRODUCT * (self.added & self.product_mask)
            ready = self.in_flight[place + TIME] + self.products_latency
        part._cycles[IDLE] += self.unneeded
        part._cycles[wait] += self.waited
        part._cycles[stall] += self.full
        part._cycles[BUSY] += self.added - self.added_settled
        _settle(part, self.adding, ready, wait if self.holding else IDLE, stall, cycle)
        part.add, part.emitted = self.additions, self.emitted
        self.adding, self.added_settled = cycle, self.added
        self.unneeded = self.waited = self.full = 0


def _settle(  # C: cdef, noexcept, before=int, stall=int
    part: Component, since: int, ready: int, before: int, stall: int, cycle: int
) -> None:
    """Account for the cycles since the last token: before the next one is there, and without room for it."""
    ready = min(max(ready, since), cycle)
    part._cycles[before] += ready - since
    part._cycles[stall] += cycle - ready
    part._state = BUSY if since == cycle else stall if ready < cycle else before
    part._since = cycle
