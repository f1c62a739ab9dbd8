# cython: infer_types=True
"""Traffic of a cache for recorded accesses: Belady's OPT with bypass, and a set-associative cache.

The accesses of all bindings are recorded while the loop nest runs. They are replayed at the end, when the
next use of every line is known.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.tags import Sets, TagStore
from fiberscope.models.trace.recorder import LineTable, Recorder, grow_array
from fiberscope.sim import raw_words

WORD_BITS = 5  # 32 bits a word
WORD_MASK = (1 << WORD_BITS) - 1


class Instants:  # C: final
    """A set of integers from 0 to ``size - 1``: a tree of bit words with 32 children a node.

    A bit of a level is 1 if the word below it is not 0. The largest member is therefore found in a step a
    level. Level 0 has a bit for each integer.

    Attributes: ``count``: number of members.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        level_starts, total = [], 0
        while True:
            level_starts.append(total)
            size = (size + WORD_MASK) >> WORD_BITS
            total += max(size, 1)  # a set of size 0 has a word, too
            if size <= 1:
                break
        self.levels = len(level_starts)
        self.level_starts = array("q", level_starts)  # first word of each level; the last level has one word
        self.bits = array("I", bytes(4 * total))

    def add(self, instant: int) -> None:  # C: noexcept
        """Add an instant that is not a member."""
        bit = 1
        self.count += 1
        for level in range(self.levels):
            word = self.level_starts[level] + (instant >> WORD_BITS)
            old_bits = self.bits[word]
            self.bits[word] = old_bits | bit << (instant & WORD_MASK)
            if old_bits:  # the levels above already have the bits of this word
                return
            instant >>= WORD_BITS

    def remove(self, instant: int) -> bool:  # C: noexcept
        """Remove an instant, and return whether the instant was a member."""
        bit = 1
        if not self.bits[instant >> WORD_BITS] >> (instant & WORD_MASK) & bit:
            return False
        self.count -= 1
        for level in range(self.levels):
            word = self.level_starts[level] + (instant >> WORD_BITS)
            self.bits[word] ^= bit << (instant & WORD_MASK)
            if self.bits[word]:  # another member keeps the bits of the levels above
                break
            instant >>= WORD_BITS
        return True

    def latest(self) -> int:  # C: noexcept
        """Return the largest member, or -1 if the set is empty."""
        if self.count == 0:
            return -1
        word = 0  # C: long
        for level in range(self.levels - 1, -1, -1):
            word = word << WORD_BITS | raw_words.highest_bit(self.bits[self.level_starts[level] + word])
        return word


READ, WRITE, PINNED = 0, 1, 2  # PINNED: a write without a write-back
KIND_BITS = 2
KIND_MASK = (1 << KIND_BITS) - 1

MAX_LINES = 1 << (31 - KIND_BITS)  # an access has the number of its line and its kind in 32 bits
NEVER = -1

MAX_OWNERS = 256  # a line's owner is a byte


class AccessList:  # C: final
    """Accesses to a cache in their order. Lines have numbers in the order of their first access.

    Attributes:
        length: number of accesses.
        lines: number of different lines.
        accesses: by access, the line's number and, in the lowest ``KIND_BITS`` bits, the kind. Entries from
            ``length`` on have no meaning.
        owners: by line, the number of its binding. Entries from ``lines`` on have no meaning.
    """

    def __init__(self) -> None:
        self.length = 0
        self.lines = 0
        self.accesses = array("i", bytes(4 << 10))
        self.owners = array("B", bytes(1 << 10))  # by line: the number of its binding

    def add_line(self, owner: int) -> int:
        """Return the number of a new line.

        Args:
            owner: number of the line's binding.

        Raises:
            OverflowError: the cache has more than 2**29 different lines.
        """
        if self.lines == MAX_LINES:
            raise OverflowError(f"a cache is asked for more than {MAX_LINES} different lines")
        if self.lines == len(self.owners):
            self.owners = grow_array("B", self.owners)
        self.owners[self.lines] = owner
        self.lines += 1
        return self.lines - 1

    def add(self, line: int, kind: int) -> None:
        """Append an access.

        Args:
            line: number of the line, from ``add_line``; not checked.
            kind: ``READ``, ``WRITE`` or ``PINNED``.
        """
        if self.length == len(self.accesses):
            self.accesses = grow_array("i", self.accesses)
        self.accesses[self.length] = line << KIND_BITS | kind
        self.length += 1

    def clear(self) -> None:
        """Remove all accesses and release their memory; lines keep their numbers and owners."""
        self.accesses = array("i", bytes(4 << 10))
        self.length = 0


