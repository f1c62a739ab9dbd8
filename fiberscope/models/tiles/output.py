"""Expected nonzeros of a partial result, and the size of a tile with so many."""

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

__all__ = ["expected_nonzeros", "expected_size", "kept_over"]


def expected_nonzeros(kernel: Kernel, statistics: Known, shape: Shape, options: Options) -> float:
    """Return the expected nonzeros of one visit's partial result; at most the places of its tile."""
    places = math.prod(shape[index] for index in kernel.indices[kernel.result])
    return places * _Estimate(kernel, statistics, shape, options).density()


def expected_size(shape: Sequence[int], nonzeros: float, metric: str) -> float:
    """Return the size of a tile with so many nonzeros, spread evenly.

    Args:
        shape: the shape of the tile, in storage order.
        nonzeros: expected.
        metric: the metric of its size.
    """
    places = math.prod(shape)
    fibers = 0.0
    for rank in range(1, len(shape)):
        above = math.prod(shape[:rank])
        fibers += above * (1.0 - (1.0 - nonzeros / places) ** (places // above))
    return float(METRICS[metric].moved(np.asarray(nonzeros), np.asarray(fibers), len(shape)))


def kept_over(kernel: Kernel, options: Options) -> tuple[str, ...]:
    """The summed indices over which a partial result stays in its buffer: of loops inside of its own."""
    if options.output == "streamed":
        return ()
    inside = kernel.order[kernel.depth(kernel.result) + 1 :]
    return tuple(index for index in inside if index in kernel.contracted)


class _Estimate:
    """The density of a partial result, by the mean density of its operands' tiles or place by place."""

    def __init__(self, kernel: Kernel, statistics: Known, shape: Shape, options: Options) -> None:
        self._kernel, self._statistics, self._shape, self._options = kernel, statistics, shape, options

    def density(self) -> float:
        """Averaged over the places of the tile."""
        expression = self._kernel.expression
        if self._options.estimate == "flat":
            return self._flat(expression)
        return float(self._by_place(expression).mean())

    def _flat(self, part: Expression) -> float:
        """Sums at the top are of terms that are summed over their own indices, each at most 1."""
        how = self._options.union
        if _adds(part):
            return union((self._flat(operand) for operand in part.operands), how)
        product = nonzero(part, lambda name: self._statistics[name].pr, how)
        extent = math.prod(self._shape[index] for index in self._summed(part))
        return min(1.0, product * extent / self._overlap(part))

    def _by_place(self, part: Expression) -> Numbers:
        """Return a value by place of a base tile of the result; other tiles repeat or divide it."""
        if _adds(part):
            return _union([self._by_place(operand) for operand in part.operands], self._options.union)
        results = self._kernel.stored(self._kernel.result)
        scale = math.prod(self._shape[index] / self._base(part, index) for index in self._summed(part))
        sums = scale * self._product(part, results)
        shares: Numbers = np.minimum(1.0, sums) / self._overlap(part)
        return shares

    def _product(self, part: Expression, kept: Sequence[str]) -> Numbers:
        """Multiply shares by place, with the axes of ``kept``; sum over all other indices."""
        order = self._kernel.order
        factors = part.operands if isinstance(part, Operation) else (part,)
        operands: list[object] = []
        for factor in factors:
            axes = [index for index in order if index in self._indices(factor)]
            operands += [self._shares(factor, axes), [order.index(index) for index in axes]]
        have = [index for index in kept if index in self._indices(part)]
        product = np.einsum(*operands, [order.index(index) for index in have], optimize=True)  # type: ignore[call-overload]
        return np.expand_dims(product, tuple(at for at, index in enumerate(kept) if index not in have))

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
        """The last tensor of a term that has a contracted index: of A x B, B."""
        names = (access.tensor for access in accesses(part) if index in self._kernel.indices[access.tensor])
        return list(names)[-1]

    def _base(self, part: Expression, index: str) -> int:
        statistics = self._statistics[self._carrier(part, index)]
        return statistics.tile[statistics.indices.index(index)]

    def _overlap(self, part: Expression) -> float:
        """Return the mean number of products at a place that has a product."""
        return math.prod(
            corrs_sum(
                self._statistics[self._carrier(part, index)], index, self._shape[index], self._options.corrs
            )
            for index in self._summed(part)
        )


def _adds(part: Expression) -> TypeGuard[Operation]:
    return isinstance(part, Operation) and part.operator != "*"


def _union(parts: Sequence[Numbers], how: str) -> Numbers:
    """Return the union of shares by place; an axis of one place stands for all."""
    if how == "exact":
        return 1.0 - math.prod((1.0 - part for part in parts), start=np.ones(()))
    return np.minimum(1.0, sum(parts, start=np.zeros(())))
