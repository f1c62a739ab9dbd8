"""Assignment of loops to the ranks of a format, which determines the shapes of fibers.

A level whose data is stored as tiles of the next inner level has that level's ranks as its innermost ranks.

Source: Sparseloop (MICRO 2022), Section 5.3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fiberscope.models.analytic.arrays import Booleans, Integers
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Format, SparseFeatures


@dataclass(frozen=True)
class Fibers:
    """The ranks of a tensor at a level, innermost first.

    Args:
        steps: extents that the loops of each rank cover: mappings x ranks x dimensions.
        shape: coordinates of a fiber: mappings x ranks.
        tiles: the box below a coordinate of each rank, and last of the whole tile: mappings x (ranks + 1) x
            dimensions.
        short: mask of mappings with more loops than ranks.
    """

    steps: Integers
    shape: Integers
    tiles: Integers
    short: Booleans

    @property
    def outside(self) -> Integers:
        """Return the largest number of fibers of each rank: mappings x ranks."""
        # the product of the shapes of all outer ranks: from the outermost rank to rank 1, then turned back
        outer_fibers = np.cumprod(self.shape[:, :0:-1], axis=1)[:, ::-1]
        return np.concatenate([outer_fibers, np.ones_like(self.shape[:, :1])], axis=1)


class RankAssignment:
    """Assignment of the loops of mappings to the ranks of formats.

    Args:
        problem: the loop nest and its tensors.
        traffic: dense traffic of the mappings.
        features: the format of each tensor at each level.
    """

    def __init__(self, problem: Problem, traffic: Traffic, features: SparseFeatures) -> None:
        self._problem, self._traffic, self._features = problem, traffic, features
        self._fibers: dict[tuple[int, int], Fibers] = {}

    def fibers(self, level: int, tensor: int) -> Fibers:
        """Return the ranks at a level, assigned once; without a format, all loops share a single rank."""
        if (level, tensor) not in self._fibers:
            self._fibers[level, tensor] = self._assign(level, tensor)
        return self._fibers[level, tensor]

    def _assign(self, level: int, tensor: int) -> Fibers:
        """Assign the loops between a level and the next inner level that keeps the tensor.

        A compressed tensor has the ranks of the inner level as innermost ranks. They take none of the loops,
        unless the tiles of the inner level are single elements.
        """
        kind = self._features.formats.get((level, tensor))
        nest, child = self._traffic.nest, self._traffic.child(level, tensor)
        count = len(nest.bound)
        ranks = len(kind.ranks) if kind else 1
        steps = np.ones((count, ranks, nest.dimensions), np.int64)
        start = np.zeros(count, np.int64)
        is_tiled = child is not None and self._features.is_compressed(level, tensor)
        if child is not None and is_tiled:
            inner = self.fibers(child, tensor).steps
            shared_ranks = min(inner.shape[1], ranks)
            steps[:, :shared_ranks] = inner[:, :shared_ranks]
            # ranks before ``start`` belong to the inner tiles; a single element needs no ranks
            start = np.where(self._traffic.dense[child, tensor].tile > 1, inner.shape[1], 0)
        slots = range(nest.end(child) if child is not None else 0, nest.end(level))
        bound = nest.bound[:, slots.start : slots.stop]
        if child is not None and not is_tiled:
            bound = self._include_inner_tiles(bound, slots, child)
        touched = self._problem.touches[tensor][nest.dimension[:, slots.start : slots.stop]]
        loops = _Loops(bound, nest.dimension[:, slots.start : slots.stop], touched & (bound > 1))
        # more inner ranks than ranks here: too few ranks, even without loops
        short = loops.spread(kind, steps, start) | (start > ranks)
        return self._make_fibers(tensor, steps, short)

    def _include_inner_tiles(self, bound: Integers, slots: range, child: int) -> Integers:
        """Return the bounds of a level that stores whole tiles, multiplied by the extents of the tiles."""
        nest, scaled = self._traffic.nest, bound.copy()
        inside = nest.tile(child)
        # an uncompressed tile is stored in one piece, so its ranks cover the inner tile's extents too
        innermost = range(nest.dimensions, 2 * nest.dimensions)  # the temporal loops of the first level
        for loop in innermost:
            dimension = nest.dimension[:, slots.start + loop]
            scaled[:, loop] *= np.take_along_axis(inside, dimension[:, None], axis=1)[:, 0]
        return scaled

    def _make_fibers(self, tensor: int, steps: Integers, short: Booleans) -> Fibers:
        """Return the ranks with these extents; the box below the innermost rank is a single element."""
        tiles = np.cumprod(steps, axis=1)
        boxes = np.concatenate([np.ones_like(tiles[:, :1]), tiles], axis=1)
        return Fibers(steps, self._problem.size(tensor, steps), boxes, short)


@dataclass(frozen=True)
class _Loops:
    """Loops, innermost first: bounds, dimensions, and a mask of loops that count: mappings x loops."""

    bound: Integers
    dimension: Integers
    counts: Booleans

    def spread(self, kind: Format | None, steps: Integers, start: Integers) -> Booleans:
        """Assign the loops to ranks, and return a mask of mappings with too few ranks.

        Args:
            kind: the format; None for an uncompressed tensor, which has one rank.
            steps: changed in place: each bound is multiplied into its rank: mappings x ranks x dimensions.
            start: first rank that is free, by mapping; the ranks before it belong to the tiles inside.
        """
        loops, ranks = self.bound.shape[1], steps.shape[1]
        inward = kind is not None and not kind.inner_to_outer
        next_rank, shares_rank = _tabulate_transitions(kind, ranks, steps.shape[2], inward)
        # the rank of the last loop; at first the place before the first free rank on the way
        rank = np.full_like(start, ranks) if inward else start - 1
        short = np.zeros(len(start), np.bool_)
        rows = np.arange(len(start))
        for loop in reversed(range(loops)) if inward else range(loops):
            # a mapping without a rank for a loop is at fault: its further loops are left out
            counts, dimension = self.counts[:, loop] & ~short, self.dimension[:, loop]
            if not counts.any():
                continue
            # a row of the tables, see ``_tabulate_transitions``
            row = np.where(inward, np.minimum(rank, ranks), rank + 1)
            # the rank before the first free one belongs to the tiles inside, and is not shared
            shares = shares_rank[row, dimension] & (rank >= start)
            target = np.where(shares, rank, next_rank[row, dimension])
            outside = (target < start) if inward else (target >= ranks)
            short |= counts & outside
            is_assigned = counts & ~outside
            rank = np.where(is_assigned, target, rank)
            steps[rows[is_assigned], target[is_assigned], dimension[is_assigned]] *= self.bound[
                is_assigned, loop
            ]
        return short


Accepts = list[list[tuple[int, ...] | None]]  # by rank and dimension, see ``_find_shareable_dimensions``


def _find_shareable_dimensions(kind: Format | None, ranks: int, dimensions: int) -> Accepts:
    """Return by rank and dimension the dimensions whose loops may share the rank with this dimension's.

    Empty: the rank takes one loop, over any dimension. None: the rank takes no loop over this dimension.
    """
    everything = tuple(range(dimensions))
    rows: list[list[tuple[int, ...] | None]] = []
    for rank in range(ranks):
        lists = kind.ranks[rank].flattened if kind else (everything,)
        row: list[tuple[int, ...] | None] = []
        for dimension in range(dimensions):
            members = next((rank_list for rank_list in lists if dimension in rank_list), None)
            row.append(members if lists else ())
        rows.append(row)
    return rows


@lru_cache(maxsize=1024)
def _tabulate_transitions(
    kind: Format | None, ranks: int, dimensions: int, inward: bool
) -> tuple[Integers, Booleans]:
    """Return by rank of the last loop and dimension of the next loop where the next loop is assigned.

    The first array is the next rank that accepts the dimension. The second is a mask: true if the next loop
    shares the rank of the last loop instead.

    Outwards, row ``r + 1`` is of rank ``r``, and row 0 of no rank. Inwards, row ``r`` is of rank ``r``, and
    the last row of no rank.
    """
    accepts = _find_shareable_dimensions(kind, ranks, dimensions)
    next_rank = np.full((ranks + 1, dimensions), -1 if inward else ranks, np.int64)
    shares_rank = np.zeros((ranks + 1, dimensions), np.bool_)
    for row in range(ranks + 1):
        current = row if inward else row - 1
        candidates = range(current - 1, -1, -1) if inward else range(current + 1, ranks)
        for dimension in range(dimensions):
            accepting = [rank for rank in candidates if accepts[rank][dimension] is not None]
            if accepting:
                next_rank[row, dimension] = accepting[0]  # the nearest in the direction of the walk
            if 0 <= current < ranks:
                shares_rank[row, dimension] = bool(accepts[current][dimension])
    return next_rank, shares_rank
