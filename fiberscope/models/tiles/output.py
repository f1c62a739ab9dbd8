"""Expected nonzeros of a partial result, and the expected size of its tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from fiberscope.models.tiles.base import Shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.overlaps import Numbers
from fiberscope.models.tiles.probability import (
    StatisticsByName,
    compute_nonzero_probability,
    compute_union_probability,
    sum_corrs,
)
from fiberscope.workloads.expressions.expression import Access, Expression, Operation, accesses
from fiberscope.workloads.tiles.metrics import METRICS


def expect_nonzeros(kernel: Kernel, statistics: StatisticsByName, shape: Shape, options: Options) -> float:
    """Return the expected nonzeros of one visit's partial result, at most the positions of its tile.

    A visit is one write of a partial result. The estimate is of the products of one iteration, even if the
    partial result stays in its buffer for several.

    Args:
        kernel: the expression and the order of its loops.
        statistics: statistics of each operand, by name.
        shape: the shape of tiles, by index.
        options: variants of the model.
    """
    positions = math.prod(shape[index] for index in kernel.indices[kernel.result])
    return positions * _Estimate(kernel, statistics, shape, options).density()


def expect_size(shape: Sequence[int], nonzeros: float, metric: str) -> float:
    """Return the traffic of one fetch of a tile with uniformly distributed nonzeros.

    The nonzeros are taken as independent: a fiber with n positions exists with probability 1 - (1 - d)^n, for
    the density d of the tile.

    Args:
        shape: the shape of the tile, in storage order.
        nonzeros: expected number of nonzeros, at most the positions of the tile.
        metric: name of the metric, which determines the unit.
    """
    positions = math.prod(shape)
    fibers = 0.0
    for rank in range(1, len(shape)):
        max_fibers = math.prod(shape[:rank])  # each spans the positions of the ranks from ``rank`` on
        fibers += max_fibers * (1.0 - (1.0 - nonzeros / positions) ** (positions // max_fibers))
    return float(METRICS[metric].fetched(np.asarray(nonzeros), np.asarray(fibers), len(shape)))


def list_stationary_indices(kernel: Kernel, options: Options) -> tuple[str, ...]:
    """Return the summed indices during whose loops a partial result stays in its buffer."""
    if options.output == "streamed":
        return ()
    # a summed loop around a loop over the result visits every tile of the result in each of its iterations
    inside = kernel.order[kernel.depth(kernel.result) + 1 :]
    return tuple(index for index in inside if index in kernel.contracted)


class _Estimate:
    """The density of a partial result, from the mean densities of its operands' tiles, or by position."""

    def __init__(self, kernel: Kernel, statistics: StatisticsByName, shape: Shape, options: Options) -> None:
        self._kernel, self._statistics, self._shape, self._options = kernel, statistics, shape, options

    def density(self) -> float:
        """Return the mean density over the positions of the tile."""
        expression = self._kernel.expression
        if self._options.estimate == "flat":
            return self._compute_mean_density(expression)
        return float(self._compute_density_by_position(expression).mean())

    def _compute_mean_density(self, term: Expression) -> float:
        """Return the density of a term from the mean densities of its tensors, at most 1."""
        union_rule = self._options.union
        if _is_sum(term):
            return compute_union_probability(
                (self._compute_mean_density(operand) for operand in term.operands), union_rule
            )
        product = compute_nonzero_probability(term, lambda name: self._statistics[name].pr, union_rule)
        # expected products at a position, over the mean number of products at a position with any
        extent = math.prod(self._shape[index] for index in self._list_summed_indices(term))
        return min(1.0, product * extent / self._overlap(term))

    def _compute_density_by_position(self, term: Expression) -> Numbers:
        """Return the density by position in a base tile of the result; other tiles repeat or divide it."""
        if _is_sum(term):
            return _unite_shares(
                [self._compute_density_by_position(operand) for operand in term.operands], self._options.union
            )
        results = self._kernel.list_stored_indices(self._kernel.result)
        # statistics are of base tiles: a longer summed index has proportionally more products at a position
        scale = math.prod(
            self._shape[index] / self._find_base_extent(term, index)
            for index in self._list_summed_indices(term)
        )
        sums = scale * self._multiply_shares(term, results)
        shares: Numbers = np.minimum(1.0, sums / self._overlap(term))
        return shares

    def _multiply_shares(self, term: Expression, output_indices: Sequence[str]) -> Numbers:
        """Multiply shares by position, with the axes of ``output_indices``; sum over all other indices."""
        order = self._kernel.order  # ``einsum`` names an axis by the number of its loop
        factors = term.operands if isinstance(term, Operation) else (term,)
        operands: list[object] = []
        for factor in factors:
            axes = [index for index in order if index in self._list_indices(factor)]
            operands += [self._compute_shares(factor, axes), [order.index(index) for index in axes]]
        kept_indices = [index for index in output_indices if index in self._list_indices(term)]
        product = np.einsum(*operands, [order.index(index) for index in kept_indices], optimize=True)  # type: ignore[call-overload]
        # a term without an index of the result has the same share along it: an axis of length 1
        missing_axes = tuple(axis for axis, index in enumerate(output_indices) if index not in kept_indices)
        return np.expand_dims(product, missing_axes)

    def _compute_shares(self, term: Expression, axes: Sequence[str]) -> Numbers:
        """Return the shares of a factor by position; ``axes`` are its indices in loop order."""
        if isinstance(term, Access):
            return self._statistics[term.tensor].occupied
        assert isinstance(term, Operation)
        if term.operator == "*":
            return self._multiply_shares(term, axes)
        return _unite_shares(
            [self._multiply_shares(operand, axes) for operand in term.operands], self._options.union
        )

    def _list_indices(self, term: Expression) -> set[str]:
        """Return the indices of all tensors of a term."""
        return {index for access in accesses(term) for index in self._kernel.indices[access.tensor]}

    def _list_summed_indices(self, term: Expression) -> list[str]:
        return [index for index in self._kernel.contracted if index in self._list_indices(term)]

    def _find_carrier(self, term: Expression, index: str) -> str:
        """Return the last tensor of a term that has a contracted index: B in A x B."""
        names = (access.tensor for access in accesses(term) if index in self._kernel.indices[access.tensor])
        return list(names)[-1]

    def _find_base_extent(self, term: Expression, index: str) -> int:
        statistics = self._statistics[self._find_carrier(term, index)]
        return statistics.tile[statistics.indices.index(index)]

    def _overlap(self, term: Expression) -> float:
        """Return the mean number of products at a position with a product."""
        return math.prod(
            sum_corrs(
                self._statistics[self._find_carrier(term, index)],
                index,
                self._shape[index],
                self._options.corrs,
            )
            for index in self._list_summed_indices(term)
        )


def _is_sum(term: Expression) -> TypeGuard[Operation]:
    return isinstance(term, Operation) and term.operator != "*"


def _unite_shares(shares: Sequence[Numbers], union_rule: str) -> Numbers:
    """Return the union of shares by position; see ``compute_union_probability``.

    An axis of length 1 broadcasts.
    """
    if union_rule == "exact":
        return 1.0 - math.prod((1.0 - share for share in shares), start=np.ones(()))
    return np.minimum(1.0, sum(shares, start=np.zeros(())))
