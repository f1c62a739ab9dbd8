# cython: infer_types=True
"""Lookup of a whole fiber in another fiber at once, through an index of the first."""

from __future__ import annotations

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.fiber_states import IN_FIBER, MODES, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.reference_pairs import ReferencePairs
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.component import Signal


class LaneSeek(ReferencePairs):
    """Looks all elements of a fiber up in another one, side by side.

    Interface: two streams of references have one shape. ``in_ref0`` names the fiber whose elements the
    lanes hold, ``in_ref1`` the fiber to search. An element of coordinate c seeks the coordinate ``constant
    + factor * (c // divisor % size)``. For each element that finds its coordinate, its own coordinate
    leaves on ``out_crd``, its position on ``out_ref0`` and the position that it found on ``out_ref1``. A
    stop follows each pair of fibers, as in ``Scanner``. For each stop, ``out_sizes`` carries the number of
    elements that the lanes hold, which is 0 for a stop in place of references. It carries no stop and no
    done.

    Timing: one tick to pop a pair of references, one for each match, and one for the stop. These ticks are
    not the time of the hardware: a ``Lanes`` block after this one gives each pair of fibers its time.

    Counts: ``matches``, and ``folds``, the number of fibers for which an index was built.

    Source: a choice of this model, equal to a scanner, a ``Projection`` and a ``Seek`` in series. In
    simulation, every element would pass through these blocks. An index, which is kept while the fiber in
    the lanes stays the same, gives the matches alone.

    Args:
        level: level of the fibers that the lanes hold.
        other: level of the fibers to search.
        factor, divisor, size, constant: the expression above; a size of 0 omits the remainder.

    Raises:
        SimulationError: during the run, if the streams differ in shape, or a reference names no fiber.
    """

    PORTS = (
        *ReferencePairs.PORTS,
        output_stream("out_crd", CRD),
        output_stream("out_ref0", REF),
        output_stream("out_ref1", REF),
        output_stream("out_sizes", CRD),
    )
    COUNTERS = ("matches", "folds")
    SIGNALS = (*ReferencePairs.SIGNALS, Signal("mode", 2, "state", MODES), Signal("matches", 48))

    out_crd: OutputStream
    out_ref0: OutputStream
    out_ref1: OutputStream
    out_sizes: OutputStream

    def __init__(
        self,
        name: str,
        level: Level,
        other: Level,
        factor: int = 1,
        divisor: int = 1,
        size: int = 0,
        constant: int = 0,
    ) -> None:
        super().__init__(name)
        self.level, self.other = level, other
        self.factor, self.divisor, self.size, self.constant = factor, divisor, size, constant
        self.mode = WANTS_FIBER
        self.fold = -1  # reference of the fiber that is indexed, -1 for none
        self.element_count = 0  # number of elements of the fiber in the lanes
        self.positions: dict[int, list[int]] = {}  # by coordinate, the elements that seek it
        # Positions of matching elements in both fibers. The next pair to send is the last.
        self.pairs: list[tuple[int, int]] = []
        self.matches = self.folds = 0

    def update(self, now: int) -> int:
        """Send a match or a stop, or pop the next pair of references."""
        if self.mode == IN_FIBER:
            return self._send(now)
        missing = self.missing_input()
        if missing is not None:
            return self.wait_input(missing)
        return self._end_fiber(now) if self.mode == OWES_STOP else self._take(now)

    def _take(self, now: int) -> int:
        """Pop two references and match their fibers, or pass on a stop or done."""
        kind, other_kind = self.in_ref0.control(), self.in_ref1.control()
        first, second = self.in_ref0.coordinate(), self.in_ref1.coordinate()
        self.pop_pair(now)
        if kind in (DATA, EMPTY):
            self.element_count = 0
            if kind == DATA:
                self._load(first)
            if kind == other_kind == DATA:
                self._seek(second)
            self.mode = IN_FIBER if self.pairs else OWES_STOP
            return self.busy(now + 1)
        if kind == DONE:
            self._stop(DONE, 0)
            return self.finish(now)
        self.element_count = 0
        self._stop(STOP, first + 1)
        return self.busy(now + 1)

    def _load(self, fiber: int) -> None:
        """Load a fiber into the lanes, and index its elements by the coordinates that they seek."""
        self.level.check_fiber(fiber, self.name)
        start, end = self.level.begin(fiber), self.level.end(fiber)
        self.element_count = end - start
        if fiber == self.fold:
            return
        self.fold, self.positions = fiber, {}
        self.folds += 1
        for position in range(start, end):
            sought = self.level.coordinate(position) // self.divisor
            if self.size > 0:
                sought %= self.size
            self.positions.setdefault(self.constant + self.factor * sought, []).append(position)

    def _seek(self, fiber: int) -> None:
        """Match the elements of a fiber with those in the lanes, and sort the matches by position."""
        self.other.check_fiber(fiber, self.name)
        for other_position in range(self.other.begin(fiber), self.other.end(fiber)):
            for position in self.positions.get(self.other.coordinate(other_position), ()):
                self.pairs.append((position, other_position))
        self.pairs.sort(reverse=True)
        self.matches += len(self.pairs)

    def _send(self, now: int) -> int:
        """Send the next match of the current pair of fibers."""
        position, other_position = self.pairs.pop()
        self.out_crd.push(DATA, self.level.coordinate(position))
        self.out_ref0.push(DATA, position)
        self.out_ref1.push(DATA, other_position)
        self.mode = IN_FIBER if self.pairs else OWES_STOP
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        """Send the stop of a pair of fibers; a stop after their references raises its level."""
        level = self.pop_stop_level(now)
        self._stop(STOP, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)

    def _stop(self, kind: int, level: int) -> None:
        """Send a stop or done on all outputs of matches, and with a stop the number of held elements."""
        self.out_crd.push(kind, level)
        self.out_ref0.push(kind, level)
        self.out_ref1.push(kind, level)
        if kind == STOP:
            self.out_sizes.push(DATA, self.element_count)
