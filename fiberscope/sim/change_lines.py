# cython: infer_types=True
"""Lines of a VCD file with the new values of variables: the part of writing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from fiberscope.sim.probe import Changes

ZERO, NUMBER = ord("0"), ord("b")  # the digit 0, and the prefix of a binary number (IEEE 1364, VCD)


class ChangeLines:  # C: final
    """A formatter of the lines of a VCD file, one for each new value of a variable.

    Args:
        variables: number of bits and texts of each variable. A variable with bits has one text, which follows
            the binary digits of its value. A variable with 0 bits has a whole line as text for each value
            from 0 on.
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
        """Return the lines of the changed variables.

        Args:
            changes: values of all variables, and positions of the changed variables.
            count: number of changed variables, whose positions come first.

        Raises:
            IndexError: if a value does not fit in its variable; the argument is the variable's position.
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
        """Write the line of a value from position ``end`` of ``line`` on; return the position after it."""
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
        """Write a number in binary, in two's complement if it is negative; return the position after it."""
        self.line[end] = NUMBER
        bit = bits - 1
        while bit > 0 and not value >> bit & 1:
            bit -= 1
        while bit >= 0:
            end += 1
            self.line[end] = ZERO + (value >> bit & 1)
            bit -= 1
        return end + 1
