"""The probability that an expression has something, and sums of Corrs and TileCorrs as they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from fiberscope.models.tiles.overlaps import Numbers
from fiberscope.models.tiles.statistics import Statistics
from fiberscope.workloads.expressions.expression import Access, Expression, Operation, accesses

__all__ = [
    "Known",
    "Union",
    "beginning",
    "corrs",
    "corrs_sum",
    "nonzero",
    "partial_sum",
    "rest",
    "tile_corrs",
    "union",
]

Known: TypeAlias = Mapping[str, Statistics]
Union: TypeAlias = Literal["sum", "exact"]


def corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """Corrs of a contracted index by distance inside of a base tile."""
    by_reading = statistics.corrs[index]
    return _unparted(by_reading["pooled"]) if reading == "unbiased" else by_reading[reading]


def tile_corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """TileCorrs of an index by distance in the grid."""
    by_reading = statistics.tile_corrs[index]
    return _unparted(by_reading["slice"]) if reading == "unbiased" else by_reading[reading]


def corrs_sum(statistics: Statistics, index: str, extent: int, reading: str) -> float:
    """Return how many coordinates of an extent have what one has; no more beyond the base tile's."""
    return float(corrs(statistics, index, reading)[:extent].sum())


def partial_sum(terms: Numbers, number: float) -> float:
    """Return the sum of the first ``number`` terms; of a part of a term, that part."""
    whole = math.floor(number)
    part = float(terms[whole]) if whole < len(terms) else 0.0
    return float(terms[:whole].sum()) + (number - whole) * part


def _unparted(terms: Numbers) -> Numbers:
    """Weight each distance by the number of pairs within the edge: of n places, n - s are s apart."""
    number = len(terms)
    return terms * number / (number - np.arange(number))


def union(probabilities: Iterable[float], how: Union) -> float:
    """Return the probability of any: their sum, at most 1, or that of independent ones."""
    if how == "exact":
        return 1.0 - math.prod(1.0 - probability for probability in probabilities)
    return min(1.0, sum(probabilities))


def nonzero(expression: Expression, of: Callable[[str], float], how: Union) -> float:
    """Return the probability that an expression has a nonzero, by that of each of its tensors."""
    if isinstance(expression, Access):
        return of(expression.tensor)
    assert isinstance(expression, Operation)
    parts = [nonzero(part, of, how) for part in expression.operands]
    return math.prod(parts) if expression.operator == "*" else union(parts, how)


def beginning(statistics: Statistics, bound: Collection[str]) -> float:
    """Return the probability that a tensor has tiles at given outer coordinates of its bound indices."""
    return math.prod(
        share
        for index, share in zip(statistics.indices, statistics.pr_tile_index, strict=True)
        if index in bound
    )


def rest(expression: Expression, tensor: str, bound: Collection[str], statistics: Known, how: Union) -> float:
    """Return the probability that an expression has a nonzero beside one of its tensors, given ``bound``."""
    if isinstance(expression, Access):
        return 1.0
    assert isinstance(expression, Operation)
    (own,) = (part for part in expression.operands if tensor in {access.tensor for access in accesses(part)})
    inside = rest(own, tensor, bound, statistics, how)
    if expression.operator != "*":
        return inside
    others = (part for part in expression.operands if part is not own)
    return inside * math.prod(
        nonzero(part, lambda name: beginning(statistics[name], bound), how) for part in others
    )
