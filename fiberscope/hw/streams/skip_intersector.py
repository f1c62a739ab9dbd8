# cython: infer_types=True
"""A unit that reads two fibers, and skips from what one has to what the other has."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.fiber_states import IN_FIBER, MODES, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.reference_pairs import ReferencePairs
from fiberscope.hw.streams.tokens import CRD, DATA, EMPTY, REF, STOP
from fiberscope.sim.component import Signal


class SkipAhead(ReferencePairs):
    """Intersects fibers that lie beside it.

    Interface: two streams of references of one shape, ``in_ref0`` and ``in_ref1``, each to fibers of its
    level. The coordinates that both fibers have leave on ``out_crd``, the references to their children on
    ``out_ref0`` and ``out_ref1``; behind each pair of fibers a stop, as of ``Scanner``. An N names no fiber.

    Timing: a step a cycle, the first in the cycle in which the references are seen. It compares two heads:
    equal ones leave; else the one behind goes on to the first that is not below the other, however far that
    is. The shorter fiber ends it, in the same cycle if nothing leaves: then the stop does, once the tokens
    behind the references are seen (they stand in registers, so that a stop there is taken with it).

    Counts: ``steps``, ``matches``.

    Source: ExTensor (MICRO 2019), Section 4; its steps are those of TeAAL's ``skip-ahead``.

    Args:
        name: instance name.
        level, other: levels whose fibers ``in_ref0`` and ``in_ref1`` refer to.

    Raises:
        SimulationError: in the run, if the streams differ in shape, or a reference names no fiber.
    """

    PORTS = (
        *ReferencePairs.PORTS,
        output_stream("out_crd", CRD),
        output_stream("out_ref0", REF),
        output_stream("out_ref1", REF),
    )
    COUNTERS = ("steps", "matches")
    SIGNALS = (*ReferencePairs.SIGNALS, Signal("mode", 2, "state", MODES), Signal("steps", 48))

    out_crd: OutputStream
    out_ref0: OutputStream
    out_ref1: OutputStream

    def __init__(self, name: str, level: Level, other: Level) -> None:
        super().__init__(name)
        self.level, self.other = level, other
        self.mode = WANTS_FIBER
        self.here = self.there = 0  # positions of the heads
        self.end = self.their_end = 0
        self.steps = self.matches = 0

    def update(self, now: int) -> int:
        """Make a step, or send what stands between fibers."""
        if self.mode == IN_FIBER:
            return self._step(now)
        missing = self.missing_input()
        if missing is not None:
            return self.wait_input(missing)
        return self._end_fiber(now) if self.mode == OWES_STOP else self._take(now)

    def _take(self, now: int) -> int:
        """Take two references, or what else stands there."""
        kind, other = self.in_ref0.control(), self.in_ref1.control()
        first, second = self.in_ref0.coordinate(), self.in_ref1.coordinate()
        self.pop_pair(now)
        if kind in (DATA, EMPTY):
            return self._begin(first, second, now) if kind == other == DATA else self._ended(now)
        self.send_control(kind, first + 1 if kind == STOP else 0)
        return self.busy(now + 1) if kind == STOP else self.finish(now)

    def _begin(self, first: int, second: int, now: int) -> int:
        self.level.check_fiber(first, self.name)
        self.other.check_fiber(second, self.name)
        self.here, self.end = self.level.begin(first), self.level.end(first)
        self.there, self.their_end = self.other.begin(second), self.other.end(second)
        return self._ended(now) if self._is_over() else self._step(now)

    def _is_over(self) -> bool:  # C: noexcept
        return self.here == self.end or self.there == self.their_end

    def _step(self, now: int) -> int:
        """Compare the heads."""
        coordinate, theirs = self.level.coordinate(self.here), self.other.coordinate(self.there)
        self.steps += 1
        if coordinate == theirs:
            return self._meet(coordinate, now)
        if coordinate < theirs:
            self.here = self.level.next_from(self.here, self.end, theirs)
        else:
            self.there = self.other.next_from(self.there, self.their_end, coordinate)
        if self._is_over():
            return self._ended(now)
        self.mode = IN_FIBER
        return self.busy(now + 1)

    def _meet(self, coordinate: int, now: int) -> int:
        self.out_crd.push(DATA, coordinate)
        self.out_ref0.push(DATA, self.here)
        self.out_ref1.push(DATA, self.there)
        self.matches += 1
        self.here += 1
        self.there += 1
        self.mode = OWES_STOP if self._is_over() else IN_FIBER
        return self.busy(now + 1)

    def _ended(self, now: int) -> int:
        """Send the stop if what comes next is seen; else owe it."""
        if self.in_ref0.can_pop() and self.in_ref1.can_pop():
            return self._end_fiber(now)
        self.mode = OWES_STOP
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        level = self.pop_stop_level(now)
        self.send_control(STOP, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)
