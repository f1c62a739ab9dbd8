"""Packing of the stationary operand into the multipliers: slices of K, folds, lines and chunks.

The nonzeros that remain after the filter are numbered slice by slice, within a slice by row, then by k.
Nonzero p occupies multiplier p modulo the number of multipliers of the machine. The multipliers thus form a
ring that is filled round after round:

- a *fold* is one round of the ring;
- a *line* is the contents of one Flex-DPE, ``dpe.multipliers`` consecutive nonzeros, loaded together;
- a *chunk* is the set of nonzeros that each streamed column visits in one pass.

Which nonzeros form a chunk depends on the packing:

- By nonzeros with a limited input: the nonzeros of one slice, up to the Flex-DPE in which the chunk began.
- By nonzeros with an unlimited input: a whole fold.
- By rows: a fold of as many whole rows as fit; K is a single slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.gemm import Sliced

Integers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Slice:
    """A slice: a range of coordinates of K, with the elements of both operands in that range.

    Attributes:
        number: number of the slice, from 0.
        last: whether it is the last slice.
        width: number of coordinates of K.
        rows, inner, values: row, coordinate of K from the start of the slice, and value of each stationary
            nonzero that remains after the filter; of every element if zeros are kept.
        held: all of the slice's part of the stationary operand (rows x width).
        streamed: the slice's part of the streamed operand (width x columns).
    """

    number: int
    last: bool
    width: int
    rows: Integers
    inner: Integers
    values: npt.NDArray[np.float64]
    held: CsrArray
    streamed: CsrArray

    @cached_property
    def dense(self) -> npt.NDArray[Any]:
        """Return the slice's part of the streamed operand as a dense array."""
        return self.streamed.toarray()

    @cached_property
    def stream_counts(self) -> Integers:
        """Return the number of streamed nonzeros to the left of each column, and the total."""
        counts = np.bincount(self.streamed.indices, minlength=self.streamed.shape[1])
        return np.append(0, np.cumsum(counts))


