# cython: infer_types=True
"""Sums by coordinate, read out in the order of the coordinates."""

from __future__ import annotations

from array import array

from fiberscope.hw.value_type import ValueType

FIRST_ROOM = 16


class Sums:  # C: final
    """A fiber that is accumulated: a sum for each coordinate, and how many values went into it.

    The sorted memory of an accumulator: an element stays where it was put, and its number is sorted in. It
    takes as many coordinates as come; hardware has a limit.
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        self._order = array("q", bytes(8 * room))  # numbers of the elements, by their coordinates
        self._elements = array("q", bytes(16 * room))  # the coordinate and the hits of each
        self._sums = array("d", bytes(8 * room))
        self._room = room

    def add(self, coordinate: int, value: float, value_type: ValueType) -> int:
        """Add to the sum of a coordinate, as the type has it; how many values that has had now."""
        place = self.place_after(coordinate - 1)
        if place == self.count or self.coordinate(place) != coordinate:
            self._insert(place, coordinate, value)
            return 1
        element = self._order[place]
        self._sums[element] = value_type.add(self._sums[element], value)
        self._elements[2 * element + 1] += 1
        return self._elements[2 * element + 1]

    def _insert(self, place: int, coordinate: int, value: float) -> None:
        if self.count == self._room:
            self._double()
        order, element = self._order, self.count  # C: order=long[::1]
        self._elements[2 * element] = coordinate
        self._elements[2 * element + 1] = 1
        self._sums[element] = value
        for at in range(element, place, -1):
            order[at] = order[at - 1]
        order[place] = element
        self.count += 1

    def _double(self) -> None:
        order, elements, sums = (
            self._order,
            self._elements,
            self._sums,
        )  # C: sums=double[::1], order=long[::1], elements=long[::1]
        self._allocate(2 * self._room)
        for place in range(self.count):
            self._order[place] = order[place]
            self._elements[2 * place] = elements[2 * place]
            self._elements[2 * place + 1] = elements[2 * place + 1]
            self._sums[place] = sums[place]

    def place_after(self, coordinate: int) -> int:  # C: noexcept
        """The place in the order of the first coordinate behind this one; the end if there is none."""
        low, high = 0, self.count  # C: low=long, high=long
        while low < high:
            middle = (low + high) // 2  # C: long
            if self.coordinate(middle) <= coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def coordinate(self, place: int) -> int:  # C: noexcept
        """The coordinate at a place in the order."""
        return self._elements[2 * self._order[place]]

    def sum(self, place: int) -> float:  # C: noexcept
        """Its sum."""
        return self._sums[self._order[place]]
