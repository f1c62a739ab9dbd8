# cython: infer_types=True
"""Recorders of a buffer's accesses in a loop nest, and buffets, which count their traffic at once.

A recorder stands for one binding of a buffer: the coordinates, the payloads, or both, of a tensor's rank.
The loop nest calls the recorder for each access, in the order of the loops.
"""

from __future__ import annotations

from array import array

from fiberscope.workloads.canonical import Integers

FREE_SLOT = -1
MULTIPLIER = 0x1E3779B97F4A7C15  # odd, near 2**64 / 8.5: spreads neighbours (Knuth, volume 3, section 6.4)
HASH_BITS = 62
HASH_MASK = 0x3FFFFFFFFFFFFFFF


class LineTable:  # C: final
    """A hash table that numbers lines 0, 1, 2, ... in the order of their first lookup.

    Attributes: ``count``: number of lines; ``lines``: the lines by number.
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(6)

    def _allocate(self, bits: int) -> None:
        """Allocate an empty table of ``2**bits`` slots, without a change of ``count``."""
        self.shift = HASH_BITS - bits
        self.mask = (1 << bits) - 1
        self.numbers = array("i", [FREE_SLOT]) * (1 << bits)
        self.slots = array("i", [0]) * (1 << (bits - 1))  # slot of each line
        self.lines = array("q", [0]) * (1 << (bits - 1))  # at most half of the slots are used

    def number(self, line: int) -> int:
        """Return the number of a line; a new line gets the next number, which is the old ``count``."""
        slot = self._slot(line)
        if self.numbers[slot] != FREE_SLOT:
            return self.numbers[slot]
        if self.count > self.mask >> 1:  # half of the slots are used
            self._grow()
            slot = self._slot(line)
        self._insert(line, slot)
        return self.count - 1

    def _slot(self, line: int) -> int:  # C: noexcept
        """Return the slot of the line's number, used or free."""
        # multiplicative hashing: the high bits of the low 62 bits, which C's wraparound does not change
        product = line * MULTIPLIER  # C: unsigned long
        slot = (product & HASH_MASK) >> self.shift  # C: long
        # linear probing ends, since at least half of the slots are free
        while self.numbers[slot] != FREE_SLOT and self.lines[self.numbers[slot]] != line:
            slot = (slot + 1) & self.mask
        return slot

    def _insert(self, line: int, slot: int) -> None:  # C: noexcept
        self.numbers[slot] = self.count
        self.slots[self.count] = slot
        self.lines[self.count] = line
        self.count += 1

    def _grow(self) -> None:
        count, lines = self.count, self.lines  # C: lines=long[::1]
        self._allocate(HASH_BITS - self.shift + 1)
        self.count = 0
        for number in range(count):
            self._insert(lines[number], self._slot(lines[number]))

    def clear(self) -> None:  # C: noexcept
        """Remove all lines, in time proportional to the number of lines."""
        for number in range(self.count):
            self.numbers[self.slots[number]] = FREE_SLOT
        self.count = 0


def grow_array(code: str, numbers: array[int]) -> array[int]:
    """Return an array of twice the length; both halves contain the numbers.

    Args:
        code: type code of the array, the same as that of ``numbers``.
        numbers: an array that is not empty, for the result to be longer.
    """
    doubled = array(code)
    for _half in range(2):
        doubled.frombytes(memoryview(numbers).cast("B"))
    return doubled


NO_LINE = -1
IS_WRITTEN, IS_BYPASSED = 1, 2  # flags of a line in a buffet: written, and not kept for lack of space
FIBER_BITS = 31  # a line's key has its fiber and its place in the fiber, both below 2**31


