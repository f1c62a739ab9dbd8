"""Division by a constant: a multiplication by its reciprocal, exact for every number.

For a divisor d, not a power of two, and numbers x below 2^n: with l the bits of d - 1, m = ceil(2^(n+l) / d).
Then m * d = 2^(n+l) + e where e < d < 2^l, so x * m / 2^(n+l) = (x + x * e / 2^(n+l)) / d. What is added to x
is below 1, so the floor is that of x / d. (Granlund and Montgomery, "Division by Invariant Integers using
Multiplication", PLDI 1994.)
"""

from __future__ import annotations

import pyrtl

from hw.rtl.kit.twin import Signal, index_bits


def quotient(number: Signal, divisor: int) -> Signal:
    """An unsigned number by a positive constant, rounded down."""
    if divisor.bit_length() > len(number):
        return pyrtl.Const(0, 1)
    zeros = (divisor & -divisor).bit_length() - 1
    number, odd = number[zeros:], divisor >> zeros
    if odd == 1:
        return number
    shift = len(number) + (odd - 1).bit_length()
    reciprocal = -(-(1 << shift) // odd)
    return (number * pyrtl.Const(reciprocal, reciprocal.bit_length()))[shift:]


def remainder(number: Signal, divisor: int) -> Signal:
    """An unsigned number modulo a positive constant, in as many bits as that needs."""
    width = index_bits(divisor)
    if divisor & (divisor - 1) == 0:
        return number[:width].zero_extended(width) if divisor > 1 else pyrtl.Const(0, 1)
    whole = quotient(number, divisor)
    return (number - whole * pyrtl.Const(divisor, divisor.bit_length()))[:width].zero_extended(width)
