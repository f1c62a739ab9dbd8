"""Floating point: event models and twins compute the same bits, those of exact arithmetic rounded once."""

import math

import numpy as np
import pyrtl
import pytest
from float_logic import FORMS, computed, decoded, exactly, modelled
from hypothesis import given
from hypothesis import strategies as st
from pyrtl.rtllib import float as logic

from fiberscope.hw.value_type import TYPES

NUMPY = {"float32": np.float32, "float64": np.float64}


def related(name, one, other, way, step):
    """Two operands as bits: any two, or two whose difference cancels, is about a bit, or whose product is."""
    _kind, bits, fraction, largest = FORMS[name]
    most, sign = 2 * largest + 1, 1 << bits - 1
    exponent = one >> fraction & most
    ends = (0, 1 << fraction, most << fraction, most << fraction | 1 << fraction - 1)
    to = (largest, 1, 0)[step % 3]  # the exponent of the product
    opposite = (largest - exponent + to & most) << fraction | other & (1 << fraction) - 1
    chosen = (
        other,
        (one ^ sign) + step,
        one + step,
        (one ^ sign) + (step << fraction),
        opposite,
        ends[step % 4],
    )
    return (ends[way] if step == 5 and way < 4 else one), chosen[way] & (1 << bits) - 1


def pairs(name):
    """Some pairs of operands."""
    patterns = st.integers(0, (1 << FORMS[name][1]) - 1)
    drawn = st.tuples(patterns, patterns, st.integers(0, 5), st.integers(-60, 60))
    return st.lists(drawn.map(lambda given: related(name, *given)), min_size=12, max_size=12)


PAIRS = {name: pairs(name) for name in FORMS}


def worked_out(name, operation):
    """What a numpy of that type gives."""
    functions = {"mul": np.multiply, "add": np.add, "sub": np.subtract}
    return lambda one, other: float(functions[operation](NUMPY[name](one), NUMPY[name](other)))


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_a_twin_computes_the_bits_of_the_event_model(name, data):
    for one, other in data.draw(PAIRS[name]):
        assert computed(name, one, other) == modelled(name, one, other)


def signed(numbers):
    """Numbers as text, by which -0.0 is not 0.0 and one NaN is as another."""
    return [float(number).hex() for number in numbers]


@pytest.mark.parametrize("operation", ["mul", "add"])
@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_both_are_exact_arithmetic_rounded_once(name, operation, data):
    drawn = [(bits, decoded(name, *bits)) for bits in data.draw(PAIRS[name])]
    finite = [(bits, numbers) for bits, numbers in drawn if all(map(math.isfinite, numbers))]
    found = [decoded(name, modelled(name, *bits)[operation])[0] for bits, _numbers in finite]
    assert signed(found) == signed(exactly(name, operation, *numbers) for _bits, numbers in finite)


@pytest.mark.parametrize("operation", ["mul", "add", "sub"])
@pytest.mark.parametrize("name", NUMPY)
@given(data=st.data())
def test_both_are_numpy_where_nothing_is_subnormal(name, operation, data):
    drawn = [(bits, decoded(name, *bits)) for bits in data.draw(PAIRS[name])]
    with np.errstate(all="ignore"):
        expected = [(bits, numbers, worked_out(name, operation)(*numbers)) for bits, numbers in drawn]
    least = TYPES[name].least
    normal = [
        (bits, result)
        for bits, numbers, result in expected
        if not any(0 < abs(number) <= least for number in (*numbers, result))
    ]
    found = [decoded(name, modelled(name, *bits)[operation])[0] for bits, _result in normal]
    assert signed(found) == signed(result for _bits, result in normal)


