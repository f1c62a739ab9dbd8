"""Floating point by logic, by the arithmetic of event models, and worked out exactly, of operands as bits."""

import math
from fractions import Fraction
from functools import cache

import pyrtl

from fiberscope.hw.rtl.kit import arithmetic
from fiberscope.hw.rtl.kit.codec import Codec
from fiberscope.hw.rtl.kit.interface import float_bits, float_of
from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.operations import BINARY
from fiberscope.hw.value_type import TYPES

FORMS = {  # what a field is, bits of the fraction, the largest exponent of a number
    "float32": ("float", 32, 23, 127),
    "float64": ("float", 64, 52, 1023),
    "bfloat16": ("bfloat", 16, 7, 127),
}
COMPUTED = ("mul", "add", "sub", "max", "min", "take", "first", "differs", "less", "or", "and")


@cache
def hardware(name):
    """The logic of a type, of two operands all that is computed."""
    bits = FORMS[name][1]
    block = pyrtl.Block()
    with pyrtl.set_working_block(block):
        one, other = pyrtl.Input(bits, "one"), pyrtl.Input(bits, "other")
        for operation, computed in arithmetic.operations(name).items():
            result = pyrtl.Output(bits, operation)
            result <<= computed(one, other)
    return pyrtl.FastSimulation(tracer=None, block=block)


def computed(name, one, other):
    """The bits of all results of two operands, given as bits."""
    simulation = hardware(name)
    simulation.step({"one": one, "other": other})
    return {operation: simulation.inspect(operation) for operation in COMPUTED}


def modelled(name, one, other):
    """The same by the arithmetic of event models."""
    kind, codec = TYPES[name], Codec(*reversed(FORMS[name][:2]))
    a, b = (float_of(codec.decode(bits)) for bits in (one, other))
    results = {"mul": kind.multiply(a, b), "add": kind.add(a, b), "sub": kind.add(a, -b)}
    results |= {operation: operate(BINARY[operation], a, b, kind) for operation in COMPUTED[3:]}
    return {operation: codec.encode(float_bits(results[operation])) for operation in COMPUTED}


def decoded(name, *words):
    """The numbers that these bits are."""
    codec = Codec(*reversed(FORMS[name][:2]))
    return [float_of(codec.decode(bits)) for bits in words]


def exactly(name, operation, one, other):
    """A product or sum of two numbers, worked out exactly and rounded once, to the nearest, ties to even."""
    _kind, _bits, fraction, largest = FORMS[name]
    least = Fraction(2) ** (1 - largest)
    a, b = (math.copysign(0.0, value) if abs(value) < least else value for value in (one, other))
    exact = Fraction(a) * Fraction(b) if operation == "mul" else Fraction(a) + Fraction(b)
    if exact == 0:
        return a * b if operation == "mul" else a + b  # a zero and its sign, by IEEE 754
    exponent = math.floor(math.log2(abs(exact.numerator))) - math.floor(math.log2(exact.denominator))
    exponent -= abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** (exponent - fraction)
    rounded = round(exact / step) * step
    sign = 1 if exact > 0 else -1
    if abs(rounded) < least:
        return sign * 0.0
    return sign * math.inf if abs(rounded) >= Fraction(2) ** (largest + 1) else float(rounded)