@dataclass(frozen=True)
class Part:
    """The nonzeros ``first`` to ``last`` - 1 of one slice."""

    slice: Slice
    first: int
    last: int

    @property
    def rows(self) -> Integers:
        """Return the row of each nonzero."""
        return self.slice.rows[self.first : self.last]

    @property
    def inner(self) -> Integers:
        """Return the coordinate of K of each nonzero, from the start of the slice."""
        return self.slice.inner[self.first : self.last]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Return the value of each nonzero."""
        return self.slice.values[self.first : self.last]

    @cached_property
    def distinct_rows(self) -> Integers:
        """Return the distinct rows of the nonzeros, in ascending order."""
        rows = self.rows
        return rows[np.flatnonzero(np.diff(rows, prepend=-1))]

    @property
    def ends_slice(self) -> bool:
        """Return whether this part has the last nonzero of its slice."""
        return self.last == len(self.slice.rows)

    @property
    def row_goes_on(self) -> bool:
        """Return whether the last row of this part has further nonzeros in the slice."""
        return not self.ends_slice and bool(self.slice.rows[self.last] == self.slice.rows[self.last - 1])


@dataclass(frozen=True)
class Chunk:
    """Parts of slices past which columns are streamed together.

    Attributes:
        parts: the parts, in the order of the ring.
        position: position on the ring of the first nonzero, counted over all folds.
        multipliers: number of multipliers of a Flex-DPE.
    """

    parts: tuple[Part, ...]
    position: int
    multipliers: int

    @cached_property
    def length(self) -> int:
        """Return the number of nonzeros."""
        return sum(part.last - part.first for part in self.parts)

    @cached_property
    def words(self) -> int:
        """Return the number of distinct words of a column that the multipliers of the chunk need."""
        return sum(len(np.unique(part.inner)) for part in self.parts)

    @cached_property
    def lines(self) -> range:
        """Return the numbers of the lines that the chunk occupies, counted over all folds."""
        end = self.position + self.length
        return range(self.position // self.multipliers, -(-end // self.multipliers))

    @cached_property
    def neuron_starts(self) -> npt.NDArray[np.bool_]:
        """Return, for each nonzero, whether it begins a virtual neuron: at a new row, slice or Flex-DPE."""
        starts = np.zeros(self.length, dtype=bool)
        place = 0
        for part in self.parts:
            starts[place : place + part.last - part.first] = np.diff(part.rows, prepend=-1) != 0
            place += part.last - part.first
        starts[-self.position % self.multipliers :: self.multipliers] = True
        return starts

    @cached_property
    def _bounds(self) -> Integers:
        """Return the first nonzero of each line, counted within the chunk, and the number of nonzeros."""
        edges = np.asarray(self.lines) * self.multipliers - self.position
        return np.append(np.maximum(edges, 0), self.length)

    @cached_property
    def occupied(self) -> list[int]:
        """Return the number of multipliers that the chunk occupies in each of its lines."""
        return [int(number) for number in np.diff(self._bounds)]

    @cached_property
    def neurons(self) -> list[int]:
        """Return the number of virtual neurons in each line."""
        before = np.append(0, np.cumsum(self.neuron_starts))[self._bounds]
        return [int(number) for number in np.diff(before)]

    @cached_property
    def settings(self) -> list[int]:
        """Return the number of distribution-network settings of each line: one per slice in the line."""
        if len(self.parts) == 1:
            return [1] * len(self.lines)
        return [sum(1 for _ in self.segments(*self.bounds(line))) for line in self.lines]

    @cached_property
    def sums(self) -> int:
        """Return the number of sums per column: one per distinct row, after sums of different lines merge."""
        if len(self.parts) == 1:
            return len(self.parts[0].distinct_rows)
        return len(np.unique(np.concatenate([part.distinct_rows for part in self.parts])))

    def segments(self, first: int, last: int) -> Iterator[tuple[int, int, Part]]:
        """Split the nonzeros ``first`` to ``last`` - 1 by slice; yield begin, end and part of each piece."""
        begin = 0
        for part in self.parts:
            end = begin + part.last - part.first
            low, high = max(first, begin), min(last, end)
            if low < high:
                yield low, high, Part(part.slice, part.first + low - begin, part.first + high - begin)
            begin = end

    def bounds(self, line: int) -> tuple[int, int]:
        """Return the first nonzero of a line and the first one after the line, counted within the chunk."""
        place = line - self.lines.start
        return int(self._bounds[place]), int(self._bounds[place + 1])


def slice_width(inner: int, parameters: SigmaConfiguration) -> int:
    """Return the number of coordinates of K in a slice: ``inner``, the length of K, if packed by rows.

    The last slice may be narrower.
    """
    return inner if parameters.pack.by == "rows" else parameters.slice.k


def slices(stationary: Sliced, streamed: Sliced, parameters: SigmaConfiguration) -> Iterator[Slice]:
    """Yield the slices of K in order, with the stationary nonzeros that remain after the filter.

    Args:
        stationary: the stationary operand (rows x K).
        streamed: the streamed operand (K x columns).
        parameters: configuration, with the width of a slice and the filter.
    """
    inner = stationary.shape[1]
    width = slice_width(inner, parameters)
    for number, first in enumerate(range(0, inner, width)):
        last = min(first + width, inner)
        held, passing = stationary.slice(first, last), streamed.slice(first, last)
        yield Slice(number, last == inner, last - first, *_entries(held, passing, parameters), held, passing)


def _entries(
    held: CsrArray, passing: CsrArray, parameters: SigmaConfiguration
) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    """Return row, coordinate of K and value of each stationary element that occupies a multiplier."""
    if parameters.pack.zeros == "keep":
        rows, columns = np.divmod(np.arange(held.shape[0] * held.shape[1]), held.shape[1])
        return rows, columns, held.toarray().ravel()
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    if not parameters.filtered:
        return rows, held.indices, held.data
    kept = np.diff(passing.indptr)[held.indices] > 0  # hardware: an OR over each row of the streamed bitmap
    return rows[kept], held.indices[kept], held.data[kept]


def chunks(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Return an iterator over the chunks of the slices, in the order in which they are streamed."""
    if parameters.pack.by == "rows":
        return _whole_rows(cut, parameters)
    return (_folds if parameters.unlimited else _rolling)(cut, parameters)


def _whole_rows(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield folds of as many whole rows as fit.

    A row that is longer than a fold fills whole folds first; its rest shares a fold with the next rows.
    """
    fold, number = parameters.fold, 0
    for slice_ in cut:
        ends = np.flatnonzero(np.diff(slice_.rows, append=-1)) + 1
        first = 0
        while first < len(slice_.rows):
            fitting = int(np.searchsorted(ends, first + fold, side="right"))
            whole = int(ends[fitting - 1]) if fitting else 0
            last = whole if whole > first else first + fold
            yield Chunk((Part(slice_, first, last),), number * fold, parameters.dpe.multipliers)
            first, number = last, number + 1


def _rolling(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield chunks of one slice each, which occupy consecutive multipliers of the ring."""
    fold, multipliers = parameters.fold, parameters.dpe.multipliers
    position = 0
    for slice_ in cut:
        first, end = 0, len(slice_.rows)
        while first < end:
            if parameters.pack.slices == "one":
                position = -(-position // fold) * fold
            last = min(end, first + fold - position % multipliers)
            yield Chunk((Part(slice_, first, last),), position, multipliers)
            position += last - first
            first = last


def _folds(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield chunks that are whole folds, with parts of as many slices as needed to fill the fold."""
    fold, multipliers = parameters.fold, parameters.dpe.multipliers
    parts: list[Part] = []
    number = room = 0
    for slice_ in cut:
        first, end = 0, len(slice_.rows)
        while first < end:
            room = room or fold
            last = min(end, first + room)
            parts.append(Part(slice_, first, last))
            room -= last - first
            first = last
            if room == 0 or (parameters.pack.slices == "one" and last == end):
                yield Chunk(tuple(parts), number * fold, multipliers)
                parts, room, number = [], 0, number + 1
    if parts:
        yield Chunk(tuple(parts), number * fold, multipliers)
