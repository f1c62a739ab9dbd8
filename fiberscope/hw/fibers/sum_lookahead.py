# cython: infer_types=True
# C compiler: -O2
"""A merger with the multiplier and the accumulator that follow it, modeled by time stamps."""

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
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, IDLE, MAX_TIME
from fiberscope.sim.lookahead import Consumer

__all__ = ["SumLookahead"]

# Words of the record of a token (an element or a stop) between the merger and the accumulator.
COORDINATE = 0  # twice the coordinate, plus 1 if the element is scaled; ENDED for a stop
VALUE = 1
TIME = 2  # cycle from which the multiplier sees the token; later, the cycle of the multiplication
ADDED = 3  # cycle in which the accumulator took the token
PRODUCT = 4  # words of a record
FORESEEN = 48  # most sums after the last popped one whose pop cycles are computed in advance


class SumLookahead(WayLookahead):
    """Replaces a ``HighRadixMerger``, its ways, and the ``Multiplier`` and ``Accumulator`` that follow it.

    Tokens are numbered in the order in which they leave the merger. Each token is multiplied, then added.
    Each step occurs in the first cycle that meets three conditions: the cycle is later than that of the same
    step of the token before, the token is visible, and the output has a free slot.

    Args:
        operand, partials, reader: as for ``WayLookahead``.
        merger, multiplier, accumulator: the components that this object replaces.
        consumer: the component that pops the sums.
    """

    in_flight: array[int]  # C: hidden long*
    values: memoryview[float]  # C: hidden double*
    arrival_cycles: array[int]  # C: hidden long*
    pop_cycles: array[int]  # C: hidden long*
    merged_tokens: int  # number of tokens that left the merger so far
    multiplied_count: int
    added_count: int
    product_mask: int
    operands_room: int
    products_room: int
    operands_latency: int
    products_latency: int
    next_multiply: int  # cycle after that of the multiplier's last token
    next_add: int  # cycle after that of the accumulator's last token
    # Cycles that are not yet accounted for.
    starved_cycles: int  # the multiplier had no token
    blocked_cycles: int  # the multiplier had no free slot at its output
    idle_cycles: int  # the accumulator had no token and held no sum
    waiting_cycles: int  # the accumulator had no token and held a sum
    full_cycles: int  # the accumulator had no free slot at its output
    holds_sum: bool  # whether the accumulator holds a sum
    coordinate: int
    sum: float
    sent_count: int  # number of sums and stops sent so far
    foreseen_count: int  # number of sums and stops whose pop cycles are known
    promised: int  # number of sums and stops up to which the consumer pops each sum when it is visible
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
        """Start to simulate in place of the components."""
        WayLookahead.engage(self)
        self.operands = self.multiplier.operands
        self.products = self.accumulator.products
        self.sums = self.accumulator.sums
        self.operands_room, self.products_room = self.operands.capacity, self.products.capacity
        self.operands_latency, self.products_latency = self.operands.latency, self.products.latency
        self.product_mask = (1 << (self.operands_room + self.products_room).bit_length()) - 1
        memory = self._pin(array("q", bytes(8 * PRODUCT * (self.product_mask + 1))))
        self.in_flight, self.values = raw_words.longs(memory), raw_words.doubles(memory)
        self.sums_room = self.sums.capacity
        self.sums_ring = 1 << (self.sums_room + FORESEEN).bit_length()
        self.arrival_cycles = raw_words.longs(self._pin(array("q", bytes(8 * self.sums_ring))))
        self.pop_cycles = raw_words.longs(self._pin(array("q", bytes(8 * self.sums_ring))))
        # Sums are pushed ahead of their cycles, so that the channel holds more tokens than its real capacity
        self.sums.widen(self.sums_ring)
        self.merged_tokens = self.multiplied_count = self.added_count = self.multiplied_settled = (
            self.added_settled
        ) = 0
        self.next_multiply = self.next_add = self.scaled = self.additions = self.emitted = 0
        self.starved_cycles = self.blocked_cycles = self.idle_cycles = self.waiting_cycles = (
            self.full_cycles
        ) = 0
        self.sent_count = self.foreseen_count = self.coordinate = 0
        self.holds_sum, self.sum = False, 0.0

    def _read_inputs(self, now: int) -> None:
        """Read how many sums the consumer will pop without delay, and use the slots that become free."""
        self.promised = self.sums.pops + min(self.consumer.promised_pops(), FORESEEN)
        self._flow()

    def _pass_stop(self, cycle: int) -> None:
        """Send a stop to the multiplier."""
        self._pass_to_multiplier(cycle, ENDED, 0.0)

    def _pass_element(self, cycle: int, coordinate: int, element: int, source: int) -> None:
        """Send an element to the multiplier; compute its product unless it belongs to a partial fiber."""
        if source < 0:
            self._pass_to_multiplier(cycle, 2 * coordinate, self.partials.values[element])
        else:
            value = self.value_type.multiply(self.operand.values[element], self.multiplier.scales[source])
            self._pass_to_multiplier(cycle, 2 * coordinate + 1, value)

    def _pass_to_multiplier(self, cycle: int, coordinate: int, value: float) -> None:
        """Send a token to the multiplier in this cycle.

        Args:
            cycle: cycle in which the token leaves the merger.
            coordinate: word ``COORDINATE`` of the token.
            value: value after the multiplication.
        """
        record = PRODUCT * (self.merged_tokens & self.product_mask)
        self.in_flight[record + TIME] = cycle + self.operands_latency
        self.in_flight[record + COORDINATE] = coordinate
        self.values[record + VALUE] = value
        self.merged_tokens += 1
        self._flow()

    def _output_free_from(self) -> int:
        """Return the cycle from which the multiplier's input has a free slot, ``MAX_TIME`` if unknown."""
        return self._slot_free_from(self.merged_tokens - self.operands_room, self.multiplied_count, TIME)

    def _slot_free_from(self, number: int, freed_count: int, time_word: int) -> int:  # C: noexcept, inline
        """Return the cycle from which the slot of an earlier token is free.

        Args:
            number: number of the token whose slot is needed; negative if a slot was never used.
            freed_count: number of tokens that have left their slots.
            time_word: word of the record with the cycle in which a token left.

        Returns:
            0 if the slot was never used, ``MAX_TIME`` if the token has not left.
        """
        if number < 0:
            return 0
        if number >= freed_count:
            return MAX_TIME
        return self.in_flight[PRODUCT * (number & self.product_mask) + time_word] + 1

    def _flow(self) -> None:
        """Multiply and add all tokens whose cycles are known and before the horizon."""
        while self._multiply() or self._add():
            pass

    def _is_before_horizon(self, cycle: int) -> bool:  # C: noexcept, inline
        """Return whether a cycle is before the horizon; if not, tick again in that cycle."""
        if cycle < self.horizon:
            return True
        self.next_tick = min(self.next_tick, cycle)
        return False

    def _multiply(self) -> bool:  # C: inline
        """Multiply the next token; return False if there is none, or its cycle is not before the horizon."""
        if self.multiplied_count == self.merged_tokens:
            return False
        record = PRODUCT * (self.multiplied_count & self.product_mask)
        ready = max(self.in_flight[record + TIME], self.next_multiply)
        cycle = max(
            ready, self._slot_free_from(self.multiplied_count - self.products_room, self.added_count, ADDED)
        )
        if not self._is_before_horizon(cycle):
            return False
        self.starved_cycles += ready - self.next_multiply
        self.blocked_cycles += cycle - ready
        self.next_multiply = cycle + 1
        self.scaled += self.in_flight[record + COORDINATE] & 1
        self.in_flight[record + TIME] = cycle
        self.multiplied_count += 1
        return True

    def _add(self) -> bool:  # C: inline
        """Add the next token; return False if there is none, or its cycle is not before the horizon."""
        if self.added_count == self.multiplied_count:
            return False
        record = PRODUCT * (self.added_count & self.product_mask)
        coordinate = self.in_flight[record + COORDINATE] >> 1
        ready = max(self.in_flight[record + TIME] + self.products_latency, self.next_add)
        joins = self.holds_sum and coordinate == self.coordinate
        cycle = ready if joins else max(ready, self._sums_free_from(coordinate))
        if not self._is_before_horizon(cycle):
            return False
        self._wait_for_product(ready)
        self.full_cycles += cycle - ready
        self.next_add = cycle + 1
        self.in_flight[record + ADDED] = cycle
        self.added_count += 1
        if joins:
            self.sum = self.value_type.add(self.sum, self.values[record + VALUE])
            self.additions += 1
        else:
            self._sum_up(cycle, coordinate, self.values[record + VALUE])
        return True

    def _wait_for_product(self, ready: int) -> None:  # C: noexcept, inline
        """Count the cycles before ``ready`` in which the accumulator has no token."""
        if self.holds_sum:
            self.waiting_cycles += ready - self.next_add
        else:
            self.idle_cycles += ready - self.next_add

    def _sums_free_from(self, coordinate: int) -> int:  # C: inline
        """Return the cycle from which ``sums`` has the slots that a token of this coordinate needs.

        Return ``MAX_TIME`` if the cycle is unknown. A stop needs two slots if a sum is held, else one.
        """
        slots = 2 if self.holds_sum and coordinate == ENDED >> 1 else 1
        needed = self.sent_count + slots - self.sums_room
        if needed <= 0:
            return 0
        if needed > self.foreseen_count:
            self._foresee(self.own_clock.cycle)
        if needed <= self.foreseen_count:
            return self.pop_cycles[(needed - 1) & (self.sums_ring - 1)] + 1
        # ``engage`` has widened the channel; the difference is never free for the accumulator
        self.sums.want(self.sums_ring - self.sums_room + slots)
        return MAX_TIME

    def _foresee(self, now: int) -> None:  # C: noexcept
        """Record the pops of sums, all before ``now`` as in ``now`` - 1; compute those of promised sums."""
        while self.foreseen_count < self.sums.pops:
            self.pop_cycles[self.foreseen_count & (self.sums_ring - 1)] = now - 1
            self.foreseen_count += 1
            if self.foreseen_count == self.sums.pops and self.sums.popped_now():
                self.pop_cycles[(self.foreseen_count - 1) & (self.sums_ring - 1)] = now
        while self.foreseen_count < min(self.sent_count, self.promised):
            arrival = self.arrival_cycles[self.foreseen_count & (self.sums_ring - 1)]
            if arrival == MAX_TIME:
                return
            earlier_pop = self.pop_cycles[(self.foreseen_count - 1) & (self.sums_ring - 1)]
            self.pop_cycles[self.foreseen_count & (self.sums_ring - 1)] = max(arrival, earlier_pop + 1, now)
            self.foreseen_count += 1

    def _sum_up(self, cycle: int, coordinate: int, value: float) -> None:  # C: inline
        """Send the held sum, if there is one; then hold the new element, or pass on the stop."""
        if self.holds_sum:
            self._send(cycle, DATA, self.coordinate, self.sum)
            self.emitted += 1
        self.holds_sum = coordinate != ENDED >> 1
        self.coordinate = coordinate
        self.sum = value
        if not self.holds_sum:
            self._send(cycle, STOP, 0, 0.0)

    def _send(self, cycle: int, control: int, coordinate: int, value: float) -> None:  # C: inline
        """Send a sum or a stop in this cycle; the pop cycle of a stop is never computed in advance."""
        self.sums.push_at(cycle, control, coordinate, 0, value)
        self.arrival_cycles[self.sent_count & (self.sums_ring - 1)] = (
            MAX_TIME if control == STOP else cycle + self.sums.latency
        )
        self.sent_count += 1

    def last_event_cycle(self) -> int:
        """Return the last cycle with an event that has been computed."""
        return max(WayLookahead.last_event_cycle(self), self.next_add - 1, self.next_multiply - 1)

    def reveal_tokens(self) -> list[Channel]:  # C: def
        """Return the ways, the operands and the products, whose tokens are not revealed."""
        return [*self.merger.ways, self.operands, self.products]

    def _settle_others(self, cycle: int) -> None:
        """Account for the ways, the multiplier and the accumulator up to this cycle."""
        WayLookahead._settle_others(self, cycle)
        self._settle_multiplier(cycle)
        self._settle_accumulator(cycle)

    def _settle_multiplier(self, cycle: int) -> None:  # C: noexcept
        """Account for the multiplier up to this cycle."""
        component, stall = self.multiplier, self.products.writer_state
        next_visible = cycle
        if self.multiplied_count < self.merged_tokens:
            next_visible = self.in_flight[PRODUCT * (self.multiplied_count & self.product_mask) + TIME]
        component._cycles[IDLE] += self.starved_cycles
        component._cycles[stall] += self.blocked_cycles
        component._cycles[BUSY] += self.multiplied_count - self.multiplied_settled
        _settle(component, self.next_multiply, next_visible, IDLE, stall, cycle)
        component.multiply = self.scaled
        self.next_multiply, self.multiplied_settled = cycle, self.multiplied_count
        self.starved_cycles = self.blocked_cycles = 0

    def _settle_accumulator(self, cycle: int) -> None:  # C: noexcept
        """Account for the accumulator up to this cycle."""
        component, wait, stall = self.accumulator, self.products.reader_state, self.sums.writer_state
        next_visible = cycle
        if self.added_count < self.multiplied_count:
            record = PRODUCT * (self.added_count & self.product_mask)
            next_visible = self.in_flight[record + TIME] + self.products_latency
        component._cycles[IDLE] += self.idle_cycles
        component._cycles[wait] += self.waiting_cycles
        component._cycles[stall] += self.full_cycles
        component._cycles[BUSY] += self.added_count - self.added_settled
        _settle(component, self.next_add, next_visible, wait if self.holds_sum else IDLE, stall, cycle)
        component.add, component.emitted = self.additions, self.emitted
        self.next_add, self.added_settled = cycle, self.added_count
        self.idle_cycles = self.waiting_cycles = self.full_cycles = 0


def _settle(  # C: cdef, noexcept, wait_state=int, stall_state=int
    component: Component, start: int, next_visible: int, wait_state: int, stall_state: int, cycle: int
) -> None:
    """Account for the cycles since the last token of a component.

    Args:
        start: cycle after that of its last token.
        next_visible: first cycle in which its next token is visible.
        wait_state: state in which it waits for the token.
        stall_state: state in which it waits for a free slot.
        cycle: first cycle that is not accounted.
    """
    next_visible = min(max(next_visible, start), cycle)
    component._cycles[wait_state] += next_visible - start
    component._cycles[stall_state] += cycle - next_visible
    component._state = BUSY if start == cycle else stall_state if next_visible < cycle else wait_state
    component._since = cycle
