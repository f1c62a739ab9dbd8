"""The processing element, which multiplies and accumulates elements of A with a stationary column of B."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.accelerators.weight_stationary.beats import Beat
from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.accelerators.weight_stationary.protocols import BEAT, END, SUM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_ROW = -1


class ProcessingElement(Component):
    """A processing element that holds a slice of a column of B and sums its products with each row of A.

    Interface: ``beats`` brings the numbers of beats, and an END token after each pass. The sum of a row is
    pushed into ``sums`` when an element of another row is multiplied, or when the pass ends.

    Timing: three activities of a beat overlap, and the longest of them determines the cycles of the beat, at
    least one. The ids of the beat are looked up one after the other, ``match_cycles`` cycles each; ``lanes``
    products are computed per cycle; and one sum leaves per cycle.

    Args:
        parameters: configuration of the machine.
        columns: for each pass, the number of the column of B that this element holds.
        column_values: for each pass, the nonzeros of the column by coordinate of K; empty for no column.
        stream: the beats by number; the list that the bus fills.
    """

    PORTS = (Input("beats", BEAT), Output("sums", SUM))
    COUNTERS = ("multiply", "add", "searched", "sent")
    SIGNALS = (Signal("row", 32, "integer"), Signal("multiply", 48), Signal("searched", 48))

    beats: Channel
    sums: Channel

    def __init__(
        self,
        name: str,
        parameters: WeightStationaryConfiguration,
        columns: Sequence[int],
        column_values: Sequence[dict[int, float]],
        stream: Sequence[Beat],
    ) -> None:
        super().__init__(name)
        self.parameters = parameters
        self.columns = columns
        self.column_values = column_values
        self.stream = stream
        self.passes = 0  # number of finished passes
        self.row = NO_ROW  # row of the current sum
        self.sum = 0.0
        self.busy_until = 0  # cycle in which the current beat is finished
        self.multiply = self.add = self.searched = self.sent = 0

    def tick(self, now: int) -> int:
        """Take the next beat once the previous beat is finished."""
        if now < self.busy_until:
            return self.busy(self.busy_until)
        if not self.beats.can_pop():
            return self.idle() if self.passes == len(self.columns) else self.wait_input(self.beats)
        if self.sums.space() < self.parameters.bus.words:  # a beat has fewer elements, and thus sums
            return self.wait_output(self.sums)
        number = self.beats.coordinate()
        is_end = self.beats.control() == END
        self.beats.pop()
        self.busy_until = now + (self._end_pass() if is_end else self._match(self.stream[number]))
        return self.busy(self.busy_until)

    def _match(self, beat: Beat) -> int:
        """Multiply the elements of a beat whose column id is a row id of the column; return the cycles."""
        factors = self.column_values[self.passes]
        sent_before, products = self.sent, 0
        for row, column, value in zip(
            beat.rows.tolist(), beat.columns.tolist(), beat.values.tolist(), strict=True
        ):
            if column in factors:
                self._accumulate(row, value * factors[column])
                products += 1
        self.multiply += products
        self.searched += beat.distinct_ids
        searching = beat.distinct_ids * self.parameters.match_cycles
        return max(1, searching, -(-products // self.parameters.pe.lanes), self.sent - sent_before)

    def _accumulate(self, row: int, product: float) -> None:
        if row == self.row:
            self.sum += product
            self.add += 1
        else:
            self._send_sum()
            self.row, self.sum = row, product

    def _end_pass(self) -> int:
        """End the pass: send the last sum and go on to the column of the next pass; return the cycles."""
        self._send_sum()
        self.row = NO_ROW
        self.passes += 1
        return 1

    def _send_sum(self) -> None:
        if self.row != NO_ROW:
            self.sums.push(0, self.row, self.columns[self.passes], self.sum)
            self.sent += 1
