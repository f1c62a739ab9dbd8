"""Value types of twins: their fields, and the logic that adds, multiplies and compares values.

Floating-point results are rounded to nearest, ties to even, in one place after sums and products. Subnormals
count as zeros of their sign, and there is a single quiet NaN, as in ``fiberscope.hw.value_type``. PyRTL's own
adder (``pyrtl.rtllib.float`` of 1.0.3) is wrong if the difference lies below the last bit of both operands,
or if the smaller operand is a power of two that leaves a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pyrtl
from pyrtl.rtllib.muxes import prioritized_mux

from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.parameters import CHOICES, Parameters, check_range
from fiberscope.hw.rtl.kit.trees import total
from fiberscope.hw.rtl.kit.twin import Signal, alias, delayed, unless
from fiberscope.hw.value_type import INTEGER, TYPES, ValueType

Operation: TypeAlias = Callable[[Signal, Signal], Signal]
Cut: TypeAlias = Callable[..., Sequence[Signal]]
Pipelined: TypeAlias = "Callable[[_Form, Signal, Signal, Cut], Signal]"


class _Form(NamedTuple):
    """Bits of the exponent and of the fraction, and the kind of the field."""

    exponent: int
    fraction: int
    kind: str

    @property
    def bits(self) -> int:
        """Return the total bits with the sign."""
        return 1 + self.exponent + self.fraction


_FORMS = {
    "float32": _Form(8, 23, "float"),
    "float64": _Form(11, 52, "float"),
    "bfloat16": _Form(8, 7, "bfloat"),
}
VALUES = (INTEGER, *_FORMS)
PARTS = 4  # parts of a factor; each part is multiplied separately
CUTS = 3  # pipeline cuts of a sum or product: before the addition, the rounding, and the overflow


def value_type() -> str:
    """Declare the parameter for the type of values: ``integer``, in two's complement, or a float."""
    parameter: str = field(default=INTEGER, metadata={CHOICES: VALUES}, kw_only=True)
    return parameter


def carried_as(values: str, bits: int) -> dict[str, Any]:
    """Return the parameters of a block that forwards values unchanged: their kind and bits."""
    content = _field(values, bits)
    return {"values": content.kind, "value_bits": content.width}


def _field(values: str, bits: int) -> Field:
    """Return the field of a value; ``bits`` is for integers."""
    if values == INTEGER:
        return Field("value", bits, "whole")
    form = _FORMS[values]
    return Field("value", form.bits, form.kind)


class ValueParameters(Parameters):
    """Base class of parameters with values; ``values`` is a ``value_type``."""

    values: str
    value_bits: int

    @property
    def value_type(self) -> ValueType:
        """The type in event models."""
        return TYPES[self.values]

    @property
    def value_field(self) -> Field:
        """The field of a value."""
        return self.field(self.value_bits)

    def field(self, bits: int) -> Field:
        """Return the field of a value; ``bits`` is for integers."""
        return _field(self.values, bits)

    def computed(self, operation: str, value: Signal, other: Signal, bits: int) -> Signal:
        """Compute an operation of two values; of an integer, the lowest ``bits`` bits.

        Args:
            operation: name of the operation, a key of ``operations``.
            value, other: the operands, in order.
            bits: bits of an integer result; a float keeps its own width.
        """
        result, width = operations(self.values)[operation](value, other), self.field(bits).width
        return result.sign_extended(max(len(result), width))[:width]

    def computed_in(self, stages: int, operation: str, value: Signal, other: Signal, bits: int) -> Signal:
        """Compute an operation with a latency of ``stages`` cycles.

        Registers are inside floating-point sums and products, and after other operations. The registers have
        no reset and no enable.
        """
        if self.values == INTEGER or operation not in _PIPELINES:
            return delayed(self.computed(operation, value, other, bits), stages)
        return _PIPELINES[operation](_FORMS[self.values], value, other, _Pipeline(stages).cut)


class SummingParameters(ValueParameters):
    """Base class of parameters with sums of values.

    Raises:
        ValueError: ``sum_bits`` is not from ``value_bits`` to 53, or another parameter is out of its range.
    """

    sum_bits: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_range(self.block_name, "sum_bits", self.sum_bits, self.value_bits, WHOLE_BITS)

    @property
    def sum_field(self) -> Field:
        """The field of a sum."""
        return self.field(self.sum_bits)

    def added(self, value: Signal, other: Signal) -> Signal:
        """Return the sum of two values."""
        return self.computed("add", value, other, self.sum_bits)


