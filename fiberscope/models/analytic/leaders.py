"""Probability that a read of a follower is omitted because the leader's tile is empty.

The tile follows from the positions of the loops. A read may be omitted when the part of the leader that
the read would meet, until the follower's next read, is empty.

Source: Sparseloop (MICRO 2022), Section 5.3.4 and Figure 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.models.analytic.arrays import Booleans, Integers, Numbers
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import compute_empty_share
from fiberscope.models.analytic.joint import have_counted_densities, share_both_nonempty
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Condition, SparseFeatures


@dataclass(frozen=True)
class Omission:
    """The share of a follower's reads at a level that is omitted; arrays over mappings.

    The follower is the tensor whose reads are omitted. A leader is a tensor whose empty tile allows this.

    Args:
        level: index of the level that provides the follower.
        tensor: index of the follower.
        share: share of the reads of stored elements.
        of_all: share of all reads, zeros of the follower included. The two shares differ if the joint
            statistics are known.
    """

    level: int
    tensor: int
    share: Numbers
    of_all: Numbers


@dataclass(frozen=True)
class _Target:
    """The loop that moves the follower to its next tile.

    Args:
        slot: the slot of the loop, by mapping.
        exists: mask of mappings with such a loop.
        spatial: mask of mappings in which the loop is spatial.
        scalar: mask of mappings without a loop between two reads: the read is of a single element.
        box: extents that the loop covers: mappings x dimensions.
        dimension: the dimension of the loop.
    """

    slot: Integers
    exists: Booleans
    spatial: Booleans
    scalar: Booleans
    box: Integers
    dimension: Integers


class Leaders:
    """Computation of the leaders' tiles, and of the reads that conditions on these tiles omit.

    Args:
        problem: the loop nest, its tensors and their densities.
        traffic: dense traffic of the mappings.
        options: options of the model.
        blocks: words of a row, by level.
        features: the format of each tensor at each level.
    """

    def __init__(
        self,
        problem: Problem,
        traffic: Traffic,
        options: Options,
        blocks: tuple[int, ...],
        features: SparseFeatures,
    ) -> None:
        self._features = features
        self._problem, self._traffic, self._options = problem, traffic, options
        self._nest, self._blocks = traffic.nest, blocks
        self._bounds = np.array(problem.bounds)

    def omit(self, level: int, condition: Condition) -> Omission:
        """Return the omitted reads of a condition at a level, for the level that provides the follower.

        Args:
            level: index of the level at which the condition is checked.
            condition: the follower (``target``) and its leaders.
        """
        target = condition.target
        # a level that bypasses the follower checks the reads of the next outer level that keeps it
        owner = max(level_ for level_ in self._traffic.chains[target] if level_ <= level)
        tiles = [self._find_leader_tile(owner, target, leader) for leader in condition.leaders]
        effectual = np.ones(len(self._nest.bound))  # share of the reads that no leader's empty tile omits
        for leader, (box, is_unusable) in zip(condition.leaders, tiles, strict=True):
            effectual = effectual * np.where(is_unusable, 1.0, self._compute_nonempty_share(leader, box))
        # The leaders' shares are multiplied as if independent, unless the nonzeros of two tensors are known.
        all_effectual, is_exact = effectual, self._options.joint == "exact"
        if is_exact and have_counted_densities(self._problem, condition.leaders):
            # two leaders with data: the exact share of pairs replaces the product of the two shares
            (first_tile, first_unusable), (second_tile, second_unusable) = tiles
            pair_share = share_both_nonempty(
                self._problem, condition.leaders[0], first_tile, condition.leaders[1], second_tile
            )
            # without the emptiness of a leader, the product is the share of the other leader alone
            effectual = all_effectual = np.where(first_unusable | second_unusable, effectual, pair_share)
        elif (
            is_exact
            and have_counted_densities(self._problem, (*condition.leaders, target))
            and self._is_stored(owner, target)
        ):
            # one leader, and a follower of which only nonzeros are read: a conditional share for these reads
            ((tile, is_unusable),) = tiles
            stored_share = self._compute_nonempty_given_stored(owner, target, condition.leaders[0], tile)
            effectual = np.where(is_unusable, effectual, stored_share)
        return Omission(owner, target, 1.0 - effectual, 1.0 - all_effectual)

    def _is_stored(self, owner: int, follower: int) -> bool:
        """Return whether the follower's format is compressed, so that only its nonzeros count as read."""
        return self._features.is_compressed(owner, follower)

    def _compute_nonempty_given_stored(
        self, owner: int, follower: int, leader: int, box: Integers
    ) -> Numbers:
        """Return the share of the follower's nonempty tiles whose leader tile is nonempty.

        The share is 1 if the follower has no nonempty tile.
        """
        child = self._traffic.child(owner, follower)
        follower_box = np.ones_like(box) if child is None else self._nest.tile(child)
        shared = self._problem.touches[leader] & self._problem.touches[follower]
        # in shared dimensions, the pairs of tiles have to be of the same size: the size of the leader's tile
        follower_box = np.where(shared, box, follower_box)
        both_nonempty = share_both_nonempty(self._problem, leader, box, follower, follower_box)
        follower_share = self._compute_nonempty_share(follower, follower_box)
        return np.divide(
            both_nonempty, follower_share, out=np.ones_like(both_nonempty), where=follower_share > 0
        )

    def _compute_nonempty_share(self, tensor: int, box: Integers) -> Numbers:
        """Return the share of nonempty tiles."""
        return 1.0 - compute_empty_share(self._problem.densities[tensor], self._problem.extents(tensor, box))

    def _find_leader_tile(self, owner: int, follower: int, leader: int) -> tuple[Integers, Booleans]:
        """Return the leader's tile for a read of the follower, and a mask of unusable empty tiles."""
        child = self._traffic.child(owner, follower)
        target = (
            self._compute_loop(follower) if child is None else self._find_moving_loop(owner, child, follower)
        )
        stationary = self._find_stationary_loops(owner, target, follower, child is None)
        return self._tile(owner, target, stationary, follower, leader)

    def _find_moving_loop(self, owner: int, child: int, follower: int) -> _Target:
        """Return the first loop outside of the follower's next inner level that moves the follower.

        Without such a loop, the target is the outermost loop of the owner, and ``exists`` is false.
        """
        nest = self._nest
        start, stop = nest.end(child), nest.end(owner)
        moves = self._touches(follower)[:, start:stop] & nest.iterates[:, start:stop]
        exists = np.asarray(moves.any(axis=1))
        # ``argmax`` of booleans is the first true value, here the innermost loop
        slot = np.where(exists, start + np.argmax(moves, axis=1), stop - 1)
        return self._find_target(slot, exists, np.zeros_like(exists))

    def _compute_loop(self, follower: int) -> _Target:
        """Return the loop for a follower that compute reads: a spatial loop inside all temporal loops.

        The innermost such loop that moves the follower is chosen, else the outermost loop. Without spatial
        loops, each read is of a single element (``scalar``).
        """
        nest = self._nest
        # the innermost slots are the spatial loops of the innermost level
        is_spatial = nest.iterates[:, : nest.dimensions]
        moves = self._touches(follower)[:, : nest.dimensions] & is_spatial
        # the last true value, as the first of the reversed slots
        last = nest.dimensions - 1 - np.argmax(is_spatial[:, ::-1], axis=1)
        slot = np.where(moves.any(axis=1), np.argmax(moves, axis=1), last)
        scalar = np.asarray(~is_spatial.any(axis=1))
        return self._find_target(np.where(scalar, nest.dimensions, slot), ~scalar, scalar)

    def _find_target(self, slot: Integers, exists: Booleans, scalar: Booleans) -> _Target:
        """Return the target at a slot, with the box and the dimension of its loop."""
        nest, rows = self._nest, np.arange(len(slot))
        box = np.where(scalar[:, None], 1, nest.box[rows, slot])
        return _Target(slot, exists, exists & nest.spatial[slot], scalar, box, nest.dimension[rows, slot])

    def _touches(self, tensor: int) -> Booleans:
        """Return whether each loop moves a tensor: mappings x slots."""
        return np.asarray(self._problem.touches[tensor][self._nest.dimension])

    def _find_stationary_loops(
        self, owner: int, target: _Target, follower: int, at_compute: bool
    ) -> Booleans:
        """Return the loops between target and owner in which the follower's tile is stationary.

        Parallel instances share the tile. If the target is spatial, tiles also stay during the temporal loops
        that do not move the follower.
        """
        nest = self._nest
        slots = np.arange(nest.bound.shape[1])
        outside = (slots > target.slot[:, None]) & (slots < nest.end(owner)) & nest.iterates
        if at_compute:
            return np.asarray(outside & nest.spatial)
        moving = outside & ~nest.spatial & self._touches(follower)
        # slots are innermost first: a tile stays until the first temporal loop that moves it
        is_stationary = ~np.logical_or.accumulate(moving, axis=1) & ~self._touches(follower)
        return np.asarray(outside & (nest.spatial | (target.spatial[:, None] & is_stationary)))

    def _tile(
        self, owner: int, target: _Target, stationary: Booleans, follower: int, leader: int
    ) -> tuple[Integers, Booleans]:
        """Return the leader's tile, and a mask of mappings in which the follower cannot use its emptiness."""
        nest = self._nest
        shared_dimensions = self._problem.touches[follower] & self._problem.touches[leader]
        slots = np.arange(nest.bound.shape[1])
        is_target = (slots == target.slot[:, None]) & target.exists[:, None]
        relevant = (stationary | is_target) & ~target.scalar[:, None]
        shared = relevant & shared_dimensions[nest.dimension]
        earlier = np.zeros_like(shared)  # whether a shared loop is inside of this loop
        earlier[:, 1:] = np.logical_or.accumulate(shared, axis=1)[:, :-1]
        is_unusable = (earlier & relevant & self._touches(leader)).any(axis=1) & target.spatial
        factors = self._multiply_bounds(shared)
        box = target.box * self._multiply_bounds(stationary)
        return np.minimum(self._reduce_box(owner, target, follower, box, factors), self._bounds), is_unusable

    def _multiply_bounds(self, selection: Booleans) -> Integers:
        """Return the product of the bounds of selected loops, by dimension."""
        nest = self._nest
        selected = selection[:, :, None] & (nest.dimension[:, :, None] == np.arange(nest.dimensions))
        return np.asarray(np.where(selected, nest.bound[:, :, None], 1).prod(axis=1))

    def _reduce_box(
        self, owner: int, target: _Target, follower: int, box: Integers, factors: Integers
    ) -> Integers:
        """Reduce loops that move both tensors to one iteration, or to the iterations of a row."""
        granule = self._problem.size(follower, target.box) / factors.prod(axis=1)
        # iterations of the shared loops whose data lies in one row: an access moves the row as a whole
        rows = np.ceil(self._blocks[owner] / granule)
        if not self._options.timeloop:  # the public tool extends the tile of a single element to a row, too
            rows = np.where(target.scalar, 1.0, rows)
        for dimension in range(box.shape[1]):
            factor = factors[:, dimension]
            is_shared = factor > 1
            iterations = np.ceil(box[:, dimension] / (factor / rows))
            box[:, dimension] = np.where(is_shared, iterations, box[:, dimension])
            rows = np.where(is_shared, rows / factor, rows)  # the part of the row that is not used up yet
        # the rest of a row extends the tile along the dimension of the target
        row_factors = np.where(
            np.arange(box.shape[1]) == target.dimension[:, None], np.maximum(rows, 1)[:, None], 1
        )
        return np.ceil(box * row_factors).astype(np.int64)
