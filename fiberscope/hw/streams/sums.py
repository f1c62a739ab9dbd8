# cython: infer_types=True
"""A memory of sums, one for each coordinate, in the order of the coordinates."""

from __future__ import annotations

from array import array

from fiberscope.hw.value_type import ValueType

FIRST_CAPACITY = 16


class Sums:  # C: final
    """The sorted memory of an accumulator: for each coordinate, a sum and the number of its values.

    An element is never moved; only an array of element numbers is kept in the order of the coordinates. The
    memory is unbounded; that of hardware has a limit.
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(FIRST_CAPACITY)

    def _allocate(self, capacity: int) -> None:
        """Replace the arrays by empty ones for ``capacity`` elements."""
        self._order = array(
            "q", bytes(8 * capacity)
        )  # numbers of the elements, in the order of their coordinates
        self._elements = array(
            "q", bytes(16 * capacity)
        )  # for each element, its coordinate and the number of its values
        self._sums = array("d", bytes(8 * capacity))
        self._capacity = capacity

    def add(self, coordinate: int, value: float, value_type: ValueType) -> int:
        """Add a value to the sum of a coordinate.

        Args:
            value: value to add.
            value_type: type that defines the addition.

        Returns:
            The number of values added to this coordinate so far.
        """
        position = self.position_after(coordinate - 1)
        if position == self.count or self.coordinate(position) != coordinate:
            self._insert(position, coordinate, value)
            return 1
        element = self._order[position]
        self._sums[element] = value_type.add(self._sums[element], value)
        self._elements[2 * element + 1] += 1
        return self._elements[2 * element + 1]

    def _insert(self, position: int, coordinate: int, value: float) -> None:
        """Append an element with one value, and insert its number at this place of the order."""
        if self.count == self._capacity:
            self._double()
        order, element = self._order, self.count  # C: order=long[::1]
        self._elements[2 * element] = coordinate
        self._elements[2 * element + 1] = 1
        self._sums[element] = value
        for index in range(element, position, -1):
            order[index] = order[index - 1]
        order[position] = element
        self.count += 1

    def _double(self) -> None:
        """Move all elements into arrays of twice the size."""
        order, elements, sums = (
            self._order,
            self._elements,
            self._sums,
        )  # C: sums=double[::1], order=long[::1], elements=long[::1]
        self._allocate(2 * self._capacity)
        for position in range(self.count):
            self._order[position] = order[position]
            self._elements[2 * position] = elements[2 * position]
            self._elements[2 * position + 1] = elements[2 * position + 1]
            self._sums[position] = sums[position]

    def position_after(self, coordinate: int) -> int:  # C: noexcept
        """Return the place of the first coordinate greater than this one; ``count`` if there is none."""
        low, high = 0, self.count  # C: low=long, high=long
        while low < high:
            middle = (low + high) // 2  # C: long
            if self.coordinate(middle) <= coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def coordinate(self, position: int) -> int:  # C: noexcept
        """Return the coordinate at a place in the order of the coordinates."""
        return self._elements[2 * self._order[position]]

    def sum(self, position: int) -> float:  # C: noexcept
        """Return the sum at a place in the order of the coordinates."""
        return self._sums[self._order[position]]
