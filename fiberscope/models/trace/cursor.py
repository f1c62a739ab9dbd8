# cython: infer_types=True
"""Cursor on one rank of an input: its current fiber, and the next element of that fiber."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.codes import AT_END, NO_WINDOW
from fiberscope.models.trace.recorder import Recorder

Array: TypeAlias = "npt.NDArray[Any]"


class Blocks(Protocol):
    """A source of blocks of a tree, for the cursors of the ranks below the root."""

    def load(self) -> int:
        """Load the next block; return the number of root elements up to the end of the block."""


class Cursor:  # C: final
    """A rank of an input's tree, as a loop reads it.

    The loop's coordinate c and the rank's coordinate w satisfy ``w = scale * c + offset``. An index is an
    affine function of the coordinates of the loops, and all but one of them are known when the loop begins.

    Attributes: ``first`` and ``last`` bound the elements of the current fiber. ``head`` is the next element
    and ``head_coordinate`` its coordinate in the loop. ``present`` says whether the rank has an element at
    the current point, and ``value`` is the tensor's value there if the rank is the last.

    Args:
        segments, coordinates: of the rank, as in ``FiberTree``.
        values: values of the tensor if the rank is its last, else none.
        shape: of the loop: its coordinates are below the shape.
    """

    def __init__(self, segments: Array, coordinates: Array, values: Array, shape: int) -> None:
        self.segments, self.coordinates, self.values = (
            segments,
            coordinates,
            values,
        )  # C: segments=const long[::1], values=const double[::1], coordinates=const long[::1]
        self.shape = shape  # C: public
        self.next_rank: Cursor | None = None  # C: public
        self.is_dense = False  # C: public; visits every coordinate of the shape, empty coordinates too
        self.step = 1  # C: public; distance of two coordinates, of a rank that is visited whole
        self.scale, self.constant = 1, 0  # C: scale=public, constant=public
        self.bound_loops = np.zeros(0, np.int64)  # C: public; the loops whose coordinates are in the offset
        self.coefficients = np.zeros(0, np.int64)  # C: public
        self.window = NO_WINDOW  # C: public; the loop whose current piece bounds this rank
        self.empty = 0.0  # C: public
        self.coordinate_recorders: list[Recorder] = []  # C: public; record each coordinate that is read
        self.payload_recorders: list[Recorder] = []  # C: public; record each element for which the body runs
        self.by_coordinate = False  # C: public; record coordinates, not positions
        self.lookup_coordinate = 0  # the coordinate of the last lookup
        self.fiber_recorders: list[Recorder] = []  # C: public; record each fiber: its subtree is moved whole
        self.has_recorders = False  # whether coordinates or payloads are recorded
        self.fiber = 0
        self.first = self.last = 0
        self.low = self.high = 0
        self.head = 0
        self.offset = 0
        self.end = 0
        self.head_coordinate = AT_END
        self.blocks: Blocks | None = None  # source of the ranks below; None: the cursors hold the whole tree
        self.earlier_elements = 0  # elements of this rank in earlier blocks
        self.origin, self.loaded = 0, AT_END  # range of root elements in the current block
        self.present = False  # C: public
        self.value = 0.0  # C: public

    def attach(self, state: NestState) -> None:  # C: cpdef
        """Attach the cursor to a nest, at the root.

        Recorders must be attached before.
        """
        self.state = state
        self.has_recorders = bool(self.coordinate_recorders or self.payload_recorders)
        # the only fiber of a root rank is entered here, the fibers of other ranks by ``enter``
        self.last = self.segments[1] if len(self.segments) == 2 else 0

    def attach_blocks(self, blocks: Blocks) -> None:  # C: cpdef
        """Have the ranks below this root loaded block by block; its elements are then entered in order."""
        self.blocks, self.loaded = blocks, 0

    def set_block(self, segments: Array, coordinates: Array, values: Array) -> None:  # C: cpdef
        """Replace the arrays of the rank by those of the next block.

        Args:
            segments, coordinates, values: arguments of the constructor, numbered from 0 within the block.
        """
        self.earlier_elements += len(self.coordinates)
        self.segments, self.coordinates, self.values = segments, coordinates, values

    def _load(self, element: int) -> int:
        assert self.blocks is not None
        while element >= self.loaded:
            self.origin = self.loaded
            self.loaded = self.blocks.load()
        return 0

    def enter(self, element: int) -> int:  # C: cdef
        """Enter an element: set the fiber of the rank below, or the tensor's value at the last rank.

        The first element of a new block loads the block.
        """
        self.present = True
        next_rank = self.next_rank
        if next_rank is None:
            self.value = self.values[element]
            return 0
        if element >= self.loaded:
            self._load(element)
        next_rank.fiber = self.earlier_elements + element
        # the rank below is numbered from 0 in each block; recorders need a number that is unique in the tree
        next_rank.first = next_rank.segments[element - self.origin]
        next_rank.last = next_rank.segments[element - self.origin + 1]
        return 0

    def mark_absent(self) -> None:  # C: cdef, noexcept
        """Mark the tensor as absent at the current point, with an empty fiber in the rank below.

        Ranks further below keep their fibers until the loops inside find the empty fiber, and mark them.
        """
        self.present = False
        next_rank = self.next_rank
        if next_rank is None:
            self.value = self.empty
        else:
            next_rank.first = next_rank.last = 0

    def find(self, coordinate: int, low: int, high: int) -> int:  # C: cdef, noexcept
        """Return the first element from ``low`` with a coordinate of at least ``coordinate``, or ``high``."""
        while low < high:
            middle = (low + high) >> 1
            if self.coordinates[middle] < coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def set_bounds(self) -> None:  # C: cdef, noexcept
        """Set ``low`` and ``high`` to the elements of the fiber in the loop's current piece."""
        self.low, self.high = self.first, self.last
        if self.window != NO_WINDOW and not self.is_dense:
            self.low = self.find(self.state.piece_starts[self.window], self.first, self.last)
            self.high = self.find(self.state.piece_ends[self.window], self.low, self.last)

    def reaches_piece(self, start: int, end: int) -> bool:  # C: cdef, noexcept
        """Return whether the fiber is visited whole, or has elements from ``start`` up to ``end``."""
        if self.is_dense:
            return True
        element = self.find(start, self.first, self.last)
        return element < self.last and self.coordinates[element] < end

    def begin(self) -> int:  # C: cdef
        """Go to the first element that the loop visits; the outer loops have entered the fiber.

        A dense rank begins at the first coordinate instead, whether or not an element is there.
        """
        # An absent tensor has an empty fiber, whose number is that of an earlier fiber
        if self.fiber_recorders and self.first < self.last:
            self._record_fiber()
        if self.is_dense:
            return self._begin_all()
        if self.scale == 1 and len(self.bound_loops) == 0 and self.constant == 0:
            self.set_bounds()
            self.head = self.low
            self.head_coordinate = self.coordinates[self.head] if self.head < self.high else AT_END
            return 0
        self._begin_projected()
        return 0

    def _record_fiber(self) -> int:
        for recorder in self.fiber_recorders:
            recorder.touch(self.fiber, 0, False, self.state.serials[recorder.evict_level])
        return 0

    def _begin_all(self) -> int:
        # coordinates are multiples of the step, also if the window begins between two of them
        start, end = 0, self.shape  # C: end=long
        if self.window != NO_WINDOW:
            start = self.state.piece_starts[self.window] // self.step * self.step
            end = min(end, self.state.piece_ends[self.window])
        self.low, self.high = self.first, self.last
        self.end = end
        self.head_coordinate = start if start < end else AT_END
        self.head = self.find(self.head_coordinate, self.low, self.high)
        return 0

    def _begin_projected(self) -> None:  # C: noexcept
        """Find the elements whose coordinates map to coordinates of the loop."""
        self.offset = self.index()
        start, end = 0, self.shape  # C: start=long, end=long
        if self.window != NO_WINDOW:
            start = max(start, self.state.piece_starts[self.window])
            end = min(end, self.state.piece_ends[self.window])
        # A negative scale reverses the order of the coordinates
        first_image = self.scale * start + self.offset  # C: long
        last_image = self.scale * (end - 1) + self.offset  # C: long
        self.low = self.find(min(first_image, last_image), self.first, self.last)
        highest = max(first_image, last_image)  # C: long
        self.high = self.find(highest + 1, self.low, self.last) if start < end else self.low
        self.head = self.low if self.scale > 0 else self.high - 1
        self._skip_unmapped()

    def _skip_unmapped(self) -> None:  # C: noexcept
        """Skip elements without a coordinate in the loop."""
        step = 1 if self.scale > 0 else -1
        while self.low <= self.head < self.high:
            # c = (w - offset) / scale, if the division leaves no remainder
            distance = self.coordinates[self.head] - self.offset  # C: long
            if distance % self.scale == 0:
                self.head_coordinate = distance // self.scale
                return
            self.head += step
        self.head_coordinate = AT_END

    def index(self) -> int:  # C: noexcept
        """Return the coordinate of the rank that the coordinates of the outer loops determine."""
        offset = self.constant  # C: long
        for term in range(len(self.bound_loops)):
            offset += self.coefficients[term] * self.state.point[self.bound_loops[term]]
        return offset

    def advance(self) -> None:  # C: cdef, noexcept
        """Go to the next element in the order of the loop, or to the next coordinate of a dense rank."""
        if self.is_dense:
            # the head moves only past an element: a coordinate without an element leaves it at the next one
            if self.head < self.high and self.coordinates[self.head] == self.head_coordinate:
                self.head += 1
            self.head_coordinate += self.step
            if self.head_coordinate >= self.end:
                self.head_coordinate = AT_END
        elif self.scale == 1 and len(self.bound_loops) == 0:  # the offset is the constant alone
            self.head += 1
            self.head_coordinate = (
                self.coordinates[self.head] - self.constant if self.head < self.high else AT_END
            )
        else:
            self.head += 1 if self.scale > 0 else -1
            self._skip_unmapped()

    def is_plain(self) -> bool:  # C: cdef, noexcept
        """Return whether the rank has the loop's coordinates, and no recorder of coordinates or payloads.

        Recorders of whole fibers do not matter here: ``begin`` serves them.
        """
        return not (
            self.has_recorders or self.is_dense or self.scale != 1 or self.constant or len(self.bound_loops)
        )

    def seek(self, coordinate: int, element: int) -> int:  # C: cdef, noexcept
        """Return the first element from ``element`` on that is not below ``coordinate``, or ``high``.

        The search takes exponential steps, so that a near element is found fast.
        """
        reach = 1  # C: long
        while element + reach < self.high and self.coordinates[element + reach] < coordinate:
            element += reach
            reach += reach
        return self.find(coordinate, element, min(element + reach, self.high))

    def enter_head(self) -> int:  # C: cdef
        """Enter the element at the head, if the fiber has an element there."""
        if self.is_dense and (self.head == self.high or self.coordinates[self.head] != self.head_coordinate):
            self.mark_absent()
            return 0
        return self.enter(self.head)

    def record_coordinate(self) -> int:  # C: cdef
        """Record a read of the head's coordinate."""
        if self.has_recorders:
            self.record(self.coordinate_recorders, self._head_position())
        return 0

    def record_payload(self) -> int:  # C: cdef
        """Record a read of the head's payload: the body runs for the element."""
        if self.has_recorders:
            self.record(self.payload_recorders, self._head_position())
        return 0

    def _head_position(self) -> int:  # C: noexcept
        """Return the position, or the coordinate, of the head's element in its fiber."""
        if self.is_dense:
            return self.head_coordinate
        return self.coordinates[self.head] if self.by_coordinate else self.head - self.first

    def record(self, recorders: list[Recorder], position: int) -> int:  # C: cdef
        """Record a read at a position of the fiber."""
        for recorder in recorders:  # C: Recorder
            recorder.touch(self.fiber, position, False, self.state.serials[recorder.evict_level])
        return 0

    def look_up(self, coordinate: int) -> bool:
        """Enter the element at a coordinate, record the lookup, and return whether the element exists.

        The lookup of an absent element records the position at which the search ended.
        """
        if self.fiber_recorders and self.first < self.last:
            self._record_fiber()
        element = self.find(coordinate, self.first, self.last)
        is_present = element < self.last and self.coordinates[element] == coordinate
        self.head = element
        self.lookup_coordinate = coordinate
        if self.has_recorders:
            self.record(self.coordinate_recorders, coordinate if self.by_coordinate else element - self.first)
        if is_present:
            self.enter(element)
        else:
            self.mark_absent()
        return is_present

    def record_lookup_payload(self) -> int:  # C: cdef
        """Record a read of the payload of the element that was looked up: the body runs for the element."""
        if self.has_recorders and (self.present or self.is_dense):
            self.record(
                self.payload_recorders,
                self.lookup_coordinate if self.by_coordinate else self.head - self.first,
            )
        return 0


class NestState:  # C: final
    """Position of a loop nest.

    Args:
        loops: number of loops.
        components: number of parts of flattened ranks; their coordinates follow those of the loops.
    """

    def __init__(self, loops: int, components: int) -> None:
        # Number of bodies that each loop has begun; the first entry is the root
        self.serials = np.zeros(loops + 1, np.int64)  # C: public
        # ``serials`` at the last update of the output
        self.last_body = np.zeros(loops + 1, np.int64)  # C: public
        # Coordinates of the loops, then of the parts
        self.point = np.zeros(loops + components, np.int64)  # C: public
        # Bounds of the current pieces of the loops over partitions
        self.piece_starts = np.zeros(loops, np.int64)  # C: public
        self.piece_ends = np.zeros(loops, np.int64)  # C: public
