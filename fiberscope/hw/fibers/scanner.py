# cython: infer_types=True
"""The level scanner: reads the fibers of one level of a compressed fibertree."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.stream import DATA, FIBER_NUMBERS, SKIP, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_FIBER = NO_TARGET = -1


class LevelScanner(Component):
    """Turns references to fibers into their elements, one element a cycle.

    Interface: each element on ``references`` names a fiber of the level by its reference. The fiber's
    elements leave on ``elements``, with their position as reference and their value, and a stop behind them.
    A stop on ``references`` is taken and gives nothing. Where ``skips`` is connected, the one who reads the
    elements says what it does not want of the fiber in flight (``fiberscope.hw.stream.SKIP``); a skip of an
    earlier fiber comes too late and is ignored.

    Timing: the first element leaves in the cycle in which its reference is seen; the stop takes a cycle of
    its own, and the next fiber follows at once. The scanner looks at ``window`` coordinates a cycle: those
    that are to be skipped cost nothing if one behind them in the window leaves, or the end is there; a window
    full of them costs a cycle. The rest of a fiber is skipped at once, for its end is known. A skip is heeded
    in the cycle in which it is seen, one a cycle.

    Source: SAM (ASPLOS 2023), Definition 3.1, and Section 4.2 for skips; the window is a choice of this
    model.

    Args:
        name: instance name.
        level: what is read.
        window: coordinates that the scanner sees in a cycle.

    Raises:
        ValueError: if the window is below 1.
        SimulationError: in the run, if a reference names no fiber.
    """

    PORTS = (Input("references", STREAM), Input("skips", SKIP, optional=True), Output("elements", STREAM))
    # The fiber in flight, the position in the level and the coordinate skipped to; -1: none.
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
        self.fiber = NO_FIBER  # the one in flight
        self.position = 0
        self.end = 0
        self.target = NO_TARGET  # coordinate below which nothing is wanted
        self.scanned = 0
        self.fibers = 0
        self.skipped = 0
        self.heeded = 0
        self.late = 0

    def tick(self, now: int) -> int:
        """Hear of a skip, pass over what it says, and send one token."""
        moved = self._hear()
        if self.fiber == NO_FIBER and self.references.can_pop():
            self._begin()
            moved = True
        if self.fiber == NO_FIBER:
            return self.busy(now + 1) if moved else self.idle()
        passed = self._pass_over()
        if passed < self.window:
            if self.elements.can_push():
                self._send()
            elif not moved and passed == 0:
                return self.wait_output(self.elements)
        return self.busy(now + 1)

    def _hear(self) -> bool:
        """Take a skip, if there is one."""
        skips = self.skips
        if skips is None or not skips.can_pop():
            return False
        if self.fiber == NO_FIBER or skips.reference() != self.fibers % FIBER_NUMBERS:
            self.late += 1
        else:
            self.heeded += 1
            if skips.control() == STOP:
                self.skipped += self.end - self.position
                self.position = self.end
            else:
                self.target = skips.coordinate()
        skips.pop()
        return True

    def _begin(self) -> None:
        """Take a reference."""
        if self.references.control() == DATA:
            fiber = self.references.reference()
            self.level.check_fiber(fiber, self.name)
            self.fiber = fiber
            self.position = self.level.begin(fiber)
            self.end = self.level.end(fiber)
            self.target = NO_TARGET
        self.references.pop()

    def _pass_over(self) -> int:  # C: noexcept
        """Skip what is below the target, at most a window; returns how many."""
        first = self.position
        last = min(self.end, first + self.window)
        while self.position < last and self.level.coordinate(self.position) < self.target:
            self.position += 1
        self.skipped += self.position - first
        return self.position - first

    def _send(self) -> None:
        """Send the next element, or the stop."""
        if self.position == self.end:
            self.elements.push(STOP)
            self.fibers += 1
            self.fiber = NO_FIBER
        else:
            position = self.position
            self.elements.push(DATA, self.level.coordinate(position), position, self.level.value(position))
            self.position += 1
            self.scanned += 1

    def counters(self) -> dict[str, int]:
        """Elements sent, fibers, elements skipped, and skips that came in time and late."""
        return {
            "elements": self.scanned,
            "fibers": self.fibers,
            "skipped": self.skipped,
            "skips": self.heeded,
            "late_skips": self.late,
        }

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        target = self.target if self.fiber != NO_FIBER else NO_TARGET
        return self.fiber, self.position, target
