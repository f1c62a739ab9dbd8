# cython: infer_types=True
"""A hash table of points, each with a number and a value."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

FREE = 0  # the word of a free slot
NUMBER_BITS = 32  # low bits of any other word: the number of a point + 1; above them is the hash
NUMBER_MASK = (1 << NUMBER_BITS) - 1
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
        self.hash = 0  # its hash, after a search
        self._allocate(FIRST_SLOTS)

    def _allocate(self, slots: int) -> None:
        """Create empty arrays: a hash table of slots, and the coordinates and values by number."""
        self.mask = slots - 1
        self.slots = _zeros(slots).cast("q")
        self.coordinates = _zeros(slots // 2 * self.ways).cast("q")  # for half as many points as slots
        self.values = _zeros(slots // 2).cast("d")

    def set_coordinate(self, axis: int, coordinate: int) -> None:  # C: noexcept
        """Set a coordinate of the point to look up; call it for every coordinate before ``find``.

        Args:
            axis: number of the coordinate, less than ``ways``.
            coordinate: its value.
        """
        self.point[axis] = coordinate

    def find(self) -> int:
        """Return the number of the point that was set. A new point gets the next number and the value 0."""
        slot = self._slot()
        if self.slots[slot] != FREE:
            return (self.slots[slot] & NUMBER_MASK) - 1
        if 2 * self.count > self.mask:  # half of the slots stay free, so that a search soon finds one
            self._grow()
            slot = self._slot()
        number = self.count
        self.slots[slot] = self.hash << NUMBER_BITS | number + 1
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

    def _slot(self) -> int:  # C: noexcept
        """Return the slot of the point that was set, or else a free slot, and note the hash."""
        mask, hash_ = self.mask, 0
        for axis in range(self.ways):
            hash_ = ((hash_ ^ self.point[axis]) & LOW) * SCATTER & LOW
            hash_ ^= hash_ >> 15  # a product scatters its high bits best, and the slot takes the low bits
        self.hash = hash_
        slot = hash_ & mask
        word = self.slots[slot]
        # linear probing: no point is ever removed, so the first free slot ends the search
        while word != FREE and not (word >> NUMBER_BITS == hash_ and self._equal((word & NUMBER_MASK) - 1)):
            slot = (slot + 1) & mask
            word = self.slots[slot]
        return slot

    def _equal(self, number: int) -> bool:  # C: noexcept
        """Return whether the point with this number is the point that was set."""
        for axis in range(self.ways):
            if self.point[axis] != self.coordinates[number * self.ways + axis]:
                return False
        return True

    def _grow(self) -> None:
        """Move the points into a table of twice the size; the points keep their numbers."""
        slots, coordinates, values = self.slots, self.coordinates, self.values
        self._allocate(2 * (self.mask + 1))
        for index in range(self.count * self.ways):
            self.coordinates[index] = coordinates[index]
        for number in range(self.count):
            self.values[number] = values[number]
        for old_slot in range(self.mask // 2 + 1):
            word = slots[old_slot]
            if word != FREE:
                slot = (word >> NUMBER_BITS) & self.mask
                while self.slots[slot] != FREE:
                    slot = (slot + 1) & self.mask
                self.slots[slot] = word

    def columns(self) -> npt.NDArray[np.int64]:  # C: def
        """Return the coordinates of all points, an array of shape ``ways`` x ``count``."""
        used = np.array(self.coordinates[: self.count * self.ways], np.int64)
        return used.reshape(self.count, self.ways).T

    def all_values(self) -> npt.NDArray[np.float64]:  # C: def
        """Return the values of all points."""
        return np.array(self.values[: self.count])


def _zeros(words: int) -> memoryview[int]:
    """Return the bytes of zeroed words. The host allocates a page of them at its first use."""
    return np.zeros(8 * words, np.uint8).data
