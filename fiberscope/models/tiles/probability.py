"""Probabilities that an expression has a nonzero, and sums of Corrs and TileCorrs in each variant.

Corrs and TileCorrs are correlations of nonzeros and of tiles by distance, see ``Statistics``. The paper
leaves details open, so each of them exists in several variants. A ``reading`` is the name of a variant. The
variant ``unbiased`` is computed here.

Source: D2T2 (MICRO 2025), Sections 4.2 to 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from fiberscope.models.tiles.overlaps import Numbers
from fiberscope.models.tiles.statistics import Statistics
from fiberscope.workloads.expressions.expression import Access, Expression, Operation, accesses

StatisticsByName: TypeAlias = Mapping[str, Statistics]  # statistics of each operand, by name
UnionRule: TypeAlias = Literal["sum", "exact"]


def compute_corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """Return Corrs of a contracted index by distance inside of a base tile.

    Args:
        statistics: statistics of a tensor.
        index: a summed index of the tensor; other indices have no Corrs.
        reading: ``pooled``, ``per_tile``, or ``unbiased`` for ``pooled`` without the effect of tile edges.
    """
    by_reading = statistics.corrs[index]
    return _remove_edge_bias(by_reading["pooled"]) if reading == "unbiased" else by_reading[reading]


def tile_corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """Return TileCorrs of an index by distance in the grid of tiles.

    Args:
        statistics: statistics of a tensor.
        index: an index of the tensor.
        reading: ``slice``, ``pooled``, or ``unbiased`` for ``slice`` without the effect of the grid's edge.
    """
    by_reading = statistics.tile_corrs[index]
    return _remove_edge_bias(by_reading["slice"]) if reading == "unbiased" else by_reading[reading]


def sum_corrs(statistics: Statistics, index: str, extent: int, reading: str) -> float:
    """Return the sum of Corrs over an extent; distances beyond the base tile add nothing."""
    return float(compute_corrs(statistics, index, reading)[:extent].sum())


def sum_first_terms(terms: Numbers, term_count: float) -> float:
    """Return the sum of the first ``term_count`` terms; a fraction counts the next term in part.

    Terms beyond the last one count as 0.
    """
    full_terms = math.floor(term_count)
    next_term = float(terms[full_terms]) if full_terms < len(terms) else 0.0
    return float(terms[:full_terms].sum()) + (term_count - full_terms) * next_term


def _remove_edge_bias(terms: Numbers) -> Numbers:
    """Weight each distance s by n / (n - s), as only n - s of n positions have a partner within the edge."""
    distance_count = len(terms)
    return terms * distance_count / (distance_count - np.arange(distance_count))


def compute_union_probability(probabilities: Iterable[float], union_rule: UnionRule) -> float:
    """Return the probability of a union: the sum, at most 1, or with ``exact`` of independent events.

    A union of no events has the probability 0.
    """
    if union_rule == "exact":
        return 1.0 - math.prod(1.0 - probability for probability in probabilities)
    return min(1.0, sum(probabilities))


def compute_nonzero_probability(
    expression: Expression, probability: Callable[[str], float], union_rule: UnionRule
) -> float:
    """Return the probability that an expression has a nonzero, from the probabilities of its tensors.

    Args:
        expression: products, sums and differences of tensors, which are taken as independent. A difference
            counts as a sum.
        probability: returns the probability of a tensor, by its name.
        union_rule: how probabilities of a sum are combined, see ``compute_union_probability``.
    """
    if isinstance(expression, Access):
        return probability(expression.tensor)
    # ``Kernel`` refuses expressions other than sums, differences and products of tensors
    assert isinstance(expression, Operation)
    operands = [
        compute_nonzero_probability(operand, probability, union_rule) for operand in expression.operands
    ]
    return (
        math.prod(operands) if expression.operator == "*" else compute_union_probability(operands, union_rule)
    )


def tile_probability(statistics: Statistics, bound: Collection[str]) -> float:
    """Return the probability that a tensor has tiles at given outer coordinates of its bound indices.

    The shares of the bound indices are multiplied as if they were independent; without one, the result is 1.
    """
    return math.prod(
        share
        for index, share in zip(statistics.indices, statistics.pr_tile_index, strict=True)
        if index in bound
    )


def compute_partner_probability(
    expression: Expression,
    tensor: str,
    bound: Collection[str],
    statistics: StatisticsByName,
    union_rule: UnionRule,
) -> float:
    """Return the probability that the other factors of a tensor's product have a nonzero.

    The factors of all products that contain the tensor count; other terms of sums do not. The result is 1 for
    a tensor that is multiplied by nothing.

    Args:
        expression: the expression, in which the tensor occurs once.
        tensor: name of the tensor.
        bound: indices whose outer coordinates are given.
        statistics: statistics of each tensor, by name.
        union_rule: see ``compute_union_probability``.
    """
    if isinstance(expression, Access):
        return 1.0
    assert isinstance(expression, Operation)
    # a single operand, because the tensor occurs once
    (own_factor,) = (
        factor for factor in expression.operands if tensor in {access.tensor for access in accesses(factor)}
    )
    partner_share = compute_partner_probability(own_factor, tensor, bound, statistics, union_rule)
    # the other terms of a sum do not restrict the tensor
    if expression.operator != "*":
        return partner_share
    return partner_share * math.prod(
        compute_nonzero_probability(
            factor, lambda name: tile_probability(statistics[name], bound), union_rule
        )
        for factor in expression.operands
        if factor is not own_factor
    )
