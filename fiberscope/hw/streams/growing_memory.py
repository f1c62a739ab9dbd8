# cython: infer_types=True
"""Memory that grows as a writer appends to it."""

from __future__ import annotations

from array import array


class Growing:  # C: final
    """Words behind one another, integers or doubles, in memory that doubles when it is full.

    Args:
        room: words that it has room for at first.
    """

    def __init__(self, room: int = 1) -> None:
        self.room = max(1, room)
        self.count = 0
        self._allocate()

    def _allocate(self) -> None:
        memory = memoryview(bytearray(8 * self.room))
        self._integers, self._values = memory.cast("q"), memory.cast("d")  # the same memory

    def append(self, number: int) -> None:
        """Put an integer behind the last word."""
        if self.count == self.room:
            self._double()
        self._integers[self.count] = number
        self.count += 1

    def append_value(self, value: float) -> None:
        """Put a double behind the last word."""
        if self.count == self.room:
            self._double()
        self._values[self.count] = value
        self.count += 1

    def _double(self) -> None:
        words = self._integers  # C: long[::1]
        self.room *= 2
        self._allocate()
        for place in range(self.count):
            self._integers[place] = words[place]

    def integer(self, place: int) -> int:  # C: noexcept
        """The word at this place, as an integer."""
        return self._integers[place]

    def value(self, place: int) -> float:  # C: noexcept
        """The word at this place, as a double."""
        return self._values[place]

    def clear(self) -> None:
        """Forget all words."""
        self.count = 0

    def integers(self) -> array[int]:
        """All words, as integers."""
        words = array("q")
        words.frombytes(memoryview(self._integers).cast("B")[: 8 * self.count])
        return words

    def values(self) -> array[float]:
        """All words, as doubles."""
        words = array("d")
        words.frombytes(memoryview(self._values).cast("B")[: 8 * self.count])
        return words
