"""The probability that an expression has something, from those of its tensors, taken as independent.

Of a product all factors must have something, of a sum any summand.

Source: D2T2 (MICRO 2025), Sections 4.2.1 and 4.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, TypeAlias

from fiberscope.models.tiles.statistics import Statistics
from fiberscope.workloads.expressions.expression import Access, Expression, Operation, accesses

__all__ = ["Known", "Union", "beginning", "nonzero", "rest", "union"]

Known: TypeAlias = Mapping[str, Statistics]
Union: TypeAlias = Literal["sum", "exact"]


def union(probabilities: Iterable[float], how: Union) -> float:
    """That any is: their sum, at most 1, or that of independent ones."""
    if how == "exact":
        return 1.0 - math.prod(1.0 - one for one in probabilities)
    return min(1.0, sum(probabilities))


def nonzero(expression: Expression, of: Callable[[str], float], how: Union) -> float:
    """That an expression has something, by what each of its tensors has."""
    if isinstance(expression, Access):
        return of(expression.tensor)
    assert isinstance(expression, Operation)
    parts = [nonzero(part, of, how) for part in expression.operands]
    return math.prod(parts) if expression.operator == "*" else union(parts, how)


def beginning(statistics: Statistics, bound: Collection[str]) -> float:
    """That a tensor has tiles at given outer coordinates of those of its indices that are bound."""
    return math.prod(
        share
        for index, share in zip(statistics.indices, statistics.pr_tile_index, strict=True)
        if index in bound
    )


def rest(expression: Expression, tensor: str, bound: Collection[str], known: Known, how: Union) -> float:
    """That an expression may still have something where one of its tensors has, once ``bound`` are given."""
    if isinstance(expression, Access):
        return 1.0
    assert isinstance(expression, Operation)
    (own,) = (part for part in expression.operands if tensor in {one.tensor for one in accesses(part)})
    inside = rest(own, tensor, bound, known, how)
    if expression.operator != "*":
        return inside
    others = (part for part in expression.operands if part is not own)
    return inside * math.prod(
        nonzero(part, lambda name: beginning(known[name], bound), how) for part in others
    )
