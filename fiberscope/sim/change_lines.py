# cython: infer_types=True
# C compiler: -O2
"""Lines of a VCD file with the new values of variables: the part of writing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

from fiberscope.sim import raw_words
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.probe import Changes

NUMBER = 0x62  # "b", the prefix of a binary number (IEEE 1364, VCD)
STAMP = 0x23  # "#", the prefix of a time
ZERO = 0x30  # "0"
NEWLINE = 0x0A
SHORT = 10**18  # stamps below are formatted by compiled code, if no intermediate result exceeds 64 bits
CHUNK = 16  # bytes copied at once; a copy may write beyond the end of its text
# The 8 binary digits of each byte; the padding lets the last copy read beyond them.
DIGITS = b"".join(b"%08d" % int(f"{byte:b}") for byte in range(256)) + bytes(CHUNK)


class ChangeLines:  # C: final
    """A buffer of lines of a VCD file, one for each new value of a variable.

    Args:
        variables: number of bits and texts of each variable. A variable with bits has one text, which follows
            the binary digits of its value. A variable with 0 bits has a whole line as text for each value
            from 0 on.
        value_error: returns the error of a value that does not fit the variable at a position.
        scale: time units of the file in a base tick. Times are rounded down.
        time: the base tick of the first values, whose time needs no line.

    ``size`` is the number of bytes in the buffer, ``time`` the base tick of the last lines.
    """

    def __init__(
        self,
        variables: Sequence[tuple[int, Sequence[str]]],
        value_error: Callable[[int, int], Exception],
        scale: Fraction = Fraction(1),
        time: int = 0,
    ) -> None:
        encoded = [text.encode() for _bits, texts in variables for text in texts]
        padded = [text + bytes(CHUNK - len(text) % CHUNK) for text in encoded]
        self.bits = array("q", [bits for bits, _texts in variables])
        self.sizes = array("q", [len(texts) for _bits, texts in variables])
        self.firsts = array("q", [0, *accumulate(len(texts) for _bits, texts in variables)])
        self.lengths = array("q", map(len, encoded))
        self.places = array("q", [0, *accumulate(map(len, padded))])
        self.texts = array("B", b"".join(padded) or bytes(CHUNK))
        self.digits = array("B", DIGITS)
        self.longest = 1 + max(self.bits, default=0) + max(map(len, padded), default=0)  # C: long
        self.buffer = array("B", bytes(CHUNK))
        self.size = 0
        self.value_error: Callable[[int, int], Exception] = value_error
        self.time = time
        self.scale: Fraction = scale
        units, ticks = scale.numerator, scale.denominator
        fits = units * ticks < SHORT
        self.units: int = units if fits else 1
        self.ticks: int = ticks if fits else 1
        self.short_end: int = min((SHORT * ticks - 1) // units, MAX_TIME) if fits else -1
        self.stamp: int = min(int(time * scale), SHORT)
        self.stamp_digits, self.power = 1, 10  # digits of the stamp, and the least power of 10 with more
        self.stamp_bytes: int = len(f"#{int(MAX_TIME * scale)}\n")

    def append(self, changes: Changes, count: int, time: int) -> None:  # C: cpdef
        """Append the lines of the changed variables to the buffer.

        Args:
            changes: values of all variables, and positions of the changed variables.
            count: number of changed variables, whose positions come first.
            time: the base tick of the changes. Its line comes first, unless the last lines have the same time
                in the units of the file.

        Raises:
            Exception: of ``value_error``, if a value does not fit its variable. The buffer keeps its lines.
        """
        end = self.size
        room = end + self.stamp_bytes + count * self.longest + CHUNK  # C: long
        if room > len(self.buffer):
            self.buffer = array("B", bytes(self.buffer[:end]) + bytes(2 * room))
        end = self._append_stamp(time, end)
        for i in range(count):
            end = self._append_line(changes.positions[i], changes.values[changes.positions[i]], end)
        self.size, self.time = end, time

    def take(self) -> bytes:
        """Return the lines, and empty the buffer."""
        size, self.size = self.size, 0
        return bytes(self.buffer[:size])

    def _append_stamp(self, time: int, end: int) -> int:
        """Write the line of a base tick, unless it is the last line's time; return the position after it."""
        if time > self.short_end:
            return self._append_long_stamp(time, end)
        rest = time % self.ticks  # C: long
        # time * units // ticks, in two parts whose products stay below 64 bits
        stamp = time // self.ticks * self.units + rest * self.units // self.ticks  # C: long
        if stamp == self.stamp:
            return end
        self.stamp = stamp
        while stamp >= self.power:
            self.stamp_digits += 1
            self.power *= 10
        self.buffer[end] = STAMP
        end += self.stamp_digits + 1
        self.buffer[end] = NEWLINE
        for i in range(1, self.stamp_digits + 1):
            self.buffer[end - i] = ZERO + stamp % 10
            stamp //= 10
        return end + 1

    def _append_long_stamp(self, time: int, end: int) -> int:
        """Do the same for a tick after ``short_end``: any tick if the fraction ``scale`` has large terms."""
        stamp = int(time * self.scale)
        if stamp > int(self.time * self.scale):
            for character in f"#{stamp}\n".encode():
                self.buffer[end] = character
                end += 1
        return end

    def _append_line(self, position: int, value: int, end: int) -> int:
        """Write the line of a value from position ``end`` of the buffer on; return the position after it."""
        bits, text = self.bits[position], self.firsts[position]
        if not bits:
            if not 0 <= value < self.sizes[position]:
                raise self.value_error(position, value)
            text += value
        else:
            # Signed and unsigned numbers fit; any 64-bit word fits a variable of 64 bits or more.
            if bits < 64 and (value >> (bits - 1) < -1 or value >> bits > 0):
                raise self.value_error(position, value)
            end = self._append_number(value, bits, end)
        buffer, texts = raw_words.octets(self.buffer), raw_words.octets(self.texts)
        place, after = self.places[text], end + self.lengths[text]
        while end < after:
            raw_words.copy_16(buffer, end, texts, place)
            place, end = place + CHUNK, end + CHUNK
        return after

    def _append_number(self, value: int, bits: int, end: int) -> int:
        """Write a number in binary, in two's complement if it is negative; return the position after it."""
        buffer, digits = raw_words.octets(self.buffer), raw_words.octets(self.digits)
        buffer[end] = NUMBER
        end += 1
        top = bits - 1  # C: long
        if value >= 0:  # without leading zeros, which readers of VCD files supply
            top = raw_words.highest_bit(value | 1)
        first = top & 7  # C: long
        low = top - first  # C: long
        raw_words.copy_16(buffer, end, digits, 8 * (value >> low & 255) + 7 - first)
        end += first + 1
        while low > 0:
            low -= 8
            raw_words.copy_16(buffer, end, digits, 8 * (value >> low & 255))
            end += 8
        return end
