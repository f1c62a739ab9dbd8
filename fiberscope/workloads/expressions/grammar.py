"""Parser for ``einsum.lark``: Einsums, partitions and references of a specification, and index notation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import VisitError

from fiberscope.workloads.expressions.expression import (
    Access,
    Alias,
    Call,
    Equation,
    Expression,
    Index,
    Number,
    Operation,
    Scalar,
    Statement,
    Take,
)
from fiberscope.workloads.expressions.unreadable import UnreadableTextError, build_syntax_error, check_size

__all__ = [
    "Directive",
    "UnreadableTextError",
    "parse_arithmetic",
    "parse_assignment",
    "parse_directive",
    "parse_function",
    "parse_ranks",
    "parse_statement",
]

_STARTS = ("statement", "assignment", "sum", "signature", "ranks", "directive", "arithmetic")
_TAKE = "take"
_ASTERISK_OPERATOR = "\u2217"  # the replacement of * in text processors


@dataclass(frozen=True)
class Directive:
    """``name(leader.size)``: leader and size are optional; the size is a number or the name of a symbol."""

    name: str
    leader: str | None
    size: str | Fraction | None


def parse_statement(text: str) -> Statement:
    """Parse an Einsum or an alias. ``Z = A``, of two plain names, is an alias, which renames a tensor.

    Raises:
        UnreadableTextError: the text is neither.
    """
    statement: Statement = _parse("statement", text)
    return statement


def parse_assignment(text: str) -> Equation:
    """Parse an Einsum in index notation. ``X += e`` is ``X = X + e``, and names keep their case.

    ``X(i,j) = B(i,k) * C(k,j)`` and ``X_{i,j} = B_{i,k} * C_{k,j}`` are the same; a plain name is a scalar.

    Raises:
        UnreadableTextError: the text is no assignment.
    """
    equation: Equation = _parse("assignment", text)
    return equation


def parse_function(signature: str, body: str) -> tuple[str, tuple[str, ...], Expression]:
    """Parse a function; return its name, arguments and body.

    Raises:
        UnreadableTextError: the signature or the body is malformed; ``column`` refers to the malformed text.
    """
    name, *arguments = _parse("signature", signature)
    return name, tuple(arguments), _parse("sum", body)


def parse_ranks(text: str) -> tuple[str, ...]:
    """Parse the rank or ranks of a partition: ``K`` or ``(M, K0)``.

    Raises:
        UnreadableTextError: the text is malformed.
    """
    ranks: tuple[str, ...] = _parse("ranks", text)
    return ranks


def parse_directive(text: str) -> Directive:
    """Parse a directive of a partition: ``uniform_occupancy(A.16)``.

    Raises:
        UnreadableTextError: the text is malformed.
    """
    directive: Directive = _parse("directive", text)
    return directive


def parse_arithmetic(text: str) -> Expression:
    """Parse an arithmetic expression such as ``fibercache.size * 8 / 64``, with exact numbers and parameters.

    Raises:
        UnreadableTextError: the text is malformed.
    """
    arithmetic: Expression = _parse("arithmetic", text)
    return arithmetic


@cache
def _build_parser() -> Lark:
    grammar = files(__package__).joinpath("einsum.lark").read_text(encoding="utf-8")
    # An absent optional part in brackets is None, so that ``multiple`` can distinguish ``2`` from ``2*k``.
    return Lark(grammar, parser="lalr", start=list(_STARTS), maybe_placeholders=True)


def _parse(start: str, text: str) -> Any:  # noqa: ANN401 - the type depends on the start
    check_size(text)
    try:
        return _Tree().transform(_build_parser().parse(text.replace(_ASTERISK_OPERATOR, "*"), start=start))
    except VisitError as error:
        # lark wraps all errors of the methods of ``_Tree``
        if isinstance(error.orig_exc, UnreadableTextError):
            raise error.orig_exc from error
        raise
    except UnexpectedInput as error:
        raise build_syntax_error(error, text) from error


@v_args(inline=True)
class _Tree(Transformer[Any, Any]):
    """A transformer from the grammar's trees to the nodes of ``expression``; a method for each rule."""

    def equation(self, output: Access, expression: Expression) -> Equation:
        return Equation(output, expression, "")

    def alias(self, output: str, source: str) -> Alias:
        return Alias(str(output), str(source), "")

    def assignment(self, output: Access, assign: str, expression: Expression) -> Equation:
        return Equation(output, expression if assign == "=" else Operation("+", (output, expression)), "")

    def point(self, tensor: Token, *variables: Token) -> Access:
        columns = tuple(name.start_pos or 0 for name in (tensor, *variables))
        # in index notation, variables keep their case, unlike in ``variable``
        return Access(str(tensor), tuple(Index(((str(name), 1),)) for name in variables), columns)

    def access(self, tensor: str, *indices: Index | None) -> Access:
        # ``A[]`` has a single index, None
        return Access(str(tensor), tuple(index for index in indices if index is not None))

    def index(self, *summands: Index) -> Index:
        coefficients: dict[str, int] = {}
        for rank, coefficient in [term for summand in summands for term in summand.terms]:
            coefficients[rank] = coefficients.get(rank, 0) + coefficient
        # a rank that occurs twice has one term, and a rank that cancels has none, as ``Index`` requires
        terms = tuple((rank, value) for rank, value in coefficients.items() if value != 0)
        return Index(terms, sum(summand.constant for summand in summands))

    def added(self, term: Index) -> Index:
        return term

    def subtracted(self, term: Index) -> Index:
        return _scale(term, -1)

    def multiple(self, *tokens: Any) -> Index:  # noqa: ANN401 - signs, number, name or None
        *signs, number, name = tokens
        factor = _parse_whole_number(number) * (-1) ** len(signs)
        # a lower-case variable names the rank of the same upper-case letter: ``k`` runs over ``K``
        return Index((), factor) if name is None else Index(((str(name).upper(), factor),))

    def variable(self, *tokens: Any) -> Index:  # noqa: ANN401 - signs, name, number or None
        *signs, name, number = tokens
        factor = (1 if number is None else _parse_whole_number(number)) * (-1) ** len(signs)
        return Index(((str(name).upper(), factor),))

    def plus(self, first: Expression, second: Expression) -> Operation:
        return _flatten("+", first, second)

    def minus(self, first: Expression, second: Expression) -> Operation:
        return Operation("-", (first, second))

    def times(self, first: Expression, second: Expression) -> Operation:
        return _flatten("*", first, second)

    def divided(self, first: Expression, second: Expression) -> Operation:
        return Operation("/", (first, second))

    def negative(self, operand: Expression) -> Expression:
        return Number(-operand.value) if isinstance(operand, Number) else Operation("-", (operand,))

    def call(self, name: Any, *operands: Expression) -> Expression:  # noqa: ANN401
        return _make_take(name, operands) if name == _TAKE else Call(str(name), operands)

    def number(self, text: str) -> Number:
        return Number(float(text))

    def scalar(self, name: str) -> Scalar:
        return Scalar(str(name))

    def signature(self, *names: str) -> tuple[str, ...]:
        return tuple(map(str, names))

    def ranks(self, *names: str) -> tuple[str, ...]:
        return tuple(map(str, names))

    def directive(
        self, name: str, leader: str | None = None, size: str | Fraction | None = None
    ) -> Directive:
        return Directive(str(name), None if leader is None else str(leader), size)

    def literal(self, text: str) -> Fraction:
        return Fraction(text)

    def symbol(self, name: str) -> str:
        return str(name)

    def amount(self, text: str) -> Number:
        return Number(Fraction(text))


