"""Mapspace: all factorisations of dimensions over levels, loop orders, and choices of kept tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.arrays import Booleans, Integers
from fiberscope.models.analytic.mapper.constraints import Constraints
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.problem import Problem


def list_factorisations(number: int, least: Sequence[int], greatest: Sequence[int]) -> Integers:
    """Return all factorisations of a number into ordered, bounded factors: factorisations x factors.

    There may be none; the array then has no rows.

    Args:
        number: the product of the factors.
        least, greatest: bounds of each factor, both inclusive.
    """
    products: list[tuple[tuple[int, ...], int]] = [((), number)]
    for low, high in zip(least, greatest, strict=True):
        products = [
            ((*factors, factor), quotient // factor)
            for factors, quotient in products
            for factor in _list_divisors(quotient)
            if low <= factor <= high
        ]
    complete = [factors for factors, quotient in products if quotient == 1]
    return np.array(complete, np.int64).reshape(-1, len(least))


def _list_divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return small + [number // divisor for divisor in reversed(small) if divisor * divisor != number]


class Space:
    """The mapspace of a problem on a machine under constraints.

    Loops of a single iteration are dropped: mappings that differ only in their positions are one mapping. A
    level has spatial loops if the units inside have more instances.

    Args:
        architecture: the levels and compute units.
        problem: the loop nest and its tensors.
        constraints: bounds of factors, fixed loop orders, and tensors that levels keep or bypass.

    Attributes:
        cuts: factorisations of each dimension: factorisations x (2 x levels), temporal then spatial.
        keep_choices: choices of kept tensors, each levels x tensors.
    """

    def __init__(self, architecture: Architecture, problem: Problem, constraints: Constraints) -> None:
        self.architecture, self.problem, self.constraints = architecture, problem, constraints
        self.levels, self.dimensions = len(architecture.levels), len(problem.dimensions)
        self.fan_outs = self._compute_fan_outs()
        greatest = constraints.greatest.copy()
        # a spatial loop has at most as many iterations as its level has instances inside
        greatest[1] = np.minimum(greatest[1], self.fan_outs.prod(axis=1)[:, None])
        self.cuts = [
            list_factorisations(
                bound,
                constraints.least[:, :, dimension].ravel().tolist(),
                greatest[:, :, dimension].ravel().tolist(),
            )
            for dimension, bound in enumerate(problem.bounds)
        ]
        self.keep_choices = list(self._choose_kept())

    def _compute_fan_outs(self) -> Integers:
        """Return the instances inside each instance of a level along X and Y: levels x 2."""
        units: list[Level | Compute] = [*self.architecture.levels, self.architecture.compute]
        meshes = np.array([unit.mesh for unit in units])
        fan_outs = meshes[1:] // meshes[:-1]
        totals = meshes.prod(axis=1)[1:] // meshes.prod(axis=1)[:-1]
        uneven = fan_outs.prod(axis=1) != totals  # meshes that do not nest count along X alone
        return np.where(uneven[:, None], np.stack([totals, np.ones_like(totals)], axis=1), fan_outs)

    def _choose_kept(self) -> Iterator[Booleans]:
        """Yield every choice of the tensors that levels are free to keep, first the choice that keeps all."""
        free = np.argwhere(self.constraints.keep < 0)
        for choice in product((True, False), repeat=len(free)):
            keep = self.constraints.keep > 0
            keep[tuple(free.T)] = choice
            yield keep

    @cached_property
    def size(self) -> int:
        """Return an upper bound of the number of mappings: loops of one iteration count."""
        # dimensions that the constraints fix innermost do not permute
        orders = prod(factorial(self.dimensions - len(inner)) for inner in self.constraints.inner)
        return prod(len(cuts) for cuts in self.cuts) * orders * len(self.keep_choices)

    @property
    def impossible(self) -> str:
        """Return the first dimension without a factorisation; empty if there is none."""
        for name, cuts in zip(self.problem.dimensions, self.cuts, strict=True):
            if not len(cuts):
                return name
        return ""

    def mappings(self, cut_indices: Integers, orders: Integers, keep: int) -> Mappings:
        """Return mappings from their parts, with loops of one iteration outermost.

        Args:
            cut_indices: a row of ``cuts`` for each dimension: mappings x dimensions.
            orders: of the temporal loops, dimensions innermost first: mappings x levels x dimensions.
            keep: index in ``keep_choices``.
        """
        bounds = np.stack(
            [cuts[cut_indices[:, dimension]] for dimension, cuts in enumerate(self.cuts)], axis=2
        )
        temporal, spatial = bounds[:, : self.levels], bounds[:, self.levels :]
        single = np.take_along_axis(temporal, orders, axis=2) == 1
        # sort keys: loops that iterate keep their order, the others follow them by dimension
        rank = np.where(single, self.dimensions + orders, np.arange(self.dimensions))
        canonical = np.take_along_axis(orders, np.argsort(rank, axis=2), axis=2)
        kept, on_y = self.keep_choices[keep], self._assign_to_y(spatial)
        reads_first = self.constraints.reads_first
        return Mappings(
            temporal, spatial, canonical, kept, None, on_y, reads_first if reads_first.any() else None
        )

    def _assign_to_y(self, spatial: Integers) -> Booleans | None:
        """Assign spatial loops to Y by the constraints, else so that they fit; None without a Y axis."""
        if (self.fan_outs[:, 1] == 1).all() and not any(self.constraints.on_y):
            return None
        on_y = np.zeros(spatial.shape, np.bool_)
        for level, (along_x, along_y) in enumerate(self.fan_outs):
            bounds, constraint = spatial[:, level], self.constraints.on_y[level]
            if constraint is not None:  # also where it does not fit, so that the mapping is invalid
                on_y[:, level] = constraint
                continue
            choices = product((False, True), repeat=self.dimensions)
            # a mapping takes the first choice that fits; without one, its loops stay along X
            is_open = np.ones(len(spatial), np.bool_)
            for choice in map(np.array, choices):
                fits = np.where(choice, 1, bounds).prod(axis=1) <= along_x
                fits &= np.where(choice, bounds, 1).prod(axis=1) <= along_y
                on_y[is_open & fits, level] = choice
                is_open &= ~fits
                if not is_open.any():
                    break
        return on_y

    def orders(self, bounds: Integers, limit: int | None = None) -> Iterator[Integers]:
        """Yield the different orders of the temporal loops of one factorisation: each levels x dimensions.

        Args:
            bounds: bounds of the temporal loops: levels x dimensions.
            limit: largest number of orders.
        """
        choices = product(*(self._level_orders(level, bounds[level]) for level in range(self.levels)))
        for number, order in enumerate(choices):
            if number == limit:
                return
            yield np.array(order, np.int64)

    def _level_orders(self, level: int, bounds: Integers) -> list[tuple[int, ...]]:
        """Return the loop orders of a level: constrained loops innermost, single iterations outermost."""
        inner = self.constraints.inner[level]
        free = [
            dimension
            for dimension in range(self.dimensions)
            if dimension not in inner and bounds[dimension] > 1
        ]
        single = [
            dimension
            for dimension in range(self.dimensions)
            if dimension not in inner and bounds[dimension] == 1
        ]
        return [(*inner, *order, *single) for order in permutations(free)]

    def draw(self, random: np.random.Generator, count: int) -> tuple[Integers, Integers, Integers]:
        """Draw the parts of ``count`` mappings, each part independently and with equal probability.

        Every dimension must have a factorisation, see ``impossible``.

        Returns:
            The first two arguments of ``mappings``, and for each mapping an index in ``keep_choices``.
        """
        cut_indices = np.stack([random.integers(0, len(cuts), count) for cuts in self.cuts], axis=1)
        orders = np.stack([self._draw_orders(random, count, level) for level in range(self.levels)], axis=1)
        return cut_indices, orders, random.integers(0, len(self.keep_choices), count)

    def _draw_orders(self, random: np.random.Generator, count: int, level: int) -> Integers:
        """Draw orders of a level's temporal loops, constrained loops innermost: mappings x dimensions."""
        inner = self.constraints.inner[level]
        free = np.array(
            [dimension for dimension in range(self.dimensions) if dimension not in inner], np.int64
        )
        # the order of independent random numbers is a uniformly drawn permutation
        free_order = free[np.argsort(random.random((count, len(free))), axis=1)]
        fixed = np.broadcast_to(np.array(inner, np.int64), (count, len(inner)))
        return np.concatenate([fixed, free_order], axis=1)