class CacheFeed(Recorder):
    """Recorder of one binding of a cache: appends its accesses to the cache's list.

    Args:
        cache: the list of all bindings of the cache.
        owner: number of the binding, from 0 to 255; the cache counts traffic by owner.
        elements_per_line, shape: see ``Recorder``.
    """

    def __init__(self, cache: AccessList, owner: int, elements_per_line: int, shape: int) -> None:
        super().__init__(elements_per_line, shape, 0)
        self.cache = cache
        self.owner = owner
        self.last_line = -1
        self.last_number = -1
        self.numbers = array("i", bytes(4 << 10))  # number in the cache, by number in the table
        self.table = LineTable()

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element; see ``Recorder``."""
        line = self.line_of(fiber, position)
        if line != self.last_line:  # most accesses stay in a line, and need no lookup
            self.last_line = line
            self._look_up_line(line)
        kind = READ if not write else WRITE if position < self.shape else PINNED
        self.cache.add(self.last_number, kind)

    def _look_up_line(self, line: int) -> None:
        """Set ``last_number`` to the line's number in the cache; number a new line."""
        lines = self.table.count
        number = self.table.number(line)
        if number == lines:
            self._number_line()
        self.last_number = self.numbers[number]

    def _number_line(self) -> None:
        """Give the last line of the table the next number in the cache."""
        number = self.table.count - 1
        if number == len(self.numbers):
            self.numbers = grow_array("i", self.numbers)
        self.numbers[number] = self.cache.add_line(self.owner)


class BeladyCache:  # C: final
    """Traffic of a fully associative cache with Belady's OPT replacement and bypass; empty at first.

    A read miss fetches the line, a write miss does not. A line without a further use leaves at once. Another
    line stays if the cache has space, or if some line has a later next use: the line with the latest next use
    is evicted. A dirty line is written back when it is evicted, or at once if it bypasses the cache. At the
    end of the replay no line is dirty, since every line leaves after its last use. Writes of the kind
    ``PINNED`` make no line dirty.

    Attributes: ``lines_read``, ``lines_written``: by owner.

    Source: Belady, IBM Systems Journal 5(2), 1966; with bypass, as the public TeAAL tool counts.

    Args:
        lines: capacity; with 0, every access bypasses the cache.
    """

    def __init__(self, lines: int) -> None:
        self.capacity = lines
        self.lines_read = array("q", bytes(8 * MAX_OWNERS))
        self.lines_written = array("q", bytes(8 * MAX_OWNERS))

    def replay(self, access_list: AccessList) -> None:
        """Count the traffic of a list of accesses, from an empty cache; the counts add up over calls."""
        self.accesses = access_list.accesses
        self.owners = access_list.owners
        self.next_uses = _find_next_uses(access_list)  # C: int[::1]
        self.uses = Instants(
            access_list.length
        )  # next uses of the lines in the cache: each instant identifies a line
        self.dirty = array("B", bytes(access_list.lines + 1))
        for now in range(access_list.length):
            self._access(now)

    def _access(self, now: int) -> None:
        line, kind = self.accesses[now] >> KIND_BITS, self.accesses[now] & KIND_MASK
        is_hit = self.uses.remove(now)  # a line in the cache is the instant of its next use, which is now
        if not is_hit and kind == READ:
            self.lines_read[self.owners[line]] += 1
        if kind == WRITE:
            self.dirty[line] = 1  # also of a line that bypasses the cache: ``_evict`` writes it back at once
        next_use = self.next_uses[now]  # C: long
        if next_use == NEVER or (self.uses.count >= self.capacity and not self._evict_later_than(next_use)):
            self._evict(line)
        else:
            self.uses.add(next_use)

    def _evict_later_than(self, instant: int) -> bool:  # C: noexcept
        """Evict the line with the latest next use if that use is later than ``instant``.

        Returns:
            Whether a line was evicted; False if the cache is empty, as with a capacity of 0.
        """
        latest = self.uses.latest()
        # instants of different lines differ, so that the two are never equal; -1 for an empty cache is less
        if latest < instant:
            return False
        self.uses.remove(latest)
        self._evict(self.accesses[latest] >> KIND_BITS)
        return True

    def _evict(self, line: int) -> None:  # C: noexcept
        """Write a line back if it is dirty; the caller has removed its next use."""
        self.lines_written[self.owners[line]] += self.dirty[line]
        self.dirty[line] = 0


