"""Fast parser for lines of numbers: a compiled loop for the grammar of ``fiberscope.workloads.text``.

The loop stops at the first line that does not match. The grammar then finds and names the fault. Loops over
characters check no end of the text, because a newline ends the text and every loop.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import ldexp

import numpy as np

from fiberscope.workloads.canonical import Values

__all__ = ["COMPILED", "NumberLines"]

COMPILED = not __file__.endswith(".py")  # uncompiled, the regular expression is faster

INDEX, INTEGER, REAL = range(3)
_KINDS = ("index", "integer", "real")

MOST_DIGITS = 19  # digits of a mantissa in 64 bits
MOST_EXPONENT_DIGITS = 4
# Replaces longer exponents. The power is then out of range, so that ``float`` parses the text (unless about
# 10,000 digits follow the point).
FAR_EXPONENT = 10_000
LEAST_POWER, MOST_POWER = -307, 288  # powers of ten for which no product is subnormal or infinite
LEAST_SCALE = -1074  # smallest power of two that is a double
LOWER_WORD = 2**64 - 1
EXACT_INTEGER = 2**53
# Bits of a product's upper word, whose highest bit is 0, below the 53 bits of a double and its rounding bit.
BELOW_MANTISSA = 9
TAB, NEWLINE, RETURN, SPACE, PLUS, MINUS, POINT, ZERO, LOWER_E = b"\t\n\r +-.0e"
TO_LOWER = 32


def _leading_word(power: int) -> int:
    """Return the highest 64 bits of a power of ten, truncated."""
    whole = int(10 ** abs(power))
    if power >= 0:
        return whole << 63 >> whole.bit_length() - 1
    return (1 << 63 + whole.bit_length()) // whole


class NumberLines:
    """A parser for text in which each line has a number for every field, a comment, or nothing.

    Args:
        fields: kinds of the numbers of a line, each ``index``, ``integer`` or ``real``.
        comment: the characters that start a comment.
    """

    def __init__(self, fields: Sequence[str], comment: str) -> None:
        self.kinds = array("l", [_KINDS.index(field) for field in fields])
        self.width = len(fields)
        self.comments = bytes(byte in comment.encode() for byte in range(256))
        self.powers = array("L", map(_leading_word, range(LEAST_POWER, MOST_POWER + 1)))
        self.scales = array("d", [ldexp(1, scale) for scale in range(LEAST_SCALE, 972)])
        self.text = self.source = b"\n"  # the same bytes: in C, ``text`` gives characters, ``source`` slices
        self.numbers = np.empty(0)
        self.at = self.mantissa = self.significant = self.power = 0
        self.value = 0.0

    def table(self, text: bytes) -> Values | None:
        """Return the numbers of ``text``, entries x fields; None if a line does not match.

        Args:
            text: complete lines, including the last newline.
        """
        self.text = self.source = text
        self.at = entries = 0
        # A number takes at least a digit and a separator. One entry more, for a line that ends too early.
        self.numbers = numbers = np.empty((len(text) // (2 * self.width) + 1) * self.width)
        length = len(text)
        while self.at < length:
            line_length = self._line(entries)
            if line_length < 0:
                return None
            entries += line_length
        return numbers[: entries * self.width].reshape(entries, self.width)

    def _line(self, entry: int) -> int:
        """Parse a line as ``entry``; return 1 for an entry, 0 for no entry, -1 for a mismatch."""
        self._skip_blanks()
        first = self.text[self.at]
        if self.comments[first]:
            self._skip_comment()
            return 0
        has_entry = first not in (NEWLINE, RETURN)
        if has_entry and not self._entry(entry):
            return -1
        while self.text[self.at] in (SPACE, TAB, RETURN):
            self.at += 1
        if self.text[self.at] != NEWLINE:
            return -1
        self.at += 1
        return has_entry

    def _skip_blanks(self) -> bool:
        """Skip spaces and tabs; return whether there were any."""
        start = self.at
        while self.text[self.at] in (SPACE, TAB):
            self.at += 1
        return self.at > start

    def _skip_comment(self) -> None:
        while self.text[self.at] != NEWLINE:
            self.at += 1
        self.at += 1

    def _entry(self, entry: int) -> bool:
        """Parse the numbers of a line; return whether all fields match."""
        for field in range(self.width):
            if field > 0 and not self._skip_blanks():
                return False
            if not self._number(self.kinds[field]):
                return False
            self.numbers[entry * self.width + field] = self.value
        return True

    def _number(self, kind: int) -> bool:
        """Parse a number into ``value``; return whether it matches the kind."""
        start = self.at
        negative = self._sign(kind != INDEX)
        self.mantissa = self.significant = self.power = 0
        digits = self._digits()
        if kind == REAL:
            if self.text[self.at] == POINT:
                self.at += 1
                self.power = -self._digits()
                digits -= self.power  # adds the digits after the point
            if self.text[self.at] | TO_LOWER == LOWER_E and not self._exponent():
                return False
        if digits == 0:
            return False
        if self.significant > MOST_DIGITS or not self._nearest():
            self.value = float(self.source[start : self.at])  # with its sign
        elif negative:
            self.value = -self.value
        return True

    def _sign(self, minus: bool) -> bool:
        """Skip a sign; return whether it is an allowed minus."""
        sign = self.text[self.at]
        if sign == PLUS or (minus and sign == MINUS):
            self.at += 1
        return minus and sign == MINUS

    def _digits(self) -> int:
        """Skip digits and append them to ``mantissa`` (modulo 2^64 when compiled); return their number."""
        at, mantissa, significant = self.at, self.mantissa, self.significant
        while ZERO <= self.text[at] <= ZERO + 9:
            mantissa = 10 * mantissa + self.text[at] - ZERO
            significant += mantissa != 0  # leading zeros do not count
            at += 1
        digits = at - self.at
        self.at, self.mantissa, self.significant = at, mantissa, significant
        return digits

    def _exponent(self) -> bool:
        """Skip an exponent and add it to ``power``; return whether it has digits."""
        mantissa, significant = self.mantissa, self.significant
        self.at += 1
        negative = self._sign(True)
        self.mantissa = self.significant = 0
        digits = self._digits()
        exponent = self.mantissa if self.significant <= MOST_EXPONENT_DIGITS else FAR_EXPONENT
        self.power += -exponent if negative else exponent
        self.mantissa, self.significant = mantissa, significant
        return digits > 0

    def _nearest(self) -> bool:
        """Set ``value`` to the double nearest to ``mantissa`` x 10^``power``; return whether it is certain.

        The mantissa times the highest 64 bits of the power gives the mantissa of the double, one rounding
        bit, and lower bits. The result is uncertain if the truncated bits could carry into the upper bits, or
        if the product is halfway between two doubles. Source: D. Lemire, "Number Parsing at a Gigabyte per
        Second", Software: Practice and Experience 51, 2021.
        """
        if self.mantissa == 0 or (self.power == 0 and self.mantissa <= EXACT_INTEGER):
            self.value = self.mantissa
            return True
        if not LEAST_POWER <= self.power <= MOST_POWER:
            return False
        mantissa, shift = self.mantissa, 0
        # shift the highest bit of the mantissa to bit 63
        while mantissa >> 56 == 0:
            mantissa <<= 8
            shift += 8
        while mantissa >> 63 == 0:
            mantissa <<= 1
            shift += 1
        product = mantissa  # in C, a copy of 128 bits
        product *= self.powers[self.power - LEAST_POWER]
        upper = product >> 64
        below = BELOW_MANTISSA + (upper >> 63)
        bits = upper >> below
        rest = upper - (bits << below)
        if rest + 1 == 1 << below or (bits & 1 and rest == 0 and product & LOWER_WORD == 0):
            return False
        # 217706 / 2^16 is log2(10): the first term is the power's binary exponent. The 2 is the rounding bit,
        # and the 64 bits of the lower word less the 63 bits of the power's word below its leading 1.
        scale = (217706 * self.power >> 16) - shift + below + 2
        self.value = ((bits + 1) >> 1) * self.scales[scale - LEAST_SCALE]
        return True
