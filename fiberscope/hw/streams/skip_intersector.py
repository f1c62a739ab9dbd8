# cython: infer_types=True
"""An intersection unit that reads two fibers and skips elements of each that the other does not have."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.fiber_states import IN_FIBER, MODES, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.reference_pairs import ReferencePairs
from fiberscope.hw.streams.tokens import CRD, DATA, EMPTY, REF, STOP
from fiberscope.sim.component import Signal


class SkipAhead(ReferencePairs):
    """Intersects pairs of fibers that are in local memories of the unit.

    Interface: ``in_ref0`` and ``in_ref1`` carry references to fibers of two levels, in streams of the same
    shape. The coordinates that occur in both fibers leave on ``out_crd``, and the references to their
    children on ``out_ref0`` and ``out_ref1``. A stop follows each pair of fibers, as in a ``Scanner``. An N
    counts as an empty fiber.

    Timing: one step a cycle, the first in the cycle in which the references are seen. A step compares the
    current elements of the two fibers. Equal coordinates leave. Otherwise the fiber with the smaller
    coordinate skips to its first element that is not below the other coordinate, however far that is. The
    pair ends when one fiber has no element left. If no element leaves in that step, the stop can leave in the
    same cycle, else in the next. The stop waits until the tokens after the references are visible, because
    stops there are popped with it and raise its level. If a pair ends in the cycle of its references and
    such stops are already visible, both inputs lose two tokens in this cycle.

    Counts: ``steps``; ``matches``, the number of common coordinates.

    Source: ExTensor (MICRO 2019), Section 4; its steps are those of TeAAL's ``skip-ahead``.

    Args:
        level, other: levels whose fibers ``in_ref0`` and ``in_ref1`` refer to.

    Raises:
        SimulationError: during the run, if the streams differ in shape, or a reference names no fiber.
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
        self.position = self.other_position = 0  # positions of the current elements in the two levels
        self.fiber_end = self.other_end = 0  # positions after the last elements of the two fibers
        self.steps = self.matches = 0

    def update(self, now: int) -> int:
        """Make a step, or process the tokens between two pairs of fibers."""
        if self.mode == IN_FIBER:
            return self._step(now)
        missing = self.missing_input()
        if missing is not None:
            return self.wait_input(missing)
        return self._end_fiber(now) if self.mode == OWES_STOP else self._pop_references(now)

    def _pop_references(self, now: int) -> int:
        """Pop two references, stops or dones; start the intersection of two fibers."""
        kind, other_kind = self.in_ref0.control(), self.in_ref1.control()
        first, second = self.in_ref0.coordinate(), self.in_ref1.coordinate()
        self.pop_pair(now)
        # An N counts as an empty fiber: its pair has a stop and no step
        if kind in (DATA, EMPTY):
            return (
                self._start_pair(first, second, now) if kind == other_kind == DATA else self._finish_pair(now)
            )
        # The outputs have one level of fibers more than the references
        self.send_control(kind, first + 1 if kind == STOP else 0)
        return self.busy(now + 1) if kind == STOP else self.finish(now)

    def _start_pair(self, first: int, second: int, now: int) -> int:
        """Begin with two fibers, and make the first step unless one of them is empty."""
        self.level.check_fiber(first, self.name)
        self.other.check_fiber(second, self.name)
        self.position, self.fiber_end = self.level.begin(first), self.level.end(first)
        self.other_position, self.other_end = self.other.begin(second), self.other.end(second)
        return self._finish_pair(now) if self._is_over() else self._step(now)

    def _is_over(self) -> bool:  # C: noexcept
        return self.position == self.fiber_end or self.other_position == self.other_end

    def _step(self, now: int) -> int:
        """Compare the current elements: send a match, or skip in one of the fibers."""
        coordinate, theirs = self.level.coordinate(self.position), self.other.coordinate(self.other_position)
        self.steps += 1
        if coordinate == theirs:
            return self._send_match(coordinate, now)
        if coordinate < theirs:
            self.position = self.level.next_from(self.position, self.fiber_end, theirs)
        else:
            self.other_position = self.other.next_from(self.other_position, self.other_end, coordinate)
        if self._is_over():
            return self._finish_pair(now)
        self.mode = IN_FIBER
        return self.busy(now + 1)

    def _send_match(self, coordinate: int, now: int) -> int:
        """Send a match: the coordinate, and the positions of both elements."""
        self.out_crd.push(DATA, coordinate)
        self.out_ref0.push(DATA, self.position)
        self.out_ref1.push(DATA, self.other_position)
        self.matches += 1
        self.position += 1
        self.other_position += 1
        # The stop leaves a cycle later: a match already takes this cycle of each output
        self.mode = OWES_STOP if self._is_over() else IN_FIBER
        return self.busy(now + 1)

    def _finish_pair(self, now: int) -> int:
        """Send the stop of the pair if the next tokens are visible; else later.

        The tokens decide its level: stops that follow the references are popped with it.
        """
        if self.in_ref0.can_pop() and self.in_ref1.can_pop():
            return self._end_fiber(now)
        self.mode = OWES_STOP
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        level = self.pop_stop_level(now)
        self.send_control(STOP, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)