class Recorder:
    """The lines of one binding: every fiber begins a new line, and an element lies in one line.

    Attributes, for the loop nest: ``evict_level``: the loop whose iterations are the ``group`` of ``touch``:
    0 for the root (the whole run), 1 + d for the loop at depth d.

    Args:
        elements_per_line: at least 1.
        shape: shape of the rank. Positions from the shape on are the side buffer of a populate with
            insertions, which is never written back.
        evict_level: see above.
    """

    def __init__(self, elements_per_line: int, shape: int, evict_level: int = 0) -> None:
        self.elements_per_line = elements_per_line
        self.shape = shape
        self.evict_level = evict_level

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element.

        Args:
            fiber: number of the element's fiber, the same at every access.
            position: place in the fiber.
            write: whether the access is a write.
            group: number of the current iteration of the loop at ``evict_level``.
        """
        raise NotImplementedError

    def line_of(self, fiber: int, position: int) -> int:  # C: noexcept
        """Return the key of an element's line: the fiber, and the number of the line in the fiber."""
        return (fiber << FIBER_BITS) | (position // self.elements_per_line)


class Capacity:  # C: final
    """The lines of a buffet, shared by all of its bindings.

    Attributes: ``used_lines``: lines in use.

    Args:
        lines: capacity.
    """

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.used_lines = 0  # C: public


class Buffet(Recorder):
    """Lines read and written between a buffet and the level above it.

    The accesses to a line within one iteration of the evict-on loop are a residency. The line is read once if
    the residency begins with a read, and written once if the residency has a write. A write to the side
    buffer (see ``Recorder``) does not count. Without ``capacity`` a buffet is unlimited. Otherwise a line
    without space is not kept: each return from another line begins a new residency of the line. Such a line
    gets no space before the next iteration of the evict-on loop, even if another binding frees space.

    Attributes: ``lines_read``, ``lines_written``.

    Args:
        elements_per_line, shape, evict_level: see ``Recorder``.
        capacity: lines of the buffet; None for no limit.

    Source: TeAAL, MICRO 2023, Section 4.3, and counts of the public tool.
    """

    def __init__(
        self, elements_per_line: int, shape: int, evict_level: int = 0, capacity: Capacity | None = None
    ) -> None:
        super().__init__(elements_per_line, shape, evict_level)
        self.lines_read = 0
        self.lines_written = 0
        self.capacity = capacity
        self.size = 1  # lines moved at once: 1, or the subtree of an ``EagerBuffet``
        self.allocated = 0  # lines allocated from the capacity
        self.group = NO_LINE
        self.last_line = NO_LINE
        self.last_number = NO_LINE
        self.table = LineTable()
        self.states = array("B", bytes(64))  # by number of the line: IS_WRITTEN and IS_BYPASSED

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element; see ``Recorder``."""
        line = self.line_of(fiber, position)
        if group != self.group or line != self.last_line:
            self._change_line(line, write, group)
        if write and position < self.shape and not self.states[self.last_number] & IS_WRITTEN:
            self.states[self.last_number] |= IS_WRITTEN
            self.lines_written += 1

    def _change_line(self, line: int, write: bool, group: int) -> None:
        """Record an access to a line that differs from the last line, or in a new iteration."""
        if group != self.group:  # a new iteration of the evict-on loop
            self.group = group
            self._drain()
        lines = self.table.count
        self.last_line = line
        self.last_number = self.table.number(line)
        if self.last_number == lines:  # the table numbered the line as new
            self._begin_residency(write)
        elif self.states[self.last_number] & IS_BYPASSED:
            self.states[self.last_number] = IS_BYPASSED  # without IS_WRITTEN: the next write moves it again
            self._count_read(write)

    def _drain(self) -> None:
        """Evict all lines of this binding, and return their space to the shared capacity.

        Written lines were counted at their first write.
        """
        self.table.clear()
        if self.capacity is not None:
            self.capacity.used_lines -= self.allocated
            self.allocated = 0

    def _begin_residency(self, write: bool) -> None:
        """Begin the residency of a line that this iteration has not touched before."""
        # the doubled half has old flags, which the next line overwrites for each new number
        if self.last_number == len(self.states):
            self.states = grow_array("B", self.states)
        self.states[self.last_number] = 0 if self._allocate_line() else IS_BYPASSED
        self._count_read(write)

    def _allocate_line(self) -> bool:  # C: noexcept
        """Allocate a line, and return whether the buffet had space."""
        capacity = self.capacity
        if capacity is None:
            return True
        if capacity.used_lines + self.size > capacity.lines:
            return False
        capacity.used_lines += self.size
        self.allocated += self.size
        return True

    def _count_read(self, write: bool) -> None:  # C: noexcept
        if not write:
            self.lines_read += self.size


class EagerBuffet(Buffet):
    """Lines read into a buffet that fetches whole subtrees of an input at the first access to a root fiber.

    A subtree is fetched once in an iteration of the evict-on loop. A subtree without space is fetched again
    whenever the loops return to it. ``touch`` gets root fibers alone, at position 0, and counts every access
    as a read.

    Args:
        footprints: by root fiber: lines of the bound rank below it, as 64-bit integers.
        evict_level: see ``Recorder``.
        capacity: see ``Buffet``.
    """

    def __init__(self, footprints: Integers, evict_level: int = 0, capacity: Capacity | None = None) -> None:
        super().__init__(1, 1, evict_level, capacity)
        self.footprints = footprints  # C: long[::1]

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to the root fiber of a subtree; see ``Recorder``."""
        if group != self.group or fiber != self.last_line:
            self.size = self.footprints[fiber]  # before the access: ``_change_line`` counts and allocates it
            self._change_line(fiber, False, group)


class HeadExchange(Buffet):
    """Lines with the heads of linked lists: each new node replaces the head of its list in memory.

    An exchange reads a line and writes it again. A buffet does not keep it: other instances may append to the
    same list.
    """

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record a new node; see ``Recorder``. Reads do not count: only an append moves a head."""
        self.lines_read += write  # a write moves its line in both directions
        self.lines_written += write
