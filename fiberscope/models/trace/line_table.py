# cython: infer_types=True
"""Numbers for lines of a buffer in the order in which they are met: a hash table of open addresses."""

from __future__ import annotations

from array import array

FREE = -1
MULTIPLIER = 0x1E3779B97F4A7C15  # odd, near 2**64 / 8.5: spreads neighbours (Knuth, volume 3, section 6.4)
HASHED_BITS = 62
HASHED = 0x3FFFFFFFFFFFFFFF


class LineTable:  # C: final
    """Which lines were met, each with its number: 0, 1, 2 and so on.

    Attributes: ``count`` is how many there are; ``lines`` holds them by number.
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(6)

    def _allocate(self, bits: int) -> None:
        self.shift = HASHED_BITS - bits
        self.mask = (1 << bits) - 1
        self.numbers = array("i", [FREE]) * (1 << bits)
        self.slots = array("i", [0]) * (1 << (bits - 1))  # where the number of each line stands
        self.lines = array("q", [0]) * (1 << (bits - 1))  # at most half of the slots are taken

    def number(self, line: int) -> int:
        """The number of a line; of one that was not met before, ``count`` as it was."""
        slot = self._slot(line)
        if self.numbers[slot] != FREE:
            return self.numbers[slot]
        if self.count > self.mask >> 1:
            self._grow()
            slot = self._slot(line)
        self._put(line, slot)
        return self.count - 1

    def _slot(self, line: int) -> int:  # C: noexcept
        """Where the line's number stands, or will."""
        product = line * MULTIPLIER  # C: unsigned long
        slot = (product & HASHED) >> self.shift  # C: long
        while self.numbers[slot] != FREE and self.lines[self.numbers[slot]] != line:
            slot = (slot + 1) & self.mask
        return slot

    def _put(self, line: int, slot: int) -> None:  # C: noexcept
        self.numbers[slot] = self.count
        self.slots[self.count] = slot
        self.lines[self.count] = line
        self.count += 1

    def _grow(self) -> None:
        held, lines = self.count, self.lines  # C: lines=long[::1]
        self._allocate(HASHED_BITS - self.shift + 1)
        self.count = 0
        for number in range(held):
            self._put(lines[number], self._slot(lines[number]))

    def clear(self) -> None:  # C: noexcept
        """Forget all lines; takes as long as there are lines, however large the table has grown."""
        for number in range(self.count):
            self.numbers[self.slots[number]] = FREE
        self.count = 0


def doubled(code: str, numbers: array[int]) -> array[int]:
    """Twice the room for numbers of a type, which come first in it."""
    room = array(code)
    for _half in range(2):
        room.frombytes(memoryview(numbers).cast("B"))
    return room
