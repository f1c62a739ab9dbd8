# cython: infer_types=True
"""The bursts that wait in a DRAM controller: three lists over one pool of entries."""

from __future__ import annotations

from array import array

from fiberscope.hw.dram.commands import LISTS, NOBODY, READS, WRITES

SIEVE = 1024  # a power of two


def _numbers(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class BurstQueues:  # C: final
    """Linked lists of bursts, so that one is taken out of the middle at no cost.

    Every entry has the ``bank``, ``row`` and ``line`` (burst number) it goes to, the ``request`` it is part
    of, the cycle of its ``arrival``, whether it is a ``write``, the ``column``, which is the place of its RD
    or WR in ``Device.ready``, and whether it was ``counted`` as row hit, miss or conflict. ``following`` is
    the next entry of the list; ``heads`` and ``counts`` are by list.
    """

    def __init__(self, entries: int) -> None:
        self.bank = array("i", bytes(4 * entries))
        self.row = _numbers(entries)
        self.line = _numbers(entries)
        self.request = _numbers(entries)
        self.arrival = _numbers(entries)
        self.write = array("b", bytes(entries))
        self.column = array("i", bytes(4 * entries))
        self.counted = array("b", bytes(entries))
        self.following = array("i", [*range(1, entries), NOBODY])
        self._before = array("i", bytes(4 * entries))
        self._free = 0
        self.heads = array("q", [NOBODY] * LISTS)
        self._tails = array("q", [NOBODY] * LISTS)
        self.counts = _numbers(LISTS)
        # Waiting writes by the low bits of their line, mostly none: short, for the host's nearest cache
        self._sieve = array("H", bytes(2 * SIEVE))

    def take(self) -> int:  # C: cdef, noexcept
        """An unused entry."""
        entry = self._free
        self._free = self.following[entry]
        self.counted[entry] = 0
        return entry

    def give_back(self, entry: int) -> None:  # C: cdef, noexcept
        """An entry that is in no list is no longer used."""
        self.following[entry] = self._free
        self._free = entry

    def append(self, which: int, entry: int) -> None:  # C: cdef, noexcept
        """Put an entry at the end of a list."""
        tail = self._tails[which]
        self._before[entry] = tail
        self.following[entry] = NOBODY
        if tail == NOBODY:
            self.heads[which] = entry
        else:
            self.following[tail] = entry
        self._tails[which] = entry
        self.counts[which] += 1
        if which == WRITES:
            self._sieve[self.line[entry] & (SIEVE - 1)] += 1

    def remove(self, which: int, entry: int) -> None:  # C: cdef, noexcept
        """Take an entry out of its list."""
        before = self._before[entry]
        after = self.following[entry]
        if before == NOBODY:
            self.heads[which] = after
        else:
            self.following[before] = after
        if after == NOBODY:
            self._tails[which] = before
        else:
            self._before[after] = before
        self.counts[which] -= 1
        if which == WRITES:
            self._sieve[self.line[entry] & (SIEVE - 1)] -= 1

    def will_write(self, line: int) -> bool:  # C: cdef, noexcept
        """Return whether a write to this line is waiting."""
        if self._sieve[line & (SIEVE - 1)] == 0:
            return False
        entry = self.heads[WRITES]
        while entry != NOBODY:
            if self.line[entry] == line:
                return True
            entry = self.following[entry]
        return False

    def shares_row(self, served: int) -> bool:  # C: cdef, noexcept
        """Return whether a waiting burst of the same kind needs the row of an entry that was served."""
        entry = self.heads[WRITES if self.write[served] else READS]
        while entry != NOBODY:
            if self.bank[entry] == self.bank[served] and self.row[entry] == self.row[served]:
                return True
            entry = self.following[entry]
        return False

    def entries(self, which: int) -> list[int]:  # C: def
        """The entries of a list, oldest first."""
        entries, entry = [], self.heads[which]
        while entry != NOBODY:
            entries.append(entry)
            entry = self.following[entry]
        return entries
