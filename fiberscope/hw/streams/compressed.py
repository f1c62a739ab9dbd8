# cython: infer_types=True
"""The scanner of a compressed level: fiber lookup."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.fiber_states import IN_FIBER
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q4
from fiberscope.hw.streams.scanner import Scanner
from fiberscope.hw.streams.tokens import DATA
from fiberscope.sim.component import Signal


class CompressedScanner(Scanner):
    """Scans the fibers of a compressed level.

    Interface: that of ``Scanner``. Fiber r is ``coordinates[segments[r]:segments[r + 1]]``. The references
    on the output are positions in the level.

    Timing: that of ``Scanner``: a fiber of m elements takes m + 1 cycles, an empty fiber 2.

    Quirks: Q0: an empty fiber takes 1 cycle. Q4: an element other than the first waits until the next token
    of ``in_ref`` is visible. Q5: see ``Scanner``.

    Counts: ``fibers``, the number of different fibers that were scanned.

    Args:
        level: the level to scan.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: during the run, if a reference names no fiber.
    """

    SIGNALS = (*Scanner.SIGNALS, Signal("position", 48))
    COUNTERS = ("fibers",)

    def __init__(self, name: str, level: Level, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.level = level
        self.fiber = 0  # reference of the current fiber
        self.first = 0  # position of its first element
        self.position = 0  # position of the element that was sent last
        self.end = 0  # position after its last element
        self.fibers = 0
        self._is_scanned = bytearray(level.fibers)

    def begin(self, reference: int, now: int) -> int:
        """Send the fiber's first element, or its stop if it is empty."""
        self.note_fiber(reference)
        self.fiber = reference
        self.first = self.level.begin(reference)
        self.end = self.level.end(reference)
        return self.end_empty_fiber(now) if self.first == self.end else self.send_first(now)

    def note_fiber(self, reference: int) -> None:
        """Count a fiber at its first scan.

        Raises:
            SimulationError: if the reference names no fiber.
        """
        self.level.check_fiber(reference, self.name)
        if not self._is_scanned[reference]:
            self._is_scanned[reference] = 1
            self.fibers += 1

    def send_first(self, now: int) -> int:
        """Send the first element of the fiber."""
        self.mode = IN_FIBER
        return self.send_element(self.first, now)

    def advance(self, now: int) -> int:
        """Send the next element of the fiber, or its stop."""
        if self.position == self.end - 1:
            return self.end_fiber(now)
        if self.quirks & Q4 and not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        return self.send_next(now)

    def send_next(self, now: int) -> int:
        """Send the element after the one that was sent last."""
        return self.send_element(self.position + 1, now)

    def send_element(self, position: int, now: int) -> int:
        """Send the element at this position."""
        self.position = position
        self.send(DATA, self.level.coordinate(position), position)
        return self.busy(now + 1)
