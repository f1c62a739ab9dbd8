"""Sparse tensors as trees of fibers, with any number of ranks, stored in a few numpy arrays.

A fiber is a list of elements with increasing coordinates. The payload of an element is a fiber of the next
rank, or a value at the last rank (Sze et al., "Efficient Processing of Deep Neural Networks", chapter 8;
TeAAL, MICRO 2023, Section 2.1). All fibers of a rank are consecutive in two arrays, as in compressed sparse
rows: the coordinates of their elements, and the first element of each fiber. Every transformation works on
whole arrays and returns a new tree, which shares unchanged arrays. Times for a hundred million nonzeros on
one core, with reused memory: sorting transformations (``from_coo``, ``swizzle``) 7 to 12 s,
``partition_by_leader`` with three million fibers 5 s, the others 1 to 3 s (docs/workloads.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.sorting import INTEGER_LIMIT, lexical_order, rows_in

Values: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True)
class Rank:
    """One rank of a tree.

    Args:
        name: unique in its tree.
        shape: upper bound of the coordinates, exclusive.
        tensor_rank: the tensor's rank with these coordinates. Empty for a flattened rank, and for the upper
            rank of a partition, whose coordinates only mark the starts of ranges.
        parts: for a flattened rank, the two original ranks, the upper rank first.
    """

    name: str
    shape: int
    tensor_rank: str = ""
    parts: tuple[Rank, ...] = ()


@dataclass(frozen=True)
class Boundaries:
    """Boundaries of the partitions of a leader's fibers, by which followers are partitioned.

    Args:
        rank: name of the partitioned rank.
        above: names of the ranks above it.
        fibers: one row for each fiber: its coordinates in the ranks above.
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
        segments: for each rank, the index in ``coordinates`` of the first element of each fiber, and the end.
            Fiber i is the payload of element i of the rank above. The first rank has one fiber.
        coordinates: for each rank, the coordinates of the elements of all its fibers.
        values: one value for each element of the last rank.
    """

    ranks: tuple[Rank, ...]
    segments: tuple[Integers, ...]
    coordinates: tuple[Integers, ...]
    values: Values

    @classmethod
    def from_coo(
        cls, shape: Mapping[str, int], coordinates: Sequence[npt.ArrayLike], values: npt.ArrayLike
    ) -> FiberTree:
        """Build the tree of a tensor from its nonzeros, in any order.

        Args:
            shape: size of each rank by name, in the order of the tree.
            coordinates: for each rank, the coordinate of each nonzero.
            values: value of each nonzero; zeros are kept.

        Raises:
            ValueError: wrong lengths, coordinates of another type or out of range, or a repeated point.
        """
        ranks = tuple(Rank(name, size, name) for name, size in shape.items())
        arrays, numbers = [np.asarray(column) for column in coordinates], np.asarray(values)
        _check_columns(ranks, arrays, numbers)
        columns = [column.astype(np.int64, copy=False) for column in arrays]
        return _build_tree(ranks, columns, numbers, len(ranks))

    def to_coo(self) -> tuple[dict[str, Integers], Values]:
        """Return the coordinates of all stored values by tensor rank, and the values, in tree order."""
        columns: dict[str, Integers] = {}
        for rank, column in zip(self.ranks, self.columns(), strict=True):
            _unravel_rank(rank, column, columns)
        return columns, self.values

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the ranks, from the root."""
        return tuple(rank.name for rank in self.ranks)

    @property
    def nonzeros(self) -> int:
        """Number of stored values."""
        return len(self.values)

    def level(self, name: str) -> int:
        """Return the position of a rank, counted from 0 at the root.

        Raises:
            ValueError: the tree has no such rank.
        """
        if name not in self.names:
            raise ValueError(f"the tree has no rank {name}; {suggest(name, self.names)}")
        return self.names.index(name)

    def swizzle(self, names: Sequence[str]) -> FiberTree:
        """Return the same tensor with its ranks in another order, from the root.

        Raises:
            ValueError: the names are not a permutation of the tree's ranks.
        """
        if sorted(names) != sorted(self.names):
            raise ValueError(f"swizzle needs each of {', '.join(self.names)} once, not {', '.join(names)}")
        if tuple(names) == self.names:
            return self
        levels, columns = [self.level(name) for name in names], self.columns()
        ranks = tuple(self.ranks[level] for level in levels)
        return _build_tree(
            ranks, [columns[level] for level in levels], self.values, _count_ranks_to_sort(levels)
        )

    def partition_by_shape(self, name: str, size: int, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank into ranges of ``size`` coordinates.

        The ``upper`` rank has the first coordinate of each non-empty range. The ``lower`` rank has the
        elements with their original coordinates.

        Raises:
            ValueError: the size is below 1, there is no such rank, or a new name exists already.
        """
        level = self.level(name)
        _check_size(size)
        return self._split_rank(level, self.coordinates[level] // size * size, upper, lower)

    def partition_by_occupancy(self, name: str, size: int, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank into pieces of ``size`` elements. The last piece may be shorter.

        The ``upper`` coordinate is the coordinate of the first element of the piece.

        Raises:
            ValueError: see ``partition_by_shape``.
        """
        level = self.level(name)
        return self._split_rank(level, self._find_occupancy_starts(level, size), upper, lower)

    def boundaries(self, name: str, size: int) -> Boundaries:
        """Return the boundaries of ``partition_by_occupancy``, for ``partition_by_leader``.

        Raises:
            ValueError: the size is below 1 or there is no such rank.
        """
        level = self.level(name)
        starts, fibers = self._find_occupancy_starts(level, size), self._list_fiber_numbers(level)
        is_first = _is_first(fibers, starts)
        counts = np.bincount(fibers[is_first], minlength=len(self.segments[level]) - 1)
        return Boundaries(
            name, self.names[:level], self._list_points(level), _build_pointers(counts), starts[is_first]
        )

    def partition_by_leader(self, name: str, leader: Boundaries, upper: str, lower: str) -> FiberTree:
        """Cut each fiber of a rank at the boundaries of the leader's fiber with the same coordinates above.

        Elements below the leader's first coordinate belong to the first piece. A fiber that the leader lacks
        stays whole, under the coordinate 0. The pieces of all trees with the same leader therefore match.

        Raises:
            ValueError: the ranks above differ from the leader's, there is no such rank, or a new name exists.
        """
        level = self.level(name)
        if self.names[:level] != leader.above:
            raise ValueError(
                f"{name} is below {', '.join(self.names[:level]) or 'no rank'}, the leader's {leader.rank} "
                f"below {', '.join(leader.above) or 'no rank'}: swizzle the ranks above alike first"
            )
        return self._split_rank(level, self._find_leader_starts(level, leader), upper, lower)

    def flatten(self, upper: str, lower: str, name: str) -> FiberTree:
        """Combine two adjacent ranks: coordinate = upper coordinate * lower shape + lower coordinate.

        Raises:
            ValueError: the ranks are not adjacent, their shapes are too large, or the name exists already.
        """
        level = self.level(upper)
        if self.level(lower) != level + 1:
            raise ValueError(
                f"flatten needs {lower} right below {upper}; the ranks are {', '.join(self.names)}"
            )
        high, low = self.ranks[level], self.ranks[level + 1]
        if high.shape * low.shape > INTEGER_LIMIT:
            raise ValueError(f"{upper} x {lower} is {high.shape} x {low.shape}: beyond 64-bit coordinates")
        upper_coordinates = np.repeat(self.coordinates[level], np.diff(self.segments[level + 1]))
        flat = Rank(name, high.shape * low.shape, parts=(high, low))
        return self._replace_ranks(
            level,
            2,
            (flat,),
            (self.segments[level + 1][self.segments[level]],),
            (upper_coordinates * low.shape + self.coordinates[level + 1],),
        )

    def _split_rank(self, level: int, starts: Integers, upper: str, lower: str) -> FiberTree:
        """Insert a rank above a level; ``starts`` has the upper coordinate of each element."""
        fibers = self._list_fiber_numbers(level)
        first_elements = np.flatnonzero(_is_first(fibers, starts))
        counts = np.bincount(fibers[first_elements], minlength=len(self.segments[level]) - 1)
        rank = self.ranks[level]
        return self._replace_ranks(
            level,
            1,
            (Rank(upper, rank.shape), replace(rank, name=lower)),
            (_build_pointers(counts), np.append(first_elements, len(starts))),
            (starts[first_elements], self.coordinates[level]),
        )

    def _replace_ranks(
        self,
        level: int,
        count: int,
        ranks: tuple[Rank, ...],
        segments: tuple[Integers, ...],
        coordinates: tuple[Integers, ...],
    ) -> FiberTree:
        """Return the tree with the ``count`` ranks from ``level`` on replaced by others."""
        end = level + count
        changed = (*self.ranks[:level], *ranks, *self.ranks[end:])
        _check_names([rank.name for rank in changed])
        return FiberTree(
            changed,
            (*self.segments[:level], *segments, *self.segments[end:]),
            (*self.coordinates[:level], *coordinates, *self.coordinates[end:]),
            self.values,
        )

    def _list_fiber_numbers(self, level: int) -> Integers:
        """Return the fiber number of each element of a rank."""
        lengths = np.diff(self.segments[level])
        return np.repeat(np.arange(len(lengths)), lengths)

    def columns(self) -> list[Integers]:
        """Return the coordinate of every stored value, by rank of the tree."""
        return self._list_columns_above(len(self.ranks), self.nonzeros)

    def _list_columns_above(self, level: int, count: int) -> list[Integers]:
        """Return the coordinates above each of the ``count`` fibers of a level (or values), by rank."""
        columns: list[Integers] = []
        bounds = np.arange(count + 1)  # first fiber (or value) below each element, and the end
        for upper_level in reversed(range(level)):
            columns.append(np.repeat(self.coordinates[upper_level], np.diff(bounds)))
            bounds = bounds[self.segments[upper_level]]
        return columns[::-1]

    def _list_points(self, level: int) -> Integers:
        """Return the coordinates of each fiber in the ranks above, one row for each fiber."""
        fibers = len(self.segments[level]) - 1
        columns = self._list_columns_above(level, fibers)
        return np.stack(columns, axis=1) if columns else np.zeros((fibers, 0), dtype=np.int64)

    def _find_occupancy_starts(self, level: int, size: int) -> Integers:
        """Return for each element the coordinate of the first element of its piece."""
        _check_size(size)
        starts = np.repeat(self.segments[level][:-1], np.diff(self.segments[level]))
        offsets = np.arange(len(starts)) - starts
        return self.coordinates[level][starts + offsets // size * size]

    def _find_leader_starts(self, level: int, leader: Boundaries) -> Integers:
        """Return for each element the first coordinate of the leader's piece that contains it, else 0."""
        coordinates, lengths = self.coordinates[level], np.diff(self.segments[level])
        starts = np.zeros(len(coordinates), np.int64)
        counts = np.diff(leader.segments)
        leader_fibers = rows_in(self._list_points(level), leader.fibers)
        # a fiber that the leader lacks has the number -1, the index of the appended False
        leader_fibers[~np.append(counts > 0, False)[leader_fibers]] = -1
        leader_points = np.repeat(leader_fibers, lengths)
        led_elements = np.flatnonzero(leader_points >= 0)
        leader_points, element_points = leader_points[led_elements], coordinates[led_elements]
        boundaries = leader.starts
        extent = max(self.ranks[level].shape, int(boundaries.max(initial=0)) + 1)
        if extent * len(counts) > INTEGER_LIMIT:  # keys overflow: replace coordinates by ranks among all cuts
            distinct = np.unique(boundaries)
            extent = len(distinct) + 1
            boundaries, element_points = (
                np.searchsorted(distinct, numbers, side="right") for numbers in (boundaries, element_points)
            )
        keys = np.repeat(np.arange(len(counts)), counts) * extent + boundaries  # sorted by fiber, then start
        pieces = np.searchsorted(keys, leader_points * extent + element_points, side="right") - 1
        starts[led_elements] = leader.starts[np.maximum(pieces, leader.segments[leader_points])]
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
            coordinate = int(column.min()) if column.min() < 0 else int(column.max())
            raise ValueError(f"{rank.name} has the coordinate {coordinate}; its shape is {rank.shape}")


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} ranks would be named {name}")


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"a partition's size should be at least 1, not {size}")


