"""Explicit sums: a variable that the left side lacks is summed over in each term.

An expression is equivalent to a sum of products, each summed over its own variables. A sum stands as far
outside as possible: around an operand of an addition, or around a whole product. There is one exception: if
an addition is the only factor with the variable, the sum stands within it, around its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NoReturn, TypeGuard

from fiberscope.models.graphs.compiler.language import refuse_at
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Sum, accesses


def list_free_variables(expression: Expression) -> list[str]:
    """Return the free variables of an expression, in order of appearance."""
    if isinstance(expression, Access):
        return list(dict.fromkeys(expression.variables))
    if isinstance(expression, Call):
        return list(dict.fromkeys(v for term in expression.operands for v in list_free_variables(term)))
    if isinstance(expression, Sum):
        return [v for v in list_free_variables(expression.operand) if v not in expression.variables]
    return []


def is_addition(expression: Expression) -> TypeGuard[Call]:
    """Return whether an expression is a sum or a difference of two terms."""
    return isinstance(expression, Call) and expression.meaning.adds


def insert_sums(assignment: Assignment) -> Expression:
    """Return the right side with explicit sums; the first variable of the text is outermost.

    Raises:
        InputError: several factors have a variable only in some of their terms.
    """
    expression = assignment.expression
    summed = [v for v in list_free_variables(expression) if v not in assignment.result.variables]
    # each insertion goes outside of the earlier sums, so the last one, of the first variable, is outermost
    for variable in reversed(summed):
        expression = _insert_sum(expression, variable)
    return expression


def _insert_sum(expression: Expression, variable: str) -> Expression:
    """Insert the sum over a variable; an addition gets a sum in each operand that has the variable."""
    if variable not in list_free_variables(expression):
        return expression
    if isinstance(expression, Sum):
        return _wrap_sum(expression.variables, _sum_term(expression.operand, variable))
    if is_addition(expression):
        return expression.map_operands(lambda term: _sum_term(term, variable))
    dependent_factors = [
        factor for factor in _split_factors(expression) if variable in list_free_variables(factor)
    ]
    # (b(i) + C(i,k)) * d(i): a sum around the product would add up b(i) * d(i) once for each k
    if isinstance(expression, Call) and len(dependent_factors) == 1 and is_addition(dependent_factors[0]):
        return expression.map_operands(lambda factor: _insert_sum(factor, variable))
    # one factor with the variable in all terms is enough: it is in each term of the product then
    if not any(_is_in_all_terms(carrier, variable) for carrier in dependent_factors):
        _refuse_partial(dependent_factors, variable)
    return Sum((variable,), expression)


def _sum_term(term: Expression, variable: str) -> Expression:
    """Return a term summed as a whole if all of its terms have the variable, else summed by term."""
    sums_whole = is_addition(term) and _is_in_all_terms(term, variable)
    return Sum((variable,), term) if sums_whole else _insert_sum(term, variable)


def _wrap_sum(variables: tuple[str, ...], expression: Expression) -> Sum:
    if isinstance(expression, Sum):
        return Sum((*expression.variables, *variables), expression.operand)
    return Sum(variables, expression)


def _split_factors(expression: Expression) -> list[Expression]:
    """Return the factors of a product; a divisor remains whole."""
    if isinstance(expression, Call) and expression.meaning.multiplies:
        return [factor for operand in expression.operands for factor in _split_factors(operand)]
    if isinstance(expression, Call) and expression.meaning.divides:
        return [*_split_factors(expression.operands[0]), Call(expression.function, (expression.operands[1],))]
    return [expression]


def _is_in_all_terms(expression: Expression, variable: str) -> bool:
    """Return whether each product of the expanded expression has the variable."""
    if isinstance(expression, Sum):
        return _is_in_all_terms(expression.operand, variable)
    if not isinstance(expression, Call):
        return variable in list_free_variables(expression)
    if is_addition(expression):
        return all(_is_in_all_terms(operand, variable) for operand in expression.operands)
    factors = list(expression.operands)
    if expression.meaning.divides:
        *factors, divisor = expression.operands
        # a divisor is not expanded into terms, so each term has the whole divisor
        if variable in list_free_variables(divisor):
            return True
    return any(_is_in_all_terms(factor, variable) for factor in factors)


def _refuse_partial(dependent_factors: list[Expression], variable: str) -> NoReturn:
    last = [
        access for factor in dependent_factors for access in accesses(factor) if variable in access.variables
    ][-1]
    refuse_at(
        last,
        1 + last.variables.index(variable),
        f"{variable} is summed over in some terms of several factors; write the product out as terms",
    )


def factor_sums(
    statement: Assignment, formats: Mapping[str, Format], order: Sequence[str]
) -> tuple[list[Assignment], dict[str, Format]]:
    """Return the statements of a cascade, and all formats.

    Temporaries are compressed, with their levels in the order of the loops.

    Args:
        statement: an assignment with explicit sums.
        formats: formats of its tensors.
        order: all loops, outermost first.
    """
    cascade = _Cascade(formats, order)
    cascade.add(statement)
    return cascade.statements, cascade.formats


def new_name(formats: Mapping[str, Format]) -> str:
    """Return an unused name for a temporary tensor."""
    # n formats use at most n of these n + 1 names
    return next(name for number in range(1, len(formats) + 2) if (name := f"T{number}") not in formats)


class _Cascade:
    """Statements in the order of their execution."""

    def __init__(self, formats: Mapping[str, Format], order: Sequence[str]) -> None:
        self.statements: list[Assignment] = []
        self.formats, self._order = dict(formats), order

    def add(self, statement: Assignment) -> None:
        """Add a statement after the statements of its temporaries."""
        right_side = statement.expression
        summed = right_side.variables if isinstance(right_side, Sum) else ()
        body = self._replace_sums(right_side.operand if isinstance(right_side, Sum) else right_side)
        remaining = []
        # innermost first: the temporary of an inner sum is a factor of the sums around it
        for variable in sorted(summed, key=self._order.index, reverse=True):
            reduced = self._eliminate(body, variable)
            if reduced is None:
                remaining.append(variable)
            else:
                body = reduced
        outer = tuple(variable for variable in summed if variable in remaining)
        self.statements.append(Assignment(statement.result, Sum(outer, body) if outer else body))

    def _replace_sums(self, expression: Expression) -> Expression:
        """Replace each sum by a temporary."""
        if isinstance(expression, Sum):
            return self._add_temporary(expression)
        if isinstance(expression, Call):
            operands = tuple(self._replace_sums(operand) for operand in expression.operands)
            return Call(expression.function, operands)
        return expression

    def _eliminate(self, body: Expression, variable: str) -> Expression | None:
        """Replace the factors with a variable by a temporary; None if no other factor has any variable."""
        factors = _split_product_factors(body)
        dependent_factors = [factor for factor in factors if variable in list_free_variables(factor)]
        independent_factors = [factor for factor in factors if variable not in list_free_variables(factor)]
        if not any(list_free_variables(factor) for factor in independent_factors):
            return None
        return _join_factors(
            [*independent_factors, self._add_temporary(Sum((variable,), _join_factors(dependent_factors)))]
        )

    def _add_temporary(self, expression: Sum) -> Access:
        variables = tuple(sorted(list_free_variables(expression), key=self._order.index))
        access = Access.plain(new_name(self.formats), variables)
        self.formats[access.tensor] = Format("s" * len(variables), tuple(range(len(variables))))
        self.add(Assignment(access, expression))
        return access


def _split_product_factors(expression: Expression) -> list[Expression]:
    """Return the factors that ``_product`` can join again; a negation or a quotient remains whole."""
    if isinstance(expression, Call) and expression.function == "mul":
        return [factor for operand in expression.operands for factor in _split_product_factors(operand)]
    return [expression]


def _join_factors(factors: Sequence[Expression]) -> Expression:
    return reduce(lambda left, right: Call("mul", (left, right)), factors)
