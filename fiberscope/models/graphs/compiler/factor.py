"""A statement as a cascade of smaller ones: what is summed over few of its factors is summed before the rest.

``X(i,j) = sum[k] (B(i,j) * C(i,k) * D(j,k))`` is ``T1(i,j) = sum[k] (C(i,k) * D(j,k))``, then
``X(i,j) = B(i,j) * T1(i,j)``; and ``x(i) = b(i) - sum[j] (C(i,j) * d(j))`` is
``T1(i) = sum[j] (C(i,j) * d(j))``, then ``x(i) = b(i) - T1(i)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from fiberscope.models.graphs.compiler.sums import variables_of
from fiberscope.models.graphs.expression import Access, Assignment, Expression, Operation, Sum
from fiberscope.models.graphs.formats import Format

__all__ = ["factored", "new_name"]


def factored(
    statement: Assignment, formats: Mapping[str, Format], order: Sequence[str]
) -> tuple[list[Assignment], dict[str, Format]]:
    """The statements of a cascade, and all formats; temporaries are compressed in the order of the loops.

    Args:
        statement: with its sums in place.
        formats: of its tensors.
        order: of the loops.
    """
    cascade = _Cascade(formats, order)
    cascade.add(statement)
    return cascade.statements, cascade.formats


def new_name(formats: Mapping[str, Format]) -> str:
    """A name for a temporary that no tensor has."""
    return next(name for number in range(1, len(formats) + 2) if (name := f"T{number}") not in formats)


class _Cascade:
    """Statements in the order in which they run."""

    def __init__(self, formats: Mapping[str, Format], order: Sequence[str]) -> None:
        self.statements: list[Assignment] = []
        self.formats, self._order = dict(formats), order

    def add(self, statement: Assignment) -> None:
        """A statement behind those of its temporaries."""
        whole = statement.expression
        summed = whole.variables if isinstance(whole, Sum) else ()
        body = self._without_sums(whole.operand if isinstance(whole, Sum) else whole)
        left = []
        for variable in sorted(summed, key=self._order.index, reverse=True):
            smaller = self._eliminated(body, variable)
            if smaller is None:
                left.append(variable)
            else:
                body = smaller
        kept = tuple(variable for variable in summed if variable in left)
        self.statements.append(Assignment(statement.result, Sum(kept, body) if kept else body))

    def _without_sums(self, expression: Expression) -> Expression:
        """With a temporary for each sum."""
        if isinstance(expression, Sum):
            return self._temporary(expression)
        if isinstance(expression, Operation):
            operands = tuple(self._without_sums(operand) for operand in expression.operands)
            return Operation(expression.function, operands)
        return expression

    def _eliminated(self, body: Expression, variable: str) -> Expression | None:
        """A product with a temporary for the factors that have a variable; None if all have it."""
        factors = _factors(body)
        carriers = [factor for factor in factors if variable in variables_of(factor)]
        others = [factor for factor in factors if variable not in variables_of(factor)]
        if not any(variables_of(other) for other in others):
            return None
        return _product([*others, self._temporary(Sum((variable,), _product(carriers)))])

    def _temporary(self, expression: Sum) -> Access:
        variables = tuple(sorted(variables_of(expression), key=self._order.index))
        access = Access(new_name(self.formats), variables)
        self.formats[access.tensor] = Format("s" * len(variables), tuple(range(len(variables))))
        self.add(Assignment(access, expression))
        return access


def _factors(expression: Expression) -> list[Expression]:
    if isinstance(expression, Operation) and expression.function == "mul":
        return [factor for operand in expression.operands for factor in _factors(operand)]
    return [expression]


def _product(factors: Sequence[Expression]) -> Expression:
    return reduce(lambda left, right: Operation("mul", (left, right)), factors)
