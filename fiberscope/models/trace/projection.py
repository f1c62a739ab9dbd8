"""Checks sums of products that are too large to work out: both sides are projected by random numbers.

Every coordinate of the output but those of its first rank is given a random weight, and the weighted sums are
compared, one for each coordinate of that rank. Sums over a rank that one tensor alone has are taken first, so
that this costs about as much as reading the tensors. A wrong value passes only if its errors cancel under
weights that nothing in the run knows.

Source: Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.models.trace.reference import Floats, accumulates, keys_of
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import (
    Access,
    Equation,
    Expression,
    Operation,
    Take,
    accesses,
    operators_of,
)
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tree_blocks import blocks

__all__ = ["can_project", "projections"]

SEED = 0  # that two runs of the same give the same report
LINEAR = {"*": "mul", "+": "add", "-": "sub"}


@dataclass(frozen=True)
class Term:
    """A product of tensors, with its sign.

    Args:
        factors: the tensors.
        copied: of a take, the number of the factor whose values count; of the others, that they are there.
        distinct: whether the term counts once at a point of the output, however often it is met.
    """

    factors: tuple[Access, ...]
    sign: int
    copied: int | None = None
    distinct: bool = False


def can_project(einsum: Einsum) -> bool:
    """Whether an Einsum is a sum of products of tensors, or a take of such, that projections can check."""
    equation = einsum.equation
    assert isinstance(equation, Equation)
    used = {*operators_of(equation.expression), *("+" if accumulates(einsum) else "")}
    if any(einsum.operators[operator] != LINEAR[operator] for operator in used & set(LINEAR)):
        return False
    terms = _terms(equation.expression, 1, equation.output)
    if terms is None or not _is_plain(equation.output) or not equation.output.indices:
        return False
    return all(_fits(term, einsum) for term in terms)


def _fits(term: Term, einsum: Einsum) -> bool:
    """Whether a term has all ranks, plainly, and what it does not count is in one tensor alone."""
    if not all(_is_plain(factor) for factor in term.factors):
        return False
    ranks = [rank for factor in term.factors for rank in factor.ranks]
    alone = {rank for rank in ranks if ranks.count(rank) == 1}
    return set(ranks) == set(einsum.ranks) and (not term.distinct or _uncounted(term, einsum) <= alone)


def _uncounted(term: Term, einsum: Einsum) -> set[str]:
    equation = einsum.equation
    assert isinstance(equation, Equation)
    return set(einsum.ranks) - set(equation.output.ranks) if term.distinct else set()


def _is_plain(access: Access) -> bool:
    ranks = [index.rank for index in access.indices]
    return None not in ranks and len(set(ranks)) == len(ranks)


def _terms(expression: Expression, sign: int, output: Access) -> list[Term] | None:
    if isinstance(expression, Access):
        return [Term((expression,), sign)]
    if not isinstance(expression, Operation | Take):
        return None
    if isinstance(expression, Operation) and expression.operator != "*":
        return _summed(expression, sign, output)
    if not all(isinstance(operand, Access) for operand in expression.operands):
        return None
    factors = tuple(accesses(expression))
    if isinstance(expression, Operation):
        return [Term(factors, sign)]
    reduced = {rank for factor in factors for rank in factor.ranks} - set(output.ranks)
    again = bool(reduced) and not reduced & set(factors[expression.selected].ranks)
    return [Term(factors, sign, expression.selected, again)]


def _summed(expression: Operation, sign: int, output: Access) -> list[Term] | None:
    if any(isinstance(operand, Take) for operand in expression.operands):
        return None
    first_is_negative = len(expression.operands) == 1
    terms: list[Term] = []
    for place, operand in enumerate(expression.operands):
        negative = expression.operator == "-" and (place > 0 or first_is_negative)
        found = _terms(operand, -sign if negative else sign, output)
        if found is None:
            return None
        terms += found
    return terms


@dataclass(frozen=True)
class Table:
    """Values by the coordinates of some ranks, and the sizes of what they are sums of."""

    columns: dict[str, Integers]
    values: Floats
    sizes: Floats

    def summed(self, ranks: Sequence[str], shapes: Mapping[str, int]) -> Table:
        """The sums over all other ranks."""
        if set(ranks) == set(self.columns):
            return self
        keys = keys_of(
            [self.columns[rank] for rank in ranks], [shapes[rank] for rank in ranks], len(self.values)
        )
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        if len(first) == 0:
            return Table(dict.fromkeys(ranks, keys), self.values, self.sizes)
        columns = {rank: self.columns[rank][order[first]] for rank in ranks}
        values = np.add.reduceat(self.values[order], first)
        if self.sizes is self.values:
            return Table(columns, values, values)
        return Table(columns, values, np.add.reduceat(self.sizes[order], first))


def projections(
    specification: Specification,
    einsum: Einsum,
    tensors: Mapping[str, FiberTree],
    shapes: Mapping[str, int],
    output: FiberTree,
) -> tuple[Floats, Floats, Floats]:
    """For each coordinate of the output's first rank: the projection expected, that found, and its size.

    Args:
        tensors: inputs by name, with the ranks of their declarations.
        shapes: of the Einsum's ranks.
        output: with the ranks of its declaration.
    """
    equation = einsum.equation
    assert isinstance(equation, Equation)
    kept, *others = equation.output.ranks
    generator = np.random.default_rng(SEED)
    weights = {rank: generator.uniform(0.5, 1.5, shapes[rank]) for rank in others}
    projection = _Projection(specification, einsum, shapes, weights, kept)
    expected, sizes = np.zeros(shapes[kept]), np.zeros(shapes[kept])
    for term in _terms(equation.expression, 1, equation.output) or []:
        values, reach = projection.of_term(term, tensors)
        expected += values
        sizes += reach
    found = np.zeros(shapes[kept])
    for block in blocks(output):
        table = projection.weighted(projection.table(equation.output, block), set(others))
        found += projection.of_table(table)[0]
    return expected, found, sizes


class _Projection:
    def __init__(
        self,
        specification: Specification,
        einsum: Einsum,
        shapes: Mapping[str, int],
        weights: Mapping[str, Floats],
        kept: str,
    ) -> None:
        self.specification, self.einsum = specification, einsum
        self.shapes, self.weights, self.kept = shapes, weights, kept

    def table(self, access: Access, tree: FiberTree) -> Table:
        """A tensor's elements under the names of an equation."""
        found, values = tree.to_coo()
        declared = self.specification.tensors[access.tensor].ranks
        columns = {rank: found[name] for rank, name in zip(access.ranks, declared, strict=True)}
        numbers = values.astype(np.float64, copy=False)
        positive = numbers.min(initial=0.0) >= 0
        return Table(columns, numbers, numbers if positive else np.abs(numbers))

    def weighted(self, table: Table, ranks: set[str]) -> Table:
        """The table times the weights of some of its ranks."""
        values, sizes, positive = table.values, table.sizes, table.values is table.sizes
        for rank in ranks & set(table.columns) & set(self.weights):
            factor = self.weights[rank][table.columns[rank]]
            values = values * factor
            sizes = values if positive else sizes * factor
        return Table(table.columns, values, sizes)

    def of_table(self, table: Table) -> tuple[Floats, Floats]:
        """Sums by the rank that is kept."""
        places, count = table.columns[self.kept], self.shapes[self.kept]
        values = np.bincount(places, table.values, count).astype(np.float64)
        if table.sizes is table.values:
            return values, values
        return values, np.bincount(places, table.sizes, count).astype(np.float64)

    def of_term(self, term: Term, tensors: Mapping[str, FiberTree]) -> tuple[Floats, Floats]:
        """What a term adds."""
        tables = [
            self._factor(term, place, tensors[factor.tensor]) for place, factor in enumerate(term.factors)
        ]
        joined = tables[0]
        for place, table in enumerate(tables[1:], start=1):
            joined = _joined(joined, table, self.shapes)
            later = {rank for other in tables[place + 1 :] for rank in other.columns}
            joined = joined.summed([r for r in joined.columns if r == self.kept or r in later], self.shapes)
        values, sizes = self.of_table(joined)
        return term.sign * values, sizes

    def _factor(self, term: Term, place: int, tree: FiberTree) -> Table:
        """A factor with its weights, summed over the ranks that no other has, block by block."""
        access = term.factors[place]
        whole = bool(_uncounted(term, self.einsum) & set(access.ranks))  # counts once, wherever it lies
        parts = [tree] if whole else blocks(tree)
        return _together([self._part_of_factor(term, place, self.table(access, part)) for part in parts])

    def _part_of_factor(self, term: Term, place: int, table: Table) -> Table:
        """The same of a table; a rank is weighted in the first factor that has it."""
        if term.copied is not None and place != term.copied:
            ones = np.ones(len(table.values))
            table = Table(table.columns, ones, ones)
        uncounted = _uncounted(term, self.einsum) & set(table.columns)
        if uncounted:
            summed = table.summed([rank for rank in table.columns if rank not in uncounted], self.shapes)
            ones = np.ones(len(summed.values))
            table = Table(summed.columns, ones, ones)
        earlier = {rank for factor in term.factors[:place] for rank in factor.ranks}
        others = {
            rank for number, factor in enumerate(term.factors) if number != place for rank in factor.ranks
        }
        table = self.weighted(table, set(table.columns) - earlier)
        return table.summed([r for r in table.columns if r in others or r == self.kept], self.shapes)


