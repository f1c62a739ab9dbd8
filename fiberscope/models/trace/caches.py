# cython: infer_types=True
"""Traffic of caches for given accesses: the best possible, and that of a cache as it is built.

Belady's cache knows the future, and lets by what others would suffer for. The accesses of all bindings are
listed while the loop nest runs, and replayed at its end, when the next use of every line is known.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.tags import Sets, TagStore
from fiberscope.models.trace.recorder import LineTable, Recorder, doubled
from fiberscope.sim import raw_words

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
        bit = 1
        self.count += 1
        for level in range(self.levels):
            place = self.starts[level] + (instant >> WORD_BITS)
            before = self.bits[place]
            self.bits[place] = before | bit << (instant & WORD)
            if before:
                return
            instant >>= WORD_BITS

    def remove(self, instant: int) -> bool:  # C: noexcept
        """Take out an instant; returns whether it was in it."""
        bit = 1
        if not self.bits[instant >> WORD_BITS] >> (instant & WORD) & bit:
            return False
        self.count -= 1
        for level in range(self.levels):
            place = self.starts[level] + (instant >> WORD_BITS)
            self.bits[place] ^= bit << (instant & WORD)
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
            place = place << WORD_BITS | raw_words.highest_bit(self.bits[self.starts[level] + place])
        return place


READ, WRITE, PINNED = 0, 1, 2  # pinned: a write that is never written back
KIND_BITS = 2
KIND = (1 << KIND_BITS) - 1
LINES = 1 << (31 - KIND_BITS)  # an access is a line's number and its kind, in 32 bits
NEVER = -1
OWNERS = 256  # a byte's worth


class AccessList:  # C: final
    """The accesses to a cache, in their order; lines are numbered as they come."""

    def __init__(self) -> None:
        self.length = 0
        self.lines = 0
        self.accesses = array("i", bytes(4 << 10))
        self.owners = array("B", bytes(1 << 10))  # by line: the binding that it belongs to

    def add_line(self, owner: int) -> int:
        """A number for a new line.

        Raises:
            OverflowError: there are as many lines as 29 bits can tell apart.
        """
        if self.lines == LINES:
            raise OverflowError(f"a cache is asked for more than {LINES} different lines")
        if self.lines == len(self.owners):
            self.owners = doubled("B", self.owners)
        self.owners[self.lines] = owner
        self.lines += 1
        return self.lines - 1

    def add(self, line: int, kind: int) -> None:
        """An access."""
        if self.length == len(self.accesses):
            self.accesses = doubled("i", self.accesses)
        self.accesses[self.length] = line << KIND_BITS | kind
        self.length += 1

    def clear(self) -> None:
        """Let all accesses go, and their memory."""
        self.accesses = array("i", bytes(4 << 10))
        self.length = 0


class CacheFeed(Recorder):
    """One binding of a cache: lists its accesses.

    Args:
        cache: the list of all bindings of the cache.
        owner: number of the binding, from 0 to 255.
        elements_per_line, shape: see ``Recorder``.
    """

    def __init__(self, cache: AccessList, owner: int, elements_per_line: int, shape: int) -> None:
        super().__init__(elements_per_line, shape, 0)
        self.cache = cache
        self.owner = owner
        self.last_line = -1
        self.last = -1
        self.numbers = array("i", bytes(4 << 10))  # in the cache, by number in the table
        self.table = LineTable()

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element; see ``Recorder``."""
        line = self.line_of(fiber, position)
        if line != self.last_line:
            self.last_line = line
            self._meet(line)
        kind = READ if not write else WRITE if position < self.shape else PINNED
        self.cache.add(self.last, kind)

    def _meet(self, line: int) -> None:
        lines = self.table.count
        number = self.table.number(line)
        if number == lines:
            self._number_new()
        self.last = self.numbers[number]

    def _number_new(self) -> None:
        number = self.table.count - 1
        if number == len(self.numbers):
            self.numbers = doubled("i", self.numbers)
        self.numbers[number] = self.cache.add_line(self.owner)


