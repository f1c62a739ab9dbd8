# cython: infer_types=True
"""The bursts that wait in a DRAM controller: three linked lists that share one pool of entries."""

from __future__ import annotations

from array import array

from fiberscope.hw.dram.commands import LISTS, NOBODY, READS, WRITES

SIEVE = 1024  # number of counters in the sieve, a power of two


def _numbers(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class BurstQueues:  # C: final
    """Doubly linked lists of bursts, from which a burst can be removed at any position in constant time.

    The lists are ``READS``, ``WRITES`` and ``OPENED``. An entry is free or in one list. The methods do not
    check this.

    Args:
        entries: number of entries of the pool, the maximum number of waiting bursts; at least 1.

    Attributes of an entry, arrays by entry:

    - ``bank``, ``row`` and ``line``: bank, row and burst number (the address within the channel, divided by
      the bytes of a burst) of the burst;
    - ``request``: number of the request to which the burst belongs;
    - ``arrival``: cycle in which the burst was enqueued;
    - ``write``: whether the burst is a write;
    - ``column``: index of its RD or WR in ``Device.ready``;
    - ``counted``: whether the burst has been counted as a row hit, miss or conflict;
    - ``following``: next entry of the same list, ``NOBODY`` after the last.

    ``heads`` is the first entry of each list, ``NOBODY`` if it is empty. ``counts`` is the number of entries.
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
        # Free entries form a list of their own by ``following``; at first, all entries are free
        self.following = array("i", [*range(1, entries), NOBODY])
        self._preceding = array("i", bytes(4 * entries))
        self._free_entry = 0
        self.heads = array("q", [NOBODY] * LISTS)
        self._tails = array("q", [NOBODY] * LISTS)
        self.counts = _numbers(LISTS)
        # Number of waiting writes by the low bits of their line. Most counters are 0, which saves a search of
        # the list. The array is small, so that it stays in the first-level cache of the host.
        self._sieve = array("H", bytes(2 * SIEVE))

    def allocate(self) -> int:  # C: cdef, noexcept
        """Allocate an entry and return it; one must be free. The caller sets all fields but ``counted``."""
        entry = self._free_entry
        self._free_entry = self.following[entry]
        self.counted[entry] = 0
        return entry

    def free(self, entry: int) -> None:  # C: cdef, noexcept
        """Free an entry that is in no list; its fields stay readable until the next ``allocate``."""
        self.following[entry] = self._free_entry
        self._free_entry = entry

    def append(self, queue: int, entry: int) -> None:  # C: cdef, noexcept
        """Append an entry to a list; its ``line`` must be set if the list is ``WRITES``."""
        tail = self._tails[queue]
        self._preceding[entry] = tail
        self.following[entry] = NOBODY
        if tail == NOBODY:
            self.heads[queue] = entry
        else:
            self.following[tail] = entry
        self._tails[queue] = entry
        self.counts[queue] += 1
        if queue == WRITES:
            self._sieve[self.line[entry] & (SIEVE - 1)] += 1

    def remove(self, queue: int, entry: int) -> None:  # C: cdef, noexcept
        """Remove an entry from its list, which is ``queue``."""
        preceding = self._preceding[entry]
        following = self.following[entry]
        if preceding == NOBODY:
            self.heads[queue] = following
        else:
            self.following[preceding] = following
        if following == NOBODY:
            self._tails[queue] = preceding
        else:
            self._preceding[following] = preceding
        self.counts[queue] -= 1
        if queue == WRITES:
            self._sieve[self.line[entry] & (SIEVE - 1)] -= 1

    def will_write(self, line: int) -> bool:  # C: cdef, noexcept
        """Return whether the list of writes has this line; a write whose row was opened has left the list."""
        if self._sieve[line & (SIEVE - 1)] == 0:
            return False
        # Other lines have the same low bits, so only a search of the list is certain
        entry = self.heads[WRITES]
        while entry != NOBODY:
            if self.line[entry] == line:
                return True
            entry = self.following[entry]
        return False

    def shares_row(self, served_entry: int) -> bool:  # C: cdef, noexcept
        """Return whether a waiting burst of the same kind needs the row of an entry that was served.

        The entry may have been freed. Bursts in ``OPENED`` are not searched: the caller knows the banks whose
        rows were opened for a burst.
        """
        entry = self.heads[WRITES if self.write[served_entry] else READS]
        while entry != NOBODY:
            if self.bank[entry] == self.bank[served_entry] and self.row[entry] == self.row[served_entry]:
                return True
            entry = self.following[entry]
        return False

    def entries(self, queue: int) -> list[int]:  # C: def
        """Return the entries of a list, in the order in which they were appended."""
        entries, entry = [], self.heads[queue]
        while entry != NOBODY:
            entries.append(entry)
            entry = self.following[entry]
        return entries
