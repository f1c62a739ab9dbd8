# cython: infer_types=True
"""A memory of sums, one for each coordinate, in the order of the coordinates."""

from __future__ import annotations

from array import array

from fiberscope.hw.value_type import ValueType

FIRST_ROOM = 16


class Sums:  # C: final
    """The sorted memory of an accumulator: for each coordinate, a sum and the number of its values.

    An element is never moved; only an array of element numbers is kept in the order of the coordinates. The
    memory is unbounded; that of hardware has a limit.
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        """Replace the arrays by empty ones for ``room`` elements."""
        self._order = array(
            "q", bytes(8 * room)
        )  # numbers of the elements, in the order of their coordinates
        self._elements = array(
            "q", bytes(16 * room)
        )  # for each element, its coordinate and the number of its values
        self._sums = array("d", bytes(8 * room))
        self._room = room

    def add(self, coordinate: int, value: float, value_type: ValueType) -> int:
        """Add a value to the sum of a coordinate.

        Args:
            coordinate: the coordinate.
            value: value to add.
            value_type: type that defines the addition.

        Returns:
            The number of values added to this coordinate so far.
        """
        place = self.place_after(coordinate - 1)
        if place == self.count or self.coordinate(place) != coordinate:
            self._insert(place, coordinate, value)
            return 1
        element = self._order[place]
        self._sums[element] = value_type.add(self._sums[element], value)
        self._elements[2 * element + 1] += 1
        return self._elements[2 * element + 1]

    def _insert(self, place: int, coordinate: int, value: float) -> None:
        """Append an element with one value, and insert its number at this place of the order."""
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
        """Move all elements into arrays of twice the size."""
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
        """Return the place of the first coordinate greater than this one; ``count`` if there is none."""
        low, high = 0, self.count  # C: low=long, high=long
        while low < high:
            middle = (low + high) // 2  # C: long
            if self.coordinate(middle) <= coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def coordinate(self, place: int) -> int:  # C: noexcept
        """Return the coordinate at a place in the order of the coordinates."""
        return self._elements[2 * self._order[place]]

    def sum(self, place: int) -> float:  # C: noexcept
        """Return the sum at a place in the order of the coordinates."""
        return self._sums[self._order[place]]
