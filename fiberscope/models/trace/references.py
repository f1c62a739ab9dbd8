"""References in a specification: ``${fibercache.size * 8 / 64}``, numbers that stand elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from fiberscope.workloads.errors import nearest
from fiberscope.workloads.expressions.grammar import (
    Arithmetic,
    Parameter,
    UnreadableTextError,
    parse_arithmetic,
)

__all__ = ["resolved"]

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")


def resolved(text: str, known: Mapping[str, object], complaint: Callable[[str], Exception]) -> object:
    """The value of a text with references.

    Args:
        text: a reference alone gives its number; one within a text is written into it.
        known: values by name: symbols, and the machine's parameters in base units (bytes, hertz).
        complaint: makes the exception that is raised.
    """
    whole = _REFERENCE.fullmatch(text)
    if whole:
        return _value(whole[1], known, complaint)
    written = _REFERENCE.sub(lambda match: str(_value(match[1], known, complaint)), text)
    if "${" in written:
        raise complaint("a reference should be written as in ${fibercache.size / 8}")
    return written


def _value(
    reference: str, known: Mapping[str, object], complaint: Callable[[str], Exception]
) -> int | float | str:
    try:
        number = _number(parse_arithmetic(reference), known)
    except UnreadableTextError as error:
        raise complaint(f"${{{reference}}}: {error}") from error
    except ZeroDivisionError as error:
        raise complaint(f"${{{reference}}}: it divides by zero") from error
    except ValueError as error:
        raise complaint(f"${{{reference}}}: {error}") from error
    return int(number) if number.denominator == 1 else float(number)


def _number(part: Arithmetic | Parameter | Fraction, known: Mapping[str, object]) -> Fraction:
    if isinstance(part, Arithmetic):
        return _applied(part.operator, _number(part.left, known), _number(part.right, known))
    if isinstance(part, Fraction):
        return part
    if part.name not in known:
        raise ValueError(f"there is no {part.name}; {nearest(part.name, known)}")
    value = known[part.name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{part.name} is {value}; it should be a number")
    return Fraction(value)


def _applied(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left / right
