# cython: infer_types=True
"""Codecs between numbers of a token and bits of a field. A number that is not exact is refused."""

from __future__ import annotations

__all__ = ["KINDS", "Codec"]

WORD = 64  # C: object; bits
KINDS = ("unsigned", "signed", "float", "bfloat", "whole")
WHOLE_BITS = 53  # C: object; integers that a double represents exactly
# Bits of the fraction, by kind and width: IEEE 754 binary16, 32 and 64; bfloat16, the upper half of binary32.
FRACTIONS = {("float", 16): 10, ("float", 32): 23, ("float", 64): 52, ("bfloat", 16): 7}
FRACTION = 52  # bits of a double's fraction
LEADING = 0x10_0000_0000_0000  # the implicit leading one
BIAS = 1023  # of a double's exponent
SPECIAL = 2047  # a double's exponent for infinity and NaN
SIGN = -(1 << 63)


class Codec:  # C: final
    """A conversion between numbers and bits of a field.

    A float is represented by the bits of its double in the token, so that the sign of a zero and the payload
    of a NaN are kept. A whole number is also such a double, and an integer in two's complement in the field,
    for logic without floating-point units.

    Args:
        width: bits, 1 to 64.
        kind: ``unsigned``; ``signed``, in two's complement; ``float``, of IEEE 754, with 16, 32 or 64 bits;
            ``bfloat``, with 16 bits; or ``whole``, with at most 53 bits.

    Raises:
        ValueError: there is no such field.
    """

    def __init__(self, width: int, kind: str) -> None:
        if not 1 <= width <= WORD:
            raise ValueError(f"a field has 1 to {WORD} bits, not {width}")
        if kind in ("float", "bfloat") and (kind, width) not in FRACTIONS:
            raise ValueError(f"there is no {kind} of {width} bits")
        if kind == "whole" and width > WHOLE_BITS:
            raise ValueError(f"a whole number has at most {WHOLE_BITS} bits, not {width}")
        if kind not in KINDS:
            raise ValueError(f"no kind {kind}; known: {', '.join(KINDS)}")
        self.width = width
        self.mask = (1 << width) - 1  # C: unsigned long
        self.sign = 0 if kind == "unsigned" else 1 << (width - 1)  # C: unsigned long
        fraction = FRACTIONS.get((kind, width), FRACTION)
        # Bits of a float narrower than a double
        self._fraction = fraction if fraction < FRACTION else 0  # C: long
        self._whole = kind == "whole"
        self._bias = (1 << (width - self._fraction - 2)) - 1 if self._fraction else 0  # C: long

    def fits(self, number: int) -> bool:
        """Return whether the field can represent the number exactly.

        A whole -0.0 does not fit, as an integer has no sign of zero.
        """
        if self._fraction:
            return self._narrowed(number) >= 0
        if self._whole:
            return self._integer(number) >= 0
        # In 64 unsigned bits, -1 would decode to itself, hence the first condition.
        return (number >= 0 or self.sign != 0) and self.decode(self.encode(number)) == number

    def encode(self, number: int) -> int:  # C: return=unsigned long
        """Return the bits of a number that ``fits``; for other numbers the result is undefined."""
        if self._whole:
            return self._integer(number)
        return self._narrowed(number) if self._fraction else number & self.mask

    def decode(self, bits: int) -> int:  # C: bits=unsigned long
        """Return the number with these bits."""
        if self._whole:
            return self._double(bits)
        return self._widened(bits) if self._fraction else (bits ^ self.sign) - self.sign

    def _integer(self, number: int) -> int:
        """Convert a double to an integer in two's complement; -1 if it is not whole or too large."""
        exponent = ((number >> FRACTION) & SPECIAL) - BIAS
        if number == 0:
            return 0
        if exponent < 0 or exponent >= self.width:
            return -1
        lost = FRACTION - exponent  # bits after the binary point
        fraction = (number & (LEADING - 1)) | LEADING
        magnitude = fraction >> lost
        # The range of two's complement: one more negative number than positive numbers.
        if magnitude << lost != fraction or magnitude > self.sign - (number >= 0):
            return -1
        return (-magnitude if number < 0 else magnitude) & self.mask

    def _double(self, bits: int) -> int:  # C: bits=unsigned long
        """Convert an integer in two's complement to a double."""
        number = (bits ^ self.sign) - self.sign  # C: long
        magnitude = -number if number < 0 else number  # C: long
        if magnitude == 0:
            return 0
        exponent = BIAS + FRACTION  # C: long
        while magnitude & LEADING == 0:
            magnitude <<= 1
            exponent -= 1
        word = exponent << FRACTION | magnitude & (LEADING - 1)  # C: long
        return word | SIGN if number < 0 else word

    def _narrowed(self, number: int) -> int:
        """Convert a double to fewer bits; -1 if the conversion is not exact."""
        exponent = (number >> FRACTION) & SPECIAL  # C: long
        fraction = number & (LEADING - 1)  # C: long
        lost = FRACTION - self._fraction  # C: long; bits of the fraction for which there is no place
        if exponent == SPECIAL:
            exponent = 2 * self._bias + 1
        elif exponent > 0:
            exponent += self._bias - BIAS
            if exponent < 1:  # subnormal: the leading one is explicit
                lost += 1 - exponent
                fraction |= LEADING
                exponent = 0
            # Too large, or so small that no bit remains
            if exponent > 2 * self._bias or lost > FRACTION:
                return -1
        elif fraction > 0:
            return -1  # below the smallest subnormal
        if fraction >> lost << lost != fraction:
            return -1
        magnitude = exponent << self._fraction | fraction >> lost  # C: long
        return magnitude | self.sign if number < 0 else magnitude

    def _widened(self, bits: int) -> int:
        """Convert a narrower float to a double."""
        exponent = (bits >> self._fraction) & (2 * self._bias + 1)  # C: long
        fraction = bits & ((1 << self._fraction) - 1)  # C: long
        if exponent == 2 * self._bias + 1:
            exponent = SPECIAL
        elif exponent > 0:
            exponent += BIAS - self._bias
        elif fraction > 0:
            exponent = 1 + BIAS - self._bias  # subnormal here, but normal as a double
            while fraction >> self._fraction == 0:
                fraction <<= 1
                exponent -= 1
            fraction &= (1 << self._fraction) - 1
        number = exponent << FRACTION | fraction << (FRACTION - self._fraction)  # C: long
        return number | SIGN if bits & self.sign else number
