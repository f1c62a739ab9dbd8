"""A sparse tensor of any order as coordinates and values, the common form of files and formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.array_checks import as_doubles, check_finite
from fiberscope.workloads.canonical import (
    Coordinates,
    CsrArray,
    Integers,
    Values,
    check_shape,
    compressed,
    compute_sha256,
)
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sorting import lexical_order

MAX_POSITIONS = 2**63 - 1  # positions that a 64-bit integer can number


@dataclass(frozen=True)
class SparseTensor:
    """A tensor as stored entries, distinct, sorted by the first rank, then the second, and so on.

    The constructor does not check the entries; ``from_coordinates`` checks, sorts and adds them.

    Args:
        shape: sizes of the ranks, exclusive bounds of the coordinates.
        coordinates: for each rank, the coordinate of each entry.
        values: the value of each entry.
    """

    shape: tuple[int, ...]
    coordinates: tuple[Integers, ...]
    values: Values

    @classmethod
    def from_matrix(cls, matrix: CsrArray) -> SparseTensor:
        """Return the entries of a canonical matrix. Values and columns are shared."""
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)).astype(np.int64, copy=False)
        columns: Integers = np.asarray(matrix.indices)
        return cls((int(matrix.shape[0]), int(matrix.shape[1])), (rows, columns), matrix.data)

    @classmethod
    def from_array(cls, dense: npt.NDArray[Any], location: str) -> SparseTensor:
        """Return the nonzeros of a dense array of any rank; of an array without ranks, its value, even if 0.

        Args:
            dense: the array.
            location: name of the array in errors.

        Raises:
            WorkloadError: values are no finite real numbers, or a double cannot represent them, or the shape
                is empty.
        """
        # no elements: this checks the type, before the search for nonzeros
        as_doubles(dense.reshape(-1)[:0], location)
        if not dense.size:
            sizes, smallest = " x ".join(map(str, dense.shape)), " x ".join("1" * dense.ndim)
            raise WorkloadError(f"the shape {sizes} is empty; at least {smallest}", location=location)
        columns = np.nonzero(dense) if dense.ndim else ()
        values = as_doubles(np.atleast_1d(dense[columns]), location)
        check_finite(values, columns, location)
        return cls(dense.shape, tuple(column.astype(np.int64) for column in columns), values)

    @classmethod
    def from_coordinates(
        cls, shape: Sequence[int], coordinates: Sequence[Coordinates], values: Values
    ) -> SparseTensor:
        """Return the tensor of these entries, in any order. Values at the same position are added.

        Args:
            shape: sizes of the ranks.
            coordinates: for each rank, the 0-based coordinate of each entry.
            values: the value of each entry; zeros stay as entries.

        Raises:
            WorkloadError: no ranks, a rank without one coordinate for each value, or coordinates outside of
                the shape.
        """
        columns = [np.asarray(column, dtype=np.int64) for column in coordinates]
        if not columns or {len(column) for column in columns} != {len(values)} or len(columns) != len(shape):
            raise WorkloadError(f"{len(shape)} ranks need as many arrays of {len(values)} coordinates each")
        for rank, (size, column) in enumerate(zip(shape, columns, strict=True), start=1):
            if len(column) and not 0 <= column.min() <= column.max() < size:
                raise WorkloadError(f"a coordinate of rank {rank} is outside 0 to {size - 1}")
        if (order := lexical_order(columns, shape)) is not None:
            columns, values = [column[order] for column in columns], values[order]
        return cls(tuple(shape), tuple(columns), values)._sum_duplicates()

    def _sum_duplicates(self) -> SparseTensor:
        """Return the tensor with entries at the same position added."""
        if self.nonzeros == 0:
            return self
        # Sorted entries at one position are adjacent. ``reduceat`` adds from each start up to the next.
        starts = np.flatnonzero(np.append(True, self._position_changes()))
        if len(starts) == self.nonzeros:
            return self
        columns = tuple(column[starts] for column in self.coordinates)
        return SparseTensor(self.shape, columns, np.add.reduceat(self.values, starts))

    def _position_changes(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return a mask: whether an entry is at another position than its predecessor, from the second on."""
        different = [column[1:] != column[:-1] for column in self.coordinates]
        return np.asarray(np.logical_or.reduce(different))

    @property
    def order(self) -> int:
        """Return the number of ranks."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of positions, zeros included."""
        return math.prod(self.shape)

    @property
    def nonzeros(self) -> int:
        """Return the number of stored entries, explicit zeros included."""
        return len(self.values)

    @property
    def digest(self) -> str:
        """The sha256 of shape, coordinates and values; for a matrix, or a vector as a column, of its CSR.

        Raises:
            WorkloadError: see ``matrix``; only for one or two ranks.
        """
        if self.order == 1:
            return self.unfolded(1).digest
        arrays = (self._pointers(), self.coordinates[1]) if self.order == 2 else self.coordinates
        return compute_sha256(self.shape, arrays, self.values)

    def at_least(self, sizes: Sequence[int]) -> SparseTensor:
        """Return the tensor with each rank enlarged to at least the size in ``sizes``, if it is smaller.

        ``sizes`` must have a size for each rank, which is not checked.
        """
        return replace(self, shape=tuple(map(max, self.shape, sizes)))

    def positions(self) -> Integers:
        """Return the row-major position of each entry.

        Raises:
            WorkloadError: the tensor has more positions than 64-bit integers can number.
        """
        count_positions(self.shape)
        positions = np.zeros(self.nonzeros, dtype=np.int64)
        # Horner's rule, with the sizes of the ranks as bases
        for size, column in zip(self.shape, self.coordinates, strict=True):
            positions = positions * size + column
        return positions

    def without_zeros(self) -> SparseTensor:
        """Return the tensor without explicit zeros."""
        is_nonzero = self.values != 0
        if is_nonzero.all():
            return self
        return SparseTensor(
            self.shape, tuple(column[is_nonzero] for column in self.coordinates), self.values[is_nonzero]
        )

    def transposed(self, ranks: Sequence[int]) -> SparseTensor:
        """Return the tensor with its ranks reordered.

        Args:
            ranks: the number of the old rank, from 0, of each new rank.
        """
        shape, columns = [self.shape[rank] for rank in ranks], [self.coordinates[rank] for rank in ranks]
        order = lexical_order(columns, shape)
        if order is None:
            return SparseTensor(tuple(shape), tuple(columns), self.values)
        return SparseTensor(tuple(shape), tuple(column[order] for column in columns), self.values[order])

    def unfolded(self, rows: int) -> SparseTensor:
        """Return the tensor as a matrix: the first ``rows`` ranks become rows, the others columns.

        Several ranks become one coordinate in row-major order. No ranks become a rank of size 1.

        Raises:
            WorkloadError: see ``positions``.
        """
        # row-major numbers of both sides keep the order of the entries
        sides = [
            SparseTensor(self.shape[ranks], self.coordinates[ranks], self.values)
            for ranks in (slice(rows), slice(rows, None))
        ]
        return SparseTensor(
            tuple(side.size for side in sides), tuple(side.positions() for side in sides), self.values
        )

    def simplest(self) -> SparseTensor | CsrArray:
        """Return a canonical matrix for two ranks, or for one rank as a column; else the tensor itself.

        Raises:
            WorkloadError: see ``matrix``.
        """
        if self.order == 1:
            return self.unfolded(1).matrix()
        return self.matrix() if self.order == 2 else self

    def toarray(self) -> npt.NDArray[np.float64]:
        """Return a dense array."""
        array = np.zeros(self.shape)
        array[self.coordinates] = self.values
        return array

    def matrix(self) -> CsrArray:
        """Return a canonical matrix, which shares columns and values. The tensor must have two ranks.

        Raises:
            WorkloadError: the shape has too many rows or columns for the number of entries.
        """
        rows, columns = self.shape
        return compressed((rows, columns), self._pointers(), self.coordinates[1], self.values)

    def _pointers(self) -> Integers:
        """Return the first entry of each coordinate of the first rank, and the end.

        Raises:
            WorkloadError: a rank is too large for the number of entries.
        """
        # before memory is allocated for the pointers of many empty rows
        check_shape(self.shape[0], self.shape[1], self.nonzeros, None)
        return np.append(0, np.cumsum(np.bincount(self.coordinates[0], minlength=self.shape[0])))

    def equals(self, other: SparseTensor) -> bool:
        """Return whether shape, coordinates and values are equal."""
        return (
            self.shape == other.shape
            and all(map(np.array_equal, self.coordinates, other.coordinates))
            and np.array_equal(self.values, other.values)
        )


def count_positions(shape: Sequence[int]) -> int:
    """Return the number of positions of a tensor of this shape.

    Raises:
        WorkloadError: 64-bit integers cannot number the positions.
    """
    positions = math.prod(shape)
    if positions > MAX_POSITIONS:
        sizes = " x ".join(map(str, shape))
        raise WorkloadError(f"{sizes} has more places than 63 bits number", fix="store it as coo or csf")
    return positions


def coordinates_at(shape: Sequence[int], positions: Integers) -> tuple[Integers, ...]:
    """Return the coordinates of positions, for each rank: the inverse of ``SparseTensor.positions``.

    Args:
        shape: sizes of the ranks; the first is ignored.
        positions: row-major positions.

    Returns:
        One array for each rank; for a shape without ranks, the positions.
    """
    columns: list[Integers] = []
    for size in reversed(shape[1:]):
        quotients = positions // size
        columns.append(positions - quotients * size)  # the remainders, faster than a second division
        positions = quotients
    return (positions, *reversed(columns))
