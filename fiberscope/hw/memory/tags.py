# cython: infer_types=True
"""Tags of a set-associative bank. The victim is chosen by priority, then by dirty bit, then by SRRIP."""

from __future__ import annotations

from array import array

NONE = -1


class Sets:  # C: final
    """The mapping of the lines of a bank to its sets.

    The lines are interleaved over the banks: bank b of B banks holds the lines b, b + B, b + 2B and so on.
    The mapping distributes consecutive lines of a bank evenly over the sets. In general, the set of a line
    is ``line // B % sets``.

    If the number of sets is a power of two, the mapping needs no division by B, which is not a power of two
    for Gamma's 48 banks. Let B = m * 2**k with m odd. The set of line n * B + b is then the line divided by
    2**k, modulo the number of sets, which is (n * m + b // 2**k) % sets. As m is odd, two lines share this
    set if and only if they share the set by division. Only the numbering of the sets differs.

    If the sets are hashed, the line number without its lowest k bits is cut into pieces of log2(sets) bits.
    The XOR of all pieces is the set.

    Args:
        banks: number of banks of the whole cache.
        sets: number of sets of one bank; a power of two if ``hashed``.
        hashed: whether the sets are hashed.
    """

    def __init__(self, banks: int, sets: int, hashed: bool = False) -> None:
        self.sets = sets
        self.hashed = hashed
        self.divisor = banks if sets & (sets - 1) else banks & -banks
        self.bits = sets.bit_length() - 1

    def set_of(self, line: int) -> int:  # C: noexcept
        """Return the set of a line."""
        quotient = line // self.divisor  # C: long
        if not self.hashed:
            return quotient % self.sets
        folded = 0  # C: long
        while quotient > 0 and self.bits > 0:  # a single set has no bits, and a shift by 0 would not end
            folded ^= quotient & (self.sets - 1)
            quotient >>= self.bits
        return folded