def _scale(index: Index, factor: int) -> Index:
    return Index(tuple((rank, factor * value) for rank, value in index.terms), factor * index.constant)


def _flatten(operator: str, first: Expression, second: Expression) -> Operation:
    """Return one operation with many operands for ``a + b + c``; the right operand is not flattened."""
    flattens = isinstance(first, Operation) and first.operator == operator and len(first.operands) > 1
    return Operation(operator, (*(first.operands if flattens else (first,)), second))  # type: ignore[union-attr]


def _parse_whole_number(token: Any) -> int:  # noqa: ANN401 - a token
    number = Fraction(token)
    if number.denominator != 1:
        raise UnreadableTextError(f"{token} in an index: it should be a whole number", token.start_pos)
    return int(number)


def _make_take(name: Any, operands: tuple[Expression, ...]) -> Take:  # noqa: ANN401
    *tensors, last = operands
    # a number of an Einsum is a float: 1.0 is in the range, 0.5 is not
    if not isinstance(last, Number) or last.value not in range(len(tensors)):
        count = max(len(tensors) - 1, 0)
        raise UnreadableTextError(
            f"take needs operands and the number of the one to copy, 0 to {count}, as in take(A[k], B[k], 1)",
            name.start_pos,
        )
    return Take(tuple(tensors), int(last.value))
