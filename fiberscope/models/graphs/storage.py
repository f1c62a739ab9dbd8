"""Tensors as the levels that graphs scan: segments and coordinates, words of bits, or just a size.

Source: the storage of SAM (ASPLOS 2023), Section 3.1 and Figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fiberscope.errors import InputError
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.tensor import SparseTensor

__all__ = [
    "BitLevel",
    "CompressedLevel",
    "DenseLevel",
    "Level",
    "StoredTensor",
    "fitted",
    "scalar",
    "stops_below",
    "store",
    "words_of",
]

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

WORD = 64  # bits
MOST_DENSE = 2**28  # values of a dense tensor
MOST_WORDS = 2**24  # of a level of bit vectors, each a Python number on its way to the scanner


@dataclass(frozen=True)
class CompressedLevel:
    """Fibers behind one another: where each begins (one more than there are), and all coordinates."""

    segments: Integers
    coordinates: Integers

    @property
    def counts(self) -> Integers:
        """How many children each fiber has."""
        return np.diff(self.segments)

    @property
    def children(self) -> int:
        """How many fibers, or values, are below it."""
        return len(self.coordinates)

    def expanded(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Of all elements below these positions: whose they are, their coordinates and their positions."""
        counts = np.diff(self.segments)[parents]
        owners = np.repeat(np.arange(len(parents)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        positions = np.repeat(self.segments[:-1][parents], counts) + within
        return owners, self.coordinates[positions], positions


@dataclass(frozen=True)
class DenseLevel:
    """Fibers of all coordinates below ``size``; a position is that of its parent times ``size`` and so on."""

    size: int
    fibers: int

    @property
    def counts(self) -> Integers:
        """How many children each fiber has."""
        return np.full(self.fibers, self.size)

    @property
    def children(self) -> int:
        """How many fibers, or values, are below it."""
        return self.size * self.fibers

    def expanded(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """As of ``CompressedLevel``."""
        owners = np.repeat(np.arange(len(parents)), self.size)
        coordinates = np.tile(np.arange(self.size), len(parents))
        return owners, coordinates, np.repeat(parents, self.size) * self.size + coordinates


@dataclass(frozen=True)
class BitLevel:
    """A row of words of 64 bits a fiber, unsigned: bit c of word w stands for coordinate 64 w + c."""

    words: np.ndarray[tuple[int, int], np.dtype[np.uint64]]

    @property
    def counts(self) -> Integers:
        """How many children each fiber has."""
        counts: Integers = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        return counts

    @property
    def children(self) -> int:
        """How many fibers, or values, are below it."""
        return int(self.counts.sum())

    def expanded(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """As of ``CompressedLevel``."""
        _fibers, places = np.nonzero(self.words)
        words = self.words[self.words != 0]
        which, bits = np.nonzero((words[:, None] >> np.arange(WORD, dtype=np.uint64)) & np.uint64(1))
        level = CompressedLevel(_from_zero(self.counts), places[which] * WORD + bits)
        return level.expanded(parents)


Level: TypeAlias = CompressedLevel | DenseLevel | BitLevel


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as its format lays it out.

    Args:
        shape: sizes of its dimensions.
        format: a letter a level, and which dimension that stores.
        levels: outermost first.
        values: one for each position of the last level; one of a scalar.
    """

    shape: tuple[int, ...]
    format: Format
    levels: tuple[Level, ...]
    values: Values

    def level(self, dimension: int) -> Level:
        """The level that stores a dimension."""
        return self.levels[self.format.level_of(dimension)]

    def entries(self) -> SparseTensor:
        """All that it stores, zeros too, by dimension."""
        positions = np.zeros(1, np.int64)
        columns: list[Integers] = []
        for level in self.levels:
            owners, coordinates, positions = level.expanded(positions)
            columns = [column[owners] for column in columns] + [coordinates]
        by_dimension = [columns[self.format.level_of(d)] for d in range(len(self.shape))]
        if not by_dimension:
            return SparseTensor((), (), self.values)
        return SparseTensor.from_coordinates(self.shape, by_dimension, self.values[positions])


def store(tensor: SparseTensor, format: Format) -> StoredTensor:
    """Lay a tensor out.

    Raises:
        InputError: a dense tensor of more values than a machine has room for, or bit vectors of more words.
    """
    shape = tensor.shape
    laid = tensor.transposed(format.order) if shape else tensor
    parents, count = np.zeros(tensor.nonzeros, np.int64), 1
    levels: list[Level] = []
    for letter, dimension, column in zip(format.letters, format.order, laid.coordinates, strict=True):
        level, parents = _level(letter, shape[dimension], count, parents, column)
        levels.append(level)
        count = level.children
    values = np.zeros(count)
    values[parents] = laid.values
    return StoredTensor(shape, format, tuple(levels), values)


def _level(
    letter: str, size: int, fibers: int, parents: Integers, column: Integers
) -> tuple[Level, Integers]:
    """One level, and of each entry its position there."""
    if letter == "d":
        if fibers * size > MOST_DENSE:
            raise InputError(
                f"a dense level of {fibers * size:,} positions; at most {MOST_DENSE:,} are stored"
            )
        return DenseLevel(size, fibers), parents * size + column
    new = np.append(True, (np.diff(parents) != 0) | (np.diff(column) != 0))[: len(column)]
    positions = np.cumsum(new) - 1
    if letter == "b":
        return _words(size, fibers, parents[new], column[new]), positions
    counts = np.bincount(parents[new], minlength=fibers)
    return CompressedLevel(_from_zero(counts), column[new]), positions


def _from_zero(counts: Integers) -> Integers:
    return np.append(0, np.cumsum(counts)).astype(np.int64)


def words_of(size: int) -> int:
    """How many words a fiber of so many coordinates has; at least one."""
    return max(1, -(-size // WORD))


def _words(size: int, fibers: int, parents: Integers, column: Integers) -> BitLevel:
    width = words_of(size)
    if fibers * width > MOST_WORDS:
        raise InputError(
            f"{fibers:,} bit vectors of {size:,} coordinates, {fibers * width:,} words; at most "
            f"{MOST_WORDS:,} are stored: take a compressed level"
        )
    words = np.zeros((fibers, width), np.uint64)
    bits = np.uint64(1) << (column % WORD).astype(np.uint64)
    np.bitwise_or.at(words, (parents, column // WORD), bits)
    return BitLevel(words)


def scalar(value: float) -> StoredTensor:
    """A tensor of no dimension."""
    return StoredTensor((), Format("", ()), (), np.array([value]))


def fitted(shape: Sequence[int], format: Format, levels: Sequence[Level], values: Values) -> StoredTensor:
    """A tensor of levels made elsewhere.

    Raises:
        InputError: they do not fit each other.
    """
    count = 1
    for number, level in enumerate(levels):
        have = _fibers(level)
        if have != count:
            raise InputError(f"level {number} has {have} fibers for {count} positions above")
        count = level.children
    if len(values) != count:
        raise InputError(f"{len(values)} values for {count} positions of the last level")
    return StoredTensor(tuple(shape), format, tuple(levels), values)


def stops_below(levels: Sequence[Level]) -> Flags:
    """Of each stop in the stream of the level below these whether it ends a fiber, or a list without any."""
    fibers = np.ones(1, bool)
    for level in levels:
        counts = np.zeros(len(fibers), np.int64)
        if np.count_nonzero(fibers) != _fibers(level):
            return np.zeros(0, bool)
        counts[fibers] = level.counts
        fibers = np.repeat(counts > 0, np.maximum(counts, 1))
    return fibers


def _fibers(level: Level) -> int:
    if isinstance(level, CompressedLevel):
        return len(level.segments) - 1
    return len(level.words) if isinstance(level, BitLevel) else level.fibers