class TagStore:  # C: final
    """The tag array of a bank. The number of an entry is ``set * ways + way``.

    Args:
        sets: number of sets.
        ways: number of ways of a set.
        priority_limit: maximum of a line's priority, at least 0. The priority is the number of expected reads
            of the line: its fetches, and the write that allocated it, less the reads since. It is limited
            at both ends, so fetches above the limit are forgotten.
        reuse_limit: largest re-reference prediction value (SRRIP, Jaleel et al., ISCA 2010), at least 1.

    ``lines`` (``NONE`` for a free entry), ``pending``, ``dirty``, ``priorities`` and ``reuse`` have an
    element for each entry, ``in_flight`` has one for each set. ``held`` is the number of entries with a line,
    lines in flight included.
    """

    def __init__(self, sets: int, ways: int, priority_limit: int, reuse_limit: int) -> None:
        self.sets = sets
        self.ways = ways
        self.priority_limit = priority_limit
        self.reuse_limit = reuse_limit
        entries = sets * ways
        # The element types are small, so that the entries of a set share cache lines of the host.
        self.lines = array("q", [NONE] * entries)  # C: public
        # The register of the miss if the line is in flight, else NONE
        self.pending = array("h", [NONE] * entries)  # C: public
        self.dirty = array("b", bytes(entries))  # C: public
        self.priorities = array("H", bytes(2 * entries))  # C: public
        self.reuse = array("B", [reuse_limit] * entries)  # C: public; large: reuse is far away
        self.in_flight = array("H", bytes(2 * sets))  # C: public; by set: lines that are
        self.held = 0

    def find(self, set_index: int, line: int) -> int:  # C: noexcept
        """Return the entry of a line that is held or in flight, or -1."""
        first_entry = set_index * self.ways
        for entry in range(first_entry, first_entry + self.ways):
            if self.lines[entry] == line:
                return entry
        return NONE

    def victim(self, set_index: int) -> int:  # C: noexcept
        """Return the entry for a new line: the first free entry, else the victim's.

        The lowest way is the victim among lines that are otherwise equal. The result is -1 if all lines of
        the set are in flight.
        """
        first_entry = set_index * self.ways
        victim_entry = NONE
        lowest = 0
        for entry in range(first_entry, first_entry + self.ways):
            if self.pending[entry] >= 0:
                continue
            if self.lines[entry] == NONE:
                return entry
            priority = self.priorities[entry]
            if (
                victim_entry == NONE
                or priority < lowest
                or (priority == lowest and self._is_evicted_before(entry, victim_entry))
            ):
                victim_entry = entry
                lowest = priority
        return victim_entry

    def _is_evicted_before(self, entry: int, other_entry: int) -> bool:  # C: noexcept
        """Return whether a line is evicted in preference to another line of the same priority."""
        if self.dirty[entry] != self.dirty[other_entry]:
            # If reads are expected, evict the clean line: the dirty one would be written and read again. If
            # no read is expected, evict the dirty line, which is of no further use.
            return (self.dirty[entry] < self.dirty[other_entry]) == (self.priorities[entry] > 0)
        return self.reuse[entry] > self.reuse[other_entry]

    def fill(self, entry: int, line: int, priority: int) -> None:  # C: noexcept
        """Replace the victim by a new line, and age the lines that competed with the victim as SRRIP does.

        The line in the entry must not be in flight; the caller has written it back if necessary. No
        line ages if the entry was free. The new line is clean, and not in flight until ``mark_in_flight``.

        Args:
            entry: entry that ``victim`` returned.
            line: number of the new line.
            priority: its number of expected reads, limited to ``priority_limit``.
        """
        if self.lines[entry] == NONE:
            self.held += 1
        else:
            self._age(entry)
        self.lines[entry] = line
        self.pending[entry] = NONE
        self.dirty[entry] = 0
        self.priorities[entry] = min(priority, self.priority_limit)
        self.reuse[entry] = self.reuse_limit - 1  # SRRIP inserts with a long, not a distant prediction

    def _ties_with(self, entry: int, other_entry: int) -> bool:  # C: noexcept
        """Return whether SRRIP alone decides between two lines."""
        return (
            self.priorities[entry] == self.priorities[other_entry]
            and self.dirty[entry] == self.dirty[other_entry]
        )

    def _age(self, victim: int) -> None:  # C: noexcept
        """Raise the prediction values of the lines that tie with the victim, until the victim's is the limit.

        Lines in flight age too, although they cannot be evicted.
        """
        step = self.reuse_limit - self.reuse[victim]
        if step == 0:
            return
        first_entry = victim - victim % self.ways
        for entry in range(first_entry, first_entry + self.ways):
            if self._ties_with(entry, victim):
                # A line in flight, or one that a policy of the user spared, can be ahead of the victim.
                self.reuse[entry] = min(self.reuse[entry] + step, self.reuse_limit)

    def mark_in_flight(self, entry: int, miss: int) -> None:  # C: noexcept
        """Mark the line as in flight; ``miss`` is the number of its miss register."""
        self.pending[entry] = miss
        self.in_flight[entry // self.ways] += 1

    def arrive(self, entry: int) -> None:  # C: noexcept
        """Mark a line in flight as no longer in flight."""
        self.pending[entry] = NONE
        self.in_flight[entry // self.ways] -= 1

    def record_fetch(self, entry: int) -> None:  # C: noexcept
        """Record a fetch of a line that is held or in flight: one more read is expected."""
        self.priorities[entry] = min(self.priorities[entry] + 1, self.priority_limit)
        self.reuse[entry] = 0

    def record_read(self, entry: int) -> None:  # C: noexcept
        """Record a read of a line that is held or in flight: one read less is expected."""
        self.priorities[entry] = max(self.priorities[entry] - 1, 0)
        self.reuse[entry] = 0

    def preload(
        self, lines: memoryview[int], reuse: memoryview[int], busy: list[int]
    ) -> None:  # C: lines=long[::1], reuse=unsigned char[::1]
        """Replace the contents of the bank by another state.

        Lines that are dirty, in flight, or have a priority above 0 are kept, with their own prediction value
        if ``lines`` has them too. If a set then has no place for all its new lines, the last of them are
        omitted.

        Args:
            lines: for each entry, the line to hold, ``NONE`` for none.
            reuse: for each entry, the re-reference prediction value of this line.
            busy: sets that keep their contents; numbers that are no sets have no effect.
        """
        for set_index in range(self.sets):
            if set_index not in busy:
                self._preload_set(set_index, lines, reuse)

    def _preload_set(
        self, set_index: int, lines: memoryview[int], reuse: memoryview[int]
    ) -> None:  # C: noexcept, lines=long[::1], reuse=unsigned char[::1]
        first_entry = set_index * self.ways
        for entry in range(first_entry, first_entry + self.ways):
            if self.lines[entry] != NONE and self._is_replaceable(entry):
                self.drop(entry)
        entry = first_entry
        for source in range(first_entry, first_entry + self.ways):
            if lines[source] == NONE or self.find(set_index, lines[source]) != NONE:
                continue
            while entry < first_entry + self.ways and self.lines[entry] != NONE:
                entry += 1
            if entry == first_entry + self.ways:
                return
            self.fill(entry, lines[source], 0)  # the entry is free, so that no line ages
            self.reuse[entry] = reuse[source]

    def _is_replaceable(self, entry: int) -> bool:  # C: noexcept
        """Return whether a line may be replaced by ``preload``: clean, not in flight, no read expected."""
        return self.pending[entry] < 0 and not self.dirty[entry] and self.priorities[entry] == 0

    def drop(self, entry: int) -> None:  # C: noexcept
        """Remove the line of an entry, even if it is dirty or in flight; nothing is written back.

        The entry must hold a line. After a line in flight is dropped, do not call ``arrive`` for it.
        """
        if self.pending[entry] >= 0:
            self.arrive(entry)
        self.lines[entry] = NONE
        self.dirty[entry] = 0
        self.priorities[entry] = 0
        self.reuse[entry] = self.reuse_limit
        self.held -= 1
