# cython: infer_types=True
"""A packer, which removes the empty lanes of rows and forms full rows of the output width."""

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
    """A packer that moves the items of an array together, so that all its rows but the last are full.

    Interface: ``lanes`` receives arrays row by row, see ``fiberscope.hw.lanes.rows``. A token of the kind
    ``EMPTY`` before the stops is an empty lane within the array. ``packed`` sends the unchanged items in the
    same order, at most one row a cycle. The stops that leave have the level 0.
    All rows but the last of an array are full; the last row has stops in its remaining lanes. If the number
    of items is a multiple of ``outputs``, or 0, the last row holds only stops. Input rows and output rows can
    have different widths.

    Timing: a row is accepted when the packer holds at most ``outputs`` items. If the row completes an output
    row, the output row is sent in the same cycle, as the channels at ``packed`` are the register. After the
    stop of an array, the packer sends the items that it holds, a row a cycle, before it accepts the next
    row. While a full or last output row is blocked, no row moves.

    Accounting: busy while rows move; waiting for the first output without a free slot; waiting for the first
    lane without a token after the first item of an array, or if another lane has a token; else idle.

    Counts: ``rows``, the rows accepted; ``words``, the number of items sent; ``packed_rows``, the rows sent.

    Source: MINT (Section V-A, Figure 9): a crossbar, which a prefix sum of the valid lanes controls.
    Different widths are a choice of this model.

    Args:
        inputs: lanes of an input row, 1 to 256.
        outputs: lanes of an output row, 1 to 256.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: when built, unless ``inputs`` and ``outputs`` ports are connected; during the run,
            if an item or an empty lane follows a stop in its row.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("packed", STREAM, array=True))
    COUNTERS = ("rows", "words", "packed_rows")
    SIGNALS = (Signal("held", 10), Signal("words", 48))

    lanes: list[Channel]
    packed: list[Channel]

    def __init__(self, name: str, inputs: int, outputs: int) -> None:
        super().__init__(name)
        for ports, count in (("inputs", inputs), ("outputs", outputs)):
            if not 1 <= count <= MAXIMUM_LANES:
                raise ValueError(f"{name}: {ports} must be from 1 to {MAXIMUM_LANES}, not {count}")
        self.inputs = inputs
        self.outputs = outputs
        self.capacity = inputs + outputs  # size of the ring of items
        self.coordinates = array("q", bytes(8 * self.capacity))
        self.references = array("q", bytes(8 * self.capacity))
        self.values = array("d", bytes(8 * self.capacity))
        self.oldest = 0  # index of the oldest item in the ring
        self.held = 0  # number of items in the ring
        self.in_array = False  # whether an item of an array was accepted, but not its stop
        self.has_stop = False  # whether the stop of an array was accepted, but not sent
        self.rows = self.words = self.packed_rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check their number."""
        super().elaborate()
        check_connected(self, "lanes", self.inputs)
        check_connected(self, "packed", self.outputs)

    def tick(self, now: int) -> int:
        """Accept a row if possible, and send a row if one is complete."""
        missing = lanes.first_missing(self.lanes)
        # With at most ``outputs`` items held, another row fits in the ring of ``inputs`` + ``outputs`` items
        accepts = missing < 0 and not self.has_stop and self.held <= self.outputs
        if not (accepts or self.has_stop or self.held >= self.outputs):  # nothing to accept or to send
            is_waiting = self.in_array or lanes.any_shown(self.lanes)
            return self.wait_input(self.lanes[missing]) if is_waiting else self.idle()
        # Checked before the row is accepted: a row that completes an output row is sent in the same cycle, so
        # it must not be accepted if the output row cannot leave
        if self.has_stop or self.held >= self.outputs or self._completes_row():
            full_lane = lanes.first_full(self.packed)
            if full_lane >= 0:
                return self.wait_output(self.packed[full_lane])
        if accepts:
            self._accept_row()
        if self.has_stop or self.held >= self.outputs:
            self._send()
        return self.busy(now + 1)

    def _completes_row(self) -> bool:  # C: noexcept
        """Return whether the row at the inputs completes an output row, which is a full or a last one."""
        count = self.held  # C: long
        for lane in range(self.inputs):
            source = self.lanes[lane]
            if source.control() == STOP:
                return True
            if source.control() != EMPTY:
                count += 1
        return count >= self.outputs

    def _accept_row(self) -> None:
        """Accept the row at the inputs: hold its items, and note a stop."""
        for lane in range(self.inputs):
            source = self.lanes[lane]
            if source.control() == STOP:
                self.has_stop = True
                self.in_array = False
            elif self.has_stop:
                raise SimulationError(f"{self.name}: lanes[{lane}] shows an item behind a stop of its row")
            elif source.control() != EMPTY:
                self._store(source)
            source.pop()
        self.rows += 1

    def _store(self, source: Channel) -> None:
        """Append an item to the ring."""
        slot = (self.oldest + self.held) % self.capacity
        self.coordinates[slot] = source.coordinate()
        self.references[slot] = source.reference()
        self.values[slot] = source.value()
        self.held += 1
        self.in_array = True

    def _send(self) -> None:
        """Send a row; the array ends if the row has a stop."""
        count = min(self.held, self.outputs)
        for lane in range(self.outputs):
            sink = self.packed[lane]
            if lane < count:
                slot = (self.oldest + lane) % self.capacity
                sink.push(DATA, self.coordinates[slot], self.references[slot], self.values[slot])
            else:
                sink.push(STOP)
        if count < self.outputs:  # a row that is not full is sent only at the end of an array
            self.has_stop = False
        self.oldest = (self.oldest + count) % self.capacity
        self.held -= count
        self.words += count
        self.packed_rows += 1
