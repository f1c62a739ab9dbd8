# cython: infer_types=True
"""Lines of a VCD file with the new values of variables; the part of writing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from fiberscope.sim.probe import Changes

ZERO, NUMBER = ord("0"), ord("b")  # the first digit, and what stands before the digits of a number


class ChangeLines:  # C: final
    """The line of each value of each variable.

    Args:
        variables: bits and texts of each: a number of some bits has one text, which follows its digits;
            a variable of 0 bits has a line for each value from 0.
    """

    def __init__(self, variables: Sequence[tuple[int, Sequence[str]]]) -> None:
        encoded = [text.encode() for _bits, texts in variables for text in texts]
        self.bits = array("q", [bits for bits, _texts in variables])
        self.sizes = array("q", [len(texts) for _bits, texts in variables])
        self.firsts = array("q", [0, *accumulate(len(texts) for _bits, texts in variables)])
        self.bounds = array("q", [0, *accumulate(map(len, encoded))])
        self.texts = array("B", b"".join(encoded) or b" ")
        self.longest = 1 + max(self.bits, default=0) + max(map(len, encoded), default=0)  # C: long
        self.line = array("B", bytes(self.longest))

    def format(self, changes: Changes, count: int) -> bytes:  # C: cpdef
        """Return the lines of variables that have changed.

        Args:
            changes: values of all variables, and positions of those that have changed.
            count: how many have.

        Raises:
            IndexError: a variable cannot have its value; the argument is its position.
        """
        room = count * self.longest  # C: long
        if room > len(self.line):
            self.line = array("B", bytes(2 * room))
        end = 0  # C: long
        for i in range(count):
            position = changes.positions[i]
            end = self._append(position, changes.values[position], end)
        return bytes(self.line[:end])

    def _append(self, position: int, value: int, end: int) -> int:
        """Write the line of a value at a place; return the place behind the line."""
        bits, text = self.bits[position], self.firsts[position]
        if not bits:
            if not 0 <= value < self.sizes[position]:
                raise IndexError(position)
            text += value
        else:
            if bits < 64 and (value >> (bits - 1) < -1 or value >> bits > 0):
                raise IndexError(position)
            end = self._append_digits(value, bits, end)
        for i in range(self.bounds[text], self.bounds[text + 1]):
            self.line[end] = self.texts[i]
            end += 1
        return end

    def _append_digits(self, value: int, bits: int, end: int) -> int:
        """Write a number in binary, a negative one as its two's complement."""
        self.line[end] = NUMBER
        bit = bits - 1
        while bit > 0 and not value >> bit & 1:
            bit -= 1
        while bit >= 0:
            end += 1
            self.line[end] = ZERO + (value >> bit & 1)
            bit -= 1
        return end + 1
