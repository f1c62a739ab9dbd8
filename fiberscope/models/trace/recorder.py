# cython: infer_types=True
"""Recorders of a buffer's accesses in a loop nest, and explicitly managed buffers, which count at once.

A recorder stands for one binding of a buffer: a tensor's rank, its coordinates, its payloads, or both. The
loop nest tells it of each access, in the order of the loops.
"""

from __future__ import annotations

from array import array

from fiberscope.workloads.canonical import Integers

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
        """Return the slot of the line's number, used or free."""
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


NONE = -1
WRITTEN, PASSING = 1, 2
FIBER_BITS = 31  # a line is named by its fiber and its place there, both below 2**31


class Recorder:
    """The lines of one binding: every fiber begins a line, and no element lies in two.

    Attributes, for the loop nest: ``evict_level`` says whose iterations are the groups that ``touch`` is
    given: 0 for the root, that is all of the run, 1 + d for the loop at depth d.

    Args:
        elements_per_line: at least 1.
        shape: of the rank; positions from there on are the side buffer of a populate that inserts, which is
            never written back.
        evict_level: see above.
    """

    def __init__(self, elements_per_line: int, shape: int, evict_level: int = 0) -> None:
        self.elements_per_line = elements_per_line
        self.shape = shape
        self.evict_level = evict_level

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element.

        Args:
            fiber: number of its fiber, the same at every access.
            position: its place in the fiber.
            write: whether it is written.
            group: which iteration of the loop at ``evict_level`` runs.
        """
        raise NotImplementedError

    def line_of(self, fiber: int, position: int) -> int:  # C: noexcept
        """The line of an element."""
        return (fiber << FIBER_BITS) | (position // self.elements_per_line)


class Room:  # C: final
    """The lines that a buffet has, for all of its bindings.

    Attributes: ``held``: those in use.

    Args:
        lines: as many as are there.
    """

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.held = 0  # C: public


class Buffet(Recorder):
    """Lines read and written between a buffet and the level above it.

    The accesses to a line within one iteration of the evict-on loop are a residency. The line is read once if
    the residency begins with a read, and written once if any of it is a write. Without a ``room`` capacity
    has no part in it; with one, a line that finds none passes: it is moved whenever it is come back to.

    Attributes: ``lines_read``, ``lines_written``.

    Source: TeAAL, MICRO 2023, Section 4.3, and what the public tool counts.
    """

    def __init__(
        self, elements_per_line: int, shape: int, evict_level: int = 0, room: Room | None = None
    ) -> None:
        super().__init__(elements_per_line, shape, evict_level)
        self.lines_read = 0
        self.lines_written = 0
        self.room = room
        self.size = 1  # lines moved at once
        self.kept = 0  # lines of the room
        self.group = NONE
        self.last_line = NONE
        self.last = NONE
        self.table = LineTable()
        self.states = array("B", bytes(64))  # of lines: WRITTEN, PASSING

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element; see ``Recorder``."""
        line = self.line_of(fiber, position)
        if group != self.group or line != self.last_line:
            self._meet(line, write, group)
        if write and position < self.shape and not self.states[self.last] & WRITTEN:
            self.states[self.last] |= WRITTEN
            self.lines_written += 1

    def _meet(self, line: int, write: bool, group: int) -> None:
        """An access to another line than the last, or in another iteration."""
        if group != self.group:
            self.group = group
            self._drain()
        lines = self.table.count
        self.last_line = line
        self.last = self.table.number(line)
        if self.last == lines:
            self._begin(write)
        elif self.states[self.last] & PASSING:
            self.states[self.last] = PASSING
            self._read(write)

    def _drain(self) -> None:
        """All lines leave."""
        self.table.clear()
        if self.room is not None:
            self.room.held -= self.kept
            self.kept = 0

    def _begin(self, write: bool) -> None:
        """A residency begins."""
        if self.last == len(self.states):
            self.states = doubled("B", self.states)
        self.states[self.last] = 0 if self._keeps() else PASSING
        self._read(write)

    def _keeps(self) -> bool:  # C: noexcept
        """Return whether there is room, which is then taken."""
        room = self.room
        if room is None:
            return True
        if room.held + self.size > room.lines:
            return False
        room.held += self.size
        self.kept += self.size
        return True

    def _read(self, write: bool) -> None:  # C: noexcept
        if not write:
            self.lines_read += self.size


class EagerBuffet(Buffet):
    """Lines read into a buffet that takes whole subtrees of an input, as soon as it meets their root fibers.

    ``touch`` is told of root fibers alone, position 0.

    Args:
        footprints: by root fiber: lines of the bound rank below it, as 64-bit integers.
        evict_level: see ``Recorder``.
        room: see ``Buffet``.
    """

    def __init__(self, footprints: Integers, evict_level: int = 0, room: Room | None = None) -> None:
        super().__init__(1, 1, evict_level, room)
        self.footprints = footprints  # C: long[::1]

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """The root fiber of a subtree is met; see ``Recorder``."""
        if group != self.group or fiber != self.last_line:
            self.size = self.footprints[fiber]
            self._meet(fiber, False, group)
