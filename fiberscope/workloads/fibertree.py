"""Sparse tensors as trees of fibers, any number of ranks deep, kept in a few numpy arrays.

A fiber is a list of elements with increasing coordinates; an element's payload is a fiber of the next rank,
or a value at the last (Sze et al., "Efficient Processing of Deep Neural Networks", chapter 8; TeAAL, MICRO
2023, Section 2.1). All fibers of a rank lie behind one another in two arrays: the coordinates of their
elements, and the place where each fiber begins, as in compressed sparse rows. Every transformation works on
whole arrays and gives a new tree; what does not change is shared. For a hundred million nonzeros, on one
core, what sorts (``from_coo``, ``swizzle``) takes 7 to 12 s, one that follows a leader of three million
fibers 5 s, the others 1 to 3 s, where memory that was freed is used again (docs/workloads.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.sorting import MOST, lexical_order, rows_in

__all__ = ["Boundaries", "FiberTree", "Rank"]

Values: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True)
class Rank:
    """One rank of a tree.

    Args:
        name: unique in its tree.
        shape: coordinates are below it.
        tensor_rank: the rank of the tensor whose coordinates these are; empty for an upper rank made by a
            partition, which says where a range begins and adds nothing, and for a flattened rank.
        parts: for a flattened rank, the ranks whose coordinates make up one of its own, the upper first.
    """

    name: str
    shape: int
    tensor_rank: str = ""
    parts: tuple[Rank, ...] = ()


@dataclass(frozen=True)
class Boundaries:
    """Boundaries of the partitions of a leader's fibers, by which followers are partitioned.

    Args:
        rank: name of the rank that was cut.
        above: names of the ranks above it.
        fibers: one row a fiber: its coordinates in the ranks above.
        segments: partition p of fiber f is ``starts[segments[f] + p]``.
        starts: first coordinate of each partition.
    """

    rank: str
    above: tuple[str, ...]
    fibers: Integers
    segments: Integers
    starts: Integers


@dataclass(frozen=True)
class FiberTree:
    """A sparse tensor as a tree of fibers.

    Args:
        ranks: from the root to the leaves.
        segments: for each rank, where its fibers begin in ``coordinates``; one more than there are fibers.
            Fiber i is the payload of element i of the rank above; the first rank has one fiber.
        coordinates: for each rank, the coordinates of the elements of all its fibers.
        values: one for each element of the last rank.
    """

    ranks: tuple[Rank, ...]
    segments: tuple[Integers, ...]
    coordinates: tuple[Integers, ...]
    values: Values

    @classmethod
    def from_coo(
        cls, shape: Mapping[str, int], coordinates: Sequence[npt.ArrayLike], values: npt.ArrayLike
    ) -> FiberTree:
        """The tree of a tensor given by its nonzeros, in any order.

        Args:
            shape: of each rank by name, in the order of the tree.
            coordinates: for each rank, one coordinate a nonzero.
            values: one a nonzero; a value of zero is kept.

        Raises:
            ValueError: lengths that differ, coordinates that are no integers or outside of the shape, or a
                point given twice.
        """
        ranks = tuple(Rank(name, size, name) for name, size in shape.items())
        arrays, numbers = [np.asarray(column) for column in coordinates], np.asarray(values)
        _check_columns(ranks, arrays, numbers)
        columns = [column.astype(np.int64, copy=False) for column in arrays]
        return _grown(ranks, columns, numbers, len(ranks))

    def to_coo(self) -> tuple[dict[str, Integers], Values]:
        """The coordinates of all nonzeros by rank of the tensor, and their values, in the tree's order."""
        columns: dict[str, Integers] = {}
        for rank, column in zip(self.ranks, self.columns(), strict=True):
            _unravel(rank, column, columns)
        return columns, self.values

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the ranks, from the root."""
        return tuple(rank.name for rank in self.ranks)

    @property
    def nonzeros(self) -> int:
        """Values stored."""
        return len(self.values)

    def level(self, name: str) -> int:
        """The place of a rank, counted from 0 at the root.

        Raises:
            ValueError: there is none of this name.
        """
        if name not in self.names:
            raise ValueError(f"the tree has no rank {name}; {nearest(name, self.names)}")
        return self.names.index(name)

    def swizzle(self, names: Sequence[str]) -> FiberTree:
        """The same tensor with its ranks in another order, given from the root.

        Raises:
            ValueError: if the names are not those of the tree's ranks, each once.
        """
        if sorted(names) != sorted(self.names):
            raise ValueError(f"swizzle needs each of {', '.join(self.names)} once, not {', '.join(names)}")
        if tuple(names) == self.names:
            return self
        levels, columns = [self.level(name) for name in names], self.columns()
        ranks = tuple(self.ranks[level] for level in levels)
        return _grown(ranks, [columns[level] for level in levels], self.values, _unsorted(levels))

    def partition_by_shape(self, name: str, size: int, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank into ranges of ``size`` coordinates.

        The ``upper`` rank holds the first coordinate of each range that is not empty, the ``lower`` one the
        elements with the coordinates that they had.

        Raises:
            ValueError: if the size is below 1, there is no such rank, or a new name is taken.
        """
        level = self.level(name)
        _check_size(size)
        return self._cut(level, self.coordinates[level] // size * size, upper, lower)

    def partition_by_occupancy(self, name: str, size: int, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank into pieces of ``size`` elements, the last perhaps shorter.

        As ``partition_by_shape``; the ``upper`` coordinate is that of the first element of the piece.

        Raises:
            ValueError: as there.
        """
        level = self.level(name)
        return self._cut(level, self._occupancy_starts(level, size), upper, lower)

    def boundaries(self, name: str, size: int) -> Boundaries:
        """Return the boundaries of ``partition_by_occupancy``, to partition other trees alike.

        Raises:
            ValueError: if the size is below 1 or there is no such rank.
        """
        level = self.level(name)
        starts = self._occupancy_starts(level, size)
        first = _is_first(self._fiber_of(level), starts)
        counts = np.bincount(self._fiber_of(level)[first], minlength=len(self.segments[level]) - 1)
        return Boundaries(name, self.names[:level], self._points(level), _pointers(counts), starts[first])

    def partition_by_leader(self, name: str, leader: Boundaries, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank where the leader's fiber at the same place is cut.

        What lies below the leader's first coordinate goes into its first piece; a fiber that the leader does
        not have stays whole, under the coordinate 0. So the pieces of all trees that are cut alike meet.

        Raises:
            ValueError: if the ranks above are not those of the leader, there is no such rank, or a new name
                is taken.
        """
        level = self.level(name)
        if self.names[:level] != leader.above:
            raise ValueError(
                f"{name} is below {', '.join(self.names[:level]) or 'no rank'}, the leader's {leader.rank} "
                f"below {', '.join(leader.above) or 'no rank'}: swizzle the ranks above alike first"
            )
        return self._cut(level, self._leader_starts(level, leader), upper, lower)

    def flatten(self, upper: str, lower: str, name: str) -> FiberTree:
        """Make two neighbouring ranks one; a coordinate is (upper coordinate) x (lower shape) + (lower one).

        Raises:
            ValueError: if the ranks are not neighbours, their shapes are too large, or the name is taken.
        """
        level = self.level(upper)
        if self.level(lower) != level + 1:
            raise ValueError(
                f"flatten needs {lower} right below {upper}; the ranks are {', '.join(self.names)}"
            )
        high, low = self.ranks[level], self.ranks[level + 1]
        if high.shape * low.shape > MOST:
            raise ValueError(f"{upper} x {lower} is {high.shape} x {low.shape}: beyond 64-bit coordinates")
        above = np.repeat(self.coordinates[level], np.diff(self.segments[level + 1]))
        flat = Rank(name, high.shape * low.shape, parts=(high, low))
        return self._replaced(
            level,
            2,
            (flat,),
            (self.segments[level + 1][self.segments[level]],),
            (above * low.shape + self.coordinates[level + 1],),
        )

    def _cut(self, level: int, starts: Integers, upper: str, lower: str) -> FiberTree:
        """Put a rank above this one; ``starts`` has the upper coordinate of each element."""
        fibers = self._fiber_of(level)
        first = np.flatnonzero(_is_first(fibers, starts))
        counts = np.bincount(fibers[first], minlength=len(self.segments[level]) - 1)
        rank = self.ranks[level]
        return self._replaced(
            level,
            1,
            (Rank(upper, rank.shape), replace(rank, name=lower)),
            (_pointers(counts), np.append(first, len(starts))),
            (starts[first], self.coordinates[level]),
        )

    def _replaced(
        self,
        level: int,
        count: int,
        ranks: tuple[Rank, ...],
        segments: tuple[Integers, ...],
        coordinates: tuple[Integers, ...],
    ) -> FiberTree:
        """The tree with ``count`` ranks from ``level`` on replaced by others."""
        end = level + count
        changed = (*self.ranks[:level], *ranks, *self.ranks[end:])
        _check_names([rank.name for rank in changed])
        return FiberTree(
            changed,
            (*self.segments[:level], *segments, *self.segments[end:]),
            (*self.coordinates[:level], *coordinates, *self.coordinates[end:]),
            self.values,
        )

    def _fiber_of(self, level: int) -> Integers:
        """Return the number of the fiber of each element of a rank."""
        lengths = np.diff(self.segments[level])
        return np.repeat(np.arange(len(lengths)), lengths)

    def columns(self) -> list[Integers]:
        """Return the coordinate of every nonzero, by rank."""
        columns: list[Integers] = []
        below = np.arange(self.nonzeros + 1)  # first nonzero of each element
        for level in reversed(range(len(self.ranks))):
            columns.append(np.repeat(self.coordinates[level], np.diff(below)))
            below = below[self.segments[level]]
        return columns[::-1]

    def _points(self, level: int) -> Integers:
        """Return the coordinates of each fiber in the ranks above, a row each."""
        fibers = len(self.segments[level]) - 1
        points = np.zeros((fibers, level), dtype=np.int64)
        below = np.arange(fibers + 1)
        for above in reversed(range(level)):
            points[:, above] = np.repeat(self.coordinates[above], np.diff(below))
            below = below[self.segments[above]]
        return points

    def _occupancy_starts(self, level: int, size: int) -> Integers:
        """Return the coordinate of the first element of each element's piece."""
        _check_size(size)
        begins = np.repeat(self.segments[level][:-1], np.diff(self.segments[level]))
        place = np.arange(len(begins)) - begins
        return self.coordinates[level][begins + place // size * size]

    def _leader_starts(self, level: int, leader: Boundaries) -> Integers:
        """Return the first coordinate of the leader's piece that contains each element."""
        coordinates, lengths = self.coordinates[level], np.diff(self.segments[level])
        starts = np.zeros(len(coordinates), np.int64)
        counts = np.diff(leader.segments)
        places = rows_in(self._points(level), leader.fibers)
        places[~np.append(counts > 0, False)[places]] = -1  # missing in the leader: -1, the last place
        theirs = np.repeat(places, lengths)
        led = np.flatnonzero(theirs >= 0)
        theirs, cuts, ours = theirs[led], leader.starts, coordinates[led]
        wide = max(self.ranks[level].shape, int(cuts.max(initial=0)) + 1)
        if wide * len(counts) > MOST:  # ranks among all cuts: smaller numbers in the same order
            distinct = np.unique(cuts)
            wide = len(distinct) + 1
            cuts, ours = (np.searchsorted(distinct, numbers, side="right") for numbers in (cuts, ours))
        keys = np.repeat(np.arange(len(counts)), counts) * wide + cuts
        pieces = np.searchsorted(keys, theirs * wide + ours, side="right") - 1
        starts[led] = leader.starts[np.maximum(pieces, leader.segments[theirs])]
        return starts


def _check_columns(ranks: Sequence[Rank], columns: Sequence[npt.NDArray[Any]], values: Values) -> None:
    _check_names([rank.name for rank in ranks])
    if not ranks:
        raise ValueError("a tree needs at least one rank")
    if len(columns) != len(ranks):
        raise ValueError(f"there are {len(ranks)} ranks, but coordinates of {len(columns)}")
    for rank, column in zip(ranks, columns, strict=True):
        if column.shape != values.shape or values.ndim != 1:
            raise ValueError(f"{rank.name} has {column.shape} coordinates for {values.shape} values")
        if len(column) and column.dtype.kind not in "iu":
            raise ValueError(f"{rank.name} has coordinates of type {column.dtype}; they should be integers")
        if len(column) and (column.min() < 0 or column.max() >= rank.shape):
            outside = int(column.min()) if column.min() < 0 else int(column.max())
            raise ValueError(f"{rank.name} has the coordinate {outside}; its shape is {rank.shape}")


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} ranks would be named {name}")


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"a partition's size should be at least 1, not {size}")


def _grown(ranks: tuple[Rank, ...], columns: Sequence[Integers], values: Values, unsorted: int) -> FiberTree:
    """The tree with these ranks.

    Args:
        ranks: from the root to the leaves.
        columns: for each rank the coordinate of every nonzero.
        values: the values of the nonzeros.
        unsorted: nonzeros whose coordinates in so many ranks from the root are equal are in order.
    """
    order = lexical_order(columns[:unsorted], [rank.shape for rank in ranks[:unsorted]])
    if order is not None:
        columns, values = [column.take(order) for column in columns], values.take(order)
    segments: list[Integers] = []
    coordinates: list[Integers] = []
    first = np.arange(len(values)) == 0  # whether a nonzero is the first of its element
    fibers = np.zeros(1, dtype=np.int64)  # first nonzero of each fiber
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
        elements = np.flatnonzero(first)
        segments.append(np.append(_places(first, elements, fibers), len(elements)))
        coordinates.append(column[elements])
        fibers = elements
    if len(fibers) < len(values):
        raise ValueError(f"{len(values) - len(fibers)} points are given more than once")
    return FiberTree(ranks, tuple(segments), tuple(coordinates), values)


def _unsorted(levels: Sequence[int]) -> int:
    """Ranks from the root by which a swizzle sorts; those below follow one another as they did before."""
    count = len(levels) - 1
    while count > 0 and levels[count - 1] < levels[count]:
        count -= 1
    return count


def _places(first: npt.NDArray[np.bool_], elements: Integers, fibers: Integers) -> Integers:
    """The number of the element with which each fiber begins; both are given by their first nonzeros."""
    if len(elements) in (0, len(first)):
        return fibers
    places: Integers = np.cumsum(first)[fibers] - 1
    return places


def _is_first(fibers: Integers, coordinates: Integers) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements whose fiber or coordinate differs from that of the element before."""
    first = np.ones(len(fibers), dtype=bool)
    first[1:] = (fibers[1:] != fibers[:-1]) | (coordinates[1:] != coordinates[:-1])
    return first


def _pointers(counts: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts)])


def _unravel(rank: Rank, column: Integers, columns: dict[str, Integers]) -> None:
    """Add the coordinates of the tensor's ranks that a rank of the tree holds."""
    if rank.parts:
        high, low = rank.parts
        _unravel(high, column // low.shape, columns)
        _unravel(low, column % low.shape, columns)
    elif rank.tensor_rank:
        columns[rank.tensor_rank] = column
