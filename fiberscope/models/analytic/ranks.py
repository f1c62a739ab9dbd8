"""Which loops each rank of a format stands for, and so the shape of its fibers.

Source: Sparseloop (MICRO 2022), Section 5.3.3. A level whose data is cut into the tiles of the next inner
level before it is stored has that level's ranks as its own innermost ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Format, SparseFeatures

__all__ = ["Fibers", "RankAssignment"]

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Fibers:
    """The ranks of a tensor at a level, innermost first.

    Args:
        steps: what the loops of each rank cover: mappings x ranks x dimensions.
        shape: coordinates of a fiber: mappings x ranks.
        tiles: the box below a coordinate of each rank, and last the whole tile: mappings x (ranks + 1) x
            dimensions.
        short: where there are more loops than ranks.
    """

    steps: Whole
    shape: Whole
    tiles: Whole
    short: Truth

    @property
    def outside(self) -> Whole:
        """The most fibers that each rank can have: mappings x ranks."""
        beyond = np.cumprod(self.shape[:, :0:-1], axis=1)[:, ::-1]
        return np.concatenate([beyond, np.ones_like(self.shape[:, :1])], axis=1)


class RankAssignment:
    """Gives the loops of mappings to the ranks of formats."""

    def __init__(self, problem: Problem, traffic: Traffic, features: SparseFeatures) -> None:
        self._problem, self._traffic, self._features = problem, traffic, features
        self._fibers: dict[tuple[int, int], Fibers] = {}

    def fibers(self, level: int, tensor: int) -> Fibers:
        """The ranks at a level; of one without a format a single rank of all its loops."""
        if (level, tensor) not in self._fibers:
            self._fibers[level, tensor] = self._assigned(level, tensor)
        return self._fibers[level, tensor]

    def _assigned(self, level: int, tensor: int) -> Fibers:
        kind = self._features.formats.get((level, tensor))
        nest, child = self._traffic.nest, self._traffic.child(level, tensor)
        count = len(nest.bound)
        ranks = len(kind.ranks) if kind else 1
        steps = np.ones((count, ranks, nest.dimensions), np.int64)
        start = np.zeros(count, np.int64)
        cut_before = child is not None and self._features.compressed(level, tensor)
        if child is not None and cut_before:
            inner = self.fibers(child, tensor).steps
            taken = min(inner.shape[1], ranks)
            steps[:, :taken] = inner[:, :taken]
            start = np.where(self._traffic.dense[child, tensor].tile > 1, inner.shape[1], 0)
        slots = range(nest.end(child) if child is not None else 0, nest.end(level))
        bound = nest.bound[:, slots.start : slots.stop]
        if child is not None and not cut_before:
            bound = self._with_inside(bound, slots, child)
        touched = self._problem.touches[tensor][nest.dimension[:, slots.start : slots.stop]]
        loops = _Loops(bound, nest.dimension[:, slots.start : slots.stop], touched & (bound > 1))
        short = loops.spread(kind, steps, start) | (start > ranks)
        return self._shaped(tensor, steps, short)

    def _with_inside(self, bound: Whole, slots: range, child: int) -> Whole:
        """The loops of a level that stores whole tiles, what is inside of them counted to its own."""
        nest, scaled = self._traffic.nest, bound.copy()
        inside = nest.tile(child)
        innermost = range(nest.dimensions, 2 * nest.dimensions)  # the temporal loops of the first level
        for at in innermost:
            dimension = nest.dimension[:, slots.start + at]
            scaled[:, at] *= np.take_along_axis(inside, dimension[:, None], axis=1)[:, 0]
        return scaled

    def _shaped(self, tensor: int, steps: Whole, short: Truth) -> Fibers:
        whole = np.cumprod(steps, axis=1)
        boxes = np.concatenate([np.ones_like(whole[:, :1]), whole], axis=1)
        return Fibers(steps, self._problem.size(tensor, steps), boxes, short)


@dataclass(frozen=True)
class _Loops:
    """Loops inner to outer: bounds, dimensions, and which of them count: mappings x loops."""

    bound: Whole
    dimension: Whole
    counts: Truth

    def spread(self, kind: Format | None, steps: Whole, start: Whole) -> Truth:
        """Multiply the loops into the ranks that they are given to; returns where ranks are too few."""
        loops, ranks = self.bound.shape[1], steps.shape[1]
        inward = kind is not None and not kind.inner_to_outer
        following, stays = _transitions(kind, ranks, steps.shape[2], inward)
        rank = np.full_like(start, ranks) if inward else start - 1
        short = np.zeros(len(start), np.bool_)
        rows = np.arange(len(start))
        for loop in reversed(range(loops)) if inward else range(loops):
            counts, dimension = self.counts[:, loop] & ~short, self.dimension[:, loop]
            if not counts.any():
                continue
            at = np.where(inward, np.minimum(rank, ranks), rank + 1)
            chosen = np.where(stays[at, dimension], rank, following[at, dimension])
            outside = (chosen < start) if inward else (chosen >= ranks)
            short |= counts & outside
            take = counts & ~outside
            rank = np.where(take, chosen, rank)
            steps[rows[take], chosen[take], dimension[take]] *= self.bound[take, loop]
        return short


Accepts = list[list[tuple[int, ...] | None]]


def _accepts(kind: Format | None, ranks: int, dimensions: int) -> Accepts:
    """Return by rank and dimension the list in which a loop shares the rank; none if it cannot go there."""
    everything = tuple(range(dimensions))
    rows: list[list[tuple[int, ...] | None]] = []
    for rank in range(ranks):
        lists = kind.ranks[rank].flattened if kind else (everything,)
        row: list[tuple[int, ...] | None] = []
        for dimension in range(dimensions):
            among = next((rank_list for rank_list in lists if dimension in rank_list), None)
            row.append(among if lists else ())
        rows.append(row)
    return rows


@lru_cache(maxsize=1024)
def _transitions(kind: Format | None, ranks: int, dimensions: int, inward: bool) -> tuple[Whole, Truth]:
    """Return the rank of the next loop for each rank of the last loop (row; no rank: first, or last).

    Row ``r + 1`` is of rank ``r`` outwards; inwards row ``r`` is of rank ``r``.
    """
    accepts = _accepts(kind, ranks, dimensions)
    following = np.full((ranks + 1, dimensions), -1 if inward else ranks, np.int64)
    stays = np.zeros((ranks + 1, dimensions), np.bool_)
    for row in range(ranks + 1):
        current = row if inward else row - 1
        ahead = range(current - 1, -1, -1) if inward else range(current + 1, ranks)
        for dimension in range(dimensions):
            able = [rank for rank in ahead if accepts[rank][dimension] is not None]
            if able:
                following[row, dimension] = able[0]
            if 0 <= current < ranks:
                stays[row, dimension] = bool(accepts[current][dimension])
    return following, stays
