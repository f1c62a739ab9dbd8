# cython: infer_types=True
"""Memory that grows as a writer appends to it."""

from __future__ import annotations

from array import array


class Growing:  # C: final
    """A sequence of words, integers or doubles, in memory that doubles when it is full.

    A word does not know its type: a double that is read as an integer gives its bits, and the reverse.

    Args:
        room: initial capacity in words; 1 if it is less.
    """

    def __init__(self, room: int = 1) -> None:
        self.capacity = max(1, room)
        self.count = 0
        self._allocate()

    def _allocate(self) -> None:
        """Replace the memory by an empty one of ``capacity`` words."""
        memory = memoryview(bytearray(8 * self.capacity))
        self._integers, self._values = memory.cast("q"), memory.cast("d")  # two views of the same memory

    def append(self, number: int) -> None:
        """Append an integer."""
        if self.count == self.capacity:
            self._double()
        self._integers[self.count] = number
        self.count += 1

    def append_value(self, value: float) -> None:
        """Append a double."""
        if self.count == self.capacity:
            self._double()
        self._values[self.count] = value
        self.count += 1

    def _double(self) -> None:
        """Move all words into memory of twice the size."""
        old_words = self._integers  # C: long[::1]
        self.capacity *= 2
        self._allocate()
        for index in range(self.count):  # as integers, which copies the bits of doubles too
            self._integers[index] = old_words[index]

    def integer(self, index: int) -> int:  # C: noexcept
        """Return the word at this place, below ``count``, as an integer."""
        return self._integers[index]

    def value(self, index: int) -> float:  # C: noexcept
        """Return the word at this place, below ``count``, as a double."""
        return self._values[index]

    def clear(self) -> None:
        """Remove all words; the memory keeps its size."""
        self.count = 0

    def integers(self) -> array[int]:
        """Return a copy of all words as integers."""
        words = array("q")
        words.frombytes(memoryview(self._integers).cast("B")[: 8 * self.count])
        return words

    def values(self) -> array[float]:
        """Return a copy of all words as doubles."""
        words = array("d")
        words.frombytes(memoryview(self._values).cast("B")[: 8 * self.count])
        return words
