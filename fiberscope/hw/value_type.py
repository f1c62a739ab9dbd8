# cython: infer_types=True
"""Types of the values of a machine: their bits, their roundoff, and their arithmetic, on doubles.

A double holds every number of the narrower types, and a sum, product or quotient that it has rounded is, once
rounded more, the exact one rounded once: its 53 bits are at least two more than twice those of each
(Figueroa, "When is double rounding innocuous?", SIGNUM 1995).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = ["AUTO", "DOUBLE", "INTEGER", "TYPES", "ValueName", "ValueType"]

ValueName: TypeAlias = Literal["auto", "integer", "float32", "float64", "bfloat16"]

AUTO = "auto"
INTEGER = "integer"
FRACTION = 52  # C: object; bits of a double's fraction
RAISED = 2.0**64  # what is too small for a double is worked out so many times larger


class ValueType:  # C: final
    """Numbers as a machine's hardware has them, given and returned as doubles that are exactly those.

    ``auto`` and ``integer`` are doubles as they come. Of the types of floating point, sums and products are
    rounded to nearest, ties to even; what is subnormal counts as a zero of its sign, as an operand and as a
    result; and what is no number is one quiet NaN, without a sign.

    Args:
        name: as settings have it.
        bits: of a value; 0 where the type does not say how many.
        fraction: bits behind the leading one; 0 of doubles as they come.
        bias: of the exponent.
    """

    def __init__(self, name: str, bits: int = 0, fraction: int = 0, bias: int = 1023) -> None:
        self.name = name  # C: readonly str
        self.bits = bits  # C: readonly long
        self.floats = fraction > 0  # C: readonly bint
        self.roundoff = 2.0 ** -((fraction or FRACTION) + 1)  # C: readonly double; of a sum or product
        self.least = 2.0 ** (1 - bias)  # C: readonly double; above 0 that is not subnormal
        self.most = (2.0 - 2.0 ** -(fraction or FRACTION)) * 2.0**bias  # C: readonly double
        self._lost = FRACTION - fraction if fraction else 0  # C: long; bits of a double's fraction
        self._half = int(2.0 ** (self._lost - 1))  # C: long; of the last bit that is left of it
        self._value = array("d", [0.0])
        self._bits = memoryview(self._value).cast("b").cast("q")  # the same memory

    def add(self, value: float, other: float) -> float:
        """The sum."""
        if not self.floats:
            return value + other
        return self.rounded(self._operand(value) + self._operand(other))

    def multiply(self, value: float, other: float) -> float:
        """The product."""
        if not self.floats:
            return value * other
        value, other = self._operand(value), self._operand(other)
        product = value * other
        if abs(product) == self.least and abs(value * RAISED * other) < self.least * RAISED:
            return math.copysign(0.0, product)  # a double has rounded it as subnormal
        return self.rounded(product)

    def rounded(self, value: float) -> float:
        """A double as the number of the type that is nearest."""
        if not self.floats:
            return value
        if self._lost and abs(value) <= 2.0 * self.most:
            self._value[0] = value
            bits = self._bits[0]
            even = bits + self._half - 1 + (bits >> self._lost & 1)
            self._bits[0] = even & -2 * self._half
            value = self._value[0]
        if abs(value) > self.most:
            return math.copysign(math.inf, value)
        value = self._operand(value)
        return value if abs(value) <= self.most else math.nan

    def _operand(self, value: float) -> float:
        """A value as an operation takes it."""
        return math.copysign(0.0, value) if abs(value) < self.least else value


DOUBLE = ValueType(AUTO)
TYPES: Mapping[str, ValueType] = {
    value_type.name: value_type
    for value_type in (
        DOUBLE,
        ValueType(INTEGER),
        ValueType("float32", 32, 23, 127),
        ValueType("float64", 64, 52),
        ValueType("bfloat16", 16, 7, 127),
    )
}
