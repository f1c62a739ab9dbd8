"""The processing element: a column of B, matched with what comes over the bus, multiplied and summed."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.accelerators.weight_stationary.beats import Beat
from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.accelerators.weight_stationary.protocols import BEAT, END, SUM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

__all__ = ["ProcessingElement"]

NO_ROW = -1


class ProcessingElement(Component):
    """Holds a slice of a column and adds up its products with a row until another row comes.

    Interface: beats come in on ``beats`` by number, and a token that ends the pass; the sum of a row leaves
    on ``sums`` when an element of another row is multiplied, or the pass ends.

    Timing: a beat takes as long as its ids take to be found, one after another; its products take a cycle for
    each ``lanes`` of them; and the sums that it makes leave one a cycle. These overlap: the longest counts,
    and a cycle at the least.

    Args:
        name: instance name.
        parameters: the configuration.
        columns: the numbers of the columns that it holds, by pass.
        values: for each pass the values of its column by their row; none where it holds no column.
        stream: the beats by number, which all share.
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
        values: Sequence[dict[int, float]],
        stream: Sequence[Beat],
    ) -> None:
        super().__init__(name)
        self.parameters = parameters
        self.columns = columns
        self.values = values
        self.stream = stream
        self.passes = 0
        self.row = NO_ROW
        self.sum = 0.0
        self.until = 0
        self.multiply = self.add = self.searched = self.sent = 0

    def tick(self, now: int) -> int:
        """Take a beat when the one before is done with."""
        if now < self.until:
            return self.busy(self.until)
        if not self.beats.can_pop():
            return self.idle() if self.passes == len(self.columns) else self.wait_input(self.beats)
        if self.sums.space() < self._most_sums():
            return self.wait_output(self.sums)
        number = self.beats.coordinate()
        ends = self.beats.control() == END
        self.beats.pop()
        self.until = now + (self._end() if ends else self._match(self.stream[number]))
        return self.busy(self.until)

    def _most_sums(self) -> int:
        """Return the largest number of sums that one beat can produce."""
        return self.parameters.bus.words

    def _match(self, beat: Beat) -> int:
        """Multiply what meets; how many cycles it takes."""
        held = self.values[self.passes]
        before, products = self.sent, 0
        for row, column, value in zip(
            beat.rows.tolist(), beat.columns.tolist(), beat.values.tolist(), strict=True
        ):
            if column in held:
                self._accumulate(row, value * held[column])
                products += 1
        self.multiply += products
        self.searched += beat.ids
        searching = beat.ids * self.parameters.match_cycles
        return max(1, searching, -(-products // self.parameters.pe.lanes), self.sent - before)

    def _accumulate(self, row: int, product: float) -> None:
        if row == self.row:
            self.sum += product
            self.add += 1
        else:
            self._send()
            self.row, self.sum = row, product

    def _end(self) -> int:
        """The pass is over: the last sum leaves, and the next column is there."""
        self._send()
        self.row = NO_ROW
        self.passes += 1
        return 1

    def _send(self) -> None:
        if self.row != NO_ROW:
            self.sums.push(0, self.row, self.columns[self.passes], self.sum)
            self.sent += 1
