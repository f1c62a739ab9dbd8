# cython: infer_types=True
"""Space of partial fibers: whole lines, allocated and freed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fiberscope.hw.fibers.arrays import coordinates_of, values_of

__all__ = ["PartialStore"]


class PartialStore:  # C: final
    """The elements of the partial fibers in use, a store; space of consumed ones is used again.

    Args:
        line_bytes: bytes of a cache line; every fiber starts at one.
        element_bytes: bytes of an element.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"coordinates": "writer", "values": "writer"}

    def __init__(self, line_bytes: int, element_bytes: int) -> None:
        self.granule = line_bytes // math.gcd(line_bytes, element_bytes)  # C: long; elements in whole lines
        self.element_bytes = element_bytes  # C: public long
        self.coordinates = coordinates_of([])  # C: public int[::1]
        self.values = values_of([])  # C: public double[::1]
        self.used = 0
        self.free: dict[int, list[int]] = {}
        self._grow(self.granule)

    def allocate(self, elements: int) -> int:
        """Space for at most this many elements; returns the element where it starts."""
        size = self._size(elements)
        if self.free.get(size):
            return self.free[size].pop()
        start = self.used
        self.used += size
        self.reserve(self.used)
        return start

    def reserve(self, elements: int) -> None:
        """Have room for this many elements at the least."""
        if elements > len(self.values):
            self._grow(max(elements, 2 * len(self.values)))

    def release(self, start: int, elements: int) -> None:
        """Give back space that was allocated for this many elements."""
        self.free.setdefault(self._size(elements), []).append(start)

    def _size(self, elements: int) -> int:
        """Whole lines, in steps of a sixteenth of the next power of two: few sizes, starts in all sets."""
        granules = max(1, (elements + self.granule - 1) // self.granule)
        step = 1 << max(0, int(granules - 1).bit_length() - 4)
        return self.granule * ((granules + step - 1) // step * step)

    def _grow(self, elements: int) -> None:
        """Room for this many elements; what is never written takes no memory."""
        coordinates = coordinates_of(np.zeros(elements, np.int32))
        values = values_of(np.zeros(elements))
        coordinates[: len(self.coordinates)] = self.coordinates
        values[: len(self.values)] = self.values
        self.coordinates = coordinates
        self.values = values