def operations(values: str) -> Mapping[str, Operation]:
    """Return the operations on two values of a type, by name; integer results have all their bits."""
    less = pyrtl.signed_lt if values == INTEGER else partial(_less, _FORMS[values])
    none = _no_integer if values == INTEGER else partial(_no_number, _FORMS[values])
    return {
        # A NaN wins: ``none`` selects it in ``other``, and a comparison with it in ``value`` is false.
        "max": lambda value, other: pyrtl.select(less(value, other) | none(other), other, value),
        "min": lambda value, other: pyrtl.select(less(other, value) | none(other), other, value),
        "take": lambda _one, other: other,
        "first": lambda value, _other: value,
        "differs": lambda value, other: _truth(values, _differ(values, value, other)),
        "less": lambda value, other: _truth(values, less(value, other)),
        "or": lambda value, other: _truth(values, ~_is_zero(values, value) | ~_is_zero(values, other)),
        "and": lambda value, other: _truth(values, ~_is_zero(values, value) & ~_is_zero(values, other)),
        **(_OF_INTEGERS if values == INTEGER else _floating(_FORMS[values])),
    }


def _truth(values: str, holds: Signal) -> Signal:
    """Return a condition as a value: 1 or 0."""
    if values == INTEGER:
        return holds.zero_extended(2)  # the sign bit of two's complement is 0
    form = _FORMS[values]
    return unless(~holds, pyrtl.Const(((1 << form.exponent - 1) - 1) << form.fraction, form.bits))


def _is_zero(values: str, word: Signal) -> Signal:
    return word == 0 if values == INTEGER else _Float(_FORMS[values], word).is_zero


def _differ(values: str, value: Signal, other: Signal) -> Signal:
    if values == INTEGER:
        return value != other
    # Equal words differ only if they are NaN; +0 and -0 do not differ.
    unlike = (value != other) | _no_number(_FORMS[values], value)
    return unlike & ~(_is_zero(values, value) & _is_zero(values, other))


_OF_INTEGERS: Mapping[str, Operation] = {
    "mul": pyrtl.signed_mult,
    "add": pyrtl.signed_add,
    "sub": pyrtl.signed_sub,
}


def _floating(form: _Form) -> Mapping[str, Operation]:
    return {name: _at_once(pipeline, form) for name, pipeline in _PIPELINES.items()}


def _at_once(pipeline: Pipelined, form: _Form) -> Operation:
    return lambda value, other: pipeline(form, value, other, _uncut)


class _Float:
    """The parts of a floating-point number with the leading bit of its significand, and its class."""

    def __init__(self, form: _Form, word: Signal) -> None:
        self.form = form
        self.sign, self.exponent = word[-1], word[form.fraction : -1]
        self.is_zero = self.exponent == 0  # zero or subnormal
        self.significand = unless(self.is_zero, pyrtl.concat(pyrtl.Const(1, 1), word[: form.fraction]))
        self.is_infinite = word[:-1] == _infinite(form)
        self.is_nan = _no_number(form, word)


def _infinite(form: _Form) -> int:
    """Return the bits of infinity without sign. NaNs have larger bits, numbers smaller bits."""
    return ((1 << form.exponent) - 1) << form.fraction


def _uncut(*signals: Signal) -> Sequence[Signal]:
    return signals


def _difference(form: _Form, value: Signal, other: Signal, cut: Cut) -> Signal:
    return _sum(form, value, pyrtl.concat(~other[-1], other[:-1]), cut)


