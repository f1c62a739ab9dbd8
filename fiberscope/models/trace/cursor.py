# cython: infer_types=True
"""One rank of a tensor that a loop nest reads: the fiber that it is in, and the element at its head."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.codes import ENDED, NO_WINDOW
from fiberscope.models.trace.recorder import Recorder

Array: TypeAlias = "npt.NDArray[Any]"


class Blocks(Protocol):
    """Has the ranks below a root hold one block of the tree after the other."""

    def load(self) -> int:
        """Go on to the next block; returns the root's elements up to its end."""


class Cursor:  # C: final
    """A rank of an input's tree as a loop goes through it.

    The loop's coordinate c and the rank's w are tied by ``w = scale * c + offset``: an index is an affine
    function of the loops' coordinates, of which all but one are known when the loop begins.

    Attributes: ``first``, ``last`` hold the current fiber's elements between them, ``head`` is the next
    one to look at and ``at`` its coordinate in the loop; ``present`` says whether the rank has an element
    where the body is, and ``value`` is the tensor's there, if the rank is its last.

    Args:
        segments, coordinates: of the rank, as in ``FiberTree``.
        values: of the tensor, if this is its last rank, else none.
        shape: of the loop: its coordinates are below it.
    """

    def __init__(self, segments: Array, coordinates: Array, values: Array, shape: int) -> None:
        self.segments, self.coordinates, self.values = (
            segments,
            coordinates,
            values,
        )  # C: segments=const long[::1], values=const double[::1], coordinates=const long[::1]
        self.shape = shape  # C: public
        self.below: Cursor | None = None  # C: public
        self.whole = False  # C: public; iterates over the shape, whether there are elements or not
        self.step = 1  # C: public; from one coordinate to the next, of a rank that is iterated whole
        self.scale, self.constant = 1, 0  # C: scale=public, constant=public
        self.bound = np.zeros(0, np.int64)  # C: public; the loops whose coordinates are in the offset
        self.coefficients = np.zeros(0, np.int64)  # C: public
        self.window = NO_WINDOW  # C: public; the loop whose current piece this rank is confined to
        self.empty = 0.0  # C: public
        self.looked: list[Recorder] = []  # C: public; told of every element looked at
        self.used: list[Recorder] = []  # C: public; told of those whose body runs
        self.placed = False  # C: public; whether they are told of coordinates, as of what is visited whole
        self.sought = 0  # the coordinate that was looked up last
        self.reached: list[Recorder] = []  # C: public; told of fibers: their subtrees are moved whole
        self.records = False  # whether there are any of the first two
        self.fiber = 0
        self.first = self.last = 0
        self.low = self.high = 0
        self.head = 0
        self.offset = 0
        self.end = 0
        self.at = ENDED
        self.blocks: Blocks | None = None  # that the ranks below come in; none: they hold all of it
        self.before = 0  # elements of this rank in blocks that are gone
        self.origin, self.loaded = 0, ENDED  # the root's elements that the ranks below hold
        self.present = False  # C: public
        self.value = 0.0  # C: public

    def attach(self, state: NestState) -> None:  # C: cpdef
        """Take part in a nest, at the root."""
        self.state = state
        self.records = bool(self.looked or self.used)
        self.last = self.segments[1] if len(self.segments) == 2 else 0

    def feed_by(self, blocks: Blocks) -> None:  # C: cpdef
        """Let the ranks below this root come in blocks; its elements are then entered in their order."""
        self.blocks, self.loaded = blocks, 0

    def hold(self, segments: Array, coordinates: Array, values: Array) -> None:  # C: cpdef
        """Hold another block of the rank."""
        self.before += len(self.coordinates)
        self.segments, self.coordinates, self.values = segments, coordinates, values

    def _load(self, element: int) -> int:
        assert self.blocks is not None
        while element >= self.loaded:
            self.origin = self.loaded
            self.loaded = self.blocks.load()
        return 0

    def enter(self, element: int) -> int:  # C: cdef
        """Go into an element: the rank below is at its fiber, or its value is the tensor's."""
        self.present = True
        below = self.below
        if below is None:
            self.value = self.values[element]
            return 0
        if element >= self.loaded:
            self._load(element)
        below.fiber = self.before + element
        below.first = below.segments[element - self.origin]
        below.last = below.segments[element - self.origin + 1]
        return 0

    def leave(self) -> None:  # C: cdef, noexcept
        """There is no element where the body is: all below is empty."""
        self.present = False
        below = self.below
        if below is None:
            self.value = self.empty
        else:
            below.first = below.last = 0

    def find(self, coordinate: int, low: int, high: int) -> int:  # C: cdef, noexcept
        """The first element from ``low`` to ``high`` whose coordinate is not below the given one."""
        while low < high:
            middle = (low + high) >> 1
            if self.coordinates[middle] < coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def confine(self) -> None:  # C: cdef, noexcept
        """Take the range of the loop's piece: ``low`` to ``high`` of the fiber."""
        self.low, self.high = self.first, self.last
        if self.window != NO_WINDOW and not self.whole:
            self.low = self.find(self.state.begins[self.window], self.first, self.last)
            self.high = self.find(self.state.ends[self.window], self.low, self.last)

    def in_piece(self, begin: int, end: int) -> bool:  # C: cdef, noexcept
        """Return whether the fiber is read whole, or has elements from one coordinate up to another."""
        if self.whole:
            return True
        place = self.find(begin, self.first, self.last)
        return place < self.last and self.coordinates[place] < end

    def begin(self) -> int:  # C: cdef
        """Go to the first element of the fiber that the loop visits."""
        if self.reached:
            self._reach()
        if self.whole:
            return self._begin_whole()
        if self.scale == 1 and len(self.bound) == 0 and self.constant == 0:
            self.confine()
            self.head = self.low
            self.at = self.coordinates[self.head] if self.head < self.high else ENDED
            return 0
        self._begin_projected()
        return 0

    def _reach(self) -> int:
        for recorder in self.reached:
            recorder.touch(self.fiber, 0, False, self.state.serials[recorder.evict_level])
        return 0

    def _begin_whole(self) -> int:
        begin, end = 0, self.shape  # C: end=long
        if self.window != NO_WINDOW:
            begin = self.state.begins[self.window] // self.step * self.step
            end = min(end, self.state.ends[self.window])
        self.low, self.high = self.first, self.last
        self.end = end
        self.at = begin if begin < end else ENDED
        self.head = self.find(self.at, self.low, self.high)
        return 0

    def _begin_projected(self) -> None:  # C: noexcept
        """Find the elements whose coordinate is one of the loop's."""
        self.offset = self.index()
        begin, end = 0, self.shape  # C: begin=long, end=long
        if self.window != NO_WINDOW:
            begin = max(begin, self.state.begins[self.window])
            end = min(end, self.state.ends[self.window])
        first, last = (
            self.scale * begin + self.offset,
            self.scale * (end - 1) + self.offset,
        )  # C: one=long, other=long
        self.low = self.find(min(first, last), self.first, self.last)
        self.high = self.find(max(first, last) + 1, self.low, self.last) if begin < end else self.low
        self.head = self.low if self.scale > 0 else self.high - 1
        self._settle()

    def _settle(self) -> None:  # C: noexcept
        """Pass the elements that the loop has no coordinate for."""
        way = 1 if self.scale > 0 else -1
        while self.low <= self.head < self.high:
            distance = self.coordinates[self.head] - self.offset  # C: long
            if distance % self.scale == 0:
                self.at = distance // self.scale
                return
            self.head += way
        self.at = ENDED

    def index(self) -> int:  # C: noexcept
        """The rank's coordinate by the loops whose coordinates are known."""
        offset = self.constant  # C: long
        for place in range(len(self.bound)):
            offset += self.coefficients[place] * self.state.point[self.bound[place]]
        return offset

    def advance(self) -> None:  # C: cdef, noexcept
        """Go to the next element."""
        if self.whole:
            if self.head < self.high and self.coordinates[self.head] == self.at:
                self.head += 1
            self.at += self.step
            if self.at >= self.end:
                self.at = ENDED
        elif self.scale == 1 and len(self.bound) == 0:
            self.head += 1
            self.at = self.coordinates[self.head] - self.constant if self.head < self.high else ENDED
        else:
            self.head += 1 if self.scale > 0 else -1
            self._settle()

    def is_plain(self) -> bool:  # C: cdef, noexcept
        """Return whether its coordinates are the loop's, and nobody is told of them."""
        return not (self.records or self.whole or self.scale != 1 or self.constant or len(self.bound))

    def seek(self, coordinate: int, place: int) -> int:  # C: cdef, noexcept
        """The first element from a place on whose coordinate is not below the given one."""
        reach = 1  # C: long
        while place + reach < self.high and self.coordinates[place + reach] < coordinate:
            place += reach
            reach += reach
        return self.find(coordinate, place, min(place + reach, self.high))

    def take(self) -> int:  # C: cdef
        """Go into the element at the head, if there is one."""
        if self.whole and (self.head == self.high or self.coordinates[self.head] != self.at):
            self.leave()
            return 0
        return self.enter(self.head)

    def look(self) -> int:  # C: cdef
        """Tell of the head's coordinate."""
        if self.records:
            self.tell(self.looked, self._place())
        return 0

    def use(self) -> int:  # C: cdef
        """Tell of the head's payload: the body runs for it."""
        if self.records:
            self.tell(self.used, self._place())
        return 0

    def _place(self) -> int:  # C: noexcept
        """Return the place of the head's element in its fiber."""
        if self.whole:
            return self.at
        return self.coordinates[self.head] if self.placed else self.head - self.first

    def tell(self, recorders: list[Recorder], position: int) -> int:  # C: cdef
        """Record a read at a position of the fiber."""
        for recorder in recorders:  # C: Recorder
            recorder.touch(self.fiber, position, False, self.state.serials[recorder.evict_level])
        return 0

    def look_up(self, coordinate: int) -> bool:
        """Go into the element of a coordinate; tells where it is, or would be. Returns whether it is."""
        if self.reached and self.first < self.last:
            self._reach()
        place = self.find(coordinate, self.first, self.last)
        is_present = place < self.last and self.coordinates[place] == coordinate
        self.head = place
        self.sought = coordinate
        if self.records:
            self.tell(self.looked, coordinate if self.placed else place - self.first)
        if is_present:
            self.enter(place)
        else:
            self.leave()
        return is_present

    def use_looked_up(self) -> int:  # C: cdef
        """Tell of the payload of the element that was looked up: the body runs for it."""
        if self.records and (self.present or self.whole):
            self.tell(self.used, self.sought if self.placed else self.head - self.first)
        return 0


class NestState:  # C: final
    """Position of a loop nest.

    Args:
        loops: how many there are.
        parts: of flattened ranks, whose coordinates follow those of the loops.
    """

    def __init__(self, loops: int, parts: int) -> None:
        # Bodies begun of each loop; the first is the root's
        self.serials = np.zeros(loops + 1, np.int64)  # C: public
        # The same when the output was last computed
        self.last_body = np.zeros(loops + 1, np.int64)  # C: public
        # The loops' coordinates, then those of parts
        self.point = np.zeros(loops + parts, np.int64)  # C: public
        # Of the pieces that the loops over partitions are in
        self.begins = np.zeros(loops, np.int64)  # C: public
        self.ends = np.zeros(loops, np.int64)  # C: public
