# cython: infer_types=True
"""A bank of comparators: which items of a row are no zeros, or begin a row, a block, a fiber."""

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
    """Tests the items of an array, ``lanes`` a cycle.

    Interface: an array comes in on ``lanes``, row by row, see ``fiberscope.hw.lanes.rows``; lanes may be
    empty. It leaves on ``flags`` with 1 as coordinate where the test holds and 0 where it does not, and on
    ``kept`` as it came, lanes empty where it does not. Reference and value stay with an item on both; either
    may be left out.

    - ``nonzero``: its value, the word of an element, is not 0.
    - ``changed``: its coordinate, as a number of a row, a block or a fiber's prefix, is not that of the item
      before it in the array; that of the first is.

    Timing: one row a cycle, which leaves in the cycle in which it is taken, when there is space on all
    outputs: their channels are its register.

    Accounting: busy while rows move; within an array, or with a row of which not all lanes show, waiting for
    the first that shows none; waiting for the first output without space.

    Counts: ``compares``, and how many of them ``held``.

    Source: MINT (Section V, Figure 9): comparators find what is not zero, blocks that are new, and where a
    fiber begins.

    Args:
        name: instance name.
        lanes: items a cycle, 1 to 256.
        test: ``"nonzero"`` or ``"changed"``.

    Raises:
        ValueError: for another test, or lanes out of their range.
        SimulationError: when built, unless as many of ``lanes`` are connected as it has, and of ``flags`` and
            ``kept`` as many or none.
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
        self.of_values = test == NONZERO
        self.in_array = False  # an array
        self.first = True  # whether the next item is an array's first
        self.before = 0  # the coordinate of the item before
        self.compares = self.held = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "lanes", self.width)
        check_connected(self, "flags", self.width, optional=True)
        check_connected(self, "kept", self.width, optional=True)
        self.flagging = len(self.flags) > 0
        self.keeping = len(self.kept) > 0

    def tick(self, now: int) -> int:
        """Test one row."""
        missing = lanes.first_missing(self.lanes)
        if missing >= 0:
            waiting = self.in_array or lanes.any_shown(self.lanes)
            return self.wait_input(self.lanes[missing]) if waiting else self.idle()
        for sinks in (self.flags, self.kept):  # C: list
            full = lanes.first_full(sinks)
            if full >= 0:
                return self.wait_output(sinks[full])
        for lane in range(self.width):
            self._pass_on(lane)
        return self.busy(now + 1)

    def _pass_on(self, lane: int) -> None:
        """Test what a lane shows, and send it."""
        source = self.lanes[lane]
        kind = source.control()
        holds = kind == DATA and self._test(source)
        if kind != EMPTY:
            self.in_array = kind == DATA
        if kind == STOP:
            self.first = True
        if self.flagging:
            flag = self.flags[lane]
            self._send(flag, source, kind, holds)
        if self.keeping:
            kept = self.kept[lane]
            self._send(kept, source, EMPTY if kind == DATA and not holds else kind, source.coordinate())
        source.pop()

    def _send(self, sink: Channel, source: Channel, kind: int, coordinate: int) -> None:
        if kind == DATA:
            sink.push(DATA, coordinate, source.reference(), source.value())
        else:
            sink.push(kind)

    def _test(self, source: Channel) -> bool:  # C: noexcept
        """Return whether the test holds for an item."""
        if self.of_values:
            holds = source.value() != 0
        else:
            holds = self.first or source.coordinate() != self.before
            self.first = False
            self.before = source.coordinate()
        self.compares += 1
        self.held += holds
        return holds
