"""The global output buffer, which accumulates the sums of all slices of K for each element of the product."""

from __future__ import annotations

from fiberscope.accelerators.weight_stationary.protocols import SUM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Signal


class OutputBuffer(Component):
    """A buffer that adds the sums of the processing elements to the elements of the product.

    Interface: ``sums`` brings the sums, one channel for each processing element. Each column of the product
    has a bank of its own, so no sum waits for another one.

    Timing: in each cycle, one sum is taken from every channel that has one.

    Args:
        product: sums so far; for each row of the product, a mapping from column to sum.
    """

    PORTS = (Input("sums", SUM, array=True),)
    COUNTERS = ("taken", "add")
    SIGNALS = (Signal("taken", 48), Signal("add", 48))

    sums: list[Channel]

    def __init__(self, name: str, product: list[dict[int, float]]) -> None:
        super().__init__(name)
        self.product = product
        self.taken = self.add = 0

    def tick(self, now: int) -> int:
        """Take the oldest sum of each channel."""
        taken = self.taken
        for channel in self.sums:
            if channel.can_pop():
                self._take(channel)
        return self.busy(now + 1) if self.taken > taken else self.idle()

    def _take(self, channel: Channel) -> None:
        row, column = self.product[channel.coordinate()], channel.reference()
        self.add += column in row
        row[column] = row.get(column, 0.0) + channel.value()
        channel.pop()
        self.taken += 1
