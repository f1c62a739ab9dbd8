"""Tensor index notation: reads an assignment, by ``index.lark``, as the expressions of graphs have it.

``X(i,j) = B(i,k) * C(k,j)`` and ``X_{i,j} = B_{i,k} * C_{k,j}`` are the same; a name alone is a scalar.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NoReturn

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from fiberscope.errors import InputError
from fiberscope.models.graphs.expression import Access, Assignment, Constant, Expression, Operation
from fiberscope.workloads.expressions.unreadable import UnreadableTextError, explained, refuse_the_huge

__all__ = ["MOST_OPERANDS", "parse", "refuse_at"]

MOST_OPERANDS = 64  # blocks grow with them; the expressions of the literature have up to five


def parse(text: str) -> Assignment:
    """The assignment that a text is; ``X += e`` is ``X = X + e``.

    Raises:
        InputError: it is none, or too large; with the column.
    """
    try:
        refuse_the_huge(text)
        _refuse_many(text)
        assignment = _parser().parse(text)
    except UnreadableTextError as error:
        _refuse(error.column, str(error))
    except UnexpectedInput as error:
        unread = explained(error, text)
        _refuse(unread.column, f"{unread}{_hint(text)}")
    assert isinstance(assignment, Assignment)
    return assignment


def refuse_at(access: Access, number: int, what: str) -> NoReturn:
    """Refuse an expression for a variable of an access, counted from 1, or for its tensor, 0.

    Raises:
        InputError: always; without a column if the access was read from no text.
    """
    if not access.places:
        raise InputError(f"expression, {access}: {what}")
    _refuse(access.places[number], what)


def _refuse(column: int, what: str) -> NoReturn:
    raise InputError(f"expression, column {column + 1}: {what}")


def _refuse_many(text: str) -> None:
    """Operators bound the operands, and how deep an expression is."""
    operators = [column for column, letter in enumerate(text) if letter in "+-*/"]
    if len(operators) >= MOST_OPERANDS:
        column = operators[MOST_OPERANDS - 1]
        raise UnreadableTextError(f"more than {MOST_OPERANDS} operands; write it as several", column)


def _hint(text: str) -> str:
    summed = "sum(" in text.replace(" ", "")
    return "; sums are not written: what the left side lacks is summed over" if summed else ""


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("index.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="statement", parser="lalr", transformer=_Tree())


@v_args(inline=True)
class _Tree(Transformer[Token, Assignment]):
    """Makes expressions of the grammar's rules."""

    def statement(self, result: Access, assign: Token, expression: Expression) -> Assignment:
        if assign == "+=":
            expression = Operation("add", (result, expression))
        return Assignment(result, expression)

    def access(self, tensor: Token, *variables: Token) -> Access:
        places = tuple(token.start_pos or 0 for token in (tensor, *variables))
        return Access(str(tensor), tuple(map(str, variables)), places)

    def number(self, text: Token) -> Constant:
        return Constant(float(text))

    def plus(self, left: Expression, right: Expression) -> Operation:
        return Operation("add", (left, right))

    def minus(self, left: Expression, right: Expression) -> Operation:
        return Operation("sub", (left, right))

    def times(self, left: Expression, right: Expression) -> Operation:
        return Operation("mul", (left, right))

    def divided(self, left: Expression, right: Expression) -> Operation:
        return Operation("div", (left, right))

    def negative(self, operand: Expression) -> Expression:
        return Constant(-operand.value) if isinstance(operand, Constant) else Operation("neg", (operand,))
