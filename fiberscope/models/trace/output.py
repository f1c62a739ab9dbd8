# cython: infer_types=True
"""One rank of the tensor that a loop nest writes: fibers that grow, kept sorted."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.cursor import NestState
from fiberscope.models.trace.recorder import Recorder

IntegerArray: TypeAlias = "npt.NDArray[np.int64]"
FloatArray: TypeAlias = "npt.NDArray[np.float64]"

FIRST_ROOM = 64


class OutputRank:  # C: final
    """A rank of the output's tree; at any time one of its fibers is open, and at most one element of that.

    A loop begins a fiber and opens elements in the order of their coordinates. An element that is not there
    yet is made when it closes, unless it is still empty. Where the first coordinate lies before the fiber's
    last element, new elements go into a side buffer, and the two are merged when the fiber is finished: an
    insertion sort from the back. What an accelerator would read and write for that is told to recorders.

    Attributes: ``child`` is the fiber below the open element, ``value`` its value at the last rank;
    ``starts``, ``lengths`` say where the fibers lie in ``coordinates`` and in ``values`` or ``children``.

    Source: the accesses are those of TeAAL's public implementation, where a fiber is updated in place.

    Args:
        shape: coordinates are below it.
        below: the next rank; None for the last.
        empty: the value that is not stored.
    """

    def __init__(self, shape: int, below: OutputRank | None, empty: float) -> None:
        self.shape, self.below, self.empty = shape, below, empty  # C: below=public
        self.looked: list[Recorder] = []  # C: public; told of coordinates (or whole elements)
        self.used: list[Recorder] = []  # C: public; told of payloads
        self.moved: list[Recorder] = []  # C: public; told of every element when a subtree is moved as a whole
        self.random = False  # C: public; opened by the body: its rank is not a loop of its own
        self.records = False
        # The level of the loop whose iterations move the subtree below; none
        self.root_of_moves = -1  # C: public
        self.starts = np.zeros(FIRST_ROOM, np.int64)
        self.lengths = np.zeros(FIRST_ROOM, np.int64)
        self.rooms = np.zeros(FIRST_ROOM, np.int64)
        self.seen = np.full(FIRST_ROOM, -1, np.int64)  # by fiber: last iteration that moved it in
        self.fibers = 1
        self.spare = 0  # an unused fiber; 0 means none
        self.elements = 0  # used elements of the arrays below, with the gaps between fibers
        self.coordinates = np.empty(FIRST_ROOM, np.int64)
        self.children = np.empty(0 if below is None else FIRST_ROOM, np.int64)
        self.values = np.empty(FIRST_ROOM if below is None else 0)
        self.side_coordinates = np.empty(FIRST_ROOM, np.int64)
        self.side_children = np.empty(FIRST_ROOM, np.int64)
        self.side_values = np.empty(FIRST_ROOM)
        self.inserted = 0  # number of elements in the side buffer
        self.fiber = 0
        self.search = 0
        self.decided = self.inserting = False
        self.next_insert = 0  # elements before this place were read for the inserted elements
        self.passed = -1  # the largest coordinate read
        self.coordinate = 0
        self.position = 0
        self.exists = False
        self.child = 0  # C: public
        self.value = empty  # C: public

    def attach(self, state: NestState) -> None:  # C: cpdef
        """Take part in a nest."""
        self.state = state
        self.records = bool(self.looked or self.used)

    def begin(self, fiber: int) -> int:
        """A loop begins to go through a fiber."""
        self.fiber = fiber
        self.search = self.inserted = 0
        self.decided = self.inserting = False
        self.next_insert = 0
        self.passed = -1
        if self.root_of_moves >= 0:
            self._move_in()
        return 0

    def open(self, coordinate: int) -> int:
        """Go to the element of a coordinate, which is there or may come to be."""
        count = self.lengths[self.fiber]
        start = self.starts[self.fiber]
        self.coordinate = coordinate
        if not self.decided:
            self.decided = True
            self.inserting = count > 0 and coordinate < self.coordinates[start + count - 1]
        if self.inserting:
            self._search(coordinate, start, count)
        else:
            self.position = count
            if count > 0 and self.coordinates[start + count - 1] == coordinate:
                self.position = count - 1
        self.exists = self.position < count and self.coordinates[start + self.position] == coordinate
        if self.exists:
            self._load(start + self.position)
        elif self.below is None:
            self.value = self.empty
        else:
            self.child = self.below.fresh()
        return 0

    def _search(self, coordinate: int, start: int, count: int) -> int:
        """Go from the last place to the first element that does not lie before the coordinate."""
        if not self.records:
            self.search = self._bisect(coordinate, start + self.search, start + count) - start
        while self.search < count and self.coordinates[start + self.search] < coordinate:
            if self.coordinates[start + self.search] >= self.next_insert:
                self._read(self.coordinates[start + self.search], self.search, False)
            self.search += 1
        self.position = self.search
        return 0

    def _bisect(self, coordinate: int, low: int, high: int) -> int:  # C: noexcept
        while low < high:
            middle = (low + high) >> 1
            if self.coordinates[middle] < coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def _load(self, place: int) -> int:
        """The element was there before."""
        if self.below is None:
            self.value = self.values[place]
        else:
            self.child = self.children[place]
        if self.records:
            self._read(self.coordinate, self.position, True)
        return 0

    def close(self) -> int:
        """Leave the element: keep it, unless it is empty."""
        if self.below is not None and self.below.root_of_moves >= 0:
            self.below.move(self.child, True)
        if self._is_empty():
            if self.exists:
                self._remove()
            return 0
        if self.exists:
            self._store(self.starts[self.fiber] + self.position)
            self.search = self.position + 1
            self._wrote(self.position)
        elif self.inserting:
            self._insert()
        else:
            self._append()
        return 0

    def _is_empty(self) -> bool:  # C: noexcept
        if self.below is None:
            return self.value == self.empty
        if self.below.lengths[self.child] > 0:
            return False
        self.below.spare = self.child
        return True

    def _store(self, place: int) -> None:  # C: noexcept
        if self.below is None:
            self.values[place] = self.value
        else:
            self.children[place] = self.child

    def _append(self) -> int:
        """Put the element behind the fiber's last."""
        self._make_room(1)
        place = self.starts[self.fiber] + self.position
        self.coordinates[place] = self.coordinate
        self._store(place)
        self.lengths[self.fiber] += 1
        self._wrote(self.position)
        return 0

    def _insert(self) -> int:
        """Put the element into the side buffer."""
        if self.inserted == len(self.side_coordinates):
            self.side_coordinates = longer(self.side_coordinates)
            self.side_children = longer(self.side_children)
            self.side_values = longer_values(self.side_values)
        self.side_coordinates[self.inserted] = self.coordinate
        self.side_children[self.inserted] = self.child
        self.side_values[self.inserted] = self.value
        self._wrote(self.shape + self.inserted)
        self.inserted += 1
        self.next_insert = self.coordinate + 1
        return 0

    def _remove(self) -> None:  # C: noexcept
        """Take out an element that has become empty."""
        place = self.starts[self.fiber] + self.position
        self.lengths[self.fiber] -= 1
        for later in range(place, self.starts[self.fiber] + self.lengths[self.fiber]):
            self._copy(later + 1, later)

    def _copy(self, source: int, place: int) -> None:  # C: noexcept
        self.coordinates[place] = self.coordinates[source]
        if self.below is None:
            self.values[place] = self.values[source]
        else:
            self.children[place] = self.children[source]

    def finish(self) -> int:
        """The loop has gone through the fiber: merge the side buffer into it, from the back."""
        if self.inserted == 0:
            return 0
        self._make_room(self.inserted)
        start, left = self.starts[self.fiber], self.lengths[self.fiber] - 1  # C: left=long
        place = left + self.inserted  # C: long
        waiting = self.inserted - 1  # C: long
        while waiting >= 0:
            if left >= 0 and self.coordinates[start + left] > self.side_coordinates[waiting]:
                self._copy(start + left, start + place)
                self._shift(left, place)
                left -= 1
            else:
                self._take_back(waiting, start + place)
                self._shift(self.shape + waiting, place)
                waiting -= 1
            place -= 1
        self.lengths[self.fiber] += self.inserted
        self.inserted = 0
        return 0

    def _take_back(self, waiting: int, place: int) -> None:  # C: noexcept
        self.coordinates[place] = self.side_coordinates[waiting]
        if self.below is None:
            self.values[place] = self.side_values[waiting]
        else:
            self.children[place] = self.side_children[waiting]

    def _shift(self, source: int, place: int) -> int:
        """Record that an element moves. Of payloads only one that no body has read so far is counted."""
        if not self.records:
            return 0
        coordinate = self.coordinates[self.starts[self.fiber] + place]
        self._read(coordinate, source, source >= self.shape and coordinate > self.passed)
        self._tell(self.looked, place, True)
        return 0

    def _read(self, coordinate: int, position: int, body: bool) -> int:
        self._tell(self.looked, position, False)
        if body:
            self._tell(self.used, position, False)
        self.passed = max(self.passed, coordinate)
        return 0

    def _wrote(self, position: int) -> int:
        if self.records:
            self._tell(self.looked, position, True)
            self._tell(self.used, position, True)
        return 0

    def _tell(self, recorders: list[Recorder], position: int, write: bool) -> int:
        for recorder in recorders:  # C: Recorder
            recorder.touch(self.fiber, position, write, self.state.serials[recorder.evict_level])
        return 0

    def fresh(self) -> int:  # C: cdef
        """A fiber with no element yet."""
        if self.spare:
            fiber, self.spare = self.spare, 0
            return fiber
        if self.fibers == len(self.starts):
            self.starts, self.lengths = longer(self.starts), longer(self.lengths)
            self.rooms, self.seen = longer(self.rooms), longer(self.seen)
        self.starts[self.fibers] = self.elements
        self.lengths[self.fibers] = self.rooms[self.fibers] = 0
        self.seen[self.fibers] = -1
        self.fibers += 1
        return self.fibers - 1

    def _make_room(self, more: int) -> int:
        """Room behind the open fiber's last element: where it is if it is the last, or else further back."""
        length = self.lengths[self.fiber]
        need = length + more
        if need <= self.rooms[self.fiber]:
            return 0
        start = self.starts[self.fiber]
        if length == 0:
            start = self.elements
        if start + self.rooms[self.fiber] == self.elements or length == 0:
            self._reserve(start + need)
            self.starts[self.fiber], self.rooms[self.fiber] = start, need
            self.elements = start + need
            return 0
        moved = self.elements
        self._reserve(moved + 2 * need)
        for place in range(length):
            self._copy(start + place, moved + place)
        self.starts[self.fiber], self.rooms[self.fiber] = moved, 2 * need
        self.elements = moved + 2 * need
        return 0

    def _reserve(self, elements: int) -> int:
        while elements > len(self.coordinates):
            self.coordinates = longer(self.coordinates)
            if self.below is None:
                self.values = longer_values(self.values)
            else:
                self.children = longer(self.children)
        return 0

    def _move_in(self) -> int:
        """The subtree of the fiber is moved as a whole, once an iteration of the loop that evicts it."""
        group = self.state.serials[self.root_of_moves]
        if self.seen[self.fiber] != group:
            self.seen[self.fiber] = group
            self.move(self.fiber, False)
        return 0

    def move(self, fiber: int, write: bool) -> int:  # C: cdef
        """Tell of every element of a fiber and of what is below it.

        A write is told with the iterations in which the last body ran, even if none did for this fiber.
        """
        start = self.starts[fiber]
        for position in range(self.lengths[fiber]):
            for recorder in self.moved:
                serials = self.state.last_body if write else self.state.serials  # C: long[::1]
                recorder.touch(fiber, position, write, serials[recorder.evict_level])
            if self.below is not None:
                self.below.move(self.children[start + position], write)
        return 0


def longer(numbers: IntegerArray) -> IntegerArray:  # C: cpdef
    """The array with as much room again."""
    grown = np.empty(2 * len(numbers), np.int64)
    grown[: len(numbers)] = numbers
    return grown


def longer_values(values: FloatArray) -> FloatArray:  # C: cpdef
    """As ``longer``."""
    grown = np.empty(2 * len(values))
    grown[: len(values)] = values
    return grown
