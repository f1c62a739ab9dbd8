"""A clock domain and the schedule of its components.

Near wakes are bits on a timing wheel, one for each component and cycle. A second wake for the same cycle is
therefore free, and components wake in the order of their indices. Far wakes are in a list sorted by cycle.
"""

from __future__ import annotations

from array import array
from fractions import Fraction

from sortedcontainers import SortedList

from fiberscope.sim import raw_words
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import SimulationError

SLOTS = 256  # cycles that the wheel covers; a power of two
BITS = 32  # components, or slots, in a word; a word is a small positive integer, compiled or not
SHIFT = 5  # bit number >> SHIFT is the number of its word
ONE = 1  # a C long when compiled; with the literal 1, a C int, 1 << 31 would be negative


class Schedule:
    """Wakes of the components of a clock domain; see ``Clock``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.period = 1
        self.cycle = -1
        self.time = -1
        self.words = 1
        self.wheel: array[int] | memoryview[int] = array("q", bytes(8 * SLOTS))
        self.occupied = array("q", bytes(8 * (SLOTS // BITS)))
        self.agenda: dict[int, set[int]] = {}  # far wakes: indices by cycle
        self.agenda_cycles: SortedList[int] = SortedList()  # the cycles of the agenda
        self.agenda_cycle = MAX_TIME  # the first cycle of the agenda
        self._word = self._last_word = 0  # words of the current cycle on the wheel that are not read yet
        self._bits = 0  # bits of the last word that are not returned yet
        self._base = 0  # component index of bit 0 of that word

    def size_for(self, components: int) -> None:
        """Allocate the wheel for this many components, before the first wake."""
        self.words = max(1, (components + BITS - 1) // BITS)
        self.wheel = array("q", bytes(8 * (SLOTS + 1) * self.words))  # last: the unread wakes

    def unread(self) -> memoryview[int]:
        """Return the part of the wheel for near wakes that no component reads."""
        return memoryview(self.wheel)[SLOTS * self.words :]

    def ignore_wakes(self, unread: memoryview[int]) -> None:
        """Discard all wakes, for a component that keeps its own time.

        Args:
            unread: the memory for near wakes: ``unread()`` of the clock domain. All such components share it.
        """
        self.words = 0  # every slot then begins at the same word, and ``pop`` finds none
        self.wheel = unread

    def wake_far(self, index: int, cycle: int) -> None:
        """Store a wake that is too far for the wheel. Equal wakes are stored once.

        Raises:
            SimulationError: if the cycle is not before ``MAX_TIME // period``.
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
        """Return the next cycle in which a component of this domain wakes; ``MAX_TIME`` if there is none."""
        start = (self.cycle + 1) & (SLOTS - 1)
        word = start >> SHIFT
        bits = self.occupied[word] >> (start & (BITS - 1))
        if bits:
            return min(self.cycle + 1 + raw_words.lowest_bit(bits), self.agenda_cycle)
        distance = BITS - (start & (BITS - 1))
        # The last step reads the first word again: its low bits are the last cycles of the wheel.
        for step in range(1, SLOTS // BITS + 1):
            bits = self.occupied[(word + step) & (SLOTS // BITS - 1)]
            if bits:
                return min(self.cycle + 1 + distance + raw_words.lowest_bit(bits), self.agenda_cycle)
            distance += BITS
        return self.agenda_cycle

    def advance(self, cycle: int) -> None:
        """Make ``cycle`` the current cycle. ``pop`` then returns the components that wake in this cycle."""
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
        """Move the far wakes of the earliest such cycle to the wheel."""
        for index in self.agenda.pop(cycle):
            self._mark(index, cycle)
        self.agenda_cycles.pop(0)
        self.agenda_cycle = self.agenda_cycles[0] if self.agenda_cycles else MAX_TIME

    def wake(self, index: int, cycle: int) -> None:
        """Wake the component with this index at a future cycle. A component can have several wakes.

        Args:
            index: position of the component in the order of ticks.
            cycle: a cycle of this clock, later than the current one.

        Raises:
            SimulationError: if the cycle is not before ``MAX_TIME // period``.
        """
        if cycle - self.cycle < SLOTS:
            self._mark(index, cycle)
        else:
            self.wake_far(index, cycle)

    def _mark(self, index: int, cycle: int) -> None:
        """Set the bit of a near wake on the wheel."""
        slot = cycle & (SLOTS - 1)
        self.wheel[slot * self.words + (index >> SHIFT)] |= ONE << (index & (BITS - 1))
        self.occupied[slot >> SHIFT] |= ONE << (slot & (BITS - 1))

    def pop(self) -> int:
        """Return the next component index that wakes in the current cycle, in order; -1 if none is left."""
        while self._bits == 0:
            if self._word == self._last_word:
                return -1
            self._bits = self.wheel[self._word]
            self.wheel[self._word] = 0
            self._word += 1
            self._base += BITS
        bits = self._bits
        self._bits = bits & (bits - 1)  # without the lowest bit
        return self._base + raw_words.lowest_bit(bits)


class Clock(Schedule):
    """A clock domain: its period, its current cycle and the wakes of its components.

    Args:
        name: name of the domain.
        hertz: exact frequency.

    ``period`` is in base ticks of the kernel and is set when the machine is built. ``cycle`` is the current
    cycle of the domain, ``time`` is its base tick; both are -1 before the first cycle. ``due`` is the base
    tick that ``next_wake`` or ``next_edge`` returned last, ``due_cycle`` its cycle.

    The file ``clock.pxd`` repeats the bodies of ``wake`` and ``pop``, which C inlines. Change both files.
    """

    def __init__(self, name: str, hertz: Fraction) -> None:
        super().__init__(name)
        self.hertz = hertz
        self.due = 0
        self.due_cycle = 0

    def next_wake(self) -> int:
        """Store the base tick of the domain's next wake in ``due`` and return it; ``MAX_TIME`` if none."""
        cycle = self.due_cycle = self.next_cycle()
        self.due = MAX_TIME if cycle >= MAX_TIME else cycle * self.period
        return self.due

    def next_edge(self) -> int:
        """Store the base tick of the domain's next cycle in ``due`` and return it."""
        self.due_cycle = self.cycle + 1
        self.due = self.due_cycle * self.period
        return self.due
