# cython: infer_types=True
"""A set of instants of which the latest is asked for: words of bits, and above them bits for words in use."""

from __future__ import annotations

from array import array

from fiberscope.sim import words

WORD_BITS = 5  # 32 bits a word
WORD = (1 << WORD_BITS) - 1


class Instants:  # C: final
    """Instants from 0 to ``size - 1``; each operation takes as many steps as a number has digits to base 32.

    Attributes: ``count``: how many are in it.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        starts, total = [], 0
        while True:
            starts.append(total)
            size = (size + WORD) >> WORD_BITS
            total += max(size, 1)
            if size <= 1:
                break
        self.levels = len(starts)
        self.starts = array("q", starts)  # of each level's words; the last has one word
        self.bits = array("I", bytes(4 * total))

    def add(self, instant: int) -> None:  # C: noexcept
        """Put in an instant that is not in it."""
        one = 1
        self.count += 1
        for level in range(self.levels):
            place = self.starts[level] + (instant >> WORD_BITS)
            before = self.bits[place]
            self.bits[place] = before | one << (instant & WORD)
            if before:
                return
            instant >>= WORD_BITS

    def remove(self, instant: int) -> bool:  # C: noexcept
        """Take out an instant; returns whether it was in it."""
        one = 1
        if not self.bits[instant >> WORD_BITS] >> (instant & WORD) & one:
            return False
        self.count -= 1
        for level in range(self.levels):
            place = self.starts[level] + (instant >> WORD_BITS)
            self.bits[place] ^= one << (instant & WORD)
            if self.bits[place]:
                break
            instant >>= WORD_BITS
        return True

    def latest(self) -> int:  # C: noexcept
        """The latest instant, or -1."""
        if self.count == 0:
            return -1
        place = 0  # C: long
        for level in range(self.levels - 1, -1, -1):
            place = place << WORD_BITS | words.highest_bit(self.bits[self.starts[level] + place])
        return place
