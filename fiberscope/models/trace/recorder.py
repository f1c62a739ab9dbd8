# cython: infer_types=True
"""What a buffer is told while a loop nest runs, and explicitly managed buffers, which count at once.

A recorder stands for one binding of a buffer: a tensor's rank, its coordinates, its payloads, or both. The
loop nest tells it of each access, in the order of the loops.
"""

from __future__ import annotations

from array import array

from fiberscope.models.trace.line_table import LineTable, doubled
from fiberscope.workloads.canonical import Integers

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
        known = self.table.count
        self.last_line = line
        self.last = self.table.number(line)
        if self.last == known:
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
        """Whether there is room, which is then taken."""
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
