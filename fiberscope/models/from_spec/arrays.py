"""Memory layout of the operands: an array for the coordinates, payloads or elements of each bound rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.hw.streams.kept import NO_LINE
from fiberscope.models.graphs.levels.compressed import CompressedLevel, build_segments
from fiberscope.models.graphs.levels.dense import DenseLevel
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.workloads.canonical import Integers


@dataclass(frozen=True)
class Rows:
    """Layout of the entries of an array in rows, and of the rows in memory requests.

    A row is as wide as a line of the store that holds the entries.

    Args:
        entries: number of entries in a row; no entry crosses the end of a row.
        rows: number of rows that a request transfers.
        line_bytes: bytes that a request transfers.
    """

    entries: int
    rows: int
    line_bytes: int

    def count_bytes(self, rows: int) -> int:
        """Return the bytes of the requests that transfer ``rows`` rows."""
        return -(-rows // self.rows) * self.line_bytes


@dataclass(frozen=True)
class Banks:
    """The banks of an array, each a contiguous part: coordinate c of a level lies in bank c mod ``count``.

    Args:
        level: number of the level whose coordinates select the bank, from 0 at the root. The entries below a
            coordinate lie in the same bank.
        count: number of banks.
    """

    level: int
    count: int


@dataclass(frozen=True)
class StoredArray:
    """An array in memory that holds the entries of one rank of an operand.

    Args:
        rows: layout of the entries.
        first: for each bank and fiber, bank by bank, the row in which the fiber begins; then the number of
            rows.
        lines: for each position of the level, the number of the request that transfers its entry; ``NO_LINE``
            if the position has no entry.
        base: byte address of the first row.
    """

    rows: Rows
    first: Integers
    lines: Integers
    base: int = 0

    @property
    def size(self) -> int:
        """Size of the array in bytes."""
        return self.rows.count_bytes(int(self.first[-1]))

    def replace_base(self, base: int) -> StoredArray:
        """Return the same array at this byte address."""
        return replace(self, base=base)


def build_array(
    tensor: StoredTensor,
    number: int,
    *,
    uncompressed: bool,
    rows: Rows,
    piece: int = 0,
    banks: Banks | None = None,
    places: Integers | None = None,
) -> StoredArray:
    """Return the array that holds the entries of a rank.

    Args:
        tensor: the tensor in the form in which the blocks read it.
        number: number of the rank's level, from 0 at the root.
        uncompressed: whether the format has an entry for every coordinate (U).
        rows: layout of the entries.
        piece: number of coordinates of a fiber that is a piece of a partitioned rank; 0 for other ranks.
        banks: banks of the array; each begins with a new request. None for an array without banks.
        places: for each fiber its number in the order of memory; None for the order of the level.
    """
    if banks is not None:
        return _build_banked_array(tensor, number, uncompressed, rows, piece, banks)
    level, size = tensor.levels[number], piece or tensor.shape[number]
    fibers, offsets = _list_fibers_and_coordinates(level, size)
    if uncompressed:
        entries = np.full(level.fibers, size)
        # In a piece of a partitioned rank, coordinates begin at the start of the piece
        offsets = offsets % max(1, size)
    else:
        present = _has_value(tensor, number)
        entries = np.bincount(fibers[present], minlength=level.fibers)
        # The number of an entry in its fiber: the entries before it, less the entries of earlier fibers
        preceding: Integers = np.cumsum(present) - present
        offsets = preceding - (np.cumsum(entries) - entries)[fibers]
    first = _list_first_rows(-(-entries // rows.entries), places)
    lines = (first[fibers] + offsets // rows.entries) // rows.rows
    return StoredArray(rows, first, lines if uncompressed else np.where(present, lines, NO_LINE))


def _list_first_rows(fiber_rows: Integers, places: Integers | None) -> Integers:
    """Return the first row of each fiber, and then the number of rows.

    Args:
        fiber_rows: rows of each fiber.
        places: see ``build_array``.
    """
    if places is None:
        return build_segments(fiber_rows)
    # Add up the rows in the order of memory, then return to the order of the level
    first = build_segments(fiber_rows[np.argsort(places)])
    return np.append(first[places], first[-1])


def number_nodes(tensor: StoredTensor, number: int, order: Sequence[int]) -> Integers:
    """Return for each position of a level its number in the order in which loops visit the positions.

    Args:
        tensor: the tensor in the form in which the blocks read it.
        number: number of the level, from 0 at the root.
        order: the levels down to this one, by the order of the loops, the outermost first.
    """
    columns = []
    for level in order:
        coordinates = _list_fibers_and_coordinates(tensor.levels[level], tensor.shape[level])[1]
        columns.append(coordinates[find_ancestors(tensor, number, level + 1)])
    places = np.empty(tensor.levels[number].children, np.int64)
    # ``lexsort`` sorts by its last key first: the outermost loop comes last
    places[np.lexsort(columns[::-1])] = np.arange(len(places))
    return places


def build_linked_array(places: Integers, rows: Rows) -> StoredArray:
    """Return the array of the links of linked lists, one for each node, in the order of ``places``."""
    # All links form a single fiber
    first = np.array([0, -(-len(places) // rows.entries)])
    return StoredArray(rows, first, places // rows.entries // rows.rows)


def _build_banked_array(
    tensor: StoredTensor, level_number: int, uncompressed: bool, rows: Rows, piece: int, banks: Banks
) -> StoredArray:
    """Return the array of a rank, bank by bank. A fiber with entries in several banks has rows in each."""
    level, size = tensor.levels[level_number], piece or tensor.shape[level_number]
    fibers, coordinates = _list_fibers_and_coordinates(level, size)
    offsets, present = coordinates % max(1, size), _has_value(tensor, level_number)
    # The first coordinate of each fiber: 0, or the start of a piece.
    begins = np.zeros(level.fibers, np.int64)
    begins[fibers] = coordinates - offsets
    entry = fibers * size + offsets if uncompressed else np.cumsum(present) - 1
    if uncompressed:
        owner = np.repeat(np.arange(level.fibers), size)
        inner = np.tile(np.arange(size), level.fibers) + begins[owner]
    else:
        owner, inner = fibers[present], coordinates[present]
    bank = inner
    if banks.level != level_number:
        bank = _list_ancestor_coordinates(tensor, level_number, banks.level)[owner]
    # Group the entries by bank, then by fiber, and number the entries within each group.
    group = bank % banks.count * level.fibers + owner
    entries = np.bincount(group, minlength=banks.count * level.fibers)
    fiber_rows = -(-entries // rows.entries).reshape(banks.count, level.fibers)
    # Fill the last request of each bank, so that the next bank begins with a new request.
    fiber_rows[:, -1:] += -fiber_rows.sum(axis=1, keepdims=True) % rows.rows
    first = build_segments(fiber_rows.ravel())
    order = np.argsort(group, kind="stable")
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - (np.cumsum(entries) - entries)[group[order]]
    lines = (first[group] + number // rows.entries) // rows.rows
    if not len(lines):
        return StoredArray(rows, first, np.full(len(fibers), NO_LINE))
    return StoredArray(
        rows, first, lines[entry] if uncompressed else np.where(present, lines[entry], NO_LINE)
    )


def _list_ancestor_coordinates(tensor: StoredTensor, number: int, outer: int) -> Integers:
    """Return for each fiber of a level the coordinate of the fiber's ancestor in level ``outer``."""
    coordinates = _list_fibers_and_coordinates(tensor.levels[outer], tensor.shape[outer])[1]
    return coordinates[find_ancestors(tensor, number - 1, outer + 1)]


