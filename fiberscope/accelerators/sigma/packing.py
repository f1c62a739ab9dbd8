"""Packing of the stationary operand into the multipliers: slices of K, folds, lines and chunks.

The nonzeros that remain after the filter are numbered slice by slice, within a slice by row, then by k.
Each nonzero has a position. Position p is multiplier p modulo the number of multipliers of the machine. The
multipliers thus form a ring that is filled round after round, without gaps unless a fold has to begin anew
(packing by rows, or one slice a fold):

- a *fold* is one round of the ring;
- a *line* is the contents of one Flex-DPE, ``dpe.multipliers`` consecutive nonzeros, loaded together;
- a *chunk* is the set of nonzeros that each streamed column visits in one pass.

Which nonzeros form a chunk depends on the packing:

- By nonzeros with a limited input: the nonzeros of one slice, up to the Flex-DPE in which the chunk began.
- By nonzeros with an unlimited input: a whole fold.
- By rows: a fold of as many whole rows as fit, or of a part of a longer row; K is a single slice.
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
from fiberscope.workloads.gemm import SlicedMatrix

Integers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Slice:
    """A slice: a range of coordinates of K, with the elements of both operands in that range.

    Attributes:
        number: number of the slice, from 0.
        is_last: whether it is the last slice.
        width: number of coordinates of K.
        rows, inner, values: row, coordinate of K from the start of the slice, and value of each stationary
            nonzero that remains after the filter; of every element if zeros are kept.
        stationary: the stationary operand within the slice (rows x width), before the filter.
        streamed: the streamed operand within the slice (width x columns).
    """

    number: int
    is_last: bool
    width: int
    rows: Integers
    inner: Integers
    values: npt.NDArray[np.float64]
    stationary: CsrArray
    streamed: CsrArray

    @cached_property
    def dense(self) -> npt.NDArray[Any]:
        """Return the streamed operand within the slice as a dense array."""
        return self.streamed.toarray()

    @cached_property
    def stream_counts(self) -> Integers:
        """Return the number of streamed nonzeros to the left of each column, and the total."""
        counts = np.bincount(self.streamed.indices, minlength=self.streamed.shape[1])
        return np.append(0, np.cumsum(counts))


@dataclass(frozen=True)
class Segment:
    """The nonzeros ``first`` to ``end`` - 1 of one slice."""

    slice: Slice
    first: int
    end: int

    @property
    def rows(self) -> Integers:
        """Return the row of each nonzero."""
        return self.slice.rows[self.first : self.end]

    @property
    def inner(self) -> Integers:
        """Return the coordinate of K of each nonzero, from the start of the slice."""
        return self.slice.inner[self.first : self.end]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Return the value of each nonzero."""
        return self.slice.values[self.first : self.end]

    @cached_property
    def distinct_rows(self) -> Integers:
        """Return the distinct rows of the nonzeros, in ascending order."""
        rows = self.rows
        # Rows ascend, so that a row begins where the number changes; -1 differs from every row.
        return rows[np.flatnonzero(np.diff(rows, prepend=-1))]

    @property
    def is_slice_end(self) -> bool:
        """Return whether this segment has the last nonzero of its slice."""
        return self.end == len(self.slice.rows)

    @property
    def has_split_row(self) -> bool:
        """Return whether the last row of this segment has further nonzeros in the slice."""
        return not self.is_slice_end and bool(self.slice.rows[self.end] == self.slice.rows[self.end - 1])


