"""Stored tensors: the levels and values that a graph's scanners and arrays read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.hw.fibers.arrays import rounded_to
from fiberscope.hw.value_type import ValueType
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.levels.level import Level
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.tensor import SparseTensor

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in the layout of its format.

    Args:
        shape: sizes of the dimensions.
        format: a letter for each level, and the dimension that the level stores.
        levels: levels, outermost first.
        values: a value for each position of the last level; a scalar has one value.
    """

    shape: tuple[int, ...]
    format: Format
    levels: tuple[Level, ...]
    values: Values

    def level(self, dimension: int) -> Level:
        """Return the level that stores a dimension."""
        return self.levels[self.format.level_of(dimension)]

    def entries(self) -> SparseTensor:
        """Return all stored entries, explicit zeros included, as a sparse tensor."""
        columns, positions = list_elements(self.levels)
        by_dimension = [columns[self.format.level_of(d)] for d in range(len(self.shape))]
        if not by_dimension:
            return SparseTensor((), (), self.values)
        return SparseTensor.from_coordinates(self.shape, by_dimension, self.values[positions])


def list_elements(levels: Sequence[Level]) -> tuple[list[Integers], Integers]:
    """Return the coordinates of all elements in each level, and their positions in the last level."""
    positions = np.zeros(1, np.int64)
    columns: list[Integers] = []
    for level in levels:
        owners, coordinates, positions = level.expand(positions)
        # each element of the level repeats the coordinates of its fiber in the outer levels
        columns = [column[owners] for column in columns] + [coordinates]
    return columns, positions


def store(tensor: SparseTensor, format: Format) -> StoredTensor:
    """Return a tensor in the layout of a format; positions of a dense level without an entry get the value 0.

    Args:
        tensor: a tensor without duplicate coordinates.
        format: a format with a level for each dimension.

    Raises:
        InputError: a dense level has too many positions, or a level of bit vectors too many words.
    """
    shape = tensor.shape
    transposed = tensor.transposed(format.order) if shape else tensor
    # for each entry, its position in the levels so far, which is the number of its fiber in the next level
    parents, count = np.zeros(tensor.nonzeros, np.int64), 1
    levels: list[Level] = []
    for level_format, dimension, column in zip(
        format.levels, format.order, transposed.coordinates, strict=True
    ):
        level, parents = level_format.store(shape[dimension], count, parents, column)
        levels.append(level)
        count = level.children
    values = np.zeros(count)
    # positions of a dense level without an entry keep the value 0
    values[parents] = transposed.values
    return StoredTensor(shape, format, tuple(levels), values)


def scalar(value: float) -> StoredTensor:
    """Return a tensor without dimensions."""
    return StoredTensor((), Format("", ()), (), np.array([value]))


def assemble_tensor(
    shape: Sequence[int], format: Format, levels: Sequence[Level], values: Values
) -> StoredTensor:
    """Return the tensor that existing levels and values form.

    Args:
        shape: sizes of the dimensions.
        format: format of the tensor, which is not compared with the levels.
        levels: levels, outermost first.
        values: a value for each position of the last level.

    Raises:
        InputError: the number of fibers or values differs from the number of positions above.
    """
    count = 1
    for number, level in enumerate(levels):
        fibers = level.fibers
        if fibers != count:
            raise InputError(f"level {number} has {fibers} fibers for {count} positions above")
        count = level.children
    if len(values) != count:
        raise InputError(f"{len(values)} values for {count} positions of the last level")
    return StoredTensor(tuple(shape), format, tuple(levels), values)


def round_values(value_type: ValueType, tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return the tensors, by name, with their values rounded to a type.

    Args:
        tensors: the tensors, by name; they do not change.

    Raises:
        InputError: a value is not a value of the type; the message names the first one.
    """
    typed = {}
    for name, tensor in tensors.items():
        try:
            typed[name] = replace(tensor, values=rounded_to(value_type, tensor.values))
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
    return typed


def iterate_stops_below(levels: Sequence[Level]) -> Flags:
    """Return, for each stop of the level below, True if it ends a fiber, False for an empty list.

    Args:
        levels: the levels above, outermost first; none for the outermost level.

    Returns:
        The flags; empty if a level has another number of fibers than the levels above it have positions.
    """
    fibers = np.ones(1, bool)
    for level in levels:
        counts = np.zeros(len(fibers), np.int64)
        if np.count_nonzero(fibers) != level.fibers:
            return np.zeros(0, bool)
        # only the stops that end a fiber of this level have a count of elements
        counts[fibers] = level.counts
        # an empty fiber sends a single stop, below which there is no fiber
        fibers = np.repeat(counts > 0, np.maximum(counts, 1))
    return fibers
