# cython: infer_types=True
"""The packer: closes the gaps of rows, and makes full rows of another width of them."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes import channels as lanes
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.rows import MAXIMUM_LANES
from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Packer(Component):
    """Moves the items of an array together, so that all its rows but the last are full.

    Interface: an array comes in on ``lanes``, row by row, see ``fiberscope.hw.lanes.rows``, with empty lanes
    anywhere before its stops; its items leave on ``packed`` in their order, a full row or none in a cycle,
    stops in what is left of the last. The two widths may differ. Coordinate, reference and value stay as they
    are.

    Timing: a row is taken when no more than a row of items is held back, and what fills a row with them
    leaves in the same cycle: the channels at ``packed`` are the register. Behind a stop what is held leaves
    first, a row a cycle. While a row that is full or the last cannot leave, nothing moves.

    Accounting: busy while rows move; within an array, or with a row of which not all lanes show, waiting for
    the first that shows none; waiting for the first output without space.

    Counts: ``rows`` taken, ``words`` that left, and ``packed_rows`` that left.

    Source: MINT (Section V-A, Figure 9): a crossbar, driven by a scan of what is valid. Different widths are
    a choice of this model.

    Args:
        name: instance name.
        inputs: lanes of a row that comes, 1 to 256.
        outputs: lanes of a row that leaves, 1 to 256.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many ports are connected; in the run, if an item or an empty
            lane is behind a stop in its row.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("packed", STREAM, array=True))
    COUNTERS = ("rows", "words", "packed_rows")
    SIGNALS = (Signal("held", 10), Signal("words", 48))

    lanes: list[Channel]
    packed: list[Channel]

    def __init__(self, name: str, inputs: int, outputs: int) -> None:
        super().__init__(name)
        for what, count in (("inputs", inputs), ("outputs", outputs)):
            if not 1 <= count <= MAXIMUM_LANES:
                raise ValueError(f"{name}: {what} must be from 1 to {MAXIMUM_LANES}, not {count}")
        self.inputs = inputs
        self.outputs = outputs
        self.places = inputs + outputs  # of items, a ring
        self.coordinates = array("q", bytes(8 * self.places))
        self.references = array("q", bytes(8 * self.places))
        self.values = array("d", bytes(8 * self.places))
        self.oldest = 0
        self.held = 0  # items
        self.in_array = False  # an array
        self.ending = False  # its stops are here, and have not left
        self.rows = self.words = self.packed_rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "lanes", self.inputs)
        check_connected(self, "packed", self.outputs)

    def tick(self, now: int) -> int:
        """Take a row, and send one."""
        missing = lanes.first_missing(self.lanes)
        takes = missing < 0 and not self.ending and self.held <= self.outputs
        if not (takes or self.ending or self.held >= self.outputs):
            waiting = self.in_array or lanes.any_shown(self.lanes)
            return self.wait_input(self.lanes[missing]) if waiting else self.idle()
        if self.ending or self.held >= self.outputs or self._fills():
            full = lanes.first_full(self.packed)
            if full >= 0:
                return self.wait_output(self.packed[full])
        if takes:
            self._take()
        if self.ending or self.held >= self.outputs:
            self._send()
        return self.busy(now + 1)

    def _fills(self) -> bool:  # C: noexcept
        """Return whether with the row that shows a row leaves: a full one, or the last."""
        count = self.held  # C: long
        for lane in range(self.inputs):
            source = self.lanes[lane]
            if source.control() == STOP:
                return True
            if source.control() != EMPTY:
                count += 1
        return count >= self.outputs

    def _take(self) -> None:
        for lane in range(self.inputs):
            source = self.lanes[lane]
            if source.control() == STOP:
                self.ending = True
                self.in_array = False
            elif self.ending:
                raise SimulationError(f"{self.name}: lanes[{lane}] shows an item behind a stop of its row")
            elif source.control() != EMPTY:
                self._hold(source)
            source.pop()
        self.rows += 1

    def _hold(self, source: Channel) -> None:
        place = (self.oldest + self.held) % self.places
        self.coordinates[place] = source.coordinate()
        self.references[place] = source.reference()
        self.values[place] = source.value()
        self.held += 1
        self.in_array = True

    def _send(self) -> None:
        """Let out a row; the array has ended with it if that has a stop."""
        count = min(self.held, self.outputs)
        for lane in range(self.outputs):
            sink = self.packed[lane]
            if lane < count:
                place = (self.oldest + lane) % self.places
                sink.push(DATA, self.coordinates[place], self.references[place], self.values[place])
            else:
                sink.push(STOP)
        if count < self.outputs:
            self.ending = False
        self.oldest = (self.oldest + count) % self.places
        self.held -= count
        self.words += count
        self.packed_rows += 1