@pytest.mark.parametrize("name", FORMS)
def test_worked_examples(name):
    _kind, _bits, fraction, largest = FORMS[name]
    kind, unit = TYPES[name], 2.0 ** -(FORMS[name][2] + 1)
    assert kind.roundoff == unit
    assert kind.add(1.0, unit) == 1.0  # a tie, to the even one
    assert kind.add(1.0, 1.5 * unit) == kind.add(1.0, 3 * unit / 2) == 1.0 + 2 * unit
    assert kind.multiply(2.0**largest, 2.0) == math.inf
    assert kind.multiply(-kind.least, 0.5) == 0.0
    assert math.copysign(1, kind.multiply(-kind.least, 0.5)) == -1
    assert kind.add(kind.least, -kind.least * (1 + 2.0**-fraction)) == 0.0
    assert math.isnan(kind.add(math.inf, -math.inf))
    assert kind.round_value(kind.most * (1 + 2 * unit)) == math.inf
    assert kind.round_value(kind.most * (1 + unit / 2)) == kind.most


@pytest.mark.parametrize("name", FORMS)
def test_a_product_just_below_the_least_number_is_zero(name):
    """A double rounds that of the widest type up to the least number, before any of ours is asked."""
    _kind, bits, fraction, largest = FORMS[name]
    below_one, least, sign = (largest << fraction) - 1, 1 << fraction, 1 << bits - 1
    for words, product in (
        ((below_one, least), 0),
        ((below_one, least | sign), sign),
        ((below_one, least + 1), least),
        ((largest << fraction, least), least),
    ):
        assert computed(name, *words)["mul"] == modelled(name, *words)["mul"] == product


@pytest.mark.parametrize("name", FORMS)
def test_what_is_shifted_out_of_a_sum_decides_a_tie(name):
    _kind, _bits, fraction, largest = FORMS[name]
    one, half = largest << fraction, largest - fraction - 1 << fraction  # half of the last bit of 1
    below_two = one | (1 << fraction) - 1
    for words, total in (
        ((one, half), one),
        ((one, half | 1), one | 1),
        ((one | 1, half), one | 2),
        ((below_two, half), largest + 1 << fraction),
    ):
        assert computed(name, *words)["add"] == modelled(name, *words)["add"] == total


def test_doubles_as_they_come_keep_what_is_subnormal():
    assert TYPES["auto"].multiply(2.0**-1000, 2.0**-60) == 2.0**-1060
    assert TYPES["float64"].multiply(2.0**-1000, 2.0**-60) == 0.0


OFF = {  # of two numbers, of which the second is subtracted: the bits, and those of the difference
    "float32": (0x3F800000, 0x3F7FFFFF, 0x33800000),
    "bfloat16": (0x0500, 0x0080, 0x0500),
}


@pytest.mark.parametrize("name", OFF)
def test_pyrtls_own_adder_is_off_there_and_ours_is_not(name):
    one, other, expected = OFF[name]
    wires = {"float32": logic.Float32, "bfloat16": logic.BFloat16}[name]
    with pyrtl.set_working_block(pyrtl.Block()):
        a, b = (pyrtl.Input(FORMS[name][1], operand) for operand in "ab")
        theirs = pyrtl.Output(FORMS[name][1], "theirs")
        theirs <<= pyrtl.as_wires(logic.sub(*(wires(**{wires.__name__: operand}) for operand in (a, b))))
        simulation = pyrtl.FastSimulation(tracer=None)
    simulation.step({"a": one, "b": other})
    assert computed(name, one, other)["sub"] == modelled(name, one, other)["sub"] == expected
    assert simulation.inspect("theirs") != expected


@pytest.mark.parametrize("name", FORMS)
def test_of_no_number_and_another_neither_is_the_largest_or_the_least(name):
    bits, fraction = FORMS[name][1:3]
    quiet = (1 << bits - 1) - 1 & ~((1 << fraction - 1) - 1)
    for one, other in ((0, quiet), (quiet, 0), (quiet, quiet)):
        assert computed(name, one, other) == modelled(name, one, other)
        assert computed(name, one, other)["max"] == computed(name, one, other)["min"] == quiet


@pytest.mark.parametrize("name", FORMS)
def test_of_zeros_the_first_is_the_largest_and_the_least(name):
    sign = 1 << FORMS[name][1] - 1
    for one, other in ((0, sign), (sign, 0)):
        assert computed(name, one, other) == modelled(name, one, other)
        assert computed(name, one, other)["max"] == computed(name, one, other)["min"] == one
