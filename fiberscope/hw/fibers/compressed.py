# cython: infer_types=True
"""A matrix as it lies in memory, row by row."""

from __future__ import annotations

import numpy.typing as npt

from fiberscope.hw.fibers.arrays import coordinates_of, integers_of, values_of

__all__ = ["CompressedRows"]


class CompressedRows:  # C: final
    """A matrix as it lies in memory: row pointers, and a coordinate and a value for each nonzero.

    An array that has the width of what is stored (64-bit pointers, 32-bit coordinates, doubles) is taken as
    it is, without a copy.

    Args:
        pointers: ``rows + 1`` integers.
        coordinates: of the nonzeros, increasing within a row.
        values: of the nonzeros.
    """

    def __init__(self, pointers: npt.ArrayLike, coordinates: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.pointers = integers_of(pointers)  # C: public long[::1]
        self.coordinates = coordinates_of(coordinates)  # C: public int[::1]
        self.values = values_of(values)  # C: public double[::1]
        self.rows = len(self.pointers) - 1
