"""References to parameters in files, which may be arithmetic expressions: ``${fibercache.size / 8}``.

An expression is compiled to a list of words in postfix order (operands before their operator). The list can
be stored as text, and evaluated without a parser.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from fiberscope.workloads.expressions.expression import Expression

ErrorFactory: TypeAlias = Callable[[str], Exception]
KnownValues: TypeAlias = Mapping[str, object]
OPERATORS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
REFERENCE = re.compile(r"\$\{([^{}]*)\}")


def resolve_references(text: str, names: KnownValues, make_error: ErrorFactory) -> object:
    """Return a text with its references replaced by values.

    Args:
        text: a text with any number of references.
        names: values by name: symbols, and the machine's parameters in base units (bytes, hertz).
        make_error: function that makes the exception to raise from a message.

    Returns:
        A number if the whole text is one reference; otherwise the text with the numbers inserted.

    Raises:
        Exception: made by ``make_error``, if a reference is malformed or cannot be evaluated.
    """
    whole = REFERENCE.fullmatch(text)
    if whole:
        return _value(whole[1], names, make_error)
    replaced = REFERENCE.sub(lambda match: str(_value(match[1], names, make_error)), text)
    if "${" in replaced:  # the start of a reference that has no end, or contains another one
        raise make_error("a reference should be written as in ${fibercache.size / 8}")
    return replaced


def _value(reference: str, names: KnownValues, make_error: ErrorFactory) -> int | float:
    def make_reference_error(message: str) -> Exception:
        return make_error(f"${{{reference}}}: {message}")

    number = evaluate(compile_expression(reference, make_reference_error), names, make_reference_error)
    return int(number) if number.denominator == 1 else float(number)


def compile_expression(text: str, make_error: ErrorFactory) -> list[str]:
    """Compile an expression to words in postfix order: ``2 * pe.count`` to ``2``, ``pe.count``, ``*``.

    Args:
        text: an arithmetic expression. A reference ``${pe.count}`` within it means ``(pe.count)``.
        make_error: function that makes the exception to raise from a message.

    Raises:
        Exception: made by ``make_error``, if the text is not an expression.
    """
    from fiberscope.workloads.expressions.grammar import (  # noqa: PLC0415  (its parser takes time to load)
        UnreadableTextError,
        parse_arithmetic,
    )

    try:
        # In parentheses, so that the precedence of operators around a reference does not enter it
        return list(_postfix(parse_arithmetic(REFERENCE.sub(r"(\1)", text))))
    except UnreadableTextError as error:
        raise make_error(str(error)) from error


def _postfix(expression: Expression) -> Iterator[str]:
    """Yield the words of an expression, each operator after its two operands."""
    from fiberscope.workloads.expressions.expression import Number, Operation, Scalar  # noqa: PLC0415

    # A sum or product may have many operands: a + b + c becomes a, b, +, c, +
    if isinstance(expression, Operation):
        first, *others = expression.operands
        yield from _postfix(first)
        for operand in others:
            yield from _postfix(operand)
            yield expression.operator
    elif isinstance(expression, Number):
        yield str(Fraction(expression.value))  # exact, as in 3/2; the grammar has no sign
    else:
        assert isinstance(expression, Scalar)  # the grammar of references has nothing else
        yield expression.name


def evaluate(tokens: Sequence[str], names: KnownValues, make_error: ErrorFactory) -> Fraction:
    """Evaluate an expression in postfix order.

    Args:
        tokens: the expression, as ``compile_expression`` returns it.
        names: values by name, as of ``resolve_references``.
        make_error: function that makes the exception to raise from a message.

    Raises:
        Exception: made by ``make_error``, if a name is unknown, a value is not a number, or a divisor is 0.
    """
    stack: list[Fraction] = []
    for token in tokens:
        if token in OPERATORS:
            right = stack.pop()  # the operand that was pushed last
            try:
                stack.append(OPERATORS[token](stack.pop(), right))
            except ZeroDivisionError as error:
                raise make_error("it divides by zero") from error
        else:
            stack.append(
                Fraction(token) if token[0].isdigit() else _parameter_value(token, names, make_error)
            )
    return stack.pop()


def _parameter_value(name: str, names: KnownValues, make_error: ErrorFactory) -> Fraction:
    if name not in names:
        raise make_error(f"there is no {name}; {suggest(name, names)}")
    value = names[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise make_error(f"{name} is {value}; it should be a number")
    return Fraction(value)
