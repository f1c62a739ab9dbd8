"""An accumulator of points with any number of coordinates."""

from __future__ import annotations

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.operations import operation_code
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, VAL, format_token
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError


class TensorReduce(StreamBlock):
    """Adds up the values of points that have the same coordinates, and sends the sums as fibers, sorted.

    Interface: ``in_crd[0]`` (outermost), ``in_crd[1]`` and so on carry the coordinates of points, ``in_val``
    their values, without stops: a ``StopDropper`` precedes each input. The sums leave as fibers on
    ``out_crd0``, ``out_crd1`` and so on, and on ``out_val`` with the stops of the innermost fibers. A value N
    counts as 0. The first ``kept`` coordinates must arrive sorted. When they change, all sums so far are
    complete, leave, and are removed. The memory of the model is unbounded; that of hardware has a limit.

    With ``flushes``, the points form tasks, and a stop on all inputs ends a task. The sums of the task are
    then complete. They leave as fibers that are one level deeper, in one list for each task. With
    ``flushes``, a point with the value N is ignored, and the sorted coordinates of each task begin anew.
    The stop of the last task must precede done.

    Timing: a point is taken in a cycle in which all of its tokens are visible. Points wait while complete
    sums leave. A sum takes a cycle; if a fiber ended before it, the stops of the fiber take a cycle. At the
    end of the stream or of a task, the last stops take a cycle. Done takes another cycle.

    Counts: ``points`` taken, each of which reads, adds and writes; ``elements``, the number of sums;
    ``most_held``, the largest number of sums held at once, which is the capacity that hardware needs.

    Source: SAM (ASPLOS 2023), Definition 3.7, a reducer of any n. ``VectorReduce`` and ``MatrixReduce`` are
    the reducers of two coordinates in the public simulator; this block has no quirks.

    Args:
        ways: number of coordinates of a point, at least 1.
        kept: number of leading coordinates that arrive sorted; less than ``ways``.
        quirks: see ``StreamBlock``; no quirk has an effect.
        flushes: whether the points form tasks.
        operation: name of the binary operation of ``Alu`` that replaces the addition.

    Raises:
        ValueError: if there is no such operation, or ``kept`` is not in the range from 0 to ``ways`` - 1.
        SimulationError: during the run, if the heads do not form a point, the sorted coordinates decrease,
            or the stop of the last task is missing.
    """

    COUNTERS = ("points", "elements", "most_held")

    in_crd: list[Channel]
    in_val: Channel
    out_val: OutputStream

    def __init__(
        self,
        name: str,
        ways: int,
        kept: int = 0,
        quirks: int = NO_QUIRKS,
        *,
        flushes: bool = False,
        operation: str = "add",
    ) -> None:
        super().__init__(name, quirks)
        if not 0 <= kept < ways:
            raise ValueError(
                f"{name}: {kept} of {ways} coordinates are sorted; it must be fewer than there are"
            )
        self.ways = ways
        self.kept = kept
        self.flushes = flushes
        self.operation, self.code = operation, operation_code(name, operation)
        self.ports = self.own_ports()
        self.sums: dict[tuple[int, ...], float] = {}
        self.group: tuple[int, ...] = ()  # the leading ``kept`` coordinates of the last point
        self.complete: list[tuple[tuple[int, ...], float]] = []  # sums to send, in reverse order
        self.last_coordinates: tuple[int, ...] = ()  # coordinates of the last sum that was sent
        self.starts_list = True  # whether no stop must precede the next sum
        self.has_ended = False  # whether done has been taken
        self.must_send_stops = (
            False  # whether the last stops, of the stream or of a task, must follow the sums
        )
        self.must_send_done = False  # whether done must be sent next
        self.points = 0
        self.elements = 0
        self.most_held = 0

    def own_ports(self) -> tuple[Port, ...]:
        """Return the ports for a point of ``ways`` coordinates."""
        coordinates = (output_stream(f"out_crd{axis}", CRD) for axis in range(self.ways))
        inputs = (Input("in_crd", CRD, array=True), Input("in_val", VAL))
        return (*inputs, *coordinates, output_stream("out_val", VAL))

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports; their number depends on the number of coordinates."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if the number of connected ``in_crd`` is not ``ways``.
        """
        super().elaborate()
        if len(self.in_crd) != self.ways:
            raise SimulationError(
                f"{self.name} takes {self.ways} coordinates, but has {len(self.in_crd)} in_crd"
            )

    def update(self, now: int) -> int:
        """Send the next token of a sum, or take a point."""
        self.most_held = max(self.most_held, len(self.sums) + len(self.complete))
        missing = None if self.has_ended else self._missing()
        if self.must_send_done:
            self.send_control(DONE, 0)
            return self.finish(now)
        sends = self._send()
        if not self.has_ended and missing is None and not self.complete and not self.must_send_stops:
            self._take_point(now)
            return self.busy(now + 1)
        return self.busy(now + 1) if sends or missing is None else self.wait_input(missing)

    def _missing(self) -> Channel | None:
        """Return the first input without a visible token, or None."""
        for channel in (*self.in_crd, self.in_val):
            if not inline.channel(channel).can_pop():
                return channel
        return None

    def _take_point(self, now: int) -> None:
        """Take a point, the stop of a task, or done."""
        kind = self.in_val.control()
        expected_kind = DATA if kind == EMPTY else kind
        heads = [inline.channel(channel) for channel in self.in_crd]
        if (expected_kind == STOP and not self.flushes) or any(
            head.control() != expected_kind for head in heads
        ):
            self._refuse(now, "is no point")
        if kind == DONE and self.flushes and self.sums:
            self._refuse(now, "comes before the stop that ends a task with points")
        if expected_kind in (STOP, DONE):
            self.has_ended = expected_kind == DONE
            self.must_send_done = self.has_ended and self.flushes
            self.must_send_stops = not self.must_send_done
            self._complete()
        elif kind == DATA or not self.flushes:
            self._add(
                tuple([head.coordinate() for head in heads]),
                self.in_val.value() if kind == DATA else 0.0,
                now,
            )
        for head in (*heads, self.in_val):
            head.pop()

    def _add(self, coordinates: tuple[int, ...], value: float, now: int) -> None:
        """Add a value to the sum of its point; if the sorted coordinates change, complete all sums first."""
        group = coordinates[: self.kept]
        if group != self.group:
            if group < self.group:
                self._refuse(now, f"comes behind {self.group}, and its first {self.kept} must increase")
            self._complete()  # ``update`` takes a point only if all complete sums have left
            self.group = group
        if coordinates in self.sums:
            value = operate(self.code, self.sums[coordinates], value, self.value_type)
        else:
            self.elements += 1
        self.sums[coordinates] = value
        self.points += 1

    def _complete(self) -> None:
        """Move all sums to ``complete``, sorted, the first sum to send last."""
        self.complete = sorted(self.sums.items(), reverse=True)
        self.sums = {}

    def _send(self) -> bool:
        """Send the next sum or stops, and return whether there were any to send."""
        if self.complete:
            coordinates, value = self.complete[-1]
            first_axis = self._first_change(coordinates)
            if not self.starts_list and first_axis < self.ways - 1:
                self._send_stops(first_axis)
                self.starts_list = True
                return True
            for axis in range(first_axis, self.ways):
                self._stream(axis).push(DATA, coordinates[axis])
            self.out_val.push(DATA, 0, value)
            self.last_coordinates, self.starts_list = coordinates, False
            self.complete.pop()
            return True
        if not self.must_send_stops:
            return False
        self._close()
        return True

    def _first_change(self, coordinates: tuple[int, ...]) -> int:
        """Return the outermost coordinate in which a sum differs from the last sum that was sent."""
        if not self.last_coordinates:
            return 0
        return next(axis for axis in range(self.ways) if coordinates[axis] != self.last_coordinates[axis])

    def _send_stops(self, changed: int) -> None:
        """Send the stops of the fibers inside coordinate number ``changed``."""
        for axis in range(changed + 1, self.ways):
            self._stream(axis).push(STOP, axis - changed - 1)
        self.out_val.push(STOP, self.ways - changed - 2)

    def _close(self) -> None:
        """Send the last stops; those of a task also end the list of the task."""
        for axis in range(self.ways):
            self._stream(axis).push(STOP, axis + self.flushes)
        self.out_val.push(STOP, self.ways - 1 + self.flushes)
        self.must_send_stops, self.must_send_done = False, self.has_ended
        self.last_coordinates, self.group, self.starts_list = (), (), True

    def _stream(self, axis: int) -> OutputStream:
        stream: OutputStream = self.streams[axis]
        return stream

    def _refuse(self, now: int, fault: str) -> None:
        heads = [(inline.channel(channel), CRD) for channel in self.in_crd] + [(self.in_val, VAL)]
        tokens = [
            f"{format_token(end.control(), end.coordinate(), end.value(), protocol)}"
            for end, protocol in heads
        ]
        raise SimulationError(f"cycle {now}, {self.name}: ({', '.join(tokens)}) {fault}")