def _find_next_uses(access_list: AccessList) -> array[int]:  # C: cdef
    """Return for each access the instant of the next access to its line, or ``NEVER``."""
    next_use_by_line = array("i", [NEVER]) * (access_list.lines + 1)  # C: int[::1]
    uses = array("i", [NEVER]) * (access_list.length + 1)  # C: int[::1]
    accesses = access_list.accesses  # C: int[::1]
    for now in range(access_list.length - 1, -1, -1):  # backwards, so that later uses are known
        line = accesses[now] >> KIND_BITS  # C: long
        uses[now] = next_use_by_line[line]
        next_use_by_line[line] = now
    return uses


MAX_REUSE = 3  # SRRIP's largest prediction, of two bits (Jaleel et al., ISCA 2010)


class SetAssociativeCache:  # C: final
    """Traffic of a set-associative cache with SRRIP replacement; empty at first.

    The address of a line is its number in the order of first use. A read miss fetches the line, a write miss
    only allocates it. A dirty line is written back when it is evicted, or at the end of the replay. Writes of
    the kind ``PINNED`` allocate a line but do not make it dirty.

    Attributes: ``lines_read``, ``lines_written``: by owner.

    Args:
        lines: capacity, at least 1; lines beyond the last whole set are left out.
        ways: ways of a set. With fewer lines than ways, the cache is a single set with a way for each line.
    """

    def __init__(self, lines: int, ways: int) -> None:
        self.ways = min(ways, lines)
        self.sets = Sets(1, lines // self.ways)
        self.tags = TagStore(lines // self.ways, self.ways, 0, MAX_REUSE)
        self.lines_read = array("q", bytes(8 * MAX_OWNERS))
        self.lines_written = array("q", bytes(8 * MAX_OWNERS))

    def replay(self, access_list: AccessList) -> None:
        """Count the traffic of a list of accesses, dirty lines at its end included.

        Call this once: the lines stay in the cache, so that a second call would begin with hits.
        """
        self.accesses = access_list.accesses
        self.owners = access_list.owners
        for now in range(access_list.length):
            self._access(self.accesses[now] >> KIND_BITS, self.accesses[now] & KIND_MASK)
        # a run leaves no dirty line behind, so that the traffic of writes is complete
        for entry in range(self.sets.sets * self.ways):
            self._write_back(entry)

    def _access(self, line: int, kind: int) -> None:
        set_index = self.sets.set_of(line)
        entry = self.tags.find(set_index, line)
        if entry >= 0:
            self.tags.record_read(entry)  # a write is a reuse, too
        else:
            entry = self._allocate(set_index, line, kind)
        if kind == WRITE:
            self.tags.dirty[entry] = 1

    def _allocate(self, set_index: int, line: int, kind: int) -> int:
        """Allocate a line in a set, and return its entry."""
        if kind == READ:
            self.lines_read[self.owners[line]] += 1
        entry = self.tags.victim(set_index)
        self._write_back(entry)
        self.tags.fill(entry, line, 0)
        return entry

    def _write_back(self, entry: int) -> None:  # C: noexcept
        if self.tags.dirty[entry]:
            self.lines_written[self.owners[self.tags.lines[entry]]] += 1
            self.tags.dirty[entry] = 0
