"""First step of the model: dense traffic between levels, and dense computes.

Source: Sparseloop (MICRO 2022), Section 5.2; Timeloop (ISPASS 2019), Section V.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.models.analytic.arrays import Integers
from fiberscope.models.analytic.mapping import Mappings, Nest
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem


@dataclass(frozen=True)
class Dense:
    """Dense traffic of one tensor at one level that keeps the tensor; words of an instance, by mapping.

    Args:
        tile: words of the tile.
        reads: words that are read: of an operand for the inner level, of an output for accumulation.
        fills: words that are filled from the outer level; 0 at the outermost.
        updates: words of an output that are updated from the inner level; 0 for an operand.
        distinct: distinct words of an output that an instance accesses in total; 0 for an operand.
        reductions: partial sums that are added to earlier partial sums here.
    """

    tile: Integers
    reads: Integers
    fills: Integers
    updates: Integers
    distinct: Integers
    reductions: Integers


@dataclass(frozen=True)
class Traffic:
    """The dense traffic of mappings.

    Args:
        nest: the loops.
        chains: for each tensor the levels that keep it, outermost first.
        dense: by level and tensor, where the level keeps the tensor.
        instances: used instances of each level: mappings x (levels and compute).
        steps: iterations of the temporal loops: computes of one unit.
        computes: the computes of all units together.
    """

    nest: Nest
    chains: tuple[tuple[int, ...], ...]
    dense: dict[tuple[int, int], Dense]
    instances: Integers
    steps: Integers
    computes: Integers

    def child(self, level: int, tensor: int) -> int | None:
        """Return the next inner level that keeps a tensor; None if compute is next."""
        inner = [other for other in self.chains[tensor] if other > level]
        return inner[0] if inner else None

    def parent(self, level: int, tensor: int) -> int | None:
        """Return the next outer level that keeps a tensor; None if no outer level keeps it."""
        outer = [other for other in self.chains[tensor] if other < level]
        return outer[-1] if outer else None


def compute_dataflow(problem: Problem, mappings: Mappings, options: Options) -> Traffic:
    """Return the dense traffic of mappings: the first step of the model.

    Args:
        problem: the loop nest and its tensors.
        mappings: the mappings, which are evaluated together.
        options: options of the model.
    """
    nest = Nest(mappings)
    chains = tuple(tuple(mappings.chain(tensor)) for tensor in range(len(problem.tensors)))
    instances = _count_instances(nest)
    steps = np.where(nest.spatial, 1, nest.bound).prod(axis=1)
    dense: dict[tuple[int, int], Dense] = {}
    for tensor, chain in enumerate(chains):
        walk = _Walk(problem, nest, tensor, steps, options)
        for level, child in zip(chain, [*chain[1:], None], strict=True):
            traffic = walk.compute_traffic(level, child, level == chain[0])
            if mappings.reads_first is not None and mappings.reads_first[level, tensor]:
                # a first update reads, too, so each update has a read
                traffic = replace(traffic, reads=traffic.updates)
            dense[level, tensor] = traffic
    return Traffic(nest, chains, dense, instances, steps, steps * instances[:, -1])


def _count_instances(nest: Nest) -> Integers:
    """Return the iterations of all spatial loops outside each level: mappings x (levels and compute)."""
    across = np.where(nest.spatial, nest.bound, 1)
    outside = [across[:, nest.end(level) :].prod(axis=1) for level in range(nest.levels)]
    return np.stack([*outside, across.prod(axis=1)], axis=1)


class _Walk:
    """Traffic of one tensor at the levels that keep it."""

    def __init__(self, problem: Problem, nest: Nest, tensor: int, steps: Integers, options: Options) -> None:
        self.problem, self.nest, self.tensor, self.steps = problem, nest, tensor, steps
        self.options, self.output = options, problem.tensors[tensor].output
        # with a sum of dimensions in a rank, tiles that follow each other may overlap
        windows = any(len(rank.terms) > 1 for rank in problem.tensors[tensor].ranks)
        self.slides = windows and options.fetches_new_words and not self.output
        self.touched = problem.touches[tensor][nest.dimension]

    def compute_traffic(self, level: int, child: int | None, outermost: bool) -> Dense:
        """Return the traffic at a level.

        Args:
            level: a level that keeps the tensor.
            child: the next inner level that keeps the tensor; None: compute.
            outermost: whether no outer level keeps the tensor.
        """
        tile = self._tile(level)
        child_words = self._count_fetched_words(child) if child is not None else self.steps
        inner = self.nest.levels if child is None else child
        served = child_words * self._count_tiles(self.nest.spatial_between(level, inner))
        fills = np.zeros_like(tile) if outermost else self._count_fetched_words(level)
        none = np.zeros_like(tile)
        if not self.output:
            return Dense(tile, served, fills, none, none, none)
        distinct = self._count_distinct_words(level)
        # the first update of a word in an instance has no earlier partial sum to read and add to
        repeated = np.maximum(served - distinct, 0)
        if not outermost and not self.options.charges_first_fill:
            fills = np.maximum(fills - distinct, 0)
        return Dense(tile, repeated, fills, served, distinct, repeated)

    def _tile(self, level: int) -> Integers:
        return self.problem.size(self.tensor, self.nest.tile(level))

    def _count_fetched_words(self, level: int) -> Integers:
        """Return the words that one instance of a level fetches in total."""
        tile, bounds = self._tile(level), self._find_moving_bounds(level)
        if not self.slides:
            return np.asarray(bounds.prod(axis=1) * tile)
        outside = np.cumprod(bounds[:, ::-1], axis=1)[:, ::-1]  # tiles of each loop and the loops outside
        words = tile.copy()  # the first tile is fetched whole
        # of the ``tiles`` of a loop, ``tiles // bound`` begin the loop: they count in a loop further outside
        for overlap, tiles, bound in zip(self._measure_overlaps(level), outside.T, bounds.T, strict=True):
            words += (tiles - tiles // bound) * (tile - overlap)
        return words

    def _find_moving_bounds(self, level: int) -> Integers:
        """Return the bounds of the temporal loops outside a level, innermost first; 1 if stationary.

        A loop is stationary if neither the loop nor a loop inside of it moves the tile.
        """
        slots = self.nest.temporal_outside(level)
        bound = self.nest.bound[:, slots]
        is_moving = np.logical_or.accumulate(self.touched[:, slots] & (bound > 1), axis=1)
        return np.where(is_moving, bound, 1)

    def _measure_overlaps(self, level: int) -> Iterator[Integers]:
        """Yield for each loop the words that a tile shares with the previous tile when the loop advances."""
        nest, table = self.nest, self.problem.coefficients[self.tensor]
        extents = np.stack(self.problem.extents(self.tensor, nest.tile(level)), axis=-1)
        displacement = np.zeros_like(
            extents
        )  # total distance by which the inner loops move the tile, by rank
        for slot in nest.temporal_outside(level):
            dimension, bound = nest.dimension[:, slot], nest.bound[:, slot]
            # one iteration of the loop advances by all that the loops inside cover of the dimension
            inside = np.take_along_axis(nest.box[:, slot], dimension[:, None], axis=1)[:, 0] // bound
            step = table.T[dimension] * inside[:, None]
            yield np.maximum(extents - np.abs(step - displacement), 0).prod(axis=1)
            displacement += step * (bound - 1)[:, None]

    def _count_tiles(self, slots: Integers) -> Integers:
        """Return the number of different tiles of parallel instances; others are multicast or reduced."""
        return np.asarray(np.where(self.touched[:, slots], self.nest.bound[:, slots], 1).prod(axis=1))

    def _count_distinct_words(self, level: int) -> Integers:
        """Return the words of the part of the tensor that one instance accesses in total."""
        box = self.nest.box[:, -1]
        # all of the tensor, less what the spatial loops outside give to other instances
        across = self.nest.spatial & (self.nest.level < level)
        outside = np.flatnonzero(across & self.nest.iterates.any(axis=0))
        for slot in outside:
            dimension = self.nest.dimension[:, slot, None] == np.arange(self.nest.dimensions)
            box = np.where(dimension, box // self.nest.bound[:, slot, None], box)
        return self.problem.size(self.tensor, box)
