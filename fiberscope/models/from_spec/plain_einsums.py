"""Rewrite Einsums into forms that blocks compute: a renamed tensor as a copy, a symbol as its number."""

from __future__ import annotations

from dataclasses import replace

from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.workloads.expressions.expression import (
    Access,
    Alias,
    Call,
    Equation,
    Expression,
    Number,
    Operation,
    Scalar,
    Take,
)


def plain_einsums(specification: Specification) -> Specification:
    """Return a specification with numbers instead of symbols, and a copy instead of each renaming.

    The copy for ``Y = Z`` scans Z and writes Y, in the rank order in which Y is stored.
    """
    return replace(
        specification, einsums=tuple(_simplify(specification, einsum) for einsum in specification.einsums)
    )


def _simplify(specification: Specification, einsum: Einsum) -> Einsum:
    if isinstance(einsum.equation, Alias):
        return _copy(specification, einsum, einsum.equation)
    expression = _insert_numbers(specification, einsum.equation.expression)
    return replace(einsum, equation=replace(einsum.equation, expression=expression))


def _copy(specification: Specification, einsum: Einsum, alias: Alias) -> Einsum:
    output = specification.tensors[alias.output]
    equation = Equation(
        Access.plain(output.name, output.ranks), Access.plain(alias.source, output.ranks), alias.text
    )
    return replace(einsum, equation=equation, ranks=output.ranks, loop_order=output.rank_order)


def _insert_numbers(specification: Specification, expression: Expression) -> Expression:
    """Return an expression with the values of symbols instead of their names."""
    if isinstance(expression, Scalar):
        return Number(specification.symbols[expression.name])
    if isinstance(expression, Operation | Take | Call):
        operands = tuple(_insert_numbers(specification, operand) for operand in expression.operands)
        return replace(expression, operands=operands)
    return expression