def _sum(form: _Form, value: Signal, other: Signal, cut: Cut) -> Signal:
    """Add on two paths: near for a difference with exponents at most one apart, far for everything else.

    On the near path, many leading digits can cancel, but no digit is lost. On the far path, digits of the
    smaller operand are shifted out, but at most one leading digit cancels.

    Source: Farmwald, On the Design of High Performance Digital Arithmetic Units (1981).
    """
    left, right = _Float(form, value), _Float(form, other)
    subtracts = left.sign != right.sign
    ahead, behind = left.exponent - right.exponent, right.exponent - left.exponent
    swaps = ahead[-1]
    apart = pyrtl.select(swaps, behind, ahead)[:-1]
    most = pyrtl.select(swaps, right.significand, left.significand)
    least = pyrtl.select(swaps, left.significand, right.significand)
    # The near path needs the difference of the exponents only if it is -1, 0 or 1: two bits suffice.
    step = (left.exponent[:2] - right.exponent[:2])[:2]
    signals = (
        pyrtl.concat(most, pyrtl.Const(0, 3)),  # guard, round and sticky bit
        _shifted_out(pyrtl.concat(least, pyrtl.Const(0, 3)), apart),
        _halved(left.significand, step == 3),
        _halved(right.significand, step == 1),
        subtracts,
        subtracts & (apart[1:] == 0),
        left.sign,
        pyrtl.select(swaps, right.sign, left.sign),
        pyrtl.select(swaps, right.exponent, left.exponent),
        left.is_nan | right.is_nan | (left.is_infinite & right.is_infinite & subtracts),
        left.is_infinite | right.is_infinite,
    )
    most, shifted, minuend, subtrahend, subtracts, cancels, of_left, sign, largest, nan, infinite = cut(
        *signals
    )
    far = pyrtl.select(subtracts, (most - shifted)[: len(most) + 1], most + shifted)
    difference = minuend - subtrahend  # left - right; the highest bit is the borrow
    near = pyrtl.select(difference[-1], subtrahend - minuend, difference)[:-1]
    sign = pyrtl.select(cancels, of_left ^ difference[-1], sign)
    far, near, cancels, sign, largest, nan, infinite = cut(far, near, cancels, sign, largest, nan, infinite)
    ways = _uncancelled(near, largest), _carried(far, largest)
    normal, exponent = (pyrtl.select(cancels, *pair) for pair in zip(*ways, strict=True))
    # An exact cancellation gives +0, as IEEE 754 requires for round to nearest.
    return _rounded(form, sign & ~(cancels & ~normal[-1]), exponent, normal, nan, infinite, cut)


def _halved(word: Signal, flag: Signal) -> Signal:
    """Return a word with one more bit, shifted to the right if the flag is set."""
    zero = pyrtl.Const(0, 1)
    return pyrtl.select(flag, pyrtl.concat(zero, word), pyrtl.concat(word, zero))


def _shifted_out(word: Signal, distance: Signal) -> Signal:
    """Shift to the right; the last bit is sticky: it is set if any bit that is shifted out is set."""
    places = (len(word) - 1).bit_length()
    far = distance[places:] != 0
    lost = far & (word != 0)
    for place, flag in enumerate(distance[:places]):
        step = 1 << place
        lost = lost | (flag & (word[:step] != 0))
        word = pyrtl.select(flag, word[step:].zero_extended(len(word)), word)
    return pyrtl.concat(unless(far, word[1:]), lost | unless(far, word[0]))


def _uncancelled(difference: Signal, largest: Signal) -> tuple[Signal, Signal]:
    """Normalise a difference; return it with its exponent."""
    zeros = _leading_zeros(difference)
    exponent = pyrtl.signed_sub(_positive(largest), _positive(zeros))
    normal = pyrtl.shift_left_logical(difference, zeros)
    return pyrtl.concat(normal, pyrtl.Const(0, 3)), exponent


def _carried(far: Signal, largest: Signal) -> tuple[Signal, Signal]:
    """Normalise a far result: a sum may have a carry, and a difference may lack its leading digit."""
    above, there, same = far[-1], far[-2], _positive(_positive(largest))
    lower = pyrtl.concat(far[:-2], pyrtl.Const(0, 2))
    normal = pyrtl.select(there, pyrtl.concat(far[:-1], pyrtl.Const(0, 1)), lower)
    exponent = pyrtl.select(there, same, (same - 1)[: len(same)])
    return pyrtl.select(above, far, normal), pyrtl.select(above, (same + 1)[: len(same)], exponent)