class BeladyCache:  # C: final
    """Traffic of a fully associative cache that is empty at first and knows the future.

    A hit costs nothing. A miss of a read brings the line; that of a write does not. A line that is not used
    again leaves at once; another stays if there is room, or if some line is used later still: of those, the
    one used last leaves. What was written in the cache is written back when it leaves, or at once if it
    does not stay.

    Attributes: ``lines_read``, ``lines_written``: by owner.

    Source: Belady, IBM Systems Journal 5(2), 1966; with bypass, as the public TeAAL tool counts.

    Args:
        lines: that it holds.
    """

    def __init__(self, lines: int) -> None:
        self.capacity = lines
        self.lines_read = array("q", bytes(8 * OWNERS))
        self.lines_written = array("q", bytes(8 * OWNERS))

    def replay(self, listed: AccessList) -> None:
        """Count the traffic of a list of accesses."""
        self.accesses = listed.accesses
        self.owners = listed.owners
        self.next_uses = _next_uses(listed)  # C: int[::1]
        self.uses = Instants(listed.length)  # next uses of the lines that are held: each tells its line
        self.dirty = array("B", bytes(listed.lines + 1))
        for now in range(listed.length):
            self._access(now)

    def _access(self, now: int) -> None:
        line, kind = self.accesses[now] >> KIND_BITS, self.accesses[now] & KIND
        held = self.uses.remove(now)
        if not held and kind == READ:
            self.lines_read[self.owners[line]] += 1
        if kind == WRITE:
            self.dirty[line] = 1
        after = self.next_uses[now]  # C: long
        if after == NEVER or (self.uses.count >= self.capacity and not self._make_room(after)):
            self._leave(line)
        else:
            self.uses.add(after)

    def _make_room(self, after: int) -> bool:  # C: noexcept
        """Let the line go that is used last, if that is later than ``after``."""
        last = self.uses.latest()
        if last < after:
            return False
        self.uses.remove(last)
        self._leave(self.accesses[last] >> KIND_BITS)
        return True

    def _leave(self, line: int) -> None:  # C: noexcept
        self.lines_written[self.owners[line]] += self.dirty[line]
        self.dirty[line] = 0


def _next_uses(listed: AccessList) -> array[int]:  # C: cdef
    """For each access when its line is used again."""
    following = array("i", [NEVER]) * (listed.lines + 1)  # C: int[::1]
    uses = array("i", [NEVER]) * (listed.length + 1)  # C: int[::1]
    accesses = listed.accesses  # C: int[::1]
    for now in range(listed.length - 1, -1, -1):
        line = accesses[now] >> KIND_BITS  # C: long
        uses[now] = following[line]
        following[line] = now
    return uses


REUSE = 3  # SRRIP's largest prediction, of two bits (Jaleel et al., ISCA 2010)


class SetAssociativeCache:  # C: final
    """Traffic of a cache of sets and ways that is empty at first, and replaces as SRRIP does.

    A line's address is its number in the order of first use. A miss of a read brings the line; that of a
    write only takes its place. A line that was written is written back when it is replaced, or at the end.

    Attributes: ``lines_read``, ``lines_written``: by owner.

    Args:
        lines: that it holds, at least as many as ways.
        ways: of a set; lines that fill no whole set are left out.
    """

    def __init__(self, lines: int, ways: int) -> None:
        self.ways = min(ways, lines)
        self.sets = Sets(1, lines // self.ways)
        self.tags = TagStore(lines // self.ways, self.ways, 0, REUSE)
        self.lines_read = array("q", bytes(8 * OWNERS))
        self.lines_written = array("q", bytes(8 * OWNERS))

    def replay(self, listed: AccessList) -> None:
        """Count the traffic of a list of accesses."""
        self.accesses = listed.accesses
        self.owners = listed.owners
        for now in range(listed.length):
            self._access(self.accesses[now] >> KIND_BITS, self.accesses[now] & KIND)
        for place in range(self.sets.sets * self.ways):
            self._write_back(place)

    def _access(self, line: int, kind: int) -> None:
        of = self.sets.set_of(line)
        place = self.tags.find(of, line)
        if place >= 0:
            self.tags.note_read(place)
        else:
            place = self._bring(of, line, kind)
        if kind == WRITE:
            self.tags.dirty[place] = 1

    def _bring(self, of: int, line: int, kind: int) -> int:
        """Give a line the place of another; returns the place."""
        if kind == READ:
            self.lines_read[self.owners[line]] += 1
        place = self.tags.victim(of)
        self._write_back(place)
        self.tags.place_line(place, line, 0)
        return place

    def _write_back(self, place: int) -> None:  # C: noexcept
        if self.tags.dirty[place]:
            self.lines_written[self.owners[self.tags.lines[place]]] += 1
            self.tags.dirty[place] = 0
