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

    def _allocate(self, room: int) -> None:
        """Replace the buffer by an empty one of ``room`` words."""
        memory = memoryview(bytearray(8 * room))
        self._integers, self._values = memory.cast("q"), memory.cast("d")  # the same memory
        self._room = room

    def put(self, number: int) -> None:
        """Append an integer."""
        place = self._grow()
        self._integers[place] = number

    def put_value(self, value: float) -> None:
        """Append a double."""
        place = self._grow()
        self._values[place] = value

    def _grow(self) -> int:
        """Add a word, enlarge the buffer if it is full, and return the index of the word in the buffer."""
        if self.count == self._room:
            self._double()
        self.count += 1
        return self._at(self.count - 1)

    def _double(self) -> None:
        """Move all words into a buffer of twice the size, the oldest word first."""
        words, head, room = self._integers, self._head, self._room  # C: words=long[::1]
        self._allocate(2 * room)
        self._head = 0
        for place in range(room):
            self._integers[place] = words[(head + place) & (room - 1)]

    def _at(self, place: int) -> int:  # C: noexcept
        """Return the index in the buffer of the word number ``place``, counted from the oldest."""
        return (self._head + place) & (self._room - 1)

    def integer(self, place: int) -> int:  # C: noexcept
        """Return the word number ``place``, counted from the oldest, as an integer; ``place`` < ``count``."""
        return self._integers[self._at(place)]

    def value(self, place: int) -> float:  # C: noexcept
        """Return the word number ``place``, counted from the oldest, as a double; ``place`` < ``count``."""
        return self._values[self._at(place)]

    def drop(self, words: int) -> None:
        """Remove the oldest ``words`` words; the queue must hold at least this number."""
        self._head = self._at(words)
        self.count -= words
