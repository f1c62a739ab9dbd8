# cython: infer_types=True
"""The store of partial fibers, which allocates and frees space in whole lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fiberscope.hw.fibers.arrays import coordinates_of, values_of

__all__ = ["PartialStore"]


class PartialStore:  # C: final
    """A store for the elements of partial fibers; the space of a consumed fiber is used again.

    ``coordinates`` and ``values`` hold one entry per element. ``allocate`` and ``reserve`` may replace both
    arrays by larger ones, so that a caller must not keep a reference to them.

    Args:
        line_bytes: bytes of a cache line; every fiber starts at the beginning of a line.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"coordinates": "writer", "values": "writer"}

    def __init__(self, line_bytes: int, element_bytes: int) -> None:
        self.granule = line_bytes // math.gcd(line_bytes, element_bytes)  # C: long; elements in whole lines
        self.element_bytes = element_bytes  # C: public long
        self.coordinates = coordinates_of([])  # C: public int[::1]
        self.values = values_of([])  # C: public double[::1]
        self.used = 0  # number of elements allocated so far, whether in use or free
        self.free: dict[int, list[int]] = {}  # by size: first elements of free spaces
        self._grow(self.granule)

    def allocate(self, elements: int) -> int:
        """Allocate space for up to ``elements`` elements, and return the index of its first element.

        Space of 0 elements still takes a line. Freed space of the same size is used before new space, the
        space that was freed last first.
        """
        size = self._size(elements)
        if self.free.get(size):
            return self.free[size].pop()
        start = self.used
        self.used += size
        self.reserve(self.used)
        return start

    def reserve(self, elements: int) -> None:
        """Grow the arrays, if necessary, to hold ``elements`` elements."""
        if elements > len(self.values):
            self._grow(max(elements, 2 * len(self.values)))

    def release(self, start: int, elements: int) -> None:
        """Free the space of a partial fiber, once; neither argument is checked.

        Args:
            start: index of its first element, as ``allocate`` returned it.
            elements: number of elements, as given to ``allocate``.
        """
        self.free.setdefault(self._size(elements), []).append(start)

    def _size(self, elements: int) -> int:
        """Return the number of elements, rounded up to the size of an allocation.

        Sizes are whole lines, in steps of a sixteenth of the next power of two. Few distinct sizes make reuse
        likely; the steps spread the starts of fibers over all sets of the cache.
        """
        granules = max(1, (elements + self.granule - 1) // self.granule)
        step = 1 << max(0, int(granules - 1).bit_length() - 4)
        return self.granule * ((granules + step - 1) // step * step)

    def _grow(self, elements: int) -> None:
        """Enlarge the arrays to ``elements`` elements; pages that are never written take no memory."""
        coordinates = coordinates_of(np.zeros(elements, np.int32))
        values = values_of(np.zeros(elements))
        coordinates[: len(self.coordinates)] = self.coordinates
        values[: len(self.values)] = self.values
        self.coordinates = coordinates
        self.values = values