class _Pipeline:
    """Registers between the phases of a sum or product, divided among its cuts; first cuts have more.

    Args:
        stages: registers from end to end.
    """

    def __init__(self, stages: int) -> None:
        self._stages, self._cuts = stages, CUTS

    def cut(self, *signals: Signal) -> Sequence[Signal]:
        """Return the signals after the registers of the next cut; to be called ``CUTS`` times."""
        here = -(-self._stages // self._cuts)
        self._stages, self._cuts = self._stages - here, self._cuts - 1
        return [delayed(signal, here) for signal in signals]


def _product(form: _Form, left: Signal, right: Signal, cut: Cut) -> Signal:
    """Multiply significands in [1, 2); the product is below 4."""
    value, other = _Float(form, left), _Float(form, right)
    multiplicand, factor = alias("multiplicand", value.significand), alias("factor", other.significand)
    infinite = value.is_infinite | other.is_infinite
    nan = value.is_nan | other.is_nan | (infinite & (value.is_zero | other.is_zero))
    width = -(-len(factor) // PARTS)
    parts = [multiplicand * factor[low : low + width] for low in range(0, len(factor), width)]
    sign, exponents, nan, infinite, *parts = cut(
        value.sign ^ other.sign, value.exponent + other.exponent, nan, infinite, *parts
    )
    shifted = [pyrtl.concat(part, pyrtl.Const(0, width * i)) if i else part for i, part in enumerate(parts)]
    product = total(shifted)[: 2 * len(factor)]
    above = product[-1]
    # Each exponent includes the bias, and their sum must include it once.
    bias = (1 << form.exponent - 1) - 1
    exponent = pyrtl.signed_sub(_positive(exponents + above), _positive(pyrtl.Const(bias)))
    normal = pyrtl.select(above, product, pyrtl.concat(product[:-1], pyrtl.Const(0, 1)))
    sign, exponent, normal, nan, infinite = cut(sign, exponent, normal, nan, infinite)
    return _rounded(form, sign, exponent, normal, nan, infinite, cut)


def _rounded(
    form: _Form, sign: Signal, exponent: Signal, normal: Signal, nan: Signal, infinite: Signal, cut: Cut
) -> Signal:
    """Round a number whose significand is zero or begins with a one, to nearest, ties to even.

    A result below the normal numbers becomes zero, and a result above them infinity. ``nan`` and ``infinite``
    override the number. ``normal`` has at least two bits more than the significand of the form.
    """
    kept, half, rest = normal[-form.fraction - 1 :], normal[-form.fraction - 2], normal[: -form.fraction - 2]
    rounded = pyrtl.select(half & ((rest != 0) | kept[0]), kept + 1, _positive(kept))
    sign, exponent, rounded, is_zero, nan, infinite = cut(sign, exponent, rounded, ~normal[-1], nan, infinite)
    # If rounding carries out (``rounded[-1]``), the fraction is 0 and the exponent one larger.
    one_more = pyrtl.signed_add(exponent, pyrtl.Const(1, 2))
    packed = pyrtl.select(rounded[-1], *(_within(form, number) for number in (one_more, exponent)))
    beyond, vanishes = infinite | packed[-1], is_zero | packed[-2]
    number = pyrtl.concat(packed[: form.exponent], rounded[: form.fraction])
    limit = pyrtl.Const(_infinite(form), form.bits - 1)
    number = pyrtl.select(beyond, limit, unless(vanishes, number))
    quiet = pyrtl.Const(_infinite(form) | 1 << form.fraction - 1, form.bits)
    return pyrtl.select(nan, quiet, pyrtl.concat(sign, number))


def _within(form: _Form, exponent: Signal) -> Signal:
    """Return the bits of an exponent with two flags above: too large, and too small."""
    beyond = pyrtl.signed_ge(exponent, pyrtl.Const((1 << form.exponent) - 1, form.exponent + 1))
    vanishes = pyrtl.signed_le(exponent, pyrtl.Const(0, 1))
    return pyrtl.concat(beyond, vanishes, exponent[: form.exponent])


def _positive(number: Signal) -> Signal:
    """Return an unsigned number as a signed number."""
    return number.zero_extended(len(number) + 1)


_PIPELINES: Mapping[str, Pipelined] = {"mul": _product, "add": _sum, "sub": _difference}


def _leading_zeros(word: Signal) -> Signal:
    """Count the leading zeros; the result for zero is the number of bits minus one."""
    counts = [pyrtl.Const(zeros, len(word).bit_length()) for zeros in range(len(word))]
    return prioritized_mux(list(word[::-1]), counts)


def _no_integer(_word: Signal) -> Signal:
    """Return false, as every word is an integer."""
    return pyrtl.Const(0, 1)


def _no_number(form: _Form, word: Signal) -> Signal:
    """Return whether a value is NaN."""
    return word[:-1] > _infinite(form)


def _less(form: _Form, value: Signal, other: Signal) -> Signal:
    """Return whether one value is less than another by IEEE 754: zeros are equal, NaN has no order."""
    left, right = (unless(_Float(form, word).is_zero, word[:-1]) for word in (value, other))
    numbers = (left <= _infinite(form)) & (right <= _infinite(form))
    of_one_sign = pyrtl.select(value[-1], right < left, left < right)
    of_two = value[-1] & ((left != 0) | (right != 0))
    return numbers & pyrtl.select(value[-1] == other[-1], of_one_sign, of_two)
