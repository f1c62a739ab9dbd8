# cython: infer_types=True
"""The level scanner: reads the fibers of one level of a compressed fibertree."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.stream import DATA, FIBER_NUMBERS, SKIP, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_FIBER = NO_TARGET = -1


class LevelScanner(Component):
    """Reads the fibers that references select, one element per cycle.

    Interface: the reference of each element on ``references`` selects a fiber of the level. The elements of
    the fiber leave on ``elements`` with their position as reference, and a stop follows the last element.
    A stop on ``references`` is dropped. If ``skips`` is connected, the reader of ``elements`` can send skips
    (``fiberscope.hw.stream.SKIP``), which name elements of the current fiber that need not be sent. A skip
    for another fiber, or between two fibers, counts as late and has no effect.

    Timing: the first element leaves in the cycle in which its reference is visible. The stop takes a cycle,
    and the next fiber follows without a gap. The scanner examines ``window`` coordinates per cycle. Skipped
    coordinates take no time if an element after them is in the same window, or the end of the fiber is; a
    window of skipped coordinates only takes a cycle. A skip of the rest of a fiber takes no time, because the
    end is known. A dropped stop takes a cycle. One skip per cycle is received, and has effect in the cycle in
    which it is visible.

    Accounting: busy while a token moves or coordinates are skipped; waiting for ``elements`` while it is
    full; idle between two fibers.

    Counters: ``elements`` counts elements sent; ``fibers``, fibers that have ended; ``skipped``, elements not
    sent; ``skips`` and ``late_skips``, skips with and without effect.

    Source: SAM (ASPLOS 2023), Definition 3.1, and Section 4.2 for skips; the window is a choice of this
    model.

    Args:
        level: the level to read.
        window: number of coordinates that the scanner examines per cycle.

    Raises:
        ValueError: if ``window`` is less than 1.
        SimulationError: in the run, if a reference selects no fiber.
    """

    PORTS = (Input("references", STREAM), Input("skips", SKIP, optional=True), Output("elements", STREAM))
    # The current fiber, the position in the level, and the coordinate to skip to; -1: none.
    SIGNALS = (Signal("fiber", 48, "integer"), Signal("position", 48), Signal("target", 56, "integer"))

    references: Channel
    skips: Channel | None
    elements: Channel

    def __init__(self, name: str, level: Level, window: int = 1) -> None:
        super().__init__(name)
        if window < 1:
            raise ValueError(f"{name}: window must be at least 1, not {window}")
        self.level = level
        self.window = window
        self.fiber = NO_FIBER  # number of the current fiber
        self.position = 0
        self.fiber_end = 0
        self.target = NO_TARGET  # elements below this coordinate are skipped
        self.scanned = 0
        self.fibers = 0
        self.skipped = 0
        self.applied_skips = 0
        self.late_skips = 0

    def tick(self, now: int) -> int:
        """Receive a skip, begin a fiber, pass over skipped elements, and send one token."""
        has_moved = self._receive_skip()
        if self.fiber == NO_FIBER and self.references.can_pop():
            self._start_fiber()
            has_moved = True
        if self.fiber == NO_FIBER:
            return self.busy(now + 1) if has_moved else self.idle()
        passed_count = self._skip_elements()
        # A window of skipped elements alone takes the whole cycle
        if passed_count < self.window:
            if self.elements.can_push():
                self._send()
            elif not has_moved and passed_count == 0:
                return self.wait_output(self.elements)
        return self.busy(now + 1)

    def _receive_skip(self) -> bool:
        """Receive a skip, if any, and apply it to the current fiber; return whether there was one."""
        skips = self.skips
        if skips is None or not skips.can_pop():
            return False
        # A skip carries the number of its fiber modulo FIBER_NUMBERS; the current fiber has number ``fibers``
        if self.fiber == NO_FIBER or skips.reference() != self.fibers % FIBER_NUMBERS:
            self.late_skips += 1
        else:
            self.applied_skips += 1
            # A stop skips the rest of the fiber
            if skips.control() == STOP:
                self.skipped += self.fiber_end - self.position
                self.position = self.fiber_end
            else:
                self.target = skips.coordinate()
        skips.pop()
        return True

    def _start_fiber(self) -> None:
        """Take a reference, and begin its fiber; drop a stop."""
        if self.references.control() == DATA:
            fiber = self.references.reference()
            self.level.check_fiber(fiber, self.name)
            self.fiber = fiber
            self.position = self.level.begin(fiber)
            self.fiber_end = self.level.end(fiber)
            self.target = NO_TARGET
        self.references.pop()

    def _skip_elements(self) -> int:  # C: noexcept
        """Skip the elements of the window that are below the target, and return their number."""
        # Coordinates ascend, so that the first one that is not below the target ends the search
        start = self.position
        window_end = min(self.fiber_end, start + self.window)
        while self.position < window_end and self.level.coordinate(self.position) < self.target:
            self.position += 1
        self.skipped += self.position - start
        return self.position - start

    def _send(self) -> None:
        """Send the next element, or the stop at the end of the fiber."""
        if self.position == self.fiber_end:
            self.elements.push(STOP)
            self.fibers += 1
            self.fiber = NO_FIBER
        else:
            position = self.position
            self.elements.push(DATA, self.level.coordinate(position), position, self.level.value(position))
            self.position += 1
            self.scanned += 1

    def counters(self) -> dict[str, int]:
        """Return the elements sent, fibers, elements skipped, skips in time, and late skips."""
        return {
            "elements": self.scanned,
            "fibers": self.fibers,
            "skipped": self.skipped,
            "skips": self.applied_skips,
            "late_skips": self.late_skips,
        }

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        target = self.target if self.fiber != NO_FIBER else NO_TARGET
        return self.fiber, self.position, target
