"""Probability that reads are left out because the leader's tile is empty, by the positions of loops.

Source: Sparseloop (MICRO 2022), Section 5.3.4 and Figure 10. A read of the follower may be left out when the
part of the leader that it would meet, until the follower's next read, is empty.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import Numbers, empty
from fiberscope.models.analytic.joint import are_known, both_there
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Condition

__all__ = ["Leaders", "Omission"]

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Omission:
    """A share of the follower's reads at a level that is left out; by mapping.

    ``of_all`` is the share were none of its zeros left out already; it differs where both are known.
    """

    level: int
    tensor: int
    share: Numbers
    of_all: Numbers


@dataclass(frozen=True)
class _Target:
    """The loop by which the follower comes to its next tile.

    Args:
        slot: the slot by mapping.
        exists: where there is such a loop.
        spatial: where it is one across instances.
        scalar: where no loop lies between two reads: a single element is met.
        box: what the loop covers: mappings x dimensions.
        dimension: the dimension of the loop.
    """

    slot: Whole
    exists: Truth
    spatial: Truth
    scalar: Truth
    box: Whole
    dimension: Whole


class Leaders:
    """Finds the leaders' tiles of conditions."""

    def __init__(
        self,
        problem: Problem,
        traffic: Traffic,
        options: Options,
        blocks: tuple[int, ...],
        formats: Collection[tuple[int, int]],
    ) -> None:
        self._formats = formats
        self._problem, self._traffic, self._options = problem, traffic, options
        self._nest, self._blocks = traffic.nest, blocks
        self._bounds = np.array(problem.bounds)

    def omission(self, level: int, condition: Condition) -> Omission:
        """Return what a condition at a level leaves out, at the level that the follower comes from."""
        target = condition.target
        owner = max(at for at in self._traffic.chains[target] if at <= level)
        tiles = [self._met(owner, target, leader) for leader in condition.leaders]
        effectual = np.ones(len(self._nest.bound))
        for leader, (box, useless) in zip(condition.leaders, tiles, strict=True):
            effectual = effectual * np.where(useless, 1.0, self._nonempty(leader, box))
        all_effectual, is_exact = effectual, self._options.joint == "exact"
        if is_exact and are_known(self._problem, condition.leaders):
            (first_tile, _useless), (other, _too) = tiles
            effectual = all_effectual = both_there(
                self._problem, condition.leaders[0], first_tile, condition.leaders[1], other
            )
        elif (
            is_exact
            and are_known(self._problem, (*condition.leaders, target))
            and self._stored(owner, target)
        ):
            effectual = self._among_stored(owner, target, condition.leaders[0], tiles[0][0])
        return Omission(owner, target, 1.0 - effectual, 1.0 - all_effectual)

    def _stored(self, owner: int, follower: int) -> bool:
        """Return whether only nonzeros of the follower are read."""
        return (owner, follower) in self._formats

    def _among_stored(self, owner: int, follower: int, leader: int, box: Whole) -> Numbers:
        """The share of the follower's tiles that are not empty whose leader's is not either."""
        child = self._traffic.child(owner, follower)
        own = np.ones_like(box) if child is None else self._nest.tile(child)
        shared = self._problem.touches[leader] & self._problem.touches[follower]
        own = np.where(shared, box, own)
        both = both_there(self._problem, leader, box, follower, own)
        some = self._nonempty(follower, own)
        return np.divide(both, some, out=np.ones_like(both), where=some > 0)

    def _nonempty(self, tensor: int, box: Whole) -> Numbers:
        """The share of tiles that are not empty."""
        return 1.0 - empty(self._problem.densities[tensor], self._problem.extents(tensor, box))

    def _met(self, owner: int, follower: int, leader: int) -> tuple[Whole, Truth]:
        """The leader's tile that a read of the follower would meet, and where its emptiness does not help."""
        child = self._traffic.child(owner, follower)
        is_met = self._before_compute(follower) if child is None else self._above(owner, child, follower)
        joined = self._joined(owner, is_met, follower, child is None)
        return self._tile(owner, is_met, joined, follower, leader)

    def _above(self, owner: int, child: int, follower: int) -> _Target:
        """The first loop outside of the follower's next inner level that moves the follower."""
        nest = self._nest
        start, stop = nest.end(child), nest.end(owner)
        moves = self._touched(follower)[:, start:stop] & nest.more[:, start:stop]
        is_met = np.asarray(moves.any(axis=1))
        slot = np.where(is_met, start + np.argmax(moves, axis=1), stop - 1)
        return self._target(slot, is_met, np.zeros_like(is_met))

    def _before_compute(self, follower: int) -> _Target:
        """Return the loops for a follower that compute reads: spatial loops inside all temporal ones."""
        nest = self._nest
        across = nest.more[:, : nest.dimensions]
        moves = self._touched(follower)[:, : nest.dimensions] & across
        last = nest.dimensions - 1 - np.argmax(across[:, ::-1], axis=1)
        slot = np.where(moves.any(axis=1), np.argmax(moves, axis=1), last)
        scalar = np.asarray(~across.any(axis=1))
        return self._target(np.where(scalar, nest.dimensions, slot), ~scalar, scalar)

    def _target(self, slot: Whole, is_met: Truth, scalar: Truth) -> _Target:
        nest, rows = self._nest, np.arange(len(slot))
        box = np.where(scalar[:, None], 1, nest.box[rows, slot])
        return _Target(slot, is_met, is_met & nest.spatial[slot], scalar, box, nest.dimension[rows, slot])

    def _touched(self, tensor: int) -> Truth:
        return np.asarray(self._problem.touches[tensor][self._nest.dimension])

    def _joined(self, owner: int, target: _Target, follower: int, at_compute: bool) -> Truth:
        """The loops outside of the target, up to the owner, during which the follower's tile stays.

        Instances side by side take the same tile. If the target itself is spatial, the tiles also stay during
        the loops in time that do not move the follower.
        """
        nest = self._nest
        slots = np.arange(nest.bound.shape[1])
        outside = (slots > target.slot[:, None]) & (slots < nest.end(owner)) & nest.more
        if at_compute:
            return np.asarray(outside & nest.spatial)
        moving = outside & ~nest.spatial & self._touched(follower)
        still = ~np.logical_or.accumulate(moving, axis=1) & ~self._touched(follower)
        return np.asarray(outside & (nest.spatial | (target.spatial[:, None] & still)))

    def _tile(
        self, owner: int, target: _Target, joined: Truth, follower: int, leader: int
    ) -> tuple[Whole, Truth]:
        """The leader's tile, and where the follower cannot make use of its being empty."""
        nest = self._nest
        both = self._problem.touches[follower] & self._problem.touches[leader]
        slots = np.arange(nest.bound.shape[1])
        itself = (slots == target.slot[:, None]) & target.exists[:, None]
        relevant = (joined | itself) & ~target.scalar[:, None]
        shared = relevant & both[nest.dimension]
        earlier = np.zeros_like(shared)
        earlier[:, 1:] = np.logical_or.accumulate(shared, axis=1)[:, :-1]
        useless = (earlier & relevant & self._touched(leader)).any(axis=1) & target.spatial
        factors = self._over_dimensions(shared)
        box = target.box * self._over_dimensions(joined)
        return np.minimum(self._cut(owner, target, follower, box, factors), self._bounds), useless

    def _over_dimensions(self, which: Truth) -> Whole:
        """The product of the bounds of some loops by dimension."""
        nest = self._nest
        chosen = which[:, :, None] & (nest.dimension[:, :, None] == np.arange(nest.dimensions))
        return np.asarray(np.where(chosen, nest.bound[:, :, None], 1).prod(axis=1))

    def _cut(self, owner: int, target: _Target, follower: int, box: Whole, factors: Whole) -> Whole:
        """Keep one iteration of loops that move both tensors, or those of a row of the owner's array."""
        granule = self._problem.size(follower, target.box) / factors.prod(axis=1)
        rows = np.ceil(self._blocks[owner] / granule)
        if not self._options.timeloop:
            rows = np.where(target.scalar, 1.0, rows)  # each read is of a scalar
        for dimension in range(box.shape[1]):
            factor = factors[:, dimension]
            some = factor > 1
            fewer = np.ceil(box[:, dimension] / (factor / rows))
            box[:, dimension] = np.where(some, fewer, box[:, dimension])
            rows = np.where(some, rows / factor, rows)
        wider = np.where(
            np.arange(box.shape[1]) == target.dimension[:, None], np.maximum(rows, 1)[:, None], 1
        )
        return np.ceil(box * wider).astype(np.int64)
