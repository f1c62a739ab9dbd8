"""Corners of rounding: bfloat16 by exponent, all significands; constructed ones of the other types."""

from functools import cache

import numpy as np
import pyrtl
import pytest
from float_logic import FORMS, computed, decoded, exactly, modelled
from vectorized import evaluate

from fiberscope.hw.rtl.kit import arithmetic

FRACTION, BIAS, MOST = 7, 127, 255  # of bfloat16; the exponent of what is no number
SIGNIFICANDS = np.indices((128, 128)).reshape(2, -1)  # every pair, without the leading bit
LEAST = 2.0 ** (1 - BIAS)


@cache
def logic(operation):
    """An operation on bfloat16."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block):
        one, other = pyrtl.Input(16, "one"), pyrtl.Input(16, "other")
        result = pyrtl.Output(16, "result")
        result <<= arithmetic.operations("bfloat16")[operation](one, other)
    return block


def numbers(words):
    """Words of bfloat16 as doubles, which hold them exactly; subnormals as zeros of their sign."""
    floats = (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.where(np.abs(floats) < LEAST, np.copysign(0.0, floats), floats)


def rounded(exact):
    """Doubles rounded to bfloat16, to the nearest, ties to even, subnormals to zero: as words."""
    bits = np.abs(exact).view(np.int64)
    lost = 52 - FRACTION
    kept = (bits + (1 << lost - 1) - 1 + (bits >> lost & 1)) >> lost
    word = kept - (1023 - BIAS << FRACTION)
    word = np.where(word >= MOST << FRACTION, MOST << FRACTION, np.where(word < 1 << FRACTION, 0, word))
    return word | (np.signbit(exact).astype(np.int64) << 15)


def check(operation, one, other):
    """All words of two operands with the logic, against exact arithmetic."""
    with np.errstate(all="ignore"):
        exact = {"mul": np.multiply, "add": np.add}[operation](numbers(one), numbers(other))
    parts = zip(np.split(one, 4), np.split(other, 4), strict=True)  # which stay in a cache
    results = [evaluate(logic(operation), {"one": left, "other": right})["result"] for left, right in parts]
    result = np.concatenate(results)
    wrong = np.flatnonzero(result != rounded(exact))
    shown = [(hex(one[i]), hex(other[i]), hex(result[i]), hex(rounded(exact)[i])) for i in wrong[:3]]
    assert not len(wrong), f"{operation}: {len(wrong)} of {len(one)} are wrong: {shown}"


def words(exponent, significands, sign=0):
    return sign << 15 | exponent << FRACTION | significands


SUMS_OF_EXPONENTS = (2, *range(BIAS - 3, BIAS + 4), 2 * BIAS, *range(MOST + BIAS - 4, MOST + BIAS + 2), 508)


@pytest.mark.parametrize("total", SUMS_OF_EXPONENTS)
def test_products_of_all_significands_where_exponents_add_up_to(total):
    """At the least normal number, which smaller products are rounded up to, at the largest, and between."""
    for first in {max(1, total - 254), total // 2, min(254, total - 1)}:
        one, other = words(first, SIGNIFICANDS[0], first & 1), words(total - first, SIGNIFICANDS[1])
        check("mul", one, other)


@pytest.mark.parametrize("apart", [*range(11), 16])
def test_sums_of_all_significands_whose_exponents_are_apart_by(apart):
    """At the least normal number, at the largest, and between; of both signs, each as the first."""
    for place, least in enumerate((1, 2, 9, 254 - apart)):
        one, other = words(least + apart, SIGNIFICANDS[0], place & 1), words(least, SIGNIFICANDS[1])
        check("add", one, other)
        check("add", other ^ 1 << 15, one)


def just_below_two(name):
    """Pairs of significands whose product is less than 2 by no more than half of its last bit."""
    fraction = FORMS[name][2]
    limit, half = 1 << 2 * fraction + 1, 1 << fraction - 1
    generator, found = np.random.default_rng(1), []
    while len(found) < 40:
        one = (1 << fraction) + int(generator.integers(1 << fraction))
        other = (limit - 1) // one
        if other >> fraction == 1 and limit - one * other <= half:
            found.append((one, other))
    return found


@pytest.mark.parametrize("name", FORMS)
def test_products_that_rounding_carries_to_the_next_power_of_two(name):
    """To the least normal number, to infinity, and between; of either order and sign."""
    _kind, bits, fraction, largest = FORMS[name]
    mask = (1 << fraction) - 1
    for to in (1, 2, largest, 2 * largest, 2 * largest + 1):  # the exponent of the power
        first = max(1, min(to + largest - 1 - 1, largest + to // 2))
        second = to - 1 + largest - first
        assert 0 < second <= 2 * largest
        for one, other in just_below_two(name):
            pair = first << fraction | one & mask, second << fraction | other & mask
            for left, right in (pair, pair[::-1]):
                for sign in (0, 1 << bits - 1):
                    result = computed(name, left | sign, right)["mul"]
                    assert result == modelled(name, left | sign, right)["mul"] == sign | to << fraction
        assert exactly(name, "mul", *decoded(name, *pair)) == decoded(name, to << fraction)[0]


@pytest.mark.parametrize("name", FORMS)
def test_sums_that_rounding_carries_to_the_next_power_of_two(name):
    _kind, _bits, fraction, largest = FORMS[name]
    for exponent in (fraction + 2, largest, 2 * largest - 1, 2 * largest):
        ones = exponent << fraction | (1 << fraction) - 1  # all bits set, and half of the last added
        half = exponent - fraction - 1 << fraction
        for least, expected in ((half, ones + 1), (half - 1, ones), (half | 1, ones + 1)):
            assert computed(name, ones, least)["add"] == modelled(name, ones, least)["add"] == expected
