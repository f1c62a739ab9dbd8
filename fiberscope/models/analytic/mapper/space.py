"""The mapspace: all ways to cut dimensions over levels, to order the loops, and to keep the tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.mapper.constraints import Constraints
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.problem import Problem

__all__ = ["Space", "factorisations"]

Whole = NDArray[np.int64]
Truth = NDArray[np.bool_]


def factorisations(number: int, least: Sequence[int], most: Sequence[int]) -> Whole:
    """Return all factorisations of a number into so many factors within bounds: ways x factors."""
    ways: list[tuple[tuple[int, ...], int]] = [((), number)]
    for low, high in zip(least, most, strict=True):
        ways = [
            ((*factors, factor), rest // factor)
            for factors, rest in ways
            for factor in _divisors(rest)
            if low <= factor <= high
        ]
    complete = [factors for factors, rest in ways if rest == 1]
    return np.array(complete, np.int64).reshape(-1, len(least))


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return small + [number // divisor for divisor in reversed(small) if divisor * divisor != number]


class Space:
    """The mappings of a problem on a machine that constraints leave.

    Loops of a single iteration do not exist: mappings that differ in their place are one. A level has spatial
    loops if what is inside it has more instances.

    Attributes:
        cuts: by dimension its factors: ways x (2 x levels), temporal then spatial.
        keeps: what levels keep, each choice levels x tensors.
    """

    def __init__(self, architecture: Architecture, problem: Problem, constraints: Constraints) -> None:
        self.architecture, self.problem, self.constraints = architecture, problem, constraints
        self.levels, self.dimensions = len(architecture.levels), len(problem.dimensions)
        self.fan_outs = self._fan_outs()
        most = constraints.most.copy()
        most[1] = np.minimum(most[1], self.fan_outs.prod(axis=1)[:, None])
        self.cuts = [
            factorisations(
                bound, constraints.least[:, :, at].ravel().tolist(), most[:, :, at].ravel().tolist()
            )
            for at, bound in enumerate(problem.bounds)
        ]
        self.keeps = list(self._keeps())

    def _fan_outs(self) -> Whole:
        """Instances of what is inside a level along X and Y, for each of its own: levels x 2."""
        units: list[Level | Compute] = [*self.architecture.levels, self.architecture.compute]
        meshes = np.array([unit.mesh for unit in units])
        across = meshes[1:] // meshes[:-1]
        whole = meshes.prod(axis=1)[1:] // meshes.prod(axis=1)[:-1]
        uneven = across.prod(axis=1) != whole  # meshes that do not nest: counted along X alone
        return np.where(uneven[:, None], np.stack([whole, np.ones_like(whole)], axis=1), across)

    def _keeps(self) -> Iterator[Truth]:
        free = np.argwhere(self.constraints.keep < 0)
        for choice in product((True, False), repeat=len(free)):
            keep = self.constraints.keep > 0
            keep[tuple(free.T)] = choice
            yield keep

    @cached_property
    def size(self) -> int:
        """Mappings at the most, those counted apart that differ in the place of loops of one iteration."""
        orders = prod(factorial(self.dimensions - len(inner)) for inner in self.constraints.inner)
        return prod(len(cuts) for cuts in self.cuts) * orders * len(self.keeps)

    @property
    def impossible(self) -> str:
        """The first dimension that no loops can make, empty if there is none."""
        for name, cuts in zip(self.problem.dimensions, self.cuts, strict=True):
            if not len(cuts):
                return name
        return ""

    def mappings(self, places: Whole, orders: Whole, keep: int) -> Mappings:
        """Mappings by what they consist of, each with its loops of one iteration outermost.

        Args:
            places: in ``cuts``: mappings x dimensions.
            orders: of the temporal loops, dimensions inner to outer: mappings x levels x dimensions.
            keep: place in ``keeps``.
        """
        bounds = np.stack([cuts[places[:, at]] for at, cuts in enumerate(self.cuts)], axis=2)
        temporal, spatial = bounds[:, : self.levels], bounds[:, self.levels :]
        single = np.take_along_axis(temporal, orders, axis=2) == 1
        rank = np.where(single, self.dimensions + orders, np.arange(self.dimensions))
        canonical = np.take_along_axis(orders, np.argsort(rank, axis=2), axis=2)
        return Mappings(temporal, spatial, canonical, self.keeps[keep], None, self._along_y(spatial))

    def _along_y(self, spatial: Whole) -> Truth | None:
        """Put spatial loops along Y so that they fit if they can: as ``spatial``; None if no mesh has a Y."""
        if (self.fan_outs[:, 1] == 1).all() and not any(self.constraints.on_y):
            return None
        chosen = np.zeros(spatial.shape, np.bool_)
        for level, (along_x, along_y) in enumerate(self.fan_outs):
            bounds, demanded = spatial[:, level], self.constraints.on_y[level]
            choices = [demanded] if demanded else product((False, True), repeat=self.dimensions)
            open_yet = np.ones(len(spatial), np.bool_)
            for choice in map(np.array, choices):
                fits = np.where(choice, 1, bounds).prod(axis=1) <= along_x
                fits &= np.where(choice, bounds, 1).prod(axis=1) <= along_y
                chosen[open_yet & fits, level] = choice
                open_yet &= ~fits
                if not open_yet.any():
                    break
        return chosen

    def orders(self, cut: Whole, most: int | None = None) -> Iterator[Whole]:
        """The orders of the temporal loops that differ, for one cut: each levels x dimensions.

        Args:
            cut: bounds of the temporal loops: levels x dimensions.
            most: orders at the most.
        """
        choices = product(*(self._level_orders(level, cut[level]) for level in range(self.levels)))
        for number, order in enumerate(choices):
            if number == most:
                return
            yield np.array(order, np.int64)

    def _level_orders(self, level: int, bounds: Whole) -> list[tuple[int, ...]]:
        """Yield the loop orders of a level: demanded loops innermost, trivial loops last."""
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

    def draw(self, random: np.random.Generator, count: int) -> tuple[Whole, Whole, Whole]:
        """Places, orders and keeps of mappings drawn with equal chance, as ``mappings`` takes them."""
        places = np.stack([random.integers(0, len(cuts), count) for cuts in self.cuts], axis=1)
        orders = np.stack([self._draw_orders(random, count, level) for level in range(self.levels)], axis=1)
        return places, orders, random.integers(0, len(self.keeps), count)

    def _draw_orders(self, random: np.random.Generator, count: int, level: int) -> Whole:
        inner = self.constraints.inner[level]
        free = np.array(
            [dimension for dimension in range(self.dimensions) if dimension not in inner], np.int64
        )
        drawn = free[np.argsort(random.random((count, len(free))), axis=1)]
        fixed = np.broadcast_to(np.array(inner, np.int64), (count, len(inner)))
        return np.concatenate([fixed, drawn], axis=1)
