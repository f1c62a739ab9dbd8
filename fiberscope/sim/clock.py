"""A clock domain and the schedule of its components.

Near wakes go on a timing wheel, one bit a component and cycle, so that a second wake for the same cycle is
free and the order within a cycle is the order of the components' indices. Far ones wait in a list sorted by
cycle.
"""

from __future__ import annotations

from array import array
from fractions import Fraction

from sortedcontainers import SortedList

from fiberscope.sim import raw_words
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import SimulationError

SLOTS = 256  # cycles that the wheel covers; a power of two
BITS = 32  # components, or slots, in one word; a word stays a small positive integer in both modes
SHIFT = 5  # from a number of such a bit to that of its word
ONE = 1  # a C long when compiled: the literal is a C int there, of which 1 << 31 is negative


class Schedule:
    """Who wakes when in a clock domain, see ``Clock``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.period = 1
        self.cycle = -1
        self.time = -1
        self.words = 1
        self.wheel: array[int] | memoryview[int] = array("q", bytes(8 * SLOTS))
        self.occupied = array("q", bytes(8 * (SLOTS // BITS)))
        self.agenda: dict[int, set[int]] = {}  # far wakes: indices by cycle
        self.agenda_cycles: SortedList[int] = SortedList()  # these cycles
        self.agenda_cycle = MAX_TIME  # the first of them
        self._word = self._last_word = 0  # of the current cycle on the wheel, those still to take
        self._bits = 0  # of the word that was taken last, those still to give
        self._base = 0  # index of the component of its lowest bit

    def size_for(self, components: int) -> None:
        """Make room for this many components; before the first wake."""
        self.words = max(1, (components + BITS - 1) // BITS)
        self.wheel = array("q", bytes(8 * (SLOTS + 1) * self.words))  # behind the slots: wakes unread

    def unread(self) -> memoryview[int]:
        """Return the place of the wheel for near wakes that no component takes."""
        return memoryview(self.wheel)[SLOTS * self.words :]

    def ignore_wakes(self, place: memoryview[int]) -> None:
        """Keep no wakes, for a component that runs in a time of its own.

        Args:
            place: for near wakes, the ``unread`` of the clock domain, which all such components share.
        """
        self.words = 0
        self.wheel = place

    def wake_far(self, index: int, cycle: int) -> None:
        """Keep a wake that is too far for the wheel; once, however often it is asked for.

        Raises:
            SimulationError: if the cycle lies beyond the end of countable time.
        """
        if cycle >= MAX_TIME // self.period:
            raise SimulationError(f"clock {self.name}: cycle {cycle} is beyond the end of time")
        if self.words > 0:
            if cycle not in self.agenda:
                self.agenda[cycle] = set()
                self.agenda_cycles.add(cycle)
                self.agenda_cycle = min(self.agenda_cycle, cycle)
            self.agenda[cycle].add(index)

    def next_cycle(self) -> int:
        """The next cycle in which a component of this domain wakes; ``MAX_TIME`` if none does."""
        start = (self.cycle + 1) & (SLOTS - 1)
        word = start >> SHIFT
        bits = self.occupied[word] >> (start & (BITS - 1))
        if bits:
            return min(self.cycle + 1 + raw_words.lowest_bit(bits), self.agenda_cycle)
        distance = BITS - (start & (BITS - 1))
        for step in range(1, SLOTS // BITS + 1):
            bits = self.occupied[(word + step) & (SLOTS // BITS - 1)]
            if bits:
                return min(self.cycle + 1 + distance + raw_words.lowest_bit(bits), self.agenda_cycle)
            distance += BITS
        return self.agenda_cycle

    def advance(self, cycle: int) -> None:
        """Make ``cycle`` the current one; ``pop`` then gives the components that wake in it."""
        self.cycle = cycle
        self.time = cycle * self.period
        if self.agenda_cycle == cycle:
            self._take_agenda(cycle)
        slot = cycle & (SLOTS - 1)
        self.occupied[slot >> SHIFT] &= ~(ONE << (slot & (BITS - 1)))
        self._word = slot * self.words
        self._last_word = self._word + self.words
        self._base = -BITS

    def _take_agenda(self, cycle: int) -> None:
        """Move the far wakes of a cycle, the first that has any, to the wheel."""
        for index in self.agenda.pop(cycle):
            self._mark(index, cycle)
        self.agenda_cycles.pop(0)
        self.agenda_cycle = self.agenda_cycles[0] if self.agenda_cycles else MAX_TIME

    def wake(self, index: int, cycle: int) -> None:
        """Have the component with this index tick at ``cycle`` (in the future); every wake is kept.

        Raises:
            SimulationError: if the cycle lies beyond the end of countable time.
        """
        if cycle - self.cycle < SLOTS:
            self._mark(index, cycle)
        else:
            self.wake_far(index, cycle)

    def _mark(self, index: int, cycle: int) -> None:
        """Note a wake that is near enough for the wheel."""
        slot = cycle & (SLOTS - 1)
        self.wheel[slot * self.words + (index >> SHIFT)] |= ONE << (index & (BITS - 1))
        self.occupied[slot >> SHIFT] |= ONE << (slot & (BITS - 1))

    def pop(self) -> int:
        """Index of the next component that wakes in the current cycle, in increasing order; -1 when done."""
        while self._bits == 0:
            if self._word == self._last_word:
                return -1
            self._bits = self.wheel[self._word]
            self.wheel[self._word] = 0
            self._word += 1
            self._base += BITS
        bits = self._bits
        self._bits = bits & (bits - 1)
        return self._base + raw_words.lowest_bit(bits)


class Clock(Schedule):
    """One clock domain: its period, its current cycle and who wakes when.

    Args:
        name: the domain's name.
        hertz: its frequency, exact.

    ``period`` is in base ticks of the kernel (set when the machine is built), ``cycle`` the domain's own
    current cycle, ``time`` the same in base ticks, ``due`` the base tick of what was last asked for: the next
    wake or the next edge.

    Compiled, ``wake`` and ``pop`` are used as they stand in the ``.pxd`` again, put in place of their calls.
    """

    def __init__(self, name: str, hertz: Fraction) -> None:
        super().__init__(name)
        self.hertz = hertz
        self.due = 0
        self.due_cycle = 0

    def next_wake(self) -> int:
        """Base tick of the next wake in this domain, from now on ``due``; ``MAX_TIME`` if there is none."""
        cycle = self.due_cycle = self.next_cycle()
        self.due = MAX_TIME if cycle >= MAX_TIME else cycle * self.period
        return self.due

    def next_edge(self) -> int:
        """Base tick of the domain's next cycle, from now on ``due``."""
        self.due_cycle = self.cycle + 1
        self.due = self.due_cycle * self.period
        return self.due
