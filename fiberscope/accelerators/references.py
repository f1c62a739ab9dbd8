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

from fiberscope.workloads.errors import nearest

if TYPE_CHECKING:
    from fiberscope.workloads.expressions.expression import Expression

Complaint: TypeAlias = Callable[[str], Exception]
KnownValues: TypeAlias = Mapping[str, object]
APPLIED: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
REFERENCE = re.compile(r"\$\{([^{}]*)\}")


def resolve_references(text: str, names: KnownValues, complaint: Complaint) -> object:
    """Return a text with its references replaced by values.

    Args:
        text: a text with any number of references.
        names: values by name: symbols, and the machine's parameters in base units (bytes, hertz).
        complaint: function that makes the exception to raise from a message.

    Returns:
        A number if the whole text is one reference; otherwise the text with the numbers inserted.

    Raises:
        Exception: made by ``complaint``, if a reference is malformed or cannot be evaluated.
    """
    whole = REFERENCE.fullmatch(text)
    if whole:
        return _value(whole[1], names, complaint)
    written = REFERENCE.sub(lambda match: str(_value(match[1], names, complaint)), text)
    if "${" in written:
        raise complaint("a reference should be written as in ${fibercache.size / 8}")
    return written


def _value(reference: str, names: KnownValues, complaint: Complaint) -> int | float:
    def complain(message: str) -> Exception:
        return complaint(f"${{{reference}}}: {message}")

    number = evaluate(compile_expression(reference, complain), names, complain)
    return int(number) if number.denominator == 1 else float(number)


def compile_expression(text: str, complaint: Complaint) -> list[str]:
    """Compile an expression to words in postfix order: ``2 * pe.count`` to ``2``, ``pe.count``, ``*``.

    Args:
        text: an arithmetic expression. A reference ``${pe.count}`` within it means ``(pe.count)``.
        complaint: function that makes the exception to raise from a message.

    Raises:
        Exception: made by ``complaint``, if the text is not an expression.
    """
    from fiberscope.workloads.expressions.grammar import (  # noqa: PLC0415  (its parser takes time to load)
        UnreadableTextError,
        parse_arithmetic,
    )

    try:
        return list(_words(parse_arithmetic(REFERENCE.sub(r"(\1)", text))))
    except UnreadableTextError as error:
        raise complaint(str(error)) from error


def _words(part: Expression) -> Iterator[str]:
    from fiberscope.workloads.expressions.expression import Number, Operation, Scalar  # noqa: PLC0415

    if isinstance(part, Operation):
        first, *others = part.operands
        yield from _words(first)
        for other in others:
            yield from _words(other)
            yield part.operator
    elif isinstance(part, Number):
        yield str(Fraction(part.value))
    else:
        assert isinstance(part, Scalar)  # the grammar of references has nothing else
        yield part.name


def evaluate(words: Sequence[str], names: KnownValues, complaint: Complaint) -> Fraction:
    """Evaluate an expression in postfix order.

    Args:
        words: the expression, as ``compile_expression`` returns it.
        names: values by name, as of ``resolve_references``.
        complaint: function that makes the exception to raise from a message.

    Raises:
        Exception: made by ``complaint``, if a name is unknown or its value is not a number, or for a division
            by zero.
    """
    stack: list[Fraction] = []
    for word in words:
        if word in APPLIED:
            last = stack.pop()
            try:
                stack.append(APPLIED[word](stack.pop(), last))
            except ZeroDivisionError as error:
                raise complaint("it divides by zero") from error
        else:
            stack.append(Fraction(word) if word[0].isdigit() else _parameter_value(word, names, complaint))
    return stack.pop()


def _parameter_value(name: str, names: KnownValues, complaint: Complaint) -> Fraction:
    if name not in names:
        raise complaint(f"there is no {name}; {nearest(name, names)}")
    value = names[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise complaint(f"{name} is {value}; it should be a number")
    return Fraction(value)
