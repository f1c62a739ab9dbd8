"""Conversion of values to words of 8, 16 or 32 bits, and back.

32 bits are IEEE 754 single precision, 16 half precision, and 8 the E4M3 of the Open Compute Project's "OCP
8-bit Floating Point Specification" (revision 1.0, 2023): a sign, four bits of exponent with bias 7, three of
mantissa, no infinity. MINT's paper (Qin et al., IPDPS 2021) gives only the widths of values. A *word* is the
bit pattern of a value. Conversions between formats move words without interpreting them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from fiberscope.workloads.canonical import Values
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats.bit_packing import Items, item_type

WIDTHS = (8, 16, 32)  # bits of a value
# Greatest finite number by width; E4M3 has no infinity, and its code above 448 is NaN
_GREATEST = {8: 448.0, 16: 65504.0, 32: float(np.finfo(np.float32).max)}


def check_width(bits: int) -> None:
    """Check the width of values.

    Raises:
        WorkloadError: the width is not 8, 16 or 32 bits.
    """
    if bits not in WIDTHS:
        raise WorkloadError(f"values of {bits} bits", fix="formats hold values of 8, 16 or 32 bits")


def convert_to_words(values: Values, bits: int) -> Items:
    """Return the words nearest to values, ties to even.

    A nonzero stays nonzero and finite: a value out of range becomes the number with its sign and the least or
    greatest magnitude.

    Args:
        values: finite doubles.
        bits: width of a word: 8, 16 or 32.

    Raises:
        WorkloadError: values cannot have this width.
    """
    check_width(bits)
    bound = _GREATEST[bits]
    if bits == 8:
        words = _convert_to_eight_bits(values)
    else:
        floats = np.clip(values, -bound, bound).astype(f"<f{bits // 8}")
        words = floats.view(item_type(bits))
    # The shift drops the sign bit. A nonzero value whose other bits are 0 was rounded to zero.
    is_lost = (values != 0) & (words << np.array(1, words.dtype) == 0)
    if is_lost.any():
        # code 1 is the least magnitude above 0; the sign bit is set already
        words = words | is_lost.astype(words.dtype)
    return words


def convert_to_numbers(words: Items, bits: int) -> Values:
    """Return the values of words as doubles; the inverse of ``convert_to_words`` for words of numbers.

    Args:
        words: unsigned integers.
        bits: width of a word: 8, 16 or 32.

    Raises:
        WorkloadError: values cannot have this width.
    """
    check_width(bits)
    if bits == 8:
        magnitudes = np.append(_build_magnitudes(), np.nan)  # code 127 is NaN
        signed_values: Values = np.concatenate([magnitudes, -magnitudes])
        return signed_values[words]
    floats = words.astype(item_type(bits), copy=False).view(f"<f{bits // 8}")
    with np.errstate(invalid="ignore"):  # words may be NaN
        return floats.astype(np.float64)


@cache
def _build_magnitudes() -> Values:
    """Return the magnitudes of the 127 codes of E4M3 that are numbers."""
    codes = np.arange(127)
    exponent, mantissa = codes >> 3, codes & 7  # four bits and three bits; the sign is apart
    subnormal = exponent == 0
    # (8 + mantissa) / 8 x 2^(exponent - 7), or mantissa / 8 x 2^-6 for a subnormal number
    magnitudes: Values = np.ldexp(
        np.where(subnormal, mantissa, 8 + mantissa), np.where(subnormal, 1, exponent) - 10
    )
    return magnitudes


def _convert_to_eight_bits(values: Values) -> Items:
    """Return the E4M3 words nearest to values; larger magnitudes become the largest number."""
    magnitudes, absolute = _build_magnitudes(), np.abs(values)
    halfway = (magnitudes[1:] + magnitudes[:-1]) / 2
    # Magnitudes grow with their codes, so the code is the number of halfway points below the value
    codes = np.searchsorted(halfway, absolute)  # the lower code at a tie
    last = len(halfway) - 1
    codes += (
        (halfway[np.minimum(codes, last)] == absolute) & (codes <= last) & (codes % 2 == 1)
    )  # ties to even
    return (codes | np.signbit(values) << 7).astype(np.uint8)
