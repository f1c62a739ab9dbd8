"""Numbers in the bits of a field: what fits comes back to the last bit, what does not is refused."""

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.rtl.kit.codec import Codec
from fiberscope.hw.rtl.kit.interface import float_bits, float_of

IEEE = {16: ("<e", "<H"), 32: ("<f", "<I")}
FORMS = {  # bits of the fraction, the least exponent of a normal number, the largest
    ("float", 16): (10, -14, 15),
    ("float", 32): (23, -126, 127),
    ("float", 64): (52, -1022, 1023),
    ("bfloat", 16): (7, -126, 127),
}
FLOATS = list(FORMS)
DOUBLES = st.integers(-(1 << 63), (1 << 63) - 1)  # every pattern of bits, NaNs among them


@given(st.integers(1, 64), st.sampled_from(["unsigned", "signed"]), DOUBLES)
def test_an_integer_fits_if_it_is_in_the_range(width, kind, number):
    codec = Codec(width, kind)
    low, high = (0, 1 << width) if kind == "unsigned" else (-(1 << (width - 1)), 1 << (width - 1))
    assert codec.fits(number) == (low <= number < high)
    if codec.fits(number):
        assert codec.encode(number) == number % (1 << width)
        assert codec.decode(codec.encode(number)) == number


@pytest.mark.parametrize(("kind", "width"), FLOATS)
@given(bits=st.integers(0, (1 << 64) - 1))
def test_every_pattern_of_bits_comes_back(kind, width, bits):
    codec = Codec(width, kind)
    bits >>= 64 - width
    assert codec.fits(codec.decode(bits))
    assert codec.encode(codec.decode(bits)) == bits


def is_a_number_of(kind, width, bits):
    """Whether a double, given as bits, is one of the numbers of a narrower form, by what such a form is."""
    fraction_bits, least, most = FORMS[kind, width]
    fraction, number = bits & (1 << 52) - 1, float_of(bits)
    if not math.isfinite(number):
        return fraction % (1 << 52 - fraction_bits) == 0  # infinite, or what a NaN carries
    exponent = math.frexp(number)[1] - 1
    step = Fraction(2) ** (max(exponent, least) - fraction_bits)
    return number == 0 or (exponent <= most and Fraction(number) % step == 0)


@pytest.mark.parametrize(("kind", "width"), FLOATS)
@given(number=DOUBLES, kept=st.integers(1, 64))
def test_what_fits_is_a_number_of_the_form_and_comes_back(kind, width, number, kept):
    codec = Codec(width, kind)
    number &= -1 << 64 - kept  # of which the more fit, the fewer bits are kept
    fits = is_a_number_of(kind, width, number)
    assert codec.fits(number) == fits
    assert not fits or codec.decode(codec.encode(number)) == number


@pytest.mark.parametrize("width", IEEE)
@given(drawn=st.data())
def test_narrow_floats_are_those_of_ieee(width, drawn):
    codec, (form, raw) = Codec(width, "float"), IEEE[width]
    narrow = drawn.draw(st.floats(width=width, allow_nan=False))
    assert codec.encode(float_bits(narrow)) == struct.unpack(raw, struct.pack(form, narrow))[0]
    wide = drawn.draw(st.floats(allow_nan=False))
    try:
        exact = struct.unpack(form, struct.pack(form, wide))[0] == wide
    except OverflowError:
        exact = False
    assert codec.fits(float_bits(wide)) == exact


@given(st.integers(0, 0xFFFF))
def test_a_bfloat_is_the_upper_half_of_a_float(bits):
    assert Codec(16, "bfloat").decode(bits) == Codec(32, "float").decode(bits << 16)


@pytest.mark.parametrize(
    ("bits", "fits"),
    [
        (0x7FF8000000000000, True),  # quiet
        (0x7FF4000000000000, True),  # signalling
        (0x7FF0000020000000, True),  # the least payload that a float of 32 bits has
        (0x7FF0000000000001, False),  # which would be infinite in so few
        (0xFFF8000000000001 - (1 << 64), False),
    ],
)
def test_what_a_nan_carries_is_kept_or_refused(bits, fits):
    codec = Codec(32, "float")
    assert codec.fits(bits) == fits
    if fits:
        assert codec.decode(codec.encode(bits)) == bits


def test_the_smallest_and_the_largest():
    half = Codec(16, "float")
    for number, fits in (
        (2.0**-24, True),
        (2.0**-25, False),
        (65504.0, True),
        (65536.0, False),
        (-0.0, True),
    ):
        assert half.fits(float_bits(number)) == fits
    assert half.encode(float_bits(-math.inf)) == 0xFC00


@pytest.mark.parametrize(
    ("width", "kind", "message"),
    [
        (0, "unsigned", "a field has 1 to 64 bits, not 0"),
        (65, "signed", "a field has 1 to 64 bits, not 65"),
        (24, "float", "there is no float of 24 bits"),
        (8, "fixed", "no kind fixed; known: unsigned, signed, float, bfloat"),
    ],
)
def test_what_no_field_can_be_is_refused(width, kind, message):
    with pytest.raises(ValueError, match=message):
        Codec(width, kind)


@given(width=st.integers(1, 53), number=st.integers(-(1 << 53), 1 << 53))
def test_a_whole_number_is_an_integer_of_the_field(width, number):
    codec = Codec(width, "whole")
    bits = float_bits(float(number))
    assert codec.fits(bits) == (-(1 << (width - 1)) <= number < 1 << (width - 1))
    if codec.fits(bits):
        assert codec.encode(bits) == number % (1 << width)
        assert codec.decode(codec.encode(bits)) == bits


@pytest.mark.parametrize("number", [0.5, -1.25, -0.0, math.inf, math.nan, 1e300, 5e-324, 2.0**53 + 2])
def test_what_is_no_whole_number_of_the_field_does_not_fit(number):
    assert not Codec(53, "whole").fits(float_bits(number))


def test_a_whole_number_of_more_bits_than_a_double_has_is_refused():
    with pytest.raises(ValueError, match="a whole number has at most 53 bits, not 54"):
        Codec(54, "whole")
