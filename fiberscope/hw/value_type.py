# cython: infer_types=True
"""Types of the values of a machine: their bits, their roundoff, and their arithmetic, on doubles.

A double represents every number of the narrower types. A sum, product or quotient that is rounded to a double
and then to a narrower type equals the exact result rounded once. The reason is that the 53 bits of a double
are at least two more than twice the bits of each narrower type (Figueroa, "When is double rounding
innocuous?", SIGNUM 1995).
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
RAISED = 2.0**64  # factor for products that a double would round as subnormal numbers


class ValueType:  # C: final
    """The arithmetic of a machine's values; arguments and results are doubles that hold these values exactly.

    ``auto`` and ``integer`` use the arithmetic of doubles. The floating-point types round sums and products
    to nearest, ties to even. Subnormal operands and results count as zeros of the same sign. Every NaN is the
    same quiet NaN, without a sign.

    Args:
        name: name in settings.
        bits: bits of a value; 0 if the type defines no width.
        fraction: bits after the leading one; 0 for the arithmetic of doubles.
        bias: bias of the exponent.
    """

    def __init__(self, name: str, bits: int = 0, fraction: int = 0, bias: int = 1023) -> None:
        self.name = name  # C: readonly str
        self.bits = bits  # C: readonly long
        self.floats = fraction > 0  # C: readonly bint
        self.roundoff = 2.0 ** -((fraction or FRACTION) + 1)  # C: readonly double; of a sum or product
        self.least = 2.0 ** (1 - bias)  # C: readonly double; the least normal number above 0
        self.most = (2.0 - 2.0 ** -(fraction or FRACTION)) * 2.0**bias  # C: readonly double
        self._lost = FRACTION - fraction if fraction else 0  # C: long; bits that rounding removes
        self._half = int(2.0 ** (self._lost - 1))  # C: long; half of the last bit that remains
        self._value = array("d", [0.0])
        self._bits = memoryview(self._value).cast("b").cast("q")  # the same memory

    def add(self, value: float, operand: float) -> float:
        """Return the sum."""
        if not self.floats:
            return value + operand
        return self.round_value(self.flush_subnormal(value) + self.flush_subnormal(operand))

    def multiply(self, value: float, operand: float) -> float:
        """Return the product."""
        if not self.floats:
            return value * operand
        value, operand = self.flush_subnormal(value), self.flush_subnormal(operand)
        product = value * operand
        if abs(product) == self.least and abs(value * RAISED * operand) < self.least * RAISED:
            return math.copysign(0.0, product)  # a double has rounded it as subnormal
        return self.round_value(product)

    def round_value(self, value: float) -> float:
        """Return the nearest number of the type: zero for a subnormal, infinity for a number too large."""
        if not self.floats:
            return value
        # Larger numbers become infinities below, and NaN stays NaN.
        if self._lost and abs(value) <= 2.0 * self.most:
            self._value[0] = value
            bits = self._bits[0]
            # Just below half is added, or half if the last bit that remains is 1: ties go to even.
            even = bits + self._half - 1 + (bits >> self._lost & 1)
            self._bits[0] = even & -2 * self._half
            value = self._value[0]
        if abs(value) > self.most:
            return math.copysign(math.inf, value)
        value = self.flush_subnormal(value)
        # only NaN fails the comparison; the result is the one NaN of the type
        return value if abs(value) <= self.most else math.nan

    def flush_subnormal(self, value: float) -> float:
        """Return a value, or a zero of its sign if it is subnormal in a floating-point type."""
        return math.copysign(0.0, value) if self.floats and abs(value) < self.least else value


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