def _build_tree(
    ranks: tuple[Rank, ...], columns: Sequence[Integers], values: Values, unsorted: int
) -> FiberTree:
    """Build a tree.

    Args:
        ranks: from the root to the leaves.
        columns: for each rank, the coordinate of every nonzero.
        values: the values of the nonzeros.
        unsorted: number of ranks, from the root, by which nonzeros must be sorted; the ranks below are in
            order.
    """
    order = lexical_order(columns[:unsorted], [rank.shape for rank in ranks[:unsorted]])
    if order is not None:
        columns, values = [column.take(order) for column in columns], values.take(order)
    segments: list[Integers] = []
    coordinates: list[Integers] = []
    is_first = np.zeros(len(values), np.bool_)  # whether a nonzero is the first of its element
    is_first[:1] = True
    fibers = np.zeros(1, dtype=np.int64)  # first nonzero of each fiber
    for column in columns:
        is_first[1:] |= column[1:] != column[:-1]
        elements = np.flatnonzero(is_first)
        # the first nonzero of a fiber is also that of the fiber's first element
        segments.append(np.append(np.searchsorted(elements, fibers), len(elements)))
        # a sorted column is a new array, which the tree can share
        can_share = order is not None and len(elements) == len(column)
        coordinates.append(column if can_share else column[elements])
        fibers = elements
    if len(fibers) < len(values):  # at the last rank, each element must be one nonzero
        raise ValueError(f"{len(values) - len(fibers)} points are given more than once")
    return FiberTree(ranks, tuple(segments), tuple(coordinates), values)


def _count_ranks_to_sort(levels: Sequence[int]) -> int:
    """Return how many ranks, from the root, a swizzle must sort by; the ranks below keep their order."""
    count = len(levels) - 1
    while count > 0 and levels[count - 1] < levels[count]:
        count -= 1
    return count


def _is_first(fibers: Integers, coordinates: Integers) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements whose fiber or coordinate differs from the element before."""
    is_first = np.ones(len(fibers), dtype=bool)
    is_first[1:] = (fibers[1:] != fibers[:-1]) | (coordinates[1:] != coordinates[:-1])
    return is_first


def _build_pointers(counts: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts)])


def _unravel_rank(rank: Rank, column: Integers, columns: dict[str, Integers]) -> None:
    """Add the coordinates of the tensor's ranks that a rank of the tree combines."""
    if rank.parts:
        high, low = rank.parts
        _unravel_rank(high, column // low.shape, columns)
        _unravel_rank(low, column % low.shape, columns)
    elif rank.tensor_rank:
        columns[rank.tensor_rank] = column
