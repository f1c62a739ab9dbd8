"""The global output buffer: adds what slices of K gave to an element of the product."""

from __future__ import annotations

from fiberscope.accelerators.weight_stationary.protocols import SUM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Signal

__all__ = ["OutputBuffer"]


class OutputBuffer(Component):
    """Takes a sum a cycle from each processing element and adds it to what it has for that element.

    Interface: sums come in on ``sums``; each column has a bank of its own, so that none waits.

    Timing: what is there is taken, one of each in a cycle.

    Args:
        name: instance name.
        product: where the sums are kept, row by row and by column.
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
        """Take the oldest of each."""
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
