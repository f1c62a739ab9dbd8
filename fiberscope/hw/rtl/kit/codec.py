# cython: infer_types=True
"""Codecs: the bits of a field carry a number of a token, exactly or not at all."""

from __future__ import annotations

__all__ = ["KINDS", "Codec"]

WORD = 64  # C: object; bits
KINDS = ("unsigned", "signed", "float", "bfloat", "whole")
WHOLE_BITS = 53  # C: object; so many a double holds exactly
# Bits of the fraction, by kind and width: IEEE 754 binary16, 32 and 64; bfloat16, the upper half of binary32.
FRACTIONS = {("float", 16): 10, ("float", 32): 23, ("float", 64): 52, ("bfloat", 16): 7}
FRACTION = 52  # that of a double,
LEADING = 0x10_0000_0000_0000  # the one before it, which is not written out,
BIAS = 1023  # what is added to its exponent,
SPECIAL = 2047  # its exponent where it is infinite or no number,
SIGN = -(1 << 63)  # and its sign


class Codec:  # C: final
    """Numbers as bits of a field and back.

    A float is given by the bits of the double that it is in a token. So it keeps all of them: the sign of a
    zero, and what a NaN carries, signalling or quiet. A whole number is such a double too, and an integer in
    two's complement in the field: for logic that adds values without a floating-point unit.

    Args:
        width: bits, 1 to 64.
        kind: ``unsigned``; ``signed``, in two's complement; ``float``, of IEEE 754; ``bfloat``; or ``whole``,
            of at most 53 bits.

    Raises:
        ValueError: if there is no such field.
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
        # Its bits, where fewer than a double's
        self._fraction = fraction if fraction < FRACTION else 0  # C: long
        self._whole = kind == "whole"
        self._bias = (1 << (width - self._fraction - 2)) - 1 if self._fraction else 0  # C: long

    def fits(self, number: int) -> bool:
        """Return whether the field carries the number as it is."""
        if self._fraction:
            return self._narrowed(number) >= 0
        if self._whole:
            return self._integer(number) >= 0
        return (number >= 0 or self.sign != 0) and self.decode(self.encode(number)) == number

    def encode(self, number: int) -> int:  # C: return=unsigned long
        """The bits of a number that fits."""
        if self._whole:
            return self._integer(number)
        return self._narrowed(number) if self._fraction else number & self.mask

    def decode(self, bits: int) -> int:  # C: bits=unsigned long
        """The number that has these bits."""
        if self._whole:
            return self._double(bits)
        return self._widened(bits) if self._fraction else (bits ^ self.sign) - self.sign

    def _integer(self, number: int) -> int:
        """A double as an integer in two's complement, -1 if it is none or too large."""
        exponent = ((number >> FRACTION) & SPECIAL) - BIAS
        if number == 0:
            return 0
        if exponent < 0 or exponent >= self.width:
            return -1
        lost = FRACTION - exponent  # bits behind the point
        fraction = (number & (LEADING - 1)) | LEADING
        magnitude = fraction >> lost
        if magnitude << lost != fraction or magnitude > self.sign - (number >= 0):
            return -1
        return (-magnitude if number < 0 else magnitude) & self.mask

    def _double(self, bits: int) -> int:  # C: bits=unsigned long
        """The double that an integer in two's complement is."""
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
        """A double in fewer bits, -1 if these cannot hold it exactly."""
        exponent = (number >> FRACTION) & SPECIAL  # C: long
        fraction = number & (LEADING - 1)  # C: long
        lost = FRACTION - self._fraction  # C: long; bits of the fraction for which there is no place
        if exponent == SPECIAL:
            exponent = 2 * self._bias + 1
        elif exponent > 0:
            exponent += self._bias - BIAS
            if exponent < 1:  # it has no normal form: the leading one is written out
                lost += 1 - exponent
                fraction |= LEADING
                exponent = 0
            if exponent > 2 * self._bias or lost > FRACTION:
                return -1
        elif fraction > 0:
            return -1  # less than any of them
        if fraction >> lost << lost != fraction:
            return -1
        magnitude = exponent << self._fraction | fraction >> lost  # C: long
        return magnitude | self.sign if number < 0 else magnitude

    def _widened(self, bits: int) -> int:
        """The double that a narrower float is."""
        exponent = (bits >> self._fraction) & (2 * self._bias + 1)  # C: long
        fraction = bits & ((1 << self._fraction) - 1)  # C: long
        if exponent == 2 * self._bias + 1:
            exponent = SPECIAL
        elif exponent > 0:
            exponent += BIAS - self._bias
        elif fraction > 0:
            exponent = 1 + BIAS - self._bias
            while fraction >> self._fraction == 0:
                fraction <<= 1
                exponent -= 1
            fraction &= (1 << self._fraction) - 1
        number = exponent << FRACTION | fraction << (FRACTION - self._fraction)  # C: long
        return number | SIGN if bits & self.sign else number
