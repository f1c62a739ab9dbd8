# cython: infer_types=True
"""Tags of a set-associative bank; the victim has the lowest priority, then costs least, and is SRRIP's."""

from __future__ import annotations

from array import array

NONE = -1


class Sets:  # C: final
    """In which set of a bank a line is.

    Banks are interleaved: bank b of B has the lines b, b + B, b + 2B and so on, and those that follow one
    another are to go to sets that do. Where the sets are a power of two, that takes no division by B = m *
    2**k, m odd, which Gamma's 48 banks would need: line n * B + b divided by 2**k, which leaves bits out, is
    n * m + b // 2**k, and as m is odd, that is in the same set for two n exactly if n modulo the sets is.
    Only their order differs.

    Hashed, all bits above those k choose: sets' worth of them at a time are folded by XOR.

    Args:
        banks: of the whole cache.
        sets: of one bank; hashed, a power of two.
        hashed: whether sets are hashed.
    """

    def __init__(self, banks: int, sets: int, hashed: bool = False) -> None:
        self.sets = sets
        self.hashed = hashed
        self.divisor = banks if sets & (sets - 1) else banks & -banks
        self.bits = sets.bit_length() - 1

    def set_of(self, line: int) -> int:  # C: noexcept
        """The set of a line."""
        rest = line // self.divisor  # C: long
        if not self.hashed:
            return rest % self.sets
        folded = 0  # C: long
        while rest > 0 and self.bits > 0:
            folded ^= rest & (self.sets - 1)
            rest >>= self.bits
        return folded


class TagStore:  # C: final
    """Which lines a bank holds. A place is a set and a way: ``set * ways + way``.

    Args:
        sets: number of sets.
        ways: ways a set.
        priority_limit: where a line's count of reads to come, fetches and writes not yet read, saturates.
        reuse_limit: largest re-reference prediction value (SRRIP, Jaleel et al., ISCA 2010).
    """

    def __init__(self, sets: int, ways: int, priority_limit: int, reuse_limit: int) -> None:
        self.sets = sets
        self.ways = ways
        self.priority_limit = priority_limit
        self.reuse_limit = reuse_limit
        places = (
            sets * ways
        )  # small types, so that what is looked at of a set shares lines of the host's cache
        self.lines = array("q", [NONE] * places)  # C: public
        # The miss that will bring the line, if it is in flight
        self.pending = array("h", [NONE] * places)  # C: public
        self.dirty = array("b", bytes(places))  # C: public
        self.priorities = array("H", bytes(2 * places))  # C: public
        self.reuse = array("B", [reuse_limit] * places)  # C: public; large: reuse is far away
        self.in_flight = array("H", bytes(2 * sets))  # C: public; by set: lines that are
        self.held = 0

    def find(self, set_index: int, line: int) -> int:  # C: noexcept
        """Place of a line that is held or in flight, or -1."""
        first = set_index * self.ways
        for place in range(first, first + self.ways):
            if self.lines[place] == line:
                return place
        return NONE

    def victim(self, set_index: int) -> int:  # C: noexcept
        """Place for a new line: a free one, or that of the line to evict; -1 if every line is in flight."""
        first = set_index * self.ways
        best = NONE
        lowest = 0
        for place in range(first, first + self.ways):
            if self.pending[place] >= 0:
                continue
            if self.lines[place] == NONE:
                return place
            priority = self.priorities[place]
            if best == NONE or priority < lowest or (priority == lowest and self._before(place, best)):
                best = place
                lowest = priority
        return best

    def _before(self, place: int, other: int) -> bool:  # C: noexcept
        """Return whether a line is to be evicted before another one of its priority."""
        if self.dirty[place] != self.dirty[other]:
            # One that awaits a read would be written and read again; one that awaits none is of no more use.
            return (self.dirty[place] < self.dirty[other]) == (self.priorities[place] > 0)
        return self.reuse[place] > self.reuse[other]

    def place_line(self, place: int, line: int, priority: int) -> None:  # C: noexcept
        """Give a victim's place to a new line, aging the lines that it was chosen among as SRRIP does."""
        if self.lines[place] == NONE:
            self.held += 1
        else:
            self._age(place)
        self.lines[place] = line
        self.pending[place] = NONE
        self.dirty[place] = 0
        self.priorities[place] = min(priority, self.priority_limit)
        self.reuse[place] = self.reuse_limit - 1

    def _equals(self, place: int, other: int) -> bool:  # C: noexcept
        """Return whether SRRIP alone decides between two lines."""
        return self.priorities[place] == self.priorities[other] and self.dirty[place] == self.dirty[other]

    def _age(self, victim: int) -> None:  # C: noexcept
        step = self.reuse_limit - self.reuse[victim]
        if step == 0:
            return
        first = victim - victim % self.ways
        for place in range(first, first + self.ways):
            if self._equals(place, victim):
                self.reuse[place] = min(self.reuse[place] + step, self.reuse_limit)

    def ask(self, place: int, miss: int) -> None:  # C: noexcept
        """The line that was given the place is in flight, and this miss will bring it."""
        self.pending[place] = miss
        self.in_flight[place // self.ways] += 1

    def arrive(self, place: int) -> None:  # C: noexcept
        """The line is in flight no more."""
        self.pending[place] = NONE
        self.in_flight[place // self.ways] -= 1

    def note_fetch(self, place: int) -> None:  # C: noexcept
        """A fetch of a line that is here or in flight: one more read is to come."""
        self.priorities[place] = min(self.priorities[place] + 1, self.priority_limit)
        self.reuse[place] = 0

    def note_read(self, place: int) -> None:  # C: noexcept
        """A read of a line that is here or in flight."""
        self.priorities[place] = max(self.priorities[place] - 1, 0)
        self.reuse[place] = 0

    def preload(
        self, lines: memoryview[int], reuse: memoryview[int], busy: list[int]
    ) -> None:  # C: lines=long[::1], reuse=unsigned char[::1]
        """Replace the lines that are clean, not in flight and await no read, to begin from another state.

        Args:
            lines: by place, the lines to hold; ``NONE`` leaves a place as it is.
            reuse: by place, their re-reference predictions.
            busy: sets that stay as they are.
        """
        for set_index in range(self.sets):
            if set_index not in busy:
                self._preload_set(set_index, lines, reuse)

    def _preload_set(
        self, set_index: int, lines: memoryview[int], reuse: memoryview[int]
    ) -> None:  # C: noexcept, lines=long[::1], reuse=unsigned char[::1]
        first = set_index * self.ways
        for place in range(first, first + self.ways):
            if self.lines[place] != NONE and self._idle(place):
                self.drop(place)
        place = first
        for source in range(first, first + self.ways):
            if lines[source] == NONE or self.find(set_index, lines[source]) != NONE:
                continue
            while place < first + self.ways and self.lines[place] != NONE:
                place += 1
            if place == first + self.ways:
                return
            self.place_line(place, lines[source], 0)
            self.reuse[place] = reuse[source]

    def _idle(self, place: int) -> bool:  # C: noexcept
        return self.pending[place] < 0 and not self.dirty[place] and self.priorities[place] == 0

    def drop(self, place: int) -> None:  # C: noexcept
        """Forget a line, dirty or in flight or not."""
        if self.pending[place] >= 0:
            self.arrive(place)
        self.lines[place] = NONE
        self.dirty[place] = 0
        self.priorities[place] = 0
        self.reuse[place] = self.reuse_limit
        self.held -= 1