def find_intervals_below(
    tensor: StoredTensor, first_level: int, arrays: Sequence[tuple[int, StoredArray]]
) -> tuple[Integers, Integers]:
    """Return, for each fiber of a compressed level, the lines that hold the subtree of the fiber.

    Args:
        tensor: the tensor in the form in which the blocks read it.
        first_level: number of the level, from 0 at the root.
        arrays: arrays of compressed levels, each with the number of its level.

    Returns:
        The number of the first line and of the last line for each fiber and array, fiber by fiber. The last
        line is less than the first if the array holds nothing of the fiber's subtree.
    """
    ends: dict[int, Integers] = {}
    # For each level, the positions where the subtrees of the fibers begin, and the end.
    bounds = np.arange(tensor.levels[first_level].fibers + 1)
    for number in range(first_level, max(level for level, _array in arrays) + 1):
        ends[number] = bounds
        level = tensor.levels[number]
        assert isinstance(level, CompressedLevel)
        bounds = level.segments[bounds]
    first, last = [], []
    for number, array in arrays:
        rows = array.first[ends[number]]
        first_line, rows_of_line = array.base // array.rows.line_bytes, array.rows.rows
        first.append(first_line + rows[:-1] // rows_of_line)
        # NO_LINE is below every line, so that an interval without rows is empty
        last.append(np.where(rows[1:] > rows[:-1], first_line + (rows[1:] - 1) // rows_of_line, NO_LINE))
    return np.stack(first, axis=1).ravel(), np.stack(last, axis=1).ravel()


def find_ancestors(tensor: StoredTensor, number: int, depth: int) -> Integers:
    """Return for each position of a level the number of its ancestor among the positions of a level above.

    Args:
        tensor: the tensor in the form in which the blocks read it.
        number: number of the level, from 0 at the root.
        depth: number of levels from the root to the level of the ancestor, inclusive; 0 for the root.
    """
    level = tensor.levels[number]
    elements = np.arange(level.children)
    for outer in range(number, depth - 1, -1):
        elements = _list_fibers_and_coordinates(tensor.levels[outer], tensor.shape[outer])[0][elements]
    return elements


def _list_fibers_and_coordinates(level: Level, size: int) -> tuple[Integers, Integers]:
    """Return the fiber and the coordinate of each position."""
    if isinstance(level, CompressedLevel):
        return np.repeat(np.arange(level.fibers), level.counts), level.coordinates
    positions = np.arange(level.fibers * size)
    return positions // size, positions % size


def _has_value(tensor: StoredTensor, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each position of a level whether a value is stored at or below the position."""
    level = tensor.levels[number]
    if isinstance(level, CompressedLevel):
        return np.ones(level.children, np.bool_)
    if number + 1 == len(tensor.levels):
        return np.asarray(tensor.values != 0)
    level = tensor.levels[number + 1]
    if isinstance(level, CompressedLevel):
        return level.counts > 0
    assert isinstance(level, DenseLevel)
    return np.asarray(_has_value(tensor, number + 1).reshape(level.fibers, level.size).any(axis=1))
