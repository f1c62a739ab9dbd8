# cython: infer_types=True
"""Accumulators: reducers whose results are vectors or matrices."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.points import FiberMaker
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q17, Q18, Q25
from fiberscope.hw.streams.sums import Sums
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, VAL, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError

BEFORE_ALL = -1  # smaller than every coordinate: no point taken, or no sum read, so far
POINT = 4  # words of an entry of the waiting queue: kind, outer and inner coordinate, value


class Accumulator(StreamBlock):
    """Adds up the values of points that have the same coordinates, and sends the sums as fibers.

    Interface: points arrive on ``in_crd_outer``, ``in_crd_inner`` and ``in_val``, without stops: connect a
    ``StopDropper`` in front of each port. The sums leave in the order of their coordinates, as fibers on
    ``out_crd_outer`` and ``out_crd_inner``. Their values leave on ``out_val``, with the stops of the inner
    coordinates. An N token counts as the value 0. The memory grows without a limit; the memory of hardware
    has one.

    Timing: a point is popped in a cycle in which all three of its tokens are visible. In the same cycle, if
    no sum waits to be sent, the block reads the next sum of the first complete fiber and sends it with the
    timing of ``PointToFiber``: one cycle for a point, and one for the stop before a new outer coordinate.
    The last stops and done follow at the end.

    Quirks: Q18, see ``PointToFiber``. Q25: a sum is read in every cycle. Its value leaves at once and
    without stops, before its coordinates if they have to wait.

    Counts: ``points`` popped, each of which costs one read, one addition and one write; ``elements``, the
    number of sums; ``merged``, the number of sums of more than one point; ``most_points``, the largest
    number of points in a sum; ``most_held``, the largest number of sums held at the start of a cycle, which
    is the number of entries that hardware needs.

    Args:
        value_stops: whether ``out_val`` carries the stops of the inner coordinates even with Q25.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: during the run, if the three tokens do not form a point; the message names the
            cycle and the tokens.
    """

    PORTS = (
        Input("in_crd_outer", CRD),
        Input("in_crd_inner", CRD),
        Input("in_val", VAL),
        output_stream("out_crd_outer", CRD),
        output_stream("out_crd_inner", CRD),
        output_stream("out_val", VAL),
    )
    COUNTERS = ("points", "elements", "merged", "most_points", "most_held")

    in_crd_outer: Channel
    in_crd_inner: Channel
    in_val: Channel
    out_crd_outer: OutputStream
    out_crd_inner: OutputStream
    out_val: OutputStream
    maker: FiberMaker  # C: hidden; once elaborated

    def __init__(self, name: str, value_stops: bool = False, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.value_stops = value_stops or not quirks & Q25
        self.runs_ahead = bool(quirks & Q25)
        self.table: dict[int, Sums] = {}
        self.sums = Sums()  # the sums of the fiber to which the most recent point belongs
        self.sums_outer = BEFORE_ALL  # outer coordinate of that fiber
        self.complete = Queue()  # outer coordinates of the complete fibers whose sums have not all been read
        self.sums_to_read = self.sums  # the sums of the first complete fiber
        self.last_coordinate = BEFORE_ALL  # inner coordinate of the sum that was read last
        self.waiting = Queue()  # sums that have been read but not sent, ``POINT`` words each
        self.has_ended = False  # whether done has been popped
        self.has_read_all = False  # whether all sums and done have been read
        self.points = 0
        self.elements = 0
        self.merged = 0
        self.most_points = 0
        self.unsent_sums = 0  # sums that have not been sent
        self.most_held = 0

    def elaborate(self) -> None:
        """Look up the streams of the ports, and create the maker of the output fibers."""
        super().elaborate()
        self.maker = FiberMaker(self.out_crd_outer, self.out_crd_inner, self.quirks)

    def update(self, now: int) -> int:
        """Pop a point, read a sum and send a token, as far as each is possible in this cycle."""
        self.most_held = max(self.most_held, self.unsent_sums)
        missing = None if self.has_ended else self._missing()  # C: Channel
        if not self.has_ended and missing is None:
            self._pop_point(now)
        if self.runs_ahead or not self.waiting.count:
            self._read_sum()
        if self.waiting.count:
            return self._send(now)
        if missing is None or self.complete.count:
            return self.busy(now + 1)
        return self.wait_input(missing)

    def _missing(self) -> Channel | None:
        """Return the first input without a visible token, or None."""
        if not self.in_crd_outer.can_pop():
            return self.in_crd_outer
        if not self.in_crd_inner.can_pop():
            return self.in_crd_inner
        return None if self.in_val.can_pop() else self.in_val

    def _pop_point(self, now: int) -> None:
        """Pop a point and accumulate it, or pop done."""
        outer, inner, val = self.in_crd_outer, self.in_crd_inner, self.in_val
        kind = val.control()
        expected_kind = DATA if kind == EMPTY else kind
        if outer.control() != expected_kind or inner.control() != expected_kind or expected_kind == STOP:
            self.refuse(now, "no point")
        if expected_kind == DONE:
            self.has_ended = True
            self.end(now)
        else:
            self.accumulate(outer.coordinate(), now)
            value = val.value() if kind == DATA else 0.0
            self._add(outer.coordinate(), inner.coordinate(), value)
        outer.pop()
        inner.pop()
        val.pop()

    def _add(self, outer: int, inner: int, value: float) -> None:
        """Add a value to the sum of its coordinates, and update the counters."""
        if outer != self.sums_outer:
            if outer not in self.table:
                self.table[outer] = Sums()
            self.sums_outer, self.sums = outer, self.table[outer]
        hits = self.sums.add(inner, value, self.value_type)
        self.points += 1
        self.elements += hits == 1
        self.unsent_sums += hits == 1
        self.merged += hits == 2
        self.most_points = max(self.most_points, hits)

    def accumulate(self, outer: int, now: int) -> None:
        """Prepare for a point with this outer coordinate; called before its value is added."""

    def end(self, now: int) -> None:
        """Mark all remaining sums as complete; called when done is popped."""
        raise NotImplementedError(f"{type(self).__name__} does not define end")

    def _read_sum(self) -> None:
        """Read the next sum of the complete fibers, or done after the last sum."""
        if self.complete.count:
            outer = self.complete.integer(0)
            if self.last_coordinate == BEFORE_ALL:
                self.sums_to_read = self.table[outer]
            position = self.sums_to_read.position_after(self.last_coordinate)
            self.last_coordinate = self.sums_to_read.coordinate(position)
            self._put(DATA, outer, self.last_coordinate, self.sums_to_read.sum(position))
            if position + 1 == self.sums_to_read.count:
                self._close(outer)
        elif self.has_ended and not self.has_read_all:
            self.has_read_all = True
            self._put(DONE, 0, 0, 0.0)

    def _close(self, outer: int) -> None:
        """Remove a fiber whose last sum has been read. With Q17 its sums stay in the table."""
        self.complete.drop(1)
        self.last_coordinate = BEFORE_ALL
        if not self.quirks & Q17:
            del self.table[outer]

    def _put(self, kind: int, outer: int, inner: int, value: float) -> None:
        """Append a sum, or done, to the waiting queue; with Q25 its value leaves at once."""
        self.waiting.put(kind)
        self.waiting.put(outer)
        self.waiting.put(inner)
        self.waiting.put_value(value)
        if not self.value_stops:
            self.out_val.push(kind, 0, value)

    def _send(self, now: int) -> int:
        """Send the next token of the first waiting sum."""
        kind, value = self.waiting.integer(0), self.waiting.value(3)
        sent_kind = self.maker.offer(kind, self.waiting.integer(1), self.waiting.integer(2))
        if self.value_stops:
            self.out_val.push(
                sent_kind, 1 if sent_kind == STOP and kind == DONE else 0, value if sent_kind == DATA else 0.0
            )
        if sent_kind != STOP:
            self.waiting.drop(POINT)
        self.unsent_sums -= sent_kind == DATA
        return self.finish(now) if sent_kind == DONE else self.busy(now + 1)

    def refuse(self, now: int, fault: str) -> NoReturn:
        """Raise an error about the tokens at the heads of the three inputs.

        Args:
            now: the current cycle.
            fault: what is wrong with the tokens, as the end of the message.

        Raises:
            SimulationError: always.
        """
        inputs = ((self.in_crd_outer, CRD), (self.in_crd_inner, CRD), (self.in_val, VAL))
        tokens = [
            f"{format_token(channel.control(), channel.coordinate(), channel.value(), protocol)}"
            for channel, protocol in inputs
        ]
        raise SimulationError(f"cycle {now}, {self.name}: ({', '.join(tokens)}) is {fault}")


class VectorReduce(Accumulator):
    """Adds up a row at a time.

    Interface and timing: those of ``Accumulator``. Outer coordinates must increase. A row is complete when
    a point with another outer coordinate, or done, is popped.

    Quirks: Q17: an outer coordinate may return; its sums leave again, with the totals so far. Q18, Q25.

    Source: SAM (ASPLOS 2023), Definition 3.7, a reducer of n = 1.

    Args:
        name, value_stops, quirks: see ``Accumulator``.

    Raises:
        SimulationError: during the run, if the tokens do not form a point, or an outer coordinate decreases.
    """

    def __init__(self, name: str, value_stops: bool = False, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, value_stops, quirks)
        self.row = BEFORE_ALL

    def accumulate(self, outer: int, now: int) -> None:
        """Mark the previous row as complete when another row begins."""
        if outer < self.row and not self.quirks & Q17:
            self.refuse(now, f"behind row {self.row}, and rows must increase (MatrixReduce takes any order)")
        if self.row not in (outer, BEFORE_ALL):
            self.complete.put(self.row)
        self.row = outer

    def end(self, now: int) -> None:
        """Mark the last row as complete."""
        if self.row != BEFORE_ALL:
            self.complete.put(self.row)


class MatrixReduce(Accumulator):
    """Adds up a whole matrix: nothing leaves before done has been taken.

    Interface and timing: those of ``Accumulator``.

    Quirks: Q18: an input without any point is an error. Q25.

    Source: SAM (ASPLOS 2023), Definition 3.7, a reducer of n = 2.

    Args:
        name, value_stops, quirks: see ``Accumulator``.

    Raises:
        SimulationError: during the run, if the tokens do not form a point; with Q18, if there is no point.
    """

    def end(self, now: int) -> None:
        """Mark all rows as complete, in the order of their coordinates."""
        if not self.table and self.quirks & Q18:
            self.refuse(now, "no point, and none came before: the public simulator fails here")
        for outer in sorted(self.table):
            self.complete.put(outer)
