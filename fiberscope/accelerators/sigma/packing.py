"""Packing of the stationary operand: slices of K, cut into chunks that are in the multipliers at once.

The nonzeros that are left of the stationary operand are numbered slice by slice, in a slice by row, then k.
Nonzero p lies in multiplier p modulo all multipliers: the machine is a ring that is filled round after round,
and each round is a *fold*. ``dpe.multipliers`` neighbours are a *line*, which is loaded into one Flex-DPE in
one go. A *chunk* is what is streamed together: nonzeros of one slice, no more than come round to the Flex-DPE
in which they began; where the input is unlimited, all of a fold. Packed by rows, K is one slice, and a
chunk is a fold of as many whole rows as fit.
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

__all__ = ["Chunk", "Part", "Slice", "chunks", "slices"]

Integers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Slice:
    """Range of coordinates of K, with the elements of both operands there.

    ``rows``, ``inner`` and ``values`` are of the stationary nonzeros that are left by the filter, or of all
    elements if zeros are kept; ``inner`` counts from the slice's first coordinate. ``held`` is all of the
    stationary operand's part (rows x width), ``streamed`` the other operand's (width x columns).
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
        """The streamed operand's part with its zeros."""
        return self.streamed.toarray()

    @cached_property
    def stream_counts(self) -> Integers:
        """Nonzeros of the streamed operand's part, by column, added up from the left."""
        counts = np.bincount(self.streamed.indices, minlength=self.streamed.shape[1])
        return np.append(0, np.cumsum(counts))


@dataclass(frozen=True)
class Part:
    """Neighbouring nonzeros ``first`` to ``last`` - 1 of one slice."""

    slice: Slice
    first: int
    last: int

    @property
    def rows(self) -> Integers:
        """Their rows."""
        return self.slice.rows[self.first : self.last]

    @property
    def inner(self) -> Integers:
        """Their coordinates in the slice."""
        return self.slice.inner[self.first : self.last]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Their values."""
        return self.slice.values[self.first : self.last]

    @cached_property
    def distinct_rows(self) -> Integers:
        """Their rows, each once, in order."""
        rows = self.rows
        return rows[np.flatnonzero(np.diff(rows, prepend=-1))]

    @property
    def ends_slice(self) -> bool:
        """Return whether no more of the slice comes behind it."""
        return self.last == len(self.slice.rows)

    @property
    def row_goes_on(self) -> bool:
        """Return whether its last row has more nonzeros behind it."""
        return not self.ends_slice and bool(self.slice.rows[self.last] == self.slice.rows[self.last - 1])


@dataclass(frozen=True)
class Chunk:
    """Parts of slices that are streamed together, in the multipliers from ``position`` of the ring on."""

    parts: tuple[Part, ...]
    position: int
    multipliers: int

    @cached_property
    def length(self) -> int:
        """Return the number of nonzeros."""
        return sum(part.last - part.first for part in self.parts)

    @cached_property
    def words(self) -> int:
        """Coordinates of K that its multipliers need of a column."""
        return sum(len(np.unique(part.inner)) for part in self.parts)

    @cached_property
    def lines(self) -> range:
        """The lines that it lies in, by number since the beginning."""
        end = self.position + self.length
        return range(self.position // self.multipliers, -(-end // self.multipliers))

    @cached_property
    def neuron_starts(self) -> npt.NDArray[np.bool_]:
        """Return where virtual neurons begin: at a row, a slice, or a Flex-DPE."""
        starts = np.zeros(self.length, dtype=bool)
        place = 0
        for part in self.parts:
            starts[place : place + part.last - part.first] = np.diff(part.rows, prepend=-1) != 0
            place += part.last - part.first
        starts[-self.position % self.multipliers :: self.multipliers] = True
        return starts

    @cached_property
    def _bounds(self) -> Integers:
        """Return where the chunk's lines begin within it, and its end."""
        edges = np.asarray(self.lines) * self.multipliers - self.position
        return np.append(np.maximum(edges, 0), self.length)

    @cached_property
    def occupied(self) -> list[int]:
        """Multipliers that it takes of each line."""
        return [int(number) for number in np.diff(self._bounds)]

    @cached_property
    def neurons(self) -> list[int]:
        """Virtual neurons of each line."""
        before = np.append(0, np.cumsum(self.neuron_starts))[self._bounds]
        return [int(number) for number in np.diff(before)]

    @cached_property
    def settings(self) -> list[int]:
        """Settings of the distribution network that each line needs, one for each slice in it."""
        if len(self.parts) == 1:
            return [1] * len(self.lines)
        return [sum(1 for _ in self.segments(*self.bounds(line))) for line in self.lines]

    @cached_property
    def sums(self) -> int:
        """Sums that a column gives: its rows, once those that several Flex-DPEs share are added up."""
        if len(self.parts) == 1:
            return len(self.parts[0].distinct_rows)
        return len(np.unique(np.concatenate([part.distinct_rows for part in self.parts])))

    def segments(self, first: int, last: int) -> Iterator[tuple[int, int, Part]]:
        """Split its nonzeros ``first`` to ``last`` - 1 by slice: begin and end, and that part."""
        begin = 0
        for part in self.parts:
            end = begin + part.last - part.first
            low, high = max(first, begin), min(last, end)
            if low < high:
                yield low, high, Part(part.slice, part.first + low - begin, part.first + high - begin)
            begin = end

    def bounds(self, line: int) -> tuple[int, int]:
        """First and last (exclusive) of its nonzeros in a line."""
        place = line - self.lines.start
        return int(self._bounds[place]), int(self._bounds[place + 1])


def slice_width(inner: int, parameters: SigmaConfiguration) -> int:
    """Coordinates of K that are a slice, the last of which may be narrower: all of them, packed by rows."""
    return inner if parameters.pack.by == "rows" else parameters.slice.k


def slices(stationary: Sliced, streamed: Sliced, parameters: SigmaConfiguration) -> Iterator[Slice]:
    """The slices of K, in order, with what the filter leaves.

    Args:
        stationary: rows x K.
        streamed: K x columns.
        parameters: how K is cut, and whether zeros are dropped.
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
    """Row, coordinate and value of what occupies multipliers."""
    if parameters.pack.zeros == "keep":
        rows, columns = np.divmod(np.arange(held.shape[0] * held.shape[1]), held.shape[1])
        return rows, columns, held.toarray().ravel()
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    if not parameters.filtered:
        return rows, held.indices, held.data
    kept = np.diff(passing.indptr)[held.indices] > 0  # the OR of each row of the streamed bitmap
    return rows[kept], held.indices[kept], held.data[kept]


def chunks(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """The chunks of the slices, in the order in which they are streamed."""
    if parameters.pack.by == "rows":
        return _whole_rows(cut, parameters)
    return (_folds if parameters.unlimited else _rolling)(cut, parameters)


def _whole_rows(cut: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Folds of as many whole rows as fit; a row that is longer than a fold fills folds of its own first."""
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
    """Chunks of one slice each, one behind the other round the ring."""
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
    """Chunks that are whole folds, of as many slices as fill them."""
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
