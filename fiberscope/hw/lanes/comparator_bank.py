# cython: infer_types=True
"""A bank of comparators, which finds the nonzero items of an array, or the items with a new coordinate."""

from __future__ import annotations

from fiberscope.hw.lanes import channels as lanes
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.rows import MAXIMUM_LANES
from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NONZERO = "nonzero"
CHANGED = "changed"
TESTS = (NONZERO, CHANGED)


class ComparatorBank(Component):
    """A bank of comparators that tests the items of an array, ``lanes`` items a cycle.

    Interface: ``lanes`` receives arrays row by row, see ``fiberscope.hw.lanes.rows``; lanes can be empty.
    ``flags`` sends each item with a coordinate of 1 if the test holds, else 0. ``kept`` sends the items for
    which the test holds, and empty lanes for the others. Both outputs keep the reference and the value of an
    item, and either output can be unconnected.

    - ``nonzero`` holds if the value of the item is not 0.
    - ``changed`` holds if the coordinate of the item (the number of a row, a block or a fiber) differs from
      that of the item before it in the array. It holds for the first item of an array.

    A stop is passed on in its lane. An item after a stop in the same row is not refused; it begins an array.

    Timing: one row a cycle, which is sent in the cycle in which it is accepted, if all outputs have a free
    slot. The output channels are the register.

    Accounting: busy while rows move; waiting for the first output without a free slot; waiting for the first
    lane without a token within an array, or if another lane has a token.

    Counts: ``compares``, the items tested; ``held``, the items for which the test holds.

    Source: MINT (Section V, Figure 9): comparators find nonzeros, new blocks, and the first element of a
    fiber.

    Args:
        lanes: items a cycle, 1 to 256.
        test: ``"nonzero"`` or ``"changed"``.

    Raises:
        ValueError: if the test is unknown, or ``lanes`` is out of its range.
        SimulationError: when built, unless the input array has ``lanes`` connected ports, and ``flags`` and
            ``kept`` have as many or none.
    """

    PORTS = (
        Input("lanes", STREAM, array=True),
        Output("flags", STREAM, array=True, optional=True),
        Output("kept", STREAM, array=True, optional=True),
    )
    COUNTERS = ("compares", "held")
    SIGNALS = (Signal("compares", 48), Signal("held", 48))

    lanes: list[Channel]
    flags: list[Channel]
    kept: list[Channel]

    def __init__(self, name: str, lanes: int, test: str) -> None:
        super().__init__(name)
        if not 1 <= lanes <= MAXIMUM_LANES:
            raise ValueError(f"{name}: lanes must be from 1 to {MAXIMUM_LANES}, not {lanes}")
        if test not in TESTS:
            raise ValueError(f"{name}: test must be one of {', '.join(TESTS)}, not {test}")
        self.width = lanes
        self.tests_values = test == NONZERO
        self.in_array = False  # whether an item of an array was accepted, but not its stop
        self.is_first = True  # whether the next item is the first one of an array
        self.previous = 0  # coordinate of the last item
        self.compares = self.held = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check their number."""
        super().elaborate()
        check_connected(self, "lanes", self.width)
        check_connected(self, "flags", self.width, optional=True)
        check_connected(self, "kept", self.width, optional=True)
        self.has_flags = len(self.flags) > 0
        self.has_kept = len(self.kept) > 0

    def tick(self, now: int) -> int:
        """Test the items of a row."""
        missing = lanes.first_missing(self.lanes)
        if missing >= 0:
            is_waiting = self.in_array or lanes.any_shown(self.lanes)
            return self.wait_input(self.lanes[missing]) if is_waiting else self.idle()
        for sinks in (self.flags, self.kept):  # C: list
            full_lane = lanes.first_full(sinks)
            if full_lane >= 0:
                return self.wait_output(sinks[full_lane])
        for lane in range(self.width):
            self._test_lane(lane)
        return self.busy(now + 1)

    def _test_lane(self, lane: int) -> None:
        """Test the token of a lane, and send it."""
        source = self.lanes[lane]
        kind = source.control()
        passes = kind == DATA and self._test(source)
        if kind != EMPTY:
            self.in_array = kind == DATA
        if kind == STOP:
            self.is_first = True
        if self.has_flags:
            flag = self.flags[lane]
            self._send(flag, source, kind, passes)
        if self.has_kept:
            sink = self.kept[lane]
            self._send(sink, source, EMPTY if kind == DATA and not passes else kind, source.coordinate())
        source.pop()

    def _send(self, sink: Channel, source: Channel, kind: int, coordinate: int) -> None:
        if kind == DATA:
            sink.push(DATA, coordinate, source.reference(), source.value())
        else:
            sink.push(kind)

    def _test(self, source: Channel) -> bool:  # C: noexcept
        """Return whether the test holds for an item."""
        if self.tests_values:
            passes = source.value() != 0
        else:
            passes = self.is_first or source.coordinate() != self.previous
            self.is_first = False
            self.previous = source.coordinate()
        self.compares += 1
        self.held += passes
        return passes
