"""Translate index notation and Einsums to expressions of the functions that have blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NoReturn

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.expression import Assignment
from fiberscope.workloads.expressions.expression import (
    Access,
    Call,
    Expression,
    Number,
    Operation,
    Scalar,
    Take,
)
from fiberscope.workloads.expressions.functions import FUNCTIONS
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_assignment

OPERATORS = {function.sign: function.name for function in FUNCTIONS.values() if function.sign}

MAX_OPERANDS = 64  # bounds the size of the graph; expressions of the literature have at most five


def parse(text: str) -> Assignment:
    """Return the assignment of a text in index notation.

    Raises:
        InputError: the text is invalid or too large; with the column.
    """
    try:
        _refuse_many(text)
        parsed = parse_assignment(text)
    except UnreadableTextError as error:
        _refuse(error.column, f"{error}{_suggest_fix(text)}")
    return Assignment(parsed.output, translate_expression(parsed.expression, lambda access: access))


def translate_expression(
    expression: Expression, access: Callable[[Access], Access], meanings: Mapping[str, str] | None = None
) -> Expression:
    """Translate an expression to functions that have blocks.

    Args:
        expression: a parsed expression.
        access: returns the access of the graph for an access of the expression.
        meanings: function names, by operator, for operators with a user-defined meaning; None refuses named
            functions.

    Raises:
        InputError: the expression has a symbol for a number, or a function that is user-defined or that
            ``meanings`` refuses.
    """
    if isinstance(expression, Access):
        return access(expression)
    if isinstance(expression, Number):
        return Number(float(expression.value))
    if isinstance(expression, Scalar):
        symbol = expression.name
        raise InputError(
            f"the symbol {symbol}: no hardware computes with it; write its number in the Einsum, as in "
            f"2 * A[k] for {symbol} * A[k], or run fiberscope model, which takes --set {symbol}=2"
        )
    assert isinstance(expression, Operation | Take | Call)
    if isinstance(expression, Call) and (meanings is None or expression.function not in FUNCTIONS):
        function = expression.function
        raise InputError(f"the function {function}: no graph computes it; write the Einsum of tensors alone")
    operands = [translate_expression(operand, access, meanings) for operand in expression.operands]
    if isinstance(expression, Call):
        return _nest_calls(expression.function, operands, "any", expression.function)
    if isinstance(expression, Take):
        # the function ``take`` of a block returns its last operand, also when nested
        operands.append(operands.pop(expression.selected))
        return _nest_calls("take", operands)
    # the only operator with a single operand is the sign
    default = OPERATORS[expression.operator] if len(operands) > 1 else "neg"
    function = (meanings or {}).get(expression.operator, default) if len(operands) > 1 else default
    if function == default:
        return _nest_calls(default, operands)
    # a redefined product needs all operands, another operator any; each counts as the usual operator
    return _nest_calls(function, operands, "all" if expression.operator == "*" else "any", default)


def _nest_calls(function: str, operands: list[Expression], where: str = "", counted: str = "") -> Expression:
    """Return a function of one operand, or of several as nested functions of two, from left to right."""
    if len(operands) == 1:
        return Call(function, tuple(operands), where, counted)
    return reduce(lambda left, right: Call(function, (left, right), where, counted), operands)


def refuse_at(access: Access, number: int, message: str) -> NoReturn:
    """Refuse an expression at a variable of an access, counted from 1, or at its tensor, 0.

    Raises:
        InputError: always; without a column if the access has no source text.
    """
    if not access.text_columns:
        raise InputError(f"expression, {access}: {message}")
    _refuse(access.text_columns[number], message)


def _refuse(column: int, message: str) -> NoReturn:
    # ``column`` counts from 0, the message from 1
    raise InputError(f"expression, column {column + 1}: {message}")


def _refuse_many(text: str) -> None:
    """Refuse a text with too many operators, which bound the operands and the depth of an expression.

    Signs count as operators, also in the exponent of a number.
    """
    operators = [column for column, letter in enumerate(text) if letter in "+-*/"]
    if len(operators) >= MAX_OPERANDS:
        column = operators[MAX_OPERANDS - 1]
        raise UnreadableTextError(f"more than {MAX_OPERANDS} operands; write it as several", column)


def _suggest_fix(text: str) -> str:
    """Return a hint to append to a syntax error if the text has an explicit sum; else an empty text."""
    has_sum = "sum(" in text.replace(" ", "")
    return "; sums are not written: what the left side lacks is summed over" if has_sum else ""
