# cython: infer_types=True
"""A matrix in memory, compressed by rows (CSR)."""

from __future__ import annotations

import numpy.typing as npt

from fiberscope.hw.fibers.arrays import coordinates_of, integers_of, values_of

__all__ = ["CompressedRows"]


class CompressedRows:  # C: final
    """A matrix compressed by rows (CSR): row pointers, and a coordinate and a value for each nonzero.

    Arrays of the stored types (64-bit pointers, 32-bit coordinates, doubles) are used without a copy if they
    are contiguous and writable. Their contents are not checked.

    Args:
        pointers: index of the first nonzero of each row, then the number of nonzeros; ``rows + 1`` integers.
        coordinates: columns of the nonzeros, increasing within a row.
        values: values of the nonzeros.
    """

    def __init__(self, pointers: npt.ArrayLike, coordinates: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.pointers = integers_of(pointers)  # C: public long[::1]
        self.coordinates = coordinates_of(coordinates)  # C: public int[::1]
        self.values = values_of(values)  # C: public double[::1]
        self.rows = len(self.pointers) - 1
