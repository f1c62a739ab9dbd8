# cython: infer_types=True
"""A scanner of a compressed level that skips elements on hints of a joiner."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.fiber_states import IN_FIBER
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q7
from fiberscope.hw.streams.skip_hints import Skips
from fiberscope.hw.streams.tokens import DATA, EMPTY, SKIP_CRD, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Signal


class SkippingScanner(CompressedScanner):
    """Scans the fibers of a compressed level, and skips elements that the joiner after it does not need.

    Interface: that of ``CompressedScanner``. In addition, the joiner sends skips on ``in_skip``: a coordinate
    if elements of a fiber below it are not needed, a stop if no further elements are needed. ``Skips``
    defines when a skip has an effect.

    Timing: that of ``CompressedScanner``. If a skip is pending when an element would leave, the skip is
    applied instead. The first element from the coordinate of the skip on leaves, however far that is. If
    there is none, or the skip is a stop, the fiber ends. A skip can be applied in the cycle in which it is
    seen. After done, skips are dropped.

    Quirks: those of ``CompressedScanner`` and ``Skips``. Q7, if a skip at the first element of a fiber has no
    effect, the scanner repeats the token that it sent in the cycle before, if any, and the first element is
    lost.

    Counts: ``skipped`` elements; ``skips`` applied; ``late_skips``, to a coordinate that the scanner had
    passed; ``overtaken_skips``, of fibers that had ended; ``skip_stops`` taken; ``longest_skip_queue``.

    Source: SAM (ASPLOS 2023), Section 4.2; the public simulator's scanner (weiya711/sam at 6e477d1).

    Args:
        level: compressed level to scan.
        quirks: see ``StreamBlock``.
    """

    PORTS = (*CompressedScanner.PORTS, Input("in_skip", SKIP_CRD))
    SIGNALS = (*CompressedScanner.SIGNALS, Signal("skipped", 48))

    in_skip: Channel

    def __init__(self, name: str, level: Level, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, level, quirks)
        self.skips = Skips(quirks)
        self.skipped = 0
        self._sent_kind = EMPTY  # kind, coordinate, reference and cycle of the last token sent
        self._sent_coordinate = self._sent_reference = 0
        self._sent_cycle = self._now = -1

    def tick(self, now: int) -> int:
        """Receive skips, and make one update."""
        if self.done:
            return self._drain()
        self._now = now
        self.skips.receive(self.in_skip)
        wake = CompressedScanner.tick(self, now)  # C: long
        # A block that sleeps (a negative result) must still take the next waiting skip in the next cycle.
        if wake < 0 and self.skips.can_take():
            return self.busy(now + 1)
        return wake

    def _drain(self) -> int:
        """Drop skips that arrive after done."""
        while self.in_skip.can_pop():
            self.in_skip.pop()
        return self.idle()

    def send(self, kind: int, coordinate: int, reference: int) -> None:
        """Send a token on both outputs, and note it for later skips."""
        CompressedScanner.send(self, kind, coordinate, reference)
        self._sent_kind, self._sent_coordinate, self._sent_reference = kind, coordinate, reference
        self._sent_cycle = self._now
        if kind == DATA:
            self.skips.note_sent(coordinate)
        elif kind == STOP:
            self.skips.sent_stop()

    def send_first(self, now: int) -> int:
        """Send the first element of the fiber, or apply a pending skip."""
        if not self.skips.pending:
            return CompressedScanner.send_first(self, now)
        self.mode = IN_FIBER
        # The first element now counts as sent. With Q7 it is lost for this reason if the skip has no effect.
        self.position = self.first
        if self.skips.apply():
            return self._skip(self.first, now)
        if self.quirks & Q7:
            return self._repeat(now)
        return self.send_element(self.first, now)

    def send_next(self, now: int) -> int:
        """Send the next element, or apply a pending skip."""
        if self.skips.pending and self.skips.apply():
            return self._skip(self.position + 1, now)
        return self.send_element(self.position + 1, now)

    def _skip(self, start: int, now: int) -> int:
        """Send the first element from position ``start`` on that the skip leaves, or else the stop."""
        target = self.end if self.skips.kind == STOP else self.level.find(self.fiber, self.skips.coordinate)
        # ``apply`` accepts only coordinates above the last element sent, so that ``target`` >= ``start``.
        self.skipped += target - start
        if target < self.end:
            return self.send_element(target, now)
        # Without an element sent, the fiber ends as an empty fiber does: one cycle later than in mid-fiber.
        return self.end_empty_fiber(now) if start == self.first else self.end_fiber(now)

    def _repeat(self, now: int) -> int:
        """Repeat the token that was sent in the cycle before, if there was one."""
        if self._sent_cycle == now - 1:
            self.send(self._sent_kind, self._sent_coordinate, self._sent_reference)
        return self.busy(now + 1)

    def counters(self) -> dict[str, int]:
        """Return the counters of the scanner and of its skips."""
        skips = self.skips
        return super().counters() | {
            "skipped": self.skipped,
            "skips": skips.applied,
            "late_skips": skips.late,
            "overtaken_skips": skips.overtaken,
            "skip_stops": skips.stops,
            "longest_skip_queue": skips.longest_queue,
        }
