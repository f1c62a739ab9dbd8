# cython: infer_types=True
"""A unit that intersects every fiber of one list with every fiber of another, and skips within them."""

from __future__ import annotations

from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.pair_modes import ENDED, MET, MODES, WALKS, WANTS_LISTS
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.reference_pairs import ReferencePairs
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.component import Signal
from fiberscope.sim.constants import MAX_TIME


class FiberPairs(ReferencePairs):
    """Intersects the fibers of two lists in pairs; pairs without a match leave nothing.

    Interface: two streams of references of one shape, ``in_ref0`` and ``in_ref1``, name fibers of ``rows``
    and of ``columns``: the lists. Each element of a list names a fiber of ``row_fibers`` or of
    ``column_fibers``. Each row is paired with all columns before the next row. For a pair with a match, the
    coordinates of its row and column leave on ``out_outer`` and ``out_inner``. The references of its
    matches leave as a fiber on ``out_ref0`` and ``out_ref1``. A stop ends the pairs of two lists. An N
    names an empty list.

    Timing: the block makes the steps of ``SkipAhead``, one per cycle. The first step is made in the cycle
    in which the references of the lists are visible; a match leaves in its step. The stop between the
    matches of two pairs takes a further cycle. The stop after the last pair leaves in the cycle of the last
    step. It leaves in the next cycle if the last step is a match, or was made in the cycle of the references.
    It waits until the tokens after the references are visible. The model computes all steps up to a match at
    once, and the block sleeps until then.

    Counts: ``steps``, ``matches``, and ``pairs`` with a match.

    Source: ExTensor (MICRO 2019), Section 4. That pairs without a match leave nothing is a choice of this
    model.

    Args:
        rows, row_fibers: the level of the first list, and the level below it.
        columns, column_fibers: the level of the second list, and the level below it.

    Raises:
        SimulationError: during the run, if the streams differ in shape, or a reference names no list.
    """

    PORTS = (
        *ReferencePairs.PORTS,
        output_stream("out_outer", CRD),
        output_stream("out_inner", CRD),
        output_stream("out_ref0", REF),
        output_stream("out_ref1", REF),
    )
    COUNTERS = ("steps", "matches", "pairs")
    SIGNALS = (*ReferencePairs.SIGNALS, Signal("mode", 2, "state", MODES), Signal("steps", 48))

    out_outer: OutputStream
    out_inner: OutputStream
    out_ref0: OutputStream
    out_ref1: OutputStream

    def __init__(
        self, name: str, rows: Level, row_fibers: Level, columns: Level, column_fibers: Level
    ) -> None:
        super().__init__(name)
        self.rows, self.row_fibers = rows, row_fibers
        self.columns, self.column_fibers = columns, column_fibers
        self.intersection = FiberIntersection(row_fibers.coordinates, column_fibers.coordinates)
        self.mode = WANTS_LISTS
        self.last_step_cycle = 0  # cycle of the last step that has been computed
        self.row = self.last_row = 0  # position of the current row, and the one after the last row
        self.column = self.first_column = self.last_column = 0
        self.is_new = False  # whether no match of the current pair has been sent
        self.owes_stop = False  # whether the stop after the matches of an earlier pair is to be sent
        self.matches = self.pairs = 0

    @property
    def steps(self) -> int:
        """Return the number of steps, including those that are computed ahead up to the next match."""
        return self.intersection.steps

    def tick(self, now: int) -> int:
        """Sleep until the last step that has been computed; then tick as any block."""
        return (
            self.busy(self.last_step_cycle) if now < self.last_step_cycle else ReferencePairs.tick(self, now)
        )

    def update(self, now: int) -> int:
        """Pop the references of two lists, or proceed to the next match or to the end of the lists."""
        if self.mode == MET:
            return self._send(now)
        if self.mode == WALKS:
            return self._walk(now)
        missing = self.missing_input()
        if missing is not None:
            return self.wait_input(missing)
        return self._end_lists(now) if self.mode == ENDED else self._take(now)

    def _take(self, now: int) -> int:
        """Pop two references, and begin with their lists; or pass on a stop or done."""
        kind, other_kind = self.in_ref0.control(), self.in_ref1.control()
        first, second = self.in_ref0.coordinate(), self.in_ref1.coordinate()
        self.pop_pair(now)
        if kind in (DATA, EMPTY):
            self._start_fibers(first, second, kind == other_kind == DATA)
            return self._walk(now)
        self._send_end(kind, first + 1)
        return self.busy(now + 1) if kind == STOP else self.finish(now)

    def _start_fibers(self, first: int, second: int, present: bool) -> None:
        """Begin with the pairs of two lists; there are none unless both lists are ``present``."""
        self.row = self.last_row = 0
        self.owes_stop = False
        if present:
            self.rows.check_fiber(first, self.name)
            self.columns.check_fiber(second, self.name)
            self.row, self.last_row = self.rows.begin(first), self.rows.end(first)
            self.first_column, self.last_column = self.columns.begin(second), self.columns.end(second)
        self.column = self.first_column - 1
        self._next_pair()

    def _next_pair(self) -> bool:
        """Proceed to the next pair; return whether there is one."""
        self.column += 1
        if self.column >= self.last_column:
            self.column = self.first_column
            self.row += 1 if self.first_column < self.last_column else self.last_row
        if self.row >= self.last_row:
            return False
        row, column = self.row_fibers, self.column_fibers
        self.intersection.begin(
            row.begin(self.row), row.end(self.row), column.begin(self.column), column.end(self.column)
        )
        self.is_new = True
        return True

    def _walk(self, now: int) -> int:
        """Compute the steps up to the next match, or to the end of the lists."""
        self.last_step_cycle = self.find_match(now)
        if now < self.last_step_cycle:
            return self.busy(self.last_step_cycle)
        return self.update(now)

    def find_match(self, now: int) -> int:  # C: cdef
        """Walk to the next match, or to the end of the lists, and return the cycle in which it leaves.

        Args:
            now: cycle of the first step.
        """
        earlier_steps, takes_lists = self.intersection.steps, self.mode == WANTS_LISTS
        has_match = False
        while self.row < self.last_row:
            has_match = self.intersection.advance(MAX_TIME)
            if has_match or not self._next_pair():
                break
        self.mode = MET if has_match else ENDED
        last_step = now + max(self.intersection.steps - earlier_steps, 1) - 1
        # the tokens after the references of lists are visible in the next cycle
        return max(last_step, now + 1) if takes_lists and not has_match else last_step

    def _send(self, now: int) -> int:
        """Send a match; before the first match of a pair, send the stop of an earlier pair if it is due."""
        if self.is_new:
            if self.owes_stop:
                self.out_ref0.push(STOP, 0)
                self.out_ref1.push(STOP, 0)
                self.owes_stop = False
                return self.busy(now + 1)
            self.out_outer.push(DATA, self.rows.coordinate(self.row))
            self.out_inner.push(DATA, self.columns.coordinate(self.column))
            self.is_new = False
            self.pairs += 1
        self.out_ref0.push(DATA, self.intersection.a)
        self.out_ref1.push(DATA, self.intersection.b)
        self.owes_stop = True
        self.matches += 1
        self.mode = WALKS
        return self.busy(now + 1)

    def _end_lists(self, now: int) -> int:
        """Send the stop after two lists; a stop after their references determines its level."""
        level = self.pop_stop_level(now)
        self.mode = WANTS_LISTS
        self._send_end(STOP, level)
        return self.busy(now + 1)

    def _send_end(self, kind: int, level: int) -> None:
        """Send done, or a stop of this level on the outputs of coordinates, one higher on the others."""
        if kind == DONE:
            self.send_control(DONE, 0)
            return
        self.out_outer.push(STOP, level)
        self.out_inner.push(STOP, level)
        self.out_ref0.push(STOP, level + 1)
        self.out_ref1.push(STOP, level + 1)