@dataclass(frozen=True)
class Chunk:
    """Segments of slices past which columns are streamed together.

    Attributes:
        segments: the segments, in the order of the ring.
        position: position on the ring of the first nonzero, counted over all folds.
        multipliers: number of multipliers of a Flex-DPE.
    """

    segments: tuple[Segment, ...]
    position: int
    multipliers: int

    @cached_property
    def length(self) -> int:
        """Return the number of nonzeros."""
        return sum(segment.end - segment.first for segment in self.segments)

    @cached_property
    def word_count(self) -> int:
        """Return the number of distinct words of a column that the multipliers of the chunk need."""
        return sum(len(np.unique(segment.inner)) for segment in self.segments)

    @cached_property
    def lines(self) -> range:
        """Return the numbers of the lines that the chunk occupies, counted over all folds."""
        end = self.position + self.length
        return range(self.position // self.multipliers, -(-end // self.multipliers))

    @cached_property
    def neuron_starts(self) -> npt.NDArray[np.bool_]:
        """Return, for each nonzero, whether it begins a virtual neuron: at a new row, slice or Flex-DPE."""
        starts = np.zeros(self.length, dtype=bool)
        position = 0
        for segment in self.segments:
            starts[position : position + segment.end - segment.first] = np.diff(segment.rows, prepend=-1) != 0
            position += segment.end - segment.first
        # The first of these is the first nonzero of the chunk that begins a Flex-DPE.
        starts[-self.position % self.multipliers :: self.multipliers] = True
        return starts

    @cached_property
    def _line_starts(self) -> Integers:
        """Return the first nonzero of each line, counted within the chunk, and the number of nonzeros."""
        edges = np.asarray(self.lines) * self.multipliers - self.position
        # The first line may begin before the chunk, which then has only its end.
        return np.append(np.maximum(edges, 0), self.length)

    @cached_property
    def multiplier_counts(self) -> list[int]:
        """Return the number of multipliers that the chunk occupies in each of its lines."""
        return [int(number) for number in np.diff(self._line_starts)]

    @cached_property
    def neuron_counts(self) -> list[int]:
        """Return the number of virtual neurons in each line."""
        neurons_up_to_line = np.append(0, np.cumsum(self.neuron_starts))[self._line_starts]
        return [int(number) for number in np.diff(neurons_up_to_line)]

    @cached_property
    def setting_counts(self) -> list[int]:
        """Return the number of distribution-network settings of each line: one per slice in the line."""
        if len(self.segments) == 1:
            return [1] * len(self.lines)
        return [sum(1 for _ in self.split_range(*self.line_bounds(line))) for line in self.lines]

    @cached_property
    def sum_count(self) -> int:
        """Return the number of sums per column: one per distinct row, after sums of different lines merge."""
        if len(self.segments) == 1:
            return len(self.segments[0].distinct_rows)
        return len(np.unique(np.concatenate([segment.distinct_rows for segment in self.segments])))

    def split_range(self, first: int, end: int) -> Iterator[tuple[int, int, Segment]]:
        """Split the nonzeros ``first`` to ``end`` - 1 of the chunk by slice.

        Yield the bounds of each piece within the chunk, and the piece as a segment.
        """
        segment_start = 0
        for segment in self.segments:
            segment_end = segment_start + segment.end - segment.first
            low, high = max(first, segment_start), min(end, segment_end)
            if low < high:
                # Number in the slice minus number in the chunk.
                offset = segment.first - segment_start
                yield low, high, Segment(segment.slice, low + offset, high + offset)
            segment_start = segment_end

    def line_bounds(self, line: int) -> tuple[int, int]:
        """Return the first nonzero of a line and the end of the line, counted within the chunk."""
        index = line - self.lines.start
        return int(self._line_starts[index]), int(self._line_starts[index + 1])


def slice_width(inner: int, parameters: SigmaConfiguration) -> int:
    """Return the number of coordinates of K in a slice: ``inner``, the length of K, if packed by rows.

    The last slice may be narrower.
    """
    return inner if parameters.pack.by == "rows" else parameters.slice.k


def cut_slices(
    stationary: SlicedMatrix, streamed: SlicedMatrix, parameters: SigmaConfiguration
) -> Iterator[Slice]:
    """Yield the slices of K in order, with the stationary nonzeros that remain after the filter.

    Args:
        stationary: the stationary operand (rows x K).
        streamed: the streamed operand (K x columns).
        parameters: configuration, with the width of a slice and the filter.
    """
    inner = stationary.shape[1]
    width = slice_width(inner, parameters)
    for number, first in enumerate(range(0, inner, width)):
        end = min(first + width, inner)
        operands = stationary.slice(first, end), streamed.slice(first, end)
        yield Slice(number, end == inner, end - first, *_entries(*operands, parameters), *operands)


def _entries(
    stationary: CsrArray, streamed: CsrArray, parameters: SigmaConfiguration
) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    """Return row, coordinate of K and value of each stationary element that occupies a multiplier."""
    if parameters.pack.zeros == "keep":
        rows, columns = np.divmod(np.arange(stationary.shape[0] * stationary.shape[1]), stationary.shape[1])
        return rows, columns, stationary.toarray().ravel()
    rows = np.repeat(np.arange(stationary.shape[0]), np.diff(stationary.indptr))
    if not parameters.filtered:
        return rows, stationary.indices, stationary.data
    multiplied = (
        np.diff(streamed.indptr)[stationary.indices] > 0
    )  # hardware: an OR over each row of the streamed bitmap
    return rows[multiplied], stationary.indices[multiplied], stationary.data[multiplied]


def pack_chunks(slices: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Return an iterator over the chunks of the slices, in the order in which they are streamed."""
    if parameters.pack.by == "rows":
        return _pack_whole_rows(slices, parameters)
    return (_pack_folds if parameters.unlimited else _pack_slices)(slices, parameters)


def _pack_whole_rows(slices: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield folds of as many whole rows as fit.

    A row that is longer than a fold fills whole folds first; its rest shares a fold with the next rows.
    """
    fold, number = parameters.fold, 0
    for slice_ in slices:
        ends = np.flatnonzero(np.diff(slice_.rows, append=-1)) + 1
        first = 0
        while first < len(slice_.rows):
            # Number of rows of the slice that end within this fold or before it.
            fitting = int(np.searchsorted(ends, first + fold, side="right"))
            rows_end = int(ends[fitting - 1]) if fitting else 0
            # If no row ends within the fold, its row is longer than the fold and fills it.
            end = rows_end if rows_end > first else first + fold
            yield Chunk((Segment(slice_, first, end),), number * fold, parameters.dpe.multipliers)
            first, number = end, number + 1


def _pack_slices(slices: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield chunks of one slice each, which occupy consecutive multipliers of the ring."""
    fold, multipliers = parameters.fold, parameters.dpe.multipliers
    position = 0
    for slice_ in slices:
        first, slice_end = 0, len(slice_.rows)
        while first < slice_end:
            # The rest of a fold stays empty: no fold has nonzeros of two slices.
            if parameters.pack.slices == "one":
                position = -(-position // fold) * fold
            # A column visits a Flex-DPE once: the chunk ends before the Flex-DPE of its first nonzero.
            end = min(slice_end, first + fold - position % multipliers)
            yield Chunk((Segment(slice_, first, end),), position, multipliers)
            position += end - first
            first = end


def _pack_folds(slices: Iterator[Slice], parameters: SigmaConfiguration) -> Iterator[Chunk]:
    """Yield chunks that are whole folds, with segments of as many slices as needed to fill the fold."""
    fold, multipliers = parameters.fold, parameters.dpe.multipliers
    segments: list[Segment] = []
    number, free = 0, fold  # number of the fold, and its multipliers without a nonzero
    for slice_ in slices:
        first, slice_end = 0, len(slice_.rows)
        while first < slice_end:
            end = min(slice_end, first + free)
            segments.append(Segment(slice_, first, end))
            free -= end - first
            first = end
            if free == 0 or (parameters.pack.slices == "one" and end == slice_end):
                yield Chunk(tuple(segments), number * fold, multipliers)
                segments, free, number = [], fold, number + 1
    if segments:
        yield Chunk(tuple(segments), number * fold, multipliers)
