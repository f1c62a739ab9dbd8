"""Verification of a loop nest's output against an independent evaluation of its Einsum.

An iteration space that is too large for an evaluation of every point is checked by random projections of
expected and actual output. Every coordinate of the output, except those of its first rank, has a random
weight. The weighted sums are compared for each coordinate of the first rank. Sums over a rank of a single
tensor are evaluated first, so that the cost is about that of reading the tensors. A wrong value passes only
if the weighted errors cancel.

Source: Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.program import CHOICES, TRUTHS
from fiberscope.models.trace.reference import (
    Computation,
    Floats,
    has_reduction,
    point_by_point,
    reduce_points,
)
from fiberscope.models.trace.specification import OPERATORS, Einsum
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import (
    Access,
    Expression,
    Operation,
    Take,
    accesses,
    iterate_operators,
)
from fiberscope.workloads.expressions.points import Points, number_points
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tree_blocks import blocks
from fiberscope.workloads.verification import DOUBLE_LIMITS, Comparison, Rounding, compare_values

SEED = 0  # fixed, so that a run gives the same error each time
UNCHECKED = "none"  # reference of an output that was not compared
MAX_POINTS = 1 << 22  # largest iteration space with an evaluation of every point


@dataclass(frozen=True)
class Term:
    """A product of tensors, with its sign.

    Args:
        factors: the tensors.
        sign: 1 or -1.
        copied_factor: of a take, the index of the factor whose values count; of other factors only presence
            counts.
        is_distinct: whether the term counts once at a point of the output, however many points reduce to it.
    """

    factors: tuple[Access, ...]
    sign: int
    copied_factor: int | None = None
    is_distinct: bool = False


def can_project(einsum: Einsum) -> bool:
    """Return whether projections can check an Einsum: a sum of products of tensors, or a take.

    Operators must have their default functions, and the output at least one rank. Every term must have all
    ranks of the Einsum, with plain indices. A term that counts once (``Term.is_distinct``) must have each
    rank that it does not count in one factor only.
    """
    equation = einsum.computed
    operators = {*iterate_operators(equation.expression), *("+" if has_reduction(einsum) else "")}
    if any(einsum.operators[operator] != OPERATORS[operator] for operator in operators & set(OPERATORS)):
        return False
    terms = _split_terms(equation.expression, 1, equation.output)
    if terms is None or not _is_plain(equation.output) or not equation.output.indices:
        return False
    return all(_can_project_term(term, einsum) for term in terms)


def _can_project_term(term: Term, einsum: Einsum) -> bool:
    """Return whether a term has all ranks with plain indices, and each uncounted rank in one tensor."""
    if not all(_is_plain(factor) for factor in term.factors):
        return False
    ranks = [rank for factor in term.factors for rank in factor.ranks]
    unshared = {rank for rank in ranks if ranks.count(rank) == 1}
    return set(ranks) == set(einsum.ranks) and _find_uncounted_ranks(term, einsum) <= unshared


def _find_uncounted_ranks(term: Term, einsum: Einsum) -> set[str]:
    """Return the reduced ranks whose points a term does not count: all if it is distinct, else none."""
    return set(einsum.ranks) - set(einsum.computed.output.ranks) if term.is_distinct else set()


def _is_plain(access: Access) -> bool:
    """Return whether each index is a single rank, and no rank occurs twice."""
    ranks = [index.rank for index in access.indices]
    return None not in ranks and len(set(ranks)) == len(ranks)


def _split_terms(expression: Expression, sign: int, output: Access) -> list[Term] | None:
    """Return an expression as signed terms of factors; None if it is no sum of products."""
    if isinstance(expression, Access):
        return [Term((expression,), sign)]
    if not isinstance(expression, Operation | Take):
        return None
    if isinstance(expression, Operation) and expression.operator != "*":
        return _sum_terms(expression, sign, output)
    if not all(isinstance(operand, Access) for operand in expression.operands):
        return None
    factors = tuple(accesses(expression))
    if isinstance(expression, Operation):
        return [Term(factors, sign)]
    # A take copies one value. If no reduced rank is in its tensor, all points that reduce to an output point
    # copy the same value, which therefore must not be summed.
    reduced = {rank for factor in factors for rank in factor.ranks} - set(output.ranks)
    is_distinct = bool(reduced) and not reduced & set(factors[expression.selected].ranks)
    return [Term(factors, sign, expression.selected, is_distinct)]


def _sum_terms(expression: Operation, sign: int, output: Access) -> list[Term] | None:
    """Return the terms of a sum or difference; None if an operand is no sum of products."""
    if any(isinstance(operand, Take) for operand in expression.operands):
        return None
    first_is_negative = len(expression.operands) == 1  # a unary minus
    terms: list[Term] = []
    for number, operand in enumerate(expression.operands):
        negative = expression.operator == "-" and (number > 0 or first_is_negative)
        summands = _split_terms(operand, -sign if negative else sign, output)
        if summands is None:
            return None
        terms += summands
    return terms


def project_outputs(work: Computation, output: FiberTree) -> tuple[Floats, Floats, Floats]:
    """Return the projections of the expected and the actual output, and the sums of absolute values.

    Args:
        work: an Einsum for which ``can_project`` is true, and its inputs.
        output: with the ranks of its declaration.

    Returns:
        Three arrays with an element for each coordinate of the output's first rank.
    """
    first_rank, *other_ranks = work.equation.output.ranks
    generator = np.random.default_rng(SEED)
    # Weights from 0.5 on, so that no weight hides the error of a value
    weights = {rank: generator.uniform(0.5, 1.5, work.shapes[rank]) for rank in other_ranks}
    projection = _Projection(work, weights, first_rank)
    expected, sizes = np.zeros(work.shapes[first_rank]), np.zeros(work.shapes[first_rank])
    for term in _split_terms(work.equation.expression, 1, work.equation.output) or []:
        values, reach = projection.project_term(term)
        expected += values
        sizes += reach
    sums = np.zeros(work.shapes[first_rank])
    for block in blocks(output):
        table = projection.apply_weights(projection.table(work.equation.output, block), set(other_ranks))
        sums += projection.project_table(table)[0]
    return expected, sums, sizes


@dataclass(frozen=True)
class _Projection:
    """Projection of a tensor to its first output rank, with random weights for the other ranks."""

    work: Computation
    weights: Mapping[str, Floats]
    first_rank: str

    def table(self, access: Access, tree: FiberTree) -> Points:
        """Return a tensor's elements with the rank names of an equation."""
        coordinates, values = tree.to_coo()
        declared = self.work.specification.tensors[access.tensor].ranks
        columns = {rank: coordinates[name] for rank, name in zip(access.ranks, declared, strict=True)}
        return Points.from_columns(columns, values.astype(np.float64, copy=False))

    def apply_weights(self, table: Points, ranks: set[str]) -> Points:
        """Multiply a table by the weights of some of its ranks."""
        # one array for both means that no value is negative; weights are positive, and keep it so
        values, sizes, positive = table.values, table.sizes, table.values is table.sizes
        for rank in ranks & set(table.columns) & set(self.weights):
            factor = self.weights[rank][table.columns[rank]]
            values = values * factor
            sizes = values if positive else sizes * factor
        return Points(table.columns, values, sizes)

    def sum_over_others(self, table: Points, ranks: Sequence[str]) -> Points:
        """Sum a table over all other ranks."""
        return table if set(ranks) == set(table.columns) else table.sum_equal(ranks, self.work.shapes)

    def project_table(self, table: Points) -> tuple[Floats, Floats]:
        """Return the sums of values and of absolute values by the output's first rank."""
        coordinates, count = table.columns[self.first_rank], self.work.shapes[self.first_rank]
        values = np.bincount(coordinates, table.values, count).astype(np.float64)
        if table.sizes is table.values:
            return values, values
        return values, np.bincount(coordinates, table.sizes, count).astype(np.float64)

    def project_term(self, term: Term) -> tuple[Floats, Floats]:
        """Return the projections of a term's values, with its sign, and of its absolute values."""
        tables = [self._sum_weighted_factor(term, number) for number in range(len(term.factors))]
        product = tables[0]
        for number, table in enumerate(tables[1:], start=1):
            ranks = dict.fromkeys([*product.columns, *table.columns])
            later_ranks = {rank for factor in tables[number + 1 :] for rank in factor.columns}
            product = product.join(table, self.work.shapes)
            # ranks that no later factor has are summed at once, so that the product stays small
            product = self.sum_over_others(
                product, [rank for rank in ranks if rank == self.first_rank or rank in later_ranks]
            )
        values, sizes = self.project_table(product)
        return term.sign * values, sizes

    def _sum_weighted_factor(self, term: Term, number: int) -> Points:
        """Return a weighted factor, summed block by block over the ranks that no other factor has."""
        access = term.factors[number]
        tree = self.work.tensors[access.tensor]
        # Blocks would count a point of an uncounted rank several times
        is_indivisible = not _find_uncounted_ranks(term, self.work.einsum).isdisjoint(access.ranks)
        trees = [tree] if is_indivisible else blocks(tree)
        tables = [self._weigh_block(term, number, self.table(access, block)) for block in trees]
        return Points.concatenate(tables)

    def _weigh_block(self, term: Term, number: int, table: Points) -> Points:
        """Return the contribution of a block; the first factor with a rank applies the rank's weights."""
        if term.copied_factor is not None and number != term.copied_factor:
            table = Points.from_columns(table.columns, np.ones(len(table)))
        uncounted = _find_uncounted_ranks(term, self.work.einsum) & set(table.columns)
        if uncounted:
            sums = self.sum_over_others(table, [rank for rank in table.columns if rank not in uncounted])
            table = Points.from_columns(sums.columns, np.ones(len(sums)))
        earlier = {rank for factor in term.factors[:number] for rank in factor.ranks}
        later = {rank for factor in term.factors[number + 1 :] for rank in factor.ranks}
        table = self.apply_weights(table, set(table.columns) - earlier)
        shared = earlier | later | {self.first_rank}
        return self.sum_over_others(table, [rank for rank in table.columns if rank in shared])


