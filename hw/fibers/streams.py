"""Where the arrays of a stream lie in memory: packed items, and the lines that hold them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

MAXIMUM_BITS = 1 << 20  # of an item


@dataclass(frozen=True)
class PackedArray:
    """An array in memory, its items side by side without a gap.

    Args:
        start: byte address of its first line, with the tensor's number as in ``hw.memory``.
        bits: of an item.
    """

    start: int
    bits: int


class AddressGenerator:
    """Which lines hold the items of several packed arrays, in the order in which they are needed.

    The next line is that of the array whose lines so far hold the fewest whole items, the first of those that
    hold as many. So items become whole, side by side, as early as one line a cycle allows.

    Args:
        arrays: the arrays, read or written side by side.
        line_bytes: of a line; each array begins on one.

    Raises:
        ValueError: for an item of no bits, or an array that does not begin on a line.
    """

    def __init__(self, arrays: Sequence[PackedArray], line_bytes: int) -> None:
        for packed in arrays:
            if not 1 <= packed.bits <= MAXIMUM_BITS:
                raise ValueError(f"an item has from 1 to {MAXIMUM_BITS} bits, not {packed.bits}")
            if packed.start % line_bytes:
                raise ValueError(f"an array begins on a line of {line_bytes} bytes, not at {packed.start}")
        self.arrays = len(arrays)
        self.line_bytes = line_bytes
        self.line_bits = 8 * line_bytes
        self.starts = array("q", [packed.start for packed in arrays])
        self.bits = array("q", [packed.bits for packed in arrays])
        self.lines = array("q", bytes(8 * self.arrays))  # that are through, by array
        self.ends = array("q", bytes(8 * self.arrays))  # behind the last that is wanted

    def want(self, first: int, end: int) -> None:
        """Go through the lines of these items."""
        for number in range(self.arrays):
            self.lines[number] = first * self.bits[number] // self.line_bits
            self.ends[number] = (end * self.bits[number] + self.line_bits - 1) // self.line_bits
            if first == end:
                self.ends[number] = self.lines[number]

    def extend(self, items: int, ended: bool) -> None:
        """Go on to the lines that so many items from 0 on fill, or, where no more follow, lie in."""
        for number in range(self.arrays):
            bits = items * self.bits[number]
            self.ends[number] = (bits + self.line_bits - 1 if ended else bits) // self.line_bits

    def next_array(self) -> int:
        """The array whose line is next; -1 if all lines are through."""
        chosen, fewest = -1, 0
        for number in range(self.arrays):
            whole = self.lines[number] * self.line_bits // self.bits[number]
            if self.lines[number] < self.ends[number] and (chosen < 0 or whole < fewest):
                chosen, fewest = number, whole
        return chosen

    def address(self, number: int) -> int:
        """Byte address of the next line of an array."""
        return self.starts[number] + self.lines[number] * self.line_bytes

    def pass_line(self, number: int) -> None:
        """The next line of an array is through."""
        self.lines[number] += 1

    def left(self) -> int:
        """Lines that are not through."""
        left = 0
        for number in range(self.arrays):
            left += self.ends[number] - self.lines[number]
        return left

    def whole_items(self, end: int) -> int:
        """Items from 0 on that lie in the lines that are through, ``end`` at the most."""
        whole = end
        for number in range(self.arrays):
            if self.lines[number] < self.ends[number]:
                whole = min(whole, self.lines[number] * self.line_bits // self.bits[number])
        return whole
