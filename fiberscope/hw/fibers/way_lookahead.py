# cython: infer_types=True
# C compiler: -O2
"""The ways between a fiber reader and a merger, modeled by time stamps, with whole lines as input."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.lookahead import (
    ELEMENT,
    END,
    ENDED,
    KEY,
    NUMBER,
    POPPED,
    PUSHED,
    RECORD,
    SEEN,
    SOURCE,
    WANTED,
    WAY_BITS,
)
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.merge_lookahead import MergeLookahead
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.sim import raw_words
from fiberscope.sim.component import Component
from fiberscope.sim.constants import MAX_TIME

__all__ = ["WayLookahead"]

# Words of the record of a fiber. A record is in use from the fiber's first line until its last element has
# left the merger.
LEFT = 0  # index of the element that leaves the merger next
FIBER_END = 1  # as word ``END`` of a way
FIBER_SOURCE = 2  # as word ``SOURCE`` of a way
FIBER = 4  # words of a record


class WayLookahead(MergeLookahead):
    """Replaces the channels of the ways, which must have a latency of 1; it receives lines, not elements.

    A node looks at the next head of a way in the cycle after it took the last one, at the earliest. A line
    is visible in the cycle after it arrived. The arrival cycle of a line therefore matters only if the way
    was empty; no other arrival cycle is kept.

    Args:
        operand, partials: the stores of the elements of rows and of partial fibers.
        reader: the component that fills the ways; it is woken when a way has free slots for its next line.
        merger: the merger that this object replaces.
        components: all components that this object replaces, the merger included.
    """

    freed: array[int]  # C: hidden short*
    fibers: array[int]  # C: hidden long*
    current: array[int]  # C: hidden short*
    newest: array[int]  # C: hidden short*
    departing: array[int]  # C: hidden short*
    free_from: array[int]  # C: hidden long*
    ring: int
    capacity: int

    def __init__(
        self,
        operand: CompressedRows,
        partials: PartialStore,
        reader: Component,
        merger: HighRadixMerger,
        components: Sequence[Component],
    ) -> None:
        super().__init__(merger, components)
        self.operand = operand
        self.partials = partials
        self.reader = reader

    def engage(self) -> None:
        """Start to simulate in place of the components."""
        MergeLookahead.engage(self)
        self._engage_ways()

    def _engage_ways(self) -> None:
        """Create the records of the ways and of their fibers."""
        radix = self.merger.radix
        self.capacity = self.merger.ways[0].capacity  # slots of a way
        # Upper bound of the fibers of one way that are in the way or in the tree.
        fibers = self.capacity // 2 + radix.bit_length() + 3
        self.ring = 1 << max(self.capacity, fibers).bit_length()
        self.fibers = raw_words.longs(self._pin(array("q", bytes(8 * FIBER * self.ring * radix))))
        for way in range(radix):
            self.fibers[FIBER * self.ring * way + FIBER_SOURCE] = 1  # ended: the next line starts a fiber
        # By way, a place in the ring of its fibers: the fiber that arrived last, the fiber of the way's head,
        # and the fiber whose elements leave the merger.
        self.newest = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        self.current = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        self.departing = raw_words.shorts(self._pin(array("h", bytes(2 * radix))))
        # By way and popped token (modulo the ring): first cycle with a free slot, less ``settled_cycle``.
        self.freed = raw_words.shorts(self._pin(array("h", bytes(2 * self.ring * radix))))
        # By way: cycle from which the reader's next line fits, MAX_TIME if it is unknown.
        self.free_from = raw_words.longs(self._pin(array("q", [MAX_TIME] * radix)))

    def need(self, way: int, tokens: int) -> None:
        """Wake the reader when a way has the free slots that the reader needs for its next line.

        Args:
            way: number of the way.
            tokens: number of free slots, which includes the slots reserved for lines in flight.
        """
        record = RECORD * way
        # Tokens that must have been popped before the line fits; at most 0 if it fits in any case
        needed = self.records[record + PUSHED] + tokens - self.capacity
        self.records[record + WANTED] = needed
        self.free_from[way] = MAX_TIME
        if needed <= self.records[record + POPPED]:
            slot = way * self.ring + ((needed - 1) & (self.ring - 1))
            self.free_from[way] = self.settled_cycle + self.freed[slot] if needed > 0 else 0
            if self.free_from[way] > self.own_clock.cycle:
                self.reader.wake_at(self.free_from[way])

    def need_none(self, way: int) -> None:
        """Cancel ``need``: the reader has no next line for the way."""
        self.records[RECORD * way + WANTED] = 0
        self.free_from[way] = MAX_TIME

    def deliver(self, way: int, first: int, count: int, source: int) -> None:
        """Append the elements of a line to a way; they are visible from the next cycle on.

        Args:
            way: number of the way.
            first: index of the line's first element in its store.
            count: number of elements.
            source: word ``SOURCE`` of the way; if it is odd, a stop follows the elements.
        """
        record = RECORD * way
        fiber = self._fiber(way, self.newest[way])
        if self.fibers[fiber + FIBER_SOURCE] & 1:
            self.newest[way] = (self.newest[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.newest[way])
            self.fibers[fiber + LEFT] = first
        self.fibers[fiber + FIBER_END] = first + count
        self.fibers[fiber + FIBER_SOURCE] = source
        self.records[record + PUSHED] += count + (source & 1)
        if self.records[record + SEEN] == MAX_TIME:  # the way was empty
            self.current[way] = self.newest[way]
            self.records[record + SEEN] = self.own_clock.cycle + 1
            self._set_head(record, fiber, first)
            if self.awaited_from[way] < MAX_TIME:
                self.wake_at(self.records[record + SEEN])
                self._note_head(way)
        elif self.current[way] == self.newest[way]:
            self.records[record + END] = first + count
            self.records[record + SOURCE] = source

    def _fiber(self, way: int, number: int) -> int:  # C: noexcept, inline
        return FIBER * (way * self.ring + number)

    def _set_head(self, record: int, fiber: int, element: int) -> None:  # C: noexcept, inline
        """Make element ``element`` of a fiber the head of the way with this record."""
        self.records[record + END] = self.fibers[fiber + FIBER_END]
        self.records[record + SOURCE] = self.fibers[fiber + FIBER_SOURCE]
        self._load_head(record, element)

    def _load_head(self, record: int, element: int) -> None:  # C: noexcept, inline
        """Set the element and the key of the head of a way."""
        self.records[record + ELEMENT] = element
        if self.records[record + SOURCE] < 0:
            coordinate = self.partials.coordinates[element]
        else:
            coordinate = self.operand.coordinates[element]
        self.records[record + KEY] = coordinate << WAY_BITS | record >> NUMBER

    def _pop_way(self, record: int, cycle: int) -> None:
        """Pop the head of a way, make the next token its head, and wake the reader if its line now fits."""
        way = record >> NUMBER
        slot = way * self.ring + (self.records[record + POPPED] & (self.ring - 1))
        self.freed[slot] = cycle + 1 - self.settled_cycle
        self.records[record + POPPED] += 1
        if self.records[record + POPPED] == self.records[record + WANTED]:
            self.free_from[way] = cycle + 1
            self.reader.wake_at(cycle + 1)
        element = self.records[record + ELEMENT] + 1
        if element < self.records[record + END]:
            self._load_head(record, element)
        elif element == self.records[record + END] and self.records[record + SOURCE] & 1:
            self.records[record + ELEMENT] = element
            self.records[record + KEY] = ENDED
        elif self.current[way] == self.newest[way]:
            self.records[record + SEEN] = MAX_TIME
        else:
            self.current[way] = (self.current[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.current[way])
            self._set_head(record, fiber, self.fibers[fiber + LEFT])

    def _leave(self, cycle: int, key: int) -> None:
        """Pass on the element or stop with this key, which leaves the merger in this cycle."""
        if key == ENDED:
            self._pass_stop(cycle)
        else:
            self._leave_way(cycle, key)

    def _leave_way(self, cycle: int, key: int) -> None:
        """Pass on the next element of the way that the key names; its fiber may be the next one."""
        way = key & (1 << WAY_BITS) - 1
        fiber = self._fiber(way, self.departing[way])
        element = self.fibers[fiber + LEFT]
        if element == self.fibers[fiber + FIBER_END]:
            self.departing[way] = (self.departing[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.departing[way])
            element = self.fibers[fiber + LEFT]
        self.fibers[fiber + LEFT] = element + 1
        self._pass_element(cycle, key >> WAY_BITS, element, self.fibers[fiber + FIBER_SOURCE] >> 1)

    def _pass_stop(self, cycle: int) -> None:
        """Send a stop to the consumer of the merged stream."""
        raise NotImplementedError(f"{type(self).__name__} does not define _pass_stop")

    def _pass_element(self, cycle: int, coordinate: int, element: int, source: int) -> None:
        """Send an element to the consumer of the merged stream.

        Args:
            cycle: cycle in which the element leaves the merger.
            element: its index in the operand, or in the partial fibers if ``source`` is negative.
            source: input number, as in ``TaskInputs.inputs``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define _pass_element")

    def _settle_others(self, cycle: int) -> None:
        """Count all freed slots as free from ``cycle`` on; ``settle`` then moves ``settled_cycle`` there."""
        for slot in range(self.ring * self.merger.radix):
            self.freed[slot] = 0