@dataclass(frozen=True, kw_only=True)
class Verification(Comparison):
    """Comparison of an Einsum's output with its reference; an output without a reference passes.

    Args:
        einsum: its name.
        reference: description of the reference; ``UNCHECKED`` if no evaluation was feasible.
    """

    einsum: str
    reference: str


def verify(work: Computation, output: FiberTree, rounding: Rounding = DOUBLE_LIMITS) -> Verification:
    """Compare the output of an Einsum with its reference; without a feasible reference, the output passes.

    Up to ``MAX_POINTS`` points every point is evaluated. Larger iteration spaces need ``can_project``. An
    output that passes without a comparison has the reference ``UNCHECKED``.

    Args:
        work: the Einsum and its inputs.
        output: with the ranks of its declaration.
        rounding: the rounding of the values' type, which determines overflows.
    """
    einsum = work.einsum
    if math.prod(work.shapes[rank] for rank in einsum.ranks) <= MAX_POINTS:
        comparison, reference = _compare_points(work, output, rounding), "an evaluation of every point"
    elif can_project(einsum):
        comparison, reference = _compare_sums(*project_outputs(work, output), rounding), "random projections"
    else:
        comparison, reference = (0.0, 0), UNCHECKED
    error, overflows = comparison
    return Verification(error, einsum=einsum.name, reference=reference, overflows=overflows)


