# cython: infer_types=True
"""A level of a compressed fibertree, as arrays in a local memory of the components that read it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.sim.errors import SimulationError


class Level:  # C: final
    """The fibers of a level: the coordinates of their elements, and the values if it is the last level.

    ``check_fiber`` checks a reference that arrives in a token. The other methods do not check their
    arguments.

    The position of an element is its index in the arrays. It is also the number of the element's fiber in the
    level below, so that the position serves as the reference to this fiber.

    Source: the segment and coordinate arrays of SAM (ASPLOS 2023), Figure 1c.

    Args:
        segments: position of the first element of each fiber, then the number of elements; starts with 0.
        coordinates: coordinates of all elements, strictly increasing within each fiber.
        values: values of all elements; 0.0 by default. All arrays are copied.

    The attribute ``fibers`` is the number of fibers.

    Raises:
        ValueError: if the arrays contradict each other, or the coordinates of a fiber do not increase.
    """

    def __init__(
        self, segments: npt.ArrayLike, coordinates: npt.ArrayLike, values: npt.ArrayLike | None = None
    ) -> None:
        self.segments = integers_of(np.array(segments, np.int64))  # C: long[::1]
        self.coordinates = integers_of(np.array(coordinates, np.int64))  # C: long[::1]
        self.values = values_of(  # C: double[::1]
            np.zeros(len(self.coordinates)) if values is None else np.array(values, np.float64)
        )
        self.fibers = len(self.segments) - 1
        self._check_segments()  # first, since the check of the coordinates indexes by the segments
        self._check_coordinates()
        if len(self.values) != len(self.coordinates):
            raise ValueError(f"{len(self.values)} values for {len(self.coordinates)} coordinates")

    def _check_segments(self) -> None:
        """Raise ``ValueError`` unless the segments do not decrease and cover all coordinates."""
        end = len(self.coordinates)
        if self.fibers < 0 or self.segments[0] != 0 or self.segments[self.fibers] != end:
            raise ValueError(f"segments must begin with 0 and end with {end}, the number of coordinates")
        for fiber in range(self.fibers):
            if self.segments[fiber] > self.segments[fiber + 1]:
                raise ValueError(f"fiber {fiber} ends before it begins")

    def _check_coordinates(self) -> None:
        """Raise ``ValueError`` unless the coordinates of each fiber increase strictly."""
        for fiber in range(self.fibers):
            for position in range(self.segments[fiber] + 1, self.segments[fiber + 1]):
                if self.coordinates[position - 1] >= self.coordinates[position]:
                    raise ValueError(f"the coordinates of fiber {fiber} do not increase")

    def check_fiber(self, fiber: int, reader: str) -> None:  # C: reader=str
        """Check that the level has a fiber.

        Args:
            fiber: number of the fiber.
            reader: name of the component that reads the fiber, for the message.

        Raises:
            SimulationError: if there is no such fiber.
        """
        if fiber < 0 or fiber >= self.fibers:
            raise SimulationError(
                f"{reader}: reference {fiber} names no fiber; the level has {self.fibers}, from 0 on"
            )

    def begin(self, fiber: int) -> int:  # C: noexcept
        """Return the position of the first element of a fiber; ``end(fiber)`` if the fiber is empty."""
        return self.segments[fiber]

    def end(self, fiber: int) -> int:  # C: noexcept
        """Return the position after the last element of a fiber."""
        return self.segments[fiber + 1]

    def find(self, fiber: int, coordinate: int) -> int:  # C: noexcept
        """Return the position of a fiber's first element at or above a coordinate, by binary search.

        Args:
            fiber: number of the fiber, which must exist.
            coordinate: the coordinate to search for.

        Returns:
            The position; ``end(fiber)`` if all coordinates of the fiber are lower.
        """
        return self.next_from(self.begin(fiber), self.end(fiber), coordinate)

    def next_from(self, low: int, high: int, coordinate: int) -> int:  # C: noexcept
        """Return the first position in ``low`` to ``high`` - 1 at or above a coordinate, by binary search.

        Args:
            low, high: first position, and the position after the last one, within one fiber.
            coordinate: the coordinate to search for.

        Returns:
            The position; ``high`` if all coordinates are lower.
        """
        # All coordinates before ``low`` are lower, and none from ``high`` on is
        while low < high:
            middle = (low + high) // 2  # C: long
            if self.coordinates[middle] < coordinate:
                low = middle + 1
            else:
                high = middle
        return low

    def coordinate(self, position: int) -> int:  # C: noexcept
        """Return the coordinate of an element."""
        return self.coordinates[position]

    def value(self, position: int) -> float:  # C: noexcept
        """Return the value of an element."""
        return self.values[position]
