"""Layout in memory of what a specification binds: an array for the coordinates or payloads of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.hw.streams.kept import NO_LINE
from fiberscope.models.graphs.levels.compressed import CompressedLevel, from_zero
from fiberscope.models.graphs.levels.dense import DenseLevel
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.workloads.canonical import Integers

__all__ = ["Banks", "Rows", "StoredArray", "ancestors", "intervals_below", "stored_array"]


@dataclass(frozen=True)
class Rows:
    """Layout of entries: in rows, each as wide as a line of the store that holds them, cut into requests.

    Args:
        entries: the entries of a row; none lies in two.
        rows: the rows of a request.
        line_bytes: bytes of a request.
    """

    entries: int
    rows: int
    line_bytes: int

    def bytes_of(self, rows: int) -> int:
        """Return the bytes of the requests that hold so many rows."""
        return -(-rows // self.rows) * self.line_bytes


@dataclass(frozen=True)
class Banks:
    """Banks of an array, each a part of its own: coordinate c of a level lies in bank c mod ``count``.

    Args:
        level: the level of these coordinates; what is below them lies in their bank.
        count: the banks.
    """

    level: int
    count: int


@dataclass(frozen=True)
class StoredArray:
    """An array of an operand.

    Args:
        rows: how its entries lie.
        first: of each fiber, bank by bank, the row in which it begins, and the row behind the last.
        lines: of each position of the level the request that brings its entry, ``NO_LINE`` if it has none.
        base: byte address of its first row.
    """

    rows: Rows
    first: Integers
    lines: Integers
    base: int = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self.rows.bytes_of(int(self.first[-1]))

    def at(self, base: int) -> StoredArray:
        """The same at a place in memory."""
        return replace(self, base=base)


def stored_array(
    tensor: StoredTensor,
    place: int,
    *,
    whole: bool,
    rows: Rows,
    piece: int = 0,
    banks: Banks | None = None,
) -> StoredArray:
    """The array of a rank.

    Args:
        tensor: as the blocks read it.
        place: the place of the rank among its levels.
        whole: whether the format has an entry for every coordinate (U), not only for those that are present.
        rows: how entries lie.
        piece: coordinates of a fiber that is a piece of such; 0 of other fibers.
        banks: in which the entries lie, if there are several; each begins a request.
    """
    if banks is not None:
        return _banked(tensor, place, whole, rows, piece, banks)
    level, size = tensor.levels[place], piece or tensor.shape[place]
    fibers, within = _places(level, size)
    if whole:
        entries = np.full(level.fibers, size)
        within = within % max(1, size)
    else:
        present = _present(tensor, place)
        entries = np.bincount(fibers[present], minlength=level.fibers)
        before: Integers = np.cumsum(present) - present
        within = before - (np.cumsum(entries) - entries)[fibers]
    first = from_zero(-(-entries // rows.entries))
    lines = (first[fibers] + within // rows.entries) // rows.rows
    return StoredArray(rows, first, lines if whole else np.where(present, lines, NO_LINE))


def _banked(
    tensor: StoredTensor, place: int, whole: bool, rows: Rows, piece: int, banks: Banks
) -> StoredArray:
    """The array of a rank bank by bank; a fiber whose entries lie in several banks has a row in each."""
    level, size = tensor.levels[place], piece or tensor.shape[place]
    fibers, coordinates = _places(level, size)
    within, present = coordinates % max(1, size), _present(tensor, place)
    begins = np.zeros(level.fibers, np.int64)
    begins[fibers] = coordinates - within
    entry = fibers * size + within if whole else np.cumsum(present) - 1
    if whole:
        owner = np.repeat(np.arange(level.fibers), size)
        inner = np.tile(np.arange(size), level.fibers) + begins[owner]
    else:
        owner, inner = fibers[present], coordinates[present]
    bank = inner if banks.level == place else _coordinates_above(tensor, place, banks.level)[owner]
    group = bank % banks.count * level.fibers + owner
    entries = np.bincount(group, minlength=banks.count * level.fibers)
    of_fiber = -(-entries // rows.entries).reshape(banks.count, level.fibers)
    of_fiber[:, -1:] += -of_fiber.sum(axis=1, keepdims=True) % rows.rows
    first = from_zero(of_fiber.ravel())
    order = np.argsort(group, kind="stable")
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - (np.cumsum(entries) - entries)[group[order]]
    lines = (first[group] + number // rows.entries) // rows.rows
    if not len(lines):
        return StoredArray(rows, first, np.full(len(fibers), NO_LINE))
    return StoredArray(rows, first, lines[entry] if whole else np.where(present, lines[entry], NO_LINE))


def _coordinates_above(tensor: StoredTensor, place: int, above: int) -> Integers:
    """Return for each fiber of a level the coordinate that it has in a level above."""
    coordinates = _places(tensor.levels[above], tensor.shape[above])[1]
    return coordinates[ancestors(tensor, place - 1, above + 1)]


def intervals_below(
    tensor: StoredTensor, place: int, arrays: Sequence[tuple[int, StoredArray]]
) -> tuple[Integers, Integers]:
    """Return the lines of all below each fiber of a compressed level, in some arrays of compressed levels.

    Args:
        tensor: as the blocks read it.
        place: the place of the level.
        arrays: with the place of the level of each.

    Returns:
        The first and the last line for each fiber and array, fiber by fiber; the last is before the first
        where an array has nothing.
    """
    ends: dict[int, Integers] = {}
    bounds = np.arange(tensor.levels[place].fibers + 1)  # of each level where the part of a fiber begins
    for number in range(place, max(level for level, _array in arrays) + 1):
        ends[number] = bounds
        level = tensor.levels[number]
        assert isinstance(level, CompressedLevel)
        bounds = level.segments[bounds]
    first, last = [], []
    for number, array in arrays:
        rows = array.first[ends[number]]
        before, rows_of_line = array.base // array.rows.line_bytes, array.rows.rows
        first.append(before + rows[:-1] // rows_of_line)
        last.append(np.where(rows[1:] > rows[:-1], before + (rows[1:] - 1) // rows_of_line, NO_LINE))
    return np.stack(first, axis=1).ravel(), np.stack(last, axis=1).ravel()


def ancestors(tensor: StoredTensor, place: int, depth: int) -> Integers:
    """Return for each position of a level the element of the levels above it that it lies in.

    Args:
        tensor: as the blocks read it.
        place: the place of the level.
        depth: number of levels from the root on; the element is one of the last of these. 0: the root.
    """
    below = tensor.levels[place]
    elements = np.arange(below.children)
    for above in range(place, depth - 1, -1):
        elements = _places(tensor.levels[above], tensor.shape[above])[0][elements]
    return elements


def _places(level: Level, size: int) -> tuple[Integers, Integers]:
    """Return the fiber and the coordinate of each position."""
    if isinstance(level, CompressedLevel):
        return np.repeat(np.arange(level.fibers), level.counts), level.coordinates
    positions = np.arange(level.fibers * size)
    return positions // size, positions % size


def _present(tensor: StoredTensor, place: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether there is anything at each position."""
    level = tensor.levels[place]
    if isinstance(level, CompressedLevel):
        return np.ones(level.children, np.bool_)
    if place + 1 == len(tensor.levels):
        return np.asarray(tensor.values != 0)
    below = tensor.levels[place + 1]
    if isinstance(below, CompressedLevel):
        return below.counts > 0
    assert isinstance(below, DenseLevel)
    return np.asarray(_present(tensor, place + 1).reshape(below.fibers, below.size).any(axis=1))