def _compare_points(work: Computation, output: FiberTree, rounding: Rounding) -> tuple[float, int]:
    """Return the largest error of a value and the number of overflows.

    There are no overflows if infinity is a regular value.
    """
    coordinates, values = point_by_point(work)
    keys = number_points([coordinates[rank] for rank in work.declared], work.sizes, len(values))
    our_coordinates, ours = output.to_coo()
    our_keys = number_points([our_coordinates[rank] for rank in work.declared], work.sizes, len(ours))
    function = work.einsum.operators["+"] if has_reduction(work.einsum) else ""
    if function in CHOICES:
        # Any of a key's values is right, as the mapping decides their order. A value that the output has is
        # moved to where the function takes its value: ``second`` takes the last, ``first`` the first.
        is_ours = np.isin(_pair_numbers(keys, values), _pair_numbers(our_keys, ours))
        order = np.argsort(is_ours if function == "second" else ~is_ours, kind="stable")
        keys, values = keys[order], values[order]
    # ``magnitudes`` are sums of absolute values, which bound the rounding errors of the sums
    keys, values, magnitudes = reduce_points(work.einsum, keys, values)
    if function in TRUTHS:  # only zero or not zero is compared
        values, magnitudes, ours = (
            (numbers != 0).astype(np.float64) for numbers in (values, magnitudes, ours)
        )
    error, overflows = _compare_keyed(keys, values, magnitudes, our_keys, ours, work.empty, rounding)
    return error, 0 if _has_infinity(work) else overflows


def _pair_numbers(keys: Integers, values: Floats) -> npt.NDArray[np.complex128]:
    """Return each key with its value as one number, which NumPy compares."""
    pairs = np.empty(len(keys), np.complex128)
    pairs.real, pairs.imag = keys, values
    return pairs


def _has_infinity(work: Computation) -> bool:
    """Return whether infinity is a regular value: the empty value, or a value of an operand."""
    input_values = [work.tensors[name].values for name in work.einsum.inputs]
    return math.isinf(work.empty) or any(np.isinf(values).any() for values in input_values)


def _compare_keyed(
    keys: Integers,
    values: Floats,
    magnitudes: Floats,
    our_keys: Integers,
    ours: Floats,
    empty: float,
    rounding: Rounding,
) -> tuple[float, int]:
    """Return the largest error and the number of overflows; a missing key has the empty value."""
    order = np.argsort(our_keys)
    our_keys, ours = our_keys[order], ours[order].astype(np.float64)
    all_keys = np.union1d(keys, our_keys)
    expected, sizes = (np.full(len(all_keys), fill) for fill in (empty, 0.0))
    actual = np.full(len(all_keys), empty)
    indices = np.searchsorted(all_keys, keys)
    expected[indices], sizes[indices] = values, magnitudes
    actual[np.searchsorted(all_keys, our_keys)] = ours
    return _compare_sums(expected, actual, sizes, rounding)


def _compare_sums(expected: Floats, actual: Floats, sizes: Floats, rounding: Rounding) -> tuple[float, int]:
    """Return the largest error and the number of overflows; NaN on both sides is equal."""
    compared = ~(np.isnan(expected) & np.isnan(actual))
    return compare_values(expected[compared], sizes[compared] + rounding.floor, actual[compared], rounding)
