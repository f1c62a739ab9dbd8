# cython: infer_types=True
"""A hash table of points, each with a number and a value."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

EMPTY = -1
FIRST_SLOTS = 64  # slots at first; the number of slots is always a power of two
LOW = (1 << 31) - 1  # mask of the bits of a hash; with 31 bits, its product with SCATTER fits in 64 bits
SCATTER = 1327217885  # 2^31 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4)


class PointTable:  # C: final
    """Numbers points from 0 in the order of their first lookup, and holds a value for each.

    Args:
        ways: number of coordinates of a point.
    """

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.count = 0  # number of points
        self.point = array("q", bytes(8 * ways))  # the point to look up
        self._allocate(FIRST_SLOTS)

    def _allocate(self, slots: int) -> None:
        """Create empty arrays: a hash table of point numbers, and the coordinates and values by number."""
        self.mask = slots - 1
        self.numbers = array("q", [EMPTY]) * slots
        self.coordinates = array("q", bytes(4 * slots * self.ways))  # for half as many points as slots
        self.values = array("d", bytes(4 * slots))

    def set_coordinate(self, axis: int, coordinate: int) -> None:  # C: noexcept
        """Set a coordinate of the point to look up; call it for every coordinate before ``find``.

        Args:
            axis: number of the coordinate, less than ``ways``.
            coordinate: its value.
        """
        self.point[axis] = coordinate

    def find(self) -> int:
        """Return the number of the point that was set. A new point gets the next number and the value 0."""
        slot = self._slot(self.point, 0)
        if self.numbers[slot] != EMPTY:
            return self.numbers[slot]
        if 2 * self.count > self.mask:  # half of the slots stay free, so that a search soon finds one
            self._grow()
            slot = self._slot(self.point, 0)
        number = self.count
        self.numbers[slot] = number
        for axis in range(self.ways):
            self.coordinates[number * self.ways + axis] = self.point[axis]
        self.count += 1
        return number

    def value(self, number: int) -> float:  # C: noexcept
        """Return the value of a point, by its number."""
        return self.values[number]

    def set_value(self, number: int, value: float) -> None:  # C: noexcept
        """Set the value of a point, by its number."""
        self.values[number] = value

    def _slot(self, points: array[int], start: int) -> int:  # C: noexcept, points=long[::1]
        """Return the slot of the point whose coordinates start at ``points[start]``, or else a free slot."""
        mask, hash_ = self.mask, 0
        for axis in range(self.ways):
            hash_ = ((hash_ ^ points[start + axis]) & LOW) * SCATTER & LOW
            hash_ ^= hash_ >> 15  # a product scatters its high bits best, and the slot takes the low bits
        slot = hash_ & mask
        # linear probing: no point is ever removed, so the first free slot ends the search
        while self.numbers[slot] != EMPTY and not self._equal(points, start, self.numbers[slot]):
            slot = (slot + 1) & mask
        return slot

    def _equal(self, points: array[int], start: int, number: int) -> bool:  # C: noexcept, points=long[::1]
        for axis in range(self.ways):
            if points[start + axis] != self.coordinates[number * self.ways + axis]:
                return False
        return True

    def _grow(self) -> None:
        """Move the points into a table of twice the size; the points keep their numbers."""
        coordinates, values = self.coordinates, self.values
        self._allocate(2 * (self.mask + 1))
        for index in range(self.count * self.ways):
            self.coordinates[index] = coordinates[index]
        for number in range(self.count):
            self.values[number] = values[number]
            self.numbers[self._slot(self.coordinates, number * self.ways)] = number

    def columns(self) -> npt.NDArray[np.int64]:  # C: def
        """Return the coordinates of all points, an array of shape ``ways`` x ``count``."""
        return np.array(self.coordinates, np.int64)[: self.count * self.ways].reshape(self.count, self.ways).T

    def all_values(self) -> npt.NDArray[np.float64]:  # C: def
        """Return the values of all points."""
        return np.array(self.values)[: self.count]
