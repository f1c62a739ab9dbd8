# cython: infer_types=True
"""One rank of the tensor that a loop nest writes: sorted fibers that grow."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.cursor import NestState
from fiberscope.models.trace.recorder import Recorder

IntegerArray: TypeAlias = "npt.NDArray[np.int64]"
FloatArray: TypeAlias = "npt.NDArray[np.float64]"

INITIAL_CAPACITY = 64


class OutputRank:  # C: final
    """A rank of the output's tree, with at most one open fiber and one open element in that fiber.

    A loop begins a fiber and opens elements in coordinate order. A new element is stored when it closes,
    unless the element is empty. If the first coordinate is smaller than the fiber's last coordinate, new
    elements go to a side buffer. An insertion sort from the back merges the buffer when the fiber is
    finished. Recorders get the reads and writes of an accelerator that does the same.

    Attributes: ``child`` is the fiber below the open element, ``value`` its value at the last rank;
    ``starts``, ``lengths`` locate the fibers in ``coordinates`` and in ``values`` or ``children``.

    Source: the accesses of TeAAL's public implementation, where a fiber is updated in place.

    Args:
        shape: bound of the coordinates.
        next_rank: the next rank; None for the last.
        empty: the value that is not stored.
    """

    def __init__(self, shape: int, next_rank: OutputRank | None, empty: float) -> None:
        self.shape, self.next_rank, self.empty = shape, next_rank, empty  # C: next_rank=public
        self.coordinate_recorders: list[Recorder] = []  # C: public; record coordinates (or whole elements)
        self.payload_recorders: list[Recorder] = []  # C: public; record payloads
        self.subtree_recorders: list[
            Recorder
        ] = []  # C: public; record every element when a subtree is moved as a whole
        self.random = False  # C: public; whether the body opens the rank at a computed coordinate
        self.has_recorders = False
        # The level of the loop whose iterations move the subtree below; -1 for none
        self.move_level = -1  # C: public
        self.starts = np.zeros(INITIAL_CAPACITY, np.int64)
        self.lengths = np.zeros(INITIAL_CAPACITY, np.int64)
        self.capacities = np.zeros(INITIAL_CAPACITY, np.int64)
        self.last_moved = np.full(
            INITIAL_CAPACITY, -1, np.int64
        )  # by fiber: last iteration that moved the fiber in
        self.fibers = 1
        self.spare_fiber = 0  # an unused fiber; 0 means none
        self.elements = 0  # used elements of the arrays below, with the gaps between fibers
        self.coordinates = np.empty(INITIAL_CAPACITY, np.int64)
        self.children = np.empty(0 if next_rank is None else INITIAL_CAPACITY, np.int64)
        self.values = np.empty(INITIAL_CAPACITY if next_rank is None else 0)
        self.side_coordinates = np.empty(INITIAL_CAPACITY, np.int64)
        self.side_children = np.empty(INITIAL_CAPACITY, np.int64)
        self.side_values = np.empty(INITIAL_CAPACITY)
        self.inserted = 0  # number of elements in the side buffer
        self.fiber = 0
        self.scan = 0
        self.is_order_known = self.is_inserting = False
        self.next_insert = 0  # elements before this place were read for the inserted elements
        self.largest_read = -1  # the largest coordinate read
        self.coordinate = 0
        self.position = 0
        self.is_stored = False
        self.child = 0  # C: public
        self.value = empty  # C: public

    def attach(self, state: NestState) -> None:  # C: cpdef
        """Attach the rank to a nest."""
        self.state = state
        self.has_recorders = bool(self.coordinate_recorders or self.payload_recorders)

    def begin(self, fiber: int) -> int:
        """Begin an iteration over a fiber, which ``finish`` must end before another fiber begins."""
        self.fiber = fiber
        self.scan = self.inserted = 0
        self.is_order_known = self.is_inserting = False
        self.next_insert = 0
        self.largest_read = -1
        if self.move_level >= 0:
            self._move_in()
        return 0

    def open(self, coordinate: int) -> int:
        """Open the element at a coordinate, which may be a new element; after ``begin``, coordinates ascend.

        ``value`` or ``child`` then has the stored value or fiber; of a new element, the empty value or a new
        fiber.
        """
        count = self.lengths[self.fiber]
        start = self.starts[self.fiber]
        self.coordinate = coordinate
        if not self.is_order_known:
            # the first coordinate decides, since later coordinates are larger
            self.is_order_known = True
            self.is_inserting = count > 0 and coordinate < self.coordinates[start + count - 1]
        if self.is_inserting:
            self._search(coordinate, start, count)
        else:
            self.position = count
            if count > 0 and self.coordinates[start + count - 1] == coordinate:
                self.position = count - 1
        self.is_stored = self.position < count and self.coordinates[start + self.position] == coordinate
        if self.is_stored:
            self._load(start + self.position)
        elif self.next_rank is None:
            self.value = self.empty
        else:
            self.child = self.next_rank.allocate_fiber()
        return 0

    def _search(self, coordinate: int, start: int, count: int) -> int:
        """Advance from the last place to the first element whose coordinate is not smaller."""
        if not self.has_recorders:  # a recorded search reads every element on the way
            self.scan = self._bisect(coordinate, start + self.scan, start + count) - start
        while self.scan < count and self.coordinates[start + self.scan] < coordinate:
            if self.coordinates[start + self.scan] >= self.next_insert:
                self._record_read(self.coordinates[start + self.scan], self.scan, False)
            self.scan += 1
        self.position = self.scan
        return 0

    def _bisect(self, coordinate: int, low: int, high: int) -> int:  # C: noexcept
        while low < high:
            middle = (low + high) >> 1
            if self.coordinates[middle] < coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def _load(self, slot: int) -> int:
        """Load the value or the child of an existing element."""
        if self.next_rank is None:
            self.value = self.values[slot]
        else:
            self.child = self.children[slot]
        if self.has_recorders:
            self._record_read(self.coordinate, self.position, True)
        return 0

    def close(self) -> int:
        """Close the element: store it, or remove it from the fiber if it is empty.

        An element that goes to the side buffer is in the fiber only after ``finish``.
        """
        if self.next_rank is not None and self.next_rank.move_level >= 0:
            self.next_rank.move(self.child, True)
        if self._is_empty():
            if self.is_stored:
                self._remove()
            return 0
        if self.is_stored:
            self._store(self.starts[self.fiber] + self.position)
            self.scan = self.position + 1
            self._record_write(self.position)
        elif self.is_inserting:
            self._insert()
        else:
            self._append()
        return 0

    def _is_empty(self) -> bool:  # C: noexcept
        """Return whether the open element is empty; its empty fiber below then becomes the spare fiber."""
        if self.next_rank is None:
            return self.value == self.empty
        if self.next_rank.lengths[self.child] > 0:
            return False
        self.next_rank.spare_fiber = self.child
        return True

    def _store(self, slot: int) -> None:  # C: noexcept
        if self.next_rank is None:
            self.values[slot] = self.value
        else:
            self.children[slot] = self.child

    def _append(self) -> int:
        """Store the element after the fiber's last."""
        self._grow_fiber(1)
        slot = self.starts[self.fiber] + self.position
        self.coordinates[slot] = self.coordinate
        self._store(slot)
        self.lengths[self.fiber] += 1
        self._record_write(self.position)
        return 0

    def _insert(self) -> int:
        """Store the element in the side buffer."""
        if self.inserted == len(self.side_coordinates):
            self.side_coordinates = grow_integers(self.side_coordinates)
            self.side_children = grow_integers(self.side_children)
            self.side_values = grow_values(self.side_values)
        self.side_coordinates[self.inserted] = self.coordinate
        self.side_children[self.inserted] = self.child
        self.side_values[self.inserted] = self.value
        self._record_write(self.shape + self.inserted)
        self.inserted += 1
        self.next_insert = self.coordinate + 1
        return 0

    def _remove(self) -> None:  # C: noexcept
        """Remove an element that has become empty."""
        slot = self.starts[self.fiber] + self.position
        self.lengths[self.fiber] -= 1
        # shift the elements behind; the fiber keeps its capacity
        for following in range(slot, self.starts[self.fiber] + self.lengths[self.fiber]):
            self._copy(following + 1, following)

    def _copy(self, source: int, slot: int) -> None:  # C: noexcept
        self.coordinates[slot] = self.coordinates[source]
        if self.next_rank is None:
            self.values[slot] = self.values[source]
        else:
            self.children[slot] = self.children[source]

    def finish(self) -> int:
        """End the iteration over the fiber, and merge the side buffer into the fiber from the back."""
        if self.inserted == 0:
            return 0
        self._grow_fiber(self.inserted)
        start, source = self.starts[self.fiber], self.lengths[self.fiber] - 1  # C: source=long
        slot = source + self.inserted  # C: long
        side_slot = self.inserted - 1  # C: long
        # the largest element goes last; ``slot`` stays ahead of ``source``, so that no element is overwritten
        while side_slot >= 0:
            if source >= 0 and self.coordinates[start + source] > self.side_coordinates[side_slot]:
                self._copy(start + source, start + slot)
                self._shift(source, slot)
                source -= 1
            else:
                self._copy_inserted(side_slot, start + slot)
                self._shift(self.shape + side_slot, slot)
                side_slot -= 1
            slot -= 1
        self.lengths[self.fiber] += self.inserted
        self.inserted = 0
        return 0

    def _copy_inserted(self, side_slot: int, slot: int) -> None:  # C: noexcept
        self.coordinates[slot] = self.side_coordinates[side_slot]
        if self.next_rank is None:
            self.values[slot] = self.side_values[side_slot]
        else:
            self.children[slot] = self.side_children[side_slot]

    def _shift(self, source: int, slot: int) -> int:
        """Record that an element moves; a payload counts only if no body has read it."""
        if not self.has_recorders:
            return 0
        coordinate = self.coordinates[self.starts[self.fiber] + slot]
        self._record_read(coordinate, source, source >= self.shape and coordinate > self.largest_read)
        self._record(self.coordinate_recorders, slot, True)
        return 0

    def _record_read(self, coordinate: int, position: int, is_body_read: bool) -> int:
        self._record(self.coordinate_recorders, position, False)
        if is_body_read:
            self._record(self.payload_recorders, position, False)
        self.largest_read = max(self.largest_read, coordinate)
        return 0

    def _record_write(self, position: int) -> int:
        if self.has_recorders:
            self._record(self.coordinate_recorders, position, True)
            self._record(self.payload_recorders, position, True)
        return 0

    def _record(self, recorders: list[Recorder], position: int, write: bool) -> int:
        for recorder in recorders:  # C: Recorder
            recorder.touch(self.fiber, position, write, self.state.serials[recorder.evict_level])
        return 0

    def allocate_fiber(self) -> int:  # C: cdef
        """Return a fiber without elements; the spare fiber first, so that empty elements use up no fibers."""
        if self.spare_fiber:
            fiber, self.spare_fiber = self.spare_fiber, 0
            return fiber
        if self.fibers == len(self.starts):
            self.starts, self.lengths = grow_integers(self.starts), grow_integers(self.lengths)
            self.capacities, self.last_moved = (
                grow_integers(self.capacities),
                grow_integers(self.last_moved),
            )
        self.starts[self.fibers] = self.elements
        self.lengths[self.fibers] = self.capacities[self.fibers] = 0
        self.last_moved[self.fibers] = -1
        self.fibers += 1
        return self.fibers - 1

    def _grow_fiber(self, count: int) -> int:
        """Reserve elements at the end of the open fiber; move the fiber if another fiber follows."""
        length = self.lengths[self.fiber]
        length_needed = length + count
        if length_needed <= self.capacities[self.fiber]:
            return 0
        start = self.starts[self.fiber]
        if length == 0:
            start = self.elements  # an empty fiber moves to the end for free
        if start + self.capacities[self.fiber] == self.elements or length == 0:
            self._reserve(start + length_needed)
            self.starts[self.fiber], self.capacities[self.fiber] = start, length_needed
            self.elements = start + length_needed
            return 0
        # twice the needed space, so that a fiber that keeps growing moves rarely; the old space stays unused
        new_start = self.elements
        self._reserve(new_start + 2 * length_needed)
        for slot in range(length):
            self._copy(start + slot, new_start + slot)
        self.starts[self.fiber], self.capacities[self.fiber] = new_start, 2 * length_needed
        self.elements = new_start + 2 * length_needed
        return 0

    def _reserve(self, elements: int) -> int:
        while elements > len(self.coordinates):
            self.coordinates = grow_integers(self.coordinates)
            if self.next_rank is None:
                self.values = grow_values(self.values)
            else:
                self.children = grow_integers(self.children)
        return 0

    def _move_in(self) -> int:
        """Move the subtree of the fiber in as a whole, once an iteration of the loop that evicts it."""
        group = self.state.serials[self.move_level]
        if self.last_moved[self.fiber] != group:
            self.last_moved[self.fiber] = group
            self.move(self.fiber, False)
        return 0

    def move(self, fiber: int, write: bool) -> int:  # C: cdef
        """Record every element of a fiber and of its subtree.

        A write is recorded with the iterations of the last body, even if no body ran for this fiber.
        """
        start = self.starts[fiber]
        for position in range(self.lengths[fiber]):
            for recorder in self.subtree_recorders:
                serials = self.state.last_body if write else self.state.serials  # C: long[::1]
                recorder.touch(fiber, position, write, serials[recorder.evict_level])
            if self.next_rank is not None:
                self.next_rank.move(self.children[start + position], write)
        return 0


def grow_integers(numbers: IntegerArray) -> IntegerArray:  # C: cpdef
    """Return an array of twice the length with the same numbers first; the others are not set."""
    doubled = np.empty(2 * len(numbers), np.int64)
    doubled[: len(numbers)] = numbers
    return doubled


def grow_values(values: FloatArray) -> FloatArray:  # C: cpdef
    """Return an array of twice the length with the same values first; the others are not set."""
    doubled = np.empty(2 * len(values))
    doubled[: len(values)] = values
    return doubled
