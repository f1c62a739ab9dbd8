# cython: infer_types=True
# C compiler: -O2
"""The ways between a fiber reader and a merger, in time stamps: lines come in, elements leave."""

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

# A fiber of a way, from when on its first elements come until the last has left the merger:
LEFT = 0  # the element that leaves the merger next
FIBER_END = 1  # and what of the way's words is said of the fiber
FIBER_SOURCE = 2
FIBER = 4


class WayLookahead(MergeLookahead):
    """Stands in for channels of a latency of 1, and takes lines in the place of the elements in them.

    Who takes an element looks at the next one in the cycle after that, at the earliest, and a line is seen
    in the cycle after it came: so only of one that comes to an empty way it matters when it came.

    Args:
        operand, partials: where the elements lie.
        reader: fills the ways.
        merger: in whose place it ticks,
        components: and in theirs, the merger among them.
    """

    freed: array[int]  # C: hidden short*
    fibers: array[int]  # C: hidden long*
    current: array[int]  # C: hidden short*
    come: array[int]  # C: hidden short*
    leaving: array[int]  # C: hidden short*
    room: array[int]  # C: hidden long*
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
        """Take over from the components."""
        MergeLookahead.engage(self)
        self._engage_ways()

    def _engage_ways(self) -> None:
        """Take the place of the ways."""
        radix = self.merger.radix
        self.capacity = self.merger.ways[0].capacity  # tokens
        fibers = self.capacity // 2 + radix.bit_length() + 3  # in a way and, of it, in the tree
        self.ring = 1 << max(self.capacity, fibers).bit_length()
        self.fibers = raw_words.longs(self._keep(array("q", bytes(8 * FIBER * self.ring * radix))))
        for way in range(radix):
            self.fibers[FIBER * self.ring * way + FIBER_SOURCE] = 1  # so that another one follows it
        # By way, modulo the ring: the last fiber that came, that of the way's words, and that which leaves.
        self.come = raw_words.shorts(self._keep(array("h", bytes(2 * radix))))
        self.current = raw_words.shorts(self._keep(array("h", bytes(2 * radix))))
        self.leaving = raw_words.shorts(self._keep(array("h", bytes(2 * radix))))
        # From when on the slot of each of the last tokens is free, from ``settled_cycle`` on.
        self.freed = raw_words.shorts(self._keep(array("h", bytes(2 * self.ring * radix))))
        self.room = raw_words.longs(
            self._keep(array("q", [MAX_TIME] * radix))
        )  # when the reader's next line has it

    def need(self, way: int, tokens: int) -> None:
        """The reader's next line for a way has so many tokens: it is woken when there is room."""
        record = RECORD * way
        needed = self.records[record + PUSHED] + tokens - self.capacity
        self.records[record + WANTED] = needed
        self.room[way] = MAX_TIME
        if needed <= self.records[record + POPPED]:
            slot = way * self.ring + ((needed - 1) & (self.ring - 1))
            self.room[way] = self.settled_cycle + self.freed[slot] if needed > 0 else 0
            if self.room[way] > self.own_clock.cycle:
                self.reader.wake_at(self.room[way])

    def need_none(self, way: int) -> None:
        """The reader has no next line for a way."""
        self.records[RECORD * way + WANTED] = 0
        self.room[way] = MAX_TIME

    def deliver(self, way: int, first: int, count: int, source: int) -> None:
        """So many elements of a line enter a way, with a stop behind them if ``source`` is odd.

        They are seen from the next cycle on; who has still to take what is before them does so no sooner.
        """
        record = RECORD * way
        fiber = self._fiber(way, self.come[way])
        if self.fibers[fiber + FIBER_SOURCE] & 1:
            self.come[way] = (self.come[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.come[way])
            self.fibers[fiber + LEFT] = first
        self.fibers[fiber + FIBER_END] = first + count
        self.fibers[fiber + FIBER_SOURCE] = source
        self.records[record + PUSHED] += count + (source & 1)
        if self.records[record + SEEN] == MAX_TIME:
            self.current[way] = self.come[way]
            self.records[record + SEEN] = self.own_clock.cycle + 1
            self._turn_to(record, fiber, first)
            if self.awaited_from[way] < MAX_TIME:
                self.wake_at(self.records[record + SEEN])
                self._see(way)
        elif self.current[way] == self.come[way]:
            self.records[record + END] = first + count
            self.records[record + SOURCE] = source

    def _fiber(self, way: int, number: int) -> int:  # C: noexcept, inline
        return FIBER * (way * self.ring + number)

    def _turn_to(self, record: int, fiber: int, element: int) -> None:  # C: noexcept, inline
        """Make an element of a fiber the head of a way."""
        self.records[record + END] = self.fibers[fiber + FIBER_END]
        self.records[record + SOURCE] = self.fibers[fiber + FIBER_SOURCE]
        self._read(record, element)

    def _read(self, record: int, element: int) -> None:  # C: noexcept, inline
        self.records[record + ELEMENT] = element
        if self.records[record + SOURCE] < 0:
            coordinate = self.partials.coordinates[element]
        else:
            coordinate = self.operand.coordinates[element]
        self.records[record + KEY] = coordinate << WAY_BITS | record >> NUMBER

    def _take(self, record: int, cycle: int) -> None:
        """The head of a way leaves; the next one, if it is there, shows."""
        way = record >> NUMBER
        slot = way * self.ring + (self.records[record + POPPED] & (self.ring - 1))
        self.freed[slot] = cycle + 1 - self.settled_cycle
        self.records[record + POPPED] += 1
        if self.records[record + POPPED] == self.records[record + WANTED]:
            self.room[way] = cycle + 1
            self.reader.wake_at(cycle + 1)
        element = self.records[record + ELEMENT] + 1
        if element < self.records[record + END]:
            self._read(record, element)
        elif element == self.records[record + END] and self.records[record + SOURCE] & 1:
            self.records[record + ELEMENT] = element
            self.records[record + KEY] = ENDED
        elif self.current[way] == self.come[way]:
            self.records[record + SEEN] = MAX_TIME
        else:
            self.current[way] = (self.current[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.current[way])
            self._turn_to(record, fiber, self.fibers[fiber + LEFT])

    def _leave(self, cycle: int, key: int) -> None:
        """An element leaves the merger, or a stop."""
        if key == ENDED:
            self._pass_stop(cycle)
        else:
            self._leave_way(cycle, key)

    def _leave_way(self, cycle: int, key: int) -> None:
        way = key & (1 << WAY_BITS) - 1
        fiber = self._fiber(way, self.leaving[way])
        element = self.fibers[fiber + LEFT]
        if element == self.fibers[fiber + FIBER_END]:
            self.leaving[way] = (self.leaving[way] + 1) & (self.ring - 1)
            fiber = self._fiber(way, self.leaving[way])
            element = self.fibers[fiber + LEFT]
        self.fibers[fiber + LEFT] = element + 1
        self._pass_element(cycle, key >> WAY_BITS, element, self.fibers[fiber + FIBER_SOURCE] >> 1)

    def _pass_stop(self, cycle: int) -> None:
        """A stop sets out to who is behind the merger."""
        raise NotImplementedError(f"{type(self).__name__} does not define _pass_stop")

    def _pass_element(self, cycle: int, coordinate: int, element: int, source: int) -> None:
        """An element of a fiber does."""
        raise NotImplementedError(f"{type(self).__name__} does not define _pass_element")

    def _settle_others(self, cycle: int) -> None:
        """All slots that were freed are free from now on."""
        for slot in range(self.ring * self.merger.radix):
            self.freed[slot] = 0