def _together(parts: Sequence[Table]) -> Table:
    """All elements of tables with the same ranks."""
    if len(parts) == 1:
        return parts[0]
    columns = {rank: np.concatenate([part.columns[rank] for part in parts]) for rank in parts[0].columns}
    values = np.concatenate([part.values for part in parts])
    if all(part.sizes is part.values for part in parts):
        return Table(columns, values, values)
    return Table(columns, values, np.concatenate([part.sizes for part in parts]))


def _joined(one: Table, other: Table, shapes: Mapping[str, int]) -> Table:
    """The products of elements that agree in the ranks that both have."""
    shared = [rank for rank in one.columns if rank in other.columns]
    sizes = [shapes[rank] for rank in shared]
    ours = keys_of([one.columns[rank] for rank in shared], sizes, len(one.values))
    theirs = keys_of([other.columns[rank] for rank in shared], sizes, len(other.values))
    order = np.argsort(theirs, kind="stable")
    theirs = theirs[order]
    low, high = np.searchsorted(theirs, ours, "left"), np.searchsorted(theirs, ours, "right")
    counts = high - low
    mine = np.repeat(np.arange(len(ours)), counts)
    before = np.cumsum(counts) - counts
    yours = order[np.arange(len(mine)) - np.repeat(before - low, counts)]
    columns = {rank: column[mine] for rank, column in one.columns.items()}
    columns |= {rank: column[yours] for rank, column in other.columns.items() if rank not in columns}
    values = one.values[mine] * other.values[yours]
    if one.sizes is one.values and other.sizes is other.values:
        return Table(columns, values, values)
    return Table(columns, values, one.sizes[mine] * other.sizes[yours])
