"""A clock domain and the schedule of its components.

Near wakes go on a timing wheel, one bit a component and cycle, so that a second wake for the same cycle is
free and the order within a cycle is the order of the components' indices. Far ones wait on a heap.
"""

from __future__ import annotations

import heapq
from array import array
from fractions import Fraction

from sim.constants import FAR
from sim.errors import SimulationError

ONE = 1  # a C long when compiled: the literal is a C int there, of which 1 << 31 is negative
SLOTS = 256  # cycles that the wheel covers; a power of two
BITS = 32  # components, or slots, in one word; a word stays a small positive integer in both modes

# Position of the only set bit of a 32-bit word, by multiplication with a de Bruijn sequence
# (Leiserson, Prokop, Randall 1998, "Using de Bruijn Sequences to Index a 1 in a Computer Word").
DE_BRUIJN = 0x077CB531
LOW_WORD = 0xFFFFFFFF
POSITION = array("q", bytes(8 * BITS))
for _bit in range(BITS):
    POSITION[((DE_BRUIJN << _bit) & LOW_WORD) >> 27] = _bit


class Clock:
    """One clock domain: its period, its current cycle and who wakes when.

    Args:
        name: the domain's name.
        hertz: its frequency, exact.

    ``period`` is in base ticks of the kernel (set when the machine is built), ``cycle`` the domain's own
    current cycle, ``time`` the same in base ticks, ``due`` the base tick of what was last asked for: the next
    wake or the next edge.
    """

    def __init__(self, name: str, hertz: Fraction) -> None:
        self.name = name
        self.hertz = hertz
        self.period = 1
        self.cycle = -1
        self.time = -1
        self.words = 1
        self.wheel = array("q", bytes(8 * SLOTS))
        self.occupied = array("q", bytes(8 * (SLOTS // BITS)))
        self.agenda: list[tuple[int, int]] = []
        self.agenda_cycle = FAR
        self.due = 0
        self._first_word = self._word = self._last_word = 0

    def size_for(self, components: int) -> None:
        """Make room for this many components; before the first wake."""
        self.words = max(1, (components + BITS - 1) // BITS)
        self.wheel = array("q", bytes(8 * SLOTS * self.words))

    def wake(self, index: int, cycle: int) -> None:
        """Have the component with this index tick at ``cycle`` (in the future); every wake is kept.

        Raises:
            SimulationError: if the cycle lies beyond the end of countable time.
        """
        if cycle - self.cycle < SLOTS:
            self._mark(index, cycle)
        else:
            if cycle >= FAR // self.period:
                raise SimulationError(f"clock {self.name}: cycle {cycle} is beyond the end of time")
            heapq.heappush(self.agenda, (cycle, index))
            self.agenda_cycle = self.agenda[0][0]

    def _mark(self, index: int, cycle: int) -> None:
        slot = cycle & (SLOTS - 1)
        self.wheel[slot * self.words + (index >> 5)] |= ONE << (index & 31)
        self.occupied[slot >> 5] |= ONE << (slot & 31)

    def next_cycle(self) -> int:
        """The next cycle in which a component of this domain wakes; ``FAR`` if none does."""
        start = (self.cycle + 1) & (SLOTS - 1)
        word = start >> 5
        bits = self.occupied[word] >> (start & 31)
        if bits:
            return min(self.cycle + 1 + lowest_bit(bits), self.agenda_cycle)
        distance = BITS - (start & 31)
        for step in range(1, SLOTS // BITS + 1):
            bits = self.occupied[(word + step) & (SLOTS // BITS - 1)]
            if bits:
                return min(self.cycle + 1 + distance + lowest_bit(bits), self.agenda_cycle)
            distance += BITS
        return self.agenda_cycle

    def next_wake(self) -> int:
        """Base tick of the next wake in this domain, from now on ``due``; ``FAR`` if there is none."""
        cycle = self.next_cycle()
        self.due = FAR if cycle >= FAR else cycle * self.period
        return self.due

    def next_edge(self) -> int:
        """Base tick of the domain's next cycle, from now on ``due``."""
        self.due = (self.cycle + 1) * self.period
        return self.due

    def advance(self, cycle: int) -> None:
        """Make ``cycle`` the current one; ``pop`` then gives the components that wake in it."""
        self.cycle = cycle
        self.time = cycle * self.period
        while self.agenda_cycle == cycle:
            self._mark(heapq.heappop(self.agenda)[1], cycle)
            self.agenda_cycle = self.agenda[0][0] if self.agenda else FAR
        slot = cycle & (SLOTS - 1)
        self.occupied[slot >> 5] &= ~(ONE << (slot & 31))
        self._first_word = slot * self.words
        self._last_word = self._first_word + self.words
        self._word = self._first_word

    def pop(self) -> int:
        """Index of the next component that wakes in the current cycle, in increasing order; -1 when done."""
        while self._word < self._last_word:
            bits = self.wheel[self._word]
            if bits:
                self.wheel[self._word] = bits & (bits - 1)
                return (self._word - self._first_word) * BITS + lowest_bit(bits)
            self._word += 1
        return -1


def lowest_bit(bits: int) -> int:
    """Position of the lowest set bit of a non-zero word of at most 32 bits."""
    return POSITION[(((bits & -bits) * DE_BRUIJN) & LOW_WORD) >> 27]
