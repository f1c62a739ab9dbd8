# cython: infer_types=True
"""An unbounded queue of words."""

from __future__ import annotations


class Queue:  # C: final
    """An unbounded FIFO of words, integers or doubles, in a ring buffer that doubles when it is full.

    Args:
        room: number of words to allocate at first, a power of two.
    """

    def __init__(self, room: int = 16) -> None:
        self.count = 0
        self._head = 0
        self._allocate(room)

    def _allocate(self, capacity: int) -> None:
        """Replace the buffer by an empty one of ``capacity`` words."""
        memory = memoryview(bytearray(8 * capacity))
        self._integers, self._values = memory.cast("q"), memory.cast("d")  # the same memory
        self._capacity = capacity

    def put(self, number: int) -> None:
        """Append an integer."""
        index = self._grow()
        self._integers[index] = number

    def put_value(self, value: float) -> None:
        """Append a double."""
        index = self._grow()
        self._values[index] = value

    def _grow(self) -> int:
        """Add a word, enlarge the buffer if it is full, and return the index of the word in the buffer."""
        if self.count == self._capacity:
            self._double()
        self.count += 1
        return self._index(self.count - 1)

    def _double(self) -> None:
        """Move all words into a buffer of twice the size, the oldest word first."""
        old_words, head, old_capacity = self._integers, self._head, self._capacity  # C: old_words=long[::1]
        self._allocate(2 * old_capacity)
        self._head = 0
        for position in range(old_capacity):
            self._integers[position] = old_words[(head + position) & (old_capacity - 1)]

    def _index(self, position: int) -> int:  # C: noexcept
        """Return the index in the buffer of the word number ``position``, counted from the oldest."""
        return (self._head + position) & (self._capacity - 1)

    def integer(self, position: int) -> int:  # C: noexcept
        """Return word ``position`` < ``count``, counted from the oldest, as an integer."""
        return self._integers[self._index(position)]

    def value(self, position: int) -> float:  # C: noexcept
        """Return word ``position`` < ``count``, counted from the oldest, as a double."""
        return self._values[self._index(position)]

    def drop(self, words: int) -> None:
        """Remove the oldest ``words`` words; the queue must hold at least this number."""
        self._head = self._index(words)
        self.count -= words
