# cython: infer_types=True
# C compiler: -O2
"""Lookahead model of a merger, of the unit that feeds it, and of the blocks after it.

A way accepts one element per cycle while it has a free slot. The cycle of each element follows from two
events: the arrival of its line, and the pop of the earlier element whose slot it needs. The blocks after
the merger run in separate times of their own (``fiberscope.hw.streams.process``).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.lookahead import ELEMENT, ENDED, KEY, NUMBER, POPPED, PUSHED, RECORD, SEEN, WAY_BITS
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.merge_lookahead import MergeLookahead
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.merge_lists import POINTS
from fiberscope.hw.streams.point_flow import PointFlow
from fiberscope.hw.streams.process import LogicalProcess, Progress, run_apart
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import raw_words
from fiberscope.sim.constants import BUSY, IDLE, LOOKAHEAD_CYCLES, MAX_TIME
from fiberscope.sim.wiring import Link

__all__ = ["FiberWayLookahead"]

# Words of the record of a way's fiber.
LEFT = 0  # next element that leaves the merger
FIBER_END = 1  # place after the last element
FIBER_SOURCE = 2  # list of the fiber
FIBER_AREA = 3  # area from which the fiber is read
FIBER = 4  # number of words in the record
UNSAID = -1  # accounting state of a cycle whose state is not known yet
# Reasons, other than missing space, why a way gets no elements.
NO_REASON = 0  # no such reason
WITHOUT_LINE = 1  # the line of the next element has not arrived
AT_HORIZON = 2  # the next element is due at or after the horizon


class FiberWayLookahead(MergeLookahead):
    """Stands in for a ``FiberWays``, the ``HighRadixMerger`` that it feeds and the blocks after that.

    Args:
        ways, merger: the components that the model replaces.
        blocks: the block after the merger, then the blocks that are fed only by the merger and by earlier
            blocks of this list.
        links: the channels into and out of ``blocks``, each once.
    """

    sent_cycles: array[int]  # C: hidden long*
    popped: array[int]  # C: hidden long*
    last_sent: array[int]  # C: hidden long*
    blocked_from: array[int]  # C: hidden long*
    next_element: array[int]  # C: hidden long*
    fibers: array[int]  # C: hidden long*
    newest: array[int]  # C: hidden short*
    current: array[int]  # C: hidden short*
    leaving: array[int]  # C: hidden short*
    missing_reasons: array[int]  # C: hidden short*
    has_moved: array[int]  # C: hidden short*
    wait_states: array[int]  # C: hidden short*
    blocks_more: array[int]  # C: hidden short*
    capacity: int
    item_mask: int
    fiber_ring: int
    late_count: int  # number of ways that wait for time
    dry_count: int  # number of ways that wait for a line
    active: bool  # whether the fibers of the current merge have started
    unsent_stops: int  # number of these fibers whose stop was not sent
    finished_at: int  # cycle in which the last of the other stops was sent
    stepped: int  # cycle of the last tick
    due: int  # cycle in which the consumers of the merger must run again
    quiet_until: int  # consumers have no effect before this cycle if only elements arrive
    is_blocked: bool  # whether a consumer waits for space
    has_more: bool  # whether consumers received tokens since they last ran
    waiting: int  # accounting state of the ways in cycles without movement
    blocked: int  # number of ways without space for an available element

    def __init__(
        self, ways: FiberWays, merger: HighRadixMerger, blocks: Sequence[StreamBlock], links: Sequence[Link]
    ) -> None:
        super().__init__(merger, (ways, merger, *blocks))
        self.ways = ways
        self.blocks = list(blocks)
        self.links = links
        self.processes: list[LogicalProcess] = []
        self.world = Progress()  # shared by the components that tick in step

    def engage(self) -> None:
        """Take over from the components: from now on this model runs them."""
        MergeLookahead.engage(self)
        self._engage_ways()
        self.processes = run_apart(self.blocks, self.links, self.world)
        self.ways.sends_elements = False
        self.merged = self.merger.merged
        self.flow = PointFlow(self.processes, self.merged)
        self.merged.want(self.merged.capacity + 1)  # so that free space wakes no component

    def _engage_ways(self) -> None:  # C: def
        radix = self.radix
        self.capacity = self.merger.ways[0].capacity
        self.item_mask = (1 << self.capacity.bit_length()) - 1
        self.fiber_ring = 1 << (self.capacity // 2 + radix.bit_length() + 4).bit_length()
        items = radix * (self.item_mask + 1)
        self.sent_cycles = raw_words.longs(self._pin(array("q", bytes(8 * items))))  # cycles, by item
        self.popped = raw_words.longs(self._pin(array("q", bytes(8 * items))))  # cycles, by item
        self.last_sent = raw_words.longs(self._pin(array("q", [-1] * radix)))
        self.blocked_from = raw_words.longs(self._pin(array("q", [MAX_TIME] * radix)))
        self.next_element = raw_words.longs(self._pin(array("q", bytes(8 * radix))))
        self.fibers = raw_words.longs(self._pin(array("q", bytes(8 * FIBER * self.fiber_ring * radix))))
        # By way, modulo the ring: last fiber received, fiber of the head, fiber that leaves. The first is 1.
        self.newest = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        self.current = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        self.leaving = raw_words.shorts(self._pin(array("h", [1] * radix)))
        self.missing_reasons = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        self.late_count = self.dry_count = self.unsent_stops = self.finished_at = self.due = 0
        self.active, self.stepped = False, -1
        self.quiet_until, self.has_more, self.is_blocked = 0, False, False
        # By cycle from ``settled_cycle``: whether tokens moved, else its state; and newly blocked ways.
        self.has_moved = raw_words.shorts(self._pin(array("h", bytes(2 * LOOKAHEAD_CYCLES))))
        self.wait_states = raw_words.shorts(self._pin(array("h", [UNSAID] * LOOKAHEAD_CYCLES)))
        self.blocks_more = raw_words.shorts(self._pin(array("h", bytes(2 * LOOKAHEAD_CYCLES))))
        self.waiting, self.blocked = IDLE, 0

    def tick(self, now: int) -> int:
        """Perform this cycle of the ways, and compute all events before the horizon that are determined."""
        if now == self.stepped:
            return self.idle()
        self.stepped = now
        MergeLookahead.tick(self, now)
        while self._must_sweep(now) and self._sweep(self.horizon):
            self._merge()
        due = now + 1 if self.is_blocked else min(self.next_tick, self.due)
        if due < MAX_TIME:
            self.wake_at(max(due, now + 1))
        return self.idle()

    def _must_sweep(self, now: int) -> bool:  # C: noexcept
        """Return whether blocks after the merger must run now, so that their effects are not late."""
        if self.due <= now or (self.has_more and self.merged.occupancy == self.merged.capacity):
            return True
        for index in range(len(self.processes) if self.is_blocked else 0):
            process: LogicalProcess = self.processes[index]
            if process.blocked_output >= 0 and process.due() < MAX_TIME:
                return True
        return False

    def _sweep(self, until: int) -> bool:
        """Run the blocks after the merger up to a cycle; return whether any block ran."""
        has_run = self.has_more = self.is_blocked = False
        self.due = self.quiet_until = MAX_TIME
        for index in range(len(self.processes)):
            process: LogicalProcess = self.processes[index]
            has_run = process.run(until) or has_run
            self.is_blocked = self.is_blocked or process.blocked_output >= 0
            self.due = min(self.due, process.due())
            self.quiet_until = min(self.quiet_until, process.quiet_until())
        return has_run

    def _pass_end(self, cycle: int) -> None:  # C: noexcept
        """Note that a token without an element is visible after the merger from this cycle on."""
        self.due = min(self.due, cycle)
        self.quiet_until = 0

    def _read_inputs(self, now: int) -> None:
        """Perform this cycle of the ways, except that elements are not sent to the merger here."""
        self.world.next_cycle = now
        ways = self.ways
        if self.late_count > 0:
            self.late_count = 0
            self._retry(AT_HORIZON)
        if ways.started_merges > 0 and self.active and self.unsent_stops == 0 and self.finished_at <= now:
            ways.unfinished_counts[ways.slot] = 0
            self.active = False
        self._step(now)
        if self.dry_count > 0:
            self.dry_count = 0
            self._retry(WITHOUT_LINE)
        if ways.started_merges > 0 and not self.active:
            self._begin_fibers()

    def _step(self, now: int) -> None:
        ways = self.ways
        ways._state = IDLE
        has_moved = not ways.done and ways._work(now)
        if not has_moved and not ways.done:
            ways._wait(now)
            if ways.done:
                self._pass_end(now + 1)
                has_moved = True
        if has_moved:
            self.has_moved[now - self.settled_cycle] = 1
            self.wake_at(now + 1)
        else:
            self.wait_states[now - self.settled_cycle] = ways._state

    def _retry(self, lack: int) -> None:
        """Send the determined elements of all ways that were held back for this reason."""
        for way in range(self.radix):
            if self.missing_reasons[way] == lack:
                self.missing_reasons[way] = NO_REASON
                self._send_known(way)

    def _begin_fibers(self) -> None:
        """Begin to send the fibers of the current merge to the ways, from the next cycle on."""
        ways = self.ways
        first_slot = ways.slot * self.radix
        self.active, self.finished_at = True, 0
        self.unsent_stops = ways.fan_ins[ways.slot]
        for way in range(self.unsent_stops):
            self.newest[way] = (self.newest[way] + 1) & (self.fiber_ring - 1)
            fiber = self._fiber(way, self.newest[way])
            self.fibers[fiber + LEFT] = self.next_element[way] = ways.next_element[first_slot + way]
            self.fibers[fiber + FIBER_END] = ways.last_element[first_slot + way]
            self.fibers[fiber + FIBER_SOURCE] = ways.source[first_slot + way]
            self.fibers[fiber + FIBER_AREA] = ways.areas[ways.slot]
            self.last_sent[way] = max(self.last_sent[way], self.stepped)
            self._send_known(way)

    def _fiber(self, way: int, number: int) -> int:  # C: noexcept, inline
        return FIBER * (way * self.fiber_ring + number)

    def _item(self, way: int, number: int) -> int:  # C: noexcept, inline
        return way * (self.item_mask + 1) + (number & self.item_mask)

    def _send_known(self, way: int) -> None:
        """Send a way all elements, and the stop, whose cycle is determined and before the horizon."""
        end = self.fibers[self._fiber(way, self.newest[way]) + FIBER_END]
        while self.next_element[way] <= end and self._send_next(way, end):
            pass

    def _send_next(self, way: int, end: int) -> bool:
        """Send a way its next element or stop if its cycle is before the horizon; return whether it was."""
        element = self.next_element[way]
        ways = self.ways
        if element < end and not ways._has_arrived(ways.slot * self.radix + way, element):
            self.missing_reasons[way] = WITHOUT_LINE
            self.dry_count += 1
            return False
        earliest = self.blocked_from[way]
        if earliest == MAX_TIME:
            earliest = max(self.last_sent[way] + 1, self.own_clock.cycle)
        cycle = max(earliest, self._way_free_from(way))
        if earliest >= self.horizon:
            return self._postpone_way(way, earliest)
        if cycle > earliest and self.blocked_from[way] == MAX_TIME:
            self.blocked_from[way] = earliest
            self.blocks_more[earliest - self.settled_cycle] += 1
        if cycle >= self.horizon:
            return cycle < MAX_TIME and self._postpone_way(way, cycle)
        if self.blocked_from[way] < MAX_TIME:
            self.blocked_from[way] = MAX_TIME
            self.blocks_more[cycle - self.settled_cycle] -= 1
        self._enter(way, element, end, cycle)
        return True

    def _way_free_from(self, way: int) -> int:  # C: noexcept, inline
        """Return the first cycle in which a way has a free slot; ``MAX_TIME`` if it is unknown."""
        needed = self.records[RECORD * way + PUSHED] - self.capacity
        if needed < 0:
            return 0
        if needed >= self.records[RECORD * way + POPPED]:
            return MAX_TIME
        return self.popped[self._item(way, needed)] + 1

    def _postpone_way(self, way: int, cycle: int) -> bool:
        """Hold a way back until the horizon, and return False."""
        self.next_tick = min(self.next_tick, cycle)
        if self.missing_reasons[way] != AT_HORIZON:
            self.missing_reasons[way] = AT_HORIZON
            self.late_count += 1
        return False

    def _enter(self, way: int, element: int, end: int, cycle: int) -> None:
        """Record that an element or a stop enters a way in this cycle."""
        record = RECORD * way
        number = self.records[record + PUSHED]
        self.sent_cycles[self._item(way, number)] = self.last_sent[way] = cycle
        self.has_moved[cycle - self.settled_cycle] = 1
        self.records[record + PUSHED] = number + 1
        self.next_element[way] = element + 1
        if element == end:
            self.unsent_stops -= 1
            self.finished_at = max(self.finished_at, cycle)
            if self.unsent_stops == 0 and self.finished_at > self.stepped:
                self.wake_at(self.finished_at)
        else:
            self.ways.merged += self.ways.is_counted[self.ways.slot]
            self.ways.partial += self.ways.areas[self.ways.slot] != POINTS
        if self.records[record + POPPED] == number:
            self.current[way] = self.newest[way]
            self._set_head(record, element, cycle)
            self._note_head(way)

    def _set_head(self, record: int, element: int, sent: int) -> None:
        """Make an element the head of a way; ``sent`` is the cycle in which it entered the way."""
        fiber = self._fiber(record >> NUMBER, self.current[record >> NUMBER])
        self.records[record + SEEN], self.records[record + ELEMENT] = sent + 1, element
        if element == self.fibers[fiber + FIBER_END]:
            self.records[record + KEY] = ENDED
        else:
            coordinate = self._coordinate(self.fibers[fiber + FIBER_AREA], element)
            self.records[record + KEY] = coordinate << WAY_BITS | record >> NUMBER

    def _coordinate(self, area: int, element: int) -> int:
        if area == POINTS:
            return self.ways.coordinates[element]
        elements: Growing = self.ways.table.elements[area]
        return elements.integer(element)

    def _pop_way(self, record: int, cycle: int) -> None:
        """Pop the head of a way."""
        way = record >> NUMBER
        number = self.records[record + POPPED]
        self.popped[self._item(way, number)] = cycle
        self.records[record + POPPED] = number + 1
        if number + 1 == self.records[record + PUSHED]:
            self.records[record + SEEN] = MAX_TIME
        else:
            self._set_next_head(record, self.sent_cycles[self._item(way, number + 1)])
        if self.blocked_from[way] < MAX_TIME:
            self._send_known(way)

    def _set_next_head(self, record: int, sent: int) -> None:
        """Make the element after the popped head the new head."""
        way = record >> NUMBER
        element = self.records[record + ELEMENT] + 1
        if element > self.fibers[self._fiber(way, self.current[way]) + FIBER_END]:
            self.current[way] = (self.current[way] + 1) & (self.fiber_ring - 1)
            element = self.fibers[self._fiber(way, self.current[way]) + LEFT]
        self._set_head(record, element, sent)

    def _leave(self, cycle: int, key: int) -> None:
        """Send an element or a stop from the merger."""
        self.has_more = True
        if key == ENDED:
            self.flow.send_stop(cycle)
            self._pass_end(cycle + 1)
        else:
            self.due = min(self.due, max(cycle + 1, self.quiet_until))
            self._send(cycle, key >> WAY_BITS, key & (1 << WAY_BITS) - 1)

    def _send(self, cycle: int, coordinate: int, way: int) -> None:
        fiber = self._fiber(way, self.leaving[way])
        if self.fibers[fiber + LEFT] == self.fibers[fiber + FIBER_END]:
            self.leaving[way] = (self.leaving[way] + 1) & (self.fiber_ring - 1)
            fiber = self._fiber(way, self.leaving[way])
        element = self.fibers[fiber + LEFT]
        self.fibers[fiber + LEFT] = element + 1
        area = self.fibers[fiber + FIBER_AREA]
        if area == POINTS:
            value, source = self.ways.values[element], self.fibers[fiber + FIBER_SOURCE]
        else:
            values: Growing = self.ways.table.values[area]
            sources: Growing = self.ways.table.sources[area]
            value, source = values.value(element), sources.integer(element)
        self.flow.send(cycle, coordinate, source, value, self.horizon)

    def _output_free_from(self) -> int:
        """Return the first cycle with a free slot for the next output; ``MAX_TIME`` if it is unknown."""
        if self.merged.occupancy == self.merged.capacity:
            self.has_more = self.flow.run(self.horizon) or self.has_more
        return self.merged.free_from(1)

    def last_event_cycle(self) -> int:
        """Return the last cycle in which any unit is known to have acted."""
        sent = [self.last_sent[way] for way in range(self.radix)]
        ticks = [process.last_cycle for process in self.processes]
        return max(MergeLookahead.last_event_cycle(self), *sent, *ticks)

    def _settle_others(self, cycle: int) -> None:
        """Update the statistics of the ways and blocks up to this cycle."""
        self.world.next_cycle = cycle
        while self._sweep(cycle):
            pass
        if self.due < MAX_TIME or self.is_blocked:
            self.wake_at(cycle if self.is_blocked else max(self.due, cycle))
        self.worked = self.flow.settle()
        self._settle_ways(cycle)

    def _settle_ways(self, cycle: int) -> None:
        ways, state = self.ways, IDLE
        blocked_state: int = ways.ways[0].any_writer_state
        marked = min(cycle - self.settled_cycle, LOOKAHEAD_CYCLES)
        for offset in range(marked):
            self.blocked += self.blocks_more[offset]
            if self.wait_states[offset] != UNSAID:
                self.waiting = self.wait_states[offset]
            state = blocked_state if self.blocked > 0 else self.waiting
            ways._cycles[BUSY if self.has_moved[offset] else state] += 1
            if self.has_moved[offset] and offset + 1 == cycle - self.settled_cycle:
                state = BUSY
            self.has_moved[offset] = self.blocks_more[offset] = 0
            self.wait_states[offset] = UNSAID
        ways._cycles[state] += cycle - self.settled_cycle - marked
        ways._state, ways._since = state, cycle
