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
from fiberscope.models.tiles.probability import Known, corrs_sum, nonzero, union
from fiberscope.workloads.expressions.expression import Access, Expression, Operation, accesses
from fiberscope.workloads.tiles.metrics import METRICS


def expected_nonzeros(kernel: Kernel, statistics: Known, shape: Shape, options: Options) -> float:
    """Return the expected nonzeros of one visit's partial result, at most the places of its tile.

    A visit is one write of a partial result. The estimate is of the products of one iteration, even if the
    partial result stays in its buffer for several.

    Args:
        kernel: the expression and the order of its loops.
        statistics: statistics of each operand, by name.
        shape: the shape of tiles, by index.
        options: variants of the model.
    """
    places = math.prod(shape[index] for index in kernel.indices[kernel.result])
    return places * _Estimate(kernel, statistics, shape, options).density()


def expected_size(shape: Sequence[int], nonzeros: float, metric: str) -> float:
    """Return the size of a tile with uniformly distributed nonzeros.

    Args:
        shape: the shape of the tile, in storage order.
        nonzeros: expected number of nonzeros, at most the places of the tile.
        metric: name of the metric, which determines the unit.
    """
    places = math.prod(shape)
    fibers = 0.0
    for rank in range(1, len(shape)):
        above = math.prod(shape[:rank])
        fibers += above * (1.0 - (1.0 - nonzeros / places) ** (places // above))
    return float(METRICS[metric].moved(np.asarray(nonzeros), np.asarray(fibers), len(shape)))


def stationary_indices(kernel: Kernel, options: Options) -> tuple[str, ...]:
    """Return the summed indices during whose loops a partial result stays in its buffer."""
    if options.output == "streamed":
        return ()
    inside = kernel.order[kernel.depth(kernel.result) + 1 :]
    return tuple(index for index in inside if index in kernel.contracted)


class _Estimate:
    """The density of a partial result, from the mean density of its operands' tiles or place by place."""

    def __init__(self, kernel: Kernel, statistics: Known, shape: Shape, options: Options) -> None:
        self._kernel, self._statistics, self._shape, self._options = kernel, statistics, shape, options

    def density(self) -> float:
        """Return the mean density over the places of the tile."""
        expression = self._kernel.expression
        if self._options.estimate == "flat":
            return self._flat(expression)
        return float(self._by_place(expression).mean())

    def _flat(self, part: Expression) -> float:
        """Return the density of a part from the mean densities of its tensors, at most 1."""
        union_rule = self._options.union
        if _is_sum(part):
            return union((self._flat(operand) for operand in part.operands), union_rule)
        product = nonzero(part, lambda name: self._statistics[name].pr, union_rule)
        extent = math.prod(self._shape[index] for index in self._summed(part))
        return min(1.0, product * extent / self._overlap(part))

    def _by_place(self, part: Expression) -> Numbers:
        """Return the density by place of a base tile of the result; other tiles repeat or divide it."""
        if _is_sum(part):
            return _union([self._by_place(operand) for operand in part.operands], self._options.union)
        results = self._kernel.stored(self._kernel.result)
        scale = math.prod(self._shape[index] / self._base(part, index) for index in self._summed(part))
        sums = scale * self._product(part, results)
        shares: Numbers = np.minimum(1.0, sums) / self._overlap(part)
        return shares

    def _product(self, part: Expression, output_indices: Sequence[str]) -> Numbers:
        """Multiply shares by place, with the axes of ``output_indices``, and sum over all other indices."""
        order = self._kernel.order
        factors = part.operands if isinstance(part, Operation) else (part,)
        operands: list[object] = []
        for factor in factors:
            axes = [index for index in order if index in self._indices(factor)]
            operands += [self._shares(factor, axes), [order.index(index) for index in axes]]
        kept_indices = [index for index in output_indices if index in self._indices(part)]
        product = np.einsum(*operands, [order.index(index) for index in kept_indices], optimize=True)  # type: ignore[call-overload]
        return np.expand_dims(
            product, tuple(at for at, index in enumerate(output_indices) if index not in kept_indices)
        )

    def _shares(self, part: Expression, axes: Sequence[str]) -> Numbers:
        if isinstance(part, Access):
            return self._statistics[part.tensor].occupied
        assert isinstance(part, Operation)
        if part.operator == "*":
            return self._product(part, axes)
        return _union([self._product(operand, axes) for operand in part.operands], self._options.union)

    def _indices(self, part: Expression) -> set[str]:
        return {index for access in accesses(part) for index in self._kernel.indices[access.tensor]}

    def _summed(self, part: Expression) -> list[str]:
        return [index for index in self._kernel.contracted if index in self._indices(part)]

    def _carrier(self, part: Expression, index: str) -> str:
        """Return the last tensor of a term that has a contracted index: B in A x B."""
        names = (access.tensor for access in accesses(part) if index in self._kernel.indices[access.tensor])
        return list(names)[-1]

    def _base(self, part: Expression, index: str) -> int:
        statistics = self._statistics[self._carrier(part, index)]
        return statistics.tile[statistics.indices.index(index)]

    def _overlap(self, part: Expression) -> float:
        """Return the mean number of products at a place with a product."""
        return math.prod(
            corrs_sum(
                self._statistics[self._carrier(part, index)], index, self._shape[index], self._options.corrs
            )
            for index in self._summed(part)
        )


def _is_sum(part: Expression) -> TypeGuard[Operation]:
    return isinstance(part, Operation) and part.operator != "*"


def _union(parts: Sequence[Numbers], union_rule: str) -> Numbers:
    """Return the union of shares by place; an axis of length 1 broadcasts."""
    if union_rule == "exact":
        return 1.0 - math.prod((1.0 - part for part in parts), start=np.ones(()))
    return np.minimum(1.0, sum(parts, start=np.zeros(())))
