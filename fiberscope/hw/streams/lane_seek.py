# cython: infer_types=True
"""Look-up of a whole fiber at once: what another fiber has of its elements, found from the shorter side."""

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

    Interface: two streams of references of one shape: ``in_ref0`` to the fiber whose elements are held by
    lanes, ``in_ref1`` to the fiber in which is looked. An element of coordinate c seeks
    ``constant + factor * (c // divisor % size)``. Coordinates of the elements that find theirs leave on
    ``out_crd``, their positions on ``out_ref0``, what they found on ``out_ref1``; behind each pair of fibers
    a stop, as of ``Scanner``. For each stop, ``out_sizes`` has the elements that the lanes hold.

    Timing: an element that is found a tick; ``Lanes`` behind it give each pair its time.

    Counts: ``matches``, and the ``folds`` for which an index was made.

    Source: a choice of this model, equal to a scanner, ``Projection`` and ``Seek`` one behind the other. A
    simulation would pass each element to these; an index of the fiber, kept for as long as the fiber stays,
    gives the matches alone.

    Args:
        name: instance name.
        level: of the fibers that lanes hold.
        other: in which is looked.
        factor, divisor, size, constant: see above; without a remainder the size is 0.

    Raises:
        SimulationError: in the run, if the streams differ in shape, or a reference names no fiber.
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
        self.fold = -1  # whose index is there
        self.held = 0  # elements of the fiber at hand
        self.positions: dict[int, list[int]] = {}  # positions of the elements that seek a coordinate
        self.pairs: list[
            tuple[int, int]
        ] = []  # positions of elements, and what they found; the next one last
        self.matches = self.folds = 0

    def update(self, now: int) -> int:
        """Send an element, or what stands between fibers."""
        if self.mode == IN_FIBER:
            return self._send(now)
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
            self.held = 0
            if kind == DATA:
                self._hold(first)
            if kind == other == DATA:
                self._seek(second)
            self.mode = IN_FIBER if self.pairs else OWES_STOP
            return self.busy(now + 1)
        if kind == DONE:
            self._stop(DONE, 0)
            return self.finish(now)
        self.held = 0
        self._stop(STOP, first + 1)
        return self.busy(now + 1)

    def _hold(self, fiber: int) -> None:
        """Have an index of the fiber that the lanes hold."""
        self.level.check_fiber(fiber, self.name)
        begin, end = self.level.begin(fiber), self.level.end(fiber)
        self.held = end - begin
        if fiber == self.fold:
            return
        self.fold, self.positions = fiber, {}
        self.folds += 1
        for position in range(begin, end):
            sought = self.level.coordinate(position) // self.divisor
            if self.size > 0:
                sought %= self.size
            self.positions.setdefault(self.constant + self.factor * sought, []).append(position)

    def _seek(self, fiber: int) -> None:
        """Find the elements of a fiber, and sort them by position."""
        self.other.check_fiber(fiber, self.name)
        for place in range(self.other.begin(fiber), self.other.end(fiber)):
            for position in self.positions.get(self.other.coordinate(place), ()):
                self.pairs.append((position, place))
        self.pairs.sort(reverse=True)
        self.matches += len(self.pairs)

    def _send(self, now: int) -> int:
        position, place = self.pairs.pop()
        self.out_crd.push(DATA, self.level.coordinate(position))
        self.out_ref0.push(DATA, position)
        self.out_ref1.push(DATA, place)
        self.mode = IN_FIBER if self.pairs else OWES_STOP
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        """Send the stop of a pair, which a stop behind the references raises."""
        level = self.pop_stop_level(now)
        self._stop(STOP, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)

    def _stop(self, kind: int, level: int) -> None:
        self.out_crd.push(kind, level)
        self.out_ref0.push(kind, level)
        self.out_ref1.push(kind, level)
        if kind == STOP:
            self.out_sizes.push(DATA, self.held)
